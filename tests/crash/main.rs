//! Whatever fails, and whenever the machine dies: answered is there once, refused is not there.

mod buffered;
mod damage;
mod fault_matrix;
mod history;
mod kill;
mod log;
mod old_manifest;
mod rotation;
mod sealed;
mod set_aside;
#[path = "../support/mod.rs"]
mod support;
