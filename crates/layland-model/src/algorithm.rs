//! Scheduling algorithms, in the terms of the literature. Analyses use these types to state which
//! algorithms they cover, and policies to state which one they implement, so that neither depends
//! on the other.

use crate::{Protocol, ServerKind, Task};
use std::fmt;

/// The CPUs for which the ready jobs of a policy compete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// All jobs compete for all CPUs.
    Global,
    /// The jobs of each cluster compete for the CPUs of the cluster.
    Clustered,
    /// Every task is assigned to one CPU before the start, and never migrates.
    Partitioned,
    /// Tasks have affinities. A job waits only while every CPU of its affinity runs a job that comes
    /// before it.
    Weak,
    /// Tasks have affinities. A job waits only while every CPU that could be freed for it, by moving
    /// running jobs within their affinities, runs a job that comes before it.
    Strong,
    /// Like `Strong`, for affinities that are nested or disjoint.
    Hierarchical,
}

impl Form {
    /// Every form.
    pub const ALL: [Form; 6] = [
        Form::Global,
        Form::Clustered,
        Form::Partitioned,
        Form::Weak,
        Form::Strong,
        Form::Hierarchical,
    ];

    /// The usual abbreviation, as in `g-edf`.
    pub const fn abbreviation(self) -> &'static str {
        match self {
            Form::Global => "g",
            Form::Clustered => "c",
            Form::Partitioned => "p",
            Form::Weak => "weak",
            Form::Strong => "strong",
            Form::Hierarchical => "hpa",
        }
    }
}

/// The rule that orders two ready jobs. Ties go to the smaller rank, then to the smaller task id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// The earlier absolute deadline (EDF).
    Deadline,
    /// The shorter period (RM).
    RateMonotonic,
    /// The shorter relative deadline (DM).
    DeadlineMonotonic,
    /// The smaller priority number of the task (FP).
    Given,
}

impl Order {
    /// Every order.
    pub const ALL: [Order; 4] =
        [Order::Deadline, Order::RateMonotonic, Order::DeadlineMonotonic, Order::Given];

    /// The usual abbreviation, as in `g-edf`.
    pub const fn abbreviation(self) -> &'static str {
        match self {
            Order::Deadline => "edf",
            Order::RateMonotonic => "rm",
            Order::DeadlineMonotonic => "dm",
            Order::Given => "fp",
        }
    }

    /// The key of every job of a task, smaller first; `None` if each job has a key of its own.
    pub fn fixed_key(self, task: &Task) -> Option<i64> {
        match self {
            Order::Deadline => None,
            Order::RateMonotonic => Some(task.period.ns()),
            Order::DeadlineMonotonic => Some(task.deadline.ns()),
            // A task without a priority comes last.
            Order::Given => Some(task.priority.unwrap_or(i64::MAX - 1)),
        }
    }
}

/// The rule that orders two ready jobs of one *level* if ranks do not. The tasks with the same
/// `priority` form a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InLevel {
    /// The job that became ready first, by its release or by the end of a suspension; at one
    /// instant, the job of the smaller rank. A running job is not preempted by a job of its level.
    /// `SCHED_FIFO` of POSIX follows this rule.
    Fifo,
    /// Unknown, and may change at any time: `SCHED_RR`, or several run queues.
    Any,
}

impl InLevel {
    /// Its name in files and options.
    pub const fn name(self) -> &'static str {
        match self {
            InLevel::Fifo => "fifo",
            InLevel::Any => "any",
        }
    }
}

