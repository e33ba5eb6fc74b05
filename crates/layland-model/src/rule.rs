//! The promise of a policy about every schedule that it makes, as data: a trace checker can hold a trace to it
//! without knowing the policy. Also the reasons for which a policy moves threads.

use crate::{
    CpuId, CpuSet, Duration, InLevel, Order, Preemption, Protocol, Server, ServerKind, Service,
    Task, TaskId, TaskMap,
};

/// A property of a schedule, at every instant.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ScheduleRule {
    /// Nothing beyond what holds for every schedule.
    #[default]
    None,
    /// In each group, the `min(m, ready)` ready jobs that come first in the order run, where `m` is
    /// the number of online CPUs of the group: none waits while a CPU is idle or runs a job behind
    /// it in the order.
    HighestFirst {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The order of ready jobs.
        order: JobOrder,
    },
    /// In each group no job waits while a CPU is idle, and a job that waits comes before one that runs only while
    /// that one is in a region in which nobody preempts it ([`Preemption`]): whole ones have begun to execute, fixed
    /// ones are within a segment, and floating ones have come after one that waits for no longer than the region. A
    /// job that has begun a region on a CPU loses it only with the CPU, with its task, or at the end of the region.
    Deferred {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The order of ready jobs.
        order: JobOrder,
        /// Where the jobs of each task may be preempted.
        regions: TaskMap<Preemption>,
    },
    /// In each group, of one CPU, the ready job runs that comes first in the order, of those that may run: jobs of
    /// tasks with a server may while that has budget: unless the machine is real or has overheads, or a request comes.
    ///
    /// A server has a budget `Q` and a period `T`, and work while a job of its task is ready. Of what happens at one
    /// instant what it has executed and the ends of jobs come first, then replenishments, then arrivals.
    /// - Deferrable: at every multiple of `T` the budget is `Q`; what its jobs execute is taken from it. Polling: also,
    ///   where there is no work it is 0.
    /// - Sporadic: the budget is a list of chunks by their times, at first (0, `Q`). A server with work that is not
    ///   active becomes active when the time of the first chunk has come: the chunks whose times have come become one
    ///   of now. It has the amount of the first chunk. What is executed of that is added at the end, with the time of
    ///   the first chunk and `T` more. When the first is used up the server stays active if the time of the next one
    ///   has come. A server without work is not active.
    Served {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The order of ready jobs.
        order: JobOrder,
        /// When budgets come back.
        kind: ServerKind,
        /// The servers of the tasks that have one.
        servers: TaskMap<Option<Server>>,
    },
    /// In each group, of one CPU, the job runs that has the highest effective priority of those that can go on, and
    /// locks go to whom the protocol says: [`rule::Locking`](Locking) tells by which priorities. Which sections jobs
    /// have is a matter of the system. Unless the machine is real or has overheads.
    Locking(Locking),
    /// Every CPU that a waiting job may use runs a job that comes before it in the order. Which CPUs
    /// those are is a matter of the system.
    Weak {
        /// The order of ready jobs.
        order: JobOrder,
    },
    /// Every CPU that is *reachable* from a waiting job runs a job that comes before it in the order:
    /// the CPUs that it may use, and those that a job on a reachable CPU may use.
    Strong {
        /// The order of ready jobs.
        order: JobOrder,
    },
    /// In each group no job waits while a CPU is idle, and the `min(m, ready)` ready jobs of the least laxity run, as
    /// of the last *look*: when a job arrives, becomes ready or ends, when a CPU comes or goes, and at the instants of
    /// the rule. Between looks who runs goes on. The laxity of a job is the time to its deadline, less what is left of
    /// its WCET, which is nothing once that is exceeded. Where the machine has overheads or latencies it is not known
    /// when laxities were looked at, and it is promised alone that no job waits while a CPU is idle.
    LeastLaxity {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// When laxities are compared, and what decides between equal ones.
        rule: LaxityRule,
    },
    /// The jobs of each group run on CPUs of the group only, and no job is late: unless the machine has
    /// overheads, a request comes, or a job needs more than its WCET.
    Optimal {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
    },
    /// Pfair. The jobs of each group run on CPUs of the group only, in slots of one quantum that begin at multiples of
    /// it: a job begins to run at the beginning of a slot, and stops at the end of one or when it is over. And each
    /// subtask runs in its window, if the weights of the group sum to no more than its CPUs; unless the machine has
    /// overheads or a request comes.
    ///
    /// A task has the weight `e / p`: it needs `e = ceil(C / q)` slots in a window of `p` slots, `min(D, T) / q`
    /// rounded down; see [`Releases`]. Subtask `i = 1, 2, ..` is the `i`-th slot that a job gets. It runs in the slots
    /// from `t + floor((i-1) p / e)` on and before `t + ceil(i p / e)`. The anchor `t` is the first slot that does not
    /// begin before the release of the job, nor before `t' + ceil(max(e, n) p / e)`, where `t'` is the anchor of the
    /// job before and `n` the number of slots that it got.
    Pfair {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The length of a slot.
        quantum: Duration,
        /// When jobs may be released.
        releases: Releases,
        /// Whether subtasks of a job may run before their windows (early release).
        early: bool,
    },
    /// As [`Optimal`](ScheduleRule::Optimal); and in each slice a job that can run from its beginning to its end, and
    /// is not over by then, gets exactly the rate of its task times the length of the slice: unless the machine has
    /// overheads or a request comes. For tasks with deadlines at the ends of their periods.
    ///
    /// A slice begins where one ends, the first one at 0, and always at a multiple of the unit `Q`; [`Slices`] says
    /// where it ends. Rates are multiples of `1/Q`, in nanoseconds: `ceil(C Q / W) / Q`, where the window `W` is the
    /// period if that and all releases are known to be multiples of `Q`, and `(floor(T / Q) - 1) Q` otherwise.
    Shares {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The unit of the grid.
        unit: Duration,
        /// Where slices end.
        slices: Slices,
    },
    /// U-EDF. As [`Optimal`](ScheduleRule::Optimal); and at every instant those jobs run that allotments say, if
    /// releases are at least a period apart: unless the machine has overheads or a request comes. For tasks with
    /// deadlines at the ends of their periods. CPUs are lanes `1, .., m` here: who runs is promised, and not where.
    ///
    /// The *window* of a job begins at the first multiple of the unit `Q` at or after its release, and ends at the last
    /// one at or before its deadline. It gives the job `ceil(C Q / W) / Q` times its length, with `W` as in
    /// [`Shares`](ScheduleRule::Shares). Another window, of length `W`, begins where one ends before its job does; a
    /// job that becomes ready by the end of another one within a window has what is left of that.
    ///
    /// When windows begin, at `t`, all tasks are taken in the order of `d`, the end of the window of the task, or `t`
    /// where none is open; then by rank, then by id. Their rates are laid end to end, and lane `j` has of each task
    /// what lies between `j - 1` and `j`: `u`. What a job has left is given anew: on lane `j` it gets what it still
    /// needs, and at most `d - t`, less what it gets on lower lanes, less `a + (d - d') u'` of each task before it,
    /// which has been given `a` on the lane, the share `u'`, and the end of window `d'`.
    ///
    /// From lane 1 on, each lane runs the first job in this order that has something left on it and runs on no lower
    /// lane.
    Allotted {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The unit of the grid.
        unit: Duration,
    },
    /// Semi-partitioned EDF. Each job runs in the pieces of its task, one after the other, each on one CPU and for no
    /// longer than its budget: a piece is ready when the job is, the one before is used up, and its window has begun,
    /// an offset after the arrival of the job. Each CPU runs, of the pieces that are ready there, the one that is due
    /// first; ties go to the smaller rank, then to the smaller id. A job that has used up its last piece is given up.
    /// No piece is late: unless the machine has overheads or a request comes.
    ///
    /// The budgets of a task sum to its WCET, no window begins before the one before it ends, and the last one ends at
    /// the deadline at the latest. A piece whose budget is as long as its window runs without a pause; a CPU has one of
    /// them at most.
    Split {
        /// The pieces of each task.
        pieces: TaskMap<Vec<Piece>>,
    },
    /// The jobs of each group run on CPUs of the group only; and on the guaranteed CPUs no task ever makes
    /// one of higher criticality late. A job of a task of criticality `l` is late only if, in the busy
    /// period of its group and before its deadline, some job of a task of criticality `l` or above, it
    /// included, executes more than its bound of level `l`: unless the machine has overheads or a request
    /// comes.
    MixedCriticality {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The CPUs for which an analysis has shown that.
        guaranteed: CpuSet,
    },
}

