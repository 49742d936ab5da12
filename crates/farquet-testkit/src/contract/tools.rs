//! What the checks share.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use farquet_core::fetch::{CacheMode, Fetch, FetchError, FetchErrorKind, FetchRequest, FetchResponse};
use futures::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::time::{Instant, sleep, timeout};

use crate::Origin;

/// What a check found: nothing, or what is wrong.
pub(super) type Outcome = Result<(), String>;

/// The object of [`origin_with`].
pub(super) const PATH: &str = "/data/object.parquet";

/// How long anything may take that is not meant to hang.
const PATIENCE: Duration = Duration::from_secs(5);

macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
pub(super) use ensure;

/// An origin with one object of so many bytes.
pub(super) async fn origin_with(bytes: usize) -> Origin {
    Origin::builder().file(PATH, body_of(bytes)).start().await
}

/// Bytes that differ from place to place.
pub(super) fn body_of(bytes: usize) -> Bytes {
    let mut state = 1u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..bytes).map(next).collect::<Vec<_>>().into()
}

pub(super) fn get(origin: &Origin, path: &str) -> FetchRequest {
    FetchRequest { method: Method::GET, url: origin.url(path), headers: HeaderMap::new(), cache: CacheMode::NoStore }
}

/// Changes to a request.
pub(super) trait Change {
    fn with(self, name: &str, value: &str) -> Self;
    fn method(self, method: Method) -> Self;
}

impl Change for FetchRequest {
    fn with(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
        self.headers.insert(name, HeaderValue::from_str(value).expect("a header value"));
        self
    }

    fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }
}

/// The head of the answer to a request that must be answered.
pub(super) async fn answered(fetch: &Arc<dyn Fetch>, request: FetchRequest) -> Result<FetchResponse, String> {
    let name = format!("{request:?}");
    match timeout(PATIENCE, fetch.fetch(request)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(format!("{name} failed with {:?}: {error}", error.kind())),
        Err(_) => Err(format!("{name} was not answered for {PATIENCE:?}")),
    }
}

/// A body that must arrive.
pub(super) async fn whole(response: FetchResponse) -> Result<Bytes, String> {
    match drained(response).await? {
        (bytes, None) => Ok(bytes),
        (bytes, Some(error)) => {
            Err(format!("a body failed after {} bytes with {:?}: {error}", bytes.len(), error.kind()))
        }
    }
}

/// What arrives of a body, and how it breaks off.
pub(super) async fn drained(mut response: FetchResponse) -> Result<(Bytes, Option<FetchError>), String> {
    let mut received = BytesMut::new();
    loop {
        match timeout(PATIENCE, response.body.next()).await {
            Ok(Some(Ok(chunk))) => received.extend_from_slice(&chunk),
            Ok(Some(Err(error))) => return Ok((received.freeze(), Some(error))),
            Ok(None) => return Ok((received.freeze(), None)),
            Err(_) => return Err(format!("a body stood still for {PATIENCE:?} after {} bytes", received.len())),
        }
    }
}

/// Demands that a request fails before its head, and how.
pub(super) async fn fails(fetch: &Arc<dyn Fetch>, request: FetchRequest, kind: FetchErrorKind) -> Outcome {
    let name = format!("{request:?}");
    match timeout(PATIENCE, fetch.fetch(request)).await {
        Ok(Ok(response)) => Err(format!("{name} gave {} instead of {kind:?}", response.status)),
        Ok(Err(error)) if error.kind() == kind => Ok(()),
        Ok(Err(error)) => Err(format!("{name} failed with {:?} instead of {kind:?}: {error}", error.kind())),
        Err(_) => Err(format!("{name} did not fail within {PATIENCE:?}")),
    }
}

/// Waits until something has come true that takes a moment.
pub(super) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) -> Outcome {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        ensure!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

pub(super) fn text_header(response: &FetchResponse, name: &str) -> Option<String> {
    response.headers.get(name)?.to_str().ok().map(str::to_owned)
}
