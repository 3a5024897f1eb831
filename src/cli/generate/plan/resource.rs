//! Resources and scopes, as the bytes that their messages hold before scopes and spans.

use super::attributes::{put_int, put_text};
use crate::cli::generate::random::Random;
use crate::cli::generate::shop::{Part, Service};
use crate::model::wire::fields::*;
use crate::model::wire::put_bytes;

/// The schema whose words the attributes are.
pub const SCHEMA: &str = "https://opentelemetry.io/schemas/1.45.0";

/// A service's name in a copy of the shop; the first copy has the plain names.
pub fn service_name(service: &str, copy: u32) -> String {
    if copy == 0 { service.to_owned() } else { format!("{service}-{}", copy + 1) }
}

/// The resource field of a `ResourceSpans`: one pod of a service. The same in every run.
pub fn resource(service: &Service, copy: u32, pod: u32) -> Vec<u8> {
    let name = service_name(service.name, copy);
    let mut random = Random::of(xxhash_rust::xxh3::xxh3_64(name.as_bytes()), pod.into());
    let (language, version) = service.sdk.telemetry();
    let node = format!("node-{}.shop.example", 1 + random.below(24));
    let mut resource = Vec::new();
    let mut text = |key: &str, value: &str| put_text(&mut resource, RESOURCE_ATTRIBUTES, key, value);
    text("service.name", &name);
    text("service.namespace", "shop");
    text("service.version", service.version);
    text("service.instance.id", &uuid(&mut random));
    text("deployment.environment.name", "demo");
    text("host.name", &node);
    text("host.arch", "amd64");
    text("k8s.namespace.name", "shop");
    text("k8s.deployment.name", &name);
    text("k8s.pod.name", &format!("{name}-{:08x}-{:04x}", random.number() as u32, random.number() as u16));
    text("k8s.node.name", &node);
    text("telemetry.sdk.name", "opentelemetry");
    text("telemetry.sdk.language", language);
    text("telemetry.sdk.version", version);
    put_int(&mut resource, RESOURCE_ATTRIBUTES, "process.pid", 1);
    let mut field = Vec::new();
    put_bytes(&mut field, RESOURCE_SPANS_RESOURCE, &resource);
    field
}

/// A random UUID, as RFC 9562 has version 4.
fn uuid(random: &mut Random) -> String {
    let (high, low) = (random.number(), random.number());
    let (a, b, c) = (high >> 32, (high >> 16) & 0xffff, high & 0xfff);
    let (d, e) = ((low >> 48) & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
}

/// The scope field of a `ScopeSpans`.
pub fn scope(service: &Service, copy: u32, part: Part) -> Vec<u8> {
    let own = format!("shop.{}", service_name(service.name, copy));
    let (name, version) = service.sdk.scope(part).unwrap_or((&own, service.version));
    let mut scope = Vec::new();
    put_bytes(&mut scope, SCOPE_NAME, name.as_bytes());
    put_bytes(&mut scope, SCOPE_VERSION, version.as_bytes());
    let mut field = Vec::new();
    put_bytes(&mut field, SCOPE_SPANS_SCOPE, &scope);
    field
}
