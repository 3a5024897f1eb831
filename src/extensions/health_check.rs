//! `health_check`: tells load balancers and schedulers whether batches are taken.

use crate::component::factory::Build;
use crate::component::{BoxFuture, BuildContext, Component, Factory, NotYet};
use crate::config::{ComponentId, Fault, Node};
use crate::model::time;
use crate::telemetry::Endpoint;
use axum::http::StatusCode;
use axum::{Json, Router, routing};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::sync::Mutex;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Host and port to listen on; port 0 picks a free one.
    pub endpoint: String,
    /// The one path that answers.
    pub path: String,
    response_body: NotYet,
    tls: NotYet,
    cors: NotYet,
    auth: NotYet,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            endpoint: "127.0.0.1:13133".into(),
            path: "/".into(),
            response_body: NotYet,
            tls: NotYet,
            cors: NotYet,
            auth: NotYet,
        }
    }
}

pub fn factory() -> Factory {
    Factory { name: "health_check", check, stability: "beta", build: Build::Extension(build) }
}

fn check(node: &Node) -> Vec<Fault> {
    let config: Config = match node.decode() {
        Ok(config) => config,
        Err(faults) => return faults,
    };
    let mut faults = Vec::new();
    if !config.endpoint.contains(':') {
        faults.push(Fault::new("endpoint", "must be host:port, as in 127.0.0.1:13133"));
    }
    if !config.path.starts_with('/') || config.path.contains(['{', '}']) {
        faults.push(Fault::new("path", "must begin with / and hold no braces"));
    }
    faults
}

fn build(_: &ComponentId, node: &Node, context: &BuildContext) -> anyhow::Result<Arc<dyn Component>> {
    let config = crate::component::decode(node)?;
    Ok(Arc::new(HealthCheck { config, ready: context.ready.clone(), endpoint: Mutex::default() }))
}

struct HealthCheck {
    config: Config,
    ready: Arc<AtomicBool>,
    endpoint: Mutex<Option<Endpoint>>,
}

impl Component for HealthCheck {
    fn start(&self) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async {
            let health =
                Health { ready: self.ready.clone(), since: Instant::now(), up_since: time::rfc3339(time::wall_now()) };
            let route = routing::get(move || async move { health.answer() });
            let router = Router::new().route(&self.config.path, route);
            let endpoint = Endpoint::bind(&self.config.endpoint, router).await?;
            tracing::info!("health_check listens on http://{}{}", endpoint.address(), self.config.path);
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

#[derive(Clone)]
struct Health {
    ready: Arc<AtomicBool>,
    since: Instant,
    up_since: String,
}

impl Health {
    fn answer(&self) -> (StatusCode, Json<Value>) {
        if !self.ready.load(Ordering::Acquire) {
            return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "Server not available"})));
        }
        let uptime = format!("{:?}", self.since.elapsed());
        let body = json!({"status": "Server available", "upSince": self.up_since, "uptime": uptime});
        (StatusCode::OK, Json(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_follows_readiness_both_ways() {
        let ready = Arc::new(AtomicBool::new(false));
        let health = Health { ready: ready.clone(), since: Instant::now(), up_since: "2026-01-01T00:00:00Z".into() };
        assert_eq!(health.answer().0, StatusCode::SERVICE_UNAVAILABLE);
        ready.store(true, Ordering::Release);
        let (status, Json(body)) = health.answer();
        assert_eq!((status, &body["status"]), (StatusCode::OK, &json!("Server available")));
        assert_eq!(body["upSince"], "2026-01-01T00:00:00Z");
        ready.store(false, Ordering::Release);
        assert_eq!(health.answer().1.0, json!({"status": "Server not available"}));
    }

    #[test]
    fn faults_name_their_key() {
        let node = Node::from_yaml("{endpoint: nowhere, path: health}").unwrap();
        let paths: Vec<_> = check(&node).into_iter().map(|fault| fault.path).collect();
        assert_eq!(paths, ["endpoint", "path"]);
        let later = check(&Node::from_yaml("response_body: {healthy: ok}").unwrap());
        assert!(later[0].message.contains("not yet"), "{later:?}");
    }
}
