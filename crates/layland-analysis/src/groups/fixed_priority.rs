//! Fixed priorities (**FP**) within a group on one server: response times.
//!
//! | test | deadlines | kind |
//! |---|---|---|
//! | [`response_time`] | constrained: exact for the periodic supply; arbitrary: sufficient | preemptive |
//! | [`nonpreemptive_response_time`] | arbitrary | sufficient |
//!
//! Assumes: (1) sporadic tasks, (2) jobs of one task in order, (3) the group is on one CPU, (4) no
//! server is late, (5) jobs do not suspend themselves, (6) equal priorities count as higher,
//! (7) overheads are part of `C` and `Q`.
//!
//! Let `t0` be the last instant before the arrival of a job at which no job of its priority or a
//! higher one was pending. The group has work from `t0` on. If the job is pending at `t0 + t`, all
//! that was supplied went to work that arrived in this window, and at least `sbf(t)` was supplied. So
//! the analyses of one CPU hold with `tbf` of the work in place of the work. For constrained
//! deadlines, a synchronous arrival at the start of the worst pattern of supply reaches the bound.
//!
//! At equal bandwidth a busy period may never end. Then the jobs after one hyperperiod `H` of the
//! tasks and the server repeat the first ones, shifted by `H`.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{Supply, hyperperiod, overloads};
use crate::Sporadic;
use crate::fixed_point::{Diverged, MAX_STEPS, least_within};
use layland_model::{Duration, TIME_LIMIT};
use std::cell::Cell;

/// The maximum response time of a task below these higher (and equal) priorities, if it is at most
/// `limit`: per job `q = 0, 1, ..` of a busy period, the least `t` with
/// `t = tbf((q + 1) C_i + sum_hp ceil(t / T_j) C_j)`, less `q T_i`.
///
/// ```
/// use layland_analysis::{Sporadic, groups::{Supply, fixed_priority::response_time}};
/// use layland_model::{Duration, GroupServer, ServerRule, Service};
/// let ns = Duration::from_ns;
/// let (budget, period, deadline) = (Service::from_ns(4), ns(8), ns(8));
/// let server = GroupServer { budget, period, deadline, rule: ServerRule::Deferrable };
/// let [first, second] = [(1, 12), (2, 20)].map(|(c, t)| Sporadic::implicit(Service::from_ns(c), ns(t)));
/// let supply = Supply::of(&server);
/// assert_eq!(response_time(&supply, &first, &[], ns(12)), Ok(ns(9)));
/// assert_eq!(response_time(&supply, &second, &[first], ns(20)), Ok(ns(11)));
/// // A server that loses its budget while there is no work is worse.
/// let supply = Supply::of(&GroupServer { rule: ServerRule::Polling, ..server });
/// assert_eq!(response_time(&supply, &first, &[], ns(20)), Ok(ns(13)));
/// ```
///
/// # Errors
/// [`Diverged::Overload`] if the tasks need more than the bandwidth, [`Diverged::Beyond`] if a
/// response exceeds the limit, [`Diverged::GaveUp`] if the search is too long.
pub fn response_time(
    supply: &Supply,
    tau_i: &Sporadic,
    higher: &[Sporadic],
    limit: Duration,
) -> Result<Duration, Diverged> {
    let C = tau_i.wcet.ns();
    let work = |q: i64, t: i64| (q + 1).saturating_mul(C).saturating_add(arrived(higher, t));
    let mut busy = BusyPeriod::new(supply, tau_i, higher, limit);
    let mut t = 0;
    while let Some(q) = busy.next_job()? {
        let start = supply.tbf(work(q, 0)).max(t);
        t = busy.ends(q, start, |t| supply.tbf(work(q, t)))?;
        busy.responds(q, t)?;
        if t <= busy.release(q + 1) {
            break;
        }
    }
    Ok(busy.response())
}

/// [`response_time`] if a job that has begun is not preempted by jobs of its group. The supply still
/// pauses it. With `B = max over lower (C_j - 1)`, job `q` starts at the least `x` with
/// `sbf(x + 1) >= w(x) + 1`, `w(x) = B + q C_i + sum_hp (floor(x / T_j) + 1) C_j`, and ends at
/// `tbf(w(x) + C_i)`.
///
/// # Errors
/// See [`response_time`].
pub fn nonpreemptive_response_time(
    supply: &Supply,
    tau_i: &Sporadic,
    higher: &[Sporadic],
    lower: &[Sporadic],
    limit: Duration,
) -> Result<Duration, Diverged> {
    let C = tau_i.wcet.ns();
    let B = lower.iter().map(|task| task.wcet.ns() - 1).max().unwrap_or(0);
    let w = |q: i64, x: i64| {
        let come =
            higher.iter().map(|task| (x / task.period.ns() + 1).saturating_mul(task.wcet.ns()));
        come.fold(q.saturating_mul(C).saturating_add(B), i64::saturating_add)
    };
    let mut busy = BusyPeriod::new(supply, tau_i, higher, limit);
    let mut x = 0;
    while let Some(q) = busy.next_job()? {
        let release = busy.release(q);
        let before = q.saturating_mul(C).saturating_add(arrived(higher, release)).saturating_add(B);
        if q > 0 && before <= supply.sbf(release) {
            break;
        }
        let starts = |x: i64| supply.tbf(w(q, x).saturating_add(1)) - 1;
        x = busy.ends(q, starts(0).max(x), starts)?;
        busy.responds(q, supply.tbf(w(q, x).saturating_add(C)))?;
    }
    Ok(busy.response())
}

