//! The real binary: what it prints, where, and with which exit code.

use crate::support::{LONG, free_address, get};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Instant;

fn sluice(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sluice")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const GOOD: &str = "yaml:{receivers: {otlp: {protocols: {grpc: }}}, exporters: {debug: }, \
                    service: {pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}}";

#[test]
fn validate_is_silent_about_a_good_configuration() {
    for arguments in [vec!["validate"], vec!["validate", "--config", GOOD]] {
        let output = sluice(&arguments);
        assert_eq!((output.status.code(), stdout(&output), stderr(&output)), (Some(0), String::new(), String::new()));
    }
}

#[test]
fn validate_shows_every_fault_with_the_path_of_its_key() {
    let output = sluice(&[
        "validate",
        "--config",
        GOOD,
        "--set",
        "exporters::debug::verbosty=basic",
        "--set",
        "receivers::otlp::protocols::grpc::endpiont=x",
        "--set",
        "processors::batch::timeout=1s",
    ]);
    let (out, errors) = (stdout(&output), stderr(&output));
    assert_eq!((output.status.code(), out.as_str()), (Some(1), ""));
    for expected in
        ["exporters::debug: ", "verbosty", "receivers::otlp::protocols::grpc: ", "endpiont", "batch", "not yet"]
    {
        assert!(errors.contains(expected), "{expected} is not in:\n{errors}");
    }
    assert_eq!(errors.lines().count(), 3, "a line for each fault:\n{errors}");
}

#[test]
fn misuse_is_told_apart_from_failure() {
    let misuse: [&[&str]; 3] =
        [&["--no-such-flag"], &["no-such-command"], &["validate", "--feature-gates", "-no.such.gate"]];
    for arguments in misuse {
        let output = sluice(arguments);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{arguments:?}");
    }
    let failed = sluice(&["run", "--config", "/no/such/file"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("/no/such/file"));
}

#[test]
fn help_says_what_each_command_does() {
    let output = sluice(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for expected in ["run ", "validate", "components", "print-config", "store", "generate", "--config", "--set"] {
        assert!(stdout(&output).contains(expected), "{expected}");
    }
    assert!(stdout(&sluice(&["--version"])).contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn components_lists_what_is_there_as_yaml() {
    let output = sluice(&["components"]);
    let list: serde_yaml::Value = serde_yaml::from_str(&stdout(&output)).unwrap();
    let has = |kind: &str, name: &str| list[kind].as_sequence().unwrap().iter().any(|entry| entry["name"] == name);
    assert!(has("exporters", "debug") && has("extensions", "health_check") && has("receivers", "otlp"));
    assert_eq!(list["buildinfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(list["exporters"][0]["stability"]["traces"].is_string());
}

#[test]
fn print_config_merges_and_hides_secrets() {
    let over = [
        "--set",
        "service::telemetry::logs::initial_fields::api_token=hunter2",
        "--set",
        "exporters::debug::verbosity=normal",
    ];
    let command = |extra: &[&str]| {
        let output = sluice(&[&["print-config", "--config", GOOD], &over[..], extra].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let redacted = command(&[]);
    assert!(redacted.contains("verbosity: normal") && redacted.contains("[REDACTED]"), "{redacted}");
    assert!(!redacted.contains("hunter2"), "{redacted}");
    assert!(command(&["--mode", "unredacted"]).contains("hunter2"));
    let json: serde_json::Value = serde_json::from_str(&command(&["--format", "json"])).unwrap();
    assert_eq!(json["exporters"]["debug"]["verbosity"], "normal");
    assert!(stdout(&sluice(&["print-initial-config"])).contains("127.0.0.1:4317"), "without sources: the built-in one");
}

/// A running daemon; killed when the test fails.
struct Daemon(Child);

impl Daemon {
    /// Returns once it said that it is ready.
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let (ready, is_ready) = mpsc::channel();
        // Reads on after that, so that the daemon never waits for a reader.
        std::thread::spawn(move || {
            let mut seen = Vec::new();
            for line in lines {
                if line.contains("Everything is ready") {
                    let _ = ready.send(());
                }
                seen.push(line);
            }
            eprintln!("{}", seen.join("\n"));
        });
        let daemon = Self(child);
        is_ready.recv_timeout(LONG).expect("the daemon did not become ready");
        daemon
    }

    fn signal(&self, signal: Signal) {
        let id = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(id, signal).unwrap();
    }

    fn exit_code(&mut self) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < LONG {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::yield_now();
        }
        None
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_daemon_takes_spans_reports_them_and_ends_well_on_sigterm() {
    let (http, metrics, health) = (free_address(), free_address(), free_address());
    let port = metrics.rsplit(':').next().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log").to_str().unwrap().to_owned();
    let config = format!(
        "yaml:{{receivers: {{otlp: {{protocols: {{http: {{endpoint: '{http}'}}}}}}}}, exporters: {{debug: {{verbosity: normal}}}},
           extensions: {{health_check: {{endpoint: '{health}'}}}},
           service: {{extensions: [health_check], pipelines: {{traces: {{receivers: [otlp], exporters: [debug]}}}},
             telemetry: {{logs: {{encoding: json, output_paths: [stderr, '{log}'], initial_fields: {{zone: a}}}}, metrics: {{readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {port}}}}}}}}}]}}}}}}}}"
    );
    let mut daemon = Daemon::start(&["--config", &config]);
    assert_eq!(get(&health, "/").await.0, 200);
    let body = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"a"}]}]}]}"#;
    assert_eq!(crate::support::post(&http, "/v1/traces", "application/json", body).await, (200, "{}".to_owned()));
    let page = get(&metrics, "/metrics").await.1;
    for expected in [
        "otelcol_receiver_accepted_spans{receiver=\"otlp\",transport=\"http\"} 1\n",
        "otelcol_exporter_sent_spans{exporter=\"debug\"} 1\n",
    ] {
        assert!(page.contains(expected), "{page}");
    }
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.exit_code(), Some(0));

    let lines = std::fs::read_to_string(log).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["zone"] == "a" && line["level"] == "info"), "{lines:?}");
    assert_eq!(lines.last().unwrap()["msg"], "Shutdown complete.");
}

