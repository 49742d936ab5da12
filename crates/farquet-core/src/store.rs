//! What is known of files across queries: small ones whole, of others the footer, and what is being asked about them right now.
//!
//! Nothing here is ever used for a query without proof that it is current: a request that was sent after the query began and
//! answered for this version, or the caller's word ([`Freshness`]). Requests about one file are shared by all queries that began
//! before they were made. A request that fails or is cut short leaves nothing behind.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use url::Url;

use crate::cache::{BoundedLru, Bounds, Residency};
use crate::client::{FooterScope, QueryContext, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::flights::{Flight, Flights, Moment};
use crate::freshness::Freshness;
use crate::open::{How, IfChanged, open, open_if_changed, prove};
use crate::opened::Opened;
use crate::timer::Monotonic;
use crate::validator::Version;

/// A file as a query gets it.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub opened: Arc<Opened>,
    /// The highest hop of the requests that it took, 0 if none.
    pub hop: u32,
    /// Whether it is known to be current for the query.
    pub proved: bool,
}

/// A version that was found to be current, and the hop of the request.
type Proof = (Version, u32);

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
pub(crate) struct Store {
    caches: Mutex<Caches>,
    openings: Flights<Found>,
    proofs: Flights<Proof>,
}

#[derive(Debug)]
struct Caches {
    bodies: BoundedLru<Url, Known>,
    footers: BoundedLru<Url, Known>,
}

#[derive(Debug, Clone)]
struct Known {
    opened: Arc<Opened>,
    /// When the request was made that last proved it.
    proved: Moment,
    /// Until when HTTP's rules call it fresh.
    fresh_until: Monotonic,
}

/// What a query asks of the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub query: &'a Arc<QueryContext>,
    pub url: &'a Url,
    /// Nothing older than this proves anything.
    pub began: Moment,
    pub freshness: Freshness,
    pub how: How,
    /// Whether a cached footer may be used that is proved later.
    pub on_trust: bool,
}

/// What a look at the store found.
enum Looked {
    Known(Found),
    Joined(Flight<Found>),
    Departed(Flight<Found>),
}

impl Store {
    pub(crate) fn new(settings: &Settings) -> Self {
        let off = Bounds { bytes: 0, entries: 0 };
        let bodies = if settings.small_file_cache { settings.body_cache } else { off };
        let footers = if settings.footer_scope == FooterScope::Session { settings.footer_cache } else { off };
        let caches = Caches { bodies: BoundedLru::new(bodies), footers: BoundedLru::new(footers) };
        Self { caches: Mutex::new(caches), openings: Flights::default(), proofs: Flights::default() }
    }

