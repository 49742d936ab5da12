//! Heads, bodies, silence, broken connections and cancelling.

use std::time::Duration;

use farquet_core::fetch::{Fetch, FetchErrorKind};
use farquet_native::{HttpFetch, NativeFetch};
use futures::StreamExt;
use http::{Method, header};
use tokio::time::{sleep, timeout};

use crate::origin::{After, Origin, Reply};
use crate::{body_of, builder, client, failure_of, get, kind_of, request};

const LONG_ENOUGH: Duration = Duration::from_secs(5);

fn impatient() -> HttpFetch {
    builder().idle_timeout(Duration::from_millis(300)).build().expect("a client")
}

#[tokio::test]
async fn any_status_is_an_answer_and_nothing_is_added_or_decoded() {
    let text = "HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1f!!";
    let origin = Origin::start(move |_| Reply::raw(text, After::KeepOpen)).await;
    let response = client().fetch(get(&origin.url("/a?b=c"))).await.expect("an answer");
    assert_eq!((response.status.as_u16(), response.redirects), (503, 0));
    assert_eq!(response.headers["retry-after"], "7");
    assert_eq!(response.headers["content-encoding"], "gzip");
    assert_eq!(response.final_url.as_str(), origin.url("/a?b=c"));
    assert_eq!(body_of(response).await.expect("a body"), b"\x1f!!");
    let head = &origin.heads()[0];
    assert!(head.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("user-agent: farquet/{}\r\n", env!("CARGO_PKG_VERSION"))), "{head}");
    assert!(!head.contains("accept-encoding"), "{head}");
    assert_eq!(origin.heads().len(), 1, "a 503 is not sent again");
}

#[tokio::test]
async fn a_request_header_wins_over_one_of_the_origin() {
    let origin = Origin::start(|_| Reply::ok("")).await;
    let client = builder().origin_header(&origin.url(""), "authorization", "Bearer a").expect("a header");
    let client = client.user_agent("other/1").build().expect("a client");
    let own = request(Method::GET, &origin.url("/"), &[(header::AUTHORIZATION, "Bearer b")]);
    client.fetch(own).await.expect("an answer");
    let head = &origin.heads()[0];
    assert!(head.contains("authorization: bearer b\r\n") && !head.contains("bearer a"), "{head}");
    assert!(head.contains("user-agent: other/1\r\n"), "{head}");
}

#[tokio::test]
async fn a_refused_connection_is_told_without_the_query() {
    let origin = Origin::start(|_| Reply::ok("")).await;
    let url = origin.url("/path?sig=secret");
    drop(origin);
    sleep(Duration::from_millis(50)).await;
    let error = failure_of(&client(), get(&url)).await;
    assert_eq!(error.kind(), FetchErrorKind::Connect);
    let text = error.to_string();
    assert!(text.starts_with("no connection to http://127.0.0.1:") && text.contains(": connection refused"), "{text}");
    assert!(!text.contains("secret") && !text.contains("/path"), "{text}");
}

