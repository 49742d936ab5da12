//! URLs as they may be shown: without query string, fragment and user info, since those carry signatures and passwords.

use url::Url;

/// `scheme://host:port/path`, or the plain path of a `file:` URL.
pub fn display_url(url: &Url) -> String {
    if url.scheme() == "file" {
        return url.path().to_owned();
    }
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // Only URLs without a host refuse these, and those have no user info.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.into()
}

/// `text` with the query strings and the user info of every `http(s)` URL in it removed.
///
/// For messages that come from a parser or a library and may quote what the user wrote.
pub fn redact_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "'\"`<>|".contains(c)).unwrap_or(after.len());
        let (url, tail) = after.split_at(end);
        let path_end = url.find(['?', '#']).unwrap_or(url.len());
        let host_end = url.find(['/', '?', '#']).unwrap_or(url.len());
        let host_start = url[..host_end].rfind('@').map_or(0, |at| at + 1);
        shown.push_str(&url[host_start..path_end]);
        rest = tail;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_shown() {
        let url = Url::parse("https://me:pass@host:8443/a%2Fb.parquet?sig=secret#x").expect("a url");
        assert_eq!(display_url(&url), "https://host:8443/a%2Fb.parquet");
        assert_eq!(
            redact_text("table 'https://me:pass@h/a.parquet?sig=secret' and http://h?x=1 not found"),
            "table 'https://h/a.parquet' and http://h not found"
        );
    }
}
