//! Spans as OTLP bytes.

use super::plan::{Endings, Facts, Plan, Scratch, Template};
use super::random::Random;
use super::shop::Part;
use super::simulate::{Links, Outcome, Span, Trace};
use crate::model::wire::fields::*;
use crate::model::wire::{put_bytes, put_fixed32, put_fixed64};
use crate::model::{SpanId, TraceId};
use std::collections::VecDeque;

/// Producers whose messages no batch was made of yet, at most, a copy of the shop; older ones are forgotten.
const MOST_WAITING: usize = 64;

/// Gives spans their ids and times and writes them.
pub struct Encoder {
    ids: Random,
    /// Of each copy of the shop.
    unread: Vec<VecDeque<(TraceId, SpanId)>>,
    span: Vec<u8>,
    event: Vec<u8>,
    scratch: Scratch,
}

/// A trace with what it does not have from the seed.
pub struct Dated<'a> {
    pub trace: &'a Trace,
    pub id: TraceId,
    span_ids: Vec<SpanId>,
    /// When it begins, nanoseconds since 1970.
    begin: u64,
}

impl Encoder {
    /// For a plan with so many copies of the shop.
    pub fn new(ids: Random, copies: usize) -> Self {
        let unread = (0..copies).map(|_| VecDeque::new()).collect();
        Self { ids, unread, span: Vec::new(), event: Vec::new(), scratch: Scratch::default() }
    }

    pub fn date<'a>(&mut self, trace: &'a Trace, begin: u64) -> Dated<'a> {
        let id = TraceId((u128::from(self.id()) << 64 | u128::from(self.id())).to_be_bytes());
        let span_ids = trace.spans.iter().map(|_| SpanId(self.id().to_be_bytes())).collect();
        Dated { trace, id, span_ids, begin }
    }

    /// Never zero.
    fn id(&mut self) -> u64 {
        match self.ids.number() {
            0 => self.ids.number(),
            id => id,
        }
    }

    /// The `Span` message of span `index`. To be called once, and in order: links take up what was sent before.
    pub fn span(&mut self, plan: &Plan, of: &Dated<'_>, index: usize) -> &[u8] {
        self.span.clear();
        if let Some(span) = of.trace.spans.get(index)
            && let Some(template) = plan.templates.get(span.template)
            && let Some(endings) = plan.endings.get(template.part as usize)
        {
            let links = self.links(span, of);
            self.put_keys(span, template, of, index);
            self.put_attributes(span, template, of, links.len() as u32);
            self.put_outcome(span, endings, of, &links);
            put_fixed32(&mut self.span, SPAN_FLAGS, template.flags);
            self.remember(template, of, index);
        }
        &self.span
    }

    fn put_keys(&mut self, span: &Span, template: &Template, of: &Dated<'_>, index: usize) {
        let out = &mut self.span;
        put_bytes(out, SPAN_TRACE_ID, &of.id.0);
        put_bytes(out, SPAN_SPAN_ID, &of.span_id(index).0);
        if let Some(parent) = span.parent {
            put_bytes(out, SPAN_PARENT, &of.span_id(parent).0);
        }
        out.extend_from_slice(&template.head);
        put_fixed64(out, SPAN_START, of.at(span.start));
        put_fixed64(out, SPAN_END, of.at(span.end));
    }

    fn put_attributes(&mut self, span: &Span, template: &Template, of: &Dated<'_>, links: u32) {
        let Self { span: out, scratch, .. } = self;
        out.extend_from_slice(&template.attributes);
        let facts = Facts { user: of.trace.user, order: of.trace.order, item: span.item, links };
        let mut random = Random::new(span.item.into());
        template.varying.iter().for_each(|varying| varying.put(out, facts, &mut random, scratch));
        if span.resent > 0 && template.part == Part::Http {
            super::plan::put_int(out, SPAN_ATTRIBUTES, "http.request.resend_count", span.resent.into());
        }
    }

    fn put_outcome(&mut self, span: &Span, endings: &Endings, of: &Dated<'_>, links: &[(TraceId, SpanId)]) {
        let Outcome::Failed { cause, own } = span.outcome else {
            self.span.extend_from_slice(&endings.good);
            return links.iter().for_each(|link| put_link(&mut self.span, *link));
        };
        let Some(failure) = endings.bad.get(cause) else { return };
        self.span.extend_from_slice(&failure.attributes);
        if own {
            self.event.clear();
            put_fixed64(&mut self.event, EVENT_TIME, of.at(span.end));
            self.event.extend_from_slice(&failure.exception);
            put_bytes(&mut self.span, SPAN_EVENTS, &self.event);
        }
        links.iter().for_each(|link| put_link(&mut self.span, *link));
        self.span.extend_from_slice(if own { &failure.thrown } else { &failure.passed_on });
    }

    fn links(&mut self, span: &Span, of: &Dated<'_>) -> Vec<(TraceId, SpanId)> {
        match span.links {
            Links::None => Vec::new(),
            Links::Parent => span.parent.map(|parent| (of.id, of.span_id(parent))).into_iter().collect(),
            Links::Others(most) => {
                let Some(unread) = self.unread.get_mut(of.trace.copy) else { return Vec::new() };
                let count = unread.len().min(most as usize);
                unread.drain(..count).collect()
            }
        }
    }

    fn remember(&mut self, template: &Template, of: &Dated<'_>, index: usize) {
        if !template.linked {
            return;
        }
        if let Some(unread) = self.unread.get_mut(of.trace.copy) {
            unread.push_back((of.id, of.span_id(index)));
            if unread.len() > MOST_WAITING {
                unread.pop_front();
            }
        }
    }
}

impl Dated<'_> {
    fn span_id(&self, index: usize) -> SpanId {
        self.span_ids.get(index).copied().unwrap_or_default()
    }

    fn at(&self, offset: u64) -> u64 {
        self.begin.saturating_add(offset)
    }
}

fn put_link(span: &mut Vec<u8>, (trace_id, span_id): (TraceId, SpanId)) {
    let mut link = Vec::new();
    put_bytes(&mut link, LINK_TRACE_ID, &trace_id.0);
    put_bytes(&mut link, LINK_SPAN_ID, &span_id.0);
    put_bytes(span, SPAN_LINKS, &link);
}
