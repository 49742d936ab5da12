//! One request and its answer.

use std::convert::Infallible;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};

use super::Shared;
use super::body::{AnswerBody, Disk, Manner, Source, read_at};
use super::conditional::{self, Outcome};
use super::range::{self, Asked};
use super::socket::Connection;
use super::store::{Content, Object};
use super::ticket::Ticket;
use crate::fault::{Answer, Coding, Length, Plan, RangeMode};

/// The head of an answer, and the part of the object that is its body.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    source: Source,
}

impl Reply {
    fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), source: Source::Memory(Bytes::new()) }
    }
}

/// Answers one request, as the script says.
pub(crate) async fn answer<B>(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    request: http::Request<B>,
) -> Result<Response<AnswerBody>, Infallible> {
    let (parts, unread) = request.into_parts();
    drop(unread);
    let mut ticket = shared.account.open(&parts, connection.id);
    let admitted = ticket.admit(shared.max_in_flight.unwrap_or(usize::MAX));
    let mut plan = if admitted { Plan::of(shared.fault_for(ticket.seen())) } else { overloaded(&shared) };
    let wait = shared.latency + plan.delay;
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    shared.account.gathered(plan.gather).await;
    for (path, bytes) in std::mem::take(&mut plan.replace_before) {
        shared.store.put(&path, bytes);
    }
    let reply = match std::mem::take(&mut plan.answer) {
        Answer::Hang => return std::future::pending().await,
        Answer::Abort => {
            ticket.finish(false);
            connection.break_off(true);
            return std::future::pending().await;
        }
        Answer::Status { code, headers, body } => fixed(code, &headers, body),
        Answer::Redirect { code, location } => fixed(code, &[("location".to_owned(), location)], Bytes::new()),
        Answer::NotModified => not_modified(shared.store.find(&ticket.seen().path).as_ref()),
        Answer::Object => serve(&shared, &plan, &ticket),
    };
    for (path, bytes) in std::mem::take(&mut plan.replace_after) {
        shared.store.put(&path, bytes);
    }
    Ok(send(&shared, plan, reply, ticket, connection))
}

fn overloaded(shared: &Shared) -> Plan {
    let headers = shared.retry_after.iter().map(|value| ("retry-after".to_owned(), value.clone())).collect();
    Plan { answer: Answer::Status { code: 503, headers, body: Bytes::new() }, ..Plan::default() }
}

fn fixed(code: u16, headers: &[(String, String)], body: Bytes) -> Reply {
    let mut reply = Reply::empty(StatusCode::from_u16(code).expect("a fault's status is a status"));
    for (name, value) in headers {
        reply.headers.append(header_name(name), header_value(value));
    }
    reply.source = Source::Memory(body);
    reply
}

fn not_modified(object: Option<&Object>) -> Reply {
    let mut reply = Reply::empty(StatusCode::NOT_MODIFIED);
    if let Some(object) = object {
        describe(object, &mut reply.headers);
        reply.headers.remove(header::CONTENT_TYPE);
    }
    reply
}

fn serve(shared: &Shared, plan: &Plan, ticket: &Ticket) -> Reply {
    let seen = ticket.seen();
    if seen.method == Method::OPTIONS {
        return options(shared, &seen.headers);
    }
    if seen.method != Method::GET && seen.method != Method::HEAD {
        return fixed(405, &[("allow".to_owned(), "GET, HEAD, OPTIONS".to_owned())], Bytes::new());
    }
    let Some(object) = shared.store.find(&seen.path) else {
        let text = ("content-type".to_owned(), "text/plain".to_owned());
        return fixed(404, &[text], Bytes::from_static(b"no such object\n"));
    };
    match conditional::evaluate(&seen.headers, &object) {
        Outcome::Go => {}
        Outcome::NotModified => return not_modified(Some(&object)),
        Outcome::Failed => return Reply::empty(StatusCode::PRECONDITION_FAILED),
    }
    let mut reply = Reply::empty(StatusCode::OK);
    describe(&object, &mut reply.headers);
    let ranges = shared.ranges && plan.range == RangeMode::Honour || plan.range == RangeMode::Other;
    reply.headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static(if ranges { "bytes" } else { "none" }));
    let len = object.len;
    let asked = match &seen.range {
        Some(text) if ranges && seen.method == Method::GET && conditional::range_holds(&seen.headers, &object) => {
            range::resolve(text, len)
        }
        _ => Asked::Everything,
    };
    let part = match asked {
        Asked::Unsatisfiable => {
            let mut reply = Reply::empty(StatusCode::RANGE_NOT_SATISFIABLE);
            reply.headers.insert(header::CONTENT_RANGE, header_value(&format!("bytes */{len}")));
            return reply;
        }
        Asked::Part(asked) => {
            let part = if plan.range == RangeMode::Other { range::other(asked, len) } else { asked };
            reply.status = StatusCode::PARTIAL_CONTENT;
            reply.headers.insert(header::CONTENT_RANGE, content_range(&part, len, plan.total_unknown));
            part
        }
        Asked::Everything => {
            if plan.range == RangeMode::FullWithContentRange && len > 0 {
                reply.headers.insert(header::CONTENT_RANGE, content_range(&(0..len), len, plan.total_unknown));
            }
            0..len
        }
    };
    match open(object, part, plan.coding == Coding::Gzip) {
        Ok(source) => reply.source = source,
        Err(_) => return Reply::empty(StatusCode::INTERNAL_SERVER_ERROR),
    }
    if plan.coding != Coding::None {
        reply.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    reply
}

