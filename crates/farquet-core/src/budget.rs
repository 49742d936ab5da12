//! Limits that the caller puts on a query: nothing is sent that would exceed them.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// What a query may send and receive at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests, retries included.
    pub max_requests: Option<u64>,
    /// Body bytes, counted as asked for before sending and as received after.
    pub max_bytes: Option<u64>,
}

/// The account of a query's limits.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    used: Mutex<(u64, u64)>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, used: Mutex::new((0, 0)) }
    }

    /// Refuses what would not fit as a whole, before any of it is sent.
    pub(crate) fn check(&self, requests: u64, bytes: u64) -> Result<()> {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.fits(used, requests, bytes)
    }

    /// Takes one request that asks for `bytes`.
    pub(crate) fn take(&self, bytes: u64) -> Result<()> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.fits(*used, 1, bytes)?;
        *used = (used.0 + 1, used.1.saturating_add(bytes));
        Ok(())
    }

    /// Corrects what `take` assumed, once the request has ended.
    pub(crate) fn settle(&self, asked: u64, received: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.1 = used.1.saturating_sub(asked).saturating_add(received);
    }

    fn fits(&self, used: (u64, u64), requests: u64, bytes: u64) -> Result<()> {
        let over = |limit: Option<u64>, need: u64| limit.filter(|limit| need > *limit).map(|limit| (limit, need));
        let refusal = over(self.limits.max_requests, used.0.saturating_add(requests))
            .map(|(limit, need)| (format!("{need} requests"), limit.to_string(), "requests"))
            .or_else(|| {
                over(self.limits.max_bytes, used.1.saturating_add(bytes))
                    .map(|(limit, need)| (format!("{need} bytes"), limit.to_string(), "bytes"))
            });
        match refusal {
            None => Ok(()),
            Some((need, limit, what)) => {
                let message = format!("the query needs at least {need}, more than the limit of {limit}");
                Err(Error::new(ErrorKind::Budget, message).hint(format!("raise the limit with --max-{what}")))
            }
        }
    }
}
