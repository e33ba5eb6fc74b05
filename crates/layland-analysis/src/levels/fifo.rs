//! First come, first served within a level, on one CPU: exact.
//!
//! | symbol | meaning |
//! |---|---|
//! | `L` | the least `L` with `L = sum over hp and ep of ceil(L / T_j) C_j`: the longest busy period of the level |
//! | `a` | the time at which a job of the level becomes ready, from the start of a busy period: `k T_j` of some `ep` |
//! | `w(a)` | its completion: the least `w` with `w = sum over ep of (floor(a / T_j) + 1) C_j + sum over hp of ceil(w / T_j) C_j` |
//! | `R` | the maximum of `w(a) - a` over all `a < L` |
//!
//! A job that becomes ready at `a` completes after all work of its level that became ready at or
//! before `a`, and no later arrival of its level runs before it. The work is largest if all jobs
//! arrive as early as possible, and moving `a` down to the last arrival of its level makes the
//! response longer. So all tasks of a level have one `R`. Jobs that become ready at one instant may
//! run in any order: an arrival just before is also legal, so ties do not matter.
//!
//! **Tightness.** Sporadic tasks reach `R`: a job of `tau_i` comes last at the `a` of the maximum.
//! Tasks that are periodic from a common instant reach it only if one of their own arrivals is that
//! `a`, and the tasks that arrive at that instant before them have smaller ranks. Otherwise the
//! value is only a bound, and a miss by it is not a *no*.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{NO_PROOF, ONE_BY_ONE, QUEUED, ranges, sorted};
use crate::fixed_point::{Diverged, GaveUp};
use crate::group::{Group, comes_at_any_distance, exact, may_become_ready_together, together};
use crate::uniprocessor::fixed_priority::TINDELL;
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, Respond, ResponseBound, ResponseTest,
    SchedulabilityTest, Scope, Subject, TestKind, Verdict,
};
use layland_model::{Duration, Rate, RateSum, System, TIME_LIMIT, Task, TaskMap};
use std::ops::Range;

/// `RTA-FIFO`: response times with levels that are served first come, first served, for each CPU.
pub const FIFO: SchedulabilityTest = SchedulabilityTest {
    name: "RTA-FIFO",
    title: "response times under fixed priorities on each CPU, first come, first served among equal ones",
    subject: Subject::Algorithms(QUEUED),
    kind: TestKind::Exact,
    assumptions: ONE_BY_ONE,
    citations: &[&Citation::GEORGE, &TINDELL],
    certify: Certify::Without(NO_PROOF),
    decide: Decide::by(|system| {
        together(Group::affinities(system).into_iter().map(|mut group| finding(&mut group)))
    }),
};

/// The response times of [`FIFO`] that some legal run reaches.
pub const FIFO_RESPONSES: ResponseTest = ResponseTest {
    name: FIFO.name,
    title: FIFO.title,
    algorithms: QUEUED,
    kind: TestKind::Exact,
    assumptions: ONE_BY_ONE,
    citations: FIFO.citations,
    bound: Respond::Alone(|system| bounds(system, true)),
    by_rank: None,
};

/// The other response times of [`FIFO`], which are only bounds.
pub const FIFO_UNREACHED: ResponseTest = ResponseTest {
    name: FIFO.name,
    title: FIFO.title,
    algorithms: QUEUED,
    kind: TestKind::Sufficient,
    assumptions: ONE_BY_ONE,
    citations: FIFO.citations,
    bound: Respond::Alone(|system| bounds(system, false)),
    by_rank: None,
};

/// Examining a task once is a step. This number of steps takes about a tenth of a second.
const MOST_STEPS: u64 = 10_000_000;

/// The result for a level.
struct LevelResponses {
    /// `R`.
    R: Duration,
    /// For each task of the level, the maximum response time of its own jobs if all tasks become
    /// ready together and jobs that become ready at one instant run by rank.
    own: Vec<Duration>,
}

