//! The command line itself.

use std::time::{Duration, Instant};

use farquet_testkit::{Fault, Origin};
use serde_json::Value;

use crate::support::{farquet, farquet_reading, snapshot, start, tiny, tiny_origin};

#[test]
fn help_and_version() {
    snapshot("help", &farquet(&["--help"]).exits(0).out);
    snapshot("help-demo", &farquet(&["demo", "--help"]).exits(0).out);
    assert_eq!(farquet(&["--version"]).exits(0).out, concat!("farquet ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn mistakes_of_usage() {
    let usages: &[(&[&str], &str)] = &[
        (&["--nope"], "unexpected argument '--nope' found"),
        (&["SELECT 1", "FROM t"], "there is more than one SQL argument"),
        (&["--format", "xml", "SELECT 1"], "invalid value 'xml'"),
        (&["-t", "t", "SELECT 1"], "a table is given as NAME=URL"),
        (&["-t", "t=ftp://h/x", "SELECT 1"], "the scheme 'ftp' is not known"),
        (&["-t", "t=a.parquet", "-t", "T=b.parquet", "SELECT 1"], "the table T is given twice"),
        (&["--max-bytes", "10X", "SELECT 1"], "a size is a number"),
        (&["--timeout", "0", "SELECT 1"], "a number of seconds above 0"),
        (&["--concurrency", "0", "SELECT 1"], "invalid value '0'"),
        (&["--header", "X: y", "SELECT 1"], "a header is given as"),
        (&["--header", "https://h/path X: y", "SELECT 1"], "the origin must be like"),
        (&["-o", "x.unknown", "SELECT 1"], "the extension of x.unknown names no format"),
        (&["-o", "/no/such/folder/x.csv", "SELECT 1"], "/no/such/folder/x.csv cannot be written"),
        (&["--trace", "/no/such/folder/x", "SELECT 1"], "/no/such/folder/x cannot be written"),
        (&["-f", "/no/such/file.sql"], "/no/such/file.sql cannot be read"),
        (&["-f", "x.sql", "SELECT 1"], "cannot be used with"),
        (&["-q", "-v", "SELECT 1"], "cannot be used with"),
        (&["", "-q"], "there is no SQL"),
        (&["-q"], "there is no SQL"),
    ];
    for (args, message) in usages {
        let ran = farquet(args).exits(2);
        assert_eq!(ran.out, "", "{args:?}");
        let mut lines = ran.err.lines();
        let error = lines.next().unwrap_or_default();
        assert!(error.starts_with("error: ") && error.contains(message), "{args:?}: {error}");
        assert!(lines.all(|line| line.starts_with("hint: ")), "{args:?}: {}", ran.err);
    }
    farquet_reading("-- nothing but a remark", &[]).exits(2);
}

#[test]
fn colors_are_asked_for() {
    let plain = farquet(&["SELECT nope"]).exits(1).err;
    assert!(plain.starts_with("error: "), "{plain}");
    let colored = farquet(&["--color", "always", "SELECT nope"]).exits(1).err;
    assert!(colored.starts_with("\x1b[1;31merror:\x1b[0m "), "{colored}");
}

#[test]
fn statistics() {
    let (origin, url) = tiny_origin();
    let sql = format!("SELECT id FROM '{url}' WHERE id > 1; SELECT 1");
    let ran = farquet(&["--stats=json", &sql]).exits(0);
    let lines: Vec<Value> = ran.err.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2, "one a query");
    let stats = &lines[0];
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let mut found = keys(stats);
    found.sort();
    let mut expected = [
        "rows",
        "wall_ms",
        "hops",
        "waves",
        "connections",
        "requests",
        "status",
        "bytes_received",
        "retries",
        "restarts",
        "files",
        "row_groups",
        "cache",
        "footer_bytes",
        "resident",
        "validators",
    ];
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(stats["rows"], 2);
    assert_eq!(stats["requests"]["GET"], origin.requests());
    assert_eq!(stats["status"]["206"], origin.requests());
    assert_eq!(stats["bytes_received"], origin.body_bytes());
    assert_eq!((&stats["hops"], &stats["files"]), (&Value::from(1), &Value::from(1)));
    assert_eq!(stats["row_groups"], serde_json::json!({"total": 1, "read": 1}));
    assert_eq!(
        stats["cache"],
        serde_json::json!({"hits": 0, "revalidated": 0, "misses": 1, "bypasses": 0, "evictions": 0})
    );
    assert!(stats["footer_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    assert_eq!(stats["resident"]["bodies"]["entries"], 1);
    assert!(stats["wall_ms"].as_f64().is_some_and(|ms| ms > 0.0));
    assert_eq!(lines[1]["requests"], serde_json::json!({}));
    let text = farquet(&["--stats", &sql]).exits(0).err;
    assert!(text.starts_with("2 rows, ") && text.contains(" ms, 1 request, ") && text.contains(", 1 hop, "), "{text}");
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn failures_have_statistics_too() {
    let (_origin, url) = tiny_origin();
    let ran = farquet(&["--stats=json", &format!("SELECT * FROM '{url}x'")]).exits(3);
    let (stats, error) = ran.err.split_once('\n').expect("two lines");
    assert_eq!(serde_json::from_str::<Value>(stats).expect("JSON")["status"]["404"], 1);
    assert!(error.starts_with("error: "));
}

#[test]
fn a_trace_has_every_request() {
    let files = farquet_testkit::fixture::trips(1, 50_000).generate();
    let origin = start(Origin::builder().files("/", files).file("/tiny.parquet", tiny()));
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("trace.jsonl");
    let trace = path.to_str().expect("text");
    let (trips, tiny) = (origin.url("/trips_000.parquet"), origin.url("/tiny.parquet"));
    let sql = format!("SELECT max(length(text)) AS n FROM '{trips}'; SELECT id FROM '{tiny}'");
    farquet(&["--trace", trace, &sql]).exits(0);
    let text = std::fs::read_to_string(&path).expect("a trace");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), origin.requests());
    let keys = ["start_ms", "end_ms", "method", "url", "range", "status", "bytes", "cause", "hop"];
    let mut at = 0;
    for key in keys {
        at += text[at..].find(&format!("\"{key}\":")).expect("the keys in order");
    }
    for line in &lines {
        assert_eq!(line.as_object().expect("an object").len(), keys.len());
        assert_eq!((&line["method"], &line["status"]), (&Value::from("GET"), &Value::from(206)));
    }
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    assert_eq!((first["url"].as_str(), first["cause"].as_str()), (Some(trips.as_str()), Some("footer")));
    assert!(first["range"].as_str().is_some_and(|range| range.starts_with("bytes=")));
    assert!(lines.iter().any(|line| line["cause"] == "data" && line["hop"] == 2));
    assert_eq!(last["url"].as_str(), Some(tiny.as_str()));
    let start = |line: &Value| line["start_ms"].as_f64().expect("a time");
    assert!(first["end_ms"].as_f64().is_some_and(|end| start(first) <= end && end <= start(last)), "one clock");
}

#[test]
fn requests_in_flight_are_limited() {
    let files = farquet_testkit::fixture::small(12, 10).generate();
    let origin = start(Origin::builder().files("/", files).latency(Duration::from_millis(10)));
    let table = format!("t={}small_{{0000..0011}}.parquet", origin.url("/"));
    farquet(&["--concurrency", "2", "-t", &table, "SELECT count(*) AS n FROM t"]).prints("n\n120\n");
    assert_eq!((origin.requests(), origin.max_in_flight()), (12, 2));
}

#[test]
fn patience_is_limited() {
    let (origin, url) = tiny_origin();
    origin.script(|_| Some(Fault::Hang));
    let began = Instant::now();
    let sql = format!("SELECT * FROM '{url}'");
    let ran = farquet(&["--timeout", "0.3", "--retries", "1", &sql]).exits(3);
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(origin.requests(), 2, "{}", ran.err);
}

#[test]
fn headers_go_to_their_origin_only() {
    let (one, two) = (tiny_origin(), tiny_origin());
    let header = format!("{} X-Key: secret: 1", one.0.url("/"));
    let sql = format!("SELECT a.id FROM '{}' a JOIN '{}' b ON a.id = b.id", one.1, two.1);
    farquet(&["--header", &header, &sql]).exits(0);
    let keys = |origin: &Origin| -> Vec<Option<String>> {
        origin.log().iter().map(|seen| seen.header("x-key").map(str::to_owned)).collect()
    };
    assert_eq!(keys(&one.0), [Some("secret: 1".to_owned())]);
    assert_eq!(keys(&two.0), [None]);
}

/// What statements of one run share: by default a validation each, on one snapshot nothing, and without a cache all anew.
#[test]
fn statements_share_what_they_may() {
    let (origin, url) = tiny_origin();
    let sql = format!("SELECT count(id) + 0 FROM '{url}'; SELECT max(id) + 0 FROM '{url}'");
    let answers = |options: &[&str]| {
        let before = origin.log().len();
        farquet(&[options, &["-q", &sql]].concat()).exits(0);
        origin.log()[before..].iter().map(|request| request.status.unwrap_or(0)).collect::<Vec<_>>()
    };
    assert_eq!(answers(&[]), [206, 304]);
    assert_eq!(answers(&["--snapshot"]), [206]);
    assert_eq!(answers(&["--freshness", "immutable"]), [206]);
    assert_eq!(answers(&["--freshness", "http"]), [206, 304], "the origin does not say how long its files stay");
    assert_eq!(answers(&["--no-cache"]), [206, 206]);
    assert_eq!(answers(&["--cache-size", "1", "--footer-cache-size", "1"]), [206, 206]);
}
