//! The decision times of policies. They are measured on this machine while policies drive
//! simulations, one simulation after the other, on one thread.
//!
//! A *decision* is all work of a policy for one instant: it absorbs the events and decides. Its
//! time is that of these calls. It includes clock readings, whose cost is measured and stated. The
//! time of the simulator between two decisions is not counted, but the policy finds the caches as
//! the simulator left them. Decisions at which a job is released are listed separately.
//!
//! A decision has two halves: the *update*, which absorbs the events and brings the state of the policy
//! up to date ([`Policy::update`]), and the *selection* of jobs. In a kernel the update at a release is the
//! release primitive, the other updates happen where a budget is used up, and the selection is the
//! schedule primitive (Compagnin, Mezzetti, Vardanega 2015, Section V-B: REL, TUP, SCHED).
//!
//! Measured times are never the same twice. They are kept apart from the results, in
//! `measured.csv`, `measured.txt` and the figures in `measured/`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this measures times; nothing else depends on them"
)]

use crate::claim::judge_of;
use crate::experiment::{Experiment, Statistic};
use crate::measure::Row;
use crate::metric::{MEASURED, METRICS, Origin};
use crate::results::{CellRows, GridRows, Results};
use crate::run::LabError;
use crate::series::Measured;
use crate::systems::Systems;
use crate::table::{aligned, claims_list};
use hdrhistogram::Histogram;
use hdrhistogram::iterators::IterationValue;
use layland_interchange::columns::{Column, Columns};
use layland_model::{Duration, ScheduleRule, Time};
use layland_policy::{Action, Count, Event, Needs, Policy, Registry, State};
use layland_sim::{SimOptions, simulate};
use layland_trace::Counters;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The statistics of the decisions of a series that are shown.
const SHOWN: [Statistic; 6] = [
    Statistic::Median,
    Statistic::Quantile(0.95),
    Statistic::Quantile(0.99),
    Statistic::Quantile(0.999),
    Statistic::Max,
    Statistic::Mean,
];

/// The measured times of an experiment.
#[derive(Clone, Debug)]
pub struct Timings {
    /// The cost of one reading of the clock, in nanoseconds: the median of many.
    pub clock_ns: u64,
    /// The times by grid, point and series.
    pub points: Vec<TimedPoint>,
    /// The times by system, with the metrics of [`MEASURED`](crate::MEASURED).
    pub rows: Results,
}

/// The times of the decisions of one series at one point.
#[derive(Clone, Debug)]
pub struct TimedPoint {
    /// The index of the grid.
    pub grid: usize,
    /// The value of each axis.
    pub values: Vec<String>,
    /// The index of the series.
    pub series: usize,
    /// The nanoseconds of each decision, to three digits.
    pub costs: Histogram<u64>,
    /// The nanoseconds by system: each time with its number of decisions.
    pub systems: Vec<Vec<(u64, u64)>>,
}

/// The times of some decisions of one system.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    total_ns: u64,
    max_ns: u64,
}

impl Sum {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    fn and(self, other: Sum) -> Sum {
        Sum {
            count: self.count + other.count,
            total_ns: self.total_ns + other.total_ns,
            max_ns: self.max_ns.max(other.max_ns),
        }
    }

    fn mean_us(self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns as f64 / self.count as f64 / 1e3)
    }
}

/// The times of the decisions of one system.
struct Costs {
    all: Histogram<u64>,
    /// The decisions at which a job was released, and the others.
    releases: Sum,
    others: Sum,
    /// Their first halves, and the second halves of both.
    release_updates: Sum,
    other_updates: Sum,
    selections: Sum,
}

impl Costs {
    fn new() -> Costs {
        let sum = Sum::default;
        Costs {
            all: histogram(),
            releases: sum(),
            others: sum(),
            release_updates: sum(),
            other_updates: sum(),
            selections: sum(),
        }
    }

