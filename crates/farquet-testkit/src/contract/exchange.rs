//! What goes over the wire goes unchanged, in both directions.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farquet_core::fetch::Fetch;
use futures::StreamExt;
use http::{Method, header};

use super::tools::{Change, Outcome, PATH, answered, body_of, ensure, get, origin_with, text_header, whole};
use crate::{Fault, Origin};

pub(super) async fn every_status_is_ok(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(100).await;
    for code in [200, 203, 204, 206, 304, 400, 401, 403, 404, 405, 408, 410, 412, 416, 429, 500, 501, 502, 503, 504] {
        origin.clear_log();
        origin.script(move |_| Some(Fault::status(code)));
        let response = answered(&fetch, get(&origin, PATH)).await?;
        ensure!(response.status == code, "{code} was reported as {}", response.status);
        ensure!(whole(response).await?.is_empty(), "the empty body of a {code} was not empty");
        ensure!(origin.requests() == 1, "a {code} was answered by {} requests", origin.requests());
    }
    origin.script(|_| Some(Fault::html(404, "not here")));
    let body = whole(answered(&fetch, get(&origin, PATH)).await?).await?;
    ensure!(body == "not here", "the body of a 404 was kept back");
    Ok(())
}

pub(super) async fn head_comes_before_body(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(100_000).await;
    origin.script(|_| Some(Fault::Stall(0)));
    let response = answered(&fetch, get(&origin, PATH)).await?;
    ensure!(response.status == 200, "the head says {}", response.status);
    origin.script(|_| Some(Fault::Stall(1000)));
    let mut response = answered(&fetch, get(&origin, PATH)).await?;
    let mut received = 0;
    // The body is to be handed on while it arrives, and to neither end nor fail while nothing comes.
    while let Ok(chunk) = tokio::time::timeout(Duration::from_millis(500), response.body.next()).await {
        match chunk {
            Some(Ok(bytes)) => received += bytes.len(),
            Some(Err(error)) => return Err(format!("a stalled body failed: {error}")),
            None => return Err(format!("a stalled body ended after {received} bytes")),
        }
    }
    ensure!(received == 1000, "{received} of the 1000 bytes that were sent had been handed on");
    Ok(())
}

pub(super) async fn bodies_arrive_whole(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(3_000_000).await;
    for fault in [None, Some(Fault::Chunked)] {
        let chunked = fault.is_some();
        origin.script(move |_| fault.clone());
        let response = answered(&fetch, get(&origin, PATH)).await?;
        ensure!(response.final_url == origin.url(PATH), "the final URL is {}", response.final_url);
        ensure!(response.redirects == 0, "{} redirects were counted", response.redirects);
        let length = text_header(&response, "content-length");
        ensure!(chunked || length.as_deref() == Some("3000000"), "content-length is {length:?}");
        ensure!(whole(response).await? == body_of(3_000_000), "the body was changed");
    }
    Ok(())
}

pub(super) async fn ranges_are_passed_exactly(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(1000).await;
    let all = body_of(1000);
    for (range, part) in
        [("bytes=5-9", 5..10), ("bytes=990-", 990..1000), ("bytes=-7", 993..1000), ("bytes=0-4999", 0..1000)]
    {
        origin.clear_log();
        let response = answered(&fetch, get(&origin, PATH).with("range", range)).await?;
        let seen = origin.log().first().and_then(|entry| entry.range.clone());
        ensure!(seen.as_deref() == Some(range), "{range} arrived as {seen:?}");
        ensure!(response.status == 206, "{range} was answered by {}", response.status);
        let told = text_header(&response, "content-range");
        let expected = format!("bytes {}-{}/1000", part.start, part.end - 1);
        ensure!(told.as_deref() == Some(&*expected), "content-range is {told:?}");
        ensure!(whole(response).await? == all.slice(part), "other bytes for {range}");
    }
    let response = answered(&fetch, get(&origin, PATH).with("range", "bytes=1000-")).await?;
    ensure!(response.status == 416, "a range behind the end gave {}", response.status);
    Ok(())
}

