//! The arguments of `layland check`.

use crate::ui::chart::Chart;
use crate::ui::input::SetArgs;
use crate::ui::numbers::{whole, whole_u64};
use clap::Args;
use layland_answers::DesignQuestion;
use layland_answers::values::length_of;
use layland_engine::reserves::Margin;
use layland_model::Duration;
use layland_model::shown::DIGITS;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland check demo:robot
      the guarantees of each policy, the deciding test, and the distance to the limit
  layland check demo:robot --bounds
      also the longest response time of each task
  layland check robot.toml --policy p-dm --sensitivity
      how far each WCET, deadline, period and jitter may go
  layland check robot.toml --policy g-edf,p-edf --all
      the result of every test
  layland check robot.toml --policy p-dm --cite
      the sources of the deciding tests, as BibTeX
  layland check robot.toml --policy dl-sp,run --reserve 5ms
      the guarantees if more is reserved, as `layland run --reserve 5ms` does to cover the costs of a machine
  layland check demo:dhall --policy g-edf --tick 1ms --effort 1000000
      search longer, and prove what can be proven for jobs that arrive at a tick
  layland check -t control=1ms/5ms -t log=8ms/20ms --policy p-rm --json
      without a file; the result as JSON
  layland check robot.toml --policy g-edf --certificate robot.json
      also the proof of the answer, which tools/verify_certificate.py robot.toml robot.json checks
  layland check robot.toml --design group=vision,periods=1ms..20ms/1ms
      the least bandwidth with which a group of the set is in time, over periods
  layland check sets/*.toml --policy g-edf
      many sets at once, on all CPUs; a file that ends in .jsonl has a set in each line
  layland gen -n 20 -u 4 --cpus 8 --sets 100000 --to jsonl | layland check --from jsonl - -p g-edf --json
      a stream of sets, each answered as it comes

Exits with 0 if every named policy guarantees all deadlines (without --policy: if any policy does), with 1 if one of \
them (without --policy: each of them) cannot, and with 4 if that is unknown.";

#[derive(Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// More task sets
    #[arg(value_name = "MORE")]
    pub more: Vec<String>,
    /// The policies, separated by commas. By default every policy that some test covers, and only those whose results
    /// differ are shown
    #[arg(short, long, value_name = "P,..", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Run only these tests, separated by commas. `layland explain` lists them. With several sets, the bounds also come
    /// from these tests only, unless --bounds asks for all
    #[arg(long, value_name = "TEST,..", value_delimiter = ',')]
    #[arg(hide_short_help = true)]
    pub test: Vec<String>,
    /// Reserve this much more than the set says, to cover the costs of switches. The answer is then about what
    /// `layland run --reserve` reserves with the engines fifo and ext: larger budgets under policies of threads (dl,
    /// dl-sp, ..), larger WCETs under policies that are optimal (run, qps, ..) or for mixed criticality, and no
    /// change under others. A time, or a fraction that amounts to at least 100us. Without this option, `run` reserves
    /// 0.05 more, and `check` nothing more
    #[arg(long, value_name = "FRACTION|TIME", conflicts_with = "certificate")]
    pub reserve: Option<Margin>,
    /// Find the least budget of a group, and the least bandwidth over periods and numbers of CPUs: group=NAME, and if
    /// wanted periods=1ms+2ms+5ms or periods=1ms..10ms/1ms, and cpus=1..4. By default the period and the CPUs of the
    /// group. The set is not checked
    #[arg(long, value_name = "group=NAME,..", help_heading = "Search")]
    #[arg(conflicts_with_all = ["policy", "test", "reserve", "effort", "tick", "all", "bounds", "cite", "output", "more"])]
    #[arg(hide_short_help = true)]
    pub design: Option<DesignQuestion>,
    /// The largest number of jobs to simulate in search of a schedule that misses, where no test decides. As many
    /// states are examined; 0 does not search. By default at most 20000, and fewer with many tasks. With more than 16
    /// sets it is 0, and the tests that search (G-RTA-LC, SAPA-*, APA-EDF-LC) are left out as well
    #[arg(long, value_name = "JOBS", help_heading = "Search")]
    #[arg(value_parser = whole_u64::<0, { u64::MAX }>)]
    #[arg(hide_short_help = true)]
    pub effort: Option<u64>,
    /// Assume that jobs arrive only at multiples of this time. If the exhaustive search then finishes without a miss,
    /// the verdict is yes. The analytical tests ignore this option: a set that they refute may miss only with jobs
    /// between ticks, so the verdict is unknown unless a run on ticks misses
    #[arg(long, value_name = "TIME", value_parser = length_of, help_heading = "Search")]
    #[arg(hide_short_help = true)]
    pub tick: Option<Duration>,
    /// The contents of the chart in the terminal. It shows a schedule that misses; by default its tasks, if policies
    /// are named and tasks are few
    #[arg(long, value_enum, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub chart: Option<Chart>,
    /// Write to this file. A self-contained HTML page (.html) shows policies side by side, bounds beside deadlines, and
    /// the result of every test
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Also write the proof of each answer to this file, as JSON. An independent verifier checks it
    /// (docs/certificates.md). With -, only the proof is printed
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub certificate: Option<PathBuf>,
    /// Show the bounds of every task under every policy
    #[arg(long, help_heading = "Output")]
    pub bounds: bool,
    /// Show every policy, and the result of every test, not only of the one that decides
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// Do not search for the margin, the factor by which WCETs could grow (the column WCETs x). With several sets it is
    /// never searched for
    #[arg(long, help_heading = "Output")]
    pub no_margin: bool,
    /// Search the limits of each task: the largest WCET, the least deadline, the least period and the largest jitter
    /// with which every deadline is still guaranteed, and the factor of each CPU. One number changes, the others stay,
    /// and so do the CPUs and priorities of the tasks. With several sets only --json has them
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub sensitivity: bool,
    /// Print the references as BibTeX. They are the sources of the deciding tests
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub cite: bool,
    /// Print the result as JSON. It is one document, or with several sets one line for each
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// The significant digits of rounded times, and the decimals of utilizations and other ratios. Two numbers that
    /// are compared get more where they would look equal
    #[arg(long, value_name = "N", help_heading = "Output", default_value_t = DIGITS)]
    #[arg(value_parser = whole::<1, 12>)]
    #[arg(hide_short_help = true)]
    pub digits: u32,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    pub ascii: bool,
    /// The number of worker threads. By default one per CPU
    #[arg(long, short = 'j', value_name = "N", value_parser = whole::<1, 1024>)]
    #[arg(hide_short_help = true)]
    pub workers: Option<u32>,
}

#[cfg(test)]
impl CheckArgs {
    /// Parses the words of a command line after `check`. Tests compare its question with that of a
    /// program.
    pub(super) fn of_words(words: &[&str]) -> Result<CheckArgs, clap::Error> {
        use clap::FromArgMatches;
        let command = CheckArgs::augment_args(clap::Command::new("check").no_binary_name(true));
        CheckArgs::from_arg_matches(&command.try_get_matches_from(words)?)
    }
}