/// The application of `tbf` to the work of one job, again and again: the lengths that a search of a
/// single job visits, up to the first one above `limit` or the least fixed point. If the last one is
/// above `limit`, the job is late under some legal supply.
pub fn iterates(
    supply: &Supply,
    tau_i: &Sporadic,
    higher: &[Sporadic],
    limit: Duration,
    most: usize,
) -> Option<Vec<Duration>> {
    let work = |t: i64| tau_i.wcet.ns().saturating_add(arrived(higher, t));
    let mut t = supply.tbf(tau_i.wcet.ns());
    let mut visited = vec![Duration::from_ns(t)];
    while t <= limit.ns() {
        let next = supply.tbf(work(t));
        if next == t {
            return Some(visited);
        }
        if visited.len() == most {
            return None;
        }
        t = next;
        visited.push(Duration::from_ns(t));
    }
    Some(visited)
}

/// `sum ceil(t / T_j) C_j`.
pub(super) fn arrived(tasks: &[Sporadic], t: i64) -> i64 {
    let of_task = |task: &Sporadic| {
        let jobs = num_integer::Integer::div_ceil(&t, &task.period.ns());
        jobs.saturating_mul(task.wcet.ns())
    };
    tasks.iter().map(of_task).fold(0, i64::saturating_add)
}

/// The search over the jobs of a busy period.
struct BusyPeriod<'a> {
    supply: &'a Supply,
    tau_i: &'a Sporadic,
    higher: &'a [Sporadic],
    limit: i64,
    /// The number of jobs after which responses repeat, if it is known.
    jobs: Option<i64>,
    next: i64,
    R: i64,
    steps: Cell<u64>,
}

impl<'a> BusyPeriod<'a> {
    fn new(
        supply: &'a Supply,
        tau_i: &'a Sporadic,
        higher: &'a [Sporadic],
        limit: Duration,
    ) -> BusyPeriod<'a> {
        let (limit, steps) = (limit.ns(), Cell::new(MAX_STEPS));
        BusyPeriod { supply, tau_i, higher, limit, jobs: None, next: 0, R: 0, steps }
    }

    fn next_job(&mut self) -> Result<Option<i64>, Diverged> {
        let q = self.next;
        self.next += 1;
        // A busy period that ends with its first job shows that there is no overload, and most do.
        if q == 1 {
            let all = || self.higher.iter().chain([self.tau_i]);
            if overloads(all(), &self.supply.bandwidth()) {
                return Err(Diverged::Overload);
            }
            self.jobs = hyperperiod(all(), [self.supply]).map(|H| H / self.tau_i.period.ns());
        }
        Ok(self.jobs.is_none_or(|jobs| q < jobs).then_some(q))
    }

    /// The release of job `q`.
    fn release(&self, q: i64) -> i64 {
        q.saturating_mul(self.tau_i.period.ns())
    }

    /// The least fixed point for job `q`, if it is not too late.
    fn ends(&self, q: i64, start: i64, f: impl Fn(i64) -> i64) -> Result<i64, Diverged> {
        let release = self.release(q);
        let limit = Duration::from_ns(release.saturating_add(self.limit));
        let range = (Duration::from_ns(TIME_LIMIT), &self.steps);
        let f = |t: Duration| Duration::from_ns(f(t.ns()));
        match least_within(Duration::from_ns(start), limit, range, f) {
            Ok(t) => Ok(t.ns()),
            Err(Diverged::Beyond { reached, .. }) => Err(self.beyond(reached.ns() - release)),
            Err(other) => Err(other),
        }
    }

    fn beyond(&self, reached: i64) -> Diverged {
        let [limit, reached] = [self.limit, reached].map(Duration::from_ns);
        Diverged::Beyond { limit, reached }
    }

    /// Records the end of job `q`.
    fn responds(&mut self, q: i64, end: i64) -> Result<(), Diverged> {
        self.R = self.R.max(end - self.release(q));
        if self.R <= self.limit { Ok(()) } else { Err(self.beyond(self.R)) }
    }

    fn response(&self) -> Duration {
        Duration::from_ns(self.R)
    }
}
