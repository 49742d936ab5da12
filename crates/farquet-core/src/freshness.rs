//! How long an answer may be used without asking again: by the caller's choice, or by HTTP's rules (RFC 9111).

use std::time::Duration;

use http::{HeaderMap, header};

/// What makes a file that was seen in an earlier query good for a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Freshness {
    /// The server said so after the query began.
    #[default]
    Validate,
    /// As `Validate`, but not before the time that the server's `Cache-Control` or `Expires` gave (RFC 9111 §4.2) is over.
    Http,
    /// The caller's promise that the file is never rewritten.
    Immutable,
}

/// What the headers of an answer allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetime {
    /// `no-store` forbids to keep it, where HTTP's rules are followed.
    pub storable: bool,
    /// From the moment of the answer. Never guessed: without a header that tells it, it is zero.
    pub fresh_for: Duration,
}

impl Lifetime {
    /// Reads `Cache-Control`, `Expires`, `Date` and `Age`. `immutable` (RFC 8246) only adds to a lifetime that is given.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let directives = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
        let (mut storable, mut no_cache, mut max_age) = (true, false, None);
        for directive in directives.flat_map(|line| line.split(',')) {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "no-store" => storable = false,
                "no-cache" => no_cache = true,
                "max-age" => max_age = max_age.or_else(|| seconds(value.trim().trim_matches('"'))),
                _ => {}
            }
        }
        let date = |name| text(name).and_then(|text| httpdate::parse_http_date(text.trim()).ok());
        let given = max_age.or_else(|| date(header::EXPIRES)?.duration_since(date(header::DATE)?).ok());
        let age = text(header::AGE).and_then(|age| seconds(age.trim())).unwrap_or_default();
        let fresh_for =
            if no_cache || !storable { Duration::ZERO } else { given.unwrap_or_default().saturating_sub(age) };
        Self { storable, fresh_for }
    }
}

/// Numbers too large for a second count are very long (RFC 9111 §1.2.2).
fn seconds(text: &str) -> Option<Duration> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(text.parse::<u32>().unwrap_or(u32::MAX).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifetime(pairs: &[(&'static str, &str)]) -> (bool, u64) {
        let headers: HeaderMap =
            pairs.iter().map(|(k, v)| (k.parse().expect("a name"), v.parse().expect("a value"))).collect();
        let lifetime = Lifetime::of(&headers);
        (lifetime.storable, lifetime.fresh_for.as_secs())
    }

    #[test]
    fn lifetimes_are_given_and_never_guessed() {
        assert_eq!(lifetime(&[]), (true, 0));
        assert_eq!(lifetime(&[("last-modified", "Mon, 01 Jan 2001 00:00:00 GMT")]), (true, 0), "no heuristics");
        assert_eq!(lifetime(&[("cache-control", "public, max-age=60"), ("age", "20")]), (true, 40));
        assert_eq!(lifetime(&[("cache-control", "max-age=60"), ("age", "90")]), (true, 0));
        assert_eq!(lifetime(&[("cache-control", "max-age=31536000, immutable")]), (true, 31_536_000));
        assert_eq!(lifetime(&[("cache-control", "immutable")]), (true, 0));
        assert_eq!(lifetime(&[("cache-control", "no-cache, max-age=60")]), (true, 0));
        assert_eq!(lifetime(&[("cache-control", "max-age=60, No-Store")]), (false, 0));
        assert_eq!(lifetime(&[("cache-control", "max-age=99999999999999999999")]).1, u64::from(u32::MAX));
        let (date, later) = ("Mon, 01 Jan 2001 00:00:00 GMT", "Mon, 01 Jan 2001 00:01:00 GMT");
        assert_eq!(lifetime(&[("date", date), ("expires", later)]), (true, 60));
        assert_eq!(lifetime(&[("date", later), ("expires", date)]), (true, 0));
        assert_eq!(lifetime(&[("date", date), ("expires", "0")]), (true, 0));
    }
}
