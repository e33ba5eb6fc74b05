//! The promise of a policy about every schedule that it makes, as data: a trace checker can verify
//! a trace against it without knowing the policy. Also the reasons for which a policy moves
//! threads.
//!
//! Long because each rule is defined here in full.

use crate::{
    CpuId, CpuSet, Duration, InLevel, Order, Preemption, Protocol, Server, ServerKind, System,
    Task, TaskId, TaskMap,
};

/// A property of a schedule, at every instant.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ScheduleRule {
    /// Nothing beyond what holds for every schedule.
    #[default]
    None,
    /// In each group, the `min(m, ready)` ready jobs that come first in the order run, where `m` is
    /// the number of online CPUs of the group: no job waits while a CPU is idle or runs a job
    /// behind it in the order.
    HighestFirst {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The order of ready jobs.
        order: JobOrder,
        /// The CPUs of a group on which its jobs run.
        placement: Placement,
    },
    /// In each group, no job waits while a CPU is idle. A waiting job comes before a running one
    /// only while the running job is in a region in which it is not preempted ([`Preemption`]):
    /// with whole regions it has begun to execute, with fixed ones it is within a segment, and with
    /// floating ones a job that comes before it has waited for no longer than the region. A job
    /// that has begun a region on a CPU loses the CPU only if the CPU goes offline, if its task
    /// moves or leaves, or at the end of the region.
    Deferred {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The order of ready jobs.
        order: JobOrder,
        /// The points at which the jobs of each task may be preempted.
        regions: TaskMap<Preemption>,
    },
    /// In each group, which has one CPU, the first ready job in the order runs, of those that may
    /// run. A job of a task with a server may run while the server has budget. The rule is not
    /// promised if the machine is real or has overheads, or if a request comes.
    ///
    /// A server has a budget `Q` and a period `T`, and has work while a job of its task is ready.
    /// At one instant, execution and the ends of jobs count first, then replenishments, then
    /// arrivals.
    /// - Deferrable: at every multiple of `T` the budget becomes `Q`. The execution of its jobs is
    ///   subtracted from it. Polling: also, the budget is 0 while there is no work.
    /// - Sporadic: the budget is a list of chunks by their times, at first (0, `Q`). A server with
    ///   work that is not active becomes active when the time of the first chunk has come: the
    ///   chunks whose times have come merge into one whose time is now. The server has the amount
    ///   of the first chunk. The part of it that is executed is appended to the list, with the time
    ///   of the first chunk plus `T`. When the first chunk is used up, the server stays active if
    ///   the time of the next one has come. A server without work is not active.
    Served {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The order of ready jobs.
        order: JobOrder,
        /// The rule by which budgets are replenished.
        kind: ServerKind,
        /// The servers of the tasks that have one.
        servers: TaskMap<Option<Server>>,
    },
    /// In each group, which has one CPU, the job runs that has the highest effective priority of
    /// those that can continue, and the protocol decides which job gets a lock:
    /// [`rule::Locking`](Locking) defines the priorities. The system defines the sections of the
    /// jobs. The rule is not promised if the machine is real or has overheads.
    Locking(Locking),
    /// Every CPU that a waiting job may use runs a job that comes before it in the order. The
    /// system defines these CPUs.
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
    /// In each group, no job waits while a CPU is idle, and the `min(m, ready)` ready jobs of least
    /// laxity run, as of the last *look*. A look happens when a job arrives, becomes ready or ends,
    /// when a CPU goes online or offline, and at the instants of the rule. Between looks, running
    /// jobs continue. The laxity of a job is the time to its deadline less its remaining WCET,
    /// which is zero once the WCET is exceeded. If the machine has overheads or latencies, the
    /// instants of the looks are unknown, and the only promise is that no job waits while a CPU is
    /// idle.
    LeastLaxity {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The instants at which laxities are compared, and the rule that breaks ties.
        rule: LaxityRule,
    },
    /// The jobs of each group run on CPUs of the group only, and no job is late, unless the machine
    /// has overheads, a request comes, or a job exceeds its WCET.
    Optimal {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
    },
    /// Pfair. The jobs of each group run on CPUs of the group only, in slots of one quantum that
    /// begin at multiples of the quantum: a job starts at the beginning of a slot, and stops at the
    /// end of one or when it ends. Each subtask runs in its window if the weights of the group sum
    /// to at most its CPUs, unless the machine has overheads or a request comes.
    ///
    /// A task has the weight `e / p`: it needs `e = ceil(C / q)` slots in a window of `p` slots,
    /// `min(D, T) / q` rounded down; see [`Releases`]. Subtask `i = 1, 2, ..` is the `i`-th slot of
    /// a job. It runs within the slots from `t + floor((i-1) p / e)` up to but not including
    /// `t + ceil(i p / e)`. The anchor `t` is the first slot that begins neither before the release
    /// of the job nor before `t' + ceil(max(e, n) p / e)`, where `t'` is the anchor of the previous
    /// job and `n` the number of slots that it received.
    Pfair {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The length of a slot.
        quantum: Duration,
        /// The instants at which jobs may be released.
        releases: Releases,
        /// True if subtasks of a job may run before their windows (early release).
        early: bool,
    },
    /// Like [`Optimal`](ScheduleRule::Optimal). Also, in each slice, a job that can run from its
    /// beginning to its end, and has not ended by then, gets exactly the rate of its task times the
    /// length of the slice, unless the machine has overheads or a request comes. For tasks with
    /// deadlines at the ends of their periods.
    ///
    /// Each slice begins where the previous one ends, the first one at 0, and always at a multiple
    /// of the unit `Q`; [`Slices`] defines the ends. Rates are multiples of `1/Q`, in nanoseconds:
    /// `ceil(C Q / W) / Q`, where the window `W` is the period if the period and all releases are
    /// known to be multiples of `Q`, and `(floor(T / Q) - 1) Q` otherwise.
    Shares {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The unit of the grid.
        unit: Duration,
        /// The rule for the ends of slices.
        slices: Slices,
    },
    /// U-EDF. Like [`Optimal`](ScheduleRule::Optimal). Also, at every instant the jobs run that the
    /// allotments select, if releases are at least a period apart, unless the machine has overheads
    /// or a request comes. For tasks with deadlines at the ends of their periods. CPUs are lanes
    /// `1, .., m` here: the rule promises which jobs run, but not where.
    ///
    /// The *window* of a job begins at the first multiple of the unit `Q` at or after its release,
    /// and ends at the last one at or before its deadline. It gives the job `ceil(C Q / W) / Q`
    /// times its length, with `W` as in [`Shares`](ScheduleRule::Shares). If a window ends before
    /// its job does, another window of length `W` begins there. A job that becomes ready within a
    /// window of its task, because its predecessor has ended, gets the rest of that window.
    ///
    /// When windows begin, at `t`, the tasks are processed in the order of `d`, which is the end of
    /// the window of the task, or `t` if no window is open; then by rank, then by id. Their rates
    /// are laid end to end, and the share `u` of a task on lane `j` is the part of its rate that
    /// lies between `j - 1` and `j`. The rest of each job is then allotted anew. On lane `j` it
    /// gets what it still needs, but at most `d - t`, less its allotments on lower lanes, less
    /// `a + (d - d') u'` for each task before it, where `a` is the allotment of that task on the
    /// lane, `u'` its share, and `d'` the end of its window.
    ///
    /// From lane 1 on, each lane runs the first job in this order that has an allotment left on the
    /// lane and runs on no lower lane.
    Allotted {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The unit of the grid.
        unit: Duration,
    },
    /// Semi-partitioned EDF. Each job runs in the pieces of its task, one after the other, each on
    /// one CPU and for no longer than its budget. A piece is ready when the job is ready, the
    /// previous piece is used up, and the window of the piece has begun, an offset after the
    /// arrival of the job. Each CPU runs the ready piece with the earliest deadline; ties go to the
    /// smaller rank, then to the smaller id. A job that has used up its last piece is aborted. No
    /// piece is late, unless the machine has overheads or a request comes.
    ///
    /// The CPUs do the WCET of a task in its budgets, no window begins before the previous one ends, and
    /// the last one ends at the deadline at the latest. A piece whose budget is as long as its
    /// window runs without a pause; each CPU has at most one such piece.
    Split {
        /// The pieces of each task.
        pieces: TaskMap<Vec<Piece>>,
    },
    /// The jobs of each group run on CPUs of the group only. On the guaranteed CPUs, no task ever
    /// makes a task of higher criticality late. A job of a task of criticality `l` is late only if,
    /// in the busy period of its group and before its deadline, some job of a task of criticality
    /// `l` or above, possibly itself, exceeds its bound of level `l`, unless the machine has
    /// overheads or a request comes.
    MixedCriticality {
        /// Disjoint sets of CPUs, each with the tasks that it serves.
        groups: Vec<Group>,
        /// The CPUs for which an analysis has proven this.
        guaranteed: CpuSet,
    },
}

