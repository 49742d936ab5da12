//! Every response is distrusted: what an answer's head says, against what was asked.
//!
//! Pure functions of a request and a head. They decide which bytes the body holds and how many may be read; they neither
//! read nor retry.

use std::ops::Range;

use http::{HeaderMap, StatusCode, header};

use crate::error::{Error, ErrorKind, Result};
use crate::range::{ContentRange, RangeSpec};
use crate::validator::Version;

/// What the body of an answer is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Bytes of the object, to be read.
    Body(BodyPart),
    /// The range lies outside of the object, whose size may be told.
    NotSatisfiable { total: Option<u64> },
    /// The whole object where a range was asked, and more than may be read.
    WholeTooLarge { total: Option<u64> },
    /// The object is still the one named by `If-None-Match`.
    NotModified,
    /// The object is no longer the one named by `If-Match`.
    Changed,
}

/// Which bytes a body holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BodyPart {
    /// Where the body begins in the object; `None` if that depends on a total that is not visible.
    pub offset: Option<u64>,
    /// The exact length, where it is known.
    pub length: Option<u64>,
    /// The most that may be read: one byte more is an error (or, for a whole body, proof of a larger file).
    pub limit: u64,
    /// The object's size, where it is known.
    pub total: Option<u64>,
    /// Whether the body is the whole object.
    pub whole: bool,
}

/// What a GET asked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked<'a> {
    /// `None`: everything, up to `bound` bytes.
    pub range: Option<&'a RangeSpec>,
    /// The most that is read of a whole object.
    pub bound: u64,
    /// `If-Match` was sent.
    pub matching: bool,
    /// `If-None-Match` was sent.
    pub changed: bool,
    /// A coding of a whole object was undone on the way.
    pub decoded: bool,
}

/// Reads the head of an answer to a GET.
pub(crate) fn judge(asked: Asked<'_>, status: StatusCode, headers: &HeaderMap) -> Result<Verdict> {
    let Asked { range, bound, .. } = asked;
    match status {
        StatusCode::PARTIAL_CONTENT => {
            refuse_coding(headers)?;
            let Some(range) = range else {
                return Err(bad("a partial answer (206) to a request without a range"));
            };
            partial(range, headers).map(Verdict::Body)
        }
        StatusCode::OK if asked.decoded && range.is_none() => Ok(decoded(bound, headers)),
        StatusCode::OK => {
            refuse_coding(headers)?;
            whole(range, bound, headers)
        }
        StatusCode::RANGE_NOT_SATISFIABLE if range.is_some() => {
            Ok(Verdict::NotSatisfiable { total: content_range(headers).and_then(|range| range.total) })
        }
        StatusCode::NOT_MODIFIED if asked.changed => Ok(Verdict::NotModified),
        StatusCode::NOT_MODIFIED => Err(bad("304 (not modified) to a request that named no validator")),
        StatusCode::PRECONDITION_FAILED if asked.matching => Ok(Verdict::Changed),
        _ => Err(status_error(status)),
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadResponse, format!("the server sent {}", message.into()))
}

/// Nothing decodes a content coding here: offsets in a coded body mean nothing.
fn refuse_coding(headers: &HeaderMap) -> Result<()> {
    match headers.get(header::CONTENT_ENCODING).map(|coding| coding.to_str().unwrap_or("unreadable")) {
        None | Some("identity" | "") => Ok(()),
        Some(coding) => Err(bad(format!("content coding {coding} although only identity was accepted"))
            .hint("the file has to be served without compression; a proxy or CDN in between may add it")),
    }
}

