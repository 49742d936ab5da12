//! Time by tokio.

use std::time::Duration;

use farquet_core::timer::{Monotonic, Timer};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::Instant;

/// [`Timer`] on tokio's clock, so that a test which pauses that clock also pauses this one.
#[derive(Debug, Clone, Copy)]
pub struct TokioTimer {
    start: Instant,
}

impl TokioTimer {
    /// A timer whose fixed instant is now. Times of two timers are not comparable: share one.
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for TokioTimer {
    fn default() -> Self {
        Self::new()
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Monotonic {
        Monotonic(self.start.elapsed())
    }

    /// The wait begins when the future is first polled. Dropping the future ends it.
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        // Inside the async block: a tokio sleep may only be made within a runtime, but this method may be called
        // anywhere.
        async move { tokio::time::sleep(wait).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sleeping_moves_the_clock_by_what_was_asked() {
        let timer = TokioTimer::new();
        let before = timer.now();
        timer.sleep(Duration::from_millis(30)).await;
        let passed = timer.now() - before;
        assert!(passed >= Duration::from_millis(30), "{passed:?}");
    }

    #[test]
    fn a_sleep_can_be_made_outside_a_runtime() {
        drop(TokioTimer::new().sleep(Duration::from_secs(1)));
    }
}