/// The scheduling algorithm that a policy implements, as analyses know it.
///
/// ```
/// use layland_model::{Algorithm, Form, Order};
/// let g_edf = Algorithm::Ordered(Form::Global, Order::Deadline);
/// assert_eq!(g_edf.to_string(), "g-edf");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// The ready jobs that come first in the order run on the CPUs for which they compete.
    Ordered(Form, Order),
    /// Fixed priorities as given, where several tasks may share a priority and ranks do not break
    /// the tie.
    Levels(Form, InLevel),
    /// Like `Ordered`, with preemptions deferred to the ends of the tasks' non-preemptive regions
    /// ([`Preemption`](crate::Preemption)).
    Deferred(Form, Order),
    /// Global and clustered scheduling on CPUs of different speeds: the running jobs are on the fastest
    /// CPUs, in this order.
    FastestFirst(Order),
    /// Fixed priorities on each CPU, in this order, where servers execute the tasks that have a
    /// budget.
    Served(ServerKind, Order),
    /// This order on each CPU, where jobs lock resources by this protocol and may suspend
    /// themselves.
    Locking(Order, Protocol),
    /// EDZL: global EDF in which a job without laxity comes before all others (Lee 1994).
    Edzl,
    /// EFDF: global EDF that aborts a job as soon as it can no longer meet its deadline (Abbott and
    /// Garcia-Molina 1992).
    Efdf,
    /// G-FL and its clustered form: global EDF that brings the deadline of a job forward by a part
    /// of its WCET (Erickson and Anderson 2012).
    FairLateness,
    /// Global scheduling in which the jobs of some tasks come first, regardless of their deadlines.
    TopFirst(TopClass),
    /// Federated scheduling: each DAG task that needs several CPUs has its own, and the other tasks
    /// run under EDF on one CPU each (Li et al. 2014).
    Federated,
    /// SCHED_DEADLINE of Linux: threads with constant-bandwidth servers in per-CPU run queues, pushed
    /// and pulled towards global EDF.
    SchedDeadline,
    /// SCHED_DEADLINE repaired for semi-partitioned systems (Tang, Anderson, Abeni 2021).
    SemiPartitionedDeadline,
    /// EDF on each CPU; a thread moves only when its CPU is overloaded (Stevanato et al. 2021).
    AdaptivePartitioning,
    /// RUN, reduction to uniprocessor (Regnier et al. 2011).
    Run,
    /// QPS, quasi-partitioned scheduling (Massa et al. 2014).
    Qps,
    /// PD2: Pfair in slots of one quantum (Anderson and Srinivasan 2001).
    Pd2,
    /// ER-PD2: PD2 with early releases.
    ErPd2,
    /// DP-WRAP: deadline partitioning with wrap around (Levin et al. 2010).
    DpWrap,
    /// LRE-TL: local remaining execution in T-L planes (Funk 2010).
    LreTl,
    /// U-EDF: fills one CPU after the other in deadline order (Nelissen et al. 2012).
    UEdf,
    /// Semi-partitioned EDF: splits each task that fits on no CPU into pieces. The parameters state
    /// how tasks are split, and in which order they are placed.
    Split(Splitting, SplitOrder),
    /// Servers of groups and plain tasks in this order on each CPU: by deadlines, or by given
    /// priorities. Each group orders its own jobs.
    Groups(Order),
    /// Mixed criticality on each CPU, with the mechanism that protects tasks of higher criticality.
    MixedCriticality(Protection),
    /// An algorithm that no analysis covers.
    Other,
}

/// A property that several algorithms share, for code that treats them alike.
enum Nature {
    /// The order alone decides which jobs run.
    Ordered(Form, Order),
    /// The algorithm schedules threads with budgets, as the kernel does, not jobs.
    Threads,
    /// Jobs run in whole slots.
    Slots,
    /// Budgets are multiples of a grid, which the periods and offsets of the task set determine.
    Grid,
    /// None of these.
    OfItsOwn,
}

impl Algorithm {
    /// Classifies the algorithm. This is the only place that classifies a new one.
    const fn nature(self) -> Nature {
        match self {
            Algorithm::Ordered(form, order) => Nature::Ordered(form, order),
            Algorithm::Levels(form, _) => Nature::Ordered(form, Order::Given),
            Algorithm::SchedDeadline
            | Algorithm::SemiPartitionedDeadline
            | Algorithm::AdaptivePartitioning => Nature::Threads,
            Algorithm::Pd2 | Algorithm::ErPd2 => Nature::Slots,
            Algorithm::Run
            | Algorithm::Qps
            | Algorithm::DpWrap
            | Algorithm::LreTl
            | Algorithm::UEdf => Nature::Grid,
            Algorithm::Deferred(..)
            | Algorithm::FastestFirst(_)
            | Algorithm::Served(..)
            | Algorithm::Locking(..)
            | Algorithm::Edzl
            | Algorithm::Efdf
            | Algorithm::FairLateness
            | Algorithm::TopFirst(_)
            | Algorithm::Federated
            | Algorithm::Split(..)
            | Algorithm::Groups(_)
            | Algorithm::MixedCriticality(_)
            | Algorithm::Other => Nature::OfItsOwn,
        }
    }

