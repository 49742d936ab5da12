//! What a query cost: every request with its cause and hop, and the totals.
//!
//! A *hop* is a step of dependence: a request's hop is one more than the highest hop among the requests whose answers it
//! needed. Waiting for a free connection is no hop; it shows in *waves*, the longest row of requests of which each began
//! after the last one had ended.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::store::Usage;
use crate::timer::Monotonic;
use crate::validator::Grade;

/// Why a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cause {
    /// A file's tail, or what its footer still needed.
    Footer,
    /// A small file as a whole.
    Body,
    /// The page index of a footer.
    PageIndex,
    /// Column data.
    Data,
    /// Whether a cached file is still the same.
    Validation,
}

impl Cause {
    /// The word for it in traces.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Footer => "footer",
            Self::Body => "body",
            Self::PageIndex => "page_index",
            Self::Data => "data",
            Self::Validation => "validation",
        }
    }
}

/// One request, as it went.
#[derive(Debug, Clone)]
pub struct RequestRecord {
    /// When it was sent, since the query began.
    pub start: Duration,
    /// When the head of its answer arrived.
    pub first_byte: Option<Duration>,
    /// When it ended, one way or another.
    pub end: Duration,
    /// The HTTP method.
    pub method: String,
    /// The URL, without query string and user info.
    pub url: String,
    /// The `Range` header, where there was one.
    pub range: Option<String>,
    /// The status, if a head arrived.
    pub status: Option<u16>,
    /// Body bytes that were received.
    pub bytes: u64,
    /// Why it was sent.
    pub cause: Cause,
    /// Its step of dependence, from 1.
    pub hop: u32,
}

/// How many requests are recorded one by one; beyond, only the totals go on.
const RECORDS: usize = 200_000;

/// The account of one query. Shared by all that act for it.
#[derive(Debug)]
pub struct QueryStats {
    began: Monotonic,
    inner: Mutex<Inner>,
    in_flight: AtomicUsize,
    bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    records: Vec<RequestRecord>,
    methods: BTreeMap<String, u64>,
    status: BTreeMap<u16, u64>,
    hops: u32,
    retries: u64,
    files: u64,
    row_groups: Range<u64>,
    restarts: u64,
    cache: CacheCounts,
    footer_bytes: u64,
    grade: Option<Grade>,
}

/// What the caches did for a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Files that cost no request of their own: fresh, promised, or proved by another query's request.
    pub hits: u64,
    /// Files that are still the same: the server said so (304), or sent the same bytes.
    pub revalidated: u64,
    /// Files that had to be opened by their bytes.
    pub misses: u64,
    /// Files that were not put in, so that a large scan does not push everything else out.
    pub bypasses: u64,
    /// Files that had to leave for those of this query.
    pub evictions: u64,
}

/// The totals of a query.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// Requests by method.
    pub requests: BTreeMap<String, u64>,
    /// Answers by status.
    pub status: BTreeMap<u16, u64>,
    /// Body bytes delivered to farquet.
    pub bytes_received: u64,
    /// The longest chain of requests that needed one another.
    pub hops: u32,
    /// The longest row of requests of which each began after the last one had ended.
    pub waves: u32,
    /// Requests that were sent again.
    pub retries: u64,
    /// How often the query began anew because an object had changed.
    pub restarts: u64,
    /// Files that were opened.
    pub files: u64,
    /// Row groups in those files.
    pub row_groups_total: u64,
    /// Row groups of which data was read.
    pub row_groups_read: u64,
    /// Connections opened meanwhile, where the backend can tell.
    pub connections: Option<u64>,
    /// Median time to the first byte of an answer.
    pub first_byte_median: Option<Duration>,
    /// What the caches did.
    pub cache: CacheCounts,
    /// Memory of the footers that the query used, in bytes; by it the footer cache can be sized.
    pub footer_bytes: u64,
    /// How well the versions of its files can be told apart: the worst among them.
    pub grade: Option<Grade>,
    /// What the session holds at the time of the report.
    pub usage: Usage,
    /// Every request.
    pub records: Vec<RequestRecord>,
}

impl Report {
    /// Requests of all methods.
    pub fn total_requests(&self) -> u64 {
        self.requests.values().sum()
    }
}

