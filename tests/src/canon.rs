//! Values in a form that two engines share, and the comparison of their rows.
//!
//! | value | form |
//! |---|---|
//! | NULL, boolean | of JSON |
//! | integer, decimal | its digits, without zeros at the end of the fraction |
//! | float | `~` and the shortest digits that mean it |
//! | text, bytes | `'` and the text, `x` and hexadecimal digits |
//! | date, time of day, timestamp | `date` and days, `clock` and nanoseconds, `time` and nanoseconds, `Z` at the end if UTC |
//! | interval | `interval` and months, days, nanoseconds |
//! | list, map, struct | an array, an array of pairs, an object |

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationNanosecondType, Float64Type, Int64Type, IntervalMonthDayNanoType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt64Type,
};
use serde_json::Value;

/// The values of a row.
pub type Row = Vec<Value>;

/// The rows of `batches`.
pub fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<Vec<Value>> = batch.columns().iter().map(values).collect();
        rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
    }
    rows
}

/// The values of a column.
///
/// # Panics
///
/// On types that no test has.
pub fn values(array: &ArrayRef) -> Vec<Value> {
    use DataType as T;
    let to = |data_type: T| cast(array, &data_type).expect("a wider type");
    match array.data_type() {
        T::Null => vec![Value::Null; array.len()],
        T::Boolean => array.as_boolean().iter().map(Value::from).collect(),
        t if t.is_unsigned_integer() => each::<UInt64Type>(&to(T::UInt64), |v| v.to_string()),
        t if t.is_signed_integer() => each::<Int64Type>(&to(T::Int64), |v| v.to_string()),
        t if t.is_floating() => each::<Float64Type>(&to(T::Float64), |v| format!("~{v:?}")),
        T::Decimal32(..) => decimals::<Decimal32Type>(array),
        T::Decimal64(..) => decimals::<Decimal64Type>(array),
        T::Decimal128(..) => decimals::<Decimal128Type>(array),
        T::Decimal256(..) => decimals::<Decimal256Type>(array),
        T::Dictionary(_, value) => values(&to(value.as_ref().clone())),
        T::Utf8 | T::LargeUtf8 | T::Utf8View => {
            to(T::LargeUtf8).as_string::<i64>().iter().map(|v| v.map(|v| format!("'{v}")).into()).collect()
        }
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => {
            to(T::LargeBinary).as_binary::<i64>().iter().map(|v| v.map(|v| format!("x{}", hex(v))).into()).collect()
        }
        T::Date32 | T::Date64 => each::<Date32Type>(&to(T::Date32), |v| format!("date {v}")),
        T::Time32(_) | T::Time64(_) => {
            each::<Time64NanosecondType>(&to(T::Time64(TimeUnit::Nanosecond)), |v| format!("clock {v}"))
        }
        T::Timestamp(unit, zone) => {
            let zone = if zone.is_some() { "Z" } else { "" };
            let text = |v: i64, nanos: i128| format!("time {}{zone}", i128::from(v) * nanos);
            match unit {
                TimeUnit::Second => each::<TimestampSecondType>(array, |v| text(v, 1_000_000_000)),
                TimeUnit::Millisecond => each::<TimestampMillisecondType>(array, |v| text(v, 1_000_000)),
                TimeUnit::Microsecond => each::<TimestampMicrosecondType>(array, |v| text(v, 1_000)),
                TimeUnit::Nanosecond => each::<TimestampNanosecondType>(array, |v| text(v, 1)),
            }
        }
        T::Duration(_) => {
            let nanos = to(T::Duration(TimeUnit::Nanosecond));
            each::<DurationNanosecondType>(&nanos, |v| format!("interval 0 0 {v}"))
        }
        T::Interval(_) => {
            let all = to(T::Interval(arrow::datatypes::IntervalUnit::MonthDayNano));
            each::<IntervalMonthDayNanoType>(&all, |v| format!("interval {} {} {}", v.months, v.days, v.nanoseconds))
        }
        T::List(_) => nested(array, |row| Value::Array(values(&array.as_list::<i32>().value(row)))),
        T::LargeList(_) => nested(array, |row| Value::Array(values(&array.as_list::<i64>().value(row)))),
        T::FixedSizeList(..) => nested(array, |row| Value::Array(values(&array.as_fixed_size_list().value(row)))),
        T::Map(..) => nested(array, |row| {
            let entries = array.as_map().value(row);
            let pairs = values(entries.column(0)).into_iter().zip(values(entries.column(1)));
            pairs.map(|(key, value)| Value::Array(vec![key, value])).collect()
        }),
        T::Struct(fields) => {
            let columns: Vec<_> = array.as_struct().columns().iter().map(values).collect();
            let named = |row: usize| {
                let items =
                    fields.iter().zip(&columns).map(|(field, column)| (field.name().clone(), column[row].clone()));
                Value::Object(items.collect())
            };
            nested(array, named)
        }
        other => panic!("no canonical form of {other}"),
    }
}

