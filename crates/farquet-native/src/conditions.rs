//! What of a file a request asks for: preconditions and ranges (RFC 9110 §13 and §14), as a function of its headers.

use std::ops::Range;

use http::{HeaderMap, HeaderName, Method, header};

/// The file as it is now.
pub(crate) struct Representation<'a> {
    pub(crate) etag: &'a str,
    pub(crate) last_modified: Option<&'a str>,
    pub(crate) size: u64,
}

/// What to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// 200.
    Whole,
    /// 206 with these bytes; never empty.
    Part(Range<u64>),
    /// 304.
    NotModified,
    /// 412.
    PreconditionFailed,
    /// 416.
    NotSatisfiable,
}

/// In the order of RFC 9110 §13.2.2. Conditions on dates alone are not evaluated: there always is an entity tag.
pub(crate) fn select(method: &Method, headers: &HeaderMap, file: &Representation<'_>) -> Selection {
    // Strong comparison: what is listed with `W/` never matches.
    if headers.contains_key(header::IF_MATCH) && !lists(headers, header::IF_MATCH, |tag| tag == file.etag) {
        return Selection::PreconditionFailed;
    }
    let weakly_same = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag) == file.etag;
    if lists(headers, header::IF_NONE_MATCH, weakly_same) {
        return Selection::NotModified;
    }
    let if_range_holds = headers.get(header::IF_RANGE).is_none_or(|value| {
        let value = value.as_bytes().trim_ascii();
        value == file.etag.as_bytes() || Some(value) == file.last_modified.map(str::as_bytes)
    });
    // Ranges are for GET alone, and what is not understood is ignored (§14.2).
    match headers.get(header::RANGE).and_then(|value| value.to_str().ok()).and_then(parse_range) {
        Some(asked) if *method == Method::GET && if_range_holds => asked.within(file.size),
        _ => Selection::Whole,
    }
}

fn lists(headers: &HeaderMap, name: HeaderName, matches: impl Fn(&str) -> bool) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    // A tag of somebody else's may have a comma in it and fall apart here; its pieces match nothing of ours.
    values.flat_map(|value| value.split(',')).map(str::trim).any(|tag| tag == "*" || matches(tag))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// First and last byte, both included.
    Bounded(u64, u64),
    From(u64),
    Suffix(u64),
}

impl Asked {
    fn within(self, size: u64) -> Selection {
        let (start, end) = match self {
            Self::Bounded(first, last) => (first, last.saturating_add(1).min(size)),
            Self::From(first) => (first, size),
            Self::Suffix(0) => return Selection::NotSatisfiable,
            // Satisfiable, says §14.1.2, but `Content-Range` has no way to write it.
            Self::Suffix(_) if size == 0 => return Selection::Whole,
            Self::Suffix(length) => (size.saturating_sub(length), size),
        };
        if start < end { Selection::Part(start..end) } else { Selection::NotSatisfiable }
    }
}

/// One range of bytes. `None` for several, for other units, and for what is no range at all.
fn parse_range(value: &str) -> Option<Asked> {
    let (unit, range) = value.split_once('=')?;
    let (first, last) = range.trim().split_once('-')?;
    let asked = match (first.trim(), last.trim()) {
        ("", length) => Asked::Suffix(parse_number(length)?),
        (first, "") => Asked::From(parse_number(first)?),
        (first, last) => Asked::Bounded(parse_number(first)?, parse_number(last)?),
    };
    let is_backwards = matches!(asked, Asked::Bounded(first, last) if last < first);
    (unit.trim().eq_ignore_ascii_case("bytes") && !is_backwards).then_some(asked)
}

/// Digits only; a number too large for any file is as good as the largest.
fn parse_number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Representation<'static> =
        Representation { etag: "\"a-1\"", last_modified: Some("Mon, 01 Jan 2024 00:00:00 GMT"), size: 100 };

    fn selected(headers: &[(HeaderName, &'static str)]) -> Selection {
        let headers = headers.iter().map(|(name, value)| (name.clone(), http::HeaderValue::from_static(value)));
        select(&Method::GET, &headers.collect(), &FILE)
    }

    #[test]
    fn ranges_are_cut_at_the_end() {
        for (range, expected) in [
            ("bytes=0-9", Selection::Part(0..10)),
            ("bytes=90-1000", Selection::Part(90..100)),
            ("bytes=99-", Selection::Part(99..100)),
            ("bytes=-10", Selection::Part(90..100)),
            ("bytes=-1000", Selection::Part(0..100)),
            ("Bytes = 0-0", Selection::Part(0..1)),
            ("bytes=0-99999999999999999999999", Selection::Part(0..100)),
            ("bytes=100-", Selection::NotSatisfiable),
            ("bytes=99999999999999999999999-", Selection::NotSatisfiable),
            ("bytes=-0", Selection::NotSatisfiable),
        ] {
            assert_eq!(selected(&[(header::RANGE, range)]), expected, "{range}");
        }
    }

    #[test]
    fn what_is_no_single_range_is_ignored() {
        for range in ["bytes=0-1,5-6", "bytes=5-1", "bytes=-", "bytes=a-b", "lines=0-1", "bytes", "bytes=+1-2", ""] {
            assert_eq!(selected(&[(header::RANGE, range)]), Selection::Whole, "{range}");
        }
        let headers = HeaderMap::from_iter([(header::RANGE, http::HeaderValue::from_static("bytes=0-1"))]);
        assert_eq!(select(&Method::HEAD, &headers, &FILE), Selection::Whole);
    }

    #[test]
    fn an_empty_file_has_no_ranges() {
        assert_eq!(Asked::Suffix(8).within(0), Selection::Whole);
        assert_eq!(Asked::From(0).within(0), Selection::NotSatisfiable);
        assert_eq!(Asked::Bounded(0, 9).within(0), Selection::NotSatisfiable);
    }

    #[test]
    fn preconditions_come_before_ranges() {
        let range = (header::RANGE, "bytes=0-9");
        for (condition, expected) in [
            ((header::IF_MATCH, "\"a-1\""), Selection::Part(0..10)),
            ((header::IF_MATCH, "\"x\", \"a-1\""), Selection::Part(0..10)),
            ((header::IF_MATCH, "*"), Selection::Part(0..10)),
            ((header::IF_MATCH, "\"x\""), Selection::PreconditionFailed),
            ((header::IF_MATCH, "W/\"a-1\""), Selection::PreconditionFailed),
            ((header::IF_NONE_MATCH, "\"a-1\""), Selection::NotModified),
            ((header::IF_NONE_MATCH, "W/\"a-1\""), Selection::NotModified),
            ((header::IF_NONE_MATCH, "*"), Selection::NotModified),
            ((header::IF_NONE_MATCH, "\"x\""), Selection::Part(0..10)),
            ((header::IF_RANGE, "\"a-1\""), Selection::Part(0..10)),
            ((header::IF_RANGE, "Mon, 01 Jan 2024 00:00:00 GMT"), Selection::Part(0..10)),
            ((header::IF_RANGE, "\"x\""), Selection::Whole),
            ((header::IF_RANGE, "W/\"a-1\""), Selection::Whole),
        ] {
            assert_eq!(selected(&[condition.clone(), range.clone()]), expected, "{condition:?}");
        }
    }

    #[test]
    fn if_match_is_looked_at_first() {
        let both = [(header::IF_MATCH, "\"x\""), (header::IF_NONE_MATCH, "\"a-1\"")];
        assert_eq!(selected(&both), Selection::PreconditionFailed);
    }
}
