//! Typical worst-case analysis: the most misses in a window if long executions are seldom (Quinton,
//! Hanke and Ernst 2012; Xu et al. 2015).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `C_i` | [`TypicalTask::usual`] | the usual execution time |
//! | | [`TypicalTask::more`] | how much longer an exceptional job may execute, `E_i` |
//! | `delta_i` | [`TypicalTask::exceptions`] | the least distances of exceptional jobs |
//! | `dmm(k)` | [`most_misses`] | the most misses among `k` consecutive jobs |
//!
//! A busy period without exceptional job has no miss. One with the exceptional jobs `n` has at most
//! `N(n)`, and busy periods are disjoint, so each exceptional job counts once. It matters only if it
//! lies in the busy period of a missed job of the window, which bounds their number, the budget.
//! Deviation: the published bound adds over single tasks; this one takes the best division of the
//! budget among busy periods, by a dynamic program, with the proof above.
//!
//! Assumes: (1) one CPU, preemptive fixed priorities; (2) late jobs continue; (3) the judged task
//! is strictly periodic without jitter: the exceptions that jobs far apart may meet have no finite
//! number; (4) the others are sporadic, with the exceptional jobs as stated; (5) no locks, no
//! overheads. **Sufficient**.

use layland_model::{ArrivalCurve, Duration, Service, TIME_LIMIT};
use std::collections::BTreeMap;

/// A task with usual and exceptional jobs.
#[derive(Clone, Debug)]
pub struct TypicalTask {
    /// The execution time of most jobs.
    pub usual: Service,
    /// The least distance of arrivals; the period of the judged task.
    pub period: Duration,
    /// The relative deadline.
    pub deadline: Duration,
    /// The execution time that an exceptional job may have more.
    pub more: Service,
    /// The arrivals of exceptional jobs; none if there are no such jobs.
    pub exceptions: Option<ArrivalCurve>,
}

/// The result for one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypicalBound {
    /// The longest busy period.
    pub busy: Duration,
    /// The most misses in the window.
    pub misses: u64,
}

/// The reason why the analysis has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTypicalBound {
    /// A job may be late without any exceptional job.
    #[error("a job may be late although every execution time is a usual one")]
    UsualMiss,
    /// The busy period does not end, or not within the limit of times.
    #[error("the busy period does not end")]
    Endless,
    /// The division of the budget has too many cases.
    #[error("more than {0} divisions of the exceptions would have to be tried")]
    TooMany(usize),
}

/// The number of budgets, and of pairs of budgets, that are tried.
const MOST: usize = 4_000_000;

/// Amounts of exceptional jobs, one for each task of the level.
type Exceptional = Vec<i64>;

struct Level<'a> {
    tasks: &'a [TypicalTask],
    k: usize,
}

impl Level<'_> {
    fn eta(&self, i: usize, length: i64) -> i64 {
        let of = |curve: &ArrivalCurve| curve.arrivals_within(Duration::from_ns(length));
        let task = &self.tasks[i];
        task.exceptions.as_ref().filter(|_| task.more > Service::ZERO).map_or(0, of)
    }

    /// The work of the level in a window of length `w` with at most these exceptional jobs, and
    /// `own` jobs of the judged task if given.
    fn work(&self, w: i64, own: Option<i64>, most: impl Fn(usize) -> i64) -> Option<i64> {
        let mut sum: i64 = 0;
        for (i, task) in self.tasks[..=self.k].iter().enumerate() {
            let jobs = num_integer::Integer::div_ceil(&w, &task.period.ns());
            let jobs = own.filter(|_| i == self.k).unwrap_or(jobs);
            let more = most(i).min(self.eta(i, w)).checked_mul(task.more.ns())?;
            sum = sum.checked_add(jobs.checked_mul(task.usual.ns())?)?.checked_add(more)?;
        }
        Some(sum)
    }

    /// The least `w > 0` with that work.
    fn fixed_point(&self, own: Option<i64>, most: impl Fn(usize) -> i64) -> Option<i64> {
        let mut w = 1;
        loop {
            let next = self.work(w, own, &most)?;
            if next <= w {
                return Some(w);
            }
            if next > TIME_LIMIT {
                return None;
            }
            w = next;
        }
    }

    /// `N(n)`: the number of late jobs in a busy period with at most these exceptional jobs.
    fn late(&self, counts: &[i64]) -> Option<u64> {
        let (T, D) = (self.tasks[self.k].period.ns(), self.tasks[self.k].deadline.ns());
        let busy = self.fixed_point(None, |i| counts[i])?;
        let mut late = 0;
        for q in 1..=num_integer::Integer::div_ceil(&busy, &T) {
            let response = self.fixed_point(Some(q), |i| counts[i])? - (q - 1) * T;
            late += u64::from(response > D);
        }
        Some(late)
    }
}

