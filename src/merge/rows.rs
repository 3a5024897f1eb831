//! One trace that lies in several inputs: its rows put together, duplicates collapsed, facts worked out anew.
//!
//! Memory: the keys of its rows, one block of each input, and one block of the output. Where a fragment is larger than a
//! block its pieces are read twice: for the keys, and for the bodies of what is left, in the order they are written.

use super::error::MergeError;
use super::input::Input;
use super::ledger::Collapsed;
use super::output::Outputs;
use super::stages::Stopwatch;
use crate::model::{Row, TraceId};
use crate::storage::collapse::collapse;
use crate::storage::segment::facts::{FactRow, LATE, OVERSIZED, SEEN_BEFORE, root_of};
use crate::storage::segment::writer::row_checksum;
use crate::storage::segment::{DirectoryEntry, Facts, Mark, RunRow};
use std::collections::HashSet;

/// What the directory says of the trace in one input.
pub struct Fragment {
    /// Index of the input.
    pub input: usize,
    pub entry: DirectoryEntry,
}

/// The keys of a row and where its body is.
#[derive(Debug, Clone, Copy)]
struct Key {
    row: Row,
    resource: u32,
    scope: u32,
    bytes: usize,
    at: Place,
}

/// Input, block, and place in the block.
type Place = (usize, u32, usize);

/// Writes the trace that these fragments, two or more, are of.
pub fn join(
    id: TraceId,
    fragments: &[Fragment],
    inputs: &mut [Input],
    out: &mut Outputs<'_>,
    watch: &mut Stopwatch,
) -> Result<Collapsed, MergeError> {
    let mut joining = Joining { id, inputs, out, watch };
    let all = joining.keys(fragments)?;
    let kept = without_duplicates(&all, joining.out);
    let collapsed = joining.collapsed(&all, &kept, fragments.len())?;
    let facts = joining.facts(&kept, fragments)?;
    let mark = joined_mark(fragments);
    // Where each fragment lies in one block, all of them are held.
    if fragments.iter().all(|fragment| fragment.entry.blocks == 1) {
        let rows: Result<Vec<_>, _> = kept.iter().map(|key| held(joining.inputs, key)).collect();
        joining.out.add_run(id, &rows?, facts, mark)?;
    } else {
        joining.write_pieces(&kept)?;
        joining.out.end_run(id, facts, mark)?;
    }
    Ok(collapsed)
}

/// One row of each span, in the order they are stored.
fn without_duplicates(all: &[Key], out: &Outputs<'_>) -> Vec<Key> {
    let mut kept: Vec<_> = all.iter().map(|key| (*key, out.scope_name(key.scope))).collect();
    collapse(&mut kept, |(key, _)| &key.row, |(_, scope)| scope);
    kept.into_iter().map(|(key, _)| key).collect()
}

struct Joining<'a, 'b> {
    id: TraceId,
    inputs: &'a mut [Input],
    out: &'a mut Outputs<'b>,
    watch: &'a mut Stopwatch,
}

impl Joining<'_, '_> {
    /// The keys of all rows of all fragments.
    fn keys(&mut self, fragments: &[Fragment]) -> Result<Vec<Key>, MergeError> {
        let mut keys = Vec::new();
        for Fragment { input: index, entry } in fragments {
            let Some(input) = self.inputs.get_mut(*index) else { continue };
            let before = keys.len();
            for block in entry.block..entry.block.saturating_add(entry.blocks) {
                input.load(block, self.out, self.watch)?;
                let (first, rows) = input.run(self.id)?;
                for (place, row) in rows.iter().enumerate() {
                    let RunRow { row, resource, scope, body, .. } = input.row(row)?;
                    keys.push(Key { row, resource, scope, bytes: body.len(), at: (*index, block, first + place) });
                }
            }
            input.check_rows(entry, keys.len() - before)?;
        }
        Ok(keys)
    }

