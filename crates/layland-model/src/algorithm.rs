//! What a scheduling policy is, in the terms of the literature. Analyses say with these types what
//! they are about, and policies what they are, so that neither needs to know the other.

use crate::{Protocol, ServerKind, Task};
use std::fmt;

/// Which CPUs the ready jobs of a policy compete for.
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
    /// As strong, for affinities that are nested or disjoint.
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

/// Which of two ready jobs comes first. Ties go to the smaller rank, then to the smaller task id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// The earlier absolute deadline (EDF).
    Deadline,
    /// The shorter period (RM).
    RateMonotonic,
    /// The shorter relative deadline (DM).
    DeadlineMonotonic,
    /// The smaller priority number that its task was given (FP).
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

    /// The key of every job of a task, smaller first; none if each job has a key of its own.
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

/// Which of two ready jobs of one *level* comes first, where that is not the smaller rank: the tasks of one `priority`
/// are a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InLevel {
    /// The one that became ready first, by its release or the end of a suspension; at one instant the smaller rank. A
    /// running job is not preempted by a job of its level. So does `SCHED_FIFO` of POSIX.
    Fifo,
    /// It is not known, and may change at any time: `SCHED_RR`, or several run queues.
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
    /// The ready jobs that come first in the order run, on the CPUs for which they compete.
    Ordered(Form, Order),
    /// By the priorities that tasks were given, where some share one and ranks do not break the tie.
    Levels(Form, InLevel),
    /// The same with preemptions deferred to the ends of non-preemptive regions, as the tasks have them
    /// ([`Preemption`](crate::Preemption)).
    Deferred(Form, Order),
    /// Fixed priorities on each CPU, in this order, where tasks with a budget are served.
    Served(ServerKind, Order),
    /// This order on each CPU, where jobs lock resources by this protocol and suspend themselves.
    Locking(Order, Protocol),
    /// EDZL: global EDF in which a job without laxity comes before all others (Lee 1994).
    Edzl,
    /// G-FL, and its clustered form: global EDF in which a job counts as due earlier by a part of its WCET (Erickson
    /// and Anderson 2012).
    FairLateness,
    /// Global scheduling in which the jobs of some tasks come first, whatever their deadlines.
    TopFirst(TopClass),
    /// Federated scheduling: a DAG task that needs several CPUs has them for itself, and the others are under EDF on
    /// one CPU each (Li et al. 2014).
    Federated,
    /// SCHED_DEADLINE of Linux: threads with constant-bandwidth servers in per-CPU run queues, pushed
    /// and pulled towards global EDF.
    SchedDeadline,
    /// The same, repaired for semi-partitioned systems (Tang, Anderson, Abeni 2021).
    SemiPartitionedDeadline,
    /// EDF on each CPU; a thread moves only when its CPU is overloaded (Stevanato et al. 2021).
    AdaptivePartitioning,
    /// RUN, reduction to uniprocessor (Regnier et al. 2011).
    Run,
    /// QPS, quasi-partitioned scheduling (Massa et al. 2014).
    Qps,
    /// PD2: Pfair in slots of one quantum (Anderson and Srinivasan 2001).
    Pd2,
    /// ER-PD2: the same with early releases.
    ErPd2,
    /// DP-WRAP: deadline partitioning with wrap around (Levin et al. 2010).
    DpWrap,
    /// LRE-TL: local remaining execution in T-L planes (Funk 2010).
    LreTl,
    /// U-EDF: CPU after CPU is filled in the order of deadlines (Nelissen et al. 2012).
    UEdf,
    /// Semi-partitioned EDF: tasks that fit on no CPU are split into pieces. How, and in which order tasks are placed.
    Split(Splitting, SplitOrder),
    /// Mixed criticality on each CPU: what protects tasks of higher criticality at run time.
    MixedCriticality(Protection),
    /// An algorithm that no analysis is about.
    Other,
}

/// What algorithms have in common, for whoever treats several alike.
enum Nature {
    /// An order alone decides who runs.
    Ordered(Form, Order),
    /// Threads with budgets are scheduled, as the kernel does, and not jobs.
    Threads,
    /// Jobs run in whole slots.
    Slots,
    /// Budgets are whole on a grid of the periods and offsets that the set has.
    Grid,
    /// Another one.
    OfItsOwn,
}