    fn caches(&self) -> MutexGuard<'_, Caches> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn usage(&self, held: u64) -> Usage {
        let caches = self.caches();
        Usage { bodies: caches.bodies.residency(), footers: caches.footers.residency(), held }
    }

    pub(crate) fn clear(&self) {
        let mut caches = self.caches();
        caches.bodies = BoundedLru::new(caches.bodies.bounds());
        caches.footers = BoundedLru::new(caches.footers.bounds());
    }

    /// Whether anything is kept of `url`, or asked about it.
    pub(crate) fn knows(&self, url: &Url) -> bool {
        self.openings.gate().has(url) || self.caches().get(url).is_some()
    }

    /// Forgets `url`, which has changed or cannot be had, if what is kept `is_it`.
    pub(crate) fn evict(&self, url: &Url, is_it: impl FnOnce(&Version) -> bool) {
        let mut caches = self.caches();
        if caches.get(url).is_some_and(|known| is_it(&known.opened.version)) {
            caches.remove(url);
        }
    }

    /// A footer has grown by its page index.
    pub(crate) fn reweigh(&self, url: &Url, opened: &Opened) {
        let mut caches = self.caches();
        let footers = &mut caches.footers;
        if let Some(known) = footers.get(url).filter(|known| known.opened.version == opened.version).cloned() {
            if known.opened.metadata().offset_index().is_none() {
                known.opened.put_metadata(opened.metadata());
            }
            let bytes = known.opened.footer_bytes();
            footers.put(url.clone(), known, bytes);
        }
    }

    /// The file of `request`: from a cache, from a request under way, or by a request of its own.
    pub(crate) async fn open(&self, request: Request<'_>) -> Result<Found> {
        let joined = match self.look(request, true) {
            Looked::Known(found) => return Ok(found),
            Looked::Departed(flight) => return flight.await,
            Looked::Joined(flight) => flight.await,
        };
        match joined {
            // The other query's limits and luck are not this one's. Of those who were disappointed one asks for all.
            Err(error) if !is_about_the_file(&error) => match self.look(request, may_be_shared(&error)) {
                Looked::Known(found) => Ok(found),
                Looked::Departed(flight) | Looked::Joined(flight) => flight.await,
            },
            Err(error) => Err(error),
            Ok(found) => {
                request.query.stats.cached(|count| count.hits += 1);
                Ok(found)
            }
        }
    }

    fn look(&self, request: Request<'_>, join: bool) -> Looked {
        let Request { query, url, .. } = request;
        // Held throughout, so that of two who find nothing only one departs.
        let mut gate = self.openings.gate();
        // Of a file that never changes, any answer is good.
        let since = if request.freshness == Freshness::Immutable { Moment::BEGINNING } else { request.began };
        if let Some(flight) = gate.join(url, since).filter(|_| join) {
            return Looked::Joined(flight);
        }
        let (now, how) = (query.client.timer.now(), request.how);
        let known = self.caches().get(url).cloned();
        let stale = match known {
            Some(known) if known.is_current(request, now) => {
                query.stats.cached(|count| count.hits += 1);
                return Looked::Known(Found { opened: known.opened, hop: 0, proved: true });
            }
            Some(known) if known.opened.is_complete() => Some(known),
            // Small files come whole: planning may wait for others anyway, and their data then costs no hop more.
            Some(known) if how.may_come_whole(&query.client.settings, known.opened.size) => None,
            // Whether it is current shows with the data, or by a request beside the data's.
            Some(known) if known.opened.version.reusable().is_some() && request.on_trust => {
                return Looked::Known(Found { opened: known.opened, hop: 0, proved: false });
            }
            Some(known) if known.opened.version.reusable().is_some() => Some(known),
            _ => None,
        };
        let made = query.client.moments.next();
        let freshness = request.freshness;
        Looked::Departed(gate.depart(url, made, send(Arc::clone(query), url.clone(), made, now, freshness, how, stale)))
    }

    fn keep(&self, query: &QueryContext, url: &Url, known: Known, how: How, may_be_kept: bool) {
        let settings = &query.client.settings;
        let mut caches = self.caches();
        if caches.get(url).is_some_and(|other| other.proved > known.proved) {
            return;
        }
        if !may_be_kept {
            caches.remove(url);
            return;
        }
        let opened = Arc::clone(&known.opened);
        let whole = opened.is_complete() && opened.size <= settings.small_file && settings.small_file_cache;
        let bytes = opened.size + opened.footer_bytes();
        let welcome = how.displaces || caches.bodies.get(url).is_some() || caches.bodies.has_room(bytes);
        let bypassed = whole && !welcome;
        let evicted = if whole && welcome {
            caches.footers.remove(url);
            caches.bodies.put(url.clone(), known, bytes)
        } else {
            caches.bodies.remove(url);
            let footer = Arc::new(opened.without_end());
            let bytes = footer.footer_bytes();
            caches.footers.put(url.clone(), Known { opened: footer, ..known }, bytes)
        };
        query.stats.cached(|count| count.bypasses += u64::from(bypassed));
        query.stats.cached(|count| count.evictions += evicted);
    }

    /// Proves that `opened`, which came from the cache, is current; shared by all queries that began before the request was made.
    ///
    /// Returns the hop of the request, 0 if none was needed.
    pub(crate) async fn prove(&self, request: Request<'_>, opened: &Arc<Opened>) -> Result<u32> {
        let Request { query, url, began, .. } = request;
        let depart = |gate: &mut crate::flights::Gate<'_, Proof>| {
            let made = query.client.moments.next();
            gate.depart(url, made, send_for_proof(Arc::clone(query), url.clone(), made, Arc::clone(opened)))
        };
        let (flight, joined) = {
            let mut gate = self.proofs.gate();
            let mut caches = self.caches();
            let known = caches.footers.get(url).filter(|known| known.opened.version == opened.version);
            if known.is_some_and(|known| known.proved > began) {
                query.stats.cached(|count| count.hits += 1);
                return Ok(0);
            }
            drop(caches);
            gate.join(url, began).map_or_else(|| (depart(&mut gate), false), |flight| (flight, true))
        };
        match flight.await {
            Ok((version, hop)) if version == opened.version => {
                query.stats.cached(|count| count.hits += u64::from(joined));
                Ok(hop)
            }
            Err(error) if !joined || is_about_the_file(&error) => Err(error),
            // Another query asked for another version, or had no luck.
            _ => {
                let flight = depart(&mut self.proofs.gate());
                flight.await.map(|(_, hop)| hop)
            }
        }
    }
}