/// The maximum response time of each task, which is given with its level; smaller levels come
/// first.
///
/// ```
/// use layland_analysis::levels::responses;
/// use layland_model::{Duration, Service, Task};
/// let task = |c, t| Task::implicit("", Service::from_ns(c), Duration::from_ns(t));
/// // Nobody preempts a running job of one level: each of the first two waits for the other.
/// let (a, b, c) = (task(1, 10), task(3, 10), task(2, 20));
/// let found = responses(&[(&a, 1), (&b, 1), (&c, 2)]);
/// assert_eq!(found, [4, 4, 6].map(|ns| Ok(Duration::from_ns(ns))));
/// ```
pub fn responses(tasks: &[(&Task, i64)]) -> Vec<Result<Duration, Diverged>> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&at| tasks[at].1);
    let sorted: Vec<&Task> = order.iter().map(|&at| tasks[at].0).collect();
    let levels: Vec<i64> = order.iter().map(|&at| tasks[at].1).collect();
    let mut found = vec![Err(Diverged::Overload); tasks.len()];
    for range in ranges(&levels) {
        let mut steps = MOST_STEPS;
        let of_level = level_response(&sorted, range.clone(), &mut steps);
        for at in range {
            found[order[at]] = of_level.as_ref().map(|found| found.R).map_err(Clone::clone);
        }
    }
    found
}

/// Computes `R` of the tasks in this range, which form one level; the tasks before them are higher.
fn level_response(
    tasks: &[&Task],
    level: Range<usize>,
    steps: &mut u64,
) -> Result<LevelResponses, Diverged> {
    let (higher, equal) = (&tasks[..level.start], &tasks[level.clone()]);
    let mut load = RateSum::default();
    tasks[..level.end].iter().for_each(|task| load.add(&task.utilization()));
    if !load.fits(&Rate::ZERO, &Rate::ONE) {
        return Err(Diverged::Overload);
    }
    let mut search = LevelSearch { higher, equal, steps };
    let L = search.busy_period()?;
    let (mut R, mut own) = (0, vec![0; equal.len()]);
    let (mut w, mut done) = (0, 0);
    let mut a = 0;
    // A job that becomes ready at L begins another busy period. Completions do not decrease with
    // `a`, so each search continues from the result of the previous one.
    while a < L {
        let last = search.done(a, w, |_| true)?;
        R = R.max(last - a);
        w = last;
        for (at, of_task) in own.iter_mut().enumerate() {
            if a % equal[at].period.ns() == 0 {
                // Jobs of a larger rank that arrive at this instant wait for it.
                let first = search.done(a, done, |other| other <= at)?;
                *of_task = (first - a).max(*of_task);
            }
        }
        done = search.done(a, done, |_| false)?;
        a = search.next(a)?;
    }
    Ok(LevelResponses {
        R: Duration::from_ns(R),
        own: own.into_iter().map(Duration::from_ns).collect(),
    })
}

struct LevelSearch<'a> {
    higher: &'a [&'a Task],
    /// The tasks of the level, by rank.
    equal: &'a [&'a Task],
    steps: &'a mut u64,
}

impl LevelSearch<'_> {
    fn spend(&mut self, reached: i64) -> Result<(), Diverged> {
        let cost = (self.higher.len() + self.equal.len()) as u64;
        match self.steps.checked_sub(cost) {
            Some(left) if reached <= TIME_LIMIT => {
                *self.steps = left;
                Ok(())
            }
            _ => {
                let reached = Duration::from_ns(reached.min(TIME_LIMIT));
                Err(GaveUp::OutOfSteps { reached, steps: MOST_STEPS }.into())
            }
        }
    }

    /// `L`.
    fn busy_period(&mut self) -> Result<i64, Diverged> {
        let mut L = 1;
        loop {
            self.spend(L)?;
            let all = self.higher.iter().chain(self.equal);
            let work = sum(all.map(|task| arrived(task, L)));
            if work == L {
                return Ok(L);
            }
            L = work;
        }
    }

    /// Returns the time at which all work of the level is complete that became ready before `a`, or
    /// at `a` by a task that `counts`. The search starts at `from`.
    fn done(&mut self, a: i64, from: i64, counts: impl Fn(usize) -> bool) -> Result<i64, Diverged> {
        let own = sum(self.equal.iter().enumerate().map(|(at, task)| {
            let T = task.period.ns();
            let jobs = a / T + i64::from(a % T != 0 || counts(at));
            jobs.saturating_mul(task.own_wcet().ns())
        }));
        let mut w = own.max(from);
        loop {
            self.spend(w)?;
            let next = sum(self.higher.iter().map(|task| arrived(task, w))).saturating_add(own);
            if next <= w {
                return Ok(w);
            }
            w = next;
        }
    }

    /// Returns the next arrival of the level after `a`.
    fn next(&mut self, a: i64) -> Result<i64, Diverged> {
        self.spend(a)?;
        let next = self.equal.iter().map(|task| {
            let T = task.period.ns();
            (a / T + 1).saturating_mul(T)
        });
        Ok(next.min().unwrap_or(i64::MAX))
    }
}

