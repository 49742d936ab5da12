//! The account of one request, from its arrival to its last byte.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::header;
use http::request::Parts;
use tokio::sync::watch;

use crate::log::{Logged, RequestLog, Seen};

/// Called with every exchange that has ended.
pub(crate) type Observer = Arc<dyn Fn(&Logged) + Send + Sync>;

/// All requests of an origin.
pub(crate) struct Account {
    started: Instant,
    keep: bool,
    observer: Option<Observer>,
    admitted: AtomicUsize,
    running: AtomicUsize,
    /// The most requests that ran at one time since the log was last cleared.
    peak: watch::Sender<usize>,
    page: Mutex<Page>,
}

/// The log since it was last cleared.
#[derive(Default)]
struct Page {
    number: u64,
    seen: usize,
    seen_of_path: HashMap<String, usize>,
    entries: Vec<Logged>,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("keep", &self.keep).finish_non_exhaustive()
    }
}

impl Account {
    pub(crate) fn new(keep: bool, observer: Option<Observer>) -> Self {
        let page = Mutex::new(Page::default());
        let (admitted, running, peak) = (AtomicUsize::new(0), AtomicUsize::new(0), watch::Sender::new(0));
        Self { started: Instant::now(), keep, observer, admitted, running, peak, page }
    }

    pub(crate) fn log(&self) -> RequestLog {
        self.page.lock().unwrap_or_else(PoisonError::into_inner).entries.iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        *page = Page { number: page.number + 1, ..Page::default() };
        self.peak.send_replace(0);
    }

    /// Opens the account of a request that has just arrived.
    pub(crate) fn open(self: &Arc<Self>, parts: &Parts, connection: u64) -> Ticket {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let path = parts.uri.path().to_owned();
        let of_path = page.seen_of_path.entry(path.clone()).or_default();
        let index_of_path = *of_path;
        *of_path += 1;
        let seen = Seen {
            index: page.seen,
            index_of_path,
            method: parts.method.clone(),
            path,
            query: parts.uri.query().map(str::to_owned),
            range: parts.headers.get(header::RANGE).and_then(|value| value.to_str().ok()).map(str::to_owned),
            headers: parts.headers.clone(),
            connection,
            version: parts.version,
        };
        let start = self.started.elapsed();
        let entry = Logged { seen, status: None, start, end: None, body_bytes: 0, complete: false };
        let slot = page.seen;
        page.seen += 1;
        if self.keep {
            page.entries.push(entry.clone());
        }
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.send_if_modified(|peak| std::mem::replace(peak, running.max(*peak)) < running);
        Ticket { account: Arc::clone(self), page: page.number, slot, entry, admitted: false }
    }

    /// Resolves when so many requests have run at one time.
    pub(crate) async fn gathered(&self, requests: usize) {
        let mut peak = self.peak.subscribe();
        let reached = peak.wait_for(|peak| *peak >= requests).await;
        // The sender is in `self`, so the channel is open.
        drop(reached);
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// The open account of one request. Dropping it ends the account.
#[derive(Debug)]
pub(crate) struct Ticket {
    account: Arc<Account>,
    page: u64,
    slot: usize,
    entry: Logged,
    admitted: bool,
}

impl Ticket {
    pub(crate) fn seen(&self) -> &Seen {
        &self.entry.seen
    }

    /// Counts this request among those in flight; false when there are `limit` already.
    pub(crate) fn admit(&mut self, limit: usize) -> bool {
        let more = |now| (now < limit).then_some(now + 1);
        self.admitted = self.account.admitted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok();
        self.admitted
    }

    pub(crate) fn answered(&mut self, status: u16) {
        self.entry.status = Some(status);
        self.write();
    }

    pub(crate) fn sent(&mut self, bytes: u64) {
        self.entry.body_bytes += bytes;
        self.write();
    }

    /// Ends the account. Only the first call counts.
    pub(crate) fn finish(&mut self, complete: bool) {
        if self.entry.end.is_some() {
            return;
        }
        self.account.running.fetch_sub(1, Ordering::SeqCst);
        if self.admitted {
            self.account.admitted.fetch_sub(1, Ordering::SeqCst);
        }
        self.entry.end = Some(self.account.elapsed());
        self.entry.complete = complete;
        self.write();
        if let Some(observer) = &self.account.observer {
            observer(&self.entry);
        }
    }

    fn write(&self) {
        let mut page = self.account.page.lock().unwrap_or_else(PoisonError::into_inner);
        if page.number == self.page
            && let Some(kept) = page.entries.get_mut(self.slot)
        {
            kept.status = self.entry.status;
            kept.end = self.entry.end;
            kept.body_bytes = self.entry.body_bytes;
            kept.complete = self.entry.complete;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.finish(false);
    }
}
