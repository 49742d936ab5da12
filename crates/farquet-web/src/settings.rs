//! Options of the package as settings of the client.

use std::collections::HashMap;
use std::time::Duration;

use farquet_core::{Error, ErrorKind, Freshness, Result, Settings, Url};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use url::Origin;

/// Options as JavaScript gives them; what is missing has the defaults of [`Settings`].
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Options {
    pub base: Option<String>,
    freshness: Option<String>,
    /// Bytes of small files; 0 turns it off.
    cache_size: Option<u64>,
    footer_cache_size: Option<u64>,
    retries: Option<u32>,
    /// Milliseconds without a byte.
    idle_timeout: Option<u64>,
    requests_per_origin: Option<usize>,
    /// Bytes that operators may hold.
    pub memory_limit: Option<u64>,
    #[serde(default)]
    headers: HashMap<String, HashMap<String, String>>,
}

impl Options {
    pub(crate) fn settings(&self) -> Result<Settings> {
        let mut settings = Settings::default();
        settings.freshness = self.freshness.as_deref().map(freshness).transpose()?.unwrap_or(settings.freshness);
        settings.body_cache.bytes = self.cache_size.unwrap_or(settings.body_cache.bytes);
        // The browser's cache keeps nothing either then.
        settings.small_file_cache = settings.body_cache.bytes > 0;
        settings.footer_cache.bytes = self.footer_cache_size.unwrap_or(settings.footer_cache.bytes);
        settings.retries = self.retries.unwrap_or(settings.retries);
        settings.idle_timeout = self.idle_timeout.map_or(settings.idle_timeout, Duration::from_millis);
        settings.requests_per_origin = self.requests_per_origin;
        Ok(settings)
    }

    /// The caller's headers by origin.
    pub(crate) fn origin_headers(&self) -> Result<HashMap<Origin, HeaderMap>> {
        let mut all = HashMap::new();
        for (origin, headers) in &self.headers {
            let bad = |what: &str| Error::new(ErrorKind::Location, format!("headers for '{origin}': {what}"));
            let url = Url::parse(origin).map_err(|_| bad("an origin such as https://host was expected"))?;
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                let name = HeaderName::try_from(name).map_err(|_| bad("a name that no header can have"))?;
                map.insert(name, HeaderValue::try_from(value).map_err(|_| bad("a value that no header can have"))?);
            }
            all.insert(url.origin(), map);
        }
        Ok(all)
    }
}

/// The rule that `word` names.
pub(crate) fn freshness(word: &str) -> Result<Freshness> {
    match word {
        "validate" => Ok(Freshness::Validate),
        "http" => Ok(Freshness::Http),
        "immutable" => Ok(Freshness::Immutable),
        _ => {
            let message = format!("freshness '{word}': validate, http or immutable was expected");
            Err(Error::new(ErrorKind::Query, message))
        }
    }
}
