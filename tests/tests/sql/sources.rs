//! How files are named in SQL.

use farquet_core::{ErrorKind, Url};
use farquet_testkit::Origin;
use farquet_tests::{World, answer, refusal, session};

use crate::data::{count, file};

fn ten(first: i64) -> bytes::Bytes {
    file(vec![("id", count(first, 10))])
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_braces_and_ranges() {
    let files = (0..12).map(|n| (format!("part-{n:03}.parquet"), ten(n * 10)));
    let origin = Origin::builder().files("/d", files).start().await;
    let base = origin.url("/d/");
    let cases = [
        ("'BASEpart-000.parquet'", "10|0|9"),
        ("read_parquet('BASEpart-003.parquet')", "10|30|39"),
        ("read_parquet(['BASEpart-000.parquet', 'BASEpart-011.parquet'])", "20|0|119"),
        ("'BASEpart-{000,005}.parquet'", "20|0|59"),
        ("'BASEpart-{000..011}.parquet'", "120|0|119"),
        ("read_parquet(['BASEpart-{000..001}.parquet', 'BASEpart-0{10,11}.parquet'])", "40|0|119"),
        ("'BASEpart-0{0,1}{0..1}.parquet'", "40|0|119"),
        ("READ_PARQUET('BASEpart-000.parquet', union_by_name => true)", "10|0|9"),
        ("\"BASEpart-000.parquet\"", "10|0|9"),
        ("read_parquet(['BASEpart-000.parquet', 'BASEpart-000.parquet'])", "20|0|9"),
    ];
    let session = session();
    for (table, expected) in cases {
        let table = table.replace("BASE", base.as_str());
        let sql = format!("SELECT count(*), min(id), max(id) FROM {table} AS t WHERE t.id >= 0");
        assert_eq!(answer(&session, &sql).await.rows, [expected], "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_locations_are_named() {
    let cases = [
        ("SELECT * FROM 's3://bucket/x.parquet'", ErrorKind::Location),
        ("SELECT * FROM 'http://h/x{1.parquet'", ErrorKind::Location),
        ("SELECT * FROM 'x.parquet'", ErrorKind::Location),
        ("SELECT * FROM read_parquet(1)", ErrorKind::Query),
        ("SELECT * FROM read_parquet()", ErrorKind::Query),
        ("SELECT * FROM read_parquet([])", ErrorKind::Query),
        ("SELECT * FROM read_parquet('x', nonsense => 1)", ErrorKind::Query),
    ];
    let session = session();
    for (sql, kind) in cases {
        let error = refusal(&session, sql).await;
        assert_eq!(error.kind(), kind, "{sql}: {error}");
    }
    assert!(session.register_files("t", "s3://bucket/x").is_err());
    assert!(session.register_files("t", " , ").is_err());
}

/// A path goes over the wire as it was written: what is encoded stays, what must be is.
#[tokio::test(flavor = "multi_thread")]
async fn special_characters_in_urls() {
    let paths = [
        "/p=a%2Fb/x.parquet",
        "/a b.parquet",
        "/ü/日本.parquet",
        "/100%25.parquet",
        "/o'brien.parquet",
        "/a+b;c,d.parquet",
        "/a%20b%23.parquet",
    ];
    let session = session();
    for path in paths {
        let origin = Origin::builder().file(path, ten(0)).start().await;
        let written = format!("{}{}", origin.url("/").as_str().trim_end_matches('/'), path);
        let sql = format!("SELECT count(*), min(id) FROM '{}'", written.replace('\'', "''"));
        assert_eq!(answer(&session, &sql).await.rows, ["10|0"], "{path}");
        let log = origin.log();
        assert_eq!(log[0].seen.path, Url::parse(&written).expect("a URL").path(), "{path}");
    }
}

/// The query string goes along unchanged, with every request.
#[tokio::test(flavor = "multi_thread")]
async fn query_strings_go_along() {
    let origin = Origin::builder().file("/x.parquet", crate::data::large(1)).start().await;
    let session = session();
    let query = "sig=a%2Fb%3D&list={1,2}&t=1..2&plus=a+b";
    let sql = format!("SELECT sum(v) FROM '{}?{query}'", origin.url("/x.parquet"));
    assert_eq!(answer(&session, &sql).await.rows, ["120000"]);
    let log = origin.log();
    assert!(log.requests() > 1);
    assert!(log.iter().all(|entry| entry.seen.query.as_deref() == Some(query)), "{:?}", log[0].seen.query);
}

#[tokio::test(flavor = "multi_thread")]
async fn local_files() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("sub dir")).expect("a folder below");
    for name in ["plain.parquet", "a b#1?.parquet", "50%.parquet", "sub dir/ü.parquet", "n1.parquet", "n2.parquet"] {
        std::fs::write(folder.path().join(name), ten(0)).expect("a file");
    }
    let base = Url::from_directory_path(folder.path()).expect("a URL");
    let session = World { base: Some(base.clone()), ..World::default() }.session();
    let absolute = folder.path().join("plain.parquet").to_str().expect("a path in UTF-8").to_owned();
    let cases = [
        ("plain.parquet".to_owned(), "10"),
        ("./plain.parquet".to_owned(), "10"),
        ("a b#1?.parquet".to_owned(), "10"),
        ("50%.parquet".to_owned(), "10"),
        ("sub dir/ü.parquet".to_owned(), "10"),
        ("n{1..2}.parquet".to_owned(), "20"),
        (absolute, "10"),
        (format!("{base}plain.parquet"), "10"),
        (format!("{base}a%20b%231%3F.parquet"), "10"),
    ];
    for (location, rows) in cases {
        let sql = format!("SELECT count(id) FROM '{location}' WHERE id < 10");
        assert_eq!(answer(&session, &sql).await.rows, [rows], "{location}");
    }
    let error = refusal(&session, "SELECT * FROM 'missing.parquet'").await;
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("missing.parquet"), "{error}");
}
