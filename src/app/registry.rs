//! Which component types there are: the one place where they are joined.

use crate::component::Registry;
use crate::config::{Fault, Kind, Node, Types};
use crate::{exporters, extensions, processors, receivers};

/// Every component type of this binary.
pub fn registry() -> Registry {
    let kinds = [receivers::factories(), processors::factories(), exporters::factories(), extensions::factories()];
    Registry { factories: kinds.into_iter().flatten().collect() }
}

/// Types people know from the Collector that are not here yet, so that they are refused by name.
const NOT_YET: &[(Kind, &[&str])] = &[
    (Kind::Receiver, &["zipkin", "jaeger", "skywalking", "nop", "kafka", "file", "otlpjsonfile"]),
    (
        Kind::Processor,
        &[
            "batch",
            "memory_limiter",
            "attributes",
            "resource",
            "filter",
            "probabilistic_sampler",
            "tail_sampling",
            "transform",
            "span",
            "groupbytrace",
            "groupbyattrs",
            "resourcedetection",
            "k8sattributes",
            "redaction",
        ],
    ),
    (
        Kind::Exporter,
        &["otlp", "otlp_grpc", "otlphttp", "otlp_http", "loadbalancing", "file", "zipkin", "kafka", "nop", "logging"],
    ),
    (
        Kind::Connector,
        &["forward", "spanmetrics", "servicegraph", "routing", "failover", "count", "exceptions", "roundrobin"],
    ),
    (
        Kind::Extension,
        &[
            "zpages",
            "pprof",
            "healthcheckv2",
            "file_storage",
            "basicauth",
            "bearertokenauth",
            "oidc",
            "oauth2client",
            "headers_setter",
            "memory_limiter",
            "jaegerremotesampling",
        ],
    ),
];

impl Types for Registry {
    fn check(&self, kind: Kind, type_name: &str) -> Option<fn(&Node) -> Vec<Fault>> {
        self.find(kind, type_name).map(|factory| factory.check)
    }

    fn names(&self, kind: Kind) -> Vec<&'static str> {
        let of_kind = self.factories.iter().filter(|factory| factory.kind() == kind);
        of_kind.map(|factory| factory.name).collect()
    }

    fn not_yet(&self, kind: Kind, type_name: &str) -> bool {
        let listed = NOT_YET.iter().any(|(of, names)| *of == kind && names.contains(&type_name));
        listed && self.find(kind, type_name).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_registered_once_and_then_no_longer_announced() {
        let registry = registry();
        for factory in &registry.factories {
            let same = registry.factories.iter().filter(|of| of.name == factory.name && of.kind() == factory.kind());
            assert_eq!(same.count(), 1, "{} {}", factory.kind(), factory.name);
            assert!(!registry.not_yet(factory.kind(), factory.name));
        }
        assert!(registry.not_yet(Kind::Processor, "tail_sampling"));
        assert!(!registry.not_yet(Kind::Exporter, "nonsense"));
    }
}
