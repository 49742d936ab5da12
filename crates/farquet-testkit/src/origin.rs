//! An HTTP origin on loopback whose answers can be slowed, scripted and counted.

mod body;
mod builder;
mod conditional;
mod cors;
mod handler;
mod pacer;
mod range;
mod server;
mod socket;
mod store;
mod ticket;
mod tls;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use url::Url;

pub use self::builder::OriginBuilder;
pub use self::cors::{Cors, Preflight};
pub(crate) use self::store::wire_path;
pub use self::store::{EntryTags, Tag};
use crate::fault::Fault;
use crate::log::{RequestLog, Seen};

type Script = Arc<dyn Fn(&Seen) -> Option<Fault> + Send + Sync>;

/// What the server's thread and the handle have in common.
struct Shared {
    store: store::Store,
    latency: Duration,
    pacer: Option<Arc<pacer::Pacer>>,
    max_in_flight: Option<usize>,
    retry_after: Option<String>,
    ranges: bool,
    cors: Option<Cors>,
    account: Arc<ticket::Account>,
    script: RwLock<Option<Script>>,
    accepted: AtomicU64,
    accepted_before: AtomicU64,
    open: Arc<AtomicUsize>,
}

impl Shared {
    fn fault_for(&self, seen: &Seen) -> Option<Fault> {
        let script = self.script.read().unwrap_or_else(PoisonError::into_inner).clone();
        script.and_then(|script| script(seen))
    }
}

/// A running origin. It has a thread of its own; dropping it closes the port and all connections.
///
/// The objects, the script and the log can be changed and read while it runs.
pub struct Origin {
    shared: Arc<Shared>,
    server: server::Server,
    scheme: &'static str,
    certificate: Option<String>,
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({}://{})", self.scheme, self.server.address)
    }
}

impl Origin {
    /// Settings to start from: plain HTTP/1.1, no object, no delay.
    pub fn builder() -> OriginBuilder {
        OriginBuilder::new()
    }

    /// The URL of a path, which may carry a query string.
    ///
    /// # Panics
    ///
    /// When it does not make a URL.
    pub fn url(&self, path: &str) -> Url {
        let slash = if path.starts_with('/') { "" } else { "/" };
        let url = format!("{}://{}{slash}{path}", self.scheme, self.server.address);
        Url::parse(&url).expect("a path makes a URL")
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.server.address.port()
    }

    /// The certificate of an origin with TLS, as PEM. A client that trusts it accepts the origin.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Replaces the object at a path, or adds one: it has a new strong `ETag` and a new `Last-Modified` date, unless
    /// its tags say otherwise. Answers under way go on with the old bytes.
    pub fn put(&self, path: &str, bytes: impl Into<Bytes>) {
        self.shared.store.put(path, bytes.into());
    }

    /// Replaces the object at a path, or adds one, with these tags.
    pub fn put_with(&self, path: &str, bytes: impl Into<Bytes>, tags: EntryTags) {
        self.shared.store.put_with(path, bytes.into(), tags);
    }

    /// The bytes of the object at a path.
    pub(crate) fn object(&self, path: &str) -> Option<Bytes> {
        self.shared.store.read(path)
    }

    /// Removes the object at a path. A file on disk is hidden, not deleted.
    pub fn remove(&self, path: &str) {
        self.shared.store.remove(path);
    }

    /// Asks `script` about every request from now on; what it returns happens to the answer. It replaces the script
    /// before it, and runs on the origin's thread when the request's head has arrived.
    pub fn script(&self, script: impl Fn(&Seen) -> Option<Fault> + Send + Sync + 'static) {
        *self.shared.script.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(script));
    }

    /// Answers every request in order again.
    pub fn clear_script(&self) {
        *self.shared.script.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// All requests since the log was last cleared, with those that still run.
    pub fn log(&self) -> RequestLog {
        self.shared.account.log()
    }

    /// Forgets all requests and starts counting at 0. Requests that still run will not appear.
    pub fn clear_log(&self) {
        self.shared.account.clear();
        self.shared.accepted_before.store(self.shared.accepted.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// How many requests the log has.
    pub fn requests(&self) -> usize {
        self.log().requests()
    }

    /// [`RequestLog::hops`] of the log.
    pub fn hops(&self) -> usize {
        self.log().hops()
    }

    /// [`RequestLog::max_in_flight`] of the log.
    pub fn max_in_flight(&self) -> usize {
        self.log().max_in_flight()
    }

    /// [`RequestLog::body_bytes`] of the log.
    pub fn body_bytes(&self) -> u64 {
        self.log().body_bytes()
    }

    /// TCP connections accepted since the log was last cleared, with those that carried no request.
    pub fn connections(&self) -> u64 {
        self.shared.accepted.load(Ordering::SeqCst) - self.shared.accepted_before.load(Ordering::SeqCst)
    }

    /// TCP connections that are open now.
    pub fn open_connections(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }
}
