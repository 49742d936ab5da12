//! What a query cost, in words and as JSON.

use std::time::Duration;

use farquet_core::stats::Report;
use farquet_core::validator::Grade;
use indicatif::DecimalBytes;
use serde_json::{Map, Value, json};

/// One line to read.
pub(crate) fn text(report: &Report, rows: u64, wall: Duration) -> String {
    let mut parts = vec![
        count(rows, "row"),
        format!("{:.0} ms", wall.as_secs_f64() * 1e3),
        count(report.total_requests(), "request"),
        DecimalBytes(report.bytes_received).to_string(),
        count(report.hops.into(), "hop"),
        count(report.waves.into(), "wave"),
    ];
    if let Some(connections) = report.connections {
        parts.push(count(connections, "new connection"));
    }
    parts.push(if report.retries == 1 { "1 retry".to_owned() } else { format!("{} retries", report.retries) });
    if report.restarts > 0 {
        parts.push(count(report.restarts, "restart"));
    }
    parts.push(count(report.files, "file"));
    parts.push(format!("{} of {} row groups", report.row_groups_read, report.row_groups_total));
    let cached = report.cache.hits + report.cache.revalidated;
    if cached > 0 {
        parts.push(format!("{cached} from cache"));
    }
    parts.join(", ")
}

/// One line for programs.
pub(crate) fn json(report: &Report, rows: u64, wall: Duration) -> String {
    let requests: Map<String, Value> = report.requests.iter().map(|(method, n)| (method.clone(), json!(n))).collect();
    let status: Map<String, Value> = report.status.iter().map(|(code, n)| (code.to_string(), json!(n))).collect();
    object(&[
        ("rows", json!(rows)),
        ("wall_ms", milliseconds(wall)),
        ("hops", json!(report.hops)),
        ("waves", json!(report.waves)),
        ("connections", json!(report.connections)),
        ("requests", Value::Object(requests)),
        ("status", Value::Object(status)),
        ("bytes_received", json!(report.bytes_received)),
        ("retries", json!(report.retries)),
        ("restarts", json!(report.restarts)),
        ("files", json!(report.files)),
        ("row_groups", json!({ "total": report.row_groups_total, "read": report.row_groups_read })),
        (
            "cache",
            json!({
                "hits": report.cache.hits,
                "revalidated": report.cache.revalidated,
                "misses": report.cache.misses,
                "bypasses": report.cache.bypasses,
                "evictions": report.cache.evictions,
            }),
        ),
        ("footer_bytes", json!(report.footer_bytes)),
        ("validators", json!(report.grade.map(Grade::as_str))),
        (
            "resident",
            json!({
                "bodies": { "bytes": report.usage.bodies.bytes, "entries": report.usage.bodies.entries },
                "footers": { "bytes": report.usage.footers.bytes, "entries": report.usage.footers.entries },
                "held_bytes": report.usage.held,
            }),
        ),
    ])
}

/// One line to read for each request.
pub(crate) fn requests(report: &Report) -> impl Iterator<Item = String> {
    let mut records: Vec<_> = report.records.iter().collect();
    records.sort_by_key(|record| record.start);
    records.into_iter().map(|record| {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let status = record.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        format!(
            "{:8.1} to {:.1} ms, hop {}, {}: {} {} {}, {status}, {}",
            ms(record.start),
            ms(record.end),
            record.hop,
            record.cause.as_str(),
            record.method,
            record.url,
            record.range.as_deref().unwrap_or("whole"),
            DecimalBytes(record.bytes)
        )
    })
}

/// Milliseconds to the microsecond.
pub(crate) fn milliseconds(time: Duration) -> Value {
    json!((time.as_secs_f64() * 1e6).round() / 1e3)
}

/// A JSON object on one line, with its keys in this order.
pub(crate) fn object(fields: &[(&str, Value)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", fields.join(","))
}

fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        let mut report = Report::default();
        report.requests.insert("GET".to_owned(), 3);
        report.status.insert(206, 3);
        (report.hops, report.waves, report.bytes_received, report.retries) = (1, 2, 1500, 1);
        let wall = Duration::from_micros(12_345);
        assert_eq!(
            text(&report, 1, wall),
            "1 row, 12 ms, 3 requests, 1.50 kB, 1 hop, 2 waves, 1 retry, 0 files, 0 of 0 row groups"
        );
        let line = json(&report, 1, wall);
        assert!(line.starts_with(
            r#"{"rows":1,"wall_ms":12.345,"hops":1,"waves":2,"connections":null,"requests":{"GET":3},"status":{"206":3},"#
        ));
        assert!(serde_json::from_str::<Value>(&line).is_ok_and(|value| value["cache"]["hits"] == 0));
    }
}
