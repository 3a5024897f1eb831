//! From a [`Node`] to a component's struct, with every fault and its path.
//!
//! serde stops at the first fault. So a fault is noted, the key it concerns is left out, and the decoding starts
//! again, until it succeeds or nothing more can be left out.

mod access;
mod error;
mod value;

#[cfg(test)]
mod tests;

use super::{Fault, Node};
use error::{Cause, Error};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use value::Deserializer;

/// Keys and list elements the decoder behaves as if they were not there.
type Skipped = BTreeMap<Vec<String>, Why>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// There is a key and no value.
    Null,
    /// A fault was noted for it.
    Fault,
}

/// A bound on decoding again and again; nobody mends a thousand faults from one message.
const MAX_ROUNDS: usize = 1000;

impl Node {
    /// Decodes a component's configuration and gathers every fault; paths are relative to this node.
    ///
    /// * Give the struct `#[serde(default, deny_unknown_fields)]`: keys are matched exactly, case included.
    /// * `key:` without a value is an empty map where a struct or map is wanted (so `Option<Struct>` becomes `Some`
    ///   of its defaults) and as good as no key anywhere else.
    /// * A string field takes strings, and the original text of a whole-value reference. There is no other conversion,
    ///   except `a,b` for a list of strings, and `1_000` for an integer.
    /// * `#[serde(flatten)]`, `untagged` and internally tagged enums make serde hold values back in a form that loses
    ///   original texts and paths: avoid them.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Vec<Fault>> {
        let mut skipped = Skipped::new();
        let mut faults = Vec::new();
        for _ in 0..MAX_ROUNDS {
            match T::deserialize(Deserializer::new(self, &skipped)) {
                Ok(value) if faults.is_empty() => return Ok(value),
                Ok(_) => return Err(faults),
                Err(error) => {
                    if !note(error, &mut skipped, &mut faults) {
                        return Err(faults);
                    }
                }
            }
        }
        faults.push(Fault::new("", format!("more than {MAX_ROUNDS} faults: the rest is not looked at")));
        Err(faults)
    }
}

/// Notes the fault and leaves out what it concerns; `false` where nothing is left to leave out.
fn note(error: Error, skipped: &mut Skipped, faults: &mut Vec<Fault>) -> bool {
    let path = error.path.unwrap_or_default();
    let culprit = match &error.cause {
        Cause::UnknownKey(key) => child(&path, key),
        _ => path.clone(),
    };
    let repeated = skipped.contains_key(&culprit);
    let why = if error.cause == Cause::Null && !path.is_empty() && !repeated { Why::Null } else { Why::Fault };
    let follows = match error.cause {
        Cause::Missing(key) => skipped.get(&child(&path, key)) == Some(&Why::Fault),
        Cause::Null => why == Why::Null,
        _ => repeated,
    };
    if !follows {
        faults.push(Fault::new(path.join("::"), error.message));
    }
    leave_out(culprit, why, skipped)
}

/// Leaves out the innermost thing around the culprit that is still there.
fn leave_out(mut culprit: Vec<String>, why: Why, skipped: &mut Skipped) -> bool {
    while !culprit.is_empty() {
        if let Entry::Vacant(place) = skipped.entry(culprit.clone()) {
            place.insert(why);
            return true;
        }
        culprit.pop();
    }
    false
}

fn child(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}
