//! Joins, and the filters that one side gives the other.

use farquet_testkit::Origin;
use farquet_tests::{World, answer, session};

use crate::data::{GROUPS, ROWS, Shop, count, file, large};

#[tokio::test(flavor = "multi_thread")]
async fn joins_of_all_kinds() {
    let cases: &[(&str, &[&str])] = &[
        (
            "SELECT p.name, d.title FROM people p JOIN depts d ON p.dept = d.id ORDER BY p.id",
            &["Ada|ops", "Bob|ops", "Cy|dev", "Eve|hr"],
        ),
        (
            "SELECT p.id, d.title FROM people p LEFT JOIN depts d ON p.dept = d.id ORDER BY 1",
            &["1|ops", "2|ops", "3|dev", "4|NULL", "5|hr"],
        ),
        (
            "SELECT d.title, count(p.id) FROM people p RIGHT JOIN depts d ON p.dept = d.id GROUP BY 1 ORDER BY 1",
            &["dev|1", "hr|1", "law|0", "ops|2"],
        ),
        ("SELECT count(*) FROM people p FULL JOIN orders o ON p.id = o.person", &["9"]),
        ("SELECT count(*) FROM people CROSS JOIN depts", &["20"]),
        ("SELECT count(*) FROM orders a JOIN orders b ON a.amount < b.amount", &["20"]),
        ("SELECT id, name FROM people JOIN depts USING (id) ORDER BY 1", &["1|Ada", "2|Bob", "3|Cy", "4|NULL"]),
        (
            "SELECT name FROM people p WHERE EXISTS (SELECT 1 FROM orders o WHERE o.person = p.id) ORDER BY 1",
            &["Ada", "Bob", "Cy", "Eve"],
        ),
        ("SELECT id FROM people p WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.person = p.id)", &["4"]),
        ("SELECT count(*) FROM people WHERE id NOT IN (SELECT person FROM orders)", &["0"]),
        ("SELECT count(*) FROM people WHERE id NOT IN (SELECT person FROM orders WHERE person > 0)", &["1"]),
        (
            "SELECT p.name, d.title, sum(o.amount) FROM people p JOIN depts d ON p.dept = d.id \
             JOIN orders o ON o.person = p.id GROUP BY ALL ORDER BY 3 DESC NULLS LAST",
            &["Eve|hr|100", "Ada|ops|30", "Bob|ops|5", "Cy|dev|NULL"],
        ),
    ];
    for partitions in [1, 4] {
        Shop::with(&World { partitions, ..World::default() }).await.check(cases).await;
    }
}

/// The keys of a small table keep the row groups of a large one from being fetched.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_one_side_prune_the_other() {
    let few = file(vec![("n", count(GROUPS * ROWS - 3, 10))]);
    let origin = Origin::builder().file("/large", large(7)).file("/few", few).start().await;
    let sql = "SELECT count(*), sum(l.v) FROM 'LARGE' l JOIN 'FEW' f ON l.n = f.n";
    let sql = sql.replace("LARGE", origin.url("/large").as_str()).replace("FEW", origin.url("/few").as_str());
    let answer = answer(&session(), &sql).await;
    assert_eq!(answer.rows, ["3|21"]);
    assert_eq!(answer.report.row_groups_read, 2, "one of either file");
}

/// The same for a top-k: what it has seen tells which row groups cannot matter.
#[tokio::test(flavor = "multi_thread")]
async fn a_top_k_prunes_what_cannot_matter() {
    let origin = Origin::builder().file("/large", large(7)).start().await;
    let session = World { partitions: 1, ..World::default() }.session();
    let sql = format!("SELECT n FROM '{}' ORDER BY n DESC LIMIT 2", origin.url("/large"));
    let answer = answer(&session, &sql).await;
    let last = GROUPS * ROWS - 1;
    assert_eq!(answer.rows, [last.to_string(), (last - 1).to_string()]);
    assert_eq!(answer.report.row_groups_read, 1);
}
