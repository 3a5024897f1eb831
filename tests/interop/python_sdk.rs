//! The Python SDK sends `examples/send_traces.py`, the file that the README asks its readers to run; what is read back is
//! what the file says, also after a restart and after a kill.

use crate::python;
use crate::support::daemon::Daemon;
use crate::support::http::Sender;
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the SDK is told to send.
#[derive(Debug, Clone, Copy)]
enum Protocol {
    Grpc,
    Http,
}

/// Runs the example, which ends well only when the SDK flushed and every export was answered with success; the id of
/// its trace.
fn send(python: &Path, daemon: &Daemon, protocol: Protocol) -> String {
    let address = match protocol {
        Protocol::Grpc => daemon.grpc,
        Protocol::Http => daemon.http,
    };
    python::run(&mut example(python, protocol, address)).unwrap().trim().to_owned()
}

fn example(python: &Path, protocol: Protocol, address: SocketAddr) -> Command {
    let name = match protocol {
        Protocol::Grpc => "grpc",
        Protocol::Http => "http/protobuf",
    };
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/send_traces.py"));
    command.env("OTEL_EXPORTER_OTLP_PROTOCOL", name).env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"));
    command
}

fn read(daemon: &Daemon, id: &str) -> (u16, String) {
    let (status, body) = Sender::connect(daemon.query).unwrap().get(&format!("/api/traces/{id}")).unwrap();
    (status, String::from_utf8(body).unwrap())
}

fn trace(answer: &(u16, String)) -> Value {
    assert_eq!(answer.0, 200, "{}", answer.1);
    let mut body: Value = serde_json::from_str(&answer.1).unwrap();
    body["data"][0].take()
}

fn named<'a>(trace: &'a Value, name: &str) -> &'a Value {
    trace["spans"].as_array().unwrap().iter().find(|span| span["operationName"] == name).unwrap()
}

fn tag<'a>(tags: &'a Value, key: &str) -> &'a Value {
    let found = tags.as_array().unwrap().iter().find(|tag| tag["key"] == key);
    found.map_or(&Value::Null, |tag| &tag["value"])
}

fn tags_are(span: &Value, expected: &[(&str, Value)]) {
    for (key, value) in expected {
        assert_eq!(tag(&span["tags"], key), value, "{key} of {span:#}");
    }
}

fn is_what_the_example_sends(id: &str, trace: &Value) {
    assert_eq!((&trace["traceID"], trace["spans"].as_array().unwrap().len()), (&json!(id), 3), "{trace:#}");
    let (order, reserve, pay) = (named(trace, "order"), named(trace, "reserve"), named(trace, "pay"));
    let reference = |kind: &str, span: &Value| json!({"refType": kind, "traceID": id, "spanID": span["spanID"]});
    assert_eq!(order["references"], json!([]));
    assert_eq!(reserve["references"], json!([reference("CHILD_OF", order)]));
    assert_eq!(pay["references"], json!([reference("CHILD_OF", order), reference("FOLLOWS_FROM", reserve)]));

    let process = &trace["processes"]["p1"];
    assert_eq!((&process["serviceName"], tag(&process["tags"], "shop.shelf")), (&json!("shop"), &json!(7)));
    assert_eq!(tag(&process["tags"], "telemetry.sdk.language"), "python");
    tags_are(
        order,
        &[
            ("http.request.method", json!("POST")),
            ("order.items", json!(3)),
            ("order.total", json!(59.5)),
            ("order.gift", json!(true)),
            ("order.names", json!("[\"lamp\",\"rug\",\"vase\"]")),
            ("span.kind", json!("server")),
            ("otel.scope.name", json!("examples.send_traces")),
            ("otel.scope.version", json!("1.0")),
            ("error", Value::Null),
        ],
    );
    let failed = [("error", json!(true)), ("otel.status_code", json!("ERROR")), ("span.kind", json!("client"))];
    tags_are(pay, &failed);
    tags_are(pay, &[("otel.status_description", json!("payment timed out"))]);
    tags_are(reserve, &[("span.kind", json!("internal")), ("stock.left", json!(0))]);

    let fields = &order["logs"][0]["fields"];
    assert_eq!((tag(fields, "event"), tag(fields, "basket")), (&json!("checked out"), &json!("b-17")));
    assert_eq!(tag(&pay["logs"][0]["fields"], "exception.type"), "TimeoutError");
    times_are_sound(order, [reserve, pay]);
}

fn times_are_sound(parent: &Value, children: [&Value; 2]) {
    let times = |span: &Value| (span["startTime"].as_u64().unwrap(), span["duration"].as_u64().unwrap());
    let (start, duration) = times(parent);
    assert!(start > 1_700_000_000_000_000, "{start} is not in microseconds");
    for (child_start, child_duration) in children.map(times) {
        // One microsecond for each of the two roundings.
        assert!(child_start >= start && child_start + child_duration <= start + duration + 2);
    }
}

/// A daemon on a directory of its own, and the means to send to it.
struct Setting {
    python: PathBuf,
    directory: tempfile::TempDir,
    daemon: Daemon,
}

impl Setting {
    fn new() -> Option<Self> {
        let python = python::interpreter()?;
        let directory = tempfile::tempdir().unwrap();
        let daemon = Daemon::start(directory.path(), "");
        Some(Self { python, directory, daemon })
    }

    fn start_again(&mut self) {
        self.daemon = Daemon::start(self.directory.path(), "");
    }
}

#[test]
fn both_protocols_of_the_sdk_are_read_back_as_sent_and_survive_a_restart() {
    let Some(mut setting) = Setting::new() else { return };
    let ids = [Protocol::Grpc, Protocol::Http].map(|protocol| send(&setting.python, &setting.daemon, protocol));
    let before: Vec<_> = ids.iter().map(|id| read(&setting.daemon, id)).collect();
    for (id, answer) in ids.iter().zip(&before) {
        is_what_the_example_sends(id, &trace(answer));
    }
    setting.daemon.stop();
    setting.start_again();
    let after: Vec<_> = ids.iter().map(|id| read(&setting.daemon, id)).collect();
    assert_eq!(after, before);
}

/// Otherwise the tests below would call a flush good that delivered nothing.
#[test]
fn the_example_fails_where_nobody_listens() {
    let Some(python) = python::interpreter() else { return };
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let mut command = example(&python, protocol, nobody);
        let error = python::run(command.env("OTEL_EXPORTER_OTLP_TIMEOUT", "1")).unwrap_err();
        assert!(error.contains("not delivered"), "{protocol:?}: {error}");
    }
}

#[test]
fn a_kill_right_after_a_good_flush_loses_nothing() {
    let Some(mut setting) = Setting::new() else { return };
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let id = send(&setting.python, &setting.daemon, protocol);
        setting.daemon.kill();
        setting.start_again();
        let answer = read(&setting.daemon, &id);
        is_what_the_example_sends(&id, &trace(&answer));
        setting.daemon.kill();
        setting.start_again();
        assert_eq!(read(&setting.daemon, &id), answer);
    }
}
