//! An answer held against the version that a query has pinned.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::exchange::{Answer, Received};
use crate::validator::Version;

/// `answer` if it is `range` of the version `pinned`; every other answer is its own error.
pub(crate) fn expect_same(answer: Answer, pinned: &Version, range: &Range<u64>, shown: &str) -> Result<Box<Received>> {
    match answer {
        Answer::Bytes(got) if pinned.differs_from(&got.version) => Err(changed(pinned, &got.version).at(shown)),
        Answer::Bytes(mut got) => {
            let start = got.offset.unwrap_or(range.start);
            let cut = |at: u64| at.checked_sub(start).and_then(|at| usize::try_from(at).ok());
            match (cut(range.start), cut(range.end)) {
                // A whole small body may come instead of its part.
                (Some(from), Some(to)) if to <= got.bytes.len() => {
                    got.bytes = got.bytes.slice(from..to);
                    Ok(got)
                }
                _ => {
                    let message =
                        format!("the server sent {} bytes from {start} instead of {range:?}", got.bytes.len());
                    // Where the answer does not tell what it is, the file may have become shorter since.
                    let kind = if got.total.is_none() { ErrorKind::SourceChanged } else { ErrorKind::BadResponse };
                    Err(Error::new(kind, message).at(shown))
                }
            }
        }
        Answer::NotSatisfiable { total, .. } => {
            Err(changed(pinned, &Version { size: total, ..Version::default() }).at(shown))
        }
        Answer::Changed { version } => Err(changed(pinned, &version).at(shown)),
        Answer::NotModified { .. } | Answer::HeadRefused => {
            Err(Error::new(ErrorKind::BadResponse, "the server sent no bytes where some were asked").at(shown))
        }
        Answer::WholeTooLarge { total, .. } if total.is_some() && total != pinned.size => {
            Err(changed(pinned, &Version { size: total, ..Version::default() }).at(shown))
        }
        Answer::WholeTooLarge { total, .. } => Err(ignores_ranges(total).at(shown)),
    }
}

pub(crate) fn ignores_ranges(total: Option<u64>) -> Error {
    let size = total.map_or_else(|| "of unknown size".to_owned(), |total| format!("of {total} bytes"));
    let message = format!("the server ignores range requests and sends the whole file, {size}");
    Error::new(ErrorKind::RangeIgnored, message)
        .hint("download the file and query it locally, or use a server with ranges")
}

pub(crate) fn changed(before: &Version, after: &Version) -> Error {
    let message = format!("the file changed while it was read: {before}, then {after}");
    Error::new(ErrorKind::SourceChanged, message)
}
