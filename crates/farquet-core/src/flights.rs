//! Requests under way that several may wait for.
//!
//! Whoever polls drives a request, so it goes on for those who still wait when the one who sent it has gone, and ends when
//! nobody waits any more.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use url::Url;

use crate::error::{Error, ErrorKind, Result};

/// A place in the order of a client's events. Clocks are too coarse: two events may share a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// Before all requests.
    pub(crate) const BEGINNING: Self = Self(0);
}

/// Deals out moments.
#[derive(Debug, Default)]
pub(crate) struct Moments(AtomicU64);

impl Moments {
    /// A moment after all others so far.
    pub(crate) fn next(&self) -> Moment {
        Moment(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// A request and what comes of it.
pub(crate) type Flight<T> = Shared<BoxFuture<'static, Result<T>>>;

/// The requests under way about files, at most one that can be joined for each.
#[derive(Debug)]
pub(crate) struct Flights<T: Clone>(Mutex<HashMap<Url, UnderWay<T>>>);

#[derive(Debug)]
struct UnderWay<T: Clone> {
    /// Made at this moment, and sent after it.
    made: Moment,
    flight: WeakShared<BoxFuture<'static, Result<T>>>,
}

/// A look at the flights, during which nobody else departs.
pub(crate) struct Gate<'a, T: Clone>(MutexGuard<'a, HashMap<Url, UnderWay<T>>>);

impl<T: Clone> Default for Flights<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Flights<T> {
    pub(crate) fn gate(&self) -> Gate<'_, T> {
        Gate(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Clone + Send + Sync + 'static> Gate<'_, T> {
    /// The request about `url`, if it was made after `began` and somebody still waits for it.
    pub(crate) fn join(&self, url: &Url, began: Moment) -> Option<Flight<T>> {
        self.0.get(url).filter(|under_way| under_way.made > began)?.flight.upgrade()
    }

    /// Whether somebody asks about `url`.
    pub(crate) fn has(&self, url: &Url) -> bool {
        self.0.contains_key(url)
    }

    /// Lets others join `request`, made at `made`, until it has [landed](Self::landed).
    pub(crate) fn depart(
        &mut self,
        url: &Url,
        made: Moment,
        request: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Flight<T> {
        // Those who wait are not to fall with the one who polls.
        let request = AssertUnwindSafe(request).catch_unwind().map(|result| result.unwrap_or_else(|_| Err(gave_up())));
        let flight = request.boxed().shared();
        if let Some(weak) = flight.downgrade() {
            self.0.insert(url.clone(), UnderWay { made, flight: weak });
        }
        // Requests that nobody waits for any more never land.
        if self.0.len().is_power_of_two() {
            self.0.retain(|_, under_way| under_way.flight.upgrade().is_some());
        }
        flight
    }

    /// Ends the request about `url` that was made at `made`.
    pub(crate) fn landed(&mut self, url: &Url, made: Moment) {
        if self.0.get(url).is_some_and(|under_way| under_way.made == made) {
            self.0.remove(url);
        }
    }
}

fn gave_up() -> Error {
    Error::new(ErrorKind::Decoder, "a request gave up in a way that it should not have")
}
