//! What every backend of the fetch seam must do, as checks against a real origin.
//!
//! A backend's tests call [`check`], [`check_https`] and [`check_timer`]. They need a tokio runtime with time enabled,
//! as the checks themselves wait. A check asks for kinds of errors, never for texts.
//!
//! The suite does not know what a browser hides from a page, so it is for backends that run outside of one.

mod cancel;
mod exchange;
mod failures;
mod load;
mod redirects;
mod time;
mod tools;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use farquet_core::fetch::Fetch;
use farquet_core::timer::Timer;
use futures::FutureExt;
use futures::future::{BoxFuture, try_join_all};

use self::tools::{Outcome, PATH, answered, body_of, ensure, get, whole};
use crate::Origin;

/// How long one check may take in all.
const LIMIT: Duration = Duration::from_mins(1);

type Run = fn(Arc<dyn Fetch>) -> BoxFuture<'static, Outcome>;

/// One thing that a backend must do.
#[derive(Clone, Copy)]
pub struct Check {
    name: &'static str,
    run: Run,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Check({})", self.name)
    }
}

impl Check {
    /// What must hold.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Starts an origin and holds the backend to it. An error says what was wrong.
    pub async fn run(&self, fetch: Arc<dyn Fetch>) -> Result<(), String> {
        let checked = tokio::time::timeout(LIMIT, (self.run)(fetch)).await;
        checked.unwrap_or_else(|_| Err(format!("did not end within {LIMIT:?}")))
    }
}

macro_rules! checks {
    ($($module:ident :: $name:ident),+ $(,)?) => {
        vec![$(Check { name: stringify!($name), run: |fetch| $module::$name(fetch).boxed() }),+]
    };
}

/// All checks, in the order in which they are best read when several fail.
pub fn checks() -> Vec<Check> {
    checks![
        exchange::bodies_arrive_whole,
        exchange::every_status_is_ok,
        exchange::head_comes_before_body,
        exchange::ranges_are_passed_exactly,
        exchange::request_is_passed_exactly,
        exchange::answers_are_not_judged,
        exchange::nothing_is_decompressed,
        cancel::dropping_the_future_cancels,
        cancel::dropping_the_body_cancels,
        failures::broken_bodies_are_interrupted,
        failures::broken_heads_are_interrupted,
        failures::closed_port_is_connect,
        failures::unknown_certificate_is_tls,
        failures::nothing_is_retried,
        redirects::redirects_are_followed,
        redirects::locations_are_kept_exactly,
        redirects::credentials_stay_with_their_origin,
        redirects::loops_are_refused,
        load::requests_run_concurrently,
        load::connections_are_counted,
    ]
}

/// Runs all checks.
///
/// # Panics
///
/// When a check fails; the message names all that do.
pub async fn check(fetch: Arc<dyn Fetch>) {
    let mut failed = Vec::new();
    for check in checks() {
        if let Err(wrong) = check.run(Arc::clone(&fetch)).await {
            failed.push(format!("  {}: {wrong}", check.name()));
        }
    }
    assert!(failed.is_empty(), "{fetch:?} breaks the contract:\n{}", failed.join("\n"));
}

/// Checks a backend that trusts a certificate: bodies over TLS, and that a redirect does not lead away from it.
///
/// `backend` is given the certificate as PEM. The origin speaks HTTP/2 with those that offer it.
///
/// # Panics
///
/// When a check fails.
pub async fn check_https(backend: impl FnOnce(&str) -> Arc<dyn Fetch>) {
    let origin = Origin::builder().file(PATH, body_of(100_000)).http2_tls().start().await;
    let fetch = backend(origin.certificate_pem().expect("an origin with TLS has a certificate"));
    if let Err(wrong) = https(Arc::clone(&fetch), &origin).await {
        panic!("{fetch:?} breaks the contract over TLS: {wrong}");
    }
}

async fn https(fetch: Arc<dyn Fetch>, origin: &Origin) -> Outcome {
    ensure!(whole(answered(&fetch, get(origin, PATH)).await?).await? == body_of(100_000), "the body was changed");
    let one = async |_| whole(answered(&fetch, get(origin, PATH)).await?).await;
    let bodies = try_join_all((0..16).map(one)).await?;
    ensure!(bodies.iter().all(|body| *body == body_of(100_000)), "a body was changed");
    redirects::https_is_not_left(fetch, origin).await
}

/// Checks a timer: it waits long enough, waits run side by side, and time does not run backwards.
///
/// # Panics
///
/// When it does not.
pub async fn check_timer(timer: Arc<dyn Timer>) {
    if let Err(wrong) = time::waits(Arc::clone(&timer)).await {
        panic!("{timer:?} breaks the contract: {wrong}");
    }
}
