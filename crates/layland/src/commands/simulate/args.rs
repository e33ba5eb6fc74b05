//! The arguments of `layland sim`.

use crate::pages::ChartSpan;
use crate::ui::chart::Chart;
use crate::ui::input::SetArgs;
use crate::ui::numbers::{whole, whole_u64};
use clap::{Args, ValueEnum};
use layland_answers::values::{length_of, seed_of, window_of};
use layland_answers::{Limit, SimulateQuestion};
use layland_model::shown::{DIGITS, Digits};
use layland_model::{Duration, Time};
use layland_sim::{EventLoop, Horizon};
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland sim demo:dhall --policy g-edf,p-edf
      compare two policies on a bundled task set (`layland demos` lists them)
  layland sim robot.toml --policy g-edf --until 2s -o robot.svg -o robot.json
      a chart and the whole trace as files; the format follows from the extension
  layland sim -t control=1ms/5ms -t log=8ms/20ms --cpus 1 --policy p-rm
      without a file: NAME=WCET/PERIOD[/DEADLINE][@CPUS]
  layland gen -n 16 -u 7.6 --cpus 8 | layland sim - --policy g-edf --until 10s --json
      a random set from standard input, the result as JSON
  layland sim rtapp.json --policy p-edf:fit=wfd
      an rt-app file, and an option of a policy
  layland sim robot.toml --policy p-edf --fail-on 'misses>0.1%' --junit result.xml
      for continuous integration: limits that fail the build, and a file that it can show
  layland sim sets/*.toml --policy g-edf --until 10s
      many sets at once, on all CPUs; a file that ends in .jsonl has a set in each line
  layland gen -n 20 -u 7 --cpus 8 --sets 1000 --to jsonl | layland sim --from jsonl - -p g-edf --json
      a stream of sets, each answered as it comes

A policy is written name:option=value; `layland policies NAME` lists its options.

Exits with 0 if every deadline was met under every policy, of every set, and with 1 if not.";

#[derive(Args)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// More task sets
    #[arg(value_name = "MORE")]
    pub more: Vec<String>,
    /// The policies, separated by commas. By default one that fits the set, which is named on standard error.
    /// `layland policies` lists them
    #[arg(short, long, value_name = "P,..", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// End at this time, as in 2s. By default after two hyperperiods, and at most 10 s
    #[arg(long, value_name = "TIME", value_parser = length_of, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["hyperperiods", "cycle"], help_heading = "Duration")]
    pub until: Option<Duration>,
    /// Simulate this many hyperperiods after the last offset
    #[arg(long, value_name = "N", conflicts_with = "cycle", help_heading = "Duration")]
    #[arg(value_parser = whole::<1, 1_000_000_000>)]
    #[arg(hide_short_help = true)]
    pub hyperperiods: Option<u32>,
    /// Simulate until the state recurs, so that the whole infinite schedule is known. Stops at
    /// this time [default: 1000s]
    #[arg(long, value_name = "AT MOST", value_parser = length_of)]
    #[arg(num_args = 0..=1, default_missing_value = "1000s", help_heading = "Duration")]
    #[arg(hide_short_help = true)]
    pub cycle: Option<Duration>,
    /// The seed of everything that is drawn. It decides execution times, jitter and separations
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Randomness")]
    #[arg(value_parser = seed_of, allow_hyphen_values = true)]
    pub seed: u64,
    /// Break ties of deadlines and order simultaneous events at random, from this seed. The result is another
    /// schedule that the policy permits. Partitions, fixed priorities and orders that are made
    /// before the start stay the same, and so does the answer of `layland check`
    #[arg(long, value_name = "SEED", help_heading = "Randomness", value_parser = seed_of)]
    #[arg(hide_short_help = true)]
    pub explore: Option<u64>,
    /// The event loop of the simulator. `general` is the one for every policy; by default a faster one runs where it
    /// fits. The result is the same
    #[arg(long, value_name = "LOOP", value_enum, default_value_t = LoopName::Fitting)]
    #[arg(hide_short_help = true)]
    pub engine_loop: LoopName,
    /// Write to this file. Its extension says what: a self-contained HTML page with all policies (.html), a chart
    /// (.svg, .png, .pdf, .txt, .tex for LaTeX with TikZ), or the whole trace (.json, .pftrace for Perfetto, .parquet
    /// for tables, .bin for the tools of LITMUS^RT). May be repeated. With several policies, FILE.svg becomes
    /// FILE.POLICY.svg; FILE.parquet is one file per table, FILE.jobs.parquet and so on
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Vec<PathBuf>,
    /// The interval that charts show, as in 10ms..50ms. By default around the first miss, and in .html the whole run
    #[arg(long, value_name = "FROM..TO", value_parser = window_of, help_heading = "Output")]
    pub window: Option<(Time, Time)>,
    /// The largest number of segments per policy in a report (.html). A longer run is cut, and the report says so
    #[arg(long, value_name = "N", default_value_t = 1_000_000, help_heading = "Output")]
    #[arg(value_parser = whole_u64::<1, 5_000_000>)]
    #[arg(hide_short_help = true)]
    pub segments: u64,
    /// The contents of the chart in the terminal. By default the tasks, and no chart with several sets
    #[arg(long, value_name = "WHAT", value_enum, help_heading = "Output")]
    pub chart: Option<Chart>,
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
    /// Check the schedule against the rules of the policy and of every schedule
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub check: bool,
    /// Print the result as JSON. It is one document, or with several sets one line for each
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// The significant digits of rounded times, and the decimals of utilizations and other ratios
    #[arg(long, value_name = "N", help_heading = "Output", default_value_t = DIGITS)]
    #[arg(value_parser = whole::<1, 12>)]
    #[arg(hide_short_help = true)]
    pub digits: u32,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub ascii: bool,
    /// Print results and problems only
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// The number of worker threads. By default one per CPU
    #[arg(long, short = 'j', value_name = "N", value_parser = whole::<1, 1024>)]
    #[arg(hide_short_help = true)]
    pub workers: Option<u32>,
}

/// The name of an event loop on the command line.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LoopName {
    Fitting,
    General,
}

impl SimArgs {
    /// Returns the digits of rounded numbers.
    pub(super) fn digits(&self) -> Digits {
        Digits(self.digits)
    }

    /// Returns the question about each set.
    pub(super) fn question(&self) -> SimulateQuestion {
        let up_to = |length: Duration| Time::ZERO + length;
        let until = self.until.map(|until| Horizon::At(up_to(until)));
        let hyperperiods = self.hyperperiods.map(Horizon::Hyperperiods);
        let cycle = self.cycle.map(|cycle| Horizon::Recurrence { at_most: up_to(cycle) });
        SimulateQuestion {
            policies: self.policy.clone(),
            horizon: until.or(hyperperiods).or(cycle),
            seed: self.seed,
            explore: self.explore,
            event_loop: match self.engine_loop {
                LoopName::Fitting => EventLoop::Fitting,
                LoopName::General => EventLoop::General,
            },
            check: self.check,
            // The text without --per-task has the figures of all tasks together.
            tasks: self.per_task || self.json || self.junit.is_some() || !self.output.is_empty(),
            limits: self.fail_on.clone(),
        }
    }

    /// Returns what charts and pages show.
    pub(super) fn shown(&self) -> ChartSpan {
        ChartSpan { window: self.window, segments: self.segments }
    }
}
