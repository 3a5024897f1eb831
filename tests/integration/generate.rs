//! `sluice generate` as its users meet it: against the real daemon, against servers that refuse, into files.

use crate::shared::daemon::Daemon;
use crate::shared::http::Sender;
use crate::shared::length_delimited;
use crate::shared::spans::Spans;
use crate::support::{LONG, free_address};
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::Notify;

fn generate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.arg("generate").args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    generate(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The summary of a good run with `--format json`.
fn summary(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn spans_of(requests: &[impl AsRef<[u8]>]) -> Spans {
    let mut spans = Spans::default();
    requests.iter().for_each(|request| spans.add(request.as_ref()));
    spans
}

/// Every span of these requests: start and end.
fn times(content: &[u8]) -> Vec<(u64, u64)> {
    let requests = length_delimited(content).into_iter().map(|bytes| ExportTraceServiceRequest::decode(bytes).unwrap());
    let spans =
        requests.flat_map(|request| request.resource_spans).flat_map(|of| of.scope_spans).flat_map(|of| of.spans);
    spans.map(|span| (span.start_time_unix_nano, span.end_time_unix_nano)).collect()
}

#[test]
fn a_daemon_has_every_span_that_was_sent_and_shows_the_example() {
    let directory = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::start(directory.path(), "");
    let endpoint = format!("http://{}", daemon.http);
    let sent = summary(&run(&["--endpoint", &endpoint, "--traces", "2000", "--seed", "7", "--format", "json"]));
    assert_eq!((sent["traces"].as_u64(), sent["rejected_spans"].as_u64()), (Some(2_000), Some(0)));

    let example = format!("/api/traces/{}", sent["example_trace"].as_str().unwrap());
    let (status, body) = Sender::connect(daemon.query).unwrap().get(&example).unwrap();
    let shown: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 200);
    assert!(shown["data"][0]["spans"].as_array().unwrap().len() >= 2);
    let errors = shown["data"][0]["spans"].as_array().unwrap().iter().flat_map(|span| span["tags"].as_array().unwrap());
    assert!(errors.filter(|tag| tag["key"] == "error").count() > 0, "the example has an error");

    daemon.stop();
    let store = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
        command.args(["store", arguments[0]]).arg(directory.path()).args(&arguments[1..]).output().unwrap()
    };
    let found: Value = serde_json::from_slice(&store(&["inspect", "--format", "json"]).stdout).unwrap();
    assert_eq!((&found["spans"], &found["traces"]), (&sent["spans"], &sent["traces"]));
    let exported = store(&["export", "--format", "otlp-proto"]);
    let exported = spans_of(&length_delimited(&exported.stdout));
    assert_eq!(Some(exported.deliveries as u64), sent["spans"].as_u64());
    assert_eq!(exported.by_identity.len(), exported.deliveries);
}

