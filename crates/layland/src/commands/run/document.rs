//! The JSON documents of `layland run`.

use crate::ui::document::Named;
use crate::ui::exit::Exit;
#[cfg(feature = "ext")]
use layland_linux::ext::ExtFigures;
use layland_linux::{Figures, Machine, Measured, ServerCosts};
use layland_trace::Summary;
use schemars::JsonSchema;
use serde::Serialize;

/// A build without the engine has no counters of it.
#[cfg(not(feature = "ext"))]
type ExtFigures = ();

/// The answer of `layland run --json`.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum RunDocument<'a> {
    Managed(Box<Managed<'a>>),
    Deadline(Deadline<'a>),
    Replay(Replay<'a>),
}

/// A run of the engines `fifo` and `ext`.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "managed")]
pub(crate) struct Managed<'a> {
    /// The version of Layland.
    pub layland: &'static str,
    #[schemars(extend("const" = "run"))]
    pub command: &'static str,
    /// The engine.
    #[schemars(extend("enum" = ["fifo", "ext"]))]
    pub engine: &'static str,
    /// The task set in short.
    pub set: SetSummary<'a>,
    /// The policy with its options.
    pub policy: &'a str,
    /// The seed of everything that was drawn.
    pub seed: u64,
    /// The machine.
    pub hosts: HostCpus<'a>,
    /// The properties of the machine that bound its latencies.
    pub machine: &'a Machine,
    /// The end of the run, from its start.
    pub end_ns: i64,
    /// True if it ended early.
    pub interrupted: bool,
    /// Events that the policy received.
    pub events: u64,
    /// Decisions that it made.
    pub decisions: u64,
    /// The first deadline that was missed; null if none was.
    pub first_missed_deadline_ns: Option<i64>,
    /// Rules that the schedule broke; null without `--check`.
    pub broken_rules: Option<&'a [String]>,
    /// The figures.
    pub summary: &'a Summary,
    /// The engine's measurements of itself, by name.
    pub overheads: Named<&'static str, Figures>,
    /// The numbers of actions of the engine.
    pub counts: Counts,
    /// The actions of the servers of a policy of threads, and their costs; null if there are none
    /// or nothing happened.
    pub servers: Option<Servers>,
    /// The counters of the engine ext; null under another engine.
    pub ext: Option<ExtFigures>,
    /// The processor time that the jobs demanded.
    #[schemars(range(min = 0))]
    pub asked_ns: i64,
    /// The processor time that their threads got.
    #[schemars(range(min = 0))]
    pub got_ns: i64,
    /// The processor time that threads got while they waited.
    #[schemars(range(min = 0))]
    pub leaked_ns: i64,
    /// The time that a hypervisor took of the CPUs.
    #[schemars(range(min = 0))]
    pub stolen_ns: i64,
    /// Other threads that took time of the CPUs.
    pub foreign: Vec<ForeignThread<'a>>,
    /// Properties of the machine that make the figures worse than they could be.
    pub caveats: Vec<String>,
    /// Other remarks.
    pub remarks: &'a [String],
    /// The reasons not to trust the measurement; empty if there are none.
    pub doubts: &'a [String],
    /// The result of the command.
    pub exit: Exit,
}

/// A task set in short.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct SetSummary<'a> {
    /// Its file, `demo:NAME`, or `inline`.
    pub name: &'a str,
    /// The number of tasks.
    pub tasks: usize,
    /// The number of CPUs.
    pub cpus: usize,
    /// The sum of WCET over period.
    pub utilization: f64,
}

/// The CPUs of the machine in a run.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct HostCpus<'a> {
    /// The CPU of the machine that was each CPU of the set.
    pub cpus: &'a [usize],
    /// The CPU of the manager; the first CPU of the jobs, if each of them has a dispatcher.
    pub manager: usize,
}

/// The numbers of actions of the engine.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct Counts {
    /// A thread got a CPU.
    dispatches: u64,
    /// A thread lost its CPU.
    demotions: u64,
    /// A thread changed its CPU.
    migrations: u64,
    /// A thread was suspended by a signal.
    parks: u64,
    /// An event was held back until its instant.
    held: u64,
}

impl Counts {
    pub(super) fn of(measured: &Measured) -> Counts {
        Counts {
            dispatches: measured.dispatches,
            demotions: measured.demotions,
            migrations: measured.migrations,
            parks: measured.parks,
            held: measured.held,
        }
    }
}

