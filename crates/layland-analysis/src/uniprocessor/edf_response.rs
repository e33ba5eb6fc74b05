//! Response times of **EDF** on one CPU (Spuri 1996): bounds for any rule of ties. The verdict is
//! **exact** for sporadic tasks and for tasks that may be released together, since ties only change
//! which job is late, not whether one is; deadlines are arbitrary. A bound is exact if it equals
//! the bound for ties by rank: there ties go to the smaller rank, then to the smaller id, as in the
//! policies, and the times are reached.
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart, (3) no
//! release jitter, (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds,
//! (7) nothing changes while the system runs.
//!
//! | paper | meaning |
//! |---|---|
//! | `a` | the arrival of the job of `tau_i`, from the start of a busy period in which all other tasks are released at its start |
//! | `L_i(a)` | the end of the busy period of deadlines up to `a + D_i`: the least fixed point of `(1 + floor(a / T_i)) C_i + sum over j != i with D_j <= a + D_i of min(ceil(L / T_j), 1 + floor((a + D_i - D_j) / T_j)) C_j` |
//! | `R_i` | the largest `max(C_i, L_i(a) - a)` over the `a` up to the longest busy period at which `a + D_i` is a deadline of a synchronous release |
//!
//! In the paper, a job loses every tie. If a task `tau_j` comes after `tau_i` among equal
//! deadlines, `tau_i` does not wait for its jobs that are due at `a + D_i`, so its deadline counts
//! as `D_j + 1` ns; times are whole nanoseconds. The paper's proof is about the jobs that come
//! before another one, whatever the order is. The order among these jobs does not change `L_i(a)`.

#![expect(non_snake_case, reason = "symbols of the paper")]

use crate::Assumption::*;
use crate::fixed_point::{GaveUp, least_of_all};
use crate::group::{Group, exact, together};
use crate::sporadic::Divisor;
use crate::uniprocessor::arrivals::have_bursts;
use crate::uniprocessor::deferred;
use crate::{
    Assumption, Certify, Citation, Decide, Finding, Quantity, Reason, Respond, ResponseBound,
    ResponseTest, SchedulabilityTest, Scope, Sporadic, Subject, TestKind, Verdict,
};
use layland_model::{Algorithm, Duration, Form, Order, Rate, RateSum, System, Task, TaskMap};

/// Spuri 1996.
pub const SPURI: Citation = Citation {
    key: "spuri1996analysis",
    text: "M. Spuri. Analysis of deadline scheduled real-time systems. Research report RR-2772, INRIA, \
           1996.",
    bibtex: "@techreport{spuri1996analysis,
  author      = {Marco Spuri},
  title       = {Analysis of Deadline Scheduled Real-Time Systems},
  institution = {INRIA}, number = {RR-2772}, year = {1996}
}",
};

pub(super) const ASSUMPTIONS: &[Assumption] =
    &[OneCpuEach, BoundedArrivals, NoJitter, WcetKept, NoOverheads, UnitSpeeds, NoRequests];

/// The number of tasks whose first arrivals are examined before all others.
const FIRST: usize = 64;

/// The maximum number of times that the search evaluates the work of a task, for all tasks of one
/// CPU together.
pub const TERMS: u64 = 50_000_000;

/// Response times of EDF, for each CPU.
///
/// ```
/// use layland_analysis::uniprocessor::edf_response::{Ties, responses};
/// use layland_analysis::Sporadic;
/// use layland_model::{Duration, Service};
/// let tasks = [(2, 4), (4, 8)].map(|(c, t)| Sporadic::implicit(Service::from_ns(c), Duration::from_ns(t)));
/// // A job of the first that arrives at 4 may wait for the second, which is due at 8 as well.
/// let found = |ties| responses(&tasks, ties).unwrap().unwrap();
/// assert_eq!(found(Ties::Lost), [4, 8].map(Duration::from_ns));
/// // With the smaller rank it does not, but one that arrives at 5 may: times are whole nanoseconds.
/// assert_eq!(found(Ties::ByRank(&[0, 1])), [3, 8].map(Duration::from_ns));
/// assert_eq!(found(Ties::ByRank(&[1, 0])), [4, 7].map(Duration::from_ns));
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "EDF-RTA",
    title: "response times of EDF on each CPU",
    subject: Subject::Algorithms(&[Algorithm::Ordered(Form::Partitioned, Order::Deadline)]),
    kind: TestKind::Exact,
    assumptions: ASSUMPTIONS,
    citations: &[&SPURI],
    certify: Certify::Without("QPA decides the same for the same tasks, and has a certificate"),
    decide: Decide::by(|system| together(Group::affinities(system).iter().map(finding))),
};

/// The rule for two jobs that are due at the same time.
#[derive(Clone, Copy, Debug)]
pub enum Ties<'a> {
    /// The one with the smaller rank, then the one that is earlier in the list of tasks.
    ByRank(&'a [i64]),
    /// The order is unknown. The times are those of jobs that lose every tie, which are bounds for
    /// any rule.
    Lost,
}

