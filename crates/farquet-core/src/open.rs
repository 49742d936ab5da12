//! Opening one file: the fewest requests from a URL to its footer, on whatever server.
//!
//! Natively one suffix range: it needs no size and tells it. A server that refuses or misanswers suffix ranges is asked for
//! the file's beginning instead, whose answer tells the size, and that is remembered for its origin. HEAD is sent only where
//! headers may be hidden (`by_size`).

mod by_size;

use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use url::Url;

use crate::client::{QueryContext, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::exchange::{Answer, Ask, Received, exchange};
use crate::expect::{changed, expect_same, ignores_ranges};
use crate::footer::{self, FOOTER};
use crate::freshness::Lifetime;
use crate::hold::Held;
use crate::judge;
use crate::opened::Opened;
use crate::range::RangeSpec;
use crate::redact::display_url;
use crate::stats::Cause;
use crate::validator::Version;

/// How a file may be asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    /// Its last so many bytes are asked for first, if nothing better is known.
    pub tail: u64,
    /// In parts, even if it is small.
    pub ranged: bool,
    /// It may push others out of the cache.
    pub displaces: bool,
}

impl How {
    /// Whether a file of `size` bytes is asked for as a whole.
    pub(crate) fn may_come_whole(self, settings: &Settings, size: u64) -> bool {
        !self.ranged && settings.small_file_cache && size <= settings.small_file
    }
}

/// Opens `url`. Returns the file and the highest hop that it took.
pub(crate) async fn open(query: &QueryContext, url: &Url, how: How) -> Result<(Arc<Opened>, u32)> {
    let opener = Opener::new(query, url, how);
    let end = opener.end_of_file().await?;
    let (presumed, hop) = (end.presumed, end.got.hop);
    match opener.metadata(end).await {
        // No answer has shown the size: it was of another version, or of a coded body.
        Err(error) if presumed && matches!(error.kind(), ErrorKind::NotParquet | ErrorKind::Malformed) => {
            query.client.hints.forget_size(url);
            let end = opener.size_by_head(hop + 1).await?;
            opener.metadata(end).await
        }
        opened => opened,
    }
}

/// What became of a cached file.
#[derive(Debug)]
pub(crate) enum IfChanged {
    /// It is still the same, and may be used for so long.
    Same { opened: Arc<Opened>, lifetime: Lifetime, hop: u32 },
    /// It is another version.
    New(Arc<Opened>, u32),
}

/// Asks for what is cached of a file, all of it or its end, unless it is still the same.
///
/// An error says nothing about the cached bytes, which are then not to be used any more.
pub(crate) async fn open_if_changed(
    query: &QueryContext,
    url: &Url,
    cached: &Arc<Opened>,
    how: How,
) -> Result<IfChanged> {
    let opener = Opener::new(query, url, how);
    let range = if cached.is_complete() {
        opener.all_of_it()
    } else if opener.may_ask_for_suffix() {
        Some(RangeSpec::Suffix(how.tail))
    } else {
        Some(opener.end_of(cached.size))
    };
    let expects = cached.is_complete().then_some(cached.size);
    let ask = Ask { if_none_match: opener.condition(cached), expects, ..opener.ask_for(range, Cause::Validation, 1) };
    let end = match exchange(query, ask).await? {
        Answer::NotModified { lifetime, final_url, hop } => {
            return Ok(IfChanged::Same { opened: cached.found_at(final_url), lifetime, hop });
        }
        answer => opener.end_or_again(answer, cached.size).await?,
    };
    // The same bytes are the same file whatever the validators say, or where none is visible: what was decoded stays good.
    if end.offset == 0 && cached.is_complete() && end.got.bytes == cached.end {
        let Received { version, final_url, lifetime, hop, .. } = *end.got;
        let version = Version { size: Some(end.size), ..version };
        let opened = Arc::new(cached.brought_again(version, final_url, lifetime));
        return Ok(IfChanged::Same { opened, lifetime, hop });
    }
    let (opened, hop) = opener.metadata(end).await?;
    Ok(IfChanged::New(opened, hop))
}

