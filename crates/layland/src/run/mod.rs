//! `layland run`: a task set on real threads, under the policies that the simulator drives.

mod deadline;
mod fifo;
mod recording;
mod replay;

use crate::args::{Chart, SetArgs, parse_window, time_of};
use crate::exit::{Exit, Failure, Outcome};
use crate::input::{self, Set};
use crate::output::{Kind, Output};
use clap::{Args, ValueEnum};
use layland_linux::RunError;
use layland_model::{CpuSet, Duration, Index, Rate, System, TaskId, Time};
use layland_policy::registry::{self, BuildError};
use std::path::PathBuf;

pub use fifo::rows;
pub use recording::VARIABLE as MARKER_VARIABLE;

/// By default at most this long.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// What a run can be written to besides.
const KINDS: [Kind; 1] = [Kind::Kernel];

pub const EXAMPLES: &str = "\
Examples:
  layland run demo:constrained --policy p-edf --duration 2s
      one CPU, with the manager on the same CPU
  layland run demo:three-tasks --policy g-edf --manager shared --host-cpus 0-1 -o run.html
      two CPUs, with the manager on the first of them; the result as a report
  layland run -t control=1ms/5ms -t log=8ms/20ms --cpus 1 --policy p-rm --overrun log=1.5x
      one task executes longer than it says
  layland run demo:three-tasks --policy g-edf --log run.log; layland run --replay run.log
      every decision once more, by a fresh copy of the policy
  layland run demo:three-tasks --policy g-edf -o run.trace
      what the kernel's scheduler did meanwhile, for `layland trace` (needs root)
  layland run demo:robot --policy p-edf --engine deadline
      the kernel's own SCHED_DEADLINE, with a root domain for each CPU (needs root)
  layland run demo:push-defect --policy dl --engine deadline --stretch 10x --duration 190ms
      a defect of Linux, on this Linux (needs root)

Needs Linux and the right to real-time priorities (CAP_SYS_NICE, or rtprio in limits.conf). With the
engine fifo threads run at SCHED_FIFO 60, wait at 1, and the manager has 99.
Exits with 0 if every deadline was met, 1 if not, 5 if the system refuses, and 6 if the machine
paused for too long to tell.";

#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The policy; `layland policies` lists them
    #[arg(short, long, value_name = "P", default_value = "g-edf")]
    pub policy: String,
    /// What carries out the decisions
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = Engine::Fifo)]
    pub engine: Engine,
    /// Run for this long [default: as the set says, at most 10s]
    #[arg(long, visible_alias = "until", value_name = "TIME", value_parser = time_of::<Duration>)]
    pub duration: Option<Duration>,
    /// The CPUs of this machine to use, as in 0-1 or 2,3; by default all that the process may use
    #[arg(long, value_name = "CPUS", help_heading = "Machine")]
    pub host_cpus: Option<CpuSet>,
    /// Seeds what the tasks draw: execution times, jitter, separations. The same as with sim
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Work")]
    pub seed: u64,
    /// Multiply every time of the set, as in 20x. The duration stays as it is given
    #[arg(long, value_name = "FACTORx", value_parser = parse_factor, help_heading = "Work")]
    pub stretch: Option<Rate>,
    /// Let the jobs of a task execute so many times as long as they should, as in log=1.5x. May be
    /// repeated
    #[arg(long, value_name = "TASK=FACTORx", value_parser = parse_overrun, help_heading = "Work")]
    pub overrun: Vec<(String, Rate)>,
    /// How much reservations exceed the WCET, for what the switches cost: a fraction or a time.
    /// By default 0.05, and at least 100us (engine fifo) or what a tick may cost (engine deadline)
    #[arg(long, value_name = "FRACTION|TIME", value_parser = parse_margin, help_heading = "Work")]
    pub margin: Option<Margin>,
    #[command(flatten)]
    pub fifo: fifo::FifoArgs,
    #[command(flatten)]
    pub deadline: deadline::DeadlineArgs,
    /// Write a file: a report (.html), a chart (.svg, .txt), the whole trace (.json), or what the
    /// kernel's scheduler did (.trace). May be repeated
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Vec<PathBuf>,
    /// The part of time that charts show, as in 10ms..50ms; by default around the first miss
    #[arg(long, value_name = "FROM..TO", value_parser = parse_window, help_heading = "Output")]
    pub window: Option<(Time, Time)>,
    /// What the chart in the terminal shows
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Chart::Tasks)]
    #[arg(help_heading = "Output")]
    pub chart: Chart,
    /// Show a table of the tasks
    #[arg(long, help_heading = "Output")]
    pub tasks: bool,
    /// Print the result as one JSON document
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    pub ascii: bool,
    /// Do not say which files were written
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// A manager that dispatches threads of class SCHED_FIFO: every policy
    Fifo,
    /// The kernel's SCHED_DEADLINE: global, clustered and partitioned EDF, and dl as it is
    Deadline,
}

