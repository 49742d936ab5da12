//! Many requests at a time.

use std::sync::Arc;

use farquet_core::fetch::Fetch;
use futures::future::try_join_all;

use super::tools::{Change, Outcome, PATH, answered, body_of, ensure, get, origin_with, whole};
use crate::Fault;

/// As many as the check sends, where the backend says that it carries as many.
const REQUESTS: usize = 64;

pub(super) async fn requests_run_concurrently(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(10_000).await;
    let promised = fetch.capabilities().requests_per_origin.min(REQUESTS);
    origin.script(move |_| Some(Fault::Gather(promised)));
    let one = async |at: usize| {
        let range = format!("bytes={}-{}", at * 100, at * 100 + 99);
        let response = answered(&fetch, get(&origin, PATH).with("range", &range)).await?;
        let expected = body_of(10_000).slice(at * 100..at * 100 + 100);
        ensure!(whole(response).await? == expected, "answers were mixed up");
        Ok(())
    };
    let answers = try_join_all((0..REQUESTS).map(one)).await;
    let reached = origin.max_in_flight();
    ensure!(reached >= promised, "at most {reached} of {promised} requests were in flight at a time");
    answers?;
    ensure!(origin.requests() == REQUESTS, "{} requests instead of {REQUESTS}", origin.requests());
    Ok(())
}

pub(super) async fn connections_are_counted(fetch: Arc<dyn Fetch>) -> Outcome {
    let Some(before) = fetch.connections_opened() else { return Ok(()) };
    let origin = origin_with(1000).await;
    for _ in 0..3 {
        whole(answered(&fetch, get(&origin, PATH)).await?).await?;
    }
    let counted = fetch.connections_opened().unwrap_or(before) - before;
    let accepted = origin.connections();
    ensure!(counted == accepted, "{counted} connections were counted, {accepted} were opened");
    Ok(())
}
