//! The envelope around data and errors: `{"data":…,"total":n,"limit":0,"offset":0,"errors":null}`.

use crate::api::answer::{Refusal, Shown};
use axum::response::Response;
use serde::Serialize;

/// `total` is the length of `data`: nothing is paged.
#[derive(Debug, Serialize)]
struct Envelope<T> {
    data: Option<T>,
    total: usize,
    limit: usize,
    offset: usize,
    errors: Option<Vec<Fault>>,
}

#[derive(Debug, Serialize)]
struct Fault {
    code: u16,
    msg: String,
}

/// An answer with this list of `total` things. What could not be read of it is said beside it: viewers take `errors` for
/// a failure.
pub fn envelope(data: impl Serialize, total: usize, warnings: &[String], pretty: bool) -> Result<Shown, Refusal> {
    Shown::new(&Envelope { data: Some(data), total, limit: 0, offset: 0, errors: None }, warnings, pretty)
}

pub fn refused(refusal: &Refusal, pretty: bool) -> Response {
    let errors = Some(vec![Fault { code: refusal.status.as_u16(), msg: refusal.message.clone() }]);
    refusal.with_body(&Envelope::<[(); 0]> { data: None, total: 0, limit: 0, offset: 0, errors }, pretty)
}
