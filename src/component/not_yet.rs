//! Keys that the Collector has and sluice does not have yet.

use serde::{Deserialize, Deserializer, de::Error};

/// The type of such a key in a config struct: written by a user, it is refused by name rather than as unknown,
/// and never accepted without an effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotYet;

impl<'de> Deserialize<'de> for NotYet {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("not yet: sluice does not have this setting so far; remove the key"))
    }
}
