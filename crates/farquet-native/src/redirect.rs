//! Which redirects are followed, and where to. Decisions only: the exchange itself is in `http`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use farquet_core::fetch::{FetchError, FetchErrorKind};
use http::{HeaderMap, StatusCode, header};
use url::{Host, Url};

use crate::failure::origin_text;

/// Redirects that are followed for one request.
pub(crate) const MOST_REDIRECTS: usize = 10;

/// Headers that are for the origin they were made for and for no other.
pub(crate) const CREDENTIALS: [header::HeaderName; 3] =
    [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];

/// The way of one request: every URL it was sent to, the present one last.
#[derive(Debug)]
pub(crate) struct Trail {
    first: Url,
    followed: Vec<Url>,
    allow_private: bool,
}

impl Trail {
    pub(crate) fn new(first: Url, allow_private: bool) -> Self {
        Self { first, followed: Vec::new(), allow_private }
    }

    pub(crate) fn current(&self) -> &Url {
        self.followed.last().unwrap_or(&self.first)
    }

    pub(crate) fn redirects(&self) -> u32 {
        u32::try_from(self.followed.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn into_current(mut self) -> Url {
        self.followed.pop().unwrap_or(self.first)
    }

    /// Moves on where the answer says so. `false`: the answer is no redirect, or names no place to go.
    pub(crate) fn follow(&mut self, status: StatusCode, headers: &HeaderMap) -> Result<bool, FetchError> {
        if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(false);
        }
        let Some(location) = headers.get(header::LOCATION) else { return Ok(false) };
        let next = self.resolve(location.as_bytes())?;
        let current = self.current();
        let refused = |why: String| {
            let text = format!("redirect from {} to {} not followed: {why}", origin_text(current), origin_text(&next));
            Err(FetchError::new(FetchErrorKind::Redirect, text))
        };
        match (current.scheme(), next.scheme()) {
            ("https", "http") => return refused("it leads away from https".to_owned()),
            (_, "http" | "https") => {}
            (_, other) => return refused(format!("it leads to the scheme `{other}`")),
        }
        if !self.allow_private && is_private(&next) && !is_private(current) {
            let why = "it leads from a public address to a private one; hint: private redirects have to be allowed";
            return refused(why.to_owned());
        }
        // No request carries a cookie of its own making, so the same URL would give the same answer for ever.
        if next == self.first || self.followed.contains(&next) {
            return refused("it leads in a circle".to_owned());
        }
        if self.followed.len() >= MOST_REDIRECTS {
            return refused(format!("{MOST_REDIRECTS} redirects were followed already"));
        }
        self.followed.push(next);
        Ok(true)
    }

    /// RFC 9110 §10.2.2: relative to the present URL. Escapes such as `%2F` stay as they were sent.
    fn resolve(&self, location: &[u8]) -> Result<Url, FetchError> {
        let unreadable = || {
            let text = format!("redirect from {} names no readable location", origin_text(self.current()));
            FetchError::new(FetchErrorKind::Redirect, text)
        };
        let location = std::str::from_utf8(location).map_err(|_| unreadable())?;
        let mut next = self.current().join(location).map_err(|_| unreadable())?;
        next.set_fragment(None);
        // A name and password are the user's to give, not the server's; and once left, an origin gets them no more.
        let current = self.current();
        let same = next.origin() == current.origin();
        let (user, password) = if same { (current.username(), current.password()) } else { ("", None) };
        // Only URLs without a host refuse these, and they are refused by their scheme later.
        let _ = next.set_username(user);
        let _ = next.set_password(password);
        Ok(next)
    }
}

/// Whether the host is written as an address of this machine or of a private network.
///
/// Names other than `localhost` are not resolved: what a name means is decided when connecting, behind a proxy even
/// elsewhere, so an answer given here could be wrong by then.
fn is_private(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => is_private_v4(address),
        Some(Host::Ipv6(address)) => is_private_v6(address),
        None => false,
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || a == 0
        // Addresses shared behind a carrier's NAT (RFC 6598), where clouds also keep services of their own.
        || (a == 100 && (64..128).contains(&b))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    if let Some(IpAddr::V4(v4)) = Some(address.to_canonical()).filter(IpAddr::is_ipv4) {
        return is_private_v4(v4);
    }
    // IPv4 within IPv6 by NAT64 (RFC 6052): the last 32 bits are the address that is reached.
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [.., a, b, c, d] = address.octets();
        return is_private_v4(Ipv4Addr::new(a, b, c, d));
    }
    address.is_loopback() || address.is_unspecified() || address.is_unique_local() || address.is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    fn follow(trail: &mut Trail, location: &str) -> Result<bool, FetchError> {
        let location = location.parse().expect("a header value");
        trail.follow(StatusCode::FOUND, &HeaderMap::from_iter([(header::LOCATION, location)]))
    }

