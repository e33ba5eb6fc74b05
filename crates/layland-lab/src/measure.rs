//! One system under one policy or analysis: a [`Row`].

use crate::metric::{METRICS, metric};
use crate::recurring::{Counted, counted};
use crate::series::{Measured, Series, SeriesBound};
use crate::structure::{Structure, structure};
use layland_analysis::{
    Assumption, Finding, Reason, Refusal, SchedulabilityTest, Tardiness, Verdict, catalogue,
};
use layland_guarantee::{AssessOptions, Bound, BoundsBy, Findings, Wanted};
use layland_model::{Duration, Rate, System, Task, TaskMap};
use layland_policy::Registry;
use layland_sim::{Horizon, SimError};
use layland_trace::TaskCounters;
use std::sync::atomic::AtomicBool;

/// The results of one system under one series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The number of the system among those of its point.
    pub set: u64,
    /// The index of the series.
    pub series: usize,
    /// The reason why values are missing: the policy refused the system, or the test does not
    /// apply.
    pub refused: Option<String>,
    /// The value of each metric, in the order of [`METRICS`]; `None` if it does not exist.
    pub values: Vec<Option<f64>>,
    /// The number of jobs for each tardiness, in thousandths of a period, if requested.
    pub tardiness: Vec<(u64, u64)>,
}

impl Row {
    pub(crate) fn put(&mut self, name: &str, value: f64) {
        self.values[metric(name).expect("the metric exists")] = Some(value);
    }
}

/// The conditions that all rows of an experiment share.
#[derive(Clone, Copy)]
pub(crate) struct Conditions<'a> {
    pub registry: &'a Registry,
    pub horizon: Horizon,
    /// True if jobs are counted by their tardiness.
    pub distribution: bool,
    pub interrupt: Option<&'a AtomicBool>,
}

/// A system, with the facts that are computed once for all series that use it unchanged.
pub(crate) struct Shared<'a> {
    system: &'a System,
    utilization: f64,
    /// The number of tasks that may use only one CPU.
    tied: usize,
    /// The assumptions that were found to hold.
    kept: Vec<Assumption>,
}

impl<'a> Shared<'a> {
    pub(crate) fn of(system: &'a System) -> Shared<'a> {
        let cpus = |task: &'a Task| {
            task.affinity.as_ref().unwrap_or(&system.platform.clusters[task.cluster])
        };
        Shared {
            system,
            utilization: system.utilization().to_f64(),
            tied: system.tasks.values().filter(|task| cpus(task).len() == 1).count(),
            kept: Vec::new(),
        }
    }

    /// Like [`SchedulabilityTest::run`], but checks each assumption only once.
    fn run(&mut self, test: &SchedulabilityTest) -> Result<Finding, Refusal> {
        for &assumption in test.assumptions.iter().chain(test.also_assumes()) {
            if !self.kept.contains(&assumption) {
                assumption.check(self.system)?;
                self.kept.push(assumption);
            }
        }
        Ok(test.run_unchecked(self.system))
    }
}

/// Measures one system. Returns `None` if the simulation was interrupted.
///
/// # Errors
/// Returns an error if the simulation cannot start.
pub(crate) fn measure(
    shared: &mut Shared<'_>,
    set: u64,
    series: (usize, &Series),
    seed: u64,
    conditions: &Conditions<'_>,
) -> Result<Option<Row>, SimError> {
    match series.1.seen(shared.system) {
        Some(other) => measure_as_seen(&mut Shared::of(&other), set, series, seed, conditions),
        None => measure_as_seen(shared, set, series, seed, conditions),
    }
}

