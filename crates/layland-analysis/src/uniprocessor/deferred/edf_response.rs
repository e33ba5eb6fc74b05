//! Response times of **EDF** with non-preemptive regions on one CPU (George, Rivierre and Spuri
//! 1996, for jobs that are never preempted): bounds for any rule of ties. The verdict is **exact**
//! for sporadic tasks without floating regions; deadlines are arbitrary. A bound is exact if it
//! equals the bound for ties by rank, which [`edf_response`](crate::uniprocessor::edf_response)
//! explains.
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart, (3) no
//! release jitter, (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds,
//! (7) nothing changes while the system runs.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `a` | | the arrival of the job of `tau_i`, from the start of a busy period of deadlines up to `a + D_i` |
//! | `max over D_k > a + D_i of C_k - 1` | `b` | the largest [blocking](Task::blocking) by a job that is due later |
//! | | `F_i` | the [last region](Task::last_region), all of `C_i` in the paper |
//! | `L_i(a)` | `S` | the start of the job's last region: the least fixed point of `b + (1 + floor(a / T_i)) C_i - F_i + sum over j != i with D_j <= a + D_i of (1 + min(floor(S / T_j), floor((a + D_i - D_j) / T_j))) C_j` |
//! | `R_i` | | the largest `max(C_i, S + F_i - a)` over the `a` up to the longest busy period at which `a + D_i` is a deadline of a synchronous release |
//!
//! The longest busy period is that of all tasks, released together, as the blocking job is also
//! part of such a busy period.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::unless_floating;
use crate::fixed_point::{GaveUp, least_of_all};
use crate::group::{Group, together};
use crate::uniprocessor::arrivals::TaskArrivals;
use crate::uniprocessor::edf_response::{ASSUMPTIONS, TERMS, Ties, bounds, compared, ranks};
use crate::{
    Certify, Citation, Decide, Finding, Respond, ResponseTest, SchedulabilityTest, Subject,
    TestKind,
};
use layland_model::{Algorithm, Duration, Form, Order, Rate, RateSum, Task};

/// Response times of EDF with non-preemptive regions, for each CPU.
///
/// ```
/// use layland_analysis::uniprocessor::deferred::edf_response::responses;
/// use layland_analysis::uniprocessor::edf_response::Ties;
/// use layland_model::{Duration, Preemption, Service, Task};
/// let mut tasks = [(1, 4), (4, 20)]
///     .map(|(c, t)| Task::implicit("", Service::from_ns(c), Duration::from_ns(t)));
/// tasks[1].preemption = Preemption::Never;
/// // The second may have begun a nanosecond before the first comes.
/// let found = responses(&[&tasks[0], &tasks[1]], Ties::ByRank(&[0, 0])).unwrap();
/// assert_eq!(found.unwrap(), [4, 5].map(Duration::from_ns));
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "NP-EDF-RTA",
    title: "response times of EDF with non-preemptive regions on each CPU",
    subject: Subject::Algorithms(&[Algorithm::Deferred(Form::Partitioned, Order::Deadline)]),
    kind: TestKind::Exact,
    assumptions: ASSUMPTIONS,
    citations: &[&Citation::GEORGE],
    certify: Certify::Without("the verifier does not know non-preemptive regions"),
    decide: Decide::by(|system| together(Group::affinities(system).iter().map(finding))),
};

/// The response times of [`TEST`].
pub const RESPONSES: ResponseTest = ResponseTest {
    name: TEST.name,
    title: TEST.title,
    algorithms: &[Algorithm::Deferred(Form::Partitioned, Order::Deadline)],
    kind: TestKind::Exact,
    assumptions: ASSUMPTIONS,
    citations: &[&Citation::GEORGE],
    bound: Respond::Alone(|system| bounds(system, |group| responses_of(group, Ties::Lost))),
    by_rank: Some(|system| {
        bounds(system, |group| responses_of(group, Ties::ByRank(&ranks(group))))
    }),
};

fn finding(group: &Group<'_>) -> Finding {
    compared(group, responses_of(group, Ties::Lost), unless_floating)
}

