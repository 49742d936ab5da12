//! One exchange over HTTP/1.1 or HTTP/2.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::time::Duration;

use farquet_core::fetch::{
    CacheMode, Capabilities, Fetch, FetchBody, FetchError, FetchErrorKind, FetchRequest, FetchResponse,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method, header};
use url::{Origin, Url};

use crate::body::IdleLimited;
use crate::builder::HttpFetchBuilder;
use crate::connections::ConnectionCount;
use crate::failure::Exchange;
use crate::redirect::{CREDENTIALS, Trail};

/// [`Fetch`] over HTTP/1.1 and HTTP/2, as the server's TLS chooses; plain `http:` is HTTP/1.1.
///
/// Clones share connections. Clones of a client that is used in several tokio runtimes do not work well: a connection
/// lives in the runtime that opened it.
///
/// # Redirects
///
/// 301, 302, 303, 307 and 308 are followed for `GET` and `HEAD`, at most 10 for one request. Refused, with
/// [`FetchErrorKind::Redirect`]: the eleventh, a circle, `https` to `http`, any scheme but these two, and a public host
/// to a private one (see [`HttpFetchBuilder::allow_private_redirects`]). `Authorization`, `Cookie` and the URL's user
/// info do not follow to another origin, not even back from there. A redirect without `Location` is an answer like any
/// other.
///
/// # Errors
///
/// - [`Connect`](FetchErrorKind::Connect): name not resolved, connection refused, or a proxy that would not connect.
/// - [`Tls`](FetchErrorKind::Tls): the handshake failed or the certificate was not accepted.
/// - [`Timeout`](FetchErrorKind::Timeout): no connection within the connect timeout, or silence for the idle timeout.
/// - [`Interrupted`](FetchErrorKind::Interrupted): the connection broke, the body ended before its end, or what arrived
///   was not HTTP.
/// - [`Request`](FetchErrorKind::Request): a URL that is not `http` or `https`, or that cannot be sent.
///
/// # What it leaves alone
///
/// There is no HTTP cache below this seam; [`CacheMode::Reload`] is told to those behind it. No content coding is asked for or undone.
/// Nothing is retried, with one exception that no server can see: a request that a pooled connection did not take,
/// because it was closed meanwhile, goes to another connection.
#[derive(Clone)]
pub struct HttpFetch {
    pub(crate) client: reqwest::Client,
    pub(crate) connections: ConnectionCount,
    pub(crate) idle_timeout: Duration,
    pub(crate) origin_headers: HashMap<Origin, HeaderMap>,
    pub(crate) allow_private_redirects: bool,
    pub(crate) has_system_roots: bool,
    pub(crate) capabilities: Capabilities,
}

impl HttpFetch {
    /// A client with the defaults of [`HttpFetchBuilder`].
    pub fn new() -> Result<Self, FetchError> {
        HttpFetchBuilder::new().build()
    }

    /// A client with something else than the defaults.
    pub fn builder() -> HttpFetchBuilder {
        HttpFetchBuilder::new()
    }

    async fn exchange(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        let FetchRequest { method, url, mut headers, cache } = request;
        if cache == CacheMode::Reload {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unknown_scheme(&url));
        }
        let may_follow = matches!(method, Method::GET | Method::HEAD);
        let mut trail = Trail::new(url, self.allow_private_redirects);
        loop {
            let url = trail.current().clone();
            let origin = url.origin();
            let exchange = Exchange::new(&url, self.idle_timeout, self.has_system_roots);
            let headers_here = self.with_origin_headers(&origin, &headers);
            let answer = self.client.request(method.clone(), url).headers(headers_here).send();
            let mut response = match tokio::time::timeout(self.idle_timeout, answer).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => return Err(exchange.before_head(&error)),
                Err(_) => return Err(exchange.silent("answer")),
            };
            // The body of a redirect is dropped unread: what it costs to read it is up to a server that has nothing for
            // us.
            if may_follow && trail.follow(response.status(), response.headers())? {
                if trail.current().origin() != origin {
                    for name in CREDENTIALS {
                        headers.remove(name);
                    }
                }
                continue;
            }
            return Ok(FetchResponse {
                status: response.status(),
                headers: std::mem::take(response.headers_mut()),
                redirects: trail.redirects(),
                final_url: trail.into_current(),
                body: FetchBody::new(IdleLimited::new(response, exchange)),
            });
        }
    }

    fn with_origin_headers(&self, origin: &Origin, headers: &HeaderMap) -> HeaderMap {
        let mut all = headers.clone();
        for (name, value) in self.origin_headers.get(origin).into_iter().flatten() {
            if !headers.contains_key(name) {
                all.append(name, value.clone());
            }
        }
        all
    }
}

impl Fetch for HttpFetch {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<FetchResponse, FetchError>> {
        self.exchange(request).boxed()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn connections_opened(&self) -> Option<u64> {
        Some(self.connections.opened())
    }
}

impl Debug for HttpFetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpFetch")
            .field("idle_timeout", &self.idle_timeout)
            .field("capabilities", &self.capabilities)
            .field("connections_opened", &self.connections.opened())
            .finish_non_exhaustive()
    }
}

/// Refuses `url` for its scheme.
pub(crate) fn unknown_scheme(url: &Url) -> FetchError {
    FetchError::new(FetchErrorKind::Request, format!("urls with the scheme `{}` cannot be fetched", url.scheme()))
}
