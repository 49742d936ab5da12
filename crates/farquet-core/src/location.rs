//! Where files are: URLs, local paths, and patterns that name many files without a listing.

use url::Url;

use crate::error::{Error, ErrorKind, Result};
use crate::redact::redact_text;

/// A pattern that names more files than this is a mistake.
const MOST_FILES: usize = 100_000;

/// Splits `a,b{c,d}` at the commas outside of braces.
pub fn split_list(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// The URLs that `location` names, in the order of the pattern.
///
/// `{a,b}` stands for either, `{000..119}` for each number with as many digits; both only before a query string. What has
/// no scheme is a local path, relative to `base`.
pub fn resolve(location: &str, base: Option<&Url>) -> Result<Vec<Url>> {
    let query_at = if location.contains("://") { location.find('?') } else { None };
    let (path, query) = location.split_at(query_at.unwrap_or(location.len()));
    expand(path)?.into_iter().map(|path| parse(&(path + query), base)).collect()
}

fn wrong(location: &str, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Location, format!("'{}': {why}", redact_text(location)))
}

fn parse(location: &str, base: Option<&Url>) -> Result<Url> {
    if location.contains("://") {
        let url = Url::parse(location).map_err(|error| wrong(location, error))?;
        return match url.scheme() {
            "http" | "https" if url.host_str().is_some_and(|host| !host.is_empty()) => Ok(url),
            "file" => Ok(url),
            scheme => Err(wrong(location, format_args!("the scheme '{scheme}' is not known"))
                .hint("http://, https://, file:// and local paths can be read")),
        };
    }
    if let Some(at) = signed_at(location) {
        return Err(wrong(&location[..at], "a query string, and no scheme before the host")
            .hint("https:// makes it a URL; a local path with a '?' begins with / or ./"));
    }
    let Some(base) = base else {
        return Err(wrong(location, "not a URL, and there is no place that it could be relative to"));
    };
    let mut url = base.clone();
    // A path is not a URL reference: its '%', '?' and '#' are meant as they stand.
    let path = location.replace('%', "%25");
    if path.starts_with('/') {
        url.set_path(&path);
    } else {
        let folder = base.path().rfind('/').map_or("/", |end| &base.path()[..=end]);
        url.set_path(&format!("{folder}{path}"));
    }
    url.set_query(None);
    Ok(url)
}

/// Where the query string of what is rather a URL than a path begins. It may hold a signature, so it is not shown as a path.
fn signed_at(location: &str) -> Option<usize> {
    let is_path = ["./", "../", "/"].iter().any(|start| location.starts_with(start)) && !location.starts_with("//");
    let at = location.find('?').filter(|_| !is_path)?;
    location[at..].contains('=').then_some(at)
}

/// Expands the first pair of braces, and the rest by recursion.
fn expand(text: &str) -> Result<Vec<String>> {
    let mut results = Vec::new();
    expand_into(String::new(), text, &mut results)?;
    Ok(results)
}

fn expand_into(before: String, text: &str, results: &mut Vec<String>) -> Result<()> {
    let Some(open) = text.find('{') else {
        if results.len() >= MOST_FILES {
            return Err(wrong(text, format_args!("the pattern names more than {MOST_FILES} files")));
        }
        results.push(before + text);
        return Ok(());
    };
    let Some(close) = text[open..].find('}').map(|at| open + at) else {
        return Err(wrong(text, "a brace is not closed"));
    };
    let (head, group, rest) = (&text[..open], &text[open + 1..close], &text[close + 1..]);
    for choice in choices(group).ok_or_else(|| wrong(text, format_args!("{{{group}}} is no list and no range")))? {
        expand_into(format!("{before}{head}{choice}"), rest, results)?;
    }
    Ok(())
}

/// `a,b` or `08..11`.
fn choices(group: &str) -> Option<Vec<String>> {
    if let Some((first, last)) = group.split_once("..") {
        let digits = |text: &str| !text.is_empty() && text.len() < 19 && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(first) || !digits(last) {
            return None;
        }
        let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        let padded = first.len() > 1 && first.starts_with('0') || last.len() > 1 && last.starts_with('0');
        let width = if padded { first.len().max(last.len()) } else { 0 };
        if from.abs_diff(to) >= MOST_FILES as u64 {
            return None;
        }
        let name = |n: u64| format!("{n:0width$}");
        return Some(if from <= to { (from..=to).map(name).collect() } else { (to..=from).rev().map(name).collect() });
    }
    group.contains(',').then(|| group.split(',').map(|choice| choice.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(location: &str) -> Vec<String> {
        let base = Url::parse("file:///home/me/").expect("a url");
        resolve(location, Some(&base)).expect("locations").into_iter().map(String::from).collect()
    }

    #[test]
    fn patterns_name_many_files() {
        assert_eq!(all("https://h/{a,b}/{08..10}.parquet?k={1}").len(), 6);
        assert_eq!(all("https://h/x{8..10}").last().expect("three"), "https://h/x10");
        assert_eq!(all("https://h/x{000..119}")[7], "https://h/x007");
        assert_eq!(all("https://h/x{2..1}"), ["https://h/x2", "https://h/x1"]);
        assert_eq!(all("https://h/a%2Fb.parquet?sig=x%2F"), ["https://h/a%2Fb.parquet?sig=x%2F"]);
    }

    #[test]
    fn paths_are_local() {
        assert_eq!(all("a b.parquet"), ["file:///home/me/a%20b.parquet"]);
        assert_eq!(all("../x#1?.parquet"), ["file:///home/x%231%3F.parquet"]);
        assert_eq!(all("/data/50%.parquet"), ["file:///data/50%25.parquet"]);
    }

    #[test]
    fn mistakes_are_named() {
        for wrong in ["https://h/{a", "https://h/{a}", "s3://b/k", "https://", "https://h/{1..999999999}"] {
            assert_eq!(resolve(wrong, None).expect_err(wrong).kind(), ErrorKind::Location, "{wrong}");
        }
        let error = resolve("ftp://h/x?secret=1", None).expect_err("an error");
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn a_url_without_its_scheme_is_no_path() {
        let base = Url::parse("file:///home/me/").expect("a url");
        for location in ["h.org/x.parquet?sig=secret", "//h.org/x.parquet?a&sig=secret"] {
            let error = resolve(location, Some(&base)).expect_err("an error");
            assert_eq!(error.kind(), ErrorKind::Location);
            assert!(error.to_string().contains("h.org/x.parquet'") && !error.to_string().contains("secret"), "{error}");
        }
        assert_eq!(all("./x.parquet?a=b"), ["file:///home/me/x.parquet%3Fa=b"]);
    }

    #[test]
    fn lists_respect_braces() {
        assert_eq!(split_list("a,b{c,d}, e"), ["a", "b{c,d}", "e"]);
    }
}
