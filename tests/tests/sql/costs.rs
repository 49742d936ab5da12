//! What naming a file several times costs: nothing more.

use farquet_testkit::Origin;
use farquet_tests::{answer, ms, session};

use crate::data::{Shop, large};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_opened_once_however_often_it_is_named() {
    let shop = Shop::open().await;
    let url = shop.url("/orders.parquet");
    let statements = [
        (format!("SELECT count(*) FROM '{url}' a JOIN '{url}' b ON a.id = b.id"), "8"),
        (format!("SELECT count(*) FROM '{url}' a, '{url}' b, '{url}' c WHERE a.id = b.id AND b.id = c.id"), "8"),
        (format!("SELECT count(*) FROM (SELECT id FROM '{url}' UNION ALL SELECT id FROM '{url}')"), "16"),
        (format!("WITH o AS (SELECT * FROM '{url}') SELECT (SELECT count(*) FROM o) + (SELECT max(id) FROM o)"), "16"),
        (format!("SELECT count(*) FROM '{url}' WHERE id IN (SELECT person FROM '{url}')"), "4"),
        (format!("SELECT count(id) FROM read_parquet(['{url}', '{url}']) WHERE id > 0"), "16"),
        (format!("SELECT count(*) FROM '{url}' a JOIN orders b ON a.id = b.id"), "8"),
    ];
    for (sql, expected) in statements {
        shop.origin.clear_log();
        let answer = answer(&shop.session, &sql).await;
        assert_eq!(answer.rows, [expected], "{sql}");
        assert_eq!((answer.report.total_requests(), answer.report.hops), (1, 1), "{sql}");
        assert_eq!(shop.origin.log().requests(), 1, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_opened_in_one_wave() {
    let shop = Shop::open().await;
    let sql = "SELECT count(*) FROM people p JOIN depts d ON p.dept = d.id JOIN orders o ON o.person = p.id";
    let joined = answer(&shop.session, sql).await;
    assert_eq!(joined.rows, ["6"]);
    assert_eq!((joined.report.total_requests(), joined.report.hops), (3, 1));
    shop.rows("CREATE VIEW v AS SELECT * FROM people WHERE id IN (SELECT person FROM orders)").await;
    let viewed = answer(&shop.session, "SELECT count(*) FROM v JOIN depts ON v.dept = depts.id").await;
    assert_eq!(viewed.rows, ["4"]);
    assert_eq!((viewed.report.total_requests(), viewed.report.hops), (3, 1));
}

/// A large file is opened once too, and each use reads what it needs.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_file_is_joined_with_itself() {
    let origin = Origin::builder().latency(ms(10)).file("/x", large(3)).start().await;
    let sql = "SELECT count(*), sum(b.v) FROM 'X' a JOIN 'X' b ON a.n = b.n WHERE a.n < 100 AND b.n < 100";
    let answer = answer(&session(), &sql.replace('X', origin.url("/x").as_str())).await;
    assert_eq!(answer.rows, ["100|300"]);
    let footers = answer.report.records.iter().filter(|record| record.cause.as_str() == "footer").count();
    assert_eq!(footers, 1);
    assert!(answer.report.hops <= 3, "{} hops", answer.report.hops);
}
