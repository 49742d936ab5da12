//! Validators (RFC 9110 §8.8): what tells one version of an object from another.

use std::fmt;

use http::{HeaderMap, header};

/// An entity tag.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag {
    /// The quoted text, without `W/`.
    pub text: String,
    /// Weak tags do not promise equal bytes.
    pub weak: bool,
}

/// One version of an object, as far as its headers tell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Version {
    /// `ETag`, where visible.
    pub etag: Option<ETag>,
    /// `Last-Modified` as sent; compared as text, never computed with.
    pub last_modified: Option<String>,
    /// The object's size in bytes, where known.
    pub size: Option<u64>,
}

/// How well a file's versions can be told apart, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grade {
    /// A strong tag: another version is always noticed, and a later query may use what an earlier one read.
    Strong,
    /// A weak tag: noticed within a query as far as the server changes it.
    Weak,
    /// A date: noticed within a query, unless the file was written twice within a second.
    LastModified,
    /// Nothing but the size.
    None,
}

impl Grade {
    /// The word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Weak => "weak",
            Self::LastModified => "last-modified",
            Self::None => "none",
        }
    }
}

impl Version {
    /// How well it can be told from others.
    pub fn grade(&self) -> Grade {
        match (&self.etag, &self.last_modified) {
            (Some(tag), _) if tag.weak => Grade::Weak,
            (Some(_), _) => Grade::Strong,
            (None, Some(_)) => Grade::LastModified,
            (None, None) => Grade::None,
        }
    }

    /// The validators in `headers`; the size is the caller's to fill in.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let etag = text(header::ETAG).filter(|tag| !tag.is_empty()).map(|tag| match tag.strip_prefix("W/") {
            Some(text) => ETag { text: text.to_owned(), weak: true },
            None => ETag { text: tag.to_owned(), weak: false },
        });
        Self { etag, last_modified: text(header::LAST_MODIFIED).map(str::to_owned), size: None }
    }

    /// Whether `later`, an answer about the same object within one query, shows another version.
    ///
    /// A validator that was there and has vanished counts as a change: nothing proves that the version is the same.
    pub fn differs_from(&self, later: &Self) -> bool {
        if let (Some(size), Some(later)) = (self.size, later.size)
            && size != later
        {
            return true;
        }
        match (&self.etag, &later.etag) {
            (Some(etag), Some(later)) => etag != later,
            (Some(_), None) => true,
            (None, _) => match (&self.last_modified, &later.last_modified) {
                (Some(date), Some(later)) => date != later,
                (Some(_), None) => true,
                (None, _) => false,
            },
        }
    }

    /// The tag by which an object of an earlier query may be recognized; weak tags and dates may not.
    ///
    /// A date has a resolution of one second, and whether it is old enough against the server's clock is not always
    /// visible (RFC 9110 §8.8.2.2): it pins a version within a query and proves nothing across queries.
    pub fn reusable(&self) -> Option<&str> {
        self.strong_etag()
    }

    /// The tag for `If-Match`, which only a strong one can be (RFC 9110 §13.1.1).
    pub fn strong_etag(&self) -> Option<&str> {
        self.etag.as_ref().filter(|etag| !etag.weak).map(|etag| etag.text.as_str())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.etag, &self.last_modified) {
            (Some(etag), _) => write!(f, "etag {}{}", if etag.weak { "W/" } else { "" }, etag.text)?,
            (None, Some(date)) => write!(f, "last modified {date}")?,
            (None, None) => f.write_str("no validator")?,
        }
        match self.size {
            Some(size) => write!(f, ", {size} bytes"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(etag: Option<&str>, date: Option<&str>, size: u64) -> Version {
        let mut headers = HeaderMap::new();
        if let Some(etag) = etag {
            headers.insert(header::ETAG, etag.parse().expect("a header value"));
        }
        if let Some(date) = date {
            headers.insert(header::LAST_MODIFIED, date.parse().expect("a header value"));
        }
        Version { size: Some(size), ..Version::from_headers(&headers) }
    }

    #[test]
    fn every_visible_difference_is_a_change() {
        let one = version(Some("\"1\""), Some("Mon"), 5);
        assert!(!one.differs_from(&one));
        assert!(one.differs_from(&version(Some("\"2\""), Some("Mon"), 5)), "another tag");
        assert!(one.differs_from(&version(Some("\"1\""), Some("Mon"), 6)), "the same tag, another size");
        assert!(one.differs_from(&version(None, Some("Mon"), 5)), "the tag has vanished");
        assert!(!one.differs_from(&version(Some("\"1\""), Some("Tue"), 5)), "the tag outranks the date");
        let dated = version(None, Some("Mon"), 5);
        assert!(dated.differs_from(&version(None, Some("Tue"), 5)));
        assert!(!version(None, None, 5).differs_from(&version(None, Some("Mon"), 5)));
        assert_eq!(version(Some("W/\"1\""), None, 5).strong_etag(), None);
    }
}
