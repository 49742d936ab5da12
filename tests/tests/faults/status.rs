//! Statuses that are no answer: 304 unasked (T18), 429 and 503 (T19), links that expire (T22).

use std::time::Duration;

use farquet_core::ErrorKind;
use farquet_testkit::{EntryTags, Fault, Origin, RequestLog, Tag};
use farquet_tests::files::{BY_VERSION, is_suffix, large, large_row, over, ranges, tiny, tiny_row};
use farquet_tests::{World, answer, refusal, session};

/// A footer request and one for each row group.
const LARGE_REQUESTS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn t18_a_304_that_nobody_asked_for() {
    for etag in [Tag::Strong, Tag::None] {
        let tags = EntryTags { etag, ..EntryTags::default() };
        let origin = Origin::builder().file_with("/large", large(1), tags).start().await;
        let sql = over(&origin, &["/large"], BY_VERSION);
        for when in [0, 1] {
            origin.clear_log();
            origin.script(move |seen| (seen.index == when).then_some(Fault::NotModified));
            let answer = answer(&session(), &sql).await;
            assert_eq!(answer.rows, [large_row(1)]);
            assert_eq!(origin.requests(), LARGE_REQUESTS + 1, "{:?}", ranges(&origin.log()));
        }
        origin.clear_log();
        origin.script(|_| Some(Fault::NotModified));
        let error = refusal(&session(), &sql).await;
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{error:?}");
        assert!(error.to_string().contains("304"), "{error}");
        assert!(origin.requests() <= 4, "{:?}", ranges(&origin.log()));
        origin.clear_log();
        origin.script(|seen| (!is_suffix(seen)).then_some(Fault::NotModified));
        let error = refusal(&session(), &sql).await;
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{error:?}");
        assert!(origin.requests() <= 1 + 2 * 3, "{:?}", ranges(&origin.log()));
    }
}

/// The time between the first request and the second.
fn pause(log: &RequestLog) -> Duration {
    log[1].start.checked_sub(log[0].start).expect("in order")
}

