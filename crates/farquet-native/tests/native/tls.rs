//! Certificates and what is offered in the handshake.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use farquet_core::fetch::{Fetch, FetchErrorKind};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::TcpListener;
use tokio_rustls::LazyConfigAcceptor;

use crate::origin::{After, Reply, read_head, send};
use crate::{body_of, builder, client, failure_of, get};

/// Protocols by ALPN, as the clients offered them.
type Offers = Arc<Mutex<Vec<String>>>;

struct SecureOrigin {
    url: String,
    certificate_pem: String,
    offers: Offers,
}

/// A certificate for `localhost` as PEM, and a server's configuration with it.
pub(crate) fn certified(protocol: &str) -> (String, Arc<ServerConfig>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .expect("a usable certificate");
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    (made.cert.pem(), Arc::new(config))
}

async fn start() -> SecureOrigin {
    let (certificate_pem, config) = certified("http/1.1");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let url = format!("https://localhost:{}/x?sig=secret", listener.local_addr().expect("an address").port());
    let offers = Offers::default();
    tokio::spawn({
        let offers = Arc::clone(&offers);
        async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (config, offers) = (Arc::clone(&config), Arc::clone(&offers));
                tokio::spawn(async move {
                    let hello = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await.ok()?;
                    let offered = hello.client_hello().alpn()?.map(|name| String::from_utf8_lossy(name).into_owned());
                    offers.lock().unwrap_or_else(PoisonError::into_inner).extend(offered);
                    let mut stream = hello.into_stream(config).await.ok()?;
                    while read_head(&mut stream).await.is_some() {
                        send(&mut stream, &Reply::ok("secure")).await;
                    }
                    Some(())
                });
            }
        }
    });
    SecureOrigin { url, certificate_pem, offers }
}

#[tokio::test]
async fn an_unknown_certificate_is_refused() {
    let origin = start().await;
    let error = failure_of(&client(), get(&origin.url)).await;
    assert_eq!(error.kind(), FetchErrorKind::Tls, "{error}");
    assert!(error.to_string().contains("certificate") && !error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn an_extra_root_is_trusted_and_both_protocols_are_offered() {
    let origin = start().await;
    let client = builder().root_certificate_pem(origin.certificate_pem.as_bytes()).expect("a root");
    let client = client.build().expect("a client");
    let response = client.fetch(get(&origin.url)).await.expect("an answer");
    assert_eq!(body_of(response).await.expect("a body"), b"secure");
    assert_eq!(*origin.offers.lock().unwrap_or_else(PoisonError::into_inner), ["h2", "http/1.1"]);
    assert_eq!(client.connections_opened(), Some(1));
}

#[tokio::test]
async fn a_server_without_tls_is_a_tls_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let url = format!("https://localhost:{}/", listener.local_addr().expect("an address").port());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            send(&mut stream, &Reply::raw("HTTP/1.1 400 Bad Request\r\n\r\n", After::Hold)).await;
        }
    });
    let error = failure_of(&client(), get(&url)).await;
    assert_eq!(error.kind(), FetchErrorKind::Tls, "{error}");
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let url = format!("https://localhost:{}/", listener.local_addr().expect("an address").port());
    let client = builder().connect_timeout(Duration::from_millis(200)).build().expect("a client");
    let error = failure_of(&client, get(&url)).await;
    assert_eq!(error.kind(), FetchErrorKind::Timeout, "{error}");
    assert!(error.to_string().starts_with("no connection to https://localhost:"), "{error}");
    assert_eq!(client.connections_opened(), Some(0));
}
