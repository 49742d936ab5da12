//! Files as an origin.

use std::io::Write;
use std::path::Path;

use farquet_core::fetch::{Fetch, FetchErrorKind, FetchResponse};
use farquet_native::{FileFetch, NativeFetch};
use futures::StreamExt;
use http::{HeaderName, Method, header};
use tempfile::TempDir;
use url::Url;

use crate::{body_of, client, kind_of, request};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn write(folder: &TempDir, name: &str, content: &[u8]) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("a file");
    url_of(&path)
}

fn url_of(path: &Path) -> String {
    Url::from_file_path(path).expect("an absolute path").into()
}

async fn ask(url: &str, headers: &[(HeaderName, &str)]) -> FetchResponse {
    FileFetch::new().fetch(request(Method::GET, url, headers)).await.expect("an answer")
}

async fn status_and_text(url: &str) -> (u16, String) {
    let response = ask(url, &[]).await;
    let status = response.status.as_u16();
    (status, String::from_utf8(body_of(response).await.expect("a body")).expect("text"))
}

fn etag(response: &FetchResponse) -> String {
    response.headers[header::ETAG].to_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_whole_file_has_length_and_validators() {
    let folder = folder();
    let content: Vec<u8> = (0..=255_u8).cycle().take(1_000_003).collect();
    let url = write(&folder, "a b%2F.parquet", &content);
    let fetch = NativeFetch::new(client());
    let response = fetch.fetch(request(Method::GET, &format!("{url}?x=1"), &[])).await.expect("an answer");
    assert_eq!((response.status.as_u16(), response.redirects), (200, 0));
    assert_eq!(response.headers[header::CONTENT_LENGTH], "1000003");
    assert_eq!(response.headers[header::ACCEPT_RANGES], "bytes");
    assert!(response.headers.contains_key(header::LAST_MODIFIED) && response.headers.contains_key(header::DATE));
    assert!(etag(&response).starts_with('"') && etag(&response).ends_with('"'));
    assert_eq!(response.final_url.as_str(), format!("{url}?x=1"));
    assert!(body_of(response).await.expect("a body") == content);

    let response = fetch.fetch(request(Method::HEAD, &url, &[])).await.expect("an answer");
    assert_eq!(response.headers[header::CONTENT_LENGTH], "1000003");
    assert!(body_of(response).await.expect("no body").is_empty());
}

#[tokio::test]
async fn ranges_are_answered_with_206_or_416() {
    let folder = folder();
    let url = write(&folder, "a", b"0123456789");
    for (range, content_range, body) in [
        ("bytes=2-4", "bytes 2-4/10", "234"),
        ("bytes=8-", "bytes 8-9/10", "89"),
        ("bytes=-3", "bytes 7-9/10", "789"),
        ("bytes=0-262144", "bytes 0-9/10", "0123456789"),
    ] {
        let response = ask(&url, &[(header::RANGE, range)]).await;
        assert_eq!(response.status.as_u16(), 206, "{range}");
        assert_eq!(response.headers[header::CONTENT_RANGE], content_range);
        assert_eq!(response.headers[header::CONTENT_LENGTH], body.len().to_string());
        assert_eq!(body_of(response).await.expect("a body"), body.as_bytes());
    }
    let response = ask(&url, &[(header::RANGE, "bytes=10-")]).await;
    assert_eq!(response.status.as_u16(), 416);
    assert_eq!(response.headers[header::CONTENT_RANGE], "bytes */10");
    assert!(body_of(response).await.expect("no body").is_empty());
}

#[tokio::test]
async fn an_empty_file_is_a_file() {
    let folder = folder();
    let url = write(&folder, "empty", b"");
    for (headers, status) in [(&[][..], 200), (&[(header::RANGE, "bytes=-8")][..], 200)] {
        let response = ask(&url, headers).await;
        assert_eq!(
            (response.status.as_u16(), &response.headers[header::CONTENT_LENGTH]),
            (status, &"0".parse().expect("0"))
        );
        assert!(body_of(response).await.expect("no body").is_empty());
    }
    assert_eq!(ask(&url, &[(header::RANGE, "bytes=0-8")]).await.status.as_u16(), 416);
}

#[tokio::test]
async fn conditions_follow_the_content() {
    let folder = folder();
    let url = write(&folder, "a", b"one");
    let first = etag(&ask(&url, &[]).await);
    let unchanged = ask(&url, &[(header::IF_NONE_MATCH, &first)]).await;
    assert_eq!(unchanged.status.as_u16(), 304);
    assert_eq!(etag(&unchanged), first);
    assert!(body_of(unchanged).await.expect("no body").is_empty());
    assert_eq!(ask(&url, &[(header::IF_MATCH, &first), (header::RANGE, "bytes=0-0")]).await.status.as_u16(), 206);

    // Replaced by a file of the same size, as most writers do: by renaming.
    write(&folder, "b", b"two");
    std::fs::rename(folder.path().join("b"), folder.path().join("a")).expect("renamed");
    let changed = ask(&url, &[(header::IF_NONE_MATCH, &first)]).await;
    assert_eq!(changed.status.as_u16(), 200);
    assert_ne!(etag(&changed), first);
    assert_eq!(body_of(changed).await.expect("a body"), b"two");
    assert_eq!(ask(&url, &[(header::IF_MATCH, &first)]).await.status.as_u16(), 412);
}

#[tokio::test]
async fn what_is_no_file_is_not_found() {
    let folder = folder();
    let url = write(&folder, "a", b"one");
    let (status, text) = status_and_text(&format!("{url}.missing")).await;
    assert!(status == 404 && text.to_lowercase().contains("no such file"), "{status} {text}");
    assert_eq!(status_and_text(&url_of(folder.path())).await, (404, "this is a directory, not a file".to_owned()));
    assert_eq!(status_and_text(&format!("{url}/below")).await.0, 404);
    assert_eq!(status_and_text(&format!("{url}%00")).await.0, 404);
}

#[tokio::test]
async fn only_reading_is_allowed() {
    let folder = folder();
    let url = write(&folder, "a", b"one");
    let response = FileFetch::new().fetch(request(Method::PUT, &url, &[])).await.expect("an answer");
    assert_eq!(response.status.as_u16(), 405);
    assert_eq!(
        kind_of(&FileFetch::new(), request(Method::GET, "file://elsewhere/a", &[])).await,
        FetchErrorKind::Request
    );
    assert_eq!(kind_of(&FileFetch::new(), request(Method::GET, "http://a.org/", &[])).await, FetchErrorKind::Request);
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_read_fails_the_body() {
    let folder = folder();
    for (grow, why) in [(true, "changed while it was read"), (false, "became shorter while it was read")] {
        let url = write(&folder, "a", &vec![1; 2_000_000]);
        let mut response = ask(&url, &[]).await;
        response.body.next().await.expect("a chunk").expect("no error");
        let mut file = std::fs::OpenOptions::new().append(true).open(folder.path().join("a")).expect("the file");
        if grow {
            file.write_all(b"more").expect("written");
        } else {
            file.set_len(1000).expect("cut");
        }
        let error = body_of(response).await.expect_err("not the version that the head told of");
        assert_eq!((error.kind(), error.to_string()), (FetchErrorKind::Interrupted, format!("the file {why}")));
    }
}
