//! Configurations people have published. None may panic; each is accepted or refused with a place.

use super::load::check;
use super::source::resolve_with;
use super::{Fault, Kind, Node, Types};
use std::env::VarError;
use std::path::{Path, PathBuf};

/// Takes every component: what is looked at here is everything around them.
struct Anything;

impl Types for Anything {
    fn check(&self, _: Kind, _: &str) -> Option<fn(&Node) -> Vec<Fault>> {
        Some(|_| Vec::new())
    }

    fn names(&self, _: Kind) -> Vec<&'static str> {
        Vec::new()
    }

    fn not_yet(&self, _: Kind, _: &str) -> bool {
        false
    }
}

fn configurations() -> Option<Vec<PathBuf>> {
    let corpus = std::env::var("SLUICE_CORPUS").unwrap_or_else(|_| "../shared/corpus".to_owned());
    let files = std::fs::read_dir(Path::new(&corpus).join("configs")).ok()?;
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    Some(paths.filter(|path| path.extension().is_some_and(|e| e == "yaml" || e == "yml")).collect())
}

/// Faults of a file as a whole name the file instead of a key.
fn has_a_place(fault: &Fault, file: &str) -> bool {
    !fault.path.is_empty() || fault.message.contains(file) || fault.message.starts_with("has invalid keys: ")
}

#[test]
fn published_configurations_are_accepted_or_refused_with_a_place() {
    let Some(files) = configurations() else {
        return eprintln!("skipped: no corpus at $SLUICE_CORPUS/configs");
    };
    let mut accepted = 0;
    for file in &files {
        let source = file.to_string_lossy().into_owned();
        let resolved = resolve_with(std::slice::from_ref(&source), &[], &|_| Err(VarError::NotPresent));
        match resolved.and_then(|resolved| check(resolved, &Anything)) {
            Ok(_) => accepted += 1,
            Err(faults) => {
                assert!(!faults.is_empty(), "{source} is refused without a reason");
                for fault in faults {
                    assert!(has_a_place(&fault, &source), "{source}: {fault}");
                    eprintln!("{source}: {fault}");
                }
            }
        }
    }
    eprintln!("{accepted} of {} configurations accepted", files.len());
}
