//! What customers meet: pages, search, recommendations.

use super::Sdk;
use super::words::Entry::Rpc;
use super::words::{Database, Latency, Operation, Query, Service, Value, call, http, ms, on, query, us, work};

pub const FRONTEND: Service =
    Service { name: "frontend", version: "3.12.0", sdk: Sdk::Node, instances: 4, operations: PAGES };

const PAGES: &[Operation] = &[
    on(
        http("GET", "/", "/"),
        ms(3),
        &[
            call("catalog", "shop.v1.Catalog/ListProducts").retries(1),
            call("recommendation", "shop.v1.Recommendation/ListFor").chance(0.6).optional(),
            call("cart", "shop.v1.Cart/GetCart").chance(0.5).optional(),
            work("render home", ms(4)),
        ],
    )
    .with(&[("user.id", Value::Text("{user}"))]),
    on(
        http("GET", "/product/{id}", "/product/{item}"),
        ms(2),
        &[
            call("catalog", "shop.v1.Catalog/GetProduct").retries(1),
            call("pricing", "shop.v1.Pricing/GetPrice"),
            call("inventory", "GET /stock/{sku}").chance(0.7).optional(),
            call("recommendation", "shop.v1.Recommendation/ListFor").chance(0.5).optional(),
            work("render product", ms(3)),
        ],
    )
    .with(&[("user.id", Value::Text("{user}")), ("shop.product.id", Value::Text("{item}"))]),
    on(
        http("GET", "/search", "/search"),
        ms(2),
        &[call("search", "GET /v1/query").retries(1), work("render results", ms(4))],
    )
    .with(&[("url.query", Value::Text("q=%7B{item}%7D&page=1")), ("user.id", Value::Text("{user}"))]),
    on(http("GET", "/cart", "/cart"), ms(2), &[call("cart", "shop.v1.Cart/GetCart").retries(1)])
        .with(&[("user.id", Value::Text("{user}"))]),
    on(
        http("POST", "/cart", "/cart"),
        ms(2),
        &[call("catalog", "shop.v1.Catalog/GetProduct"), call("cart", "shop.v1.Cart/AddItem").retries(1)],
    )
    .with(&[("user.id", Value::Text("{user}")), ("shop.cart.quantity", Value::Count(5))]),
    on(
        http("POST", "/checkout", "/checkout"),
        ms(5),
        &[call("checkout", "shop.v1.Checkout/PlaceOrder"), work("render receipt", ms(3))],
    )
    .with(&[("user.id", Value::Text("{user}")), ("shop.cart.items", Value::Count(12))]),
    on(
        http("GET", "/orders/{id}", "/orders/{order}"),
        ms(2),
        &[call("checkout", "shop.v1.Checkout/GetOrder"), call("shipping", "GET /parcels/{id}").optional()],
    )
    .with(&[("user.id", Value::Text("{user}")), ("shop.order.id", Value::Text("{order}"))]),
    on(http("GET", "/assets/{file}", "/assets/{item}.webp"), us(300), &[work("read file", us(250))]),
];

pub const SEARCH: Service =
    Service { name: "search", version: "1.9.3", sdk: Sdk::Java, instances: 2, operations: SEARCHES };

const SEARCHES: &[Operation] = &[on(
    http("GET", "/v1/query", "/v1/query"),
    ms(3),
    &[work("parse query", us(400)), query(&FIND), work("rank", Latency { median: 2_500, spread: 0.8 })],
)
.with(&[("shop.search.results", Value::Count(240)), ("shop.search.cached", Value::Flag(0.2))])];

const INDEX: Database = Database { system: "elasticsearch", host: "search-index", port: 9200, namespace: "shop" };

const FIND: Query = Query {
    database: &INDEX,
    operation: "search",
    collection: "products",
    text: r#"{"query":{"multi_match":{"query":"?","fields":["name^3","description","brand"]}},"size":24}"#,
    latency: Latency { median: 14_000, spread: 0.8 },
};

pub const RECOMMENDATION: Service =
    Service { name: "recommendation", version: "0.31.0", sdk: Sdk::Python, instances: 2, operations: LISTS };

const LISTS: &[Operation] = &[on(
    Rpc("shop.v1.Recommendation/ListFor"),
    ms(2),
    &[
        work("score candidates", Latency { median: 9_000, spread: 0.7 }),
        call("catalog", "shop.v1.Catalog/GetProduct").times(2, 2.0, 8).together().optional(),
    ],
)
.with(&[("shop.recommendation.model", Value::Text("als-2")), ("shop.recommendation.score", Value::Amount(1.0))])];
