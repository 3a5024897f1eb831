//! Conditions of a search as tags, the way they are shown: `error`, `span.kind` and `otel.status_code` are shown as tags
//! and stored as fields of the span; every other tag is an attribute.

use super::names;
use crate::model::TraceQuery;

/// Tags that are made for showing, of fields that no search looks into. To look for attributes of these names would
/// find nothing and say so as if there were nothing.
const SHOWN_ONLY: [&str; 7] = [
    "otel.status_description",
    "otel.scope.name",
    "otel.scope.version",
    "otel.dropped_attributes_count",
    "otel.dropped_events_count",
    "otel.dropped_links_count",
    "w3c.tracestate",
];

/// Adds the condition that a tag stands for.
///
/// Errors: why it cannot be asked for.
pub fn add(query: &mut TraceQuery, (key, value): (String, String)) -> Result<(), String> {
    match (key.as_str(), value.as_str()) {
        ("error", "true") => one(&mut query.status, names::ERROR, "error and otel.status_code"),
        ("error", "false") => Err("error=false cannot be searched for: it would be every status but ERROR. Ask for \
                                   otel.status_code=UNSET or otel.status_code=OK"
            .to_owned()),
        ("otel.status_code", code) => {
            let code = names::parse_status(code).map_err(|why| format!("otel.status_code: {why}"))?;
            one(&mut query.status, code, "error and otel.status_code")
        }
        ("span.kind", kind) => {
            let kind = names::parse_kind(kind).map_err(|why| format!("span.kind: {why}"))?;
            one(&mut query.kind, kind, "span.kind")
        }
        (key, _) if SHOWN_ONLY.contains(&key) => {
            Err(format!("{key} cannot be searched for: it is shown as a tag and not stored as an attribute"))
        }
        _ => {
            query.attributes.push((key, value));
            Ok(())
        }
    }
}

/// A span has one of them.
fn one(condition: &mut Option<i32>, wanted: i32, keys: &str) -> Result<(), String> {
    match condition.replace(wanted) {
        Some(other) if other != wanted => Err(format!("{keys} ask for two different values: no span has both")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tags: &[(&str, &str)]) -> Result<TraceQuery, String> {
        let mut query = TraceQuery::default();
        tags.iter().try_for_each(|(key, value)| add(&mut query, ((*key).to_owned(), (*value).to_owned())))?;
        Ok(query)
    }

    #[test]
    fn tags_that_show_a_field_ask_for_that_field() {
        let query = of(&[("error", "true"), ("otel.status_code", "ERROR"), ("span.kind", "server")]).unwrap();
        assert_eq!(query, TraceQuery { status: Some(2), kind: Some(2), ..TraceQuery::default() });
        assert_eq!(of(&[("otel.status_code", "UNSET")]).unwrap().status, Some(0));
        assert_eq!(of(&[("otel.status_code", "OK")]).unwrap().status, Some(1));
        assert_eq!(of(&[("span.kind", "99")]).unwrap().kind, Some(99), "as it is shown");
    }

    #[test]
    fn every_other_tag_is_an_attribute() {
        let query = of(&[("error", "timeout"), ("http.status_code", "200"), ("", ""), ("a", "1"), ("a", "2")]).unwrap();
        let attributes = [("error", "timeout"), ("http.status_code", "200"), ("", ""), ("a", "1"), ("a", "2")];
        assert_eq!(query.attributes, attributes.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!((query.status, query.kind), (None, None));
    }

    #[test]
    fn what_cannot_be_searched_for_is_refused_with_the_reason() {
        for (tags, named) in [
            (vec![("error", "false")], "otel.status_code=UNSET"),
            (vec![("span.kind", "sever")], "span.kind: \"sever\""),
            (vec![("otel.status_code", "FINE")], "otel.status_code: \"FINE\""),
            (vec![("otel.scope.name", "a")], "otel.scope.name"),
            (vec![("w3c.tracestate", "a")], "w3c.tracestate"),
            (vec![("error", "true"), ("otel.status_code", "OK")], "no span has both"),
            (vec![("span.kind", "server"), ("span.kind", "client")], "no span has both"),
        ] {
            let why = of(&tags).unwrap_err();
            assert!(why.contains(named), "{tags:?}: {why}");
        }
    }
}
