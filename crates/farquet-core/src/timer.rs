//! Waiting and monotonic time, because neither exists in the browser the way it does natively.

use std::fmt::Debug;
use std::ops::{Add, Sub};
use std::time::Duration;

use futures::future::BoxFuture;

/// A source of monotonic time and of waiting.
pub trait Timer: Debug + Send + Sync + 'static {
    /// Now, measured from a fixed instant of this timer's own.
    fn now(&self) -> Monotonic;

    /// Resolves after `wait`. Dropping the future ends the wait.
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()>;
}

/// Time since a [`Timer`]'s fixed instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Monotonic(pub Duration);

impl Sub for Monotonic {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Monotonic {
    type Output = Self;

    fn add(self, wait: Duration) -> Self {
        Self(self.0 + wait)
    }
}
