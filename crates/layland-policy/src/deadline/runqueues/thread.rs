//! A thread with a server, in the run queues.

use crate::State;
use crate::deadline::server::{Server, ServerState};
use layland_model::{Behaviour, CpuId, CpuSet, Duration, Rate, Task, Time};

/// The behaviour of the thread of a task, as far as it determines its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadKind {
    /// The engine defines its jobs.
    Jobs,
    /// Its budgets are its jobs.
    Hog,
    /// The engine defines its jobs, and the deadlines of its server are theirs.
    SelfSuspending,
}

/// The activity of a thread, which decides if its bandwidth is in use: see `activity.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// The thread is not in the accounts.
    Outside,
    Inactive,
    Contending,
    NonContending {
        /// The first instant that is not before its zero-lag time.
        until: Time,
    },
}

impl Activity {
    /// Returns true if its bandwidth counts as running.
    pub(super) fn is_active(self) -> bool {
        matches!(self, Activity::Contending | Activity::NonContending { .. })
    }
}

/// The bandwidth of a departed thread, until its zero-lag time.
#[derive(Clone, Debug)]
pub(super) struct Departed {
    pub bandwidth: Rate,
    pub cpu: CpuId,
    pub cluster: usize,
    pub until: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct ReservedThread {
    pub server: Server,
    /// `Q / T`.
    pub u: Rate,
    pub cluster: usize,
    /// The CPUs that it may use.
    pub mask: CpuSet,
    pub cpu: CpuId,
    pub queued: bool,
    /// True if it has run since it was queued.
    pub started: bool,
    /// True if its run queue was chosen before.
    pub placed: bool,
    /// True if it was admitted, and has not left.
    pub admitted: bool,
    /// True if it may use more than one CPU.
    pub migrates: bool,
    /// True if its flag says that it reclaims.
    pub reclaims: bool,
    /// Its bandwidth in the unit of the accounts, and its activity.
    pub(super) bandwidth: Rate,
    pub(super) activity: Activity,
    /// Its place by rank, which breaks ties; also the number of its timer.
    pub seat: u32,
    pub(super) due: bool,
    /// The time at which it comes back, if it was throttled when it was late, and that costs time.
    pub(super) returns: Option<Time>,
    pub(super) kind: ThreadKind,
    /// Breaks ties between equal deadlines in its queue.
    pub(super) tie: i64,
    /// Its ready job, and the job released before the end of the ready one was handled.
    pub(super) job: Option<u64>,
    pub(super) next_job: Option<u64>,
    /// For a hog, the release of its last job, or the time of its entry.
    pub(super) previous: Time,
    /// `d - T`, with the `T` at the time when `d` was set. At most that time, even if an overrun
    /// cost a whole budget.
    pub(super) begin: Time,
    /// The release of its ready job, and whether that job has run.
    pub(super) released: Time,
    pub(super) ran: bool,
    /// The dates of the job that were last reported to the engine.
    pub(super) told: (Time, Time),
    /// For a hog, the first deadline that its server gave its job.
    pub(super) promised: Time,
    /// The total charge of its job; for a hog, since it entered.
    pub(super) charged: Duration,
}

impl ReservedThread {
    pub(super) fn new(task: &Task, cluster: &CpuSet, seat: u32) -> ReservedThread {
        let mask = task.affinity.clone().unwrap_or_else(|| cluster.clone());
        let server = Server::new(task.reservation(), task.period, task.deadline);
        ReservedThread {
            u: server.bandwidth(),
            server,
            cluster: task.cluster,
            cpu: mask.lowest().unwrap_or(CpuId(0)),
            migrates: mask.len() > 1,
            reclaims: task.reclaim,
            bandwidth: Rate::ZERO,
            activity: Activity::Outside,
            mask,
            queued: false,
            started: false,
            placed: false,
            admitted: false,
            seat,
            due: false,
            returns: None,
            kind: match task.behaviour {
                Behaviour::Hog => ThreadKind::Hog,
                Behaviour::SelfSuspending { .. } => ThreadKind::SelfSuspending,
                Behaviour::Periodic
                | Behaviour::Sporadic(_)
                | Behaviour::Explicit(_)
                | Behaviour::Curve(_)
                | Behaviour::Yield => ThreadKind::Jobs,
            },
            tie: 0,
            job: None,
            next_job: None,
            previous: Time::ZERO,
            begin: Time::ZERO,
            released: Time::ZERO,
            ran: false,
            told: (Time::NEVER, Time::NEVER),
            promised: Time::NEVER,
            charged: Duration::ZERO,
        }
    }

    /// Returns true if the thread is in the system.
    pub(crate) fn is_in(&self) -> bool {
        !matches!(self.server.state, ServerState::Inactive | ServerState::Dead)
    }

    pub(super) fn set_begin(&mut self, now: Time) {
        self.begin = (self.server.deadline() - self.server.period()).min(now);
    }

    /// Returns release and deadline of the ready job, if its server determines them.
    pub(super) fn dates(&self) -> (Time, Time) {
        let d = self.server.deadline();
        let release = match self.kind {
            // A part of a hog is one budget, from one period before its deadline. A job that has
            // run keeps its release.
            ThreadKind::Hog if self.ran => self.told.0,
            ThreadKind::Hog => self.begin.max(self.previous),
            ThreadKind::SelfSuspending | ThreadKind::Jobs => self.released,
        };
        (release, d)
    }

    /// Writes the state that the next dates depend on. A hog whose `d - T` lies before its entry is
    /// released at its entry.
    pub(super) fn save_dates(&self, now: Time, state: &mut State) {
        let earlier = match self.kind {
            ThreadKind::Hog => [self.begin, self.previous],
            ThreadKind::SelfSuspending => [self.released; 2],
            ThreadKind::Jobs => return,
        };
        if self.job.is_some() {
            state.number(i64::from(self.ran));
            let (release, deadline) = self.told;
            let told = [release, deadline, self.promised];
            earlier.into_iter().chain(told).for_each(|at| state.time(at, now));
        }
    }
}
