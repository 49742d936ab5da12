//! What can be set about [`HttpFetch`].

use std::collections::HashMap;
use std::time::Duration;

use farquet_core::fetch::{Capabilities, FetchError, FetchErrorKind};
use http::{HeaderMap, HeaderName, HeaderValue};
use rustls::pki_types::CertificateDer;
use url::{Origin, Url};

use crate::connections::ConnectionCount;
use crate::http::HttpFetch;
use crate::tls;

const MIB: u32 = 1 << 20;

/// Makes an [`HttpFetch`].
///
/// # What the environment decides
///
/// - `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, read once, when the client is built, with the meaning
///   that curl gives them: `http:`, `https:`, `socks4:`, `socks4a:`, `socks5:` and `socks5h:` proxies, user and
///   password in the URL, `NO_PROXY` as a list of names (with their subdomains), addresses, networks and `*`. Three
///   differences to curl: the upper-case name wins where both are set; `HTTP_PROXY` is read in upper case too; and a
///   process that looks like a CGI script (`REQUEST_METHOD` is set) uses no proxy at all, since there a client could
///   set `HTTP_PROXY`. [`environment_proxies`](Self::environment_proxies) turns all of this off.
/// - `SSL_CERT_FILE` and `SSL_CERT_DIR` replace the system's root certificates on Unix systems other than macOS. On
///   macOS and Windows the operating system verifies; read the file and give it to
///   [`root_certificate_pem`](Self::root_certificate_pem) there.
#[derive(Debug, Clone)]
pub struct HttpFetchBuilder {
    connect_timeout: Duration,
    idle_timeout: Duration,
    user_agent: String,
    origin_headers: HashMap<Origin, HeaderMap>,
    extra_roots: Vec<CertificateDer<'static>>,
    allow_private_redirects: bool,
    environment_proxies: bool,
    requests_per_origin: usize,
}

impl Default for HttpFetchBuilder {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(20),
            user_agent: concat!("farquet/", env!("CARGO_PKG_VERSION")).to_owned(),
            origin_headers: HashMap::new(),
            extra_roots: Vec::new(),
            allow_private_redirects: false,
            environment_proxies: true,
            requests_per_origin: 64,
        }
    }
}

impl HttpFetchBuilder {
    /// The defaults, each of which stands at its method.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long a connection may take, from the name's resolution to the end of the TLS handshake. 5 s.
    #[must_use]
    pub fn connect_timeout(mut self, wait: Duration) -> Self {
        self.connect_timeout = wait;
        self
    }

    /// How long nothing may arrive: neither the head of an answer nor the next chunk of its body. 20 s.
    ///
    /// Each redirect has this time anew. There is no limit on the whole: it would end slow but healthy transfers.
    #[must_use]
    pub fn idle_timeout(mut self, wait: Duration) -> Self {
        self.idle_timeout = wait;
        self
    }

    /// The `User-Agent` header. `farquet/` and the version.
    #[must_use]
    pub fn user_agent(mut self, text: impl Into<String>) -> Self {
        self.user_agent = text.into();
        self
    }

