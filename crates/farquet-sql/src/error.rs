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
    // The engine quotes the statement, and with it secrets in URLs.
    let message = redact_text(&error.find_root().strip_backtrace());
    let (message, hint) = match message.split_once("Did you mean") {
        Some((message, meant)) => (message.trim_end().trim_end_matches('.'), Some(format!("did you mean{meant}"))),
        None => (message.as_str(), None),
    };
    let error = Error::new(ErrorKind::Query, one_line(message));
    match hint {
        Some(hint) => error.hint(one_line(&hint)),
        None => error,
    }
}

/// Errors are one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