/// `ceil(t / T) C`.
fn arrived(task: &Task, t: i64) -> i64 {
    Duration::from_ns(t).div_ceil(task.period).saturating_mul(task.own_wcet().ns())
}

fn sum(terms: impl Iterator<Item = i64>) -> i64 {
    // A sum that saturates is beyond the limit of `LevelSearch::spend`.
    terms.fold(0, i64::saturating_add)
}

/// Each level of a CPU: the positions of its tasks, and the result for it.
fn levels_of(group: &mut Group<'_>) -> Vec<(Range<usize>, Result<LevelResponses, Diverged>)> {
    let levels = sorted(group);
    let tasks: Vec<&Task> = group.tasks().collect();
    let mut steps = MOST_STEPS;
    ranges(&levels)
        .map(|range| (range.clone(), level_response(&tasks, range, &mut steps)))
        .collect()
}

/// Returns true if the jobs of the first `end` tasks can arrive at any distance from each other.
fn come_at_any_distance(group: &Group<'_>, end: usize) -> bool {
    group.tasks[..end].iter().all(|(_, task)| comes_at_any_distance(task))
}

fn come_together(group: &Group<'_>, end: usize) -> bool {
    may_become_ready_together(group.tasks[..end].iter().map(|&(_, task)| task))
}

/// The response times that are reached, or those that are only bounds.
fn bounds(system: &System, reached: bool) -> TaskMap<Option<ResponseBound>> {
    let mut bounds = TaskMap::filled(None, system.tasks.len());
    for mut group in Group::affinities(system) {
        for (range, found) in levels_of(&mut group) {
            let Ok(LevelResponses { R, own }) = found else { continue };
            let at_any_distance = come_at_any_distance(&group, range.end);
            let at_once = come_together(&group, range.end);
            for (&own, at) in own.iter().zip(range) {
                let (id, _) = group.tasks[at];
                if (at_any_distance || at_once && own == R) == reached {
                    bounds[id] = Some(ResponseBound::new(id, R));
                }
            }
        }
    }
    bounds
}

fn finding(group: &mut Group<'_>) -> Finding {
    let mut reasons = Vec::new();
    let mut open: Option<Reason> = None;
    for (range, found) in levels_of(group) {
        let LevelResponses { R, own } = match found {
            Ok(found) => found,
            Err(diverged @ Diverged::Overload) => {
                let (id, _) = group.tasks[range.end - 1];
                return exact(group, false, Reason::NoBound(id, diverged));
            }
            Err(Diverged::GaveUp(why)) => {
                return Finding::new(Verdict::Unknown, Reason::GaveUp(why));
            }
            // Not expected, as the search has no limit.
            Err(diverged @ Diverged::Beyond { .. }) => {
                let (id, _) = group.tasks[range.end - 1];
                return Finding::new(Verdict::Unknown, Reason::NoBound(id, diverged));
            }
        };
        let at_any_distance = come_at_any_distance(group, range.end);
        let at_once = come_together(group, range.end);
        for (&own, at) in own.iter().zip(range) {
            let (id, task) = group.tasks[at];
            let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
            let compared = |value: Duration, holds| {
                let scope = Scope::task(id, &group.cpus);
                let (value, bound) = (quantity(value), quantity(task.deadline));
                Reason::compared("the response time", scope, value, bound, holds)
            };
            if R <= task.deadline {
                reasons.push(compared(R, true));
            } else if at_any_distance {
                return Finding::new(Verdict::No, compared(R, false));
            } else if at_once && own > task.deadline {
                return Finding::new(Verdict::No, compared(own, false));
            } else {
                open.get_or_insert_with(|| compared(R, false));
            }
        }
    }
    match open {
        None => Finding { verdict: Verdict::Yes, reasons },
        Some(reason) => {
            let reasons = vec![reason, Reason::PatternMayNotOccur];
            Finding { verdict: Verdict::Unknown, reasons }
        }
    }
}
