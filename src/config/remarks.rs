//! What a decoding has to say besides its result.
//!
//! A component's check gives faults and nothing else. Two things more are worth knowing while it runs: what is
//! accepted yet probably not meant, and which values are read as secrets. Both are left here, on the checking thread,
//! for whoever gathers; where nobody does, they are forgotten.

use super::Fault;
use std::cell::RefCell;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct Remarks {
    pub warnings: BTreeSet<Fault>,
    pub secrets: BTreeSet<Vec<String>>,
}

thread_local! {
    static OPEN: RefCell<Option<Remarks>> = const { RefCell::new(None) };
}

/// Says that something is accepted but probably not meant. To be called from a component's check; the path is
/// relative to the checked node.
pub fn warn(path: impl Into<String>, message: impl Into<String>) {
    let warning = Fault::new(path, message);
    add(|remarks| _ = remarks.warnings.insert(warning));
}

pub(super) fn secret(path: &[String]) {
    add(|remarks| _ = remarks.secrets.insert(path.to_vec()));
}

/// Runs `work` and hands back what it remarked.
pub(super) fn gather<T>(work: impl FnOnce() -> T) -> (T, Remarks) {
    let outer = OPEN.replace(Some(Remarks::default()));
    let result = work();
    (result, OPEN.replace(outer).unwrap_or_default())
}

/// Runs `work` on the node at `place`, and passes its remarks on under full paths.
pub(super) fn within<T>(place: &[String], work: impl FnOnce() -> T) -> T {
    let (result, found) = gather(work);
    let under = |path: Vec<String>| place.iter().cloned().chain(path).collect();
    add(|remarks| {
        remarks.warnings.extend(found.warnings.into_iter().map(|warning| warning.under(&place.join("::"))));
        remarks.secrets.extend(found.secrets.into_iter().map(under));
    });
    result
}

fn add(what: impl FnOnce(&mut Remarks)) {
    OPEN.with_borrow_mut(|open| open.as_mut().map(what));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_belong_to_the_work_that_made_them() {
        warn("nobody", "listens");
        let (inner, outer) = gather(|| {
            warn("a", "outer");
            gather(|| warn("b", "inner")).1
        });
        assert_eq!(inner.warnings.into_iter().collect::<Vec<_>>(), [Fault::new("b", "inner")]);
        assert_eq!(outer.warnings.into_iter().collect::<Vec<_>>(), [Fault::new("a", "outer")]);
    }
}