fn options(shared: &Shared, asked: &HeaderMap) -> Reply {
    let mut reply = Reply::empty(StatusCode::NO_CONTENT);
    match &shared.cors {
        Some(cors) if asked.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) => {
            let status = cors.preflight(&mut reply.headers);
            reply.status = StatusCode::from_u16(status).expect("a preflight's status is a status");
        }
        _ => {
            reply.headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
        }
    }
    reply
}

/// Headers that tell what an object is and which version of it this is.
fn describe(object: &Object, headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(object.content_type));
    if let Some(tag) = &object.etag {
        headers.insert(header::ETAG, header_value(tag));
    }
    if let Some(modified) = object.last_modified {
        headers.insert(header::LAST_MODIFIED, header_value(&httpdate::fmt_http_date(modified)));
    }
    if let Some(control) = &object.cache_control {
        headers.insert(header::CACHE_CONTROL, header_value(control));
    }
}

fn content_range(part: &Range<u64>, len: u64, total_unknown: bool) -> HeaderValue {
    let total = if total_unknown { "*".to_owned() } else { len.to_string() };
    header_value(&format!("bytes {}-{}/{total}", part.start, part.end - 1))
}

fn open(object: Object, part: Range<u64>, gzip: bool) -> io::Result<Source> {
    let source = match object.content {
        Content::Memory(bytes) => {
            let bound = |at: u64| usize::try_from(at).map_err(io::Error::other);
            Source::Memory(bytes.slice(bound(part.start)?..bound(part.end)?))
        }
        Content::Disk(file) if gzip => {
            let len = usize::try_from(part.end - part.start).map_err(io::Error::other)?;
            Source::Memory(read_at(file, part.start, len)?.1)
        }
        Content::Disk(file) => Source::Disk(Disk::new(file, part)),
    };
    match source {
        Source::Memory(plain) if gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&plain)?;
            Ok(Source::Memory(encoder.finish()?.into()))
        }
        other => Ok(other),
    }
}

/// Puts head and body together, with the plan's deviations.
fn send(
    shared: &Shared,
    plan: Plan,
    mut reply: Reply,
    mut ticket: Ticket,
    connection: Arc<Connection>,
) -> Response<AnswerBody> {
    let mut manner =
        Manner { cut: plan.cut, unknown_length: plan.chunked, pacer: shared.pacer.clone(), ..Manner::default() };
    match plan.length {
        Length::Right => {}
        Length::Short(bytes) => manner.end_after = Some(bytes),
        Length::Long(bytes) => manner.zeros = bytes,
    }
    manner.unknown_length |= plan.length != Length::Right;

    let headers = &mut reply.headers;
    headers.insert(header::DATE, header_value(&httpdate::fmt_http_date(SystemTime::now())));
    if !manner.unknown_length && !reply.status.is_informational() && !bodiless(reply.status) {
        headers.insert(header::CONTENT_LENGTH, reply.source.len().into());
    }
    if let Some(cors) = &shared.cors {
        cors.decorate(headers);
    }
    for (name, value) in plan.headers {
        let name = header_name(&name);
        // hyper holds a body to its length, unless it does not know it.
        manner.unknown_length |= name == header::CONTENT_LENGTH;
        match value {
            Some(value) => drop(headers.insert(name, header_value(&value))),
            None => drop(headers.remove(name)),
        }
    }
    ticket.answered(reply.status.as_u16());
    if ticket.seen().method == Method::HEAD || bodiless(reply.status) {
        reply.source = Source::Memory(Bytes::new());
        manner = Manner::default();
    }
    let mut response = Response::new(AnswerBody::new(reply.source, manner, ticket, connection));
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    response
}

fn bodiless(status: StatusCode) -> bool {
    status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED
}

fn header_name(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes()).expect("a fault's header name is one")
}

fn header_value(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).expect("a header value is printable")
}
