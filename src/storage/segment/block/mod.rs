//! Neighbouring runs, compressed and checksummed as a unit.
//!
//! Counts, the names of the resources and scopes that the rows use, ids and times stand uncompressed in front: they are next
//! to random and would only spoil the packing of the rest. The compressed part
//! begins with the other key columns of all rows, then come the bodies, one after the other. Columns first and bodies after
//! compresses better than row by row, and a merge copies bodies without parsing them.

mod builder;
mod reader;

pub use builder::{BlockBuilder, RunRow};
pub use reader::{Block, BlockRow, Run};

/// The block holds part of one run and nothing else.
pub const PIECE: u8 = 1;

/// Received times are whole milliseconds where the store gave them.
const MILLISECOND: u64 = 1_000_000;

// How a parent is written: one of the first two, or the index of a row of the same run above them.
const NO_PARENT: u64 = 0;
const PARENT_BY_ID: u64 = 1;
const PARENT_BY_INDEX: u64 = 2;
