//! The columns of a row, and the statistics over the values of a point.

use crate::Statistic;
use std::fmt;

/// A column of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name, in files and results.
    pub name: &'static str,
    /// Its meaning, with the unit.
    pub meaning: &'static str,
}

const fn column(name: &'static str, meaning: &'static str) -> Metric {
    Metric { name, meaning }
}

/// Every metric, in the order of the columns. A value that does not exist (a test has no misses) is
/// omitted from every statistic.
pub const METRICS: &[Metric] = &[
    column("accepted", "1 if the test says yes, or no deadline was missed; 0 if not, or refused"),
    column("utilization", "of the system as drawn"),
    column("tied_tasks", "tasks that may use one CPU only"),
    column("migrating_tasks", "tasks that may use several CPUs"),
    column("jobs", "jobs whose outcome is known at the end"),
    column("missed", "jobs that missed their deadline"),
    column("miss_ratio", "missed / jobs"),
    column("tardy_ratio", "completed after the deadline / completed"),
    column("mean_tardiness", "mean over completed jobs of tardiness / period"),
    column("max_tardiness", "largest tardiness / period; of pending jobs what is certain"),
    column("preemptions_per_job", "preemptions / jobs"),
    column("migrations", "executions on another CPU than the task's last one"),
    column("migrations_per_job", "migrations / jobs"),
    column("job_migrations_per_job", "of these, those of a job that already ran / jobs"),
    column("shifts_per_job", "running jobs that ran on at once on another CPU / jobs"),
    column("shifts_per_migration", "of the migrations, the share that are shifts"),
    column("moves_per_job", "changes of the run queue / jobs"),
    column("placements_per_job", "of these, when a thread became ready"),
    column("pushes_per_job", "of these, pushed"),
    column("pulls_per_job", "of these, pulled"),
    column("pushes", "changes of the run queue by a push"),
    column("throttles_per_job", "throttled servers / jobs"),
    column("forced_throttles_per_job", "throttled with a deadline in the past / jobs"),
    column("forced_throttles", "throttled with a deadline in the past"),
    column("bypasses_per_job", "replenished without being throttled / jobs"),
    column("bound", "the largest tardiness bound / period"),
    column("tardiness_over_bound", "the largest of the tasks' tardiness / bound"),
    column("response_over_bound", "the largest of the tasks' longest response time / bound"),
    column("mean_response_over_bound", "the mean of these over the tasks that have a bound"),
    column("events_per_job", "invocations of the scheduler on a CPU (see `observe.rs`) / jobs"),
    column("updates_per_job", "RUN and QPS: updates of a subsystem or hierarchy / jobs"),
    column(
        "server_updates_per_job",
        "RUN and QPS: servers that get a new window, or turn to another client / jobs",
    ),
    column("chain_steps_per_job", "QPS: masters that CPUs follow to a task / jobs"),
    column("mode_changes_per_job", "QPS: changes of the mode of a major set / jobs"),
    column("levels", "RUN and QPS: of the largest tree or hierarchy; 1 if it is partitioned"),
    column("mean_levels", "RUN and QPS: mean over the trees or hierarchies"),
    column(
        "clusters",
        "RUN and QPS: the number of trees or hierarchies, including CPUs that never run",
    ),
    column("pattern_jobs", "FJP tests: jobs of a busy period, if the analysis finds it"),
];

/// The columns of measured results that follow [`METRICS`]: decision times on one thread of this machine.
/// The *update* and the *selection* of a decision are its two halves
/// ([`Policy::update`](layland_policy::Policy::update)).
pub const MEASURED: &[Metric] = &[
    column("release_us", "mean time of a decision at which a job is released"),
    column("release_max_us", "the longest"),
    column("release_us_per_s", "all of them / simulated seconds"),
    column("schedule_us", "mean time of a decision at which none is"),
    column("schedule_max_us", "the longest"),
    column("schedule_us_per_s", "all of them / simulated seconds"),
    column("release_update_us", "mean time of the update in a decision at which a job is released"),
    column("release_update_max_us", "the longest"),
    column("release_update_us_per_s", "all of them / simulated seconds"),
    column("other_update_us", "mean time of the update in a decision at which none is"),
    column("other_update_max_us", "the longest"),
    column("other_update_us_per_s", "all of them / simulated seconds"),
    column("selection_us", "mean time of the selection in a decision"),
    column("selection_max_us", "the longest"),
    column("selection_us_per_s", "all of them / simulated seconds"),
    column("decision_us", "mean time of a decision"),
    column("overhead_us_per_job", "time of all decisions / jobs"),
    column("overhead_us_per_s", "time of all decisions / simulated seconds"),
];

