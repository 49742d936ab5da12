//! What is known of files across queries: small ones whole, of others the footer, and what is being asked about them right now.
//!
//! Nothing here is ever used for a query without proof that it is current: a request that was sent after the query began and
//! answered for this version, or the caller's word ([`Freshness`]). Requests about one file are shared by all queries that began
//! before they were sent. A request that fails or is cut short leaves nothing behind; one whose first asker has gone goes on for
//! those who still wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use url::Url;

use crate::cache::{BoundedLru, Residency};
use crate::client::{QueryContext, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::freshness::{Freshness, Lifetime};
use crate::open::{IfChanged, Opened, open, open_if_changed, prove};
use crate::timer::Monotonic;

/// A file as a query gets it.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub opened: Arc<Opened>,
    /// The highest hop of the requests that it took, 0 if none.
    pub hop: u32,
    /// Whether it is known to be current for the query.
    pub proved: bool,
}

type Flight = BoxFuture<'static, Result<Found>>;

/// What the caches hold now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Small files.
    pub bodies: Residency,
    /// Footers of the others.
    pub footers: Residency,
    /// Bytes of files that running queries hold.
    pub held: u64,
}

#[derive(Debug)]
pub(crate) struct Store(Mutex<State>);

#[derive(Debug)]
struct State {
    bodies: BoundedLru<Url, Known>,
    footers: BoundedLru<Url, Known>,
    /// Openings under way.
    openings: HashMap<Url, UnderWay>,
    /// Proofs of cached footers under way.
    proofs: HashMap<Url, UnderWay>,
}

#[derive(Debug, Clone)]
struct Known {
    opened: Arc<Opened>,
    /// When the request was made that last proved it.
    proved: Monotonic,
    /// Until when HTTP's rules call it fresh.
    fresh_until: Monotonic,
}

#[derive(Debug)]
struct UnderWay {
    /// Made at this moment, and sent after it.
    made: Monotonic,
    flight: WeakShared<Flight>,
}

/// What a query asks of the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub query: &'a Arc<QueryContext>,
    pub url: &'a Url,
    /// Nothing older than this proves anything.
    pub began: Monotonic,
    pub freshness: Freshness,
    /// Files that are opened together.
    pub together: usize,
    /// Not to be kept, since all of them together would push everything else out.
    pub bypass: bool,
}

