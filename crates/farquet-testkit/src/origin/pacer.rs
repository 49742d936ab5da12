//! One bandwidth for all bodies of an origin.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The largest piece of a paced body, so that concurrent bodies share the line fairly.
pub(crate) const PACED_CHUNK: usize = 16 * 1024;

/// How far the line may be behind: timers are coarser than a chunk on a fast line.
const SLACK: Duration = Duration::from_millis(5);

/// A line on which one chunk after the other is sent.
#[derive(Debug)]
pub(crate) struct Pacer {
    bytes_per_second: u64,
    free_at: Mutex<Instant>,
}

impl Pacer {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), free_at: Mutex::new(Instant::now()) }
    }

    /// Takes the line for a chunk; at the returned time its last byte has passed.
    pub(crate) fn send(&self, bytes: usize, now: Instant) -> Instant {
        let nanos = u128::from(bytes as u64) * 1_000_000_000 / u128::from(self.bytes_per_second);
        let time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        *free_at = (*free_at).max(now.checked_sub(SLACK).unwrap_or(now)) + time;
        *free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_queue_up() {
        let pacer = Pacer::new(1_000_000);
        let now = Instant::now() + Duration::from_secs(1);
        let first = pacer.send(10_000, now);
        let second = pacer.send(10_000, now);
        assert_eq!(first + SLACK - now, Duration::from_millis(10));
        assert_eq!(second - first, Duration::from_millis(10));
    }

    #[test]
    fn an_idle_line_saves_nothing_up() {
        let pacer = Pacer::new(1_000_000);
        let later = Instant::now() + Duration::from_mins(1);
        assert!(pacer.send(10_000, later) + SLACK >= later + Duration::from_millis(10));
    }
}
