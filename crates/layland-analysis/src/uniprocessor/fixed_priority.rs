//! Preemptive fixed priorities (**FP**) on one CPU: response times, utilization bounds, and the
//! assignment of priorities.
//!
//! | what | source | kind |
//! |---|---|---|
//! | [`response_time`] | Lehoczky 1990 (arbitrary deadlines); Tindell, Burns, Wellings 1994 (jitter) | exact |
//! | [`LIU_LAYLAND`], `U <= n (2^(1/n) - 1)` | Liu and Layland 1973 | sufficient, rate-monotonic |
//! | [`HYPERBOLIC`], `prod (u_i + 1) <= 2` | Bini, Buttazzo, Buttazzo 2003 | sufficient, rate-monotonic |
//! | [`AUDSLEY`] | Audsley 1991 | exact: whether any priorities work |
//!
//! Assumes: (1) every task may use one CPU alone, (2) jobs of a task at least a period apart, (3)
//! WCETs are kept, (4) overheads are part of `C_i`, (5) unit speeds, (6) nothing changes while the
//! system runs, (7) for given priorities: there are some; for the two bounds: `D_i = T_i` and no
//! jitter. There is no blocking and no self-suspension. *Exact* is about sporadic tasks and tasks
//! that may become ready together.
//!
//! | paper | meaning |
//! |---|---|
//! | `w(q)` | when the `q`-th job of a busy period is done, counted from its start |
//! | `J_i` | release jitter |
//! | `H_i` | the tasks of higher priority |
//!
//! Equal priorities go to the smaller rank, then to the smaller id, as the policies do.
//!
//! Long because the response times of one CPU, exact, with arbitrary deadlines and within jitter, share one busy
//! period, and the searches for priorities ask them thousands of times.

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Assumption::{self, *};
use crate::fixed_point::{Diverged, MAX_STEPS, least};
use crate::group::{Group, exact, together};
use crate::{
    Citation, Finding, Kind, Quantity, Reason, Refusal, ResponseBound, ResponseTest,
    SchedulabilityTest, Scope, Sporadic, Subject, Verdict,
};
use layland_model::{
    Algorithm, Duration, Form, Order, Rate, RateSum, System, TIME_LIMIT, Task, TaskId, TaskMap,
};
use std::borrow::Borrow;

/// Lehoczky 1990.
pub const LEHOCZKY: Citation = Citation {
    key: "lehoczky1990fixed",
    text: "J. P. Lehoczky. Fixed priority scheduling of periodic task sets with arbitrary deadlines. \
           RTSS 1990, pages 201-209.",
    bibtex: "@inproceedings{lehoczky1990fixed,
  author    = {John P. Lehoczky},
  title     = {Fixed Priority Scheduling of Periodic Task Sets with Arbitrary Deadlines},
  booktitle = {11th Real-Time Systems Symposium (RTSS)}, pages = {201--209}, year = {1990}
}",
};

/// Tindell, Burns and Wellings 1994.
pub const TINDELL: Citation = Citation {
    key: "tindell1994extendible",
    text: "K. W. Tindell, A. Burns and A. J. Wellings. An extendible approach for analyzing fixed \
           priority hard real-time tasks. Real-Time Systems 6(2):133-151, 1994.",
    bibtex: "@article{tindell1994extendible,
  author  = {Ken W. Tindell and Alan Burns and Andy J. Wellings},
  title   = {An Extendible Approach for Analyzing Fixed Priority Hard Real-Time Tasks},
  journal = {Real-Time Systems}, volume = {6}, number = {2}, pages = {133--151}, year = {1994}
}",
};

/// Bini, Buttazzo and Buttazzo 2003.
pub const BINI: Citation = Citation {
    key: "bini2003rate",
    text: "E. Bini, G. C. Buttazzo and G. M. Buttazzo. Rate monotonic analysis: the hyperbolic bound. \
           IEEE Transactions on Computers 52(7):933-942, 2003.",
    bibtex: "@article{bini2003rate,
  author  = {Enrico Bini and Giorgio C. Buttazzo and Giuseppe M. Buttazzo},
  title   = {Rate Monotonic Analysis: The Hyperbolic Bound},
  journal = {IEEE Transactions on Computers}, volume = {52}, number = {7}, pages = {933--942}, year = {2003}
}",
};

