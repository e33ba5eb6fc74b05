//! The allotments of U-EDF (Nelissen et al. 2012) on a trace.
//! [`ScheduleRule::Allotted`](layland_model::ScheduleRule::Allotted) defines them.
//!
//! Windows, allotments and the job on each lane follow from the task set and from the times at
//! which jobs became ready and ended. The check therefore replays the whole schedule, except for
//! the choice of CPUs, and compares it with the trace. It reports the jobs that run or wait against
//! the rule at the first difference. Later differences say nothing, because the two schedules are
//! unrelated from then on.

use super::{Checker, Violation};
use crate::shares::{numerator, window};
use layland_model::{Duration, Group, Index, Time};
use layland_trace::JobEnd;

/// A task with its rate, in units of the grid, and its windows. Times are in nanoseconds.
struct Served {
    rate: i64,
    shortest: i64,
    /// The position of the task in the order of ranks.
    rank: usize,
    /// The ready job of the task.
    job: Option<usize>,
    /// The start and the end of the window of `job`, unless another window is open.
    from: i64,
    until: i64,
    /// The end of the last window that has begun.
    end: i64,
    /// The remaining allotment on each lane.
    allotted: Vec<i64>,
}

impl Served {
    /// Returns the time at which the next window begins, if the task has a job.
    fn opens(&self) -> Option<i64> {
        self.job.map(|_| self.from.max(self.end))
    }
}

/// An event of a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    IsReady,
    Ends,
}

/// An interval in which a job runs.
type Stretch = (i64, i64);

impl Checker<'_> {
    pub(super) fn check_allotted(&mut self, groups: &[Group], unit: Duration) {
        let is_ideal = self.system.platform.overheads.is_zero()
            && self.system.requests.is_empty()
            && !self.is_real
            && unit > Duration::ZERO;
        let mut found = Vec::new();
        if is_ideal {
            let mut expected: Vec<Vec<Stretch>> = vec![Vec::new(); self.trace.jobs.len()];
            for group in groups {
                self.replay(group, unit.ns(), &mut expected);
            }
            let mut seen: Vec<Vec<Stretch>> = vec![Vec::new(); self.trace.jobs.len()];
            for segment in &self.sound {
                add(&mut seen[segment.job], segment.start.ns(), segment.end.ns());
            }
            let differs = |job: usize| first_difference(&expected[job], &seen[job]);
            let first = (0..expected.len()).filter_map(differs).min().map(|(at, _)| at);
            for job in 0..expected.len() {
                if let Some((at, runs)) = differs(job).filter(|&(at, _)| Some(at) == first) {
                    let (job, at) = (self.name_at(job), Time::from_ns(at));
                    found.push(if runs {
                        Violation::NotAllotted { job, at }
                    } else {
                        Violation::AllottedButWaits { job, at }
                    });
                }
            }
        }
        self.check_optimal(groups);
        for violation in found {
            self.violated(|_| violation);
        }
    }

    /// Replays the schedule by the rule and records, for each job, the intervals in which it runs.
    fn replay(&self, group: &Group, unit: i64, expected: &mut [Vec<Stretch>]) {
        let lanes = group.cpus.len();
        let mut by_rank: Vec<_> = (group.tasks.iter())
            .filter_map(|&id| Some((self.system.tasks.get(id)?.rank, id)))
            .collect();
        by_rank.sort_unstable();
        let mut place_of = vec![None; self.system.tasks.len()];
        let mut tasks = Vec::new();
        for (rank, &(_, id)) in by_rank.iter().enumerate() {
            let task = &self.system.tasks[id];
            place_of[id.index()] = Some(rank);
            tasks.push(Served {
                rate: numerator(task, unit),
                shortest: window(task, unit),
                rank,
                job: None,
                from: 0,
                until: 0,
                end: 0,
                allotted: vec![0; lanes],
            });
        }
        let place =
            |job: usize| place_of.get(self.trace.jobs[job].job.id.task.index()).copied().flatten();
        let mut events = Vec::new();
        for (job, record) in self.trace.jobs.iter().enumerate() {
            let ready = self.ready[job].0;
            // The policy is not notified of a job that is skipped.
            let is_skipped =
                record.end.is_some_and(|(at, how)| how == JobEnd::Aborted && at <= ready);
            if place(job).is_none() || is_skipped {
                continue;
            }
            events.push((ready.ns(), What::IsReady, job));
            events.extend(record.end.map(|(at, _)| (at.ns(), What::Ends, job)));
        }
        events.sort_unstable();
        let mut events = events.into_iter().peekable();
        let mut now = 0;
        while now < self.trace.over.ns() {
            while let Some((_, what, job)) = events.next_if(|&(at, ..)| at <= now) {
                let task = &mut tasks[place(job).expect("it has been found")];
                match what {
                    What::IsReady => {
                        // Within a window, the job follows one that ends at this instant. The next
                        // window then begins at the end of this one.
                        if !(task.job.is_some() && now < task.end) {
                            task.from = -(-now).div_euclid(unit) * unit;
                        }
                        let deadline = self.trace.jobs[job].job.deadline.ns();
                        (task.job, task.until) = (Some(job), deadline.div_euclid(unit) * unit);
                    }
                    What::Ends if task.job == Some(job) => {
                        task.job = None;
                        task.allotted.fill(0);
                    }
                    What::Ends => {}
                }
            }
            let mut begins = false;
            for task in &mut tasks {
                if task.opens().is_some_and(|at| at <= now) {
                    task.end = if task.until > now { task.until } else { now + task.shortest };
                    // The lane does not matter, because `allot` distributes the work again.
                    task.allotted[0] += task.rate * ((task.end - now) / unit);
                    begins = true;
                }
            }
            tasks.sort_by_key(|task| (task.end.max(now), task.rank));
            if begins {
                allot(&mut tasks, now, unit);
            }
            let mut runs: Vec<(usize, usize)> = Vec::new();
            for lane in 0..lanes {
                let may = |&at: &usize| {
                    tasks[at].allotted[lane] > 0 && runs.iter().all(|&(other, _)| other != at)
                };
                let first = (0..tasks.len()).find(may);
                runs.extend(first.map(|at| (at, lane)));
            }
            let used_up = runs.iter().map(|&(at, lane)| now + tasks[at].allotted[lane]);
            let opens = tasks.iter().filter_map(Served::opens);
            let comes = events.peek().map(|&(at, ..)| at);
            let times = used_up.chain(opens).chain(comes).chain([self.trace.over.ns()]);
            // Advance by at least one nanosecond, so that the loop ends.
            let next = times.min().expect("the run is over some time").max(now + 1);
            for (at, lane) in runs {
                let task = &mut tasks[at];
                task.allotted[lane] -= next - now;
                if let Some(job) = task.job {
                    add(&mut expected[job], now, next);
                }
            }
            tasks.sort_by_key(|task| task.rank);
            now = next;
        }
    }
}