    /// Returns true if the algorithm schedules threads with budgets, as the kernel does, not jobs.
    pub const fn schedules_threads(self) -> bool {
        matches!(self.nature(), Nature::Threads)
    }

    /// Returns true if jobs run in whole slots.
    pub const fn in_slots(self) -> bool {
        matches!(self.nature(), Nature::Slots)
    }

    /// Returns true if budgets are multiples of a grid that the task set determines.
    pub const fn is_on_a_grid(self) -> bool {
        matches!(self.nature(), Nature::Grid)
    }

    /// The CPUs for which jobs compete and the order of jobs, if these alone decide which jobs run.
    pub const fn ordered(self) -> Option<(Form, Order)> {
        if let Nature::Ordered(form, order) = self.nature() { Some((form, order)) } else { None }
    }
}

impl Form {
    /// Returns true if tasks have affinities.
    pub const fn has_affinities(self) -> bool {
        matches!(self, Form::Weak | Form::Strong | Form::Hierarchical)
    }
}

/// The tasks whose jobs come first, and the order of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopClass {
    /// EDF-US: tasks above `m / (2 m - 1)`, then EDF (Srinivasan and Baruah 2002).
    EdfUs,
    /// fpEDF: those of the `m - 1` largest tasks that are above 1/2, then EDF (Baruah 2004).
    FpEdf,
    /// EDF^(k): the `k - 1` largest tasks, then EDF, with the smallest `k` that is known to suffice
    /// (Goossens, Funk and Baruah 2003).
    EdfK,
    /// RM-US: tasks above `m / (3 m - 2)`, then RM (Andersson, Baruah and Jonsson 2001).
    RmUs,
    /// Another choice of tasks, which these papers do not cover.
    Chosen(Order),
}

/// The method that turns a task that fits on no CPU into pieces on several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Splitting {
    /// C=D: splits the tasks that fit on no CPU after the others have been placed by first fit.
    FailFirst,
    /// Like `FailFirst`, after worst fit.
    FailWorst,
    /// C=D: fills one CPU after the other and splits the first task that no longer fits (Burns,
    /// Davis, Wang and Zhang 2012).
    NextFirst,
    /// Like `NextFirst`, but splits the task of which the CPU can take the largest part.
    NextBest,
    /// EDF-WM: first fit; a task that fits on no CPU gets windows of equal length on several (Kato,
    /// Yamasaki and Ishikawa 2009).
    Windows,
}

impl Splitting {
    /// All methods.
    pub const ALL: [Splitting; 5] = [
        Splitting::FailFirst,
        Splitting::FailWorst,
        Splitting::NextFirst,
        Splitting::NextBest,
        Splitting::Windows,
    ];
}

/// The order in which tasks that may be split are placed. Ties go to the smaller rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SplitOrder {
    /// The largest utilization `C / T` first.
    #[default]
    Utilization,
    /// The largest density `C / D` first.
    Density,
    /// The shortest deadline first.
    Deadline,
    /// The shortest period first.
    Period,
}

/// The mechanism that protects tasks of higher criticality (Huang, Gill, Lu 2014).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protection {
    /// SMC: fixed priorities; a job is aborted at the bound of its own level.
    CutOff(CutOffOrder),
    /// AMC: fixed priorities; an overrun drops the jobs of lower criticality until the CPU idles.
    Adaptive(AdaptiveOrder),
    /// ZSS: at its zero-slack instant a job suspends tasks of lower criticality.
    ZeroSlack,
    /// PT: cuts periods into slices, so that the rate-monotonic order follows criticality.
    PeriodTransformation,
    /// PLRS: fixed job priorities from lists; an overrun drops jobs of lower criticality.
    PriorityLists,
    /// OCBP: fixed job priorities that are recomputed at run time; an overrun drops jobs of lower
    /// criticality.
    RecomputedPriorities,
    /// EDF-VD: jobs have earlier virtual deadlines until an overrun drops the jobs of lower
    /// criticality (Baruah et al. 2012).
    VirtualDeadlines(DeadlineChoice),
}

