//! What HTTP cost, in `EXPLAIN ANALYZE`.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::cast;
use farquet_core::stats::Report;
use farquet_core::validator::Grade;
use farquet_core::{Error, ErrorKind, Result};

/// One more row for the output of `EXPLAIN ANALYZE`, which has a kind and a text.
pub(crate) fn http_section(like: &RecordBatch, report: &Report) -> Result<RecordBatch> {
    let text = |text: String, column: usize| -> Result<ArrayRef> {
        let array: ArrayRef = Arc::new(StringArray::from(vec![text]));
        cast(&array, like.column(column).data_type()).map_err(|error| Error::new(ErrorKind::Query, error.to_string()))
    };
    let columns = vec![text("HTTP".to_owned(), 0)?, text(describe(report), 1)?];
    RecordBatch::try_new(like.schema(), columns).map_err(|error| Error::new(ErrorKind::Query, error.to_string()))
}

fn describe(report: &Report) -> String {
    let mut text = String::new();
    let list = |pairs: Vec<String>| if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") };
    let methods = list(report.requests.iter().map(|(method, n)| format!("{method} {n}")).collect());
    let status = list(report.status.iter().map(|(status, n)| format!("{status}: {n}")).collect());
    let cache = report.cache;
    // Writing to a string cannot fail.
    let _ = writeln!(text, "requests: {methods}; answers: {status}");
    let _ = writeln!(text, "bytes: {}; hops: {}; waves: {}", report.bytes_received, report.hops, report.waves);
    let _ = writeln!(text, "retries: {}; restarts: {}", report.retries, report.restarts);
    let _ = writeln!(text, "validators: {}", report.grade.map_or("no files", Grade::as_str));
    let _ = writeln!(
        text,
        "files: {}; row groups: {} of {}; footers: {} bytes",
        report.files, report.row_groups_read, report.row_groups_total, report.footer_bytes
    );
    let _ = writeln!(
        text,
        "cache: {} hits, {} revalidated, {} misses, {} bypasses, {} evictions",
        cache.hits, cache.revalidated, cache.misses, cache.bypasses, cache.evictions
    );
    let usage = report.usage;
    let _ = writeln!(
        text,
        "resident: {} small files in {} bytes, {} footers in {} bytes; held by queries: {} bytes",
        usage.bodies.entries, usage.bodies.bytes, usage.footers.entries, usage.footers.bytes, usage.held
    );
    text
}
