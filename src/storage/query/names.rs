//! Which services and operations there are.

use super::Traces;
use super::limits::{Limits, Stopped};
use super::matching::SpanRef;
use crate::model::{Answer, Operation};
use crate::storage::Snapshot;
use std::collections::BTreeSet;

impl Snapshot {
    /// Every service that has spans, sorted.
    pub fn services(&self, limits: Limits) -> Result<Answer<Vec<String>>, Stopped> {
        self.names(limits, |span| Some(span.service().to_owned()))
    }

    /// What the spans of a service are called, sorted.
    pub fn operations(&self, service: &str, limits: Limits) -> Result<Answer<Vec<Operation>>, Stopped> {
        let operation = |span: SpanRef<'_>| Operation { name: span.name().to_owned(), kind: span.row.kind };
        self.names(limits, |span| (span.service() == service).then(|| operation(span)))
    }

    fn names<T: Ord>(&self, limits: Limits, of: impl Fn(SpanRef<'_>) -> Option<T>) -> Result<Answer<Vec<T>>, Stopped> {
        let (mut names, mut warnings) = (BTreeSet::new(), BTreeSet::new());
        let mut traces = Traces::new(self, limits)?;
        while let Some(trace) = traces.next_trace()? {
            names.extend(trace.spans.iter().filter_map(|span| of(SpanRef::from(span))));
            warnings.extend(trace.warnings);
        }
        warnings.extend(traces.warnings);
        Ok(Answer { found: names.into_iter().collect(), warnings: warnings.into_iter().collect() })
    }
}
