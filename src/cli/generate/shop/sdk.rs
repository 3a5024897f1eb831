//! The languages of the services: what their SDKs and instrumentation libraries call themselves.

/// Of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sdk {
    Go,
    Java,
    Node,
    Python,
}

/// What of a service a span is about: each has an instrumentation scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Http,
    Rpc,
    Database,
    Messaging,
    /// The service's own code.
    Own,
}

impl Part {
    pub const ALL: [Self; 5] = [Self::Http, Self::Rpc, Self::Database, Self::Messaging, Self::Own];
}

impl Sdk {
    /// `telemetry.sdk.language` and `telemetry.sdk.version`.
    pub fn telemetry(self) -> (&'static str, &'static str) {
        match self {
            Self::Go => ("go", "1.38.0"),
            Self::Java => ("java", "1.54.0"),
            Self::Node => ("nodejs", "2.1.0"),
            Self::Python => ("python", "1.37.0"),
        }
    }

    /// Name and version of the scope of a part; `None` for a service's own code, which has the service's.
    pub fn scope(self, part: Part) -> Option<(&'static str, &'static str)> {
        let (go, java, node, python) = match part {
            Part::Http => (
                "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
                "io.opentelemetry.tomcat-10.0",
                "@opentelemetry/instrumentation-http",
                "opentelemetry.instrumentation.fastapi",
            ),
            Part::Rpc => (
                "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc",
                "io.opentelemetry.grpc-1.6",
                "@opentelemetry/instrumentation-grpc",
                "opentelemetry.instrumentation.grpc",
            ),
            Part::Database => (
                "github.com/XSAM/otelsql",
                "io.opentelemetry.jdbc",
                "@opentelemetry/instrumentation-redis",
                "opentelemetry.instrumentation.pymongo",
            ),
            Part::Messaging => (
                "github.com/dnwe/otelsarama",
                "io.opentelemetry.kafka-clients-2.6",
                "@opentelemetry/instrumentation-kafkajs",
                "opentelemetry.instrumentation.confluent_kafka",
            ),
            Part::Own => return None,
        };
        Some(match self {
            Self::Go => (go, "0.63.0"),
            Self::Java => (java, "2.20.0-alpha"),
            Self::Node => (node, "0.203.0"),
            Self::Python => (python, "0.58b0"),
        })
    }
}
