//! What a session shares and what a query owns: the backend, what was learned about origins and data sets, the accounts.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use url::Url;

use crate::budget::{Budget, Limits};
use crate::cache::Bounds;
use crate::error::Result;
use crate::fetch::{Capabilities, Fetch};
use crate::flights::{Moment, Moments};
use crate::freshness::Freshness;
use crate::origin::{Origin, Origins};
use crate::stats::{QueryStats, Report};
use crate::store::{Store, Usage};
use crate::timer::Timer;
use crate::validator::Version;

/// What a caller may set. The defaults suit public servers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// How often one request is sent again, at most.
    pub retries: u32,
    /// How long nothing may arrive before a request counts as lost.
    pub idle_timeout: Duration,
    /// Requests in flight to one origin; the backend's own number if `None`.
    pub requests_per_origin: Option<usize>,
    /// Bytes fetched and not yet decoded; the backend's own number if `None`.
    pub bytes_in_flight: Option<u64>,
    /// The largest footer that is accepted, in bytes.
    pub largest_footer: u64,
    /// What makes a file of an earlier query good for a later one, unless a table has its own rule.
    pub freshness: Freshness,
    /// Whether small files are asked for whole and kept across queries.
    pub small_file_cache: bool,
    /// Files of at most this size are small.
    pub small_file: u64,
    /// What is kept of small files.
    pub body_cache: Bounds,
    /// What is kept of footers, by the memory that they take.
    pub footer_cache: Bounds,
    /// How long a footer is kept.
    pub footer_scope: FooterScope,
    /// Bytes of files that all running queries together keep for their scans; past it they read ranges again.
    pub held_bytes: u64,
    /// The same for one query.
    pub held_bytes_per_query: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retries: 4,
            idle_timeout: Duration::from_secs(20),
            requests_per_origin: None,
            bytes_in_flight: None,
            largest_footer: 256 << 20,
            freshness: Freshness::Validate,
            small_file_cache: true,
            small_file: 256 << 10,
            body_cache: Bounds { bytes: 64 << 20, entries: 4096 },
            footer_cache: Bounds { bytes: 50 << 20, entries: 100_000 },
            footer_scope: FooterScope::Session,
            held_bytes: 64 << 20,
            held_bytes_per_query: 64 << 20,
        }
    }
}

/// How long footers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FooterScope {
    /// For the query, or the snapshot, that opened them.
    Query,
    /// For later queries too, as long as the cache has room.
    #[default]
    Session,
}

/// What a session shares: backend, time, caches, and what was learned.
#[derive(Debug)]
pub struct Client {
    pub(crate) fetch: Arc<dyn Fetch>,
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) settings: Settings,
    pub(crate) capabilities: Capabilities,
    pub(crate) origins: Origins,
    pub(crate) hints: Hints,
    pub(crate) store: Store,
    pub(crate) moments: Moments,
    /// What is left of `Settings::held_bytes`, over all queries.
    pub(crate) holdable: AtomicI64,
}

impl Client {
    /// A client on `fetch`.
    pub fn new(fetch: Arc<dyn Fetch>, timer: Arc<dyn Timer>, settings: Settings) -> Arc<Self> {
        let capabilities = fetch.capabilities();
        let holdable = AtomicI64::new(i64::try_from(settings.held_bytes).unwrap_or(i64::MAX));
        let store = Store::new(&settings);
        let (origins, hints, moments) = (Origins::default(), Hints::default(), Moments::default());
        Arc::new(Self { fetch, timer, settings, capabilities, origins, hints, store, moments, holdable })
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the caches and the running queries hold now.
    pub fn usage(&self) -> Usage {
        let held = i64::try_from(self.settings.held_bytes).unwrap_or(i64::MAX) - self.holdable.load(Ordering::Acquire);
        self.store.usage(u64::try_from(held).unwrap_or(0))
    }

    /// Forgets every file, so that the next query reads all anew.
    pub fn clear_caches(&self) {
        self.store.clear();
    }

    /// Forgets a file that has changed or cannot be had, in the version that `is_it`.
    pub(crate) fn forget(&self, url: &Url, is_it: impl FnOnce(&Version) -> bool) {
        self.store.evict(url, is_it);
        self.hints.forget_size(url);
    }

    /// Bytes that a scan may fetch ahead of its decoders.
    pub fn bytes_in_flight(&self) -> u64 {
        self.settings.bytes_in_flight.unwrap_or(self.capabilities.bytes_in_flight)
    }

    /// Requests in flight to the origin of `url` at most.
    pub(crate) fn requests_at_once(&self, url: &Url) -> usize {
        self.settings.requests_per_origin.unwrap_or_else(|| self.fetch.requests_at_once(url))
    }

    pub(crate) fn origin(&self, url: &Url) -> Arc<Origin> {
        self.origins.of(url, || self.requests_at_once(url))
    }

    /// Begins a query's account: now, before any of its work is polled.
    pub fn begin(self: &Arc<Self>, limits: Limits) -> Arc<QueryContext> {
        Arc::new(QueryContext {
            began: self.moments.next(),
            stats: QueryStats::new(self.timer.now()),
            budget: Budget::new(limits),
            half_retries_left: AtomicI64::new(2 * FREE_RETRIES),
            connections_before: self.fetch.connections_opened(),
            client: Arc::clone(self),
        })
    }
}

/// Retries that every query has; each request adds half a retry more.
const FREE_RETRIES: i64 = 20;

/// What one query owns.
#[derive(Debug)]
pub struct QueryContext {
    pub(crate) client: Arc<Client>,
    pub(crate) began: Moment,
    pub(crate) stats: QueryStats,
    pub(crate) budget: Budget,
    half_retries_left: AtomicI64,
    connections_before: Option<u64>,
}

impl QueryContext {
    /// The session's part.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// The query's account.
    pub fn stats(&self) -> &QueryStats {
        &self.stats
    }

