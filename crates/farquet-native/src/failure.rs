//! From reqwest's errors to the seam's kinds.
//!
//! Messages name the origin and never the path or the query: query strings carry signatures. The text of the innermost
//! cause is kept, since it is the one that says what happened.

use std::error::Error;
use std::io;
use std::time::Duration;

use farquet_core::fetch::{FetchError, FetchErrorKind};
use url::Url;

/// What is known about the exchange when it fails.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// Scheme, host and port, for the message.
    pub(crate) origin: String,
    pub(crate) idle_timeout: Duration,
    pub(crate) has_system_roots: bool,
}

impl Exchange {
    pub(crate) fn new(url: &Url, idle_timeout: Duration, has_system_roots: bool) -> Self {
        Self { origin: origin_text(url), idle_timeout, has_system_roots }
    }

    /// Nothing arrived for the time allowed.
    pub(crate) fn silent(&self, part: &str) -> FetchError {
        let (wait, origin) = (self.idle_timeout, &self.origin);
        FetchError::new(FetchErrorKind::Timeout, format!("no {part} from {origin} for {wait:?}"))
    }

    /// No head arrived because of `error`.
    pub(crate) fn before_head(&self, error: &reqwest::Error) -> FetchError {
        let cause = innermost_text(error);
        let origin = &self.origin;
        let (kind, mut message) = if error.is_builder() {
            (FetchErrorKind::Request, format!("request to {origin} could not be made: {cause}"))
        } else if error.is_connect() && error.is_timeout() {
            (FetchErrorKind::Timeout, format!("no connection to {origin} in time: {cause}"))
        } else if error.is_connect() && is_tls(error) {
            (FetchErrorKind::Tls, format!("no secure connection to {origin}: {cause}"))
        } else if error.is_connect() {
            (FetchErrorKind::Connect, format!("no connection to {origin}: {cause}"))
        } else if error.is_timeout() {
            (FetchErrorKind::Timeout, format!("no answer from {origin} in time: {cause}"))
        } else {
            (FetchErrorKind::Interrupted, format!("connection to {origin} broke before the answer: {cause}"))
        };
        if kind == FetchErrorKind::Tls && !self.has_system_roots {
            message.push_str("; hint: this system has no root certificates, name a file of them in SSL_CERT_FILE");
        }
        FetchError::new(kind, message)
    }

    /// The body ended early because of `error`.
    pub(crate) fn within_body(&self, error: &reqwest::Error) -> FetchError {
        let (cause, origin) = (innermost_text(error), &self.origin);
        let kind = if error.is_timeout() { FetchErrorKind::Timeout } else { FetchErrorKind::Interrupted };
        FetchError::new(kind, format!("body from {origin} broke off: {cause}"))
    }
}

/// Scheme, host and port: what may be printed of any URL.
pub(crate) fn origin_text(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'a (dyn Error + 'static) = *error;
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            // An I/O error's `source()` skips the error that it wraps, and TLS errors are wrapped just so.
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    })
}

fn is_tls(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(<dyn Error>::is::<rustls::Error>)
}

/// The text of the innermost cause, begun in lower case as it stands in the middle of a sentence.
fn innermost_text(error: &reqwest::Error) -> String {
    // The outermost error alone prints its URL, so its own text is used only when there is nothing below it.
    let text = match causes(error).skip(1).last() {
        Some(cause) => cause.to_string(),
        None if error.is_timeout() => "operation timed out".to_owned(),
        None => "no further cause known".to_owned(),
    };
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        // An abbreviation keeps its capitals.
        (Some(first), Some(second)) if first.is_uppercase() && !second.is_uppercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tls_error_is_found_within_an_io_error() {
        let wrapped = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::HandshakeNotComplete);
        assert!(is_tls(&wrapped));
        assert!(!is_tls(&io::Error::from(io::ErrorKind::ConnectionRefused)));
    }

    #[test]
    fn an_origin_has_no_path_query_or_user() {
        let url = Url::parse("https://user:secret@example.com/a?sig=secret").expect("a URL");
        assert_eq!(origin_text(&url), "https://example.com");
    }
}
