//! One state of the world: each file in one version, opened once, whoever asks.
//!
//! A query takes a snapshot of its own, or shares one that its caller holds. What a snapshot holds is current as of its
//! beginning: files that came from a cache are proved by the data that is read of them, or by [`Snapshot::prove`].

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, try_join_all};
use parquet::file::metadata::ParquetMetaData;
use url::Url;

use crate::client::{Client, QueryContext};
use crate::error::{ErrorKind, Result};
use crate::exchange::{Ask, Received, exchange};
use crate::footer;
use crate::freshness::Freshness;
use crate::open::{Opened, expect_same};
use crate::range::{Cost, RangeSpec, plan_requests, subtract};
use crate::redact::display_url;
use crate::segments::Segments;
use crate::stats::Cause;
use crate::store::{Found, Request, Store};
use crate::timer::Monotonic;
use crate::validator::Version;

type Opening = Shared<BoxFuture<'static, Result<Arc<File>>>>;

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
    began: Monotonic,
    files: Mutex<HashMap<Url, Opening>>,
    holdable: Arc<AtomicI64>,
}

impl Snapshot {
    /// An empty snapshot that begins now: nothing in it is older.
    pub fn new(client: Arc<Client>) -> Self {
        let began = client.timer.now();
        Self::since(client, began)
    }

    /// An empty snapshot for a query that has begun before.
    pub fn of_query(query: &QueryContext) -> Self {
        Self::since(Arc::clone(&query.client), query.stats.began())
    }

    fn since(client: Arc<Client>, began: Monotonic) -> Self {
        let holdable = i64::try_from(client.settings.held_bytes_per_query).unwrap_or(i64::MAX);
        Self { client, began, files: Mutex::default(), holdable: Arc::new(AtomicI64::new(holdable)) }
    }

    /// Opens all of `wanted` in one wave; a file that is already open is not opened again.
    ///
    /// Fails with the first error, which cancels the others. Dropping the future cancels all requests of it.
    pub async fn open(&self, query: &Arc<QueryContext>, wanted: &[Wanted]) -> Result<Vec<Arc<File>>> {
        let openings: Vec<Opening> = {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            // What is known from before may cost nothing; all else costs a request at least.
            let unknown = |wanted: &&Wanted| !files.contains_key(&wanted.url) && !self.client.store.knows(&wanted.url);
            query.check_budget(wanted.iter().filter(unknown).count() as u64, 0)?;
            // An opening whose query went away, or that failed, is no state of the world: it is tried again.
            files.retain(|_, opening| opening.peek().is_none_or(Result::is_ok));
            let hints = wanted.iter().map(|wanted| self.client.hints.size(&wanted.url));
            let sizes: Vec<_> = hints.collect();
            let bypass = Store::would_thrash(&self.client.settings, sizes.into_iter());
            let mut opening = |wanted_file: &Wanted| {
                let new = || self.opening(query, wanted_file, wanted.len(), bypass);
                files.entry(wanted_file.url.clone()).or_insert_with(new).clone()
            };
            wanted.iter().map(&mut opening).collect()
        };
        let files = try_join_all(openings).await?;
        for file in &files {
            let metadata = file.metadata();
            query.stats.opened(metadata.num_row_groups() as u64, metadata.memory_size() as u64);
        }
        Ok(files)
    }

    fn opening(&self, query: &Arc<QueryContext>, wanted: &Wanted, together: usize, bypass: bool) -> Opening {
        let (query, client, began) = (Arc::clone(query), Arc::clone(&self.client), self.began);
        let (wanted, holdable) = (wanted.clone(), Arc::clone(&self.holdable));
        async move {
            let Wanted { url, freshness } = wanted;
            let request = Request { query: &query, url: &url, began, freshness, together, bypass };
            let found = client.store.open(request).await?;
            Ok(Arc::new(File::new(client, url, freshness, found, &holdable)))
        }
        .boxed()
        .shared()
    }

