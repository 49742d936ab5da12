//! Opening one file: the fewest requests from a URL to its footer, on whatever server.
//!
//! Natively one suffix range: it needs no size and tells it. A server that refuses or misanswers suffix ranges is asked for
//! the file's beginning instead, whose answer tells the size, and that is remembered for its origin. HEAD is never sent.

use bytes::{Bytes, BytesMut};
use url::Url;

use crate::client::{QueryContext, SMALL_FILE};
use crate::error::{Error, ErrorKind, Result};
use crate::exchange::{Answer, Ask, Received, exchange};
use crate::footer::{self, FOOTER};
use crate::judge;
use crate::range::RangeSpec;
use crate::redact::display_url;
use crate::stats::Cause;
use crate::validator::Version;

/// What opening a file yields: its end, up to and including its metadata.
#[derive(Debug)]
pub(crate) struct Opened {
    pub version: Version,
    pub size: u64,
    pub final_url: Url,
    /// Bytes from here to the end of the file.
    pub offset: u64,
    pub end: Bytes,
    pub metadata: parquet::file::metadata::ParquetMetaData,
    pub hop: u32,
}

/// Opens `url`, whose last `tail` bytes are asked for first if nothing better is known.
pub(crate) async fn open(query: &QueryContext, url: &Url, tail: u64) -> Result<Opened> {
    let opener = Opener { query, url, shown: display_url(url), tail };
    let end = opener.end_of_file().await?;
    opener.metadata(end).await
}

struct Opener<'a> {
    query: &'a QueryContext,
    url: &'a Url,
    shown: String,
    tail: u64,
}

/// The end of a file whose size is known.
struct End {
    got: Box<Received>,
    offset: u64,
    size: u64,
}

impl Opener<'_> {
    async fn ask(&self, range: RangeSpec, cause: Cause, hop: u32) -> Result<Answer> {
        let ask = Ask { url: self.url, range: Some(range), bound: SMALL_FILE, if_match: None, cause, hop };
        exchange(self.query, ask).await
    }

    /// Asks for the end in the way that this origin answers.
    async fn end_of_file(&self) -> Result<End> {
        let client = &self.query.client;
        let origin = client.origins.of(self.url);
        match client.hints.size(self.url) {
            Some(size) if size <= SMALL_FILE => self.whole(size).await,
            _ if client.capabilities.suffix_ranges && !origin.suffix_refused() => self.suffix().await,
            Some(size) => self.bounded(size, 1).await,
            None => self.beginning(1).await,
        }
    }

    /// A small file as a whole: one byte more than its bound is asked for, so that a shorter body is known to be complete.
    async fn whole(&self, size: u64) -> Result<End> {
        match self.ask(RangeSpec::Bounded(0..SMALL_FILE + 1), Cause::Body, 1).await? {
            Answer::Bytes(got) => match end(got) {
                Ok(end) => Ok(end),
                // It has grown: its size is known now.
                Err(got) => match got.total {
                    Some(total) => self.bounded(total, got.hop + 1).await,
                    None => self.beginning(got.hop + 1).await,
                },
            },
            other => {
                self.query.client.hints.forget_size(self.url);
                self.refused(other, size)
            }
        }
    }

    async fn suffix(&self) -> Result<End> {
        let origin = self.query.client.origins.of(self.url);
        let hop = match self.ask(RangeSpec::Suffix(self.tail), Cause::Footer, 1).await {
            Ok(Answer::Bytes(got)) => match end(got) {
                Ok(end) => return Ok(end),
                Err(got) => got.hop,
            },
            Ok(Answer::NotSatisfiable { total: Some(0), .. }) => return Err(self.empty()),
            Ok(
                Answer::WholeTooLarge { total: Some(total), hop } | Answer::NotSatisfiable { total: Some(total), hop },
            ) => {
                origin.refuse_suffix();
                return self.bounded(total, hop + 1).await;
            }
            Ok(Answer::WholeTooLarge { total: None, hop } | Answer::NotSatisfiable { total: None, hop }) => hop,
            Ok(other @ Answer::Changed { .. }) => return self.refused(other, 0),
            Err(error) if refuses_form(&error) => 1,
            Err(error) => return Err(error),
        };
        origin.refuse_suffix();
        self.beginning(hop + 1).await
    }

    /// The file's beginning, for its size; enough for a small file.
    async fn beginning(&self, hop: u32) -> Result<End> {
        match self.ask(RangeSpec::Bounded(0..self.tail), Cause::Footer, hop).await? {
            Answer::Bytes(got) => match end(got) {
                Ok(end) => Ok(end),
                Err(got) => match got.total {
                    Some(total) => self.bounded(total, got.hop + 1).await,
                    None => Err(Error::new(
                        ErrorKind::BadResponse,
                        "the server tells the file's size neither for a range from its end nor for one from its beginning",
                    )
                    .at(&self.shown)),
                },
            },
            other => self.refused(other, 0),
        }
    }

    /// The end of a file of known size.
    async fn bounded(&self, size: u64, hop: u32) -> Result<End> {
        let range = RangeSpec::Bounded(size.saturating_sub(self.tail)..size.max(1));
        match self.ask(range, Cause::Footer, hop).await? {
            Answer::Bytes(got) => end(got).map_err(|got| {
                // The known size was wrong: somebody writes to this file. The next attempt is not to begin with it.
                self.query.client.hints.forget_size(self.url);
                let found = got.total.map_or_else(|| "an unknown size".to_owned(), |total| total.to_string());
                let message = format!("the file changed while it was opened: {size} bytes, then {found}");
                Error::new(ErrorKind::SourceChanged, message).at(&self.shown)
            }),
            other => {
                self.query.client.hints.forget_size(self.url);
                self.refused(other, size)
            }
        }
    }

    fn empty(&self) -> Error {
        Error::new(ErrorKind::NotParquet, "the file is empty").at(&self.shown)
    }

    fn refused<T>(&self, answer: Answer, expected: u64) -> Result<T> {
        Err(match answer {
            Answer::NotSatisfiable { total: Some(0), .. } => self.empty(),
            Answer::NotSatisfiable { total, .. } => {
                let found = total.map_or_else(|| "another size".to_owned(), |total| format!("{total} bytes"));
                let message = format!("the file changed while it was opened: {expected} bytes, then {found}");
                Error::new(ErrorKind::SourceChanged, message).at(&self.shown)
            }
            Answer::WholeTooLarge { total, .. } => ignores_ranges(total).at(&self.shown),
            Answer::Changed { version } => changed(&Version::default(), &version).at(&self.shown),
            Answer::Bytes(_) => Error::new(ErrorKind::BadResponse, "the server sent another part").at(&self.shown),
        })
    }

    /// Decodes the metadata, after one more request if the end is too short for it.
    async fn metadata(&self, end: End) -> Result<Opened> {
        let End { got, mut offset, size } = end;
        let Received { bytes: mut tail, version, final_url, content_type, mut hop, .. } = *got;
        if size == 0 {
            return Err(self.empty());
        }
        let last = tail.len().checked_sub(8).and_then(|at| tail[at..].try_into().ok());
        let Some(last) = last else {
            let message = format!("{size} bytes are too few for a Parquet file");
            let error = Error::new(ErrorKind::NotParquet, message);
            return Err(footer::not_parquet(&tail, content_type.as_deref(), error).at(&self.shown));
        };
        let range = footer::metadata_range(last, size, self.query.client.settings.largest_footer).map_err(|error| {
            // What a small body begins with tells what it is; a tail does not.
            let error = if offset == 0 { footer::not_parquet(&tail, content_type.as_deref(), error) } else { error };
            error.at(&self.shown)
        })?;
        let version = Version { size: Some(size), ..version };
        if range.start < offset {
            let missing = range.start..offset;
            let ask = Ask {
                url: self.url,
                range: Some(RangeSpec::Bounded(missing.clone())),
                bound: 0,
                if_match: version.strong_etag().filter(|_| self.query.client.capabilities.conditional_headers),
                cause: Cause::Footer,
                hop: hop + 1,
            };
            let more = expect_same(exchange(self.query, ask).await?, &version, &missing, &self.shown)?;
            hop = more.hop;
            let mut whole = BytesMut::with_capacity(more.bytes.len() + tail.len());
            whole.extend_from_slice(&more.bytes);
            whole.extend_from_slice(&tail);
            (tail, offset) = (whole.freeze(), range.start);
        }
        let metadata = footer::decode(&tail, offset, size).map_err(|error| error.at(&self.shown))?;
        let index = footer::page_index_range(&metadata, size);
        let needed = size - range.start + index.as_ref().map_or(0, |index| worth_having(range.start, index));
        self.query.client.hints.learn(self.url, size, needed.max(FOOTER));
        let metadata = match index {
            Some(index) if index.start >= offset => footer::with_page_index(metadata, &tail, offset, size),
            _ => metadata,
        };
        self.query.stats.opened(metadata.num_row_groups() as u64);
        Ok(Opened { version, size, final_url, offset, end: tail, metadata, hop })
    }
}

