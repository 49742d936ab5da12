//! Local files, answered as an origin would.

use std::fs::Metadata;
use std::io::{self, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut, Bytes, BytesMut};
use farquet_core::fetch::{Capabilities, Fetch, FetchBody, FetchError, FetchErrorKind, FetchRequest, FetchResponse};
use futures::future::BoxFuture;
use futures::stream::{self, Stream};
use futures::{FutureExt, StreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use crate::conditions::{Representation, Selection, select};
use crate::http::unknown_scheme;

/// Large enough that the way to the blocking thread does not count, small enough to drop a body soon.
const CHUNK: usize = 256 << 10;

/// [`Fetch`] for `file:` URLs, so that files take the same way through the policy above as remote objects.
///
/// Answers `GET` and `HEAD` with what a careful origin would send: 200, 206, 304, 412 and 416 by single ranges
/// (suffixes too), `If-Match`, `If-None-Match` and `If-Range`; 404 for what is not there or is no regular file, 403 for
/// what may not be read, 405 for other methods, 500 for other failures of the file system, each with one line of text
/// as its body. Query and fragment of the URL are ignored. Symbolic links are followed. Directories are not listed.
///
/// The `ETag` is strong: size, modification time, and on Unix the inode and the time of its last change, which nobody
/// can set back. Two changes of a file within one tick of the file system's clock, without a change of size, look like
/// one. A file that changes while a body is read from it fails that body with
/// [`Interrupted`](FetchErrorKind::Interrupted) before its last chunk, so no complete body mixes two versions that the
/// file system tells apart.
///
/// Fails with [`Request`](FetchErrorKind::Request) for URLs of other schemes and of other machines.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileFetch;

impl FileFetch {
    /// Reads whatever this process may read.
    pub fn new() -> Self {
        Self
    }
}

impl Fetch for FileFetch {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<FetchResponse, FetchError>> {
        answer(request).boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            suffix_ranges: true,
            conditional_headers: true,
            http_cache: false,
            requests_per_origin: 64,
            bytes_in_flight: 64 << 20,
            largest_request: 16 << 20,
        }
    }
}

async fn answer(request: FetchRequest) -> Result<FetchResponse, FetchError> {
    let FetchRequest { method, url, headers, cache: _ } = request;
    if url.scheme() != "file" {
        return Err(unknown_scheme(&url));
    }
    let path = url
        .to_file_path()
        .map_err(|()| FetchError::new(FetchErrorKind::Request, "this file url names no path on this machine"))?;
    let respond =
        |(status, headers, body): Answer| FetchResponse { status, headers, final_url: url, redirects: 0, body };
    if !matches!(method, Method::GET | Method::HEAD) {
        let (status, mut headers, body) = refusal(&method, StatusCode::METHOD_NOT_ALLOWED, "files can only be read");
        headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(respond((status, headers, body)));
    }
    // One trip to the blocking threads for all that has to happen before the head.
    let opened = tokio::task::spawn_blocking({
        let (method, headers) = (method.clone(), headers);
        move || open(path, &method, &headers)
    });
    let opened = opened
        .await
        .map_err(|error| FetchError::new(FetchErrorKind::Interrupted, format!("the file was not opened: {error}")))?;
    Ok(respond(match opened {
        Ok(opened) => opened.answer(&method),
        Err(error) => {
            let (status, text) = status_of(&error);
            refusal(&method, status, &text)
        }
    }))
}

type Answer = (StatusCode, HeaderMap, FetchBody);

/// A file that stands at the first byte of what was asked for.
struct Opened {
    file: std::fs::File,
    version: Version,
    size: u64,
    selection: Selection,
}

fn open(path: PathBuf, method: &Method, headers: &HeaderMap) -> io::Result<Opened> {
    // Before it is opened, since opening a pipe waits for whoever writes into it.
    let metadata = std::fs::metadata(&path)?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "this is a directory, not a file"));
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "this is not a regular file"));
    }
    let mut file = std::fs::File::open(path)?;
    // And again from the open file, which may be another one by now.
    let metadata = file.metadata()?;
    let (version, size) = (Version::of(&metadata), metadata.len());
    let last_modified = version.last_modified();
    let representation = Representation { etag: &version.etag, last_modified: last_modified.as_deref(), size };
    let selection = select(method, headers, &representation);
    if let Selection::Part(range) = &selection {
        file.seek(SeekFrom::Start(range.start))?;
    }
    Ok(Opened { file, version, size, selection })
}