    /// Proves that those of `files` that came from a cache are current, by one small request for each that is not proved yet.
    ///
    /// Fails with `SourceChanged` if one is not.
    pub async fn prove(&self, query: &Arc<QueryContext>, files: &[Arc<File>]) -> Result<()> {
        let unproved = files.iter().filter(|file| !file.is_proved());
        try_join_all(unproved.map(|file| async move {
            let (url, freshness) = (&file.url, file.freshness);
            let request = Request { query, url, began: self.began, freshness, together: 1, bypass: false };
            let hop = self.client.store.prove(request, &file.opened).await?;
            file.proved.store(true, Ordering::Release);
            file.hop.fetch_max(hop, Ordering::Relaxed);
            Ok(())
        }))
        .await
        .map(|_: Vec<()>| ())
    }
}

/// An open file: its version, its footer, and what of its bytes came along.
#[derive(Debug)]
pub struct File {
    client: Arc<Client>,
    url: Url,
    shown: String,
    freshness: Freshness,
    opened: Arc<Opened>,
    held: Segments,
    hold: Option<Hold>,
    hop: AtomicU32,
    proved: AtomicBool,
}

/// A share of the bytes that running queries may hold; given back on drop.
#[derive(Debug)]
struct Hold {
    client: Arc<Client>,
    query: Arc<AtomicI64>,
    bytes: i64,
}

impl Hold {
    fn take(client: &Arc<Client>, query: &Arc<AtomicI64>, bytes: u64) -> Option<Self> {
        let bytes = i64::try_from(bytes).ok()?;
        let hold = Self { client: Arc::clone(client), query: Arc::clone(query), bytes };
        let take = |left: &AtomicI64| left.fetch_sub(bytes, Ordering::AcqRel) >= bytes;
        // Both are taken before either is looked at, since dropping gives both back.
        let (all, one) = (take(&client.holdable), take(query));
        (all && one).then_some(hold)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.client.holdable.fetch_add(self.bytes, Ordering::AcqRel);
        self.query.fetch_add(self.bytes, Ordering::AcqRel);
    }
}

impl File {
    fn new(client: Arc<Client>, url: Url, freshness: Freshness, found: Found, holdable: &Arc<AtomicI64>) -> Self {
        let Found { opened, hop, proved } = found;
        let mut held = Segments::default();
        let share = Hold::take(&client, holdable, opened.end.len() as u64);
        // Past the bounds the bytes are fetched again when they are needed.
        if share.is_some() {
            held.push(opened.offset, opened.end.clone());
        }
        let opened = if share.is_some() { opened } else { Arc::new(opened.without_end()) };
        let (hop, proved) = (AtomicU32::new(hop), AtomicBool::new(proved));
        Self { client, shown: display_url(&url), url, freshness, opened, held, hold: share, hop, proved }
    }

    /// The URL as it was given. May hold secrets; see [`File::name`].
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The URL without query string and user info.
    pub fn name(&self) -> &str {
        &self.shown
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.opened.size
    }

    /// The version that every later answer is held against.
    pub fn version(&self) -> &Version {
        &self.opened.version
    }

    /// The footer, with the page index if it came along or was loaded.
    pub fn metadata(&self) -> Arc<ParquetMetaData> {
        self.opened.metadata()
    }

    /// The hop of the last request that the metadata needed.
    pub fn hop(&self) -> u32 {
        self.hop.load(Ordering::Relaxed)
    }

    /// Whether the whole file is in memory.
    pub fn is_complete(&self) -> bool {
        self.hold.is_some() && self.held.len() == self.opened.size
    }

    /// The bytes that came with the footer.
    pub fn held(&self) -> &Segments {
        &self.held
    }

    /// Whether it is known to be current as of the snapshot's beginning.
    pub fn is_proved(&self) -> bool {
        self.proved.load(Ordering::Acquire)
    }

    /// What it costs to reach this file's origin, as measured so far.
    pub fn cost(&self) -> Cost {
        let client = &self.client;
        let origin = client.origins.of(&self.url);
        let parallel = client.requests_per_origin();
        let largest = client.capabilities.largest_request;
        Cost { latency: origin.latency(), bandwidth: origin.bandwidth(), parallel, largest }
    }

