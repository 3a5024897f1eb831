//! Whatever fails, and whenever the machine dies: answered is there once, refused is not there.

mod buffered;
mod fault_matrix;
mod full_disk;
mod full_start;
mod history;
mod kill;
mod log;
mod merge_faults;
mod merging;
mod old_manifest;
mod pressure;
mod retention;
mod rotation;
mod sealed;
mod set_aside;
mod small_disk;
#[path = "../support/mod.rs"]
mod support;
