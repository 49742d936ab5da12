//! Files that are replaced while they are read (T13): the rows are those of one version, or the query says so.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use farquet_core::{ErrorKind, Limits, Settings};
use farquet_testkit::{EntryTags, Fault, Origin, Tag};
use farquet_tests::files::{GROUPS, ROWS, TINY_ROWS, large, over, ranges, tiny, versioned};
use farquet_tests::{World, answer, refusal, session};
use futures::StreamExt;

const PATHS: [&str; 3] = ["/1", "/2", "/3"];
/// Values of both columns: they can only differ if requests of one file were answered from two versions.
const VERSIONS: &str = "SELECT filename, v, n / 1000000000 AS w, count(*) FROM t GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
/// Three footers, and three data requests for each of the two large files.
const REQUESTS: usize = 9;

/// The files in one version: two large ones and a tiny one, all with the same layout whatever the version is.
fn files(version: i64) -> [Bytes; 3] {
    [large(version), tiny(version), large(version)]
}

fn rows(path: usize) -> usize {
    if path == 1 { TINY_ROWS } else { GROUPS * ROWS }
}

async fn origin(files: &[Bytes; 3], tags: &EntryTags) -> Origin {
    let builder = Origin::builder();
    let entries = PATHS.iter().zip(files);
    entries.fold(builder, |builder, (path, bytes)| builder.file_with(path, bytes.clone(), tags.clone())).start().await
}

/// Which version each file was read in; fails where it was two, or none, or not all of its rows.
fn version_of_each(rows_of_answer: &[String]) -> Vec<i64> {
    assert_eq!(rows_of_answer.len(), PATHS.len(), "{rows_of_answer:?}");
    let each = rows_of_answer.iter().enumerate().map(|(path, row)| {
        let values: Vec<_> = row.split('|').collect();
        let [name, v, w, count] = values[..] else { panic!("{row}") };
        assert!(name.ends_with(PATHS[path]), "{row}");
        assert_eq!(v, w, "{row}");
        assert_eq!(count, rows(path).to_string(), "{row}");
        v.parse().expect("a version")
    });
    each.collect()
}

fn replace(paths: &[usize], new: &[Bytes; 3]) -> Fault {
    let one = |path: &usize| Fault::Replace { path: PATHS[*path].to_owned(), bytes: new[*path].clone() };
    Fault::Then(paths.iter().map(one).collect())
}

