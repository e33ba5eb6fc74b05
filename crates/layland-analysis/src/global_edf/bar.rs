//! BAR, the test of Baruah 2007 for global EDF. **Sufficient.**
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) few pairs of tasks
//! share a CPU.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `A_k` | | from the last instant with an idle CPU to the arrival of the job of `tau_k` that misses |
//! | `A_k + D_k` | `t` | length of the interval that ends with the miss |
//! | `DBF(tau_i, t)` | | demand of jobs released and due in it |
//! | `DBF'(tau_i, t)` | | the demand with a carried-in job: `floor(t / T_i) C_i + min(C_i, t mod T_i)` |
//! | `A_k + D_k - C_k` | `x`, one more | the time that the job of `tau_k` must wait for other jobs in order to miss: `t - C_k + 1`, in integers |
//! | `I^(1)_i`, `I^(2)_i` | | `min(DBF, x)` and `min(DBF', x)`; for `tau_k` itself `min(DBF - C_k, t - D_k)`, and the equivalent with `DBF'` |
//! | `C_Sigma` | | the sum of the `m - 1` largest `C_i` |
//!
//! A set is schedulable if for all `k` and all `t >= D_k`: the sum of all `I^(1)_i` and of the
//! `m - 1` largest `I^(2)_i - I^(1)_i` is less than `m x`. This always holds for
//! `t >= (C_Sigma + sum (T_i - D_i) u_i + m C_k) / (m - U)` (the theorem that bounds `A_k`).
//!
//! Deviations: the paper has `t - C_k` for `x`, and accepts where the sum equals `m x`. But where
//! so many tasks reach their limit `x`, the sum cannot exceed `m x`, and a miss would be accepted:
//! for example two tasks on one CPU with `(C, D, T)` of (5, 8, 12) and (5, 5, 24). As in BCLI and
//! G-RTA, the job is late only if it waits for one unit more, which gives the strict condition.
//! Also, the paper tests only those `t` at which some `DBF` changes. Here a search like QPA's, from
//! the bound down, covers every integer `t`: the sum does not decrease as `t` grows, so if it is
//! `s` at `t`, the condition holds for all lengths from `floor(s / m) + C_k` to `t`.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::{ALGORITHMS, PAIRED};
use crate::group::{Group, together};
use crate::proof::{MOST, TOO_LONG};
use crate::sporadic::{Divisor, SHIFT, fixed, load_above};
use crate::{
    Certify, Citation, Decide, Evidence, Finding, Part, Point, Quantity, Reason,
    SchedulabilityTest, Scope, Sporadic, Subject, TestKind, Verdict,
};
use layland_model::Duration;
use std::cmp::Reverse;

/// Baruah 2007.
pub const BARUAH_2007: Citation = Citation {
    key: "baruah2007techniques",
    text: "S. Baruah. Techniques for multiprocessor global schedulability analysis. RTSS 2007, pages \
           119-128.",
    bibtex: "@inproceedings{baruah2007techniques,
  author    = {Sanjoy Baruah},
  title     = {Techniques for Multiprocessor Global Schedulability Analysis},
  booktitle = {28th IEEE Real-Time Systems Symposium (RTSS)}, pages = {119--128}, year = {2007},
  doi       = {10.1109/RTSS.2007.35}
}",
};

/// The maximum number of points that are examined for one task.
const STEPS: usize = 100_000;

/// The number of tasks that are probed first when only the verdict is required.
const PROBED: usize = 4;

