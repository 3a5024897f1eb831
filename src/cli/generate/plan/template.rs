//! What all spans of one place in the shop have in common, encoded once.

use super::attributes::Attributes;
use super::resource::service_name;
use super::varying::Varying;
use crate::cli::generate::shop::{Attribute, Database, Entry, Part, Query, Sdk, Service, Value};
use crate::model::wire::fields::*;
use crate::model::wire::{put_bytes, put_varint_field};

/// Span kinds by their OTLP numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
    Producer = 4,
    Consumer = 5,
}

/// See the module. All bytes are fields of a `Span`.
pub struct Template {
    pub service: usize,
    pub part: Part,
    /// Whether batches of other traces may link here.
    pub linked: bool,
    /// Name and kind.
    pub head: Vec<u8>,
    pub attributes: Vec<u8>,
    pub varying: Vec<Varying>,
    /// W3C flags: sampled, and whether the parent is known to be in another process.
    pub flags: u32,
}

/// Who has the span and in which copy of the shop.
#[derive(Clone, Copy)]
pub struct Owner<'a> {
    pub service: &'a Service,
    pub index: usize,
    pub copy: u32,
}

const KAFKA: &str = "kafka";
const SERVICE_PORT: i64 = 8080;
const RPC_PORT: i64 = 9090;

impl Template {
    fn new(owner: Owner<'_>, name: &str, kind: Kind, part: Part, mut attributes: Attributes) -> Self {
        if owner.service.sdk == Sdk::Java {
            attributes.add(("thread.id", Value::Count(200)));
            attributes.text("thread.name", "worker-pool-1");
        }
        let mut head = Vec::new();
        put_bytes(&mut head, SPAN_NAME, name.as_bytes());
        put_varint_field(&mut head, SPAN_KIND, kind as u64);
        let remote = matches!(kind, Kind::Server | Kind::Consumer);
        Self {
            service: owner.index,
            part,
            linked: false,
            head,
            attributes: attributes.fixed,
            varying: attributes.varying,
            flags: if remote { 0x301 } else { 0x101 },
        }
    }

    /// The span of an operation.
    pub fn entry(owner: Owner<'_>, entry: &Entry) -> Self {
        let mut of = Attributes::default();
        let (kind, part) = match *entry {
            Entry::Http { method, route, path } => {
                of.text("http.request.method", method);
                of.text("url.scheme", "http");
                of.filled("url.path", path);
                of.text("http.route", route);
                of.text("network.protocol.version", "1.1");
                of.text(
                    "user_agent.original",
                    "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
                );
                server(&mut of, &owner.name(), SERVICE_PORT);
                (Kind::Server, Part::Http)
            }
            Entry::Rpc(method) => {
                rpc(&mut of, method, &owner.name());
                (Kind::Server, Part::Rpc)
            }
            Entry::Message(topic) | Entry::Messages(topic) => {
                messaging(&mut of, topic, "process");
                of.text("messaging.consumer.group.name", &owner.name());
                (Kind::Consumer, Part::Messaging)
            }
            Entry::Timer(_) => (Kind::Internal, Part::Own),
        };
        if let Entry::Messages(_) = entry {
            of.links("messaging.batch.message_count");
        }
        Self::new(owner, &entry.name(), kind, part, of)
    }

    /// The span of who calls `entry` of the service `callee`.
    pub fn call(owner: Owner<'_>, callee: &str, entry: &Entry) -> Self {
        let host = service_name(callee, owner.copy);
        match *entry {
            Entry::Http { method, path, .. } => {
                Self::request(owner, method, &format!("http://{host}:{SERVICE_PORT}{path}"), &host, SERVICE_PORT)
            }
            _ => {
                let mut of = Attributes::default();
                rpc(&mut of, &entry.name(), &host);
                Self::new(owner, &entry.name(), Kind::Client, Part::Rpc, of)
            }
        }
    }

    /// The span of an HTTP request to anywhere. The URL may have holes.
    pub fn request(owner: Owner<'_>, method: &str, url: &str, host: &str, port: i64) -> Self {
        let mut of = Attributes::default();
        of.text("http.request.method", method);
        of.filled("url.full", url);
        of.text("network.protocol.version", "1.1");
        server(&mut of, host, port);
        Self::new(owner, method, Kind::Client, Part::Http, of)
    }

    pub fn query(owner: Owner<'_>, query: &Query) -> Self {
        let Query { database: Database { system, host, port, namespace }, operation, collection, text, .. } = *query;
        let summary = format!("{operation} {collection}");
        let mut of = Attributes::default();
        of.text("db.system.name", system);
        of.text("db.namespace", namespace);
        of.text("db.operation.name", operation);
        if !collection.is_empty() {
            of.text("db.collection.name", collection);
        }
        of.text("db.query.summary", summary.trim_end());
        of.text("db.query.text", text);
        server(&mut of, host, *port);
        Self::new(owner, summary.trim_end(), Kind::Client, Part::Database, of)
    }

    pub fn producer(owner: Owner<'_>, topic: &str, linked: bool) -> Self {
        let mut of = Attributes::default();
        messaging(&mut of, topic, "send");
        of.text("messaging.client.id", &format!("{}-producer-1", owner.name()));
        Self { linked, ..Self::new(owner, &format!("send {topic}"), Kind::Producer, Part::Messaging, of) }
    }

    pub fn work(owner: Owner<'_>, name: &str) -> Self {
        Self::new(owner, name, Kind::Internal, Part::Own, Attributes::default())
    }

    /// The template with what the shop's tables say beside the conventions.
    pub fn with(mut self, attributes: &[Attribute]) -> Self {
        let mut more = Attributes::default();
        attributes.iter().for_each(|attribute| more.add(*attribute));
        self.attributes.extend(more.fixed);
        self.varying.extend(more.varying);
        self
    }
}

impl Owner<'_> {
    pub fn name(&self) -> String {
        service_name(self.service.name, self.copy)
    }
}

fn server(of: &mut Attributes, host: &str, port: i64) {
    of.text("server.address", host);
    of.int("server.port", port);
    let address = host.bytes().fold(7_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    of.text("network.peer.address", &format!("10.64.3.{address}"));
    of.int("network.peer.port", port);
}

fn rpc(of: &mut Attributes, method: &str, host: &str) {
    of.text("rpc.system.name", "grpc");
    of.text("rpc.method", method);
    server(of, host, RPC_PORT);
}

fn messaging(of: &mut Attributes, topic: &str, operation: &str) {
    of.text("messaging.system", KAFKA);
    of.text("messaging.destination.name", topic);
    of.text("messaging.operation.name", operation);
    of.text("messaging.operation.type", operation);
    server(of, "kafka-bootstrap", 9092);
}
