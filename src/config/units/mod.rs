//! Durations, sizes and secrets as the configuration writes them.

mod bytes;
pub mod duration;
mod secret;

pub use bytes::ByteSize;
pub use duration::GoDuration;
pub use secret::Secret;

/// The names under which the decoder recognizes values it has something to say about.
pub(super) const DURATION: &str = "$sluice::duration";
pub(super) const SECRET: &str = "$sluice::secret";
