//! What there is to buy: catalogue, prices, stock, carts.

use super::Sdk;
use super::words::Entry::{Rpc, Timer};
use super::words::{Database, Latency, Operation, Query, Service, Value, http, ms, on, query, send, us, work};

const PRODUCTS: Database = Database { system: "postgresql", host: "catalog-db", port: 5432, namespace: "catalog" };
const CACHE: Database = Database { system: "redis", host: "catalog-cache", port: 6379, namespace: "0" };

pub const CATALOG: Service =
    Service { name: "catalog", version: "2.7.1", sdk: Sdk::Go, instances: 4, operations: CATALOG_CALLS };

const CATALOG_CALLS: &[Operation] = &[
    on(Rpc("shop.v1.Catalog/ListProducts"), us(900), &[query(&LIST_PRODUCTS).retries(1)])
        .with(&[("shop.page.size", Value::Int(24))]),
    on(
        Rpc("shop.v1.Catalog/GetProduct"),
        us(400),
        &[query(&CACHED).optional(), query(&GET_PRODUCT).chance(0.4).retries(1)],
    )
    .with(&[("shop.product.id", Value::Text("{item}"))]),
];

const LIST_PRODUCTS: Query = Query {
    database: &PRODUCTS,
    operation: "SELECT",
    collection: "products",
    text: "SELECT id, name, price_cents, picture FROM products WHERE category = $1 AND visible ORDER BY rank LIMIT 24",
    latency: ms(5),
};

const GET_PRODUCT: Query = Query {
    database: &PRODUCTS,
    operation: "SELECT",
    collection: "products",
    text: "SELECT id, name, description, price_cents, picture, attributes FROM products WHERE id = $1",
    latency: us(1_300),
};

const CACHED: Query =
    Query { database: &CACHE, operation: "GET", collection: "", text: "GET product:?", latency: us(350) };

pub const PRICING: Service =
    Service { name: "pricing", version: "1.0.44", sdk: Sdk::Go, instances: 2, operations: PRICES };

const PRICES: &[Operation] = &[on(
    Rpc("shop.v1.Pricing/GetPrice"),
    us(300),
    &[work("apply discounts", us(200)), work("convert currency", us(60)).chance(0.3)],
)
.with(&[("shop.currency", Value::Text("EUR")), ("shop.price", Value::Amount(250.0))])];

const STOCK: Database = Database { system: "postgresql", host: "inventory-db", port: 5432, namespace: "inventory" };

pub const INVENTORY: Service =
    Service { name: "inventory", version: "5.2.0", sdk: Sdk::Java, instances: 3, operations: STOCK_CALLS };

const STOCK_CALLS: &[Operation] = &[
    on(http("GET", "/stock/{sku}", "/stock/{item}"), us(700), &[query(&READ_STOCK)]),
    on(http("POST", "/reservations", "/reservations"), ms(1), &[query(&READ_STOCK), query(&RESERVE).retries(2)])
        .with(&[("shop.order.id", Value::Text("{order}")), ("shop.stock.left", Value::Count(90))]),
    on(Timer("restock"), ms(30), &[query(&RESTOCK).times(3, 12.0, 60), send("stock-levels")])
        .with(&[("code.function.name", Value::Text("shop.inventory.Restock.run"))]),
];

const READ_STOCK: Query = Query {
    database: &STOCK,
    operation: "SELECT",
    collection: "stock",
    text: "SELECT sku, warehouse, available FROM stock WHERE sku = $1",
    latency: us(1_100),
};

const RESERVE: Query = Query {
    database: &STOCK,
    operation: "UPDATE",
    collection: "stock",
    text: "UPDATE stock SET available = available - $2, reserved = reserved + $2 WHERE sku = $1 AND available >= $2",
    latency: Latency { median: 2_600, spread: 0.9 },
};

const RESTOCK: Query = Query {
    database: &STOCK,
    operation: "INSERT",
    collection: "deliveries",
    text: "INSERT INTO deliveries (sku, warehouse, amount, expected) VALUES ($1, $2, $3, $4) ON CONFLICT (sku, warehouse) DO UPDATE SET amount = deliveries.amount + excluded.amount",
    latency: ms(4),
};

const CARTS: Database = Database { system: "redis", host: "cart-store", port: 6379, namespace: "0" };

pub const CART: Service =
    Service { name: "cart", version: "2.0.18", sdk: Sdk::Node, instances: 2, operations: CART_CALLS };

const CART_CALLS: &[Operation] = &[
    on(Rpc("shop.v1.Cart/GetCart"), us(500), &[query(&READ_CART).retries(1)])
        .with(&[("user.id", Value::Text("{user}")), ("shop.cart.items", Value::Count(12))]),
    on(Rpc("shop.v1.Cart/AddItem"), us(700), &[query(&READ_CART), query(&WRITE_CART)])
        .with(&[("user.id", Value::Text("{user}")), ("shop.product.id", Value::Text("{item}"))]),
    on(Rpc("shop.v1.Cart/EmptyCart"), us(400), &[query(&DELETE_CART)]).with(&[("user.id", Value::Text("{user}"))]),
];

const READ_CART: Query =
    Query { database: &CARTS, operation: "HGETALL", collection: "", text: "HGETALL cart:?", latency: us(450) };

const WRITE_CART: Query =
    Query { database: &CARTS, operation: "HSET", collection: "", text: "HSET cart:? ? ?", latency: us(500) };

const DELETE_CART: Query =
    Query { database: &CARTS, operation: "DEL", collection: "", text: "DEL cart:?", latency: us(400) };
