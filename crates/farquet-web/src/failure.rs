//! Errors as the package gets them: plain objects, of which it makes its own class.

use farquet_core::{Error, ErrorKind};
use serde::Serialize;
use wasm_bindgen::JsValue;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    code: &'static str,
    message: String,
    url: Option<&'a str>,
    hint: Option<&'a str>,
    status: Option<u16>,
}

/// `error` as an object of JavaScript.
pub(crate) fn thrown(error: &Error) -> JsValue {
    let failure = Failure {
        code: code(error.kind()),
        message: error.to_string(),
        url: error.url(),
        hint: error.hint_text(),
        status: error.http_status(),
    };
    serde_wasm_bindgen::to_value(&failure).unwrap_or_else(|_| JsValue::from_str(&error.to_string()))
}

/// The package's names for kinds, which callers compare with.
fn code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Location => "location",
        ErrorKind::Network => "network",
        ErrorKind::Cors => "cors",
        ErrorKind::NotFound => "not-found",
        ErrorKind::Access => "access",
        ErrorKind::RateLimited => "rate-limited",
        ErrorKind::Status => "status",
        ErrorKind::BadResponse => "bad-response",
        ErrorKind::RangeIgnored => "range-ignored",
        ErrorKind::NotParquet => "not-parquet",
        ErrorKind::Malformed => "malformed",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Schema => "schema",
        ErrorKind::SourceChanged => "source-changed",
        ErrorKind::Budget => "budget",
        ErrorKind::Query => "query",
        ErrorKind::Memory => "memory",
        ErrorKind::Decoder => "decoder",
        _ => "other",
    }
}