/// BAR, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::{bar, gfb}};
/// use layland_model::{Duration, Service, System, Task};
/// // Densities sum to 1.2, more than 2 - 0.9; but two tasks do not disturb each other on two CPUs.
/// let tasks = [(9, 10), (3, 10)].map(|(c, t)| {
///     Task::implicit(c.to_string(), Service::from_ns(c), Duration::from_ns(t))
/// });
/// let system = System::new(2, tasks.to_vec());
/// assert_eq!(gfb::TEST.run(&system).unwrap().verdict, Verdict::Unknown);
/// assert_eq!(bar::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "BAR",
    title: "demand test with carried-in jobs for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BARUAH_2007],
    certify: Certify::By(|system| Group::clusters(system).iter().map(points).collect()),
    decide: Decide::by(|system| together(Group::clusters(system).iter().map(finding)))
        .or_sooner(|system| super::verdict_by(system, accepts)),
};

/// The answer of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// No interval has too much demand.
    Fits,
    /// The demand in an interval may exceed its capacity.
    Exceeds {
        /// The task that misses at the end of the interval.
        task: usize,
        /// The length of the interval, `t`.
        interval: Duration,
        /// The maximum demand, without the job that misses.
        demand: i128,
    },
    /// The load is `m` or nearly, or the search gave up.
    NoBound,
}

fn finding(group: &Group<'_>) -> Finding {
    let m = group.cpu_count();
    match carried(&group.sporadic(), m as usize) {
        Carried::Fits => Finding::new(
            Verdict::Yes,
            Reason::Holds("no interval can be asked for more than the CPUs do in it"),
        ),
        Carried::NoBound => Finding::new(
            Verdict::Unknown,
            Reason::Holds("the load leaves too little room for this test to end"),
        ),
        Carried::Exceeds { task, interval, demand } => {
            let (id, tau_k) = group.tasks[task];
            let waits = interval - tau_k.own_wcet().at_unit_speed() + Duration::from_ns(1);
            let room = i128::from(m) * i128::from(waits.ns()) - 1;
            let scope = Scope { interval: Some(interval), ..Scope::task(id, &group.cpus) };
            let (value, bound) = (Quantity::of_ns(demand), Quantity::of_ns(room));
            let what = "the work that may delay a job";
            Finding::new(Verdict::Unknown, Reason::compared(what, scope, value, bound, false))
        }
    }
}

/// Returns the lengths at which an accepting test compares.
fn points(group: &Group<'_>) -> Result<Part, &'static str> {
    let mut points = Vec::new();
    let all = 0..group.tasks.len();
    let found = compare(&group.sporadic(), group.cpus.len(), all, |k, t, demand| {
        if points.len() <= MOST {
            let (task, interval) = (Some(group.tasks[k].0), Duration::from_ns(t));
            points.push(Point { task, interval, demand });
        }
    });
    match found {
        Carried::Fits if points.len() > MOST => Err(TOO_LONG),
        Carried::Fits => {
            let evidence = Evidence::Points(points);
            Ok(Part { cpus: group.cpus.clone(), tasks: group.ids(), evidence })
        }
        Carried::Exceeds { .. } | Carried::NoBound => Err("the test does not accept"),
    }
}

/// The test, for tasks that keep its assumptions.
pub fn carried(tasks: &[Sporadic], cpus: usize) -> Carried {
    compare(tasks, cpus, 0..tasks.len(), |_, _, _| {})
}

/// [`carried`] for the tasks in this order; `compared` receives each task, length and sum.
fn compare(
    tasks: &[Sporadic],
    cpus: usize,
    order: impl Iterator<Item = usize>,
    mut compared: impl FnMut(usize, i64, i128),
) -> Carried {
    let (Some(intervals), m) = (Intervals::of(tasks, cpus), cpus as i128) else {
        return Carried::NoBound;
    };
    let mut more = Vec::with_capacity(tasks.len());
    for k in order {
        let [C_k, D_k, _] = tasks[k].ns();
        let Some(mut t) = intervals.longest(k) else { return Carried::NoBound };
        let mut steps = 0;
        while t >= D_k {
            let x = intervals.interference(k, t, &mut more);
            compared(k, t, x);
            if x >= m * i128::from(t - C_k + 1) {
                return Carried::Exceeds { task: k, interval: Duration::from_ns(t), demand: x };
            }
            // The sum is less than m (t - C_k + 1): the next t is smaller.
            t = (x / m) as i64 + C_k - 1;
            steps += 1;
            if steps > STEPS {
                return Carried::NoBound;
            }
        }
    }
    Carried::Fits
}

/// The intervals that are examined, and the demand in them.
struct Intervals<'a> {
    tasks: &'a [Sporadic],
    cpus: usize,
    periods: Vec<Divisor>,
    /// `m - U`, rounded down.
    room: u128,
    /// `C_Sigma + sum (T_i - D_i) u_i`, rounded up.
    ahead: i128,
}

