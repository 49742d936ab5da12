//! A backend of the fetch seam that is as plain as can be: a new connection for each request.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use farquet_core::fetch::{Capabilities, Fetch, FetchBody, FetchError, FetchErrorKind, FetchRequest, FetchResponse};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt};
use http::{Method, Request, Response, header};
use http_body_util::{BodyDataStream, Empty};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

/// Redirects that are followed.
const REDIRECTS: u32 = 10;

#[derive(Debug)]
pub(crate) struct HyperFetch {
    opened: AtomicU64,
    tls: Arc<ClientConfig>,
}

impl HyperFetch {
    /// A backend that offers these protocols and trusts these certificates.
    pub(crate) fn new(protocols: &[&[u8]], trusted: &[&str]) -> Self {
        let mut roots = RootCertStore::empty();
        for pem in trusted {
            let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate");
            roots.add(certificate).expect("a certificate that can be trusted");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Self { opened: AtomicU64::new(0), tls: Arc::new(tls) }
    }

    async fn follow(&self, mut request: FetchRequest) -> Result<FetchResponse, FetchError> {
        let mut redirects = 0;
        loop {
            let response = self.exchange(&request).await?;
            let location = match response.status().as_u16() {
                301 | 302 | 303 | 307 | 308 => response.headers().get(header::LOCATION),
                _ => None,
            };
            let Some(location) = location else {
                let (parts, body) = response.into_parts();
                let body = BodyDataStream::new(body).map_err(|error| interrupted(&error));
                return Ok(FetchResponse {
                    status: parts.status,
                    headers: parts.headers,
                    final_url: request.url,
                    redirects,
                    body: FetchBody::new(body.boxed()),
                });
            };
            redirects += 1;
            let target = location.to_str().ok().and_then(|location| request.url.join(location).ok());
            let target = target.ok_or_else(|| refused("no location"))?;
            if redirects > REDIRECTS {
                return Err(refused("too many redirects"));
            }
            if request.url.scheme() == "https" && target.scheme() != "https" {
                return Err(refused("a redirect away from https"));
            }
            if request.url.origin() != target.origin() {
                request.headers.remove(header::AUTHORIZATION);
                request.headers.remove(header::COOKIE);
            }
            request.url = target;
        }
    }

    async fn exchange(&self, request: &FetchRequest) -> Result<Response<Incoming>, FetchError> {
        let host = request.url.host_str().unwrap_or_default().to_owned();
        let port = request.url.port_or_known_default().unwrap_or(0);
        let connected = TcpStream::connect((host.as_str(), port)).await;
        let stream = connected.map_err(|error| FetchError::new(FetchErrorKind::Connect, error.to_string()))?;
        self.opened.fetch_add(1, Ordering::SeqCst);
        if request.url.scheme() != "https" {
            return over(stream, false, request).await;
        }
        let name = ServerName::try_from(host).map_err(|error| tls_error(&io::Error::other(error)))?;
        let connected = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await;
        let stream = connected.map_err(|error| tls_error(&error))?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        over(stream, http2, request).await
    }
}

impl Fetch for HyperFetch {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<FetchResponse, FetchError>> {
        self.follow(request).boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            suffix_ranges: true,
            conditional_headers: true,
            http_cache: false,
            requests_per_origin: 128,
            bytes_in_flight: 64 << 20,
            largest_request: 16 << 20,
        }
    }

    fn connections_opened(&self) -> Option<u64> {
        Some(self.opened.load(Ordering::SeqCst))
    }
}

async fn over<S>(stream: S, http2: bool, request: &FetchRequest) -> Result<Response<Incoming>, FetchError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(stream);
    // Without the sender a connection ends when its only exchange has, or when that is dropped.
    let answer = if http2 {
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
        let (mut sender, connection) = shaken.map_err(|error| interrupted(&error))?;
        tokio::spawn(connection);
        sender.send_request(plain(request, request.url.as_str())).await
    } else {
        let shaken = hyper::client::conn::http1::handshake(io).await;
        let (mut sender, connection) = shaken.map_err(|error| interrupted(&error))?;
        tokio::spawn(connection);
        sender.send_request(plain(request, &target(&request.url))).await
    };
    answer.map_err(|error| interrupted(&error))
}

fn plain(request: &FetchRequest, target: &str) -> Request<Empty<Bytes>> {
    let mut made = Request::new(Empty::new());
    *made.method_mut() = Method::clone(&request.method);
    *made.uri_mut() = target.parse().expect("a URL is a target");
    *made.headers_mut() = request.headers.clone();
    if target.starts_with('/') {
        let host = request.url[url::Position::BeforeHost..url::Position::AfterPort].parse().expect("a host");
        made.headers_mut().insert(header::HOST, host);
    }
    made
}

fn target(url: &Url) -> String {
    url[url::Position::BeforePath..url::Position::AfterQuery].to_owned()
}

fn interrupted(error: &hyper::Error) -> FetchError {
    FetchError::new(FetchErrorKind::Interrupted, error.to_string())
}

fn refused(message: &str) -> FetchError {
    FetchError::new(FetchErrorKind::Redirect, message)
}

fn tls_error(error: &io::Error) -> FetchError {
    FetchError::new(FetchErrorKind::Tls, error.to_string())
}
