//! Variable parts, walked by hand. Nothing here uses the product's decoders.

/// Goes through bytes from front to back.
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).try_into().unwrap()
    }

    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub fn varint(&mut self) -> u64 {
        let byte = self.byte();
        let low = u64::from(byte & 0x7f);
        if byte < 0x80 { low } else { low | self.varint() << 7 }
    }

    pub fn zigzag(&mut self) -> i64 {
        let number = self.varint();
        let half = (number / 2) as i64;
        if number.is_multiple_of(2) { half } else { -half - 1 }
    }

    pub fn blob(&mut self) -> &'a [u8] {
        let length = self.varint() as usize;
        self.bytes(length)
    }

    pub fn text(&mut self) -> String {
        String::from_utf8(self.blob().to_vec()).unwrap()
    }
}

pub fn crc(bytes: &[u8]) -> u64 {
    crc32fast::hash(bytes).into()
}

/// A packed part, unpacked.
pub fn unpack(codec: u64, packed: &[u8], raw_length: u64) -> Vec<u8> {
    let raw = match codec {
        0 => packed.to_vec(),
        1 => lz4_flex::block::decompress(packed, raw_length as usize).unwrap(),
        2 => zstd::bulk::decompress(packed, raw_length as usize).unwrap(),
        other => panic!("unknown codec {other}"),
    };
    assert_eq!(raw.len() as u64, raw_length);
    raw
}