    /// A row, its block read again where another one of the input is held.
    fn fetch(&mut self, key: &Key) -> Result<RunRow<'_>, MergeError> {
        let (input, block, _) = key.at;
        if let Some(input) = self.inputs.get_mut(input) {
            input.load(block, self.out, self.watch)?;
        }
        held(self.inputs, key)
    }

    fn collapsed(&mut self, all: &[Key], kept: &[Key], fragments: usize) -> Result<Collapsed, MergeError> {
        let rows = (all.len() - kept.len()) as u64;
        let mut collapsed = Collapsed { rows, checksum: 0, fragments: fragments as u64 - 1 };
        if rows > 0 {
            let id = self.id;
            let kept: HashSet<_> = kept.iter().map(|key| key.at).collect();
            for key in all.iter().filter(|key| !kept.contains(&key.at)) {
                let checksum = row_checksum(id, &key.row, self.fetch(key)?.body);
                collapsed.checksum = collapsed.checksum.wrapping_add(checksum);
            }
        }
        Ok(collapsed)
    }

    /// Facts of these rows. What earlier merges and verdicts said of a fragment stays.
    fn facts(&mut self, keys: &[Key], fragments: &[Fragment]) -> Result<Facts, MergeError> {
        let rows = fact_rows(keys, self.out);
        let root = root_of(&rows).and_then(|root| keys.get(root));
        let body = match root {
            Some(root) => self.fetch(root)?.body.to_vec(),
            None => Vec::new(),
        };
        let mut facts = Facts::of(self.id, &fact_rows(keys, self.out), &body);
        let known = fragments.iter().fold(0, |flags, fragment| flags | fragment.entry.facts.flags);
        facts.flags |= known & (OVERSIZED | LATE | SEEN_BEFORE);
        Ok(facts)
    }

    /// Writes rows in blocks of their own, as many at a time as fill one.
    fn write_pieces(&mut self, keys: &[Key]) -> Result<(), MergeError> {
        let (id, full) = (self.id, self.out.block_size());
        let mut piece = Piece::default();
        for key in keys {
            piece.add(self.fetch(key)?);
            if piece.bodies.len() >= full {
                self.out.add_piece(id, &piece.rows(), self.watch)?;
                piece.clear();
            }
        }
        if !piece.keys.is_empty() {
            self.out.add_piece(id, &piece.rows(), self.watch)?;
        }
        Ok(())
    }
}

/// A row whose block is held.
fn held<'a>(inputs: &'a [Input], key: &Key) -> Result<RunRow<'a>, MergeError> {
    let (input, _, place) = key.at;
    // The index is that of an input it was read from.
    inputs.get(input).ok_or(MergeError::Stopped)?.row_at(place)
}

fn fact_rows<'a>(keys: &'a [Key], out: &'a Outputs<'_>) -> Vec<FactRow<'a>> {
    let row = |key: &'a Key| FactRow { row: &key.row, bytes: key.bytes as u64, service: out.service(key.resource) };
    keys.iter().map(row).collect()
}

/// Rows with their bodies, out of blocks that need not be held any more.
#[derive(Default)]
struct Piece {
    /// The rows without their bodies, and where those end.
    keys: Vec<(RunRow<'static>, usize)>,
    bodies: Vec<u8>,
}

impl Piece {
    fn add(&mut self, row: RunRow<'_>) {
        self.bodies.extend_from_slice(row.body);
        let RunRow { row, shape, resource, scope, .. } = row;
        self.keys.push((RunRow { row, shape, resource, scope, body: &[] }, self.bodies.len()));
    }

    fn rows(&self) -> Vec<RunRow<'_>> {
        let starts = [0].into_iter().chain(self.keys.iter().map(|(_, end)| *end));
        let row = |((key, end), start): (&(RunRow<'static>, usize), usize)| {
            let body = self.bodies.get(start..*end).unwrap_or_default();
            let RunRow { row, shape, resource, scope, .. } = *key;
            RunRow { row, shape, resource, scope, body }
        };
        self.keys.iter().zip(starts).map(row).collect()
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.bodies.clear();
    }
}

/// The mark of a trace whose fragments have these: a verdict stays, the earlier one where there are two, and so does
/// that rows came late; of two without a verdict the later time and the greater count.
pub fn joined_mark(fragments: &[Fragment]) -> Mark {
    let mut marks: Vec<_> = fragments.iter().map(|fragment| &fragment.entry).collect();
    // Policies are numbered as they come. A late fragment took over the verdict of the one before it.
    marks.sort_by_key(|entry| match &entry.mark {
        Mark::Kept { late, policy, .. } => (false, *late, *policy, entry.facts.first_received),
        Mark::Unjudged { .. } => (true, false, 0, 0),
    });
    let mut marks = marks.into_iter().map(|entry| entry.mark.clone());
    let first = marks.next().unwrap_or_default();
    marks.fold(first, |mark, other| match (mark, other) {
        (Mark::Unjudged { not_before, failures }, Mark::Unjudged { not_before: later, failures: more }) => {
            Mark::Unjudged { not_before: not_before.max(later), failures: failures.max(more) }
        }
        (Mark::Kept { reason, policy, late, shadow_drop }, Mark::Kept { late: other, .. }) => {
            Mark::Kept { reason, policy, late: late || other, shadow_drop }
        }
        (verdict, _) => verdict,
    })
}
