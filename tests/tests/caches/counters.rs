//! What the counters tell of large files, what is held while a result is open, and room that is not taken from others.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use farquet_core::stats::{CacheCounts, Cause, Report};
use farquet_core::{ErrorKind, Limits};
use farquet_testkit::Origin;
use farquet_tests::files::{BY_VERSION, GROUPS, large, large_row, over, ranges, tiny, versioned, write};
use farquet_tests::{World, answer, rows, session};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

fn counts(hits: u64, revalidated: u64, misses: u64) -> CacheCounts {
    CacheCounts { hits, revalidated, misses, ..CacheCounts::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_files_are_hits_by_their_data_and_revalidated_by_a_look() {
    let origin = Origin::builder().file("/1", large(1)).file("/2", large(5)).start().await;
    let session = session();
    let mut footers = 0;
    for (statement, rows, expected, restarts) in [
        (BY_VERSION, "1|120000", counts(0, 0, 2), 0),
        (BY_VERSION, "1|120000", counts(2, 0, 0), 0),
        ("SELECT max(v) FROM t ", "5", counts(0, 2, 0), 0),
        // One is pruned, the other is read.
        ("SELECT count(n) FROM t WHERE v = 5", "120000", counts(1, 1, 0), 0),
    ] {
        let report = answer(&session, &over(&origin, &["/1", "/2"], statement)).await;
        assert_eq!(report.rows[0], rows, "{statement}");
        let report = report.report;
        assert_eq!((report.cache, report.restarts), (expected, restarts), "{statement}: {:?}", ranges(&origin.log()));
        assert_eq!((report.usage.bodies.entries, report.usage.footers.entries), (0, 2), "{statement}");
        // What a query's footers take is what the cache takes for them.
        assert_eq!(report.usage.footers.bytes, report.footer_bytes, "{statement}");
        footers = report.footer_bytes;
    }
    assert!(footers > 0);
    // One has changed, and the other is asked about because of it: nothing is taken on trust any more.
    origin.put("/2", large(7));
    let report = answer(&session, &over(&origin, &["/1", "/2"], "SELECT max(v) FROM t ")).await;
    assert_eq!(report.rows, ["7"]);
    let report = report.report;
    assert_eq!((report.restarts, report.cache.misses), (1, 1), "{:?}", report.cache);
    assert!(report.cache.revalidated >= 1, "{:?}", report.cache);
    assert_eq!(report.files, 2, "those of the last attempt");
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_are_held_as_long_as_somebody_reads() {
    let origin = Origin::builder().file("/1", tiny(1)).file("/2", tiny(1)).start().await;
    let session = session();
    let size = tiny(1).len() as u64;
    let sql = over(&origin, &["/1", "/2"], BY_VERSION);
    let result = session.query(&sql).await.expect("an answer");
    assert!(session.client().usage().held <= 2 * size);
    drop(result);
    assert_eq!(session.client().usage().held, 0);
    let snapshot = session.snapshot();
    for _ in 0..2 {
        drop(snapshot.query(&sql).await.expect("an answer"));
        assert_eq!(session.client().usage().held, 2 * size, "a snapshot holds each file once");
    }
    // Those of the cache are the same bytes, but they may leave it.
    session.client().clear_caches();
    origin.clear_log();
    drop(snapshot.query(&sql).await.expect("an answer"));
    assert_eq!((origin.requests(), session.client().usage().held), (0, 2 * size));
    drop(snapshot);
    assert_eq!(session.client().usage().held, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_of_more_bytes_than_fit_leaves_the_cache_alone() {
    let body = |version| versioned(version, 1, 900);
    let few: Vec<String> = (0..4).map(|n| format!("/few/{n}")).collect();
    let many: Vec<String> = (0..20).map(|n| format!("/many/{n}")).collect();
    let builder = few.iter().chain(&many).fold(Origin::builder(), |builder, path| builder.file(path, body(1)));
    let origin = builder.start().await;
    let mut world = World::default();
    world.settings.body_cache.bytes = 10 * body(1).len() as u64;
    let session = world.session();
    let sql = |paths: &[String]| over(&origin, &paths.iter().map(String::as_str).collect::<Vec<_>>(), BY_VERSION);
    answer(&session, &sql(&few)).await;
    // The first scan knows no sizes, the others do.
    for scan in ["first", "second", "third"] {
        let found = answer(&session, &sql(&many)).await;
        assert_eq!(found.rows, ["1|18000"], "{scan}");
        let again = answer(&session, &sql(&few)).await.report;
        assert_eq!((again.cache.revalidated, again.bytes_received), (4, 0), "{scan}: {:?}", found.report.cache);
        assert_eq!(found.report.cache.evictions, 0, "{scan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_of_a_file_is_made_of_today() {
    for new in [large(7), tiny(7)] {
        let origin = Origin::builder().file("/1", large(1)).start().await;
        let session = session();
        answer(&session, &over(&origin, &["/1"], BY_VERSION)).await;
        let rows = if new.len() > 100_000 { large_row(7) } else { "7|100".to_owned() };
        origin.put("/1", new);
        origin.clear_log();
        let made = answer(&session, &over(&origin, &["/1"], &format!("CREATE TABLE made AS {BY_VERSION}"))).await;
        assert_eq!(made.report.restarts, 1);
        assert!(origin.requests() <= 2 + GROUPS, "{:?}", ranges(&origin.log()));
        // It is known to have changed before anything is made.
        assert_eq!(origin.log()[0].range.as_deref(), Some("bytes=0-0"));
        assert_eq!(answer(&session, "SELECT * FROM made").await.rows, [rows]);
    }
}

/// Many small pages, whose index is too long to come with the footer.
fn indexed(version: i64) -> Bytes {
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(20)
        .set_write_batch_size(20)
        .build();
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let columns = [("v", column(vec![version; 400_000])), ("n", column((0..400_000).collect()))];
    write([RecordBatch::try_from_iter(columns).expect("columns of one length")], properties)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_index_is_read_once() {
    // So slow that the index is worth its hop.
    let origin = Origin::builder().bandwidth(8 << 20).file("/1", indexed(1)).start().await;
    let session = session();
    let sql = over(&origin, &["/1"], "SELECT v FROM t WHERE n = 123456");
    let causes = |report: &Report| report.records.iter().map(|request| request.cause).collect::<Vec<_>>();
    let cold = answer(&session, &sql).await;
    assert_eq!(cold.rows, ["1"]);
    assert_eq!(causes(&cold.report)[..2], [Cause::Footer, Cause::PageIndex]);
    let warm = answer(&session, &sql).await;
    assert_eq!(warm.rows, cold.rows);
    assert!(causes(&warm.report).iter().all(|cause| *cause == Cause::Data), "{:?}", causes(&warm.report));
    // The cache knows what it weighs with it.
    assert_eq!(warm.report.usage.footers.bytes, warm.report.footer_bytes);
    origin.put("/1", indexed(2));
    let changed = answer(&session, &sql).await;
    assert_eq!((changed.rows, changed.report.restarts), (vec!["2".to_owned()], 1));
    assert_eq!(causes(&changed.report).iter().filter(|cause| **cause == Cause::PageIndex).count(), 1, "that of today");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_say_nothing_about_files() {
    let origin = Origin::builder().file("/1", tiny(1)).file("/2", large(1)).start().await;
    let session = session();
    let sql = over(&origin, &["/1", "/2"], BY_VERSION);
    answer(&session, &sql).await;
    let statement = session.parse(&sql).expect("SQL").remove(0);
    for requests in 0..4 {
        let poor = session.begin(Limits { max_requests: Some(requests), max_bytes: None });
        let error = session.run(&poor, &statement).await.expect_err("too few");
        assert_eq!(error.kind(), ErrorKind::Budget, "{requests}");
        let usage = session.client().usage();
        assert_eq!((usage.bodies.entries, usage.footers.entries, usage.held), (1, 1, 0), "{requests}");
    }
    let enough = session.begin(Limits { max_requests: Some(4), max_bytes: None });
    assert_eq!(rows(session.run(&enough, &statement).await.expect("an answer")).await.expect("rows"), ["1|120100"]);
    assert_eq!(enough.report().status, [(206, 3), (304, 1)].into());
}
