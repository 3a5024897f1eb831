//! Verifying a file of batches that could not be sealed.

use super::{Check, Finding, Kind, Loss, Remedy};
use crate::storage::error::StorageError;
use crate::storage::manifest::LiveFile;
use crate::storage::set_aside;

impl Check<'_> {
    pub(super) fn set_aside(&mut self, file: &LiveFile, store: &[u8; 16]) {
        let path = self.layout.set_aside(file.id);
        let (found, damage) = set_aside::read(self.disk, self.layout, store, file.id);
        self.count_file(found.file.bytes);
        self.report.rows += found.file.rows;
        let Some(damage) = damage else { return };
        let lost = file.rows.saturating_sub(found.file.rows);
        let remedy = if found.entries.is_empty() { Remedy::Forget(file.id) } else { Remedy::Rewrite(file.id) };
        let finding = match damage {
            StorageError::Damaged { offset, what, .. } => {
                Finding::damage(Kind::Damaged, path, what, remedy).at(offset, found.file.bytes)
            }
            StorageError::NewerFormat { found, known, .. } | StorageError::OlderFormat { found, known, .. } => {
                let what = format!("format {found}, this version reads {known}");
                Finding::damage(Kind::of_version(found, known), path, what, Remedy::OtherVersion)
            }
            error => Finding::damage(Kind::Missing, path, error.to_string(), remedy),
        };
        let loss = Loss { rows: Some(lost), lsns: Some(file.lsns), ..Loss::default() };
        self.add(if lost > 0 { finding.costing(loss) } else { finding });
    }
}
