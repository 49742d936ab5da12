//! The log as JSON.

use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::log::{Logged, RequestLog};
use crate::origin::Origin;

pub(super) fn log(log: &RequestLog) -> Value {
    log.iter()
        .map(|entry| {
            let mut value = entry.to_json();
            value["query"] = json!(entry.query);
            value["headers"] = headers(&entry.headers);
            value["in_flight"] = json!(in_flight_with(log, entry));
            value
        })
        .collect()
}

pub(super) fn summary(origin: &Origin) -> Value {
    let log = origin.log();
    json!({
        "requests": log.requests(),
        "by_method": log.by_method(),
        "by_status": log.by_status(),
        "hops": log.hops(),
        "max_in_flight": log.max_in_flight(),
        "connections": log.connections(),
        "accepted": origin.connections(),
        "body_bytes": log.body_bytes(),
    })
}

/// How many requests ran when this one arrived, itself included.
fn in_flight_with(log: &RequestLog, entry: &Logged) -> usize {
    let running = |other: &Logged| other.start <= entry.start && other.end.is_none_or(|end| end > entry.start);
    // A request without duration runs in no moment.
    log.iter().filter(|other| std::ptr::eq(*other, entry) || running(other)).count()
}

/// Values of one name are joined as RFC 9110 section 5.3 says.
fn headers(headers: &HeaderMap) -> Value {
    let joined = headers.keys().map(|name| {
        let values: Vec<_> =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        (name.to_string(), Value::String(values.join(", ")))
    });
    Value::Object(joined.collect::<Map<_, _>>())
}
