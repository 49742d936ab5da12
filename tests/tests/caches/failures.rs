//! Failures while a kept file is asked about: they are told, they are forgotten, and nothing half is kept.

use farquet_core::ErrorKind;
use farquet_testkit::{EntryTags, Fault, Origin, Tag};
use farquet_tests::files::{BY_VERSION, large, large_row, over, ranges, tiny, tiny_row, versioned};
use farquet_tests::{World, answer, refusal, session};

fn impatient() -> farquet_sql::Session {
    let mut world = World::default();
    world.settings.retries = 0;
    world.session()
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_told_and_what_was_kept_is_forgotten() {
    for (code, kind) in [
        (404, ErrorKind::NotFound),
        (410, ErrorKind::NotFound),
        (403, ErrorKind::Access),
        (401, ErrorKind::Access),
        (500, ErrorKind::Status),
        (503, ErrorKind::RateLimited),
    ] {
        for (bytes, row) in [(tiny(1), tiny_row(1)), (large(1), large_row(1))] {
            let origin = Origin::builder().file("/1", bytes).start().await;
            let session = impatient();
            let sql = over(&origin, &["/1"], BY_VERSION);
            assert_eq!(answer(&session, &sql).await.rows, std::slice::from_ref(&row));
            origin.script(move |_| Some(Fault::status(code)));
            assert_eq!(refusal(&session, &sql).await.kind(), kind, "{code}");
            origin.clear_script();
            origin.clear_log();
            let found = answer(&session, &sql).await;
            assert_eq!((found.rows, found.report.cache.misses), (vec![row], 1), "{code}");
            assert_eq!(origin.log().by_status().get(&304), None, "{code}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_validation_is_sent_again_like_any_request() {
    for fault in [Fault::retry_after(503, "0"), Fault::Abort, Fault::CloseAfter(0)] {
        let origin = Origin::builder().file("/1", tiny(1)).start().await;
        let session = session();
        let sql = over(&origin, &["/1"], BY_VERSION);
        answer(&session, &sql).await;
        origin.clear_log();
        let name = format!("{fault:?}");
        origin.script(move |seen| (seen.index == 0).then(|| fault.clone()));
        let found = answer(&session, &sql).await;
        assert_eq!(found.rows, [tiny_row(1)], "{name}");
        assert_eq!(found.report.cache.revalidated, 1, "{name}: {:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_body_that_breaks_is_not_kept() {
    let origin = Origin::builder().file("/1", tiny(1)).start().await;
    let session = impatient();
    let sql = over(&origin, &["/1"], BY_VERSION);
    answer(&session, &sql).await;
    origin.put("/1", tiny(2));
    for fault in [Fault::CloseAfter(100), Fault::ResetAfter(100), Fault::ShortBody(100), Fault::Gzip] {
        let name = format!("{fault:?}");
        origin.script(move |_| Some(fault.clone()));
        let error = refusal(&session, &sql).await;
        assert!(matches!(error.kind(), ErrorKind::Network | ErrorKind::BadResponse), "{name}: {error:?}");
        assert_eq!(session.client().usage().bodies.entries, 0, "{name}");
    }
    origin.clear_script();
    assert_eq!(answer(&session, &sql).await.rows, [tiny_row(2)]);
    // Interrupted and resumed, it is whole.
    origin.put("/1", tiny(3));
    origin.clear_log();
    origin.script(|seen| (seen.index == 0).then_some(Fault::CloseAfter(100)));
    let session = self::session();
    assert_eq!(answer(&session, &sql).await.rows, [tiny_row(3)]);
    origin.clear_script();
    assert_eq!(answer(&session, &sql).await.report.cache.revalidated, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn t14_mirrors_that_disagree_end_in_an_error_when_warm_too() {
    for weak in ["", "W/"] {
        let origin = Origin::builder().file("/1", large(1)).start().await;
        let session = session();
        let sql = over(&origin, &["/1"], BY_VERSION);
        answer(&session, &sql).await;
        origin.clear_log();
        origin.script(move |seen| Some(Fault::set_header("etag", format!("{weak}\"mirror-{}\"", seen.index % 2))));
        let error = refusal(&session, &sql).await;
        assert_eq!(error.kind(), ErrorKind::SourceChanged, "{error:?}");
        let text = error.to_string();
        assert!(text.contains("/1") && text.contains("mirror-"), "{text}");
        // A strong tag is a condition, which the origin holds against its own.
        assert!(weak.is_empty() || text.contains("mirror-0") && text.contains("mirror-1"), "{text}");
        assert!(origin.requests() <= 3 * 4 + 1, "{:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t16_the_same_tag_with_another_size_is_a_change_when_warm_too() {
    let tags = EntryTags { etag: Tag::Custom("\"same\"".to_owned()), ..EntryTags::default() };
    let origin = Origin::builder().file_with("/1", large(1), tags).start().await;
    let session = session();
    let sql = over(&origin, &["/1"], BY_VERSION);
    answer(&session, &sql).await;
    origin.put("/1", versioned(2, 3, 45_000));
    let found = answer(&session, &sql).await;
    assert_eq!((found.rows, found.report.restarts), (vec!["2|135000".to_owned()], 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn t18_not_modified_is_no_answer_to_an_open_question() {
    for kept in [false, true] {
        let origin = Origin::builder().file("/1", tiny(1)).start().await;
        let session = session();
        let sql = over(&origin, &["/1"], BY_VERSION);
        if kept {
            // Without a tag there is nothing to name in a condition.
            origin.script(|_| Some(Fault::without_headers(&["etag"])));
            answer(&session, &sql).await;
        }
        origin.script(|_| Some(Fault::NotModified));
        let error = refusal(&session, &sql).await;
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_followed_anew_by_each_query() {
    let builder = Origin::builder().file("/v1", large(1)).file("/v2", large(2));
    let origin = builder.file("/s1", tiny(1)).file("/s2", tiny(2)).start().await;
    for (alias, target, rows) in
        [("/latest", "/v", [large_row(1), large_row(2)]), ("/small", "/s", [tiny_row(1), tiny_row(2)])]
    {
        let session = session();
        let sql = over(&origin, &[alias], BY_VERSION);
        for (version, row) in rows.into_iter().enumerate() {
            let location = format!("{target}{}", version + 1);
            origin.script(move |seen| (seen.path == alias).then(|| Fault::redirect(302, location.clone())));
            for _ in 0..2 {
                // The old target is still there, and would still match its tag.
                assert_eq!(answer(&session, &sql).await.rows, std::slice::from_ref(&row), "{alias}");
            }
        }
    }
}