    /// Where the page index lies, if the file has one that is not loaded yet.
    pub fn missing_page_index(&self) -> Option<Range<u64>> {
        let metadata = self.metadata();
        if metadata.offset_index().is_some() {
            return None;
        }
        footer::page_index_range(&metadata, self.opened.size)
    }

    /// Loads the page index, which is one hop after the footer. A file without one stays as it is.
    pub async fn load_page_index(&self, query: &Arc<QueryContext>) -> Result<()> {
        let Some(range) = self.missing_page_index() else { return Ok(()) };
        let (bytes, hop) = self.fetch(query, range.clone(), Cause::PageIndex, self.hop() + 1).await?;
        self.hop.fetch_max(hop, Ordering::Relaxed);
        let metadata = ParquetMetaData::clone(&self.metadata());
        let indexed = footer::with_page_index(metadata, &bytes, range.start, self.opened.size);
        *self.opened.metadata.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(indexed);
        self.client.store.reweigh(&self.url, &self.opened);
        Ok(())
    }

    /// The parts of `ranges` that did not come with the footer.
    pub fn missing(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let held = self.held.ranges();
        ranges.iter().flat_map(|range| subtract(range, &held)).collect()
    }

    /// Fetches `ranges`, all of them together, and returns them with what was held.
    ///
    /// `hop` is that of the requests. Returns the highest hop that it came to, which is more after retries.
    pub async fn fetch_all(
        &self,
        query: &Arc<QueryContext>,
        ranges: &[Range<u64>],
        hop: u32,
    ) -> Result<(Segments, u32)> {
        let requests = plan_requests(&[self.missing(ranges)], &self.cost()).remove(0);
        let fetched =
            try_join_all(requests.iter().map(|range| self.fetch(query, range.clone(), Cause::Data, hop))).await?;
        let mut segments = self.held.clone();
        let mut highest = hop;
        for (range, (bytes, hop)) in requests.into_iter().zip(fetched) {
            segments.push(range.start, bytes);
            highest = highest.max(hop);
        }
        Ok((segments, highest))
    }

    /// Fetches exactly `range` of the pinned version, and the hop that it came to. That proves the file current.
    ///
    /// Dropping the future cancels the request.
    pub async fn fetch(
        &self,
        query: &Arc<QueryContext>,
        range: Range<u64>,
        cause: Cause,
        hop: u32,
    ) -> Result<(Bytes, u32)> {
        let direct = self.opened.final_url();
        let mut result = self.fetch_from(query, &direct, range.clone(), cause, hop).await;
        // What a redirect led to may be a link for a short time only: back to the beginning, once.
        if direct != self.url
            && result.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::Access | ErrorKind::NotFound))
        {
            result = self.fetch_from(query, &self.url, range, cause, hop + 1).await;
        }
        match result {
            Ok(got) => {
                self.proved.store(true, Ordering::Release);
                Ok((got.bytes, got.hop))
            }
            Err(error) => {
                if matches!(error.kind(), ErrorKind::SourceChanged | ErrorKind::Access | ErrorKind::NotFound) {
                    self.client.store.evict(&self.url);
                }
                Err(error)
            }
        }
    }

    async fn fetch_from(
        &self,
        query: &Arc<QueryContext>,
        url: &Url,
        range: Range<u64>,
        cause: Cause,
        hop: u32,
    ) -> Result<Box<Received>> {
        let version = &self.opened.version;
        let ask = Ask {
            url,
            range: Some(RangeSpec::Bounded(range.clone())),
            // A whole body instead of a part is taken if it is small.
            bound: self.opened.size.min(self.client.settings.small_file),
            if_match: version.strong_etag().filter(|_| self.client.capabilities.conditional_headers),
            if_none_match: None,
            cause,
            hop,
        };
        let got = expect_same(exchange(query, ask).await?, version, &range, &self.shown)?;
        *self.opened.final_url.lock().unwrap_or_else(PoisonError::into_inner) = got.final_url.clone();
        Ok(got)
    }
}