/// Every amount from 0 to `most`, component by component.
fn up_to(most: &[i64]) -> impl Iterator<Item = Exceptional> + '_ {
    let mut next = Some(vec![0; most.len()]);
    std::iter::from_fn(move || {
        let current = next.take()?;
        let mut following = current.clone();
        for (at, count) in following.iter_mut().enumerate() {
            if *count < most[at] {
                *count += 1;
                next = Some(following);
                break;
            }
            *count = 0;
        }
        Some(current)
    })
}

/// The most misses among `window` consecutive jobs of task `k`; the first task has the highest
/// priority.
///
/// ```
/// use layland_analysis::how_often::{TypicalTask, most_misses};
/// use layland_model::{ArrivalCurve, Duration, Service};
/// let (ns, work) = (Duration::from_ns, Service::from_ns);
/// let task = |usual, period, more, exceptions: Option<i64>| TypicalTask {
///     usual: work(usual),
///     period: ns(period),
///     deadline: ns(period),
///     more: work(more),
///     exceptions: exceptions.map(|apart| ArrivalCurve::new(&[ns(apart)]).unwrap()),
/// };
/// let tasks = [task(1, 4, 0, None), task(3, 12, 4, Some(60)), task(4, 15, 0, None)];
/// let bound = most_misses(&tasks, 2, 10).unwrap();
/// assert_eq!((bound.busy, bound.misses), (ns(24), 3));
/// ```
///
/// # Errors
/// See [`NoTypicalBound`].
pub fn most_misses(
    tasks: &[TypicalTask],
    k: usize,
    window: u32,
) -> Result<TypicalBound, NoTypicalBound> {
    use NoTypicalBound::{Endless, TooMany, UsualMiss};
    let level = Level { tasks, k };
    let own = &tasks[k];
    let (T, D) = (own.period.ns(), own.deadline.ns());
    if level.late(&vec![0; k + 1]).ok_or(Endless)? > 0 {
        return Err(UsualMiss);
    }
    let busy = level.fixed_point(None, |_| i64::MAX).ok_or(Endless)?;
    let mut longest = 0;
    for q in 1..=num_integer::Integer::div_ceil(&busy, &T) {
        let done = level.fixed_point(Some(q), |_| i64::MAX).ok_or(Endless)?;
        longest = longest.max(done - (q - 1) * T);
    }
    let busy = Duration::from_ns(busy);
    if longest <= D {
        return Ok(TypicalBound { busy, misses: 0 });
    }
    // An exceptional job of the busy period of a missed one lies in an open interval of this
    // length; all times are whole.
    let length = (i64::from(window) - 1)
        .checked_mul(T)
        .and_then(|length| length.checked_add(busy.ns() + longest - D - 1))
        .ok_or(Endless)?;
    let budget: Exceptional = (0..=k).map(|i| level.eta(i, length)).collect();
    // More exceptional jobs than fit into one busy period do not count in it.
    let inside: Exceptional = (0..=k).map(|i| level.eta(i, busy.ns()).min(budget[i])).collect();
    let size =
        |most: &[i64]| most.iter().fold(1usize, |size, &n| size.saturating_mul(n as usize + 1));
    if size(&budget).saturating_mul(size(&inside)) > MOST {
        return Err(TooMany(MOST));
    }
    let mut gains: Vec<(Exceptional, u64)> = Vec::new();
    for counts in up_to(&inside).skip(1) {
        let late = level.late(&counts).ok_or(Endless)?;
        if late > 0 {
            gains.push((counts, late));
        }
    }
    // Budgets come in an order in which every smaller one is earlier.
    let mut best: BTreeMap<Exceptional, u64> = BTreeMap::new();
    let mut last = 0;
    for from in up_to(&budget) {
        let mut most = 0;
        for (counts, gain) in &gains {
            let rest: Option<Exceptional> = from
                .iter()
                .zip(counts)
                .map(|(have, used)| have.checked_sub(*used).filter(|rest| *rest >= 0))
                .collect();
            if let Some(rest) = rest {
                most = most.max(gain + best.get(&rest).copied().unwrap_or(0));
            }
        }
        last = most;
        best.insert(from, most);
    }
    Ok(TypicalBound { busy, misses: last.min(u64::from(window)) })
}
