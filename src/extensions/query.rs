//! `query`: serves what is stored over HTTP.

use crate::api;
use crate::component::factory::Build;
use crate::component::{BoxFuture, BuildContext, Component, Factory, NotYet, TraceReader};
use crate::config::units::duration;
use crate::config::{ComponentId, Fault, Node};
use crate::telemetry::Endpoint;
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Host and port to listen on; port 0 picks a free one.
    pub endpoint: String,
    /// How long a read may take before it is answered 504.
    #[serde(with = "duration")]
    pub timeout: Duration,
    /// The exporter to read from. Needed only where there are several.
    pub storage: Option<ComponentId>,
    base_path: NotYet,
    tls: NotYet,
    cors: NotYet,
    auth: NotYet,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            endpoint: "127.0.0.1:16686".into(),
            timeout: Duration::from_secs(30),
            storage: None,
            base_path: NotYet,
            tls: NotYet,
            cors: NotYet,
            auth: NotYet,
        }
    }
}

pub fn factory() -> Factory {
    Factory { name: "query", check, stability: "alpha", build: Build::Extension(build) }
}

fn check(node: &Node) -> Vec<Fault> {
    let config: Config = match node.decode() {
        Ok(config) => config,
        Err(faults) => return faults,
    };
    let mut faults = Vec::new();
    if !config.endpoint.contains(':') {
        faults.push(Fault::new("endpoint", "must be host:port, as in 127.0.0.1:16686"));
    }
    if config.timeout.is_zero() {
        faults.push(Fault::new("timeout", "must be greater than 0: nothing can be read in no time"));
    }
    faults
}

fn build(_: &ComponentId, node: &Node, context: &BuildContext) -> anyhow::Result<Arc<dyn Component>> {
    let config: Config = crate::component::decode(node)?;
    let readers = context.readers.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let reader = choose(&readers, config.storage.as_ref())?;
    Ok(Arc::new(Query { config, reader, endpoint: Mutex::default() }))
}

type Readers = BTreeMap<ComponentId, Arc<dyn TraceReader>>;

/// The exporter that is named, or the only one.
fn choose(readers: &Readers, named: Option<&ComponentId>) -> anyhow::Result<Arc<dyn TraceReader>> {
    let ids: Vec<_> = readers.keys().map(ToString::to_string).collect();
    let mut all = readers.values();
    match (named, all.next(), all.next()) {
        (_, None, _) => bail!("query needs a storage exporter in a pipeline"),
        (Some(id), _, _) => readers.get(id).cloned().with_context(|| {
            format!("storage: no pipeline has an exporter \"{id}\" that can be read; there is: {}", ids.join(", "))
        }),
        (None, Some(only), None) => Ok(only.clone()),
        (None, _, Some(_)) => bail!("storage: there are several exporters to read from, name one: {}", ids.join(", ")),
    }
}

struct Query {
    config: Config,
    reader: Arc<dyn TraceReader>,
    endpoint: Mutex<Option<Endpoint>>,
}

impl Component for Query {
    fn start(&self) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async {
            let router = api::router(self.reader.clone(), self.config.timeout);
            let endpoint = Endpoint::bind(&self.config.endpoint, router).await?;
            tracing::info!("query listens on http://{}", endpoint.address());
            self.endpoint.lock().await.replace(endpoint);
            Ok(())
        })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(endpoint) = self.endpoint.lock().await.take() {
                endpoint.stop().await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::ReadError;
    use crate::model::{Trace, TraceId};

    struct Empty;

    impl TraceReader for Empty {
        fn get_trace(&self, _: TraceId, _: std::time::Instant) -> BoxFuture<'_, Result<Option<Trace>, ReadError>> {
            Box::pin(std::future::ready(Ok(None)))
        }
    }

    fn chosen(there: &[&str], named: Option<&str>) -> Result<(), String> {
        let id = |text: &str| ComponentId::parse(text).unwrap();
        let readers = there.iter().map(|text| (id(text), Arc::new(Empty) as Arc<dyn TraceReader>)).collect();
        choose(&readers, named.map(id).as_ref()).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn the_only_store_needs_no_name_and_one_of_several_does() {
        assert_eq!(chosen(&["storage"], None), Ok(()));
        assert_eq!(chosen(&["storage/a", "storage/b"], Some("storage/b")), Ok(()));
        let error = chosen(&["storage/a", "storage/b"], None).unwrap_err();
        assert!(error.starts_with("storage: ") && error.ends_with("storage/a, storage/b"), "{error}");
        let error = chosen(&["storage"], Some("storage/b")).unwrap_err();
        assert!(error.contains("\"storage/b\"") && error.ends_with("storage"), "{error}");
        assert_eq!(chosen(&[], None).unwrap_err(), "query needs a storage exporter in a pipeline");
        assert!(chosen(&[], Some("storage")).is_err());
    }

    #[test]
    fn faults_name_their_key() {
        let paths = |yaml: &str| check(&Node::from_yaml(yaml).unwrap()).into_iter().map(|fault| fault.path);
        assert!(paths("{endpoint: nowhere, timeout: 0s}").eq(["endpoint", "timeout"]));
        for yaml in ["tls: {}", "cors: {}", "auth: {}", "base_path: /jaeger"] {
            let faults = check(&Node::from_yaml(yaml).unwrap());
            assert!(faults.len() == 1 && faults[0].message.contains("not yet"), "{yaml}: {faults:?}");
        }
    }
}
