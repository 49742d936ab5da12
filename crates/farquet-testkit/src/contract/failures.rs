//! Exchanges that do not complete, each with its kind, and none of them sent twice.

use std::sync::Arc;
use std::time::Duration;

use farquet_core::fetch::{Fetch, FetchErrorKind};
use tokio::time::sleep;

use super::tools::{Outcome, PATH, answered, drained, ensure, fails, get, origin_with};
use crate::{Fault, Origin};

/// How long a retry would have time to show itself.
const RETRY: Duration = Duration::from_millis(300);

pub(super) async fn broken_bodies_are_interrupted(fetch: Arc<dyn Fetch>) -> Outcome {
    let faults = [
        Fault::ResetAfter(0),
        Fault::ResetAfter(1000),
        Fault::CloseAfter(1000),
        Fault::Chunked.then(Fault::CloseAfter(1000)),
        Fault::Chunked.then(Fault::ResetAfter(1000)),
    ];
    let origin = origin_with(100_000).await;
    for fault in faults {
        let name = format!("{fault:?}");
        origin.clear_log();
        origin.script(move |_| Some(fault.clone()));
        let response = answered(&fetch, get(&origin, PATH)).await.map_err(|error| format!("{name}: {error}"))?;
        let (bytes, error) = drained(response).await?;
        let kind = error.map(|error| error.kind());
        ensure!(kind == Some(FetchErrorKind::Interrupted), "{name}: ended with {kind:?} after {} bytes", bytes.len());
        ensure!(bytes.len() <= 1000, "{name}: {} bytes appeared", bytes.len());
        sent_once(&origin, &name).await?;
    }
    Ok(())
}

pub(super) async fn broken_heads_are_interrupted(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(100).await;
    origin.script(|_| Some(Fault::Abort));
    fails(&fetch, get(&origin, PATH), FetchErrorKind::Interrupted).await?;
    sent_once(&origin, "a reset before the head").await?;
    // The same on a connection that has answered before.
    origin.clear_script();
    drained(answered(&fetch, get(&origin, PATH)).await?).await?;
    origin.clear_log();
    origin.script(|_| Some(Fault::Abort));
    fails(&fetch, get(&origin, PATH), FetchErrorKind::Interrupted).await?;
    sent_once(&origin, "a reset on a used connection").await
}

pub(super) async fn closed_port_is_connect(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(100).await;
    let request = get(&origin, PATH);
    drop(origin);
    fails(&fetch, request, FetchErrorKind::Connect).await
}

pub(super) async fn unknown_certificate_is_tls(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = Origin::builder().file(PATH, "secret").http1_tls().start().await;
    fails(&fetch, get(&origin, PATH), FetchErrorKind::Tls).await?;
    ensure!(origin.requests() == 0, "a request was sent to an origin that nobody knows");
    Ok(())
}

pub(super) async fn nothing_is_retried(fetch: Arc<dyn Fetch>) -> Outcome {
    let origin = origin_with(100).await;
    for code in [408, 429, 500, 502, 503, 504] {
        origin.clear_log();
        origin.script(move |_| Some(Fault::retry_after(code, "0")));
        let response = answered(&fetch, get(&origin, PATH)).await?;
        ensure!(response.status == code, "{code} was reported as {}", response.status);
        drained(response).await?;
        ensure!(origin.requests() == 1, "{code}: {} requests", origin.requests());
    }
    sent_once(&origin, "504").await
}

async fn sent_once(origin: &Origin, what: &str) -> Outcome {
    sleep(RETRY).await;
    ensure!(origin.requests() == 1, "{what}: {} requests instead of one", origin.requests());
    Ok(())
}
