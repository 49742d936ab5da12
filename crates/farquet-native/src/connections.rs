//! Counts the connections that were opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use tower::{Layer, Service};

/// Wraps reqwest's connector. A connection counts once it is complete: TCP, the proxy's tunnel if there is one, and
/// TLS.
///
/// It counts more than the pool keeps: when many requests go to a new HTTP/2 origin at once, each begins a connection
/// of its own, and all but one are closed when the first has turned out to speak HTTP/2. Those cost the network as much
/// as any other, so they belong into the figure.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionCount(Arc<AtomicU64>);

impl ConnectionCount {
    pub(crate) fn opened(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<S> Layer<S> for ConnectionCount {
    type Service = CountingConnector<S>;

    fn layer(&self, inner: S) -> Self::Service {
        CountingConnector { inner, count: self.clone() }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct CountingConnector<S> {
    inner: S,
    count: ConnectionCount,
}

// Generic over the request, since reqwest's own type for it cannot be named.
impl<S, R> Service<R> for CountingConnector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let count = Arc::clone(&self.count.0);
        self.inner
            .call(request)
            .inspect_ok(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .boxed()
    }
}
