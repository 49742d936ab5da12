//! What a query may cost: requests and hops, read from the origin's own log and from the query's account.

use std::time::Duration;

use farquet_sql::Session;
use farquet_testkit::fixture::{FileSet, NEEDLE_KEY, NEEDLE_MATCHES, SizeClass, logs, minutes, needle, small, trips};
use farquet_testkit::{Origin, OriginBuilder};
use farquet_tests::{Answer, World, answer, ms, unlimited};

/// An origin that serves `set` under `/d/`, and the table expression for all of its files.
async fn serve(set: &FileSet, origin: OriginBuilder) -> (Origin, String) {
    let folder = set.on_disk().expect("fixtures on disk");
    let origin = origin.directory("/d/", folder).start().await;
    let urls: Vec<_> = set.file_names().map(|name| format!("'{}'", origin.url(&format!("/d/{name}")))).collect();
    let table = format!("read_parquet([{}])", urls.join(", "));
    (origin, table)
}

fn many_requests() -> Session {
    World { settings: unlimited(), ..World::default() }.session()
}

/// Both sides agree on requests and hops. The origin sees only time, so its answers take long enough that all requests of
/// a wave have begun before the first of them ends, even on a busy machine.
fn agrees(origin: &Origin, answer: &Answer) {
    let log = origin.log();
    assert_eq!(log.requests() as u64, answer.report.total_requests(), "requests");
    assert_eq!(u32::try_from(log.hops()).expect("few"), answer.report.hops, "hops");
    assert_eq!(log.by_method().keys().collect::<Vec<_>>(), ["GET"], "methods");
}

fn first_tail(files: u64) -> u64 {
    ((4 << 20) / files).clamp(16 << 10, 512 << 10)
}

#[tokio::test(flavor = "multi_thread")]
async fn counting_costs_one_request_a_file() {
    let (origin, table) = serve(&trips(120, 50_000), Origin::builder().latency(ms(250))).await;
    let answer =
        answer(&many_requests(), &format!("SELECT count(*), min(id), max(id), count(text) FROM {table}")).await;
    assert_eq!(answer.rows, ["6000000|0|5999999|6000000"]);
    assert_eq!((answer.report.total_requests(), answer.report.hops), (120, 1));
    agrees(&origin, &answer);
}

const GROUP_BY: &str = "SELECT metric_name, host, round(avg(value), 6), count(*) FROM t \
                        WHERE metric_name = 'system.cpu.utilization' GROUP BY 1, 2 ORDER BY 1, 2";

