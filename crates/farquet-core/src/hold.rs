//! What running queries hold of files' bytes, within a bound for each query and one for all. Bytes that several hold are counted once
//! for all of them.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::client::Client;
use crate::opened::Opened;

/// A query's hold on a file's bytes; given back on drop.
#[derive(Debug)]
pub(crate) struct Hold {
    query: Arc<AtomicI64>,
    share: Arc<Share>,
}

impl Hold {
    /// Takes the bytes of `opened` from what `query` may hold, and from what all queries may. Nothing if they are too many.
    pub(crate) fn take(client: &Arc<Client>, query: &Arc<AtomicI64>, opened: &Opened) -> Option<Self> {
        let bytes = i64::try_from(opened.end.len()).ok()?;
        if !take(query, bytes) {
            return None;
        }
        let share = opened.held.share(client, bytes);
        if share.is_none() {
            query.fetch_add(bytes, Ordering::AcqRel);
        }
        Some(Self { query: Arc::clone(query), share: share? })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.query.fetch_add(self.share.bytes, Ordering::AcqRel);
    }
}

/// Whether some query holds the bytes of a file.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<Weak<Share>>);

impl Held {
    fn share(&self, client: &Arc<Client>, bytes: i64) -> Option<Arc<Share>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = held.upgrade() {
            return Some(share);
        }
        let share = take(&client.holdable, bytes).then(|| Arc::new(Share { client: Arc::clone(client), bytes }))?;
        *held = Arc::downgrade(&share);
        Some(share)
    }
}

/// Bytes of one file out of what all queries may hold; given back by the last that holds them.
#[derive(Debug)]
struct Share {
    client: Arc<Client>,
    bytes: i64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.client.holdable.fetch_add(self.bytes, Ordering::AcqRel);
    }
}

fn take(left: &AtomicI64, bytes: i64) -> bool {
    let enough = |left: i64| (left >= bytes).then(|| left - bytes);
    left.fetch_update(Ordering::AcqRel, Ordering::Acquire, enough).is_ok()
}
