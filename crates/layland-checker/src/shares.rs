//! The exact shares of DP-WRAP (Levin et al. 2010) and LRE-TL (Funk 2010) on a trace.
//! [`ScheduleRule::Shares`](layland_model::ScheduleRule::Shares) defines them.
//!
//! The slices of DP-WRAP follow from the set alone; those of LRE-TL also depend on the times at
//! which jobs became ready. In each slice, a job that can run from its beginning to its end gets
//! the rate of its task times the length, to the nanosecond, whatever its final demand is. At the
//! end of every slice, which is not after any deadline, every job has therefore executed as much as
//! in the fluid schedule.

use super::{Checker, Violation};
use layland_model::{Behaviour, Duration, Group, Slices, Task, TaskId, TaskMap, Time};
use layland_trace::JobEnd;

/// A point in time that never comes.
const NEVER: i64 = i64::MAX;

impl Checker<'_> {
    pub(super) fn check_shares(&mut self, groups: &[Group], unit: Duration, slices: Slices) {
        let is_ideal = self.system.platform.overheads.is_zero()
            && self.system.requests.is_empty()
            && !self.is_real
            && unit > Duration::ZERO;
        let mut found = Vec::new();
        if is_ideal {
            let unit = unit.ns();
            let borders = match slices {
                Slices::Deadlines => self.borders(unit),
                Slices::Planes => self.planes(unit),
            };
            let mut segments = vec![Vec::new(); self.trace.jobs.len()];
            for segment in &self.sound {
                segments[segment.job].push((segment.start.ns(), segment.end.ns()));
            }
            for (index, segments) in segments.iter().enumerate() {
                self.find_other_shares(index, segments, (unit, slices), &borders, &mut found);
            }
        }
        self.check_optimal(groups);
        for violation in found {
            self.violated(|_| violation);
        }
    }

    /// Returns the borders of the slices up to the end of the run: the deadlines and first releases
    /// of the tasks, rounded down to the grid.
    fn borders(&self, unit: i64) -> Vec<i64> {
        let over = self.trace.over.ns();
        let mut borders = vec![0];
        for task in self.system.tasks.values() {
            let mut at = task.offset.ns();
            while at - unit <= over && task.period > Duration::ZERO {
                let cut = at.div_euclid(unit) * unit;
                borders.push(cut);
                if cut < at {
                    borders.push(cut + unit);
                }
                at += task.period.ns();
            }
        }
        borders.sort_unstable();
        borders.dedup();
        borders
    }

    /// Returns the borders of the planes up to the end of the run. Some planes without ready jobs
    /// are left out.
    fn planes(&self, unit: i64) -> Vec<i64> {
        let over = self.trace.over.ns();
        let tasks = &self.system.tasks;
        let shortest = tasks.values().map(|task| window(task, unit)).min().unwrap_or(NEVER);
        // For each job, the time at which it becomes ready, the end of its window, and its end.
        let mut jobs: Vec<(i64, TaskId, i64, i64)> = Vec::new();
        for (index, record) in self.trace.jobs.iter().enumerate() {
            let (ready, task) = (self.ready[index].0, record.job.id.task);
            // The policy is not notified of a job that is skipped.
            let is_skipped =
                record.end.is_some_and(|(at, how)| how == JobEnd::Aborted && at <= ready);
            if !is_skipped && tasks.get(task).is_some() {
                let deadline = record.job.deadline.ns().div_euclid(unit) * unit;
                let end = record.end.map_or(NEVER, |(at, _)| at.ns());
                jobs.push((ready.ns(), task, deadline, end));
            }
        }
        jobs.sort_unstable();
        let mut jobs = jobs.into_iter().peekable();
        let mut windows: TaskMap<i64> = TaskMap::filled(0, tasks.len());
        let (mut borders, mut at, mut idle_from) = (vec![0], 0, 0);
        while at <= over {
            while let Some((_, task, deadline, end)) = jobs.next_if(|&(ready, ..)| ready <= at) {
                windows[task] = deadline;
                idle_from = idle_from.max(end);
            }
            let later = windows.values().copied().filter(|&deadline| deadline > at);
            let deadline = later.min().unwrap_or(NEVER);
            let until = jobs.peek().map_or(over, |&(ready, ..)| ready).min(deadline);
            let whole = if idle_from <= at { (until - at) / shortest } else { 0 };
            at = match whole {
                0 => at.saturating_add(shortest).min(deadline),
                whole => at + whole * shortest,
            };
            borders.push(at);
        }
        borders
    }

    /// Finds the slices in which a job does not get its share.
    fn find_other_shares(
        &self,
        index: usize,
        segments: &[(i64, i64)],
        (unit, slices): (i64, Slices),
        borders: &[i64],
        found: &mut Vec<Violation>,
    ) {
        let record = &self.trace.jobs[index];
        let Some(task) = self.system.tasks.get(record.job.id.task) else { return };
        let (ready, predecessor) = self.ready[index];
        let (ready, predecessor) = (ready.ns(), predecessor.map_or(-1, Time::ns));
        let ended = record.end.map_or(self.trace.over.ns() + 1, |(at, _)| at.ns());
        let rate = i128::from(numerator(task, unit));
        let first = match slices {
            Slices::Deadlines => borders.partition_point(|&border| border < ready),
            Slices::Planes => borders.partition_point(|&border| border <= ready) - 1,
        };
        let mut next = 0;
        for slice in borders[first..].windows(2) {
            let (from, to) = (slice[0], slice[1]);
            // A job that ends at the end of a slice may have needed less than its share.
            if to >= ended {
                break;
            }
            // The share of this slice belongs to the predecessor if that ended within the slice.
            if predecessor > from {
                continue;
            }
            // The segments of one job are in order, as the slices are.
            let past = segments[next..].iter().take_while(|&&(_, end)| end <= from).count();
            next += past;
            let here = segments[next..].iter().take_while(|&&(start, _)| start < to);
            let got: i64 = here.map(|&(start, end)| (end.min(to) - start.max(from)).max(0)).sum();
            let begins = from.max(-(-ready).div_euclid(unit) * unit);
            let share = rate * i128::from((to - begins).max(0) / unit);
            if i128::from(got) != share {
                found.push(Violation::OtherShare {
                    job: self.name_at(index),
                    from: Time::from_ns(from.max(ready)),
                    to: Time::from_ns(to),
                    got: Duration::from_ns(got),
                    share: Duration::from_ns(i64::try_from(share).unwrap_or(NEVER)),
                });
            }
        }
    }
}

/// Returns the shortest window on the grid that a job of a task can have.
pub(super) fn window(task: &Task, unit: i64) -> i64 {
    let period = task.period.ns();
    let is_regular = task.jitter == Duration::ZERO
        && match &task.behaviour {
            Behaviour::Periodic | Behaviour::Hog | Behaviour::Yield => {
                period % unit == 0 && task.offset.ns() % unit == 0
            }
            Behaviour::Explicit(releases) => {
                period % unit == 0 && releases.iter().all(|at| at.ns() % unit == 0)
            }
            Behaviour::Sporadic(_) | Behaviour::Curve(_) | Behaviour::SelfSuspending { .. } => {
                false
            }
        };
    let window = if is_regular { period } else { (period / unit - 1) * unit };
    window.max(1)
}

/// Returns the rate of a task in units of the grid: `ceil(C Q / W)`.
pub(super) fn numerator(task: &Task, unit: i64) -> i64 {
    let product = i128::from(task.own_wcet().ns()) * i128::from(unit);
    let rate = -(-product).div_euclid(i128::from(window(task, unit)));
    i64::try_from(rate).unwrap_or(NEVER)
}