    /// Refuses a plan that would exceed the query's limits, before anything of it is sent.
    pub fn check_budget(&self, requests: u64, bytes: u64) -> Result<()> {
        self.budget.check(requests, bytes)
    }

    /// What the query cost so far.
    pub fn report(&self) -> Report {
        let opened = self.client.fetch.connections_opened();
        let connections = opened.zip(self.connections_before).map(|(now, before)| now - before);
        Report { connections, usage: self.client.usage(), ..self.stats.report() }
    }

    /// Each request sent pays half a retry in.
    pub(crate) fn earn_retry(&self) {
        self.half_retries_left.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn take_retry(&self) -> bool {
        self.half_retries_left.fetch_sub(2, Ordering::Relaxed) > 0
    }
}

/// What was seen of files and data sets. Only ever a guess: whatever is read because of it is checked.
#[derive(Debug)]
pub(crate) struct Hints {
    sizes: Mutex<LruCache<Url, u64>>,
    sets: Mutex<LruCache<String, SetHint>>,
}

#[derive(Debug, Clone, Copy)]
struct SetHint {
    /// The longest tail that a footer of the set needed; 0 if none was read.
    tail: u64,
    /// The smallest file seen.
    smallest: u64,
}

impl Default for Hints {
    fn default() -> Self {
        let cache = |entries| NonZeroUsize::new(entries).unwrap_or(NonZeroUsize::MIN);
        Self { sizes: Mutex::new(LruCache::new(cache(100_000))), sets: Mutex::new(LruCache::new(cache(1_000))) }
    }
}

/// Tails are never asked longer than this, whatever was learned.
const LONGEST_TAIL: u64 = 4 << 20;

/// The first tail of a file of unknown size, when `files` are opened together.
pub(crate) fn first_tail(files: usize) -> u64 {
    ((4 << 20) / (files.max(1) as u64)).clamp(16 << 10, 512 << 10)
}

impl Hints {
    pub(crate) fn size(&self, url: &Url) -> Option<u64> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).get(url).copied()
    }

    pub(crate) fn forget_size(&self, url: &Url) {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).pop(url);
    }

    /// How much of the end to ask for first.
    pub(crate) fn tail(&self, url: &Url, files: usize) -> u64 {
        let first = first_tail(files);
        let known = self.sets.lock().unwrap_or_else(PoisonError::into_inner).get(data_set(url)).copied();
        match known {
            None | Some(SetHint { tail: 0, .. }) => first,
            // A shorter tail only where no file of the set would have fitted the first one anyway.
            Some(set) if set.smallest > first => (set.tail + set.tail / 8).next_multiple_of(4 << 10).min(LONGEST_TAIL),
            Some(set) => first.max(set.tail + set.tail / 8).min(LONGEST_TAIL),
        }
    }

    /// Whether the files beside `url` are small, as far as they were seen: none above `bound`, or none below.
    pub(crate) fn small(&self, url: &Url, bound: u64) -> Option<bool> {
        let set = self.sets.lock().unwrap_or_else(PoisonError::into_inner).get(data_set(url)).copied()?;
        Some(set.smallest <= bound)
    }

    /// `url` has `size` bytes; of its footer nothing is known.
    pub(crate) fn saw(&self, url: &Url, size: u64) {
        self.learn(url, size, 0);
    }

    /// A footer of `url` needed the last `tail` bytes of `size`.
    pub(crate) fn learn(&self, url: &Url, size: u64, tail: u64) {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).put(url.clone(), size);
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let set = sets.get_or_insert_mut(data_set(url).to_owned(), || SetHint { tail, smallest: size });
        set.tail = set.tail.max(tail);
        set.smallest = set.smallest.min(size);
    }
}

/// A data set is what stands in one folder of one host.
fn data_set(url: &Url) -> &str {
    let text = url.as_str();
    let path_end = text.find(['?', '#']).unwrap_or(text.len());
    let folder_end = text[..path_end].rfind('/').unwrap_or(path_end);
    &text[..folder_end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_learned_for_each_data_set() {
        let url = |text: &str| Url::parse(text).expect("a url");
        let hints = Hints::default();
        let one = url("https://h/a/1.parquet?sig=x/y");
        assert_eq!(hints.tail(&one, 1), 512 << 10);
        assert_eq!(hints.tail(&one, 60), (4 << 20) / 60);
        assert_eq!(hints.tail(&one, 10_000), 16 << 10);
        hints.learn(&one, 2 << 20, 5_000);
        assert_eq!(hints.tail(&url("https://h/a/2.parquet"), 120), 8 << 10, "large files: what their footers need");
        assert_eq!(hints.tail(&url("https://h/b/2.parquet"), 120), (4 << 20) / 120, "another data set");
        hints.learn(&url("https://h/a/3.parquet"), 20_000, 600_000);
        assert_eq!(hints.tail(&one, 120), 675_000, "small files may fit the first tail, large footers need more");
        assert_eq!(hints.size(&one), Some(2 << 20));
    }
}
