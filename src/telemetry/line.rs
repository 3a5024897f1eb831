//! How one log line is written: for people (tabs between time, level, place, message, fields) or as JSON.

use super::logs::Encoding;
use serde_json::{Map, Value, json};
use std::fmt::{self, Debug};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::registry::LookupSpan;

/// The format of all lines.
pub struct Line {
    encoding: Encoding,
    initial: Map<String, Value>,
}

impl Line {
    /// Lines with these fields added to every one.
    pub fn new(encoding: Encoding, initial: Map<String, Value>) -> Self {
        Self { encoding, initial }
    }

    fn render(&self, time: &str, level: &str, place: &str, said: Said) -> String {
        let mut fields = self.initial.clone();
        fields.extend(said.fields);
        if self.encoding == Encoding::Json {
            let head = [("level", level), ("ts", time), ("caller", place), ("msg", &said.message)];
            fields.extend(head.map(|(key, value)| (key.to_owned(), json!(value))));
            return Value::Object(fields).to_string();
        }
        let fields = if fields.is_empty() { String::new() } else { format!("\t{}", Value::Object(fields)) };
        let (first, more) = said.message.split_at(said.message.find('\n').unwrap_or(said.message.len()));
        format!("{time}\t{level}\t{place}\t{first}{fields}{more}")
    }
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut said = Said::default();
        event.record(&mut said);
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        writeln!(out, "{}", self.render(&time, &level, event.metadata().target(), said))
    }
}

/// Message and fields of one event.
#[derive(Default)]
struct Said {
    message: String,
    fields: Map<String, Value>,
}

impl Said {
    fn put(&mut self, field: &Field, value: Value) {
        self.fields.insert(field.name().to_owned(), value);
    }
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" { self.message = text } else { self.put(field, json!(text)) }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" { self.message = value.to_owned() } else { self.put(field, json!(value)) }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, json!(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> Said {
        let fields = [("spans".to_owned(), json!(3))].into_iter().collect();
        Said { message: "Traces".into(), fields }
    }

    #[test]
    fn the_fields_of_a_message_of_several_lines_are_on_its_first() {
        let said = Said { message: "Traces\nspan".into(), ..said() };
        let line = Line::new(Encoding::Console, Map::new()).render("T", "info", "sluice", said);
        assert_eq!(line, "T\tinfo\tsluice\tTraces\t{\"spans\":3}\nspan");
    }

    #[test]
    fn both_encodings_carry_the_initial_fields_and_those_of_the_event() {
        let initial = Map::from_iter([("zone".to_owned(), json!("a"))]);
        let console = Line::new(Encoding::Console, initial.clone()).render("T", "info", "sluice", said());
        assert_eq!(console, "T\tinfo\tsluice\tTraces\t{\"spans\":3,\"zone\":\"a\"}");
        let json_line = Line::new(Encoding::Json, initial).render("T", "info", "sluice", said());
        let parsed: Value = serde_json::from_str(&json_line).unwrap();
        let expected =
            json!({"level": "info", "ts": "T", "caller": "sluice", "msg": "Traces", "spans": 3, "zone": "a"});
        assert_eq!(parsed, expected);
    }
}
