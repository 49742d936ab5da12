//! One logical request: sent under the origin's limits, checked, sent again where that is honest, counted.
//!
//! Dropping the future of an exchange cancels the request and settles every account.

use std::ops::Range;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::future::{Either, select};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use url::Url;

use crate::client::QueryContext;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{CacheMode, FetchBody, FetchError, FetchErrorKind, FetchRequest, FetchResponse};
use crate::freshness::Lifetime;
use crate::judge::{self, Asked, BodyPart, Verdict};
use crate::origin::Origin;
use crate::patience::{Again, Failure, jitter, turned_away};
use crate::range::RangeSpec;
use crate::redact::display_url;
use crate::stats::{Cause, RequestRecord};
use crate::validator::Version;

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) struct Ask<'a> {
    pub url: &'a Url,
    /// Only the head, with a range of everything: no coding is then applied, and the length is the object's.
    pub head_only: bool,
    /// `None`: the whole object.
    pub range: Option<RangeSpec>,
    /// The most that is read of a whole object that comes although a range was asked.
    pub bound: u64,
    /// A strong tag for `If-Match`.
    pub if_match: Option<&'a str>,
    /// A strong tag for `If-None-Match`.
    pub if_none_match: Option<&'a str>,
    /// What a limit of bytes is charged with, if less than the range is likely to come.
    pub expects: Option<u64>,
    pub cause: Cause,
    pub hop: u32,
}

/// What came.
#[derive(Debug)]
pub(crate) enum Answer {
    Bytes(Box<Received>),
    NotSatisfiable {
        total: Option<u64>,
        hop: u32,
    },
    /// No bytes: the object is larger than may be read of it, or only its size was asked.
    WholeTooLarge {
        total: Option<u64>,
        hop: u32,
    },
    Changed {
        version: Version,
    },
    NotModified {
        lifetime: Lifetime,
        final_url: Url,
        hop: u32,
    },
    /// Nothing was sent: while HEAD waited for its turn, the origin refused another.
    HeadRefused,
}

/// Bytes of one version of an object.
#[derive(Debug)]
pub(crate) struct Received {
    /// `None` if only their end is known to be the object's end.
    pub offset: Option<u64>,
    pub bytes: Bytes,
    pub total: Option<u64>,
    pub version: Version,
    pub final_url: Url,
    pub content_type: Option<String>,
    pub lifetime: Lifetime,
    pub hop: u32,
}

/// The beginning of a body whose connection broke.
struct Kept {
    bytes: BytesMut,
    range: Range<u64>,
    /// With the object's size, where it is known.
    version: Version,
}

impl Kept {
    /// Where the rest begins.
    fn rest(&self) -> u64 {
        self.range.start + self.bytes.len() as u64
    }
}

/// Sends `ask` until it is answered or patience ends.
pub(crate) async fn exchange(query: &QueryContext, ask: Ask<'_>) -> Result<Answer> {
    let shown = display_url(ask.url);
    let mut hop = ask.hop;
    let mut attempts = 0;
    let mut past_caches = false;
    let mut kept: Option<Kept> = None;
    loop {
        let mut now = Ask { hop, ..ask.clone() };
        let tag = kept.as_ref().and_then(|kept| kept.version.strong_etag().map(str::to_owned));
        if let Some(kept) = &kept {
            now.range = Some(RangeSpec::Bounded(kept.rest()..kept.range.end));
            now.if_match = tag.as_deref().or(ask.if_match);
            now.if_none_match = None;
        }
        let failure = match attempt(query, &now, &shown, past_caches, &mut kept).await {
            Ok(answer) => match rejoin(answer, &mut kept) {
                Some(answer) => return Ok(answer),
                // The object changed between the two halves: the first is worth nothing.
                None => Failure { error: changed_between(&shown), again: Again::Once },
            },
            Err(failure) => failure,
        };
        if ask.head_only {
            // There are other ways, and a refused HEAD is refused again.
            return Err(failure.error);
        }
        let wait = match failure.again {
            Again::Once if !past_caches => {
                past_caches = true;
                Duration::ZERO
            }
            Again::Later(asked) if attempts < query.client.settings.retries => {
                asked.unwrap_or_else(|| jitter(attempts))
            }
            _ => return Err(with_access_hint(failure.error, ask.url)),
        };
        if !query.take_retry() {
            return Err(failure.error.hint("the query has used up its retries; fewer requests at a time may help"));
        }
        attempts += 1;
        // A request that is sent because of an answer depends on that answer.
        hop += 1;
        query.stats.retried();
        if !wait.is_zero() {
            query.client.timer.sleep(wait).await;
        }
    }
}

