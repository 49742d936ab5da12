//! Chooses the backend by scheme.

use farquet_core::fetch::{Capabilities, Fetch, FetchError, FetchRequest, FetchResponse};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::file::FileFetch;
use crate::http::{HttpFetch, unknown_scheme};

/// `http:` and `https:` by [`HttpFetch`], `file:` by [`FileFetch`].
///
/// Any other scheme fails with [`FetchErrorKind::Request`](farquet_core::fetch::FetchErrorKind::Request). The
/// capabilities are those of HTTP, which are the narrower ones. A redirect never leads from HTTP to a file.
#[derive(Debug, Clone)]
pub struct NativeFetch {
    http: HttpFetch,
    file: FileFetch,
}

impl NativeFetch {
    /// Files besides `http`.
    pub fn new(http: HttpFetch) -> Self {
        Self { http, file: FileFetch::new() }
    }
}

impl From<HttpFetch> for NativeFetch {
    fn from(http: HttpFetch) -> Self {
        Self::new(http)
    }
}

impl Fetch for NativeFetch {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<FetchResponse, FetchError>> {
        match request.url.scheme() {
            "http" | "https" => self.http.fetch(request),
            "file" => self.file.fetch(request),
            _ => futures::future::ready(Err(unknown_scheme(&request.url))).boxed(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.http.capabilities()
    }

    /// Files need no connection.
    fn connections_opened(&self) -> Option<u64> {
        self.http.connections_opened()
    }
}
