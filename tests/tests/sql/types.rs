//! Columns of many types, nested ones too.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, DictionaryArray,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int16Array, Int64Array, LargeStringArray, ListArray,
    MapBuilder, StringArray, StringBuilder, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow::array::{Int64Builder, new_null_array};
use arrow::datatypes::{DataType, Field, Int32Type, i256};
use farquet_testkit::Origin;
use farquet_tests::{World, answer, files};

use crate::data::file;

fn column(values: impl Array + 'static) -> ArrayRef {
    Arc::new(values)
}

/// A value and a NULL of each type, with the value as it is shown and as a literal, where there is one.
fn scalars() -> Vec<(&'static str, ArrayRef, &'static str, &'static str)> {
    let decimal = Decimal128Array::from(vec![Some(-12345), None]).with_precision_and_scale(9, 2).expect("a decimal");
    let wide = i256::from_string("1234567890123456789012345678901234567890").expect("digits");
    let wide = Decimal256Array::from(vec![Some(wide), None]).with_precision_and_scale(50, 10).expect("a decimal");
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([1, 255]), None].into_iter(), 2);
    let dictionary: DictionaryArray<Int32Type> = [Some("dict"), None].into_iter().collect();
    vec![
        ("bool", column(BooleanArray::from(vec![Some(true), None])), "true", "true"),
        ("i8", column(Int8Array::from(vec![Some(-128), None])), "-128", "-128"),
        ("i16", column(Int16Array::from(vec![Some(-300), None])), "-300", "-300"),
        (
            "i64",
            column(Int64Array::from(vec![Some(i64::MIN), None])),
            "-9223372036854775808",
            "CAST('-9223372036854775808' AS BIGINT)",
        ),
        ("u8", column(UInt8Array::from(vec![Some(255), None])), "255", "255"),
        ("u32", column(UInt32Array::from(vec![Some(u32::MAX), None])), "4294967295", "4294967295"),
        ("u64", column(UInt64Array::from(vec![Some(u64::MAX), None])), "18446744073709551615", "18446744073709551615"),
        ("f32", column(Float32Array::from(vec![Some(0.1), None])), "0.1", "CAST(0.1 AS REAL)"),
        ("f64", column(Float64Array::from(vec![Some(1e-300), None])), "1e-300", "1e-300"),
        ("decimal", column(decimal), "-123.45", "-123.45"),
        ("wide", column(wide), "123456789012345678901234567890.1234567890", ""),
        ("text", column(StringArray::from(vec![Some("ü'\"\n"), None])), "ü'\"\n", "'ü''\"\n'"),
        ("large", column(LargeStringArray::from(vec![Some("large"), None])), "large", "'large'"),
        ("empty", column(StringArray::from(vec![Some(""), None])), "", "''"),
        ("dictionary", column(dictionary), "dict", "'dict'"),
        ("bytes", column(BinaryArray::from(vec![Some(b"\x00\xff".as_slice()), None])), "00ff", "X'00FF'"),
        ("fixed", column(fixed.expect("bytes")), "01ff", "arrow_cast(X'01FF', 'FixedSizeBinary(2)')"),
        ("date", column(Date32Array::from(vec![Some(-1), None])), "1969-12-31", "DATE '1969-12-31'"),
        ("clock", column(Time64MicrosecondArray::from(vec![Some(1_000_001), None])), "00:00:01.000001", ""),
        (
            "millis",
            column(TimestampMillisecondArray::from(vec![Some(1), None])),
            "1970-01-01T00:00:00.001",
            "TIMESTAMP '1970-01-01 00:00:00.001'",
        ),
        (
            "micros",
            column(TimestampMicrosecondArray::from(vec![Some(-1), None])),
            "1969-12-31T23:59:59.999999",
            "TIMESTAMP '1969-12-31T23:59:59.999999'",
        ),
        (
            "nanos",
            column(TimestampNanosecondArray::from(vec![Some(1), None])),
            "1970-01-01T00:00:00.000000001",
            "TIMESTAMP '1970-01-01T00:00:00.000000001'",
        ),
        (
            "zoned",
            column(TimestampMillisecondArray::from(vec![Some(0), None]).with_timezone("UTC")),
            "1970-01-01T00:00:00Z",
            "TIMESTAMP '1970-01-01 00:00:00'",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn scalars_are_read_filtered_and_ordered() {
    let columns = scalars();
    let bytes = file(columns.iter().map(|(name, column, ..)| (*name, Arc::clone(column))).collect());
    let origin = Origin::builder().file("/x", bytes).start().await;
    for pruning in [true, false] {
        let session = World { pruning, ..World::default() }.session();
        let rows = async |sql: String| answer(&session, &files::over(&origin, &["/x"], &sql)).await.rows;
        let shown: Vec<_> = columns.iter().map(|(_, _, shown, _)| *shown).collect();
        let nulls = vec!["NULL"; columns.len()].join("|");
        assert_eq!(rows("SELECT * FROM t ".to_owned()).await, [shown.join("|"), nulls]);
        for (name, _, shown, literal) in &columns {
            assert_eq!(rows(format!("SELECT {name} FROM t ORDER BY {name}")).await, [*shown, "NULL"], "{name}");
            let counts = rows(format!("SELECT count({name}), count(*) FROM t WHERE {name} IS NULL")).await;
            assert_eq!(counts, ["0|1"], "{name}");
            if !literal.is_empty() {
                let found = rows(format!("SELECT count(*) FROM t WHERE {name} = {literal}")).await;
                assert_eq!(found, ["1"], "{name} = {literal}");
                let others = rows(format!("SELECT count(*) FROM t WHERE {name} <> {literal}")).await;
                assert_eq!(others, ["0"], "{name} <> {literal}");
            }
            let grouped = rows(format!("SELECT {name}, count(*) FROM t GROUP BY {name} ORDER BY {name}")).await;
            assert_eq!(grouped, [format!("{shown}|1"), "NULL|1".to_owned()], "{name}");
        }
    }
}

/// `list`, `pair` and `map` of three rows: values, empty ones, and NULL.
fn nested() -> bytes::Bytes {
    let lists = [Some(vec![Some(1), None, Some(3)]), Some(vec![]), None];
    let list = ListArray::from_iter_primitive::<arrow::datatypes::Int64Type, _, _>(lists);
    let fields = vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)];
    let children: Vec<ArrayRef> = vec![
        column(Int64Array::from(vec![Some(7), None, None])),
        column(StringArray::from(vec![Some("x"), Some("y"), None])),
    ];
    let pair = StructArray::new(fields.into(), children, Some(vec![true, true, false].into()));
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    map.keys().append_value("k");
    map.values().append_value(5);
    map.append(true).expect("an entry");
    map.append(true).expect("no entry");
    map.append(false).expect("NULL");
    file(vec![
        ("id", crate::data::count(1, 3)),
        ("list", column(list)),
        ("pair", column(pair)),
        ("map", column(map.finish())),
        ("nothing", new_null_array(&DataType::Null, 3)),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn nested_values() {
    let cases: &[(&str, &[&str])] = &[
        ("SELECT list, pair FROM t ORDER BY id", &["[1, NULL, 3]|{a: 7, b: x}", "[]|{a: NULL, b: y}", "NULL|NULL"]),
        ("SELECT map FROM t ORDER BY id", &["{k: 5}", "{}", "NULL"]),
        ("SELECT list[1], array_length(list), pair['a'], pair.b FROM t WHERE id = 1", &["1|3|7|x"]),
        ("SELECT id FROM t WHERE pair['a'] = 7", &["1"]),
        ("SELECT id FROM t WHERE pair['a'] IS NULL ORDER BY id", &["2", "3"]),
        ("SELECT id FROM t WHERE list IS NULL", &["3"]),
        ("SELECT id, unnest(list) AS x FROM t WHERE id = 1", &["1|1", "1|NULL", "1|3"]),
        ("SELECT map['k'] FROM t WHERE id = 1", &["5"]),
        ("SELECT count(list), count(pair), count(map), count(nothing), count(*) FROM t ", &["2|2|2|0|3"]),
        ("SELECT nothing FROM t WHERE nothing IS NULL AND id = 1", &["NULL"]),
        ("SELECT id FROM t WHERE array_has(list, 3)", &["1"]),
    ];
    let origin = Origin::builder().file("/x", nested()).start().await;
    for pruning in [true, false] {
        let session = World { pruning, ..World::default() }.session();
        for (sql, expected) in cases {
            assert_eq!(answer(&session, &files::over(&origin, &["/x"], sql)).await.rows, *expected, "{sql}");
        }
    }
}
