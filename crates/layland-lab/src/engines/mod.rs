//! Runs of the same systems in the simulator and on every engine of a machine, as tables: decisions,
//! latencies and results, side by side. The command performs them
//! (`layland/src/commands/lab/real/engines.rs`).
//!
//! Each system of the grid runs under each of its policies, first in the simulator, then on each
//! engine, for the same time, with the same releases and execution times. A policy that grants
//! budgets has a margin, also in the simulator.
//!
//! | column | meaning |
//! |---|---|
//! | jobs, missed | completed jobs, and jobs that missed their deadline |
//! | preemptions, migrations | of jobs, as the simulator counts them |
//! | decisions | of the policy; unknown for SCHED_DEADLINE |
//! | alike | the share of the execution in the simulator that happened at the same time, on any CPU |
//! | release | from a release to the first instruction of a job that runs at once |
//! | next | from the end of a job to the first instruction of the next job on its CPU, which waited |
//! | wake-up | sched_ext: from the wake-up of a thread to its first instruction, if it takes a CPU at once |
//! | right, wrong | sched_ext: times that a CPU acted before the manager as the policy then decided, or not |
//! | commits | sched_ext: decisions that required a call into the kernel |
//!
//! SCHED_DEADLINE does not report its decisions. There, a release counts if its job starts at once
//! in the simulator, and an end counts if the next job on the CPU was released before it. The
//! execution of a thread has gaps; one below 2 ms, in which no other job had the CPU, is attributed
//! to the machine and not counted as a preemption. Latencies are medians.
//!
//! Measured figures are never the same twice. They are kept apart from the results, in
//! `engines.csv` and `engines.txt`.

use crate::experiment::{Engines, Experiment};
use crate::output::Written;
use crate::run::LabError;
use crate::shard::replace;
use crate::table::aligned;
use crate::threads::Times;
use layland_interchange::columns::{Column, Columns};
use std::fmt;
use std::path::{Path, PathBuf};

/// An engine that carries out a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// No machine: the reference for the other engines.
    Simulator,
    /// A manager that assigns priorities to threads of class SCHED_FIFO.
    Fifo,
    /// The kernel's SCHED_DEADLINE.
    Deadline,
    /// sched_ext, where the manager makes every decision.
    ExtAsked,
    /// sched_ext, where CPUs act ahead of the manager.
    Ext,
    /// sched_ext, with global EDF entirely in the kernel.
    InKernel,
}

impl Engine {
    /// All engines, the simulator first.
    pub const ALL: [Engine; 6] = [
        Engine::Simulator,
        Engine::Fifo,
        Engine::Deadline,
        Engine::ExtAsked,
        Engine::Ext,
        Engine::InKernel,
    ];
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Engine::Simulator => "simulator",
            Engine::Fifo => "SCHED_FIFO",
            Engine::Deadline => "SCHED_DEADLINE",
            Engine::ExtAsked => "sched_ext (no look-ahead)",
            Engine::Ext => "sched_ext",
            Engine::InKernel => "in the kernel alone",
        })
    }
}

/// The runs of the same systems on every engine.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineRuns {
    /// The machine, in words.
    pub machine: String,
    /// By point, series, system and engine.
    pub runs: Vec<EngineRun>,
    /// The skipped runs with the reasons, and remarks about runs.
    pub remarks: Vec<String>,
}

/// The run of one system under one policy on one engine.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineRun {
    /// The value of each axis.
    pub values: Vec<String>,
    /// The number of the system among those of its point.
    pub set: u64,
    /// The index of the series.
    pub series: usize,
    /// The engine.
    pub engine: Engine,
    /// The results.
    pub did: Did,
}

/// The results of a run: see the table above.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Did {
    /// Completed jobs.
    pub jobs: u64,
    /// Jobs that missed their deadline.
    pub missed: u64,
    /// Preemptions of jobs.
    pub preemptions: u64,
    /// Executions on another CPU than the task's last one.
    pub migrations: u64,
    /// Decisions of the policy.
    pub decisions: Option<u64>,
    /// The share of the execution that is like that of the simulator.
    pub alike: Option<f64>,
    /// From release to running.
    pub release: Times,
    /// From an end to the next job.
    pub next: Times,
    /// From wake-up to running.
    pub wake: Times,
    /// The actions of CPUs ahead of the manager.
    pub ahead: Option<Ahead>,
}

/// The actions of CPUs ahead of the manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Actions that agree with the decision of the policy.
    pub right: u64,
    /// Other actions.
    pub wrong: u64,
    /// Decisions that required a call into the kernel.
    pub commits: u64,
}

impl EngineRuns {
    /// Formats the results: a line per run, the medians of latencies in microseconds, and the
    /// skipped runs.
    pub fn text(&self, experiment: &Experiment) -> String {
        let Some(engines) = &experiment.engines else { return String::new() };
        let mut out = format!(
            "by every engine, {}; figures differ from run to run and from machine to machine\n\n",
            self.machine
        );
        out += &self.lines(experiment, engines);
        for remark in &self.remarks {
            out += &format!("\n{remark}\n");
        }
        out
    }