fn changed_between(shown: &str) -> Error {
    Error::new(ErrorKind::SourceChanged, "the file changed while a broken transfer was resumed").at(shown)
}

/// Puts what was kept before the rest; `None` if they are not of one version.
fn rejoin(answer: Answer, kept: &mut Option<Kept>) -> Option<Answer> {
    let Some(before) = kept.take() else { return Some(answer) };
    match answer {
        // The whole object came instead of the rest.
        Answer::Bytes(all) if all.offset == Some(0) && all.total == Some(all.bytes.len() as u64) => {
            Some(Answer::Bytes(all))
        }
        Answer::Bytes(mut rest)
            if rest.offset == Some(before.rest()) && !before.version.differs_from(&rest.version) =>
        {
            let mut bytes = before.bytes;
            bytes.extend_from_slice(&rest.bytes);
            rest.offset = Some(before.range.start);
            rest.total = before.version.size.or(rest.total);
            rest.bytes = bytes.freeze();
            Some(Answer::Bytes(rest))
        }
        _ => None,
    }
}

fn with_access_hint(error: Error, url: &Url) -> Error {
    let signed = url.query_pairs().any(|(key, _)| {
        let key = key.to_ascii_lowercase();
        key.contains("signature") || key.contains("expires") || matches!(key.as_str(), "sig" | "se" | "token")
    });
    match error.kind() {
        ErrorKind::Access if signed => error.hint("the link is signed and may have expired: get a new one"),
        ErrorKind::Access => error.hint("a header for this origin can be given, such as Authorization"),
        _ => error,
    }
}

/// Ends a request's account however it ends, cancelled included.
struct Account<'a> {
    query: &'a QueryContext,
    record: Option<RequestRecord>,
    asked: u64,
    /// The origin whose link is being measured by a body.
    measuring: Option<&'a Origin>,
}

impl<'a> Account<'a> {
    fn begin(query: &'a QueryContext, ask: &Ask<'_>, method: &Method, shown: &str, asked: u64) -> Self {
        let mut account = Self { query, record: None, asked, measuring: None };
        account.record = Some(RequestRecord {
            start: account.since_began(),
            first_byte: None,
            end: Duration::ZERO,
            method: method.to_string(),
            url: shown.to_owned(),
            range: ask.range.as_ref().map(RangeSpec::to_string),
            status: None,
            bytes: 0,
            cause: ask.cause,
            hop: ask.hop,
        });
        account
    }

    fn since_began(&self) -> Duration {
        self.query.client.timer.now() - self.query.stats.began()
    }

    fn head(&mut self, status: StatusCode) {
        let now = self.since_began();
        if let Some(record) = &mut self.record {
            record.status = Some(status.as_u16());
            record.first_byte = Some(now);
        }
    }

    fn body(&mut self, bytes: usize) {
        self.query.stats.received(bytes as u64);
        if let Some(record) = &mut self.record {
            record.bytes += bytes as u64;
        }
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.end = self.since_began();
            self.query.budget.settle(self.asked, record.bytes);
            if let Some(origin) = self.measuring {
                origin.body_ends(record.bytes, self.query.client.timer.now());
            }
            self.query.stats.ended(record);
        }
    }
}

