//! Blocks and tables of segments, remembered while they are likely to be asked for again.

use crate::storage::Snapshot;
use crate::storage::error::StorageError;
use crate::storage::segment::block::{Block, BlockRow};
use crate::storage::segment::table::Table;
use std::collections::HashMap;
use std::sync::Arc;

/// Resources and scopes of one segment.
pub struct Tables {
    pub resources: Table,
    pub scopes: Table,
    /// What of them cannot be read.
    pub damage: Vec<String>,
}

/// The last block and the tables of each segment, up to a bound: neighbours are asked for next.
pub struct Parts {
    blocks: HashMap<usize, (u32, Arc<Block>)>,
    tables: HashMap<usize, Arc<Tables>>,
    /// How much all of them take, and may take.
    bytes: usize,
    most: usize,
    /// How many blocks were read so far.
    pub read: u64,
}

impl Parts {
    pub fn new(most: usize) -> Self {
        Self { blocks: HashMap::new(), tables: HashMap::new(), bytes: 0, most, read: 0 }
    }

    /// A block of a segment, given by its index in the snapshot.
    pub fn block(&mut self, snapshot: &Snapshot, segment: usize, block: u32) -> Result<Arc<Block>, StorageError> {
        if let Some((_, known)) = self.blocks.get(&segment).filter(|(known, _)| *known == block) {
            return Ok(known.clone());
        }
        let Some(file) = snapshot.segments.get(segment) else { return Ok(Arc::default()) };
        self.read += 1;
        let read = Arc::new(file.block(block)?);
        self.make_room(size_of_block(&read));
        if let Some((_, last)) = self.blocks.insert(segment, (block, read.clone())) {
            self.bytes = self.bytes.saturating_sub(size_of_block(&last));
        }
        Ok(read)
    }

    pub fn tables(&mut self, snapshot: &Snapshot, segment: usize) -> Arc<Tables> {
        if let Some(known) = self.tables.get(&segment) {
            return known.clone();
        }
        let (resources, some) = snapshot.segments.get(segment).map(|file| file.resources()).unwrap_or_default();
        let (scopes, others) = snapshot.segments.get(segment).map(|file| file.scopes()).unwrap_or_default();
        let damage = some.iter().chain(&others).map(ToString::to_string).collect();
        let size = resources.iter().chain(scopes.iter()).map(|(_, envelope)| envelope.len() + 64).sum();
        let read = Arc::new(Tables { resources, scopes, damage });
        self.make_room(size);
        self.tables.insert(segment, read.clone());
        read
    }

    /// Forgets everything where this would be too much with it.
    fn make_room(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.most {
            self.blocks.clear();
            self.tables.clear();
            self.bytes = bytes;
        }
    }
}

fn size_of_block(block: &Block) -> usize {
    let bodies: usize = block.rows.iter().map(|row| block.body(row).len()).sum();
    bodies + block.rows.len() * size_of::<BlockRow>()
}