impl QueryStats {
    /// An empty account of a query that begins now.
    pub fn new(now: Monotonic) -> Self {
        Self { began: now, inner: Mutex::default(), in_flight: AtomicUsize::new(0), bytes: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moment of the call that this query answers.
    pub fn began(&self) -> Monotonic {
        self.began
    }

    pub(crate) fn sent(&self, method: &str, hop: u32) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let mut inner = self.lock();
        *inner.methods.entry(method.to_owned()).or_default() += 1;
        inner.hops = inner.hops.max(hop);
    }

    pub(crate) fn received(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn ended(&self, record: RequestRecord) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        let mut inner = self.lock();
        if let Some(status) = record.status {
            *inner.status.entry(status).or_default() += 1;
        }
        if inner.records.len() < RECORDS {
            inner.records.push(record);
        }
    }

    pub(crate) fn retried(&self) {
        self.lock().retries += 1;
    }

    pub(crate) fn cached(&self, count: impl FnOnce(&mut CacheCounts)) {
        count(&mut self.lock().cache);
    }

    pub(crate) fn opened(&self, row_groups: u64, footer_bytes: u64, grade: Grade) {
        let mut inner = self.lock();
        inner.grade = inner.grade.max(Some(grade));
        inner.files += 1;
        inner.footer_bytes += footer_bytes;
        inner.row_groups.end += row_groups;
    }

    /// A row group of which data was decoded.
    pub fn row_group_read(&self) {
        self.lock().row_groups.start += 1;
    }

    /// The query begins anew: counts of files and row groups start again, what was sent stays sent.
    pub fn restarted(&self) {
        let mut inner = self.lock();
        inner.restarts += 1;
        inner.files = 0;
        inner.row_groups = 0..0;
        inner.footer_bytes = 0;
        inner.grade = None;
    }

    /// Files opened, body bytes received and requests in flight at this moment.
    pub fn progress(&self) -> (u64, u64, usize) {
        (self.lock().files, self.bytes.load(Ordering::Relaxed), self.in_flight.load(Ordering::Relaxed))
    }

    /// The totals so far.
    pub fn report(&self) -> Report {
        let inner = self.lock();
        let mut first: Vec<_> = inner.records.iter().filter_map(|r| r.first_byte?.checked_sub(r.start)).collect();
        first.sort_unstable();
        Report {
            requests: inner.methods.clone(),
            status: inner.status.clone(),
            bytes_received: self.bytes.load(Ordering::Relaxed),
            hops: inner.hops,
            waves: longest_row(&inner.records),
            retries: inner.retries,
            restarts: inner.restarts,
            files: inner.files,
            row_groups_total: inner.row_groups.end,
            row_groups_read: inner.row_groups.start,
            connections: None,
            cache: inner.cache,
            footer_bytes: inner.footer_bytes,
            grade: inner.grade,
            usage: Usage::default(),
            first_byte_median: first.get(first.len() / 2).copied(),
            records: inner.records.clone(),
        }
    }
}

/// The longest row of requests of which each began after the last one had ended.
fn longest_row(records: &[RequestRecord]) -> u32 {
    let mut by_start: Vec<_> = records.iter().map(|record| (record.start, record.end)).collect();
    by_start.sort_unstable();
    // Ends with the length of the best row that they close; only the longest rows so far matter.
    let mut ended = BinaryHeap::new();
    let (mut best_ended, mut best) = (0, 0);
    for (start, end) in by_start {
        while let Some(&Reverse((earlier, length))) = ended.peek()
            && earlier <= start
        {
            best_ended = best_ended.max(length);
            ended.pop();
        }
        ended.push(Reverse((end, best_ended + 1)));
        best = best.max(best_ended + 1);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_the_longest_row() {
        let record = |start, end| RequestRecord {
            start: Duration::from_millis(start),
            first_byte: None,
            end: Duration::from_millis(end),
            method: "GET".into(),
            url: String::new(),
            range: None,
            status: Some(206),
            bytes: 0,
            cause: Cause::Data,
            hop: 1,
        };
        assert_eq!(longest_row(&[]), 0);
        assert_eq!(longest_row(&[record(0, 10), record(1, 9), record(2, 20)]), 1);
        assert_eq!(longest_row(&[record(0, 10), record(10, 20), record(12, 30), record(31, 40)]), 3);
    }
}
