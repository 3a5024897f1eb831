//! Protobuf primitives, written.

/// Appends a base-128 number.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_tag(out: &mut Vec<u8>, field: u32, wire_type: u8) {
    put_varint(out, (u64::from(field) << 3) | u64::from(wire_type));
}

/// Appends a length-delimited field: bytes, a string or a message.
pub fn put_bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    put_tag(out, field, 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Appends a number field; negative `int32` values are given sign-extended.
pub fn put_varint_field(out: &mut Vec<u8>, field: u32, value: u64) {
    put_tag(out, field, 0);
    put_varint(out, value);
}

/// Appends a `fixed64` field.
pub fn put_fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    put_tag(out, field, 1);
    out.extend_from_slice(&value.to_le_bytes());
}