    fn add(&mut self, update_ns: u64, selection_ns: u64, is_release: bool) {
        let whole = update_ns + selection_ns;
        self.all.record(whole).expect("the histogram resizes itself");
        self.selections.add(selection_ns);
        let (wholes, updates) = if is_release {
            (&mut self.releases, &mut self.release_updates)
        } else {
            (&mut self.others, &mut self.other_updates)
        };
        wholes.add(whole);
        updates.add(update_ns);
    }

    /// Fills the metrics of a row.
    fn fill(&self, row: &mut Row, jobs: u64, simulated: Duration) {
        let all = self.releases.and(self.others);
        let seconds = simulated.ns() as f64 / 1e9;
        for (mean, max, rate, sum) in [
            ("release_us", "release_max_us", "release_us_per_s", self.releases),
            ("schedule_us", "schedule_max_us", "schedule_us_per_s", self.others),
            (
                "release_update_us",
                "release_update_max_us",
                "release_update_us_per_s",
                self.release_updates,
            ),
            ("other_update_us", "other_update_max_us", "other_update_us_per_s", self.other_updates),
            ("selection_us", "selection_max_us", "selection_us_per_s", self.selections),
        ] {
            if let Some(us) = sum.mean_us() {
                row.put(mean, us);
                row.put(max, sum.max_ns as f64 / 1e3);
            }
            row.put(rate, sum.total_ns as f64 / 1e3 / seconds);
        }
        if let Some(us) = all.mean_us() {
            row.put("decision_us", us);
        }
        row.put("overhead_us_per_s", all.total_ns as f64 / 1e3 / seconds);
        if jobs > 0 {
            row.put("overhead_us_per_job", all.total_ns as f64 / 1e3 / jobs as f64);
        }
    }
}

/// A policy whose decisions are timed.
#[derive(Clone)]
struct Timed<P> {
    policy: P,
    /// The time spent on the current decision, in nanoseconds.
    spent: u64,
    /// True if a job is released at this decision.
    releases: bool,
    costs: Arc<Mutex<Costs>>,
}

impl<P> Timed<P> {
    /// Returns the policy to simulate, and the costs of its decisions.
    fn new(policy: P) -> (Timed<P>, Arc<Mutex<Costs>>) {
        let costs = Arc::new(Mutex::new(Costs::new()));
        (Timed { policy, spent: 0, releases: false, costs: Arc::clone(&costs) }, costs)
    }
}

impl<P: Policy + Clone + 'static> Policy for Timed<P> {
    fn on_event(&mut self, now: Time, event: Event) {
        // The bookkeeping is outside the timed section.
        self.releases |= matches!(event, Event::Release { .. });
        let start = Instant::now();
        self.policy.on_event(now, event);
        self.spent += nanoseconds(start);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        let start = Instant::now();
        self.policy.update(now);
        let updated = Instant::now();
        self.policy.decide(now, actions);
        let selection = nanoseconds(updated);
        let update = std::mem::take(&mut self.spent) + between(start, updated);
        let releases = std::mem::take(&mut self.releases);
        let mut costs = self.costs.lock().expect("no thread panics with it");
        costs.add(update, selection, releases);
    }
    fn save(&self, now: Time, state: &mut State) {
        self.policy.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.policy.needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.policy.rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.policy.counts()
    }
}

fn nanoseconds(start: Instant) -> u64 {
    between(start, Instant::now())
}

fn between(start: Instant, end: Instant) -> u64 {
    u64::try_from((end - start).as_nanos()).unwrap_or(u64::MAX)
}

fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are a valid precision")
}

fn clock_ns() -> u64 {
    let mut costs = histogram();
    for _ in 0..100_000 {
        costs.record(nanoseconds(Instant::now())).expect("the histogram resizes itself");
    }
    costs.value_at_quantile(0.5)
}

