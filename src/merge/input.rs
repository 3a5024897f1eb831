//! One input on its way through a merge, from its first trace to its last: a page of its directory and a block at a time.

use super::error::MergeError;
use super::output::Outputs;
use super::stages::{Stage, Stopwatch};
use crate::model::TraceId;
use crate::storage::StorageError;
use crate::storage::segment::block::{Block, BlockRow};
use crate::storage::segment::table::Table;
use crate::storage::segment::{DirectoryEntry, Names, RunRow, Segment};
use std::sync::Arc;

/// See the module.
pub struct Input {
    segment: Arc<Segment>,
    next_page: usize,
    page: std::vec::IntoIter<DirectoryEntry>,
    head: Option<DirectoryEntry>,
    resources: Table,
    scopes: Table,
    loaded: Option<Loaded>,
}

/// The block that is held, and where its names stand in the tables of an output.
struct Loaded {
    ordinal: u32,
    output: usize,
    block: Block,
    resources: Vec<u32>,
    scopes: Vec<u32>,
}

impl Input {
    /// Reads the tables and the first page.
    pub fn open(segment: Arc<Segment>, watch: &mut Stopwatch) -> Result<Self, MergeError> {
        let ((resources, mut errors), (scopes, more)) = (segment.resources(), segment.scopes());
        errors.extend(more);
        let (page, head, loaded) = (Vec::new().into_iter(), None, None);
        let mut input = Self { segment, next_page: 0, page, head, resources, scopes, loaded };
        match errors.into_iter().next() {
            Some(error) => Err(input.damaged(error)),
            None => input.advance(None, watch).map(|()| input),
        }
    }

    pub fn names(&self) -> Result<Arc<Names>, MergeError> {
        self.segment.names().map_err(|error| self.damaged(StorageError::Refused(error.to_string())))
    }

    /// The trace that comes next.
    pub fn id(&self) -> Option<TraceId> {
        self.head.as_ref().map(|entry| entry.trace_id)
    }

    /// Takes the entry of the trace that comes next.
    pub fn take(&mut self, watch: &mut Stopwatch) -> Result<Option<DirectoryEntry>, MergeError> {
        let taken = self.head.take();
        self.advance(taken.as_ref().map(|entry| entry.trace_id), watch)?;
        Ok(taken)
    }

    fn advance(&mut self, behind: Option<TraceId>, watch: &mut Stopwatch) -> Result<(), MergeError> {
        self.head = self.page.next();
        while self.head.is_none() && self.next_page < self.segment.page_count() {
            let before = watch.enter(Stage::Read);
            let page = self.segment.page(self.next_page);
            watch.enter(before);
            self.page = page.map_err(|error| self.damaged(error))?.into_iter();
            self.next_page += 1;
            self.head = self.page.next();
        }
        let in_order = self.head.is_none() || behind < self.id();
        if in_order { Ok(()) } else { Err(self.nonsense("the directory is not in order")) }
    }

    /// Makes sure that this block is held.
    pub fn load(&mut self, ordinal: u32, out: &mut Outputs<'_>, watch: &mut Stopwatch) -> Result<(), MergeError> {
        let output = out.number();
        let block = match self.loaded.take() {
            Some(loaded) if (loaded.ordinal, loaded.output) == (ordinal, output) => {
                self.loaded = Some(loaded);
                return Ok(());
            }
            Some(loaded) if loaded.ordinal == ordinal => loaded.block,
            _ => {
                let before = watch.enter(Stage::Read);
                let read = self.segment.block(ordinal);
                watch.enter(before);
                read.map_err(|error| self.damaged(error))?
            }
        };
        let missing = || self.nonsense(&format!("a resource or scope of block {ordinal} is missing"));
        let (mut resources, mut scopes) = (Vec::new(), Vec::new());
        for hash in &block.resources {
            resources.push(out.resource(*hash, self.resources.get(hash).ok_or_else(missing)?));
        }
        for hash in &block.scopes {
            scopes.push(out.scope(*hash, self.scopes.get(hash).ok_or_else(missing)?));
        }
        self.loaded = Some(Loaded { ordinal, output, block, resources, scopes });
        Ok(())
    }

    /// The rows of a trace in the block that is held, and the place of the first among its rows.
    pub fn run(&self, id: TraceId) -> Result<(usize, &[BlockRow]), MergeError> {
        let missing = || self.nonsense(&format!("the rows of trace {id} are not where the directory says"));
        let block = self.loaded.as_ref().map(|loaded| &loaded.block).ok_or_else(missing)?;
        let range = block.run(id).ok_or_else(missing)?.rows.clone();
        Ok((range.start, block.rows.get(range).ok_or_else(missing)?))
    }

    /// A row of the block that is held, as an output takes it.
    pub fn row<'a>(&'a self, row: &BlockRow) -> Result<RunRow<'a>, MergeError> {
        let names = self.loaded.as_ref().and_then(|loaded| {
            let resource = *loaded.resources.get(row.resource as usize)?;
            Some((resource, *loaded.scopes.get(row.scope as usize)?, loaded.block.body(row)))
        });
        let (resource, scope, body) = names.ok_or_else(|| self.nonsense("a row refers to a name that is not there"))?;
        Ok(RunRow { row: row.row, shape: row.shape, resource, scope, body })
    }

    /// The row at this place in the block that is held.
    pub fn row_at(&self, place: usize) -> Result<RunRow<'_>, MergeError> {
        let row = self.loaded.as_ref().and_then(|loaded| loaded.block.rows.get(place));
        self.row(row.ok_or_else(|| self.nonsense("a row that is not there is referred to"))?)
    }

    /// An error unless the directory's count of a trace's rows is what its blocks have.
    pub fn check_rows(&self, entry: &DirectoryEntry, found: usize) -> Result<(), MergeError> {
        let same = found > 0 && entry.facts.rows as usize == found;
        let id = entry.trace_id;
        if same {
            Ok(())
        } else {
            Err(self.nonsense(&format!("trace {id} has not as many rows as the directory says")))
        }
    }

    /// For parts that passed their checksums and do not fit together.
    fn nonsense(&self, what: &str) -> MergeError {
        self.damaged(StorageError::damaged(self.segment.path(), 0, what))
    }

    fn damaged(&self, error: StorageError) -> MergeError {
        MergeError::Damaged { id: self.segment.footer().id, error }
    }
}
