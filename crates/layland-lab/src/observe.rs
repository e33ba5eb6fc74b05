//! Counts that an experiment needs from a simulation and that `layland-trace` does not have.
//!
//! | count | definition |
//! |---|---|
//! | due | jobs that completed or were aborted, and pending ones whose deadline has come |
//! | forced throttle | a server that is throttled and replenished in one instant: its deadline has passed, and SCHED_DEADLINE without the repair would not throttle it |
//! | bypass | a server that is replenished without having been throttled |
//! | change | an instant at which a CPU begins to run another job, or none; QPS counts its scheduling events itself, and there are more of them |
//! | tardiness bin `k` | of a completed job: `ceil(1000 tardiness / period)` is `k` |

use layland_model::{
    CpuMap, Duration, Index, MoveReason, Note, Service, System, TaskId, TaskMap, Time,
};
use layland_trace::{Job, JobEnd, Mark, MarkKind, Recorder, Segment};
use std::collections::BTreeMap;

/// The number of bins per period.
pub(crate) const BINS: i128 = 1000;

/// The observer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observer {
    periods: TaskMap<Duration>,
    throttled_at: TaskMap<Option<Time>>,
    pub due: u64,
    pub moves: u64,
    pub placed: u64,
    pub pushed: u64,
    pub pulled: u64,
    pub throttled: u64,
    pub forced: u64,
    pub changes: u64,
    /// The end of the last segment on each CPU.
    ran_until: CpuMap<Time>,
    pub bypassed: u64,
    /// The sum of tardiness over period of the completed jobs of each task, in ns.
    pub tardiness_ns: TaskMap<i128>,
    /// The number of jobs in each bin, if requested.
    pub bins: Option<BTreeMap<u64, u64>>,
}

impl Observer {
    /// Creates an observer for the tasks of a system.
    pub(crate) fn new(system: &System, with_bins: bool) -> Observer {
        let count = system.tasks.len();
        Observer {
            periods: system.tasks.values().map(|task| task.period).collect(),
            throttled_at: TaskMap::filled(None, count),
            ran_until: CpuMap::filled(Time::NEVER, system.platform.cpu_count()),
            tardiness_ns: TaskMap::filled(0, count),
            bins: with_bins.then(BTreeMap::new),
            ..Observer::default()
        }
    }

    /// Extrapolates the counts of a longer run, like
    /// [`TaskCounters::after`](layland_trace::TaskCounters::after).
    pub(crate) fn after(&self, earlier: &Observer, turns: u64) -> Observer {
        let more = |of: fn(&Observer) -> u64| of(self) + turns * (of(self) - of(earlier));
        let tardiness = self.tardiness_ns.iter().map(|(task, &now)| {
            let before = earlier.tardiness_ns[task];
            now + i128::from(turns) * (now - before)
        });
        let bins = self.bins.as_ref().map(|bins| {
            let before = |bin| {
                let bins = earlier.bins.as_ref();
                bins.and_then(|bins| bins.get(bin)).copied().unwrap_or(0)
            };
            let bins = bins.iter().map(|(bin, &now)| (*bin, now + turns * (now - before(bin))));
            bins.collect()
        });
        Observer {
            due: more(|of| of.due),
            moves: more(|of| of.moves),
            placed: more(|of| of.placed),
            pushed: more(|of| of.pushed),
            pulled: more(|of| of.pulled),
            throttled: more(|of| of.throttled),
            forced: more(|of| of.forced),
            changes: more(|of| of.changes),
            bypassed: more(|of| of.bypassed),
            tardiness_ns: tardiness.collect(),
            bins,
            ..self.clone()
        }
    }

    /// Clears the times of the last observations, which are not counts.
    #[cfg(test)]
    pub(crate) fn forget_times(&mut self) {
        self.throttled_at.values_mut().for_each(|at| *at = None);
        self.ran_until.values_mut().for_each(|at| *at = Time::NEVER);
    }

    fn replenished(&mut self, task: TaskId, at: Time) {
        match self.throttled_at[task].take() {
            Some(throttled) => self.forced += u64::from(throttled == at),
            None => self.bypassed += 1,
        }
    }
}

impl Recorder for Observer {
    fn executed(&mut self, segment: &Segment) {
        let began = self.ran_until[segment.cpu] != segment.start;
        self.changes += 1 + u64::from(began);
        self.ran_until[segment.cpu] = segment.end;
    }

    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, _executed: Service) {
        match end {
            JobEnd::Completed => {
                self.due += 1;
                let tardiness = i128::from(job.tardiness(at).ns());
                self.tardiness_ns[job.id.task] += tardiness;
                if let Some(bins) = &mut self.bins {
                    let period = i128::from(self.periods[job.id.task].ns());
                    let bin = (tardiness * BINS + period - 1) / period;
                    *bins.entry(u64::try_from(bin).unwrap_or(u64::MAX)).or_default() += 1;
                }
            }
            JobEnd::Aborted => self.due += 1,
            JobEnd::Left => {}
        }
    }

    fn pending(&mut self, job: &Job, at: Time, _executed: Service) {
        self.due += u64::from(job.deadline <= at);
    }

    fn marked(&mut self, mark: &Mark) {
        if let MarkKind::Note(Note::Moved { why, .. }) = mark.kind {
            self.moves += 1;
            match why {
                MoveReason::Placed => self.placed += 1,
                MoveReason::Pushed => self.pushed += 1,
                MoveReason::Pulled => self.pulled += 1,
                MoveReason::Expelled => {}
            }
        } else if let MarkKind::Note(Note::Throttled { task }) = mark.kind
            && task.index() < self.throttled_at.len()
        {
            self.throttled += 1;
            self.throttled_at[task] = Some(mark.at);
        } else if let MarkKind::Note(Note::Replenished { task, .. }) = mark.kind
            && task.index() < self.throttled_at.len()
        {
            self.replenished(task, mark.at);
        }
    }
}
