//! Queries that wait for the request of another one: what becomes of them when that is answered, fails or goes away.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use farquet_core::{ErrorKind, Limits};
use farquet_sql::Session;
use farquet_testkit::{Fault, Logged, Origin};
use farquet_tests::files::{BY_VERSION, GROUPS, eventually, large, large_row, over, ranges, tiny};
use farquet_tests::{World, answer, ms, rows, session};

const PATHS: [&str; 3] = ["/1", "/2", "/3"];
/// Is asked for by whoever wants the held request to be answered.
const RELEASE: &str = "/release";

/// Holds the first request for `/1` until somebody asks for [`RELEASE`], and then lets `fault` happen to it.
fn hold(origin: &Origin, fault: Option<Fault>) {
    origin.clear_log();
    let held = AtomicBool::new(false);
    origin.script(move |seen| {
        let first = seen.path == "/1" && !held.swap(true, Ordering::SeqCst);
        let wait = || fault.clone().map_or(Fault::Gather(2), |fault| Fault::Gather(2).then(fault));
        first.then(wait)
    });
}

async fn release(origin: &Origin) {
    answer(&session(), &over(origin, &[RELEASE], "SELECT count(*) FROM t ")).await;
}

async fn arrived(origin: &Origin) {
    eventually(origin, "the request arrives", |log| log.len() == 1).await;
}

/// The query gets as far as it can, which is to wait.
async fn waits<T>(query: impl Future<Output = T>) {
    assert!(tokio::time::timeout(ms(300), query).await.is_err(), "it has nothing to go on with");
}

