//! Redirects on the wire. Which ones are followed is tested where that is decided.

use farquet_core::fetch::{Fetch, FetchErrorKind};
use farquet_native::NativeFetch;
use http::{Method, header};

use crate::origin::{After, Origin, Reply};
use crate::{body_of, builder, client, failure_of, get, kind_of, request};

#[tokio::test]
async fn each_kind_of_redirect_leads_to_the_last_answer() {
    let origin = Origin::start(|path| match path {
        "/0" => Reply::redirect(301, "/1"),
        "/1" => Reply::redirect(302, "2"),
        "/2" => Reply::redirect(303, "/3?x"),
        "/3?x" => Reply::redirect(307, "//127.0.0.1:PORT/never"),
        "/4" => Reply::redirect(308, "/a%2Fb%20c?sig=%2F%3D&t=1"),
        _ => Reply::ok("here"),
    })
    .await;
    let response = client().fetch(get(&origin.url("/4"))).await.expect("an answer");
    assert_eq!(response.redirects, 1);
    assert_eq!(response.final_url.as_str(), origin.url("/a%2Fb%20c?sig=%2F%3D&t=1"));
    assert_eq!(body_of(response).await.expect("a body"), b"here");
    assert!(origin.heads()[1].starts_with("GET /a%2Fb%20c?sig=%2F%3D&t=1 HTTP/1.1\r\n"));

    let error = failure_of(&client(), get(&origin.url("/0"))).await;
    assert_eq!(error.kind(), FetchErrorKind::Redirect);
    assert!(error.to_string().contains("no readable location"), "{error}");
    let paths: Vec<_> = origin.heads()[2..].iter().map(|head| head.split(' ').nth(1).map(str::to_owned)).collect();
    assert_eq!(paths.into_iter().flatten().collect::<Vec<_>>(), ["/0", "/1", "/2", "/3?x"]);
}

#[tokio::test]
async fn the_method_stays_and_only_safe_ones_follow() {
    let origin = Origin::start(|path| match path {
        "/" => Reply::raw("HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n", After::KeepOpen),
        _ => Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n", After::KeepOpen),
    })
    .await;
    let client = client();
    let response = client.fetch(request(Method::HEAD, &origin.url("/"), &[])).await.expect("an answer");
    assert_eq!((response.status.as_u16(), response.redirects), (200, 1));
    assert!(body_of(response).await.expect("no body").is_empty());
    assert!(origin.heads()[1].starts_with("HEAD /there "));

    let response = client.fetch(request(Method::POST, &origin.url("/"), &[])).await.expect("an answer");
    assert_eq!((response.status.as_u16(), response.redirects), (302, 0));
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let far = Origin::start(|_| Reply::ok("far")).await;
    let target = far.url("/x");
    let near = Origin::start(move |path| match path {
        "/same" => Reply::redirect(302, "/away"),
        _ => Reply::redirect(302, &target),
    })
    .await;
    let client = builder()
        .origin_header(&near.url("/"), "x-near", "near-1")
        .and_then(|builder| builder.origin_header(&near.url(""), "X-Near", "near-2"))
        .and_then(|builder| builder.origin_header(&far.url(""), "x-far", "far"))
        .and_then(|builder| builder.origin_header("http://127.0.0.1", "x-other-port", "no"))
        .expect("headers")
        .build()
        .expect("a client");
    let headers = [
        (header::AUTHORIZATION, "Bearer token"),
        (header::COOKIE, "a=b"),
        (header::RANGE, "bytes=0-9"),
        (header::IF_NONE_MATCH, "\"tag\""),
    ];
    let response = client.fetch(request(Method::GET, &near.url("/same"), &headers)).await.expect("an answer");
    assert_eq!(response.redirects, 2);

    let near_heads = near.heads();
    assert_eq!(near_heads.len(), 2);
    for head in &near_heads {
        for sent in
            ["authorization: bearer token", "cookie: a=b", "x-near: near-1", "x-near: near-2", "range: bytes=0-9"]
        {
            assert!(head.contains(sent), "{sent} is missing in {head}");
        }
        assert!(!head.contains("x-far") && !head.contains("x-other-port"), "{head}");
    }
    let far_head = &far.heads()[0];
    for sent in ["x-far: far", "range: bytes=0-9", "if-none-match: \"tag\""] {
        assert!(far_head.contains(sent), "{sent} is missing in {far_head}");
    }
    for kept in ["authorization", "cookie", "x-near", "referer"] {
        assert!(!far_head.contains(kept), "{kept} should not be in {far_head}");
    }
}

#[tokio::test]
async fn an_origin_once_left_gets_no_credentials_back() {
    let far = Origin::start(|path| Reply::redirect(302, path.trim_start_matches("/to="))).await;
    let away = far.url("");
    let near = Origin::start(move |path| match path.strip_prefix("/start/") {
        Some(home) => Reply::redirect(302, &format!("{away}/to=http://{home}/end")),
        None => Reply::ok("home"),
    })
    .await;
    let start = format!("http://me:pass@127.0.0.1:{0}/start/127.0.0.1:{0}", near.port());
    let client = builder().origin_header(&near.url(""), "x-near", "near").expect("a header").build().expect("a client");
    let response = client.fetch(get(&start)).await.expect("an answer");
    assert_eq!((response.redirects, response.final_url.as_str()), (2, near.url("/end").as_str()));
    let heads = near.heads();
    assert!(heads[0].contains("authorization: basic bwu6cgfzcw=="), "{}", heads[0]);
    assert!(!heads[1].contains("authorization"), "{}", heads[1]);
    // What was set for an origin is for every request to it: no server chose to send it there.
    assert!(heads[1].contains("x-near: near"), "{}", heads[1]);
    assert!(!far.heads()[0].contains("authorization") && !far.heads()[0].contains("x-near"));
}

#[tokio::test]
async fn what_may_not_be_followed_is_an_error_without_secrets() {
    let origin = Origin::start(|path| match path {
        "/circle?sig=secret" => Reply::redirect(302, "/circle2?sig=secret"),
        "/circle2?sig=secret" => Reply::redirect(302, "/circle?sig=secret"),
        "/file" => Reply::redirect(302, "file:///etc/hostname"),
        path => Reply::redirect(302, &format!("{path}x")),
    })
    .await;
    let error = failure_of(&client(), get(&origin.url("/circle?sig=secret"))).await;
    assert_eq!(error.kind(), FetchErrorKind::Redirect);
    assert!(error.to_string().contains("circle") && !error.to_string().contains("secret"), "{error}");

    let fetch = NativeFetch::new(client());
    assert_eq!(kind_of(&fetch, get(&origin.url("/file"))).await, FetchErrorKind::Redirect);

    let before = origin.heads().len();
    assert_eq!(kind_of(&fetch, get(&origin.url("/endless"))).await, FetchErrorKind::Redirect);
    assert_eq!(origin.heads().len() - before, 11);
}