/// What a rule is, for whoever treats several alike: a new one is classified here, and nowhere else.
impl ScheduleRule {
    /// The groups of CPUs with the tasks that they serve; none where the rule has none.
    pub fn groups(&self) -> Option<&[Group]> {
        match self {
            ScheduleRule::HighestFirst { groups, .. }
            | ScheduleRule::Deferred { groups, .. }
            | ScheduleRule::Served { groups, .. }
            | ScheduleRule::Locking(Locking { groups, .. })
            | ScheduleRule::LeastLaxity { groups, .. }
            | ScheduleRule::Optimal { groups }
            | ScheduleRule::Pfair { groups, .. }
            | ScheduleRule::Shares { groups, .. }
            | ScheduleRule::Allotted { groups, .. }
            | ScheduleRule::MixedCriticality { groups, .. } => Some(groups),
            ScheduleRule::None
            | ScheduleRule::Split { .. }
            | ScheduleRule::Weak { .. }
            | ScheduleRule::Strong { .. } => None,
        }
    }

    /// The order of ready jobs, where one decides.
    pub fn order(&self) -> Option<&JobOrder> {
        match self {
            ScheduleRule::HighestFirst { order, .. }
            | ScheduleRule::Deferred { order, .. }
            | ScheduleRule::Served { order, .. }
            | ScheduleRule::Locking(Locking { order, .. })
            | ScheduleRule::Weak { order }
            | ScheduleRule::Strong { order } => Some(order),
            ScheduleRule::None
            | ScheduleRule::LeastLaxity { .. }
            | ScheduleRule::Optimal { .. }
            | ScheduleRule::Pfair { .. }
            | ScheduleRule::Shares { .. }
            | ScheduleRule::Allotted { .. }
            | ScheduleRule::Split { .. }
            | ScheduleRule::MixedCriticality { .. } => None,
        }
    }

