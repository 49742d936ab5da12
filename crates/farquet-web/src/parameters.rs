//! Values of JavaScript as values of SQL.

use farquet_core::{Error, ErrorKind, Result};
use farquet_sql::ScalarValue;
use js_sys::{Array, Date, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

/// The values of `$1`, `$2` and so on.
pub(crate) fn values(parameters: &Array) -> Result<Vec<ScalarValue>> {
    parameters.iter().enumerate().map(|(index, value)| scalar(index + 1, &value)).collect()
}

/// Numbers without a fraction are integers, dates are timestamps in UTC.
#[allow(clippy::cast_possible_truncation)]
fn scalar(number: usize, value: &JsValue) -> Result<ScalarValue> {
    /// Up to here every integer has a number of its own.
    const SAFE: f64 = 9_007_199_254_740_991.0;
    if value.is_null() || value.is_undefined() {
        return Ok(ScalarValue::Null);
    }
    if let Some(text) = value.as_string() {
        return Ok(ScalarValue::Utf8(Some(text)));
    }
    if let Some(boolean) = value.as_bool() {
        return Ok(ScalarValue::Boolean(Some(boolean)));
    }
    if let Some(float) = value.as_f64() {
        let whole = float.fract() == 0.0 && float.abs() <= SAFE;
        return Ok(if whole { ScalarValue::Int64(Some(float as i64)) } else { ScalarValue::Float64(Some(float)) });
    }
    if let Some(date) = value.dyn_ref::<Date>() {
        return Ok(ScalarValue::TimestampMillisecond(Some(date.get_time() as i64), Some("UTC".into())));
    }
    if let Some(bytes) = value.dyn_ref::<Uint8Array>() {
        return Ok(ScalarValue::Binary(Some(bytes.to_vec())));
    }
    if value.is_bigint() {
        return i64::try_from(value.clone())
            .map(|integer| ScalarValue::Int64(Some(integer)))
            .map_err(|_| unknown(number, "a BigInt of more than 64 bits"));
    }
    Err(unknown(number, "a value that is neither text, number, boolean, date, bytes nor null"))
}

fn unknown(number: usize, found: &str) -> Error {
    Error::new(ErrorKind::Query, format!("parameter ${number} is {found}"))
}
