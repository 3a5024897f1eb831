//! The text of a batch: nothing, a line a span, or every field.

use super::Verbosity;
use super::value::{clean, hex, plain, typed};
use crate::model::{Batch, time::rfc3339};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, span};
use prost::Message;
use std::fmt::{Result, Write};

/// What follows the line with the counts; each line begins with a line break.
///
/// Errors: bytes that do not decode, which a batch's own walk has refused already.
pub fn render(verbosity: Verbosity, batch: &Batch) -> anyhow::Result<String> {
    let mut out = String::new();
    if verbosity != Verbosity::Basic {
        let request = ExportTraceServiceRequest::decode(batch.bytes().clone())?;
        for (index, resource) in request.resource_spans.iter().enumerate() {
            match verbosity {
                Verbosity::Detailed => detailed(&mut out, index, resource)?,
                _ => normal(&mut out, index, resource)?,
            }
        }
    }
    Ok(out)
}

fn normal(out: &mut String, index: usize, of: &ResourceSpans) -> Result {
    let attributes = of.resource.as_ref().map_or(&[][..], |resource| &resource.attributes);
    write!(out, "\nResourceTraces #{index}{}{}", schema(&of.schema_url), inline(attributes))?;
    for (index, of) in of.scope_spans.iter().enumerate() {
        let (name, attributes) = scope(of);
        write!(out, "\nScopeTraces #{index} {name}{}{}", schema(&of.schema_url), inline(attributes))?;
        for span in &of.spans {
            let (trace, id) = (hex(&span.trace_id), hex(&span.span_id));
            write!(out, "\n{} {trace} {id}{}", clean(&span.name), inline(&span.attributes))?;
        }
    }
    Ok(())
}

fn schema(url: &str) -> String {
    if url.is_empty() { String::new() } else { format!(" [{}]", clean(url)) }
}

/// `name@version` and attributes of a scope.
fn scope(of: &ScopeSpans) -> (String, &[KeyValue]) {
    match &of.scope {
        None => (String::new(), &[]),
        Some(InstrumentationScope { name, version, attributes, .. }) => {
            let at = if version.is_empty() { "" } else { "@" };
            (clean(&format!("{name}{at}{version}")), attributes)
        }
    }
}

fn inline(attributes: &[KeyValue]) -> String {
    attributes.iter().map(|pair| format!(" {}={}", clean(&pair.key), plain(pair.value.as_ref()))).collect()
}

fn detailed(out: &mut String, index: usize, of: &ResourceSpans) -> Result {
    write!(out, "\nResourceSpans #{index}\nResource SchemaURL: {}", clean(&of.schema_url))?;
    if let Some(resource) = &of.resource {
        list(out, "Resource attributes:", "     ", &resource.attributes)?;
    }
    for (index, of) in of.scope_spans.iter().enumerate() {
        let (name, attributes) = scope(of);
        write!(
            out,
            "\nScopeSpans #{index}\nScopeSpans SchemaURL: {}\nInstrumentationScope {name}",
            clean(&of.schema_url)
        )?;
        list(out, "InstrumentationScope attributes:", "     ", attributes)?;
        of.spans.iter().enumerate().try_for_each(|(index, span)| detailed_span(out, index, span))?;
    }
    Ok(())
}

fn detailed_span(out: &mut String, index: usize, span: &Span) -> Result {
    let status = span.status.clone().unwrap_or_default();
    write!(out, "\nSpan #{index}")?;
    field(out, "Trace ID", &hex(&span.trace_id))?;
    field(out, "Parent ID", &hex(&span.parent_span_id))?;
    field(out, "ID", &hex(&span.span_id))?;
    field(out, "Name", &span.name)?;
    field(out, "Kind", kind(span.kind))?;
    if !span.trace_state.is_empty() {
        field(out, "TraceState", &span.trace_state)?;
    }
    field(out, "Flags", &format!("{:#x}", span.flags))?;
    field(out, "Start time", &rfc3339(span.start_time_unix_nano))?;
    field(out, "End time", &rfc3339(span.end_time_unix_nano))?;
    field(out, "Status code", code(status.code))?;
    field(out, "Status message", &status.message)?;
    dropped(out, "    ", "Attributes", span.dropped_attributes_count)?;
    dropped(out, "    ", "Events", span.dropped_events_count)?;
    dropped(out, "    ", "Links", span.dropped_links_count)?;
    list(out, "Attributes:", "     ", &span.attributes)?;
    heading(out, "Events:", span.events.is_empty())?;
    span.events.iter().enumerate().try_for_each(|(index, event)| detailed_event(out, index, event))?;
    heading(out, "Links:", span.links.is_empty())?;
    span.links.iter().enumerate().try_for_each(|(index, link)| detailed_link(out, index, link))
}

fn detailed_event(out: &mut String, index: usize, event: &span::Event) -> Result {
    let time = rfc3339(event.time_unix_nano);
    write!(out, "\nSpanEvent #{index}\n     -> Name: {}\n     -> Timestamp: {time}", clean(&event.name))?;
    dropped(out, "     -> ", "Attributes", event.dropped_attributes_count)?;
    list(out, "     -> Attributes:", "         ", &event.attributes)
}

