//! A request, before anyone knows what it asks for.

use super::Reading;
use super::answer::Refusal;
use super::parameters::Parameters;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::response::Response;

pub struct Asked {
    pub reading: Reading,
    /// The variable part of the path, without escapes; empty where the route has none.
    pub path: String,
    pub parameters: Parameters,
}

impl FromRequestParts<Reading> for Asked {
    /// In the shape of the API whose path it is.
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, reading: &Reading) -> Result<Self, Response> {
        let asked = Self::read(parts, reading).await;
        asked.map_err(|refusal| super::shaped(&parts.uri, &refusal))
    }
}

impl Asked {
    async fn read(parts: &mut Parts, reading: &Reading) -> Result<Self, Refusal> {
        let variables = RawPathParams::from_request_parts(parts, reading).await;
        let variables = variables.map_err(|error| Refusal::bad(error.body_text()))?;
        let path = variables.iter().next().map(|(_, value)| value.to_owned()).unwrap_or_default();
        Ok(Self { reading: reading.clone(), path, parameters: Parameters::of(&parts.uri)? })
    }
}
