//! The arguments, and the help that teaches them.

use clap::builder::styling::{AnsiColor, Styles};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use layland_config::Format;
use layland_model::{Duration, ParseTimeError, Rate, Service, Time};
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const START: &str = "\
Start here:
  layland demos                                  what is bundled
  layland sim demo:dhall --policy g-edf,p-edf    two policies side by side
  layland check demo:dhall                       what can be guaranteed
  layland demos robot > mine.toml                a task-set file to change

Exit codes:
  0    yes: done, and every deadline was met, or is guaranteed
  1    no: a deadline was missed or cannot be guaranteed, or a policy refused the set
  2    wrong usage
  3    invalid input
  4    unknown: no test could tell
  5    refused by the system: a file cannot be written, a priority is not granted
  6    a measurement is not trustworthy, whatever was seen in it
  70   a bug of layland
  130  interrupted; partial results are marked";

/// Real-time scheduling on several CPUs: what will happen to these tasks, and what is guaranteed?
///
/// Results go to standard output, everything else to standard error.
#[derive(Parser)]
#[command(name = "layland", bin_name = "layland", version, styles = STYLES, after_help = START)]
#[command(arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// Colours: if the output is a terminal and NO_COLOR is not set, always, or never
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t = Colour::Auto)]
    #[arg(hide_possible_values = false, help_heading = "Everywhere")]
    pub color: Colour,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Simulate a task set under one or more policies, and compare them
    #[command(after_long_help = SIM_EXAMPLES)]
    Sim(SimArgs),
    /// Can it be guaranteed? Every schedulability test and bound that applies, for each policy
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Explain a test, a bound, an assumption, an error code or an exit code; without one, list them
    ///
    /// With --policy, draw what a policy makes of a task set: the reduction tree of RUN, the processor
    /// hierarchy of QPS.
    Explain(ExplainArgs),
    /// Make it happen: run a task set on real threads, under the policies that `sim` simulates
    #[cfg(target_os = "linux")]
    #[command(after_long_help = crate::run::EXAMPLES)]
    Run(Box<crate::run::RunArgs>),
    /// Measure what this machine takes for a switch, as the overheads of a platform
    #[cfg(target_os = "linux")]
    #[command(after_long_help = crate::calibrate::EXAMPLES)]
    Calibrate(crate::calibrate::CalibrateArgs),
    /// Record, read, check and compare traces
    #[cfg(target_os = "linux")]
    #[command(after_long_help = crate::trace::EXAMPLES)]
    Trace(crate::trace::TraceArgs),
    /// Try what works on this machine, and name the fix for what does not
    #[cfg(target_os = "linux")]
    #[command(after_long_help = crate::doctor::EXAMPLES)]
    Doctor(crate::doctor::DoctorArgs),
    /// Generate random task sets
    #[command(after_long_help = GEN_EXAMPLES)]
    Gen(Box<GenArgs>),
    /// Convert a task set to another format
    ///
    /// What the format has no place for is named on standard error. A task-set file loses nothing:
    /// written and read again it is the same system.
    #[command(after_long_help = CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
    /// List the policies, or explain one
    #[command(after_long_help = POLICIES_EXAMPLES)]
    Policies(PoliciesArgs),
    /// List the bundled task sets, or print one as a file to start from
    #[command(after_long_help = DEMOS_EXAMPLES)]
    Demos(DemosArgs),
    /// Run experiments: grids of random task sets, figures, claims that hold or do not
    #[cfg(feature = "lab")]
    #[command(after_long_help = crate::lab::EXAMPLES)]
    Lab(crate::lab::LabArgs),
    /// Print the JSON Schema of task-set files, for editors
    ///
    /// An editor with a TOML language server checks and completes a task-set file that names the
    /// schema: `layland schema > layland.schema.json`, and `#:schema ./layland.schema.json` as the
    /// first line of the file.
    Schema,
    /// Print completions for a shell
    #[command(after_long_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write all of them into a folder
    #[command(after_long_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

const CONVERT_EXAMPLES: &str = "\
Examples:
  layland convert rtapp.json -o robot.toml
      the format to write follows from the ending, or is given by --to
  layland convert robot.toml --to csv
      a table, one line per task
  layland convert -t control=1ms/5ms -t log=8ms/20ms --cpus 2
      a task-set file from the command line";

