//! Rules that say which requests get which fault.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Method;
use serde_json::Value;

use super::fault::fault;
use super::fields::Fields;
use crate::fault::Fault;
use crate::log::Seen;
use crate::origin::{Origin, wire_path};

pub(super) struct Rule {
    path: Option<Pattern>,
    method: Option<Method>,
    range: Option<bool>,
    numbers: Range<u64>,
    fits: AtomicU64,
    fault: Fault,
}

enum Pattern {
    Exact(String),
    Prefix(String),
}

/// The rules of a script, from its JSON.
pub(super) fn rules(origin: &Origin, json: &[u8]) -> Result<Vec<Rule>, String> {
    match serde_json::from_slice(json).map_err(|error| error.to_string())? {
        Value::Array(rules) => rules.into_iter().map(|rule| Rule::of(origin, Fields::of(rule)?)).collect(),
        other => Err(format!("a script is an array of rules, not {other}")),
    }
}

/// The fault of the first rule that holds. All rules count.
pub(super) fn decide(rules: &[Rule], seen: &Seen) -> Option<Fault> {
    let mut decided = None;
    for rule in rules {
        if rule.fits(seen) && rule.numbers.contains(&rule.fits.fetch_add(1, Ordering::SeqCst)) {
            decided = decided.or(Some(&rule.fault));
        }
    }
    decided.cloned()
}

impl Rule {
    fn of(origin: &Origin, mut fields: Fields) -> Result<Self, String> {
        let path = fields.text("path")?.map(|path| match path.strip_suffix('*') {
            Some(prefix) => Pattern::Prefix(wire_path(prefix)),
            None => Pattern::Exact(wire_path(&path)),
        });
        let method = fields.text("method")?.map(|name| name.parse().map_err(|_| format!("{name:?} is not a method")));
        let numbers = fields.number("from")?.unwrap_or(0)..fields.number("to")?.unwrap_or(u64::MAX);
        if numbers.is_empty() {
            return Err(format!("no number is from {} on and below {}", numbers.start, numbers.end));
        }
        let rule = Self {
            path,
            method: method.transpose()?,
            range: fields.flag("range")?,
            numbers,
            fits: AtomicU64::new(0),
            fault: fault(origin, fields.take("fault").ok_or("a rule has a \"fault\"")?)?,
        };
        fields.end()?;
        Ok(rule)
    }

    fn fits(&self, seen: &Seen) -> bool {
        let path = match &self.path {
            Some(Pattern::Exact(path)) => seen.path == *path,
            Some(Pattern::Prefix(prefix)) => seen.path.starts_with(prefix),
            None => true,
        };
        let method = match &self.method {
            Some(method) => seen.method == *method,
            None => seen.method != Method::OPTIONS,
        };
        path && method && self.range.is_none_or(|range| range == seen.range.is_some())
    }
}