/// Properties of rules, for code that treats several alike. This is the only place that classifies
/// a new rule.
impl ScheduleRule {
    /// [`HighestFirst`](ScheduleRule::HighestFirst), with jobs on any CPUs of their groups.
    pub const fn highest_first(groups: Vec<Group>, order: JobOrder) -> ScheduleRule {
        ScheduleRule::HighestFirst { groups, order, placement: Placement::Anywhere }
    }

    /// The groups of CPUs with the tasks that they serve; `None` if the rule has no groups.
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

    /// The order of ready jobs, if an order decides.
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

    /// The CPU of each task and its fixed priority there, if every group of the rule has one CPU and
    /// every task is in a group.
    pub fn assignment(&self, system: &System) -> Option<TaskMap<Assigned>> {
        let groups = self.groups().filter(|_| !self.is_optimal())?;
        let numbers = match self.order() {
            Some(JobOrder::Fixed(numbers)) => Some((numbers, false)),
            Some(JobOrder::Levels { levels, .. }) => Some((levels, true)),
            Some(
                JobOrder::Deadline
                | JobOrder::DeadlineThenRunning
                | JobOrder::Points(_)
                | JobOrder::ZeroLaxity
                | JobOrder::Feasible
                | JobOrder::TopFirst { .. },
            )
            | None => None,
        };
        let mut found = TaskMap::filled(None, system.tasks.len());
        for group in groups {
            let cpu = group.cpus.lowest().filter(|_| group.cpus.len() == 1)?;
            let mut tasks = group.tasks.clone();
            let key = |task: TaskId| {
                let number = numbers.map(|(numbers, _)| numbers[task]);
                (number, system.tasks[task].rank, task)
            };
            tasks.sort_by_key(|&task| key(task));
            let (mut priority, mut last) = (0, None);
            for &task in &tasks {
                let number = numbers.map(|(numbers, shared)| (numbers[task], shared));
                // Tasks of one level share a priority.
                let is_shared = number.is_some_and(|(_, shared)| shared) && last == Some(number);
                priority += u32::from(!is_shared);
                last = Some(number);
                found[task] = Some(Assigned { cpu, priority: number.map(|_| priority) });
            }
        }
        found.values().copied().collect()
    }