/// The source of the virtual deadlines of EDF-VD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeadlineChoice {
    /// One factor for all periods, computed from the utilizations, with fractions of a nanosecond.
    Exact,
    /// One factor for all periods, with deadlines in whole nanoseconds.
    Whole,
    /// The search of Ekberg and Yi, which uses the demand.
    Tuned,
}

/// The fixed priorities of SMC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CutOffOrder {
    /// The order that Audsley's search finds for the response times under SMC.
    Audsley,
    /// The shorter period first.
    RateMonotonic,
    /// The higher criticality first.
    CriticalityMonotonic,
}

/// The fixed priorities of AMC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdaptiveOrder {
    /// The order that Audsley's search finds for AMC-RT.
    AmcRt,
    /// The order that Audsley's search finds for AMC-MAX.
    AmcMax,
    /// The order that Audsley's search finds for the safe form of AMC-IA.
    AmcIa,
    /// The order that Audsley's search finds for AMC-IA as printed, which is not safe.
    AmcIaPaper,
    /// The shorter period first.
    RateMonotonic,
}

/// The usual abbreviation.
impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Algorithm::Ordered(form, order) => {
                return write!(f, "{}-{}", form.abbreviation(), order.abbreviation());
            }
            Algorithm::Levels(form, in_level) => {
                return write!(f, "{}-fp with tie={}", form.abbreviation(), in_level.name());
            }
            Algorithm::Deferred(form, order) => {
                let (form, order) = (form.abbreviation(), order.abbreviation());
                return write!(f, "{form}-{order} with non-preemptive regions");
            }
            Algorithm::FastestFirst(order) => {
                let order = order.abbreviation();
                return write!(f, "g-{order} on the fastest CPUs");
            }
            Algorithm::Served(kind, order) => {
                return write!(f, "p-{} with {} servers", order.abbreviation(), kind.name());
            }
            Algorithm::Locking(order, protocol) => {
                let order = order.abbreviation();
                if *protocol == Protocol::Plain {
                    return write!(f, "p-{order} with plain locks");
                }
                return write!(f, "p-{order} with locks by {}", protocol.abbreviation());
            }
            Algorithm::Edzl => "EDZL",
            Algorithm::Efdf => "EFDF",
            Algorithm::FairLateness => "G-FL",
            Algorithm::TopFirst(TopClass::EdfUs) => "EDF-US",
            Algorithm::TopFirst(TopClass::FpEdf) => "fpEDF",
            Algorithm::TopFirst(TopClass::EdfK) => "EDF^(k)",
            Algorithm::TopFirst(TopClass::RmUs) => "RM-US",
            Algorithm::TopFirst(TopClass::Chosen(order)) => {
                return write!(f, "{} below some tasks", order.abbreviation());
            }
            Algorithm::Federated => "federated scheduling",
            Algorithm::SchedDeadline => "SCHED_DEADLINE",
            Algorithm::SemiPartitionedDeadline => "semi-partitioned SCHED_DEADLINE",
            Algorithm::AdaptivePartitioning => "adaptively partitioned EDF",
            Algorithm::Run => "RUN",
            Algorithm::Qps => "QPS",
            Algorithm::Pd2 => "PD2",
            Algorithm::ErPd2 => "ER-PD2",
            Algorithm::DpWrap => "DP-WRAP",
            Algorithm::LreTl => "LRE-TL",
            Algorithm::UEdf => "U-EDF",
            Algorithm::Split(Splitting::Windows, _) => "EDF-WM",
            Algorithm::Split(..) => "C=D",
            Algorithm::Groups(order) => {
                return write!(f, "groups by {}", order.abbreviation());
            }
            Algorithm::MixedCriticality(Protection::CutOff(_)) => "SMC",
            Algorithm::MixedCriticality(Protection::Adaptive(_)) => "AMC",
            Algorithm::MixedCriticality(Protection::ZeroSlack) => "ZSS",
            Algorithm::MixedCriticality(Protection::PeriodTransformation) => "PT",
            Algorithm::MixedCriticality(Protection::PriorityLists) => "PLRS",
            Algorithm::MixedCriticality(Protection::RecomputedPriorities) => "OCBP",
            Algorithm::MixedCriticality(Protection::VirtualDeadlines(_)) => "EDF-VD",
            Algorithm::Other => "other",
        };
        f.write_str(name)
    }
}