/// The columns after [`MEASURED`], measured on real threads. *Decisions* are the policy's own time
/// in the manager.
pub const THREADED: &[Metric] = &[
    column("thread_release_us", "mean time of a decision at which a job is released"),
    column("thread_release_median_us", "the median"),
    column("thread_release_max_us", "the longest"),
    column("thread_release_us_per_s", "all of them / seconds"),
    column("thread_schedule_us", "mean time of a decision at which none is"),
    column("thread_schedule_median_us", "the median"),
    column("thread_schedule_max_us", "the longest"),
    column("thread_schedule_us_per_s", "all of them / seconds"),
    column("thread_release_update_us", "mean time of the update in a decision with a release"),
    column("thread_release_update_median_us", "the median"),
    column("thread_release_update_max_us", "the longest"),
    column("thread_release_update_us_per_s", "all of them / seconds"),
    column("thread_other_update_us", "mean time of the update in a decision without one"),
    column("thread_other_update_median_us", "the median"),
    column("thread_other_update_max_us", "the longest"),
    column("thread_other_update_us_per_s", "all of them / seconds"),
    column("thread_selection_us", "mean time of the selection in a decision"),
    column("thread_selection_median_us", "the median"),
    column("thread_selection_max_us", "the longest"),
    column("thread_selection_us_per_s", "all of them / seconds"),
    column("thread_lock_us", "mean time until a dispatcher of a CPU has the lock of its group"),
    column("thread_lock_median_us", "the median"),
    column("thread_lock_max_us", "the longest"),
    column("thread_lock_us_per_s", "all of them / seconds"),
    column("thread_enact_us", "mean time to demote, migrate and promote what a decision changed"),
    column("thread_enact_median_us", "the median"),
    column("thread_enact_max_us", "the longest"),
    column("thread_invocation_us", "mean time from the manager's wake-up to its next sleep"),
    column("thread_invocation_median_us", "the median"),
    column("thread_invocation_q999_us", "its 99.9th percentile"),
    column("thread_invocation_max_us", "the longest"),
    column("thread_invocation_cycles", "its mean, in cycles of the nominal frequency"),
    column("thread_invocation_max_cycles", "the longest, in cycles of the nominal frequency"),
    column("thread_invocations_per_job", "invocations / jobs"),
    column(
        "thread_step_us",
        "mean time of a release or an end by the thread, where threads do that",
    ),
    column("thread_step_median_us", "the median"),
    column("thread_step_max_us", "the longest"),
    column("thread_overhead_us_per_job", "time of all invocations, releases and ends / jobs"),
    column("thread_latency_us", "mean time from a release to the manager's clock"),
    column("thread_latency_median_us", "the median"),
    column("thread_latency_max_us", "the longest"),
    column("thread_completion_us", "mean time from the end of a job to the manager's clock"),
    column("thread_completion_median_us", "the median"),
    column("thread_completion_max_us", "the longest"),
    column("thread_switch_us", "mean time from a decision to a thread that stays on its CPU"),
    column("thread_switch_median_us", "the median"),
    column("thread_switch_max_us", "the longest"),
    column("thread_migration_us", "mean time from a decision to a thread from another CPU"),
    column("thread_migration_median_us", "the median"),
    column("thread_migration_max_us", "the longest"),
    column("thread_busy_us", "the time for which the CPUs are busy after a common release"),
    column("thread_overhead_percent", "the increase of that over the baseline"),
    column("thread_switches", "switches between threads in a busy period"),
    column("thread_miss_ratio", "missed / jobs"),
];

/// The origin of the values of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Computed: identical in every run.
    Computed,
    /// Measured: decision times on one thread of this machine.
    Timed,
    /// Measured on real threads of this machine.
    Threads,
}

/// The index of the metric with this name. Measured metrics come after the others.
pub fn metric(name: &str) -> Option<usize> {
    let all = METRICS.iter().chain(MEASURED).chain(THREADED);
    all.into_iter().position(|metric| metric.name == name)
}

/// The origin of the values of the metric with this name.
pub(crate) fn origin(name: &str) -> Origin {
    let is_of = |metrics: &[Metric]| metrics.iter().any(|metric| metric.name == name);
    match (is_of(MEASURED), is_of(THREADED)) {
        (true, _) => Origin::Timed,
        (_, true) => Origin::Threads,
        (false, false) => Origin::Computed,
    }
}

