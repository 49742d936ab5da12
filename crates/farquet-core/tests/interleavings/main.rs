//! Queries in every order that chance finds, over files that change, with faults, cancellation and panics: no query sees a state
//! older than its beginning or a mixture, and when all are gone nothing is held any more.

mod files;
mod world;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use farquet_core::file::File;
use farquet_core::snapshot::{Snapshot, Wanted};
use farquet_core::stats::Cause;
use farquet_core::{Bounds, Client, ErrorKind, Freshness, Limits, QueryContext, Result, Settings};

use crate::files::{DATA, Kind, version_of_data, version_of_footer};
use crate::world::{Clock, Fault, Transport, World};

const KINDS: [Kind; 6] = [Kind::Small, Kind::SmallWeak, Kind::SmallBare, Kind::Large, Kind::LargeWeak, Kind::Large];
const RESTARTS: usize = 2;

type Task = Pin<Box<dyn Future<Output = Result<()>>>>;

fn client(world: &Arc<World>, settings: Settings) -> Arc<Client> {
    let (transport, clock) = (Transport(Arc::clone(world)), Clock(Arc::clone(world)));
    Client::new(Arc::new(transport), Arc::new(clock), settings)
}

/// A query that begins now: it opens `files`, reads of some and has the others proved.
fn query(world: &Arc<World>, client: &Arc<Client>, files: Vec<usize>, read: Vec<bool>) -> Task {
    let query = client.begin(Limits::default());
    let mut snapshot = Snapshot::of_query(&query);
    let (world, mut began) = (Arc::clone(world), world.entries());
    Box::pin(async move {
        let mut restarts = 0..RESTARTS;
        loop {
            match read_all(&query, &snapshot, &files, &read).await {
                Ok(versions) => {
                    let now = world.entries();
                    for (file, version) in files.iter().zip(&versions) {
                        let (least, most) = (began[*file].version, now[*file].version);
                        assert!((least..=most).contains(version), "file {file}: {version} of {least} to {most}");
                    }
                    // The snapshot stays what it is, or says that it cannot.
                    let others: Vec<_> = read.iter().map(|read| !read).collect();
                    let again = read_all(&query, &snapshot, &files, &others).await?;
                    assert_eq!(again, versions, "one state of the world");
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::SourceChanged && restarts.next().is_some() => {
                    began = world.entries();
                    snapshot = snapshot.renewed();
                }
                Err(error) => return Err(error),
            }
        }
    })
}

/// A state of the world that several queries share, and the versions that any of them was told.
struct Shared {
    snapshot: Snapshot,
    told: Mutex<HashMap<usize, u8>>,
}

/// A query on a snapshot that others use too: all are told the same versions.
fn query_on(shared: &Arc<Shared>, client: &Arc<Client>, files: Vec<usize>, read: Vec<bool>) -> Task {
    let (query, shared) = (client.begin(Limits::default()), Arc::clone(shared));
    Box::pin(async move {
        let mut restarts = 0..RESTARTS;
        loop {
            let generation = shared.snapshot.generation();
            match read_all(&query, &shared.snapshot, &files, &read).await {
                Ok(versions) => {
                    let mut told = shared.told.lock().expect("no panic");
                    for (file, version) in files.iter().zip(versions) {
                        assert_eq!(*told.entry(*file).or_insert(version), version, "file {file} of one snapshot");
                    }
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::SourceChanged => {
                    shared.snapshot.drop_unproved();
                    if shared.snapshot.generation() == generation || restarts.next().is_none() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    })
}

/// The versions of `files`, of which those that are to be `read` tell it by their data too.
async fn read_all(query: &Arc<QueryContext>, snapshot: &Snapshot, files: &[usize], read: &[bool]) -> Result<Vec<u8>> {
    let wanted: Vec<_> =
        files.iter().map(|file| Wanted { url: World::url(*file), freshness: Freshness::Validate }).collect();
    let opened = snapshot.open(query, &wanted).await?;
    let mut versions = Vec::new();
    let mut unproved: Vec<Arc<File>> = Vec::new();
    for (file, read) in opened.iter().zip(read) {
        let version = version_of_footer(&file.metadata());
        if *read {
            let data = match file.held().get(&DATA) {
                Some(data) => data,
                None => file.fetch(query, DATA, Cause::Data, file.hop() + 1).await?.0,
            };
            assert_eq!(version_of_data(&data), version, "footer and data are of one version");
        } else {
            unproved.push(Arc::clone(file));
        }
        versions.push(version);
    }
    snapshot.prove(query, &unproved).await?;
    Ok(versions)
}

/// Polls a task; a panic of the transport ends it, as it ends a query.
fn poll(task: &mut Task) -> Option<Result<()>> {
    let mut context = Context::from_waker(Waker::noop());
    match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut context))) {
        Ok(Poll::Ready(result)) => Some(result),
        Ok(Poll::Pending) => None,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied().unwrap_or_default();
            if text != "the transport panics" {
                std::panic::resume_unwind(panic);
            }
            Some(Ok(()))
        }
    }
}

fn some_files(rng: &mut fastrand::Rng) -> (Vec<usize>, Vec<bool>) {
    let mut files: Vec<usize> = (0..KINDS.len()).filter(|_| rng.bool()).collect();
    if files.is_empty() {
        files.push(rng.usize(..KINDS.len()));
    }
    let read = files.iter().map(|_| rng.bool()).collect();
    (files, read)
}

/// One course of events. Returns how many queries were answered.
fn course(seed: u64) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed);
    fastrand::seed(seed);
    let world = World::new(&KINDS);
    let mut settings = Settings::default();
    settings.retries = 2;
    settings.body_cache = Bounds { bytes: rng.u64(0..20_000), entries: rng.usize(0..4) };
    settings.footer_cache = Bounds { bytes: rng.u64(0..40_000), entries: rng.usize(0..8) };
    settings.held_bytes = rng.u64(0..2_000_000);
    settings.held_bytes_per_query = rng.u64(0..2_000_000);
    let (bodies, footers) = (settings.body_cache, settings.footer_cache);
    let client = client(&world, settings);
    let mut tasks: Vec<Task> = Vec::new();
    let share = || Arc::new(Shared { snapshot: Snapshot::new(Arc::clone(&client)), told: Mutex::default() });
    let mut shared = share();
    let mut answered = 0;
    for _ in 0..1_500 {
        match rng.u32(..200) {
            0..6 if tasks.len() < 8 => {
                let (files, read) = some_files(&mut rng);
                // Most of what can go wrong on a snapshot does so with large files, whose footers are taken on trust.
                let (files, read) = if rng.bool() { (files, read) } else { (vec![3, 5], vec![true, rng.bool()]) };
                tasks.push(match rng.u32(..8) {
                    0..4 => query(&world, &client, files, read),
                    4..7 => query_on(&shared, &client, files, read),
                    _ => {
                        shared = share();
                        query_on(&shared, &client, files, read)
                    }
                });
            }
            6..8 => world.change(rng.usize(..KINDS.len()), rng.u32(..4) > 0),
            8..10 => world.fail_next(
                *rng.choice(&[Fault::Unavailable, Fault::Refused, Fault::Interrupted, Fault::Panic]).expect("a fault"),
            ),
            10..12 if !tasks.is_empty() => drop(tasks.swap_remove(rng.usize(..tasks.len()))),
            12..100 => {
                world.release(|waiting| rng.usize(..waiting));
            }
            100..110 => world.pass_time(Duration::from_millis(rng.u64(..2_000))),
            _ if !tasks.is_empty() => {
                let chosen = rng.usize(..tasks.len());
                if let Some(result) = poll(&mut tasks[chosen]) {
                    answered += usize::from(result.is_ok());
                    drop(tasks.swap_remove(chosen));
                }
            }
            _ => {}
        }
        let usage = client.usage();
        assert!(usage.bodies.bytes <= bodies.bytes && usage.bodies.entries <= bodies.entries, "{usage:?}");
        assert!(usage.footers.bytes <= footers.bytes && usage.footers.entries <= footers.entries, "{usage:?}");
    }
    tasks.clear();
    drop(shared);
    assert_eq!((world.in_flight(), client.usage().held), (0, 0), "nothing is held for nobody");
    nothing_is_left_behind(&world, &client);
    answered
}

/// One more query over all files, undisturbed: no permit is lost, and nothing that failed is remembered.
fn nothing_is_left_behind(world: &Arc<World>, client: &Arc<Client>) {
    world.forget_faults();
    for file in 0..KINDS.len() {
        world.change(file, true);
    }
    let mut last = query(world, client, (0..KINDS.len()).collect(), vec![true; KINDS.len()]);
    let result = (0..10_000).find_map(|_| {
        let result = poll(&mut last);
        if !world.release(|_| 0) {
            world.pass_time(Duration::from_millis(100));
        }
        result
    });
    result.expect("an end").expect("an answer");
    drop(last);
    assert_eq!((world.in_flight(), client.usage().held), (0, 0));
}

#[test]
fn chance_finds_no_stale_rows_and_no_leaks() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload().downcast_ref::<&str>() != Some(&"the transport panics") {
            usual(panic);
        }
    }));
    let mut answered = 0;
    for seed in 0..400 {
        let course = catch_unwind(|| course(seed));
        answered += course.unwrap_or_else(|_| panic!("with seed {seed}"));
    }
    assert!(answered > 1_000, "the test tests something: {answered} answers");
}