impl Ties<'_> {
    /// The amount by which the deadline of task `j` counts as later for jobs of task `i`.
    pub(super) fn later(self, i: usize, j: usize) -> i64 {
        match self {
            Ties::ByRank(ranks) => i64::from((ranks[j], j) > (ranks[i], i)),
            Ties::Lost => 0,
        }
    }
}

/// The response times of [`TEST`].
pub const RESPONSES: ResponseTest = ResponseTest {
    name: "EDF-RTA",
    title: "response times of EDF on each CPU",
    algorithms: &[Algorithm::Ordered(Form::Partitioned, Order::Deadline)],
    kind: TestKind::Exact,
    assumptions: ASSUMPTIONS,
    citations: &[&SPURI],
    bound: Respond::Alone(|system| bounds(system, |group| responses_of(group, Ties::Lost))),
    by_rank: Some(|system| {
        bounds(system, |group| responses_of(group, Ties::ByRank(&ranks(group))))
    }),
};

/// The response times of each CPU for which they are found.
pub(super) fn bounds(
    system: &System,
    of: impl Fn(&Group<'_>) -> Result<Option<Vec<Duration>>, GaveUp>,
) -> TaskMap<Option<ResponseBound>> {
    let mut bounds = TaskMap::filled(None, system.tasks.len());
    for group in Group::affinities(system) {
        let found = of(&group).ok().flatten().unwrap_or_default();
        for (&(task, _), response) in group.tasks.iter().zip(found) {
            bounds[task] = Some(ResponseBound::new(task, response));
        }
    }
    bounds
}

/// The ranks of the tasks of a CPU, in the order of their ids.
pub(super) fn ranks(group: &Group<'_>) -> Vec<i64> {
    group.tasks().map(|task| task.rank).collect()
}

fn finding(group: &Group<'_>) -> Finding {
    compared(group, responses_of(group, Ties::Lost), |no, _| no)
}

/// The response times of a CPU.
fn responses_of(group: &Group<'_>, ties: Ties<'_>) -> Result<Option<Vec<Duration>>, GaveUp> {
    if have_bursts(group.tasks()) {
        // With no blocking, the last region is a nanosecond.
        deferred::edf_response::responses(&group.tasks().collect::<Vec<_>>(), ties)
    } else {
        responses(&group.sporadic(), ties)
    }
}

/// Compares the response times of a CPU with the deadlines; `late` may adjust the finding about the
/// first task that is late.
pub(super) fn compared(
    group: &Group<'_>,
    found: Result<Option<Vec<Duration>>, GaveUp>,
    late: impl Fn(Finding, &Task) -> Finding,
) -> Finding {
    let compared = |at: usize, R: Duration, holds: bool| {
        let (id, task) = group.tasks[at];
        let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
        let (value, bound) = (quantity(R), quantity(task.deadline));
        Reason::compared("the response time", Scope::task(id, &group.cpus), value, bound, holds)
    };
    match found {
        Ok(None) => exact(group, false, Reason::Holds("the utilization of a CPU is more than 1")),
        Err(why) => Finding::new(Verdict::Unknown, Reason::GaveUp(why)),
        Ok(Some(found)) => {
            let is_late = |&at: &usize| found[at] > group.tasks[at].1.deadline;
            match (0..found.len()).find(is_late) {
                Some(at) => {
                    late(exact(group, false, compared(at, found[at], false)), group.tasks[at].1)
                }
                None => Finding {
                    verdict: Verdict::Yes,
                    reasons: (found.iter().enumerate())
                        .map(|(at, &R)| compared(at, R, true))
                        .collect(),
                },
            }
        }
    }
}

/// Returns `R_i` of every task, or `None` if the load is more than 1, so that not all of them are
/// bounded.
///
/// # Errors
/// Returns [`GaveUp`] if the longest busy period is too long.
pub fn responses(tasks: &[Sporadic], ties: Ties<'_>) -> Result<Option<Vec<Duration>>, GaveUp> {
    let mut U = RateSum::default();
    tasks.iter().for_each(|tau| U.add(&Rate::new(tau.wcet.ns(), tau.period.ns())));
    if !U.fits(&Rate::ZERO, &Rate::ONE) {
        return Ok(None);
    }
    let rivals: Vec<Demanding> = tasks.iter().map(Demanding::from).collect();
    let all = tasks.iter().map(|tau| tau.wcet.ns()).fold(0, i64::saturating_add);
    // The longest busy period: least fixed point of sum ceil(L / T_j) C_j.
    let L = least_of_all(Duration::from_ns(all), |L| {
        let work = |tau: &Demanding| (1 + tau.T.div_rem(L.ns() - 1).0).saturating_mul(tau.C);
        Duration::from_ns(rivals.iter().map(work).fold(0, i64::saturating_add))
    })?
    .ns();
    let left = TERMS / tasks.len().max(1) as u64;
    let mut search = OffsetSearch { rivals, L, left };
    let response = |i: usize| {
        for (j, tau) in tasks.iter().enumerate() {
            search.rivals[j].D = tau.deadline.ns() + ties.later(i, j);
        }
        search.response(i)
    };
    (0..tasks.len()).map(response).collect::<Result<_, _>>().map(Some)
}

/// A task in the form that the search reads repeatedly.
struct Demanding {
    C: i64,
    D: i64,
    T: Divisor,
}

impl From<&Sporadic> for Demanding {
    fn from(tau: &Sporadic) -> Demanding {
        let [C, D, T] = tau.ns();
        Demanding { C, D, T: Divisor::new(T) }
    }
}

/// The search for the largest `L_i(a) - a`, from the last `a` down. It skips most of them: `L_i`
/// does not decrease, so no `a` from `L_i(a') - R_i` to `a'` is worse than the current result, and
/// the work due by `a'` bounds `L_i(a')` if it leaves the CPU some time. As in QPA, more remaining
/// time makes longer steps.
struct OffsetSearch {
    /// Their deadlines are those that count for the task under analysis.
    rivals: Vec<Demanding>,
    /// The longest busy period.
    L: i64,
    /// The number of times that demand may still be computed before the search gives up.
    left: u64,
}

impl OffsetSearch {
    fn response(&mut self, i: usize) -> Result<Duration, GaveUp> {
        let mut R_i = self.rivals[i].C;
        // The first arrivals are often the worst, and a larger `R_i` makes longer steps. If there
        // are many tasks, those of a few suffice.
        for j in 0..self.rivals.len().min(FIRST) {
            let a = self.first(i, &self.rivals[j]);
            if a < self.L {
                self.examine(i, a, &mut R_i)?;
            }
        }
        // No busy period is longer than the longest.
        let mut a = self.L - R_i - 1;
        while a >= 0 {
            let mut ended = self.within(i, a, a + R_i)?;
            if ended > a + R_i {
                // `a` itself need not be an arrival that counts.
                let Some(last) = self.last(i, a) else { break };
                a = last;
                ended = self.examine(i, a, &mut R_i)?;
            }
            a = ended - R_i - 1;
        }
        Ok(Duration::from_ns(R_i))
    }

    /// Updates `R_i` with `L_i(a) - a`, and returns a bound on `L_i(a)` that is at most `a + R_i`.
    fn examine(&mut self, i: usize, a: i64, R_i: &mut i64) -> Result<i64, GaveUp> {
        let demand = self.within(i, a, a + *R_i)?;
        if demand <= a + *R_i {
            return Ok(demand);
        }
        let ended = end(&self.rivals, i, a)?;
        *R_i = (*R_i).max(ended - a);
        Ok(ended)
    }

    /// Returns the work released before `w` and due by `a + D_i`, unless the search must give up.
    fn within(&mut self, i: usize, a: i64, w: i64) -> Result<i64, GaveUp> {
        let gave_up = GaveUp::OutOfSteps { reached: Duration::from_ns(self.L), steps: TERMS };
        self.left = self.left.checked_sub(1).ok_or(gave_up)?;
        Ok(demand(&self.rivals, i, a, w))
    }

    /// Returns the least `a >= 0` at which `a + D_i` is a deadline of `tau_j` after a synchronous
    /// release.
    fn first(&self, i: usize, tau_j: &Demanding) -> i64 {
        let (D_i, D_j, T_j) = (self.rivals[i].D, tau_j.D, tau_j.T.number());
        num_integer::Integer::div_ceil(&(D_i - D_j).max(0), &T_j) * T_j + D_j - D_i
    }

    /// Returns the largest such `a` of any task that is at most the given one.
    fn last(&self, i: usize, a: i64) -> Option<i64> {
        let of_task = |tau_j: &Demanding| {
            let first = self.first(i, tau_j);
            (first <= a).then(|| a - (a - first) % tau_j.T.number())
        };
        self.rivals.iter().filter_map(of_task).max()
    }
}

/// `L_i(a)`.
fn end(rivals: &[Demanding], i: usize, a: i64) -> Result<i64, GaveUp> {
    // The work that is released at the start.
    let start = Duration::from_ns(demand(rivals, i, a, 1));
    let demand = |w: Duration| Duration::from_ns(demand(rivals, i, a, w.ns()));
    least_of_all(start, demand).map(Duration::ns)
}

/// The work released before `w` and due by `a + D_i`. Its least fixed point is `L_i(a)`; if it is
/// at most `w`, it bounds `L_i(a)`.
fn demand(rivals: &[Demanding], i: usize, a: i64, w: i64) -> i64 {
    let tau_i = &rivals[i];
    let due = a + tau_i.D;
    let of_others = |others: &[Demanding]| {
        let of_task = |tau_j: &Demanding| {
            // The smaller of `1 + floor((due - D_j) / T_j)` and `ceil(w / T_j)`, with one division.
            let last = (due - tau_j.D).min(w - 1);
            if last < 0 { 0 } else { (1 + tau_j.T.div_rem(last).0) * tau_j.C }
        };
        others.iter().map(of_task).sum::<i64>()
    };
    (1 + tau_i.T.div_rem(a).0) * tau_i.C + of_others(&rivals[..i]) + of_others(&rivals[i + 1..])
}
