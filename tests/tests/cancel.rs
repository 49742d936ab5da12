//! Dropping cancels, and silence ends: the origin sees the aborts, and the session goes on.

use std::time::Duration;

use farquet_core::ErrorKind;
use farquet_sql::Session;
use farquet_testkit::{Fault, Logged, Origin};
use farquet_tests::files::{BY_VERSION, eventually, is_suffix, large, large_row, over, ranges};
use farquet_tests::{World, answer, ms, refusal, session};
use futures::StreamExt;

const PATHS: [&str; 4] = ["/1", "/2", "/3", "/4"];

async fn four() -> Origin {
    let builder = PATHS.iter().fold(Origin::builder(), |builder, path| builder.file(path, large(1)));
    builder.start().await
}

fn cut(entry: &Logged) -> bool {
    entry.is_over() && !entry.complete
}

/// The session answers as if nothing had happened, and asks again for all but the footers that it `knows`.
async fn goes_on(session: &Session, origin: &Origin, knows: usize) {
    origin.clear_script();
    origin.clear_log();
    let answer = answer(session, &over(origin, &PATHS, BY_VERSION)).await;
    assert_eq!(answer.rows, ["1|480000"]);
    assert_eq!(origin.requests(), 4 * 4 - knows, "{:?}", ranges(&origin.log()));
    assert!(origin.log().iter().all(|entry| entry.complete));
}

