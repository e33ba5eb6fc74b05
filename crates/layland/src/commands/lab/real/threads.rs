//! Measures the costs of policies on real threads. The header of
//! `crates/layland-lab/src/threads/mod.rs` has the method and its source.

use super::busy::{BusyPeriod, busy, busy_periods, end};
use super::{OnThreads, times};
use layland_analysis::{Verdict, catalogue};
use layland_interchange::kernel::{Threads as Known, read, switches};
use layland_lab::{
    Cell, Costs, Experiment, LabError, ManagerTimers, Measured, Move, Systems, ThreadRun,
    ThreadRuns, Threads,
};
use layland_linux::trace::View;
use layland_linux::tracefs::Instance;
use layland_linux::{
    Changes, Dispatch, FifoOptions, Hosts, Locks, Machine, ManagerPlace, Margin, Markers, Outcome,
    Recorder, RunError, Timers, adjustments, run, usable_cpus, with_slack,
};
use layland_model::{Duration, ExecutionModel, Rate, System, Time};
use layland_policy::Registry;
use layland_trace::Counters;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bounds exceed the execution times by one part in 20.
const SLACK: i64 = 20;
/// The maximum number of systems that are drawn until the tests accept one.
const TRIES: u64 = 10_000;
/// The maximum length of the run with a trace of the kernel.
const TRACED: Duration = Duration::from_secs(10);
/// The size of the kernel's buffer per CPU, in kilobytes.
const BUFFER_KB: u32 = 8192;
/// The number of invocations of the manager for each number of moved threads.
const ROUNDS: u32 = 500;

fn costs(measured: &layland_linux::Measured) -> Costs {
    Costs {
        release: times(&measured.release_decision),
        schedule: times(&measured.other_decision),
        release_update: times(&measured.release_update),
        other_update: times(&measured.other_update),
        selection: times(&measured.selection),
        lock: times(&measured.lock),
        enact: times(&measured.enact),
        invocation: times(&measured.invocation),
        step: times(&measured.step),
        latency: times(&measured.release),
        completion: times(&measured.completion),
        switch: times(&measured.switch),
        migration: times(&measured.migration),
    }
}

/// The frequency of the first CPU as reported by the kernel.
fn mhz() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split(':').nth(1)?.trim().parse().ok()
}

/// The reason why a measurement stops.
enum Stop {
    Interrupted,
    Needs(String),
    Failed(LabError),
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Stop {
        Stop::Needs(format!("{error} ({})", error.help()))
    }
}

