//! What happens to an order: checkout, payment, fulfilment, shipping, mail.

use super::Sdk;
use super::words::Entry::{Message, Messages, Rpc};
use super::words::{Database, Latency, Operation, Query, Service, Value, What};
use super::words::{call, http, ms, on, query, send, step, us, work};

const ORDERS: Database = Database { system: "postgresql", host: "orders-db", port: 5432, namespace: "orders" };

pub const CHECKOUT: Service =
    Service { name: "checkout", version: "4.1.2", sdk: Sdk::Go, instances: 3, operations: CHECKOUT_CALLS };

const CHECKOUT_CALLS: &[Operation] = &[
    on(
        Rpc("shop.v1.Checkout/PlaceOrder"),
        ms(4),
        &[
            call("cart", "shop.v1.Cart/GetCart").retries(1),
            call("catalog", "shop.v1.Catalog/GetProduct").times(1, 4.0, 30).together(),
            call("pricing", "shop.v1.Pricing/GetPrice").times(1, 4.0, 30).together(),
            call("shipping", "POST /quotes").retries(1),
            call("inventory", "POST /reservations").times(1, 4.0, 30),
            call("payment", "shop.v1.Payment/Charge"),
            query(&INSERT_ORDER).retries(1),
            call("cart", "shop.v1.Cart/EmptyCart").optional(),
            send("orders"),
        ],
    )
    .with(&[
        ("user.id", Value::Text("{user}")),
        ("shop.order.id", Value::Text("{order}")),
        ("shop.order.total", Value::Amount(900.0)),
        ("shop.order.gift", Value::Flag(0.08)),
    ]),
    on(Rpc("shop.v1.Checkout/GetOrder"), us(600), &[query(&SELECT_ORDER)])
        .with(&[("shop.order.id", Value::Text("{order}"))]),
];

const INSERT_ORDER: Query = Query {
    database: &ORDERS,
    operation: "INSERT",
    collection: "orders",
    text: "INSERT INTO orders (id, user_id, total_cents, currency, address_id, placed) VALUES ($1, $2, $3, $4, $5, now())",
    latency: ms(3),
};

const SELECT_ORDER: Query = Query {
    database: &ORDERS,
    operation: "SELECT",
    collection: "orders",
    text: "SELECT o.*, l.sku, l.quantity FROM orders o JOIN order_lines l ON l.order_id = o.id WHERE o.id = $1",
    latency: ms(2),
};

pub const PAYMENT: Service =
    Service { name: "payment", version: "7.0.5", sdk: Sdk::Java, instances: 2, operations: PAYMENTS };

const PAYMENTS: &[Operation] = &[on(
    Rpc("shop.v1.Payment/Charge"),
    ms(3),
    &[
        work("check fraud", Latency { median: 12_000, spread: 0.7 }),
        step(What::Outside("POST", "api.bank.example", "/v2/charges", Latency { median: 140_000, spread: 0.6 }))
            .retries(2),
        query(&INSERT_CHARGE),
    ],
)
.with(&[("shop.order.id", Value::Text("{order}")), ("shop.payment.method", Value::Text("card"))])];

const LEDGER: Database = Database { system: "mysql", host: "payment-db", port: 3306, namespace: "ledger" };

const INSERT_CHARGE: Query = Query {
    database: &LEDGER,
    operation: "INSERT",
    collection: "charges",
    text: "INSERT INTO charges (order_id, provider, amount, currency, state) VALUES (?, ?, ?, ?, ?)",
    latency: ms(2),
};

pub const FULFILMENT: Service =
    Service { name: "fulfilment", version: "1.22.0", sdk: Sdk::Java, instances: 2, operations: FULFILMENTS };

const FULFILMENTS: &[Operation] = &[on(
    Message("orders"),
    ms(6),
    &[
        query(&CLAIM),
        work("pick route", ms(5)),
        call("shipping", "POST /parcels").retries(2),
        send("shipments").chance(0.9),
    ],
)
.with(&[("shop.order.id", Value::Text("{order}"))])];

const CLAIM: Query = Query {
    database: &ORDERS,
    operation: "UPDATE",
    collection: "orders",
    text: "UPDATE orders SET state = 'packing', claimed_by = $2 WHERE id = $1 AND state = 'placed'",
    latency: ms(3),
};

pub const SHIPPING: Service =
    Service { name: "shipping", version: "0.9.8", sdk: Sdk::Python, instances: 2, operations: SHIPMENTS };

const SHIPMENTS: &[Operation] = &[
    on(http("POST", "/quotes", "/quotes"), ms(2), &[work("compute quote", ms(1))]),
    on(
        http("POST", "/parcels", "/parcels"),
        ms(2),
        &[
            step(What::Outside("POST", "labels.carrier.example", "/labels", Latency { median: 90_000, spread: 0.8 }))
                .retries(1),
            query(&INSERT_PARCEL),
        ],
    )
    .with(&[("shop.order.id", Value::Text("{order}")), ("shop.parcel.weight", Value::Amount(30.0))]),
    on(http("GET", "/parcels/{id}", "/parcels/{order}"), ms(1), &[query(&SELECT_PARCEL)]),
];

const PARCELS: Database = Database { system: "mongodb", host: "shipping-db", port: 27017, namespace: "shipping" };

const INSERT_PARCEL: Query = Query {
    database: &PARCELS,
    operation: "insert",
    collection: "parcels",
    text: r#"{"insert":"parcels","documents":[{"order":"?","carrier":"?","weight":"?"}]}"#,
    latency: ms(3),
};

const SELECT_PARCEL: Query = Query {
    database: &PARCELS,
    operation: "find",
    collection: "parcels",
    text: r#"{"find":"parcels","filter":{"order":"?"},"limit":1}"#,
    latency: ms(2),
};

pub const NOTIFICATION: Service =
    Service { name: "notification", version: "1.4.0", sdk: Sdk::Python, instances: 1, operations: MAILS };

const MAIL: What = What::Outside("POST", "mail.provider.example", "/send", Latency { median: 60_000, spread: 0.9 });

const MAILS: &[Operation] = &[
    on(Message("orders"), ms(3), &[work("render mail", ms(8)), step(MAIL).retries(2)])
        .with(&[("shop.order.id", Value::Text("{order}"))]),
    on(
        Messages("shipments"),
        ms(4),
        &[work("render mail", ms(8)).times(1, 4.0, 16), step(MAIL).times(1, 4.0, 16).together()],
    ),
];
