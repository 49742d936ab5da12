//! `Range` headers, RFC 9110 section 14.

use std::ops::Range;

/// What a `Range` header means for an object of a certain length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// No range, or one that a server may ignore: several ranges, another unit, not well-formed.
    Everything,
    /// A part of the object, not empty.
    Part(Range<u64>),
    /// A range that the object does not have.
    Unsatisfiable,
}

/// Reads `bytes=N-M`, `bytes=N-` and `bytes=-N`.
pub(crate) fn resolve(header: &str, len: u64) -> Asked {
    parse(header, len).unwrap_or(Asked::Everything)
}

fn parse(header: &str, len: u64) -> Option<Asked> {
    let (first, last) = header.trim().strip_prefix("bytes=")?.trim().split_once('-')?;
    if first.is_empty() {
        let suffix: u64 = last.parse().ok()?;
        return Some(part(len.saturating_sub(suffix)..len));
    }
    let start: u64 = first.parse().ok()?;
    if last.is_empty() {
        return Some(part(start..len));
    }
    let last: u64 = last.parse().ok()?;
    (start <= last).then(|| part(start..last.saturating_add(1).min(len)))
}

fn part(range: Range<u64>) -> Asked {
    if range.is_empty() { Asked::Unsatisfiable } else { Asked::Part(range) }
}

/// Another range than `asked`, for [`crate::Fault::OtherRange`].
pub(crate) fn other(asked: Range<u64>, len: u64) -> Range<u64> {
    if asked.start > 0 {
        asked.start - 1..asked.end - 1
    } else if asked.end < len {
        1..asked.end + 1
    } else if len > 1 {
        1..len
    } else {
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_ranges() {
        assert_eq!(resolve("bytes=0-0", 10), Asked::Part(0..1));
        assert_eq!(resolve("bytes=2-5", 10), Asked::Part(2..6));
        assert_eq!(resolve("bytes=2-50", 10), Asked::Part(2..10));
        assert_eq!(resolve("bytes=2-", 10), Asked::Part(2..10));
        assert_eq!(resolve("bytes=-3", 10), Asked::Part(7..10));
        assert_eq!(resolve("bytes=-30", 10), Asked::Part(0..10));
        assert_eq!(resolve("bytes=0-18446744073709551615", 10), Asked::Part(0..10));
    }

    #[test]
    fn beyond_the_end() {
        assert_eq!(resolve("bytes=10-", 10), Asked::Unsatisfiable);
        assert_eq!(resolve("bytes=10-20", 10), Asked::Unsatisfiable);
        assert_eq!(resolve("bytes=-0", 10), Asked::Unsatisfiable);
        assert_eq!(resolve("bytes=0-0", 0), Asked::Unsatisfiable);
    }

    #[test]
    fn ignored() {
        for header in ["bytes=0-1,4-5", "bytes=5-2", "lines=0-1", "bytes=a-b", "bytes", "bytes=-", "bytes=+1-2,"] {
            assert_eq!(resolve(header, 10), Asked::Everything, "{header}");
        }
    }

    #[test]
    fn the_other_range_differs() {
        assert_eq!(other(4..6, 10), 3..5);
        assert_eq!(other(0..6, 10), 1..7);
        assert_eq!(other(0..10, 10), 1..10);
    }
}
