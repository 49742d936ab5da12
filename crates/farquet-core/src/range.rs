//! Byte ranges: half-open and `u64` everywhere, HTTP text (RFC 9110 §14) only here.

use std::ops::Range;

use http::HeaderValue;

/// What part of an object is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeSpec {
    /// The last `n` bytes; `n` is not zero.
    Suffix(u64),
    /// These bytes; the range is not empty.
    Bounded(Range<u64>),
}

impl RangeSpec {
    /// How many bytes are asked for.
    pub fn length(&self) -> u64 {
        match self {
            Self::Suffix(n) => *n,
            Self::Bounded(range) => range.end - range.start,
        }
    }

    /// The value of a `Range` header.
    pub fn header(&self) -> HeaderValue {
        let text = self.to_string();
        HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("bytes=0-0"))
    }
}

impl std::fmt::Display for RangeSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Suffix(n) => write!(f, "bytes=-{n}"),
            Self::Bounded(range) => write!(f, "bytes={}-{}", range.start, range.end.saturating_sub(1)),
        }
    }
}

/// A `Content-Range` header (RFC 9110 §14.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentRange {
    /// The part sent; none in an answer of 416.
    pub range: Option<Range<u64>>,
    /// The size of the whole object, unless it was sent as `*`.
    pub total: Option<u64>,
}

impl ContentRange {
    /// Reads `bytes 0-9/100`, `bytes 0-9/*` and `bytes */100`; anything else is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let (range, total) = text.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
        let total = match total.trim() {
            "*" => None,
            digits => Some(digits.parse().ok()?),
        };
        let range = match range.trim() {
            "*" => None,
            range => {
                let (first, last) = range.split_once('-')?;
                let (first, last) = (first.trim().parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?);
                let end = last.checked_add(1)?;
                if first >= end || total.is_some_and(|total| end > total) {
                    return None;
                }
                Some(first..end)
            }
        };
        Some(Self { range, total })
    }
}

/// Merges ranges whose gaps are at most `gap` bytes into ranges of at most `largest` bytes.
///
/// The result is sorted and covers every input range. A single range longer than `largest` is split, so that no request
/// is longer.
pub fn coalesce(ranges: &[Range<u64>], gap: u64, largest: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<_> = ranges.iter().filter(|range| range.start < range.end).cloned().collect();
    sorted.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last)
                if range.start <= last.end.saturating_add(gap)
                    && (range.end.max(last.end) - last.start <= largest || range.start < last.end) =>
            {
                last.end = last.end.max(range.end);
            }
            _ => merged.push(range),
        }
    }
    merged.into_iter().flat_map(|range| split(range, largest.max(1))).collect()
}

/// Pieces of nearly equal length, each at most `largest`.
fn split(range: Range<u64>, largest: u64) -> impl Iterator<Item = Range<u64>> {
    let length = range.end - range.start;
    let pieces = length.div_ceil(largest).max(1);
    let size = length.div_ceil(pieces);
    (0..pieces).map(move |piece| {
        let start = range.start + piece * size;
        start..(start + size).min(range.end)
    })
}

/// The parts of `wanted` that none of `held` covers.
pub fn subtract(wanted: &Range<u64>, held: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut missing = vec![wanted.clone()];
    for have in held {
        missing = missing
            .into_iter()
            .flat_map(|range| {
                let before = range.start..have.start.min(range.end);
                let after = have.end.max(range.start)..range.end;
                if have.start >= range.end || have.end <= range.start { [range, 0..0] } else { [before, after] }
            })
            .filter(|range| range.start < range.end)
            .collect();
    }
    missing
}

/// What decides between requests and bytes.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Seconds to a first byte.
    pub latency: f64,
    /// Bytes per second, all transfers together.
    pub bandwidth: f64,
    /// Requests that may be in flight together.
    pub parallel: usize,
    /// The longest single request, in bytes.
    pub largest: u64,
}

