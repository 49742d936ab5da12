//! Each fault as it is on the wire.

mod support;

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farquet_core::fetch::{CacheMode, Fetch, FetchErrorKind, FetchRequest};
use farquet_testkit::{Fault, Origin};
use flate2::read::GzDecoder;
use futures::TryStreamExt;
use http::{HeaderMap, Method};
use support::hyper_fetch::HyperFetch;
use support::{End, Raw, bytes, get, send};

const PATH: &str = "/x.parquet";
const RANGE: &str = "range: bytes=100-199";

async fn origin_with(fault: Fault) -> Origin {
    let origin = Origin::builder().file(PATH, bytes(100_000)).start().await;
    origin.script(move |_| Some(fault.clone()));
    origin
}

async fn answer(fault: Fault) -> Raw {
    get(&origin_with(fault).await, PATH, &[RANGE]).await
}

#[tokio::test]
async fn another_status() {
    let raw = answer(Fault::retry_after(429, "30")).await;
    assert_eq!((raw.status(), raw.header("retry-after"), raw.header("etag")), (429, Some("30"), None));
    let raw = answer(Fault::html(200, "<html>")).await;
    assert_eq!((raw.status(), raw.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!((raw.body.as_slice(), raw.end), (b"<html>".as_slice(), End::Complete));
}

#[tokio::test]
async fn ranges_that_are_not_what_was_asked() {
    let raw = answer(Fault::IgnoreRange).await;
    assert_eq!((raw.status(), raw.header("content-range"), raw.body.len()), (200, None, 100_000));
    let raw = answer(Fault::FullWithContentRange).await;
    assert_eq!((raw.status(), raw.header("content-range")), (200, Some("bytes 0-99999/100000")));
    assert_eq!(raw.body.len(), 100_000);
    let raw = answer(Fault::OtherRange).await;
    assert_eq!((raw.status(), raw.header("content-range")), (206, Some("bytes 99-198/100000")));
    assert_eq!(raw.body, bytes(100_000)[99..199]);
    let raw = answer(Fault::TotalUnknown).await;
    assert_eq!((raw.status(), raw.header("content-range")), (206, Some("bytes 100-199/*")));
    assert_eq!(raw.body, bytes(100_000)[100..200]);
}

#[tokio::test]
async fn lengths_that_are_not_what_was_said() {
    let raw = answer(Fault::ShortBody(40)).await;
    assert_eq!((raw.status(), raw.header("content-range")), (206, Some("bytes 100-199/100000")));
    assert_eq!((raw.header("content-length"), raw.header("transfer-encoding")), (None, Some("chunked")));
    assert_eq!((raw.body.as_slice(), raw.end), (&bytes(100_000)[100..140], End::Complete));
    let raw = answer(Fault::LongBody(5)).await;
    assert_eq!((raw.header("content-range"), raw.header("content-length")), (Some("bytes 100-199/100000"), None));
    assert_eq!((raw.body, raw.end), ([&bytes(100_000)[100..200], &[0; 5]].concat(), End::Complete));
    let raw = answer(Fault::Chunked).await;
    assert_eq!((raw.header("content-length"), raw.header("transfer-encoding")), (None, Some("chunked")));
    assert_eq!((raw.body.as_slice(), raw.end), (&bytes(100_000)[100..200], End::Complete));
}

#[tokio::test]
async fn bodies_that_break_off() {
    for (fault, end) in
        [(Fault::CloseAfter(40), End::Closed), (Fault::ResetAfter(40), End::Reset), (Fault::Stall(40), End::Silence)]
    {
        let raw = answer(fault).await;
        assert_eq!((raw.status(), raw.header("content-length")), (206, Some("100")));
        assert_eq!((raw.body.as_slice(), raw.end), (&bytes(100_000)[100..140], end));
    }
    let raw = answer(Fault::ResetAfter(0)).await;
    assert_eq!((raw.status(), raw.body.len(), raw.end), (206, 0, End::Reset));
    // A body that is no longer than that arrives whole.
    assert_eq!(answer(Fault::ResetAfter(100)).await.end, End::Complete);
    let raw = answer(Fault::Chunked.then(Fault::CloseAfter(40))).await;
    assert_eq!((raw.header("content-length"), raw.body.len(), raw.end), (None, 40, End::Closed));
}

#[tokio::test]
async fn answers_that_do_not_come() {
    let origin = origin_with(Fault::Hang).await;
    let raw = get(&origin, PATH, &[RANGE]).await;
    assert_eq!((raw.head.as_str(), raw.end), ("", End::Silence));
    let origin = origin_with(Fault::Abort).await;
    let raw = get(&origin, PATH, &[RANGE]).await;
    assert_eq!((raw.head.as_str(), raw.end), ("", End::Reset));
    let entry = &origin.log()[0];
    assert_eq!((entry.status, entry.complete, entry.is_over()), (None, false, true));
}

#[tokio::test]
async fn what_was_cut_is_logged() {
    let origin = origin_with(Fault::ResetAfter(40)).await;
    get(&origin, PATH, &[RANGE]).await;
    let entry = &origin.log()[0];
    assert_eq!((entry.status, entry.body_bytes, entry.complete, entry.is_over()), (Some(206), 40, false, true));
}

#[tokio::test]
async fn codings() {
    let raw = answer(Fault::Gzip).await;
    assert_eq!((raw.status(), raw.header("content-encoding")), (206, Some("gzip")));
    assert_eq!(raw.header("content-range"), Some("bytes 100-199/100000"));
    assert_eq!(raw.header("content-length"), Some(&*raw.body.len().to_string()));
    let mut plain = Vec::new();
    GzDecoder::new(raw.body.as_slice()).read_to_end(&mut plain).expect("gzip");
    assert_eq!(plain, bytes(100_000)[100..200]);
    let raw = answer(Fault::GzipLabel).await;
    assert_eq!(raw.header("content-encoding"), Some("gzip"));
    assert_eq!(raw.body, bytes(100_000)[100..200]);
}

#[tokio::test]
async fn delays_add_up() {
    let wait = Duration::from_millis(40);
    let start = Instant::now();
    let fault = Fault::Delay(wait).then(Fault::status(500)).then(Fault::Delay(wait));
    assert_eq!(answer(fault).await.status(), 500);
    assert!(start.elapsed() >= wait * 2);
}

#[tokio::test]
async fn redirects_are_sent_as_given() {
    let raw = answer(Fault::redirect(307, "../a%2Fb?x=%2f#y")).await;
    assert_eq!((raw.status(), raw.header("location")), (307, Some("../a%2Fb?x=%2f#y")));
}

#[tokio::test]
async fn headers_are_set_and_removed() {
    let raw = answer(Fault::without_headers(&["etag", "last-modified", "date"])).await;
    assert_eq!((raw.header("etag"), raw.header("last-modified"), raw.header("date")), (None, None, None));
    let raw = answer(Fault::set_header("etag", "\"mirror-2\"")).await;
    assert_eq!((raw.status(), raw.header("etag")), (206, Some("\"mirror-2\"")));
    let raw = answer(Fault::without_headers(&["content-length"])).await;
    assert_eq!((raw.header("content-length"), raw.body.len(), raw.end), (None, 100, End::Complete));
    let origin = origin_with(Fault::without_headers(&["content-length"])).await;
    let raw = send(&origin, "HEAD", PATH, &[]).await;
    assert_eq!((raw.status(), raw.header("content-length")), (200, None));
}

#[tokio::test]
async fn objects_are_replaced_on_the_way() {
    let replace = |index: usize| (index == 1).then(|| Fault::Replace { path: PATH.to_owned(), bytes: "new".into() });
    let after = |index: usize| (index == 1).then(|| Fault::ReplaceAfter { path: PATH.to_owned(), bytes: "new".into() });
    for (script, expected) in
        [(replace as fn(usize) -> Option<Fault>, ["old", "new", "new"]), (after, ["old", "old", "new"])]
    {
        let origin = Origin::builder().file(PATH, "old").start().await;
        origin.script(move |seen| script(seen.index));
        let mut tags = Vec::new();
        for body in expected {
            let raw = get(&origin, PATH, &[]).await;
            assert_eq!(raw.body, body.as_bytes());
            tags.push(raw.header("etag").expect("a tag").to_owned());
        }
        assert_eq!(tags[0] == tags[1], expected[0] == expected[1]);
        assert_eq!(tags[1] == tags[2], expected[1] == expected[2]);
    }
}

#[tokio::test]
async fn unasked_not_modified() {
    let raw = answer(Fault::NotModified).await;
    assert_eq!((raw.status(), raw.body.len(), raw.end), (304, 0, End::Complete));
    assert!(raw.header("etag").is_some());
}

#[tokio::test]
async fn the_later_fault_holds() {
    assert_eq!(answer(Fault::status(500).then(Fault::status(503))).await.status(), 503);
    let raw = answer(Fault::OtherRange.then(Fault::TotalUnknown)).await;
    assert_eq!(raw.header("content-range"), Some("bytes 99-198/*"));
}

#[tokio::test]
async fn the_script_can_tell_requests_apart() {
    let origin = Origin::builder().file("/a", "a").file("/b", "b").start().await;
    origin.script(|seen| (seen.path == "/b" && seen.index_of_path == 1).then(|| Fault::status(403)));
    for (path, status) in [("/a", 200), ("/b", 200), ("/a", 200), ("/b", 403), ("/b", 200)] {
        assert_eq!(get(&origin, path, &[]).await.status(), status, "{path}");
    }
    origin.script(|seen| seen.range.as_deref()?.strip_prefix("bytes=-").map(|_| Fault::status(416)));
    assert_eq!(get(&origin, "/a", &["range: bytes=-1"]).await.status(), 416);
    assert_eq!(get(&origin, "/a", &["range: bytes=0-0"]).await.status(), 206);
}

#[tokio::test]
async fn streams_of_http2_break_one_by_one() {
    let origin = Origin::builder().file(PATH, bytes(100_000)).http2_tls().start().await;
    let pem = origin.certificate_pem().expect("a certificate");
    let fetch: Arc<dyn Fetch> = Arc::new(HyperFetch::new(&[b"h2"], &[pem]));
    let ask = || {
        let (method, url, headers) = (Method::GET, origin.url(PATH), HeaderMap::new());
        fetch.fetch(FetchRequest { method, url, headers, cache: CacheMode::NoStore })
    };
    for fault in [Fault::ResetAfter(1000), Fault::CloseAfter(1000)] {
        origin.script(move |_| Some(fault.clone()));
        let body = ask().await.expect("a head").body;
        let error = body.try_collect::<Vec<_>>().await.expect_err("a broken body");
        assert_eq!(error.kind(), FetchErrorKind::Interrupted);
    }
    origin.script(|_| Some(Fault::Abort));
    assert_eq!(ask().await.expect_err("no head").kind(), FetchErrorKind::Interrupted);
    origin.script(|_| Some(Fault::ShortBody(1000)));
    let chunks: Vec<_> = ask().await.expect("a head").body.try_collect().await.expect("a clean end");
    assert_eq!(chunks.concat().len(), 1000);
}
