//! SQL from everywhere, and several statements of it.

use std::fs;

use crate::support::{farquet, farquet_in, farquet_reading, names, tiny, tiny_origin};

#[test]
fn sql_comes_from_arguments_files_and_pipes() {
    farquet(&["SELECT 1 AS a"]).prints("a\n1\n");
    farquet_reading("SELECT 2 AS a", &[]).prints("a\n2\n");
    farquet_reading("\u{feff}SELECT 3 AS a;\n-- the end\n", &["-f", "-"]).prints("a\n3\n");
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("q.sql"), "SELECT 4 AS a;").expect("a file");
    farquet_in(directory.path(), &["-f", "q.sql"]).prints("a\n4\n");
    // An argument wins over a pipe.
    farquet_reading("SELECT 5 AS a", &["SELECT 6 AS a"]).prints("a\n6\n");
}

#[test]
fn results_follow_one_another() {
    let two = "SELECT 1 AS a; SELECT 2 AS b";
    farquet(&[two]).prints("a\n1\n\nb\n2\n");
    farquet(&["--format", "json", two]).prints("[{\"a\":1}]\n[{\"b\":2}]\n");
    farquet(&["--format", "ndjson", two]).prints("{\"a\":1}\n{\"b\":2}\n");
    farquet(&["--format", "markdown", two]).prints("| a |\n| ---: |\n| 1 |\n\n| b |\n| ---: |\n| 2 |\n");
}

#[test]
fn statements_share_a_session() {
    let (origin, url) = tiny_origin();
    let sql = format!(
        "CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{url}'; CREATE VIEW v AS SELECT id FROM t WHERE id > 1; \
         SELECT count(*) AS n FROM v"
    );
    farquet(&[&sql]).prints("n\n2\n");
    assert!(origin.requests() > 0);
}

#[test]
fn an_error_ends_the_run() {
    let ran = farquet(&["SELECT 1 AS a; SELECT nope; SELECT 3 AS c"]).exits(1);
    assert_eq!(ran.out, "a\n1\n");
    // Nothing runs where not everything is SQL.
    assert_eq!(farquet(&["SELECT 1 AS a; SELEC 2"]).exits(1).out, "");
}

#[test]
fn a_file_holds_one_result() {
    let directory = tempfile::tempdir().expect("a directory");
    let ran = farquet_in(directory.path(), &["-o", "x.csv", "SELECT 1; SELECT 2"]).exits(2);
    assert!(ran.err.starts_with("error: a file holds one result"), "{}", ran.err);
    assert!(names(directory.path()).is_empty());
    farquet_in(directory.path(), &["-o", "x.csv", "CREATE VIEW v AS SELECT 1 AS a; SELECT * FROM v"]).prints("");
    assert_eq!(fs::read_to_string(directory.path().join("x.csv")).expect("text"), "a\n1\n");
    let ran = farquet_in(directory.path(), &["-o", "y.csv", "CREATE VIEW v AS SELECT 1 AS a"]).exits(0);
    assert_eq!(ran.err, "there was no result: no file was written\n");
    // Refused before anything is asked of anyone.
    let (origin, url) = tiny_origin();
    for second in [format!("DESCRIBE '{url}'"), format!("EXPLAIN SELECT * FROM '{url}'"), "SHOW TABLES".to_owned()] {
        let ran = farquet(&["--format", "arrow", &format!("SELECT * FROM '{url}'; {second}")]).exits(2);
        assert_eq!((ran.out.as_str(), origin.requests()), ("", 0), "{second}");
    }
}

#[test]
fn a_failed_query_leaves_the_old_file() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("x.csv"), "old").expect("a file");
    farquet_in(directory.path(), &["-o", "x.csv", "SELECT nope"]).exits(1);
    assert_eq!(fs::read_to_string(directory.path().join("x.csv")).expect("text"), "old");
    assert_eq!(names(directory.path()), ["x.csv"]);
}

#[test]
fn files_of_this_machine() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("a 1.parquet"), tiny()).expect("a file");
    fs::write(directory.path().join("a 2.parquet"), tiny()).expect("a file");
    farquet_in(directory.path(), &["SELECT count(*) AS n FROM 'a 1.parquet'"]).prints("n\n3\n");
    farquet_in(directory.path(), &["-t", "t=a {1,2}.parquet,./a 1.parquet", "SELECT count(*) AS n FROM t"])
        .prints("n\n9\n");
    let ran = farquet_in(directory.path(), &["SELECT * FROM 'none.parquet'"]).exits(3);
    assert!(ran.err.starts_with("error: ") && ran.err.contains("none.parquet"), "{}", ran.err);
}