    /// Returns true if no job is late when the load of its groups fits their CPUs. An order of jobs
    /// alone does not promise this.
    pub const fn is_optimal(&self) -> bool {
        matches!(
            self,
            ScheduleRule::Optimal { .. }
                | ScheduleRule::Pfair { .. }
                | ScheduleRule::Shares { .. }
                | ScheduleRule::Allotted { .. }
        )
    }

    /// Returns true if the policy plans with WCETs before the start, or monitors them. Its promise
    /// is lost if jobs exceed their WCETs, or if the machine is not ideal.
    pub const fn plans_with_wcets(&self) -> bool {
        self.is_optimal()
            || matches!(self, ScheduleRule::Split { .. } | ScheduleRule::MixedCriticality { .. })
    }

    /// Returns true if a system in [time](System::time_view) stands for the one that runs, in clusters
    /// that are the groups: an order of jobs decides, and budgets are whole nanoseconds of the CPU.
    /// Budgets of threads with reservations are work, of which a nanosecond costs a fraction.
    pub const fn counts_in_time(&self) -> bool {
        matches!(
            self,
            ScheduleRule::HighestFirst { .. }
                | ScheduleRule::Deferred { .. }
                | ScheduleRule::Locking(_)
                | ScheduleRule::Weak { .. }
                | ScheduleRule::Strong { .. }
                | ScheduleRule::Served { .. }
                | ScheduleRule::MixedCriticality { .. }
        )
    }

    /// Returns true if affinities define which CPUs a job may use.
    pub const fn has_affinities(&self) -> bool {
        matches!(self, ScheduleRule::Weak { .. } | ScheduleRule::Strong { .. })
    }
}

