//! Limits, offsets, and files without rows.

use farquet_testkit::Origin;
use farquet_tests::{World, answer, files, session};

use crate::data::{GROUPS, ROWS, Shop, file, ints, large, texts};

#[tokio::test(flavor = "multi_thread")]
async fn limits_and_offsets() {
    let cases: &[(&str, &[&str])] = &[
        ("SELECT id FROM orders ORDER BY id LIMIT 2", &["1", "2"]),
        ("SELECT id FROM orders ORDER BY id LIMIT 2 OFFSET 7", &["8"]),
        ("SELECT id FROM orders ORDER BY id OFFSET 6", &["7", "8"]),
        ("SELECT id FROM orders ORDER BY id DESC LIMIT 2 OFFSET 1", &["7", "6"]),
        ("SELECT id FROM orders LIMIT 0", &[]),
        ("SELECT id FROM orders OFFSET 100", &[]),
        ("SELECT count(*) FROM (SELECT * FROM orders LIMIT 3)", &["3"]),
        ("SELECT count(*) FROM (SELECT * FROM orders WHERE amount > 5 LIMIT 3)", &["3"]),
        ("SELECT count(*) FROM (SELECT * FROM orders OFFSET 3)", &["5"]),
        ("SELECT max(id) FROM (SELECT id FROM orders ORDER BY id LIMIT 3)", &["3"]),
    ];
    Shop::open().await.check(cases).await;
}

/// Limits cut within pages, pages within row groups, and go on over row groups and files.
#[tokio::test(flavor = "multi_thread")]
async fn limits_over_row_groups_and_files() {
    let origin = Origin::builder().file("/a", large(1)).file("/b", large(2)).start().await;
    let rows = GROUPS * ROWS;
    for partitions in [1, 4] {
        let session = World { partitions, ..World::default() }.session();
        for limit in [1, 39_999, 40_000, 40_001, rows + 5, 2 * rows, 3 * rows] {
            let sql = format!("SELECT count(*), count(DISTINCT v * 1000000 + n) FROM (SELECT * FROM t LIMIT {limit})");
            let expected = limit.min(2 * rows);
            let answer = answer(&session, &files::over(&origin, &["/a", "/b"], &sql)).await;
            assert_eq!(answer.rows, [format!("{expected}|{expected}")], "{limit}");
        }
        let sql = files::over(&origin, &["/a", "/b"], "SELECT count(*) FROM (SELECT n FROM t OFFSET 150000)");
        assert_eq!(answer(&session, &sql).await.rows, ["90000"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_without_rows() {
    let none = file(vec![("id", ints([])), ("name", texts([]))]);
    let some = file(vec![("id", ints([Some(1)])), ("name", texts([Some("x")]))]);
    let origin = Origin::builder().file("/none", none).file("/some", some).start().await;
    let cases: &[(&[&str], &str, &[&str])] = &[
        (&["/none"], "SELECT * FROM t ", &[]),
        (&["/none"], "SELECT count(*), min(id), max(name) FROM t ", &["0|NULL|NULL"]),
        (&["/none"], "SELECT id, count(*) FROM t GROUP BY id", &[]),
        (&["/none"], "SELECT * FROM t WHERE id = 1", &[]),
        (&["/none"], "SELECT * FROM t ORDER BY id LIMIT 3", &[]),
        (&["/none", "/some", "/none"], "SELECT * FROM t ", &["1|x"]),
        (&["/none", "/some"], "SELECT count(*), min(id), max(name) FROM t ", &["1|1|x"]),
    ];
    let session = session();
    for (paths, sql, expected) in cases {
        assert_eq!(answer(&session, &files::over(&origin, paths, sql)).await.rows, *expected, "{sql} {paths:?}");
    }
}
