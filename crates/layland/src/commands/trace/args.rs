//! The arguments of `layland trace`.

use crate::ui::chart::Chart;
use crate::ui::numbers::{count, whole};
use clap::{Args, Subcommand, ValueEnum};
use layland_answers::values::{length_of, time_of, window_of};
use layland_interchange::infer::EVERY;
use layland_model::{Duration, Rate, Time};
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland trace record -o run.txt --set robot.toml -- layland run robot.toml --policy g-edf
      a record of the kernel's scheduler during the run (needs root)
  layland trace view run.txt --set robot.toml
      as a chart; JSON files of `layland sim -o` and the output of trace-cmd and perf are read, too
  layland trace check run.txt --set robot.toml --policy g-edf --latency 200us
      does it keep the promise of the policy?
  layland trace check run.txt --set robot.toml --policy dl --latency 4ms
      did the kernel's SCHED_DEADLINE keep what is reserved? Server deadlines are rebuilt
  layland trace diff sim.json run.txt --set robot.toml --latency 200us
      where a simulation and a run first differ, and why
  layland trace infer run.txt -o seen.toml
      a task set from the behaviour of the threads of any program, for `layland check` and `layland sim`

Exits with 6 if events were lost: then there is no verdict.";

const INFER_EXAMPLES: &str = "\
Examples:
  layland trace record -o run.txt -- cyclictest -t 4 -p 80 -i 1000 -D 10
  layland trace infer run.txt
      the real-time threads as a task set, with comments on where each line comes from
  layland trace infer run.txt --thread 'audio.*' --wcet p99.9 --factor 1.2 -o audio.toml
      some threads; the WCET is the time that 99.9 % of the jobs keep, and a fifth more
  layland trace infer --live 5s --thread 'ctrl.*'
      a running program
  layland check audio.toml
      the guarantees, if the set is true

An observed time is not a bound: a longer trace may show longer jobs. The set states the confidence in each task.

Exits with 6 if events were lost or lines are damaged.";

#[derive(Args)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub command: TraceCommand,
}

impl TraceArgs {
    /// Returns a description of the work that takes long for a long trace. A recording prints lines
    /// of its own.
    pub(crate) fn what_takes_long(&self) -> Option<&'static str> {
        match &self.command {
            TraceCommand::Record(_) => None,
            TraceCommand::View(_) | TraceCommand::Stats(_) => Some("reading the trace"),
            TraceCommand::Check(_) => Some("checking the trace"),
            TraceCommand::Convert(_) => Some("converting the trace"),
            TraceCommand::Diff(_) => Some("comparing the traces"),
            TraceCommand::Infer(_) => Some("inferring the set"),
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum TraceCommand {
    /// Record the kernel's scheduler through tracefs, while a command runs or for a given time
    Record(RecordArgs),
    /// Show a trace as a chart
    View(ViewArgs),
    /// Check a trace against its task set and the promise of a policy
    Check(TraceCheckArgs),
    /// Show the figures of a trace: deadlines, response times, preemptions, wake-up latencies
    Stats(StatsArgs),
    /// Convert a trace to JSON, CSV, or the kernel's text with marks
    Convert(TraceConvertArgs),
    /// Show where two traces of one task set first differ, and why
    Diff(DiffArgs),
    /// Infer a task set from the behaviour of threads: periods, execution times, priorities, wake-ups
    #[command(after_long_help = INFER_EXAMPLES)]
    Infer(InferArgs),
}

#[derive(Args)]
pub(crate) struct RecordArgs {
    /// Write to this file. - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "layland-trace.txt")]
    pub output: PathBuf,
    /// End at this time, as in 2s. Without it, with the command
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>)]
    pub until: Option<Duration>,
    /// The size of the kernel's buffer per CPU, in KiB. By default that of the kernel
    #[arg(long, value_name = "KIB", value_parser = whole::<4, 4_194_304>)]
    pub buffer: Option<u32>,
    /// The task set. The figures of its tasks are shown at the end
    #[arg(long, value_name = "FILE")]
    pub set: Option<String>,
    /// Run this command, and end with it. It finds the file for marks in LAYLAND_TRACE_MARKER
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<std::ffi::OsString>,
}

/// The trace, and the threads of it that are tasks.
#[derive(Args)]
pub(crate) struct InputArgs {
    /// The task set. Threads with the names of its tasks (the first 15 bytes) are these tasks
    #[arg(long, value_name = "FILE", help_heading = "Tasks")]
    pub set: Option<String>,
    /// The threads whose whole name matches this regular expression. They are the tasks
    #[arg(long, value_name = "REGEX", help_heading = "Tasks")]
    #[arg(conflicts_with = "set")]
    pub thread: Option<String>,
    /// The threads with these ids. They are the tasks
    #[arg(long, value_name = "N,..", value_delimiter = ',', conflicts_with = "set")]
    #[arg(help_heading = "Tasks")]
    #[arg(value_parser = whole::<0, { u32::MAX as u64 }>)]
    pub tid: Vec<u32>,
    /// The time of the trace's clock that becomes time 0, as in 12.5s
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>)]
    #[arg(help_heading = "Tasks")]
    pub origin: Option<Duration>,
}

#[derive(Args)]
pub(crate) struct ViewArgs {
    /// The trace: JSON of ours, text of tracefs, trace-cmd or perf, or of LITMUS^RT; - is stdin
    pub file: String,
    #[command(flatten)]
    pub input: InputArgs,
    /// Write to this file. Its extension says what: a report (.html), a chart (.svg, .txt) or the trace (.json, .csv).
    /// May be repeated
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Vec<PathBuf>,
    /// The interval that charts show, as in 10ms..50ms. By default around the first miss
    #[arg(long, value_name = "FROM..TO", value_parser = window_of, help_heading = "Output")]
    pub window: Option<(Time, Time)>,
    /// The contents of the chart in the terminal
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Chart::Both, help_heading = "Output")]
    pub chart: Chart,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    pub ascii: bool,
}

