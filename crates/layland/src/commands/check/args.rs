//! The arguments of `layland check`.

use crate::ui::chart::Chart;
use crate::ui::input::SetArgs;
use clap::Args;
use layland_answers::values::length_of;
use layland_engine::reserves::Margin;
use layland_model::Duration;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland check demo:robot
      the guarantees of each policy, the deciding test, and the distance to the limit
  layland check demo:robot --bounds
      also the longest response time of each task
  layland check robot.toml --policy g-edf,p-edf --all
      the result of every test
  layland check robot.toml --policy p-dm --cite
      the sources of the deciding tests, as BibTeX
  layland check robot.toml --policy dl-sp,run --margin 5ms
      the guarantees if more is reserved, as `layland run --margin 5ms` does to cover the costs of a machine
  layland check demo:dhall --policy g-edf --tick 1ms --effort 1000000
      search longer, and prove what can be proven for jobs that arrive at a tick
  layland check -t control=1ms/5ms -t log=8ms/20ms --policy p-rm --json
      without a file; the result as JSON
  layland check robot.toml --policy g-edf --certificate robot.json
      also the proof of the answer, which tools/verify_certificate.py robot.toml robot.json checks
  layland check sets/*.toml --policy g-edf
      many sets at once, on all CPUs; a file that ends in .jsonl has a set in each line
  layland gen -n 20 -u 4 --cpus 8 --sets 100000 --to jsonl | layland check --from jsonl - -p g-edf --json
      a stream of sets, each answered as it comes

Exits with 0 if every named policy guarantees all deadlines (without --policy: if any policy does),
with 1 if one of them (without --policy: each of them) cannot, and with 4 if that is unknown.";

#[derive(Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// More task sets
    #[arg(value_name = "MORE")]
    pub more: Vec<String>,
    /// Policies, separated by commas. By default every policy to which a test applies; only those that
    /// differ are shown
    #[arg(short, long, value_name = "P,..", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Run only these tests, separated by commas; `layland explain` lists them. With several sets the bounds are of
    /// these tests alone, too, unless --bounds asks for all
    #[arg(long, value_name = "TEST,..", value_delimiter = ',')]
    pub test: Vec<String>,
    /// Analyse what `layland run --margin` reserves (engines fifo and ext) in place of what the set says: larger
    /// budgets under policies of threads (dl, dl-sp, ..), larger WCETs under policies that are optimal (run, qps, ..)
    /// or for mixed criticality, and no change under others. A fraction, and at least 100us, or a time; without it,
    /// `run` takes 0.05. This is not the factor by which WCETs could grow (see --no-margin)
    #[arg(long, value_name = "FRACTION|TIME", conflicts_with = "certificate")]
    pub margin: Option<Margin>,
    /// Where no test decides, simulate up to this many jobs under each policy in search of a schedule that misses, and
    /// examine as many states; 0 does not search. By default at most 20000, and fewer with many tasks; with
    /// more than 16 sets 0, and then the tests that search (G-RTA-LC, SAPA-*, APA-EDF-LC) are left out as well
    #[arg(long, value_name = "JOBS", help_heading = "Search")]
    pub effort: Option<u64>,
    /// Assume that jobs arrive only at whole multiples of this time, as with a tick: a search that is complete and
    /// finds no late job is a proof, and the verdict is yes. Tests do not use this: a set that they refute may miss
    /// only with jobs between ticks, so the verdict is unknown unless a run on ticks misses
    #[arg(long, value_name = "TIME", value_parser = length_of, help_heading = "Search")]
    pub tick: Option<Duration>,
    /// The contents of the chart of a schedule that misses; by default its tasks, if policies are named and tasks
    /// are few
    #[arg(long, value_enum, help_heading = "Output")]
    pub chart: Option<Chart>,
    /// Also write a self-contained HTML page (.html): policies side by side, bounds beside
    /// deadlines, and the result of every test
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Also write the proof of each answer, as JSON, for an independent verifier (docs/certificates.md); - is standard
    /// output, and then nothing else is printed
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub certificate: Option<PathBuf>,
    /// Show the bounds of every task under every policy
    #[arg(long, help_heading = "Output")]
    pub bounds: bool,
    /// Show every policy, and the result of every test, not only of the one that decides
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// Do not search for the factor by which WCETs could grow (the column WCETs x); with several sets it is never
    /// searched for. This is not the margin that a run reserves (see --margin)
    #[arg(long, help_heading = "Output")]
    pub no_margin: bool,
    /// Print the sources of the deciding tests as BibTeX
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub cite: bool,
    /// Print the result as JSON: one document, or with several sets one line each
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    pub ascii: bool,
    /// Check this many sets and policies in parallel; by default one per CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
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
