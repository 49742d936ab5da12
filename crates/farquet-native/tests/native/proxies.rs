//! Proxies of the environment, and through them hosts that are public by name.
//!
//! The environment belongs to the whole process, so the requests are made in a process of their own: this test binary
//! again, told to run the ignored test below.

use std::process::Command;

use farquet_core::fetch::{Fetch, FetchErrorKind};
use farquet_native::HttpFetch;

use crate::origin::{Origin, Reply};
use crate::{body_of, failure_of, get};

const DIRECT: &str = "FARQUET_TEST_DIRECT_URL";

#[tokio::test]
async fn the_environment_names_proxies_and_exceptions() {
    let direct = Origin::start(|_| Reply::ok("direct")).await;
    let private = direct.url("/private?sig=secret");
    let proxy = Origin::start(move |url| match url {
        "http://public.example/in" => Reply::redirect(302, &private),
        "http://public.example/out" => Reply::redirect(302, "http://other.example/"),
        _ => Reply::ok("by proxy"),
    })
    .await;
    let mut again = Command::new(std::env::current_exe().expect("this binary"));
    again
        .args(["--exact", "proxies::requests_in_a_process_of_their_own", "--ignored", "--nocapture"])
        .env("HTTP_PROXY", proxy.url(""))
        .env("NO_PROXY", "127.0.0.1")
        .env(DIRECT, direct.url(""))
        .env_remove("REQUEST_METHOD");
    let output = tokio::task::spawn_blocking(move || again.output()).await.expect("no panic").expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let asked: Vec<_> = proxy.heads().iter().filter_map(|head| head.split(' ').nth(1).map(str::to_owned)).collect();
    let expected = ["/", "/out", "/in", "/in"].map(|path| format!("http://public.example{path}"));
    assert_eq!(asked, [&expected[..2], &["http://other.example/".to_owned()], &expected[2..]].concat());
    let paths: Vec<_> = direct.heads().iter().filter_map(|head| head.split(' ').nth(1).map(str::to_owned)).collect();
    assert_eq!(paths, ["/", "/private?sig=secret"]);
}

#[tokio::test]
#[ignore = "needs the environment that the test above gives it"]
async fn requests_in_a_process_of_their_own() {
    let direct = std::env::var(DIRECT).expect("set by the test above");
    let fetch = HttpFetch::new().expect("a client");
    let text = async |url: &str| body_of(fetch.fetch(get(url)).await.expect("an answer")).await.expect("a body");
    assert_eq!(text("http://public.example/").await, b"by proxy");
    assert_eq!(text(&direct).await, b"direct");
    assert_eq!(text("http://public.example/out").await, b"by proxy");

    let error = failure_of(&fetch, get("http://public.example/in")).await;
    assert_eq!(error.kind(), FetchErrorKind::Redirect);
    assert!(error.to_string().contains("private") && !error.to_string().contains("secret"), "{error}");

    let trusting = HttpFetch::builder().allow_private_redirects(true).build().expect("a client");
    let response = trusting.fetch(get("http://public.example/in")).await.expect("an answer");
    assert_eq!(body_of(response).await.expect("a body"), b"direct");
}