/// Replaces `paths` just before request `n` is answered, for each n.
async fn replace_before_each_request(tags: EntryTags, paths: &[usize]) {
    let (old, new) = (files(1), files(2));
    for n in 0..=REQUESTS {
        let origin = origin(&old, &tags).await;
        let fault = replace(paths, &new);
        origin.script(move |seen| (seen.index == n).then(|| fault.clone()));
        let answer = answer(&session(), &over(&origin, &PATHS, VERSIONS)).await;
        let name = format!("{paths:?} before request {n}: {:?}, {:?}", answer.rows, ranges(&origin.log()));
        let versions = version_of_each(&answer.rows);
        let restarts = answer.report.restarts;
        for (path, version) in versions.iter().enumerate() {
            assert!(*version == 1 || (*version == 2 && paths.contains(&path)), "{name}");
        }
        assert!(restarts <= 1, "{restarts} restarts, {name}");
        // The link decides whether the two columns of a row group are worth one request or two.
        assert!(origin.requests() <= 2 * REQUESTS + 2 * GROUPS, "{name}");
        if n == REQUESTS {
            assert_eq!((versions, restarts, origin.requests()), (vec![1; 3], 0, REQUESTS), "{name}");
        } else if restarts == 1 {
            let new: Vec<_> = (0..PATHS.len()).map(|path| if paths.contains(&path) { 2 } else { 1 }).collect();
            assert_eq!(versions, new, "a restart reads what is there now, {name}");
        }
        // A file of two requests cannot be replaced between them without a restart.
        let late = n >= PATHS.len() && paths.contains(&0) && paths.contains(&2) && n < REQUESTS;
        assert!(!late || restarts == 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t13_all_files_are_replaced_before_any_request() {
    replace_before_each_request(EntryTags::default(), &[0, 1, 2]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t13_one_file_is_replaced_before_any_request() {
    for path in 0..PATHS.len() {
        replace_before_each_request(EntryTags::default(), &[path]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t13_weak_tags_tell_versions_apart() {
    let tags = EntryTags { etag: Tag::Weak, ..EntryTags::default() };
    replace_before_each_request(tags, &[0, 1, 2]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t13_dates_tell_versions_apart() {
    let tags = EntryTags { etag: Tag::None, ..EntryTags::default() };
    replace_before_each_request(tags, &[0, 1, 2]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t13_a_file_that_changes_all_the_time_is_given_up() {
    for (column, least) in [("v", 6), ("n", 6)] {
        let (old, new) = (large(1), large(2));
        let origin = Origin::builder().file("/1", old.clone()).start().await;
        origin.script(move |seen| {
            let bytes = if seen.index % 2 == 0 { new.clone() } else { old.clone() };
            Some(Fault::ReplaceAfter { path: "/1".to_owned(), bytes })
        });
        let session = session();
        let query = session.begin(Limits::default());
        let sql = over(&origin, &["/1"], &format!("SELECT sum({column}) FROM t "));
        let statement = session.parse(&sql).expect("a statement").remove(0);
        let error = session.run(&query, &statement).await.expect_err("versions alternate");
        assert_eq!(error.kind(), ErrorKind::SourceChanged, "{error:?}");
        assert_eq!(query.report().restarts, 2);
        let requests = origin.requests();
        // Three attempts, each with a footer request and at most four for data.
        assert!((least..=15).contains(&requests), "{requests}: {:?}", ranges(&origin.log()));
    }
}

/// Rows by file and version of both columns.
fn count(into: &mut BTreeMap<(String, i64, i64), usize>, batch: &RecordBatch) {
    let names = batch.column(0).as_string_view();
    let (v, w) = (batch.column(1).as_primitive::<Int64Type>(), batch.column(2).as_primitive::<Int64Type>());
    for row in 0..batch.num_rows() {
        assert!(!v.is_null(row) && !w.is_null(row));
        *into.entry((names.value(row).to_owned(), v.value(row), w.value(row))).or_default() += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t13_rows_that_were_handed_out_are_not_followed_by_those_of_another_version() {
    let (old, new) = (files(1), files(2));
    let mut failed = 0;
    for n in 0..=REQUESTS {
        let origin = origin(&old, &EntryTags::default()).await;
        let fault = replace(&[0, 1, 2], &new);
        origin.script(move |seen| (seen.index == n).then(|| fault.clone()));
        // One row group at a time, so that most requests are sent after the first rows were handed out.
        let mut settings = Settings::default();
        settings.bytes_in_flight = Some(1);
        let session = World { settings, partitions: 1, ..World::default() }.session();
        let sql = over(&origin, &PATHS, "SELECT filename, v, n / 1000000000 AS w FROM t ");
        let query = session.begin(Limits::default());
        let statement = session.parse(&sql).expect("a statement").remove(0);
        let mut result = session.run(&query, &statement).await.expect("the first rows");
        let mut counts = BTreeMap::new();
        let error = loop {
            match result.next().await {
                Some(Ok(batch)) => count(&mut counts, &batch),
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        let name = format!("before request {n}: {counts:?}");
        assert!(counts.keys().all(|(_, v, w)| v == w), "{name}");
        let mut seen: Vec<_> = counts.keys().map(|(file, ..)| file).collect();
        let rows_of_two_versions = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), rows_of_two_versions, "{name}");
        if let Some(error) = error {
            assert_eq!(error.kind(), ErrorKind::SourceChanged, "{name}: {error:?}");
            failed += 1;
        } else {
            assert_eq!(counts.into_values().collect::<Vec<_>>(), [rows(0), rows(1), rows(2)], "{name}");
        }
    }
    assert!(failed >= 3, "a change after the first rows fails the query: {failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_after_a_change_sees_the_new_version() {
    for refused in [false, true] {
        let origin = Origin::builder().file("/1", large(1)).start().await;
        if refused {
            origin.script(|seen| farquet_tests::files::is_suffix(seen).then(|| Fault::status(501)));
        }
        let session = session();
        let sql = over(&origin, &["/1"], "SELECT v, count(*) FROM t GROUP BY v");
        // What was learned of the size is wrong after each of these.
        let versions = [(large(1), 120_000), (versioned(2, 3, 50_000), 150_000), (tiny(3), 100), (tiny(4), 100)];
        let versions = versions.into_iter().chain([(large(5), 120_000), (versioned(6, 3, 30_000), 90_000)]);
        for (bytes, rows) in versions {
            origin.put("/1", bytes);
            origin.clear_log();
            let answer = answer(&session, &sql).await;
            assert!(answer.rows[0].ends_with(&format!("|{rows}")), "{:?}, {rows}", answer.rows);
            // What was known is taken on trust until the data says otherwise.
            assert!(answer.report.restarts <= 1, "{rows}: {:?}", ranges(&origin.log()));
        }
        origin.remove("/1");
        assert_eq!(refusal(&session, &sql).await.kind(), ErrorKind::NotFound);
    }
}
