//! What a search asks for.

use crate::api::answer::Refusal;
use crate::api::parameters::Parameters;
use crate::api::{condition, value};
use crate::model::{TraceId, TraceQuery};

/// As many as Jaeger's UI asks for.
const DEFAULT_LIMIT: usize = 20;
const NANOS_PER_MICRO: u64 = 1_000;

#[derive(Debug, PartialEq)]
pub enum Search {
    /// These traces, each once.
    Ids(Vec<TraceId>),
    Matching(TraceQuery),
}

impl Search {
    /// Ids stand alone: a condition beside them is refused as unknown.
    pub fn read(parameters: &mut Parameters) -> Result<Self, Refusal> {
        let mut ids = parameters.all(&["traceID"], value::trace_id)?;
        if ids.is_empty() {
            return matching(parameters).map(Self::Matching);
        }
        hints(parameters)?;
        ids.sort();
        ids.dedup();
        match ids.len() {
            0..=value::MOST_TRACES => Ok(Self::Ids(ids)),
            many => Err(Refusal::bad(format!("traceID: {many} traces are more than {}", value::MOST_TRACES))),
        }
    }
}

/// Times beside an id. A trace is found by its id alone.
pub fn hints(parameters: &mut Parameters) -> Result<(), Refusal> {
    ["start", "end"].iter().try_for_each(|name| parameters.one(&[name], value::microseconds).map(drop))
}

fn matching(parameters: &mut Parameters) -> Result<TraceQuery, Refusal> {
    let start = parameters.one(&["start"], value::microseconds)?;
    let end = parameters.one(&["end"], value::microseconds)?;
    let mut query = TraceQuery {
        service: parameters.one(&["service"], value::text)?,
        operation: parameters.one(&["operation"], value::text)?,
        start: (start.map(nanos), end.map(last_nano)),
        duration: (
            parameters.one(&["minDuration"], value::duration)?,
            parameters.one(&["maxDuration"], value::duration)?,
        ),
        order: parameters.one(&["order"], value::order)?.unwrap_or_default(),
        limit: parameters.one(&["limit"], value::limit)?.unwrap_or(DEFAULT_LIMIT),
        ..TraceQuery::default()
    };
    ordered("start and end", query.start)?;
    ordered("minDuration and maxDuration", query.duration)?;
    look_back(parameters, start.is_some())?;
    let tags = parameters.all(&["tag"], value::pair)?;
    let maps = parameters.all(&["tags"], value::pairs)?;
    let mut conditions = tags.into_iter().chain(maps.into_iter().flatten());
    conditions.try_for_each(|tag| condition::add(&mut query, tag)).map_err(Refusal::bad)?;
    Ok(query)
}

/// Times are shown in whole microseconds, cut: a span is within the one it is shown in.
fn nanos(micros: u64) -> u64 {
    micros.saturating_mul(NANOS_PER_MICRO)
}

fn last_nano(micros: u64) -> u64 {
    nanos(micros).saturating_add(NANOS_PER_MICRO - 1)
}

fn ordered(names: &str, range: (Option<u64>, Option<u64>)) -> Result<(), Refusal> {
    match range {
        (Some(least), Some(greatest)) if least > greatest => {
            Err(Refusal::bad(format!("{names}: the first is greater than the second")))
        }
        _ => Ok(()),
    }
}

/// What Jaeger's UI keeps of its form. It sends what follows from it as `start` and `end`; without them it would have no
/// effect.
fn look_back(parameters: &mut Parameters, has_start: bool) -> Result<(), Refusal> {
    match parameters.one(&["lookback"], value::text)? {
        Some(_) if !has_start => Err(Refusal::bad("lookback: has no effect by itself, give start and end")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Order;

    fn read(query: &str) -> Result<Search, String> {
        let mut parameters = Parameters::of(&format!("/?{query}").parse().unwrap()).unwrap();
        let search = Search::read(&mut parameters).and_then(|search| parameters.end().map(|()| search));
        search.map_err(|refusal| refusal.message)
    }

    fn query(query: &str) -> TraceQuery {
        match read(query) {
            Ok(Search::Matching(query)) => query,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_condition_is_read() {
        let found = query(
            "service=a%20b&operation=GET+%2F&start=17&end=18&minDuration=1.2ms&maxDuration=1h30m&limit=1500&lookback=2d\
             &order=slowest&tag=k%3Av%3Aw&tag=error%3Atrue&tags=%7B%22span.kind%22%3A%22client%22%2C%22n%22%3A%227%22%7D",
        );
        let expected = TraceQuery {
            service: Some("a b".into()),
            operation: Some("GET /".into()),
            kind: Some(3),
            status: Some(2),
            start: (Some(17_000), Some(18_999)),
            duration: (Some(1_200_000), Some(5_400_000_000_000)),
            attributes: vec![("k".into(), "v:w".into()), ("n".into(), "7".into())],
            order: Order::SlowestFirst,
            limit: 1_500,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_form_that_is_not_filled_in_asks_for_the_newest_twenty() {
        let newest = TraceQuery { limit: 20, ..TraceQuery::default() };
        assert_eq!(query(""), newest);
        assert_eq!(query("service=&operation&minDuration=&maxDuration&tags=&limit=&order="), newest);
    }

    #[test]
    fn the_latest_times_there_are_do_not_overflow() {
        let found = query(&format!("start={0}&end={0}", u64::MAX));
        assert_eq!(found.start, (Some(u64::MAX), Some(u64::MAX)));
    }

    #[test]
    fn ids_are_each_read_once_and_stand_alone() {
        let ids = ["a", "b"].map(|id| TraceId::parse(id).unwrap());
        assert_eq!(read("traceID=b&traceID=A&traceID=0b&start=1&end=2"), Ok(Search::Ids(ids.to_vec())));
        assert!(read("traceID=a&service=s").unwrap_err().contains("\"service\" here (known: traceID, start, end)"));
        let many: String = (1..=1_501).map(|id| format!("&traceID={id:x}")).collect();
        assert!(read(&many).unwrap_err().contains("1501 traces are more than 1500"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (query, named) in [
            ("limit=0", "limit: \"0\""),
            ("limit=1501", "between 1 and 1500"),
            ("limit=1&limit=2", "limit: given more than once"),
            ("start=yesterday", "start: \"yesterday\""),
            ("start=-1", "start: \"-1\""),
            ("start=2&end=1", "start and end"),
            ("minDuration=5", "minDuration: \"5\""),
            ("maxDuration=-1s", "maxDuration: \"-1s\""),
            ("minDuration=2s&maxDuration=1s", "minDuration and maxDuration"),
            ("order=oldest", "order: \"oldest\""),
            ("lookback=1h", "lookback: "),
            ("tag=error", "tag: \"error\" is not key:value"),
            ("tags=error%3Dtrue", "tags: not a JSON object"),
            ("tags={\"a\":null}", "tags: the value of \"a\""),
            ("tag=error:false", "error=false"),
            ("traceID=xyz", "traceID: \"xyz\""),
            ("spanKind=server", "\"spanKind\""),
        ] {
            let query = query.replace('{', "%7B").replace('}', "%7D").replace('"', "%22");
            let message = read(&query).unwrap_err();
            assert!(message.contains(named), "{query}: {message}");
        }
    }
}
