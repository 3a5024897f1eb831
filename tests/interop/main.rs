//! Real senders against the real daemon: what they sent is read back as they meant it.

mod python;
mod python_sdk;
#[path = "../support/mod.rs"]
mod support;
