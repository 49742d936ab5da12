//! Files that change between two queries of a session, or while the second one reads: what was kept of them hides nothing.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use farquet_core::ErrorKind;
use farquet_testkit::{EntryTags, Fault, Origin, Tag};
use farquet_tests::files::{
    BY_VERSION, GROUPS, ROWS, large, large_row, over, ranges, tiny, tiny_row, versioned, write,
};
use farquet_tests::{World, answer, refusal, session};
use futures::StreamExt;
use parquet::file::properties::WriterProperties;

/// Each answer is that of what is there, whatever was there before.
async fn follows(sizes: &[(Bytes, String)], small_file: u64) {
    let mut world = World::default();
    world.settings.small_file = small_file;
    let session = world.session();
    let origin = Origin::builder().file("/1", sizes[0].0.clone()).start().await;
    let sql = over(&origin, &["/1"], BY_VERSION);
    for (bytes, row) in sizes {
        origin.put("/1", bytes.clone());
        for _ in 0..2 {
            let found = answer(&session, &sql).await;
            assert_eq!(&found.rows, std::slice::from_ref(row), "{:?}", ranges(&origin.log()));
            assert!(found.report.restarts <= 1, "{row}: {} restarts", found.report.restarts);
        }
        origin.remove("/1");
        assert_eq!(refusal(&session, &sql).await.kind(), ErrorKind::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_overwritten_deleted_and_made_anew() {
    let small = |n| (tiny(n), tiny_row(n));
    let big = |n| (large(n), large_row(n));
    follows(&[small(1), small(2), big(3), big(4), small(5), big(6)], 256 << 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_grow_and_shrink_across_the_bound_of_small_ones() {
    let of = |n: i64, rows: usize| (versioned(n, 1, rows), format!("{n}|{rows}"));
    let bound = versioned(1, 1, 1000).len() as u64;
    follows(&[of(1, 999), of(2, 1001), of(3, 1000), of(4, 5000), of(5, 1000), of(6, 40_000), of(7, 10)], bound).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_a_kept_footer_does_not_know_are_found() {
    let statements = [
        ("SELECT count(*) FROM t WHERE v = 7", "0", format!("{}", GROUPS * ROWS)),
        ("SELECT count(*) FROM t WHERE v = 7 AND gap >= 0", "0", format!("{}", GROUPS * ROWS)),
        ("SELECT min(v), max(v) FROM t ", "1|1", "7|7".to_owned()),
        ("SELECT count(*) FROM t ", "120000", "120000".to_owned()),
        ("SELECT max(n) FROM t WHERE v > 5", "NULL", "7000119999".to_owned()),
    ];
    for (sql, before, after) in statements {
        let origin = Origin::builder().file("/1", large(1)).file("/2", large(1)).start().await;
        let session = session();
        let sql = over(&origin, &["/1"], sql);
        assert_eq!(answer(&session, &sql).await.rows, [before]);
        origin.put("/1", large(7));
        origin.clear_log();
        let found = answer(&session, &sql).await;
        assert_eq!(found.rows, [after], "{sql}: {:?}", ranges(&origin.log()));
        assert!(found.report.restarts <= 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_was_kept_is_not_told() {
    let column = |name: &str, rows: i64| (name.to_owned(), Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef);
    let file = |names: &[&str]| {
        let columns = names.iter().map(|name| column(name, 100_000));
        let uncompressed = WriterProperties::builder().set_dictionary_enabled(false).build();
        write([RecordBatch::try_from_iter(columns).expect("a batch")], uncompressed)
    };
    let origin = Origin::builder().file("/1", file(&["a"])).start().await;
    let session = session();
    answer(&session, &over(&origin, &["/1"], "SELECT sum(a) FROM t ")).await;
    origin.put("/1", file(&["b", "c"]));
    let found = answer(&session, &over(&origin, &["/1"], "SELECT sum(b), max(c) FROM t ")).await;
    assert_eq!((found.rows, found.report.restarts), (vec!["4999950000|99999".to_owned()], 1));
    origin.put("/1", file(&["d"]));
    let told = answer(&session, &format!("DESCRIBE '{}'", origin.url("/1"))).await;
    assert_eq!(told.rows.len(), 1);
    assert!(told.rows[0].starts_with("d|"), "{:?}", told.rows);
    let error = refusal(&session, &over(&origin, &["/1"], "SELECT a FROM t ")).await;
    assert_eq!(error.kind(), ErrorKind::Query, "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_stale_footers_cost_one_restart() {
    let paths: Vec<String> = (0..8).map(|n| format!("/{n}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let origin = paths.iter().fold(Origin::builder(), |builder, path| builder.file(path, large(1))).start().await;
    let session = session();
    let sql = over(&origin, &paths, BY_VERSION);
    answer(&session, &sql).await;
    for path in &paths[..6] {
        origin.put(path, large(2));
    }
    origin.clear_log();
    let found = answer(&session, &sql).await;
    assert_eq!(found.rows, [format!("1|{}", 2 * GROUPS * ROWS), format!("2|{}", 6 * GROUPS * ROWS)]);
    assert_eq!(found.report.restarts, 1);
    // The two that have not changed are told by 304 when the query begins anew.
    assert_eq!(found.report.status.get(&304), Some(&2), "{:?}", found.report.status);
}

const PATHS: [&str; 3] = ["/1", "/2", "/3"];

/// A session that knows all files, in version 1.
async fn warm() -> (Origin, farquet_sql::Session, String) {
    let builder = Origin::builder().file("/1", large(1)).file("/2", tiny(1)).file("/3", large(1));
    let (origin, session) = (builder.start().await, session());
    let sql = over(&origin, &PATHS, "SELECT filename, v, n / 1000000000 AS w FROM t ");
    answer(&session, &sql).await;
    origin.clear_log();
    (origin, session, sql)
}

fn new_version(path: &str) -> Fault {
    Fault::Replace { path: path.to_owned(), bytes: if path == "/2" { tiny(2) } else { large(2) } }
}

/// A small file's validation, three data requests for each of the others, and a proof for each where rows come as they are read.
const REQUESTS: usize = 1 + 2 * GROUPS + 2;

#[tokio::test(flavor = "multi_thread")]
async fn t13_files_that_were_kept_are_replaced_before_any_request() {
    for replaced in [&PATHS[..1], &PATHS[1..2], &PATHS[2..], &PATHS[..]] {
        for n in 0..=REQUESTS {
            let (origin, session, sql) = warm().await;
            let fault = Fault::Then(replaced.iter().map(|path| new_version(path)).collect());
            origin.script(move |seen| (seen.index == n).then(|| fault.clone()));
            let sql = format!("SELECT filename, v, w, count(*) FROM ({sql}) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
            let found = answer(&session, &sql).await;
            let name = format!("{replaced:?} before request {n}: {:?}, {:?}", found.rows, ranges(&origin.log()));
            assert!(found.report.restarts <= 1, "{name}");
            assert_eq!(found.rows.len(), PATHS.len(), "{name}");
            for (path, row) in PATHS.iter().zip(&found.rows) {
                let values: Vec<_> = row.split('|').collect();
                assert!(values[0].ends_with(path) && values[1] == values[2], "{name}");
                assert!(values[1] == "1" || replaced.contains(path), "{name}");
                let rows = if *path == "/2" { 100 } else { GROUPS * ROWS };
                assert_eq!(values[3], rows.to_string(), "{name}");
                // What was there when the query began is the least that it sees.
                assert!(n > 0 || values[1] == "2" || !replaced.contains(path), "{name}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t13_rows_that_are_handed_out_early_are_of_one_version() {
    for n in 0..=REQUESTS {
        let (origin, session, sql) = warm().await;
        let fault = Fault::Then(PATHS.iter().map(|path| new_version(path)).collect());
        origin.script(move |seen| (seen.index == n).then(|| fault.clone()));
        let Ok(mut result) = session.query(&sql).await else { panic!("no rows, replaced before request {n}") };
        let mut files = std::collections::BTreeMap::new();
        let error = loop {
            match result.next().await {
                Some(Ok(batch)) => {
                    for row in farquet_tests::texts(&[batch]) {
                        let (name, versions) = row.split_once('|').expect("columns");
                        *files.entry((name.to_owned(), versions.to_owned())).or_insert(0) += 1;
                    }
                }
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        let names: std::collections::BTreeSet<_> = files.keys().map(|(name, _)| name).collect();
        assert_eq!(names.len(), files.len(), "one version of each file: {files:?}");
        assert!(files.keys().all(|(_, versions)| versions == "1|1" || versions == "2|2"), "{files:?}");
        match error {
            Some(error) => assert_eq!(error.kind(), ErrorKind::SourceChanged, "{error:?}"),
            None => assert_eq!(files.values().sum::<usize>(), 2 * GROUPS * ROWS + 100),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_had_changed_before_never_fails_a_streamed_result() {
    let (origin, session, sql) = warm().await;
    origin.put("/3", large(2));
    let found = answer(&session, &format!("{sql} WHERE v >= 0")).await;
    assert_eq!((found.rows.len(), found.report.restarts), (2 * GROUPS * ROWS + 100, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn weak_and_missing_tags_are_never_used_again() {
    for etag in [Tag::Weak, Tag::None] {
        for last_modified in [EntryTags::default().last_modified, None] {
            let tags = EntryTags { etag: etag.clone(), last_modified, ..EntryTags::default() };
            let builder = Origin::builder().file_with("/1", large(1), tags.clone());
            let origin = builder.file_with("/2", tiny(1), tags.clone()).start().await;
            let session = session();
            let sql = over(&origin, &["/1", "/2"], BY_VERSION);
            for version in 1..4 {
                // With the same date, as within one second.
                origin.put_with("/1", large(version), tags.clone());
                origin.put_with("/2", tiny(version), tags.clone());
                origin.clear_log();
                let found = answer(&session, &sql).await;
                assert_eq!(found.rows, [format!("{version}|{}", GROUPS * ROWS + 100)], "{tags:?}");
                assert_eq!(found.report.restarts, 0, "{tags:?}");
                let log = origin.log();
                assert_eq!((log.requests(), log.by_status().get(&304)), (5, None), "{tags:?}: {:?}", ranges(&log));
                assert_eq!((found.report.cache.misses, found.report.cache.hits), (2, 0), "{tags:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_queries_and_not_plans_of_yesterday() {
    for (old, new) in [(tiny(1), tiny(2)), (large(1), large(2))] {
        let origin = Origin::builder().file("/1", old).start().await;
        let session = session();
        let sql = over(&origin, &["/1"], "CREATE VIEW w (a, \"B\") AS SELECT v, n FROM t ");
        answer(&session, &sql).await;
        assert_eq!(answer(&session, "SELECT max(a), min(\"B\") FROM w").await.rows, ["1|1000000000"]);
        origin.put("/1", new);
        assert_eq!(answer(&session, "SELECT max(a), min(\"B\") FROM w").await.rows, ["2|2000000000"]);
        let error = refusal(&session, &over(&origin, &["/1"], "PREPARE p AS SELECT max(v) FROM t ")).await;
        assert_eq!(error.kind(), ErrorKind::Query, "{error:?}");
    }
}
