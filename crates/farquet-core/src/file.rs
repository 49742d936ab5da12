//! An open file: its version, its footer, and what of its bytes came along. Everything else is fetched of that version only.

use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::future::try_join_all;
use parquet::file::metadata::ParquetMetaData;
use url::Url;

use crate::client::{Client, QueryContext};
use crate::error::{Error, ErrorKind, Result};
use crate::exchange::{Ask, Received, exchange};
use crate::expect::expect_same;
use crate::footer;
use crate::hold::Hold;
use crate::opened::Opened;
use crate::range::{Cost, RangeSpec, plan_requests, subtract};
use crate::redact::display_url;
use crate::segments::Segments;
use crate::stats::Cause;
use crate::store::{Found, Request};
use crate::validator::Version;

/// What is known of a file: from a cache, and nobody has looked yet;
const UNPROVED: u8 = 0;
/// current as of the snapshot's beginning;
const PROVED: u8 = 1;
/// no part of the snapshot any more.
const RETIRED: u8 = 2;

/// An open file of a [`Snapshot`](crate::snapshot::Snapshot).
#[derive(Debug)]
pub struct File {
    client: Arc<Client>,
    url: Url,
    shown: String,
    opened: Arc<Opened>,
    /// Where redirects led since the snapshot began; asked directly from then on.
    final_url: Mutex<Option<Url>>,
    held: Segments,
    hold: Option<Hold>,
    hop: AtomicU32,
    trust: AtomicU8,
}

impl File {
    pub(crate) fn new(client: Arc<Client>, url: Url, found: Found, holdable: &Arc<AtomicI64>) -> Self {
        let Found { opened, hop, proved } = found;
        // Where a redirect led an earlier query says nothing of where it leads now.
        let final_url = Mutex::new(proved.then(|| opened.final_url.clone()));
        let mut held = Segments::default();
        let hold = Hold::take(&client, holdable, &opened);
        // Past the bounds the bytes are fetched again when they are needed.
        if hold.is_some() {
            held.push(opened.offset, opened.end.clone());
        }
        let opened = if hold.is_some() { opened } else { Arc::new(opened.without_end()) };
        let (hop, trust) = (AtomicU32::new(hop), AtomicU8::new(if proved { PROVED } else { UNPROVED }));
        Self { client, shown: display_url(&url), url, opened, final_url, held, hold, hop, trust }
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
        self.trust.load(Ordering::Acquire) == PROVED
    }

    /// Takes an unproved file out of use; tells whether it is out of use.
    pub(crate) fn retire(&self) -> bool {
        self.move_on(RETIRED) == RETIRED
    }

    /// An unproved file becomes `to`; what it is then.
    fn move_on(&self, to: u8) -> u8 {
        self.trust.compare_exchange(UNPROVED, to, Ordering::AcqRel, Ordering::Acquire).map_or_else(|is| is, |_| to)
    }

    /// It has shown to be current: too late for a file that is out of use, in whose place there may be another version.
    fn now_proved(&self) -> Result<()> {
        if self.move_on(PROVED) == PROVED {
            return Ok(());
        }
        let message = "another query of the snapshot has found that files have changed";
        Err(Error::new(ErrorKind::SourceChanged, message).at(&self.shown))
    }

    /// Asks whether it is current, unless another query has just been told.
    pub(crate) async fn prove(&self, request: Request<'_>) -> Result<()> {
        let hop = self.client.store.prove(request, &self.opened).await?;
        self.hop.fetch_max(hop, Ordering::Relaxed);
        self.now_proved()
    }

    /// What it costs to reach this file's origin, as measured so far.
    pub fn cost(&self) -> Cost {
        let client = &self.client;
        let origin = client.origin(&self.url);
        let parallel = client.requests_at_once(&self.url);
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
        self.opened.put_metadata(Arc::new(indexed));
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
        let direct = self.final_url.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let direct = direct.unwrap_or_else(|| self.url.clone());
        let mut result = self.fetch_from(query, &direct, range.clone(), cause, hop).await;
        // What a redirect led to may be a link for a short time only: back to the beginning, once.
        if direct != self.url
            && result.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::Access | ErrorKind::NotFound))
        {
            result = self.fetch_from(query, &self.url, range, cause, hop + 1).await;
        }
        match result {
            Ok(got) => {
                if !self.is_proved() {
                    self.now_proved()?;
                    query.stats.cached(|count| count.hits += 1);
                }
                Ok((got.bytes, got.hop))
            }
            Err(error) => {
                // A limit of the caller's says nothing about the file.
                if error.kind() != ErrorKind::Budget {
                    self.client.forget(&self.url, |known| *known == self.opened.version);
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
            head_only: false,
            range: Some(RangeSpec::Bounded(range.clone())),
            // A whole body instead of a part is taken if it is small.
            bound: self.opened.size.min(self.client.settings.small_file),
            if_match: version.strong_etag().filter(|_| self.client.capabilities.conditional_headers),
            if_none_match: None,
            expects: None,
            cause,
            hop,
        };
        let got = expect_same(exchange(query, ask).await?, version, &range, &self.shown)?;
        *self.final_url.lock().unwrap_or_else(PoisonError::into_inner) = Some(got.final_url.clone());
        Ok(got)
    }
}
