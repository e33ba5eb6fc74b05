//! The events of a run, in the order in which the manager saw them: a buffer that is filled without
//! allocating, and that counts the records it lost.
//!
//! Times are nanoseconds since the start of the run, by `CLOCK_MONOTONIC`.

mod contract;
pub mod file;
mod members;
mod program;
pub mod replay;
pub mod servers;
pub mod trace;

use layland_model::{CpuId, Duration, Index, JobId, Service, Speed, Task, TaskId, Time};
use layland_policy::{AfterJob, Note, Refusal, RequestId, TimerId};
pub use program::Program;
use serde::{Deserialize, Serialize};

/// An entry with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The time at which the manager knew. For events and actions of a policy, the policy's `now`.
    pub at: Time,
    /// The entry.
    #[serde(flatten)]
    pub entry: Entry,
}

/// An event that the policy received, an action that it decided, or a measurement. The names are
/// also those in files ([`LogFile`](file::LogFile)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "named as the events and actions of a policy")]
pub enum Entry {
    // Events.
    Online {
        cpu: CpuId,
    },
    Offline {
        cpu: CpuId,
    },
    Join {
        task: TaskId,
        request: RequestId,
    },
    /// A thread of another program enters, with its position in [`Log::programs`].
    Enter {
        task: TaskId,
        request: RequestId,
        program: u32,
    },
    Leave {
        task: TaskId,
    },
    /// A task or a cluster makes the request of the system with this index.
    Asks {
        index: u32,
        request: RequestId,
    },
    Arrival {
        job: JobId,
        release: Time,
        deadline: Time,
    },
    Release {
        job: JobId,
        release: Time,
        deadline: Time,
    },
    Completion {
        job: JobId,
        cpu: CpuId,
        then: AfterJob,
    },
    Budget {
        job: JobId,
        cpu: CpuId,
    },
    Ended {
        job: JobId,
    },
    Timer {
        id: TimerId,
    },
    Measured {
        job: JobId,
        executed: Service,
    },
    /// The policy decided: this number of actions follows.
    Decide {
        actions: u32,
        cost_ns: u32,
    },
    // Actions.
    Run {
        cpu: CpuId,
        job: JobId,
        #[serde(skip_serializing_if = "Option::is_none")]
        budget: Option<Duration>,
    },
    Idle {
        cpu: CpuId,
    },
    SetTimer {
        id: TimerId,
        #[serde(rename = "due")]
        at: Time,
    },
    ClearTimer {
        id: TimerId,
    },
    Abort {
        job: JobId,
    },
    EndJob {
        job: JobId,
        used_up: bool,
    },
    SetDates {
        job: JobId,
        release: Time,
        deadline: Time,
    },
    SetSpeed {
        cpu: CpuId,
        #[serde(with = "members::speed")]
        speed: Speed,
    },
    #[serde(with = "members::note")]
    Note(Note),
    /// With the position of the reason in [`Log::refusals`].
    Refuse {
        request: RequestId,
        reason: u32,
    },
    // Measurements.
    /// The arrival and the demand of the job that was just released; without a demand, it is
    /// unlimited.
    Asked {
        job: JobId,
        arrival: Time,
        #[serde(skip_serializing_if = "Option::is_none")]
        demand: Option<Service>,
    },
    /// A CPU was given to a job at this time.
    On {
        cpu: CpuId,
        job: JobId,
        since: Time,
    },
    /// A CPU stopped running a job at this time. The job used this much since it was given the CPU.
    Off {
        cpu: CpuId,
        job: JobId,
        used: Service,
        until: Time,
    },
    /// A waiting job executed this much nevertheless: its thread had the lowest priority, and its
    /// CPU was idle until the manager had decided.
    Leaked {
        job: JobId,
        got: Service,
    },
    /// A job ended by itself at this time, with this execution time in total.
    Done {
        job: JobId,
        end: Time,
        used: Service,
    },
    /// A job is over without having completed: the policy aborted it, its deadline aborted it, or
    /// its task left.
    Dropped {
        job: JobId,
        aborted: bool,
    },
    /// A request of the system, by its index, was granted or (with the position of the reason)
    /// refused.
    Granted {
        index: u32,
    },
    /// See `Granted`.
    Refused {
        index: u32,
        reason: u32,
    },
    /// A task was not admitted, with the position of the reason.
    TurnedAway {
        task: TaskId,
        reason: u32,
    },
    /// A job had arrived while its predecessor was late, and its task skipped it.
    Skipped {
        job: JobId,
        arrival: Time,
        release: Time,
        deadline: Time,
    },
    /// At the end of the run: a job had arrived while its predecessor was pending.
    NeverReady {
        job: JobId,
        arrival: Time,
        release: Time,
        deadline: Time,
    },
    /// The run is over.
    Over {
        interrupted: bool,
    },
}

