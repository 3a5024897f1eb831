//! Whatever fails, and whenever the machine dies: answered is there once, refused is not there.

mod fault_matrix;
mod kill;
mod model;
#[path = "../support/mod.rs"]
mod support;
