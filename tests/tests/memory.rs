//! What a session keeps in memory stays within its bounds, however many queries over however many small files run at once.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "one process tells the other, and both whoever looks")]

use std::process::Command;

use farquet_core::{Bounds, FooterScope};
use farquet_testkit::Origin;
use farquet_tests::files::versioned;
use farquet_tests::{World, rows};
use futures::future::try_join_all;

const QUERIES: usize = 8;
const FILES: usize = 10_000;
const ROWS: usize = 900;
/// Caches and the bytes that queries hold: README, "Many queries".
const BOUND: u64 = (64 + 50 + 64) << 20;
/// Tells the second process where the files are.
const LOCATION: &str = "FARQUET_TEST_MEMORY_LOCATION";

/// Whether the second process may keep anything.
const KEEP: &str = "FARQUET_TEST_MEMORY_KEEP";

/// Peak resident memory in bytes of a process that runs the queries, with and without caches.
fn measure(origin: &Origin, keep: bool) -> u64 {
    let child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "queries_of_a_process_of_their_own", "--ignored", "--nocapture"])
        .env(LOCATION, format!("{}{{1..{FILES}}}", origin.url("/")))
        .env(KEEP, keep.to_string())
        .output()
        .expect("a process");
    let printed = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{printed}{}", String::from_utf8_lossy(&child.stderr));
    let peak = printed.lines().find_map(|line| line.strip_prefix("peak ")).expect("a peak");
    peak.parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn many_queries_over_many_small_files_stay_within_bounds() {
    let body = versioned(1, 1, ROWS);
    assert!(body.len() * FILES > 2 * (64 << 20), "more than any bound holds");
    let builder = (1..=FILES).fold(Origin::builder(), |builder, n| builder.file(&format!("/{n}"), body.clone()));
    let origin = builder.start().await;
    let [engine, all] = [false, true].map(|keep| tokio::task::block_in_place(|| measure(&origin, keep)));
    eprintln!("{engine} bytes without caches, {all} with them");
    assert!(all < engine + BOUND, "{all} bytes, {engine} of them not for caches");
}

/// The other process: not a test of its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by the test above"]
async fn queries_of_a_process_of_their_own() {
    let location = std::env::var(LOCATION).expect("a location");
    let mut world = World::default();
    let settings = &mut world.settings;
    assert_eq!((settings.body_cache, settings.held_bytes), (Bounds { bytes: 64 << 20, entries: 4096 }, 64 << 20));
    if std::env::var(KEEP).is_ok_and(|keep| keep == "false") {
        settings.small_file_cache = false;
        settings.footer_scope = FooterScope::Query;
        settings.held_bytes = 0;
    }
    let session = world.session();
    session.register_files("t", &location).expect("a table");
    // Cold, and then with the caches at their bounds.
    for _ in 0..2 {
        let queries: Vec<_> =
            (0..QUERIES).map(|k| session.query(&format!("SELECT sum(v), sum(n % {}) FROM t", k + 2))).collect();
        let answers = queries.into_iter().map(|query| async { rows(query.await?).await });
        let answers = try_join_all(answers).await.expect("answers");
        for answer in answers {
            assert!(answer[0].starts_with(&format!("{}|", FILES * ROWS)), "{answer:?}");
        }
    }
    let usage = session.client().usage();
    assert!(usage.bodies.bytes <= 64 << 20 && usage.footers.bytes <= 50 << 20 && usage.held == 0, "{usage:?}");
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("peak {}", peak << 10);
}
