//! What the binary knows of component types; the configuration itself knows none.

use super::{Fault, Node};
use std::fmt;

/// The five kinds of component, each with a section of its own in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Receiver,
    Processor,
    Exporter,
    Connector,
    Extension,
}

impl Kind {
    pub const ALL: [Self; 5] = [Self::Receiver, Self::Processor, Self::Exporter, Self::Connector, Self::Extension];

    /// The section of the file that holds components of this kind.
    pub fn section(self) -> &'static str {
        match self {
            Self::Receiver => "receivers",
            Self::Processor => "processors",
            Self::Exporter => "exporters",
            Self::Connector => "connectors",
            Self::Extension => "extensions",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.section().trim_end_matches('s'))
    }
}

/// The component types of the binary.
pub trait Types {
    /// The check of one type's configuration; `None` where there is no such type. Faults have paths relative to the node.
    fn check(&self, kind: Kind, type_name: &str) -> Option<fn(&Node) -> Vec<Fault>>;
    /// Every type there is, for the message that lists them.
    fn names(&self, kind: Kind) -> Vec<&'static str>;
    /// Whether this is a type people know from the Collector that the binary does not have yet.
    fn not_yet(&self, kind: Kind, type_name: &str) -> bool;
}