fn content_range(headers: &HeaderMap) -> Option<ContentRange> {
    ContentRange::parse(headers.get(header::CONTENT_RANGE)?.to_str().ok()?)
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn partial(asked: &RangeSpec, headers: &HeaderMap) -> Result<BodyPart> {
    if headers.contains_key(header::CONTENT_RANGE) && content_range(headers).is_none() {
        return Err(bad("a Content-Range that cannot be read"));
    }
    let Some(sent) = content_range(headers) else {
        // Not visible, as in a browser without Access-Control-Expose-Headers: only the length can be checked.
        let offset = match asked {
            RangeSpec::Bounded(range) => Some(range.start),
            RangeSpec::Suffix(_) => None,
        };
        return Ok(BodyPart { offset, length: None, limit: asked.length(), total: None, whole: false });
    };
    let Some(range) = sent.range else {
        return Err(bad("206 with a Content-Range that names no range"));
    };
    let (expected, total) = match asked {
        RangeSpec::Bounded(wanted) => {
            // A range from the beginning that ends before it was to end does so where the object ends.
            let all = (wanted.start == 0 && range.end < wanted.end).then_some(range.end);
            let total = sent.total.or(all);
            (wanted.start..total.map_or(range.end, |total| total.min(wanted.end)), total)
        }
        // A suffix ends where the object ends, so the range tells the size even where the total is `*`.
        RangeSpec::Suffix(n) => {
            let total = sent.total.unwrap_or(range.end);
            (total.saturating_sub(*n)..total, Some(total))
        }
    };
    let short_of_end = sent.total.is_none() && matches!(asked, RangeSpec::Bounded(wanted) if range.end > wanted.end);
    if range != expected || short_of_end {
        return Err(bad(format!("{} although {asked} was asked", show(&range))));
    }
    let length = range.end - range.start;
    if let Some(claimed) = content_length(headers)
        && claimed != length
    {
        return Err(bad(format!("a body of {claimed} bytes for a range of {length}")));
    }
    let whole = range.start == 0 && total == Some(range.end);
    Ok(BodyPart { offset: Some(range.start), length: Some(length), limit: length, total, whole })
}

fn show(range: &Range<u64>) -> String {
    format!("bytes {}-{}", range.start, range.end - 1)
}

/// 200 to a range has three meanings: the range was the whole object, the server ignores ranges, or the object is made
/// on the fly. Only the length tells them apart.
fn whole(range: Option<&RangeSpec>, bound: u64, headers: &HeaderMap) -> Result<Verdict> {
    if let Some(sent) = content_range(headers)
        && let Some(part) = &sent.range
        && (part.start != 0 || sent.total.is_some_and(|total| total != part.end))
    {
        return Err(bad(format!("200 with {}, which is a part of the file", show(part))));
    }
    let total = content_length(headers);
    let allowed = range.map_or(bound, |range| range.length().max(bound));
    if total.is_some_and(|total| total > allowed) {
        return Ok(Verdict::WholeTooLarge { total });
    }
    Ok(Verdict::Body(BodyPart { offset: Some(0), length: total, limit: allowed, total, whole: true }))
}

/// The whole object, whose coding may have been undone: only the stream tells its length. One that is announced as too long, and
/// not visibly coded, is not begun.
fn decoded(bound: u64, headers: &HeaderMap) -> Verdict {
    match content_length(headers).filter(|length| *length > bound && refuse_coding(headers).is_ok()) {
        Some(total) => Verdict::WholeTooLarge { total: Some(total) },
        None => Verdict::Body(BodyPart { offset: Some(0), length: None, limit: bound, total: None, whole: true }),
    }
}

/// The object's size, from the head of an answer to a HEAD of everything as a range.
pub(crate) fn size(status: StatusCode, headers: &HeaderMap) -> Result<Option<u64>> {
    match status {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => {
            refuse_coding(headers)?;
            Ok(content_range(headers).and_then(|range| range.total).or_else(|| content_length(headers)))
        }
        StatusCode::RANGE_NOT_SATISFIABLE => Ok(content_range(headers).and_then(|range| range.total)),
        _ => Err(status_error(status)),
    }
}

/// What a status that is no answer means to the caller.
pub(crate) fn status_error(status: StatusCode) -> Error {
    let kind = match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => ErrorKind::NotFound,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            ErrorKind::Access
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => ErrorKind::RateLimited,
        _ => ErrorKind::Status,
    };
    Error::new(kind, format!("the server answered {status}")).status(status)
}

/// Statuses after which the same request may succeed.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// Statuses by which a server may refuse the form of a request rather than the object.
pub(crate) fn refuses_form(status: u16) -> bool {
    matches!(status, 400 | 405 | 416 | 501)
}