impl Algorithm {
    /// A new algorithm is classified here, and nowhere else.
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
            | Algorithm::Served(..)
            | Algorithm::Locking(..)
            | Algorithm::Edzl
            | Algorithm::FairLateness
            | Algorithm::TopFirst(_)
            | Algorithm::Federated
            | Algorithm::Split(..)
            | Algorithm::MixedCriticality(_)
            | Algorithm::Other => Nature::OfItsOwn,
        }
    }

    /// Whether threads with budgets are scheduled, as the kernel does, and not jobs.
    pub const fn schedules_threads(self) -> bool {
        matches!(self.nature(), Nature::Threads)
    }

    /// Whether jobs run in whole slots.
    pub const fn in_slots(self) -> bool {
        matches!(self.nature(), Nature::Slots)
    }

    /// Whether budgets are whole on a grid of the periods and offsets that the set has.
    pub const fn is_on_a_grid(self) -> bool {
        matches!(self.nature(), Nature::Grid)
    }

    /// The CPUs for which jobs compete, and the order of jobs, where these alone decide who runs.
    pub const fn ordered(self) -> Option<(Form, Order)> {
        if let Nature::Ordered(form, order) = self.nature() { Some((form, order)) } else { None }
    }
}

impl Form {
    /// Whether tasks have affinities.
    pub const fn has_affinities(self) -> bool {
        matches!(self, Form::Weak | Form::Strong | Form::Hierarchical)
    }
}

/// Which tasks come first, and in which order the others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopClass {
    /// EDF-US: tasks above `m / (2 m - 1)`, then EDF (Srinivasan and Baruah 2002).
    EdfUs,
    /// fpEDF: of the `m - 1` largest tasks those above 1/2, then EDF (Baruah 2004).
    FpEdf,
    /// EDF^(k): the `k - 1` largest tasks, then EDF; the smallest `k` that is known to do (Goossens, Funk and Baruah
    /// 2003).
    EdfK,
    /// RM-US: tasks above `m / (3 m - 2)`, then RM (Andersson, Baruah and Jonsson 2001).
    RmUs,
    /// Some others, of which these papers say nothing.
    Chosen(Order),
}

/// How tasks that fit on no CPU become pieces on several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Splitting {
    /// C=D: the tasks that fit on no CPU, once the others have been placed by first fit.
    FailFirst,
    /// The same after worst fit.
    FailWorst,
    /// C=D: CPU after CPU, the first task that no longer fits (Burns, Davis, Wang and Zhang 2012).
    NextFirst,
    /// The same with the task of which the CPU can take the largest part.
    NextBest,
    /// EDF-WM: first fit; a task that fits on no CPU has a window on each of several, all of one length (Kato, Yamasaki
    /// and Ishikawa 2009).
    Windows,
}

impl Splitting {
    /// Every one.
    pub const ALL: [Splitting; 5] = [
        Splitting::FailFirst,
        Splitting::FailWorst,
        Splitting::NextFirst,
        Splitting::NextBest,
        Splitting::Windows,
    ];
}

/// In which order tasks are placed that may be split; equal ones by rank.
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

/// What protects tasks of higher criticality (Huang, Gill, Lu 2014).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protection {
    /// SMC: fixed priorities; a job is aborted at the bound of its own level.
    CutOff(CutOffOrder),
    /// AMC: fixed priorities; an overrun drops the jobs of lower criticality until the CPU idles.
    Adaptive(AdaptiveOrder),
    /// ZSS: at its zero-slack instant a job suspends tasks of lower criticality.
    ZeroSlack,
    /// PT: slices make the rate-monotonic order follow criticality.
    PeriodTransformation,
    /// PLRS: fixed job priorities from lists; an overrun drops jobs of lower criticality.
    PriorityLists,
    /// OCBP: the same with job priorities that are recomputed at run time.
    RecomputedPriorities,
    /// EDF-VD: deadlines are earlier until an overrun drops the jobs of lower criticality (Baruah et al. 2012).
    VirtualDeadlines(DeadlineChoice),
}

/// Where the virtual deadlines of EDF-VD come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeadlineChoice {
    /// One factor for all periods, from the utilizations; fractions of a nanosecond.
    Exact,
    /// The same in whole nanoseconds.
    Whole,
    /// The search of Ekberg and Yi, by the demand.
    Tuned,
}

/// The fixed priorities of SMC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CutOffOrder {
    /// What Audsley's search finds for the response times under SMC.
    Audsley,
    /// The shorter period first.
    RateMonotonic,
    /// The higher criticality first.
    CriticalityMonotonic,
}

/// The fixed priorities of AMC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdaptiveOrder {
    /// What Audsley's search finds for AMC-RT.
    AmcRt,
    /// What it finds for AMC-MAX.
    AmcMax,
    /// What it finds for the safe form of AMC-IA.
    AmcIa,
    /// What it finds for AMC-IA as printed, which is not safe.
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