async fn attempt(
    query: &QueryContext,
    ask: &Ask<'_>,
    shown: &str,
    past_caches: bool,
    kept: &mut Option<Kept>,
) -> Result<Answer, Failure> {
    let client = &query.client;
    let origin = client.origin(ask.url);
    let permit = loop {
        let permit = origin.limiter.acquire().await;
        match origin.wait_before_sending(client.timer.now()) {
            None => break permit,
            Some(wait) => {
                drop(permit);
                client.timer.sleep(wait).await;
            }
        }
    };
    if ask.head_only && origin.head_refused() {
        return Ok(Answer::HeadRefused);
    }
    let method = if ask.head_only { Method::HEAD } else { Method::GET };
    let asked = if ask.head_only { 0 } else { ask.range.as_ref().map_or(ask.bound, RangeSpec::length) };
    let asked = ask.expects.map_or(asked, |expected| expected.min(asked));
    query.budget.take(asked).map_err(|error| Failure { error, again: Again::No })?;
    query.stats.sent(method.as_str(), ask.hop);
    query.earn_retry();
    let sent = client.timer.now();
    let mut account = Account::begin(query, ask, &method, shown, asked);

    let request = request(ask, method, past_caches, client.capabilities.http_cache);
    let cached = request.cache == CacheMode::Revalidate;
    let response = match idle(query, client.fetch.fetch(request)).await {
        Ok(response) => response,
        // What a page without CORS left in the cache is no answer for one with it, and looks like a broken connection at times.
        Err(error) if cached && matches!(error.kind(), FetchErrorKind::Cors | FetchErrorKind::Interrupted) => {
            return Err(Failure { error: Error::from_fetch(error, shown), again: Again::Once });
        }
        Err(error) => {
            if error.kind() == FetchErrorKind::Timeout {
                origin.limiter.rejected(&permit, client.timer.now());
            }
            return Err(transport(error, shown));
        }
    };
    account.head(response.status);
    let FetchResponse { status, headers, final_url, redirects, body } = response;
    let hop = ask.hop + redirects;
    if judge::is_transient(status) {
        return Err(turned_away(query, &origin, &permit, status, &headers, shown));
    }
    origin.limiter.succeeded(client.timer.now());
    if !ask.head_only {
        origin.learn_ranges(status, &headers);
    }
    let version = |total| judge::version(&headers, total);
    if ask.head_only {
        let total = judge::size(status, &headers).map_err(|error| distrusted(error.at(shown)))?;
        return Ok(Answer::WholeTooLarge { total, hop });
    }
    let asked = Asked {
        range: ask.range.as_ref(),
        bound: ask.bound,
        matching: ask.if_match.is_some(),
        changed: ask.if_none_match.is_some(),
        decoded: client.capabilities.http_cache,
    };
    let verdict = judge::judge(asked, status, &headers).map_err(|error| distrusted(error.at(shown)))?;
    match verdict {
        Verdict::NotSatisfiable { total } => Ok(Answer::NotSatisfiable { total, hop }),
        Verdict::WholeTooLarge { total } => Ok(Answer::WholeTooLarge { total, hop }),
        Verdict::Changed => Ok(Answer::Changed { version: version(None) }),
        Verdict::NotModified => {
            // Who names another tag speaks of another version (RFC 9110 §15.4.5), whatever the status says.
            let told = version(None).etag.map(|tag| tag.text);
            if told.is_some() && told.as_deref() != ask.if_none_match {
                let message = format!("304 (not modified) for {}, of which was not asked", told.unwrap_or_default());
                return Err(distrusted(Error::new(ErrorKind::BadResponse, message).at(shown)));
            }
            Ok(Answer::NotModified { lifetime: Lifetime::of(&headers), final_url, hop })
        }
        Verdict::Body(part) => {
            origin.body_begins(client.timer.now() - sent, client.timer.now());
            account.measuring = Some(&origin);
            let reader = Reader { query, ask, shown, part, version: version(None) };
            let read = reader.read(body, &mut account, kept).await?;
            let Some((bytes, part)) = read else {
                return Ok(Answer::WholeTooLarge { total: None, hop });
            };
            let content_type = headers.get(header::CONTENT_TYPE).and_then(|t| t.to_str().ok()).map(str::to_owned);
            let version = version(part.total);
            let (offset, total, lifetime) = (part.offset, part.total, Lifetime::of(&headers));
            Ok(Answer::Bytes(Box::new(Received {
                offset,
                bytes,
                total,
                version,
                final_url,
                content_type,
                lifetime,
                hop,
            })))
        }
    }
}

fn request(ask: &Ask<'_>, method: Method, past_caches: bool, http_cache: bool) -> FetchRequest {
    let mut headers = HeaderMap::new();
    // Offsets in a coded body mean nothing.
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if let Some(range) = &ask.range {
        headers.insert(header::RANGE, range.header());
    }
    if let Some(tag) = ask.if_match.and_then(|tag| HeaderValue::from_str(tag).ok()) {
        headers.insert(header::IF_MATCH, tag);
    }
    if let Some(tag) = ask.if_none_match.and_then(|tag| HeaderValue::from_str(tag).ok()) {
        headers.insert(header::IF_NONE_MATCH, tag);
    }
    if ask.head_only {
        headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-"));
    }
    let cache = match ask.range {
        _ if past_caches => CacheMode::Reload,
        None if http_cache && !ask.head_only => CacheMode::Revalidate,
        // The caches of browsers are known to return wrong bytes for ranges.
        _ => CacheMode::NoStore,
    };
    FetchRequest { method, url: ask.url.clone(), headers, cache }
}