    fn lines(&self, experiment: &Experiment, engines: &Engines) -> String {
        let axes = experiment.grids[engines.grid].axes.iter().map(|(axis, _)| axis.as_str());
        let rest = [
            "set", "policy", "engine", "jobs", "missed", "preempt", "migrate", "decide", "alike %",
            "release", "next", "wake-up", "right", "wrong", "commits",
        ];
        let mut rows: Vec<Vec<String>> = vec![axes.chain(rest).map(str::to_owned).collect()];
        for run in &self.runs {
            let did = &run.did;
            let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let count = |count: Option<u64>| or_none(count.map(|count| count.to_string()));
            let us = |times: &Times| or_none(times.median_us().map(|us| format!("{us:.1}")));
            let mut row = run.values.clone();
            row.extend([
                run.set.to_string(),
                experiment.series[run.series].label.clone(),
                run.engine.to_string(),
                did.jobs.to_string(),
                did.missed.to_string(),
                did.preemptions.to_string(),
                did.migrations.to_string(),
                count(did.decisions),
                or_none(did.alike.map(|alike| format!("{:.2}", alike * 100.0))),
                us(&did.release),
                us(&did.next),
                us(&did.wake),
                count(did.ahead.map(|ahead| ahead.right)),
                count(did.ahead.map(|ahead| ahead.wrong)),
                count(did.ahead.map(|ahead| ahead.commits)),
            ]);
            rows.push(row);
        }
        let axes = experiment.grids[engines.grid].axes.len();
        let right: Vec<bool> =
            (0..axes + rest.len()).map(|at| at != axes + 1 && at != axes + 2).collect();
        aligned(&rows, &right)
    }

    fn table(&self, experiment: &Experiment, engines: &Engines) -> Columns {
        let mut columns =
            Columns::new(crate::results::SCHEMA).with("provenance", experiment.provenance());
        let runs = || self.runs.iter();
        for (at, (axis, _)) in experiment.grids[engines.grid].axes.iter().enumerate() {
            columns
                .push(axis, Column::Text(runs().map(|run| Some(run.values[at].clone())).collect()));
        }
        let name = |run: &EngineRun| Some(experiment.series[run.series].name.clone());
        columns.push("series", Column::Text(runs().map(name).collect()));
        columns
            .push("engine", Column::Text(runs().map(|run| Some(run.engine.to_string())).collect()));
        let mut whole = |name: &str, of: &dyn Fn(&EngineRun) -> Option<u64>| {
            let values = runs().map(|run| of(run).and_then(|value| i64::try_from(value).ok()));
            columns.push(name, Column::Int(values.collect()));
        };
        whole("set", &|run| Some(run.set));
        whole("jobs", &|run| Some(run.did.jobs));
        whole("missed", &|run| Some(run.did.missed));
        whole("preemptions", &|run| Some(run.did.preemptions));
        whole("migrations", &|run| Some(run.did.migrations));
        whole("decisions", &|run| run.did.decisions);
        whole("right", &|run| Some(run.did.ahead?.right));
        whole("wrong", &|run| Some(run.did.ahead?.wrong));
        whole("commits", &|run| Some(run.did.ahead?.commits));
        columns.push("alike", Column::Real(runs().map(|run| run.did.alike).collect()));
        let mut latency = |name: &str, of: &dyn Fn(&Did) -> Times| {
            let mut real = |what: &str, value: &dyn Fn(Times) -> Option<f64>| {
                let values = runs().map(|run| value(of(&run.did)));
                columns.push(&format!("{name}_{what}_us"), Column::Real(values.collect()));
            };
            real("median", &|times| times.median_us());
            real("max", &|times| (times.count > 0).then(|| times.max_ns as f64 / 1e3));
        };
        latency("release", &|did| did.release);
        latency("next", &|did| did.next);
        latency("wake", &|did| did.wake);
        columns
    }
}

/// Writes the results of the engines: `engines.csv` and `engines.txt`.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write_engines(
    experiment: &Experiment,
    runs: &EngineRuns,
    folder: &Path,
) -> Result<Written, LabError> {
    let Some(engines) = &experiment.engines else { return Ok(Vec::new()) };
    std::fs::create_dir_all(folder)
        .map_err(|error| LabError::Write { path: folder.to_owned(), error })?;
    let mut written = Vec::new();
    let mut put = |name: &str, bytes: &[u8]| {
        written.push(PathBuf::from(name));
        replace(&folder.join(name), bytes)
    };
    put("engines.csv", runs.table(experiment, engines).csv().as_bytes())?;
    let head = format!("{}\n{}\n", experiment.title, experiment.provenance());
    put("engines.txt", (head + &runs.text(experiment)).as_bytes())?;
    Ok(written)
}
