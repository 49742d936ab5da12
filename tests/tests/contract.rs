//! The contract of fetch backends, held by the native ones, and whole queries over each protocol that they speak.

use std::sync::Arc;

use farquet_core::fetch::Fetch;
use farquet_native::{HttpFetch, NativeFetch, TokioTimer};
use farquet_testkit::{Fault, Origin, contract};
use farquet_tests::files::{BY_VERSION, large, large_row, over};
use farquet_tests::{World, answer, session};

fn http() -> HttpFetch {
    HttpFetch::builder().environment_proxies(false).build().expect("a client")
}

fn trusting(pem: &str) -> HttpFetch {
    let builder = HttpFetch::builder().environment_proxies(false);
    builder.root_certificate_pem(pem.as_bytes()).expect("a certificate").build().expect("a client")
}

#[tokio::test(flavor = "multi_thread")]
async fn http_fetch_keeps_the_contract() {
    contract::check(Arc::new(http())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn native_fetch_keeps_the_contract() {
    contract::check(Arc::new(NativeFetch::new(http()))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_keep_the_contract_over_tls() {
    contract::check_https(|pem| Arc::new(trusting(pem))).await;
    contract::check_https(|pem| Arc::new(NativeFetch::new(trusting(pem))) as Arc<dyn Fetch>).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokio_timer_keeps_the_contract() {
    contract::check_timer(Arc::new(TokioTimer::new())).await;
}

const PATHS: [&str; 8] = ["/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7"];

/// Eight large files, a session that trusts the origin, and the statement.
async fn eight(builder: farquet_testkit::OriginBuilder) -> (Origin, farquet_sql::Session, String) {
    let builder = PATHS.iter().fold(builder, |builder, path| builder.file(path, large(7)));
    let origin = builder.start().await;
    let certificate = origin.certificate_pem().map(str::to_owned);
    let session = World { certificate, ..World::default() }.session();
    let sql = over(&origin, &PATHS, BY_VERSION);
    (origin, session, sql)
}

fn eight_rows() -> Vec<String> {
    vec![format!("7|{}", 8 * farquet_tests::files::GROUPS * farquet_tests::files::ROWS)]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_rows_over_every_protocol() {
    let protocols = [
        (Origin::builder(), "HTTP/1.1"),
        (Origin::builder().http1_tls(), "HTTP/1.1"),
        (Origin::builder().http2_tls(), "HTTP/2.0"),
    ];
    for (builder, version) in protocols {
        let (origin, session, sql) = eight(builder).await;
        let answer = answer(&session, &sql).await;
        assert_eq!(answer.rows, eight_rows(), "{version}");
        let log = origin.log();
        assert_eq!(log.requests() as u64, answer.report.total_requests(), "{version}");
        assert!(log.iter().all(|entry| format!("{:?}", entry.version) == version), "{version}");
        assert_eq!(log.by_status().keys().collect::<Vec<_>>(), [&206], "{version}");
        assert_eq!(answer.report.retries, 0, "{version}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_of_http2_is_resumed_beside_the_others() {
    let (origin, session, sql) = eight(Origin::builder().http2_tls()).await;
    origin.script(|seen| (seen.index_of_path == 1).then_some(Fault::ResetAfter(50_000)));
    let answer = answer(&session, &sql).await;
    assert_eq!(answer.rows, eight_rows());
    assert_eq!(answer.report.retries, 8, "one broken answer for each file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_file_gives_the_same_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a%2Fb c.parquet");
    std::fs::write(&path, large(7)).expect("a file");
    let url = farquet_core::Url::from_file_path(&path).expect("a path");
    let answer = answer(&session(), &BY_VERSION.replace(" t ", &format!(" '{url}' "))).await;
    assert_eq!(answer.rows, [large_row(7)]);
}
