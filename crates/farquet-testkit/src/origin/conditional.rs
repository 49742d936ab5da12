//! Preconditions, RFC 9110 section 13.

use std::time::{Duration, SystemTime};

use http::header::{self, HeaderMap, HeaderName};

use super::store::Object;

/// What the preconditions of a request come to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Serve it.
    Go,
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

/// Evaluates `If-Match`, `If-Unmodified-Since`, `If-None-Match` and `If-Modified-Since` in the order of
/// section 13.2.2.
pub(crate) fn evaluate(headers: &HeaderMap, object: &Object) -> Outcome {
    let tag = object.etag.as_deref();
    if let Some(wanted) = text(headers, &header::IF_MATCH) {
        if !matches(&wanted, tag, strong_equal) {
            return Outcome::Failed;
        }
    } else if let Some(date) = date(headers, &header::IF_UNMODIFIED_SINCE)
        && object.last_modified.is_some_and(|modified| seconds(modified) > seconds(date))
    {
        return Outcome::Failed;
    }
    if let Some(known) = text(headers, &header::IF_NONE_MATCH) {
        if matches(&known, tag, weak_equal) {
            return Outcome::NotModified;
        }
    } else if let Some(date) = date(headers, &header::IF_MODIFIED_SINCE)
        && object.last_modified.is_some_and(|modified| seconds(modified) <= seconds(date))
    {
        return Outcome::NotModified;
    }
    Outcome::Go
}

/// Whether `If-Range` lets a range be served (section 13.1.5).
pub(crate) fn range_holds(headers: &HeaderMap, object: &Object) -> bool {
    let Some(validator) = text(headers, &header::IF_RANGE) else { return true };
    match httpdate::parse_http_date(&validator) {
        Ok(date) => object.last_modified.is_some_and(|modified| seconds(modified) == seconds(date)),
        Err(_) => object.etag.as_deref().is_some_and(|tag| strong_equal(&validator, tag)),
    }
}

fn matches(list: &str, tag: Option<&str>, equal: fn(&str, &str) -> bool) -> bool {
    list.trim() == "*" || tag.is_some_and(|tag| list.split(',').any(|one| equal(one.trim(), tag)))
}

fn strong_equal(one: &str, other: &str) -> bool {
    one == other && !one.starts_with("W/")
}

fn weak_equal(one: &str, other: &str) -> bool {
    one.trim_start_matches("W/") == other.trim_start_matches("W/")
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let values: Vec<_> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

/// HTTP dates have no fractions.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}
