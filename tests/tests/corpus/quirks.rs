//! Files with the quirks of writers that the corpus lacks. What they claim wrongly must not reach an answer.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use farquet_testkit::Origin;
use farquet_tests::{World, answer, files};
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnChunkMetaDataBuilder, FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader,
    ParquetMetaDataWriter,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::statistics::Statistics;

const GROUPS: i64 = 4;
const ROWS: i64 = 1000;

/// `n` counts the rows and is NULL in every tenth, `s` is a long text that ascends with it, `x` is a float.
fn batches() -> impl Iterator<Item = RecordBatch> {
    (0..GROUPS).map(|group| {
        let rows = group * ROWS..(group + 1) * ROWS;
        let n: Int64Array = rows.clone().map(|row| (row % 10 != 0).then_some(row)).collect();
        let s: StringArray = rows.clone().map(|row| Some(format!("a long text before the number {row:06}"))).collect();
        let x: Float64Array = rows.map(|row| Some(float(row))).collect();
        let columns: [(&str, ArrayRef, bool); 3] =
            [("n", Arc::new(n), true), ("s", Arc::new(s), true), ("x", Arc::new(x), true)];
        RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
    })
}

/// Halves around zero, with a zero of either sign in the first row group and a NaN of either sign in the second.
fn float(row: i64) -> f64 {
    match row {
        500 => 0.0,
        501 => -0.0,
        1500 => f64::NAN,
        1501 => -f64::NAN,
        row => (row % 1000) as f64 / 2.0 + 1.0,
    }
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_data_page_row_count_limit(100).set_write_batch_size(100)
}

fn plain() -> Bytes {
    files::write(batches(), properties().build())
}

/// The file `bytes` with its footer changed: each column chunk by `change`, the writer's name to `writer`.
fn edited(
    bytes: &Bytes,
    writer: Option<&str>,
    change: impl Fn(&ColumnChunkMetaData, ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
) -> Bytes {
    let edit = || -> Result<Bytes> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(bytes)?;
        let file = metadata.file_metadata();
        let created_by = writer.or(file.created_by()).map(str::to_owned);
        let file = FileMetaData::new(
            file.version(),
            file.num_rows(),
            created_by,
            file.key_value_metadata().cloned(),
            file.schema_descr_ptr(),
            file.column_orders().cloned(),
        );
        let mut builder = ParquetMetaDataBuilder::new(file);
        for group in metadata.row_groups() {
            let columns = group.columns().iter().map(|chunk| change(chunk, chunk.clone().into_builder()).build());
            let columns = columns.collect::<Result<Vec<_>>>()?;
            builder = builder.add_row_group(group.clone().into_builder().set_column_metadata(columns).build()?);
        }
        let at = bytes.len() - 8;
        let length = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let mut file = bytes[..at - length as usize].to_vec();
        ParquetMetaDataWriter::new(&mut file, &builder.build()).finish()?;
        Ok(file.into())
    };
    edit().expect("a footer")
}

/// `sql` over `bytes` as `t` gives `expected`, with pruning and without.
async fn check(bytes: &Bytes, cases: &[(&str, &[&str])]) {
    let origin = Origin::builder().file("/q.parquet", bytes.clone()).start().await;
    for pruning in [true, false] {
        let session = World { pruning, ..World::default() }.session();
        for (sql, expected) in cases {
            let answer = answer(&session, &files::over(&origin, &["/q.parquet"], sql)).await;
            assert_eq!(answer.rows, *expected, "{sql}, with pruning: {pruning}");
        }
    }
}

