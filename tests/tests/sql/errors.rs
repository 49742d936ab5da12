//! Errors of statements: what they say, and that the session goes on.

use farquet_core::ErrorKind;
use farquet_tests::{World, refusal};

use crate::data::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn the_session_goes_on_after_errors() {
    let shop = Shop::with(&World { partitions: 4, ..World::default() }).await;
    let gone = format!("SELECT * FROM '{}'", shop.url("/gone.parquet"));
    let cases = [
        ("SELECT nothing FROM people", ErrorKind::Query),
        ("SELECT * FROM nothing", ErrorKind::Query),
        ("SELECT 1 / (id - id) FROM people", ErrorKind::Query),
        ("SELECT CAST(name AS INT) FROM people", ErrorKind::Query),
        ("SELECT sum(name) FROM people", ErrorKind::Query),
        ("SELECT id, count(*) FROM people", ErrorKind::Query),
        ("SELECT * FROM people WHERE id = (SELECT id FROM depts)", ErrorKind::Query),
        ("INSERT INTO people VALUES (1, 'x', 2)", ErrorKind::Query),
        ("DELETE FROM people", ErrorKind::Query),
        (gone.as_str(), ErrorKind::NotFound),
    ];
    for (sql, kind) in cases {
        let error = refusal(&shop.session, sql).await;
        assert_eq!(error.kind(), kind, "{sql}: {error}");
        assert!(!error.to_string().contains('\n'), "{sql}: {error}");
        assert_eq!(shop.rows("SELECT count(*), max(name) FROM people").await, ["5|Eve"], "after {sql}");
    }
    let error = shop.session.query("SELECT 1; SELECT 2").await.expect_err("two statements");
    assert_eq!(error.kind(), ErrorKind::Query);
}

#[tokio::test(flavor = "multi_thread")]
async fn similar_columns_are_suggested() {
    let shop = Shop::open().await;
    let statements = [
        format!("SELECT nam FROM '{}'", shop.url("/people.parquet?secret=1")),
        "SELECT nam FROM people".to_owned(),
        "SELECT p.nam FROM people p".to_owned(),
    ];
    for sql in statements {
        let error = refusal(&shop.session, &sql).await;
        assert_eq!(error.kind(), ErrorKind::Query, "{sql}");
        let hint = error.hint_text().unwrap_or_default();
        assert!(hint.contains("name"), "{sql}: {error}, hint: {hint}");
        assert!(!format!("{error}{hint}").contains("secret"), "{sql}: {error}, hint: {hint}");
    }
}