/// By how much a reservation exceeds the WCET.
#[derive(Clone, Debug)]
pub enum Margin {
    Fraction(Rate),
    Time(Duration),
}

fn parse_margin(text: &str) -> Result<Margin, String> {
    if let Ok(fraction) = text.trim().parse::<Rate>() {
        if fraction < Rate::ZERO {
            return Err("a margin is not negative".to_owned());
        }
        return Ok(Margin::Fraction(fraction));
    }
    let time = time_of::<Duration>(text)?;
    if time < Duration::ZERO {
        Err("a margin is not negative".to_owned())
    } else {
        Ok(Margin::Time(time))
    }
}

fn parse_factor(text: &str) -> Result<Rate, String> {
    let factor = text.strip_suffix('x').unwrap_or(text);
    let factor: Rate = factor.trim().parse().map_err(|_| "write FACTORx, as in 20x")?;
    if factor <= Rate::ZERO {
        return Err("the factor must be above 0".to_owned());
    }
    Ok(factor)
}

fn parse_overrun(text: &str) -> Result<(String, Rate), String> {
    let usage = "write TASK=FACTORx, as in log=1.5x";
    let (task, factor) = text.rsplit_once('=').ok_or(usage)?;
    let factor = parse_factor(factor).map_err(|error| match error.starts_with("write") {
        true => usage.to_owned(),
        false => error,
    })?;
    Ok((task.to_owned(), factor))
}

/// What both engines start from.
struct Request<'a> {
    args: &'a RunArgs,
    set: Set,
    duration: Duration,
    outputs: Vec<Output>,
}

pub fn run(args: &RunArgs) -> Outcome {
    if let Some(path) = &args.fifo.replay {
        return replay::replay(args, path);
    }
    let outputs = Output::all(&args.output, &KINDS)?;
    registry::parse(&args.policy).map_err(|error| Failure::usage(error.to_string()))?;
    let mut set = input::load(&args.set)?;
    if let Some(factor) = &args.stretch {
        set.system = layland_linux::stretched(&set.system, factor).map_err(failure)?;
        set.until = None;
    }
    let duration = args.duration.or(set.until).unwrap_or(DEFAULT_DURATION);
    let duration = if args.duration.is_some() { duration } else { duration.min(DEFAULT_DURATION) };
    if !(Duration::from_ms(1)..=layland_linux::LONGEST).contains(&duration) {
        let message = format!("a run takes 1 ms to {}, and not {duration}", layland_linux::LONGEST);
        return Err(Failure::usage(message));
    }
    set.system = with_overruns(args, set.system)?;
    let request = Request { args, set, duration, outputs };
    match args.engine {
        Engine::Fifo => fifo::run(request),
        Engine::Deadline => deadline::run(request),
    }
}

/// A policy that does not take the set.
fn refused(set: &Set, spec: &str, error: &BuildError) -> Failure {
    let reason = set.located(error.to_string());
    Failure { exit: Exit::No, ..Failure::input(format!("{spec} refused: {reason}")) }
}

/// Why a run did not take place, as one line and what to do.
pub fn failure(error: RunError) -> Failure {
    let help = error.help();
    let failure = match &error {
        RunError::Refused { .. } | RunError::TooFewCpus { .. } => {
            Failure::refused(error.to_string())
        }
        RunError::Unsupported { .. } => Failure::input(error.to_string()),
    };
    if help.is_empty() { failure } else { failure.help(help) }
}

fn with_overruns(args: &RunArgs, mut system: System) -> Result<System, Failure> {
    for (name, factor) in &args.overrun {
        let found = system.tasks.iter().find(|(_, task)| &task.name == name).map(|(id, _)| id);
        let task: TaskId = found.ok_or_else(|| {
            let names: Vec<&str> = system.tasks.values().map(|task| task.name.as_str()).collect();
            Failure::usage(format!("there is no task `{name}` to overrun"))
                .help(format!("there are {}", names.join(", ")))
        })?;
        system = layland_linux::with_overrun(&system, task, factor).map_err(failure)?;
    }
    Ok(system)
}

/// The CPUs of the machine that the user wants, ascending.
fn chosen_cpus(args: &RunArgs) -> Result<Vec<usize>, Failure> {
    let usable = layland_linux::usable_cpus()
        .map_err(|error| Failure::refused(format!("failed to list the CPUs: {error}")))?;
    let Some(set) = &args.host_cpus else { return Ok(usable) };
    if let Some(cpu) = set.iter().find(|cpu| !usable.contains(&cpu.index())) {
        return Err(Failure::usage(format!("host CPU {cpu} cannot be used"))
            .help("the process may use others, or it is offline: see taskset -p"));
    }
    Ok(set.iter().map(Index::index).collect())
}
