//! Search as one would write it first: every span of every trace is looked at. What a store answers is compared with it.
//! It reads protobuf with prost and shares no code with the store.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest as Request;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use sluice::model::{Operation, Order, TraceId, TraceQuery, TraceSummary};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Keys and values of one message.
type Attributes = Rc<[(Rc<str>, Scalar)]>;

/// What a search looks at of a span.
#[derive(Debug, Clone)]
pub struct PlainSpan {
    pub span_id: Vec<u8>,
    pub root: bool,
    pub start: u64,
    pub end: u64,
    pub kind: i32,
    pub status: i32,
    pub service: Rc<str>,
    pub scope: Rc<str>,
    pub name: Rc<str>,
    /// Of the span, its events, its scope and its resource.
    pub attributes: Vec<Attributes>,
}

/// A value that can be searched for.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    Text(Rc<str>),
    Bool(bool),
    Int(i64),
    Double(f64),
    Other,
}

impl Scalar {
    /// How someone would ask for it.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Double(value) => value.to_string(),
            Self::Other => "other".to_owned(),
        }
    }

    fn is(&self, text: &str) -> bool {
        match self {
            Self::Text(value) => **value == *text,
            Self::Bool(value) => text == value.to_string(),
            Self::Int(value) => text.parse() == Ok(*value),
            Self::Double(value) => text.parse() == Ok(*value),
            Self::Other => false,
        }
    }
}

/// All traces of some requests, duplicates collapsed; spans are ordered by start and span id.
#[derive(Default)]
pub struct Plain {
    pub traces: BTreeMap<TraceId, Vec<PlainSpan>>,
    texts: HashMap<String, Rc<str>>,
}

impl Plain {
    /// Later deliveries take the place of earlier ones.
    pub fn of<'a>(requests: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut plain = Self::default();
        requests.into_iter().for_each(|request| plain.add(request));
        for spans in plain.traces.values_mut() {
            spans.reverse();
            let mut known = BTreeSet::new();
            spans.retain(|span| known.insert((span.span_id.clone(), span.kind, span.scope.clone())));
            spans.reverse();
            spans.sort_by_key(|span| (span.start, span.span_id.clone(), span.kind, span.scope.clone()));
        }
        plain
    }

    fn text(&mut self, text: &str) -> Rc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let shared: Rc<str> = text.into();
        self.texts.insert(text.to_owned(), shared.clone());
        shared
    }

    fn attributes(&mut self, attributes: &[KeyValue]) -> Attributes {
        attributes.iter().map(|pair| (self.text(&pair.key), self.scalar(pair.value.as_ref()))).collect()
    }

    fn scalar(&mut self, value: Option<&AnyValue>) -> Scalar {
        match value.and_then(|value| value.value.as_ref()) {
            Some(Value::StringValue(text)) => Scalar::Text(self.text(text)),
            Some(Value::BoolValue(value)) => Scalar::Bool(*value),
            Some(Value::IntValue(value)) => Scalar::Int(*value),
            Some(Value::DoubleValue(value)) => Scalar::Double(*value),
            _ => Scalar::Other,
        }
    }

    fn add(&mut self, request: &[u8]) {
        for of_resource in Request::decode(request).unwrap().resource_spans {
            let attributes = of_resource.resource.map_or_else(Vec::new, |resource| resource.attributes);
            let resource = self.attributes(&attributes);
            let named = resource.iter().rev().find(|(key, _)| **key == *"service.name");
            let service = match named {
                Some((_, Scalar::Text(name))) => name.clone(),
                _ => self.text(""),
            };
            for of_scope in of_resource.scope_spans {
                let scope = of_scope.scope.unwrap_or_default();
                let (name, around) = (self.text(&scope.name), self.attributes(&scope.attributes));
                for span in of_scope.spans {
                    let plain = self.span(&span, service.clone(), name.clone(), [resource.clone(), around.clone()]);
                    let id = TraceId(span.trace_id.try_into().unwrap());
                    self.traces.entry(id).or_default().push(plain);
                }
            }
        }
    }

    fn span(&mut self, span: &Span, service: Rc<str>, scope: Rc<str>, around: [Attributes; 2]) -> PlainSpan {
        let mut attributes = around.to_vec();
        attributes.push(self.attributes(&span.attributes));
        attributes.extend(span.events.iter().map(|event| self.attributes(&event.attributes)));
        attributes.retain(|some| !some.is_empty());
        PlainSpan {
            span_id: span.span_id.clone(),
            root: span.parent_span_id.iter().all(|byte| *byte == 0),
            start: span.start_time_unix_nano,
            end: span.end_time_unix_nano,
            kind: span.kind,
            status: span.status.as_ref().map_or(0, |status| status.code),
            service,
            scope,
            name: self.text(&span.name),
            attributes,
        }
    }

    /// The traces that match, in the order asked for.
    pub fn find(&self, query: &TraceQuery) -> Vec<TraceSummary> {
        let found = self.traces.iter().filter(|(_, spans)| spans.iter().any(|span| matches(query, span)));
        let mut found: Vec<_> = found.map(|(id, spans)| summary(*id, spans)).collect();
        found.sort_by_key(|trace| match query.order {
            Order::NewestFirst => (Reverse(trace.start), trace.id),
            Order::SlowestFirst => (Reverse(trace.end.saturating_sub(trace.start)), trace.id),
        });
        found.truncate(query.limit);
        found
    }

    pub fn spans(&self) -> impl Iterator<Item = &PlainSpan> {
        self.traces.values().flatten()
    }

    /// Every service, sorted.
    pub fn services(&self) -> Vec<String> {
        let services: BTreeSet<_> = self.spans().map(|span| span.service.to_string()).collect();
        services.into_iter().collect()
    }

    /// What the spans of a service are called, sorted.
    pub fn operations(&self, service: &str) -> Vec<Operation> {
        let spans = self.spans().filter(|span| *span.service == *service);
        let operations: BTreeSet<_> =
            spans.map(|span| Operation { name: span.name.to_string(), kind: span.kind }).collect();
        operations.into_iter().collect()
    }
}

fn matches(query: &TraceQuery, span: &PlainSpan) -> bool {
    let within = |value: u64, (least, most): (Option<u64>, Option<u64>)| {
        value >= least.unwrap_or(0) && value <= most.unwrap_or(u64::MAX)
    };
    query.kind.is_none_or(|kind| span.kind == kind)
        && query.status.is_none_or(|status| span.status == status)
        && within(span.start, query.start)
        && within(span.end.saturating_sub(span.start), query.duration)
        && query.service.as_ref().is_none_or(|name| **name == *span.service)
        && query.operation.as_ref().is_none_or(|name| **name == *span.name)
        && query.attributes.iter().all(|(key, value)| {
            let mut all = span.attributes.iter().flat_map(|some| some.iter());
            all.any(|(known, found)| **known == **key && found.is(value))
        })
}

fn summary(id: TraceId, spans: &[PlainSpan]) -> TraceSummary {
    let root = spans.iter().find(|span| span.root);
    let services: BTreeSet<_> = spans.iter().map(|span| span.service.to_string()).collect();
    TraceSummary {
        id,
        root_service: root.map_or_else(String::new, |root| root.service.to_string()),
        root_name: root.map_or_else(String::new, |root| root.name.to_string()),
        start: spans.iter().map(|span| span.start).min().unwrap(),
        end: spans.iter().map(|span| span.end).max().unwrap(),
        spans: spans.len() as u64,
        errors: spans.iter().filter(|span| span.status == 2).count() as u64,
        services: services.into_iter().collect(),
    }
}
