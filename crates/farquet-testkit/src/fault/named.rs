//! Faults by name, for command lines.

use std::time::Duration;

use super::Fault;

/// The names that [`Fault::named`] knows.
pub const NAMES: &[&str] = &[
    "ignore-range",
    "full-with-content-range",
    "other-range",
    "total-unknown",
    "short-body",
    "close",
    "long-body",
    "gzip",
    "gzip-label",
    "chunked",
    "reset",
    "abort",
    "slow",
    "hang",
    "stall",
    "no-validator",
    "weak-etag",
    "not-modified",
    "html",
    "forbidden",
    "not-found",
    "too-many-requests",
    "unavailable",
];

impl Fault {
    /// A fault with plain settings by its name in [`NAMES`]. Bodies are cut after 100 bytes.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ignore-range" => Self::IgnoreRange,
            "full-with-content-range" => Self::FullWithContentRange,
            "other-range" => Self::OtherRange,
            "total-unknown" => Self::TotalUnknown,
            "short-body" => Self::ShortBody(100),
            "close" => Self::CloseAfter(100),
            "long-body" => Self::LongBody(100),
            "gzip" => Self::Gzip,
            "gzip-label" => Self::GzipLabel,
            "chunked" => Self::Chunked,
            "reset" => Self::ResetAfter(100),
            "abort" => Self::Abort,
            "slow" => Self::Delay(Duration::from_secs(2)),
            "hang" => Self::Hang,
            "stall" => Self::Stall(100),
            "no-validator" => Self::without_headers(&["etag", "last-modified"]),
            "weak-etag" => Self::set_header("etag", "W/\"1\""),
            "not-modified" => Self::NotModified,
            "html" => Self::html(200, "<html><body>please log in</body></html>"),
            "forbidden" => Self::status(403),
            "not-found" => Self::status(404),
            "too-many-requests" => Self::retry_after(429, "1"),
            "unavailable" => Self::retry_after(503, "1"),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_known() {
        for name in NAMES {
            assert!(Fault::named(name).is_some(), "{name}");
        }
        assert!(Fault::named("no-such-fault").is_none());
    }
}