    /// Whether no job is late if its groups have room for it: what an order of jobs does not give.
    pub const fn is_optimal(&self) -> bool {
        matches!(
            self,
            ScheduleRule::Optimal { .. }
                | ScheduleRule::Pfair { .. }
                | ScheduleRule::Shares { .. }
                | ScheduleRule::Allotted { .. }
        )
    }

    /// Whether the policy plans with WCETs before the start, or watches them: what it promises is lost where jobs need
    /// more, or the machine is not ideal.
    pub const fn plans_with_wcets(&self) -> bool {
        self.is_optimal()
            || matches!(self, ScheduleRule::Split { .. } | ScheduleRule::MixedCriticality { .. })
    }

    /// Whether affinities say which CPUs a job may use.
    pub const fn has_affinities(&self) -> bool {
        matches!(self, ScheduleRule::Weak { .. } | ScheduleRule::Strong { .. })
    }
}

/// Which job runs on each CPU, and who gets a lock, under a protocol.
///
/// A job is *ready* if it is released, not over, does not suspend itself, and does not wait for a lock. Where no more
/// is said its key is that of the order, ties by the smaller rank, then by the smaller id; the smallest key runs. The
/// *base priority* of a task is its place in the order, or the relative deadline under SRP. The *ceiling* of a resource
/// is the highest base priority of its users. A resource is *global* if its users are on several CPUs (under DPCP also
/// if one is not on its home), and *local* otherwise. A lock that is free can be granted when its job is selected:
/// jobs ask in later rounds of an instant, once everything that is due has been told.
///
/// - Plain, PIP: a free lock is granted. PIP: a holder has the smallest key of its own and those that wait for what it
///   holds, transitively. Who waits tries again when it is selected after an unlock.
/// - PCP: as PIP, but a lock is only granted to a job whose effective priority is higher than the ceilings of all that
///   other jobs on its CPU hold. A job that is denied one passes its priority to the holder of the resource of the
///   highest of these ceilings; of equal ones to the last that was granted.
/// - Immediate ceilings; local resources under MPCP, DPCP, FMLP+ and MSRP with fixed priorities: a holder has the
///   priority of the highest ceiling of what it holds, if that is higher than its own, and comes before others of it.
/// - SRP: a job that has not begun may begin only if it has the smallest key of all jobs on its CPU that are not over,
///   and its relative deadline is shorter than the ceilings of all that is held there.
/// - MPCP: the holder of a global resource comes before all that hold none; among holders the highest *remote* ceiling
///   does (of the users on other CPUs), then who was granted first. The highest base priority in the queue is next.
/// - FMLP+: holders of global resources come before all others, by their requests. Queues are in the order of requests.
/// - MSRP: from the request for a global resource to its unlock nobody preempts; jobs that wait spin. Queues are in the
///   order of requests.
/// - DPCP: a job that asks for a global resource is on the home CPU until its unlock. There it comes before all others,
///   by its base priority until it is selected and granted, then by the ceiling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locking {
    /// CPUs, each with the tasks that it serves.
    pub groups: Vec<Group>,
    /// The order of jobs without locks.
    pub order: JobOrder,
    /// Who gets a lock, and what comes with it.
    pub protocol: Protocol,
}

