//! One exchange of the backend without anything above it, so that tests can hold it to the contract of the seam. The package does not
//! use it.

use std::cell::RefCell;

use farquet_core::Url;
use farquet_core::fetch::{CacheMode, Fetch, FetchBody, FetchError, FetchRequest, FetchResponse};
use futures::StreamExt;
use futures::future::{AbortHandle, Abortable, Aborted, BoxFuture, FutureExt};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::fetch::BrowserFetch;
use crate::settings::Options;

type Head = BoxFuture<'static, Result<Result<FetchResponse, FetchError>, Aborted>>;

/// An exchange. Freeing it cancels the request.
#[wasm_bindgen]
pub struct Exchange {
    head: RefCell<Option<Head>>,
    body: RefCell<Option<FetchBody>>,
    abort: AbortHandle,
}

#[wasm_bindgen]
impl Exchange {
    /// A request of `method` for `url` with `headers`, pairs of a name and a value; `cache` as `fetch` calls it. `options` are the
    /// package's, of which the headers for each origin are heeded.
    #[wasm_bindgen(constructor)]
    pub fn new(url: &str, method: &str, headers: &Array, cache: &str, options: JsValue) -> Result<Exchange, JsValue> {
        let options: Options = serde_wasm_bindgen::from_value(options)?;
        let fetch = BrowserFetch::new(options.origin_headers().map_err(|error| text(&error))?);
        let request = FetchRequest {
            method: Method::try_from(method).map_err(|error| text(&error))?,
            url: Url::parse(url).map_err(|error| text(&error))?,
            headers: headers.iter().filter_map(|pair| header(&Array::from(&pair))).collect::<HeaderMap>(),
            cache: match cache {
                "no-store" => CacheMode::NoStore,
                "reload" => CacheMode::Reload,
                _ => CacheMode::Revalidate,
            },
        };
        let (abort, registration) = AbortHandle::new_pair();
        let head = Abortable::new(async move { fetch.fetch(request).await }, registration).boxed();
        Ok(Self { head: RefCell::new(Some(head)), body: RefCell::default(), abort })
    }

    /// Sends it: status, pairs of headers, the final URL and the number of redirects; or the kind of the error and its text.
    pub async fn head(&self) -> Result<Array, JsValue> {
        let head = self.head.take().ok_or("it was sent before")?;
        let response = head.await.map_err(|Aborted| "cancelled")?.map_err(|error| failure(&error))?;
        self.body.replace(Some(response.body));
        let headers: Array = (response.headers.iter())
            .filter_map(|(name, value)| Some(Array::of2(&name.as_str().into(), &value.to_str().ok()?.into())))
            .collect();
        let url = response.final_url.as_str();
        Ok(Array::of4(&response.status.as_u16().into(), &headers, &url.into(), &response.redirects.into()))
    }

    /// The next chunk of the body.
    pub async fn chunk(&self) -> Result<Option<Uint8Array>, JsValue> {
        let Some(mut body) = self.body.take() else { return Ok(None) };
        let chunk = body.next().await;
        self.body.replace(Some(body));
        match chunk {
            Some(Ok(bytes)) => Ok(Some(Uint8Array::from(bytes.as_ref()))),
            Some(Err(error)) => Err(failure(&error)),
            None => Ok(None),
        }
    }

    /// Drops the future, or the body if its head has come.
    pub fn cancel(&self) {
        self.abort.abort();
        self.body.take();
    }
}

fn header(pair: &Array) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::try_from(pair.get(0).as_string()?).ok()?;
    Some((name, HeaderValue::try_from(pair.get(1).as_string()?).ok()?))
}

fn failure(error: &FetchError) -> JsValue {
    Array::of2(&format!("{:?}", error.kind()).into(), &error.to_string().into()).into()
}

fn text(error: &impl ToString) -> JsValue {
    JsValue::from_str(&error.to_string())
}