fn detailed_link(out: &mut String, index: usize, link: &span::Link) -> Result {
    let (trace, id) = (hex(&link.trace_id), hex(&link.span_id));
    write!(out, "\nSpanLink #{index}\n     -> Trace ID: {trace}\n     -> ID: {id}")?;
    write!(out, "\n     -> TraceState: {}\n     -> Flags: {:#x}", clean(&link.trace_state), link.flags)?;
    dropped(out, "     -> ", "Attributes", link.dropped_attributes_count)?;
    list(out, "     -> Attributes:", "         ", &link.attributes)
}

fn field(out: &mut String, name: &str, value: &str) -> Result {
    write!(out, "\n    {name:<15}: {}", clean(value))
}

fn dropped(out: &mut String, indent: &str, what: &str, count: u32) -> Result {
    if count == 0 { Ok(()) } else { write!(out, "\n{indent}Dropped{what}Count: {count}") }
}

fn heading(out: &mut String, text: &str, empty: bool) -> Result {
    if empty { Ok(()) } else { write!(out, "\n{text}") }
}

fn list(out: &mut String, head: &str, indent: &str, attributes: &[KeyValue]) -> Result {
    heading(out, head, attributes.is_empty())?;
    attributes
        .iter()
        .try_for_each(|pair| write!(out, "\n{indent}-> {}: {}", clean(&pair.key), typed(pair.value.as_ref())))
}

fn kind(kind: i32) -> &'static str {
    match kind {
        0 => "Unspecified",
        1 => "Internal",
        2 => "Server",
        3 => "Client",
        4 => "Producer",
        5 => "Consumer",
        _ => "Unknown",
    }
}

fn code(code: i32) -> &'static str {
    match code {
        0 => "Unset",
        1 => "Ok",
        2 => "Error",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, any_value::Value};
    use opentelemetry_proto::tonic::resource::v1::Resource;
    use opentelemetry_proto::tonic::trace::v1::Status;

    fn pair(key: &str, value: Value) -> KeyValue {
        KeyValue { key: key.into(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
    }

    fn batch() -> Batch {
        let span = Span {
            trace_id: vec![0xab; 16],
            span_id: vec![1; 8],
            name: "GET /cart".into(),
            kind: 2,
            end_time_unix_nano: 1_000_000_001,
            attributes: vec![pair("http.status", Value::IntValue(500)), pair("raw", Value::BytesValue(vec![1, 255]))],
            events: vec![span::Event { name: "retry".into(), ..span::Event::default() }],
            links: vec![span::Link { trace_id: vec![2; 16], span_id: vec![3; 8], ..span::Link::default() }],
            status: Some(Status { code: 2, message: "broken".into() }),
            ..Span::default()
        };
        let scope = InstrumentationScope { name: "lib".into(), version: "1".into(), ..InstrumentationScope::default() };
        let scope = ScopeSpans { scope: Some(scope), spans: vec![span], ..ScopeSpans::default() };
        let service = pair("service.name", Value::StringValue("shop".into()));
        let resource = Resource { attributes: vec![service], ..Resource::default() };
        let of = ResourceSpans { resource: Some(resource), scope_spans: vec![scope], schema_url: "u".into() };
        let request = ExportTraceServiceRequest { resource_spans: vec![of] };
        Batch::from_otlp(request.encode_to_vec().into()).unwrap().batch
    }

    #[test]
    fn basic_adds_nothing_and_normal_has_a_line_for_each_span() {
        assert_eq!(render(Verbosity::Basic, &batch()).unwrap(), "");
        let id = "ab".repeat(16);
        let expected = format!(
            "\nResourceTraces #0 [u] service.name=shop\nScopeTraces #0 lib@1\n\
             GET /cart {id} 0101010101010101 http.status=500 raw=01ff"
        );
        assert_eq!(render(Verbosity::Normal, &batch()).unwrap(), expected);
    }

    #[test]
    fn text_from_outside_cannot_forge_a_line() {
        assert_eq!(clean("a\nb\u{1b}[31mé"), "a\\nb\\u{1b}[31mé");
        assert_eq!(plain(Some(&AnyValue { value: Some(Value::StringValue("x\r".into())) })), "x\\r");
    }

    #[test]
    fn detailed_shows_every_field_with_its_type() {
        let text = render(Verbosity::Detailed, &batch()).unwrap();
        let expected = [
            "Resource SchemaURL: u",
            "     -> service.name: Str(shop)",
            "InstrumentationScope lib@1",
            "    Trace ID       : abababababababababababababababab",
            "    Kind           : Server",
            "    End time       : 1970-01-01T00:00:01.000000001Z",
            "    Status code    : Error",
            "    Status message : broken",
            "     -> http.status: Int(500)",
            "     -> raw: Bytes(01ff)",
            "     -> Name: retry",
            "     -> Trace ID: 02020202020202020202020202020202",
        ];
        for line in expected {
            assert!(text.lines().any(|found| found == line), "{line:?} is not in:{text}");
        }
    }
}
