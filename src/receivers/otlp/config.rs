//! The `otlp` receiver's configuration. Keys and defaults: `confighttp` and `configgrpc` of the Collector.

use crate::component::NotYet;
use crate::config::Fault;
use crate::model::batch::MAX_BATCH_BYTES;
use serde::{Deserialize, Deserializer};

/// The limit of a request, on the wire and inflated, where none is configured.
const DEFAULT_LIMIT: usize = 20 << 20;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    #[serde(deserialize_with = "null_is_default")]
    pub protocols: Protocols,
}

/// Which servers run. An absent key is off, a key without a value is on with its defaults.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Protocols {
    #[serde(deserialize_with = "present")]
    pub grpc: Option<GrpcConfig>,
    #[serde(deserialize_with = "present")]
    pub http: Option<HttpConfig>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpConfig {
    /// `host:port`; no host is every interface, port 0 takes a free one.
    pub endpoint: String,
    /// Bytes, on the wire and inflated; 0 or less is the default of 20 MiB.
    pub max_request_body_size: i64,
    /// Where traces are accepted; a missing leading slash is added.
    pub traces_url_path: String,
    #[serde(
        rename = "transport",
        alias = "tls",
        alias = "cors",
        alias = "auth",
        alias = "include_metadata",
        alias = "response_headers",
        alias = "compression_algorithms",
        alias = "read_timeout",
        alias = "read_header_timeout",
        alias = "write_timeout",
        alias = "idle_timeout",
        alias = "keep_alives_enabled",
        alias = "middlewares",
        alias = "metrics_url_path",
        alias = "logs_url_path"
    )]
    _later: NotYet,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GrpcConfig {
    /// `host:port`; no host is every interface, port 0 takes a free one.
    pub endpoint: String,
    /// MiB, on the wire and inflated; 0 or less is the default of 20.
    pub max_recv_msg_size_mib: i64,
    #[serde(
        rename = "transport",
        alias = "tls",
        alias = "auth",
        alias = "include_metadata",
        alias = "max_concurrent_streams",
        alias = "read_buffer_size",
        alias = "write_buffer_size",
        alias = "keepalive",
        alias = "middlewares"
    )]
    _later: NotYet,
}

impl Default for HttpConfig {
    fn default() -> Self {
        let endpoint = "localhost:4318".to_owned();
        Self { endpoint, max_request_body_size: 0, traces_url_path: "/v1/traces".to_owned(), _later: NotYet }
    }
}

impl Default for GrpcConfig {
    fn default() -> Self {
        Self { endpoint: "localhost:4317".to_owned(), max_recv_msg_size_mib: 0, _later: NotYet }
    }
}

impl Config {
    /// Everything wrong with this configuration.
    pub fn faults(&self) -> Vec<Fault> {
        let Protocols { grpc, http } = &self.protocols;
        if grpc.is_none() && http.is_none() {
            return vec![Fault::new("protocols", "must specify at least one protocol when using the OTLP receiver")];
        }
        let grpc = grpc.iter().flat_map(GrpcConfig::faults);
        grpc.chain(http.iter().flat_map(HttpConfig::faults)).collect()
    }
}

impl HttpConfig {
    /// The largest body in bytes.
    pub fn limit(&self) -> usize {
        or_default(self.max_request_body_size)
    }

    /// The path with its leading slash.
    pub fn path(&self) -> String {
        format!("/{}", self.traces_url_path.strip_prefix('/').unwrap_or(&self.traces_url_path))
    }

    fn faults(&self) -> Vec<Fault> {
        let endpoint = endpoint_fault("protocols::http::endpoint", &self.endpoint);
        endpoint.into_iter().chain(limit_fault("protocols::http::max_request_body_size", self.limit())).collect()
    }
}

impl GrpcConfig {
    /// The largest message in bytes.
    pub fn limit(&self) -> usize {
        or_default(self.max_recv_msg_size_mib.saturating_mul(1 << 20))
    }

    fn faults(&self) -> Vec<Fault> {
        let endpoint = endpoint_fault("protocols::grpc::endpoint", &self.endpoint);
        endpoint.into_iter().chain(limit_fault("protocols::grpc::max_recv_msg_size_mib", self.limit())).collect()
    }
}

fn or_default(configured: i64) -> usize {
    usize::try_from(configured).ok().filter(|limit| *limit > 0).unwrap_or(DEFAULT_LIMIT)
}

fn endpoint_fault(key: &str, endpoint: &str) -> Option<Fault> {
    let port = endpoint.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    port.is_none().then(|| Fault::new(key, format!("`{endpoint}` is not host:port, for example localhost:4318")))
}

fn limit_fault(key: &str, limit: usize) -> Option<Fault> {
    (limit > MAX_BATCH_BYTES).then(|| Fault::new(key, "at most 1 GiB"))
}

fn present<'de, T, D>(value: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    null_is_default(value).map(Some)
}

fn null_is_default<'de, T, D>(value: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::deserialize(value).map(Option::unwrap_or_default)
}
