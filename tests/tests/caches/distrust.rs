//! Answers to a validation that are none: nothing that was kept is used because of them.

use bytes::Bytes;
use farquet_core::ErrorKind;
use farquet_sql::Session;
use farquet_testkit::{EntryTags, Fault, Origin, Tag};
use farquet_tests::files::{BY_VERSION, large, over, ranges, tiny, tiny_row};
use farquet_tests::{answer, ask, refusal, session};

/// From the footer alone, so that a large file is asked about and not read.
const FROM_FOOTER: &str = "SELECT max(v) FROM t ";

/// A session that knows the file.
async fn warm(bytes: Bytes, tags: &EntryTags) -> (Origin, Session, String) {
    let origin = Origin::builder().file_with("/1", bytes, tags.clone()).start().await;
    let (session, sql) = (session(), over(&origin, &["/1"], FROM_FOOTER));
    assert_eq!(answer(&session, &sql).await.rows, ["1"]);
    origin.clear_log();
    (origin, session, sql)
}

/// Bodies and footers that are kept.
fn entries(session: &Session) -> (usize, usize) {
    let usage = session.client().usage();
    (usage.bodies.entries, usage.footers.entries)
}

/// As of a mirror or an edge that mistakes one version for another: a 304 that names the tag of the new version.
async fn contradicted(old: Bytes, new: Bytes) {
    let (origin, session, sql) = warm(old, &EntryTags::default()).await;
    origin.put("/1", new);
    origin.script(|seen| seen.header("if-none-match").is_some().then_some(Fault::NotModified));
    match ask(&session, &sql).await {
        Ok(found) => assert_eq!(found.rows, ["2"], "{:?}", ranges(&origin.log())),
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::BadResponse | ErrorKind::SourceChanged), "{error:?}");
            assert!(origin.requests() <= 4, "{:?}", ranges(&origin.log()));
        }
    }
    origin.clear_script();
    assert_eq!(answer(&session, &sql).await.rows, ["2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn t18_not_modified_with_another_tag_proves_no_small_file() {
    contradicted(tiny(1), tiny(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t18_not_modified_with_another_tag_proves_no_footer() {
    contradicted(large(1), large(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t18_not_modified_is_no_data() {
    let (origin, session, _) = warm(large(1), &EntryTags::default()).await;
    origin.script(|_| Some(Fault::NotModified));
    let error = refusal(&session, &over(&origin, &["/1"], BY_VERSION)).await;
    assert_eq!(error.kind(), ErrorKind::BadResponse, "{error:?}");
    // Each of the three is asked for twice at most, the second time past caches.
    assert!(origin.requests() <= 6, "{:?}", ranges(&origin.log()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_in_place_of_a_file_is_told() {
    for bytes in [tiny(1), large(1)] {
        let (origin, session, sql) = warm(bytes, &EntryTags::default()).await;
        origin.script(|_| Some(Fault::html(200, "<html><body>please log in</body></html>")));
        let error = refusal(&session, &sql).await;
        assert_eq!(error.kind(), ErrorKind::NotParquet, "{error:?}");
        assert!(error.to_string().contains("text/html"), "{error}");
        assert_eq!(entries(&session), (0, 0), "a page");
        origin.clear_script();
        assert_eq!(answer(&session, &sql).await.rows, ["1"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_knows_no_conditions_sends_the_file_again() {
    // With the tag that was asked about.
    let tags = EntryTags { etag: Tag::Custom("\"a\"".to_owned()), ..EntryTags::default() };
    let headers = |more: Option<(&str, String)>| {
        let date = "Sun, 02 Jun 2024 04:26:40 GMT".to_owned();
        let all = [("etag", "\"a\"".to_owned()), ("last-modified", date)].into_iter().chain(more);
        all.map(|(name, value)| (name.to_owned(), value)).collect::<Vec<_>>()
    };
    let (origin, session, sql) = warm(tiny(1), &tags).await;
    origin.script(move |_| Some(Fault::Status { code: 200, headers: headers(None), body: tiny(1) }));
    let found = answer(&session, &sql).await;
    // The same bytes are the same file.
    assert_eq!((found.rows, found.report.cache.revalidated, origin.requests()), (vec!["1".to_owned()], 1, 1));

    let (origin, session, sql) = warm(large(1), &tags).await;
    let size = large(1).len();
    let range = move || Some(("content-range", format!("bytes 0-0/{size}")));
    origin.script(move |_| Some(Fault::Status { code: 206, headers: headers(range()), body: "P".into() }));
    let found = answer(&session, &sql).await;
    assert_eq!((found.rows, found.report.bytes_received, origin.requests()), (vec!["1".to_owned()], 1, 1));
    assert_eq!((found.report.restarts, found.report.cache.revalidated), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_to_send_ranges_sends_small_files_whole() {
    let (origin, session, sql) = warm(tiny(1), &EntryTags::default()).await;
    origin.script(|_| Some(Fault::IgnoreRange));
    let same = answer(&session, &sql).await.report;
    assert_eq!((same.status, same.bytes_received), ([(304, 1)].into(), 0));
    origin.put("/1", tiny(2));
    let changed = answer(&session, &sql).await;
    assert_eq!((changed.rows, changed.report.status), (vec!["2".to_owned()], [(200, 1)].into()));
    assert_eq!(answer(&session, &sql).await.report.status, [(304, 1)].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_vanishes_ends_what_was_kept() {
    for without in [&["etag"][..], &["etag", "last-modified"]] {
        // The bytes of a small file stay, to be compared with what comes: they answer nobody who asks later.
        for (old, new, kept) in [(tiny(1), tiny(2), 1), (large(1), large(2), 0)] {
            let (origin, session, sql) = warm(old, &EntryTags::default()).await;
            origin.put("/1", new);
            origin.script(move |_| Some(Fault::without_headers(without)));
            for _ in 0..2 {
                origin.clear_log();
                let found = answer(&session, &sql).await;
                assert_eq!(found.rows, ["2"], "{without:?}");
                assert!(origin.body_bytes() > 0, "{without:?}: answered without the file");
                assert_eq!(entries(&session), (kept, 0), "no tag");
            }
            // Nor does a strong tag that became weak.
            origin.script(|_| Some(Fault::set_header("etag", "W/\"1\"")));
            assert_eq!(answer(&session, &sql).await.rows, ["2"]);
            assert_eq!(entries(&session), (kept, 0), "a weak tag");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t30_dates_decide_nothing_where_there_is_a_tag() {
    for date in ["Fri, 31 Dec 2049 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "yesterday"] {
        let origin = Origin::builder().file("/1", tiny(1)).file("/2", large(1)).start().await;
        // The same second for all versions, and one in the future for some.
        origin.script(move |_| Some(Fault::set_header("last-modified", date)));
        let (session, sql) = (session(), over(&origin, &["/1", "/2"], "SELECT min(v), max(v), count(*) FROM t "));
        answer(&session, &sql).await;
        origin.clear_log();
        assert_eq!(answer(&session, &sql).await.rows, ["1|1|120100"], "{date}");
        let log = origin.log();
        assert_eq!(log.by_status(), [(304, 2)].into(), "{date}");
        assert!(log.iter().all(|request| request.header("if-modified-since").is_none()), "{date}");
        origin.put("/1", tiny(2));
        origin.put("/2", large(3));
        assert_eq!(answer(&session, &sql).await.rows, ["2|3|120100"], "{date}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_is_asked_for_again_like_any_request() {
    for fault in [Fault::retry_after(503, "0"), Fault::Abort, Fault::CloseAfter(0)] {
        let (origin, session, sql) = warm(large(1), &EntryTags::default()).await;
        origin.put("/1", large(2));
        let name = format!("{fault:?}");
        origin.script(move |seen| (seen.index == 0).then(|| fault.clone()));
        assert_eq!(answer(&session, &sql).await.rows, ["2"], "{name}: {:?}", ranges(&origin.log()));
        origin.clear_script();
        assert_eq!(answer(&session, &sql).await.report.cache.revalidated, 1, "{name}");
    }
    // Broken off and resumed, the new body is one of one version.
    let (origin, session, sql) = warm(tiny(1), &EntryTags::default()).await;
    let sql = sql.replace(FROM_FOOTER.trim_end_matches(" t "), BY_VERSION.split(" t ").next().expect("a statement"));
    origin.put("/1", tiny(2));
    origin.script(|seen| {
        let replaced = Fault::ReplaceAfter { path: "/1".to_owned(), bytes: tiny(3) };
        (seen.index == 0).then(|| Fault::CloseAfter(1_000).then(replaced))
    });
    let sql = format!("{sql} GROUP BY v");
    assert_eq!(answer(&session, &sql).await.rows, [tiny_row(3)], "{:?}", ranges(&origin.log()));
}