#[test]
fn misuse_names_the_flag() {
    let misuse: [(&[&str], &str); 14] = [
        (&[], "--traces"),
        (&["--traces", "1", "--spans", "1"], "--spans"),
        (&["--traces", "0"], "--traces"),
        (&["--spans", "many"], "--spans"),
        (&["--duration", "30"], "--duration"),
        (&["--traces", "1", "--rate", "0"], "--rate"),
        (&["--traces", "1", "--error-ratio", "1.5"], "--error-ratio"),
        (&["--traces", "1", "--batch", "0"], "--batch"),
        (&["--traces", "1", "--services", "0"], "--services"),
        (&["--traces", "1", "--connections", "0"], "--connections"),
        (&["--traces", "1", "--seed", "x"], "--seed"),
        (&["--traces", "1", "--start-time", "yesterday"], "--start-time"),
        (&["--traces", "1", "--endpoint", "https://a:1"], "--endpoint"),
        (&["--traces", "1", "--output", "-", "--endpoint", "http://a:1"], "--output"),
    ];
    for (arguments, flag) in misuse {
        let output = run(arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
        assert!(stderr(&output).contains(flag), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn an_endpoint_that_is_not_there_is_said_with_what_to_do() {
    let endpoint = format!("http://{}", free_address());
    let output = run(&["--endpoint", &endpoint, "--traces", "1"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let said = stderr(&output);
    assert!(said.contains(&format!("cannot connect to {endpoint}: ")), "{said}");
    assert!(
        said.contains("Connection refused") && said.contains("is the daemon running? `make run` starts it"),
        "{said}"
    );
}

/// What a server of a test does with its requests, and what it took.
struct Server {
    /// How many were answered so far, and how the next one is.
    answer: Box<dyn Fn(usize) -> Response + Send + Sync>,
    seen: Mutex<usize>,
    taken: Mutex<Vec<Bytes>>,
    arrived: Notify,
}

impl Server {
    /// Answers so, by the number of the request; its address. `drops`: connections that it closes before any answer.
    async fn start(drops: usize, answer: impl Fn(usize) -> Response + Send + Sync + 'static) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (seen, taken) = (Mutex::new(0), Mutex::new(Vec::new()));
        let server = Arc::new(Self { answer: Box::new(answer), seen, taken, arrived: Notify::new() });
        let routes = axum::Router::new().route("/v1/traces", axum::routing::post(take)).with_state(server.clone());
        tokio::spawn(async move {
            for _ in 0..drops {
                drop(listener.accept().await.unwrap());
            }
            axum::serve(listener, routes).await.unwrap();
        });
        (server, endpoint)
    }

    fn spans(&self) -> Spans {
        spans_of(&self.taken.lock().unwrap())
    }
}

async fn take(State(server): State<Arc<Server>>, body: Bytes) -> Response {
    let number = {
        let mut seen = server.seen.lock().unwrap();
        *seen += 1;
        *seen - 1
    };
    let answer = (server.answer)(number);
    if answer.status() == StatusCode::OK {
        server.taken.lock().unwrap().push(body);
    }
    server.arrived.notify_one();
    answer
}

async fn run_against(endpoint: &str, arguments: &[&str]) -> Output {
    let mut command = generate(&[&["--endpoint", endpoint, "--format", "json"], arguments].concat());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test]
async fn what_is_refused_is_sent_again_and_taken_once() {
    let (server, endpoint) = Server::start(0, |number| match number {
        0 => (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "1")], "full").into_response(),
        2 | 3 => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "0")]).into_response(),
        _ => StatusCode::OK.into_response(),
    })
    .await;
    let sent = summary(&run_against(&endpoint, &["--traces", "300", "--batch", "100"]).await);
    let taken = server.spans();
    assert_eq!(Some(taken.deliveries as u64), sent["spans"].as_u64());
    assert_eq!(taken.by_identity.len(), taken.deliveries, "each span once");
    assert_eq!(sent["refused"], 3);
    assert_eq!(sent["requests"].as_u64(), Some(server.taken.lock().unwrap().len() as u64));
    assert!(sent["seconds"].as_f64().unwrap() >= 1.0, "the endpoint asked for a second");
}

#[tokio::test]
async fn a_request_without_an_answer_is_sent_again() {
    let (server, endpoint) = Server::start(2, |_| StatusCode::OK.into_response()).await;
    let sent = summary(&run_against(&endpoint, &["--traces", "50", "--connections", "2"]).await);
    assert_eq!(Some(server.spans().by_identity.len() as u64), sent["spans"].as_u64());
}

#[tokio::test]
async fn any_other_failure_ends_with_the_servers_words() {
    let (server, endpoint) = Server::start(0, |number| match number {
        0 => (StatusCode::BAD_REQUEST, "no such tenant").into_response(),
        _ => StatusCode::OK.into_response(),
    })
    .await;
    let output = run_against(&endpoint, &["--traces", "100", "--connections", "1"]).await;
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(stderr(&output).contains("400 Bad Request: no such tenant"), "{}", stderr(&output));
    assert_eq!(*server.seen.lock().unwrap(), 1, "nothing is sent again");
}

#[tokio::test]
async fn spans_that_are_rejected_for_good_are_counted_and_not_sent_again() {
    let partial = ExportTracePartialSuccess { rejected_spans: 2, error_message: "too old".into() };
    let answer = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let (server, endpoint) = Server::start(0, move |_| answer.clone().into_response()).await;
    let output = run_against(&endpoint, &["--traces", "20"]).await;
    let sent: Value = serde_json::from_slice(&output.stdout).unwrap();
    let taken = server.spans();
    assert_eq!(taken.by_identity.len(), taken.deliveries);
    let requests = server.taken.lock().unwrap().len() as u64;
    assert_eq!((sent["requests"].as_u64(), sent["rejected_spans"].as_u64()), (Some(requests), Some(2 * requests)));
    assert_eq!(sent["spans"].as_u64(), Some(taken.deliveries as u64 - 2 * requests));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("rejected") && stderr(&output).contains("too old"), "{}", stderr(&output));
}

