//! A world in one thread: files that change, a transport and a clock that move only when the test says so.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use farquet_core::Url;
use farquet_core::fetch::{Capabilities, Fetch, FetchBody, FetchError, FetchErrorKind, FetchRequest, FetchResponse};
use farquet_core::http::{HeaderMap, StatusCode, header};
use farquet_core::timer::{Monotonic, Timer};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use futures::stream;

use crate::files::{self, Kind};

/// What may go wrong with an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Unavailable,
    Refused,
    Interrupted,
    Panic,
}

/// One file of the world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub kind: Kind,
    /// Grows by one with every change.
    pub version: u8,
    pub exists: bool,
}

#[derive(Debug)]
pub(crate) struct World {
    entries: Mutex<Vec<Entry>>,
    faults: Mutex<Vec<Fault>>,
    /// Exchanges that wait for the test to let them go on.
    gates: Mutex<Vec<oneshot::Sender<()>>>,
    in_flight: Arc<AtomicUsize>,
    clock: Mutex<(Duration, Vec<Waker>)>,
    bytes: Mutex<HashMap<(Kind, u8), Bytes>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(kinds: &[Kind]) -> Arc<Self> {
        let entries = kinds.iter().map(|kind| Entry { kind: *kind, version: 1, exists: true }).collect();
        Arc::new(Self {
            entries: Mutex::new(entries),
            faults: Mutex::default(),
            gates: Mutex::default(),
            in_flight: Arc::default(),
            clock: Mutex::default(),
            bytes: Mutex::default(),
        })
    }

    pub(crate) fn url(file: usize) -> Url {
        Url::parse(&format!("http://origin/{file}")).expect("a url")
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        lock(&self.entries).clone()
    }

    /// Writes a new version, or removes the file, which comes back with the next version.
    pub(crate) fn change(&self, file: usize, exists: bool) {
        let entry = &mut lock(&self.entries)[file];
        *entry = Entry { version: entry.version + 1, exists, ..*entry };
    }

    /// The next exchange goes wrong.
    pub(crate) fn fail_next(&self, fault: Fault) {
        lock(&self.faults).push(fault);
    }

    pub(crate) fn forget_faults(&self) {
        lock(&self.faults).clear();
    }

    /// Lets one of the waiting exchanges go on; tells whether any waited.
    pub(crate) fn release(&self, choose: impl FnOnce(usize) -> usize) -> bool {
        let mut gates = lock(&self.gates);
        gates.retain(|gate| !gate.is_canceled());
        if gates.is_empty() {
            return false;
        }
        let chosen = choose(gates.len());
        let gate = gates.swap_remove(chosen);
        drop(gates);
        // Nobody may wait any more.
        let _ = gate.send(());
        true
    }

