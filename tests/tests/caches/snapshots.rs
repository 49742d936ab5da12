//! Several queries on one state of the world.

use farquet_core::ErrorKind;
use farquet_testkit::{Fault, Logged, Origin};
use farquet_tests::files::{BY_VERSION, GROUPS, eventually, large, large_row, over, ranges, tiny, tiny_row};
use farquet_tests::{answer, ms, rows, session};

async fn on(snapshot: &farquet_sql::Snapshot, sql: &str) -> farquet_core::Result<Vec<String>> {
    rows(snapshot.query(sql).await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_stays_and_what_has_to_be_fetched_must_be_the_same() {
    let origin = Origin::builder().file("/1", tiny(1)).file("/2", large(1)).start().await;
    let session = session();
    let (small, big) = (over(&origin, &["/1"], BY_VERSION), over(&origin, &["/2"], BY_VERSION));
    let snapshot = session.snapshot();
    assert_eq!(on(&snapshot, &small).await.expect("rows"), [tiny_row(1)]);
    assert_eq!(on(&snapshot, &big).await.expect("rows"), [large_row(1)]);
    origin.put("/1", tiny(2));
    origin.put("/2", large(2));
    origin.clear_log();
    assert_eq!(on(&snapshot, &small).await.expect("rows"), [tiny_row(1)], "it is in memory");
    assert_eq!(on(&snapshot, &over(&origin, &["/2"], "SELECT max(v) FROM t ")).await.expect("rows"), ["1"]);
    assert_eq!(origin.requests(), 0, "its footers are part of it");
    let error = on(&snapshot, &big).await.expect_err("the data is gone");
    assert_eq!(error.kind(), ErrorKind::SourceChanged, "{error:?}");
    assert!(error.to_string().contains("/2"), "{error}");
    // Everybody else sees what is there.
    assert_eq!(answer(&session, &small).await.rows, [tiny_row(2)]);
    assert_eq!(answer(&session, &big).await.rows, [large_row(2)]);
    assert_eq!(on(&session.snapshot(), &big).await.expect("rows"), [large_row(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stale_before_it_is_simply_replaced() {
    let origin = Origin::builder().file("/1", large(1)).file("/2", large(1)).start().await;
    let session = session();
    let both = over(&origin, &["/1", "/2"], BY_VERSION);
    answer(&session, &both).await;
    origin.put("/1", large(2));
    origin.put("/2", large(2));
    let snapshot = session.snapshot();
    assert_eq!(on(&snapshot, &both).await.expect("rows"), [format!("2|{}", 2 * GROUPS * farquet_tests::files::ROWS)]);
    // From then on they are its own.
    origin.put("/1", large(3));
    assert_eq!(on(&snapshot, &both).await.expect_err("changed").kind(), ErrorKind::SourceChanged);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_is_dropped_leaves_it_usable() {
    let origin = Origin::builder().file("/1", large(1)).file("/2", tiny(1)).start().await;
    let session = session();
    let sql = over(&origin, &["/1", "/2"], "SELECT sum(v) FROM t ");
    let snapshot = session.snapshot();
    for hanging in [Fault::Hang, Fault::Stall(100)] {
        origin.clear_log();
        origin.script(move |_| Some(hanging.clone()));
        let dropped = tokio::time::timeout(ms(200), snapshot.query(&sql)).await;
        assert!(dropped.is_err());
        eventually(&origin, "all exchanges end", |log| log.len() == 2 && log.iter().all(Logged::is_over)).await;
    }
    origin.clear_script();
    origin.clear_log();
    assert_eq!(on(&snapshot, &sql).await.expect("rows"), ["120100"]);
    let first = origin.requests();
    assert_eq!(first, 2 + GROUPS, "{:?}", ranges(&origin.log()));
    assert_eq!(on(&snapshot, &sql).await.expect("rows"), ["120100"]);
    assert_eq!(origin.requests() - first, GROUPS, "only data that is not held");
}

/// Statements that read data, and statements that read footers.
const STATEMENTS: [&str; 4] = [
    BY_VERSION,
    "SELECT max(v), 120000 FROM t ",
    "SELECT min(v), count(*) FROM t ",
    "SELECT v, count(n) FROM t GROUP BY v",
];

#[tokio::test(flavor = "multi_thread")]
async fn queries_that_run_together_replace_what_was_stale() {
    for n in 1..=STATEMENTS.len() {
        let origin = Origin::builder().file("/1", large(1)).start().await;
        let session = session();
        answer(&session, &over(&origin, &["/1"], BY_VERSION)).await;
        origin.put("/1", large(2));
        let snapshot = session.snapshot();
        let queries = STATEMENTS.iter().cycle().take(2 * n).map(|sql| {
            let sql = over(&origin, &["/1"], sql);
            let snapshot = &snapshot;
            async move { on(snapshot, &sql).await }
        });
        for found in futures::future::join_all(queries).await {
            assert_eq!(found.unwrap_or_else(|error| panic!("{n}: {error:?}")), [large_row(2)], "{n}");
        }
        origin.clear_log();
        assert_eq!(on(&snapshot, &over(&origin, &["/1"], "SELECT max(v) FROM t ")).await.expect("rows"), ["2"]);
        assert_eq!(origin.requests(), 0, "it is part of it now");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_version_of_each_file_for_all_queries_while_somebody_writes() {
    let paths = ["/1", "/2"];
    let origin = paths.iter().fold(Origin::builder(), |builder, path| builder.file(path, large(1))).start().await;
    let session = session();
    answer(&session, &over(&origin, &paths, BY_VERSION)).await;
    let mut answered = 0;
    for version in 2..30 {
        let snapshot = session.snapshot();
        // Those at once, and the others after the next change.
        let mut seen = std::collections::BTreeMap::new();
        for at_once in 0..2 {
            let queries = STATEMENTS.iter().flat_map(|sql| paths.map(|path| (path, over(&origin, &[path], sql))));
            let snapshot = &snapshot;
            let queries = queries.map(|(path, sql)| async move { (path, on(snapshot, &sql).await) });
            let change = async {
                tokio::time::sleep(ms(u64::try_from(version * 7 % 11).expect("few"))).await;
                origin.put(paths[at_once], large(version));
            };
            let (found, ()) = tokio::join!(futures::future::join_all(queries), change);
            for (path, found) in found {
                match found {
                    Ok(rows) => {
                        answered += 1;
                        let first = seen.entry(path).or_insert_with(|| rows.clone());
                        assert_eq!(&rows, first, "{path} while {version} is written");
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::SourceChanged, "{error:?}"),
                }
            }
        }
        for rows in seen.values() {
            assert!(*rows == [large_row(version)] || *rows == [large_row(version - 1)], "{rows:?} at {version}");
        }
    }
    assert!(answered > 28 * STATEMENTS.len(), "{answered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_queries_of_it_survive_one_stale_file() {
    let origin = Origin::builder().file("/1", large(1)).file("/2", large(1)).start().await;
    let session = session();
    let sql = [over(&origin, &["/1", "/2"], BY_VERSION), over(&origin, &["/1"], "SELECT v, min(n) FROM t GROUP BY v")];
    answer(&session, &sql[0]).await;
    origin.put("/1", large(2));
    let snapshot = session.snapshot();
    let queries: Vec<_> = (0..8).map(|n| on(&snapshot, &sql[n % 2])).collect();
    for (n, found) in futures::future::join_all(queries).await.into_iter().enumerate() {
        let expected = if n % 2 == 0 { vec![large_row(1), large_row(2)] } else { vec!["2|2000000000".to_owned()] };
        assert_eq!(found.expect("rows"), expected);
    }
}