/// Where the slices of [`ScheduleRule::Shares`] end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slices {
    /// At the next deadline or first release of any task, whether it has a job or not; where that is no multiple of the
    /// unit, at the multiple before it, or after it if the slice begins there. For periodic tasks.
    Deadlines,
    /// T-L planes: at the first deadline after their beginning of the jobs that became ready last, one of each task,
    /// where deadlines count as the multiples of the unit before them; and no later than the shortest window of any
    /// task after their beginning. A job that is released within a slice gets the rate times what is left of it after
    /// the next multiple of the unit. One whose predecessor was there when the slice began, or came within it, gets
    /// what that has left.
    Planes,
}

/// When laxities are compared, besides arrivals, ends of jobs and changes of CPUs; and what decides between equal ones,
/// before the smaller rank and the smaller id do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaxityRule {
    /// LLF: at each multiple of a quantum while a job waits.
    Quantum {
        /// Multiples of it count from the start of the run.
        quantum: Duration,
        /// Whether of equal laxities those of jobs that run come first.
        running_first: bool,
    },
    /// MLLF: when the time to the deadline of the first job that waits is the laxity of the last one that runs, and
    /// when a job that waits has no laxity left. Of equal laxities that of the earlier deadline comes first.
    Modified,
}

/// When jobs may be released that run in slots: how long their windows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Releases {
    /// At the beginnings of slots: `p = floor(min(D, T) / q)`. A job that is released within a slot can be late by less
    /// than a slot.
    #[default]
    OnBoundaries,
    /// Anywhere: `p = floor((min(D, T) - q + 1) / q)` for tasks of which it is not known that every release is at the
    /// beginning of a slot.
    Anywhere,
}

