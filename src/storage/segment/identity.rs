//! Which segment a file is, as its header says.

use super::{HEADER_SIZE, MAGIC, VERSION};
use crate::storage::codec::{Decoder, Malformed, crc};
use crate::storage::disk::Disk;
use crate::storage::owner::Identity;
use std::path::Path;

/// Reads the header of a file; `None` where it is damaged, of another version, or no segment's.
pub fn identify(disk: &dyn Disk, path: &Path) -> Option<Identity> {
    let mut header = [0; HEADER_SIZE];
    disk.open(path).ok()?.read_at(&mut header, 0).ok()?;
    decode(&header).ok()?
}

fn decode(header: &[u8]) -> Result<Option<Identity>, Malformed> {
    let mut fields = Decoder::new(header);
    let known = fields.array()? == MAGIC && fields.u32()? == VERSION;
    let (id, store) = (fields.u64()?, fields.array()?);
    let covered = header.get(..fields.position()).unwrap_or_default();
    Ok((known && fields.u32()? == crc(&[covered])).then_some(Identity { store, id }))
}
