//! The seam between policy and transport: one HTTP exchange.
//!
//! A backend implements [`Fetch`] and nothing else. It does not retry, cache, coalesce or check ranges; everything
//! of that kind is written once, above. What a backend can do cheaply is told by [`Capabilities`], never guessed from
//! the target.

use std::fmt::{self, Debug};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, Stream, StreamExt};
use http::{HeaderMap, Method, StatusCode};
use url::Url;

/// One HTTP exchange. Transport below this line, policy above it.
///
/// 1. Any status is `Ok`; `Err` means that the exchange did not complete.
/// 2. The head comes first, the body as a stream.
/// 3. Dropping the future or the body cancels the request.
/// 4. A header that is absent from the response means "not visible", never "not sent".
/// 5. Redirects are followed and the final URL is reported; credentials do not follow to another origin.
pub trait Fetch: Debug + Send + Sync + 'static {
    /// Sends the request and resolves when the head of the response has arrived.
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<FetchResponse, FetchError>>;

    /// What this backend can do cheaply.
    fn capabilities(&self) -> Capabilities;

    /// Requests in flight to the origin of `url` that the transport carries without queueing them itself.
    fn requests_at_once(&self, _url: &Url) -> usize {
        self.capabilities().requests_per_origin
    }

    /// How many connections this backend has opened so far, where it can know.
    fn connections_opened(&self) -> Option<u64> {
        None
    }
}

/// What a backend can do, and how much of it at once.
#[derive(Debug, Clone, Copy)]
pub struct Capabilities {
    /// `Range: bytes=-N` costs no extra exchange (in a browser it needs a CORS preflight).
    pub suffix_ranges: bool,
    /// `If-Match` and `If-None-Match` cost no extra exchange.
    pub conditional_headers: bool,
    /// Whole bodies pass through an HTTP cache below the seam, which revalidates them ([`CacheMode::Revalidate`]) and undoes
    /// content codings: `Content-Length` may then be that of a coded body. Headers may be hidden from the caller.
    pub http_cache: bool,
    /// Requests in flight to one origin that the transport carries without queueing them itself.
    pub requests_per_origin: usize,
    /// Bytes fetched and not yet decoded, for all scans of a query.
    pub bytes_in_flight: u64,
    /// Largest range that is still worth one request, in bytes.
    pub largest_request: u64,
}

/// A request, without any policy in it.
#[derive(Clone)]
pub struct FetchRequest {
    /// `GET`, nearly always.
    pub method: Method,
    /// The full URL, with its query string.
    pub url: Url,
    /// Headers as they are to be sent.
    pub headers: HeaderMap,
    /// What HTTP caches on the way may do.
    pub cache: CacheMode,
}

/// What HTTP caches below the seam, or behind it, may do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheMode {
    /// A cache below the seam neither answers nor keeps the answer.
    NoStore,
    /// A cache below the seam may answer with what the origin has just said is current.
    Revalidate,
    /// No cache answers, neither below the seam nor behind it (`Cache-Control: no-cache`, RFC 9111 §5.2.1.4).
    Reload,
}

impl Debug for FetchRequest {
    // Query strings carry signatures and headers carry tokens: neither belongs into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, crate::redact::display_url(&self.url))
    }
}

/// The head of a response, and its body still to come.
pub struct FetchResponse {
    /// Any status.
    pub status: StatusCode,
    /// The headers that are visible to the caller.
    pub headers: HeaderMap,
    /// Where the answer came from, after redirects.
    pub final_url: Url,
    /// How many redirects were followed.
    pub redirects: u32,
    /// The body; dropping it cancels the transfer.
    pub body: FetchBody,
}

impl Debug for FetchResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.status, crate::redact::display_url(&self.final_url))
    }
}

/// A response body in chunks of any size.
pub struct FetchBody(BoxStream<'static, Result<Bytes, FetchError>>);

impl FetchBody {
    /// A body that is produced by `stream`.
    pub fn new(stream: impl Stream<Item = Result<Bytes, FetchError>> + Send + 'static) -> Self {
        Self(stream.boxed())
    }
}

impl Debug for FetchBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FetchBody")
    }
}

impl Stream for FetchBody {
    type Item = Result<Bytes, FetchError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

/// Why an exchange did not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FetchErrorKind {
    /// No connection: refused, unreachable, name not resolved.
    Connect,
    /// The TLS handshake failed or the certificate was not accepted.
    Tls,
    /// Nothing arrived for the time allowed.
    Timeout,
    /// The connection broke before the response was complete.
    Interrupted,
    /// A redirect that must not be followed: a loop, too many, to a private address, or away from `https`.
    Redirect,
    /// The browser kept the answer from the page.
    Cors,
    /// The request could not be made at all.
    Request,
}

impl FetchErrorKind {
    /// Whether the same request may succeed when it is sent again.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Connect | Self::Timeout | Self::Interrupted)
    }
}

/// An exchange that did not complete.
#[derive(Debug)]
pub struct FetchError {
    kind: FetchErrorKind,
    message: String,
}

impl FetchError {
    /// `message` is lower case, says what happened, and names no query string.
    pub fn new(kind: FetchErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What a caller can act on.
    pub fn kind(&self) -> FetchErrorKind {
        self.kind
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FetchError {}
