//! Where the time goes: the stages on `/metrics` add up.

use crate::cli::Daemon;
use crate::support::{LONG, free_address, get};
use std::time::Instant;

const SENT: u64 = 10;
const APPEND: [&str; 5] = ["append_queue", "append_write", "append_sync", "append_insert", "append_answer"];
const SEAL: [&str; 4] = ["seal_queue", "seal_build", "seal_wait", "seal_publish"];

/// The value of a stage's counter; 0 where it never ran.
fn value(page: &str, counter: &str, stage: &str) -> u64 {
    let begin = format!("{counter}{{stage=\"{stage}\"}} ");
    page.lines().find_map(|line| line.strip_prefix(&begin)).map_or(0, |value| value.parse().unwrap())
}

fn nanos(page: &str, stage: &str) -> u64 {
    value(page, "sluice_stage_nanoseconds_total", stage)
}

fn runs(page: &str, stage: &str) -> u64 {
    value(page, "sluice_stage_runs_total", stage)
}

/// Sends batches one after the other, each of which fills a memtable, and waits until all are sealed and counted.
async fn page_of(durability: &str) -> String {
    let (http, metrics, directory) = (free_address(), free_address(), tempfile::tempdir().unwrap());
    let port = metrics.rsplit(':').next().unwrap();
    let config = format!(
        "yaml:{{receivers: {{otlp: {{protocols: {{http: {{endpoint: '{http}'}}}}}}}},
           exporters: {{storage: {{directory: '{}', durability: {durability}, seal: {{max_spans: 1}}}}}},
           service: {{pipelines: {{traces: {{receivers: [otlp], exporters: [storage]}}}},
             telemetry: {{metrics: {{readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {port}}}}}}}}}]}}}}}}}}",
        directory.path().display()
    );
    let _daemon = Daemon::start(&["--config", &config]);
    for number in 1..=SENT {
        let body = format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{number:032x}","spanId":"{number:016x}","name":"a"}}]}}]}}]}}"#
        );
        assert_eq!(crate::support::post(&http, "/v1/traces", "application/json", &body).await.0, 200);
    }
    let began = Instant::now();
    loop {
        let page = get(&metrics, "/metrics").await.1;
        if runs(&page, "append") == SENT && runs(&page, "seal") == SENT {
            return page;
        }
        assert!(began.elapsed() < LONG, "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stages_of_appends_and_of_seals_add_up_to_their_wall_time() {
    for durability in ["wal", "buffered", "sealed"] {
        let page = page_of(durability).await;
        for (whole, parts) in [("append", APPEND.as_slice()), ("seal", SEAL.as_slice())] {
            let sum = parts.iter().map(|part| nanos(&page, part)).sum::<u64>();
            assert_eq!(sum, nanos(&page, whole), "{durability}: {whole}: {page}");
            assert!(sum > 0);
        }
        let synced = [runs(&page, "append_sync"), runs(&page, "buffered_sync"), runs(&page, "append_seal")];
        let expected = match durability {
            "wal" => [SENT, 0, 0],
            // Each memtable is synced before it is sealed.
            "buffered" => [0, SENT, 0],
            _ => [SENT, 0, SENT],
        };
        assert_eq!(synced, expected, "{durability}: {page}");
    }
}
