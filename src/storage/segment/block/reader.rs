//! A block on its way back: checked, decompressed, its columns put together into rows.

use super::{NO_PARENT, PARENT_BY_ID, PARENT_BY_INDEX};
use crate::model::wire::keys;
use crate::model::{Row, SpanId, TraceId, time::Nanos};
use crate::storage::codec::{Decoder, Malformed};
use crate::storage::segment::SectionKind;
use crate::storage::segment::part::{BadPart, Part};
use crate::storage::segment::table::ContentHash;

/// A block read back.
#[derive(Debug, Default)]
pub struct Block {
    pub runs: Vec<Run>,
    pub rows: Vec<BlockRow>,
    pub resources: Vec<ContentHash>,
    pub scopes: Vec<ContentHash>,
    pub flags: u8,
    raw: Vec<u8>,
}

/// One run of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub trace_id: TraceId,
    /// Its rows among those of the block.
    pub rows: std::ops::Range<usize>,
}

/// One row of a block.
#[derive(Debug, Clone, Default)]
pub struct BlockRow {
    pub row: Row,
    pub shape: u8,
    /// Indices into the block's names.
    pub resource: u32,
    pub scope: u32,
    body: std::ops::Range<usize>,
}

impl From<Malformed> for BadPart {
    fn from(_: Malformed) -> Self {
        Self("malformed block")
    }
}

impl Block {
    pub fn decode(bytes: &[u8]) -> Result<Self, BadPart> {
        let part = Part::decode(bytes)?;
        if part.kind != SectionKind::BLOCK {
            return Err(BadPart("no block"));
        }
        let mut head = Decoder::new(part.head);
        let (runs, rows) = (head.u32()? as usize, head.u32()? as usize);
        let (resources, scopes) = (head.u32()? as usize, head.u32()? as usize);
        let mut block = Self { flags: part.flags, resources: hashes(&mut head, resources)?, ..Self::default() };
        block.scopes = hashes(&mut head, scopes)?;
        block.decode_columns(&part.raw, runs, rows)?;
        block.raw = part.raw;
        Ok(block)
    }

    fn decode_columns(&mut self, raw: &[u8], runs: usize, rows: usize) -> Result<(), BadPart> {
        // Every row takes more than one byte of the columns: a larger count is not worth allocating for.
        if runs > raw.len() || rows > raw.len() {
            return Err(BadPart("block counts do not match"));
        }
        let mut columns = Decoder::new(raw);
        let bases = self.decode_runs(&mut columns, runs, rows)?;
        let arrivals = get_arrivals(&mut columns)?;
        self.rows = vec![BlockRow::default(); rows];
        for row in &mut self.rows {
            row.row.span_id = SpanId(columns.array()?);
        }
        self.decode_parents(&mut columns)?;
        for (run, base) in self.runs.iter().zip(bases) {
            for row in self.rows.get_mut(run.rows.clone()).unwrap_or_default() {
                row.row.start = base.wrapping_add(columns.varint()?);
            }
        }
        self.decode_rest(&mut columns, &arrivals)
    }

    fn decode_runs(&mut self, columns: &mut Decoder<'_>, runs: usize, rows: usize) -> Result<Vec<Nanos>, BadPart> {
        let mut bases = Vec::with_capacity(runs);
        let mut from = 0usize;
        for _ in 0..runs {
            let trace_id = TraceId(columns.array()?);
            let count: usize = columns.small()?;
            let to = from.checked_add(count).filter(|&to| to <= rows).ok_or(BadPart("run lengths do not match"))?;
            self.runs.push(Run { trace_id, rows: from..to });
            bases.push(columns.varint()?);
            from = to;
        }
        if from == rows { Ok(bases) } else { Err(BadPart("run lengths do not match")) }
    }

    fn decode_parents(&mut self, columns: &mut Decoder<'_>) -> Result<(), BadPart> {
        for run in &self.runs {
            let rows = self.rows.get_mut(run.rows.clone()).unwrap_or_default();
            let ids: Vec<_> = rows.iter().map(|row| row.row.span_id).collect();
            for row in rows {
                row.row.parent = match columns.varint()? {
                    NO_PARENT => SpanId::default(),
                    PARENT_BY_ID => SpanId(columns.array()?),
                    index => *ids.get((index - PARENT_BY_INDEX) as usize).ok_or(BadPart("parent out of range"))?,
                };
            }
        }
        Ok(())
    }

    fn decode_rest(&mut self, columns: &mut Decoder<'_>, arrivals: &[(u64, Nanos)]) -> Result<(), BadPart> {
        for row in &mut self.rows {
            row.row.end = row.row.start.wrapping_add(columns.signed()? as u64);
        }
        for row in &mut self.rows {
            row.row.kind = columns.small::<u32>()? as i32;
        }
        for row in &mut self.rows {
            row.row.status = columns.small::<u32>()? as i32;
        }
        for row in &mut self.rows {
            row.shape = columns.u8()?;
        }
        for row in &mut self.rows {
            row.resource = columns.small()?;
        }
        for row in &mut self.rows {
            row.scope = columns.small()?;
        }
        for row in &mut self.rows {
            let arrival: usize = columns.small()?;
            (row.row.lsn, row.row.received) = *arrivals.get(arrival).ok_or(BadPart("arrival out of range"))?;
        }
        self.decode_bodies(columns)
    }

    fn decode_bodies(&mut self, columns: &mut Decoder<'_>) -> Result<(), BadPart> {
        let mut lengths = Vec::with_capacity(self.rows.len());
        for _ in 0..self.rows.len() {
            lengths.push(columns.small::<usize>()?);
        }
        let mut from = columns.position();
        let end = from.saturating_add(columns.rest().len());
        for (row, length) in self.rows.iter_mut().zip(lengths) {
            let to = from.checked_add(length).filter(|&to| to <= end).ok_or(BadPart("body out of range"))?;
            row.body = from..to;
            from = to;
        }
        if from == end { Ok(()) } else { Err(BadPart("bytes behind the last body")) }
    }

    /// The run of a trace in this block.
    pub fn run(&self, id: TraceId) -> Option<&Run> {
        let index = self.runs.binary_search_by_key(&id, |run| run.trace_id).ok()?;
        self.runs.get(index)
    }

    /// The bytes of a row that its keys leave.
    pub fn body(&self, row: &BlockRow) -> &[u8] {
        self.raw.get(row.body.clone()).unwrap_or_default()
    }

    /// The `Span` message of a row.
    pub fn span(&self, trace_id: TraceId, row: &BlockRow) -> Vec<u8> {
        let body = self.body(row);
        let mut out = Vec::with_capacity(body.len() + 80);
        keys::join(trace_id, &row.row, row.shape, body, &mut out);
        out
    }
}

fn hashes(fields: &mut Decoder<'_>, count: usize) -> Result<Vec<ContentHash>, BadPart> {
    let bytes = fields.bytes(count.saturating_mul(16))?;
    Ok(bytes.as_chunks::<16>().0.iter().map(|hash| ContentHash(*hash)).collect())
}

fn get_arrivals(columns: &mut Decoder<'_>) -> Result<Vec<(u64, Nanos)>, BadPart> {
    let count: usize = columns.small()?;
    let mut arrivals = Vec::new();
    let mut before = (0u64, 0u64);
    for _ in 0..count {
        before.0 = before.0.wrapping_add(columns.signed()? as u64);
        before.1 = before.1.wrapping_add(columns.signed()? as u64);
        arrivals.push(before);
    }
    Ok(arrivals)
}
