//! Pieces of a file in memory, and finding a range in them.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// Pieces of one version of a file, by offset.
#[derive(Debug, Clone, Default)]
pub struct Segments(Vec<(u64, Bytes)>);

impl Segments {
    /// Adds the bytes that begin at `offset`.
    pub fn push(&mut self, offset: u64, bytes: Bytes) {
        if !bytes.is_empty() {
            let at = self.0.partition_point(|(start, _)| *start < offset);
            self.0.insert(at, (offset, bytes));
        }
    }

    /// Adds all pieces of `other`.
    pub fn extend(&mut self, other: Self) {
        for (offset, bytes) in other.0 {
            self.push(offset, bytes);
        }
    }

    /// The ranges that are held, sorted.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        self.0.iter().map(|(offset, bytes)| *offset..*offset + bytes.len() as u64).collect()
    }

    /// Bytes held.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes of `range`, if all of them are held; copied only where they lie in several pieces.
    pub fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        if range.start >= range.end {
            return Some(Bytes::new());
        }
        let mut joined = BytesMut::new();
        let mut at = range.start;
        for (offset, bytes) in &self.0 {
            let end = offset + bytes.len() as u64;
            if *offset > at {
                return None;
            }
            if end <= at {
                continue;
            }
            let from = usize::try_from(at - offset).ok()?;
            let to = usize::try_from(end.min(range.end) - offset).ok()?;
            if at == range.start && end >= range.end {
                return Some(bytes.slice(from..to));
            }
            joined.extend_from_slice(&bytes[from..to]);
            at = offset + to as u64;
            if at == range.end {
                return Some(joined.freeze());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_found_within_and_across_pieces() {
        let mut held = Segments::default();
        held.push(10, Bytes::from_static(b"klmno"));
        held.push(0, Bytes::from_static(b"abcde"));
        held.push(5, Bytes::from_static(b"fghij"));
        assert_eq!(held.get(&(1..4)).as_deref(), Some(&b"bcd"[..]));
        assert_eq!(held.get(&(3..12)).as_deref(), Some(&b"defghijkl"[..]));
        assert_eq!(held.get(&(12..16)), None);
        assert_eq!(held.get(&(7..7)).as_deref(), Some(&b""[..]));
        held.push(20, Bytes::from_static(b"u"));
        assert_eq!(held.get(&(14..21)), None, "a hole");
    }
}
