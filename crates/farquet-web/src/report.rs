//! What a query cost, as an object of JavaScript.

use std::collections::BTreeMap;
use std::time::Duration;

use farquet_core::stats::{Report, RequestRecord};
use farquet_core::validator::Grade;
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats<'a> {
    requests: BTreeMap<&'a str, u64>,
    status: BTreeMap<String, u64>,
    bytes_received: u64,
    hops: u32,
    waves: u32,
    retries: u64,
    restarts: u64,
    files: u64,
    row_groups: RowGroups,
    cache: Cache,
    footer_bytes: u64,
    validators: Option<&'static str>,
    log: Vec<Request<'a>>,
}

#[derive(Serialize)]
struct RowGroups {
    total: u64,
    read: u64,
}

#[derive(Serialize)]
struct Cache {
    hits: u64,
    revalidated: u64,
    misses: u64,
    bypasses: u64,
    evictions: u64,
}

/// Times in milliseconds since the query began.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    start: f64,
    first_byte: Option<f64>,
    end: f64,
    method: &'a str,
    url: &'a str,
    range: Option<&'a str>,
    status: Option<u16>,
    bytes: u64,
    cause: &'static str,
    hop: u32,
}

/// `report` as an object.
pub(crate) fn object(report: &Report) -> JsValue {
    let cache = report.cache;
    let stats = Stats {
        requests: report.requests.iter().map(|(method, count)| (method.as_str(), *count)).collect(),
        status: report.status.iter().map(|(status, count)| (status.to_string(), *count)).collect(),
        bytes_received: report.bytes_received,
        hops: report.hops,
        waves: report.waves,
        retries: report.retries,
        restarts: report.restarts,
        files: report.files,
        row_groups: RowGroups { total: report.row_groups_total, read: report.row_groups_read },
        cache: Cache {
            hits: cache.hits,
            revalidated: cache.revalidated,
            misses: cache.misses,
            bypasses: cache.bypasses,
            evictions: cache.evictions,
        },
        footer_bytes: report.footer_bytes,
        validators: report.grade.map(Grade::as_str),
        log: report.records.iter().map(request).collect(),
    };
    stats.serialize(&Serializer::json_compatible()).unwrap_or(JsValue::UNDEFINED)
}

fn request(record: &RequestRecord) -> Request<'_> {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Request {
        start: ms(record.start),
        first_byte: record.first_byte.map(ms),
        end: ms(record.end),
        method: &record.method,
        url: &record.url,
        range: record.range.as_deref(),
        status: record.status,
        bytes: record.bytes,
        cause: record.cause.as_str(),
        hop: record.hop,
    }
}
