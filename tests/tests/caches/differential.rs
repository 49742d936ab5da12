//! A session that knows files of yesterday answers as one that knows nothing, whatever was changed and is asked.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use bytes::Bytes;
use farquet_core::{ErrorKind, Result};
use farquet_sql::Session;
use farquet_testkit::Origin;
use farquet_tests::files::{over, ranges, versioned, write};
use farquet_tests::{Answer, World, ask};
use parquet::file::properties::WriterProperties;

const STATEMENTS: [&str; 25] = [
    "SELECT count(*) FROM t ",
    "SELECT count(*) FROM t WHERE v = 7",
    "SELECT count(*) FROM t WHERE v IS NULL",
    "SELECT count(n) FROM t WHERE v > 3",
    "SELECT min(v), max(v), min(n), max(n) FROM t ",
    "SELECT sum(n) FROM t WHERE v <> 1",
    "SELECT v, count(*) FROM t GROUP BY v ORDER BY v",
    "SELECT v, n FROM t ORDER BY n",
    "SELECT n FROM t ORDER BY n DESC LIMIT 3",
    "SELECT v, n FROM t ORDER BY v, n LIMIT 3",
    "SELECT n FROM t WHERE v = 7 ORDER BY n LIMIT 2",
    "SELECT n FROM t WHERE v > 100 LIMIT 5",
    "SELECT DISTINCT v FROM t ORDER BY v",
    "SELECT v FROM t WHERE n >= 7000000000 GROUP BY v ORDER BY v",
    "SELECT a.v, count(*) FROM t AS a JOIN t AS b ON a.n = b.n WHERE b.v > 2 GROUP BY a.v ORDER BY a.v",
    "SELECT a.v, b.n FROM (SELECT max(v) AS v FROM t ) AS a JOIN t AS b ON a.v = b.v ORDER BY b.n LIMIT 3",
    "SELECT count(*) FROM (SELECT v FROM t UNION ALL SELECT n FROM t ) WHERE v = 7",
    "SELECT count(*) > 0 FROM t WHERE v = 7",
    "SELECT count(*) FROM t WHERE v IN (SELECT max(v) FROM t )",
    "SELECT * FROM t ORDER BY n LIMIT 2",
    "SELECT max(extra) FROM t ",
    "SELECT count(*) FROM t WHERE extra = 5",
    "SELECT v, n FROM (SELECT v, n, row_number() OVER (PARTITION BY v ORDER BY n) AS r FROM t ) WHERE r = 1 ORDER BY v",
    "SELECT filename, max(v) FROM t GROUP BY filename ORDER BY filename",
    "EXPLAIN SELECT v FROM t WHERE v = 7",
];

fn column<T: Into<ArrayRef>>(name: &str, values: T) -> (String, ArrayRef) {
    (name.to_owned(), values.into())
}

fn file(columns: Vec<(String, ArrayRef)>) -> Bytes {
    write([RecordBatch::try_from_iter(columns).expect("columns of one length")], WriterProperties::new())
}

fn ints(values: std::ops::Range<i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

/// What may come of a file.
fn changes() -> Vec<(&'static str, Option<Bytes>)> {
    let doubles: ArrayRef = Arc::new(Float64Array::from_iter_values((0..900).map(|n| f64::from(n) / 2.0)));
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None; 900]));
    vec![
        ("other values", Some(versioned(7, 3, 500))),
        ("a row more", Some(versioned(1, 3, 501))),
        ("more row groups", Some(versioned(0, 5, 500))),
        ("fewer rows", Some(versioned(9, 1, 50))),
        (
            "a column more",
            Some(file(vec![
                column("v", ints(0..900)),
                column("gap", ints(0..900)),
                column("n", ints(5..905)),
                column("extra", ints(5..905)),
            ])),
        ),
        ("a column less", Some(file(vec![column("v", ints(0..900)), column("gap", ints(0..900))]))),
        (
            "another type",
            Some(file(vec![column("v", doubles), column("gap", ints(0..900)), column("n", ints(0..900))])),
        ),
        ("only nulls", Some(file(vec![column("v", nulls), column("gap", ints(0..900)), column("n", ints(0..900))]))),
        ("no file", None),
        ("no Parquet", Some(Bytes::from_static(b"<html><body>please log in</body></html>"))),
    ]
}

fn knowing(small_file: u64, partitions: usize) -> Session {
    let mut world = World { partitions, ..World::default() };
    world.settings.small_file = small_file;
    world.session()
}

/// Asks each statement of a session that knows `paths` from before `changed` was.
async fn compare(paths: [&str; 2], small_file: u64, partitions: usize) {
    let mut wrong = Vec::new();
    for (name, new) in changes() {
        let origin = Origin::builder().file("/a", versioned(3, 3, 500)).file("/b", versioned(1, 3, 500)).start().await;
        for statement in STATEMENTS {
            origin.put("/b", versioned(1, 3, 500));
            let sql = over(&origin, &paths, statement);
            let warm = knowing(small_file, partitions);
            // One that does not know the column yet refuses.
            drop(ask(&warm, &sql).await);
            drop(ask(&warm, &over(&origin, &paths, STATEMENTS[4])).await);
            match &new {
                Some(bytes) => origin.put("/b", bytes.clone()),
                None => origin.remove("/b"),
            }
            let expected = told(ask(&knowing(small_file, partitions), &sql).await);
            origin.clear_log();
            let found = ask(&warm, &sql).await;
            assert!(
                found.as_ref().is_ok_and(|found| found.report.restarts <= 1) || found.is_err(),
                "{name}, {statement}"
            );
            let found = told(found);
            if found != expected {
                wrong.push(format!(
                    "{name}, {statement}: {found:?} instead of {expected:?}, {:?}",
                    ranges(&origin.log())
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows, or what kind of error is told and how.
fn told(answer: Result<Answer>) -> std::result::Result<Vec<String>, (ErrorKind, String)> {
    answer.map(|answer| answer.rows).map_err(|error| (error.kind(), error.to_string()))
}

#[tokio::test(flavor = "multi_thread")]
async fn with_footers_of_yesterday() {
    compare(["/a", "/b"], 0, 1).await;
    compare(["/b", "/a"], 0, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_small_files_of_yesterday() {
    compare(["/a", "/b"], 256 << 10, 8).await;
    compare(["/b", "/b"], 256 << 10, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_has_the_columns_of_today() {
    // Rows are those of the first file, and columns those of both.
    for (name, new) in changes() {
        let Some(bytes) = new else { continue };
        let origin = Origin::builder().file("/a", versioned(3, 3, 500)).file("/b", versioned(1, 3, 500)).start().await;
        let sql = over(&origin, &["/a", "/b"], "SELECT * FROM t LIMIT 2");
        let warm = knowing(0, 1);
        ask(&warm, &sql).await.expect("rows");
        origin.put("/b", bytes);
        let columns =
            |found: Result<Answer>| found.map(|found| found.rows[0].split('|').count()).map_err(|error| error.kind());
        let expected = columns(ask(&knowing(0, 1), &sql).await);
        assert_eq!(columns(ask(&warm, &sql).await), expected, "{name}");
    }
}