fn responses_of(group: &Group<'_>, ties: Ties<'_>) -> Result<Option<Vec<Duration>>, GaveUp> {
    responses(&group.tasks().collect::<Vec<_>>(), ties)
}

/// Returns `R_i` of every task, sporadic or by a curve, or `None` if the load is more than 1, so
/// that not all of them are bounded.
///
/// # Errors
/// Returns [`GaveUp`] if the longest busy period is too long.
pub fn responses(tasks: &[&Task], ties: Ties<'_>) -> Result<Option<Vec<Duration>>, GaveUp> {
    let mut U = RateSum::default();
    tasks.iter().for_each(|tau| U.add(&tau.utilization()));
    if !U.fits(&Rate::ZERO, &Rate::ONE) {
        return Ok(None);
    }
    let tasks: Vec<Demanding<'_>> = tasks.iter().map(|&tau| Demanding::from(tau)).collect();
    let all = tasks.iter().map(|tau| tau.arrivals.within(1) * tau.C).fold(0, i64::saturating_add);
    // The longest busy period: least fixed point of sum eta_j(L) C_j.
    let L = least_of_all(Duration::from_ns(all), |L| {
        let work = |tau: &Demanding<'_>| tau.arrivals.within(L.ns()).saturating_mul(tau.C);
        Duration::from_ns(tasks.iter().map(work).fold(0, i64::saturating_add))
    })?
    .ns();
    let left = TERMS / tasks.len().max(1) as u64;
    let deadlines: Vec<i64> = tasks.iter().map(|tau| tau.D).collect();
    let mut search = OffsetSearch { tasks, L, left };
    let response = |i: usize| {
        for (j, &D_j) in deadlines.iter().enumerate() {
            search.tasks[j].D = D_j + ties.later(i, j);
        }
        search.response(i)
    };
    (0..deadlines.len()).map(response).collect::<Result<_, _>>().map(Some)
}

/// A task in the form that the search reads repeatedly.
struct Demanding<'a> {
    C: i64,
    D: i64,
    arrivals: TaskArrivals<'a>,
    /// The blocking by the task, and its last region.
    B: i64,
    F: i64,
}

impl<'a> From<&'a Task> for Demanding<'a> {
    fn from(tau: &'a Task) -> Demanding<'a> {
        Demanding {
            C: tau.own_wcet().ns(),
            D: tau.deadline.ns(),
            arrivals: TaskArrivals::of(tau),
            B: tau.blocking().ns(),
            F: tau.last_region().ns(),
        }
    }
}

/// A range of arrivals of a job for which the same tasks are due later, so that the blocking is
/// constant.
#[derive(Clone, Copy)]
struct ArrivalRange {
    from: i64,
    until: i64,
    b: i64,
}

/// The search for the largest `S - a`, in each stretch from the last `a` down, as in the form
/// without regions.
struct OffsetSearch<'t> {
    /// Their deadlines are those that count for the task under analysis.
    tasks: Vec<Demanding<'t>>,
    /// The longest busy period.
    L: i64,
    /// The number of times that demand may still be computed before the search gives up.
    left: u64,
}