/// Defines which job runs on each CPU, and which job gets a lock, under a protocol.
///
/// A job is *ready* if it is released, has not ended, is not suspended, and does not wait for a
/// lock. Unless stated otherwise, its key is that of the order, with ties by the smaller rank, then
/// by the smaller id; the smallest key runs. The *base priority* of a task is its place in the
/// order, or the relative deadline under SRP. The *ceiling* of a resource is the highest base
/// priority of its users. A resource is *global* if its users are on several CPUs (under DPCP also
/// if one is not on its home), and *local* otherwise. A free lock can be granted when its job is
/// selected: jobs request locks in later rounds of an instant, after all events of that instant.
///
/// - Plain, PIP: a free lock is granted. PIP: a holder has the smallest of its own key and the keys
///   of the jobs that wait for its resources, transitively. A waiting job retries when it is
///   selected after an unlock.
/// - PCP: like PIP, but a lock is only granted to a job whose effective priority is higher than the
///   ceilings of all resources that other jobs on its CPU hold. A job that is denied a lock passes
///   its priority to the holder of the resource with the highest of these ceilings; among equal
///   ceilings, of the resource that was granted last.
/// - Immediate ceilings; local resources under MPCP, DPCP, FMLP+ and MSRP with fixed priorities: a
///   holder has the priority of the highest ceiling of its resources, if that is higher than its
///   own, and comes before other jobs of that priority.
/// - SRP: a job may begin only if it has the smallest key of all jobs on its CPU that have not
///   ended, and its relative deadline is shorter than the ceilings of all resources held there.
/// - MPCP: the holder of a global resource comes before all jobs that hold none. Among holders, the
///   highest *remote* ceiling (of the users on other CPUs) comes first, then the earliest grant.
///   The job of the highest base priority in the queue gets the lock next.
/// - FMLP+: holders of global resources come before all others, in the order of their requests.
///   Queues are in the order of requests.
/// - MSRP: from the request for a global resource to its unlock, the job is not preempted; jobs
///   that wait spin. Queues are in the order of requests.
/// - DPCP: a job that requests a global resource is on the home CPU until its unlock. There it
///   comes before all others, by its base priority until it is selected and granted the lock, then
///   by the ceiling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locking {
    /// CPUs, each with the tasks that it serves.
    pub groups: Vec<Group>,
    /// The order of jobs without locks.
    pub order: JobOrder,
    /// The rule by which locks are granted, and the priority that a holder gets.
    pub protocol: Protocol,
}

/// The ends of the slices of [`ScheduleRule::Shares`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slices {
    /// At the next deadline or first release of any task, whether it has a job or not. If that is
    /// not a multiple of the unit, the slice ends at the multiple before it, or after it if the
    /// slice begins there. For periodic tasks.
    Deadlines,
    /// T-L planes: at the earliest deadline after the beginning of the slice, among the jobs that
    /// became ready last, one of each task. Deadlines are rounded down to multiples of the unit. A
    /// slice is no longer than the shortest window of any task. A job that is released within a
    /// slice gets the rate times the rest of the slice after the next multiple of the unit. If its
    /// predecessor was there when the slice began, or arrived within it, the job gets the rest of
    /// the predecessor's share.
    Planes,
}

/// The instants at which laxities are compared, besides arrivals, ends of jobs and changes of CPUs;
/// and the rule that breaks ties before the smaller rank and the smaller id do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaxityRule {
    /// LLF: at each multiple of a quantum while a job waits.
    Quantum {
        /// The quantum. Its multiples count from the start of the run.
        quantum: Duration,
        /// True if running jobs come first among equal laxities.
        running_first: bool,
    },
    /// MLLF: when the time to the deadline of the first waiting job equals the laxity of the last
    /// running job, and when a waiting job has no laxity left. Among equal laxities the earlier
    /// deadline comes first.
    Modified,
}

/// The instants at which jobs may be released that run in slots. They determine the lengths of
/// windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Releases {
    /// At the beginnings of slots: `p = floor(min(D, T) / q)`. A job that is released within a slot
    /// can be late by less than a slot.
    #[default]
    OnBoundaries,
    /// Anywhere: `p = floor((min(D, T) - q + 1) / q)` for tasks that are not known to release every
    /// job at the beginning of a slot.
    Anywhere,
}

/// A part of a task: the time for which each of its jobs executes on one CPU, within a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// The CPU.
    pub cpu: CpuId,
    /// The time from the arrival of a job to the beginning of the window.
    pub offset: Duration,
    /// The maximum time of its CPU that a job gets in the piece.
    pub budget: Duration,
    /// The length of the window.
    pub deadline: Duration,
}

impl Piece {
    /// Returns true if the piece has to run from the beginning of its window to the end (`C = D`).
    pub fn has_no_laxity(&self) -> bool {
        self.budget >= self.deadline
    }