/// Fails with `Timeout` when nothing happens for the idle time.
async fn idle<T>(
    query: &QueryContext,
    step: impl Future<Output = Result<T, FetchError>> + Unpin,
) -> Result<T, FetchError> {
    let limit = query.client.settings.idle_timeout;
    match select(step, query.client.timer.sleep(limit)).await {
        Either::Left((result, _)) => result,
        Either::Right(_) => {
            let message = format!("nothing arrived for {} s", limit.as_secs_f32());
            Err(FetchError::new(FetchErrorKind::Timeout, message))
        }
    }
}

fn transport(error: FetchError, shown: &str) -> Failure {
    let again = if error.kind().is_transient() { Again::Later(None) } else { Again::No };
    Failure { error: Error::from_fetch(error, shown), again }
}

fn distrusted(error: Error) -> Failure {
    let again = if error.kind() == ErrorKind::BadResponse { Again::Once } else { Again::No };
    Failure { error, again }
}

/// Reads one body within its limits.
struct Reader<'a> {
    query: &'a QueryContext,
    ask: &'a Ask<'a>,
    shown: &'a str,
    part: BodyPart,
    version: Version,
}

impl Reader<'_> {
    /// The bytes and what is now known of them; `None` if a whole body is longer than may be read.
    async fn read(
        mut self,
        mut body: FetchBody,
        account: &mut Account<'_>,
        kept: &mut Option<Kept>,
    ) -> Result<Option<(Bytes, BodyPart)>, Failure> {
        let limit = self.part.limit;
        let mut first: Option<Bytes> = None;
        let mut all = BytesMut::new();
        loop {
            let chunk = match idle(self.query, Box::pin(async { body.next().await.transpose() })).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => {
                    if let Some(chunk) = first.take() {
                        all.extend_from_slice(&chunk);
                    }
                    self.keep(all, kept);
                    return Err(transport(error, self.shown));
                }
            };
            account.body(chunk.len());
            let length = first.as_ref().map_or(all.len(), Bytes::len) + chunk.len();
            if length as u64 > limit {
                return if self.part.whole && self.part.length.is_none() {
                    Ok(None)
                } else {
                    Err(self.wrong_length(&format!("more than {limit}")))
                };
            }
            // Most bodies of loopback and small files are one chunk, which need not be copied.
            if all.is_empty() && first.is_none() {
                first = Some(chunk);
                continue;
            }
            if let Some(chunk) = first.take() {
                all.reserve(usize::try_from(self.part.length.unwrap_or(limit).min(limit)).unwrap_or(0));
                all.extend_from_slice(&chunk);
            }
            all.extend_from_slice(&chunk);
        }
        let bytes = first.unwrap_or_else(|| all.freeze());
        let length = bytes.len() as u64;
        if self.part.length.is_some_and(|expected| expected != length) {
            return Err(self.wrong_length(&length.to_string()));
        }
        if self.part.whole {
            self.part.total = Some(length);
        } else if self.part.length.is_none() && length < limit && self.part.offset.unwrap_or(0) == 0 {
            // Less than was asked, and no visible Content-Range: this is all there is. Of a part within the object it would say
            // nothing, since a body may also be cut short on its way.
            (self.part.offset, self.part.total) = (Some(0), Some(length));
        }
        Ok(Some((bytes, self.part)))
    }

    /// Keeps the beginning of a broken body, if the rest can be asked for of the same version.
    fn keep(&self, bytes: BytesMut, kept: &mut Option<Kept>) {
        let (Some(offset), Some(length)) = (self.part.offset, self.part.length) else { return };
        if bytes.len() as u64 >= length {
            // There is no rest to ask for.
            return;
        }
        let version = Version { size: self.part.total, ..self.version.clone() };
        if let Some(before) = kept {
            if offset == before.rest() && !before.version.differs_from(&version) {
                before.bytes.extend_from_slice(&bytes);
            }
            return;
        }
        let provable = self.version.etag.is_some() || self.version.last_modified.is_some();
        if !bytes.is_empty() && provable && self.ask.range.is_some() {
            *kept = Some(Kept { bytes, range: offset..offset + length, version });
        }
    }

    fn wrong_length(&self, found: &str) -> Failure {
        let expected = self.part.length.map_or_else(|| format!("at most {}", self.part.limit), |n| n.to_string());
        let message = format!("the server sent {found} bytes where {expected} were announced");
        distrusted(Error::new(ErrorKind::BadResponse, message).at(self.shown))
    }
}