impl OffsetSearch<'_> {
    fn response(&mut self, i: usize) -> Result<Duration, GaveUp> {
        let mut R_i = self.tasks[i].C;
        for stretch in self.stretches(i) {
            self.within_stretch(i, stretch, &mut R_i)?;
        }
        Ok(Duration::from_ns(R_i))
    }

    /// Returns the stretches, from the largest `a` to the smallest.
    fn stretches(&self, i: usize) -> Vec<ArrivalRange> {
        let D_i = self.tasks[i].D;
        let later = self.tasks.iter().filter(|tau_k| tau_k.D > D_i && tau_k.B > 0);
        let mut ends: Vec<(i64, i64)> = later.map(|tau_k| (tau_k.D - D_i, tau_k.B)).collect();
        ends.sort_unstable();
        let (mut stretches, mut until, mut b) = (Vec::new(), self.L, 0);
        for (end, blocking) in ends.into_iter().rev() {
            if end < until {
                stretches.push(ArrivalRange { from: end, until, b });
                until = end;
            }
            b = b.max(blocking);
        }
        stretches.push(ArrivalRange { from: 0, until, b });
        stretches
    }

    fn within_stretch(
        &mut self,
        i: usize,
        stretch: ArrivalRange,
        R_i: &mut i64,
    ) -> Result<(), GaveUp> {
        let ArrivalRange { from, until, b } = stretch;
        let F_i = self.tasks[i].F;
        // The first arrivals are often the worst, and a larger `R_i` makes longer steps.
        for j in 0..self.tasks.len() {
            let a = self.first_from(i, j, from);
            if a < until {
                self.examine(i, a, b, R_i)?;
            }
        }
        let mut a = until - 1;
        while a >= from {
            let mut begins = self.begins_by(i, a, b, a + *R_i - F_i)?;
            if begins > a + *R_i - F_i {
                // `a` itself need not be an arrival that counts.
                let Some(last) = self.last(i, a).filter(|&last| last >= from) else { break };
                a = last;
                begins = self.examine(i, a, b, R_i)?;
            }
            // No earlier arrival from `begins + F_i - R_i` on has a longer response.
            a = begins + F_i - *R_i - 1;
        }
        Ok(())
    }

    /// Updates `R_i` with `S + F_i - a`, and returns a bound on `S` that is at most
    /// `a + R_i - F_i`.
    fn examine(&mut self, i: usize, a: i64, b: i64, R_i: &mut i64) -> Result<i64, GaveUp> {
        let F_i = self.tasks[i].F;
        let bound = self.begins_by(i, a, b, a + *R_i - F_i)?;
        if bound <= a + *R_i - F_i {
            return Ok(bound);
        }
        let start = Duration::from_ns(self.needed(i, a, b, 0));
        let needed = |S: Duration| Duration::from_ns(self.needed(i, a, b, S.ns()));
        let S = least_of_all(start, needed)?.ns();
        *R_i = (*R_i).max(S + F_i - a);
        Ok(S)
    }

    /// [`needed`](Self::needed), unless the search must give up.
    fn begins_by(&mut self, i: usize, a: i64, b: i64, w: i64) -> Result<i64, GaveUp> {
        let gave_up = GaveUp::OutOfSteps { reached: Duration::from_ns(self.L), steps: TERMS };
        self.left = self.left.checked_sub(1).ok_or(gave_up)?;
        Ok(self.needed(i, a, b, w))
    }

    /// The work before the last region of the job, if that region has not begun before `w`. Its
    /// least fixed point is `S`; if it is at most `w`, it bounds `S`.
    fn needed(&self, i: usize, a: i64, b: i64, w: i64) -> i64 {
        let tau_i = &self.tasks[i];
        let due = a + tau_i.D;
        let of_others = |others: &[Demanding<'_>]| {
            let of_task = |tau_j: &Demanding<'_>| {
                // The smaller of the two numbers, with one evaluation.
                tau_j.arrivals.within((due - tau_j.D).min(w) + 1) * tau_j.C
            };
            others.iter().map(of_task).sum::<i64>()
        };
        let own = tau_i.arrivals.within(a + 1) * tau_i.C - tau_i.F;
        b + own + of_others(&self.tasks[..i]) + of_others(&self.tasks[i + 1..])
    }

    /// Returns the least `a` from `from` on at which `a + D_i` is a deadline of `tau_j` after a
    /// synchronous release.
    fn first_from(&self, i: usize, j: usize, from: i64) -> i64 {
        let (D_i, tau_j) = (self.tasks[i].D, &self.tasks[j]);
        // The number of deadlines before `from`, which is the index of the next one.
        let before = tau_j.arrivals.within(D_i + from - tau_j.D);
        tau_j.arrivals.distance(before) + tau_j.D - D_i
    }

    /// Returns the largest such `a` of any task that is at most the given one.
    fn last(&self, i: usize, a: i64) -> Option<i64> {
        let of_task = |j: usize| {
            let (D_i, tau_j) = (self.tasks[i].D, &self.tasks[j]);
            let due = tau_j.arrivals.within(a + D_i - tau_j.D + 1);
            let last = (due > 0).then(|| tau_j.arrivals.distance(due - 1) + tau_j.D - D_i);
            last.filter(|&last| last >= 0)
        };
        (0..self.tasks.len()).filter_map(of_task).max()
    }
}
