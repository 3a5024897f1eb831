//! What a search asks for. The names are camelCase; the snake_case ones are what older viewers send.

use crate::api::answer::Refusal;
use crate::api::parameters::Parameters;
use crate::api::{condition, value};
use crate::model::TraceQuery;

const DEFAULT_LIMIT: usize = 100;

/// Both ends of the time are needed.
pub fn read(parameters: &mut Parameters) -> Result<TraceQuery, Refusal> {
    let text = value::text;
    let attributes = parameters.one(&["query.attributes"], value::pairs)?.unwrap_or_default();
    let mut query = TraceQuery {
        service: parameters.one(&["query.serviceName", "query.service_name"], text)?,
        operation: parameters.one(&["query.operationName", "query.operation_name"], text)?,
        start: times(parameters)?,
        duration: durations(parameters)?,
        limit: limit(parameters)?,
        order: parameters.one(&["order"], value::order)?.unwrap_or_default(),
        ..TraceQuery::default()
    };
    raw(parameters, &["query.rawTraces", "query.raw_traces"])?;
    let refused = |why| Refusal::bad(format!("query.attributes: {why}"));
    attributes.into_iter().try_for_each(|tag| condition::add(&mut query, tag)).map_err(refused)?;
    Ok(query)
}

/// Beside the id of one trace, which is found by its id alone.
pub fn hints(parameters: &mut Parameters) -> Result<(), Refusal> {
    parameters.one(&["startTime", "start_time"], value::instant)?;
    parameters.one(&["endTime", "end_time"], value::instant)?;
    raw(parameters, &["rawTraces", "raw_traces"])
}

/// Either value is obeyed: nothing is ever adjusted.
fn raw(parameters: &mut Parameters, names: &[&'static str]) -> Result<(), Refusal> {
    parameters.one(names, value::boolean).map(drop)
}

fn times(parameters: &mut Parameters) -> Result<(Option<u64>, Option<u64>), Refusal> {
    let least = parameters.one(&["query.startTimeMin", "query.start_time_min"], value::instant)?;
    let greatest = parameters.one(&["query.startTimeMax", "query.start_time_max"], value::instant)?;
    match (least, greatest) {
        (Some(least), Some(greatest)) if least < greatest => Ok((Some(least), Some(greatest))),
        (Some(_), Some(_)) => Err(Refusal::bad("query.startTimeMin must be before query.startTimeMax")),
        _ => Err(Refusal::bad("query.startTimeMin and query.startTimeMax are needed")),
    }
}

fn durations(parameters: &mut Parameters) -> Result<(Option<u64>, Option<u64>), Refusal> {
    let least = parameters.one(&["query.durationMin", "query.duration_min"], value::duration)?;
    let greatest = parameters.one(&["query.durationMax", "query.duration_max"], value::duration)?;
    match (least, greatest) {
        (Some(least), Some(greatest)) if least > greatest => {
            Err(Refusal::bad("query.durationMin must not be greater than query.durationMax"))
        }
        range => Ok(range),
    }
}

fn limit(parameters: &mut Parameters) -> Result<usize, Refusal> {
    let names = ["query.searchDepth", "query.search_depth", "query.num_traces"];
    Ok(parameters.one(&names, value::limit)?.unwrap_or(DEFAULT_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Order;
    use crate::model::time::parse_rfc3339;

    fn read_all(query: &str) -> Result<TraceQuery, String> {
        let mut parameters = Parameters::of(&format!("/?{query}").parse().unwrap()).unwrap();
        let read = read(&mut parameters).and_then(|query| parameters.end().map(|()| query));
        read.map_err(|refusal| refusal.message)
    }

    const TIMES: &str = "query.startTimeMin=2026-01-01T00:00:00Z&query.startTimeMax=2026-01-02T00:00:00Z";

    fn expected() -> TraceQuery {
        TraceQuery {
            service: Some("a b".into()),
            operation: Some("GET /".into()),
            kind: None,
            status: Some(2),
            start: (parse_rfc3339("2026-01-01T00:00:00Z"), parse_rfc3339("2026-01-02T00:00:00.5Z")),
            duration: (Some(1_200_000), Some(10_000_000_000)),
            attributes: vec![("k".into(), "v".into())],
            order: Order::NewestFirst,
            limit: 7,
        }
    }

    #[test]
    fn both_spellings_ask_for_the_same() {
        let new = "query.serviceName=a+b&query.operationName=GET%20/&query.startTimeMin=2026-01-01T00:00:00Z\
                   &query.startTimeMax=2026-01-02T00:00:00.5Z&query.durationMin=1.2ms&query.durationMax=10s\
                   &query.searchDepth=7&query.rawTraces=true&query.attributes=%7B%22k%22:%22v%22,%22error%22:%22true%22%7D";
        // With an offset whose plus is not escaped, as Grafana sends it.
        let old = "query.service_name=a+b&query.operation_name=GET%20/&query.start_time_min=2026-01-01T02:00:00+02:00\
                   &query.start_time_max=2026-01-01T22:00:00.5-02:00&query.duration_min=1.2ms&query.duration_max=10s\
                   &query.search_depth=7&query.raw_traces=0&query.attributes=%7B%22k%22:%22v%22,%22error%22:true%7D";
        assert_eq!(read_all(new), Ok(expected()));
        assert_eq!(read_all(old), Ok(expected()));
        assert_eq!(read_all(&old.replace("search_depth", "num_traces")), Ok(expected()));
    }

    #[test]
    fn a_time_is_enough_and_asks_for_the_newest_hundred() {
        let query = read_all(TIMES).unwrap();
        assert_eq!(query, TraceQuery { start: query.start, limit: 100, ..TraceQuery::default() });
        assert_eq!(read_all(&format!("{TIMES}&order=slowest")).unwrap().order, Order::SlowestFirst);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let times = |least, greatest| format!("query.startTimeMin={least}&query.start_time_max={greatest}");
        let later = |more: &str| format!("{TIMES}&{more}");
        for (query, named) in [
            (String::new(), "query.startTimeMin and query.startTimeMax are needed"),
            ("query.startTimeMin=2026-01-01T00:00:00Z".into(), "are needed"),
            (times("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), "before"),
            (times("1700000000", "2026-01-01T00:00:00Z"), "query.startTimeMin: \"1700000000\""),
            (times("2026-01-01T00:00:00Z", "later"), "query.start_time_max: \"later\""),
            (later("query.durationMin=2s&query.durationMax=1s"), "query.durationMin"),
            (later("query.durationMin=2"), "query.durationMin: \"2\""),
            (later("query.searchDepth=0"), "query.searchDepth: \"0\""),
            (later("query.num_traces=2000"), "query.num_traces: \"2000\""),
            (later("query.search_depth=1&query.searchDepth=1"), "given more than once"),
            (later("query.rawTraces=maybe"), "query.rawTraces: \"maybe\""),
            (later("query.attributes=k%3Dv"), "query.attributes: not a JSON object"),
            (later("query.attributes=%7B%22error%22:%22false%22%7D"), "query.attributes: error=false"),
            (later("query.filter=%7B%7D"), "\"query.filter\""),
            (later("service=a"), "\"service\""),
        ] {
            let message = read_all(&query).unwrap_err();
            assert!(message.contains(named), "{query}: {message}");
        }
    }
}
