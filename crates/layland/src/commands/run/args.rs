//! The arguments of `layland run`.

use crate::ui::chart::Chart;
use crate::ui::input::SetArgs;
use clap::{Args, ValueEnum};
use layland_answers::Limit;
use layland_answers::values::{length_of, seed_of, time_of, window_of};
use layland_engine::reserves::Margin;
use layland_model::{CpuSet, Duration, Rate, Time};
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland run demo:constrained --policy p-edf --until 2s
      one CPU, with the manager on the same CPU
  layland run demo:three-tasks --policy g-edf --manager shared --on-cpus 0-1 -o run.html
      two CPUs, with the manager on the first of them; the result as a report
  layland run -t control=1ms/5ms -t log=8ms/20ms --cpus 1 --policy p-rm --overrun log=1.5x
      one task executes longer than its WCET
  layland run demo:three-tasks --policy g-edf --log run.log; layland run --replay run.log
      a fresh copy of the policy repeats every decision
  layland run demo:three-tasks --policy g-edf -o run.trace
      a record of the kernel's scheduler during the run, for `layland trace` (needs root)
  layland run demo:robot --policy p-edf --engine deadline
      the kernel's own SCHED_DEADLINE, with a root domain for each CPU (needs root)
  layland run demo:push-defect --policy dl --engine deadline --stretch 10x --until 190ms
      a defect of Linux, on this Linux (needs root)
  layland run demo:robot --policy g-edf --engine ext
      carried by the kernel, with CPUs that act before the manager (needs root and Linux 7.2)

The threads do synthetic work: each executes for the execution time that the set says. `layland exec` runs your own \
program.

Needs Linux and the right to real-time priorities (CAP_SYS_NICE, or rtprio in limits.conf). With the engine fifo, \
threads run at SCHED_FIFO 60 and wait at 1, and the manager has 99. With the engine ext they are SCHED_EXT: an \
ordinary \
thread takes their CPU from them, so keep others off (nohz_full=, cpusets, irqaffinity=; not isolcpus=). \
`layland doctor` says whether it works here. Each run has CPUs of its own: one that overlaps takes others, or is \
refused.

Exits with 0 if every deadline was met, 1 if not, 5 if the system refuses something, including undoing the run's \
changes, and 6 if the machine paused for too long to judge the run, or the kernel had to act for the manager.";

#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The policy. By default one that fits the set; `layland policies` lists them
    #[arg(short, long, value_name = "P", default_value = "", hide_default_value = true)]
    pub policy: String,
    /// The engine that carries out the decisions
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = Engine::Fifo)]
    pub engine: Engine,
    /// End at this time, as in 2s. By default as the set says, and at most 10 s
    #[arg(long, value_name = "TIME", value_parser = length_of)]
    #[arg(allow_hyphen_values = true)]
    pub until: Option<Duration>,
    /// The CPUs of this machine to use, as in 2-3 or 1,3. By default all that the process may use
    #[arg(long, value_name = "LIST", help_heading = "Machine")]
    pub on_cpus: Option<CpuSet>,
    /// The seed of everything that is drawn. It decides execution times, jitter and separations, and `sim` draws the
    /// same
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Work")]
    #[arg(value_parser = seed_of, allow_hyphen_values = true)]
    #[arg(hide_short_help = true)]
    pub seed: u64,
    /// Multiply every time in the set by this factor, as in 20x. --until is not stretched
    #[arg(long, value_name = "FACTORx", value_parser = parse_factor, help_heading = "Work")]
    #[arg(hide_short_help = true)]
    pub stretch: Option<Rate>,
    /// Make the jobs of a task execute longer than they should, by this factor, as in log=1.5x.
    /// May be repeated
    #[arg(long, value_name = "TASK=FACTORx", value_parser = parse_overrun, help_heading = "Work")]
    #[arg(hide_short_help = true)]
    pub overrun: Vec<(String, Rate)>,
    /// Reserve this much more than the set says, to cover the costs of switches. Budgets of threads (dl, dl-sp, ..)
    /// grow by it, and WCETs under policies that are optimal or for mixed criticality; `layland check --reserve`
    /// shows the guarantees with it. A time, or a fraction that amounts to at least 100us; by default 0.05, and with
    /// the engine deadline at least the possible cost of a tick
    #[arg(long, value_name = "FRACTION|TIME", help_heading = "Work")]
    pub reserve: Option<Margin>,
    #[command(flatten)]
    pub fifo: FifoArgs,
    #[command(flatten)]
    pub deadline: DeadlineArgs,
    /// Do not let CPUs act ahead of the manager's decision
    #[arg(long, help_heading = "Engine ext")]
    #[arg(hide_short_help = true)]
    pub no_lookahead: bool,
    /// Let the kernel decide by global EDF at once, and the manager after it: a reference for latencies
    #[arg(long, help_heading = "Engine ext", hide = true)]
    pub in_kernel_reference: bool,
    /// Write to this file. Its extension says what: a report (.html), a chart (.svg, .png, .pdf, .txt), the whole trace
    /// (.json), or a record of the kernel's scheduler (.trace). May be repeated
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Vec<PathBuf>,
    /// The interval that charts show, as in 10ms..50ms. By default around the first miss
    #[arg(long, value_name = "FROM..TO", value_parser = window_of, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub window: Option<(Time, Time)>,
    /// The contents of the chart in the terminal
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Chart::Tasks)]
    #[arg(help_heading = "Output")]
    pub chart: Chart,
    /// Exit with 1 only if this limit is exceeded. A limit is misses>N, misses>SHARE%, tardiness>TIME, response>TIME
    /// (also response.p50, .p99, .p99.9) or response>bound (what `layland check` guarantees), for one task as in
    /// control:response.p99>3ms. May be repeated
    #[arg(long, value_name = "LIMIT", help_heading = "Output")]
    pub fail_on: Vec<Limit>,
    /// Write the result to this file as JUnit, for continuous integration. It has a test per task and per limit
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub junit: Option<PathBuf>,
    /// Show a table of the tasks
    #[arg(long, help_heading = "Output")]
    pub per_task: bool,
    /// Print the result as JSON. It is one document
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub ascii: bool,
    /// Print results and problems only
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