#[tokio::test(flavor = "multi_thread")]
async fn small_files_come_whole() {
    let (origin, table) = serve(&minutes(60, SizeClass::Small), Origin::builder().latency(ms(250))).await;
    let answer = answer(&many_requests(), &GROUP_BY.replace(" t ", &format!(" {table} "))).await;
    assert_eq!(answer.rows.len(), 12);
    assert_eq!((answer.report.total_requests(), answer.report.hops), (60, 1));
    agrees(&origin, &answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn mixed_small_files_cost_two_hops_and_then_one() {
    let (origin, table) = serve(&minutes(60, SizeClass::Mixed), Origin::builder().latency(ms(250))).await;
    let session = many_requests();
    let sql = GROUP_BY.replace(" t ", &format!(" {table} "));
    let first = answer(&session, &sql).await;
    assert!(first.report.total_requests() <= 120 && first.report.hops <= 2, "{:?}", first.report.requests);
    agrees(&origin, &first);
    origin.clear_log();
    let again = answer(&session, &sql).await;
    assert_eq!(again.rows, first.rows);
    assert_eq!((again.report.total_requests(), again.report.hops), (60, 1), "sizes are known now");
    agrees(&origin, &again);
}

#[tokio::test(flavor = "multi_thread")]
async fn wide_logs_cost_one_range_a_row_group() {
    let (origin, table) = serve(&logs(4), Origin::builder().latency(ms(250))).await;
    let sql = format!(
        "SELECT body_message, count(*) FROM {table} WHERE severity_text = 'ERROR' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20"
    );
    // So that waiting for the decoder does not look like a hop to the origin.
    let mut settings = unlimited();
    settings.bytes_in_flight = Some(1 << 30);
    let answer = answer(&World { settings, ..World::default() }.session(), &sql).await;
    assert_eq!(answer.rows.len(), 20);
    let read = answer.report.row_groups_read;
    assert_eq!((answer.report.row_groups_total, read), (80, 80));
    assert!(answer.report.total_requests() <= 4 + read, "{} requests", answer.report.total_requests());
    assert!(answer.report.hops <= 3);
    let chunks = chunk_bytes(&logs(4), &["severity_text", "body_message"]);
    let allowed = chunks * 105 / 100 + 4 * first_tail(4);
    assert!(answer.report.bytes_received <= allowed, "{} of {allowed}", answer.report.bytes_received);
    agrees(&origin, &answer);
}

/// Compressed bytes of columns, over all files.
fn chunk_bytes(set: &FileSet, columns: &[&str]) -> u64 {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let mut bytes = 0;
    for (_, data) in set.load().expect("fixtures") {
        let reader = SerializedFileReader::new(data).expect("a Parquet file");
        for group in reader.metadata().row_groups() {
            for column in group.columns().iter().filter(|c| columns.contains(&c.column_descr().name())) {
                bytes += u64::try_from(column.compressed_size()).expect("a size");
            }
        }
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_point_lookup_reads_one_row_group() {
    let (origin, table) = serve(&logs(4), Origin::builder().latency(ms(250))).await;
    let sql = format!(
        "SELECT p_timestamp, severity_text, body_message FROM {table} WHERE p_timestamp >= TIMESTAMP '2024-06-01 05:15:00' \
         AND p_timestamp < TIMESTAMP '2024-06-01 05:15:20' ORDER BY 1"
    );
    let answer = answer(&many_requests(), &sql).await;
    assert!(answer.rows.len() > 500, "{} rows", answer.rows.len());
    assert_eq!(answer.report.row_groups_read, 1);
    assert!(answer.report.total_requests() <= 4 + 3, "{} requests", answer.report.total_requests());
    assert_eq!(answer.report.hops, 2);
    agrees(&origin, &answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_does_not_read_on() {
    let set = trips(120, 50_000);
    let (origin, table) = serve(&set, Origin::builder().latency(ms(250))).await;
    let answer = answer(&many_requests(), &format!("SELECT * FROM {table} LIMIT 10")).await;
    assert_eq!(answer.rows.len(), 10);
    assert!(answer.report.total_requests() <= 120 + 8, "{} requests", answer.report.total_requests());
    let data: u64 = answer.report.records.iter().filter(|r| r.cause.as_str() == "data").map(|r| r.bytes).sum();
    assert!(data < 16 << 20, "{data} bytes");
    assert!(answer.report.hops <= 3);
    agrees(&origin, &answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filtered_limit_does_not_read_everything() {
    let set = trips(120, 50_000);
    let (_origin, table) = serve(&set, Origin::builder().latency(ms(20))).await;
    let answer = answer(&many_requests(), &format!("SELECT * FROM {table} WHERE amount > 30 LIMIT 10")).await;
    assert_eq!(answer.rows.len(), 10);
    assert!(answer.report.total_requests() <= 120 + 8, "{} requests", answer.report.total_requests());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_top_k_reads_the_files_that_matter() {
    let (_origin, table) = serve(&trips(120, 50_000), Origin::builder().latency(ms(20))).await;
    let answer = answer(&many_requests(), &format!("SELECT * FROM {table} ORDER BY ts DESC LIMIT 10")).await;
    assert_eq!(answer.rows.len(), 10);
    assert!(answer.rows.iter().all(|row| row.contains("2024-09-28")), "{:?}", answer.rows);
    let data: std::collections::HashSet<_> =
        answer.report.records.iter().filter(|r| r.cause.as_str() == "data").map(|r| r.url.clone()).collect();
    assert!(data.len() <= 8, "data of {} files", data.len());
    assert!(answer.report.hops <= 4, "{} hops", answer.report.hops);
}

/// The text column's bytes, and the bytes of data that were read.
async fn needle_bytes(origin: OriginBuilder) -> (u64, u64, Answer) {
    let set = needle();
    let (_origin, table) = serve(&set, origin).await;
    let answer = answer(&many_requests(), &format!("SELECT text FROM {table} WHERE key = {NEEDLE_KEY}")).await;
    assert_eq!(answer.rows.len(), NEEDLE_MATCHES);
    let data = answer.report.records.iter().filter(|r| r.cause.as_str() == "data").map(|r| r.bytes).sum();
    (chunk_bytes(&set, &["text"]), data, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn late_materialization_where_bytes_are_dear() {
    let origin = Origin::builder().latency(ms(20)).bandwidth(5_000_000);
    let (text, data, answer) = needle_bytes(origin).await;
    let key = chunk_bytes(&needle(), &["key"]);
    assert!(data.saturating_sub(key) <= text / 4, "{data} bytes of {text}, {key} for the key");
    assert!(answer.report.hops >= 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_hop_where_round_trips_are_dear() {
    let (_, _, answer) = needle_bytes(Origin::builder().latency(ms(150))).await;
    assert!(answer.report.hops <= 2, "{} hops", answer.report.hops);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overloaded_origin_gets_all_rows_out_with_few_retries() {
    let set = small(500, 200);
    let (origin, table) = serve(&set, Origin::builder().latency(ms(20)).max_in_flight(16)).await;
    let answer = answer(&World::default().session(), &format!("SELECT count(*), sum(id) FROM {table}")).await;
    assert_eq!(answer.rows, ["100000|4999950000"]);
    let report = &answer.report;
    assert!(report.retries * 5 <= report.total_requests(), "{} retries of {}", report.retries, report.total_requests());
    assert_eq!(origin.log().requests() as u64, report.total_requests());
    let rejected =
        report.records.iter().filter(|r| r.status == Some(503)).map(|r| r.end).max().unwrap_or(Duration::ZERO);
    let end = report.records.iter().map(|r| r.end).max().expect("requests");
    assert!(rejected < Duration::from_secs(3) || rejected < end / 2, "rejected until {rejected:?} of {end:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_tiny_files_cost_a_request_each() {
    let set = small(1000, 200);
    let (origin, table) = serve(&set, Origin::builder()).await;
    let answer = answer(&World::default().session(), &format!("SELECT count(*), max(id) FROM {table}")).await;
    assert_eq!(answer.rows, ["200000|199999"]);
    assert_eq!((answer.report.total_requests(), answer.report.hops), (1000, 1));
    assert_eq!(origin.log().requests(), 1000);
}
