//! One error type: what a caller can act on, where, why.

use std::fmt;
use std::sync::Arc;

use crate::fetch::{FetchError, FetchErrorKind};

/// What a caller can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A location that is no URL, or a pattern that cannot be expanded.
    Location,
    /// The exchange did not complete: connection, TLS, time, redirects.
    Network,
    /// The browser keeps the answer from the page, since the server does not allow other sites to read it.
    Cors,
    /// 404 or 410.
    NotFound,
    /// 401 or 403; also a signed link that has expired.
    Access,
    /// 429 or 503 until patience ran out.
    RateLimited,
    /// Another status that is no answer.
    Status,
    /// An answer that contradicts the request or itself: another range, a wrong length, a content coding.
    BadResponse,
    /// The origin sends whole files where ranges were asked, and the file is too large for that.
    RangeIgnored,
    /// The bytes are no Parquet file.
    NotParquet,
    /// A Parquet file whose metadata or data cannot be right.
    Malformed,
    /// A Parquet file that needs what is not built in, such as encryption.
    Unsupported,
    /// Files of one table whose schemas do not go together.
    Schema,
    /// The object changed while it was read.
    SourceChanged,
    /// The next request would exceed a limit of the caller's.
    Budget,
    /// The SQL: its syntax, names or types, or an operator that failed on the data.
    Query,
    /// The query needs more memory than it may have.
    Memory,
    /// A decoder gave up in a way that it should not have.
    Decoder,
}

/// An error of farquet's core. Cheap to clone, since several readers may wait for one request.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    url: Option<String>,
    status: Option<u16>,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The result of farquet's core.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// `message` is lower case, without full stop, and says what was expected and what was found.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner { kind, url: None, status: None, message: message.into(), hint: None, source: None }))
    }

    /// Names the URL that the error is about, in its form for display (`redact::display_url`).
    #[must_use]
    pub fn at(self, url: impl Into<String>) -> Self {
        self.change(|inner| inner.url = Some(url.into()))
    }

    /// Says what the user can do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.change(|inner| inner.hint = Some(hint.into()))
    }

    /// Keeps what caused it.
    #[must_use]
    pub fn caused_by(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.change(|inner| inner.source = Some(Box::new(source)))
    }

    /// The status that the server answered with.
    #[must_use]
    pub(crate) fn status(self, status: http::StatusCode) -> Self {
        self.change(|inner| inner.status = Some(status.as_u16()))
    }

    fn change(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::try_unwrap(self.0).unwrap_or_else(|shared| Inner {
            kind: shared.kind,
            url: shared.url.clone(),
            status: shared.status,
            message: shared.message.clone(),
            hint: shared.hint.clone(),
            source: None,
        });
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// An exchange that did not complete.
    pub(crate) fn from_fetch(error: FetchError, url: &str) -> Self {
        let hint = match error.kind() {
            FetchErrorKind::Tls => Some("the server's certificate is checked against the system's roots"),
            FetchErrorKind::Timeout => Some("a longer idle timeout may help"),
            FetchErrorKind::Cors => Some(
                "the server has to send 'Access-Control-Allow-Origin: *', and best also \
                 'Access-Control-Expose-Headers: ETag, Content-Range'",
            ),
            _ => None,
        };
        let kind = if error.kind() == FetchErrorKind::Cors { ErrorKind::Cors } else { ErrorKind::Network };
        let new = Self::new(kind, error.to_string()).at(url).caused_by(error);
        match hint {
            Some(hint) => new.hint(hint),
            None => new,
        }
    }

    /// What a caller can act on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The URL, without query string and user info.
    pub fn url(&self) -> Option<&str> {
        self.0.url.as_deref()
    }

    /// The HTTP status, where the error is an answer of the server.
    pub fn http_status(&self) -> Option<u16> {
        self.0.status
    }

    /// What can be done about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.url {
            Some(url) => write!(f, "{url}: {}", self.0.message),
            None => f.write_str(&self.0.message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
