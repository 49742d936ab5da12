//! One state of the world for one query: each file in one version, opened once, whoever asks.
//!
//! A snapshot holds footers and the tails that came with them. It holds nothing across queries.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
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
use crate::open::{Opened, expect_same, open};
use crate::range::{Cost, RangeSpec, plan_requests, subtract};
use crate::redact::display_url;
use crate::segments::Segments;
use crate::stats::Cause;
use crate::validator::Version;

type Opening = Shared<BoxFuture<'static, Result<Arc<File>>>>;

/// The files of a query, each in the version of its first contact.
#[derive(Debug)]
pub struct Snapshot {
    query: Arc<QueryContext>,
    files: Mutex<HashMap<Url, Opening>>,
}

impl Snapshot {
    /// An empty snapshot for `query`.
    pub fn new(query: Arc<QueryContext>) -> Self {
        Self { query, files: Mutex::default() }
    }

    /// The query's account.
    pub fn query(&self) -> &Arc<QueryContext> {
        &self.query
    }

    /// Opens all of `urls` in one wave; a file that is already open is not opened again.
    ///
    /// Fails with the first error, which cancels the others. Dropping the future cancels all requests of it.
    pub async fn open(&self, urls: &[Url]) -> Result<Vec<Arc<File>>> {
        let openings: Vec<Opening> = {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            let new = urls.iter().filter(|url| !files.contains_key(*url)).count();
            self.query.check_budget(new as u64, 0)?;
            urls.iter()
                .map(|url| files.entry(url.clone()).or_insert_with(|| self.opening(url, urls.len())).clone())
                .collect()
        };
        try_join_all(openings).await
    }

    fn opening(&self, url: &Url, together: usize) -> Opening {
        let (query, url) = (Arc::clone(&self.query), url.clone());
        // Decided for the wave as a whole: what its first answers teach is for the next one.
        let tail = query.client.hints.tail(&url, together);
        async move {
            let opened = open(&query, &url, tail).await?;
            Ok(Arc::new(File::new(query, url, opened)))
        }
        .boxed()
        .shared()
    }
}

/// An open file: its version, its footer, and what of its bytes came along.
#[derive(Debug)]
pub struct File {
    query: Arc<QueryContext>,
    url: Url,
    shown: String,
    /// Where redirects led; asked directly from then on.
    final_url: Mutex<Url>,
    version: Version,
    size: u64,
    metadata: Mutex<Arc<ParquetMetaData>>,
    held: Segments,
    hold: Option<Hold>,
    hop: AtomicU32,
}

/// A share of the bytes that running queries may hold; given back on drop.
#[derive(Debug)]
struct Hold {
    client: Arc<Client>,
    bytes: i64,
}

impl Hold {
    fn take(client: &Arc<Client>, bytes: u64) -> Option<Self> {
        let bytes = i64::try_from(bytes).ok()?;
        let hold = Self { client: Arc::clone(client), bytes };
        (client.holdable.fetch_sub(bytes, Ordering::AcqRel) >= bytes).then_some(hold)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let left: &AtomicI64 = &self.client.holdable;
        left.fetch_add(self.bytes, Ordering::AcqRel);
    }
}

impl File {
    fn new(query: Arc<QueryContext>, url: Url, opened: Opened) -> Self {
        let mut held = Segments::default();
        let share = Hold::take(&query.client, opened.end.len() as u64);
        if share.is_some() {
            held.push(opened.offset, opened.end);
        }
        Self {
            query,
            shown: display_url(&url),
            url,
            final_url: Mutex::new(opened.final_url),
            version: opened.version,
            size: opened.size,
            metadata: Mutex::new(Arc::new(opened.metadata)),
            held,
            hold: share,
            hop: AtomicU32::new(opened.hop),
        }
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
        self.size
    }

    /// The version that every later answer is held against.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The footer, with the page index if it came along or was loaded.
    pub fn metadata(&self) -> Arc<ParquetMetaData> {
        Arc::clone(&self.metadata.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The hop of the last request that the metadata needed.
    pub fn hop(&self) -> u32 {
        self.hop.load(Ordering::Relaxed)
    }

    /// Whether the whole file is in memory.
    pub fn is_complete(&self) -> bool {
        self.hold.is_some() && self.held.len() == self.size
    }

    /// The bytes that came with the footer.
    pub fn held(&self) -> &Segments {
        &self.held
    }

    /// The account of the query that opened it.
    pub fn query(&self) -> &Arc<QueryContext> {
        &self.query
    }

    /// What it costs to reach this file's origin, as measured so far.
    pub fn cost(&self) -> Cost {
        let client = &self.query.client;
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
        footer::page_index_range(&metadata, self.size)
    }

    /// Loads the page index, which is one hop after the footer. A file without one stays as it is.
    pub async fn load_page_index(&self) -> Result<()> {
        let Some(range) = self.missing_page_index() else { return Ok(()) };
        let hop = self.hop() + 1;
        let fetched = self.fetch(range.clone(), Cause::PageIndex, hop).await?;
        self.hop.fetch_max(fetched.1, Ordering::Relaxed);
        let metadata = ParquetMetaData::clone(&self.metadata());
        let indexed = footer::with_page_index(metadata, &fetched.0, range.start, self.size);
        *self.metadata.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(indexed);
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
    pub async fn fetch_all(&self, ranges: &[Range<u64>], hop: u32) -> Result<(Segments, u32)> {
        let requests = plan_requests(&[self.missing(ranges)], &self.cost()).remove(0);
        let fetched = try_join_all(requests.iter().map(|range| self.fetch(range.clone(), Cause::Data, hop))).await?;
        let mut segments = self.held.clone();
        let mut highest = hop;
        for (range, (bytes, hop)) in requests.into_iter().zip(fetched) {
            segments.push(range.start, bytes);
            highest = highest.max(hop);
        }
        Ok((segments, highest))
    }

    /// Fetches exactly `range` of the pinned version, and the hop that it came to.
    ///
    /// Dropping the future cancels the request.
    pub async fn fetch(&self, range: Range<u64>, cause: Cause, hop: u32) -> Result<(Bytes, u32)> {
        let direct = self.final_url.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let result = self.fetch_from(&direct, range.clone(), cause, hop).await;
        match result {
            // What a redirect led to may be a link for a short time only: back to the beginning, once.
            Err(error) if direct != self.url && matches!(error.kind(), ErrorKind::Access | ErrorKind::NotFound) => {
                let got = self.fetch_from(&self.url, range, cause, hop + 1).await?;
                Ok((got.bytes, got.hop))
            }
            result => result.map(|got| (got.bytes, got.hop)),
        }
    }

    async fn fetch_from(&self, url: &Url, range: Range<u64>, cause: Cause, hop: u32) -> Result<Box<Received>> {
        let conditional = self.query.client.capabilities.conditional_headers;
        let ask = Ask {
            url,
            range: Some(RangeSpec::Bounded(range.clone())),
            // A whole body instead of a part is taken if it is small.
            bound: self.size.min(crate::client::SMALL_FILE),
            if_match: self.version.strong_etag().filter(|_| conditional),
            cause,
            hop,
        };
        let got = expect_same(exchange(&self.query, ask).await?, &self.version, &range, &self.shown)?;
        *self.final_url.lock().unwrap_or_else(PoisonError::into_inner) = got.final_url.clone();
        Ok(got)
    }
}