impl Statistic {
    /// Computes the statistic of values, each with the utilization of its system, in the order of
    /// the results; `None` if there are no values.
    pub fn of(self, values: &[(f64, f64)]) -> Option<f64> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let sum = || values.iter().map(|(value, _)| value).sum::<f64>();
        let sorted = || {
            let mut sorted: Vec<f64> = values.iter().map(|&(value, _)| value).collect();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        match self {
            Statistic::Mean => Some(sum() / count as f64),
            Statistic::Sum => Some(sum()),
            Statistic::Median => {
                let sorted = sorted();
                Some((sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0)
            }
            Statistic::Min => sorted().first().copied(),
            Statistic::Max => sorted().last().copied(),
            Statistic::Quantile(share) => Some(sorted()[rank(share, count as u64) as usize - 1]),
            Statistic::Weighted => {
                let weights: f64 = values.iter().map(|(_, weight)| weight).sum();
                let weighted: f64 = values.iter().map(|(value, weight)| value * weight).sum();
                (weights > 0.0).then(|| weighted / weights)
            }
        }
    }

    /// Computes the statistic of a distribution: values in ascending order, each with its number of
    /// occurrences. The weighted mean is the mean.
    pub fn of_counts(self, counts: &[(f64, u64)]) -> Option<f64> {
        let total: u64 = counts.iter().map(|(_, count)| count).sum();
        if total == 0 {
            return None;
        }
        let sum = || counts.iter().map(|&(value, count)| value * count as f64).sum::<f64>();
        let at = |rank: u64| {
            let mut seen = 0;
            counts.iter().find_map(|&(value, count)| {
                seen += count;
                (seen >= rank).then_some(value)
            })
        };
        match self {
            Statistic::Mean | Statistic::Weighted => Some(sum() / total as f64),
            Statistic::Sum => Some(sum()),
            Statistic::Median => Some((at(total.div_ceil(2))? + at(total / 2 + 1)?) / 2.0),
            Statistic::Min => at(1),
            Statistic::Max => at(total),
            Statistic::Quantile(share) => at(rank(share, total)),
        }
    }

    /// The statistic with this name: `mean`, `median`, `min`, `max`, `sum`, `weighted`, or `q0.99`.
    pub fn parse(name: &str) -> Option<Statistic> {
        Some(match name {
            "mean" => Statistic::Mean,
            "median" => Statistic::Median,
            "min" => Statistic::Min,
            "max" => Statistic::Max,
            "sum" => Statistic::Sum,
            "weighted" => Statistic::Weighted,
            _ => {
                let share = name.strip_prefix('q')?.parse().ok()?;
                (share > 0.0 && share <= 1.0).then_some(Statistic::Quantile(share))?
            }
        })
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Mean => f.pad("mean"),
            Statistic::Median => f.pad("median"),
            Statistic::Min => f.pad("min"),
            Statistic::Max => f.pad("max"),
            Statistic::Sum => f.pad("sum"),
            Statistic::Weighted => f.pad("weighted"),
            Statistic::Quantile(share) => write!(f, "q{share}"),
        }
    }
}

/// The nearest rank, from 1.
fn rank(share: f64, count: u64) -> u64 {
    ((share * count as f64).ceil() as u64).clamp(1, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_what_they_are_called() {
        let values: Vec<(f64, f64)> = [4.0, 1.0, 3.0, 2.0].map(|x| (x, x)).to_vec();
        let counts: Vec<(f64, u64)> = [1.0, 2.0, 3.0, 4.0].map(|x| (x, 1)).to_vec();
        for (name, expected) in [
            ("mean", 2.5),
            ("median", 2.5),
            ("min", 1.0),
            ("max", 4.0),
            ("sum", 10.0),
            ("q0.75", 3.0),
            ("q0.01", 1.0),
            ("q1", 4.0),
        ] {
            let statistic = Statistic::parse(name).unwrap();
            assert_eq!(statistic.of(&values), Some(expected), "{name}");
            assert_eq!(statistic.of_counts(&counts), Some(expected), "{name}");
            assert_eq!(statistic.to_string(), name);
            assert_eq!((statistic.of(&[]), statistic.of_counts(&[])), (None, None));
        }
        assert_eq!(Statistic::Median.of(&values[..3]), Some(3.0));
        let weighted = [(1.0, 1.0), (0.0, 3.0)];
        assert_eq!(Statistic::Weighted.of(&weighted), Some(0.25));
        for name in ["q0", "q1.5", "q", "average"] {
            assert_eq!(Statistic::parse(name), None, "{name}");
        }
    }

    #[test]
    fn metrics_have_names_of_their_own() {
        for (at, each) in METRICS.iter().chain(MEASURED).chain(THREADED).enumerate() {
            assert_eq!(metric(each.name), Some(at));
        }
    }
}
