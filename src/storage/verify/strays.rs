//! Files whose names are none of a store's, or say that they were never finished.

use super::{Check, Finding, Kind, Remedy};
use crate::storage::files::{LOCK, MANIFESTS, UNFINISHED, log_id, segment_id, spare_id};
use std::path::Path;

impl Check<'_> {
    /// Looks at the names in all folders of the store.
    pub(super) fn names(&mut self) {
        let layout = self.layout;
        self.folder(&layout.root, &|name| name == LOCK || MANIFESTS.contains(&name));
        self.folder(&layout.wal, &|name| log_id(name).or(spare_id(name)).is_some());
        self.folder(&layout.segments, &|name| segment_id(name).is_some());
    }

    fn folder(&mut self, folder: &Path, ours: &dyn Fn(&str) -> bool) {
        // A folder that is not there has no files; what of it is needed is missed elsewhere.
        let mut names = self.disk.list(folder).unwrap_or_default();
        names.retain(|name| !ours(name));
        names.sort_unstable();
        for name in names {
            let path = folder.join(&name);
            self.report.findings.push(match name.ends_with(UNFINISHED) {
                true => {
                    let what = "a file that was never finished; the next start removes it";
                    Finding::notice(Kind::LeftOver, path, what, Remedy::Nothing)
                }
                false => Finding::notice(Kind::Unknown, path, "no file of a store; it is left alone", Remedy::Nothing),
            });
        }
    }
}
