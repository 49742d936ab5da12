//! Small worlds for the fault tests: files whose rows tell which version they are of, and what is known about their requests.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use farquet_testkit::{Logged, Origin, RequestLog, Seen};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

/// Row groups of a [`large`] file.
pub const GROUPS: usize = 3;
/// Rows of each of them.
pub const ROWS: usize = 40_000;
/// Rows of a [`tiny`] file.
pub const TINY_ROWS: usize = 100;

/// Columns `v`, always `value`, `gap`, and `n`, which counts the rows from `value * 10^9` on. Plain, so that all versions have
/// one layout.
pub fn versioned(value: i64, groups: usize, rows: usize) -> Bytes {
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_offset_index_disabled(true)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build();
    let batches = (0..groups).map(|group| {
        let first = value * 1_000_000_000 + i64::try_from(group * rows).expect("few rows");
        let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let columns = [
            ("v", column(vec![value; rows])),
            ("gap", column(vec![0; rows])),
            ("n", column((first..).take(rows).collect())),
        ];
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    });
    write(batches, properties)
}

/// A Parquet file of `batches`, one row group each.
///
/// # Panics
///
/// When there is no batch.
pub fn write(batches: impl IntoIterator<Item = RecordBatch>, properties: WriterProperties) -> Bytes {
    let mut batches = batches.into_iter().peekable();
    let schema = batches.peek().expect("a batch").schema();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).expect("a writer");
    for batch in batches {
        writer.write(&batch).expect("a row group");
        writer.flush().expect("a row group");
    }
    writer.into_inner().expect("a file").into()
}

/// 2.9 MB, more than a first tail: a footer request and, for `v` alone, one data request for each row group.
pub fn large(value: i64) -> Bytes {
    versioned(value, GROUPS, ROWS)
}

/// Fits the first request, with its data.
pub fn tiny(value: i64) -> Bytes {
    versioned(value, 1, TINY_ROWS)
}

/// Data of column `v`.
pub const BY_VERSION: &str = "SELECT v, count(*) FROM t GROUP BY v ORDER BY v";

/// The answer of [`BY_VERSION`] for a [`large`] file.
pub fn large_row(value: i64) -> String {
    format!("{value}|{}", GROUPS * ROWS)
}

/// The answer of [`BY_VERSION`] for a [`tiny`] file.
pub fn tiny_row(value: i64) -> String {
    format!("{value}|{TINY_ROWS}")
}

/// `sql` with the files of `origin` at `paths` in place of `t`.
pub fn over(origin: &Origin, paths: &[&str], sql: &str) -> String {
    let urls: Vec<_> = paths.iter().map(|path| format!("'{}'", origin.url(path))).collect();
    sql.replace(" t ", &format!(" read_parquet([{}]) ", urls.join(", ")))
}

/// Whether a request asks for a suffix.
pub fn is_suffix(seen: &Seen) -> bool {
    seen.range.as_deref().is_some_and(|range| range.starts_with("bytes=-"))
}

/// First and last byte of a bounded range.
pub fn bounds(range: Option<&str>) -> Option<(u64, u64)> {
    let (first, last) = range?.strip_prefix("bytes=")?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// The ranges of all requests, in order of arrival.
pub fn ranges(log: &RequestLog) -> Vec<String> {
    log.iter().map(|entry| entry.range.clone().unwrap_or_else(|| "everything".to_owned())).collect()
}

/// How often exactly `range` was asked for.
pub fn times(log: &RequestLog, range: &str) -> usize {
    log.iter().filter(|entry| entry.range.as_deref() == Some(range)).count()
}

/// Waits until `condition` holds of the log, at most 10 s.
///
/// # Panics
///
/// When it never does.
pub async fn eventually(origin: &Origin, what: &str, condition: impl Fn(&[Logged]) -> bool) {
    for _ in 0..2000 {
        if condition(&origin.log()) {
            return;
        }
        tokio::time::sleep(crate::ms(5)).await;
    }
    panic!("{what}: {:?}", origin.log().iter().map(|e| (&e.seen.path, &e.seen.range, e.end)).collect::<Vec<_>>());
}