#[tokio::test(flavor = "multi_thread")]
async fn t19_retry_after_is_obeyed() {
    // The date is read by the server's own clock, which may be wrong by years.
    let date = Fault::Headers(vec![
        ("date".to_owned(), Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned())),
        ("retry-after".to_owned(), Some("Sun, 06 Nov 1994 08:49:38 GMT".to_owned())),
    ]);
    for code in [429, 503] {
        for fault in [Fault::retry_after(code, "1"), Fault::status(code).then(date.clone())] {
            let name = format!("{fault:?}");
            let origin = Origin::builder().file("/tiny", tiny(1)).start().await;
            origin.script(move |seen| (seen.index == 0).then(|| fault.clone()));
            let answer = answer(&session(), &over(&origin, &["/tiny"], BY_VERSION)).await;
            assert_eq!(answer.rows, [tiny_row(1)], "{name}");
            assert_eq!(origin.requests(), 2, "{name}");
            assert!(pause(&origin.log()) >= Duration::from_secs(1), "{name}: {:?}", pause(&origin.log()));
            assert_eq!((answer.report.retries, answer.report.status[&code]), (1, 1), "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t19_retry_after_is_obeyed_by_data_requests() {
    let origin = Origin::builder().file("/large", large(1)).start().await;
    origin.script(|seen| (seen.index == 1).then(|| Fault::retry_after(503, "1")));
    let answer = answer(&session(), &over(&origin, &["/large"], BY_VERSION)).await;
    assert_eq!(answer.rows, [large_row(1)]);
    let log = origin.log();
    assert_eq!(log.requests(), LARGE_REQUESTS + 1, "{:?}", ranges(&log));
    let again = log.iter().filter(|entry| entry.range == log[1].range).nth(1).expect("sent again");
    assert!(again.start.saturating_sub(log[1].start) >= Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn t19_retry_after_holds_for_all_requests_to_the_origin() {
    let origin = Origin::builder().file("/1", tiny(1)).file("/2", tiny(2)).file("/3", tiny(3)).start().await;
    origin.script(|seen| (seen.index == 0).then(|| Fault::retry_after(429, "1")));
    let mut world = World::default();
    world.settings.requests_per_origin = Some(1);
    let answer = answer(&world.session(), &over(&origin, &["/1", "/2", "/3"], BY_VERSION)).await;
    assert_eq!(answer.rows, [tiny_row(1), tiny_row(2), tiny_row(3)]);
    let log = origin.log();
    assert_eq!(log.requests(), 4);
    assert!(pause(&log) >= Duration::from_secs(1), "the others wait as well: {:?}", pause(&log));
}

#[tokio::test(flavor = "multi_thread")]
async fn t19_without_retry_after_patience_is_bounded() {
    for code in [429, 503] {
        let origin = Origin::builder().file("/tiny", tiny(1)).start().await;
        let sql = over(&origin, &["/tiny"], BY_VERSION);
        origin.script(move |seen| (seen.index < 2).then(|| Fault::status(code)));
        let answer = answer(&session(), &sql).await;
        assert_eq!((answer.rows, origin.requests()), (vec![tiny_row(1)], 3), "{code}");

        origin.clear_log();
        origin.script(move |_| Some(Fault::status(code)));
        let error = refusal(&session(), &sql).await;
        assert_eq!(error.kind(), ErrorKind::RateLimited, "{code}: {error:?}");
        assert_eq!(error.http_status(), Some(code));
        assert_eq!(origin.requests(), 5, "{code}: the request and its four retries");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t19_a_retry_after_beyond_patience_ends_the_query_at_once() {
    let date = Fault::Headers(vec![
        ("date".to_owned(), Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned())),
        ("retry-after".to_owned(), Some("Sun, 06 Nov 1994 09:49:37 GMT".to_owned())),
    ]);
    for (fault, first) in
        [(Fault::retry_after(429, "3600"), 0), (Fault::status(503).then(date), 0), (Fault::retry_after(503, "3600"), 1)]
    {
        let name = format!("{fault:?}");
        let origin = Origin::builder().file("/large", large(1)).start().await;
        origin.script(move |seen| (seen.index >= first).then(|| fault.clone()));
        let error = refusal(&session(), &over(&origin, &["/large"], BY_VERSION)).await;
        assert_eq!(error.kind(), ErrorKind::RateLimited, "{name}: {error:?}");
        assert!(error.hint_text().is_some_and(|hint| hint.contains("3600 s")), "{name}: {:?}", error.hint_text());
        let most = if first == 0 { 1 } else { LARGE_REQUESTS };
        assert!(origin.requests() <= most, "{name}: {:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_statuses_that_pass() {
    for code in [408, 500, 502, 504] {
        let origin = Origin::builder().file("/large", large(1)).start().await;
        origin.script(move |seen| (seen.index < 2).then(|| Fault::status(code)));
        let answer = answer(&session(), &over(&origin, &["/large"], BY_VERSION)).await;
        assert_eq!((answer.rows, origin.requests()), (vec![large_row(1)], LARGE_REQUESTS + 2), "{code}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statuses_that_do_not_pass_are_not_asked_again() {
    for (code, kind) in [
        (401, ErrorKind::Access),
        (403, ErrorKind::Access),
        (404, ErrorKind::NotFound),
        (410, ErrorKind::NotFound),
        (418, ErrorKind::Status),
    ] {
        for first in [0, 1] {
            let origin = Origin::builder().file("/large", large(1)).start().await;
            origin.script(move |seen| (seen.index >= first).then(|| Fault::status(code)));
            let error = refusal(&session(), &over(&origin, &["/large"], BY_VERSION)).await;
            assert_eq!((error.kind(), error.http_status()), (kind, Some(code)), "{error:?}");
            let most = if first == 0 { 1 } else { LARGE_REQUESTS };
            assert!(origin.requests() <= most, "{code}: {:?}", ranges(&origin.log()));
        }
    }
}

/// All that an error says, with its causes.
fn said(error: &farquet_core::Error) -> String {
    let mut text = format!("{error} {error:?} {error:#?} {:?} {:?}", error.hint_text(), error.url());
    let mut cause = std::error::Error::source(error);
    while let Some(at) = cause {
        text += &[" ", &at.to_string(), " ", &format!("{at:?}")].concat();
        cause = at.source();
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn t22_a_link_that_expires_while_it_is_read() {
    const SECRETS: [&str; 4] = [
        "X-Amz-Signature=s3cr3t&X-Amz-Expires=60",
        "sv=2024&sig=s3cr3t",
        "Expires=1717300000&Signature=s3cr3t&Key-Pair-Id=K",
        "X-Goog-Signature=s3cr3t",
    ];
    for (secret, expired) in SECRETS.into_iter().flat_map(|secret| (0..=LARGE_REQUESTS).map(move |n| (secret, n))) {
        let origin = Origin::builder().file("/large", large(1)).start().await;
        origin.script(move |seen| (seen.index >= expired).then(|| Fault::status(403)));
        let path = format!("/large?{secret}");
        let sql = over(&origin, &[&path], BY_VERSION);
        let session = session();
        if expired == LARGE_REQUESTS {
            assert_eq!(answer(&session, &sql).await.rows, [large_row(1)]);
            continue;
        }
        let error = refusal(&session, &sql).await;
        assert_eq!((error.kind(), error.http_status()), (ErrorKind::Access, Some(403)), "{error:?}");
        assert!(error.hint_text().is_some_and(|hint| hint.contains("expired")), "{:?}", error.hint_text());
        assert!(!said(&error).contains("s3cr3t"), "{}", said(&error));
        let log = origin.log();
        let most = if expired == 0 { 1 } else { LARGE_REQUESTS };
        assert!(log.requests() <= most, "no retries: {:?}", ranges(&log));
        assert!(log.iter().all(|entry| entry.query.as_deref() == Some(secret)));
    }
}
