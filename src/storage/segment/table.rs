//! Resources and scopes, each stored once a segment and named by its content.
//!
//! A name is the first 16 bytes of the BLAKE3 hash of the envelope. Names hold across segments, so that a merge unites
//! tables without touching the rows that use them; senders choose the content, hence a hash nobody can collide.

use crate::model::wire::put_varint;
use crate::storage::codec::{Decoder, Malformed, put_prefixed};
use bytes::Bytes;
use std::collections::HashMap;

/// Names an envelope by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 16]);

impl ContentHash {
    pub fn of(envelope: &[u8]) -> Self {
        let hash = blake3::hash(envelope);
        let mut name = [0; 16];
        name.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
        Self(name)
    }
}

/// Collects envelopes; equal ones get the same index.
#[derive(Default)]
pub struct TableBuilder {
    indices: HashMap<Vec<u8>, u32>,
    entries: Vec<(ContentHash, Vec<u8>)>,
}

impl TableBuilder {
    /// The index of an envelope, new or known.
    pub fn intern(&mut self, envelope: &[u8]) -> u32 {
        if let Some(&index) = self.indices.get(envelope) {
            return index;
        }
        let index = self.entries.len() as u32;
        self.entries.push((ContentHash::of(envelope), envelope.to_vec()));
        self.indices.insert(envelope.to_vec(), index);
        index
    }

    pub fn hash(&self, index: u32) -> Option<ContentHash> {
        self.entries.get(index as usize).map(|(hash, _)| *hash)
    }

    pub fn envelope(&self, index: u32) -> &[u8] {
        self.entries.get(index as usize).map_or(&[], |(_, envelope)| envelope)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The table as stored: sorted by hash, so that equal content gives equal bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(hash, _)| *hash);
        let mut out = Vec::new();
        put_varint(&mut out, entries.len() as u64);
        for (hash, envelope) in entries {
            out.extend_from_slice(&hash.0);
            put_prefixed(&mut out, envelope);
        }
        out
    }
}

/// A table read back.
#[derive(Debug, Default, Clone)]
pub struct Table(HashMap<ContentHash, Bytes>);

impl Table {
    pub fn decode(raw: Vec<u8>) -> Result<Self, Malformed> {
        let raw = Bytes::from(raw);
        let mut fields = Decoder::new(&raw);
        let count: usize = fields.small()?;
        let mut table = HashMap::new();
        for _ in 0..count {
            let hash = ContentHash(fields.array()?);
            let envelope = fields.prefixed()?;
            table.insert(hash, raw.slice_ref(envelope));
        }
        Ok(Self(table))
    }

    pub fn get(&self, hash: &ContentHash) -> Option<&Bytes> {
        self.0.get(hash)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
