//! What several test binaries share.
#![allow(dead_code, reason = "every test binary uses its own part of this")]

pub mod fault_disk;
pub mod traces;