/// Fails with `SourceChanged` unless `url` is still the cached version. Asks for one byte at most. Returns the hop, and how long
/// the answer may be used.
pub(crate) async fn prove(query: &QueryContext, url: &Url, cached: &Opened) -> Result<(u32, Lifetime)> {
    let opener = Opener::new(query, url, How { tail: FOOTER, ranged: true, displaces: false });
    let ask = Ask {
        if_none_match: opener.condition(cached),
        ..opener.ask_for(Some(RangeSpec::Bounded(0..1)), Cause::Validation, 1)
    };
    match exchange(query, ask).await? {
        Answer::NotModified { hop, lifetime, .. } => Ok((hop, lifetime)),
        answer => expect_same(answer, &cached.version, &(0..1), &opener.shown).map(|got| (got.hop, got.lifetime)),
    }
}

struct Opener<'a> {
    query: &'a QueryContext,
    url: &'a Url,
    shown: String,
    how: How,
}

/// The end of a file whose size is known.
struct End {
    got: Box<Received>,
    offset: u64,
    size: u64,
    /// Whether the size was only presumed, and this answer did not show it.
    presumed: bool,
}

impl<'a> Opener<'a> {
    fn new(query: &'a QueryContext, url: &'a Url, how: How) -> Self {
        Self { query, url, shown: display_url(url), how }
    }

    fn may_ask_for_suffix(&self) -> bool {
        let client = &self.query.client;
        client.capabilities.suffix_ranges && !client.origin(self.url).suffix_refused()
    }

