//! What can go wrong on the way to a file, one variant each.
//!
//! A fault changes one answer. The `T…` numbers are the rows of the fault matrix. Where the wire form depends on the
//! HTTP version, the variant says so.

mod named;
mod plan;

use std::time::Duration;

use bytes::Bytes;

pub use self::named::NAMES;
pub(crate) use self::plan::{Answer, Coding, Cut, Length, Plan, RangeMode};

/// A deviation of one answer. See [`crate::Origin::script`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// Another answer altogether (T01, T02, T17, T19, T22, T26): status, headers and body as they are given.
    /// `Content-Length` is added.
    Status {
        /// The status code.
        code: u16,
        /// Headers of the answer; the object's own are not sent.
        headers: Vec<(String, String)>,
        /// The body.
        body: Bytes,
    },
    /// 200 with the whole object, whatever range was asked for (T03, T04, T11).
    IgnoreRange,
    /// 200 with the whole object, and `Content-Range` of the whole object beside it (T05).
    FullWithContentRange,
    /// 206 for another range than the one asked for, and `Content-Range` tells it honestly (T06). The range has the
    /// same length and begins one byte earlier, or one later where it began at 0; at the object's end it is shorter.
    OtherRange,
    /// 206 whose `Content-Range` is `bytes a-b/*` (T07).
    TotalUnknown,
    /// Headers of the right answer, but no `Content-Length`, and the body ends cleanly after this many bytes (T08).
    ShortBody(u64),
    /// Headers of the right answer with its `Content-Length`, and the connection is closed in order after this many
    /// bytes (T08, T20). In HTTP/2 the stream is reset.
    CloseAfter(u64),
    /// This many bytes more than `Content-Range` says, and no `Content-Length` (T09). The bytes are zeros.
    LongBody(u64),
    /// The body really compressed, with `Content-Encoding: gzip`; `Content-Range` speaks of the plain bytes (T10).
    Gzip,
    /// `Content-Encoding: gzip` over plain bytes (T10).
    GzipLabel,
    /// No `Content-Length`: chunked coding in HTTP/1.1 (T12).
    Chunked,
    /// The connection is reset after this many body bytes (T20): TCP RST. In HTTP/2 the stream is reset.
    ResetAfter(u64),
    /// The connection is reset before any byte of the answer. In HTTP/2 all streams of the connection break.
    Abort,
    /// Waits before the first byte of the answer (T24), in addition to the origin's own latency.
    Delay(Duration),
    /// Waits until this many requests have been in flight at one time since the log was last cleared. Proves
    /// concurrency without any assumption on speed; a client that sends fewer at a time waits for ever.
    Gather(usize),
    /// Never answers (T01).
    Hang,
    /// Sends the head and this many body bytes and then nothing.
    Stall(u64),
    /// A redirect; the location is sent as it is given (T21).
    Redirect {
        /// 301, 302, 303, 307 or 308.
        code: u16,
        /// The `Location` header.
        location: String,
    },
    /// Sets response headers, or removes them where the value is none (T02, T14, T15, T16, T30).
    Headers(Vec<(String, Option<String>)>),
    /// Replaces the object at a path as [`crate::Origin::put`] does, then answers with what is there now (T13, T17).
    Replace {
        /// The path of the object, which may be another one than the request's.
        path: String,
        /// Its new bytes.
        bytes: Bytes,
    },
    /// Answers with the object as it is and then replaces it, so that the next request sees the new one (T13).
    ReplaceAfter {
        /// The path of the object, which may be another one than the request's.
        path: String,
        /// Its new bytes.
        bytes: Bytes,
    },
    /// 304, though nobody asked on a condition (T18).
    NotModified,
    /// Several faults on one answer, for example a delay and a status. Of two that contradict each other the later
    /// one holds; delays add up.
    Then(Vec<Fault>),
}

impl Fault {
    /// A status with an empty body.
    pub fn status(code: u16) -> Self {
        Self::Status { code, headers: Vec::new(), body: Bytes::new() }
    }

    /// A status with `Retry-After` as it is given: seconds or an HTTP date (T19).
    pub fn retry_after(code: u16, value: impl Into<String>) -> Self {
        Self::Status { code, headers: vec![("retry-after".to_owned(), value.into())], body: Bytes::new() }
    }

    /// An HTML page, as gateways and portals send it (T26 with status 200).
    pub fn html(code: u16, page: impl Into<Bytes>) -> Self {
        let headers = vec![("content-type".to_owned(), "text/html; charset=utf-8".to_owned())];
        Self::Status { code, headers, body: page.into() }
    }

    /// A redirect.
    pub fn redirect(code: u16, location: impl Into<String>) -> Self {
        Self::Redirect { code, location: location.into() }
    }

    /// One response header with another value.
    pub fn set_header(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::Headers(vec![(name.into(), Some(value.into()))])
    }

    /// Response headers left out.
    pub fn without_headers(names: &[&str]) -> Self {
        Self::Headers(names.iter().map(|name| ((*name).to_owned(), None)).collect())
    }

    /// This fault and another one on the same answer.
    #[must_use]
    pub fn then(self, other: Self) -> Self {
        match self {
            Self::Then(mut all) => {
                all.push(other);
                Self::Then(all)
            }
            one => Self::Then(vec![one, other]),
        }
    }
}
