//! What to do after an attempt that failed: nothing, once more, or later.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header};

use crate::client::QueryContext;
use crate::error::Error;
use crate::judge;
use crate::limiter::Permit;
use crate::origin::Origin;

/// Why an attempt failed, and what may be done about it.
pub(crate) struct Failure {
    pub error: Error,
    pub again: Again,
}

pub(crate) enum Again {
    No,
    /// The answer was wrong: once more, past all caches.
    Once,
    /// After a wait: the server's own, or a growing random one.
    Later(Option<Duration>),
}

/// The waits between attempts: full jitter below a doubling bound.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// A server's `Retry-After` is obeyed up to this.
const PATIENCE: Duration = Duration::from_mins(1);

/// A random wait before attempt `attempt` + 1.
pub(crate) fn jitter(attempt: u32) -> Duration {
    let bound = FIRST_WAIT.saturating_mul(1 << attempt.min(10)).min(LONGEST_WAIT);
    bound.mul_f64(fastrand::f64())
}

/// A status that may pass: the origin's limit falls, and its `Retry-After` holds for everyone.
pub(crate) fn turned_away(
    query: &QueryContext,
    origin: &Origin,
    permit: &Permit,
    status: StatusCode,
    headers: &HeaderMap,
    shown: &str,
) -> Failure {
    let now = query.client.timer.now();
    let error = judge::status_error(status).at(shown);
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return Failure { error, again: Again::Later(None) };
    }
    origin.limiter.rejected(permit, now);
    match retry_after(headers) {
        Some(wait) if wait > PATIENCE => {
            let hint = format!("the server asks to come back in {} s", wait.as_secs());
            Failure { error: error.hint(hint), again: Again::No }
        }
        Some(wait) => {
            origin.hold_until(now + wait);
            // A little apart, so that those who were turned away together do not come back together.
            Failure { error, again: Again::Later(Some(wait + jitter(0))) }
        }
        None => Failure { error, again: Again::Later(None) },
    }
}

/// `Retry-After` (RFC 9110 §10.2.3) in seconds, or as a date read by the server's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let wait = text(header::RETRY_AFTER)?;
    if let Ok(seconds) = wait.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = |text| httpdate::parse_http_date(text).ok();
    date(wait)?.duration_since(date(text(header::DATE)?)?).ok()
}
