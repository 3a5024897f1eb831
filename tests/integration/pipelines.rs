//! Batches through the graph.

use crate::support::{batch, configuration, notes, registry, send, source};
use sluice::component::{BuildContext, Rejection};
use sluice::graph::{self, Graph};

fn build(yaml: &str) -> Graph {
    let registry = registry();
    graph::build(&configuration(yaml, &registry), &registry, &BuildContext::default()).unwrap()
}

/// One receiver, two exporters; `b` with these options. One that fails late is in front, one that refuses at the end.
fn two_sinks(test: &str, b: &str) -> Graph {
    let order = if b.contains("send") { ["b", "a"] } else { ["a", "b"] }.map(|label| format!("sink/{test}.{label}"));
    let order = order.join(", ");
    build(&format!(
        "
receivers: {{source/{test}.r: }}
exporters: {{sink/{test}.a: , sink/{test}.b: {b}}}
service: {{pipelines: {{traces: {{receivers: [source/{test}.r], exporters: [{order}]}}}}}}
"
    ))
}

#[tokio::test]
async fn fan_out_holds_every_permit_before_any_send() {
    let _graph = two_sinks("permits", "");
    notes("permits");
    send(&*source("permits.r"), batch(1)).await.unwrap();
    assert_eq!(notes("permits"), ["reserve sink a", "reserve sink b", "send sink a", "send sink b"]);
}

#[tokio::test]
async fn a_busy_branch_refuses_before_any_other_got_the_batch() {
    let _graph = two_sinks("busy", "{refuse: reserve_busy}");
    notes("busy");
    let answer = send(&*source("busy.r"), batch(1)).await;
    assert!(matches!(answer, Err(Rejection::Busy { .. })), "{answer:?}");
    assert_eq!(notes("busy"), ["reserve sink a", "reserve sink b"]);
}

#[tokio::test]
async fn a_branch_that_fails_after_its_permit_keeps_the_batch_from_no_other() {
    let _graph = two_sinks("partial", "{refuse: send_busy}");
    notes("partial");
    let answer = send(&*source("partial.r"), batch(1)).await;
    assert!(matches!(answer, Err(Rejection::Busy { .. })), "{answer:?}");
    assert_eq!(notes("partial"), ["reserve sink b", "reserve sink a", "send sink b", "send sink a"]);

    let _graph = two_sinks("invalid", "{refuse: send_invalid}");
    let answer = send(&*source("invalid.r"), batch(1)).await;
    assert!(matches!(answer, Err(Rejection::Invalid(_))), "{answer:?}");
    assert!(notes("invalid").contains(&"send sink a".to_owned()));
}

const TWO_PIPELINES: &str = "
receivers: {source/shared.r: , source/shared.unused: }
processors: {pass/shared.p: , pass/shared.q: }
exporters: {sink/shared.x: }
service:
  pipelines:
    traces/one: {receivers: [source/shared.r], processors: [pass/shared.p, pass/shared.q], exporters: [sink/shared.x]}
    traces/two: {receivers: [source/shared.r], processors: [pass/shared.p], exporters: [sink/shared.x]}
";

#[tokio::test]
async fn receivers_and_exporters_are_shared_and_processors_are_not() {
    let _graph = build(TWO_PIPELINES);
    let built = notes("shared");
    let expected =
        ["build sink x", "build pass q", "build pass p", "build pass p", "build source r"].map(str::to_owned);
    assert_eq!(built, expected, "far end first, what no pipeline names not at all");

    send(&*source("shared.r"), batch(2)).await.unwrap();
    let sent: Vec<_> = notes("shared").into_iter().filter(|note| note.starts_with("send")).collect();
    let expected = ["send pass p", "send pass q", "send sink x", "send pass p", "send sink x"];
    assert_eq!(sent, expected, "both pipelines, each processor in the order of the list");
}