#[derive(Args)]
pub(crate) struct TraceCheckArgs {
    /// The trace: JSON of ours, text of tracefs, trace-cmd or perf, or of LITMUS^RT; - is stdin
    pub file: String,
    #[command(flatten)]
    pub input: InputArgs,
    /// The policy. Its rule is what the trace is checked against
    #[arg(short, long, value_name = "P")]
    pub policy: Option<String>,
    /// Ignore deviations that last no longer than this. 100us for a trace of a kernel, otherwise 0s,
    /// if left out
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>)]
    pub latency: Option<Duration>,
    /// Print the result as JSON. It is one document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct StatsArgs {
    /// The trace: JSON of ours, text of tracefs, trace-cmd or perf, or of LITMUS^RT; - is stdin
    pub file: String,
    #[command(flatten)]
    pub input: InputArgs,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Print the result as JSON. It is one document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct TraceConvertArgs {
    /// The trace: JSON of ours, text of tracefs, trace-cmd or perf, or of LITMUS^RT; - is stdin
    pub file: String,
    #[command(flatten)]
    pub input: InputArgs,
    /// The format to write. By default the one that the extension of the file names, or else json
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub to: Option<TraceFormat>,
    /// Write to this file. Without it, to standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// The trace of `layland sim -o x.json`
    Json,
    /// One line for each job and segment
    Csv,
    /// The text of tracefs, with marks
    Tracefs,
}

#[derive(Args)]
pub(crate) struct DiffArgs {
    /// The first trace, as of a simulation
    pub a: String,
    /// The second trace, as of a run
    pub b: String,
    #[command(flatten)]
    pub input: InputArgs,
    /// Ignore deviations that last no longer than this
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>, default_value = "0s")]
    pub latency: Duration,
    /// The number of segments to show before and after the difference
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count)]
    pub context: usize,
    /// Print the result as JSON. It is one document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct InferArgs {
    /// The trace: JSON of ours, text of tracefs, trace-cmd or perf, or of LITMUS^RT; - is stdin
    #[arg(required_unless_present = "live")]
    pub file: Option<String>,
    /// Observe running threads for this long, instead of reading a trace. Needs root
    #[arg(long, value_name = "TIME", value_parser = length_of, conflicts_with = "file")]
    pub live: Option<Duration>,
    /// The threads whose whole name matches this regular expression. They are the tasks. By default those that write
    /// marks; or else those of real-time classes; or else those that look periodic
    #[arg(long, value_name = "REGEX")]
    #[arg(help_heading = "Tasks")]
    pub thread: Option<String>,
    /// The threads with these ids. They are the tasks
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    #[arg(help_heading = "Tasks")]
    #[arg(value_parser = whole::<0, { u32::MAX as u64 }>)]
    pub tid: Vec<u32>,
    /// The WCET of a task: max, the longest observed time, or a percentile of the observed times, as in p99.9
    #[arg(long, value_name = "QUANTILE", value_parser = quantile, default_value = "max")]
    #[arg(help_heading = "Estimates")]
    pub wcet: u32,
    /// Multiply the WCET by this factor, as in 1.2
    #[arg(long, value_name = "FACTOR", default_value = "1", help_heading = "Estimates")]
    pub factor: Rate,
    /// Round a period to the value that was probably meant, if it is within this percentage. Smaller jitter is left
    /// out; 0% keeps the observed values
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1%")]
    #[arg(help_heading = "Estimates")]
    #[arg(hide_short_help = true)]
    pub round: Rate,
    /// The affinities of the tasks. They follow from the CPUs on which a thread was seen
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = AffinityArg::Pinned)]
    #[arg(help_heading = "Estimates")]
    pub affinity: AffinityArg,
    /// A task set that says what threads of SCHED_DEADLINE have reserved. The task whose `thread`, or name, matches the
    /// name of a thread has its budget (or WCET), deadline and period, because events do not contain them. With --live
    /// the kernel is asked
    #[arg(long, value_name = "SET", help_heading = "Estimates")]
    #[arg(hide_short_help = true)]
    pub deadline_of: Option<String>,
    /// Write to this file. It gets the task set, and a summary is printed; without this option, the set is printed
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub ascii: bool,
    /// Print the result as JSON. It is one document
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AffinityArg {
    /// The CPU of a thread that was seen on no other one
    Pinned,
    /// The CPUs on which a thread was seen
    Seen,
    /// None
    None,
}

/// Parses `max` or `p99.9`, in hundred-thousandths.
fn quantile(text: &str) -> Result<u32, String> {
    const USAGE: &str = "write max, or a percentage of the jobs from p0.001 to p100, as in p99.9";
    if text == "max" {
        return Ok(EVERY);
    }
    let percent: Rate = text.strip_prefix('p').and_then(|p| p.parse().ok()).ok_or(USAGE)?;
    let part = (&percent * &Rate::whole(i64::from(EVERY) / 100)).ceil();
    let part = part.and_then(|part| u32::try_from(part).ok());
    Ok(part.filter(|part| (1..=EVERY).contains(part)).ok_or(USAGE)?)
}

/// Parses `1%` as a fraction.
fn percent(text: &str) -> Result<Rate, String> {
    const USAGE: &str = "write a percentage from 0% to 10%";
    let percent: Rate = text.trim().trim_end_matches('%').trim().parse().map_err(|_| USAGE)?;
    let is_possible = percent >= Rate::ZERO && percent <= Rate::whole(10);
    if is_possible { Ok(percent / Rate::whole(100)) } else { Err(USAGE.to_owned()) }
}
