//! The exporter of each pod: spans wait here until there are enough for a request, or until they are old.
//!
//! So a request is from one pod, as it is in reality, and a trace comes in as many requests as pods took part in it.

use super::encode::{Dated, Encoder};
use super::plan::{Plan, SCHEMA, ServicePlan};
use crate::model::wire::fields::*;
use crate::model::wire::put_bytes;
use bytes::Bytes;
use std::time::{Duration, Instant};

/// Spans that wait at most in all pods together; beyond that all are sent, whether or not they fill a request.
const MOST_WAITING: u64 = 100_000;

/// Nothing waits longer than this, so that slow traces are soon to be seen.
const MOST_WAIT: Duration = Duration::from_secs(1);

/// An `ExportTraceServiceRequest`.
#[derive(Debug, Clone)]
pub struct Request {
    pub body: Bytes,
    pub spans: u64,
}

/// See the module.
pub struct Pods {
    pods: Vec<Pod>,
    /// Where the pods of each service begin.
    first: Vec<usize>,
    /// Spans that make a request.
    batch: u64,
    waiting: u64,
    /// Since when the oldest span waits.
    since: Option<Instant>,
}

struct Pod {
    service: usize,
    number: usize,
    /// Encoded `Span` fields of each scope.
    scopes: Vec<Vec<u8>>,
    spans: u64,
}

impl Pods {
    pub fn new(plan: &Plan, batch: u64) -> Self {
        let (mut pods, mut first) = (Vec::new(), Vec::new());
        for (index, service) in plan.services.iter().enumerate() {
            first.push(pods.len());
            pods.extend((0..service.resources.len()).map(|number| Pod::new(index, number, service)));
        }
        Self { pods, first, batch, waiting: 0, since: None }
    }

    /// Adds all spans of a trace. What is full by then goes to `out`.
    pub fn add(&mut self, plan: &Plan, encoder: &mut Encoder, trace: &Dated<'_>, out: &mut Vec<Request>) {
        for (index, span) in trace.trace.spans.iter().enumerate() {
            let Some(template) = plan.templates.get(span.template) else { continue };
            let bytes = encoder.span(plan, trace, index);
            let pod = self.first.get(template.service).and_then(|first| self.pods.get_mut(first + span.pod as usize));
            let Some(pod) = pod else { continue };
            pod.add(template.part as usize, bytes);
            self.waiting += 1;
            if pod.spans >= self.batch {
                self.waiting -= pod.spans;
                out.extend(pod.take(plan));
            }
        }
        self.since = self.since.or_else(|| Some(Instant::now()));
        if self.waiting > MOST_WAITING {
            self.flush(plan, out);
        }
    }

    /// When what waits is to be sent; `None` where nothing waits.
    pub fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + MOST_WAIT)
    }

    /// Everything that waits.
    pub fn flush(&mut self, plan: &Plan, out: &mut Vec<Request>) {
        out.extend(self.pods.iter_mut().filter_map(|pod| pod.take(plan)));
        (self.waiting, self.since) = (0, None);
    }
}

impl Pod {
    fn new(service: usize, number: usize, plan: &ServicePlan) -> Self {
        Self { service, number, scopes: vec![Vec::new(); plan.scopes.len()], spans: 0 }
    }

    fn add(&mut self, scope: usize, span: &[u8]) {
        if let Some(spans) = self.scopes.get_mut(scope) {
            put_bytes(spans, SCOPE_SPANS_SPANS, span);
            self.spans += 1;
        }
    }

    /// What waits as a request; `None` where nothing does.
    fn take(&mut self, plan: &Plan) -> Option<Request> {
        let service = plan.services.get(self.service)?;
        let spans = std::mem::take(&mut self.spans);
        let mut of_resource = service.resources.get(self.number)?.clone();
        for (spans, scope) in self.scopes.iter_mut().zip(&service.scopes).filter(|(spans, _)| !spans.is_empty()) {
            let mut of_scope = scope.clone();
            of_scope.extend_from_slice(spans);
            put_bytes(&mut of_scope, SCOPE_SPANS_SCHEMA_URL, SCHEMA.as_bytes());
            put_bytes(&mut of_resource, RESOURCE_SPANS_SCOPE_SPANS, &of_scope);
            spans.clear();
        }
        put_bytes(&mut of_resource, RESOURCE_SPANS_SCHEMA_URL, SCHEMA.as_bytes());
        let mut body = Vec::with_capacity(of_resource.len() + 8);
        put_bytes(&mut body, REQUEST_RESOURCE_SPANS, &of_resource);
        (spans > 0).then(|| Request { body: body.into(), spans })
    }
}
