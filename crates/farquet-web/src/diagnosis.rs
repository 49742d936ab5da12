//! What a network failure may mean. A browser tells a page the same few words for a host that is down and for an answer that it
//! keeps from the page; a second request, whose answer nobody could read, tells them apart. Where the page has read answers before,
//! a broken connection is the likelier reason.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farquet_core::fetch::{FetchError, FetchErrorKind};
use js_sys::Reflect;
use url::{Host, Origin, Url};
use wasm_bindgen::prelude::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::{RequestCache, RequestInit, RequestMode};

use crate::fetch::{Abort, global_fetch, words};
use crate::timer::milliseconds;

/// How long a finding is good for the other files of its origin, in milliseconds.
const GOOD_FOR: f64 = 5_000.0;

/// What was found out lately.
#[derive(Debug, Default)]
pub(crate) struct Diagnosis {
    /// When an origin was last found to answer what a page may not read.
    kept_from_page: Mutex<HashMap<Origin, f64>>,
    /// Origins of which the page has read an answer.
    read: Mutex<HashSet<Origin>>,
}

impl Diagnosis {
    /// The page has read an answer of `origin`.
    pub(crate) fn has_read(&self, origin: Origin) {
        lock(&self.read).insert(origin);
    }

    /// What `error`, by which a fetch of `url` failed, means. `with_headers`: the request had headers of the caller's.
    pub(crate) async fn of_failure(&self, url: &Url, with_headers: bool, error: &JsValue) -> FetchError {
        let Some(page) = page() else {
            let cause = Reflect::get(error, &JsValue::from_str("cause")).unwrap_or_default();
            let cause = if cause.is_undefined() { error.clone() } else { cause };
            return FetchError::new(FetchErrorKind::Connect, format!("no answer: {}", words(&cause)));
        };
        if page.starts_with("https:") && url.scheme() == "http" && !is_loopback(url) {
            let message = "a page that came over https may not fetch over http (mixed content)";
            return FetchError::new(FetchErrorKind::Request, message);
        }
        if lock(&self.read).contains(&url.origin()) {
            let message = format!(
                "the connection broke, or the server kept this one answer from the page for want of CORS headers ({})",
                words(error)
            );
            return FetchError::new(FetchErrorKind::Interrupted, message);
        }
        if self.answers(url).await {
            return FetchError::new(FetchErrorKind::Cors, kept_from_page(with_headers));
        }
        FetchError::new(FetchErrorKind::Connect, format!("the server cannot be reached ({})", words(error)))
    }

    /// Whether the host answers at all.
    async fn answers(&self, url: &Url) -> bool {
        let origin = url.origin();
        let found = lock(&self.kept_from_page).get(&origin).copied();
        if found.is_some_and(|at| milliseconds() - at < GOOD_FOR) {
            return true;
        }
        let init = RequestInit::new();
        init.set_mode(RequestMode::NoCors);
        init.set_cache(RequestCache::NoStore);
        let Ok(_abort) = Abort::of(&init) else { return false };
        let Ok(promise) = global_fetch(url.as_str(), &init) else { return false };
        let answers = JsFuture::from(promise).await.is_ok();
        if answers {
            lock(&self.kept_from_page).insert(origin, milliseconds());
        }
        answers
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kept_from_page(with_headers: bool) -> &'static str {
    if with_headers {
        "the server answers, but does not let this page ask with headers of its own or read the answer (CORS): it has to allow \
         the headers and 'range' in Access-Control-Allow-Headers"
    } else {
        "the server answers, but does not let this page read the answer (CORS)"
    }
}

/// The origin of the page, also in a worker of its; none where there is no such thing, and so no such rules.
fn page() -> Option<String> {
    Reflect::get(&js_sys::global(), &JsValue::from_str("origin")).ok()?.as_string()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}
