//! Files with different schemas as one table.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int32Array, LargeStringArray, StringArray, TimestampMicrosecondArray, TimestampMillisecondArray, UInt32Array,
};
use arrow::datatypes::Int32Type;
use farquet_core::ErrorKind;
use farquet_testkit::Origin;
use farquet_tests::{ask, files, session};

use crate::data::{count, file, ints, texts};

/// The rows of `sql` over a file of each of `columns`, or why not.
async fn over(columns: Vec<Vec<(&str, ArrayRef)>>, sql: &str) -> farquet_core::Result<Vec<String>> {
    let named = columns.into_iter().enumerate().map(|(n, columns)| (format!("f{n}"), file(columns)));
    let files: Vec<_> = named.collect();
    let paths: Vec<_> = files.iter().map(|(name, _)| format!("/{name}?secret=1")).collect();
    let origin = Origin::builder().files("/", files).start().await;
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    ask(&session(), &files::over(&origin, &paths, sql)).await.map(|answer| answer.rows)
}

fn column(values: impl arrow::array::Array + 'static) -> ArrayRef {
    Arc::new(values)
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_columns_are_null() {
    let files = || {
        vec![
            vec![("id", count(1, 2)), ("a", texts([Some("x"), Some("y")]))],
            vec![("b", ints([Some(7)])), ("id", count(3, 1))],
        ]
    };
    let cases: &[(&str, &[&str])] = &[
        ("SELECT * FROM t ORDER BY id", &["1|x|NULL", "2|y|NULL", "3|NULL|7"]),
        ("SELECT id FROM t WHERE b IS NULL ORDER BY id", &["1", "2"]),
        ("SELECT id FROM t WHERE a IS NOT NULL ORDER BY id", &["1", "2"]),
        ("SELECT id FROM t WHERE b = 7 OR a = 'x' ORDER BY id", &["1", "3"]),
        ("SELECT count(a), count(b), count(id), max(b), min(a) FROM t ", &["2|1|3|7|x"]),
        ("SELECT b, count(*) FROM t GROUP BY b ORDER BY b", &["7|1", "NULL|2"]),
        ("SELECT a FROM t WHERE b IS DISTINCT FROM 7 ORDER BY a", &["x", "y"]),
    ];
    for (sql, expected) in cases {
        assert_eq!(over(files(), sql).await.expect(sql), *expected, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_widened() {
    let decimal = |value: i128, precision, scale| {
        column(Decimal128Array::from(vec![value]).with_precision_and_scale(precision, scale).expect("a decimal"))
    };
    let dictionary: DictionaryArray<Int32Type> = ["dict"].into_iter().collect();
    let cases: Vec<(&str, ArrayRef, ArrayRef, &[&str])> = vec![
        ("integers", column(Int8Array::from(vec![1])), ints([Some(1 << 40)]), &["1", "1099511627776"]),
        (
            "signed and unsigned",
            column(UInt32Array::from(vec![u32::MAX])),
            column(Int32Array::from(vec![-1])),
            &["-1", "4294967295"],
        ),
        ("floats", column(Float32Array::from(vec![1.5])), column(Float64Array::from(vec![1e300])), &["1.5", "1e300"]),
        ("decimals", decimal(150, 5, 2), decimal(12345, 9, 4), &["1.2345", "1.5000"]),
        ("texts", column(StringArray::from(vec!["a"])), column(LargeStringArray::from(vec!["b"])), &["a", "b"]),
        ("dictionaries", column(dictionary), column(StringArray::from(vec!["plain"])), &["dict", "plain"]),
        (
            "times",
            column(TimestampMillisecondArray::from(vec![1])),
            column(TimestampMicrosecondArray::from(vec![1])),
            &["1970-01-01T00:00:00.000001", "1970-01-01T00:00:00.001"],
        ),
    ];
    for (what, a, b, expected) in cases {
        for (first, second) in [(a.clone(), b.clone()), (b, a)] {
            let rows = over(vec![vec![("x", first)], vec![("x", second)]], "SELECT x FROM t ORDER BY x").await;
            assert_eq!(rows.expect(what), expected, "{what}");
        }
    }
}

/// Filters and extremes are in the table's types, and prune in each file's own.
#[tokio::test(flavor = "multi_thread")]
async fn filters_on_widened_columns() {
    let files = || vec![vec![("x", column(Int8Array::from(vec![1, 2, 127])))], vec![("x", ints([Some(2), Some(300)]))]];
    let cases: &[(&str, &[&str])] = &[
        ("SELECT count(*) FROM t WHERE x = 300", &["1"]),
        ("SELECT count(*) FROM t WHERE x = 2", &["2"]),
        ("SELECT count(*) FROM t WHERE x > 100", &["2"]),
        ("SELECT count(*) FROM t WHERE x > -1000", &["5"]),
        ("SELECT min(x), max(x), sum(x) FROM t ", &["1|300|432"]),
        ("SELECT x FROM t ORDER BY x DESC LIMIT 2", &["300", "127"]),
    ];
    for (sql, expected) in cases {
        assert_eq!(over(files(), sql).await.expect(sql), *expected, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_go_together_names_both_files() {
    let others =
        [texts([Some("1")]), column(Date32Array::from(vec![1])), column(BinaryArray::from(vec![b"x".as_slice()]))];
    for other in others {
        let files = vec![vec![("x", ints([Some(1)]))], vec![("x", ints([Some(2)]))], vec![("x", other)]];
        let error = over(files, "SELECT * FROM t ").await.expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
        let text = format!("{error} {}", error.hint_text().unwrap_or_default());
        assert!(text.contains("/f0") && text.contains("/f2") && text.contains("'x'"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}