/// Runs a query until `requests` have arrived, drops it, and waits until the origin has noticed.
async fn drop_query_after(session: &Session, origin: &Origin, requests: usize) {
    let sql = over(origin, &PATHS, BY_VERSION);
    tokio::select! {
        result = session.query(&sql) => panic!("an answer: {result:?}"),
        () = eventually(origin, "requests arrive", |log| log.len() == requests) => {}
    }
    eventually(origin, "all exchanges end", |log| log.iter().all(Logged::is_over)).await;
    assert_eq!(origin.requests(), requests, "nothing is sent after a drop: {:?}", ranges(&origin.log()));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_query_cancels_its_footer_requests() {
    for fault in [Fault::Hang, Fault::Stall(1000)] {
        let origin = four().await;
        let session = session();
        origin.script(move |_| Some(fault.clone()));
        drop_query_after(&session, &origin, 4).await;
        assert!(origin.log().iter().all(cut));
        eventually(&origin, "connections close", |_| origin.open_connections() == 0).await;
        goes_on(&session, &origin, 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_query_cancels_its_data_requests() {
    for fault in [Fault::Hang, Fault::Stall(1000)] {
        let origin = four().await;
        let session = session();
        origin.script(move |seen| (!is_suffix(seen)).then(|| fault.clone()));
        drop_query_after(&session, &origin, 4 * 4).await;
        assert_eq!(origin.log().iter().filter(|entry| cut(entry)).count(), 4 * 3);
        goes_on(&session, &origin, 4).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_query_ends_its_waits() {
    let origin = four().await;
    let session = session();
    origin.script(|_| Some(Fault::status(503)));
    let sql = over(&origin, &PATHS, BY_VERSION);
    let dropped = tokio::time::timeout(ms(50), session.query(&sql)).await;
    assert!(dropped.is_err(), "five attempts each take longer");
    // What was under way when it was dropped may still arrive.
    tokio::time::sleep(ms(200)).await;
    let sent = origin.requests();
    tokio::time::sleep(ms(500)).await;
    assert_eq!(origin.requests(), sent, "a retry was sent for nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_query_of_many_requests_leaves_no_permit_behind() {
    let origin = four().await;
    let mut world = World::default();
    world.settings.requests_per_origin = Some(2);
    let session = world.session();
    for _ in 0..3 {
        origin.script(|_| Some(Fault::Hang));
        origin.clear_log();
        drop_query_after(&session, &origin, 2).await;
    }
    goes_on(&session, &origin, 0).await;
    assert!(origin.max_in_flight() <= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_result_cancels_what_it_still_fetches() {
    let origin = four().await;
    let session = session();
    // The first file arrives; of the others the data stands still.
    origin.script(|seen| (!is_suffix(seen) && seen.path != "/1").then_some(Fault::Stall(1000)));
    let mut result = session.query(&over(&origin, &PATHS, "SELECT v, n FROM t ")).await.expect("a result");
    let batch = result.next().await.expect("a batch").expect("rows");
    assert!(batch.num_rows() > 0);
    eventually(&origin, "data of the others stands still", |log| {
        log.iter().filter(|entry| entry.path != "/1" && entry.body_bytes == 1000).count() >= 3
    })
    .await;
    let query = std::sync::Arc::clone(result.query());
    drop(result);
    eventually(&origin, "all exchanges end", |log| log.iter().all(Logged::is_over)).await;
    let log = origin.log();
    assert!(log.iter().filter(|entry| entry.path != "/1" && !is_suffix(entry)).all(cut), "{:?}", ranges(&log));
    let in_flight = || query.stats().progress().2;
    eventually(&origin, "nothing is in flight", |_| in_flight() == 0).await;
    assert_eq!(log.requests() as u64, query.report().total_requests(), "accounts are settled");
    goes_on(&session, &origin, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_cancels_what_it_no_longer_needs() {
    let origin = four().await;
    let session = session();
    origin.script(|seen| (!is_suffix(seen) && seen.path != "/1").then_some(Fault::Stall(1000)));
    let answer = answer(&session, &over(&origin, &PATHS, "SELECT v FROM t LIMIT 10")).await;
    assert_eq!(answer.rows, vec!["1"; 10]);
    eventually(&origin, "all exchanges end", |log| log.iter().all(Logged::is_over)).await;
    goes_on(&session, &origin, 4).await;
}

/// Silence that is not borne; longer than a busy machine takes to answer.
const IDLE: Duration = ms(400);

fn impatient(retries: u32) -> Session {
    let mut world = World::default();
    world.settings.idle_timeout = IDLE;
    world.settings.retries = retries;
    world.session()
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_ends_in_an_error_after_the_retries() {
    for fault in [Fault::Hang, Fault::Stall(0), Fault::Stall(1000)] {
        let name = format!("{fault:?}");
        let origin = Origin::builder().file("/1", large(1)).start().await;
        origin.script(move |_| Some(fault.clone()));
        let error = refusal(&impatient(2), &over(&origin, &["/1"], BY_VERSION)).await;
        assert_eq!(error.kind(), ErrorKind::Network, "{name}: {error:?}");
        assert!(error.hint_text().is_some(), "{name}");
        assert_eq!(origin.requests(), 3, "{name}: {:?}", ranges(&origin.log()));
        eventually(&origin, "all exchanges end", |log| log.iter().all(cut)).await;
        eventually(&origin, "connections close", |_| origin.open_connections() == 0).await;
        let log = origin.log();
        let starts: Vec<_> = log.iter().map(|entry| entry.start).collect();
        assert!(starts.windows(2).all(|pair| pair[1].saturating_sub(pair[0]) >= IDLE / 2), "{name}: {starts:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_silent_answer_is_asked_for_again() {
    for fault in [Fault::Hang, Fault::Stall(0), Fault::Stall(100_000)] {
        for silent in [0, 1] {
            let name = format!("{fault:?} of request {silent}");
            let origin = Origin::builder().file("/1", large(1)).start().await;
            let fault = fault.clone();
            origin.script(move |seen| (seen.index == silent).then(|| fault.clone()));
            let answer = answer(&impatient(2), &over(&origin, &["/1"], BY_VERSION)).await;
            assert_eq!((answer.rows, answer.report.retries), (vec![large_row(1)], 1), "{name}");
            assert_eq!(origin.requests(), 4 + 1, "{name}: {:?}", ranges(&origin.log()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_is_not_silent() {
    // 1.5 MB at 1 MB a second take longer than the idle timeout, and something arrives all the time.
    let origin = Origin::builder().file("/1", large(1)).bandwidth(1_000_000).start().await;
    let session = {
        let mut world = World::default();
        world.settings.idle_timeout = Duration::from_secs(1);
        world.settings.retries = 0;
        world.session()
    };
    let answer = answer(&session, &over(&origin, &["/1"], BY_VERSION)).await;
    assert_eq!(answer.rows, [large_row(1)]);
    let log = origin.log();
    let last = log.iter().filter_map(|entry| entry.end).max().expect("an end");
    assert!(last.saturating_sub(log[0].start) >= Duration::from_secs(1));
}
