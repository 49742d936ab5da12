//! Views, tables, settings, and what a session says about them.

use farquet_core::ErrorKind;
use farquet_tests::{answer, ask, refusal};

use crate::data::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn views() {
    let shop = Shop::open().await;
    let cases: &[(&str, &[&str])] = &[
        ("CREATE VIEW paid AS SELECT id, amount FROM orders WHERE amount > 9", &[]),
        ("SELECT * FROM paid ORDER BY id", &["1|10", "2|20", "5|50", "6|50"]),
        ("CREATE VIEW large AS SELECT * FROM paid WHERE amount > 30", &[]),
        ("SELECT count(*) FROM large l JOIN paid p ON l.id = p.id", &["2"]),
        ("CREATE OR REPLACE VIEW paid AS SELECT id, amount FROM orders WHERE amount > 19", &[]),
        ("SELECT count(*) FROM paid", &["3"]),
        ("CREATE VIEW IF NOT EXISTS paid AS SELECT 1 AS id", &[]),
        ("SELECT count(*) FROM paid", &["3"]),
        ("CREATE VIEW \"Paid\" AS SELECT 'quoted' AS what", &[]),
        ("SELECT * FROM \"Paid\"", &["quoted"]),
        ("DROP VIEW \"Paid\"", &[]),
        ("SELECT count(*) FROM PAID", &["3"]),
        ("DROP VIEW large", &[]),
        ("DROP VIEW IF EXISTS large", &[]),
    ];
    shop.check(cases).await;
    let refused = [
        ("SELECT * FROM large", "large"),
        ("DROP VIEW large", "large"),
        ("CREATE VIEW paid AS SELECT 1", "paid"),
        ("DROP TABLE paid", "paid"),
        ("DROP VIEW people", "people"),
    ];
    for (sql, name) in refused {
        let error = refusal(&shop.session, sql).await;
        assert_eq!(error.kind(), ErrorKind::Query, "{sql}: {error}");
        assert!(error.to_string().contains(name), "{sql}: {error}");
    }
    assert_eq!(shop.rows("SELECT count(*) FROM paid").await, ["3"], "what was refused changed nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_of_itself_is_refused() {
    let shop = Shop::open().await;
    shop.rows("CREATE VIEW a AS SELECT 1 AS x").await;
    shop.rows("CREATE VIEW b AS SELECT * FROM a").await;
    shop.rows("CREATE OR REPLACE VIEW a AS SELECT * FROM b").await;
    let error = refusal(&shop.session, "SELECT * FROM b").await;
    assert_eq!(error.kind(), ErrorKind::Query);
    assert!(error.to_string().contains("refers to itself"), "{error}");
}

/// Nothing is opened before a query, and a view sees what its files are then.
#[tokio::test(flavor = "multi_thread")]
async fn views_are_opened_when_they_are_used() {
    let shop = Shop::open().await;
    let sql = format!("CREATE VIEW v AS SELECT count(*) AS rows FROM '{}'", shop.url("/later.parquet"));
    assert_eq!(answer(&shop.session, &sql).await.report.total_requests(), 0);
    assert_eq!(refusal(&shop.session, "SELECT * FROM v").await.kind(), ErrorKind::NotFound);
    shop.origin.put("/later.parquet", crate::data::file(vec![("x", crate::data::count(0, 7))]));
    assert_eq!(shop.rows("SELECT * FROM v").await, ["7"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn external_tables() {
    let shop = Shop::open().await;
    let create = |options: &str| {
        format!("CREATE EXTERNAL TABLE {options} STORED AS PARQUET LOCATION '{}'", shop.url("/people.parquet"))
    };
    let made = answer(&shop.session, &create("folk")).await;
    assert_eq!(made.report.total_requests(), 0);
    assert_eq!(shop.rows("SELECT name FROM folk WHERE id = 3").await, ["Cy"]);
    assert_eq!(refusal(&shop.session, &create("folk")).await.kind(), ErrorKind::Query);
    shop.rows(&create("IF NOT EXISTS folk")).await;
    let csv = create("other").replace("PARQUET", "CSV");
    assert_eq!(refusal(&shop.session, &csv).await.kind(), ErrorKind::Query);
    assert_eq!(refusal(&shop.session, &create("other (id INT)")).await.kind(), ErrorKind::Query);
    shop.rows("DROP TABLE folk").await;
    assert_eq!(refusal(&shop.session, "SELECT * FROM folk").await.kind(), ErrorKind::Query);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_in_memory() {
    let shop = Shop::open().await;
    shop.rows("CREATE TABLE kept AS SELECT id, amount FROM orders WHERE amount >= 10").await;
    let read = answer(&shop.session, "SELECT sum(amount) FROM kept").await;
    assert_eq!(read.rows, ["130"]);
    assert_eq!(read.report.total_requests(), 0, "its rows are here");
    assert_eq!(shop.rows("SELECT name FROM kept JOIN people USING (id) ORDER BY 1").await, ["Ada", "Bob", "Eve"]);
    shop.rows("CREATE VIEW of_kept AS SELECT max(amount) AS most FROM kept").await;
    assert_eq!(shop.rows("SELECT most FROM of_kept").await, ["50"]);
    assert_eq!(refusal(&shop.session, "CREATE TABLE kept AS SELECT 1 AS x").await.kind(), ErrorKind::Query);
    shop.rows("CREATE OR REPLACE TABLE kept AS SELECT 1 AS amount").await;
    assert_eq!(shop.rows("SELECT most FROM of_kept").await, ["1"]);
    shop.rows("DROP TABLE kept").await;
    assert_eq!(refusal(&shop.session, "SELECT * FROM kept").await.kind(), ErrorKind::Query);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_stay() {
    let shop = Shop::open().await;
    shop.rows("SET datafusion.execution.batch_size = 3").await;
    assert_eq!(shop.rows("SHOW datafusion.execution.batch_size").await, ["datafusion.execution.batch_size|3"]);
    assert_eq!(shop.rows("SELECT count(*) FROM orders WHERE id > 0").await, ["8"]);
    shop.rows("SET datafusion.execution.parquet.pruning = false").await;
    let plan = shop.rows("EXPLAIN SELECT * FROM orders WHERE id > 100").await.join("\n");
    assert!(plan.contains("row_groups=1/1"), "{plan}");
    shop.rows("RESET datafusion.execution.parquet.pruning").await;
    let plan = shop.rows("EXPLAIN SELECT * FROM orders WHERE id > 100").await.join("\n");
    assert!(plan.contains("row_groups=0/1"), "{plan}");
    assert!(shop.rows("SHOW ALL").await.len() > 20);
    assert_eq!(refusal(&shop.session, "SET datafusion.nothing = 1").await.kind(), ErrorKind::Query);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_there_is() {
    let shop = Shop::open().await;
    shop.rows("CREATE VIEW v AS SELECT id FROM people").await;
    let tables = shop.rows("SHOW TABLES").await;
    for (name, kind) in [("people", "BASE TABLE"), ("orders", "BASE TABLE"), ("v", "VIEW")] {
        let row = format!("datafusion|public|{name}|{kind}");
        assert!(tables.contains(&row), "{row} in {tables:?}");
    }
    let columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'people' \
                   ORDER BY ordinal_position";
    assert_eq!(shop.rows(columns).await, ["id|Int64", "name|Utf8View", "dept|Int32"]);
    let described = ["id|Int64|YES", "name|Utf8View|YES", "dept|Int32|YES"];
    assert_eq!(shop.rows("DESCRIBE people").await, described);
    assert_eq!(shop.rows("SHOW COLUMNS FROM people").await.len(), 3);
    let described_url = format!("DESCRIBE '{}'", shop.url("/people.parquet"));
    let by_url = ask(&shop.session, &described_url).await.expect("a description");
    assert_eq!(by_url.rows, described);
    assert_eq!((by_url.report.total_requests(), by_url.report.hops), (1, 1));
    assert_eq!(shop.rows("DESCRIBE SELECT count(*) AS n FROM people").await, ["n|Int64|NO"]);
}
