//! The same rows with one decoder and with four, with pruning and without, and as DuckDB has them.

use farquet_testkit::Origin;
use farquet_testkit::fixture::{FileSet, SizeClass, minutes, taxi_of};
use farquet_tests::canon::{Comparison, difference, rows};
use farquet_tests::reference::{self, Reader};
use farquet_tests::{World, batches};

use crate::random::{MINUTES, RIDES, Random, Table};

/// Queries over each table.
const QUERIES: usize = 60;

/// Queries over `set` as `table`, compared.
async fn compare(table: &Table, set: &FileSet, seed: u64) {
    let folder = set.on_disk().expect("fixtures on disk");
    let origin = Origin::builder().directory("/d/", &folder).start().await;
    let sessions: Vec<_> = [(1, true), (4, true), (2, false)]
        .into_iter()
        .map(|(partitions, pruning)| {
            let session = World { partitions, pruning, ..World::default() }.session();
            let urls: Vec<_> = set.file_names().map(|file| origin.url(&format!("/d/{file}")).to_string()).collect();
            session.register_files(table.name, &urls.join(",")).expect("a table");
            (format!("partitions: {partitions}, pruning: {pruning}"), session)
        })
        .collect();
    let paths: Vec<_> = set.file_names().map(|file| folder.join(file)).collect();
    let mut world = reference::World::of(table.name, Reader::DuckDb, &paths);
    let mut random = Random::new(seed);
    let queries: Vec<_> = (0..QUERIES).map(|_| random.query(table)).collect();
    for (sql, _) in &queries {
        world.ask(sql);
    }
    let mut wrong = Vec::new();
    let replies = reference::ask(&[world]).remove(0);
    for ((sql, ordered), reply) in queries.iter().zip(replies) {
        let how = Comparison { tolerance: 1e-9, ordered: *ordered };
        let (_, theirs) = reply.unwrap_or_else(|error| panic!("{sql}: {error}"));
        for (which, session) in &sessions {
            let (read, _) = batches(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            wrong.extend(difference(rows(&read), theirs.clone(), how).map(|what| format!("{sql}\n  {which}: {what}")));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn minutes_answer_as_elsewhere() {
    compare(&MINUTES, &minutes(6, SizeClass::Mixed), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rides_answer_as_elsewhere() {
    compare(&RIDES, &taxi_of(2, 6, 4000), 2).await;
}
