//! Bounds and switches: off is exactly the ranged reader, and what does not fit is read without the cache.

use std::collections::HashMap;

use farquet_core::stats::CacheCounts;
use farquet_core::{Bounds, FooterScope, Freshness, Settings};
use farquet_sql::Session;
use farquet_testkit::{EntryTags, Origin};
use farquet_tests::files::{BY_VERSION, large, over, ranges, tiny};
use farquet_tests::{World, answer, ms};

fn session(change: impl FnOnce(&mut Settings)) -> Session {
    let mut world = World::default();
    change(&mut world.settings);
    world.session()
}

async fn origin(files: usize) -> (Origin, Vec<String>) {
    let paths: Vec<String> = (0..files).map(|n| format!("/{n}")).collect();
    let builder = paths.iter().fold(Origin::builder(), |builder, path| builder.file(path, tiny(1)));
    (builder.start().await, paths)
}

fn all(origin: &Origin, paths: &[String], sql: &str) -> String {
    over(origin, &paths.iter().map(String::as_str).collect::<Vec<_>>(), sql)
}

#[tokio::test(flavor = "multi_thread")]
async fn off_is_the_ranged_reader() {
    let origin = Origin::builder().file("/tiny", tiny(1)).file("/large", large(1)).start().await;
    let sql = over(&origin, &["/tiny", "/large"], BY_VERSION);
    for off in [
        (|settings| {
            settings.small_file_cache = false;
            settings.footer_scope = FooterScope::Query;
        }) as fn(&mut Settings),
        |settings| (settings.body_cache.bytes, settings.footer_cache.bytes) = (0, 0),
        |settings| (settings.body_cache.entries, settings.footer_cache.entries) = (0, 0),
    ] {
        let session = session(off);
        for _ in 0..3 {
            origin.clear_log();
            answer(&session, &sql).await;
            let mut asked = ranges(&origin.log());
            asked.retain(|range| range.starts_with("bytes=-"));
            assert_eq!(asked.len(), 2, "two tails, and neither a condition nor a whole file");
            assert!(origin.log().iter().all(|request| request.header("if-none-match").is_none()));
            assert_eq!(origin.requests(), 2 + 3);
        }
        let usage = session.client().usage();
        assert_eq!((usage.bodies.entries, usage.footers.entries, usage.held), (0, 0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn footers_may_be_kept_without_small_files_and_the_other_way_round() {
    let origin = Origin::builder().file("/tiny", tiny(1)).file("/large", large(1)).start().await;
    let sql = over(&origin, &["/tiny", "/large"], BY_VERSION);
    let footers = session(|settings| settings.small_file_cache = false);
    let bodies = session(|settings| settings.footer_scope = FooterScope::Query);
    // Data only; a validation, a footer and data.
    for (session, requests) in [(footers, 1 + 3), (bodies, 1 + 1 + 3)] {
        answer(&session, &sql).await;
        origin.clear_log();
        answer(&session, &sql).await;
        assert_eq!(origin.requests(), requests, "{:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_tell_what_became_of_each_file() {
    let (origin, paths) = origin(6).await;
    let session = session(|settings| settings.body_cache.entries = 4);
    let sql = |n: usize| all(&origin, &paths[n..n + 3], BY_VERSION);
    let counts =
        |hits, revalidated, misses, bypasses, evictions| CacheCounts { hits, revalidated, misses, bypasses, evictions };
    for (first, expected) in [
        (0, counts(0, 0, 3, 0, 0)),
        (0, counts(0, 3, 0, 0, 0)),
        // As long as their sizes are not known, they take what room there is.
        (3, counts(0, 0, 3, 2, 0)),
        (3, counts(0, 1, 2, 0, 2)),
        (3, counts(0, 3, 0, 0, 0)),
    ] {
        let report = answer(&session, &sql(first)).await.report;
        assert_eq!(report.cache, expected, "from {first}");
        assert!(report.usage.bodies.entries <= 4);
        assert!(report.footer_bytes > 0);
    }
    let usage = session.client().usage();
    assert_eq!((usage.bodies.entries, usage.footers.entries, usage.held), (4, 0, 0));
    assert!(usage.bodies.bytes >= 4 * tiny(1).len() as u64);
    session.client().clear_caches();
    assert_eq!(session.client().usage().bodies, farquet_core::Residency::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_of_more_files_than_fit_leaves_the_cache_alone() {
    let (origin, paths) = origin(20).await;
    let session = session(|settings| settings.body_cache = Bounds { bytes: 1 << 20, entries: 8 });
    let few = all(&origin, &paths[..4], BY_VERSION);
    answer(&session, &few).await;
    let many = answer(&session, &all(&origin, &paths, BY_VERSION)).await;
    assert_eq!(many.rows, ["1|2000"]);
    assert_eq!((many.report.cache.bypasses, many.report.cache.evictions), (12, 0));
    let again = answer(&session, &few).await.report;
    assert_eq!((again.cache.revalidated, again.bytes_received), (4, 0));
    // The same by bytes, once the sizes are known.
    let session = self::session(|settings| settings.body_cache.bytes = 10 * tiny(1).len() as u64);
    let many = all(&origin, &paths, BY_VERSION);
    answer(&session, &many).await;
    origin.clear_log();
    let report = answer(&session, &many).await.report;
    assert!(report.cache.evictions == 0, "{:?}", report.cache);
    // What is kept is asked about; all else comes in parts.
    let whole = |request: &&farquet_testkit::Logged| request.range.as_deref() == Some("bytes=0-262144");
    assert!(
        origin.log().iter().filter(whole).all(|request| request.status == Some(304)),
        "{:?}",
        ranges(&origin.log())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_may_not_be_held_are_read_again() {
    let (origin, paths) = origin(8).await;
    let sql = all(&origin, &paths, BY_VERSION);
    for change in [(|s| s.held_bytes = 5_000) as fn(&mut Settings), |s| s.held_bytes_per_query = 5_000] {
        let session = session(change);
        for _ in 0..2 {
            let found = answer(&session, &sql).await;
            assert_eq!(found.rows, ["1|800"]);
            assert!(found.report.total_requests() > 8, "{}", found.report.total_requests());
            assert_eq!(session.client().usage().held, 0);
        }
    }
}

async fn with_cache_control(value: Option<&str>) -> Origin {
    let tags = EntryTags { cache_control: value.map(str::to_owned), ..EntryTags::default() };
    let builder = Origin::builder().file_with("/1", tiny(1), tags.clone());
    builder.file_with("/2", large(1), tags).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn http_freshness_is_the_servers_word() {
    // What a second query asks about a small file, and of a large one for its footer.
    for (value, age, requests) in [
        (Some("max-age=600"), None, 0),
        (Some("max-age=600"), Some("599"), 0),
        (Some("max-age=600"), Some("600"), 2),
        (Some("max-age=600, no-cache"), None, 2),
        (Some("max-age=0"), None, 2),
        (Some("immutable"), None, 2),
        (None, None, 2),
    ] {
        let origin = with_cache_control(value).await;
        if let Some(age) = age {
            origin.script(move |_| Some(farquet_testkit::Fault::set_header("age", age)));
        }
        let session = session(|settings| settings.freshness = Freshness::Http);
        let sql = over(&origin, &["/1", "/2"], "SELECT max(v), count(*) FROM t ");
        answer(&session, &sql).await;
        origin.clear_log();
        assert_eq!(answer(&session, &sql).await.rows, ["1|120100"]);
        assert_eq!(origin.requests(), requests, "{value:?} {age:?}: {:?}", ranges(&origin.log()));
        assert_eq!(origin.body_bytes(), 0, "{value:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http_freshness_ends() {
    let origin = with_cache_control(Some("max-age=1")).await;
    let session = session(|settings| settings.freshness = Freshness::Http);
    let sql = over(&origin, &["/1", "/2"], "SELECT max(v) FROM t ");
    answer(&session, &sql).await;
    origin.put("/1", tiny(2));
    origin.put("/2", large(3));
    tokio::time::sleep(ms(1100)).await;
    assert_eq!(answer(&session, &sql).await.rows, ["3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_is_made_for_a_table_and_holds_for_it_alone() {
    let origin = with_cache_control(None).await;
    let session = session(|_| {});
    let location = format!("{},{}", origin.url("/1"), origin.url("/2"));
    session.register_files_with("promised", &location, Freshness::Immutable).expect("a table");
    session.register_files("checked", &location).expect("a table");
    let ask = |table: &str| format!("SELECT max(v) FROM {table}");
    answer(&session, &ask("promised")).await;
    origin.put("/1", tiny(2));
    origin.put("/2", large(2));
    origin.clear_log();
    assert_eq!(answer(&session, &ask("promised")).await.rows, ["1"], "as promised");
    assert_eq!(origin.requests(), 0);
    assert_eq!(answer(&session, &ask("checked")).await.rows, ["2"]);
    // A promise that data shows to be broken is one no more.
    origin.put("/2", large(3));
    let sql = "SELECT v, count(*) FROM promised GROUP BY v ORDER BY v";
    assert_eq!(answer(&session, sql).await.rows, ["2|100", "3|120000"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_analyze_has_an_http_section() {
    let origin = Origin::builder().file("/1", tiny(1)).start().await;
    let session = session(|_| {});
    let sql = over(&origin, &["/1"], "EXPLAIN ANALYZE SELECT max(v) FROM t ");
    for (status, cache) in
        [("206: 1", "0 hits, 0 revalidated, 1 misses"), ("304: 1", "0 hits, 1 revalidated, 0 misses")]
    {
        let rows = answer(&session, &sql).await.rows;
        let section = rows.iter().find(|row| row.starts_with("HTTP|")).expect("a section");
        let lines: HashMap<&str, &str> =
            section["HTTP|".len()..].lines().filter_map(|line| line.split_once(": ")).collect();
        assert_eq!(lines["requests"], format!("GET 1; answers: {status}"));
        assert!(lines["cache"].starts_with(cache), "{section}");
        assert!(lines["resident"].starts_with("1 small files"), "{section}");
    }
}
