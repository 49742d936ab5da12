//! Requests in flight to one origin: a limit that falls when the origin says so, and slowly rises again.
//!
//! Additive increase, multiplicative decrease, with one decrease for each burst: a rejection counts only if its request
//! was sent after the last decrease. Waiters are served in order. A permit is held for one exchange and never across a
//! wait, so that permits cannot deadlock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::channel::oneshot;

use crate::timer::Monotonic;

/// How long an origin must have been content before more is tried.
const CALM: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Limiter(Mutex<State>);

#[derive(Debug)]
struct State {
    limit: usize,
    ceiling: usize,
    in_flight: usize,
    /// Counts decreases, so that a permit knows whether it is older than the last one.
    epoch: u64,
    last_change: Monotonic,
    waiting: VecDeque<oneshot::Sender<Permit>>,
}

/// The right to have one request in flight; dropping it passes it on.
#[derive(Debug)]
pub(crate) struct Permit {
    limiter: Arc<Limiter>,
    epoch: u64,
}

impl Limiter {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        let limit = limit.max(1);
        Arc::new(Self(Mutex::new(State {
            limit,
            ceiling: limit,
            in_flight: 0,
            epoch: 0,
            last_change: Monotonic::default(),
            waiting: VecDeque::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its turn. Dropping the future gives the turn up.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Permit {
        loop {
            let turn = {
                let mut state = self.lock();
                if state.in_flight < state.limit {
                    state.in_flight += 1;
                    return Permit { limiter: Arc::clone(self), epoch: state.epoch };
                }
                let (sender, turn) = oneshot::channel();
                state.waiting.push_back(sender);
                turn
            };
            // A permit travels inside the channel: if the waiter is gone, it is dropped there and passed on.
            if let Ok(permit) = turn.await {
                return permit;
            }
        }
    }

    /// An answer that came through: after a calm time, one more is tried.
    pub(crate) fn succeeded(&self, now: Monotonic) {
        let mut state = self.lock();
        if state.limit < state.ceiling && now - state.last_change > CALM {
            state.limit += 1;
            state.last_change = now;
        }
    }

    /// The origin rejected or lost the request of `permit` for load.
    pub(crate) fn rejected(&self, permit: &Permit, now: Monotonic) {
        let mut state = self.lock();
        if permit.epoch == state.epoch {
            state.limit = (state.limit / 2).max(1);
            state.epoch += 1;
            state.last_change = now;
        }
    }

    #[cfg(test)]
    fn limit(&self) -> usize {
        self.lock().limit
    }

    /// Serves those who wait, as far as the limit allows.
    fn serve(self: &Arc<Self>) {
        loop {
            let (sender, permit) = {
                let mut state = self.lock();
                if state.in_flight >= state.limit {
                    return;
                }
                let Some(sender) = state.waiting.pop_front() else { return };
                state.in_flight += 1;
                (sender, Permit { limiter: Arc::clone(self), epoch: state.epoch })
            };
            // Outside of the lock: a permit that cannot be delivered is dropped, and that takes the lock.
            if let Err(mut undelivered) = sender.send(permit) {
                undelivered.release_quietly();
            }
        }
    }
}

impl Permit {
    /// Gives the permit back without serving anyone, for use inside the serving loop itself.
    fn release_quietly(&mut self) {
        self.limiter.lock().in_flight -= 1;
        self.epoch = u64::MAX;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.epoch != u64::MAX {
            self.limiter.lock().in_flight -= 1;
            self.limiter.serve();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use futures::executor::block_on;

    #[test]
    fn one_decrease_for_each_burst() {
        let limiter = Limiter::new(64);
        let burst: Vec<_> = (0..64).map(|_| block_on(limiter.acquire())).collect();
        let now = Monotonic::default();
        for permit in &burst {
            limiter.rejected(permit, now);
        }
        assert_eq!(limiter.limit(), 32);
        drop(burst);
        limiter.rejected(&block_on(limiter.acquire()), now);
        assert_eq!(limiter.limit(), 16);
        limiter.succeeded(now + CALM);
        assert_eq!(limiter.limit(), 16, "not before it has been calm");
        limiter.succeeded(now + CALM * 2);
        assert_eq!(limiter.limit(), 17);
    }

    #[test]
    fn a_waiter_that_gives_up_blocks_nobody() {
        let limiter = Limiter::new(1);
        let first = block_on(limiter.acquire());
        let mut gone = Box::pin(limiter.acquire());
        let mut next = Box::pin(limiter.acquire());
        assert!(gone.as_mut().now_or_never().is_none());
        assert!(next.as_mut().now_or_never().is_none());
        drop(gone);
        drop(first);
        let permit = next.as_mut().now_or_never().expect("the turn came");
        drop(permit);
        // A turn that was delivered but never looked at goes to the next as well.
        let first = block_on(limiter.acquire());
        let mut unread = Box::pin(limiter.acquire());
        assert!(unread.as_mut().now_or_never().is_none());
        drop(first);
        drop(unread);
        assert!(limiter.acquire().now_or_never().is_some());
    }
}