#[tokio::test]
async fn a_name_that_cannot_be_resolved_is_no_connection() {
    // A label longer than any name may have: the resolver refuses it without asking anybody.
    let error = failure_of(&client(), get(&format!("http://{}/?sig=secret", "a".repeat(64)))).await;
    assert_eq!(error.kind(), FetchErrorKind::Connect);
    assert!(error.to_string().contains("lookup") && !error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn other_schemes_are_named() {
    for fetch in [&client() as &dyn Fetch, &NativeFetch::new(client())] {
        let error = fetch.fetch(get("s3://bucket/key?sig=secret")).await.expect_err("no such scheme");
        assert_eq!(error.kind(), FetchErrorKind::Request);
        assert_eq!(error.to_string(), "urls with the scheme `s3` cannot be fetched");
    }
    assert_eq!(kind_of(&client(), get("file:///etc/hostname")).await, FetchErrorKind::Request);
}

#[tokio::test]
async fn silence_before_the_head_is_a_timeout() {
    let origin = Origin::start(|_| Reply { pieces: Vec::new(), after: After::Hold }).await;
    let error = failure_of(&impatient(), get(&origin.url("/?sig=secret"))).await;
    assert_eq!(error.kind(), FetchErrorKind::Timeout);
    assert_eq!(error.to_string(), format!("no answer from http://127.0.0.1:{} for 300ms", origin.port()));
    origin.connection_closed().await;
}

#[tokio::test]
async fn silence_within_the_body_is_a_timeout_and_ends_it() {
    let text = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour";
    let origin = Origin::start(move |_| Reply::raw(text, After::Hold)).await;
    let mut response = impatient().fetch(get(&origin.url("/"))).await.expect("a head");
    assert_eq!(response.body.next().await.expect("a chunk").expect("no error"), "four");
    let error = response.body.next().await.expect("an item").expect_err("silence");
    assert_eq!(error.kind(), FetchErrorKind::Timeout);
    assert!(response.body.next().await.is_none());
    // The body is still held: the error alone has to end the transfer.
    origin.connection_closed().await;
}

#[tokio::test]
async fn a_slow_body_is_no_silence() {
    let pause = Duration::from_millis(120);
    let slow = Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", After::KeepOpen);
    let slow = ["a", "b", "c", "d", "e"].into_iter().fold(slow, |reply, piece| reply.then(pause, piece));
    let origin = Origin::start(move |_| slow.clone()).await;
    let response = impatient().fetch(get(&origin.url("/"))).await.expect("a head");
    assert_eq!(body_of(response).await.expect("a body"), b"abcde");
}

#[tokio::test]
async fn a_slow_reader_is_no_silence() {
    let reply = Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na", After::KeepOpen);
    let reply = reply.then(Duration::from_millis(50), "b");
    let origin = Origin::start(move |_| reply.clone()).await;
    let mut response = impatient().fetch(get(&origin.url("/"))).await.expect("a head");
    assert_eq!(response.body.next().await.expect("a chunk").expect("no error"), "a");
    sleep(Duration::from_millis(700)).await;
    assert_eq!(response.body.next().await.expect("a chunk").expect("no error"), "b");
    assert!(response.body.next().await.is_none());
}

#[tokio::test]
async fn broken_connections_are_interruptions() {
    for (why, text) in [
        ("no head", ""),
        ("half a head", "HTTP/1.1 200 OK\r\ncontent-le"),
        ("no HTTP", "SSH-2.0-OpenSSH_9.2\r\n"),
        ("a body cut short", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour"),
        ("a chunk cut short", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\nfour"),
        ("no last chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n"),
    ] {
        let origin = Origin::start(move |_| Reply::raw(text, After::Close)).await;
        let error = failure_of(&client(), get(&origin.url("/?sig=secret"))).await;
        assert_eq!(error.kind(), FetchErrorKind::Interrupted, "{why}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(origin.heads().len(), 1, "{why}: not sent again");
    }
}

#[tokio::test]
async fn what_came_before_the_break_is_handed_out() {
    let text = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour";
    let origin = Origin::start(move |_| Reply::raw(text, After::Close)).await;
    let mut response = client().fetch(get(&origin.url("/"))).await.expect("a head");
    assert_eq!(response.body.next().await.expect("a chunk").expect("no error"), "four");
    let error = response.body.next().await.expect("an item").expect_err("cut short");
    assert!(error.to_string().contains("broke off: "), "{error}");
    assert!(response.body.next().await.is_none());
}

#[tokio::test]
async fn dropping_the_future_cancels_the_request() {
    let origin = Origin::start(|_| Reply { pieces: Vec::new(), after: After::Hold }).await;
    let client = client();
    let waiting = client.fetch(get(&origin.url("/")));
    timeout(Duration::from_millis(200), waiting).await.expect_err("no answer");
    assert_eq!(origin.heads().len(), 1);
    origin.connection_closed().await;
}

#[tokio::test]
async fn dropping_the_body_cancels_the_transfer() {
    let text = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nfour";
    let origin = Origin::start(move |_| Reply::raw(text, After::Hold)).await;
    let mut response = client().fetch(get(&origin.url("/"))).await.expect("a head");
    response.body.next().await.expect("a chunk").expect("no error");
    drop(response);
    origin.connection_closed().await;
}

#[tokio::test]
async fn connections_are_kept_and_counted() {
    let origin = Origin::start(|_| Reply::ok("x").then(Duration::from_millis(100), "")).await;
    let client = client();
    assert_eq!(client.connections_opened(), Some(0));
    for _ in 0..3 {
        body_of(client.fetch(get(&origin.url("/"))).await.expect("an answer")).await.expect("a body");
        sleep(Duration::from_millis(150)).await;
    }
    assert_eq!((client.connections_opened(), origin.connections()), (Some(1), 1));

    let together = (0..8).map(async |_| body_of(client.fetch(get(&origin.url("/"))).await?).await);
    for body in timeout(LONG_ENOUGH, futures::future::join_all(together)).await.expect("in time") {
        assert_eq!(body.expect("a body"), b"x");
    }
    assert_eq!(client.connections_opened(), Some(origin.connections()));
    assert!((2..=8).contains(&origin.connections()), "{}", origin.connections());
    assert_eq!(NativeFetch::new(client.clone()).connections_opened(), client.connections_opened());
}
