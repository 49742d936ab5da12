//! Servers and ranges: HEAD that fails (T01), ranges ignored (T03, T04, T05), totals unknown (T07), suffixes refused (T11),
//! lengths untold (T12), answers that are slow to begin (T24).

use bytes::Bytes;
use farquet_core::ErrorKind;
use farquet_testkit::{Fault, Logged, Origin, Seen};
use farquet_tests::files::{BY_VERSION, bounds, eventually, is_suffix, large, large_row, over, ranges, tiny, tiny_row};
use farquet_tests::{answer, ms, refusal, session};

/// A footer request and one for each row group.
const LARGE_REQUESTS: usize = 4;
/// More than any socket buffers, so that a body which is not read cannot be sent whole.
const HUGE: usize = 64 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn t01_head_is_never_sent() {
    let faults = [403, 404, 405, 501].map(Fault::status).into_iter().chain([Fault::Hang]);
    for fault in faults {
        let origin = Origin::builder().file("/large", large(1)).file("/tiny", tiny(2)).start().await;
        let name = format!("{fault:?}");
        origin.script(move |seen| (seen.method == "HEAD").then(|| fault.clone()));
        let session = session();
        for _ in 0..2 {
            let answer = answer(&session, &over(&origin, &["/large", "/tiny"], BY_VERSION)).await;
            assert_eq!(answer.rows, [large_row(1), tiny_row(2)], "{name}");
        }
        assert_eq!(origin.log().by_method().keys().collect::<Vec<_>>(), ["GET"], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t03_a_small_file_comes_whole_from_a_server_without_ranges() {
    let origin = Origin::builder().file("/tiny", tiny(1)).no_ranges().start().await;
    let session = session();
    let sql = over(&origin, &["/tiny"], BY_VERSION);
    for status in [200, 304] {
        origin.clear_log();
        let answer = answer(&session, &sql).await;
        assert_eq!(answer.rows, [tiny_row(1)]);
        assert_eq!(origin.log().by_status(), [(status, 1)].into(), "{:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t04_a_large_file_is_not_downloaded_instead_of_a_range() {
    let origin = Origin::builder().file("/huge", Bytes::from(vec![0; HUGE])).no_ranges().start().await;
    for chunked in [false, true] {
        origin.clear_log();
        origin.script(move |_| chunked.then_some(Fault::Chunked));
        let error = refusal(&session(), &over(&origin, &["/huge"], BY_VERSION)).await;
        assert_eq!(error.kind(), ErrorKind::RangeIgnored, "{error:?}");
        assert!(error.hint_text().is_some_and(|hint| hint.contains("download")), "{:?}", error.hint_text());
        eventually(&origin, "bodies are cut", |log| log.iter().all(Logged::is_over)).await;
        let log = origin.log();
        assert!(log.requests() <= 2, "{:?}", ranges(&log));
        assert!(log.iter().all(|entry| !entry.complete && entry.body_bytes < HUGE as u64 / 2), "{}", log.body_bytes());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t04_data_requests_are_not_answered_by_the_whole_file_either() {
    let origin = Origin::builder().file("/large", large(1)).start().await;
    origin.script(|seen| (!is_suffix(seen)).then_some(Fault::IgnoreRange));
    let error = refusal(&session(), &over(&origin, &["/large"], BY_VERSION)).await;
    assert_eq!(error.kind(), ErrorKind::RangeIgnored, "{error:?}");
    assert!(origin.requests() <= LARGE_REQUESTS, "{:?}", ranges(&origin.log()));
}

#[tokio::test(flavor = "multi_thread")]
async fn t05_a_whole_file_may_have_a_content_range() {
    let origin = Origin::builder().file("/tiny", tiny(1)).file("/large", large(1)).start().await;
    origin.script(|_| Some(Fault::FullWithContentRange));
    let session = session();
    // First by suffix, then, since its size is known, from its beginning.
    for range in ["bytes=-524288", "bytes=0-262144"] {
        origin.clear_log();
        let answer = answer(&session, &over(&origin, &["/tiny"], BY_VERSION)).await;
        assert_eq!(answer.rows, [tiny_row(1)]);
        assert_eq!(ranges(&origin.log()), [range]);
    }
    let error = refusal(&session, &over(&origin, &["/large"], BY_VERSION)).await;
    assert_eq!(error.kind(), ErrorKind::RangeIgnored, "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn t07_a_total_of_star_costs_nothing_with_suffixes() {
    let origin = Origin::builder().file("/large", large(1)).file("/tiny", tiny(2)).start().await;
    origin.script(|_| Some(Fault::TotalUnknown));
    let session = session();
    // Of the large file the footer is known the second time.
    for requests in [LARGE_REQUESTS + 1, LARGE_REQUESTS] {
        origin.clear_log();
        let answer = answer(&session, &over(&origin, &["/large", "/tiny"], BY_VERSION)).await;
        assert_eq!(answer.rows, [large_row(1), tiny_row(2)]);
        assert_eq!(origin.requests(), requests, "{:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t07_a_total_of_star_without_suffixes() {
    let origin = Origin::builder().file("/large", large(1)).file("/tiny", tiny(2)).start().await;
    origin.script(|seen| Some(if is_suffix(seen) { Fault::status(501) } else { Fault::TotalUnknown }));
    let session = session();
    // A range from the beginning that ends before it was to end tells the size.
    let answer = answer(&session, &over(&origin, &["/tiny"], BY_VERSION)).await;
    assert_eq!(answer.rows, [tiny_row(2)]);
    assert_eq!(ranges(&origin.log()), ["bytes=-524288", "bytes=0-524287"]);
    // A larger file does not tell where it ends.
    let error = refusal(&session, &over(&origin, &["/large"], BY_VERSION)).await;
    assert_eq!(error.kind(), ErrorKind::BadResponse, "{error:?}");
    assert!(error.to_string().contains("size"), "{error}");
    assert_eq!(origin.requests(), 3, "{:?}", ranges(&origin.log()));
}

/// What the first query of a session costs on a server that answers a suffix so, beyond what it costs otherwise.
async fn suffix_answered_by(fault: Fault, extra: usize) {
    let name = format!("{fault:?}");
    let origin = Origin::builder().file("/a/large", large(1)).file("/b/large", large(2)).start().await;
    origin.script(move |seen| is_suffix(seen).then(|| fault.clone()));
    let session = session();
    let first = answer(&session, &over(&origin, &["/a/large"], BY_VERSION)).await;
    assert_eq!(first.rows, [large_row(1)], "{name}");
    let log = origin.log();
    assert_eq!(log.requests(), LARGE_REQUESTS + extra, "{name}: {:?}", ranges(&log));
    assert_eq!(log.iter().filter(|entry| is_suffix(entry)).count(), 1, "{name}: {:?}", ranges(&log));
    assert_eq!(first.report.retries, 0, "{name}: another form is no retry");
    eventually(&origin, "bodies end", |log| log.iter().all(Logged::is_over)).await;

    origin.clear_log();
    let again = answer(&session, &over(&origin, &["/a/large"], BY_VERSION)).await;
    assert_eq!(again.rows, [large_row(1)], "{name}");
    assert_eq!(origin.requests(), LARGE_REQUESTS - 1, "{name}: {:?}", ranges(&origin.log()));
    assert!(!origin.log().iter().any(|entry| is_suffix(entry)), "{name}: {:?}", ranges(&origin.log()));

    // Another file of the origin, whose size is not known: its beginning, then its end.
    origin.clear_log();
    let other = answer(&session, &over(&origin, &["/b/large"], BY_VERSION)).await;
    assert_eq!(other.rows, [large_row(2)], "{name}");
    assert_eq!(origin.requests(), LARGE_REQUESTS + 1, "{name}: {:?}", ranges(&origin.log()));
    assert!(!origin.log().iter().any(|entry| is_suffix(entry)), "{name}: {:?}", ranges(&origin.log()));
}

#[tokio::test(flavor = "multi_thread")]
async fn t11_a_refused_suffix_is_remembered() {
    for code in [400, 405, 416, 501] {
        suffix_answered_by(Fault::status(code), 2).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t11_an_answer_that_tells_the_size_saves_a_request() {
    suffix_answered_by(Fault::IgnoreRange, 1).await;
    let headers = vec![("content-range".to_owned(), format!("bytes */{}", large(1).len()))];
    suffix_answered_by(Fault::Status { code: 416, headers, body: Bytes::new() }, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t11_small_files_without_suffixes() {
    for (fault, first) in [(Fault::IgnoreRange, 1), (Fault::status(416), 2), (Fault::status(501), 2)] {
        let name = format!("{fault:?}");
        let origin = Origin::builder().file("/tiny", tiny(1)).start().await;
        origin.script(move |seen| is_suffix(seen).then(|| fault.clone()));
        let session = session();
        for expected in [first, 1] {
            origin.clear_log();
            let answer = answer(&session, &over(&origin, &["/tiny"], BY_VERSION)).await;
            assert_eq!(answer.rows, [tiny_row(1)], "{name}");
            assert_eq!(origin.requests(), expected, "{name}: {:?}", ranges(&origin.log()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t12_a_length_need_not_be_told() {
    for whole in [false, true] {
        let origin = Origin::builder().file("/large", large(1)).file("/tiny", tiny(2)).start().await;
        let fault = if whole { Fault::Chunked.then(Fault::IgnoreRange) } else { Fault::Chunked };
        origin.script(move |seen| Some(if seen.path == "/tiny" { fault.clone() } else { Fault::Chunked }));
        let session = session();
        // Of the large file the footer is known the second time.
        for requests in [LARGE_REQUESTS + 1, LARGE_REQUESTS] {
            origin.clear_log();
            let answer = answer(&session, &over(&origin, &["/large", "/tiny"], BY_VERSION)).await;
            assert_eq!(answer.rows, [large_row(1), tiny_row(2)]);
            assert_eq!(origin.requests(), requests, "{:?}", ranges(&origin.log()));
        }
    }
}

/// A query of which requests for `slow` never get their first byte: all `others` are answered meanwhile. Once the slow ones
/// are answered too, so is the query.
async fn others_proceed(origin: &Origin, sql: &str, slow: fn(&Seen) -> bool, others: usize, rows: &str) {
    let session = session();
    origin.script(move |seen| slow(seen).then_some(Fault::Hang));
    let answered = |log: &[Logged]| log.iter().filter(|entry| entry.complete).count() == others;
    tokio::select! {
        result = session.query(sql) => panic!("an answer without all files: {result:?}"),
        () = eventually(origin, "the others are answered", answered) => {}
    }
    assert!(origin.log().iter().all(|entry| entry.complete != slow(entry)), "the slow ones still wait");
    origin.script(move |seen| slow(seen).then_some(Fault::Delay(ms(200))));
    assert_eq!(answer(&session, sql).await.rows, [rows]);
}

#[tokio::test(flavor = "multi_thread")]
async fn t24_one_slow_file_of_many() {
    let set = farquet_testkit::fixture::small(1000, 200);
    let folder = set.on_disk().expect("fixtures");
    let origin = Origin::builder().directory("/d/", folder).start().await;
    let paths: Vec<_> = set.file_names().take(200).map(|name| format!("/d/{name}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let sql = over(&origin, &paths, "SELECT count(*), sum(id) FROM t ");
    others_proceed(&origin, &sql, |seen| seen.path == "/d/small_0017.parquet", 199, "40000|799980000").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t24_data_of_one_slow_file_of_many() {
    let file = large(1);
    let paths: Vec<_> = (0..20).map(|n| format!("/{n}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let builder = paths.iter().fold(Origin::builder(), |builder, path| builder.file(path, file.clone()));
    let origin = builder.start().await;
    let sql = over(&origin, &paths, BY_VERSION);
    let slow = |seen: &Seen| seen.path == "/0" && bounds(seen.range.as_deref()).is_some_and(|(first, _)| first == 4);
    others_proceed(&origin, &sql, slow, 20 * LARGE_REQUESTS - 1, "1|2400000").await;
}