/// Audsley 1991.
pub const AUDSLEY_1991: Citation = Citation {
    key: "audsley1991optimal",
    text: "N. C. Audsley. Optimal priority assignment and feasibility of static priority tasks with \
           arbitrary start times. Report YCS 164, University of York, 1991.",
    bibtex: "@techreport{audsley1991optimal,
  author      = {Neil C. Audsley},
  title       = {Optimal Priority Assignment and Feasibility of Static Priority Tasks with Arbitrary Start Times},
  institution = {University of York}, number = {YCS 164}, year = {1991}
}",
};

const PINNED: &[Assumption] =
    &[OneCpuEach, SporadicReleases, WcetKept, NoOverheads, UnitSpeeds, NoRequests];
const GIVEN: &[Assumption] =
    &[OneCpuEach, SporadicReleases, WcetKept, NoOverheads, UnitSpeeds, NoRequests, Priorities];
const LAYLAND: &[Assumption] = &[
    OneCpuEach,
    SporadicReleases,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    NoRequests,
    ImplicitDeadlines,
    NoJitter,
];

/// With deadlines equal to periods the two orders are one.
const RM_OR_DM: &[Algorithm] = &[
    Algorithm::Ordered(Form::Partitioned, Order::RateMonotonic),
    Algorithm::Ordered(Form::Partitioned, Order::DeadlineMonotonic),
];

/// Where the priorities come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityOrder {
    /// The shorter period comes first.
    RateMonotonic,
    /// The shorter relative deadline comes first.
    DeadlineMonotonic,
    /// As given, smaller first.
    Given,
}

impl PriorityOrder {
    /// Ascending from the highest priority; the last two break ties.
    fn key(self, id: TaskId, task: &Task) -> (i64, i64, TaskId) {
        let key = match self {
            PriorityOrder::RateMonotonic => task.period.ns(),
            PriorityOrder::DeadlineMonotonic => task.deadline.ns(),
            PriorityOrder::Given => task.priority.unwrap_or(i64::MAX),
        };
        (key, task.rank, id)
    }

    pub(crate) fn sort<'a>(self, group: &Group<'a>) -> Vec<(TaskId, &'a Task)> {
        let mut tasks = group.tasks.clone();
        tasks.sort_by_key(|(id, task)| self.key(*id, task));
        tasks
    }

    /// All tasks of a system, the highest priority first.
    pub(crate) fn sort_all(self, system: &System) -> Vec<TaskId> {
        let mut ids: Vec<TaskId> = system.tasks.ids().collect();
        ids.sort_by_key(|&id| self.key(id, &system.tasks[id]));
        ids
    }
}