/// Measures the times that the experiment requests, on the calling thread. Returns `None` if it
/// requests none, or if the measurement is interrupted. After each point, `tell` is called with the
/// number of completed points and the total.
///
/// # Errors
/// Returns an error if a system cannot be drawn or simulated.
pub fn time(
    experiment: &Experiment,
    registry: &Registry,
    interrupt: Option<&AtomicBool>,
    tell: &dyn Fn(usize, usize),
) -> Result<Option<Timings>, LabError> {
    let Some(timing) = &experiment.timing else { return Ok(None) };
    let mut found = Timings { clock_ns: clock_ns(), points: Vec::new(), rows: Results::default() };
    let grids = || {
        let all = experiment.grids.iter().enumerate();
        all.filter(|&(at, _)| !experiment.is_for_threads(at))
    };
    let total: usize = grids().map(|(_, grid)| grid.cells().len()).sum();
    let mut done = 0;
    for (at, grid) in grids() {
        let mut cells = Vec::new();
        for cell in grid.cells() {
            let systems = Systems::new(experiment, grid, &cell)?;
            for &series in &grid.series {
                let point = TimedPoint {
                    grid: at,
                    values: cell.values.clone(),
                    series,
                    costs: histogram(),
                    systems: Vec::new(),
                };
                found.points.push(point);
            }
            let first = found.points.len() - grid.series.len();
            let mut rows = Vec::new();
            for set in 0..timing.sets {
                let system = systems.draw(set)?;
                for point in &mut found.points[first..] {
                    let series = &experiment.series[point.series];
                    let Measured::Policy(spec) = &series.measured else { continue };
                    let seen = series.seen(&system);
                    let system = seen.as_ref().unwrap_or(&system);
                    let Ok(policy) = registry.build(spec, system) else { continue };
                    let (timed, costs) = Timed::new(policy);
                    let mut counters =
                        Counters::new(system.tasks.len(), system.platform.cpu_count());
                    let options = SimOptions {
                        horizon: timing.horizon,
                        seed: systems.run_seed(set),
                        interrupt,
                        ..SimOptions::until(Time::ZERO)
                    };
                    let outcome = simulate(system, timed, &mut counters, &options);
                    let outcome = outcome.map_err(|error| systems.not_simulated(error))?;
                    if interrupt.is_some_and(|interrupt| interrupt.load(Ordering::SeqCst)) {
                        return Ok(None);
                    }
                    let costs = costs.lock().expect("no thread panics with it");
                    point.costs.add(&costs.all).expect("a histogram resizes itself");
                    let times = costs.all.iter_recorded();
                    let time =
                        |at: IterationValue<u64>| (at.value_iterated_to(), at.count_at_value());
                    point.systems.push(times.map(time).collect());
                    let values = vec![None; METRICS.len() + MEASURED.len()];
                    let mut row = Row { set, series: point.series, values, ..Row::default() };
                    row.put("utilization", system.utilization().to_f64());
                    let released = counters.total().released;
                    costs.fill(&mut row, released, outcome.end.since_start());
                    rows.push(row);
                }
            }
            let seed = systems.seed;
            cells.push(CellRows { values: cell.values, seed, rows });
            done += 1;
            tell(done, total);
        }
        found.rows.grids.push(GridRows { grid: at, cells });
    }
    found.points.retain(|point| !point.costs.is_empty());
    Ok(Some(found))
}

/// The statistic in microseconds.
fn of(statistic: Statistic, costs: &Histogram<u64>) -> f64 {
    let ns = match statistic {
        Statistic::Mean | Statistic::Sum | Statistic::Weighted => costs.mean(),
        Statistic::Median => costs.value_at_quantile(0.5) as f64,
        Statistic::Min => costs.min() as f64,
        Statistic::Max => costs.max() as f64,
        Statistic::Quantile(share) => costs.value_at_quantile(share) as f64,
    };
    ns / 1e3
}

impl Timings {
    /// The times of all decisions of a series.
    pub fn pooled(&self, series: usize) -> Histogram<u64> {
        let mut all = histogram();
        for point in self.points.iter().filter(|point| point.series == series) {
            all.add(&point.costs).expect("a histogram resizes itself");
        }
        all
    }

