//! Where requests go over HTTP.

use http::Uri;
use std::str::FromStr;

/// What `sluice` listens on when nothing else is configured.
pub const DEFAULT: &str = "http://127.0.0.1:4318";

const PATH: &str = "/v1/traces";

/// A base address as the OpenTelemetry SDKs take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// As it was given.
    pub base: String,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// What goes into the `Host` header.
    pub authority: String,
    /// With `/v1/traces` at its end.
    pub path: String,
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uri = Uri::from_str(text).map_err(|error| error.to_string())?;
        if uri.scheme_str() != Some("http") {
            return Err("an address begins with http:// (there is no TLS here: send to a Collector beside it)".into());
        }
        let authority = uri.authority().filter(|of| !of.as_str().contains('@') && !of.host().is_empty());
        let authority = authority.ok_or("a host is missing, or there is a user in front of it")?;
        if uri.query().is_some() {
            return Err("an address has no query".into());
        }
        let base_path = uri.path().trim_end_matches('/');
        let path = if base_path.ends_with(PATH) { base_path.to_owned() } else { format!("{base_path}{PATH}") };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let without_port = authority.as_str() == authority.host();
        let port = if without_port { Some(80) } else { authority.port_u16() }.ok_or("the port is no port")?;
        Ok(Self { base: text.to_owned(), host, port, authority: authority.to_string(), path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_address_gets_the_path_of_traces_once() {
        let cases = [
            ("http://127.0.0.1:4318", "127.0.0.1", 4318, "/v1/traces"),
            ("http://collector.example/", "collector.example", 80, "/v1/traces"),
            ("http://[::1]:4318/otlp/", "::1", 4318, "/otlp/v1/traces"),
            ("http://a:1/v1/traces", "a", 1, "/v1/traces"),
        ];
        for (text, host, port, path) in cases {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!((&*endpoint.host, endpoint.port, &*endpoint.path), (host, port, path), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_sent_to_is_refused() {
        for text in [
            "",
            "127.0.0.1:4318",
            "https://a:4318",
            "http://",
            "http://u:p@a:1",
            "http://a:1?x=y",
            "grpc://a:1",
            "http://a:99999",
        ] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}
