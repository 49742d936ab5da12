//! The dashboard's tiles on one session, for `bench/dashboard`: dashboard KIND WIDTH URL…
//!
//! Each line of standard input begins a load; its milliseconds and the rows of each tile are a line of standard output.

#![expect(clippy::print_stdout, reason = "for the process that asked")]

use std::time::Instant;

use arrow::array::RecordBatch;
use farquet_core::Freshness;
use farquet_sql::{Session, Snapshot};
use farquet_tests::{World, tiles};
use futures::future::FutureExt;
use futures::stream::{self, StreamExt};
use serde_json::json;

async fn load(session: &Session, snapshot: Option<Snapshot>, at_once: usize) -> Vec<usize> {
    let answers = stream::iter(tiles()).map(|tile| {
        let result = match &snapshot {
            Some(snapshot) => snapshot.query(tile).left_future(),
            None => session.query(tile).right_future(),
        };
        // Runs when it is first polled: those that are asked together have begun before.
        async { tokio::spawn(async { result.await?.collect().await }).await }
    });
    let answers: Vec<_> = answers.buffered(at_once).collect().await;
    let batches = answers.into_iter().map(|answer| answer.expect("no panic").expect("an answer"));
    batches.map(|batches| batches.iter().map(RecordBatch::num_rows).sum()).collect()
}

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let kind = args.next().expect("validate, snapshot or immutable");
    let at_once = args.next().and_then(|n| n.parse().ok()).expect("how many at once");
    let freshness = if kind == "immutable" { Freshness::Immutable } else { Freshness::Validate };
    let partitions = std::thread::available_parallelism().map_or(1, usize::from);
    let session = World { partitions, ..World::default() }.session();
    session.register_files_with("t", &args.collect::<Vec<_>>().join(","), freshness).expect("a table");
    for _ in std::io::stdin().lines() {
        let began = Instant::now();
        let snapshot = (kind == "snapshot").then(|| session.snapshot());
        let rows = load(&session, snapshot, at_once).await;
        println!("{}", json!({ "ms": began.elapsed().as_secs_f64() * 1e3, "rows": rows }));
    }
}
