//! Starting and stopping.

use crate::component::Component;
use anyhow::Context;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

/// How long a stop may take in all, every part counted together.
pub const STOP_DEADLINE: Duration = Duration::from_secs(30);

/// A part and what to call it in messages.
pub struct Node {
    /// As in the configuration: `receivers::otlp`.
    pub name: String,
    pub component: Arc<dyn Component>,
}

/// All parts of a configuration, in the order in which they start.
pub struct Graph {
    pub(super) nodes: Vec<Node>,
}

/// Parts that were still stopping when the deadline came.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("not stopped within {deadline:?}: {}; what they held may not have been passed on", parts.join(", "))]
pub struct NotStopped {
    pub deadline: Duration,
    pub parts: Vec<String>,
}

impl Graph {
    /// Starts every part. Where one fails, it and those started before it are shut down again.
    ///
    /// Errors: why a part did not start, with its name.
    pub async fn start(&self) -> anyhow::Result<()> {
        for (index, node) in self.nodes.iter().enumerate() {
            if let Err(error) = node.component.start().await {
                let undone = stop(self.nodes.iter().take(index + 1), STOP_DEADLINE).await;
                undone.unwrap_or_else(|not_stopped| tracing::error!("{not_stopped}"));
                return Err(error).context(format!("{}: cannot start", node.name));
            }
        }
        Ok(())
    }

    /// Stops every part in the opposite order. One deadline holds for all of it; parts whose turn comes after it
    /// are still told to stop, but not waited for. May be called any number of times.
    ///
    /// Errors: the parts that had not stopped in time.
    pub async fn shutdown(&self, deadline: Duration) -> Result<(), NotStopped> {
        stop(self.nodes.iter(), deadline).await
    }

    /// What the parts are called, in the order in which they start.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }
}

async fn stop<'a>(nodes: impl DoubleEndedIterator<Item = &'a Node>, deadline: Duration) -> Result<(), NotStopped> {
    let end = Instant::now() + deadline;
    let mut parts = Vec::new();
    for node in nodes.rev() {
        // A deadline in the past still polls the shutdown once, which is what closes an intake.
        if timeout_at(end, node.component.shutdown()).await.is_err() {
            parts.push(node.name.clone());
        }
    }
    if parts.is_empty() { Ok(()) } else { Err(NotStopped { deadline, parts }) }
}