impl Opened {
    fn answer(self, method: &Method) -> Answer {
        let Self { file, version, size, selection } = self;
        let mut headers = HeaderMap::new();
        set(&mut headers, header::DATE, httpdate::fmt_http_date(SystemTime::now()));
        set(&mut headers, header::ETAG, version.etag.clone());
        set(&mut headers, header::ACCEPT_RANGES, "bytes");
        if let Some(date) = version.last_modified() {
            set(&mut headers, header::LAST_MODIFIED, date);
        }
        let (status, length) = match selection {
            Selection::Whole => (StatusCode::OK, size),
            Selection::Part(range) => {
                let text = format!("bytes {}-{}/{size}", range.start, range.end - 1);
                set(&mut headers, header::CONTENT_RANGE, text);
                (StatusCode::PARTIAL_CONTENT, range.end - range.start)
            }
            Selection::NotModified => return (StatusCode::NOT_MODIFIED, headers, FetchBody::new(stream::empty())),
            Selection::PreconditionFailed => (StatusCode::PRECONDITION_FAILED, 0),
            Selection::NotSatisfiable => {
                set(&mut headers, header::CONTENT_RANGE, format!("bytes */{size}"));
                (StatusCode::RANGE_NOT_SATISFIABLE, 0)
            }
        };
        set(&mut headers, header::CONTENT_LENGTH, length.to_string());
        set(&mut headers, header::CONTENT_TYPE, "application/octet-stream");
        let body = if *method == Method::HEAD || length == 0 {
            FetchBody::new(stream::empty())
        } else {
            FetchBody::new(chunks(File::from_std(file), length, version))
        };
        (status, headers, body)
    }
}

/// The next `length` bytes of `file`. Reads ahead by at most one chunk.
fn chunks(mut file: File, length: u64, version: Version) -> impl Stream<Item = Result<Bytes, FetchError>> + Send {
    file.set_max_buf_size(CHUNK);
    stream::try_unfold((file, length, version), |(mut file, left, version)| async move {
        if left == 0 {
            return Ok(None);
        }
        let broken = |why: &str| FetchError::new(FetchErrorKind::Interrupted, format!("the file {why}"));
        let failed = |error: io::Error| broken(&format!("could not be read: {error}"));
        let want = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        let mut chunk = BytesMut::with_capacity(want);
        file.read_buf(&mut (&mut chunk).limit(want)).await.map_err(failed)?;
        if chunk.is_empty() {
            return Err(broken("became shorter while it was read"));
        }
        let left = left - chunk.len() as u64;
        if left == 0 && Version::of(&file.metadata().await.map_err(failed)?) != version {
            return Err(broken("changed while it was read"));
        }
        Ok(Some((chunk.freeze(), (file, left, version))))
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    etag: String,
    modified: Option<SystemTime>,
}

impl Version {
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok();
        let nanos = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0, |time| time.as_nanos());
        Self { etag: format!("\"{:x}-{nanos:x}{}\"", metadata.len(), identity(metadata)), modified }
    }

    /// `None` for times that HTTP has no way to write: before 1970 and after 9999.
    fn last_modified(&self) -> Option<String> {
        let latest = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
        self.modified.filter(|time| (UNIX_EPOCH..=latest).contains(time)).map(httpdate::fmt_http_date)
    }
}

/// What tells a file from another with the same size and modification time, such as one copied over it with its times.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;

    format!("-{:x}-{:x}.{:x}", metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> String {
    String::new()
}

fn status_of(error: &io::Error) -> (StatusCode, String) {
    use io::ErrorKind as Kind;

    let status = match error.kind() {
        // The last two: no file can have such a name.
        Kind::NotFound | Kind::NotADirectory | Kind::InvalidInput | Kind::InvalidFilename => StatusCode::NOT_FOUND,
        Kind::PermissionDenied => StatusCode::FORBIDDEN,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, error.to_string())
}

/// An answer with a line of text instead of a file.
fn refusal(method: &Method, status: StatusCode, text: &str) -> Answer {
    let mut headers = HeaderMap::new();
    set(&mut headers, header::CONTENT_TYPE, "text/plain; charset=utf-8");
    set(&mut headers, header::CONTENT_LENGTH, text.len().to_string());
    let text = (*method != Method::HEAD).then(|| Ok(Bytes::copy_from_slice(text.as_bytes())));
    (status, headers, FetchBody::new(stream::iter(text).fuse()))
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: impl Into<String>) {
    // Everything that is set here is made of printable ASCII, which always is a header's value.
    if let Ok(value) = HeaderValue::try_from(value.into()) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_file_system_have_a_status() {
        for (kind, status) in [
            (io::ErrorKind::NotFound, StatusCode::NOT_FOUND),
            (io::ErrorKind::NotADirectory, StatusCode::NOT_FOUND),
            (io::ErrorKind::PermissionDenied, StatusCode::FORBIDDEN),
            (io::ErrorKind::Other, StatusCode::INTERNAL_SERVER_ERROR),
        ] {
            assert_eq!(status_of(&kind.into()).0, status, "{kind}");
        }
    }

    #[test]
    fn times_outside_http_are_not_written() {
        let at = |modified| Version { etag: String::new(), modified: Some(modified) }.last_modified();
        assert_eq!(at(UNIX_EPOCH).as_deref(), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
        assert_eq!(at(UNIX_EPOCH - Duration::from_secs(1)), None);
        assert_eq!(at(UNIX_EPOCH + Duration::from_hours(90_000_000)), None);
    }
}