/// `got`, if it is the end of the file.
fn end(got: Box<Received>) -> Result<End, Box<Received>> {
    match (got.offset, got.total) {
        (Some(offset), Some(size)) if offset + got.bytes.len() as u64 == size => Ok(End { got, offset, size }),
        _ => Err(got),
    }
}

/// Whether an answer refused the form of the request, so that another may do.
fn refuses_form(error: &Error) -> bool {
    error.kind() == ErrorKind::BadResponse || error.http_status().is_some_and(judge::refuses_form)
}

/// A page index just before its footer is worth a longer tail if it is not large.
fn worth_having(footer_start: u64, index: &std::ops::Range<u64>) -> u64 {
    let length = footer_start.saturating_sub(index.start);
    if index.end <= footer_start && length <= 128 << 10 { length } else { 0 }
}

/// `answer` if it is `range` of the version `pinned`; every other answer is its own error.
pub(crate) fn expect_same(
    answer: Answer,
    pinned: &Version,
    range: &std::ops::Range<u64>,
    shown: &str,
) -> Result<Box<Received>> {
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
                    Err(Error::new(ErrorKind::BadResponse, message).at(shown))
                }
            }
        }
        Answer::NotSatisfiable { total, .. } => {
            Err(changed(pinned, &Version { size: total, ..Version::default() }).at(shown))
        }
        Answer::Changed { version } => Err(changed(pinned, &version).at(shown)),
        Answer::WholeTooLarge { total, .. } if total.is_some() && total != pinned.size => {
            Err(changed(pinned, &Version { size: total, ..Version::default() }).at(shown))
        }
        Answer::WholeTooLarge { total, .. } => Err(ignores_ranges(total).at(shown)),
    }
}

fn ignores_ranges(total: Option<u64>) -> Error {
    let size = total.map_or_else(|| "of unknown size".to_owned(), |total| format!("of {total} bytes"));
    let message = format!("the server ignores range requests and sends the whole file, {size}");
    Error::new(ErrorKind::RangeIgnored, message)
        .hint("download the file and query it locally, or use a server with ranges")
}

fn changed(before: &Version, after: &Version) -> Error {
    let message = format!("the file changed while it was read: {before}, then {after}");
    Error::new(ErrorKind::SourceChanged, message)
}
