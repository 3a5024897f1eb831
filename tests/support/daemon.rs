//! The real binary as a child process, on ports that it picks itself.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Generous: only a daemon that never comes up meets it.
const START: Duration = Duration::from_secs(60);

/// A running daemon. Killed when dropped.
pub struct Daemon {
    child: Child,
    pub grpc: SocketAddr,
    pub http: SocketAddr,
    /// Where traces are read.
    pub query: SocketAddr,
}

impl Daemon {
    /// Starts the binary with one storage pipeline and the query API; `storage` is YAML for the exporter beside its directory.
    pub fn start(directory: &Path, storage: &str) -> Self {
        let config = format!(
            "yaml:{{receivers: {{otlp: {{protocols: {{grpc: {{endpoint: '127.0.0.1:0'}}, http: {{endpoint: '127.0.0.1:0'}}}}}}}}, \
             exporters: {{storage: {{directory: '{}', {storage}}}}}, \
             extensions: {{query: {{endpoint: '127.0.0.1:0'}}}}, \
             service: {{extensions: [query], pipelines: {{traces: {{receivers: [otlp], exporters: [storage]}}}}, \
             telemetry: {{metrics: {{level: none}}}}}}}}",
            directory.display()
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
        let command = command.args(["--config", &config]).stderr(Stdio::piped()).stdout(Stdio::null());
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut daemon = Self { child: command.spawn().unwrap(), grpc: nowhere, http: nowhere, query: nowhere };
        let lines = BufReader::new(daemon.child.stderr.take().unwrap()).lines();
        let (said, heard) = mpsc::channel();
        // Reads to the end, so that the daemon never waits for a full pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| drop(said.send(line))));
        daemon.wait_until_ready(&heard);
        daemon
    }

    fn wait_until_ready(&mut self, lines: &mpsc::Receiver<String>) {
        let mut all = String::new();
        loop {
            let Ok(line) = lines.recv_timeout(START) else { panic!("the daemon did not come up:\n{all}") };
            if line.contains("otlp receiver listening") {
                let fields: Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
                let address = fields["address"].as_str().unwrap().parse().unwrap();
                *(if fields["protocol"] == "grpc" { &mut self.grpc } else { &mut self.http }) = address;
            }
            if let Some((_, address)) = line.split_once("query listens on http://") {
                self.query = address.parse().unwrap();
            }
            if line.contains("Everything is ready") {
                return;
            }
            all.push_str(&line);
            all.push('\n');
        }
    }

    /// `kill -9`, at once.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and waits for the end. Panics unless it was a good one.
    pub fn stop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