    /// Sends a header to one origin (`https://host:port`), and to no other, whatever redirects say.
    ///
    /// May be called again for more headers and more origins. A header of the same name in a request wins. Fails with
    /// [`FetchErrorKind::Request`] where the origin has more to it than scheme, host and port (a header cannot be
    /// confined to a path), or where name or value are no header's.
    pub fn origin_header(mut self, origin: &str, name: &str, value: &str) -> Result<Self, FetchError> {
        let refused = |why: String| FetchError::new(FetchErrorKind::Request, why);
        let url = Url::parse(origin).map_err(|error| refused(format!("header `{name}`: no origin: {error}")))?;
        let is_bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || !is_bare {
            return Err(refused(format!(
                "header `{name}`: the origin must be like `https://host` or `https://host:port`"
            )));
        }
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| refused(format!("`{}` is no header name", name.escape_debug())))?;
        // The value may be a secret: it is neither quoted in the error nor shown by `Debug`.
        let mut value =
            HeaderValue::from_str(value).map_err(|_| refused(format!("the value of `{name}` is no header's")))?;
        value.set_sensitive(true);
        self.origin_headers.entry(url.origin()).or_default().append(name, value);
        Ok(self)
    }

    /// Trusts the certificates of a PEM text besides the system's.
    ///
    /// Fails with [`FetchErrorKind::Tls`] where the text has no certificate, or one that is not usable.
    pub fn root_certificate_pem(mut self, pem: &[u8]) -> Result<Self, FetchError> {
        self.extra_roots.extend(tls::parse_roots(pem)?);
        Ok(self)
    }

    /// Follows redirects from public addresses to private ones (RFC 1918, loopback, link-local and the like). `false`.
    ///
    /// Otherwise a public server could make this machine read what only it can reach, such as a cloud's metadata
    /// service. Only hosts written as addresses and `localhost` are looked at: a name that resolves to a private
    /// address is a public one here. A private address may always redirect to another.
    #[must_use]
    pub fn allow_private_redirects(mut self, allow: bool) -> Self {
        self.allow_private_redirects = allow;
        self
    }

    /// Uses the proxies that the environment names. `true`.
    #[must_use]
    pub fn environment_proxies(mut self, obey: bool) -> Self {
        self.environment_proxies = obey;
        self
    }

    /// [`Capabilities::requests_per_origin`]. 64; at least 1.
    ///
    /// A promise to the policy above, not a limit here: more requests than that would be sent all the same.
    #[must_use]
    pub fn requests_per_origin(mut self, requests: usize) -> Self {
        self.requests_per_origin = requests.max(1);
        self
    }

    /// Reads the root certificates and the environment, and makes the client. Sends nothing.
    ///
    /// Fails with [`FetchErrorKind::Request`] for a user agent that is no header's value.
    pub fn build(self) -> Result<HttpFetch, FetchError> {
        let refused = |why: &str| FetchError::new(FetchErrorKind::Request, format!("http client not usable: {why}"));
        let user_agent =
            HeaderValue::from_str(&self.user_agent).map_err(|_| refused("user agent is no header value"))?;
        let tls = tls::configure(&self.extra_roots)?;
        let connections = ConnectionCount::default();
        let mut client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.config)
            .user_agent(user_agent)
            .connect_timeout(self.connect_timeout)
            .connector_layer(connections.clone())
            .tcp_nodelay(true)
            .pool_max_idle_per_host(128)
            .pool_idle_timeout(Duration::from_secs(90))
            // Bodies are read in parallel. With HTTP/2's own 64 KiB they would all wait for window updates, a round
            // trip for every 64 KiB. The connection's window holds all bytes that a query may have in flight: were it
            // smaller, bodies that wait to be read could keep others from arriving.
            .http2_initial_stream_window_size(8 * MIB)
            .http2_initial_connection_window_size(64 * MIB)
            // An HTTP/2 connection outlives the requests on it. Without pings, one that died silently would be given to
            // every repetition of a request that timed out on it.
            .http2_keep_alive_interval(Duration::from_secs(10))
            .http2_keep_alive_timeout(Duration::from_secs(10))
            // The rest belongs to other layers: redirects to `redirect`, repetitions and codings to the policy above.
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate();
        if !self.environment_proxies {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| refused(&error.without_url().to_string()))?;
        Ok(HttpFetch {
            client,
            connections,
            idle_timeout: self.idle_timeout,
            origin_headers: self.origin_headers,
            allow_private_redirects: self.allow_private_redirects,
            has_system_roots: tls.has_system_roots,
            capabilities: Capabilities {
                suffix_ranges: true,
                conditional_headers: true,
                http_cache: false,
                requests_per_origin: self.requests_per_origin,
                bytes_in_flight: 64 << 20,
                largest_request: 16 << 20,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for origin in ["https://a.org/x", "https://a.org/?q", "https://me@a.org", "ftp://a.org", "a.org"] {
            let error = HttpFetchBuilder::new().origin_header(origin, "x-a", "1").expect_err("no origin");
            assert_eq!(error.kind(), FetchErrorKind::Request, "{origin}");
        }
        HttpFetchBuilder::new().origin_header("https://a.org:8443/", "x-a", "1").expect("an origin");
    }

    #[test]
    fn secrets_are_not_shown() {
        let builder = HttpFetchBuilder::new().origin_header("https://a.org", "x-a", "secret").expect("a header");
        assert!(!format!("{builder:?}").contains("secret"));
        let fetch = builder.build().expect("a client");
        assert!(!format!("{fetch:?}").contains("secret"));
        let error =
            HttpFetchBuilder::new().origin_header("https://a.org", "x-a", "sec\nret").expect_err("a line break");
        assert_eq!(error.to_string(), "the value of `x-a` is no header's");
    }

    #[test]
    fn a_user_agent_has_to_be_a_header_value() {
        let error = HttpFetchBuilder::new().user_agent("a\nb").build().expect_err("a line break");
        assert_eq!(error.kind(), FetchErrorKind::Request);
    }

    #[test]
    fn what_is_set_is_told() {
        let fetch = HttpFetchBuilder::new().requests_per_origin(0).build().expect("a client");
        assert_eq!(farquet_core::fetch::Fetch::capabilities(&fetch).requests_per_origin, 1);
    }
}