    /// The columns of `measured.csv`: a line per point and series, times in microseconds.
    pub(crate) fn table(&self, experiment: &Experiment) -> Columns {
        let mut columns =
            Columns::new(crate::results::SCHEMA).with("provenance", experiment.provenance());
        let text = |of: &dyn Fn(&TimedPoint) -> String| {
            Column::Text(self.points.iter().map(|point| Some(of(point))).collect())
        };
        columns.push("point", text(&|point| named(experiment, point)));
        columns.push("series", text(&|point| experiment.series[point.series].name.clone()));
        let counts = self.points.iter().map(|point| i64::try_from(point.costs.len()).ok());
        columns.push("decisions", Column::Int(counts.collect()));
        for statistic in SHOWN {
            let values = self.points.iter().map(|point| Some(of(statistic, &point.costs)));
            columns.push(&format!("{statistic}_us"), Column::Real(values.collect()));
        }
        columns
    }

    /// Formats the times: all decisions of each series beside the values of the source, each point,
    /// and the claims. Claims about figures of measured times come first.
    pub fn text(&self, experiment: &Experiment) -> String {
        let Some(timing) = &experiment.timing else { return String::new() };
        let mut out = format!(
            "measured times of decisions, in microseconds; they differ from run to run and from machine \
             to machine\n{} systems per point, one thread, after each other; a reading of the clock takes \
             {} ns, and each event of a decision has one\n\n",
            timing.sets, self.clock_ns
        );
        let heading = |first: &[&str]| -> Vec<String> {
            let names = SHOWN.iter().map(Statistic::to_string);
            first.iter().map(|&name| name.to_owned()).chain(names).collect()
        };
        let us = |value: f64| format!("{value:.2}");
        let times = |costs: &Histogram<u64>| SHOWN.map(|statistic| us(of(statistic, costs)));
        let mut rows = vec![heading(&["series", "decisions"])];
        for (at, series) in experiment.series.iter().enumerate() {
            let costs = self.pooled(at);
            if costs.is_empty() {
                continue;
            }
            let first = [format!("{}, here", series.label), costs.len().to_string()];
            rows.push(first.into_iter().chain(times(&costs)).collect());
            let reported = |statistic: &Statistic| {
                let said = timing.reported.iter();
                said.filter(|said| said.series == at && said.statistic == *statistic)
                    .map(|said| us(said.us))
                    .next_back()
                    .unwrap_or("-".to_owned())
            };
            if timing.reported.iter().any(|said| said.series == at) {
                let first = [format!("{}, in the source", series.label), "-".to_owned()];
                rows.push(first.into_iter().chain(SHOWN.iter().map(reported)).collect());
            }
        }
        out += &aligned(&rows, &[false, true, true, true, true, true, true, true]);
        let mut rows = vec![heading(&["point", "series", "decisions"])];
        for point in &self.points {
            let first = [
                named(experiment, point),
                experiment.series[point.series].label.clone(),
                point.costs.len().to_string(),
            ];
            rows.push(first.into_iter().chain(times(&point.costs)).collect());
        }
        out += "\n";
        out += &aligned(&rows, &[false, false, true, true, true, true, true, true, true]);
        out += &judged::text(self, experiment, timing);
        let judged = judge_of(experiment, &self.rows, Origin::Timed);
        if judged.is_empty() { out } else { claims_list(experiment, &judged) + "\n" + &out }
    }
}

/// Formats the grid and the values of its axes.
fn named(experiment: &Experiment, point: &TimedPoint) -> String {
    let grid = &experiment.grids[point.grid];
    let axes = grid.axes.iter().zip(&point.values);
    let values: Vec<String> = axes.map(|((axis, _), value)| format!("{axis} {value}")).collect();
    format!("{}: {}", grid.name, values.join(", "))
}

mod judged;
pub use judged::{JudgedStatistic, JudgedTimes};

#[cfg(test)]
mod tests;