/// Distributes the remaining work of all tasks over the lanes again. The tasks are in order.
fn allot(tasks: &mut [Served], now: i64, unit: i64) {
    let lanes = tasks.first().map_or(0, |task| task.allotted.len());
    // For each lane, the earlier tasks: the end of the window, the share of the lane, and the
    // allotment.
    let mut before: Vec<Vec<(i64, i64, i64)>> = vec![Vec::new(); lanes];
    let mut line = 0;
    for task in tasks {
        let end = task.end.max(now);
        let mut needs: i64 = task.allotted.iter().sum();
        let mut lower = 0;
        for (lane, before) in before.iter_mut().enumerate() {
            let taken = |&(other, share, allotted): &(i64, i64, i64)| {
                allotted + (end - other) / unit * share
            };
            let most = end - now - lower - before.iter().map(taken).sum::<i64>();
            let given = most.min(needs).max(0);
            task.allotted[lane] = given;
            needs -= given;
            lower += given;
            let piece = unit * lane as i64;
            let (from, to) = (line.max(piece), (line + task.rate).min(piece + unit));
            before.push((end, (to - from).max(0), given));
        }
        line += task.rate;
    }
}

/// Appends an interval, and merges it with the last one if they touch.
fn add(stretches: &mut Vec<Stretch>, from: i64, to: i64) {
    match stretches.last_mut() {
        Some((_, end)) if *end == from => *end = to,
        _ => stretches.push((from, to)),
    }
}

/// Returns the first time at which a job runs or waits contrary to the expectation, and true if it
/// runs then.
fn first_difference(expected: &[Stretch], seen: &[Stretch]) -> Option<(i64, bool)> {
    let same = expected.iter().zip(seen).take_while(|(expected, seen)| expected == seen).count();
    match (expected.get(same), seen.get(same)) {
        (None, None) => None,
        (Some(&(from, _)), None) => Some((from, false)),
        (None, Some(&(from, _))) => Some((from, true)),
        (Some(expected), Some(seen)) if expected.0 != seen.0 => {
            Some((expected.0.min(seen.0), seen.0 < expected.0))
        }
        (Some(expected), Some(seen)) => Some((expected.1.min(seen.1), seen.1 > expected.1)),
    }
}
