//! Plans as they are shown.

use farquet_testkit::Origin;
use farquet_tests::{answer, session};

use crate::data::large;

#[tokio::test(flavor = "multi_thread")]
async fn plans_tell_requests_and_bytes() {
    let origin = Origin::builder().file("/x.parquet", large(1)).start().await;
    let session = session();
    let table = format!("'{}?signature=hidden'", origin.url("/x.parquet"));
    let sql = format!("SELECT sum(v) FROM {table} WHERE n >= 80000");
    let plan = answer(&session, &format!("EXPLAIN {sql}")).await;
    let text = plan.rows.join("\n");
    for part in ["RemoteParquetScan: files=1, row_groups=1/3, requests=", "bytes=", "predicate=n", "columns=["] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("hidden"), "{text}");
    assert!(plan.report.records.iter().all(|record| record.cause.as_str() != "data"), "nothing is read for it");
    let number = |name: &str| -> u64 {
        let at = text.find(name).expect(name) + name.len();
        text[at..].chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect(name)
    };
    // Another session, since the first has learned how long the footer is.
    let run = answer(&farquet_tests::session(), &sql).await;
    assert_eq!(run.rows, ["40000"]);
    let data: Vec<_> = run.report.records.iter().filter(|record| record.cause.as_str() == "data").collect();
    assert_eq!(number("requests="), data.len() as u64);
    assert_eq!(number("bytes="), data.iter().map(|record| record.bytes).sum::<u64>());
}

#[tokio::test(flavor = "multi_thread")]
async fn all_forms_of_explain() {
    let origin = Origin::builder().file("/x.parquet", large(1)).start().await;
    let session = session();
    let sql = format!("SELECT n FROM '{}?signature=hidden' WHERE n < 5 ORDER BY n LIMIT 3", origin.url("/x.parquet"));
    for form in [
        "EXPLAIN",
        "EXPLAIN ANALYZE",
        "EXPLAIN VERBOSE",
        "EXPLAIN ANALYZE VERBOSE",
        "EXPLAIN FORMAT TREE",
        "EXPLAIN FORMAT INDENT",
    ] {
        let text = answer(&session, &format!("{form} {sql}")).await.rows.join("\n");
        assert!(text.contains("RemoteParquetScan"), "{form}: {text}");
        assert!(!text.contains("hidden"), "{form}: {text}");
        assert!(!form.contains("ANALYZE") || text.contains("output_rows="), "{form}: {text}");
    }
}
