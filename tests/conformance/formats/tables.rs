//! The byte tables of `docs/formats.md`, read from the page itself.

use std::collections::BTreeMap;
use std::path::Path;

/// A fixed-size header as the page describes it.
pub struct Layout {
    title: String,
    fields: Vec<Field>,
}

struct Field {
    offset: usize,
    size: usize,
    kind: String,
    name: String,
}

/// The fields of one header, by name, as raw bytes.
#[derive(Debug)]
pub struct Fields(BTreeMap<String, Vec<u8>>);

impl Layout {
    /// The table under the heading `### title`. Its offsets must join without gaps.
    pub fn of(title: &str) -> Self {
        let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/formats.md")).unwrap();
        let heading = format!("### {title}\n");
        let (_, section) = page.split_once(&heading).unwrap_or_else(|| panic!("formats.md has no {heading}"));
        let section = section.split("\n#").next().unwrap();
        let fields: Vec<_> = section.lines().filter_map(field).collect();
        let layout = Self { title: title.to_owned(), fields };
        layout.check();
        layout
    }

    fn check(&self) {
        assert!(!self.fields.is_empty(), "{}: no table", self.title);
        let mut end = 0;
        for field in &self.fields {
            assert_eq!(field.offset, end, "{}: offset of {}", self.title, field.name);
            let expected = match &*field.kind {
                "u8" => 1,
                "u32" => 4,
                "u64" => 8,
                "bytes" => field.size,
                other => panic!("{}: unknown type {other}", self.title),
            };
            assert_eq!(field.size, expected, "{}: size of {}", self.title, field.name);
            end += field.size;
        }
    }

    /// Bytes of the whole header.
    pub fn size(&self) -> usize {
        self.fields.iter().map(|field| field.size).sum()
    }

    /// The values of its fields at the beginning of `bytes`.
    pub fn read(&self, bytes: &[u8]) -> Fields {
        let value = |field: &Field| bytes[field.offset..field.offset + field.size].to_vec();
        Fields(self.fields.iter().map(|field| (field.name.clone(), value(field))).collect())
    }
}

/// A row `| offset | size | type | name | meaning |`; other rows have no number in front.
fn field(line: &str) -> Option<Field> {
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    let [_, offset, size, kind, name, ..] = cells.as_slice() else { return None };
    let (offset, size) = (offset.parse().ok()?, size.parse().ok()?);
    Some(Field { offset, size, kind: (*kind).to_owned(), name: (*name).to_owned() })
}

impl Fields {
    pub fn bytes(&self, name: &str) -> &[u8] {
        self.0.get(name).unwrap_or_else(|| panic!("formats.md has no field {name}"))
    }

    /// A number, little-endian.
    pub fn number(&self, name: &str) -> u64 {
        let bytes = self.bytes(name);
        assert!(bytes.len() <= 8, "{name} is no number");
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Every number among these names, in this order.
    pub fn numbers<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.number(name))
    }

    /// That fields whose name begins with `reserved` are zero.
    pub fn check_reserved(&self) {
        let reserved = self.0.iter().filter(|(name, _)| name.starts_with("reserved"));
        reserved.for_each(|(name, bytes)| assert!(bytes.iter().all(|byte| *byte == 0), "{name}"));
    }
}
