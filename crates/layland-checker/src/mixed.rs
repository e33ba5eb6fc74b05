//! The guarantee of mixed criticality (Huang, Gill, Lu 2014, Section 2.1) on a trace.
//!
//! A *busy period* of a group is a maximal interval in which at every instant some job of the group
//! has arrived and not ended. No earlier work is left at its start, so each busy period is judged
//! on its own. A late job of a task of criticality `l` is excused if, in its busy period and before
//! its deadline (its abort, if that is earlier), a job of a task of criticality `l` or above
//! reached its bound of level `l` without completing: then the run does not belong to level `l`.
//! Tasks of lower criticality excuse nothing.

use super::{Checker, Violation};
use layland_model::{CpuSet, Duration, Group, Service, Speed, Time};
use layland_trace::JobEnd;

impl Checker<'_> {
    pub(super) fn check_mixed_criticality(&mut self, groups: &[Group], guaranteed: &CpuSet) {
        let is_ideal = self.system.platform.overheads.is_zero() && self.system.requests.is_empty();
        let mut late = Vec::new();
        if is_ideal {
            let pieces = self.pieces();
            for group in groups.iter().filter(|group| group.cpus.is_subset(guaranteed)) {
                self.find_late(group, &pieces, &mut late);
            }
        }
        self.check_served(groups);
        for (index, since) in late {
            let job = self.trace.jobs[index].job;
            let level = self.system.tasks[job.id.task].criticality.0;
            self.violated(|this| Violation::Unexcused {
                job: this.name_at(index),
                deadline: job.deadline,
                level,
                since,
            });
        }
    }

    /// Returns the pieces of execution of each job, as start and processor time, in the order of
    /// `Trace::jobs`.
    fn pieces(&self) -> Vec<Vec<(Time, Duration)>> {
        let mut pieces = vec![Vec::new(); self.trace.jobs.len()];
        for segment in &self.sound {
            let length = segment.end - segment.start - segment.overhead;
            pieces[segment.job].push((segment.start, length));
        }
        pieces
    }

    /// Finds the jobs of a group that are late without an excuse, each with the start of its busy
    /// period.
    fn find_late(
        &self,
        group: &Group,
        pieces: &[Vec<(Time, Duration)>],
        late: &mut Vec<(usize, Time)>,
    ) {
        let over = self.trace.over;
        let mut jobs: Vec<usize> = (0..self.trace.jobs.len())
            .filter(|&index| group.tasks.contains(&self.trace.jobs[index].job.id.task))
            .collect();
        jobs.sort_by_key(|&index| (self.trace.jobs[index].job.arrival, index));
        // The starts of the busy periods.
        let mut starts: Vec<Time> = Vec::new();
        // The end of the current busy period. True if, at that very instant, a job without demand
        // is still present; such a job ends when it is dispatched.
        let mut until: Option<(Time, bool)> = None;
        for &index in &jobs {
            let record = &self.trace.jobs[index];
            // Not the release: an engine may notify its policy of a job only when the job can run.
            let arrival = record.job.arrival;
            if until.is_none_or(|until| (arrival, false) >= until) {
                starts.push(arrival);
            }
            let end = record.end.map_or(over, |(at, _)| at);
            until = until.max(Some((end, record.executed == Service::ZERO && end > arrival)));
        }
        let levels = self.system.levels.count();
        let speed = self.system.speed_of(&group.cpus).unwrap_or_default();
        let overruns: Vec<Vec<Time>> =
            (0..levels).map(|level| self.overruns(&jobs, level, pieces, speed)).collect();
        for &index in &jobs {
            let record = &self.trace.jobs[index];
            let job = record.job;
            let given_up = match record.end {
                Some((at, JobEnd::Completed)) if at <= job.deadline + self.latency => continue,
                Some((_, JobEnd::Left)) => continue,
                None if over < job.deadline + self.latency => continue,
                Some((at, JobEnd::Aborted)) => at,
                Some((_, JobEnd::Completed)) | None => Time::NEVER,
            };
            let level = self.system.tasks[job.id.task].criticality.level();
            let since = starts[starts.partition_point(|&start| start <= job.arrival) - 1];
            let until = job.deadline.min(given_up) + self.latency;
            let before = |&at: &Time| at < since;
            let overruns = &overruns[level];
            let excuse = overruns.get(overruns.partition_point(before));
            if excuse.is_none_or(|&at| at > until) {
                late.push((index, since));
            }
        }
    }

    /// Returns the instants at which a job of a task of this criticality or above reaches its bound
    /// of this level without completing, on CPUs of this speed.
    fn overruns(
        &self,
        jobs: &[usize],
        level: usize,
        pieces: &[Vec<(Time, Duration)>],
        speed: Speed,
    ) -> Vec<Time> {
        let mut instants = Vec::new();
        for &index in jobs {
            let record = &self.trace.jobs[index];
            let task = &self.system.tasks[record.job.id.task];
            if task.criticality.level() < level {
                continue;
            }
            // The bound and the execution in the time of the CPU of the group.
            let bound = speed.time_for(task.wcet[level.min(task.wcet.len() - 1)]);
            let executed = if speed == Speed::UNIT {
                Duration::from_ns(record.executed.ns())
            } else {
                pieces[index].iter().fold(Duration::ZERO, |sum, &(_, length)| sum + length)
            };
            let completed = matches!(record.end, Some((_, JobEnd::Completed)));
            if executed < bound || (completed && executed <= bound + self.latency) {
                continue;
            }
            let mut left = bound;
            let mut instant = record.job.arrival;
            for &(start, length) in &pieces[index] {
                // A job with a bound of zero may overrun before it executes at all.
                if left <= Duration::ZERO {
                    break;
                }
                instant = start + length.min(left);
                left -= length.min(left);
            }
            instants.push(instant);
        }
        instants.sort_unstable();
        instants
    }
}