pub(super) fn measure(
    experiment: &Experiment,
    registry: &Registry,
    threads: &Threads,
    interrupt: &AtomicBool,
    tell: &dyn Fn(usize, usize),
) -> Result<OnThreads<ThreadRuns>, LabError> {
    let bench = Bench { experiment, registry, threads, interrupt };
    match bench.all(tell) {
        Ok(runs) => Ok(OnThreads::Measured(runs)),
        Err(Stop::Interrupted) => Ok(OnThreads::Interrupted),
        Err(Stop::Needs(what)) => Ok(OnThreads::Needs(what)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

struct Bench<'a> {
    experiment: &'a Experiment,
    registry: &'a Registry,
    threads: &'a Threads,
    interrupt: &'a AtomicBool,
}

impl Bench<'_> {
    fn all(&self, tell: &dyn Fn(usize, usize)) -> Result<ThreadRuns, Stop> {
        let grid = &self.experiment.grids[self.threads.grid];
        let cells = grid.cells();
        let sets = self.threads.sets;
        let total = cells.len() * grid.series.len() * sets as usize;
        let mut found = ThreadRuns {
            machine: String::new(),
            mhz: mhz(),
            runs: Vec::new(),
            moves: Vec::new(),
            remarks: Vec::new(),
        };
        let (mut done, mut places) = (0, Vec::new());
        for (cell, set) in cells.iter().flat_map(|cell| (0..sets).map(move |set| (cell, set))) {
            let system = self.system(cell, set).map_err(Stop::Failed)?;
            let (hosts, _changes) = self.hosts(&system)?;
            let place = hosts.to_string();
            if !places.contains(&place) {
                places.push(place);
            }
            // Run the baseline first: its busy periods are the ones that are compared.
            let mut order = grid.series.clone();
            order.sort_by_key(|&series| series != self.threads.baseline);
            let mut periods = None;
            for series in order {
                if let Measured::Policy(spec) = &self.experiment.series[series].measured {
                    let remarks = &mut found.remarks;
                    match self.one(
                        &system,
                        spec,
                        &hosts,
                        (cell, set, series),
                        (&mut periods, remarks),
                    )? {
                        Ok(run) => found.runs.push(run),
                        Err(remark) => remarks.push(remark),
                    }
                }
                done += 1;
                tell(done, total);
            }
        }
        found.machine = format!("kernel {}, {}", Machine::probe().kernel, places.join("; or "));
        let place = |run: &ThreadRun| {
            let cell = cells.iter().position(|cell| cell.values == run.values);
            (cell, run.set, grid.series.iter().position(|&series| series == run.series))
        };
        found.runs.sort_by_key(place);
        found.remarks.sort();
        found.remarks.dedup();
        if self.threads.moved > 0 {
            let usable = usable_cpus().map_err(|error| Stop::Needs(error.to_string()))?;
            let cpu = usable.last().copied().unwrap_or(0);
            found.moves = adjustments(cpu, self.threads.moved, ROUNDS)?
                .iter()
                .map(|moved| Move {
                    threads: moved.threads,
                    preemption: times(&moved.preemption),
                    first: times(&moved.first),
                    further: times(&moved.further),
                    back: times(&moved.back),
                })
                .collect();
        }
        Ok(found)
    }

    /// Draws a system of a point: the one with this number among those that every test accepts.
    fn system(&self, cell: &Cell, number: u64) -> Result<System, LabError> {
        let grid = &self.experiment.grids[self.threads.grid];
        let systems = Systems::new(self.experiment, grid, cell)?;
        let tests = self.threads.accepted_by.iter().filter_map(|name| catalogue::test(name));
        let tests: Vec<_> = tests.collect();
        let mut accepted = 0;
        for set in 0..TRIES {
            let mut system = systems.draw(set)?;
            if let Some(level) = self.threads.level {
                let tasks = system.tasks.values_mut();
                tasks.for_each(|task| task.execution = ExecutionModel::Level(level));
            }
            // A budget equal to the execution times would be used up by the switches to the jobs.
            let system = with_slack(&system, &Margin::Fraction(Rate::new(1, SLACK)));
            let accepts = |test: &&layland_analysis::SchedulabilityTest| {
                test.run(&system).is_ok_and(|finding| finding.verdict == Verdict::Yes)
            };
            if tests.iter().all(accepts) {
                if accepted == number {
                    return Ok(system);
                }
                accepted += 1;
            }
        }
        let names = self.threads.accepted_by.join(", ");
        Err(systems.failed(format!("of {TRIES} systems {accepted} are accepted by {names}")))
    }

    /// Reserves the CPUs of the runs for as long as the returned changes live.
    fn hosts(&self, system: &System) -> Result<(Hosts, Changes), Stop> {
        let usable = usable_cpus().map_err(|error| Stop::Needs(error.to_string()))?;
        let cpus = system.platform.cpu_count();
        let mut changes =
            Changes::begin("layland lab run", Duration::MAX).map_err(RunError::from)?;
        // Where every CPU has a dispatcher, no other CPU is needed for one.
        let place = if self.threads.is_per_cpu { ManagerPlace::Shared } else { ManagerPlace::Auto };
        let (hosts, _) = Hosts::claim(&mut changes, cpus, &usable, place)?;
        Ok((hosts, changes))
    }

    fn one(
        &self,
        system: &System,
        spec: &str,
        hosts: &Hosts,
        (cell, set, series): (&Cell, u64, usize),
        (periods, remarks): (&mut Option<BTreeMap<u64, BusyPeriod>>, &mut Vec<String>),
    ) -> Result<Result<ThreadRun, String>, Stop> {
        let seen = self.experiment.series[series].seen(system);
        let system = seen.as_ref().unwrap_or(system);
        let label = &self.experiment.series[series].label;
        let hyperperiod = system.hyperperiod();
        let Some(hyperperiod) = hyperperiod.filter(|&length| length <= self.threads.duration)
        else {
            return Ok(Err("a run is shorter than a hyperperiod: nothing is measured".to_owned()));
        };
        if let Err(refusal) = self.registry.build(spec, system) {
            return Ok(Err(format!("{label} with {}: {refusal}", cell.parameters.line())));
        }
        let run_for = |duration, markers| -> Result<Outcome, Stop> {
            let policy = self
                .registry
                .build(spec, system)
                .map_err(|refusal| Stop::Needs(refusal.to_string()))?;
            let options = FifoOptions {
                seed: self.experiment.seed,
                interrupt: Some(self.interrupt),
                markers,
                timers: match self.threads.timers {
                    ManagerTimers::AsNeeded => Timers::AsNeeded,
                    ManagerTimers::Periodic => Timers::Periodic,
                },
                dispatch: match (self.threads.is_per_cpu, self.threads.one_lock.contains(&series)) {
                    (false, _) => Dispatch::Manager,
                    (true, false) => Dispatch::PerCpu(Locks::PerGroup),
                    (true, true) => Dispatch::PerCpu(Locks::One),
                },
                ..FifoOptions::new(duration, hosts.clone())
            };
            let outcome = run(system, policy, &options)?;
            if self.interrupt.load(Ordering::SeqCst) { Err(Stop::Interrupted) } else { Ok(outcome) }
        };
        let outcome = run_for(self.threads.duration, None)?;
        let doubt = |doubt: &String| format!("{label} with {}: {doubt}", cell.parameters.line());
        remarks.extend(outcome.doubts.iter().map(doubt));
        let trace = outcome.trace(system, View::Measured);
        let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        trace.replay(&mut counters);
        let total = counters.total();
        // Without a baseline each run uses its own busy periods.
        let periods = periods.get_or_insert_with(|| busy_periods(&trace, hyperperiod));
        let busy =
            periods.iter().filter_map(|(&at, period)| Some((at, busy(&trace, period)?.ns())));
        let switches = if self.experiment.shows_switches() {
            match self.traced(system, hosts, periods, &run_for)? {
                Ok(switches) => Some(switches),
                Err(remark) => {
                    remarks.push(remark);
                    None
                }
            }
        } else {
            None
        };
        Ok(Ok(ThreadRun {
            values: cell.values.clone(),
            set,
            series,
            utilization: system.utilization().to_f64(),
            length_ns: outcome.end.ns(),
            jobs: total.released,
            missed: total.missed,
            busy_ns: busy.collect(),
            switches,
            costs: costs(&outcome.measured),
        }))
    }

    /// Performs another run, for the switches that the kernel traces on the CPUs of the platform.
    fn traced(
        &self,
        system: &System,
        hosts: &Hosts,
        periods: &BTreeMap<u64, BusyPeriod>,
        run_for: &dyn Fn(Duration, Option<Arc<Markers>>) -> Result<Outcome, Stop>,
    ) -> Result<Result<Vec<u64>, String>, Stop> {
        let needs = |what: &dyn std::fmt::Display| format!("no thread switches: needs {what}");
        let begun = Changes::begin("layland lab run", TRACED + Duration::from_secs(10));
        let mut changes = match begun {
            Ok(changes) => changes,
            Err(error) => return Ok(Err(needs(&error))),
        };
        let instance = match Instance::start(Some(BUFFER_KB), &mut changes) {
            Ok(instance) => instance,
            Err(error) => return Ok(Err(needs(&format!("{error} ({})", error.help())))),
        };
        let names = system.tasks.values().map(|task| task.name.to_string()).collect();
        let marks = instance.markers().map_err(|error| Stop::Needs(error.to_string()))?;
        let recorder = Recorder::start(instance, Vec::new())
            .map_err(|error| Stop::Needs(error.to_string()))?;
        let markers = Arc::new(Markers::new(marks, names));
        let duration = TRACED.min(self.threads.duration);
        let outcome = run_for(duration, Some(Arc::clone(&markers)));
        drop(markers);
        let recorded = recorder.finish();
        let left = changes.end();
        outcome?;
        if let Some(left) = left.first() {
            return Err(Stop::Needs(left.to_string()));
        }
        let (bytes, lost) = recorded.map_err(|error| Stop::Needs(error.to_string()))?;
        if lost > 0 {
            return Ok(Err(format!("no thread switches: the kernel's trace lost {lost} events")));
        }
        let text = String::from_utf8_lossy(&bytes);
        let options = layland_interchange::kernel::ReadOptions {
            threads: Known::Of(system),
            ..layland_interchange::kernel::ReadOptions::default()
        };
        let import = match read(&text, &options) {
            Ok(import) => import,
            Err(error) => return Ok(Err(format!("no thread switches: {error}"))),
        };
        let all = switches(&text).unwrap_or_default();
        let times: Vec<Time> = (all.iter())
            .filter(|&&(cpu, _)| hosts.of.values().any(|&host| host == cpu as usize))
            .map(|&(_, at)| Time::from_ns(at.saturating_sub(import.origin_ns)))
            .collect();
        // Count from the release to the switch away from the last job.
        let before = |at: Time| times.partition_point(|&switch| switch < at);
        let within = |period: &BusyPeriod| {
            let end = end(&import.trace, period)?;
            Some((before(end).saturating_sub(before(period.start))) as u64)
        };
        Ok(Ok(periods.values().filter_map(within).collect()))
    }
}