/// A part of a task: what each of its jobs executes on one CPU, and from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// The CPU.
    pub cpu: CpuId,
    /// From the arrival of a job to the beginning of the window.
    pub offset: Duration,
    /// What a job executes in it at most.
    pub budget: Service,
    /// The length of the window.
    pub deadline: Duration,
}

impl Piece {
    /// Whether it has to run from the beginning of its window to the end (`C = D`).
    pub fn has_no_laxity(&self) -> bool {
        self.budget.at_unit_speed() >= self.deadline
    }

    /// From the arrival of a job to the end of the window.
    pub fn due(&self) -> Duration {
        self.offset + self.deadline
    }
}

/// CPUs, and the tasks whose jobs they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The tasks.
    pub tasks: Vec<TaskId>,
}

/// A strict order of ready jobs; ties go to the smaller rank, then to the smaller task id, unless it says more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOrder {
    /// Earliest absolute deadline first.
    Deadline,
    /// Earliest absolute deadline first; of equal deadlines the jobs that already run. No rule but
    /// [`ScheduleRule::HighestFirst`] and [`ScheduleRule::Deferred`] has this order.
    DeadlineThenRunning,
    /// Earliest priority point first: the absolute deadline, less a length that each task has. No rule but
    /// [`ScheduleRule::HighestFirst`] has this order.
    Points(TaskMap<Duration>),
    /// Jobs without laxity first, then the others; among both, earliest absolute deadline first. The laxity
    /// of a job is the time to its deadline, less what is left of its WCET: it has none if that is zero or
    /// negative. Overheads count as execution. No rule but [`ScheduleRule::HighestFirst`] has this order.
    ZeroLaxity,
    /// Smallest number first, one per task.
    Fixed(TaskMap<i64>),
    /// Smallest number first, one per task; among equal numbers not by rank. No rule but
    /// [`ScheduleRule::HighestFirst`], [`ScheduleRule::Locking`], [`ScheduleRule::Weak`] and [`ScheduleRule::Strong`]
    /// has this order.
    Levels {
        /// The number of each task.
        levels: TaskMap<i64>,
        /// Which of two jobs of one number comes first. [`HighestFirst`](ScheduleRule::HighestFirst) starts them in
        /// that order and never stops one for another; the rules with affinities hold at every instant, as for any
        /// order.
        in_level: InLevel,
    },
    /// The jobs of some tasks first, equal among themselves; then those of the others, in another order. No rule but
    /// [`ScheduleRule::HighestFirst`] has this order.
    TopFirst {
        /// The tasks that come first, in the order of their ids.
        top: Vec<TaskId>,
        /// The order of the others.
        then: Order,
    },
}

impl JobOrder {
    /// The number that every job of a task of [`TopFirst`](Self::TopFirst) has, smaller first; none if each job has its
    /// deadline. No job has a smaller number than those of the tasks that come first.
    pub fn key_in_class(top: &[TaskId], then: Order, id: TaskId, task: &Task) -> Option<i64> {
        match top.binary_search(&id) {
            Ok(_) => Some(i64::MIN),
            Err(_) => then.fixed_key(task),
        }
    }
}

/// Why a thread is in the run queue of another CPU from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MoveReason {
    /// A CPU was chosen for a thread that became ready.
    Placed,
    /// Its CPU gave it away.
    Pushed,
    /// The other CPU took it.
    Pulled,
    /// It can no longer use its CPU.
    Expelled,
}

impl MoveReason {
    /// Every reason.
    pub const ALL: [MoveReason; 4] =
        [MoveReason::Placed, MoveReason::Pushed, MoveReason::Pulled, MoveReason::Expelled];

    /// One word for it.
    pub const fn name(self) -> &'static str {
        match self {
            MoveReason::Placed => "placed",
            MoveReason::Pushed => "pushed",
            MoveReason::Pulled => "pulled",
            MoveReason::Expelled => "expelled",
        }
    }
}
