//! Every metric there is: name, kind, labels, meaning. The Collector's names where it has one, `sluice_…` otherwise.
//!
//! Code records with `metrics::counter!(names::WAL_SYNCS.name)` and the like, never with a name of its own.

/// How a metric moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
}

/// One metric: what it is called and what it means.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    /// Label names, comma-separated; empty for none.
    pub labels: &'static str,
    pub help: &'static str,
}

const fn counter(name: &'static str, labels: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: Kind::Counter, labels, help }
}

const fn gauge(name: &'static str, labels: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, labels, help }
}

/// Declares the metrics and the list of all of them together, so that none can be left out of it.
macro_rules! metrics {
    ($($id:ident = $metric:expr;)*) => {
        $(pub const $id: Metric = $metric;)*
        /// Every metric, in the order of this file.
        pub const ALL: &[Metric] = &[$($id),*];
    };
}

metrics! {
    RECEIVER_ACCEPTED_SPANS = counter("otelcol_receiver_accepted_spans", "receiver,transport", "Spans taken into the pipeline.");
    RECEIVER_REFUSED_SPANS = counter("otelcol_receiver_refused_spans", "receiver,transport", "Spans that could not be taken into the pipeline.");
    RECEIVER_UNDECODABLE_REQUESTS = counter("sluice_receiver_undecodable_requests_total", "receiver,transport", "Requests whose bytes were no request of the protocol, or whose compression was broken.");
    RECEIVER_REPAIRED_STRINGS = counter("sluice_receiver_repaired_strings_total", "receiver,transport", "Strings that were not UTF-8 and were stored with U+FFFD in place of what was wrong.");
    RECEIVER_DROPPED_LINKS = counter("sluice_receiver_dropped_links_total", "receiver,transport", "Span links left out because of a bad id; their spans were taken.");
    EXPORTER_SENT_SPANS = counter("otelcol_exporter_sent_spans", "exporter", "Spans an exporter took over for good.");
    EXPORTER_SEND_FAILED_SPANS = counter("otelcol_exporter_send_failed_spans", "exporter", "Spans an exporter refused or failed to take over.");

    FANOUT_PARTIAL = counter("sluice_fanout_partial_total", "", "Batches that some branch of a fan-out did not take after every branch had room.");

    STAGE_NANOS = counter("sluice_stage_nanoseconds_total", "stage", "Wall time spent in a stage. decode. append of a group, from the hand-over of its first batch to the last answer: append_queue, append_write, append_sync, append_insert, append_answer. append_seal: the wait for a segment under durability sealed. buffered_sync: a sync under durability buffered. seal of a memtable, from freeze to manifest: seal_queue, seal_build, seal_wait, seal_publish.");
    STAGE_RUNS = counter("sluice_stage_runs_total", "stage", "How often a stage ran.");

    PROCESS_UPTIME = counter("otelcol_process_uptime", "", "Seconds since the process started to serve.");
    PROCESS_CPU = counter("otelcol_process_cpu_seconds", "", "CPU seconds used by the process, user and system.");
    PROCESS_RSS = gauge("otelcol_process_memory_rss", "", "Bytes of physical memory the process holds.");

    STORE_BYTES = gauge("sluice_store_bytes", "exporter,kind", "Bytes on disk: wal, segments.");
    STORE_SEGMENTS = gauge("sluice_store_segments", "exporter", "Live segments.");
    STORE_MEMTABLE_BYTES = gauge("sluice_store_memtable_bytes", "exporter", "Bytes of answered batches not yet in a segment, and of reservations.");
    STORE_COMMITS = counter("sluice_store_commits_total", "exporter", "Groups of batches written to the log together, with one sync unless durability is buffered.");
    STORE_BATCHES = counter("sluice_store_batches_total", "exporter", "Batches written to the log.");
    STORE_REFUSED = counter("sluice_store_refused_batches_total", "exporter,reason", "Batches not taken: log_full, memory_full, log_failed.");
    STORE_NOT_SEALED = counter("sluice_store_not_sealed_batches_total", "exporter", "Batches in the log whose senders were told that they are not sealed yet (durability sealed).");
    STORE_SET_ASIDE = gauge("sluice_store_set_aside_batches", "exporter", "Batches that could not be sealed: readable, in files of their own, kept in memory.");
    STORE_SEAL_FAILURES = counter("sluice_store_seal_failures_total", "exporter", "Attempts to seal that failed and are tried again.");
    STORE_DAMAGE = gauge("sluice_store_damaged_places", "exporter", "Places found damaged when the store was opened.");
}
