//! The online shop whose traces are made: who offers what, who calls whom, how long it takes.
//!
//! Tables of constants and nothing else; `plan` looks names up and `simulate` runs them. A step names what it calls by
//! service and operation; no operation calls itself, however far around, which a test checks.
//!
//! Attributes follow the OpenTelemetry semantic conventions 1.45. A text may have holes: `{user}` and `{order}` are the same all
//! over a trace, `{item}` changes from step to step. Other braces stay as they are.

mod causes;
mod front;
mod goods;
mod orders;
mod sdk;
mod words;

pub use causes::{Cause, causes};
pub use sdk::{Part, Sdk};
pub use words::{Attribute, Database, Entry, Latency, Operation, Query, Service, Step, Value, What};

/// In the order in which `--services` takes them in.
pub const SERVICES: &[Service] = &[
    front::FRONTEND,
    goods::CATALOG,
    goods::CART,
    orders::CHECKOUT,
    orders::PAYMENT,
    orders::FULFILMENT,
    goods::INVENTORY,
    front::RECOMMENDATION,
    goods::PRICING,
    front::SEARCH,
    orders::NOTIFICATION,
    orders::SHIPPING,
];

/// How traces begin: share of all, service, operation.
pub const ROOTS: &[(u32, &str, &str)] = &[
    (300, "frontend", "GET /"),
    (330, "frontend", "GET /product/{id}"),
    (100, "frontend", "GET /search"),
    (80, "frontend", "GET /cart"),
    (70, "frontend", "POST /cart"),
    (45, "frontend", "POST /checkout"),
    (30, "frontend", "GET /orders/{id}"),
    (30, "frontend", "GET /assets/{file}"),
    (5, "inventory", "restock"),
    (10, "notification", "process shipments"),
];
