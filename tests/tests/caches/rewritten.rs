//! Files that somebody rewrites all the time, and queries that run all the time: none sees two versions of a file, or one that
//! was gone when it began.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use bytes::Bytes;
use farquet_core::ErrorKind;
use farquet_sql::Session;
use farquet_testkit::Origin;
use farquet_tests::files::{over, versioned};
use farquet_tests::{World, ask, ms};

use crate::servers::{Server, both};

/// Versions of each file.
const VERSIONS: i64 = 120;
const PATHS: [&str; 3] = ["/1", "/2", "/3"];
/// The first file is small, the others are not.
const BOUND: u64 = 10_000;

fn file(path: usize, version: i64) -> Bytes {
    if path == 0 { versioned(version, 1, 100) } else { versioned(version, 3, 1_000) }
}

fn count(path: usize) -> i64 {
    if path == 0 { 100 } else { 3_000 }
}

/// Statements whose answer tells, for each file, the versions of two columns and the rows, by data, statistics and both.
const STATEMENTS: [(&[&str], &str); 4] = [
    (&PATHS, "SELECT filename, min(v), max(v), min(n / 1000000000), max(n / 1000000000), count(*) FROM t GROUP BY 1"),
    (&["/1"], "SELECT '/1', min(v), max(v), min(n) / 1000000000, max(n) / 1000000000, count(*) FROM t "),
    (&["/2"], "SELECT '/2', min(v), max(v), min(n) / 1000000000, max(n) / 1000000000, count(*) FROM t "),
    (&["/3"], "SELECT '/3', v, max(v), min(n / 1000000000), max(n) / 1000000000, count(gap) FROM t GROUP BY v"),
];

/// The versions that are there at least, and at most.
#[derive(Debug, Default)]
struct Versions {
    put: [AtomicI64; 3],
    putting: [AtomicI64; 3],
    done: AtomicBool,
}

impl Versions {
    fn least(&self) -> Vec<i64> {
        self.put.iter().map(|version| version.load(Ordering::SeqCst)).collect()
    }

    fn most(&self) -> Vec<i64> {
        self.putting.iter().map(|version| version.load(Ordering::SeqCst)).collect()
    }
}

async fn write(origin: Arc<Origin>, versions: Arc<Versions>) {
    for version in 2..=VERSIONS {
        for (path, name) in PATHS.iter().enumerate() {
            versions.putting[path].store(version, Ordering::SeqCst);
            origin.put(name, file(path, version));
            versions.put[path].store(version, Ordering::SeqCst);
            // Sometimes all change at once, and sometimes none for a while.
            if version % 3 > 0 {
                tokio::time::sleep(ms(u64::try_from(version % 7 * 4).expect("few"))).await;
            }
        }
    }
    versions.done.store(true, Ordering::SeqCst);
}

/// Queries until nobody writes any more. Returns how many were answered.
async fn read(origin: Arc<Origin>, session: Session, versions: Arc<Versions>, first: usize) -> usize {
    let mut answered = 0;
    for n in first.. {
        let last = versions.done.load(Ordering::SeqCst);
        let (paths, statement) = STATEMENTS[n % STATEMENTS.len()];
        let sql = over(&origin, paths, statement);
        let least = versions.least();
        let found = ask(&session, &sql).await;
        let most = versions.most();
        match found {
            Err(error) => assert_eq!(error.kind(), ErrorKind::SourceChanged, "{sql}: {error:?}"),
            Ok(found) => {
                answered += 1;
                assert!(!found.rows.is_empty());
                for row in found.rows {
                    let (name, values) = row.split_once('|').expect("columns");
                    let path = PATHS.iter().position(|path| name.ends_with(path)).expect("a file");
                    let version = one_version(values, count(path));
                    assert!((least[path]..=most[path]).contains(&version), "{row}: {least:?} to {most:?}, {sql}");
                }
            }
        }
        if last {
            break;
        }
    }
    answered
}

#[tokio::test(flavor = "multi_thread")]
async fn no_query_sees_two_versions_or_one_that_was_gone() {
    for keep in [true, false] {
        let builder = PATHS.iter().enumerate().fold(Origin::builder(), |b, (path, name)| b.file(name, file(path, 1)));
        let (origin, versions) = (Arc::new(builder.start().await), Arc::new(Versions::default()));
        for version in versions.put.iter().chain(&versions.putting) {
            version.store(1, Ordering::SeqCst);
        }
        let session = session(keep);
        let readers: Vec<_> = (0..4)
            .map(|n| tokio::spawn(read(Arc::clone(&origin), session.clone(), Arc::clone(&versions), n)))
            .collect();
        let writer = tokio::spawn(write(Arc::clone(&origin), Arc::clone(&versions)));
        let mut answered = 0;
        for reader in readers {
            answered += reader.await.expect("a reader");
        }
        writer.await.expect("the writer");
        assert!(answered > 100, "{answered} answers");
        assert_eq!(session.client().usage().held, 0);
    }
}

/// Puts the versions of a file in place, one after another.
fn rewrite(server: &Server, path: usize, versions: &Versions) {
    for version in 2..=VERSIONS {
        versions.putting[path].store(version, Ordering::SeqCst);
        server.put("a.parquet", &file(path, version), version.unsigned_abs());
        versions.put[path].store(version, Ordering::SeqCst);
        std::thread::sleep(ms(version.unsigned_abs() % 7));
    }
    versions.done.store(true, Ordering::SeqCst);
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_do_they_where_people_serve_files() {
    let statement = "SELECT min(v), max(v), min(n / 1000000000), max(n) / 1000000000, count(gap) FROM t ";
    for ((name, server), path) in both().into_iter().chain(both()).zip([0, 0, 1, 1]) {
        let (server, versions) = (Arc::new(server), Arc::new(Versions::default()));
        server.put("a.parquet", &file(path, 1), 1);
        for version in versions.put.iter().chain(&versions.putting) {
            version.store(1, Ordering::SeqCst);
        }
        let session = session(true);
        let sql = server.sql("a.parquet", statement);
        let (theirs, count_of) = ((Arc::clone(&server), Arc::clone(&versions)), count(path));
        let writer = tokio::task::spawn_blocking(move || rewrite(&theirs.0, path, &theirs.1));
        let mut answered = 0;
        loop {
            let last = versions.done.load(Ordering::SeqCst);
            let least = versions.least()[path];
            match ask(&session, &sql).await {
                Err(error) => assert_eq!(error.kind(), ErrorKind::SourceChanged, "{name}: {error:?}"),
                Ok(found) => {
                    let version = one_version(&found.rows[0], count_of);
                    let most = versions.most()[path];
                    assert!((least..=most).contains(&version), "{name}: {version} of {least} to {most}");
                    answered += 1;
                }
            }
            if last {
                break;
            }
        }
        writer.await.expect("the writer");
        assert!(answered > 10, "{name}: {answered} answers");
    }
}

/// The one version that a row is of.
fn one_version(row: &str, count: i64) -> i64 {
    let values: Vec<i64> = row.split('|').map(|value| value.parse().expect("a number")).collect();
    let version = values[0];
    assert_eq!(values, [version, version, version, version, count]);
    version
}

fn session(keep: bool) -> Session {
    let mut world = World::default();
    world.settings.small_file = BOUND;
    world.settings.small_file_cache = keep;
    world.session()
}