#[tokio::test]
async fn an_interrupt_ends_it_well_and_says_what_was_sent() {
    // So few spans that no request is ever full: what waits is sent when it is a second old.
    for signal in [Signal::INT, Signal::TERM] {
        let (server, endpoint) = Server::start(0, |_| StatusCode::OK.into_response()).await;
        let arguments = ["--endpoint", &endpoint, "--duration", "1h", "--rate", "20", "--format", "json"];
        let child = generate(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        tokio::time::timeout(LONG, server.arrived.notified()).await.expect("nothing was sent");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
        let sent = summary(&tokio::time::timeout(LONG, ended).await.expect("it goes on").unwrap());
        assert_eq!(sent["spans"].as_u64(), Some(server.spans().deliveries as u64));
        assert!(sent["traces"].as_u64() > Some(0));
    }
}

#[tokio::test]
async fn a_second_interrupt_ends_it_at_once() {
    let (server, endpoint) =
        Server::start(0, |_| (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "100")]).into_response()).await;
    let mut child = generate(&["--endpoint", &endpoint, "--traces", "100"]).stderr(Stdio::piped()).spawn().unwrap();
    tokio::time::timeout(LONG, server.arrived.notified()).await.expect("nothing was sent");
    let id = Pid::from_child(&child);
    kill_process(id, Signal::INT).unwrap();
    let ended = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("a second signal ends at once")));
        kill_process(id, Signal::INT).unwrap();
        (lines.collect::<String>(), child.wait().unwrap())
    });
    let (said, status) = tokio::time::timeout(LONG, ended).await.expect("it goes on").unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("ended at once: 0 of "), "{said}");
}

#[test]
fn a_file_holds_what_the_summary_says_in_requests_of_the_size_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("traces");
    let arguments = ["--output", path.to_str().unwrap(), "--spans", "5000", "--batch", "64", "--format", "json"];
    let sent = summary(&run(&arguments));
    let content = std::fs::read(&path).unwrap();
    let requests = length_delimited(&content);
    let spans = spans_of(&requests);
    assert_eq!(Some(spans.deliveries as u64), sent["spans"].as_u64());
    assert_eq!(Some(requests.len() as u64), sent["requests"].as_u64());
    assert_eq!(Some(content.len() as u64), sent["bytes"].as_u64());
    assert!((5_000..6_000).contains(&spans.deliveries), "whole traces: {}", spans.deliveries);
    assert!(requests.iter().all(|request| spans_of(&[request]).deliveries <= 64));
    assert!(sent["example_url"].is_null());
}

#[test]
fn standard_output_holds_traces_alone_and_may_be_closed() {
    let output = run(&["--output", "-", "--traces", "20", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let sent: Value = serde_json::from_str(stderr(&output).lines().last().unwrap()).unwrap();
    let spans = spans_of(&length_delimited(&output.stdout));
    assert_eq!(Some(spans.deliveries as u64), sent["spans"].as_u64());

    let mut child =
        generate(&["--output", "-", "--duration", "1h"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut some = [0; 1_000];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "a closed output is a good end");
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let output = run(&["--output", "/no/such/folder/traces", "--traces", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/no/such/folder/traces"), "{}", stderr(&output));
}

#[test]
fn traces_begin_at_the_start_time_or_end_now() {
    const FIRST: u64 = 1_583_020_800_000_000_000;
    const HOUR: u64 = 3_600_000_000_000;
    let dated = run(&["--output", "-", "--traces", "200", "--start-time", "2020-03-01T00:00:00Z"]);
    let begins = times(&dated.stdout);
    let first = begins.iter().map(|(start, _)| *start).min().unwrap();
    assert!((FIRST..FIRST + HOUR).contains(&first), "{first}");

    let now = sluice::model::time::wall_now();
    let fresh = times(&run(&["--output", "-", "--traces", "200"]).stdout);
    let last = fresh.iter().map(|(_, end)| *end).max().unwrap();
    assert!((now..=sluice::model::time::wall_now()).contains(&last), "{last} is not after {now}");
}

#[test]
fn a_rate_is_kept() {
    let arguments = ["--output", "/dev/null", "--spans", "1000", "--rate", "2000", "--seed", "1", "--format", "json"];
    let sent = summary(&run(&arguments));
    // The last trace of this seed is due when the more than 900 spans before it were.
    assert!(sent["seconds"].as_f64().unwrap() >= 0.45, "{sent}");
}

#[test]
fn progress_is_said_now_and_then_where_there_is_no_terminal() {
    let output = run(&["--output", "/dev/null", "--duration", "6s", "--rate", "100"]);
    assert_eq!(output.status.code(), Some(0));
    let lines: Vec<_> = output.stderr.lines().map(Result::unwrap).collect();
    let line = lines.first().expect("a line after five seconds");
    for expected in [" spans sent, ", " spans/s, ", "0 refused, ", " s left"] {
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn the_table_says_how_to_look_at_the_example_only_where_that_is_known() {
    let output = run(&["--output", "/dev/null", "--traces", "10", "--seed", "42"]);
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    let row = |name: &str| table.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    assert_eq!((row("traces"), row("seed"), row("look at it")), (Some("10"), Some("42"), None), "{table}");
    assert_eq!(row("example trace").map(str::len), Some(32));
}