fn measure_as_seen(
    shared: &mut Shared<'_>,
    set: u64,
    (at, series): (usize, &Series),
    seed: u64,
    conditions: &Conditions<'_>,
) -> Result<Option<Row>, SimError> {
    let system = shared.system;
    let mut row = Row { set, series: at, values: vec![None; METRICS.len()], ..Row::default() };
    row.put("utilization", shared.utilization);
    row.put("tied_tasks", shared.tied as f64);
    row.put("migrating_tasks", (system.tasks.len() - shared.tied) as f64);
    let spec = match &series.measured {
        Measured::Test(name) => {
            let test = catalogue::test(name).expect("the test was looked up when it was read");
            match shared.run(test) {
                Ok(finding) => {
                    row.put("accepted", f64::from(finding.verdict == Verdict::Yes));
                    let jobs = finding.reasons.iter().filter_map(|reason| match reason {
                        Reason::JobPattern { jobs, .. } => Some(*jobs as f64),
                        _ => None,
                    });
                    if let Some(jobs) = jobs.reduce(|sum, jobs| sum + jobs) {
                        row.put("pattern_jobs", jobs);
                    }
                }
                Err(refusal) => row.refused = Some(refusal.to_string()),
            }
            return Ok(Some(row));
        }
        Measured::Guarantee(spec) => {
            let options = layland_guarantee::AssessOptions::by_tests();
            match layland_guarantee::assess(conditions.registry, spec, system, &options) {
                Ok(found) => {
                    let is_guaranteed = found.verdict == Verdict::Yes;
                    row.put("accepted", f64::from(is_guaranteed));
                    row.refused = (!is_guaranteed).then(|| found.reasons.join("; "));
                }
                Err(error) => row.refused = Some(error.to_string()),
            }
            return Ok(Some(row));
        }
        Measured::Structure(spec) => {
            match structure(conditions.registry, spec, system) {
                Ok(found) => put_structure(&mut row, found),
                Err(reason) => row.refused = Some(reason),
            }
            return Ok(Some(row));
        }
        Measured::Policy(spec) => spec,
    };
    let policy = match conditions.registry.build(spec, system) {
        Ok(policy) => policy,
        Err(error) => {
            row.put("accepted", 0.0);
            row.refused = Some(error.to_string());
            return Ok(Some(row));
        }
    };
    let Some(counted) = counted(system, &policy, seed, conditions)? else { return Ok(None) };
    fill(&mut row, system, &counted);
    let observer = &counted.observer;
    if observer.due > 0 {
        let per_job = |count: u64| count as f64 / observer.due as f64;
        row.put("events_per_job", per_job(observer.changes));
        for count in &counted.counts {
            match count.name {
                "events" => row.put("events_per_job", per_job(count.count)),
                "updates" => row.put("updates_per_job", per_job(count.count)),
                "server_updates" => row.put("server_updates_per_job", per_job(count.count)),
                "chain_steps" => row.put("chain_steps_per_job", per_job(count.count)),
                "mode_changes" => row.put("mode_changes_per_job", per_job(count.count)),
                _ => {}
            }
        }
    }
    if let Ok(found) = structure(conditions.registry, spec, system) {
        put_structure(&mut row, found);
    }
    match &series.bound {
        Some(SeriesBound::Tardiness(name)) => {
            put_tardiness(&mut row, system, &counted.tasks, name);
        }
        Some(SeriesBound::Check) => {
            put_responses(&mut row, system, &counted.tasks, (conditions.registry, spec));
        }
        None => {}
    }
    row.tardiness = counted.observer.bins.unwrap_or_default().into_iter().collect();
    Ok(Some(row))
}

/// Compares the tardiness of each task with a bound.
fn put_tardiness(row: &mut Row, system: &System, seen: &TaskMap<TaskCounters>, name: &str) {
    let bound = catalogue::bound(name).expect("the bound was looked up when it was read");
    match bound.run(system) {
        Ok(Tardiness::Bounded(bounds)) => {
            let over = |at: &dyn Fn(&Rate, Duration, i64) -> f64| {
                let each = bounds.values().map(|bound| {
                    let period = system.tasks[bound.task].period;
                    at(&bound.tardiness, period, worst(&seen[bound.task]).ns())
                });
                each.fold(0.0, f64::max)
            };
            row.put("bound", over(&|bound, period, _| bound.to_f64() / period.ns() as f64));
            let share = |bound: &Rate, _, seen: i64| match seen {
                0 => 0.0,
                seen => (&Rate::whole(seen) / bound).to_f64(),
            };
            row.put("tardiness_over_bound", over(&share));
        }
        Ok(Tardiness::Unknown(reasons)) => {
            let why: Vec<String> = reasons.iter().map(|reason| reason.describe(system)).collect();
            row.refused = Some(format!("{} gives no bound: {}", bound.name, why.join("; ")));
        }
        Err(refusal) => row.refused = Some(format!("{}: {refusal}", bound.name)),
    }
}

