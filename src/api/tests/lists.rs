//! Services and their operations, in both APIs.

use super::{Fake, get, refusal};
use crate::model::Operation;
use std::sync::Arc;

fn operation(name: &str, kind: i32) -> Operation {
    Operation { name: name.into(), kind }
}

fn reader() -> Arc<Fake> {
    let operations = vec![
        operation("", 0),
        operation("GET /", 0),
        operation("GET /", 1),
        operation("GET /", 2),
        operation("pay", 99),
    ];
    Arc::new(Fake { services: vec!["".into(), "cart".into(), "shop".into()], operations, ..Fake::default() })
}

fn enveloped(data: &str, total: usize) -> String {
    format!(r#"{{"data":{data},"total":{total},"limit":0,"offset":0,"errors":null}}"#)
}

#[tokio::test]
async fn services_are_listed_and_the_list_is_never_null() {
    for (path, some, none) in [
        ("/api/services", enveloped(r#"["","cart","shop"]"#, 3), enveloped("[]", 0)),
        ("/api/v3/services", r#"{"services":["","cart","shop"]}"#.to_owned(), r#"{"services":[]}"#.to_owned()),
    ] {
        assert_eq!(get(&reader(), path).await.body, some);
        assert_eq!(get(&Arc::new(Fake::default()), path).await.body, none);
    }
}

#[tokio::test]
async fn names_of_operations_are_listed_once_each_for_an_escaped_service() {
    let expected = enveloped(r#"["","GET /","pay"]"#, 3);
    assert_eq!(get(&reader(), "/api/services/a%2Fb%20%C3%BC/operations").await.body, expected);
    assert_eq!(get(&reader(), "/api/services/other/operations").await.body, enveloped("[]", 0));
}

#[tokio::test]
async fn operations_are_listed_with_their_kind() {
    let all = r#"[{"name":"","spanKind":""},{"name":"GET /","spanKind":""},{"name":"GET /","spanKind":"internal"},{"name":"GET /","spanKind":"server"},{"name":"pay","spanKind":"99"}]"#;
    let of_service = |more: &str| format!("/api/operations?service=a%2Fb+%C3%BC{more}");
    assert_eq!(get(&reader(), &of_service("")).await.body, enveloped(all, 5));
    let server = enveloped(r#"[{"name":"GET /","spanKind":"server"}]"#, 1);
    assert_eq!(get(&reader(), &of_service("&spanKind=server")).await.body, server);
    let unspecified = enveloped(r#"[{"name":"","spanKind":""},{"name":"GET /","spanKind":""}]"#, 2);
    assert_eq!(get(&reader(), &of_service("&spanKind=unspecified")).await.body, unspecified);
    assert_eq!(get(&reader(), &of_service("&spanKind=producer")).await.body, enveloped("[]", 0));
}

#[tokio::test]
async fn in_v3_a_kind_that_was_not_said_is_internal() {
    let all = r#"{"operations":[{"name":"","spanKind":"internal"},{"name":"GET /","spanKind":"internal"},{"name":"GET /","spanKind":"server"},{"name":"pay","spanKind":"99"}]}"#;
    let of_service = |more: &str| format!("/api/v3/operations?service=a%2Fb%20%C3%BC{more}");
    assert_eq!(get(&reader(), &of_service("")).await.body, all);
    let internal = r#"{"operations":[{"name":"","spanKind":"internal"},{"name":"GET /","spanKind":"internal"}]}"#;
    for name in ["spanKind", "span_kind"] {
        assert_eq!(get(&reader(), &of_service(&format!("&{name}=internal"))).await.body, internal);
    }
    assert_eq!(get(&reader(), "/api/v3/operations?service=other").await.body, r#"{"operations":[]}"#);
}

#[tokio::test]
async fn operations_need_a_service_and_a_kind_that_there_is() {
    for path in ["/api/operations", "/api/v3/operations"] {
        for query in ["", "?service="] {
            let asked = format!("{path}{query}");
            assert_eq!(get(&reader(), &asked).await, refusal(path, 400, "service: is needed"), "{asked}");
        }
        let got = get(&reader(), &format!("{path}?service=a&spanKind=sever")).await;
        assert!(got.status == 400 && got.body.contains("spanKind: \\\"sever\\\" is no span kind"), "{got:?}");
    }
}

#[tokio::test]
async fn a_partial_list_says_so_in_a_header() {
    let warnings = vec!["segments/3: damaged at byte 9: checksum".into(), "segments/4: gone".into()];
    let reader = Arc::new(Fake { services: vec!["shop".into()], warnings, ..Fake::default() });
    for path in super::ROUTES.into_iter().filter(|path| path.contains("services") || path.contains("operations")) {
        let got = get(&reader, path).await;
        assert_eq!((got.status, got.body.contains("damaged")), (200, false), "{path}: {got:?}");
        let expected = "segments/3: damaged at byte 9: checksum (and 1 more)";
        assert_eq!(got.warning.as_deref(), Some(expected), "{path}");
    }
    assert_eq!(get(&Arc::new(Fake::default()), "/api/services").await.warning, None);
}