/// The version that an answer is about.
pub(crate) fn version(headers: &HeaderMap, total: Option<u64>) -> Version {
    Version { size: total, ..Version::from_headers(headers) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: u64 = 100;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse().expect("a name"), v.parse().expect("a value"))).collect()
    }

    fn partial(asked: &RangeSpec, pairs: &[(&'static str, &str)]) -> Result<Verdict> {
        judge(
            Asked { range: Some(asked), bound: BOUND, ..Asked::default() },
            StatusCode::PARTIAL_CONTENT,
            &headers(pairs),
        )
    }

    fn kind(result: Result<Verdict>) -> ErrorKind {
        result.expect_err("an error").kind()
    }

    #[test]
    fn a_suffix_tells_the_size() {
        let body = |offset, total| {
            Verdict::Body(BodyPart {
                offset: Some(offset),
                length: Some(total - offset),
                limit: total - offset,
                total: Some(total),
                whole: offset == 0,
            })
        };
        assert_eq!(partial(&RangeSpec::Suffix(10), &[("content-range", "bytes 90-99/100")]).ok(), Some(body(90, 100)));
        assert_eq!(partial(&RangeSpec::Suffix(10), &[("content-range", "bytes 90-99/*")]).ok(), Some(body(90, 100)));
        assert_eq!(partial(&RangeSpec::Suffix(500), &[("content-range", "bytes 0-99/100")]).ok(), Some(body(0, 100)));
        for other in ["bytes 80-99/100", "bytes 90-98/100", "bytes 0-9/100"] {
            assert_eq!(
                kind(partial(&RangeSpec::Suffix(10), &[("content-range", other)])),
                ErrorKind::BadResponse,
                "{other}"
            );
        }
    }

    #[test]
    fn another_range_than_asked_is_refused() {
        for other in ["bytes 0-9/100", "bytes 10-18/100", "bytes 11-19/100", "bytes 10-20/100", "bytes 10-20/*", "what"]
        {
            let result = partial(&RangeSpec::Bounded(10..20), &[("content-range", other)]);
            assert_eq!(kind(result), ErrorKind::BadResponse, "{other}");
        }
        let pairs = [("content-range", "bytes 10-19/100"), ("content-length", "9")];
        assert_eq!(kind(partial(&RangeSpec::Bounded(10..20), &pairs)), ErrorKind::BadResponse);
        let pairs = [("content-range", "bytes 10-19/100"), ("content-encoding", "gzip")];
        assert_eq!(kind(partial(&RangeSpec::Bounded(10..20), &pairs)), ErrorKind::BadResponse);
    }

    #[test]
    fn a_range_past_the_end_may_be_cut_there() {
        let verdict = partial(&RangeSpec::Bounded(10..200), &[("content-range", "bytes 10-99/100")]);
        let part = BodyPart { offset: Some(10), length: Some(90), limit: 90, total: Some(100), whole: false };
        assert_eq!(verdict.ok(), Some(Verdict::Body(part)));
        let part = |total| BodyPart { offset: Some(0), length: Some(100), limit: 100, total, whole: total.is_some() };
        for (end, total) in [(200, Some(100)), (100, None)] {
            let verdict = partial(&RangeSpec::Bounded(0..end), &[("content-range", "bytes 0-99/*")]);
            assert_eq!(verdict.ok(), Some(Verdict::Body(part(total))), "{end}");
        }
    }

    #[test]
    fn two_hundred_to_a_range() {
        let ask = RangeSpec::Bounded(10..20);
        let asked = Asked { range: Some(&ask), bound: BOUND, ..Asked::default() };
        let ok = |pairs: &[_]| judge(asked, StatusCode::OK, &headers(pairs));
        let part = BodyPart { offset: Some(0), length: Some(80), limit: BOUND, total: Some(80), whole: true };
        assert_eq!(ok(&[("content-length", "80")]).ok(), Some(Verdict::Body(part)));
        let large = Verdict::WholeTooLarge { total: Some(101) };
        assert_eq!(ok(&[("content-length", "101")]).ok(), Some(large));
        assert!(ok(&[("content-range", "bytes 0-79/80"), ("content-length", "80")]).is_ok());
        assert_eq!(kind(ok(&[("content-range", "bytes 10-19/80")])), ErrorKind::BadResponse);
    }

    #[test]
    fn a_length_that_may_be_of_a_coded_body_only_bounds() {
        let asked = Asked { bound: BOUND, decoded: true, ..Asked::default() };
        let ok = |pairs: &[_]| judge(asked, StatusCode::OK, &headers(pairs)).ok();
        let stream = BodyPart { offset: Some(0), length: None, limit: BOUND, total: None, whole: true };
        assert_eq!(ok(&[("content-length", "80")]), Some(Verdict::Body(stream)));
        assert_eq!(ok(&[("content-length", "101")]), Some(Verdict::WholeTooLarge { total: Some(101) }));
        let coded = [("content-length", "101"), ("content-encoding", "gzip")];
        assert!(matches!(ok(&coded), Some(Verdict::Body(_))), "what is announced is not the object's length");
        let ranged = Asked { range: Some(&RangeSpec::Bounded(0..10)), ..asked };
        assert_eq!(kind(judge(ranged, StatusCode::PARTIAL_CONTENT, &headers(&coded))), ErrorKind::BadResponse);
    }

    #[test]
    fn a_head_of_everything_tells_the_size() {
        let told = |status, pairs: &[_]| size(status, &headers(pairs)).ok().flatten();
        let hidden = [("content-length", "80")];
        assert_eq!(told(StatusCode::PARTIAL_CONTENT, &hidden), Some(80));
        assert_eq!(told(StatusCode::OK, &hidden), Some(80));
        assert_eq!(told(StatusCode::RANGE_NOT_SATISFIABLE, &[("content-range", "bytes */0")]), Some(0));
        assert_eq!(told(StatusCode::FORBIDDEN, &hidden), None);
        assert_eq!(told(StatusCode::OK, &[("content-length", "80"), ("content-encoding", "gzip")]), None);
    }

    #[test]
    fn conditional_answers_only_to_conditions() {
        let ask = |named, status| {
            let asked = Asked { bound: BOUND, matching: named, changed: named, ..Asked::default() };
            judge(asked, status, &HeaderMap::new())
        };
        assert_eq!(ask(true, StatusCode::NOT_MODIFIED).ok(), Some(Verdict::NotModified));
        assert_eq!(kind(ask(false, StatusCode::NOT_MODIFIED)), ErrorKind::BadResponse);
        assert_eq!(ask(true, StatusCode::PRECONDITION_FAILED).ok(), Some(Verdict::Changed));
        assert_eq!(kind(ask(false, StatusCode::PARTIAL_CONTENT)), ErrorKind::BadResponse);
        assert_eq!(kind(ask(false, StatusCode::GONE)), ErrorKind::NotFound);
    }
}
