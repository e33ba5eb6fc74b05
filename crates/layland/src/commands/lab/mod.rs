//! `layland lab`: packaged experiments, and those of the user.

mod list;
mod part;
mod ran;
mod real;
mod show;

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::numbers::{whole, whole_u64};
use crate::ui::{self, document, input, interrupt, terminal, threads};
use clap::{Args, Subcommand};
use layland_lab::{
    EngineRuns, Experiment, LabError, Part, Progress, Results, Runner, Share, ThreadRuns, Timings,
    claims_text, judge, packaged, parse_horizon, table_text, write_paper,
};
use layland_model::counted;
use layland_policy::Registry;
use real::OnThreads;
use show::Show;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use twox_hash::XxHash3_128;

pub(crate) use list::{Experiments, Units};
pub(crate) use part::PartDocument;
pub(crate) use ran::RanDocument;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland lab list
  layland lab run stevanato2021
      the figures of the paper, in lab/stevanato2021
  layland lab run stevanato2021 --only fig1a --sets 100 --output more
      one figure, with more task sets
  layland lab run huang2014 --real-threads
      also the part that runs on real threads of this machine
  layland lab show tang2021 > mine.toml
  layland lab run mine.toml
      an experiment of your own
  layland lab paper tang2021 -o report
      a page about the paper, to send to its authors
  layland lab run atlas --shard 3/200 -o /shared/atlas
      a part of it, on one of many machines; at the end the same without --shard

Results are kept: an interrupted run is resumed by the same command, and more sets are added to those that are there. \
Exits with 0 when the experiment is complete, whether or not its claims hold.";

#[derive(Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Subcommand)]
pub(crate) enum LabCommand {
    /// List the packaged experiments
    List {
        /// Print the result as JSON. It is the list
        #[arg(long)]
        json: bool,
    },
    /// Print the file of a packaged experiment
    Show {
        /// Its name
        name: String,
    },
    /// Run an experiment: results, figures, claims
    Run(ExperimentArgs),
    /// Write a report about a paper for its authors: figures, claims with their intervals, commands
    ///
    /// It is one page of HTML and the same as PDF. The command first measures what the folder does not have.
    Paper(PaperArgs),
    /// List the units of work of an experiment, and which are measured
    ///
    /// A unit is a block of task sets of one point. Its name is a hash of everything that its results depend
    /// on, the build of this program included: machines with other builds do not use each other's results.
    Units {
        #[command(flatten)]
        which: Which,
        /// Print the result as JSON. It is the list
        #[arg(long)]
        json: bool,
    },
}

/// An experiment, as it is measured.
#[derive(Args)]
pub(crate) struct Which {
    /// A packaged experiment, or a file that describes one (*.toml)
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,
    /// The number of task sets. Each point has this many
    #[arg(long, value_name = "N", value_parser = whole_u64::<1, 1_000_000>)]
    pub sets: Option<u64>,
    /// The length of each simulation, as in 10s or "2 hyperperiods"
    #[arg(long, value_name = "TIME", value_parser = parse_horizon)]
    #[arg(hide_short_help = true)]
    pub horizon: Option<layland_lab::Horizon>,
    /// The seed of everything that is drawn
    #[arg(long, value_name = "N", value_parser = whole_u64::<0, { i64::MAX as u64 }>)]
    pub seed: Option<u64>,
    /// Measure and draw only what these figures need
    #[arg(long, value_name = "FIGURE,..", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Write into this folder. By default lab/NAME
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ExperimentArgs {
    #[command(flatten)]
    pub which: Which,
    /// Measure one of this many parts, and draw nothing. For one of several processes or machines that share the
    /// folder; when all parts are there, the command without this option draws them
    #[arg(
        long,
        value_name = "PART/PARTS",
        group = "part",
        conflicts_with_all = ["fresh", "real_threads"]
    )]
    #[arg(hide_short_help = true)]
    pub shard: Option<Share>,
    /// Measure these units, as `lab units` names them, and draw nothing
    #[arg(
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        group = "part",
        conflicts_with_all = ["fresh", "real_threads"]
    )]
    #[arg(hide_short_help = true)]
    pub units: Vec<String>,
    /// After the part, measure what other processes have not, until every unit is there
    #[arg(long, requires = "part")]
    #[arg(hide_short_help = true)]
    pub until_done: bool,
    /// Discard the results in the folder, and start again
    #[arg(long, conflicts_with = "resume")]
    pub fresh: bool,
    /// Resume from the results in the folder. This is the default
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub resume: bool,
    /// The number of worker threads. By default one per CPU
    #[arg(long, short = 'j', value_name = "N", value_parser = whole::<1, 1024>)]
    pub workers: Option<u32>,
    /// Do not measure how long decisions take, where the experiment asks for it
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub no_timing: bool,
    /// Also measure on real threads of this machine, where the experiment asks for it. This takes minutes, and needs
    /// the right to real-time priorities (thread switches: root)
    #[arg(long)]
    pub real_threads: bool,
    /// Print the result as JSON. It is one document
    #[arg(long)]
    pub json: bool,
    /// Print results and problems only
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
pub(crate) struct PaperArgs {
    #[command(flatten)]
    pub which: Which,
    /// The number of worker threads. By default one per CPU
    #[arg(long, short = 'j', value_name = "N", value_parser = whole::<1, 1024>)]
    pub workers: Option<u32>,
    /// Do not measure how long decisions take, where the experiment asks for it. Figures of times are left out
    #[arg(long)]
    pub no_timing: bool,
    /// Print results and problems only
    #[arg(short, long)]
    pub quiet: bool,
}

