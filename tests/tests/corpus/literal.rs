//! Values of a file as literals of both engines.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{cast, concat, sort_to_indices, take};
use arrow::datatypes::{DataType, Date32Type, Int64Type, TimeUnit};
use arrow::util::display::array_value_to_string;
use farquet_tests::canon::{hex, values};

use crate::folder::quoted;

/// How a column is compared with a value, here and in the reference.
pub(crate) struct Literal {
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

/// Whether filters and extremes of the type are compared.
pub(crate) fn is_compared(data_type: &DataType) -> bool {
    use DataType as T;
    let number = data_type.is_integer() || data_type.is_floating() || data_type.is_decimal();
    let text = matches!(data_type, T::Utf8 | T::LargeUtf8 | T::Utf8View);
    let bytes = matches!(data_type, T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_));
    number || text || bytes || matches!(data_type, T::Boolean | T::Date32 | T::Timestamp(..))
}

/// The column's name where the reference compares it: times of UTC by their number, since it lacks a time zone database.
pub(crate) fn their_column(name: &str, data_type: &DataType) -> String {
    match data_type {
        DataType::Timestamp(_, Some(_)) => format!("epoch_us({})", quoted(name)),
        _ => quoted(name),
    }
}

/// The least, the middle and the greatest value of a column; fewer if there are no three.
pub(crate) fn samples(chunks: &[&dyn Array]) -> Vec<Literal> {
    let Ok(column) = concat(chunks) else { return Vec::new() };
    let order = sort_to_indices(&column, None, None).expect("an order");
    let sorted = take(&column, &order, None).expect("the same values");
    let sorted = sorted.slice(sorted.null_count(), sorted.len() - sorted.null_count());
    if sorted.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![0, sorted.len() / 2, sorted.len() - 1];
    rows.dedup();
    rows.into_iter().map(|row| literal(&sorted, row)).collect()
}

fn literal(array: &ArrayRef, row: usize) -> Literal {
    use DataType as T;
    let plain = || array_value_to_string(array, row).expect("a value");
    let canonical = || match &values(&array.slice(row, 1))[0] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let same = |text: String| Literal { ours: text.clone(), theirs: text };
    match array.data_type() {
        T::Boolean => same(plain()),
        t if t.is_integer() => same(plain()),
        t if t.is_floating() => {
            let number = canonical().replace('~', "");
            let name = if *t == T::Float64 { "DOUBLE" } else { "REAL" };
            same(format!("CAST('{number}' AS {name})"))
        }
        T::Decimal128(precision, scale) | T::Decimal256(precision, scale) => {
            same(format!("CAST('{}' AS DECIMAL({precision}, {scale}))", plain()))
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View => same(format!("'{}'", plain().replace('\'', "''"))),
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => {
            let bytes = cast(&array.slice(row, 1), &T::LargeBinary).expect("bytes");
            let digits = hex(bytes.as_binary::<i64>().value(0));
            Literal { ours: format!("X'{digits}'"), theirs: format!("unhex('{digits}')") }
        }
        T::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(row);
            Literal { ours: format!("DATE '{}'", plain()), theirs: format!("(DATE '1970-01-01' + {days})") }
        }
        T::Timestamp(unit, zone) => {
            let number = cast(array, &T::Int64).expect("numbers").as_primitive::<Int64Type>().value(row);
            let ours = format!("arrow_cast({number}, '{}')", array.data_type());
            let theirs = match (unit, zone) {
                (_, Some(_)) => micros(*unit, number).to_string(),
                (TimeUnit::Nanosecond, None) => format!("make_timestamp_ns({number})"),
                (unit, None) => format!("make_timestamp({})", micros(*unit, number)),
            };
            Literal { ours, theirs }
        }
        other => panic!("no literal of {other}"),
    }
}

fn micros(unit: TimeUnit, number: i64) -> i64 {
    match unit {
        TimeUnit::Second => number * 1_000_000,
        TimeUnit::Millisecond => number * 1_000,
        TimeUnit::Microsecond => number,
        TimeUnit::Nanosecond => number / 1_000,
    }
}
