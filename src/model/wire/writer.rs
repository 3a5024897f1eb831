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

/// Appends a `fixed32` field.
pub fn put_fixed32(out: &mut Vec<u8>, field: u32, value: u32) {
    put_tag(out, field, 5);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a message field whose content `fill` appends. After an error `out` holds half a field.
pub fn put_message<T, E>(
    out: &mut Vec<u8>,
    field: u32,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<T, E>,
) -> Result<T, E> {
    put_tag(out, field, 2);
    let begin = out.len();
    let filled = fill(out)?;
    let mut length = Vec::new();
    put_varint(&mut length, (out.len() - begin) as u64);
    out.splice(begin..begin, length);
    Ok(filled)
}
