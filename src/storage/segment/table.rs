//! Resources and scopes, each stored once a segment and named by its content.
//!
//! A name is the first 16 bytes of the BLAKE3 hash of the envelope. Names hold across segments, so that a merge unites
//! tables without touching the rows that use them; senders choose the content, hence a hash nobody can collide.

use crate::storage::codec::{Decoder, Malformed, put_prefixed};
use bytes::Bytes;
use std::collections::HashMap;

/// Bytes of a table that are checksummed as a unit, roughly: damage costs the rows that use these.
const PAGE_BYTES: usize = 64 << 10;

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
    by_content: HashMap<Vec<u8>, u32>,
    by_hash: HashMap<ContentHash, u32>,
    entries: Vec<(ContentHash, Vec<u8>)>,
}

impl TableBuilder {
    /// The index of an envelope, new or known.
    pub fn intern(&mut self, envelope: &[u8]) -> u32 {
        if let Some(&index) = self.by_content.get(envelope) {
            return index;
        }
        let index = self.named(ContentHash::of(envelope), envelope);
        self.by_content.insert(envelope.to_vec(), index);
        index
    }

    /// The same where the envelope's hash is known.
    pub fn named(&mut self, hash: ContentHash, envelope: &[u8]) -> u32 {
        let next = self.entries.len() as u32;
        let index = *self.by_hash.entry(hash).or_insert(next);
        if index == next {
            self.entries.push((hash, envelope.to_vec()));
        }
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

    /// The table as stored, in pages: sorted by hash, so that equal content gives equal bytes.
    pub fn encode(&self) -> Vec<Vec<u8>> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(hash, _)| *hash);
        let mut pages = vec![Vec::new()];
        for (hash, envelope) in entries {
            if pages.last().is_some_and(|page| page.len() >= PAGE_BYTES) {
                pages.push(Vec::new());
            }
            if let Some(page) = pages.last_mut() {
                page.extend_from_slice(&hash.0);
                put_prefixed(page, envelope);
            }
        }
        pages
    }
}

/// A table read back.
#[derive(Debug, Default, Clone)]
pub struct Table(HashMap<ContentHash, Bytes>);

impl Table {
    /// Adds the entries of a page.
    pub fn add_page(&mut self, raw: Vec<u8>) -> Result<(), Malformed> {
        let raw = Bytes::from(raw);
        let mut fields = Decoder::new(&raw);
        while !fields.is_empty() {
            let hash = ContentHash(fields.array()?);
            let envelope = fields.prefixed()?;
            self.0.insert(hash, raw.slice_ref(envelope));
        }
        Ok(())
    }

    pub fn add(&mut self, hash: ContentHash, envelope: Bytes) {
        self.0.insert(hash, envelope);
    }

    /// Takes those of these that another table has over where they are missing here.
    pub fn take(&mut self, names: &[ContentHash], other: &Self) {
        for name in names.iter().filter(|name| !self.0.contains_key(*name)).collect::<Vec<_>>() {
            if let Some(envelope) = other.get(name).filter(|envelope| ContentHash::of(envelope) == *name) {
                self.0.insert(*name, envelope.clone());
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&ContentHash, &Bytes)> {
        self.0.iter()
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
