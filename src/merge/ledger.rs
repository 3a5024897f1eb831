//! The proof that a merge kept what it read: counts and checksums of the inputs' footers against those of the outputs'.
//!
//! Footers hold sums that the writers made of every row they wrote, so a row that was lost, changed or written twice on the
//! way shows, whatever the way was.

use crate::storage::segment::Footer;

/// What a merge took out on purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collapsed {
    /// Rows of spans that another input has in a later delivery.
    pub rows: u64,
    /// Wrapping sum of their checksums.
    pub checksum: u64,
    /// Fragments that became part of another one's trace.
    pub fragments: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    rows: u64,
    traces: u64,
    checksum: u64,
}

impl Sums {
    fn of<'a>(footers: impl Iterator<Item = &'a Footer>) -> Self {
        footers.fold(Self::default(), |sums, footer| Self {
            rows: sums.rows.wrapping_add(footer.rows),
            traces: sums.traces.wrapping_add(footer.traces),
            checksum: sums.checksum.wrapping_add(footer.checksum),
        })
    }

    fn without(self, collapsed: Collapsed) -> Self {
        Self {
            rows: self.rows.wrapping_sub(collapsed.rows),
            traces: self.traces.wrapping_sub(collapsed.fragments),
            checksum: self.checksum.wrapping_sub(collapsed.checksum),
        }
    }
}

/// Whether outputs are inputs less what collapsed. No trace lies in two outputs.
///
/// Errors: a sentence with what should be there and what is.
pub fn check<'a>(
    inputs: impl Iterator<Item = &'a Footer>,
    outputs: impl Iterator<Item = &'a Footer>,
    collapsed: Collapsed,
) -> Result<(), String> {
    let (expected, found) = (Sums::of(inputs).without(collapsed), Sums::of(outputs));
    if expected == found { Ok(()) } else { Err(format!("expected {expected:?}, found {found:?}")) }
}