/// A session that knows the file, or does not.
async fn start(bytes: bytes::Bytes, known: bool, statement: &str) -> (Origin, Session, String) {
    let origin = Origin::builder().file("/1", bytes).file(RELEASE, tiny(1)).start().await;
    let mut world = World::default();
    world.settings.retries = 0;
    let (session, sql) = (world.session(), over(&origin, &["/1"], statement));
    if known {
        answer(&session, &sql).await;
    }
    (origin, session, sql)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_of_a_query_that_is_gone_goes_on_for_those_who_wait() {
    for (bytes, known) in [(tiny(1), false), (tiny(1), true), (large(1), false), (large(1), true)] {
        let (origin, session, sql) = start(bytes, known, "SELECT max(v) FROM t ").await;
        hold(&origin, None);
        let mut second = pin!(session.query(&sql));
        let first = tokio::spawn(session.query(&sql));
        arrived(&origin).await;
        waits(&mut second).await;
        first.abort();
        assert!(first.await.is_err());
        waits(&mut second).await;
        release(&origin).await;
        assert_eq!(rows(second.await.expect("an answer")).await.expect("rows"), ["1"]);
        assert_eq!(origin.log().of_path("/1").requests(), 1, "known {known}: {:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_nobody_waits_for_ends_and_leaves_nothing() {
    for (bytes, known) in [(tiny(1), false), (tiny(1), true), (large(1), false), (large(1), true)] {
        let (origin, session, sql) = start(bytes, known, "SELECT max(v) FROM t ").await;
        origin.clear_log();
        origin.script(|seen| (seen.index == 0).then_some(Fault::Hang));
        let (mut first, mut second) = (Box::pin(session.query(&sql)), Box::pin(session.query(&sql)));
        waits(&mut first).await;
        waits(&mut second).await;
        drop(first);
        waits(&mut second).await;
        drop(second);
        eventually(&origin, "it ends", |log| log.len() == 1 && log[0].is_over()).await;
        assert_eq!(answer(&session, &sql).await.rows, ["1"]);
        assert_eq!(origin.requests(), 2, "known {known}: {:?}", ranges(&origin.log()));
        assert_eq!(session.client().usage().held, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_luck_of_one_query_is_not_that_of_those_who_wait() {
    for (bytes, known) in [(tiny(1), false), (tiny(1), true), (large(1), false), (large(1), true)] {
        let (origin, session, sql) = start(bytes, known, "SELECT max(v) FROM t ").await;
        hold(&origin, Some(Fault::status(500)));
        let (mut first, mut second) = (Box::pin(session.query(&sql)), Box::pin(session.query(&sql)));
        waits(&mut first).await;
        waits(&mut second).await;
        release(&origin).await;
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first.expect_err("an error").kind(), ErrorKind::Status, "known {known}");
        assert_eq!(rows(second.expect("an answer")).await.expect("rows"), ["1"], "known {known}");
        assert_eq!(origin.log().of_path("/1").requests(), 2, "known {known}: {:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_file_is_told_to_all_who_wait() {
    for (bytes, known) in [(tiny(1), false), (tiny(1), true), (large(1), false), (large(1), true)] {
        let (origin, session, sql) = start(bytes, known, "SELECT max(v) FROM t ").await;
        hold(&origin, Some(Fault::status(404)));
        let (mut first, mut second) = (Box::pin(session.query(&sql)), Box::pin(session.query(&sql)));
        waits(&mut first).await;
        waits(&mut second).await;
        release(&origin).await;
        for query in [first, second] {
            assert_eq!(query.await.expect_err("an error").kind(), ErrorKind::NotFound, "known {known}");
        }
        assert_eq!(origin.log().of_path("/1").requests(), 1, "known {known}: {:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_one_query_are_not_those_of_one_who_waits() {
    let (origin, session, sql) = start(tiny(1), true, BY_VERSION).await;
    // The file has grown, so that one request does not do.
    origin.put("/1", large(2));
    hold(&origin, None);
    let limits = Limits { max_requests: Some(1), max_bytes: None };
    let (poor, statement) = (session.begin(limits), session.parse(&sql).expect("SQL").remove(0));
    let mut second = pin!(session.query(&sql));
    let mut first = pin!(session.run(&poor, &statement));
    waits(&mut first).await;
    waits(&mut second).await;
    release(&origin).await;
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.expect_err("one request is not enough").kind(), ErrorKind::Budget);
    assert_eq!(rows(second.expect("an answer")).await.expect("rows"), [large_row(2)]);
    let log = origin.log().of_path("/1");
    assert_eq!(log.requests(), 1 + 2 + GROUPS, "{:?}", ranges(&log));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_on_its_way_serves_nobody_who_began_after_it() {
    let (origin, session, sql) = start(tiny(1), true, BY_VERSION).await;
    origin.put("/1", tiny(2));
    origin.clear_log();
    // The server has read version 2, and its answer takes its time.
    origin.script(|seen| (seen.index == 0).then_some(Fault::Stall(1_000)));
    let mut first = Box::pin(session.query(&sql));
    waits(&mut first).await;
    eventually(&origin, "some of it was sent", |log| log.len() == 1 && log[0].body_bytes >= 1_000).await;
    origin.put("/1", tiny(3));
    let second = tokio::time::timeout(Duration::from_secs(10), session.query(&sql)).await.expect("it does not wait");
    assert_eq!(rows(second.expect("an answer")).await.expect("rows"), ["3|100"]);
    assert_eq!(origin.requests(), 2);
    drop(first);
    eventually(&origin, "all exchanges end", |log| log.iter().all(Logged::is_over)).await;
    assert_eq!(answer(&session, &sql).await.report.status, [(304, 1)].into(), "the newer one was kept");
}

/// What is asked of files that are too large to be kept, by statements that read none of their data.
#[tokio::test(flavor = "multi_thread")]
async fn one_look_at_each_large_file() {
    for partitions in [1, 8] {
        let origin = PATHS.iter().fold(Origin::builder(), |builder, path| builder.file(path, large(1))).start().await;
        let session = World { partitions, ..World::default() }.session();
        answer(&session, &over(&origin, &PATHS, "SELECT count(*) FROM t ")).await;
        for sql in [
            "SELECT count(*) FROM t ",
            "SELECT min(n), max(v) FROM t ",
            "SELECT n FROM t WHERE v = 9",
            "SELECT count(n) FROM t WHERE v > 9",
            "SELECT count(*) FROM t UNION ALL SELECT max(v) FROM t UNION ALL SELECT n FROM t WHERE v = 9",
            "SELECT count(*) FROM t AS a JOIN t AS b ON a.n = b.n WHERE a.v = 9 AND b.v = 9",
        ] {
            origin.clear_log();
            let report = answer(&session, &over(&origin, &PATHS, sql)).await.report;
            let log = origin.log();
            assert_eq!((log.requests(), log.by_status()), (3, [(304, 3)].into()), "{sql}: {:?}", ranges(&log));
            assert!(PATHS.iter().all(|path| log.of_path(path).requests() == 1), "{sql}");
            assert_eq!((report.bytes_received, report.hops, report.cache.revalidated), (0, 1, 3), "{sql}");
        }
        // Data proves its file. Where rows are handed out before all of it is there, a look does, unless data was faster.
        for (sql, looks) in [(BY_VERSION, 0), ("SELECT v FROM t ", 3)] {
            origin.clear_log();
            let report = answer(&session, &over(&origin, &PATHS, sql)).await.report;
            let expected = 3 * GROUPS..=3 * GROUPS + looks;
            assert!(expected.contains(&origin.requests()), "{sql}: {:?}", ranges(&origin.log()));
            assert_eq!((report.hops, report.cache.misses), (1, 0), "{sql}");
        }
    }
}
