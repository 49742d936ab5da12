//! One state of the world: each file in one version, opened once, whoever asks.
//!
//! A query takes a snapshot of its own, or shares one that its caller holds. What a snapshot holds is current as of its
//! beginning: files that came from a cache are proved by the data that is read of them, or by [`Snapshot::prove`].

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::try_join_all;
use url::Url;

use crate::client::{Client, QueryContext};
use crate::error::Result;
use crate::file::File;
use crate::flights::Moment;
use crate::footer::FOOTER;
use crate::freshness::Freshness;
use crate::open::How;
use crate::store::{Found, Request};

/// A file that a query wants, and when an earlier answer about it is good enough.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The URL.
    pub url: Url,
    /// The rule for this file.
    pub freshness: Freshness,
}

/// Files, each in the version of its first contact.
#[derive(Debug)]
pub struct Snapshot {
    client: Arc<Client>,
    began: Moment,
    files: Mutex<HashMap<Url, Arc<File>>>,
    holdable: Arc<AtomicI64>,
    /// What an earlier query knew has shown to be stale: nothing is taken on trust any more.
    wary: AtomicBool,
    generation: AtomicU64,
}

impl Snapshot {
    /// An empty snapshot that begins now: nothing in it is older.
    pub fn new(client: Arc<Client>) -> Self {
        let began = client.moments.next();
        Self::since(client, began)
    }

    /// An empty snapshot for a query that has begun before.
    pub fn of_query(query: &QueryContext) -> Self {
        Self::since(Arc::clone(&query.client), query.began)
    }

    fn since(client: Arc<Client>, began: Moment) -> Self {
        let holdable = i64::try_from(client.settings.held_bytes_per_query).unwrap_or(i64::MAX);
        let (files, wary) = (Mutex::default(), AtomicBool::new(false));
        Self { client, began, files, holdable: Arc::new(AtomicI64::new(holdable)), wary, generation: AtomicU64::new(0) }
    }

    /// An empty snapshot that begins now, after a file of this one has changed. It takes nothing that is known from before on
    /// trust, so that several stale files do not show one after another.
    #[must_use]
    pub fn renewed(&self) -> Self {
        let renewed = Self::new(Arc::clone(&self.client));
        renewed.wary.store(true, Ordering::Release);
        renewed
    }

    /// Lets go of the files that came from a cache and were never proved, since one of them has shown to be stale. No answer
    /// rests on them, and none will: whoever reads of them is told.
    pub fn drop_unproved(&self) {
        let mut files = self.lock();
        let before = files.len();
        files.retain(|_, file| !file.retire());
        self.wary.store(true, Ordering::Release);
        if files.len() < before {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Grows when files are [let go of](Self::drop_unproved).
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Url, Arc<File>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens all of `wanted` in one wave; a file that is already open is not opened again.
    ///
    /// Fails with the first error, which cancels the others. Dropping the future cancels all requests of it.
    pub async fn open(&self, query: &Arc<QueryContext>, wanted: &[Wanted]) -> Result<Vec<Arc<File>>> {
        let known = self.missing(wanted).len();
        query.stats.cached(|count| count.hits += (wanted.len() - known) as u64);
        // Another query may let go of files meanwhile.
        let files = loop {
            let missing = self.missing(wanted);
            if !missing.is_empty() {
                self.open_missing(query, &missing).await?;
            }
            let files = self.lock();
            let all: Option<Vec<_>> = wanted.iter().map(|wanted| files.get(&wanted.url).cloned()).collect();
            if let Some(all) = all {
                break all;
            }
        };
        for file in &files {
            let metadata = file.metadata();
            let (row_groups, bytes) = (metadata.num_row_groups() as u64, metadata.memory_size() as u64);
            query.stats.opened(row_groups, bytes, file.version().grade());
        }
        Ok(files)
    }

    /// Those of `wanted` that are not open, each once.
    fn missing<'w>(&self, wanted: &'w [Wanted]) -> Vec<&'w Wanted> {
        let files = self.lock();
        let mut seen = HashSet::new();
        wanted.iter().filter(|wanted| !files.contains_key(&wanted.url) && seen.insert(&wanted.url)).collect()
    }

    async fn open_missing(&self, query: &Arc<QueryContext>, missing: &[&Wanted]) -> Result<()> {
        // What is known from before may cost nothing; all else costs a request at least.
        let unknown = missing.iter().filter(|wanted| !self.client.store.knows(&wanted.url)).count();
        query.check_budget(unknown as u64, 0)?;
        let fits = self.fits_the_cache(missing);
        let (ranged, displaces) = (fits == Some(false), fits == Some(true));
        // All tails are decided before the first answer: what that teaches is for the next wave.
        let openings: Vec<_> = missing
            .iter()
            .map(|wanted| {
                let tail = self.client.hints.tail(&wanted.url, missing.len());
                self.open_one(query, wanted, How { tail, ranged, displaces })
            })
            .collect();
        let opened = try_join_all(openings).await?;
        let mut files = self.lock();
        for (wanted, found) in missing.iter().zip(opened) {
            // Whoever was first decides the version, and alone holds its bytes.
            let file = || Arc::new(File::new(Arc::clone(&self.client), wanted.url.clone(), found, &self.holdable));
            files.entry(wanted.url.clone()).or_insert_with(file);
        }
        Ok(())
    }

    async fn open_one(&self, query: &Arc<QueryContext>, wanted: &Wanted, how: How) -> Result<Found> {
        let Wanted { url, freshness } = wanted;
        let on_trust = !self.wary.load(Ordering::Acquire);
        // A promise that was broken is one no more.
        let freshness = if on_trust { *freshness } else { Freshness::Validate };
        let request = Request { query, url, began: self.began, freshness, how, on_trust };
        self.client.store.open(request).await
    }

    /// Whether the small ones among `wanted` fit the cache and what a query may hold, as far as it is known. What does not fit
    /// is read without the cache, and as long as nobody knows, no other file has to leave it.
    fn fits_the_cache(&self, wanted: &[&Wanted]) -> Option<bool> {
        let settings = &self.client.settings;
        let sizes: Vec<_> = wanted.iter().map(|wanted| self.client.hints.size(&wanted.url)).collect();
        let small: Vec<u64> = sizes.iter().flatten().copied().filter(|size| *size <= settings.small_file).collect();
        let bytes: u64 = small.iter().sum();
        let bounds = settings.body_cache;
        if small.len() > bounds.entries || bytes > bounds.bytes.min(settings.held_bytes_per_query) {
            return Some(false);
        }
        sizes.iter().all(Option::is_some).then_some(true)
    }

    /// Proves that those of `files` that came from a cache are current, by one small request for each that is not proved yet.
    ///
    /// Fails with `SourceChanged` if one is not.
    pub async fn prove(&self, query: &Arc<QueryContext>, files: &[Arc<File>]) -> Result<()> {
        let unproved = files.iter().filter(|file| !file.is_proved());
        try_join_all(unproved.map(|file| async move {
            let how = How { tail: FOOTER, ranged: true, displaces: false };
            let (url, freshness) = (file.url(), Freshness::Validate);
            file.prove(Request { query, url, began: self.began, freshness, how, on_trust: false }).await
        }))
        .await
        .map(|_: Vec<()>| ())
    }

    /// [Proves](Self::prove) every file that was opened so far.
    pub async fn prove_all(&self, query: &Arc<QueryContext>) -> Result<()> {
        let files: Vec<_> = self.lock().values().cloned().collect();
        self.prove(query, &files).await
    }
}