impl<'a> Intervals<'a> {
    /// Returns `None` if the load leaves no room.
    fn of(tasks: &'a [Sporadic], cpus: usize) -> Option<Intervals<'a>> {
        let room = ((cpus as u128) << SHIFT).saturating_sub(load_above(tasks));
        if room == 0 {
            return None;
        }
        let mut longest: Vec<i64> = tasks.iter().map(|tau_i| tau_i.wcet.ns()).collect();
        longest.sort_unstable_by(|a, b| b.cmp(a));
        let C_Sigma: i128 = longest.iter().take(cpus - 1).map(|&C| i128::from(C)).sum();
        let lead = |tau_i: &Sporadic| {
            let [C, D, T] = tau_i.ns();
            if D == T {
                0
            } else {
                num_integer::Integer::div_ceil(&(i128::from(T - D) * i128::from(C)), &i128::from(T))
            }
        };
        let ahead = C_Sigma + tasks.iter().map(lead).sum::<i128>();
        let periods = tasks.iter().map(|tau_i| Divisor::new(tau_i.period.ns())).collect();
        Some(Intervals { tasks, cpus, periods, room, ahead })
    }

    /// Returns the length up to which intervals of a task must be examined, or `None` if it is out
    /// of range for times.
    fn longest(&self, k: usize) -> Option<i64> {
        let C_k = i128::from(self.tasks[k].wcet.ns());
        super::quotient(self.ahead + self.cpus as i128 * C_k, self.room)
    }

    /// Returns `sum I^(1)_i` plus the `m - 1` largest `I^(2)_i - I^(1)_i`, at `t >= D_k`. `more` is
    /// a buffer that callers reuse.
    fn interference(&self, k: usize, t: i64, more: &mut Vec<i64>) -> i128 {
        let Intervals { tasks, cpus, periods, .. } = self;
        let [C_k, D_k, _] = tasks[k].ns();
        more.clear();
        let mut sum = 0i128;
        for (i, (tau_i, T)) in tasks.iter().zip(periods).enumerate() {
            let [C, D, _] = tau_i.ns();
            let (jobs, rest) = T.div_rem(t);
            let whole = jobs.saturating_mul(C);
            let mut dbf = whole.saturating_add(if rest >= D { C } else { 0 });
            let mut carried = whole.saturating_add(C.min(rest));
            let mut most = t - C_k + 1;
            if i == k {
                (dbf, carried, most) = (dbf - C_k, carried - C_k, t - D_k);
            }
            let (one, two) = (dbf.min(most), carried.min(most));
            sum += i128::from(one);
            if two > one {
                more.push(two - one);
            }
        }
        if more.len() > cpus - 1 {
            if *cpus == 1 {
                more.clear();
            } else {
                more.select_nth_unstable_by(cpus - 2, |a, b| b.cmp(a));
                more.truncate(cpus - 1);
            }
        }
        sum + more.iter().map(|&x| i128::from(x)).sum::<i128>()
    }

    /// Returns true if the shortest interval of a task fails: a job that misses may have arrived
    /// with a CPU idle just before.
    fn exceeds_at_once(&self, k: usize, more: &mut Vec<i64>) -> bool {
        let [C_k, D_k, _] = self.tasks[k].ns();
        self.longest(k).is_some_and(|longest| longest >= D_k)
            && self.interference(k, D_k, more) >= self.cpus as i128 * i128::from(D_k - C_k + 1)
    }
}

/// Returns true if the test accepts these tasks, which must keep its assumptions, on this many
/// CPUs.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    // Most failing sets fail at their densest tasks, and there in the shortest interval.
    let density = |&k: &usize| Reverse(fixed(tasks[k].wcet.ns(), tasks[k].deadline.ns()));
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_cached_key(density);
    let mut more = Vec::with_capacity(tasks.len());
    let first = || order.iter().copied().take(PROBED);
    match Intervals::of(tasks, cpus) {
        Some(intervals) if !first().any(|k| intervals.exceeds_at_once(k, &mut more)) => {}
        Some(_) | None => return false,
    }
    compare(tasks, cpus, order.into_iter(), |_, _, _| {}) == Carried::Fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sporadic::{random, random_tasks};