/// Gaps that are tried when ranges are merged. The smallest costs less than the headers of another request nearly everywhere.
const GAPS: [u64; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// Bytes in gaps are paid by the user too: beyond the smallest gap at most this much, or a twentieth of what is needed.
const WASTE: u64 = 4 << 20;

impl Cost {
    /// Seconds for `requests` with `bytes` in their bodies: parallel requests share a round trip.
    pub fn seconds(&self, requests: usize, bytes: u64) -> f64 {
        requests.div_ceil(self.parallel.max(1)) as f64 * self.latency + bytes as f64 / self.bandwidth
    }

    /// Whether saving `bytes` is worth another hop. A hop is certain and a saving is an estimate, so it has to be twice as good.
    pub fn hop_pays(&self, bytes: f64) -> bool {
        bytes / self.bandwidth > 2.0 * self.latency
    }
}

/// The requests for `wanted`, the ranges of each of several files: merged so that they take the least time.
pub fn plan_requests(wanted: &[Vec<Range<u64>>], cost: &Cost) -> Vec<Vec<Range<u64>>> {
    let length = |files: &[Vec<Range<u64>>]| files.iter().flatten().map(|range| range.end - range.start).sum::<u64>();
    let merged = |gap| -> Vec<_> { wanted.iter().map(|ranges| coalesce(ranges, gap, cost.largest)).collect() };
    let needed = length(&merged(0));
    let mut best = merged(GAPS[0]);
    for gap in &GAPS[1..] {
        let plan = merged(*gap);
        let bytes = length(&plan);
        let seconds = |plan: &[Vec<_>]| cost.seconds(plan.iter().map(Vec::len).sum(), length(plan));
        if bytes - needed <= WASTE.max(needed / 20) && seconds(&plan) < seconds(&best) {
            best = plan;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_http_text() {
        assert_eq!(RangeSpec::Bounded(0..10).header(), "bytes=0-9");
        assert_eq!(RangeSpec::Suffix(8).header(), "bytes=-8");
    }

    #[test]
    fn content_range() {
        let parse = ContentRange::parse;
        assert_eq!(parse("bytes 0-9/100"), Some(ContentRange { range: Some(0..10), total: Some(100) }));
        assert_eq!(parse("bytes 5-9/*"), Some(ContentRange { range: Some(5..10), total: None }));
        assert_eq!(parse("bytes */7"), Some(ContentRange { range: None, total: Some(7) }));
        for wrong in
            ["bytes 9-0/100", "bytes 0-99/50", "items 0-9/10", "bytes 0-9", "bytes 0-18446744073709551615/*", ""]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn coalescing_follows_gap_and_limit() {
        assert_eq!(coalesce(&[20..30, 0..10], 10, 100), [0..30]);
        assert_eq!(coalesce(&[20..30, 0..10], 9, 100), [0..10, 20..30]);
        assert_eq!(coalesce(&[0..60, 60..120], 0, 100), [0..60, 60..120]);
        assert_eq!(coalesce(&[0..60, 30..120], 0, 100), [0..60, 60..120], "overlapping ranges are fetched once");
        assert_eq!(coalesce(&[0..250], 0, 100), [0..84, 84..168, 168..250]);
        assert_eq!(coalesce(&[5..5], 0, 100), [] as [Range<u64>; 0]);
    }

    #[test]
    fn requests_are_merged_where_that_saves_time() {
        let cost = Cost { latency: 0.1, bandwidth: 100e6, parallel: 8, largest: 16 << 20 };
        let scattered = |n: u64, length: u64, gap: u64| -> Vec<_> {
            (0..n).map(|i| i * (length + gap)..i * (length + gap) + length).collect()
        };
        let count = |files: &[Vec<Range<u64>>]| plan_requests(files, &cost).iter().map(Vec::len).sum::<usize>();
        assert_eq!(count(&[scattered(8, 1000, 100_000)]), 8, "one wave: nothing to gain");
        assert_eq!(count(&[scattered(32, 1000, 100_000)]), 1, "four waves, or 3 MB of gaps");
        assert_eq!(count(&[scattered(32, 1000, 300_000)]), 32, "10 MB of gaps are too many");
        assert_eq!(count(&[scattered(4, 1000, 60_000), scattered(4, 1000, 60_000)]), 2, "small gaps go anyway");
    }

    #[test]
    fn what_is_held_is_not_asked_again() {
        assert_eq!(subtract(&(0..100), &[]), [0..100]);
        assert_eq!(subtract(&(0..100), &[40..60]), [0..40, 60..100]);
        assert_eq!(subtract(&(0..100), &[0..10, 90..200]), [10..90]);
        assert_eq!(subtract(&(50..60), &[0..100]), [] as [Range<u64>; 0]);
    }
}