macro_rules! response_time_test {
    ($(#[$doc:meta])* $test:ident, $order:ident, $name:literal, $policy:literal, $assumptions:ident) => {
        $(#[$doc])*
        pub const $test: SchedulabilityTest = SchedulabilityTest {
            name: $name,
            title: concat!("response times under fixed priorities on each CPU (", $policy, ")"),
            subject: Subject::Algorithms(&[Algorithm::Ordered(Form::Partitioned, Order::$order)]),
            kind: Kind::Exact,
            assumptions: $assumptions,
            citations: &[&LEHOCZKY, &TINDELL],
            decide: |system| {
                together(Group::affinities(system).iter().map(|group| every_response(group, PriorityOrder::$order)))
            },
        };
    };
}

/// The responses as a test of their own; see [`response_bounds`].
macro_rules! response_bound_test {
    ($test:ident, $of:ident, $order:ident, $assumptions:ident) => {
        #[doc = concat!("The exact response times of [`", stringify!($of), "`].")]
        pub const $test: ResponseTest = ResponseTest {
            name: $of.name,
            title: $of.title,
            algorithms: &[Algorithm::Ordered(Form::Partitioned, Order::$order)],
            kind: Kind::Exact,
            assumptions: $assumptions,
            citations: &[&LEHOCZKY, &TINDELL],
            bound: |system| {
                let mut found = TaskMap::filled(None, system.tasks.len());
                if let Ok(bounds) = response_bounds(system, PriorityOrder::$order) {
                    for bound in bounds.values().flatten() {
                        found[bound.task] = Some(bound.clone());
                    }
                }
                found
            },
        };
    };
}
response_bound_test!(RTA_RESPONSES, RTA, Given, GIVEN);
response_bound_test!(RTA_RM_RESPONSES, RTA_RM, RateMonotonic, PINNED);
response_bound_test!(RTA_DM_RESPONSES, RTA_DM, DeadlineMonotonic, PINNED);

response_time_test! {
    /// Response times under the given priorities, for each CPU.
    RTA, Given, "RTA", "p-fp", GIVEN
}
response_time_test! {
    /// Response times under rate-monotonic priorities, for each CPU.
    RTA_RM, RateMonotonic, "RTA-RM", "p-rm", PINNED
}
response_time_test! {
    /// Response times under deadline-monotonic priorities, for each CPU.
    RTA_DM, DeadlineMonotonic, "RTA-DM", "p-dm", PINNED
}

/// The bound of Liu and Layland, for each CPU.
///
/// ```
/// use layland_analysis::{Verdict, uniprocessor::fixed_priority::{HYPERBOLIC, LIU_LAYLAND}};
/// use layland_model::{CpuId, Duration, Service, System, Task};
/// let system = |wcets: [i64; 2]| {
///     let task = |c| Task::implicit(format!("{c}"), Service::from_ms(c), Duration::from_ms(100));
///     System::new(1, wcets.map(task).to_vec())
/// };
/// // 2 (sqrt 2 - 1) is 0.8284.
/// assert_eq!(LIU_LAYLAND.run(&system([41, 42])).unwrap().verdict, Verdict::Unknown);
/// assert_eq!(LIU_LAYLAND.run(&system([40, 42])).unwrap().verdict, Verdict::Yes);
/// // 1.10 * 1.80 is 1.98.
/// assert_eq!(HYPERBOLIC.run(&system([10, 80])).unwrap().verdict, Verdict::Yes);
/// assert_eq!(LIU_LAYLAND.run(&system([10, 80])).unwrap().verdict, Verdict::Unknown);
/// ```
pub const LIU_LAYLAND: SchedulabilityTest = SchedulabilityTest {
    name: "LL",
    title: "Liu and Layland's utilization bound for rate-monotonic priorities",
    subject: Subject::Algorithms(RM_OR_DM),
    kind: Kind::Sufficient,
    assumptions: LAYLAND,
    citations: &[&Citation::LIU_LAYLAND],
    decide: |system| {
        together(Group::affinities(system).iter().map(|group| {
            // U <= n (2^(1/n) - 1) if and only if (U / n + 1)^n <= 2.
            let n = group.tasks.len();
            let mean = &group.utilization().exact() / &Rate::whole(n as i64);
            product(group, "(U/n + 1)^n", &vec![&mean + &Rate::ONE; n])
        }))
    },
};

/// The hyperbolic bound, for each CPU. Accepts all that Liu and Layland's bound accepts.
pub const HYPERBOLIC: SchedulabilityTest = SchedulabilityTest {
    name: "HB",
    title: "hyperbolic bound for rate-monotonic priorities",
    subject: Subject::Algorithms(RM_OR_DM),
    kind: Kind::Sufficient,
    assumptions: LAYLAND,
    citations: &[&BINI],
    decide: |system| {
        together(Group::affinities(system).iter().map(|group| {
            let factors: Vec<Rate> =
                group.tasks().map(|task| &task.utilization() + &Rate::ONE).collect();
            product(group, "the product of (u + 1)", &factors)
        }))
    },
};

/// Whether any assignment of priorities works, for each CPU.
///
/// ```
/// use layland_analysis::{Reason, Verdict, uniprocessor::fixed_priority::{AUDSLEY, RTA_DM}};
/// use layland_model::{Duration, Service, System, Task, TaskId};
/// // Lehoczky's kind of set: deadlines beyond periods, where deadline-monotonic is not optimal.
/// let task = |name, c, d, t| {
///     let mut task = Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
///     task.deadline = Duration::from_ms(d);
///     task
/// };
/// let system = System::new(1, vec![task("a", 52, 110, 100), task("b", 52, 154, 140)]);
/// assert_eq!(RTA_DM.run(&system).unwrap().verdict, Verdict::No);
/// let finding = AUDSLEY.run(&system).unwrap();
/// assert_eq!(finding.reasons, [Reason::PriorityOrder(vec![TaskId(1), TaskId(0)])]);
/// ```
pub const AUDSLEY: SchedulabilityTest = SchedulabilityTest {
    name: "OPA",
    title: "Audsley's assignment of fixed priorities on each CPU",
    subject: Subject::SomePriorities,
    kind: Kind::Exact,
    assumptions: PINNED,
    citations: &[&AUDSLEY_1991],
    decide: |system| together(Group::affinities(system).iter().map(audsley)),
};

/// `R_i`, the largest response time of a job of `tau_i` among tasks `H_i` of higher priority; counted
/// from its arrival, jitter included.
///
/// ```
/// use layland_analysis::uniprocessor::fixed_priority::response_time;
/// use layland_model::{Duration, Service, Task};
/// // R = 20 + ceil(R/2) + ceil(R/10) has the solution 50 (Huang et al. 2014, Section 3.1).
/// let [tau_1, tau_2, tau_3] = [(1, 2), (1, 10), (20, 100)]
///     .map(|(c, t)| Task::implicit("", Service::from_ns(c), Duration::from_ns(t)));
/// let r_3 = response_time(&tau_3, &[tau_1, tau_2], tau_3.deadline);
/// assert_eq!(r_3, Ok(Duration::from_ns(50)));
/// ```
///
/// # Errors
/// [`Diverged::Beyond`] if it is more than `limit`; [`Diverged::Overload`] if it has no bound at all;
/// [`Diverged::OutOfSteps`] if it is not found.
pub fn response_time(
    tau_i: &Task,
    H_i: &[impl Borrow<Task>],
    limit: Duration,
) -> Result<Duration, Diverged> {
    let (C_i, T_i, J_i) = (tau_i.own_wcet().at_unit_speed(), tau_i.period, tau_i.jitter);
    // Within a period the search ends soon, even of what has no end.
    if limit > T_i && overloaded(tau_i, H_i) {
        return Err(Diverged::Overload);
    }
    let mut R_i = Duration::ZERO;
    let mut w = Duration::ZERO;
    let mut repeats_from = i64::MAX;
    for q in 0..MAX_STEPS as i64 {
        // w(q), the least fixed point of w = (q + 1) C_i + sum ceil((w + J_j) / T_j) C_j.
        // R_i >= w(q) + J_i - q T_i, so that a w(q) beyond this limit ends the search.
        let first = Duration::from_ns(T_i.ns().saturating_mul(q));
        let own = Duration::from_ns(C_i.ns().saturating_mul(q + 1));
        let w_limit = Duration::from_ns(limit.ns().saturating_add(first.ns()) - J_i.ns());
        let beyond = |w: Duration| {
            let reached = Duration::from_ns(w.ns().saturating_add(J_i.ns()) - first.ns());
            Diverged::Beyond { limit, reached }
        };
        let start = Duration::from_ns(w.ns().saturating_add(C_i.ns()));
        w = least(start, w_limit.min(Duration::from_ns(TIME_LIMIT)), |w| interference(own, H_i, w))
            .map_err(|diverged| match diverged {
                Diverged::Beyond { reached, .. } => beyond(reached),
                Diverged::OutOfSteps { .. } | Diverged::Overload => diverged,
            })?;
        R_i = R_i.max(w + J_i - first);
        // The next job becomes ready after the busy period: no later job responds more slowly.
        if w <= first + T_i - J_i {
            return Ok(R_i);
        }
        // Where jitter and a full load keep the CPU busy for ever, w(q + H / T_i) = w(q) + H for
        // the hyperperiod H: the responses of later jobs are those of earlier ones.
        if q == 0 {
            repeats_from = hyperperiod(tau_i, H_i).map_or(i64::MAX, |H| H.div_floor(T_i));
        }
        if q + 1 >= repeats_from {
            return Ok(R_i);
        }
    }
    Err(Diverged::OutOfSteps { reached: R_i, steps: MAX_STEPS })
}

/// The response times of tasks without jitter and with `D_i <= T_i`, in the order of priorities, all
/// at once: `responses` is cleared and filled. Exact, without a division.
///
/// One sweep: `R_k` is at least `R_{k-1} + C_k`, and the jobs of higher priority that arrive before
/// `R_{k-1}` are counted already.
///
/// ```
/// use layland_analysis::{Sporadic, uniprocessor::fixed_priority::sweep};
/// use layland_model::{Duration, Service};
/// let tasks = [(1, 2), (1, 10), (20, 100)]
///     .map(|(c, t)| Sporadic::implicit(Service::from_ns(c), Duration::from_ns(t)));
/// let mut responses = Vec::new();
/// assert_eq!(sweep(&tasks, &mut responses), Ok(()));
/// assert_eq!(responses, [1, 2, 50].map(Duration::from_ns));
/// ```
///
/// # Errors
/// The first task that misses its deadline; `responses` has those of higher priority.
pub fn sweep(tasks: &[Sporadic], responses: &mut Vec<Duration>) -> Result<(), usize> {
    responses.clear();
    let n = tasks.len();
    // The next arrival of each task, its period and its WCET.
    let mut room = vec![0i64; 3 * n];
    let (next, rest) = room.split_at_mut(n);
    let (T, C) = rest.split_at_mut(n);
    let mut w = 0i64;
    for (k, tau_k) in tasks.iter().enumerate() {
        let [C_k, D_k, T_k] = tau_k.ns();
        w += C_k;
        loop {
            let mut more = 0i64;
            for ((next_j, &T_j), &C_j) in next[..k].iter_mut().zip(&T[..k]).zip(&C[..k]) {
                // All ones if tau_j has a job before w.
                let comes = -i64::from(*next_j < w);
                more += C_j & comes;
                *next_j += T_j & comes;
            }
            w += more;
            if w > D_k {
                return Err(k);
            }
            if more == 0 {
                break;
            }
        }
        responses.push(Duration::from_ns(w));
        (next[k], T[k], C[k]) = (T_k, T_k, C_k);
    }
    Ok(())
}

/// The least common multiple of the periods, if it is not too long.
fn hyperperiod(tau_i: &Task, H_i: &[impl Borrow<Task>]) -> Option<Duration> {
    let lcm = |H: i64, tau_j: &Task| {
        let T_j = tau_j.period.ns();
        H.checked_mul(T_j / num_integer::gcd(H, T_j)).filter(|&ns| ns <= TIME_LIMIT)
    };
    H_i.iter().try_fold(tau_i.period.ns(), |H, tau_j| lcm(H, tau_j.borrow())).map(Duration::from_ns)
}

fn overloaded(tau_i: &Task, H_i: &[impl Borrow<Task>]) -> bool {
    let mut sum = RateSum::default();
    H_i.iter().for_each(|tau_j| sum.add(&tau_j.borrow().utilization()));
    !sum.fits(&tau_i.utilization(), &Rate::ONE)
}

fn interference(own: Duration, H_i: &[impl Borrow<Task>], w: Duration) -> Duration {
    let of_task = |tau_j: &Task| {
        (w + tau_j.jitter).div_ceil(tau_j.period).saturating_mul(tau_j.own_wcet().ns())
    };
    Duration::from_ns(
        H_i.iter().map(|tau_j| of_task(tau_j.borrow())).fold(own.ns(), i64::saturating_add),
    )
}

/// The response bounds of all tasks, where they exist: none for a task whose response time is not
/// bounded by [`TIME_LIMIT`] or not found.
///
/// # Errors
/// If the system breaks an assumption.
pub fn response_bounds(
    system: &System,
    order: PriorityOrder,
) -> Result<TaskMap<Result<ResponseBound, Diverged>>, Refusal> {
    let assumptions = match order {
        PriorityOrder::Given => GIVEN,
        PriorityOrder::RateMonotonic | PriorityOrder::DeadlineMonotonic => PINNED,
    };
    Assumption::check_all(assumptions, system)?;
    let mut bounds: Vec<(TaskId, Result<ResponseBound, Diverged>)> = Vec::new();
    for group in Group::affinities(system) {
        let (ids, tasks): (Vec<TaskId>, Vec<&Task>) = order.sort(&group).into_iter().unzip();
        for (at, &task) in ids.iter().enumerate() {
            let response = response_time(tasks[at], &tasks[..at], Duration::from_ns(TIME_LIMIT));
            bounds.push((task, response.map(|response| ResponseBound::new(task, response))));
        }
    }
    bounds.sort_by_key(|&(task, _)| task);
    Ok(bounds.into_iter().map(|(_, bound)| bound).collect())
}

/// A comparison of a response time with the deadline.
fn response_reason(
    group: &Group<'_>,
    id: TaskId,
    R: Duration,
    deadline: Duration,
    holds: bool,
) -> Reason {
    let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
    let scope = Scope::task(id, &group.cpus);
    Reason::compared("the response time", scope, quantity(R), quantity(deadline), holds)
}

fn every_response(group: &Group<'_>, order: PriorityOrder) -> Finding {
    let (ids, tasks): (Vec<TaskId>, Vec<&Task>) = order.sort(group).into_iter().unzip();
    let mut reasons = Vec::new();
    for (at, &id) in ids.iter().enumerate() {
        let D_i = tasks[at].deadline;
        match response_time(tasks[at], &tasks[..at], D_i) {
            Ok(R_i) => reasons.push(response_reason(group, id, R_i, D_i, true)),
            Err(Diverged::Beyond { reached, .. }) => {
                return exact(group, false, response_reason(group, id, reached, D_i, false));
            }
            Err(diverged @ Diverged::Overload) => {
                return exact(group, false, Reason::NoBound(id, diverged));
            }
            Err(diverged @ Diverged::OutOfSteps { .. }) => {
                return Finding::new(Verdict::Unknown, Reason::GaveUp(diverged));
            }
        }
    }
    Finding { verdict: Verdict::Yes, reasons }
}

/// From the lowest priority up: some task that meets its deadline below all the others that are
/// left. Which one does not matter; the longest deadline less jitter is tried first (ties: the
/// larger rank and id).
fn audsley(group: &Group<'_>) -> Finding {
    let mut left = group.tasks.clone();
    left.sort_by_key(|(id, task)| (task.deadline - task.jitter, task.rank, *id));
    let mut lowest_first = Vec::new();
    while !left.is_empty() {
        let mut found = None;
        for at in (0..left.len()).rev() {
            let mut higher: Vec<&Task> = left.iter().map(|&(_, task)| task).collect();
            let tau_i = higher.remove(at);
            match response_time(tau_i, &higher, tau_i.deadline) {
                Ok(_) => {
                    found = Some(at);
                    break;
                }
                Err(Diverged::Beyond { .. } | Diverged::Overload) => {}
                Err(diverged @ Diverged::OutOfSteps { .. }) => {
                    return Finding::new(Verdict::Unknown, Reason::GaveUp(diverged));
                }
            }
        }
        match found {
            Some(at) => lowest_first.push(left.remove(at).0),
            None => {
                let stuck = left.iter().map(|&(id, _)| id).collect();
                return exact(group, false, Reason::NoneCanBeLowest(stuck));
            }
        }
    }
    lowest_first.reverse();
    Finding::new(Verdict::Yes, Reason::PriorityOrder(lowest_first))
}

/// Whether the product of these factors, each at least 1, is at most 2: **sufficient**.
fn product(group: &Group<'_>, what: &'static str, factors: &[Rate]) -> Finding {
    let (holds, value) = at_most_two(factors);
    let (value, bound) = (Quantity::Number(value), Quantity::Number(Rate::whole(2)));
    let reason = Reason::compared(what, Scope::cpus(&group.cpus), value, bound, holds);
    Finding::new(Kind::Sufficient.verdict(holds), reason)
}

/// Decides exactly: by numbers with 60 binary digits, rounded down and up, where these tell; by the
/// exact product, whose digits are many, where they do not. With the product or a bound on it.
fn at_most_two(factors: &[Rate]) -> (bool, Rate) {
    const SHIFT: u32 = 60;
    let scale = Rate::whole(1 << SHIFT);
    let (mut low, mut high) = (1u128 << SHIFT, 1u128 << SHIFT);
    for factor in factors {
        let scaled = factor * &scale;
        let (Some(below), Some(above)) = (scaled.floor(), scaled.ceil()) else {
            return (false, factor.clone());
        };
        low = (low * u128::from(below.unsigned_abs())) >> SHIFT;
        high = (high * u128::from(above.unsigned_abs())).div_ceil(1 << SHIFT);
        // Far above 2 already; and larger numbers might overflow.
        if low > 4 << SHIFT {
            break;
        }
    }
    let value = |units: u128| &Rate::whole(units as i64) / &scale;
    if high <= 2 << SHIFT {
        return (true, value(high));
    }
    if low > 2 << SHIFT {
        return (false, value(low.min(4 << SHIFT)));
    }
    let product = factors.iter().fold(Rate::ONE, |product, factor| &product * factor);
    (product <= Rate::whole(2), product)
}
