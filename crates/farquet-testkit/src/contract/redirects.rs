//! Redirects are followed, within bounds, and without carrying credentials away.

use std::sync::Arc;

use farquet_core::fetch::{Fetch, FetchErrorKind};

use super::tools::{Change, Outcome, PATH, answered, body_of, ensure, fails, get, origin_with, whole};
use crate::{Fault, Origin};

/// More hops than this before a loop is refused are too many.
const MOST: usize = 32;

pub(super) async fn redirects_are_followed(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(100).await;
    for code in [301, 302, 303, 307, 308] {
        for location in [PATH.to_owned(), "object.parquet".to_owned(), origin.url(PATH).to_string()] {
            origin.clear_log();
            let target = location.clone();
            origin.script(move |seen| (seen.path == "/data/moved").then(|| Fault::redirect(code, &*target)));
            let request = get(&origin, "/data/moved").with("range", "bytes=10-19");
            let response = answered(&fetch, request).await?;
            let name = format!("{code} to {location}");
            ensure!(response.status == 206, "{name}: {}", response.status);
            ensure!(response.final_url == origin.url(PATH), "{name}: ended at {}", response.final_url);
            ensure!(response.redirects == 1, "{name}: {} redirects counted", response.redirects);
            ensure!(whole(response).await? == body_of(100).slice(10..20), "{name}: other bytes");
            ensure!(origin.requests() == 2, "{name}: {} requests", origin.requests());
        }
    }
    origin.script(|seen| match seen.path.as_str() {
        "/1" => Some(Fault::redirect(302, "/2")),
        "/2" => Some(Fault::redirect(307, "/3")),
        "/3" => Some(Fault::redirect(301, PATH)),
        _ => None,
    });
    let response = answered(&fetch, get(&origin, "/1")).await?;
    ensure!(response.redirects == 3, "{} of 3 redirects were counted", response.redirects);
    ensure!(response.final_url == origin.url(PATH), "ended at {}", response.final_url);
    Ok(())
}

pub(super) async fn locations_are_kept_exactly(fetch: Arc<dyn Fetch>) -> Outcome {
    const EXACT: &str = "/type=a%2Fb/100%25/x.parquet?sig=a%2Fb%3D&empty=";
    let origin = origin_with(100).await;
    origin.script(|seen| (seen.path == "/moved").then(|| Fault::redirect(302, EXACT)));
    let response = answered(&fetch, get(&origin, "/moved")).await?;
    ensure!(response.final_url == origin.url(EXACT), "ended at {}", response.final_url);
    let log = origin.log();
    let arrived = log.get(1).map(|entry| format!("{}?{}", entry.path, entry.query.as_deref().unwrap_or_default()));
    ensure!(arrived.as_deref() == Some(EXACT), "{EXACT} arrived as {arrived:?}");
    Ok(())
}

pub(super) async fn credentials_stay_with_their_origin(fetch: Arc<dyn Fetch>) -> Outcome {
    let (home, away) = (origin_with(100).await, origin_with(100).await);
    let target = away.url(PATH).to_string();
    home.script(move |seen| match seen.path.as_str() {
        "/near" => Some(Fault::redirect(302, PATH)),
        "/far" => Some(Fault::redirect(302, &*target)),
        _ => None,
    });
    let request = |path| {
        let request = get(&home, path).with("authorization", "Bearer secret").with("cookie", "session=secret");
        request.with("range", "bytes=0-9").with("if-none-match", "\"other\"")
    };
    let response = answered(&fetch, request("/near")).await?;
    ensure!(response.status == 206, "within the origin: {}", response.status);
    let log = home.log();
    let kept = log.get(1).and_then(|entry| entry.header("authorization"));
    ensure!(kept == Some("Bearer secret"), "a redirect within the origin lost its authorization");

    let response = answered(&fetch, request("/far")).await?;
    ensure!(response.final_url == away.url(PATH), "ended at {}", response.final_url);
    ensure!(response.status == 206, "at the other origin: {}", response.status);
    let log = away.log();
    let Some(entry) = log.first() else { return Err("the other origin saw no request".to_owned()) };
    for name in ["authorization", "cookie"] {
        ensure!(entry.header(name).is_none(), "{name} was sent to another origin");
    }
    ensure!(entry.range.as_deref() == Some("bytes=0-9"), "the range was lost on the way");
    ensure!(entry.header("if-none-match") == Some("\"other\""), "the condition was lost on the way");
    Ok(())
}

pub(super) async fn loops_are_refused(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(100).await;
    origin.script(|_| Some(Fault::redirect(302, PATH)));
    fails(&fetch, get(&origin, PATH), FetchErrorKind::Redirect).await?;
    ensure!(origin.requests() <= MOST, "a loop took {} requests", origin.requests());
    origin.clear_log();
    origin.script(|seen| Some(Fault::redirect(307, if seen.path == "/a" { "/b" } else { "/a" })));
    fails(&fetch, get(&origin, "/a"), FetchErrorKind::Redirect).await?;
    ensure!(origin.requests() <= MOST, "a loop of two took {} requests", origin.requests());
    // A chain without a loop has an end somewhere, too.
    origin.clear_log();
    origin.script(|seen| Some(Fault::redirect(302, format!("/{}", seen.index + 1))));
    fails(&fetch, get(&origin, "/0"), FetchErrorKind::Redirect).await?;
    ensure!(origin.requests() <= MOST, "an endless chain took {} requests", origin.requests());
    Ok(())
}

pub(super) async fn https_is_not_left(fetch: Arc<dyn Fetch>, secure: &Origin) -> Outcome {
    let plain = origin_with(100).await;
    let target = plain.url(PATH).to_string();
    secure.script(move |seen| (seen.path == "/down").then(|| Fault::redirect(302, &*target)));
    fails(&fetch, get(secure, "/down"), FetchErrorKind::Redirect).await?;
    ensure!(plain.requests() == 0, "a redirect from https to http was followed");
    Ok(())
}
