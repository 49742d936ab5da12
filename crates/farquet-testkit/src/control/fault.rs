//! Faults from JSON.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::fields::{Fields, header_value};
use crate::fault::{Fault, NAMES};
use crate::origin::Origin;

type Counted = (&'static str, fn(u64) -> Fault);

/// Faults that are a name and a number.
const COUNTED: [Counted; 7] = [
    ("cut", Fault::ResetAfter),
    ("close", Fault::CloseAfter),
    ("stall", Fault::Stall),
    ("short", Fault::ShortBody),
    ("long", Fault::LongBody),
    ("delay", |milliseconds| Fault::Delay(Duration::from_millis(milliseconds))),
    ("gather", |requests| Fault::Gather(usize::try_from(requests).unwrap_or(usize::MAX))),
];

pub(super) fn fault(origin: &Origin, value: Value) -> Result<Fault, String> {
    match value {
        Value::String(name) => {
            Fault::named(&name).ok_or_else(|| format!("no fault is called {name:?}, but {}", NAMES.join(", ")))
        }
        Value::Array(all) => {
            let all: Result<_, _> = all.into_iter().map(|one| fault(origin, one)).collect();
            Ok(Fault::Then(all?))
        }
        other => {
            let mut fields = Fields::of(other)?;
            let fault = of_fields(origin, &mut fields)?;
            // Of two faults in one object one is left over here: they are to be an array.
            fields.end()?;
            Ok(fault)
        }
    }
}

fn of_fields(origin: &Origin, fields: &mut Fields) -> Result<Fault, String> {
    if let Some(code) = fields.number("status")? {
        let headers = fields.headers("headers")?.unwrap_or_default();
        let headers = headers.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let body = fields.text("body")?.unwrap_or_default().into();
        return Ok(Fault::Status { code: status(code)?, headers, body });
    }
    if let Some(code) = fields.number("redirect")? {
        let location = header_value(fields.needed_text("location")?)?;
        return Ok(Fault::Redirect { code: status(code)?, location });
    }
    if let Some(path) = fields.text("replace")? {
        return Ok(Fault::Replace { path, bytes: other_object(origin, fields)? });
    }
    if let Some(path) = fields.text("replace_after")? {
        return Ok(Fault::ReplaceAfter { path, bytes: other_object(origin, fields)? });
    }
    if let Some(headers) = fields.headers("headers")? {
        return Ok(Fault::Headers(headers));
    }
    if fields.flag("gzip")? == Some(true) {
        return Ok(Fault::Gzip);
    }
    for (name, make) in COUNTED {
        if let Some(number) = fields.number(name)? {
            return Ok(make(number));
        }
    }
    Err("an object without any fault".to_owned())
}

/// A final status; hyper sends no other.
fn status(code: u64) -> Result<u16, String> {
    let code = u16::try_from(code).ok().filter(|code| (200..1000).contains(code));
    code.ok_or_else(|| "a status is from 200 to 999".to_owned())
}

fn other_object(origin: &Origin, fields: &mut Fields) -> Result<Bytes, String> {
    let path = fields.needed_text("with")?;
    origin.object(&path).ok_or_else(|| format!("there is no object at {path:?}"))
}
