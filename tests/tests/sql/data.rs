//! A small shop: people, their departments and their orders.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int32Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use farquet_sql::Session;
use farquet_testkit::Origin;
use farquet_tests::{World, answer, files};
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

/// An origin with `people`, `depts` and `orders`, and a session that knows them.
pub(crate) struct Shop {
    pub(crate) origin: Origin,
    pub(crate) session: Session,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::with(&World::default()).await
    }

    pub(crate) async fn with(world: &World) -> Self {
        let origin = Origin::builder()
            .file("/people.parquet", people())
            .file("/depts.parquet", depts())
            .file("/orders.parquet", orders())
            .start()
            .await;
        let session = world.session();
        for name in ["people", "depts", "orders"] {
            let url = origin.url(&format!("/{name}.parquet"));
            session.register_files(name, url.as_str()).expect("a table");
        }
        Self { origin, session }
    }

    /// The rows of an answer.
    pub(crate) async fn rows(&self, sql: &str) -> Vec<String> {
        answer(&self.session, sql).await.rows
    }

    /// Every statement gives its rows.
    pub(crate) async fn check(&self, cases: &[(&str, &[&str])]) {
        for (sql, expected) in cases {
            assert_eq!(self.rows(sql).await, *expected, "{sql}");
        }
    }

    /// A file of the shop as a table of SQL.
    pub(crate) fn url(&self, path: &str) -> String {
        self.origin.url(path).to_string()
    }
}

/// A file of nullable columns in one row group.
pub(crate) fn file(columns: Vec<(&str, ArrayRef)>) -> Bytes {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length");
    files::write([batch], WriterProperties::default())
}

pub(crate) fn ints<const N: usize>(values: [Option<i64>; N]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

pub(crate) fn texts<const N: usize>(values: [Option<&str>; N]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// Numbers from `first` on.
pub(crate) fn count(first: i64, rows: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((first..).take(rows)))
}

fn people() -> Bytes {
    file(vec![
        ("id", count(1, 5)),
        ("name", texts([Some("Ada"), Some("Bob"), Some("Cy"), None, Some("Eve")])),
        ("dept", Arc::new(Int32Array::from(vec![Some(1), Some(1), Some(2), None, Some(3)]))),
    ])
}

fn depts() -> Bytes {
    file(vec![("id", count(1, 4)), ("title", texts([Some("ops"), Some("dev"), Some("hr"), Some("law")]))])
}

fn orders() -> Bytes {
    let days = vec![19723, 19724, 19724, 19725, 19754, 19755, 19756, 19757];
    file(vec![
        ("id", count(1, 8)),
        ("person", ints([Some(1), Some(1), Some(2), Some(3), Some(5), Some(5), Some(9), None])),
        ("amount", ints([Some(10), Some(20), Some(5), None, Some(50), Some(50), Some(7), Some(1)])),
        ("day", Arc::new(Date32Array::from(days))),
    ])
}

/// Row groups of a [`large`] file.
pub(crate) const GROUPS: i64 = 3;
/// Rows of each of them.
pub(crate) const ROWS: i64 = 40_000;

/// 2 MB: `v`, always `value`, and `n`, which counts the rows from 0. Incompressible, and without a page index.
pub(crate) fn large(value: i64) -> Bytes {
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_offset_index_disabled(true)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build();
    let batches = (0..GROUPS).map(|group| {
        let v: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|_| value)));
        let n: ArrayRef = Arc::new(Int64Array::from_iter_values(group * ROWS..(group + 1) * ROWS));
        RecordBatch::try_from_iter([("v", v), ("n", n)]).expect("columns of one length")
    });
    files::write(batches, properties)
}
