//! The virtual column `filename`.

use farquet_core::ErrorKind;
use farquet_testkit::Origin;
use farquet_tests::{answer, files, refusal, session};

use crate::data::{count, file, large, texts};

/// Files `/a`, `/b` and `/c` of 10, 20 and 30 rows, and SQL with all of them as `t` and where they are as `BASE`.
async fn three() -> (Origin, impl Fn(&str) -> String) {
    let origin = Origin::builder();
    let origin = [("/a", 10), ("/b", 20), ("/c", 30)]
        .into_iter()
        .fold(origin, |origin, (path, rows)| origin.file(path, file(vec![("id", count(0, rows))])));
    let origin = origin.start().await;
    let base = origin.url("/").to_string();
    let table = format!("read_parquet('{base}{{a,b,c}}?secret=1')");
    (origin, move |sql: &str| sql.replace(" t ", &format!(" {table} t ")).replace("BASE", &base))
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_where_a_row_is_from() {
    let (origin, sql) = three().await;
    let base = origin.url("/").to_string();
    let cases: &[(&str, &[&str])] = &[
        ("SELECT filename, count(*) FROM t GROUP BY 1 ORDER BY 1", &["BASEa|10", "BASEb|20", "BASEc|30"]),
        ("SELECT count(*), max(id) FROM t WHERE filename = 'BASEb'", &["20|19"]),
        ("SELECT count(*) FROM t WHERE filename LIKE '%c' OR filename LIKE '%a'", &["40"]),
        ("SELECT count(DISTINCT filename), count(filename) FROM t ", &["3|60"]),
        ("SELECT DISTINCT filename FROM t WHERE id = 25", &["BASEc"]),
        ("SELECT id, filename FROM t WHERE id = 15 ORDER BY filename DESC", &["15|BASEc", "15|BASEb"]),
        ("SELECT min(filename), max(filename) FROM t ", &["BASEa|BASEc"]),
        ("SELECT count(*) FROM t WHERE filename IS NULL", &["0"]),
        ("SELECT t.filename FROM t WHERE t.id = 29", &["BASEc"]),
        ("SELECT upper(right(filename, 1)) AS f, count(*) FROM t GROUP BY f ORDER BY f", &["A|10", "B|20", "C|30"]),
        ("SELECT max(f) FROM (SELECT filename AS f FROM t WHERE id < 5)", &["BASEc"]),
    ];
    let session = session();
    for (case, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|row| row.replace("BASE", &base)).collect();
        assert_eq!(answer(&session, &sql(case)).await.rows, expected, "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_star_does_not_contain_it() {
    let (origin, sql) = three().await;
    let session = session();
    let cases = [
        ("SELECT * FROM t WHERE id = 25", "25".to_owned()),
        ("SELECT * FROM t WHERE id = 25 AND filename LIKE '%c'", "25".to_owned()),
        ("SELECT t.* FROM t WHERE t.id = 25 AND t.filename LIKE '%c'", "25".to_owned()),
        ("SELECT *, filename FROM t WHERE id = 25", format!("25|{}", origin.url("/c"))),
        ("SELECT * FROM (SELECT filename, id FROM t ) WHERE id = 25", format!("{}|25", origin.url("/c"))),
        ("SELECT * EXCLUDE (id), 1 AS one FROM t WHERE id = 25 AND filename > ''", "1".to_owned()),
        ("SELECT count(*) FROM (SELECT * FROM t WHERE filename LIKE '%a')", "10".to_owned()),
    ];
    for (case, expected) in cases {
        assert_eq!(answer(&session, &sql(case)).await.rows, [expected], "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn views_pass_it_on() {
    let (origin, sql) = three().await;
    let session = session();
    answer(&session, &sql("CREATE VIEW v AS SELECT id, filename FROM t ")).await;
    let grouped = answer(&session, "SELECT filename, count(*) FROM v GROUP BY 1 ORDER BY 1 LIMIT 1").await;
    assert_eq!(grouped.rows, [format!("{}|10", origin.url("/a"))]);
    answer(&session, &sql("CREATE VIEW w AS SELECT * FROM t ")).await;
    assert_eq!(refusal(&session, "SELECT filename FROM w").await.kind(), ErrorKind::Query, "a star leaves it out");
}

/// Files that the filter excludes are opened, since their schemas count, and not read.
#[tokio::test(flavor = "multi_thread")]
async fn it_prunes_files() {
    let origin = Origin::builder().file("/a", large(1)).file("/b", large(2)).start().await;
    let sql = format!("SELECT sum(v) FROM t WHERE filename = '{}'", origin.url("/b"));
    let answer = answer(&session(), &files::over(&origin, &["/a", "/b"], &sql)).await;
    assert_eq!(answer.rows, ["240000"]);
    assert_eq!(answer.report.row_groups_read, 3);
    let data = answer.report.records.iter().filter(|record| record.cause.as_str() == "data");
    assert!(data.clone().count() > 0 && data.clone().all(|record| record.url.ends_with("/b")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_of_that_name_wins() {
    let own = file(vec![("id", count(1, 2)), ("filename", texts([Some("mine"), None]))]);
    let origin = Origin::builder().file("/own", own).file("/other", file(vec![("id", count(3, 1))])).start().await;
    let session = session();
    let over = |paths: &[&str], sql: &str| files::over(&origin, paths, sql);
    let one = answer(&session, &over(&["/own"], "SELECT * FROM t WHERE filename = 'mine'")).await;
    assert_eq!(one.rows, ["1|mine"]);
    let two = answer(&session, &over(&["/own", "/other"], "SELECT id, filename FROM t ORDER BY id")).await;
    assert_eq!(two.rows, ["1|mine", "2|NULL", "3|NULL"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_them_need_names() {
    let (origin, sql) = three().await;
    let session = session();
    let join = format!("FROM t JOIN '{}' u ON t.id = u.id WHERE t.filename LIKE '%c' AND t.id < 3", origin.url("/a"));
    let ambiguous = refusal(&session, &sql(&format!("SELECT filename {join}"))).await;
    assert_eq!(ambiguous.kind(), ErrorKind::Query);
    let named = answer(&session, &sql(&format!("SELECT DISTINCT t.filename, u.filename AS other {join}"))).await;
    assert_eq!(named.rows, [format!("{}|{}", origin.url("/c"), origin.url("/a"))]);
}
