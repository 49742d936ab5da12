//! What a scan still has to do: a state machine without I/O, under one lock.

use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::{Pace, StillNeeded, Waiters};
use crate::error::{Error, Result};
use crate::file::File;

/// Bytes by offset.
pub(super) type Pieces = Vec<(u64, Bytes)>;

/// One request.
#[derive(Debug)]
pub(super) struct Unit {
    file: Arc<File>,
    range: Range<u64>,
    /// The morsels that need some of it and have neither taken it nor been skipped.
    users: Vec<usize>,
    state: UnitState,
}

#[derive(Debug)]
enum UnitState {
    Waiting,
    InFlight,
    Arrived(Bytes, u32),
    Failed(Error),
    /// Taken by all of its users, or needed by none any more.
    Gone,
}

impl Unit {
    pub(super) fn new(file: Arc<File>, range: Range<u64>, users: Vec<usize>) -> Self {
        Self { file, range, users, state: UnitState::Waiting }
    }

    pub(super) fn length(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// A request to send now.
pub(super) struct ToSend {
    pub(super) index: usize,
    pub(super) file: Arc<File>,
    pub(super) range: Range<u64>,
    pub(super) hop: u32,
}

#[derive(Debug)]
pub(super) struct Work {
    units: Vec<Unit>,
    /// The units of each morsel.
    needs: Vec<Vec<usize>>,
    /// Morsels before this one are issued or skipped.
    issued: usize,
    skipped: Vec<bool>,
    /// Morsels before this one belong to a decoder.
    claimed: usize,
    /// Morsels that a decoder waits for or has.
    awaited: Vec<bool>,
    done: usize,
    /// Bytes issued and not taken by all of their users.
    in_flight: u64,
    /// The hop of requests that depend on nothing but the plan.
    hop: u32,
    /// The highest hop of finished morsels: what is issued because they finished depends on it.
    finished_hop: u32,
    pub(super) driver: Option<Waker>,
    waiters: Waiters,
}

impl Work {
    pub(super) fn new(morsels: usize, units: Vec<Unit>, hop: u32) -> Self {
        let mut needs = vec![Vec::new(); morsels];
        for (index, unit) in units.iter().enumerate() {
            unit.users.iter().for_each(|user| needs[*user].push(index));
        }
        Self {
            units,
            needs,
            issued: 0,
            skipped: vec![false; morsels],
            claimed: 0,
            awaited: vec![false; morsels],
            done: 0,
            in_flight: 0,
            hop: hop + 1,
            finished_hop: 0,
            driver: None,
            waiters: Waiters::default(),
        }
    }

    pub(super) fn wake_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    /// The requests that may be sent now, and whether none will follow.
    pub(super) fn next(&mut self, pace: Pace, bound: u64, needed: &StillNeeded) -> (Vec<ToSend>, bool) {
        let mut to_send = Vec::new();
        while self.issued < self.needs.len() {
            let morsel = self.issued;
            let awaited = self.awaited[morsel];
            if let Pace::Growing(first) = pace
                && morsel >= first + 2 * self.done
                && !awaited
            {
                break;
            }
            if !awaited && !self.skipped[morsel] && !needed(morsel) {
                self.skip(morsel);
            }
            if !self.skipped[morsel] && !self.issue(morsel, pace, bound, awaited, &mut to_send) {
                break;
            }
            self.issued += 1;
        }
        (to_send, self.issued >= self.needs.len())
    }

    /// Issues the units of `morsel`, as far as the bound allows; whether all of them are.
    fn issue(&mut self, morsel: usize, pace: Pace, bound: u64, awaited: bool, to_send: &mut Vec<ToSend>) -> bool {
        for index in self.needs[morsel].clone() {
            let unit = &mut self.units[index];
            if !matches!(unit.state, UnitState::Waiting) {
                continue;
            }
            let length = unit.length();
            if self.in_flight > 0 && self.in_flight + length > bound && !awaited {
                return false;
            }
            self.in_flight += length;
            unit.state = UnitState::InFlight;
            let after = if pace == Pace::Eager { 0 } else { self.finished_hop + 1 };
            let hop = self.hop.max(after);
            to_send.push(ToSend { index, file: Arc::clone(&unit.file), range: unit.range.clone(), hop });
        }
        true
    }

    /// The answer to a request.
    pub(super) fn arrived(&mut self, unit: usize, result: Result<(Bytes, u32)>) {
        let unit = &mut self.units[unit];
        if !matches!(unit.state, UnitState::Gone) {
            unit.state = match result {
                Ok((bytes, hop)) => UnitState::Arrived(bytes, hop),
                Err(error) => UnitState::Failed(error),
            };
        }
        self.waiters.wake_all();
    }

    /// The next morsel in scan order for a decoder.
    pub(super) fn claim(&mut self) -> Option<usize> {
        let morsel = self.claimed;
        (morsel < self.needs.len()).then(|| {
            self.claimed += 1;
            morsel
        })
    }

    /// A decoder is about to wait for `morsel`; `false` if it was skipped before.
    pub(super) fn await_now(&mut self, morsel: usize) -> bool {
        self.awaited[morsel] = !self.skipped[morsel];
        self.awaited[morsel]
    }

    /// `morsel` is not needed any more.
    pub(super) fn skip(&mut self, morsel: usize) {
        if !std::mem::replace(&mut self.skipped[morsel], true) {
            self.done += 1;
            for index in self.needs[morsel].clone() {
                self.release(index, morsel);
            }
        }
    }

    /// A decoder is done with a morsel whose bytes came with `hop`.
    pub(super) fn finished(&mut self, hop: u32) {
        self.done += 1;
        self.finished_hop = self.finished_hop.max(hop);
    }

    /// The bytes of `morsel`, once all have arrived.
    pub(super) fn collect(&mut self, morsel: usize, cx: &Context<'_>) -> Poll<Result<(Pieces, u32)>> {
        for index in &self.needs[morsel] {
            match &self.units[*index].state {
                UnitState::Failed(error) => return Poll::Ready(Err(error.clone())),
                UnitState::Arrived(..) => {}
                _ => {
                    self.waiters.add(cx.waker());
                    return Poll::Pending;
                }
            }
        }
        let (mut pieces, mut highest) = (Vec::new(), self.hop - 1);
        for index in self.needs[morsel].clone() {
            if let UnitState::Arrived(bytes, hop) = &self.units[index].state {
                pieces.push((self.units[index].range.start, bytes.clone()));
                highest = highest.max(*hop);
            }
            self.release(index, morsel);
        }
        self.wake_driver();
        Poll::Ready(Ok((pieces, highest)))
    }

    /// `morsel` has taken what it needs of a unit, or needs nothing of it.
    fn release(&mut self, index: usize, morsel: usize) {
        let unit = &mut self.units[index];
        unit.users.retain(|user| *user != morsel);
        if unit.users.is_empty() {
            if !matches!(unit.state, UnitState::Waiting | UnitState::Gone) {
                self.in_flight -= unit.length();
            }
            unit.state = UnitState::Gone;
        }
    }
}
