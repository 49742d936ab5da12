//! The fields of a JSON object or of a query string, each taken once, so that a misspelt one is an error.

use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use url::form_urlencoded;

/// As [`Fault::Headers`](crate::Fault::Headers) has them.
type Headers = Vec<(String, Option<String>)>;

pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub(super) fn of(value: Value) -> Result<Self, String> {
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            other => Err(format!("this is not an object: {other}")),
        }
    }

    pub(super) fn of_query(query: &str) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes());
        Self(pairs.map(|(name, value)| (name.into_owned(), Value::String(value.into_owned()))).collect())
    }

    /// Whether no field is left.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Null counts as left out.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    fn taken<T>(&mut self, name: &str, kind: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, String> {
        let read = |value| read(&value).ok_or_else(|| format!("{name:?} is not {kind}: {value}"));
        self.take(name).map(read).transpose()
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        self.taken(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn needed_text(&mut self, name: &str) -> Result<String, String> {
        self.text(name)?.ok_or_else(|| format!("{name:?} is missing"))
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, String> {
        self.taken(name, "a whole number", Value::as_u64)
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, String> {
        self.taken(name, "true or false", Value::as_bool)
    }

    /// A switch of a query string: `name=1`, or nothing.
    pub(super) fn switch(&mut self, name: &str) -> Result<bool, String> {
        let set = self.taken(name, "1", |value| (value.as_str() == Some("1")).then_some(true))?;
        Ok(set.unwrap_or(false))
    }

    /// Header names and values; null stays null.
    pub(super) fn headers(&mut self, name: &str) -> Result<Option<Headers>, String> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let mut headers = Vec::new();
        for (name, value) in Self::of(value)?.0 {
            HeaderName::from_bytes(name.as_bytes()).map_err(|error| format!("{name:?}: {error}"))?;
            let value = match value {
                Value::Null => None,
                Value::String(text) => Some(header_value(text)?),
                other => return Err(format!("the header {name:?} is not a string or null: {other}")),
            };
            headers.push((name, value));
        }
        Ok(Some(headers))
    }

    pub(super) fn end(self) -> Result<(), String> {
        match self.0.into_iter().next() {
            Some((name, _)) => Err(format!("{name:?} is not known here")),
            None => Ok(()),
        }
    }
}

/// `text`, if it may be the value of a header.
pub(super) fn header_value(text: String) -> Result<String, String> {
    match HeaderValue::from_str(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(format!("{text:?}: {error}")),
    }
}