fn each<T: ArrowPrimitiveType>(array: &ArrayRef, text: impl Fn(T::Native) -> String) -> Vec<Value> {
    array.as_primitive::<T>().iter().map(|value| value.map(&text).into()).collect()
}

fn decimals<T: arrow::datatypes::DecimalType>(array: &ArrayRef) -> Vec<Value> {
    let array = array.as_primitive::<T>();
    let text = |row| digits(&array.value_as_string(row)).to_owned();
    (0..array.len()).map(|row| array.is_valid(row).then(|| text(row)).into()).collect()
}

/// Without zeros at the end of the fraction.
fn digits(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn nested(array: &ArrayRef, value: impl Fn(usize) -> Value) -> Vec<Value> {
    (0..array.len()).map(|row| if array.is_null(row) { Value::Null } else { value(row) }).collect()
}

/// Hexadecimal digits of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text takes it");
        text
    })
}

/// How rows are compared.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    /// Relative difference of floats that does not count. 0 where both engines have read the same bits.
    pub tolerance: f64,
    /// Whether the rows have an order.
    pub ordered: bool,
}

/// The same bits, in any order.
pub const EXACT: Comparison = Comparison { tolerance: 0.0, ordered: false };

/// Equal as SQL sees it, where zeros of either sign are, in any order.
pub const EQUAL: Comparison = Comparison { tolerance: 1e-15, ordered: false };

/// What is different, if anything is.
pub fn difference(mut ours: Vec<Row>, mut theirs: Vec<Row>, how: Comparison) -> Option<String> {
    if ours.len() != theirs.len() {
        return Some(format!("{} rows, the reference has {}", ours.len(), theirs.len()));
    }
    if !how.ordered {
        let key = |row: &Row| row.iter().map(|value| coarse(value, how.tolerance)).collect::<Vec<_>>();
        ours.sort_by_cached_key(key);
        theirs.sort_by_cached_key(key);
    }
    let mut pairs = ours.iter().zip(&theirs);
    let differ =
        |a: &Row, b: &Row| a.len() != b.len() || a.iter().zip(b).any(|(a, b)| apart(a, b, how.tolerance).is_some());
    let (ours, theirs) = pairs.find(|(a, b)| differ(a, b))?;
    let shown = |row: &Row| Value::Array(row.clone()).to_string().chars().take(400).collect::<String>();
    let at = ours
        .iter()
        .zip(theirs)
        .enumerate()
        .find_map(|(column, (a, b))| apart(a, b, how.tolerance).map(|at| (column, at)));
    Some(format!("\n  here  {}\n  there {}\n  first {at:?}", shown(ours), shown(theirs)))
}

/// The innermost values that differ.
fn apart<'a>(a: &'a Value, b: &'a Value, tolerance: f64) -> Option<(&'a Value, &'a Value)> {
    match (a, b) {
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            x.iter().zip(y).find_map(|(a, b)| apart(a, b, tolerance))
        }
        (Value::Object(x), Value::Object(y)) if x.keys().eq(y.keys()) => {
            x.values().zip(y.values()).find_map(|(a, b)| apart(a, b, tolerance))
        }
        _ => (!same(a, b, tolerance)).then_some((a, b)),
    }
}

/// Text to sort by, in which floats that are nearly the same are the same, except at the borders of rounding.
fn coarse(value: &Value, tolerance: f64) -> String {
    match value.as_str().and_then(float) {
        Some(number) if tolerance > 0.0 => format!("~{number:.4e}"),
        Some(number) => format!("~{number:?}"),
        None => value.to_string(),
    }
}

fn float(text: &str) -> Option<f64> {
    text.strip_prefix('~')?.parse().ok()
}

fn same(a: &Value, b: &Value, tolerance: f64) -> bool {
    let Some((x, y)) = a.as_str().and_then(float).zip(b.as_str().and_then(float)) else { return a == b };
    if tolerance == 0.0 {
        return x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    }
    x.total_cmp(&y).is_eq() || x.is_nan() && y.is_nan() || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0)
}
