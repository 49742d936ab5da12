//! The statements of `suite/suite.json`, which browsers run too, in the order in which they stand there.

use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, TimeUnit, TimestampMillisecondType};
use farquet_core::{Error, Limits};
use farquet_sql::{ScalarValue, Session};
use farquet_testkit::Origin;
use farquet_tests::{World, canon};
use serde_json::{Value, json};

/// Up to here every integer is a number of JSON.
const SAFE: u128 = (1 << 53) - 1;
/// Relative difference of floats that does not count.
const TOLERANCE: f64 = 1e-9;

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_has_its_answer() {
    let suite: Value = serde_json::from_str(include_str!("../suite/suite.json")).expect("JSON");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite/data");
    let origin = Origin::builder().directory("/data/", data).start().await;
    let mut failures = Vec::new();
    for partitions in [1, 4] {
        let session = World { partitions, base: Some(origin.url("/")), ..World::default() }.session();
        for (name, files) in suite["tables"].as_object().expect("tables") {
            let files: Vec<_> = list(files).iter().map(text).collect();
            session.register_files(name, &files.join(",")).expect("a table");
        }
        for statement in list(&suite["statements"]) {
            let answer = answer(&session, statement).await;
            if let Some(what) = complaint(statement, answer) {
                failures.push(format!("{} ({partitions} partitions): {what}", text(&statement["name"])));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// The rows of the last statement in an entry.
async fn answer(session: &Session, entry: &Value) -> Result<Vec<Value>, Error> {
    let parameters: Vec<_> = list(&entry["params"]).iter().map(scalar).collect();
    let query = session.begin(Limits::default());
    let mut batches = Vec::new();
    for statement in session.parse(text(&entry["sql"]))? {
        batches = session.run(&query, &statement.bind(parameters.clone())).await?.collect().await?;
    }
    Ok(batches.iter().flat_map(rows).collect())
}

/// What is wrong with an answer, if anything is.
fn complaint(entry: &Value, answer: Result<Vec<Value>, Error>) -> Option<String> {
    let found = match (answer, entry["error"].as_str()) {
        (Err(error), Some(expected)) if code(&error) == expected => return None,
        (Err(error), _) => return Some(format!("{error:?}")),
        (Ok(rows), Some(expected)) => return Some(format!("{} where '{expected}' was expected", shown(&rows))),
        (Ok(rows), None) => rows,
    };
    if let Some(part) = entry["contains"].as_str() {
        return (!json!(found).to_string().contains(part)).then(|| format!("no '{part}' in {}", shown(&found)));
    }
    let (expected, unordered) = (list(&entry["rows"]), entry["unordered"] == true);
    let equal = if unordered { same_in_any_order(expected, &found) } else { all_same(expected, &found) };
    (!equal).then(|| format!("\n  here     {}\n  expected {}", shown(&found), shown(expected)))
}

fn same_in_any_order(expected: &[Value], found: &[Value]) -> bool {
    let mut rest: Vec<_> = found.iter().collect();
    let taken = expected.iter().all(|row| {
        let at = rest.iter().position(|other| same(row, other));
        at.map(|at| rest.swap_remove(at)).is_some()
    });
    taken && rest.is_empty()
}

fn all_same(expected: &[Value], found: &[Value]) -> bool {
    expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| same(a, b))
}

fn same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Array(a), Value::Array(b)) => all_same(a, b),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, value)| b.get(name).is_some_and(|other| same(value, other)))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) else { return false };
            (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
        }
        _ => expected == found,
    }
}

/// A parameter as browsers give it.
fn scalar(value: &Value) -> ScalarValue {
    match value {
        Value::Null => ScalarValue::Null,
        Value::Bool(boolean) => ScalarValue::Boolean(Some(*boolean)),
        Value::Number(number) => number
            .as_i64()
            .map_or_else(|| ScalarValue::Float64(number.as_f64()), |integer| ScalarValue::Int64(Some(integer))),
        Value::String(text) => ScalarValue::Utf8(Some(text.clone())),
        other => panic!("no parameter: {other}"),
    }
}

/// The package's name for the kind of an error.
fn code(error: &Error) -> String {
    let mut code = String::new();
    for letter in format!("{:?}", error.kind()).chars() {
        if letter.is_uppercase() && !code.is_empty() {
            code.push('-');
        }
        code.extend(letter.to_lowercase());
    }
    code
}

fn rows(batch: &RecordBatch) -> Vec<Value> {
    let columns: Vec<_> = batch.columns().iter().map(values).collect();
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}

/// The values of a column, in the form that the suite's notes describe.
fn values(array: &ArrayRef) -> Vec<Value> {
    use DataType as T;
    let to = |data_type: T| cast(array, &data_type).expect("a wider type");
    let each = |value: &dyn Fn(usize) -> Value| {
        (0..array.len()).map(|row| if array.is_null(row) { Value::Null } else { value(row) }).collect()
    };
    match array.data_type() {
        T::Null => vec![Value::Null; array.len()],
        T::Boolean => each(&|row| array.as_boolean().value(row).into()),
        t if t.is_integer() => {
            let array = to(T::Decimal128(20, 0));
            each(&|row| integer(array.as_primitive::<Decimal128Type>().value(row)))
        }
        t if t.is_floating() => {
            let array = to(T::Float64);
            each(&|row| float(array.as_primitive::<Float64Type>().value(row)))
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Decimal128(..) | T::Decimal256(..) => {
            let array = to(T::LargeUtf8);
            each(&|row| array.as_string::<i64>().value(row).into())
        }
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => {
            let array = to(T::LargeBinary);
            each(&|row| format!("0x{}", canon::hex(array.as_binary::<i64>().value(row))).into())
        }
        T::Date32 | T::Date64 => moments(&to(T::Timestamp(TimeUnit::Millisecond, None))),
        T::Timestamp(_, zone) => moments(&to(T::Timestamp(TimeUnit::Millisecond, zone.clone()))),
        T::Dictionary(_, value) => values(&to(value.as_ref().clone())),
        T::List(_) => each(&|row| values(&array.as_list::<i32>().value(row)).into()),
        T::LargeList(_) => each(&|row| values(&array.as_list::<i64>().value(row)).into()),
        T::Map(..) => each(&|row| {
            let entries = array.as_map().value(row);
            values(entries.column(0))
                .into_iter()
                .zip(values(entries.column(1)))
                .map(|(key, value)| json!([key, value]))
                .collect()
        }),
        T::Struct(fields) => {
            let columns: Vec<_> = array.as_struct().columns().iter().map(values).collect();
            let named = |row: usize| {
                fields.iter().zip(&columns).map(move |(f, column)| (f.name().clone(), column[row].clone()))
            };
            each(&|row| Value::Object(named(row).collect()))
        }
        other => panic!("the suite has no form for {other}"),
    }
}

fn integer(value: i128) -> Value {
    if value.unsigned_abs() > SAFE { value.to_string().into() } else { json!(value) }
}

fn float(value: f64) -> Value {
    if value.is_finite() { value.into() } else { value.to_string().replace("inf", "Infinity").into() }
}

fn moments(array: &ArrayRef) -> Vec<Value> {
    let array = array.as_primitive::<TimestampMillisecondType>();
    let text = |row| array.value_as_datetime(row).map(|moment| moment.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string());
    (0..array.len()).map(|row| if array.is_null(row) { Value::Null } else { text(row).into() }).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

fn shown(rows: &[Value]) -> String {
    json!(rows).to_string().chars().take(1000).collect()
}