#[tokio::test]
async fn a_drain_is_not_ready_and_a_second_signal_ends_it_at_once() {
    let (http, health) = (free_address(), free_address());
    let directory = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::start(&[
        "--set",
        &format!("exporters::storage::directory={}", directory.path().to_str().unwrap()),
        "--set",
        &format!("receivers::otlp::protocols={{http: {{endpoint: '{http}'}}}}"),
        "--set",
        "receivers::otlp::protocols::grpc::endpoint=127.0.0.1:0",
        "--set",
        &format!("extensions::health_check::endpoint={health}"),
        "--set",
        "service::telemetry::metrics::level=none",
    ]);
    // A request that is never finished keeps the receiver draining.
    let mut request = TcpStream::connect(http).unwrap();
    request.write_all(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n").unwrap();
    request.set_read_timeout(Some(LONG)).unwrap();
    let mut answer = [0; 8];
    request.read_exact(&mut answer).expect("the receiver asks for the body, so it has the request");
    daemon.signal(Signal::TERM);
    let began = Instant::now();
    while get(&health, "/").await.0 != 503 {
        assert!(began.elapsed() < LONG, "still ready");
    }
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.exit_code(), Some(1));
}

#[test]
fn a_port_that_is_taken_ends_the_start_with_one() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let set = format!("receivers::otlp::protocols::grpc::endpoint={}", taken.local_addr().unwrap());
    let output = sluice(&["--config", GOOD, "--set", &set, "--set", "service::telemetry::metrics::level=none"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("receivers::otlp"), "{}", stderr(&output));
}
