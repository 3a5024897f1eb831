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
        // Ids alone take this much: larger counts are not worth allocating for.
        if runs > part.head.len() / 16 || rows > part.head.len() / 8 {
            return Err(BadPart("block counts do not match"));
        }
        let mut columns = Decoder::new(&part.raw);
        block.decode_head(&mut head, &mut columns, (runs, rows))?;
        block.decode_rest(&mut columns)?;
        block.raw = part.raw;
        Ok(block)
    }

    /// Runs, ids, parents and times; `head` holds what is not packed.
    fn decode_head(
        &mut self,
        head: &mut Decoder<'_>,
        columns: &mut Decoder<'_>,
        (runs, rows): (usize, usize),
    ) -> Result<(), BadPart> {
        let ids = head.bytes(runs.saturating_mul(16))?.as_chunks::<16>().0;
        let least = head.varint()?;
        let mut from = 0usize;
        let mut bases = Vec::with_capacity(runs);
        for id in ids {
            let count: usize = columns.small()?;
            let to = from.checked_add(count).filter(|&to| to <= rows).ok_or(BadPart("run lengths do not match"))?;
            self.runs.push(Run { trace_id: TraceId(*id), rows: from..to });
            bases.push(least.wrapping_add(head.varint()?));
            from = to;
        }
        if from != rows {
            return Err(BadPart("run lengths do not match"));
        }
        let parents: usize = head.small()?;
        self.rows = vec![BlockRow::default(); rows];
        for row in &mut self.rows {
            row.row.span_id = SpanId(head.array()?);
        }
        let parents = head.bytes(parents.saturating_mul(8))?.as_chunks::<8>().0;
        self.decode_times(head, &bases)?;
        let arrivals = get_arrivals(columns)?;
        for row in &mut self.rows {
            let arrival: usize = columns.small()?;
            (row.row.lsn, row.row.received) = *arrivals.get(arrival).ok_or(BadPart("arrival out of range"))?;
        }
        self.decode_parents(columns, parents)
    }

    fn decode_times(&mut self, head: &mut Decoder<'_>, bases: &[Nanos]) -> Result<(), BadPart> {
        for (run, base) in self.runs.iter().zip(bases) {
            for row in self.rows.get_mut(run.rows.clone()).unwrap_or_default() {
                row.row.start = base.wrapping_add(head.varint()?);
            }
        }
        for row in &mut self.rows {
            row.row.end = row.row.start.wrapping_add(head.signed()? as u64);
        }
        if head.is_empty() { Ok(()) } else { Err(BadPart("bytes behind the last time")) }
    }

    fn decode_parents(&mut self, columns: &mut Decoder<'_>, parents: &[[u8; 8]]) -> Result<(), BadPart> {
        let mut parents = parents.iter();
        for run in &self.runs {
            let rows = self.rows.get_mut(run.rows.clone()).unwrap_or_default();
            let ids: Vec<_> = rows.iter().map(|row| row.row.span_id).collect();
            for row in rows {
                row.row.parent = match columns.varint()? {
                    NO_PARENT => SpanId::default(),
                    PARENT_BY_ID => SpanId(*parents.next().ok_or(BadPart("parent ids do not match"))?),
                    index => *ids.get((index - PARENT_BY_INDEX) as usize).ok_or(BadPart("parent out of range"))?,
                };
            }
        }
        Ok(())
    }

    fn decode_rest(&mut self, columns: &mut Decoder<'_>) -> Result<(), BadPart> {
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
    let unit = columns.varint()?;
    let mut arrivals = Vec::new();
    let mut before = (0u64, 0u64);
    for _ in 0..count {
        before.0 = before.0.wrapping_add(columns.varint()?);
        before.1 = before.1.wrapping_add(columns.signed()? as u64);
        arrivals.push((before.0, before.1.wrapping_mul(unit)));
    }
    Ok(arrivals)
}
