//! What is found of reservations, in types and in words.

use layland_model::{CpuId, Duration, TaskId, TaskMap, Time, counted};
use std::fmt;

/// What was found of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Of so many server periods the deadline is known.
    pub periods: u64,
    /// In so many of them it was ready all the time, and got its runtime by the server deadline.
    pub served: u64,
    /// In so many it did not.
    pub short: u64,
    /// So many times it got more than its runtime between two replenishments.
    pub exceeded: u64,
    /// What it got between two replenishments, at most.
    pub most: Duration,
    /// So many times it was throttled, or yielded.
    pub throttled: u64,
    /// So many times a throttled server was seen to be replenished.
    pub replenished: u64,
    /// So many times it waited while a later server deadline, a lower class or nothing had a CPU for it.
    pub passed_over: u64,
}

impl Account {
    /// What this says of the thread.
    pub fn verdict(&self) -> Kept {
        match self {
            Account { exceeded: 0, short: 0, passed_over: 0, periods: 0, .. } => Kept::Unknown,
            Account { exceeded: 0, short: 0, passed_over: 0, .. } => Kept::Yes,
            Account { .. } => Kept::No,
        }
    }
}

/// Whether a reservation was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In every server period that is known.
    Yes,
    /// Not in all of them.
    No,
    /// No server period is known.
    Unknown,
}

/// Something that happened to the server of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// When.
    pub at: Time,
    /// Whose.
    pub task: TaskId,
    /// The deadline of the new period, if it was replenished; none if it was throttled.
    pub replenished: Option<Time>,
}

/// A breach of a reservation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the message of each kind")]
pub enum Breach {
    /// Rule 1.
    #[error("{thread} got {got} between two replenishments by {at}, and has reserved {runtime}")]
    Exceeded { thread: String, at: Time, got: Duration, runtime: Duration },
    /// Rule 2.
    #[error(
        "{thread} was ready from {from} on and got {got} of {runtime} by its server deadline {deadline}"
    )]
    Short { thread: String, from: Time, got: Duration, runtime: Duration, deadline: Time },
    /// Rule 3.
    #[error(
        "{thread}, with the server deadline {deadline}, waits at {at} while CPU {cpu} {instead}"
    )]
    PassedOver { thread: String, deadline: Time, at: Time, cpu: CpuId, instead: Instead },
}

/// What a CPU did instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instead {
    /// It ran a thread of a later server deadline.
    Later(String, Time),
    /// It ran a thread of a lower class.
    Lower(String),
    /// It was idle.
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

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Judgement {
    /// By thread.
    pub accounts: TaskMap<Account>,
    /// The first breaches, in the order of time.
    pub breaches: Vec<Breach>,
    /// How many there are.
    pub count: u64,
    /// When servers were throttled and replenished, as far as that is known.
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
