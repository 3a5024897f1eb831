//! How spans end: what a part of a service adds where it went well, and where it did not.

use super::attributes::{Attributes, put_text};
use crate::cli::generate::shop::{Cause, Part, causes};
use crate::model::wire::fields::*;
use crate::model::wire::{put_bytes, put_varint_field};

/// Of all spans of a part. Bytes are fields of a `Span`, but for the exceptions.
pub struct Endings {
    pub good: Vec<u8>,
    /// By cause.
    pub bad: Vec<Failure>,
}

pub struct Failure {
    pub attributes: Vec<u8>,
    /// The fields of the exception's `Event` but for its time.
    pub exception: Vec<u8>,
    /// Status with the exception's message, and without.
    pub thrown: Vec<u8>,
    pub passed_on: Vec<u8>,
}

impl Endings {
    pub fn of(part: Part) -> Self {
        let mut good = Attributes::default();
        match part {
            Part::Http => good.int("http.response.status_code", 200),
            Part::Rpc => good.text("rpc.response.status_code", "OK"),
            _ => {}
        }
        Self { good: good.fixed, bad: causes(part).iter().map(|cause| Failure::new(cause, part)).collect() }
    }
}

impl Failure {
    fn new(cause: &Cause, part: Part) -> Self {
        let mut of = Attributes::default();
        match part {
            Part::Http => of.int("http.response.status_code", cause.error.parse().unwrap_or(500)),
            Part::Rpc => of.text("rpc.response.status_code", cause.error),
            _ => {}
        }
        of.text("error.type", cause.error);
        Self { attributes: of.fixed, exception: exception(cause), thrown: status(cause.message), passed_on: status("") }
    }
}

const ERROR: u64 = 2;

fn status(message: &str) -> Vec<u8> {
    let (mut status, mut field) = (Vec::new(), Vec::new());
    if !message.is_empty() {
        put_bytes(&mut status, STATUS_MESSAGE, message.as_bytes());
    }
    put_varint_field(&mut status, STATUS_CODE, ERROR);
    put_bytes(&mut field, SPAN_STATUS, &status);
    field
}

fn exception(cause: &Cause) -> Vec<u8> {
    let Cause { exception, message, .. } = cause;
    let stack = format!(
        "{exception}: {message}\n    at shop.client.Channel.await (channel:218)\n    at shop.client.Channel.call (channel:97)\n    \
         at shop.handler.Handler.handle (handler:64)\n    at shop.server.Worker.run (worker:31)"
    );
    let mut event = Vec::new();
    put_bytes(&mut event, EVENT_NAME, b"exception");
    put_text(&mut event, EVENT_ATTRIBUTES, "exception.type", exception);
    put_text(&mut event, EVENT_ATTRIBUTES, "exception.message", message);
    put_text(&mut event, EVENT_ATTRIBUTES, "exception.stacktrace", &stack);
    event
}
