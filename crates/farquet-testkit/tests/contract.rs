//! The contract suite passes a plain backend, and notices backends that do too much or too little.

mod support;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farquet_core::fetch::{Capabilities, Fetch, FetchBody, FetchError, FetchErrorKind, FetchRequest, FetchResponse};
use farquet_core::timer::{Monotonic, Timer};
use farquet_testkit::contract;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt};
use http::header;
use support::hyper_fetch::HyperFetch;

const BOTH: [&[u8]; 2] = [b"h2", b"http/1.1"];

fn plain() -> Arc<HyperFetch> {
    Arc::new(HyperFetch::new(&BOTH, &[]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_backend_passes() {
    contract::check(plain()).await;
}

#[tokio::test]
async fn a_plain_backend_passes_over_http2() {
    contract::check_https(|pem| Arc::new(HyperFetch::new(&BOTH, &[pem]))).await;
}

#[tokio::test]
async fn a_plain_backend_passes_over_tls() {
    contract::check_https(|pem| Arc::new(HyperFetch::new(&BOTH[1..], &[pem]))).await;
}

type Answer = Result<FetchResponse, FetchError>;
type Exchange = fn(Arc<HyperFetch>, FetchRequest) -> BoxFuture<'static, Answer>;

/// A backend with a fault of its own.
struct Broken {
    name: &'static str,
    inner: Arc<HyperFetch>,
    fetch: Exchange,
}

impl Debug for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Fetch for Broken {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<FetchResponse, FetchError>> {
        (self.fetch)(Arc::clone(&self.inner), request)
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}

/// The checks that a backend fails.
async fn failed(name: &'static str, fetch: Exchange, checks: &[&str]) -> Vec<&'static str> {
    let broken: Arc<dyn Fetch> = Arc::new(Broken { name, inner: plain(), fetch });
    let mut failed = Vec::new();
    for check in contract::checks().into_iter().filter(|check| checks.contains(&check.name())) {
        if check.run(Arc::clone(&broken)).await.is_err() {
            failed.push(check.name());
        }
    }
    failed
}

#[tokio::test]
async fn an_error_for_a_status_is_noticed() {
    let fetch = |inner: Arc<HyperFetch>, request| {
        async move {
            let response = inner.fetch(request).await?;
            if response.status.is_server_error() {
                return Err(FetchError::new(FetchErrorKind::Interrupted, "a status"));
            }
            Ok(response)
        }
        .boxed()
    };
    let checks = ["every_status_is_ok", "nothing_is_retried"];
    assert_eq!(failed("status", fetch, &checks).await, checks);
}

#[tokio::test]
async fn a_retry_is_noticed() {
    let fetch = |inner: Arc<HyperFetch>, request: FetchRequest| {
        async move {
            match inner.fetch(request.clone()).await {
                Ok(response) if !response.status.is_server_error() => Ok(response),
                _ => inner.fetch(request).await,
            }
        }
        .boxed()
    };
    let checks = ["every_status_is_ok", "broken_heads_are_interrupted", "nothing_is_retried"];
    assert_eq!(failed("retry", fetch, &checks).await, checks);
}

#[tokio::test]
async fn a_buffered_body_is_noticed() {
    let fetch = |inner: Arc<HyperFetch>, request| {
        async move {
            let mut response = inner.fetch(request).await?;
            let chunks: Vec<_> = response.body.by_ref().try_collect().await?;
            response.body = FetchBody::new(futures::stream::iter(chunks.into_iter().map(Ok)));
            Ok(response)
        }
        .boxed()
    };
    let checks = ["head_comes_before_body", "dropping_the_body_cancels", "broken_bodies_are_interrupted"];
    assert_eq!(failed("buffered", fetch, &checks).await, checks);
}

#[tokio::test]
async fn a_quiet_end_of_a_broken_body_is_noticed() {
    let fetch = |inner: Arc<HyperFetch>, request| {
        async move {
            let mut response = inner.fetch(request).await?;
            let good = response.body.take_while(|chunk| std::future::ready(chunk.is_ok()));
            response.body = FetchBody::new(good);
            Ok(response)
        }
        .boxed()
    };
    let checks = ["broken_bodies_are_interrupted"];
    assert_eq!(failed("quiet", fetch, &checks).await, checks);
}

#[tokio::test]
async fn work_that_outlives_its_future_is_noticed() {
    let fetch = |inner: Arc<HyperFetch>, request| {
        async move {
            let fetching = tokio::spawn(async move { inner.fetch(request).await });
            fetching.await.map_err(|error| FetchError::new(FetchErrorKind::Request, error.to_string()))?
        }
        .boxed()
    };
    let checks = ["dropping_the_future_cancels"];
    assert_eq!(failed("detached", fetch, &checks).await, checks);
}

#[tokio::test]
async fn changed_requests_are_noticed() {
    let fetch = |inner: Arc<HyperFetch>, mut request: FetchRequest| {
        request.headers.remove(header::IF_MATCH);
        request.headers.insert(header::ACCEPT_ENCODING, http::HeaderValue::from_static("gzip"));
        if let Some(range) = request.headers.get_mut(header::RANGE) {
            *range = http::HeaderValue::from_static("bytes=0-");
        }
        let decoded = request.url.as_str().replace("%2F", "/").parse().expect("a URL");
        request.url = decoded;
        async move { inner.fetch(request).await }.boxed()
    };
    let checks = ["ranges_are_passed_exactly", "request_is_passed_exactly", "nothing_is_decompressed"];
    assert_eq!(failed("changed", fetch, &checks).await, checks);
}

#[tokio::test]
async fn one_request_at_a_time_is_noticed() {
    static GATE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let fetch = |inner: Arc<HyperFetch>, request| {
        async move {
            let _one = GATE.lock().await;
            inner.fetch(request).await
        }
        .boxed()
    };
    let checks = ["requests_run_concurrently"];
    assert_eq!(failed("serial", fetch, &checks).await, checks);
}

#[derive(Debug)]
struct TokioTimer(Instant);

impl Timer for TokioTimer {
    fn now(&self) -> Monotonic {
        Monotonic(self.0.elapsed())
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(wait).boxed()
    }
}

#[tokio::test]
async fn a_timer_passes() {
    contract::check_timer(Arc::new(TokioTimer(Instant::now()))).await;
}
