//! What happened in a run, in the order in which the manager saw it: a buffer that is filled without
//! allocating, and that says how much it lost.
//!
//! Times are nanoseconds since the start of the run, by `CLOCK_MONOTONIC`.

mod contract;
pub mod file;
mod members;
mod program;
pub mod replay;
pub mod servers;
mod text;
pub mod trace;

use layland_model::{CpuId, Index, JobId, Service, Speed, Task, TaskId, Time};
use layland_policy::{AfterJob, Note, Refusal, RequestId, TimerId};
pub use program::Program;
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When the manager knew; for what a policy was told and what it decided, the policy's `now`.
    pub at: Time,
    /// What.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What happened: what the policy was told, what it decided, and what was measured. The names are those of
/// files, too ([`LogFile`](file::LogFile)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "named as the events and actions of a policy")]
pub enum Entry {
    // Told.
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
    /// A thread of another program enters, with its place in [`Log::programs`].
    Enter {
        task: TaskId,
        request: RequestId,
        program: u32,
    },
    Leave {
        task: TaskId,
    },
    /// A task or a cluster asks for what this request of the system says.
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
    /// The policy decided: so many actions follow.
    Decide {
        actions: u32,
        cost_ns: u32,
    },
    // Decided.
    Run {
        cpu: CpuId,
        job: JobId,
        #[serde(skip_serializing_if = "Option::is_none")]
        budget: Option<Service>,
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
    /// With the place of the reason in [`Log::refusals`].
    Refuse {
        request: RequestId,
        reason: u32,
    },
    // Measured.
    /// The job that was just released: when it arrived and what it asks for (none: all it can get).
    Asked {
        job: JobId,
        arrival: Time,
        #[serde(skip_serializing_if = "Option::is_none")]
        demand: Option<Service>,
    },
    /// A CPU was given a job, at this time.
    On {
        cpu: CpuId,
        job: JobId,
        since: Time,
    },
    /// A CPU stopped running a job, which got this much since it was given the CPU, at this time.
    Off {
        cpu: CpuId,
        job: JobId,
        used: Service,
        until: Time,
    },
    /// A job that waited got this much all the same: its thread had the lowest priority, and its CPU
    /// nothing else to do until the manager had decided.
    Leaked {
        job: JobId,
        got: Service,
    },
    /// A job ended by itself, then, with this much in all.
    Done {
        job: JobId,
        end: Time,
        used: Service,
    },
    /// A job is over without having ended: it was given up (by the policy, or at its deadline), or its
    /// task left.
    Dropped {
        job: JobId,
        aborted: bool,
    },
    /// A request of the system, by its index, was granted or (with the place of the reason) refused.
    Granted {
        index: u32,
    },
    /// See `Granted`.
    Refused {
        index: u32,
        reason: u32,
    },
    /// A task was not let in, with the place of the reason.
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

/// The buffer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// What happened.
    pub records: Vec<Record>,
    /// The refusals that records point to.
    pub refusals: Vec<Refusal>,
    /// The programs that records point to.
    pub programs: Vec<Program>,
    /// How many records did not fit.
    pub lost: u64,
    /// Whether it ends by itself when it is full, and the run goes on; and whether it has.
    ends_alone: bool,
    has_ended: bool,
}

impl Log {
    /// A buffer for so many records.
    pub fn with_capacity(records: usize, refusals: usize) -> Log {
        Log {
            records: Vec::with_capacity(records),
            refusals: Vec::with_capacity(refusals),
            programs: Vec::new(),
            ..Log::default()
        }
    }

    /// One of a run that goes on when it is full: it has the beginning of the run then, up to a whole decision. With no
    /// room for records it has nothing.
    #[cfg(feature = "ext")]
    pub(crate) fn of_the_beginning(records: usize) -> Log {
        Log { ends_alone: true, ..Log::with_capacity(records, 64) }
    }

    /// Whether it has no more room, and the run has to end. To be asked between decisions.
    pub(crate) fn is_full(&mut self, reserve: usize) -> bool {
        let is_full = self.is_nearly_full(reserve);
        self.has_ended |= is_full && self.ends_alone;
        is_full && !self.ends_alone
    }

    /// Adds a record, if there is room.
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

    /// Keeps a refusal, once, and says where.
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

    /// Keeps what a program has reserved, once, and says where.
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

    /// The CPUs of the run, as far as it tells of them.
    pub fn cpus(&self) -> usize {
        let online = self.records.iter().map_while(|record| {
            if let Entry::Online { cpu } = record.entry { Some(cpu.index() + 1) } else { None }
        });
        online.max().unwrap_or(0)
    }

    /// Whether there is little room left: enough to end the run in order.
    pub fn is_nearly_full(&self, reserve: usize) -> bool {
        self.records.len() + reserve > self.records.capacity()
    }
}
