//! The exit code of each class of failure.

use farquet_testkit::{Fault, Origin};

use crate::support::{farquet, start, tiny_origin};

fn failing(fault: Fault, code: i32) -> String {
    let (origin, url) = tiny_origin();
    origin.script(move |_| Some(fault.clone()));
    let ran = farquet(&["--retries", "0", &format!("SELECT * FROM '{url}'")]).exits(code);
    assert_eq!(ran.out, "");
    let mut lines = ran.err.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("error: ")), "{}", ran.err);
    assert!(lines.all(|line| line.starts_with("  caused by: ") || line.starts_with("hint: ")), "{}", ran.err);
    ran.err
}

#[test]
fn network_and_access() {
    assert!(failing(Fault::status(404), 3).contains("/tiny.parquet"));
    failing(Fault::status(403), 3);
    failing(Fault::status(401), 3);
    failing(Fault::status(500), 3);
    failing(Fault::retry_after(429, "0"), 3);
    failing(Fault::Abort, 3);
    let ran = farquet(&["--retries", "0", "SELECT * FROM 'http://127.0.0.1:1/x.parquet'"]).exits(3);
    assert!(ran.err.contains("127.0.0.1:1/x.parquet"), "{}", ran.err);
}

#[test]
fn query_and_data() {
    failing(Fault::html(200, "<html>please log in</html>"), 1);
    let (_origin, url) = tiny_origin();
    for sql in ["SELEC 1", "SELECT nope FROM t", "SELECT * FROM none", "SELECT CAST(name AS INT) FROM t", "SELECT 1/0"]
    {
        let ran = farquet(&["-t", &format!("t={url}"), sql]).exits(1);
        assert!(ran.err.starts_with("error: "), "{sql}: {}", ran.err);
    }
}

#[test]
fn budgets() {
    let files = farquet_testkit::fixture::small(5, 10).generate();
    let origin = start(Origin::builder().files("/", files));
    let table = format!("t={}small_{{0000..0004}}.parquet", origin.url("/"));
    let ran = farquet(&["--max-requests", "2", "-t", &table, "SELECT count(*) FROM t"]).exits(4);
    assert!(ran.err.contains("hint: raise the limit with --max-requests"), "{}", ran.err);
    assert!(origin.requests() <= 2, "{}", origin.requests());
    let ran = farquet(&["--max-bytes", "1kB", "-t", &table, "SELECT count(*) FROM t"]).exits(4);
    assert!(ran.err.contains("hint: raise the limit with --max-bytes"), "{}", ran.err);
    assert!(origin.body_bytes() <= 100_000);
    farquet(&["--max-requests", "5", "--max-bytes", "10MB", "-t", &table, "SELECT count(*) AS n FROM t"])
        .prints("n\n50\n");
}

/// An origin whose object is another one after every answer.
fn restless() -> (Origin, String) {
    let versions: Vec<_> = farquet_testkit::fixture::trips(2, 50_000).generate();
    let [one, two] = [versions[0].1.clone(), versions[1].1.clone()];
    let origin = start(Origin::builder().file("/x.parquet", one.clone()));
    origin.script(move |seen| {
        let next = if seen.index % 2 == 0 { &two } else { &one };
        Some(Fault::ReplaceAfter { path: "/x.parquet".to_owned(), bytes: next.clone() })
    });
    let url = origin.url("/x.parquet").to_string();
    (origin, url)
}

#[test]
fn a_source_that_never_rests() {
    let (_origin, url) = restless();
    let ran = farquet(&["--stats=json", &format!("SELECT sum(amount) FROM '{url}'")]).exits(5);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("\"restarts\":2") && ran.err.contains("/x.parquet"), "{}", ran.err);
}

#[test]
fn a_source_that_changes_once() {
    let versions: Vec<_> = farquet_testkit::fixture::trips(2, 50_000).generate();
    let origin = start(Origin::builder().file("/x.parquet", versions[0].1.clone()));
    let next = versions[1].1.clone();
    origin.script(move |seen| {
        let replace = Fault::ReplaceAfter { path: "/x.parquet".to_owned(), bytes: next.clone() };
        (seen.index == 0).then_some(replace)
    });
    let sql = format!("SELECT min(id) AS first, count(DISTINCT category) AS n FROM '{}'", origin.url("/x.parquet"));
    farquet(&[&sql]).prints("first,n\n50000,5\n");
}
