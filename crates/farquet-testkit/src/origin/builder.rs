//! Settings of an origin.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use bytes::Bytes;

use super::cors::Cors;
use super::pacer::Pacer;
use super::server::Server;
use super::store::{EntryTags, Store};
use super::ticket::{Account, Observer};
use super::{Origin, Shared, tls};
use crate::log::Logged;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Plain,
    Http1Tls,
    Http2Tls,
}

/// Settings of an [`Origin`]: what it serves, and how slowly.
#[must_use]
pub struct OriginBuilder {
    store: Store,
    latency: Duration,
    bandwidth: Option<u64>,
    max_in_flight: Option<usize>,
    retry_after: Option<String>,
    ranges: bool,
    protocol: Protocol,
    cors: Option<Cors>,
    port: u16,
    keep_log: bool,
    observer: Option<Observer>,
}

impl fmt::Debug for OriginBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginBuilder").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

impl OriginBuilder {
    pub(super) fn new() -> Self {
        Self {
            store: Store::default(),
            latency: Duration::ZERO,
            bandwidth: None,
            max_in_flight: None,
            retry_after: None,
            ranges: true,
            protocol: Protocol::Plain,
            cors: None,
            port: 0,
            keep_log: true,
            observer: None,
        }
    }

    /// Serves `bytes` at `path`. Percent-encoding in the path is kept; anything else that must be encoded is.
    pub fn file(self, path: &str, bytes: impl Into<Bytes>) -> Self {
        self.file_with(path, bytes, EntryTags::default())
    }

    /// Serves `bytes` at `path` with these tags.
    pub fn file_with(self, path: &str, bytes: impl Into<Bytes>, tags: EntryTags) -> Self {
        self.store.put_with(path, bytes.into(), tags);
        self
    }

    /// Serves each of `files` at its name below `prefix`.
    pub fn files<B: Into<Bytes>>(self, prefix: &str, files: impl IntoIterator<Item = (String, B)>) -> Self {
        let prefix = prefix.trim_end_matches('/');
        files.into_iter().fold(self, |builder, (name, bytes)| builder.file(&format!("{prefix}/{name}"), bytes))
    }

    /// Serves the files below a directory at the paths below `prefix`. They are read by range when they are asked
    /// for; their `ETag` follows from size and time.
    pub fn directory(mut self, prefix: &str, directory: impl Into<PathBuf>) -> Self {
        self.store.add_directory(prefix, directory.into());
        self
    }

    /// Waits so long before the first byte of each answer.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Bytes per second for all bodies together.
    pub fn bandwidth(mut self, bytes_per_second: u64) -> Self {
        self.bandwidth = Some(bytes_per_second);
        self
    }

    /// Answers 503 to a request that comes while so many are in flight.
    pub fn max_in_flight(mut self, requests: usize) -> Self {
        self.max_in_flight = Some(requests);
        self
    }

    /// The `Retry-After` of answers that [`Self::max_in_flight`] causes.
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        self.retry_after = Some(value.into());
        self
    }

    /// Ignores `Range` always, and says so by `Accept-Ranges: none`.
    pub fn no_ranges(mut self) -> Self {
        self.ranges = false;
        self
    }

    /// HTTP/1.1 over TLS with a self-signed certificate.
    pub fn http1_tls(mut self) -> Self {
        self.protocol = Protocol::Http1Tls;
        self
    }

    /// HTTP/2 over TLS with a self-signed certificate; HTTP/1.1 for clients that do not offer HTTP/2.
    pub fn http2_tls(mut self) -> Self {
        self.protocol = Protocol::Http2Tls;
        self
    }

    /// Headers and preflights for browsers.
    pub fn cors(mut self, cors: Cors) -> Self {
        self.cors = Some(cors);
        self
    }

    /// A fixed port. Without it the system chooses one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Calls `observer` with every exchange that has ended, on the origin's thread.
    pub fn observer(mut self, observer: impl Fn(&Logged) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Keeps no log, for an origin that runs for long.
    pub fn no_log(mut self) -> Self {
        self.keep_log = false;
        self
    }

    /// Starts the origin.
    ///
    /// # Panics
    ///
    /// When the port is taken. [`Self::try_start`] gives an error instead.
    pub async fn start(self) -> Origin {
        self.try_start().await.expect("an origin on loopback starts")
    }

    /// Starts the origin. Dropping the future may leave the origin running until the process ends.
    pub async fn try_start(self) -> io::Result<Origin> {
        let (scheme, certificate, acceptor) = match self.protocol {
            Protocol::Plain => ("http", None, None),
            Protocol::Http1Tls => with_tls(&[b"http/1.1"]),
            Protocol::Http2Tls => with_tls(&[b"h2", b"http/1.1"]),
        };
        let shared = Arc::new(Shared {
            store: self.store,
            latency: self.latency,
            pacer: self.bandwidth.map(|rate| Arc::new(Pacer::new(rate))),
            max_in_flight: self.max_in_flight,
            retry_after: self.retry_after,
            ranges: self.ranges,
            cors: self.cors,
            account: Arc::new(Account::new(self.keep_log, self.observer)),
            script: RwLock::new(None),
            accepted: AtomicU64::new(0),
            accepted_before: AtomicU64::new(0),
            open: Arc::new(AtomicUsize::new(0)),
        });
        let server = Server::start(self.port, acceptor, Arc::clone(&shared)).await?;
        Ok(Origin { shared, server, scheme, certificate })
    }
}

fn with_tls(protocols: &[&[u8]]) -> (&'static str, Option<String>, Option<tokio_rustls::TlsAcceptor>) {
    let (certificate, acceptor) = tls::self_signed(protocols);
    ("https", Some(certificate), Some(acceptor))
}
