//! What is learned about an origin while talking to it. Kept for the session, in memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use url::Url;

use crate::limiter::Limiter;
use crate::timer::Monotonic;

/// All origins of a session.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    known: Mutex<HashMap<String, Arc<Origin>>>,
}

/// One origin: scheme, host and port.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) limiter: Arc<Limiter>,
    /// It refused or misanswered `bytes=-N`.
    suffix_refused: AtomicBool,
    /// It refused or misanswered HEAD.
    head_refused: AtomicBool,
    /// Whether `Content-Range` is visible.
    ranges: AtomicU8,
    link: Mutex<Link>,
    /// Nothing is sent before this moment: the origin's `Retry-After`.
    not_before: Mutex<Monotonic>,
}

/// The path to an origin, as measured.
#[derive(Debug, Clone, Copy, Default)]
struct Link {
    /// Shortest time to a first byte lately.
    latency: Option<Duration>,
    /// Bytes and time of transfers that overlapped, so that parallel bodies are not counted as many slow links.
    active: u32,
    active_since: Monotonic,
    busy: Duration,
    bytes: u64,
}

/// What is known of the visibility of `Content-Range`.
const RANGES_UNKNOWN: u8 = 0;
const RANGES_SHOWN: u8 = 1;
const RANGES_HIDDEN: u8 = 2;

/// Bodies smaller than this, all together, say nothing about bandwidth.
const ENOUGH_TO_MEASURE: u64 = 64 << 10;
/// What a scheduler may add to a transfer: so much time says nothing about the link.
const GRANULARITY: Duration = Duration::from_millis(5);
/// Where nothing is measured yet. Their product is 1 MiB.
const FIRST_LATENCY: Duration = Duration::from_millis(50);
const FIRST_BANDWIDTH: f64 = (20 << 20) as f64;

impl Origins {
    /// The origin of `url`, which may have `requests` in flight if it is new.
    pub(crate) fn of(&self, url: &Url, requests: impl FnOnce() -> usize) -> Arc<Origin> {
        let key = url.origin().ascii_serialization();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_insert_with(|| Arc::new(Origin::new(requests()))))
    }
}

impl Origin {
    fn new(requests: usize) -> Self {
        Self {
            limiter: Limiter::new(requests),
            suffix_refused: AtomicBool::new(false),
            head_refused: AtomicBool::new(false),
            ranges: AtomicU8::new(RANGES_UNKNOWN),
            link: Mutex::default(),
            not_before: Mutex::default(),
        }
    }

    pub(crate) fn refuse_suffix(&self) {
        self.suffix_refused.store(true, Ordering::Relaxed);
    }

    pub(crate) fn suffix_refused(&self) -> bool {
        self.suffix_refused.load(Ordering::Relaxed)
    }

    pub(crate) fn refuse_head(&self) {
        self.head_refused.store(true, Ordering::Relaxed);
    }

    pub(crate) fn head_refused(&self) -> bool {
        self.head_refused.load(Ordering::Relaxed)
    }

    /// Learns from an answer's head whether `Content-Range` is visible. Who shows a tag is presumed to show it too, until an answer
    /// to a range does not have it.
    pub(crate) fn learn_ranges(&self, status: StatusCode, headers: &HeaderMap) {
        let partial = status == StatusCode::PARTIAL_CONTENT;
        if headers.contains_key(header::CONTENT_RANGE) {
            self.ranges.store(RANGES_SHOWN, Ordering::Relaxed);
        } else if partial {
            self.ranges.store(RANGES_HIDDEN, Ordering::Relaxed);
        } else if headers.contains_key(header::ETAG) {
            let (order, from) = (Ordering::Relaxed, RANGES_UNKNOWN);
            let _known = self.ranges.compare_exchange(from, RANGES_SHOWN, order, order);
        }
    }

    pub(crate) fn shows_ranges(&self) -> bool {
        self.ranges.load(Ordering::Relaxed) == RANGES_SHOWN
    }

    pub(crate) fn hold_until(&self, moment: Monotonic) {
        let mut not_before = self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        *not_before = moment.max(*not_before);
    }

    pub(crate) fn wait_before_sending(&self, now: Monotonic) -> Option<Duration> {
        let not_before = *self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        (not_before > now).then(|| not_before - now)
    }

    /// A head arrived `latency` after its request; its body begins to flow.
    pub(crate) fn body_begins(&self, latency: Duration, now: Monotonic) {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        // The shortest seen is the distance; longer ones are queues. It drifts up, in case the route has changed.
        link.latency = Some(link.latency.map_or(latency, |best| latency.min(best + best / 16)));
        if link.active == 0 {
            link.active_since = now;
        }
        link.active += 1;
    }

    /// A body ended after `bytes`.
    pub(crate) fn body_ends(&self, bytes: u64, now: Monotonic) {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.active = link.active.saturating_sub(1);
        link.bytes += bytes;
        if link.active == 0 {
            let period = now - link.active_since;
            link.busy += period.saturating_sub(GRANULARITY).max(period / 16);
            if link.bytes > ENOUGH_TO_MEASURE << 8 {
                // Older transfers count half: the link may have changed.
                link.bytes /= 2;
                link.busy /= 2;
            }
        }
    }

    /// Seconds to a first byte.
    pub(crate) fn latency(&self) -> f64 {
        let link = *self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.latency.unwrap_or(FIRST_LATENCY).as_secs_f64()
    }

    /// Bytes per second of all bodies together.
    pub(crate) fn bandwidth(&self) -> f64 {
        let link = *self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if link.bytes < ENOUGH_TO_MEASURE || link.busy.is_zero() {
            return FIRST_BANDWIDTH;
        }
        link.bytes as f64 / link.busy.as_secs_f64()
    }
}