    #[test]
    fn a_set_is_accepted_if_every_interval_has_room() {
        let mut draw = random(13);
        let (mut all, mut late) = (0, 0);
        for _ in 0..4_000 {
            let (count, cpus) = (1 + draw(12), 1 + draw(5) as usize);
            let load = 1 + draw(9) as i64;
            let tasks = random_tasks(&mut draw, count, load);
            let fits = carried(&tasks, cpus) == Carried::Fits;
            assert_eq!(accepts(&tasks, cpus), fits, "{tasks:?} on {cpus}");
            if fits { all += 1 } else { late += 1 }
        }
        assert!(all > 400 && late > 400, "{all} {late}");
    }

    /// The test of Liu and Anderson (ECRTS 2013), as in SchedCAT's `edf/la.cpp`, without
    /// suspensions and tardiness thresholds, at every integer.
    fn liu_anderson(tasks: &[Sporadic], cpus: usize) -> bool {
        let m = cpus as i64;
        let U: f64 = tasks.iter().map(|task| task.ns()[0] as f64 / task.ns()[2] as f64).sum();
        let all: i64 = tasks.iter().map(|task| task.ns()[0]).sum();
        tasks.iter().enumerate().all(|(l, tau_l)| {
            let [C_l, D_l, _] = tau_l.ns();
            let longest = D_l + ((m * C_l + all) as f64 / (m as f64 - U)).ceil() as i64;
            (D_l..=longest).all(|t| {
                let mut sum = 0;
                let mut more = Vec::new();
                for (i, tau_i) in tasks.iter().enumerate() {
                    let [C, D, T] = tau_i.ns();
                    let dbf = if t < D { 0 } else { ((t - D) / T + 1) * C };
                    let carried = t / T * C + C.min(t % T);
                    let (own, most) = if i == l { (C, t - D_l) } else { (0, t - C_l + 1) };
                    let (one, two) = ((dbf - own).min(most), (carried - own).min(most));
                    sum += one;
                    more.push(two - one);
                }
                more.sort_unstable_by_key(|&more| Reverse(more));
                sum + more.iter().take(cpus - 1).sum::<i64>() <= m * (t - C_l)
            })
        })
    }

    #[test]
    fn liu_and_anderson_accept_nothing_else() {
        let mut draw = random(17);
        let (mut both, mut alone) = (0, 0);
        for _ in 0..3_000 {
            let (count, cpus) = (1 + draw(5), 1 + draw(3) as usize);
            let load = 1 + draw(9) as i64;
            let tasks = random_tasks(&mut draw, count, load);
            // Skip loads near the capacity: they may have no longest interval.
            if load_above(&tasks) * 16 > (15 * cpus as u128) << SHIFT {
                continue;
            }
            match (accepts(&tasks, cpus), liu_anderson(&tasks, cpus)) {
                (true, true) => both += 1,
                (true, false) => alone += 1,
                (false, accepted) => assert!(!accepted, "{tasks:?} on {cpus}"),
            }
        }
        assert!(both > 200 && alone > 0, "{both} {alone}");
    }
}
