//! TLS with a certificate that nobody knows.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// A fresh self-signed certificate for the loopback names, as PEM, and an acceptor that uses it.
pub(crate) fn self_signed(protocols: &[&[u8]]) -> (String, TlsAcceptor) {
    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    let certified = rcgen::generate_simple_self_signed(names).expect("the names are valid");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider knows the default versions")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("the key belongs to the certificate");
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    (certified.cert.pem(), TlsAcceptor::from(Arc::new(config)))
}