pub(crate) fn run(registry: &Registry, args: &LabArgs) -> Outcome {
    match &args.command {
        LabCommand::List { json } => list::list(*json),
        LabCommand::Show { name } => {
            terminal::data(find(name)?.text)?;
            Ok(Exit::Yes)
        }
        LabCommand::Run(args) => run_one(registry, args),
        LabCommand::Paper(args) => paper(registry, args),
        LabCommand::Units { which, json } => list::units(registry, which, *json),
    }
}

fn find(name: &str) -> Result<&'static packaged::Packaged, Failure> {
    packaged::find(name).ok_or_else(|| ui::names::no_experiment(name))
}

fn names<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    names.map(String::as_str).collect()
}

/// Loads the experiment, with the changes of the command line.
fn load(registry: &Registry, args: &Which) -> Result<Experiment, Failure> {
    let path = Path::new(&args.experiment);
    let mut experiment = if path.extension().is_some_and(|ending| ending == "toml") {
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::input(format!("failed to read {}: {error}", path.display()))
        })?;
        let name = path.file_stem().map_or("experiment".into(), |stem| stem.to_string_lossy());
        layland_lab::read(&name, &args.experiment, &bytes, registry)
            .map_err(|report| input::failure(&report))?
    } else {
        find(&args.experiment)?.experiment()
    };
    experiment.sets = args.sets.unwrap_or(experiment.sets);
    experiment.seed = args.seed.unwrap_or(experiment.seed);
    experiment.horizon = args.horizon.unwrap_or(experiment.horizon);
    if let Some(timing) = &mut experiment.timing {
        timing.sets = args.sets.unwrap_or(timing.sets);
        timing.horizon = args.horizon.unwrap_or(timing.horizon);
    }
    Ok(experiment)
}

/// The selection of a command line.
struct Chosen {
    experiment: Experiment,
    /// The indices of the figures to draw; empty for all.
    figures: Vec<usize>,
    folder: PathBuf,
    /// Identifies the code of user-defined policies.
    code: Option<String>,
}

impl Chosen {
    fn of(registry: &Registry, which: &Which) -> Result<Chosen, Failure> {
        let experiment = load(registry, which)?;
        let figures = which
            .only
            .iter()
            .map(|name| {
                experiment.figures.iter().position(|figure| figure.name == *name).ok_or_else(|| {
                    let known = names(experiment.figures.iter().map(|figure| &figure.name));
                    Failure::usage(format!("there is no figure `{name}`"))
                        .help(format!("there are {}", known.join(", ")))
                })
            })
            .collect::<Result<Vec<usize>, Failure>>()?;
        let folder =
            which.output.clone().unwrap_or_else(|| Path::new("lab").join(&experiment.name));
        Ok(Chosen { experiment, figures, folder, code: code(registry)? })
    }

