//! A second listener, by which another process scripts an origin and reads its log.
//!
//! Answers are JSON, and pages of any origin may read them. What is not understood is answered 400 with the reason as
//! `error`, and changes nothing.
//!
//! | Command | Effect |
//! |---|---|
//! | `GET /log` | the requests so far, in the order of their arrival |
//! | `GET /summary` | what can be counted from them |
//! | `POST /clear` | [`Origin::clear_log`]; the script's counts go on |
//! | `PUT /file?path=/x` | [`Origin::put`] of the body, or [`Origin::put_with`] where the query has tags, see below |
//! | `DELETE /file?path=/x` | [`Origin::remove`] |
//! | `POST /script` | the body's rules decide from now on, and count from 0 |
//! | `DELETE /script` | [`Origin::clear_script`] |
//!
//! Tags are `etag` (with its quotes), `weak_etag=1`, `no_etag=1`, `last_modified` (an HTTP date), `no_last_modified=1`
//! and `cache_control`. The others are then as [`EntryTags::default`](crate::EntryTags) has them.
//!
//! A script is an array of rules, of which the first that fits decides:
//!
//! ```json
//! [{"path": "/data/*", "method": "GET", "range": true, "from": 1, "to": 3, "fault": {"status": 503}}]
//! ```
//!
//! All but `fault` may be left out. A `path` that ends in `*` is a prefix. A rule without `method` lets `OPTIONS` pass,
//! so that preflights succeed as they did. Each rule counts all requests that fit it, from 0, whichever rule decides;
//! it holds from number `from` up to the one before number `to`.
//!
//! A fault is a name of [`fault::NAMES`](crate::fault::NAMES), an array of faults for one answer, or one of
//! `{"status": 403, "headers": {"a": "b"}, "body": "text"}`, `{"redirect": 302, "location": "/y"}`,
//! `{"headers": {"etag": null, "a": "b"}}`, `{"replace": "/x", "with": "/y"}` and
//! `{"replace_after": "/x", "with": "/y"}` (the bytes that `/y` has when the script arrives), `{"delay": ms}`,
//! `{"gather": requests}`, `{"gzip": true}`, and, each with a number of bytes, `{"cut": n}` (TCP RST), `{"close": n}`,
//! `{"stall": n}`, `{"short": n}`, `{"long": n}`.

mod fault;
mod fields;
mod file;
mod report;
mod script;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use self::fields::Fields;
use crate::origin::Origin;

/// A running control listener, on a free port of 127.0.0.1. Dropping it closes the port.
#[derive(Debug)]
pub struct Control {
    address: SocketAddr,
    /// Its thread ends when this is dropped.
    _stop: oneshot::Sender<()>,
}

impl Control {
    /// Listens on a thread of its own, so that commands get through whatever the origin is busy with.
    pub fn start(origin: Arc<Origin>) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        std::thread::Builder::new().name("control".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = accept(listener, origin) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, _stop: stop })
    }

    /// The base URL, with a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

async fn accept(listener: std::net::TcpListener, origin: Arc<Origin>) -> io::Result<Infallible> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let Ok((stream, _peer)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let _unsupported = stream.set_nodelay(true);
        let origin = Arc::clone(&origin);
        let service = service_fn(move |request| answer(Arc::clone(&origin), request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(origin: Arc<Origin>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let outcome = match body.collect().await {
        Ok(body) => obey(&origin, &parts, body.to_bytes()),
        Err(error) => Err(error.to_string()),
    };
    let (status, value) = match outcome {
        Ok(value) => (StatusCode::OK, value),
        Err(error) => (StatusCode::BAD_REQUEST, json!({ "error": error })),
    };
    let mut response = Response::new(Full::from(value.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "*"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

fn obey(origin: &Origin, parts: &Parts, body: Bytes) -> Result<Value, String> {
    let mut query = Fields::of_query(parts.uri.query().unwrap_or_default());
    match (parts.method.as_str(), parts.uri.path()) {
        ("GET", "/log") => return Ok(report::log(&origin.log())),
        ("GET", "/summary") => return Ok(report::summary(origin)),
        ("POST", "/clear") => origin.clear_log(),
        ("PUT", "/file") => file::put(origin, query, body)?,
        ("DELETE", "/file") => {
            let path = query.needed_text("path")?;
            query.end()?;
            origin.remove(&path);
        }
        ("POST", "/script") => {
            let rules = script::rules(origin, &body)?;
            origin.script(move |seen| script::decide(&rules, seen));
        }
        ("DELETE", "/script") => origin.clear_script(),
        // A preflight: its headers are those of every answer.
        ("OPTIONS", _) => {}
        (method, path) => return Err(format!("there is no command {method} {path}")),
    }
    Ok(json!({}))
}
