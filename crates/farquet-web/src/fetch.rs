//! HTTP by the global `fetch`: pages, workers and Node.
//!
//! Nothing is sent that would need a preflight (whatwg Fetch §4.8), unless the caller gave headers for an origin. Accept-Encoding
//! is the browser's own: with a range it asks for `identity`, without one it undoes what the server applied.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use farquet_core::fetch::{
    CacheMode, Capabilities, Fetch, FetchBody, FetchError, FetchErrorKind, FetchRequest, FetchResponse,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, Stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use js_sys::{Array, Promise, Reflect, Uint8Array};
use url::{Origin, Url};
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader, RequestCache, RequestInit, Response};

use crate::bridge::Bridge;
use crate::diagnosis::Diagnosis;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = fetch, catch)]
    pub(crate) fn global_fetch(url: &str, init: &RequestInit) -> Result<Promise, JsValue>;
}

/// Connections of a browser to one host over HTTP/1.1, which it speaks to every host without TLS.
const HTTP_1: usize = 6;
/// Streams of one HTTP/2 connection. Where a server with TLS speaks HTTP/1.1, the browser makes the others wait.
const HTTP_2: usize = 64;

/// [`Fetch`] by the browser.
#[derive(Debug, Default)]
pub(crate) struct BrowserFetch {
    origin_headers: HashMap<Origin, HeaderMap>,
    diagnosis: Arc<Diagnosis>,
}

impl BrowserFetch {
    /// A backend that sends each origin its headers, for which a browser asks the server's permission.
    pub(crate) fn new(origin_headers: HashMap<Origin, HeaderMap>) -> Self {
        Self { origin_headers, diagnosis: Arc::default() }
    }
}

impl Fetch for BrowserFetch {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<FetchResponse, FetchError>> {
        let own = self.origin_headers.get(&request.url.origin()).cloned().unwrap_or_default();
        Bridge::new(exchange(request, own, Arc::clone(&self.diagnosis))).boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            suffix_ranges: false,
            conditional_headers: false,
            http_cache: true,
            requests_per_origin: HTTP_1,
            bytes_in_flight: 32 << 20,
            largest_request: 8 << 20,
        }
    }

    fn requests_at_once(&self, url: &Url) -> usize {
        if url.scheme() == "https" { HTTP_2 } else { HTTP_1 }
    }
}

/// Ends a request when it is dropped. After the end of the body that changes nothing.
pub(crate) struct Abort(AbortController);

impl Abort {
    /// Makes `init` abortable.
    pub(crate) fn of(init: &RequestInit) -> Result<Self, FetchError> {
        let controller = AbortController::new().map_err(|error| unsendable(&error))?;
        init.set_signal(Some(&controller.signal()));
        Ok(Self(controller))
    }
}

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn exchange(
    request: FetchRequest,
    own: HeaderMap,
    diagnosis: Arc<Diagnosis>,
) -> Result<FetchResponse, FetchError> {
    let FetchRequest { method, url, headers, cache } = request;
    if !matches!(url.scheme(), "http" | "https") {
        let message = format!("a browser cannot fetch {}: URLs", url.scheme());
        return Err(FetchError::new(FetchErrorKind::Request, message));
    }
    let init = RequestInit::new();
    init.set_method(method.as_str());
    init.set_cache(match cache {
        CacheMode::NoStore => RequestCache::NoStore,
        CacheMode::Revalidate => RequestCache::NoCache,
        CacheMode::Reload => RequestCache::Reload,
    });
    let sent = headers.iter().filter(|(name, _)| *name != header::ACCEPT_ENCODING);
    let pairs: Array = sent.chain(own.iter()).filter_map(|(name, value)| pair(name, value)).collect();
    init.set_headers(&pairs);
    let abort = Abort::of(&init)?;
    let promise = global_fetch(url.as_str(), &init).map_err(|error| unsendable(&error))?;
    let response: Response = match JsFuture::from(promise).await {
        Ok(response) => response.unchecked_into(),
        Err(error) => return Err(diagnosis.of_failure(&url, !own.is_empty(), &error).await),
    };
    diagnosis.has_read(url.origin());
    let status = StatusCode::from_u16(response.status())
        .map_err(|_| FetchError::new(FetchErrorKind::Request, "an answer without a status"))?;
    Ok(FetchResponse {
        status,
        headers: visible(&response),
        final_url: Url::parse(&response.url()).unwrap_or(url),
        // How many there were is not told.
        redirects: u32::from(response.redirected()),
        body: FetchBody::new(Bridge::new(chunks(response, abort))),
    })
}

fn pair(name: &HeaderName, value: &HeaderValue) -> Option<JsValue> {
    let value = value.to_str().ok()?;
    Some(Array::of2(&JsValue::from_str(name.as_str()), &JsValue::from_str(value)).into())
}

/// The headers that the page may see.
fn visible(response: &Response) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for entry in response.headers().entries().into_iter().flatten() {
        let entry: Array = entry.unchecked_into();
        if let (Some(name), Some(value)) = (entry.get(0).as_string(), entry.get(1).as_string())
            && let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
        {
            headers.append(name, value);
        }
    }
    headers
}

/// A body as it is read. A reader is only taken then: an HTTP/2 connection of Firefox's may stand still after bodies are given up
/// that had one.
fn chunks(response: Response, abort: Abort) -> impl Stream<Item = Result<Bytes, FetchError>> {
    stream::unfold(Some((Body::Unread(response), abort)), |state| async move {
        let (body, abort) = state?;
        let reader = body.reader()?;
        match JsFuture::from(reader.read()).await {
            Ok(result) => {
                let value = Reflect::get(&result, &JsValue::from_str("value")).ok()?;
                // At the end there is no value.
                let chunk: Uint8Array = value.dyn_into().ok()?;
                Some((Ok(Bytes::from(chunk.to_vec())), Some((Body::Read(reader), abort))))
            }
            Err(error) => {
                let message = format!("the connection broke while the body was read ({})", words(&error));
                Some((Err(FetchError::new(FetchErrorKind::Interrupted, message)), None))
            }
        }
    })
}

enum Body {
    Unread(Response),
    Read(ReadableStreamDefaultReader),
}

impl Body {
    /// None where an answer has no body.
    fn reader(self) -> Option<ReadableStreamDefaultReader> {
        match self {
            Self::Unread(response) => response.body().map(|body| body.get_reader().unchecked_into()),
            Self::Read(reader) => Some(reader),
        }
    }
}

fn unsendable(error: &JsValue) -> FetchError {
    FetchError::new(FetchErrorKind::Request, format!("the request cannot be made: {}", words(error)))
}

/// What JavaScript says of an error.
pub(crate) fn words(error: &JsValue) -> String {
    let message = Reflect::get(error, &JsValue::from_str("message")).ok().and_then(|text| text.as_string());
    let text = message.or_else(|| error.as_string()).unwrap_or_else(|| "no reason given".to_owned());
    farquet_core::redact::redact_text(text.trim_end_matches('.'))
}
