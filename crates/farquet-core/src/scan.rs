//! Fetches the ranges of a scan ahead of its decoder, across files and row groups.
//!
//! A scan is a list of *morsels*, each the bytes of one row group that one decoder will want. Requests are planned before
//! the first is sent, issued in scan order, and bounded twice: requests in flight by the origin's limiter, bytes in flight by
//! [`Capabilities::bytes_in_flight`](crate::fetch::Capabilities). How many decoders there are has no influence.
//!
//! Where it could deadlock: bytes that wait for a decoder count against the bound, so a decoder could wait for a request
//! that the bound holds back. Therefore whatever a decoder already waits for is always issued.
//!
//! Nothing is spawned here: [`Scan::run`] is a future that the caller drives beside the decoders.

mod work;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use bytes::Bytes;
use futures::future::{BoxFuture, poll_fn};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};

use crate::client::QueryContext;
use crate::error::Result;
use crate::file::File;
use crate::range::plan_requests;
use crate::segments::Segments;
use crate::stats::Cause;
use work::{Unit, Work};

/// The bytes of one row group that are read together.
#[derive(Debug, Clone)]
pub struct Morsel {
    /// The file.
    pub file: Arc<File>,
    /// Which of its row groups.
    pub row_group: usize,
    /// What is needed of it, in any order.
    pub ranges: Vec<Range<u64>>,
}

/// How far ahead of the decoders to fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Everything will be needed: as far as the bounds allow.
    Eager,
    /// Results may make the rest needless (`LIMIT`, top-k): this many morsels, then two more for each that is done.
    Growing(usize),
}

/// A request by its index, and what came of it.
type Fetched = (usize, Result<(Bytes, u32)>);

/// Whether a morsel is still needed, asked before its bytes are.
pub type StillNeeded = dyn Fn(usize) -> bool + Send + Sync;

/// The requests that a scan would send, were nothing pruned meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlannedRequests {
    /// Requests.
    pub requests: u64,
    /// Bytes of their ranges.
    pub bytes: u64,
    /// Bytes of the planned ranges that came with the footers.
    pub held: u64,
}

/// A scan in progress, shared by its decoders and by the one who drives [`Scan::run`].
pub struct Scan {
    morsels: Vec<Morsel>,
    pace: Pace,
    query: Arc<QueryContext>,
    needed: Box<StillNeeded>,
    work: Mutex<Work>,
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan").field("morsels", &self.morsels.len()).field("pace", &self.pace).finish_non_exhaustive()
    }
}

/// Bytes for one morsel. Dropping it tells the scan that the morsel is done.
#[derive(Debug)]
pub struct Ready {
    /// The index of the morsel.
    pub index: usize,
    /// Its bytes.
    pub segments: Segments,
    /// The highest hop of the requests that brought them.
    pub hop: u32,
    scan: Arc<Scan>,
}

impl Drop for Ready {
    fn drop(&mut self) {
        let mut work = self.scan.lock();
        work.finished(self.hop);
        work.wake_driver();
    }
}

/// Plans the requests for `morsels`: over all files where everything is needed, else for each morsel by itself.
fn plan(morsels: &[Morsel], pace: Pace) -> Vec<Unit> {
    let mut groups: Vec<(&Arc<File>, Vec<usize>)> = Vec::new();
    for (index, morsel) in morsels.iter().enumerate() {
        match groups.last_mut() {
            Some((file, members)) if pace == Pace::Eager && Arc::ptr_eq(file, &morsel.file) => members.push(index),
            _ => groups.push((&morsel.file, vec![index])),
        }
    }
    let wanted: Vec<Vec<Range<u64>>> = groups
        .iter()
        .map(|(file, members)| members.iter().flat_map(|m| file.missing(&morsels[*m].ranges)).collect())
        .collect();
    let Some(first) = morsels.first() else { return Vec::new() };
    let requests = plan_requests(&wanted, &first.file.cost());
    let mut units = Vec::new();
    for ((file, members), ranges) in groups.into_iter().zip(requests) {
        for range in ranges {
            let touches = |m: &usize| morsels[*m].ranges.iter().any(|r| r.start < range.end && range.start < r.end);
            let users: Vec<usize> = members.iter().copied().filter(touches).collect();
            units.push(Unit::new(Arc::clone(file), range, users));
        }
    }
    units
}

