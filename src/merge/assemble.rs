//! The merge of sorted directories: trace by trace, in id order, each from the inputs that have it.
//!
//! Memory: of each input its tables, a directory page and a block; of the output what its writer keeps; and what
//! [`rows`](super::rows) says of a trace in several inputs. A trace in one input is moved block by block, whatever its size.

use super::error::MergeError;
use super::input::Input;
use super::ledger::Collapsed;
use super::output::Outputs;
use super::rows::{Fragment, join};
use super::stages::Stopwatch;
use crate::model::TraceId;
use crate::storage::segment::block::BlockRow;
use crate::storage::segment::{DirectoryEntry, RunRow};

/// Writes every trace of the inputs. `go_on` is asked before each.
pub fn assemble(
    inputs: &mut [Input],
    out: &mut Outputs<'_>,
    watch: &mut Stopwatch,
    go_on: &dyn Fn() -> bool,
) -> Result<Collapsed, MergeError> {
    let mut collapsed = Collapsed::default();
    while let Some(id) = inputs.iter().filter_map(Input::id).min() {
        if !go_on() {
            return Err(MergeError::Stopped);
        }
        out.begin_trace(watch)?;
        let fragments = take(inputs, id, watch)?;
        match &*fragments {
            [Fragment { input, entry }] => {
                if let Some(input) = inputs.get_mut(*input) {
                    move_run(input, entry, out, watch)?;
                }
            }
            _ => collapsed.add(join(id, &fragments, inputs, out, watch)?),
        }
    }
    Ok(collapsed)
}

/// The fragments of a trace; the inputs that have it go on to their next one.
fn take(inputs: &mut [Input], id: TraceId, watch: &mut Stopwatch) -> Result<Vec<Fragment>, MergeError> {
    let mut fragments = Vec::new();
    for (index, input) in inputs.iter_mut().enumerate().filter(|(_, input)| input.id() == Some(id)) {
        fragments.extend(input.take(watch)?.map(|entry| Fragment { input: index, entry }));
    }
    Ok(fragments)
}

/// Moves a trace that lies in this input alone: its facts and its mark are what they were.
fn move_run(
    input: &mut Input,
    entry: &DirectoryEntry,
    out: &mut Outputs<'_>,
    watch: &mut Stopwatch,
) -> Result<(), MergeError> {
    let (id, facts, mark) = (entry.trace_id, entry.facts.clone(), entry.mark.clone());
    if entry.blocks == 1 {
        input.load(entry.block, out, watch)?;
        let (_, rows) = input.run(id)?;
        input.check_rows(entry, rows.len())?;
        return Ok(out.add_run(id, &run_rows(input, rows)?, facts, mark)?);
    }
    let mut count = 0;
    for block in entry.block..entry.block.saturating_add(entry.blocks) {
        input.load(block, out, watch)?;
        let (_, rows) = input.run(id)?;
        count += rows.len();
        out.add_piece(id, &run_rows(input, rows)?, watch)?;
    }
    input.check_rows(entry, count)?;
    Ok(out.end_run(id, facts, mark)?)
}

fn run_rows<'a>(input: &'a Input, rows: &[BlockRow]) -> Result<Vec<RunRow<'a>>, MergeError> {
    rows.iter().map(|row| input.row(row)).collect()
}

impl Collapsed {
    fn add(&mut self, more: Self) {
        self.rows += more.rows;
        self.fragments += more.fragments;
        self.checksum = self.checksum.wrapping_add(more.checksum);
    }
}
