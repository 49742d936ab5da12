//! The TLS configuration of one client.
//!
//! It is made here and handed to reqwest ready-made, because reqwest would otherwise take the crypto provider from the
//! process, and a library has no business installing one there.

use std::sync::Arc;

use farquet_core::fetch::{FetchError, FetchErrorKind};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// A TLS configuration, and whether the system had any root certificates to offer.
pub(crate) struct Tls {
    pub(crate) config: ClientConfig,
    pub(crate) has_system_roots: bool,
}

/// The certificates in a PEM text, each proved to be usable as a root.
pub(crate) fn parse_roots(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, FetchError> {
    let refused = |why: String| FetchError::new(FetchErrorKind::Tls, format!("root certificates not usable: {why}"));
    let mut store = RootCertStore::empty();
    let mut roots = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        store.add(certificate.clone()).map_err(|error| refused(error.to_string()))?;
        roots.push(certificate);
    }
    if roots.is_empty() { Err(refused("no certificate in the text".to_owned())) } else { Ok(roots) }
}

/// Trusts the platform's roots and `extra_roots`, offers HTTP/2 and HTTP/1.1.
pub(crate) fn configure(extra_roots: &[CertificateDer<'static>]) -> Result<Tls, FetchError> {
    let refused = |error: rustls::Error| FetchError::new(FetchErrorKind::Tls, format!("tls not usable: {error}"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(refused)?;
    let verifier = Verifier::new_with_extra_roots(extra_roots.iter().cloned(), provider);
    let has_system_roots = verifier.is_ok();
    let mut config = if let Ok(verifier) = verifier {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
    } else {
        // A container without certificates is still good for files and plain HTTP. What is not among the extra roots
        // will be refused there, and the error says why.
        let mut store = RootCertStore::empty();
        for root in extra_roots {
            store.add(root.clone()).map_err(refused)?;
        }
        builder.with_root_certificates(store).with_no_client_auth()
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Tls { config, has_system_roots })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_certificates_is_refused() {
        let error = parse_roots(b"hello").expect_err("not a certificate");
        assert_eq!(error.kind(), FetchErrorKind::Tls);
        assert_eq!(error.to_string(), "root certificates not usable: no certificate in the text");
    }

    #[test]
    fn a_certificate_that_is_none_is_refused() {
        let pem = b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        assert_eq!(parse_roots(pem).expect_err("not a certificate").kind(), FetchErrorKind::Tls);
    }

    #[test]
    fn no_provider_is_installed_for_the_process() {
        configure(&[]).expect("a configuration");
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    }
}
