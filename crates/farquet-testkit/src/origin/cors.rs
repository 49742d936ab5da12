//! What the origin tells browsers about pages of other origins.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// The headers that a browser client of Parquet files needs to see.
const USEFUL: [&str; 6] = ["accept-ranges", "content-length", "content-range", "date", "etag", "last-modified"];

/// Request headers that are not safelisted and that a client may want to send.
const ALLOWED: [&str; 6] = ["authorization", "cache-control", "if-match", "if-none-match", "if-range", "range"];

/// Answers to preflights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preflight {
    /// 204 that allows these request headers.
    Allow(Vec<String>),
    /// 403.
    Refuse,
    /// 307 to this location.
    Redirect(String),
}

/// CORS switches (T23). An origin without them sends no CORS header and answers `OPTIONS` plainly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    /// `Access-Control-Allow-Origin` of every answer, or none.
    pub allow_origin: Option<String>,
    /// `Access-Control-Expose-Headers`; nothing is sent when it is empty.
    pub expose: Vec<String>,
    /// What a preflight gets.
    pub preflight: Preflight,
    /// `Access-Control-Max-Age` in seconds.
    pub max_age: Option<u32>,
}

impl Cors {
    /// Everything allowed and everything exposed that is of use.
    pub fn permissive() -> Self {
        Self {
            allow_origin: Some("*".to_owned()),
            expose: USEFUL.map(str::to_owned).to_vec(),
            preflight: Preflight::Allow(ALLOWED.map(str::to_owned).to_vec()),
            max_age: Some(600),
        }
    }

    /// Simple requests alone: any page may read, no header beyond the safelisted ones is visible, preflights are
    /// refused.
    pub fn simple_only() -> Self {
        Self { allow_origin: Some("*".to_owned()), expose: Vec::new(), preflight: Preflight::Refuse, max_age: None }
    }

    /// Headers of every answer.
    pub(crate) fn decorate(&self, headers: &mut HeaderMap) {
        if let Some(origin) = &self.allow_origin {
            set(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        if !self.expose.is_empty() {
            set(headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, &self.expose.join(", "));
        }
    }

    /// Status and headers for a preflight.
    pub(crate) fn preflight(&self, headers: &mut HeaderMap) -> u16 {
        match &self.preflight {
            Preflight::Allow(allowed) => {
                set(headers, header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD");
                if !allowed.is_empty() {
                    set(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, &allowed.join(", "));
                }
                if let Some(seconds) = self.max_age {
                    set(headers, header::ACCESS_CONTROL_MAX_AGE, &seconds.to_string());
                }
                204
            }
            Preflight::Refuse => 403,
            Preflight::Redirect(location) => {
                set(headers, header::LOCATION, location);
                307
            }
        }
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    headers.insert(name, HeaderValue::from_str(value).expect("a CORS setting makes a header value"));
}