/// Compares the response times of each task with the bounds of `layland check`.
fn put_responses(
    row: &mut Row,
    system: &System,
    seen: &TaskMap<TaskCounters>,
    (registry, spec): (&Registry, &str),
) {
    let wanted = Wanted { findings: Findings::Verdict, bounds: BoundsBy::All, ..Wanted::default() };
    let options = AssessOptions { wanted, ..AssessOptions::by_tests() };
    let Ok(found) = layland_guarantee::assess(registry, spec, system, &options) else { return };
    let shares: Vec<f64> = found
        .bounds
        .iter()
        .filter_map(|(task, bound)| match (bound, seen[task].max_response) {
            (Bound::Response { within, .. }, Some(response)) => {
                Some(response.ns() as f64 / within.ns() as f64)
            }
            _ => None,
        })
        .collect();
    if !shares.is_empty() {
        row.put("response_over_bound", shares.iter().copied().fold(0.0, f64::max));
        row.put("mean_response_over_bound", shares.iter().sum::<f64>() / shares.len() as f64);
    }
}

fn put_structure(row: &mut Row, found: Option<Structure>) {
    let Some(found) = found else { return };
    row.put("levels", found.largest() as f64);
    row.put("mean_levels", found.mean());
    row.put("clusters", found.levels.len() as f64);
}

/// The largest tardiness that is certain, including that of pending jobs.
fn worst(counters: &TaskCounters) -> Duration {
    counters.max_tardiness.max(counters.overdue)
}

fn fill(row: &mut Row, system: &System, counted: &Counted) {
    let Counted { tasks: counters, observer: seen, .. } = counted;
    let total = TaskCounters::total(counters.values());
    let jobs = seen.due;
    row.put("accepted", f64::from(total.missed == 0));
    row.put("jobs", jobs as f64);
    row.put("missed", total.missed as f64);
    row.put("migrations", total.migrations as f64);
    row.put("pushes", seen.pushed as f64);
    row.put("forced_throttles", seen.forced as f64);
    let in_periods = |ns: i128, period: Duration| ns as f64 / period.ns() as f64;
    let tasks = || system.tasks.iter();
    let max = tasks().map(|(id, task)| in_periods(worst(&counters[id]).ns().into(), task.period));
    row.put("max_tardiness", max.fold(0.0, f64::max));
    if total.completed > 0 {
        row.put("tardy_ratio", total.tardy as f64 / total.completed as f64);
        let sum: f64 =
            tasks().map(|(id, task)| in_periods(seen.tardiness_ns[id], task.period)).sum();
        row.put("mean_tardiness", sum / total.completed as f64);
    }
    if total.migrations > 0 {
        row.put("shifts_per_migration", total.shifts as f64 / total.migrations as f64);
    }
    if jobs == 0 {
        return;
    }
    for (name, count) in [
        ("miss_ratio", total.missed),
        ("preemptions_per_job", total.preemptions),
        ("migrations_per_job", total.migrations),
        ("job_migrations_per_job", total.migrations_within_jobs),
        ("shifts_per_job", total.shifts),
        ("moves_per_job", seen.moves),
        ("placements_per_job", seen.placed),
        ("pushes_per_job", seen.pushed),
        ("pulls_per_job", seen.pulled),
        ("throttles_per_job", seen.throttled),
        ("forced_throttles_per_job", seen.forced),
        ("bypasses_per_job", seen.bypassed),
    ] {
        row.put(name, count as f64 / jobs as f64);
    }
}
