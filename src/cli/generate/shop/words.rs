//! The words that the tables of the shop are written in.

use super::Sdk;

pub struct Service {
    pub name: &'static str,
    pub version: &'static str,
    pub sdk: Sdk,
    /// Pods, each with a resource and an exporter of its own.
    pub instances: u32,
    pub operations: &'static [Operation],
}

/// What a service does when it is asked to.
#[derive(Clone, Copy)]
pub struct Operation {
    pub entry: Entry,
    /// Its own work, spread between its steps.
    pub work: Latency,
    pub attributes: &'static [Attribute],
    pub steps: &'static [Step],
}

/// What sets an operation off.
#[derive(Clone, Copy)]
pub enum Entry {
    Http {
        method: &'static str,
        route: &'static str,
        /// The route with holes where it has parameters.
        path: &'static str,
    },
    /// `package.Service/Method`, over gRPC.
    Rpc(&'static str),
    /// A message on this topic, one at a time.
    Message(&'static str),
    /// Messages that other traces sent to this topic, many at a time; the span links to their producers.
    Messages(&'static str),
    /// A clock.
    Timer(&'static str),
}

#[derive(Clone, Copy)]
pub struct Step {
    pub what: What,
    pub chance: f64,
    /// How often: at least, more on average, at most.
    pub least: u32,
    pub more: f64,
    pub most: u32,
    /// All of them at once.
    pub together: bool,
    /// How often a failed one is tried again.
    pub retries: u32,
    /// The operation goes on without it.
    pub optional: bool,
}

#[derive(Clone, Copy)]
pub enum What {
    Work(&'static str, Latency, &'static [Attribute]),
    Query(&'static Query),
    /// Service and operation, by the names that they have in the tables.
    Call(&'static str, &'static str),
    /// A call to a host that sends no spans: method, address, path.
    Outside(&'static str, &'static str, &'static str, Latency),
    /// A message to every operation that waits for this topic.
    Send(&'static str),
}

pub struct Database {
    pub system: &'static str,
    pub host: &'static str,
    pub port: i64,
    pub namespace: &'static str,
}

pub struct Query {
    pub database: &'static Database,
    pub operation: &'static str,
    /// Empty where the database has none.
    pub collection: &'static str,
    pub text: &'static str,
    pub latency: Latency,
}

/// Log-normal.
#[derive(Clone, Copy)]
pub struct Latency {
    /// Microseconds.
    pub median: u32,
    /// Deviation of the logarithm.
    pub spread: f64,
}

pub type Attribute = (&'static str, Value);

#[derive(Clone, Copy)]
pub enum Value {
    Text(&'static str),
    Int(i64),
    /// 1 up to this.
    Count(u32),
    /// 0 up to this.
    Amount(f64),
    /// True with this chance.
    Flag(f64),
}

pub const fn us(median: u32) -> Latency {
    Latency { median, spread: 0.45 }
}

pub const fn ms(median: u32) -> Latency {
    us(median * 1_000)
}

pub const fn on(entry: Entry, work: Latency, steps: &'static [Step]) -> Operation {
    Operation { entry, work, attributes: &[], steps }
}

pub const fn http(method: &'static str, route: &'static str, path: &'static str) -> Entry {
    Entry::Http { method, route, path }
}

impl Operation {
    pub const fn with(mut self, attributes: &'static [Attribute]) -> Self {
        self.attributes = attributes;
        self
    }
}

pub const fn step(what: What) -> Step {
    Step { what, chance: 1.0, least: 1, more: 0.0, most: 1, together: false, retries: 0, optional: false }
}

pub const fn work(name: &'static str, latency: Latency) -> Step {
    step(What::Work(name, latency, &[]))
}

pub const fn query(query: &'static Query) -> Step {
    step(What::Query(query))
}

pub const fn call(service: &'static str, operation: &'static str) -> Step {
    step(What::Call(service, operation))
}

pub const fn send(topic: &'static str) -> Step {
    step(What::Send(topic))
}

impl Step {
    pub const fn chance(mut self, chance: f64) -> Self {
        self.chance = chance;
        self
    }

    pub const fn times(mut self, least: u32, more: f64, most: u32) -> Self {
        (self.least, self.more, self.most) = (least, more, most);
        self
    }

    pub const fn together(mut self) -> Self {
        self.together = true;
        self
    }

    pub const fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

impl Entry {
    /// The name by which steps and roots call it, and that of its span.
    pub fn name(&self) -> String {
        match self {
            Self::Http { method, route, .. } => format!("{method} {route}"),
            Self::Rpc(name) | Self::Timer(name) => (*name).to_owned(),
            Self::Message(topic) | Self::Messages(topic) => format!("process {topic}"),
        }
    }
}