const POLICIES_EXAMPLES: &str = "\
Examples:
  layland policies
  layland policies p-edf
      what it does, what it refuses, its options, whom to cite
  layland policies p-edf --cite
      the references as BibTeX";

const DEMOS_EXAMPLES: &str = "\
Examples:
  layland sim demo:dhall --policy g-edf,p-edf
  layland demos robot > mine.toml";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  layland completions bash > ~/.local/share/bash-completion/completions/layland
  layland completions zsh > ~/.zfunc/_layland
  layland completions fish > ~/.config/fish/completions/layland.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  layland man sim | man -l -
  layland man -o ~/.local/share/man/man1";

#[derive(Args)]
pub struct DemosArgs {
    /// Print the file of this set
    pub name: Option<String>,
    /// Print the list, or the set, as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ManArgs {
    /// The command to print the page of; by default the page of layland itself
    #[arg(conflicts_with = "output")]
    pub command: Option<String>,
    /// Write one page per command into this folder
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

const SIM_EXAMPLES: &str = "\
Examples:
  layland sim demo:dhall --policy g-edf,p-edf
      compare two policies on a bundled task set (`layland demos` lists them)
  layland sim robot.toml --policy g-edf --until 2s -o robot.svg -o robot.json
      a chart and the whole trace as files; the format follows from the ending
  layland sim -t control=1ms/5ms -t log=8ms/20ms --cpus 1 --policy p-rm
      no file at all: NAME=WCET/PERIOD[/DEADLINE][@CPUS]
  layland gen -n 16 -u 7.6 --cpus 8 | layland sim - --policy g-edf --until 10s --json
      a random set from standard input, the result as JSON
  layland sim rtapp.json --policy p-edf:fit=wfd
      an rt-app file, and an option of a policy

A policy is written name:option=value; `layland policies NAME` lists its options.
Exits with 0 if every deadline was met under every policy, and with 1 if not.";

const CHECK_EXAMPLES: &str = "\
Examples:
  layland check demo:robot
      what each policy guarantees, which test decided, how far the limit is
  layland check robot.toml --policy g-edf,p-edf --all
      what every test says
  layland check robot.toml --policy p-dm --cite
      the sources of what decided, as BibTeX
  layland check -t control=1ms/5ms -t log=8ms/20ms --policy p-rm --json
      no file at all; the result as JSON
  layland check sets/*.toml --policy g-edf
      many sets at once, on all CPUs; a file that ends in .jsonl has one rt-app set per line

Exits with 0 if every policy that is named guarantees all deadlines (without --policy: if one does),
with 1 if one (all) cannot, and with 4 if that is not known.";

#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// More task sets
    #[arg(value_name = "MORE")]
    pub more: Vec<String>,
    /// Policies, separated by commas; by default all about which there is something to say
    #[arg(short, long, value_name = "P,..", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Only these tests, separated by commas; `layland explain` lists them
    #[arg(long, value_name = "TEST,..", value_delimiter = ',')]
    pub test: Vec<String>,
    /// Also write a report for a browser (.html): policies side by side, bounds beside deadlines, and
    /// what every test says
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Show what every test says, and not only the one that decides
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// Do not look for the factor by which WCETs could grow; with several sets nobody does
    #[arg(long, help_heading = "Output")]
    pub no_margin: bool,
    /// Print the sources of what decided as BibTeX
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub cite: bool,
    /// Print the result as JSON: one document, or with several sets one line each
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    pub ascii: bool,
    /// How many sets and policies are checked at once; by default one per CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
}

#[derive(Args)]
pub struct ExplainArgs {
    /// What to explain, as in GFB, no-jitter, layland::taskset::missing or 4
    #[arg(value_name = "CODE|SET")]
    pub code: Option<String>,
    /// Draw what this policy (run or qps, with its options) makes of the task set SET before the start
    #[arg(short, long, value_name = "P", requires = "code", conflicts_with = "json")]
    #[arg(help_heading = "Structure")]
    pub policy: Option<String>,
    /// Write the drawing into a file: .svg, .dot or .txt
    #[arg(short, long, value_name = "FILE", requires = "policy", help_heading = "Structure")]
    pub output: Option<PathBuf>,
    /// How many CPUs there are, if the set does not say
    #[arg(long, value_name = "N", requires = "policy", help_heading = "Structure")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct SetArgs {
    /// The task set: a file (TOML, rt-app JSON, CSV, XML of SimSo or SchedCAT), - for standard input, or demo:NAME
    #[arg(value_name = "SET")]
    pub set: Option<String>,
    // An attribute, because brackets in a comment would be links.
    #[arg(
        short,
        long,
        value_name = "TASK",
        help_heading = "Task set",
        help = "Add a task: NAME=WCET/PERIOD[/DEADLINE][@CPUS]. May be repeated; needs no SET"
    )]
    pub task: Vec<String>,
    /// How many CPUs there are, if the set does not say
    #[arg(long, value_name = "N", help_heading = "Task set")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// The format of the set, if its name and its beginning do not tell
    #[arg(long, value_name = "FORMAT", value_parser = formats(), help_heading = "Task set")]
    pub from: Option<Format>,
}

impl SetArgs {
    /// The same with another task set.
    pub fn with(&self, set: Option<String>) -> SetArgs {
        SetArgs { set, task: self.task.clone(), cpus: self.cpus, from: self.from }
    }
}

#[derive(Args)]
pub struct SimArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// Policies, separated by commas; `layland policies` lists them
    #[arg(short, long, value_name = "P,..", value_delimiter = ',', default_value = "g-edf")]
    pub policy: Vec<String>,
    /// Simulate up to this time, as in 2s. By default two hyperperiods, at most 10 s
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>)]
    #[arg(conflicts_with_all = ["hyperperiods", "cycle"], help_heading = "How long")]
    pub until: Option<Duration>,
    /// Simulate this many hyperperiods after the last offset
    #[arg(long, value_name = "N", conflicts_with = "cycle", help_heading = "How long")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    pub hyperperiods: Option<u32>,
    /// Simulate until the state recurs, so that the schedule is known for ever; give up at this
    /// time [default: 1000s]
    #[arg(long, value_name = "AT MOST", value_parser = time_of::<Duration>)]
    #[arg(num_args = 0..=1, default_missing_value = "1000s", help_heading = "How long")]
    pub cycle: Option<Duration>,
    /// Seeds what the tasks draw: execution times, jitter, separations
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Chance")]
    pub seed: u64,
    /// Break ties and order simultaneous events at random, from this seed: shows schedules that are
    /// as legal as the usual one
    #[arg(long, value_name = "SEED", help_heading = "Chance")]
    pub explore: Option<u64>,
    /// Write a file: a report of all policies for a browser (.html), a chart (.svg, .txt, .tex for
    /// LaTeX with TikZ), or the whole trace (.json, .pftrace for Perfetto, .parquet for tables, .bin
    /// for the tools of LITMUS^RT). May be repeated. With several policies, FILE.svg becomes
    /// FILE.POLICY.svg; FILE.parquet is one file per table, FILE.jobs.parquet and so on
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Vec<PathBuf>,
    /// The part of time that charts show, as in 10ms..50ms; by default around the first miss, and in
    /// .html the whole run
    #[arg(long, value_name = "FROM..TO", value_parser = parse_window, help_heading = "Output")]
    pub window: Option<(Time, Time)>,
    /// The most segments of a policy in a report (.html); of a longer run it has a part, and says so
    #[arg(long, value_name = "N", default_value_t = 1_000_000, help_heading = "Output")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=5_000_000))]
    pub segments: u64,
    /// What the chart in the terminal shows
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Chart::Tasks, help_heading = "Output")]
    pub chart: Chart,
    /// Show a table of the tasks for each policy
    #[arg(long, help_heading = "Output")]
    pub tasks: bool,
    /// Check the schedule against the rules of the policy and of every schedule
    #[arg(long, help_heading = "Output")]
    pub check: bool,
    /// Print the result as one JSON document
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    pub ascii: bool,
    /// Show no progress, and do not say which files were written
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// How many policies are simulated at once; by default one per CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Chart {
    Tasks,
    Cpus,
    Both,
    None,
}

/// A time with its unit; what is wrong with it comes with what to write.
pub fn time_of<T: std::str::FromStr<Err = ParseTimeError>>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|error: ParseTimeError| format!("{error}: {}", error.help()))
}

/// The formats, by name.
fn formats() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

pub fn parse_window(text: &str) -> Result<(Time, Time), String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO, as in 10ms..50ms")?;
    let (from, to) = (time_of::<Time>(from)?, time_of::<Time>(to)?);
    if from < Time::ZERO || from >= to {
        return Err("a window starts at 0s or later, and before it ends".to_owned());
    }
    Ok((from, to))
}

#[derive(Args)]
pub struct ConvertArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The format to write; by default as the ending of the file says, or else toml
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub to: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct PoliciesArgs {
    /// Explain this policy
    pub name: Option<String>,
    /// Print the references as BibTeX
    #[arg(long)]
    pub cite: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

const GEN_EXAMPLES: &str = "\
Examples:
  layland gen -n 16 -u 7.6 --cpus 8
      16 tasks with a total utilization of 7.6 for 8 CPUs, to standard output
  layland gen -n 240 -u 18 --cpus 24 --periods log:10ms..100ms --sets 100 -o sets/
      100 sets, one file each; set K alone is made again with --first K --sets 1
  layland gen --range 0.5..0.9 -u 14.4 --cpus 16
      heavy tasks until the total is reached
  layland gen -n 20 -u 3 --cpus 4 --criticality LO,HI --factor 2..4
      mixed criticality
  layland gen -n 20 -u 0.6 --generator uunifast --levels 4 --level-factor 1.5
      mixed criticality with two execution times per task, and levels in turn
  layland gen -n 48 -u 18 --cpus 24 --affinity levels:2 --feasible
      affinities to all CPUs, a socket or one CPU, drawn again until they are feasible
  layland gen --again set.toml
      make a generated set again from what is written in it";

#[derive(Args)]
pub struct GenArgs {
    /// How many tasks
    #[arg(short = 'n', long = "tasks", value_name = "N", help_heading = "Utilizations")]
    pub tasks: Option<usize>,
    /// The total utilization, as in 7.6 or 38/5
    #[arg(short, long, value_name = "U", help_heading = "Utilizations")]
    #[arg(allow_negative_numbers = true)]
    pub utilization: Option<Rate>,
    /// How utilizations are drawn. All but uunifast keep them within bounds; randfixedsum and
    /// convolutional are uniform; randfixedsum needs memory for the square of the number of tasks
    #[arg(long, value_enum, default_value_t = Generator::RandFixedSum, help_heading = "Utilizations")]
    pub generator: Generator,
    /// The least utilization of a task (randfixedsum, convolutional)
    #[arg(long, value_name = "U", default_value = "0", help_heading = "Utilizations")]
    pub min: Rate,
    /// The largest utilization of a task (randfixedsum, convolutional, uunifast-discard)
    #[arg(long, value_name = "U", default_value = "1", help_heading = "Utilizations")]
    pub max: Rate,
    /// Bounds of each task in turn for convolutional, as in 0..0.5,0.2..1 (the last repeats)
    #[arg(long, value_name = "MIN..MAX,..", value_delimiter = ',', value_parser = layland_gen::text::rates)]
    #[arg(help_heading = "Utilizations", conflicts_with_all = ["min", "max"])]
    pub bounds: Vec<(Rate, Rate)>,
    /// Draw each utilization from this range: heavy is 0.5..0.9, medium 0.1..0.5. With -u, until the
    /// total is reached; with -n, so many tasks
    #[arg(long, value_name = "MIN..MAX|heavy|medium", value_parser = layland_gen::text::range)]
    #[arg(help_heading = "Utilizations", conflicts_with_all = ["generator", "min", "max", "bounds"])]
    pub range: Option<(Rate, Rate)>,
    /// log:10ms..1s, uniform:10ms..100ms, harmonic:5ms,8ms*2^4, or list:5ms,10ms,20ms
    #[arg(long, value_name = "PERIODS", default_value = "log:10ms..1s", help_heading = "Timing")]
    pub periods: String,
    /// Periods are multiples of this
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = time_of::<Duration>)]
    #[arg(help_heading = "Timing")]
    pub period_granularity: Duration,
    /// Execution times and everything else are multiples of this
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = time_of::<Duration>)]
    #[arg(help_heading = "Timing")]
    pub granularity: Duration,
    /// No execution time is shorter
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time_of::<Service>)]
    #[arg(help_heading = "Timing")]
    pub min_wcet: Service,
    /// implicit, constrained:MIN..MAX (of the way from WCET to period), or factor:MIN..MAX (of the
    /// period)
    #[arg(long, value_name = "DEADLINES", default_value = "implicit", help_heading = "Timing")]
    pub deadlines: String,
    /// First arrivals: all at 0, or uniform within the period
    #[arg(long, value_enum, default_value_t = OffsetsArg::Synchronous, help_heading = "Timing")]
    pub offsets: OffsetsArg,
    /// periodic, sporadic:MAX (uniform extra separation, in periods), or exponential:MEAN..MAX
    #[arg(long, value_name = "ARRIVALS", default_value = "periodic", help_heading = "Timing")]
    pub arrivals: String,
    /// Names of the criticality levels, low to high
    #[arg(long, value_name = "LEVEL,..", value_delimiter = ',', help_heading = "Criticality")]
    pub criticality: Vec<String>,
    /// The probability of each level; by default all the same
    #[arg(long, value_name = "P,..", value_delimiter = ',', requires = "criticality")]
    #[arg(help_heading = "Criticality")]
    pub probability: Vec<Rate>,
    /// By which factor the execution time grows from one level to the next
    #[arg(long, value_name = "MIN..MAX", value_parser = layland_gen::text::rates, default_value = "2..2")]
    #[arg(help_heading = "Criticality", requires = "criticality")]
    pub factor: (Rate, Rate),
    /// Cut execution times of higher levels at the period
    #[arg(long, requires = "criticality", help_heading = "Criticality")]
    pub capped: bool,
    /// So many levels L0, L1, .., given to the tasks in turn, each task with two execution times: a
    /// smaller one below its own level (Huang, Gill and Lu 2014)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    #[arg(help_heading = "Criticality", conflicts_with = "criticality")]
    pub levels: Option<u8>,
    /// With --levels: the larger execution time over the smaller one
    #[arg(long, value_name = "CF", value_parser = layland_gen::text::factor, default_value = "1.5")]
    #[arg(help_heading = "Criticality", requires = "levels")]
    pub level_factor: Rate,
    /// With --levels: tasks of the lowest level keep the smaller execution time
    #[arg(long, requires = "levels", help_heading = "Criticality")]
    pub lowest_keeps: bool,
    /// How many CPUs the platform has
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Platform")]
    pub cpus: usize,
    /// global, clustered:K, partitioned, round-robin, levels:SOCKETS, or nested
    #[arg(long, value_name = "AFFINITY", default_value = "global", help_heading = "Platform")]
    pub affinity: String,
    /// Draw the set again until its affinities can carry it (Hall's condition)
    #[arg(long, help_heading = "Platform")]
    pub feasible: bool,
    /// How often a set is drawn at most
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = "Which sets")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub tries: u32,
    /// Seeds every draw: the same arguments and seed give the same bytes
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Which sets")]
    pub seed: u64,
    /// How many sets
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Which sets")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub sets: u64,
    /// The number of the first set: each set depends on the seed and its number only
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Which sets")]
    pub first: u64,
    /// Make the set in this file again, from what is written in it; - is standard input
    #[arg(long, value_name = "FILE", help_heading = "Which sets")]
    #[arg(conflicts_with_all = ["tasks", "utilization", "generator", "min", "max", "bounds", "range",
        "periods", "period_granularity", "granularity", "min_wcet", "deadlines", "offsets",
        "arrivals", "criticality", "probability", "factor", "capped", "levels", "level_factor",
        "lowest_keeps", "cpus", "affinity",
        "feasible", "tries", "seed", "sets", "first"])]
    pub again: Option<String>,
    /// The format to write; by default as the ending of the file says, or else toml
    #[arg(long, value_name = "FORMAT", value_parser = formats(), help_heading = "Output")]
    pub to: Option<Format>,
    /// Write to this file, or with several sets into this folder, instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Generator {
    #[value(name = "randfixedsum")]
    RandFixedSum,
    #[value(name = "convolutional")]
    Convolutional,
    #[value(name = "uunifast")]
    UUniFast,
    #[value(name = "uunifast-discard")]
    UUniFastDiscard,
}

impl Generator {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Generator::RandFixedSum => "randfixedsum",
            Generator::Convolutional => "convolutional",
            Generator::UUniFast => "uunifast",
            Generator::UUniFastDiscard => "uunifast-discard",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OffsetsArg {
    Synchronous,
    Uniform,
}
