//! Whose request is whose answer: one for each file and query, shared by those that began before it was made, and by no others.

use farquet_core::{ErrorKind, Limits};
use farquet_testkit::{Fault, Logged, Origin};
use farquet_tests::files::{BY_VERSION, eventually, large, over, ranges, tiny, tiny_row};
use farquet_tests::{World, answer, rows, session};

#[tokio::test(flavor = "multi_thread")]
async fn one_validation_for_each_file_and_query() {
    let paths = ["/1", "/2", "/3"];
    for partitions in [1, 8] {
        let origin = paths.iter().fold(Origin::builder(), |builder, path| builder.file(path, tiny(1))).start().await;
        let session = World { partitions, ..World::default() }.session();
        for (n, sql) in [
            "SELECT v, n FROM t WHERE n >= 0",
            "SELECT count(*) FROM t ",
            "SELECT min(n), max(v) FROM t WHERE gap = 0",
            "SELECT v FROM t UNION ALL SELECT n FROM t UNION ALL SELECT gap FROM t ",
            "SELECT count(*) FROM t JOIN (SELECT n AS m FROM t ) ON n = m",
            "SELECT * FROM t ORDER BY n DESC LIMIT 3",
        ]
        .into_iter()
        .enumerate()
        {
            origin.clear_log();
            let report = answer(&session, &over(&origin, &paths, sql)).await.report;
            let log = origin.log();
            assert_eq!(log.requests(), 3, "{sql}: {:?}", ranges(&log));
            let (status, bytes) = if n == 0 { (206, log.body_bytes()) } else { (304, 0) };
            assert_eq!((log.by_status(), log.body_bytes()), ([(status, 3)].into(), bytes), "{sql}");
            assert_eq!((report.bytes_received, report.hops), (bytes, 1), "{sql}");
        }
    }
}

/// Waits until `n` requests have come to the origin.
async fn arrived(origin: &Origin, n: usize) {
    eventually(origin, "requests arrive", |log| log.len() == n).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_serves_only_those_that_began_before_it() {
    for bytes in [tiny(1), large(1)] {
        let origin = Origin::builder().file("/1", bytes).start().await;
        let session = session();
        // From the footer alone, so that a large file is asked about and not read.
        let sql = over(&origin, &["/1"], "SELECT max(v) FROM t ");
        answer(&session, &sql).await;
        origin.clear_log();
        origin.script(|seen| (seen.index == 0).then_some(Fault::Hang));
        // Both begin now, whenever they are polled.
        let (first, second) = (session.query(&sql), session.query(&sql));
        let (first, second) = (tokio::spawn(first), tokio::spawn(second));
        arrived(&origin, 1).await;
        // Time for the other one to find the request; if it comes late, there is an answer for it.
        tokio::time::sleep(farquet_tests::ms(100)).await;
        // What began after the request was made is not served by it.
        let third = session.query(&sql);
        let third = tokio::time::timeout(std::time::Duration::from_secs(10), third).await.expect("no wait");
        assert_eq!(rows(third.expect("an answer")).await.expect("rows"), ["1"]);
        assert_eq!(origin.requests(), 2, "the first two send one: {:?}", ranges(&origin.log()));
        first.abort();
        second.abort();
        eventually(&origin, "all exchanges end", |log| log.iter().all(Logged::is_over)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_began_before_a_change_may_not_serve_one_that_began_after() {
    let origin = Origin::builder().file("/1", tiny(1)).start().await;
    let session = session();
    let sql = over(&origin, &["/1"], BY_VERSION);
    answer(&session, &sql).await;
    origin.clear_log();
    // The old state is read by the server, and told late.
    origin.script(|seen| {
        let late = Fault::ReplaceAfter { path: "/1".to_owned(), bytes: tiny(2) };
        (seen.index == 0).then(|| late.then(Fault::Delay(farquet_tests::ms(300))))
    });
    let first = tokio::spawn(session.query(&sql));
    arrived(&origin, 1).await;
    let second = answer(&session, &sql);
    let (first, second) = tokio::join!(first, second);
    let first = rows(first.expect("a task").expect("an answer")).await.expect("rows");
    assert!(first == [tiny_row(1)] || first == [tiny_row(2)], "{first:?}");
    assert_eq!(origin.requests(), 2, "each asked for itself");
    // Which of both states the server told the second depends on when it replaced the file; the third cannot be told the old one.
    assert!(second.rows == [tiny_row(1)] || second.rows == [tiny_row(2)]);
    assert_eq!(answer(&session, &sql).await.rows, [tiny_row(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_wait_go_on_when_the_one_who_asked_is_gone() {
    for kept in [false, true] {
        let origin = Origin::builder().file("/1", tiny(1)).start().await;
        let session = session();
        let sql = over(&origin, &["/1"], BY_VERSION);
        if kept {
            answer(&session, &sql).await;
            origin.clear_log();
        }
        origin.script(|_| Some(Fault::Delay(farquet_tests::ms(300))));
        let (first, second) = (session.query(&sql), session.query(&sql));
        let first = tokio::spawn(first);
        arrived(&origin, 1).await;
        let second = tokio::spawn(second);
        tokio::task::yield_now().await;
        first.abort();
        let found = second.await.expect("a task").expect("an answer");
        assert_eq!(rows(found).await.expect("rows"), [tiny_row(1)]);
        assert!(origin.requests() <= 2, "kept {kept}: {:?}", ranges(&origin.log()));
        eventually(&origin, "all exchanges end", |log| log.iter().all(Logged::is_over)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_failure_of_one_query_is_not_that_of_another() {
    let origin = Origin::builder().file("/1", large(1)).start().await;
    let mut world = World::default();
    world.settings.retries = 0;
    let session = world.session();
    let sql = over(&origin, &["/1"], "SELECT max(v) FROM t ");
    // The first request of all fails, whoever sends it.
    origin.script(|seen| (seen.index == 0).then_some(Fault::status(500).then(Fault::Delay(farquet_tests::ms(200)))));
    let queries: Vec<_> = (0..3).map(|_| session.query(&sql)).collect();
    let results = futures::future::join_all(queries).await;
    let failed = results.iter().filter(|result| result.is_err()).count();
    assert_eq!(failed, 1, "only the one who sent it: {:?}", ranges(&origin.log()));
    // Limits of one query are its own too.
    let statement = session.parse(&sql).expect("SQL").remove(0);
    session.client().clear_caches();
    let poor = session.begin(Limits { max_requests: Some(0), max_bytes: None });
    let rich = session.query(&sql);
    let (poor, rich) = tokio::join!(session.run(&poor, &statement), rich);
    assert_eq!(poor.expect_err("no request is allowed").kind(), ErrorKind::Budget);
    assert_eq!(rows(rich.expect("an answer")).await.expect("rows"), ["1"]);
}