/// The options of the engines `fifo` and `ext` alone.
#[derive(Args)]
pub(crate) struct FifoArgs {
    /// The CPU of the manager. One of its own (dedicated), the first CPU of the jobs (shared), or by default one of its
    /// own if the jobs have several CPUs and leave one. With per-cpu each CPU of the jobs has a dispatcher instead,
    /// and CPUs that share tasks have a lock (engine fifo)
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = ManagerChoice::Auto)]
    #[arg(help_heading = "Engines fifo and ext")]
    pub manager: ManagerChoice,
    /// Mark jobs and decisions in the kernel's trace, for a recorder that is already running
    #[arg(long, help_heading = "Engines fifo and ext")]
    #[arg(hide_short_help = true)]
    pub ftrace: bool,
    /// Write a log to this file, for `layland run --replay`. It has every event, decision and measurement, as lines
    /// of JSON
    #[arg(long, value_name = "FILE", help_heading = "Engines fifo and ext")]
    #[arg(hide_short_help = true)]
    pub log: Option<PathBuf>,
    /// Run nothing: replay the log of a run to a fresh policy, and compare every decision
    #[arg(long, value_name = "LOG", help_heading = "Engines fifo and ext")]
    #[arg(conflicts_with_all = ["set", "task", "log", "output", "overrun", "until", "stretch"])]
    #[arg(hide_short_help = true)]
    pub replay: Option<PathBuf>,
    /// Check the schedule against the rules of the policy and of every schedule
    #[arg(long, help_heading = "Engines fifo and ext")]
    #[arg(hide_short_help = true)]
    pub check: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManagerChoice {
    Auto,
    Shared,
    Dedicated,
    PerCpu,
}

/// The options of the engine `deadline` alone.
#[derive(Args)]
pub(crate) struct DeadlineArgs {
    /// Run tasks whose WCET is less than two ticks, although budgets end with the tick
    #[arg(long, help_heading = "Engine deadline")]
    #[arg(hide_short_help = true)]
    pub force: bool,
    /// For policy dl: the delay by which tasks that are tied to one CPU are released after others of the
    /// same offset [default: a fortieth of the shortest period]
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>)]
    #[arg(help_heading = "Engine deadline")]
    #[arg(hide_short_help = true)]
    pub settle: Option<Duration>,
    /// For policy dl: who carries out the requests of the set. The engine at their instants, or each task its own, when
    /// it runs and a period has passed since its last one
    #[arg(long, value_name = "WHO", value_enum, default_value_t = Requests::Instant)]
    #[arg(help_heading = "Engine deadline")]
    #[arg(hide_short_help = true)]
    pub requests_by: Requests,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Requests {
    Instant,
    Task,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// A manager that dispatches threads of class SCHED_FIFO: every policy
    Fifo,
    /// The kernel's SCHED_DEADLINE: global, clustered and partitioned EDF, and dl as it is
    Deadline,
    /// A mechanism in the kernel (sched_ext) that does what the manager decides, and acts ahead of it: every policy
    Ext,
}

impl Engine {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Fifo => "fifo",
            Engine::Deadline => "deadline",
            Engine::Ext => "ext",
        }
    }
}

/// The reason why a string is not a factor.
enum NoFactor {
    NotANumber,
    NotPositive,
}

impl NoFactor {
    /// Returns the error, or the usage.
    fn message(&self, usage: &str) -> String {
        match self {
            NoFactor::NotANumber => usage.to_owned(),
            NoFactor::NotPositive => "the factor must be above 0".to_owned(),
        }
    }
}

fn factor_of(text: &str) -> Result<Rate, NoFactor> {
    let factor = text.strip_suffix('x').unwrap_or(text);
    let factor: Rate = factor.trim().parse().map_err(|_| NoFactor::NotANumber)?;
    if factor <= Rate::ZERO { Err(NoFactor::NotPositive) } else { Ok(factor) }
}

fn parse_factor(text: &str) -> Result<Rate, String> {
    factor_of(text).map_err(|error| error.message("write FACTORx, as in 20x"))
}

fn parse_overrun(text: &str) -> Result<(String, Rate), String> {
    let usage = "write TASK=FACTORx, as in log=1.5x";
    let (task, factor) = text.rsplit_once('=').ok_or(usage)?;
    let factor = factor_of(factor).map_err(|error| error.message(usage))?;
    Ok((task.to_owned(), factor))
}