pub(super) async fn request_is_passed_exactly(fetch: Arc<dyn Fetch>) -> Outcome {
    const EXACT: &str = "/type=a%2Fb/100%25/x.parquet?sig=a%2Fb%3D&empty=&plus=1+2";
    let sent = [
        ("if-none-match", "\"one\", W/\"two\""),
        ("if-match", "\"three\""),
        ("if-range", "\"four\""),
        ("authorization", "Bearer a.b.c"),
        ("x-farquet-test", "Some Value"),
    ];
    let origin = origin_with(10).await;
    let request = sent.iter().fold(get(&origin, EXACT), |request, (name, value)| request.with(name, value));
    answered(&fetch, request).await?;
    let log = origin.log();
    let Some(entry) = log.first() else { return Err("no request arrived".to_owned()) };
    let arrived = format!("{}?{}", entry.path, entry.query.as_deref().unwrap_or_default());
    ensure!(arrived == EXACT, "{EXACT} arrived as {arrived}");
    for (name, value) in sent {
        ensure!(entry.header(name) == Some(value), "{name}: {value} arrived as {:?}", entry.header(name));
    }
    ensure!(entry.range.is_none(), "a range was added: {:?}", entry.range);

    origin.clear_log();
    let response = answered(&fetch, get(&origin, PATH).method(Method::HEAD)).await?;
    ensure!(response.status == 200, "HEAD gave {}", response.status);
    ensure!(text_header(&response, "content-length").as_deref() == Some("10"), "HEAD told no length");
    ensure!(whole(response).await?.is_empty(), "HEAD had a body");
    ensure!(origin.log().by_method().get("HEAD") == Some(&1), "the method was changed");
    Ok(())
}

pub(super) async fn answers_are_not_judged(fetch: Arc<dyn Fetch>) -> Outcome {
    let cases: [(Fault, u16, Bytes); 5] = [
        (Fault::IgnoreRange, 200, body_of(1000)),
        (Fault::OtherRange, 206, body_of(1000).slice(99..199)),
        (Fault::ShortBody(40), 206, body_of(1000).slice(100..140)),
        (Fault::LongBody(3), 206, [&body_of(1000)[100..200], &[0, 0, 0]].concat().into()),
        (Fault::NotModified, 304, Bytes::new()),
    ];
    let origin = origin_with(1000).await;
    for (fault, status, expected) in cases {
        let name = format!("{fault:?}");
        origin.clear_log();
        origin.script(move |_| Some(fault.clone()));
        let response = answered(&fetch, get(&origin, PATH).with("range", "bytes=100-199")).await?;
        ensure!(response.status == status, "{name}: status {}", response.status);
        ensure!(whole(response).await? == expected, "{name}: other bytes");
        ensure!(origin.requests() == 1, "{name}: {} requests", origin.requests());
    }
    Ok(())
}

pub(super) async fn nothing_is_decompressed(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin: Origin = origin_with(1000).await;
    for fault in [Fault::Gzip, Fault::GzipLabel] {
        let packed = matches!(fault, Fault::Gzip);
        origin.clear_log();
        origin.script(move |_| Some(fault.clone()));
        let response = answered(&fetch, get(&origin, PATH)).await?;
        let coding = text_header(&response, "content-encoding");
        ensure!(coding.as_deref() == Some("gzip"), "content-encoding is {coding:?}");
        let body = whole(response).await?;
        ensure!(packed == body.starts_with(&[0x1f, 0x8b]), "a body was decoded");
        ensure!(packed || body == body_of(1000), "a body was changed");
        let log = origin.log();
        let accepts = log.first().and_then(|entry| entry.header(header::ACCEPT_ENCODING.as_str()));
        ensure!(accepts.is_none_or(|accepts| accepts == "identity"), "the request accepts {accepts:?}");
    }
    Ok(())
}
