//! Windows, common table expressions, subqueries, set operations, groupings.

use crate::data::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn windows() {
    let cases: &[(&str, &[&str])] = &[
        (
            "SELECT id, sum(amount) OVER (PARTITION BY person ORDER BY id) FROM orders WHERE person IN (1, 5) \
             ORDER BY id",
            &["1|10", "2|30", "5|50", "6|100"],
        ),
        (
            "SELECT id, rank() OVER (ORDER BY amount DESC NULLS LAST), lag(amount) OVER (ORDER BY id) FROM orders \
             ORDER BY id",
            &["1|4|NULL", "2|3|10", "3|6|20", "4|8|5", "5|1|NULL", "6|1|50", "7|5|50", "8|7|7"],
        ),
        (
            "SELECT id FROM orders QUALIFY row_number() OVER (PARTITION BY person ORDER BY id) = 1 ORDER BY id",
            &["1", "3", "4", "5", "7", "8"],
        ),
        (
            "SELECT id, avg(amount) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM orders \
             ORDER BY id LIMIT 3",
            &["1|15.0", "2|11.666666666666666", "3|12.5"],
        ),
    ];
    Shop::open().await.check(cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn common_table_expressions() {
    let cases: &[(&str, &[&str])] = &[
        (
            "WITH a AS (SELECT person, sum(amount) AS s FROM orders GROUP BY 1), b AS (SELECT * FROM a WHERE s > 10) \
             SELECT p.name, b.s FROM b JOIN people p ON p.id = b.person ORDER BY 2",
            &["Ada|30", "Eve|100"],
        ),
        ("WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t", &["15"]),
        (
            "WITH RECURSIVE c AS (SELECT id FROM people WHERE id = 2 \
             UNION ALL SELECT p.id FROM people p JOIN c ON p.id = c.id + 1) SELECT count(*), max(id) FROM c",
            &["4|5"],
        ),
        ("WITH people AS (SELECT 1 AS x) SELECT * FROM people", &["1"]),
    ];
    Shop::open().await.check(cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn subqueries() {
    let cases: &[(&str, &[&str])] = &[
        (
            "SELECT name, (SELECT max(amount) FROM orders o WHERE o.person = p.id) FROM people p ORDER BY p.id",
            &["Ada|20", "Bob|5", "Cy|NULL", "NULL|NULL", "Eve|50"],
        ),
        (
            "SELECT id FROM orders o WHERE amount = (SELECT max(amount) FROM orders i WHERE i.person = o.person) \
             ORDER BY 1",
            &["2", "3", "5", "6", "7"],
        ),
        ("SELECT count(*) FROM orders WHERE amount > (SELECT avg(amount) FROM orders)", &["2"]),
        ("SELECT max(s) FROM (SELECT sum(amount) AS s FROM orders GROUP BY person)", &["100"]),
        ("SELECT id FROM depts WHERE id IN (SELECT dept FROM people WHERE name LIKE '%b%')", &["1"]),
    ];
    Shop::open().await.check(cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn set_operations() {
    let cases: &[(&str, &[&str])] = &[
        ("SELECT dept FROM people UNION SELECT id FROM depts ORDER BY 1", &["1", "2", "3", "4", "NULL"]),
        ("SELECT count(*) FROM (SELECT dept FROM people UNION ALL SELECT id FROM depts)", &["9"]),
        ("SELECT dept FROM people INTERSECT SELECT id FROM depts ORDER BY 1", &["1", "2", "3"]),
        ("SELECT id FROM depts EXCEPT SELECT dept FROM people", &["4"]),
        ("SELECT DISTINCT amount FROM orders WHERE person = 5", &["50"]),
    ];
    Shop::open().await.check(cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groupings() {
    let cases: &[(&str, &[&str])] = &[
        (
            "SELECT dept, count(*) FROM people GROUP BY ROLLUP (dept) ORDER BY 1, 2",
            &["1|2", "2|1", "3|1", "NULL|1", "NULL|5"],
        ),
        ("SELECT count(*) FILTER (WHERE amount > 9), count(amount), count(*) FROM orders", &["4|7|8"]),
        ("SELECT person, count(*) FROM orders GROUP BY person HAVING count(*) > 1 ORDER BY 1", &["1|2", "5|2"]),
        ("SELECT count(DISTINCT person), sum(DISTINCT amount), median(amount) FROM orders", &["5|93|10.0"]),
        ("SELECT string_agg(name, '+' ORDER BY id DESC) FROM people", &["Eve+Cy+Bob+Ada"]),
        ("SELECT extract(month FROM day) AS m, sum(amount) FROM orders GROUP BY 1 ORDER BY 1", &["1|35", "2|108"]),
        ("SELECT count(*), sum(amount), max(id) FROM orders WHERE id > 100", &["0|NULL|NULL"]),
        ("SELECT person FROM orders WHERE id > 100 GROUP BY person", &[]),
    ];
    Shop::open().await.check(cases).await;
}
