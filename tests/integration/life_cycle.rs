//! Start and stop order, and what happens when either goes wrong.

use crate::support::{LONG, configuration, notes, registry};
use sluice::component::BuildContext;
use sluice::graph::{self, Graph};
use std::time::Duration;

/// Two extensions and a pipeline of every kind of part. Each test gives some of them options.
fn graph(test: &str, side: &str, pass: &str, source: &str) -> Graph {
    let yaml = format!(
        "
receivers: {{source/{test}.r: {source}}}
processors: {{pass/{test}.p: {pass}, pass/{test}.q: }}
exporters: {{sink/{test}.x: }}
extensions: {{side/{test}.b: , side/{test}.a: {side}}}
service:
  extensions: [side/{test}.b, side/{test}.a]
  pipelines:
    traces: {{receivers: [source/{test}.r], processors: [pass/{test}.p, pass/{test}.q], exporters: [sink/{test}.x]}}
"
    );
    let registry = registry();
    let graph = graph::build(&configuration(&yaml, &registry), &registry, &BuildContext::default()).unwrap();
    notes(test);
    graph
}

const ORDER: [&str; 6] = ["side b", "side a", "sink x", "pass q", "pass p", "source r"];

fn all(what: &str, order: impl Iterator<Item = &'static str>) -> Vec<String> {
    order.map(|part| format!("{what} {part}")).collect()
}

#[tokio::test]
async fn receivers_start_last_and_stop_first() {
    let graph = graph("order", "", "", "");
    graph.start().await.unwrap();
    assert_eq!(notes("order"), all("start", ORDER.into_iter()));
    graph.shutdown(LONG).await.unwrap();
    assert_eq!(notes("order"), all("stop", ORDER.into_iter().rev()));
    graph.shutdown(LONG).await.unwrap();
}

#[tokio::test]
async fn a_failing_start_stops_what_was_started_and_names_the_culprit() {
    let graph = graph("failing", "", "{fail_start: true}", "");
    let error = format!("{:#}", graph.start().await.unwrap_err());
    assert!(error.contains("processors::pass/failing.p") && error.contains("told to fail"), "{error}");
    let mut expected = all("start", ORDER.into_iter().take(5));
    expected.extend(all("stop", ORDER.into_iter().take(5).rev()));
    assert_eq!(notes("failing"), expected);
}

#[tokio::test]
async fn one_deadline_holds_for_the_whole_stop_and_names_what_hangs() {
    let graph = graph("hanging", "{hang_stop: true}", "", "{hang_stop: true}");
    graph.start().await.unwrap();
    notes("hanging");
    let deadline = Duration::from_millis(50);
    let error = tokio::time::timeout(LONG, graph.shutdown(deadline)).await.unwrap().unwrap_err();
    assert_eq!(error.parts, ["receivers::source/hanging.r", "extensions::side/hanging.a"]);
    assert_eq!(notes("hanging"), all("stop", ORDER.into_iter().rev()), "every part was told to stop");
}
