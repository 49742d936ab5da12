//! Errors across the engine's border: one type on both sides.
//!
//! A core error travels through parquet, arrow and DataFusion as an external error and is found again at the edge, so that
//! its kind survives. What the engine says itself becomes a `Query` error.

use datafusion::error::DataFusionError;
use farquet_core::redact::redact_text;
use farquet_core::{Error, ErrorKind};

/// Wraps a core error for the engine.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Finds the core error in `error`, or says what the engine said.
pub(crate) fn from_engine(error: &DataFusionError) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if let Some(core) = at.downcast_ref::<Error>() {
            return core.clone();
        }
        cause = at.source();
    }
    if let DataFusionError::ResourcesExhausted(message) = error.find_root() {
        return Error::new(ErrorKind::Memory, in_house_style(&one_line(message)))
            .hint("fewer columns or groups need less; so does a filter");
    }
    // The engine quotes the statement, and with it secrets in URLs.
    let message = one_line(&redact_text(&error.find_root().strip_backtrace()));
    let (message, hint) = match message.split_once("Did you mean") {
        Some((message, meant)) => (message.to_owned(), Some(format!("did you mean{}", meant.trim_end_matches('.')))),
        None if message.contains("table '") && message.contains("not found") => {
            (message, Some("a file is named by its URL or path in quotes: FROM 'https://…'".to_owned()))
        }
        None => (message, None),
    };
    let error = Error::new(ErrorKind::Query, in_house_style(&message));
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// What the engine puts before its messages.
const PREFIXES: [&str; 8] = [
    "Error during planning: ",
    "Execution error: ",
    "Schema error: ",
    "SQL error: ",
    "Arrow error: ",
    "External error: ",
    "This feature is not implemented: ",
    "Internal error: ",
];

/// Lower case, no full stop, nothing before the matter itself.
fn in_house_style(message: &str) -> String {
    let mut message = message;
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| message.strip_prefix(prefix)) {
        message = rest;
    }
    let message = message.trim_end().trim_end_matches('.');
    let mut letters = message.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(message.chars().skip(1)).collect()
        }
        _ => message.to_owned(),
    }
}

/// Errors are one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_engine_are_in_house_style() {
        assert_eq!(in_house_style("Schema error: No field named nope."), "no field named nope");
        assert_eq!(in_house_style("Error during planning: SQL error: X"), "X");
        let error = from_engine(&DataFusionError::Plan("table 'a.b.trips' not found".to_owned()));
        assert_eq!((error.kind(), error.hint_text().is_some()), (ErrorKind::Query, true));
    }

    #[test]
    fn core_errors_survive_the_engine() {
        let inner = Error::new(ErrorKind::NotFound, "gone").at("https://h/x");
        let wrapped = parquet::errors::ParquetError::External(Box::new(inner));
        let wrapped = DataFusionError::from(wrapped).context("somewhere");
        assert_eq!(from_engine(&wrapped).kind(), ErrorKind::NotFound);
    }
}
