//! Statements that are deep or long: an answer or an error, and the process goes on.

use farquet_core::ErrorKind;
use farquet_tests::{ask, session};

use crate::data::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn deep_expressions_do_not_crash() {
    let shop = Shop::open().await;
    let terms = |n: usize| (0..n).map(|i| format!("id = {}", i * 7)).collect::<Vec<_>>().join(" OR ");
    let joins = |n: usize| (1..n).map(|i| format!("JOIN orders o{i} USING (id)")).collect::<Vec<_>>().join(" ");
    let cases = [
        ("many terms", format!("SELECT count(*) FROM orders WHERE {}", terms(5000)), Some("1")),
        (
            "many conditions",
            format!("SELECT count(*) FROM orders WHERE {}", vec!["id > 0"; 5000].join(" AND ")),
            Some("8"),
        ),
        ("a sum", format!("SELECT {}", vec!["1"; 400].join(" + ")), Some("400")),
        ("a long sum", format!("SELECT {}", vec!["1"; 5000].join(" + ")), None),
        ("a long text", format!("SELECT {}", vec!["'x'"; 5000].join(" || ")), None),
        ("subscripts", format!("SELECT [1]{}", "[1]".repeat(3000)), None),
        ("casts", format!("SELECT 1{}", "::INT".repeat(3000)), None),
        ("tests", format!("SELECT 1{}", " IS NULL".repeat(3000)), None),
        (
            "a long list",
            format!(
                "SELECT count(*) FROM orders WHERE id IN ({})",
                (3..20_000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
            ),
            Some("6"),
        ),
        ("parentheses", format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)), None),
        ("negations", format!("SELECT {} true", "NOT ".repeat(5000)), None),
        (
            "queries in queries",
            format!("SELECT * FROM {}orders{}", "(SELECT * FROM ".repeat(300), ")".repeat(300)),
            None,
        ),
        ("unions", vec!["SELECT id FROM orders"; 200].join(" UNION ALL "), None),
        ("many unions", vec!["SELECT id FROM orders"; 5000].join(" UNION ALL "), None),
        ("joins", format!("SELECT count(*) FROM orders o0 {}", joins(60)), None),
        ("functions", format!("SELECT {}1{}", "abs(".repeat(3000), ")".repeat(3000)), None),
    ];
    for (what, sql, expected) in cases {
        let answered = ask(&shop.session, &sql).await;
        match (answered, expected) {
            (Ok(answer), Some(expected)) => assert_eq!(answer.rows, [expected], "{what}"),
            (Err(error), Some(_)) => panic!("{what}: {error}"),
            (Ok(_), None) => {}
            (Err(error), None) => {
                assert_eq!(error.kind(), ErrorKind::Query, "{what}: {error}");
                assert!(error.to_string().len() < 1000, "{what}: {} characters", error.to_string().len());
            }
        }
    }
    assert_eq!(shop.rows("SELECT count(*) FROM orders").await, ["8"]);
}

/// What the parser cannot take is an error too.
#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_an_error() {
    let session = session();
    for sql in ["SELECT", "SELEC 1", "SELECT * FROM", "'", "SELECT 'open", "(((((", "SELECT 1 FROM 'x", "\u{0}", "🦆"]
    {
        let error = ask(&session, sql).await.expect_err(sql);
        assert_eq!(error.kind(), ErrorKind::Query, "{sql}: {error}");
    }
    assert_eq!(ask(&session, "SELECT 1").await.expect("an answer").rows, ["1"]);
}
