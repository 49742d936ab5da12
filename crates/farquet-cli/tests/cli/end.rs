//! Ends that come from outside, and the demonstration.

use std::io::{BufRead, BufReader, Read};

use farquet_testkit::{Fault, Origin};

use crate::support::{Ran, command, eventually, farquet, names, send_signal, start, tiny_origin};

#[cfg(unix)]
#[test]
fn an_interrupted_query_cancels_its_requests() {
    let (origin, url) = tiny_origin();
    origin.script(|_| Some(Fault::Hang));
    let directory = tempfile::tempdir().expect("a directory");
    let sql = format!("SELECT * FROM '{url}'");
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        origin.clear_log();
        let mut command = command(&["-o", "x.csv", "--trace", "trace", &sql]);
        let child = command.current_dir(directory.path()).spawn().expect("the binary runs");
        eventually("a request", || origin.requests() == 1);
        assert_eq!(names(directory.path()).len(), 2, "the trace and an unfinished file");
        send_signal(&child, signal);
        let ran = Ran::from(child.wait_with_output().expect("it ends")).exits(code);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "interrupted\n"));
        assert_eq!(names(directory.path()), ["trace"]);
        let trace = std::fs::read_to_string(directory.path().join("trace")).expect("a trace");
        assert_eq!(trace.lines().count(), 1, "{trace}");
        eventually("the end of the request", || origin.log().iter().all(|seen| seen.is_over() && !seen.complete));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_result_leaves_no_file() {
    // The first file's rows arrive, the second one's never.
    let files = farquet_testkit::fixture::trips(2, 50_000).generate();
    let origin = start(Origin::builder().files("/", files));
    let directory = tempfile::tempdir().expect("a directory");
    for output in ["x.csv", "x.parquet"] {
        origin.clear_log();
        origin.script(|seen| (seen.path.ends_with("001.parquet") && seen.index_of_path > 0).then_some(Fault::Hang));
        let table = format!("t={}trips_{{000..001}}.parquet", origin.url("/"));
        let mut command = command(&["-t", &table, "-o", output, "SELECT * FROM t"]);
        let child = command.current_dir(directory.path()).spawn().expect("the binary runs");
        eventually("the request that hangs", || origin.log().of_path("/trips_001.parquet").requests() > 1);
        send_signal(&child, "INT");
        Ran::from(child.wait_with_output().expect("it ends")).exits(130);
        assert!(names(directory.path()).is_empty());
    }
}

#[test]
fn a_reader_may_leave() {
    let files = farquet_testkit::fixture::trips(1, 50_000).generate();
    let origin = start(Origin::builder().files("/", files));
    let sql = format!("SELECT * FROM '{0}' UNION ALL SELECT * FROM '{0}'", origin.url("/trips_000.parquet"));
    for format in ["csv", "tsv", "json", "ndjson", "markdown", "arrow", "parquet"] {
        let mut child = command(&["--format", format, &sql]).spawn().expect("the binary runs");
        let mut byte = [0];
        let mut out = child.stdout.take().expect("a pipe");
        out.read_exact(&mut byte).expect("the first byte");
        drop(out);
        let ran = Ran::from(child.wait_with_output().expect("it ends")).exits(0);
        assert_eq!(ran.err, "", "{format}");
    }
}

#[test]
fn the_demonstration() {
    let ran = farquet(&["demo", "--latency", "1"]).exits(0);
    assert!(ran.err.contains("serving them at http://127.0.0.1:"), "{}", ran.err);
    for part in [
        "SELECT count(*) AS rides FROM trips;",
        "| 4224000 |",
        ", 8 requests, 4.19 MB, 1 hop, ",
        "FROM metrics",
        ", 60 files, 60 of 60 row groups",
        "| payment   | rides | mean_total |",
        "farquet \"SELECT * FROM 'https://host/path/file.parquet' LIMIT 10\"",
    ] {
        assert!(ran.out.contains(part), "{part} is not in\n{}", ran.out);
    }
    assert_eq!(farquet(&["demo", "-q", "--latency", "0"]).exits(0).err, "");
}

#[cfg(unix)]
#[test]
fn the_sample_can_be_served() {
    let mut child = command(&["demo", "--serve", "--latency", "0"]).spawn().expect("the binary runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map(|line| line.expect("text"));
    let tables: Vec<String> = lines
        .by_ref()
        .take_while(|line| line != "try")
        .filter_map(|line| Some(line.strip_prefix("table")?.trim().replace(" = ", "=")))
        .collect();
    assert_eq!(tables.len(), 2);
    let sql = "SELECT count(*) AS n FROM trips; SELECT count(DISTINCT host) AS n FROM metrics";
    farquet(&["-t", &tables[0], "-t", &tables[1], sql]).prints("n\n4224000\n\nn\n12\n");
    send_signal(&child, "INT");
    assert!(child.wait().expect("it ends").success());
}