/// What is true of the data, whatever the footer says.
const TRUE_OF_ALL: &[(&str, &[&str])] = &[
    ("SELECT count(*), count(n), min(n), max(n), count(s), count(x) FROM t ", &["4000|3600|1|3999|4000|4000"]),
    ("SELECT count(*) FROM t WHERE n IS NULL", &["400"]),
    ("SELECT count(*) FROM t WHERE n IS NOT NULL", &["3600"]),
    ("SELECT count(*) FROM t WHERE n IS NULL AND s < 'a long text before the number 001000'", &["100"]),
    ("SELECT n, x FROM t WHERE n = 2345", &["2345|173.5"]),
    ("SELECT count(*) FROM t WHERE n > 3989", &["9"]),
    ("SELECT count(*) FROM t WHERE n <> 17", &["3599"]),
    ("SELECT count(*) FROM t WHERE n IS DISTINCT FROM 17", &["3999"]),
    ("SELECT min(s), max(s) FROM t ", &["a long text before the number 000000|a long text before the number 003999"]),
    ("SELECT n FROM t WHERE s = 'a long text before the number 003999'", &["3999"]),
    ("SELECT count(*) FROM t WHERE s >= 'a long text before the number 003990'", &["10"]),
    ("SELECT count(*) FROM t WHERE s LIKE 'a long text before the number 0012%'", &["100"]),
    ("SELECT s FROM t WHERE n > 100 ORDER BY s DESC LIMIT 1", &["a long text before the number 003999"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_wrong() {
    check(&plain(), TRUE_OF_ALL).await;
}

/// Else these tests would compare nothing.
#[tokio::test(flavor = "multi_thread")]
async fn pruning_can_be_switched_off() {
    let origin = Origin::builder().file("/q.parquet", plain()).start().await;
    for (pruning, read) in [(true, 1), (false, 4)] {
        let session = World { pruning, ..World::default() }.session();
        let sql = files::over(&origin, &["/q.parquet"], "SELECT x FROM t WHERE n = 2345");
        let answer = answer(&session, &sql).await;
        assert_eq!((answer.rows, answer.report.row_groups_read), (vec!["173.5".to_owned()], read));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn null_counts_are_missing() {
    let bytes = edited(&plain(), None, |chunk, builder| match chunk.statistics() {
        Some(Statistics::Int64(s)) => {
            builder.set_statistics(Statistics::int64(s.min_opt().copied(), s.max_opt().copied(), None, None, false))
        }
        _ => builder,
    });
    check(&bytes, TRUE_OF_ALL).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_are_missing() {
    check(&edited(&plain(), None, |_, builder| builder.clear_statistics()), TRUE_OF_ALL).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_truncated() {
    let properties = properties().set_statistics_truncate_length(Some(5)).set_column_index_truncate_length(Some(5));
    check(&files::write(batches(), properties.build()), TRUE_OF_ALL).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_column_has_no_page_index() {
    for column in ["n", "s"] {
        let bytes = edited(&plain(), None, |chunk, builder| {
            if chunk.column_descr().name() != column {
                return builder;
            }
            let builder = builder.set_column_index_offset(None).set_column_index_length(None);
            builder.set_offset_index_offset(None).set_offset_index_length(None)
        });
        check(&bytes, TRUE_OF_ALL).await;
        let bytes = edited(&plain(), None, |chunk, builder| {
            if chunk.column_descr().name() != column {
                return builder;
            }
            builder.set_column_index_offset(None).set_column_index_length(None)
        });
        check(&bytes, TRUE_OF_ALL).await;
    }
}

/// Some writers set the offset of a dictionary that is not there to 0, where the file's magic number is.
#[tokio::test(flavor = "multi_thread")]
async fn dictionaries_are_at_zero() {
    let without = files::write(batches(), properties().set_dictionary_enabled(false).build());
    check(&edited(&without, None, |_, builder| builder.set_dictionary_page_offset(Some(0))), TRUE_OF_ALL).await;
}

/// parquet-mr before 1.8 compared bytes as signed: with anything beyond ASCII its extremes are wrong (PARQUET-251).
#[tokio::test(flavor = "multi_thread")]
async fn old_writers_compare_bytes_as_signed() {
    let words = ["apple", "pear", "ähre", "öl"];
    let batch = |words: &[&str]| {
        let column: ArrayRef = Arc::new(StringArray::from(words.to_vec()));
        RecordBatch::try_from_iter([("s", column)]).expect("a column")
    };
    let bytes = files::write([batch(&words), batch(&words[..2])], properties().build());
    let truth: &[(&str, &[&str])] = &[
        ("SELECT min(s), max(s), count(s) FROM t ", &["apple|öl|6"]),
        ("SELECT count(*) FROM t WHERE s = 'öl'", &["1"]),
        ("SELECT count(*) FROM t WHERE s > 'z'", &["2"]),
        ("SELECT count(*) FROM t WHERE s < 'b'", &["2"]),
        ("SELECT s FROM t ORDER BY s DESC LIMIT 1", &["öl"]),
    ];
    for deprecated in [true, false] {
        for writer in ["parquet-mr version 1.6.0 (build 6aa21f8776625b5fa6b18059cfebe7549f2e00cb)", "parquet-mr"] {
            let wrong = edited(&bytes, Some(writer), |_, builder| {
                let (min, max) = (ByteArray::from("ähre"), ByteArray::from("pear"));
                let builder =
                    builder.set_statistics(Statistics::byte_array(Some(min), Some(max), None, Some(0), deprecated));
                // Such writers knew no page index.
                let builder = builder.set_column_index_offset(None).set_column_index_length(None);
                builder.set_offset_index_offset(None).set_offset_index_length(None)
            });
            check(&wrong, truth).await;
        }
    }
}

/// The deprecated fields were ordered as signed, which is wrong for unsigned numbers.
#[tokio::test(flavor = "multi_thread")]
async fn unsigned_numbers_have_signed_extremes() {
    let column: ArrayRef = Arc::new(arrow::array::UInt32Array::from(vec![1, 7, u32::MAX, 1 << 31]));
    let bytes = files::write([RecordBatch::try_from_iter([("u", column)]).expect("a column")], properties().build());
    let wrong = edited(&bytes, Some("parquet-mr version 1.7.0"), |_, builder| {
        let builder = builder.set_statistics(Statistics::int32(Some(i32::MIN), Some(7), None, Some(0), true));
        builder.set_column_index_offset(None).set_column_index_length(None)
    });
    let truth: &[(&str, &[&str])] = &[
        ("SELECT min(u), max(u) FROM t ", &["1|4294967295"]),
        ("SELECT count(*) FROM t WHERE u = 1", &["1"]),
        ("SELECT count(*) FROM t WHERE u > 100", &["2"]),
    ];
    check(&wrong, truth).await;
}

/// Writers leave NaN out of the extremes and may write either zero for both.
#[tokio::test(flavor = "multi_thread")]
async fn floats_are_more_than_their_extremes() {
    let truth: &[(&str, &[&str])] = &[
        ("SELECT count(*) FROM t WHERE x > 1000", &["1"]),
        ("SELECT n FROM t WHERE x = CAST('NaN' AS DOUBLE)", &["NULL"]),
        ("SELECT n FROM t WHERE x < -1", &["1501"]),
        ("SELECT n FROM t WHERE isnan(x) ORDER BY n", &["1501", "NULL"]),
        ("SELECT x FROM t ORDER BY x DESC LIMIT 2", &["NaN", "500.5"]),
        ("SELECT x FROM t ORDER BY x LIMIT 4", &["NaN", "-0.0", "0.0", "1.0"]),
        ("SELECT count(*) FROM t WHERE x = 173.5", &["4"]),
        ("SELECT count(*) FROM t WHERE x IN (173.5, 174)", &["8"]),
        ("SELECT count(*) FROM t WHERE x <> 173.5", &["3996"]),
        ("SELECT count(*) FROM t WHERE x BETWEEN 400 AND 401", &["12"]),
        ("SELECT max(x) FROM t ", &["NaN"]),
    ];
    check(&plain(), truth).await;
    let zeros = edited(&plain(), None, |chunk, builder| match chunk.statistics() {
        Some(Statistics::Double(s)) => {
            let zero = |value: Option<&f64>| value.map(|value| if *value == 0.0 { 0.0 } else { *value });
            builder.set_statistics(Statistics::double(zero(s.min_opt()), zero(s.max_opt()), None, Some(0), false))
        }
        _ => builder,
    });
    check(&zeros, truth).await;
    check(
        &zeros,
        &[
            ("SELECT count(*) FROM t WHERE x < 0.5", &["3"]),
            ("SELECT n FROM t WHERE x = 0.0 ORDER BY n", &["501", "NULL"]),
        ],
    )
    .await;
}
