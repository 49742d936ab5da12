//! Dropping cancels.

use std::sync::Arc;

use farquet_core::fetch::Fetch;
use futures::StreamExt;
use futures::future::{Either, select};

use super::tools::{Outcome, PATH, answered, ensure, eventually, get, origin_with};
use crate::{Fault, Origin};

pub(super) async fn dropping_the_future_cancels(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(100).await;
    origin.script(|_| Some(Fault::Hang));
    let arrived = Box::pin(eventually("the request arrives", || origin.requests() == 1));
    match select(fetch.fetch(get(&origin, PATH)), arrived).await {
        Either::Left((Ok(response), _)) => return Err(format!("a hanging request was answered {}", response.status)),
        Either::Left((Err(error), _)) => return Err(format!("a hanging request failed: {error}")),
        Either::Right((arrived, unanswered)) => {
            arrived?;
            drop(unanswered);
        }
    }
    cut(&origin, "the origin sees that the request is given up").await
}

pub(super) async fn dropping_the_body_cancels(fetch: Arc<dyn Fetch>) -> Outcome {
    const LARGE: usize = 64 << 20;
    let origin = origin_with(LARGE).await;
    let mut response = answered(&fetch, get(&origin, PATH)).await?;
    ensure!(matches!(response.body.next().await, Some(Ok(_))), "a large body did not begin");
    drop(response);
    cut(&origin, "the origin sees that a large body is given up").await?;
    ensure!(origin.body_bytes() < LARGE as u64, "all of a body was sent that was given up");

    origin.clear_log();
    origin.script(|_| Some(Fault::Stall(1000)));
    let mut response = answered(&fetch, get(&origin, PATH)).await?;
    ensure!(matches!(response.body.next().await, Some(Ok(_))), "a stalled body did not begin");
    drop(response);
    cut(&origin, "the origin sees that a stalled body is given up").await?;

    origin.clear_log();
    drop(answered(&fetch, get(&origin, PATH)).await?);
    cut(&origin, "the origin sees that a body is given up that nobody read").await
}

/// Waits until the only request has ended before its time.
async fn cut(origin: &Origin, what: &str) -> Outcome {
    eventually(what, || origin.log().first().is_some_and(|entry| entry.is_over() && !entry.complete)).await?;
    ensure!(origin.requests() == 1, "{} requests instead of one", origin.requests());
    Ok(())
}
