//! Damage to any file, in every way: what is sound is served, what is not is said and found, and a repair mends it.
//!
//! Scenario: a small store that holds a file of every kind, with one damage. Guarantee (rules 2, 4, 12): nothing panics;
//! every row whose bytes are untouched is in the answers, and none with other content; `verify` finds the damage; `repair`
//! deletes nothing and ends in a store that verifies as sound and holds every sound row.

mod bytes;
mod check;
mod fixture;
mod interrupted;
mod kinds;
mod matrix;
