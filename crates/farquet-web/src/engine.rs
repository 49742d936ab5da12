//! The session, as the package holds it.

use std::sync::Arc;

use farquet_core::{Client, Error, ErrorKind, Result, Url};
use farquet_sql::{Session, Snapshot};
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::thrown;
use crate::fetch::BrowserFetch;
use crate::query::{Query, Target};
use crate::settings::{Options, freshness};
use crate::timer::BrowserTimer;

/// What operators may hold: a quarter of what a module can address, so that there is room for what is fetched and handed over.
const MEMORY: u64 = 1 << 30;

/// A session.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Engine(Session);

#[wasm_bindgen]
impl Engine {
    /// A session with `options`.
    #[wasm_bindgen(constructor)]
    pub fn new(options: JsValue) -> Result<Engine, JsValue> {
        let options: Options = serde_wasm_bindgen::from_value(options)
            .map_err(|error| thrown(&Error::new(ErrorKind::Query, format!("the options: {error}"))))?;
        session(&options).map(Self).map_err(|error| thrown(&error))
    }

    /// Registers `name` for `locations`, a list of patterns; with a rule of freshness of its own if one is given.
    pub fn register(&self, name: &str, locations: &str, rule: Option<String>) -> Result<(), JsValue> {
        let registered = match rule {
            None => self.0.register_files(name, locations),
            Some(rule) => freshness(&rule).and_then(|rule| self.0.register_files_with(name, locations, rule)),
        };
        registered.map_err(|error| thrown(&error))
    }

    /// Begins a query. What it reads is never older than this call.
    pub fn query(&self, sql: &str, parameters: &Array, limits: JsValue) -> Result<Query, JsValue> {
        Query::begin(&self.0, Target::Own(self.0.clone()), sql, parameters, limits).map_err(|error| thrown(&error))
    }

    /// Takes a snapshot.
    pub fn snapshot(&self) -> Shared {
        Shared { session: self.0.clone(), snapshot: self.0.snapshot() }
    }

    /// Forgets what is cached.
    #[wasm_bindgen(js_name = clearCaches)]
    pub fn clear_caches(&self) {
        self.0.client().clear_caches();
    }
}

/// One state of the world for several queries.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Shared {
    session: Session,
    snapshot: Snapshot,
}

#[wasm_bindgen]
impl Shared {
    /// Begins a query on this state.
    pub fn query(&self, sql: &str, parameters: &Array, limits: JsValue) -> Result<Query, JsValue> {
        let target = Target::Shared(self.snapshot.clone());
        Query::begin(&self.session, target, sql, parameters, limits).map_err(|error| thrown(&error))
    }
}

fn session(options: &Options) -> Result<Session> {
    let fetch = BrowserFetch::new(options.origin_headers()?);
    let client = Client::new(Arc::new(fetch), Arc::new(BrowserTimer), options.settings()?);
    let memory = usize::try_from(options.memory_limit.unwrap_or(MEMORY)).unwrap_or(usize::MAX);
    let mut builder = Session::builder(client).in_memory(memory);
    if let Some(base) = &options.base {
        let bad = |_| Error::new(ErrorKind::Location, format!("base '{base}' is no URL"));
        builder = builder.base(Url::parse(base).map_err(bad)?);
    }
    builder.build()
}