    /// Refuses to replace results by those of fewer sets.
    fn keeps_results(&self) -> Result<(), Failure> {
        let (folder, sets) = (self.folder.display(), self.experiment.sets);
        match layland_lab::sets_in(&self.folder) {
            Some(known) if known > sets => {
                let results = counted(known, "set");
                let message = format!(
                    "{folder} has the results of {results} per point, and those of {sets} would replace them"
                );
                Err(Failure::usage(message).help(format!(
                    "--sets {known} keeps them, --output FOLDER writes elsewhere, and `lab run --fresh` starts again"
                )))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn runner<'a>(&'a self, registry: &'a Registry) -> Runner<'a> {
        Runner {
            experiment: &self.experiment,
            registry,
            code: self.code.as_deref(),
            folder: &self.folder,
            interrupt: None,
            progress: None,
            damaged: None,
        }
    }
}

/// Identifies the code of user-defined policies, if there are any. Only the program file itself can
/// identify it.
fn code(registry: &Registry) -> Result<Option<String>, Failure> {
    let ours = Registry::standard();
    if registry.iter().all(|policy| ours.find(&policy.name).is_some()) {
        return Ok(None);
    }
    let program = std::env::current_exe().and_then(std::fs::read).map_err(|error| {
        Failure::refused(format!("failed to read this program, to distinguish its builds: {error}"))
    })?;
    Ok(Some(format!("{:032x}", XxHash3_128::oneshot(&program))))
}

fn run_one(registry: &Registry, args: &ExperimentArgs) -> Outcome {
    let chosen = Chosen::of(registry, &args.which)?;
    let Chosen { experiment, figures, folder, .. } = &chosen;
    if args.real_threads && !on_real_threads(experiment) {
        let message = format!("{} measures nothing on real threads", experiment.name);
        return Err(Failure::usage(message).help("leave out --real-threads"));
    }
    let part = match (args.shard, args.units.as_slice()) {
        (Some(share), _) => Some(Part::Share(share)),
        (None, []) => None,
        (None, names) => Some(Part::Named(names.to_vec())),
    };
    if let Some(part) = &part {
        return part::run(registry, args, &chosen, part);
    }
    if !args.fresh {
        chosen.keeps_results()?;
    }
    let shards = folder.join("shards");
    if args.fresh && shards.exists() {
        std::fs::remove_dir_all(&shards).map_err(|error| {
            Failure::refused(format!("failed to remove {}: {error}", shards.display()))
        })?;
    }
    let interrupt = interrupt::listen();
    let show = Show::new(args.quiet || args.json);
    let results = measured(registry, &chosen, args.workers, interrupt, &show)?;
    if !results.is_complete() {
        terminal::talk("interrupted: writing what there is; the same command goes on");
    }
    let mut written = layland_lab::write(experiment, &results, figures, folder).map_err(failed)?;
    let is_timed = !args.no_timing && results.is_complete() && figures.is_empty();
    let timings = timed(registry, experiment, is_timed, interrupt, &show)?;
    if let Some(timings) = &timings {
        written.extend(layland_lab::write_timings(experiment, timings, folder).map_err(failed)?);
    }
    let (runs, engines) = if args.real_threads && results.is_complete() && figures.is_empty() {
        real_threads(registry, experiment, interrupt, &show)?
    } else {
        (OnThreads::None, OnThreads::None)
    };
    if let OnThreads::Measured(runs) = &runs {
        written.extend(layland_lab::write_threads(experiment, runs, folder).map_err(failed)?);
    }
    if let OnThreads::Measured(runs) = &engines {
        written.extend(layland_lab::write_engines(experiment, runs, folder).map_err(failed)?);
    }
    let judged = judge(experiment, &results);
    let exit = if results.is_complete() { Exit::Yes } else { Exit::Interrupted };
    if args.json {
        let document = RanDocument::of(experiment, &results, &judged, folder, &written, exit);
        document::print(&document)?;
    } else {
        let mut text = claims_text(experiment, &results, &judged);
        for table in &experiment.tables {
            if results.grids.iter().any(|rows| rows.grid == table.grid) {
                text += &format!("\n{}", table_text(experiment, &results, table));
            }
        }
        if let Some(timings) = &timings {
            text += &format!("\n{}", timings.text(experiment));
        }
        text += &on_threads(&runs, |runs| runs.text(experiment));
        text += &on_threads(&engines, |runs| runs.text(experiment));
        if !args.real_threads && on_real_threads(experiment) {
            text += "\nnothing was measured on real threads: add --real-threads\n";
        }
        terminal::result(&text)?;
        if !args.quiet {
            let count = written.len();
            terminal::talk(&format!("wrote {count} files into {}", folder.display()));
        }
    }
    Ok(exit)
}

/// Simulates what is not simulated yet.
fn measured(
    registry: &Registry,
    chosen: &Chosen,
    workers: Option<u32>,
    interrupt: &AtomicBool,
    show: &Show,
) -> Result<Results, Failure> {
    let tell = |progress: Progress| show.tell(progress);
    let runner = Runner {
        interrupt: Some(interrupt),
        progress: Some(&tell),
        damaged: Some(&warn_of_damage),
        ..chosen.runner(registry)
    };
    let plan = runner.plan(&chosen.figures).map_err(failed)?;
    let results = threads::on(workers, || runner.run(&plan))?.map_err(failed)?;
    show.end();
    Ok(results)
}

/// Measures how long decisions take, if that is wanted and the experiment asks for it.
fn timed(
    registry: &Registry,
    experiment: &Experiment,
    is_timed: bool,
    interrupt: &AtomicBool,
    show: &Show,
) -> Result<Option<Timings>, Failure> {
    let tell = |done, points| show.timed(done, points);
    let time = || layland_lab::time(experiment, registry, Some(interrupt), &tell).map_err(failed);
    if is_timed { time() } else { Ok(None) }
}

/// Measures the rest of a paper's experiment, and writes the report for its authors.
fn paper(registry: &Registry, args: &PaperArgs) -> Outcome {
    let chosen = Chosen::of(registry, &args.which)?;
    let Chosen { experiment, figures, folder, .. } = &chosen;
    chosen.keeps_results()?;
    let interrupt = interrupt::listen();
    let show = Show::new(args.quiet);
    let results = measured(registry, &chosen, args.workers, interrupt, &show)?;
    let is_timed = !args.no_timing && results.is_complete() && figures.is_empty();
    let timings = timed(registry, experiment, is_timed, interrupt, &show)?;
    let written = write_paper(experiment, &results, timings.as_ref(), folder).map_err(failed)?;
    let paths: Vec<String> =
        written.iter().map(|file| folder.join(file).display().to_string()).collect();
    terminal::result(&(paths.join("\n") + "\n"))?;
    Ok(if results.is_complete() { Exit::Yes } else { Exit::Interrupted })
}

/// Returns true if the experiment measures anything on real threads.
fn on_real_threads(experiment: &Experiment) -> bool {
    experiment.threads.is_some() || experiment.engines.is_some()
}

/// The costs of policies on real threads, and the behaviour of each engine.
type OnRealThreads = (OnThreads<ThreadRuns>, OnThreads<EngineRuns>);

fn real_threads(
    registry: &Registry,
    experiment: &Experiment,
    interrupt: &AtomicBool,
    show: &Show,
) -> Result<OnRealThreads, Failure> {
    let tell = |done, runs| show.ran(done, runs);
    let runs = real::on_threads(experiment, registry, interrupt, &tell).map_err(failed)?;
    let engines = real::on_engines(experiment, registry, interrupt, &tell).map_err(failed)?;
    Ok((runs, engines))
}

/// Formats the result.
fn on_threads<T>(outcome: &OnThreads<T>, text: impl Fn(&T) -> String) -> String {
    match outcome {
        OnThreads::Measured(runs) => format!("\n{}", text(runs)),
        OnThreads::Needs(what) => format!("\nreal threads, skipped: needs {what}\n"),
        OnThreads::Interrupted => "\nreal threads: interrupted\n".to_owned(),
        OnThreads::None => String::new(),
    }
}

fn failed(error: LabError) -> Failure {
    match error {
        LabError::Write { .. } | LabError::Parquet(_) => Failure::refused(error.to_string()),
        LabError::Draw { .. } | LabError::Simulate { .. } => Failure::input(error.to_string()),
        LabError::NoUnit { .. } => Failure::usage(error.to_string()),
        LabError::TooManyUnits { .. } => Failure::input(error.to_string())
            .help("raise `block`, or ask for fewer `sets` or points"),
    }
}

/// Warns that a shard was changed after it was written, by a disk, a copy or an edit.
fn warn_of_damage(shard: &Path) {
    let message = format!("{} is damaged: its unit is measured again", shard.display());
    terminal::warn(&message, None);
}