    /// The time from the arrival of a job to the end of the window.
    pub fn due(&self) -> Duration {
        self.offset + self.deadline
    }
}

/// The CPUs of a group on which its running jobs are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Any of them.
    #[default]
    Anywhere,
    /// The first of the running jobs in the order is on a fastest CPU that is online, the second on a
    /// fastest of the others, and so on. Not promised if the machine is real or has overheads.
    FastestFirst,
}

/// CPUs, and the tasks whose jobs they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The tasks.
    pub tasks: Vec<TaskId>,
}

/// The place of a task under partitioned scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The only CPU of the task.
    pub cpu: CpuId,
    /// Its place in the order of fixed priorities on that CPU: 1 comes first. `None` if jobs have
    /// priorities of their own, as under EDF.
    pub priority: Option<u32>,
}

/// A strict order of ready jobs. Ties go to the smaller rank, then to the smaller task id, unless a
/// variant states more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOrder {
    /// Earliest absolute deadline first.
    Deadline,
    /// Earliest absolute deadline first; among equal deadlines, running jobs first. Only
    /// [`ScheduleRule::HighestFirst`] and [`ScheduleRule::Deferred`] have this order.
    DeadlineThenRunning,
    /// Earliest priority point first: the absolute deadline, less a length that each task has. Only
    /// [`ScheduleRule::HighestFirst`] has this order.
    Points(TaskMap<Duration>),
    /// Jobs without laxity first, then the others; in both classes, earliest absolute deadline
    /// first. The laxity of a job is the time to its deadline less its remaining WCET: a job
    /// without laxity has a value of zero or less. Overheads count as execution. Only
    /// [`ScheduleRule::HighestFirst`] has this order.
    ZeroLaxity,
    /// Earliest absolute deadline first. A job is aborted at the first instant at which it is
    /// *infeasible*, and at no other instant. It needs at least `C / s - x`, and at least one
    /// nanosecond while it has not completed; it is infeasible if this exceeds the time to its
    /// deadline. `C` is its WCET, `s` the speed of the fastest CPU of the platform, and `x` the time
    /// for which it has held CPUs. Overheads count as execution. Only
    /// [`ScheduleRule::HighestFirst`] has this order.
    Feasible,
    /// Smallest number first, one number per task.
    Fixed(TaskMap<i64>),
    /// Smallest number first, one number per task; ranks do not break ties. Only
    /// [`ScheduleRule::HighestFirst`], [`ScheduleRule::Locking`], [`ScheduleRule::Weak`] and
    /// [`ScheduleRule::Strong`] have this order.
    Levels {
        /// The number of each task.
        levels: TaskMap<i64>,
        /// The rule that orders two jobs of the same number.
        /// [`HighestFirst`](ScheduleRule::HighestFirst) starts them in that order and never stops
        /// one for another; the rules with affinities hold at every instant, as for any order.
        in_level: InLevel,
    },
    /// The jobs of some tasks first, equal among themselves; then those of the others, in another
    /// order. Only [`ScheduleRule::HighestFirst`] has this order.
    TopFirst {
        /// The tasks that come first, in the order of their ids.
        top: Vec<TaskId>,
        /// The order of the others.
        then: Order,
    },
}

impl JobOrder {
    /// The key of every job of a task under [`TopFirst`](Self::TopFirst), smaller first; `None` if
    /// the key of each job is its deadline. No key is smaller than that of the tasks that come
    /// first.
    pub fn key_in_class(top: &[TaskId], then: Order, id: TaskId, task: &Task) -> Option<i64> {
        match top.binary_search(&id) {
            Ok(_) => Some(i64::MIN),
            Err(_) => then.fixed_key(task),
        }
    }
}

/// The reason why a thread moves to the run queue of another CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MoveReason {
    /// A CPU was chosen for a thread that became ready.
    Placed,
    /// Its CPU gave the thread away.
    Pushed,
    /// The other CPU took the thread.
    Pulled,
    /// The thread can no longer use its CPU.
    Expelled,
}

impl MoveReason {
    /// Every reason.
    pub const ALL: [MoveReason; 4] =
        [MoveReason::Placed, MoveReason::Pushed, MoveReason::Pulled, MoveReason::Expelled];

    /// The name of the reason.
    pub const fn name(self) -> &'static str {
        match self {
            MoveReason::Placed => "placed",
            MoveReason::Pushed => "pushed",
            MoveReason::Pulled => "pulled",
            MoveReason::Expelled => "expelled",
        }
    }
}
