//! Which segment a file is, as its header says.

use super::{HEADER_SIZE, MAGIC, VERSION};
use crate::storage::codec::{Decoder, Malformed, crc};
use crate::storage::disk::Disk;
use crate::storage::owner::Identity;
use std::path::Path;

/// What stands at the beginning of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    Of(Identity),
    /// A segment's header of another version.
    Version(u32),
    Damaged,
}

impl Header {
    pub fn decode(bytes: &[u8]) -> Self {
        decode(bytes).unwrap_or(Self::Damaged)
    }
}

fn decode(bytes: &[u8]) -> Result<Header, Malformed> {
    let mut fields = Decoder::new(bytes);
    let (magic, version) = (fields.array::<8>()?, fields.u32()?);
    let (id, store) = (fields.u64()?, fields.array()?);
    let covered = bytes.get(..fields.position()).unwrap_or_default();
    let whole = magic == MAGIC && fields.u32()? == crc(&[covered]);
    Ok(match (whole, version) {
        (false, _) => Header::Damaged,
        (true, VERSION) => Header::Of(Identity { store, id }),
        (true, version) => Header::Version(version),
    })
}

/// Which segment of which store a file is; `None` where its header is damaged or of another version.
pub fn identify(disk: &dyn Disk, path: &Path) -> Option<Identity> {
    let mut header = [0; HEADER_SIZE];
    disk.open(path).ok()?.read_at(&mut header, 0).ok()?;
    match Header::decode(&header) {
        Header::Of(identity) => Some(identity),
        Header::Version(_) | Header::Damaged => None,
    }
}