/// The buffer of records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// The entries with their times.
    pub records: Vec<Record>,
    /// The refusals that records point to.
    pub refusals: Vec<Refusal>,
    /// The programs that records point to.
    pub programs: Vec<Program>,
    /// The number of records that did not fit.
    pub lost: u64,
    /// True if recording stops when the buffer is full, while the run continues; and true if it has
    /// stopped.
    ends_alone: bool,
    has_ended: bool,
}

impl Log {
    /// Returns a buffer with capacity for this number of records and refusals.
    pub fn with_capacity(records: usize, refusals: usize) -> Log {
        Log {
            records: Vec::with_capacity(records),
            refusals: Vec::with_capacity(refusals),
            programs: Vec::new(),
            ..Log::default()
        }
    }

    /// Returns the log of a run that continues when the buffer is full. The log then has the
    /// beginning of the run, up to a whole decision. With capacity 0 it stays empty.
    #[cfg(feature = "ext")]
    pub(crate) fn of_the_beginning(records: usize) -> Log {
        Log { ends_alone: true, ..Log::with_capacity(records, 64) }
    }

    /// Returns true if the buffer is full and the run has to end. To be called between decisions.
    pub(crate) fn is_full(&mut self, reserve: usize) -> bool {
        let is_full = self.is_nearly_full(reserve);
        self.has_ended |= is_full && self.ends_alone;
        is_full && !self.ends_alone
    }

    /// Adds a record, if there is room; otherwise counts it as lost.
    #[inline]
    pub fn push(&mut self, at: Time, entry: Entry) {
        if self.has_ended {
            return;
        }
        if self.records.len() < self.records.capacity() {
            self.records.push(Record { at, entry });
        } else {
            self.lost += 1;
        }
    }

    /// Stores a refusal, once, and returns its position.
    pub fn refusal(&mut self, refusal: &Refusal) -> u32 {
        if self.has_ended {
            return 0;
        }
        let known = self.refusals.iter().rposition(|known| known == refusal);
        let index = known.unwrap_or_else(|| {
            self.refusals.push(refusal.clone());
            self.refusals.len() - 1
        });
        index as u32
    }

    /// Stores the reservation of a program, once, and returns its position.
    pub fn program(&mut self, task: &Task) -> u32 {
        if self.has_ended {
            return 0;
        }
        let program = Program::of(task);
        let known = self.programs.iter().rposition(|known| *known == program);
        let index = known.unwrap_or_else(|| {
            self.programs.push(program);
            self.programs.len() - 1
        });
        index as u32
    }

    /// Returns the number of CPUs of the run, as far as its first records show.
    pub fn cpus(&self) -> usize {
        let online = self.records.iter().map_while(|record| {
            if let Entry::Online { cpu } = record.entry { Some(cpu.index() + 1) } else { None }
        });
        online.max().unwrap_or(0)
    }

    /// Returns true if `reserve` more records do not fit, so that the run has to end.
    pub fn is_nearly_full(&self, reserve: usize) -> bool {
        self.records.len() + reserve > self.records.capacity()
    }
}