    /// The tag that `cached` is asked about with.
    fn condition<'c>(&self, cached: &'c Opened) -> Option<&'c str> {
        cached.version.reusable().filter(|_| self.query.client.capabilities.conditional_headers)
    }

    /// A small file as a whole: where nothing else tells, one byte more than its bound, so that a shorter body is known to be
    /// complete.
    fn all_of_it(&self) -> Option<RangeSpec> {
        let client = &self.query.client;
        (!client.capabilities.http_cache).then(|| RangeSpec::Bounded(0..client.settings.small_file + 1))
    }

    /// The end of a file of `size` bytes.
    fn end_of(&self, size: u64) -> RangeSpec {
        RangeSpec::Bounded(size.saturating_sub(self.how.tail)..size.max(1))
    }

    fn ask_for(&self, range: Option<RangeSpec>, cause: Cause, hop: u32) -> Ask<'a> {
        Ask {
            url: self.url,
            head_only: false,
            range,
            bound: self.query.client.settings.small_file,
            if_match: None,
            if_none_match: None,
            expects: None,
            cause,
            hop,
        }
    }

    async fn ask(&self, range: RangeSpec, cause: Cause, hop: u32) -> Result<Answer> {
        exchange(self.query, self.ask_for(Some(range), cause, hop)).await
    }

    /// Asks for the end in the way that this origin answers.
    async fn end_of_file(&self) -> Result<End> {
        let client = &self.query.client;
        match client.hints.size(self.url) {
            Some(size) if self.how.may_come_whole(&client.settings, size) => self.whole(size).await,
            _ if self.may_ask_for_suffix() => self.suffix().await,
            Some(size) => self.end_or_again(self.ask(self.end_of(size), Cause::Footer, 1).await?, size).await,
            None => self.unknown(1).await,
        }
    }

    /// The end of the file, from an answer to a request that rests on a size of yesterday. If that was wrong, it is known now
    /// where the end is, or that nothing is known.
    async fn end_or_again(&self, answer: Answer, size: u64) -> Result<End> {
        let (total, hop) = match answer {
            Answer::Bytes(got) => match end(got, Some(size)) {
                Ok(end) => return Ok(end),
                Err(got) => (got.total, got.hop),
            },
            Answer::NotSatisfiable { total, hop } if total != Some(0) => (total, hop),
            // More than was asked of a body without a range.
            Answer::WholeTooLarge { total, hop, .. } if self.all_of_it().is_none() => (total, hop),
            other => {
                self.query.client.hints.forget_size(self.url);
                return self.refused(other, size);
            }
        };
        self.query.client.hints.forget_size(self.url);
        match total {
            Some(total) => self.bounded(total, hop + 1).await,
            None => self.unknown(hop + 1).await,
        }
    }

    async fn whole(&self, size: u64) -> Result<End> {
        let ask = Ask { expects: Some(size), ..self.ask_for(self.all_of_it(), Cause::Body, 1) };
        self.end_or_again(exchange(self.query, ask).await?, size).await
    }

    async fn suffix(&self) -> Result<End> {
        let origin = self.query.client.origin(self.url);
        let hop = match self.ask(RangeSpec::Suffix(self.how.tail), Cause::Footer, 1).await {
            Ok(Answer::Bytes(got)) => match end(got, None) {
                Ok(end) => return Ok(end),
                Err(got) => got.hop,
            },
            Ok(Answer::NotSatisfiable { total: Some(0), .. }) => return Err(self.empty()),
            Ok(
                Answer::WholeTooLarge { total: Some(total), hop, .. }
                | Answer::NotSatisfiable { total: Some(total), hop },
            ) => {
                origin.refuse_suffix();
                return self.bounded(total, hop + 1).await;
            }
            Ok(Answer::WholeTooLarge { total: None, hop, .. } | Answer::NotSatisfiable { total: None, hop }) => hop,
            Ok(other @ (Answer::Changed { .. } | Answer::NotModified { .. } | Answer::HeadRefused)) => {
                return self.refused(other, 0);
            }
            Err(error) if refuses_form(&error) => 1,
            Err(error) => return Err(error),
        };
        origin.refuse_suffix();
        self.beginning(hop + 1).await
    }

    /// The file's beginning, for its size; enough for a small file.
    async fn beginning(&self, hop: u32) -> Result<End> {
        match self.ask(RangeSpec::Bounded(0..self.how.tail), Cause::Footer, hop).await? {
            Answer::Bytes(got) => match end(got, None) {
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
        match self.ask(self.end_of(size), Cause::Footer, hop).await? {
            Answer::Bytes(got) => end(got, Some(size)).map_err(|got| {
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
            Answer::Bytes(_) | Answer::NotModified { .. } | Answer::HeadRefused => {
                Error::new(ErrorKind::BadResponse, "the server sent another part").at(&self.shown)
            }
        })
    }

    /// Decodes the metadata, after one more request if the end is too short for it.
    async fn metadata(&self, end: End) -> Result<(Arc<Opened>, u32)> {
        let End { got, mut offset, size, .. } = end;
        let Received { bytes: mut tail, version, final_url, content_type, lifetime, mut hop, .. } = *got;
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
                bound: 0,
                if_match: version.strong_etag().filter(|_| self.query.client.capabilities.conditional_headers),
                ..self.ask_for(Some(RangeSpec::Bounded(missing.clone())), Cause::Footer, hop + 1)
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
        // What is kept for long is not to hold the network's buffer, of which it may be a small part.
        let end = if offset == 0 { Bytes::copy_from_slice(&tail) } else { tail };
        let metadata = Mutex::new(Arc::new(metadata));
        Ok((Arc::new(Opened { version, size, final_url, offset, end, metadata, lifetime, held: Held::default() }), hop))
    }
}

/// `got`, if it is the end of the file, whose size may be `presumed` where no answer shows it.
fn end(got: Box<Received>, presumed: Option<u64>) -> Result<End, Box<Received>> {
    match (got.offset, got.total.or(presumed)) {
        (Some(offset), Some(size)) if offset + got.bytes.len() as u64 == size => {
            let presumed = got.total.is_none();
            Ok(End { got, offset, size, presumed })
        }
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
