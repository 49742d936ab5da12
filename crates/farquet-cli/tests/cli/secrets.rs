//! What a URL's query string and a header's value say is never printed.

use farquet_testkit::Fault;

use crate::support::{Ran, farquet, farquet_in, farquet_reading, tiny_origin};

const SECRET: &str = "s3cr3t";

#[track_caller]
fn is_silent(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(SECRET), "{text}");
    }
}

#[test]
fn signed_urls() {
    let (origin, url) = tiny_origin();
    let signed = format!("{url}?X-Sig={SECRET}&x=1");
    let directory = tempfile::tempdir().expect("a directory");
    let table = format!("t={signed}");
    for (code, sql) in [
        (0, format!("SELECT id FROM '{signed}'")),
        (0, format!("EXPLAIN SELECT id FROM '{signed}' WHERE id > 1")),
        (0, format!("EXPLAIN VERBOSE SELECT id FROM '{signed}'")),
        (0, format!("EXPLAIN ANALYZE SELECT id FROM read_parquet('{signed}')")),
        (0, "SHOW TABLES; DESCRIBE t; SELECT * FROM information_schema.columns".to_owned()),
        (0, format!("SELECT filename FROM '{signed}'")),
        (1, format!("SELECT nope FROM '{signed}'")),
        (1, format!("SELECT FROM '{signed}' WHERE WHERE")),
        (1, format!("SELECT * FROM '{signed}")),
        (1, format!("SELECT * FROM '{signed}'; SELECT ' {signed}' +")),
        (1, format!("SELECT CAST(name AS INT) FROM '{signed}'")),
        (3, format!("SELECT * FROM '{}?{SECRET}'", origin.url("/none.parquet"))),
        (1, format!("SELECT * FROM 'h.org/x.parquet?sig={SECRET}'")),
        (1, format!("SELECT * FROM 'ftp://me:{SECRET}@h/x?{SECRET}'")),
        (1, format!("SELECT * FROM read_parquet('{signed}', {SECRET} := 1)").replace(&format!("{SECRET} :="), "x :=")),
    ] {
        for more in [&["--stats=json"][..], &["-v"]] {
            let args = [&["-t", &table, "--trace", "trace", &sql], more].concat();
            let ran = farquet_in(directory.path(), &args).exits(code);
            is_silent(&ran);
            let trace = std::fs::read_to_string(directory.path().join("trace")).unwrap_or_default();
            assert!(!trace.contains(SECRET), "{trace}");
        }
    }
    assert!(origin.log().iter().any(|seen| seen.query.as_deref().is_some_and(|query| query.contains(SECRET))));
}

#[test]
fn refusals() {
    let (origin, url) = tiny_origin();
    let sql = format!("SELECT * FROM '{url}?sig={SECRET}'");
    for fault in [
        Fault::status(403),
        Fault::status(404),
        Fault::status(500),
        Fault::html(403, format!("expired: {SECRET}")),
        Fault::html(200, format!("<html>https://h/login?sig={SECRET}")),
        Fault::redirect(302, format!("/other.parquet?sig={SECRET}")),
        Fault::redirect(302, format!("ftp://h/x?sig={SECRET}")),
        Fault::Abort,
    ] {
        let shown = format!("{fault:?}");
        origin.script(move |seen| (seen.path == "/tiny.parquet").then(|| fault.clone()));
        let ran = farquet(&["--retries", "0", "-v", &sql]);
        assert_ne!(ran.code, Some(0), "{shown}");
        is_silent(&ran);
    }
}

#[test]
fn mistakes_of_usage() {
    let signed = format!("https://me:{SECRET}@h/x.parquet?sig={SECRET}");
    let with = |text: &str| text.replace("SIGNED", &signed).replace("SECRET", SECRET);
    let usages: &[&[&str]] = &[
        &["-t", "SIGNED", "SELECT 1"],
        &["-t", "t=h.org/x.parquet?sig=SECRET", "SELECT 1"],
        &["-t", "t-1=SIGNED", "SELECT 1"],
        &["-t", "t=SIGNED,ftp://h/x?SECRET", "SELECT 1"],
        &["-t", "t=https://h/{a?SECRET", "SELECT 1"],
        &["--tabel=t=SIGNED", "SELECT 1"],
        &["SELECT 1", "FROM SIGNED"],
        &["--max-bytes", "SIGNED", "SELECT 1"],
        &["--format", "SIGNED", "SELECT 1"],
        &["-f", "SIGNED"],
        &["--header", "SIGNED Authorization: SECRET", "SELECT 1"],
        &["--header", "https://h Authorization SECRET", "SELECT 1"],
        &["--header", "https://h Authori zation: SECRET", "SELECT 1"],
        &["--header", "https://h", "Authorization:", "SECRET"],
        &["--headers", "https://h Authorization: SECRET", "SELECT 1"],
        &["-o", "SIGNED", "SELECT 1"],
        &["--trace", "SIGNED", "SELECT 1"],
    ];
    for args in usages {
        let args: Vec<String> = args.iter().map(|arg| with(arg)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        is_silent(&farquet(&args).exits(2));
    }
    is_silent(&farquet_reading(&with("SELECT * FROM 'SIGNED' WHERE )"), &[]).exits(1));
}