/// The actions of servers, and their costs. A distribution without values is null.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct Servers {
    /// Threads that a push moved.
    pushes: u64,
    /// Threads that a pull moved.
    pulls: u64,
    /// Servers that were throttled.
    throttles: u64,
    /// Those of them that the same decision replenished.
    forced_throttles: u64,
    /// Those of these whose thread stayed on its CPU.
    forced_stayed: u64,
    /// From the decision until the thread was given the other CPU, where that was at once.
    push: Option<Figures>,
    /// From the decision until the thread was given a CPU, where that was at once.
    forced_throttle: Option<Figures>,
    /// The cost of a decision with a forced throttle.
    forced_decision: Option<Figures>,
}

impl Servers {
    pub(super) fn of(servers: &ServerCosts) -> Option<Servers> {
        (!servers.is_empty()).then(|| Servers {
            pushes: servers.pushes,
            pulls: servers.pulls,
            throttles: servers.throttles,
            forced_throttles: servers.forced,
            forced_stayed: servers.forced_stayed,
            push: servers.push.figures(),
            forced_throttle: servers.forced_to_cpu.figures(),
            forced_decision: servers.forced_decision.figures(),
        })
    }
}

/// A real-time thread that is not of the run.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct ForeignThread<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its process.
    pub pid: u32,
    /// The time that it took.
    #[schemars(range(min = 0))]
    pub took_ns: i64,
    /// The CPUs.
    pub cpus: &'a [usize],
}

/// A run of the engine `deadline`.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "deadline")]
pub(crate) struct Deadline<'a> {
    /// The version of Layland.
    pub layland: &'static str,
    #[schemars(extend("const" = "run"))]
    pub command: &'static str,
    #[schemars(extend("const" = "deadline"))]
    pub engine: &'static str,
    /// The policy with its options.
    pub policy: &'a str,
    /// The seed of everything that was drawn.
    pub seed: u64,
    /// The end of the run, from its start.
    pub end_ns: i64,
    /// Signals of budgets that were exhausted.
    pub budget_overruns: u64,
    /// Events that the kernel's recorder lost.
    pub lost_events: u64,
    /// The reason not to trust the measurement; null if there is none.
    pub doubts: Option<&'a str>,
    /// Deviations of the kernel from the policy.
    pub caveats: &'a [String],
    /// For the policy `dl`, the kernel as it is; null for other policies.
    pub kernel: Option<KernelRun<'a>>,
    /// The figures.
    pub summary: &'a Summary,
    /// The result of the command.
    pub exit: Exit,
}

/// The run by the kernel's own trace.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct KernelRun<'a> {
    /// Each task.
    pub tasks: Vec<KernelTask<'a>>,
    /// The requests to the kernel, and its answers.
    pub requests: Vec<KernelRequest<'a>>,
    /// Priority inversions; null if the trace does not show them.
    pub inversions: Option<Vec<KernelInversion>>,
}

/// A task.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct KernelTask<'a> {
    /// Its name.
    pub name: &'a str,
    /// The processor time that its thread got.
    #[schemars(range(min = 0))]
    pub got_ns: i64,
    /// Its budget.
    #[schemars(range(min = 0))]
    pub reserved_ns: i64,
    /// Its period.
    #[schemars(range(min = 0))]
    pub period_ns: i64,
    /// The largest tardiness in each part of the run.
    pub tardiness_over_time_ns: Vec<i64>,
}

/// A request.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct KernelRequest<'a> {
    /// The time.
    pub at_ns: i64,
    /// In words.
    pub request: &'a str,
    /// The reason; null if it was granted.
    pub refused: Option<&'a str>,
}

/// A job waited although one with a later deadline ran.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct KernelInversion {
    /// The beginning.
    pub from_ns: i64,
    /// The end.
    pub to_ns: i64,
    /// The job that waited.
    pub waiting: String,
    /// The job that ran; null if the CPU was idle.
    pub running: Option<String>,
    /// The CPU.
    pub cpu: u32,
}

/// The answer of `layland run --replay LOG --json`.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "replay")]
pub(crate) struct Replay<'a> {
    /// The version of Layland.
    pub layland: &'static str,
    #[schemars(extend("const" = "run --replay"))]
    pub command: &'static str,
    /// The policy of the log.
    pub policy: &'a str,
    /// Events that were replayed.
    pub events: u64,
    /// Decisions that were compared.
    pub decisions: u64,
    /// The first difference; null if all decisions are as in the log.
    pub divergence: Option<Divergence>,
    /// The result of the command.
    pub exit: Exit,
}

/// The first decision that differs.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct Divergence {
    /// Its number, from 0.
    pub decision: u64,
    /// The time.
    pub at_ns: i64,
    /// The actions of the log, for people.
    pub logged: String,
    /// The actions now, for people.
    pub decided: String,
}
