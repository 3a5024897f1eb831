//! Attributes as SDKs write them, recognised without the general reader: most of a span's bytes are these.
//!
//! Only what is surely right is recognised; everything else takes the long way and is judged there.

/// An attribute whose key and value are each written once, in order, the value of a scalar kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainAttribute<'a> {
    pub key: &'a [u8],
    /// Text of the value; empty for other kinds.
    pub text: &'a [u8],
}

const TEXT: u8 = 0x0a;
const VALUE: u8 = 0x12;
const BOOL: u8 = 0x10;
const INT: u8 = 0x18;
const DOUBLE: u8 = 0x21;

/// Reads a `KeyValue` message of that form.
#[inline]
pub fn attribute(message: &[u8]) -> Option<PlainAttribute<'_>> {
    let (key, rest) = delimited(message, TEXT)?;
    let (value, rest) = delimited(rest, VALUE)?;
    if !rest.is_empty() {
        return None;
    }
    let text = match value {
        [TEXT, ..] => delimited(value, TEXT).filter(|(_, rest)| rest.is_empty())?.0,
        [BOOL, 0 | 1] | [INT, 0..=0x7f] | [INT, 0x80..=0xff, 0..=0x7f] => &[],
        [DOUBLE, double @ ..] if double.len() == 8 => &[],
        _ => return None,
    };
    Some(PlainAttribute { key, text })
}

/// The value of a length-delimited field with this tag at the start of `bytes`, and what is behind it. Lengths of at
/// most two bytes.
#[inline]
fn delimited(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    match bytes {
        [first, length @ 0..=0x7f, rest @ ..] if *first == tag => rest.split_at_checked(usize::from(*length)),
        [first, low @ 0x80..=0xff, high @ 1..=0x7f, rest @ ..] if *first == tag => {
            rest.split_at_checked(usize::from(*low & 0x7f) | usize::from(*high) << 7)
        }
        _ => None,
    }
}

/// Whether bytes are UTF-8. Most text is short ASCII: a word at a time decides that, the rest is the library's.
#[inline]
pub fn is_utf8(text: &[u8]) -> bool {
    is_ascii(text) || std::str::from_utf8(text).is_ok()
}

#[inline]
fn is_ascii(text: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let high_bits = |word: &[u8; 8]| u64::from_ne_bytes(*word) & HIGH;
    match text.last_chunk::<8>() {
        // The last word overlaps the one before it, which costs less than a loop over single bytes.
        Some(last) => text.as_chunks::<8>().0.iter().fold(high_bits(last), |high, word| high | high_bits(word)) == 0,
        None => text.iter().fold(0, |high, byte| high | byte) < 0x80,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_attributes_are_read_and_others_left_to_the_long_way() {
        let of_text = PlainAttribute { key: b"k", text: b"v" };
        assert_eq!(attribute(&[0x0a, 1, b'k', 0x12, 3, 0x0a, 1, b'v']), Some(of_text));
        for value in [&[0x10, 1][..], &[0x18, 5], &[0x18, 0x80, 1], &[0x21, 0, 0, 0, 0, 0, 0, 0, 0]] {
            let message = [&[0x0a, 1, b'k', 0x12, value.len() as u8], value].concat();
            assert_eq!(attribute(&message), Some(PlainAttribute { key: b"k", text: b"" }), "{value:?}");
        }
        let others: [&[u8]; 9] = [
            &[],
            &[0x0a, 1, b'k'],
            &[0x0a, 9, b'k', 0x12, 0],
            &[0x0a, 1, b'k', 0x12, 0],
            &[0x12, 3, 0x0a, 1, b'v', 0x0a, 1, b'k'],
            &[0x0a, 1, b'k', 0x12, 3, 0x0a, 2, b'v'],
            &[0x0a, 1, b'k', 0x12, 3, 0x0a, 1, b'v', 0x18],
            &[0x0a, 1, b'k', 0x12, 2, 0x08, 1],
            &[0x0a, 1, b'k', 0x12, 4, 0x0a, 1, b'v', 0],
        ];
        for other in others {
            assert_eq!(attribute(other), None, "{other:?}");
        }
        let long = [&[0x0a, 1, b'k', 0x12, 0xcb, 0x01, 0x0a, 0xc8, 0x01][..], &[b'x'; 200]].concat();
        assert_eq!(attribute(&long).map(|attribute| attribute.text.len()), Some(200));
    }

    #[test]
    fn text_of_any_length_is_judged_as_the_library_does() {
        for length in 0..40 {
            for at in 0..length {
                for byte in [0x7f, 0x80, 0xc3, 0xff] {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    assert_eq!(is_utf8(&text), std::str::from_utf8(&text).is_ok(), "{text:?}");
                }
            }
            assert!(is_utf8(&"é".repeat(length).into_bytes()));
        }
    }
}