impl Caches {
    fn get(&mut self, url: &Url) -> Option<&mut Known> {
        self.bodies.get(url).or_else(|| self.footers.get(url))
    }

    fn remove(&mut self, url: &Url) {
        self.bodies.remove(url);
        self.footers.remove(url);
    }
}

impl Known {
    fn is_current(&self, request: Request<'_>, now: Monotonic) -> bool {
        self.proved > request.began
            || match request.freshness {
                Freshness::Validate => false,
                Freshness::Http => now < self.fresh_until,
                Freshness::Immutable => true,
            }
    }
}

/// Whether everybody who asks would be told the same.
fn is_about_the_file(error: &Error) -> bool {
    use ErrorKind::{Access, Malformed, NotFound, NotParquet, RangeIgnored, Unsupported};
    matches!(error.kind(), NotFound | Access | RangeIgnored | NotParquet | Malformed | Unsupported)
}

/// Whether those who wait may ask together once more: what is the asker's own would only meet the next one.
fn may_be_shared(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::Budget | ErrorKind::Decoder)
}

/// Asks for a file, unless it is still what is `stale`, and keeps what comes.
async fn send(
    query: Arc<QueryContext>,
    url: Url,
    made: Moment,
    now: Monotonic,
    freshness: Freshness,
    how: How,
    stale: Option<Known>,
) -> Result<Found> {
    let asked = match stale {
        Some(Known { opened, .. }) => open_if_changed(&query, &url, &opened, how).await.map(|answer| match answer {
            IfChanged::Same { opened, lifetime, hop } => (opened, lifetime, hop, true),
            IfChanged::New(new, hop) => (Arc::clone(&new), new.lifetime, hop, false),
        }),
        None => open(&query, &url, how).await.map(|(new, hop)| (Arc::clone(&new), new.lifetime, hop, false)),
    };
    let store = &query.client.store;
    let result = match asked {
        Ok((opened, lifetime, hop, same)) => {
            query.stats.cached(|count| if same { count.revalidated += 1 } else { count.misses += 1 });
            let known = Known { opened: Arc::clone(&opened), proved: made, fresh_until: now + lifetime.fresh_for };
            // Without a validator nothing would ever prove it: it serves those who began before it was asked for, and those who
            // were promised that it stays. Later data could be of another version (RFC 9111 §3.4), where there is later data.
            let provable = match freshness {
                _ if opened.version.reusable().is_some() => true,
                Freshness::Validate | Freshness::Http => opened.is_complete(),
                Freshness::Immutable => true,
            };
            let storable = lifetime.storable || freshness != Freshness::Http;
            store.keep(&query, &url, known, how, provable && storable);
            Ok(Found { opened, hop, proved: true })
        }
        Err(error) => {
            // A limit of the caller's says nothing about the file.
            if error.kind() != ErrorKind::Budget {
                let mut caches = store.caches();
                // What was proved since is not touched by an answer of before.
                if caches.get(&url).is_some_and(|known| known.proved < made) {
                    caches.remove(&url);
                }
            }
            Err(error)
        }
    };
    // Last, so that nobody finds the file neither under way nor kept.
    store.openings.gate().landed(&url, made);
    result
}

async fn send_for_proof(query: Arc<QueryContext>, url: Url, made: Moment, opened: Arc<Opened>) -> Result<Proof> {
    let now = query.client.timer.now();
    let result = prove(&query, &url, &opened).await;
    let store = &query.client.store;
    match &result {
        Ok((_, lifetime)) => {
            query.stats.cached(|count| count.revalidated += 1);
            let mut caches = store.caches();
            if let Some(known) = caches.footers.get(&url).filter(|known| known.opened.version == opened.version) {
                known.proved = known.proved.max(made);
                known.fresh_until = known.fresh_until.max(now + lifetime.fresh_for);
            }
        }
        Err(error) if error.kind() == ErrorKind::Budget => {}
        Err(_) => query.client.forget(&url, |version| *version == opened.version),
    }
    store.proofs.gate().landed(&url, made);
    result.map(|(hop, _)| (opened.version.clone(), hop))
}
