//! The findings about reservations, as types and in words.

use layland_model::{CpuId, Duration, TaskId, TaskMap, Time, counted};
use std::fmt;

/// The findings about one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The number of server periods with a known deadline.
    pub periods: u64,
    /// The number of known periods in which the thread was always ready and got its runtime by the
    /// server deadline.
    pub served: u64,
    /// The number of known periods in which the thread was always ready and did not get its runtime
    /// by the server deadline.
    pub short: u64,
    /// The number of times that the thread got more than its runtime between two replenishments.
    pub exceeded: u64,
    /// The maximum execution between two replenishments.
    pub most: Duration,
    /// The number of times that the thread was throttled or yielded.
    pub throttled: u64,
    /// The number of times that a throttled server was seen to be replenished.
    pub replenished: u64,
    /// The number of times that the thread waited while a CPU that it may use was idle or ran a
    /// thread of a later server deadline or a lower class.
    pub passed_over: u64,
}

impl Account {
    /// Returns the verdict on the thread.
    pub fn verdict(&self) -> Kept {
        match self {
            Account { exceeded: 0, short: 0, passed_over: 0, periods: 0, .. } => Kept::Unknown,
            Account { exceeded: 0, short: 0, passed_over: 0, .. } => Kept::Yes,
            Account { .. } => Kept::No,
        }
    }
}

/// The verdict on a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The reservation was kept in every known server period.
    Yes,
    /// The reservation was not kept in all known periods.
    No,
    /// No server period is known.
    Unknown,
}

/// An event of the server of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// The time of the event.
    pub at: Time,
    /// The task of the thread.
    pub task: TaskId,
    /// The deadline of the new period if the server was replenished, or `None` if it was throttled.
    pub replenished: Option<Time>,
}

/// A breach of a reservation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the message of each kind")]
pub enum Breach {
    /// A breach of rule 1.
    #[error("{thread} got {got} between two replenishments by {at}, and has reserved {runtime}")]
    Exceeded { thread: String, at: Time, got: Duration, runtime: Duration },
    /// A breach of rule 2.
    #[error(
        "{thread} was ready from {from} on and got {got} of {runtime} by its server deadline {deadline}"
    )]
    Short { thread: String, from: Time, got: Duration, runtime: Duration, deadline: Time },
    /// A breach of rule 3.
    #[error(
        "{thread}, with the server deadline {deadline}, waits at {at} while CPU {cpu} {instead}"
    )]
    PassedOver { thread: String, deadline: Time, at: Time, cpu: CpuId, instead: Instead },
}

/// The use of a CPU while the thread waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instead {
    /// The CPU ran a thread of a later server deadline.
    Later(String, Time),
    /// The CPU ran a thread of a lower class.
    Lower(String),
    /// The CPU was idle.
    Nothing,
}

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instead::Later(thread, deadline) => write!(f, "runs {thread} with {deadline}"),
            Instead::Lower(thread) => write!(f, "runs `{thread}`, of a lower class"),
            Instead::Nothing => f.write_str("is idle"),
        }
    }
}

/// The findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Judgement {
    /// The findings about each thread.
    pub accounts: TaskMap<Account>,
    /// The first breaches, in the order of time.
    pub breaches: Vec<Breach>,
    /// The total number of breaches.
    pub count: u64,
    /// The known times at which servers were throttled and replenished.
    pub events: Vec<ServerEvent>,
    pub(super) limit: usize,
}

impl Judgement {
    pub(super) fn add(&mut self, breach: Breach) {
        self.count += 1;
        if self.breaches.len() < self.limit {
            self.breaches.push(breach);
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return f.write_str("no violation");
        }
        f.write_str(&counted(self.count, "violation"))?;
        for breach in &self.breaches {
            write!(f, "\n  {breach}")?;
        }
        let more = self.count - self.breaches.len() as u64;
        if more > 0 { write!(f, "\n  and {more} more") } else { Ok(()) }
    }
}
