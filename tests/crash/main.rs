//! Whatever fails, and whenever the machine dies: answered is there once, refused is not there.

mod fault_matrix;
mod full_disk;
mod full_start;
mod kill;
mod log;
mod model;
mod old_manifest;
mod pressure;
mod retention;
mod rotation;
mod small_disk;
#[path = "../support/mod.rs"]
mod support;