impl Scan {
    /// A scan of `morsels`, whose ranges come from answers up to `hop`.
    pub fn new(
        query: Arc<QueryContext>,
        morsels: Vec<Morsel>,
        pace: Pace,
        hop: u32,
        needed: Box<StillNeeded>,
    ) -> Arc<Self> {
        let work = Mutex::new(Work::new(morsels.len(), plan(&morsels, pace), hop));
        Arc::new(Self { morsels, pace, query, needed, work })
    }

    /// The requests for `morsels`, without sending any.
    pub fn planned(morsels: &[Morsel], pace: Pace) -> PlannedRequests {
        let units = plan(morsels, pace);
        let held = morsels.iter().filter_map(|morsel| {
            let all: u64 = morsel.ranges.iter().map(|r| r.end - r.start).sum();
            let missing: u64 = morsel.file.missing(&morsel.ranges).iter().map(|r| r.end - r.start).sum();
            all.checked_sub(missing)
        });
        PlannedRequests { requests: units.len() as u64, bytes: units.iter().map(Unit::length).sum(), held: held.sum() }
    }

    /// The morsels in scan order.
    pub fn morsels(&self) -> &[Morsel] {
        &self.morsels
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the scan's requests until all of them are answered. Dropping the future cancels what is in flight; decoders
    /// that wait then wait for ever, so it is dropped with them.
    pub async fn run(self: Arc<Self>) {
        let mut in_flight: FuturesUnordered<BoxFuture<'static, Fetched>> = FuturesUnordered::new();
        poll_fn(move |cx| {
            loop {
                self.lock().driver = Some(cx.waker().clone());
                let finished = {
                    let (to_send, finished) =
                        self.lock().next(self.pace, self.query.client().bytes_in_flight(), &self.needed);
                    in_flight.extend(to_send.into_iter().map(|unit| {
                        let query = Arc::clone(&self.query);
                        async move { (unit.index, unit.file.fetch(&query, unit.range, Cause::Data, unit.hop).await) }
                            .boxed()
                    }));
                    finished
                };
                match in_flight.poll_next_unpin(cx) {
                    Poll::Ready(Some((unit, result))) => self.lock().arrived(unit, result),
                    _ if finished && in_flight.is_empty() => return Poll::Ready(()),
                    _ => return Poll::Pending,
                }
            }
        })
        .await;
    }

    /// The next morsel that is still needed, with its bytes; `None` at the end. Several decoders may ask at once.
    ///
    /// Dropping the future gives up the morsel that it waits for, and with it the scan.
    pub async fn next(self: &Arc<Self>) -> Option<Result<Ready>> {
        loop {
            let index = {
                let mut work = self.lock();
                let index = work.claim()?;
                if !(self.needed)(index) {
                    work.skip(index);
                    work.wake_driver();
                    continue;
                }
                if !work.await_now(index) {
                    continue;
                }
                work.wake_driver();
                index
            };
            let outcome = poll_fn(|cx| self.lock().collect(index, cx)).await;
            return Some(outcome.map(|(pieces, hop)| {
                let mut segments = self.morsels[index].file.held().clone();
                for (offset, bytes) in pieces {
                    segments.push(offset, bytes);
                }
                Ready { index, segments, hop, scan: Arc::clone(self) }
            }));
        }
    }

    /// The hop of a request that depends on the bytes of `ready`.
    pub fn hop_after(ready: &Ready) -> u32 {
        ready.hop + 1
    }
}

/// Waiting decoders, woken together: each looks at its own morsel.
#[derive(Debug, Default)]
struct Waiters(VecDeque<Waker>);

impl Waiters {
    fn add(&mut self, waker: &Waker) {
        if !self.0.iter().any(|known| known.will_wake(waker)) {
            self.0.push_back(waker.clone());
        }
    }

    fn wake_all(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}