impl Store {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self(Mutex::new(State {
            bodies: BoundedLru::new(settings.body_cache),
            footers: BoundedLru::new(settings.footer_cache),
            openings: HashMap::new(),
            proofs: HashMap::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn usage(&self, held: u64) -> Usage {
        let state = self.lock();
        Usage { bodies: state.bodies.residency(), footers: state.footers.residency(), held }
    }

    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.bodies = BoundedLru::new(state.bodies.bounds());
        state.footers = BoundedLru::new(state.footers.bounds());
    }

    /// Whether anything is kept of `url`, or asked about it.
    pub(crate) fn knows(&self, url: &Url) -> bool {
        let mut state = self.lock();
        state.bodies.get(url).is_some() || state.footers.get(url).is_some() || state.openings.contains_key(url)
    }

    /// Forgets `url`, which has changed or cannot be had.
    pub(crate) fn evict(&self, url: &Url) {
        let mut state = self.lock();
        state.bodies.remove(url);
        state.footers.remove(url);
    }

    /// A footer has grown by its page index.
    pub(crate) fn reweigh(&self, url: &Url, opened: &Arc<Opened>) {
        let mut state = self.lock();
        if let Some(known) = state.footers.get(url).filter(|known| known.opened.version == opened.version).cloned() {
            let bytes = footer_bytes(&known.opened);
            state.footers.put(url.clone(), known, bytes);
        }
    }

    /// The file of `request`: from a cache, from a request under way, or by a request of its own.
    pub(crate) async fn open(&self, request: Request<'_>) -> Result<Found> {
        let flight = match self.look(request) {
            Looked::Known(found) => return Ok(found),
            Looked::UnderWay(flight) => {
                let result = flight.await;
                // Another query's limits are not this one's.
                if !result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Budget) {
                    request.query.stats.cached(|count| count.hits += u64::from(result.is_ok()));
                    return result;
                }
                self.depart(request, None)
            }
            Looked::Stale(known) => self.depart(request, Some(known)),
            Looked::Unknown => self.depart(request, None),
        };
        flight.await
    }

    fn look(&self, request: Request<'_>) -> Looked {
        let mut state = self.lock();
        if let Some(flight) = state.openings.get(request.url).and_then(|under_way| under_way.shared_by(request.began)) {
            return Looked::UnderWay(flight);
        }
        let (now, settings) = (request.query.client.timer.now(), &request.query.client.settings);
        let hit = |known: &Known, proved| {
            request.query.stats.cached(|count| count.hits += 1);
            Looked::Known(Found { opened: Arc::clone(&known.opened), hop: 0, proved })
        };
        if let Some(known) = state.bodies.get(request.url) {
            let known = known.clone();
            return if known.is_current(request, now) { hit(&known, true) } else { Looked::Stale(known) };
        }
        match state.footers.get(request.url) {
            Some(known) if known.is_current(request, now) => hit(known, true),
            // Small files come whole: planning may wait for others anyway, and their data then costs no hop more.
            Some(known) if known.opened.size <= settings.small_file && settings.small_file_cache => Looked::Unknown,
            // Whether it is current shows with the data, or by a request beside the data's.
            Some(known) if known.opened.version.reusable().is_some() => hit(known, false),
            _ => Looked::Unknown,
        }
    }

    /// Sends for the file; others may join until it has landed.
    fn depart(&self, request: Request<'_>, stale: Option<Known>) -> Shared<Flight> {
        let made = request.query.client.timer.now();
        let (query, url) = (Arc::clone(request.query), request.url.clone());
        let Request { together, bypass, freshness, .. } = request;
        let flight = async move {
            let result = match &stale {
                Some(known) => open_if_changed(&query, &url, &known.opened, together).await,
                None => open(&query, &url, together).await.map(|(opened, hop)| IfChanged::New(Box::new(opened), hop)),
            };
            let result = match (result, stale) {
                (Ok(IfChanged::Same { lifetime, hop }), Some(known)) => {
                    query.stats.cached(|count| count.revalidated += 1);
                    Ok((known.opened, lifetime, hop))
                }
                (Ok(IfChanged::New(opened, hop)), _) => {
                    query.stats.cached(|count| count.misses += 1);
                    let lifetime = opened.lifetime;
                    Ok((Arc::from(opened), lifetime, hop))
                }
                (Err(error), _) => Err(error),
                // Only what was asked for conditionally can be the same.
                (Ok(IfChanged::Same { .. }), None) => {
                    Err(Error::new(ErrorKind::BadResponse, "304 without a condition"))
                }
            };
            let store = &query.client.store;
            let result = match result {
                Ok((opened, lifetime, hop)) => {
                    store.keep(&query, &url, &opened, Kept { made, lifetime, freshness, bypass });
                    Ok(Found { opened, hop, proved: true })
                }
                Err(error) => {
                    store.evict(&url);
                    Err(error)
                }
            };
            // Last, so that nobody finds the file neither under way nor kept.
            store.landed(&url, made);
            result
        };
        let flight = flight.boxed().shared();
        if let Some(weak) = flight.downgrade() {
            let mut state = self.lock();
            state.openings.insert(request.url.clone(), UnderWay { made, flight: weak });
            sweep(&mut state.openings);
        }
        flight
    }

    fn landed(&self, url: &Url, made: Monotonic) {
        let mut state = self.lock();
        if state.openings.get(url).is_some_and(|under_way| under_way.made == made) {
            state.openings.remove(url);
        }
    }

    fn keep(&self, query: &QueryContext, url: &Url, opened: &Arc<Opened>, kept: Kept) {
        let Kept { made, lifetime, freshness, bypass } = kept;
        let settings = &query.client.settings;
        // Without a validator nothing would ever prove it, and only the caller's word remains.
        let provable = opened.version.reusable().is_some() || freshness != Freshness::Validate;
        let allowed = lifetime.storable || freshness != Freshness::Http;
        let mut state = self.lock();
        let fresh_until = query.client.timer.now() + lifetime.fresh_for;
        let known = |opened: Arc<Opened>| Known { opened, proved: made, fresh_until };
        if !provable || !allowed {
            state.bodies.remove(url);
            state.footers.remove(url);
            return;
        }
        let evicted = if opened.is_complete() && opened.size <= settings.small_file && settings.small_file_cache {
            state.footers.remove(url);
            if bypass && state.bodies.get(url).is_none() {
                query.stats.cached(|count| count.bypasses += 1);
                return;
            }
            state.bodies.put(url.clone(), known(Arc::clone(opened)), opened.size + footer_bytes(opened))
        } else {
            state.bodies.remove(url);
            let footer = Arc::new(opened.without_end());
            let bytes = footer_bytes(&footer);
            state.footers.put(url.clone(), known(footer), bytes)
        };
        query.stats.cached(|count| count.evictions += evicted);
    }

    /// Proves that `opened`, which came from the cache, is current; shared by all queries that began before the request was made.
    ///
    /// Returns the hop of the request.
    pub(crate) async fn prove(&self, request: Request<'_>, opened: &Arc<Opened>) -> Result<u32> {
        let flight = {
            let mut state = self.lock();
            let known = state.footers.get(request.url).filter(|known| known.opened.version == opened.version);
            if known.is_some_and(|known| known.proved >= request.began) {
                return Ok(0);
            }
            state.proofs.get(request.url).and_then(|under_way| under_way.shared_by(request.began))
        };
        let found = match flight {
            Some(flight) => flight.await?,
            None => self.send_for_proof(request, opened).await?,
        };
        if found.opened.version == opened.version {
            Ok(found.hop)
        } else {
            self.send_for_proof(request, opened).await.map(|found| found.hop)
        }
    }

    fn send_for_proof(&self, request: Request<'_>, opened: &Arc<Opened>) -> Shared<Flight> {
        let made = request.query.client.timer.now();
        let (query, url, opened) = (Arc::clone(request.query), request.url.clone(), Arc::clone(opened));
        let flight = async move {
            let result = prove(&query, &url, &opened).await;
            let store = &query.client.store;
            let mut state = store.lock();
            if state.proofs.get(&url).is_some_and(|under_way| under_way.made == made) {
                state.proofs.remove(&url);
            }
            match result {
                Ok(()) => {
                    query.stats.cached(|count| count.revalidated += 1);
                    if let Some(known) = state.footers.get(&url).filter(|known| known.opened.version == opened.version)
                    {
                        known.proved = known.proved.max(made);
                    }
                    drop(state);
                    Ok(Found { opened, hop: 1, proved: true })
                }
                Err(error) => {
                    drop(state);
                    store.evict(&url);
                    Err(error)
                }
            }
        };
        let flight = flight.boxed().shared();
        if let Some(weak) = flight.downgrade() {
            let mut state = self.lock();
            state.proofs.insert(request.url.clone(), UnderWay { made, flight: weak });
            sweep(&mut state.proofs);
        }
        flight
    }

    /// Whether files of these sizes, as far as they are known, would push everything else out of the cache.
    pub(crate) fn would_thrash(settings: &Settings, sizes: impl ExactSizeIterator<Item = Option<u64>>) -> bool {
        let bounds = settings.body_cache;
        let files = sizes.len();
        let small: u64 = sizes.flatten().filter(|size| *size <= settings.small_file).sum();
        files > bounds.entries || small > bounds.bytes
    }
}

/// How an answer may be kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    made: Monotonic,
    lifetime: Lifetime,
    freshness: Freshness,
    bypass: bool,
}

/// What a look at the store found.
enum Looked {
    Known(Found),
    UnderWay(Shared<Flight>),
    Stale(Known),
    Unknown,
}

impl Known {
    fn is_current(&self, request: Request<'_>, now: Monotonic) -> bool {
        self.proved >= request.began
            || match request.freshness {
                Freshness::Validate => false,
                Freshness::Http => now < self.fresh_until,
                Freshness::Immutable => true,
            }
    }
}

impl UnderWay {
    /// The request, if it was made after `began` and somebody still waits for it.
    fn shared_by(&self, began: Monotonic) -> Option<Shared<Flight>> {
        if self.made >= began { self.flight.upgrade() } else { None }
    }
}

/// Forgets requests that nobody waits for any more, now and then.
fn sweep(under_way: &mut HashMap<Url, UnderWay>) {
    if under_way.len().is_power_of_two() {
        under_way.retain(|_, under_way| under_way.flight.upgrade().is_some());
    }
}

fn footer_bytes(opened: &Opened) -> u64 {
    opened.metadata().memory_size() as u64
}
