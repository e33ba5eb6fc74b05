//! The clients of a hierarchy: tasks and masters, their pending state, and the begins and ends of
//! their windows.

use super::super::parts::{NEVER, PlannedTime};
use layland_model::JobId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The kind of a client.
#[derive(Clone, Debug)]
pub(super) enum ClientKind {
    Task {
        /// Its ready job, or the last one.
        job: JobId,
        /// The shortest window of a job.
        window: i64,
        ready: bool,
    },
    /// The master of the set with this index.
    Master(u32),
}

/// A task, or a master. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct QpsClient {
    pub kind: ClientKind,
    /// The number of the task, or of the CPU of the master's set.
    pub number: u32,
    pub rate: i64,
    /// Its window, and the execution that remains in it.
    pub start: i64,
    pub end: i64,
    pub active: bool,
    pub remaining: i64,
    pub account: PlannedTime,
    /// Its side of its set, in QPS mode.
    pub side: usize,
    /// The set, and the deadline with which it is listed as pending there; [`NEVER`] if it is not.
    pub set: u32,
    pub listed: i64,
    /// The begin of the window of a released job, and the deadline of that job.
    pub opens: i64,
    pub due: i64,
}

impl QpsClient {
    /// Returns an inactive client.
    pub(super) fn new(kind: ClientKind, number: u32, rate: i64, set: u32) -> QpsClient {
        QpsClient {
            kind,
            set,
            listed: NEVER,
            number,
            rate,
            start: 0,
            end: 0,
            active: false,
            remaining: 0,
            account: PlannedTime::default(),
            side: 0,
            opens: NEVER,
            due: NEVER,
        }
    }

    /// Returns true if it is active, and has something to execute.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        let ready = match self.kind {
            ClientKind::Task { ready, .. } => ready,
            ClientKind::Master(_) => true,
        };
        self.active && ready && self.remaining > 0
    }

    /// Returns the time at which its window begins or ends next.
    #[inline]
    pub(super) fn due_at(&self) -> i64 {
        if self.active { self.opens.min(self.end) } else { self.opens }
    }

    /// Returns true if its window begins or ends by now.
    #[inline]
    pub(super) fn is_due(&self, now: i64) -> bool {
        self.due_at() <= now
    }

    /// Returns the ready job of a task.
    pub(super) fn job(&self) -> Option<JobId> {
        match self.kind {
            ClientKind::Task { job, ready, .. } => ready.then_some(job),
            ClientKind::Master(_) => None,
        }
    }
}

/// An entry in the order of pending clients. Among equal deadlines, the client that was picked last
/// comes first regardless of this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pending {
    pub end: i64,
    pub is_master: bool,
    pub number: u32,
    pub at: u32,
}

impl Pending {
    /// Returns true if the entry is still valid.
    #[inline]
    pub(super) fn holds(&self, client: &QpsClient) -> bool {
        client.end == self.end && client.is_pending()
    }
}

/// Returns true if a hierarchy has so few clients that a scan of all takes less time than heaps.
#[inline]
pub(super) fn is_small(clients: &[QpsClient]) -> bool {
    clients.len() <= 32
}

/// The times at which windows of clients begin or end, the earliest first. It also contains
/// outdated times until they are first.
#[derive(Clone, Debug, Default)]
pub(super) struct Dues(BinaryHeap<Reverse<(i64, u32)>>);

impl Dues {
    /// Reserves memory for this number of times, so that no later call allocates.
    pub(super) fn reserve(&mut self, times: usize) {
        self.0.reserve(times);
    }

    /// Adds the changed time at which the window of a client begins or ends.
    #[inline]
    pub(super) fn note(&mut self, at: u32, clients: &[QpsClient]) {
        let due = clients[at as usize].due_at();
        if due != NEVER && !is_small(clients) {
            self.0.push(Reverse((due, at)));
        }
    }

    /// Removes and returns a client whose window begins or ends by now.
    #[inline]
    pub(super) fn take(&mut self, clients: &[QpsClient], now: i64) -> Option<u32> {
        while let Some(&Reverse((due, at))) = self.0.peek()
            && due <= now
        {
            self.0.pop();
            if clients[at as usize].due_at() == due {
                return Some(at);
            }
        }
        None
    }

    /// Returns the next time at which a window begins or ends.
    #[inline]
    pub(super) fn next(&mut self, clients: &[QpsClient]) -> i64 {
        if is_small(clients) {
            return clients.iter().map(QpsClient::due_at).min().unwrap_or(NEVER);
        }
        while let Some(&Reverse((due, at))) = self.0.peek() {
            if clients[at as usize].due_at() == due {
                return due;
            }
            self.0.pop();
        }
        NEVER
    }
}