    fn after(from: &str, location: &str) -> String {
        let mut trail = Trail::new(url(from), false);
        assert!(follow(&mut trail, location).expect("followed"));
        trail.into_current().into()
    }

    fn refusal(from: &str, location: &str) -> String {
        let error = follow(&mut Trail::new(url(from), false), location).expect_err("refused");
        assert_eq!(error.kind(), FetchErrorKind::Redirect);
        error.to_string()
    }

    #[test]
    fn locations_are_resolved_as_they_were_sent() {
        assert_eq!(after("https://a.org/x/y?q=1", "z?r=2"), "https://a.org/x/z?r=2");
        assert_eq!(after("https://a.org/x/y", "/a%2Fb/c%252F?s=%2F+%20"), "https://a.org/a%2Fb/c%252F?s=%2F+%20");
        assert_eq!(after("https://a.org/x", "//b.org/y"), "https://b.org/y");
        assert_eq!(after("http://a.org/x", "https://a.org/x"), "https://a.org/x");
        assert_eq!(after("https://a.org/x", "/y#part"), "https://a.org/y");
    }

    #[test]
    fn user_info_stays_with_the_origin_it_was_given_for() {
        assert_eq!(after("https://me:pw@a.org/x", "/y"), "https://me:pw@a.org/y");
        assert_eq!(after("https://me:pw@a.org/x", "https://a.org/y"), "https://me:pw@a.org/y");
        assert_eq!(after("https://me:pw@a.org/x", "https://b.org/y"), "https://b.org/y");
        assert_eq!(after("https://a.org/x", "https://you:pw@b.org/y"), "https://b.org/y");
        let mut trail = Trail::new(url("https://me:pw@a.org/x"), false);
        assert!(follow(&mut trail, "https://b.org/y").expect("away"));
        assert!(follow(&mut trail, "https://a.org/z").expect("back"));
        assert_eq!(trail.into_current().as_str(), "https://a.org/z");
    }

    #[test]
    fn only_redirects_with_a_location_are_followed() {
        let mut trail = Trail::new(url("https://a.org/"), false);
        assert!(!trail.follow(StatusCode::FOUND, &HeaderMap::new()).expect("no location"));
        let headers = HeaderMap::from_iter([(header::LOCATION, "/b".parse().expect("a header value"))]);
        for status in [200, 201, 300, 304, 305, 306] {
            let status = StatusCode::from_u16(status).expect("a status");
            assert!(!trail.follow(status, &headers).expect("no redirect"), "{status}");
        }
        assert_eq!(trail.redirects(), 0);
    }

    #[test]
    fn https_is_not_left() {
        let text = refusal("https://a.org/x", "http://a.org/x?sig=secret");
        assert_eq!(text, "redirect from https://a.org to http://a.org not followed: it leads away from https");
        assert!(refusal("http://a.org/x", "file:///etc/passwd").contains("scheme `file`"));
        assert!(refusal("http://a.org/x", "http://").contains("no readable location"));
    }

    #[test]
    fn private_addresses_are_refused_however_they_are_written() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "db.localhost",
            "127.0.0.1",
            "2130706433",
            "0x7f.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "0.0.0.0",
            "[::1]",
            "[::]",
            "[fe80::1]",
            "[fd00::1]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::a00:1]",
        ] {
            assert!(refusal("http://a.org/", &format!("http://{host}/x")).contains("private"), "{host}");
        }
        for host in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "[2606:4700::1111]", "localhost.org"] {
            after("http://a.org/", &format!("http://{host}/x"));
        }
    }

    #[test]
    fn a_private_origin_may_redirect_to_another() {
        after("http://127.0.0.1:1/", "http://10.0.0.1/");
        let mut trail = Trail::new(url("http://a.org/"), true);
        assert!(follow(&mut trail, "http://10.0.0.1/").expect("allowed"));
        // From a private address out to the net and back again is refused all the same.
        let mut trail = Trail::new(url("http://10.0.0.1/"), false);
        assert!(follow(&mut trail, "http://a.org/").expect("public"));
        follow(&mut trail, "http://10.0.0.1/other").expect_err("back to a private address");
    }

    #[test]
    fn circles_and_long_ways_end() {
        let mut trail = Trail::new(url("http://a.org/0"), false);
        for step in 1..=MOST_REDIRECTS {
            assert!(follow(&mut trail, &format!("/{step}")).expect("followed"));
        }
        assert!(follow(&mut trail, "/3").expect_err("a circle").to_string().contains("circle"));
        assert!(follow(&mut trail, "/11").expect_err("too many").to_string().contains("10 redirects"));
        assert_eq!(trail.redirects(), 10);
    }
}
