//! The backends against servers and files of the tests' own. Nothing here leaves this machine.

mod exchanges;
mod files;
mod http2;
mod origin;
mod proxies;
mod redirects;
mod tls;

use farquet_core::fetch::{CacheMode, Fetch, FetchError, FetchErrorKind, FetchRequest, FetchResponse};
use farquet_native::{HttpFetch, HttpFetchBuilder};
use futures::TryStreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

/// A client that no proxy of the environment can get between.
fn client() -> HttpFetch {
    builder().build().expect("a client")
}

fn builder() -> HttpFetchBuilder {
    HttpFetch::builder().environment_proxies(false)
}

fn request(method: Method, url: &str, headers: &[(HeaderName, &str)]) -> FetchRequest {
    let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).expect("a value")));
    let headers: HeaderMap = headers.collect();
    FetchRequest { method, url: Url::parse(url).expect("a URL"), headers, cache: CacheMode::NoStore }
}

fn get(url: &str) -> FetchRequest {
    request(Method::GET, url, &[])
}

async fn body_of(response: FetchResponse) -> Result<Vec<u8>, FetchError> {
    response.body.try_fold(Vec::new(), async |all, chunk| Ok([all, chunk.to_vec()].concat())).await
}

async fn failure_of(fetch: &impl Fetch, request: FetchRequest) -> FetchError {
    match fetch.fetch(request).await {
        Ok(response) => body_of(response).await.expect_err("the exchange should fail"),
        Err(error) => error,
    }
}

async fn kind_of(fetch: &impl Fetch, request: FetchRequest) -> FetchErrorKind {
    failure_of(fetch, request).await.kind()
}