    pub(crate) fn pass_time(&self, time: Duration) {
        let wakers = {
            let mut clock = lock(&self.clock);
            clock.0 += time;
            std::mem::take(&mut clock.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Exchanges whose head or body somebody still holds.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    fn gate(&self) -> oneshot::Receiver<()> {
        let (gate, passed) = oneshot::channel();
        lock(&self.gates).push(gate);
        passed
    }

    fn bytes(&self, kind: Kind, version: u8) -> Bytes {
        lock(&self.bytes).entry((kind, version)).or_insert_with(|| files::parquet(kind, version)).clone()
    }

    /// What a server answers at this moment.
    fn answer(&self, request: &FetchRequest) -> (StatusCode, HeaderMap, Bytes) {
        let file: usize = request.url.path()[1..].parse().expect("a number");
        let entry = lock(&self.entries)[file];
        let mut headers = HeaderMap::new();
        if !entry.exists {
            return (StatusCode::NOT_FOUND, headers, Bytes::new());
        }
        if let Some(tag) = entry.kind.tag(entry.version) {
            headers.insert(header::ETAG, tag.parse().expect("a tag"));
        }
        let sent = |name| request.headers.get(name).and_then(|value| value.to_str().ok());
        let tag = entry.kind.tag(entry.version);
        if sent(header::IF_MATCH).is_some_and(|asked| tag.as_deref() != Some(asked)) {
            return (StatusCode::PRECONDITION_FAILED, headers, Bytes::new());
        }
        if sent(header::IF_NONE_MATCH).is_some_and(|asked| tag.as_deref() == Some(asked)) {
            return (StatusCode::NOT_MODIFIED, headers, Bytes::new());
        }
        let bytes = self.bytes(entry.kind, entry.version);
        let range = sent(header::RANGE).expect("a range").strip_prefix("bytes=").expect("bytes");
        let (first, last) = range.split_once('-').expect("a range");
        let number = |text: &str| text.parse::<usize>().expect("a number");
        let (start, end) = match (first, last) {
            ("", suffix) => (bytes.len().saturating_sub(number(suffix)), bytes.len()),
            (first, last) => (number(first), bytes.len().min(number(last) + 1)),
        };
        if start >= end {
            headers.insert(header::CONTENT_RANGE, format!("bytes */{}", bytes.len()).parse().expect("a value"));
            return (StatusCode::RANGE_NOT_SATISFIABLE, headers, Bytes::new());
        }
        let shown = format!("bytes {start}-{}/{}", end - 1, bytes.len());
        headers.insert(header::CONTENT_RANGE, shown.parse().expect("a value"));
        headers.insert(header::CONTENT_LENGTH, (end - start).into());
        (StatusCode::PARTIAL_CONTENT, headers, bytes.slice(start..end))
    }
}

struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The transport of a world.
#[derive(Debug)]
pub(crate) struct Transport(pub Arc<World>);

impl Fetch for Transport {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<FetchResponse, FetchError>> {
        let world = Arc::clone(&self.0);
        let in_flight = InFlight::new(&world.in_flight);
        async move {
            let _ = world.gate().await;
            let fault = lock(&world.faults).pop();
            match fault {
                Some(Fault::Panic) => panic!("the transport panics"),
                Some(Fault::Refused) => return Err(FetchError::new(FetchErrorKind::Connect, "refused")),
                _ => {}
            }
            let (status, headers, bytes) = match fault {
                Some(Fault::Unavailable) => (StatusCode::SERVICE_UNAVAILABLE, HeaderMap::new(), Bytes::new()),
                _ => world.answer(&request),
            };
            let half = bytes.slice(..bytes.len() / 2);
            let rest = match fault {
                Some(Fault::Interrupted) => Err(FetchError::new(FetchErrorKind::Interrupted, "the connection broke")),
                _ => Ok(bytes.slice(bytes.len() / 2..)),
            };
            let parts = vec![Ok(half), rest].into_iter();
            let body = stream::unfold((parts, in_flight, world), |(mut parts, in_flight, world)| async move {
                let _ = world.gate().await;
                let part = parts.next()?;
                Some((part, (parts, in_flight, world)))
            });
            let final_url = request.url.clone();
            Ok(FetchResponse { status, headers, final_url, redirects: 0, body: FetchBody::new(body) })
        }
        .boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            suffix_ranges: true,
            conditional_headers: true,
            http_cache: false,
            requests_per_origin: 3,
            bytes_in_flight: 1 << 20,
            largest_request: 1 << 20,
        }
    }
}

/// The clock of a world.
#[derive(Debug)]
pub(crate) struct Clock(pub Arc<World>);

impl Timer for Clock {
    fn now(&self) -> Monotonic {
        Monotonic(lock(&self.0.clock).0)
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        let until = lock(&self.0.clock).0 + wait;
        Sleep { world: Arc::clone(&self.0), until }.boxed()
    }
}

struct Sleep {
    world: Arc<World>,
    until: Duration,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut clock = lock(&self.world.clock);
        if clock.0 >= self.until {
            return Poll::Ready(());
        }
        clock.1.push(cx.waker().clone());
        Poll::Pending
    }
}
