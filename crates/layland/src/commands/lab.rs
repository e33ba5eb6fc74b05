//! `layland lab`: packaged experiments, and those of the user.

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::progress::Lines;
use crate::ui::{self, input, interrupt, terminal, threads};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use layland_lab::{
    Experiment, Judged, LabError, OnThreads, Progress, Results, Runner, claims_text, judge,
    packaged, parse_horizon, table_text,
};
use layland_policy::Registry;
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland lab list
  layland lab run stevanato2021
      the figures of the paper, in lab/stevanato2021
  layland lab run stevanato2021 --only fig1a --sets 100 --out more
      one figure, with more task sets
  layland lab run huang2014 --real-threads
      also what runs on real threads of this machine
  layland lab show tang2021 > mine.toml
  layland lab run mine.toml
      an experiment of your own

Results are kept: an interrupted run is resumed by the same command, and more sets are added to
those that are there. Exits with 0 when the experiment is complete, whether or not its claims hold.";

#[derive(Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Subcommand)]
pub(crate) enum LabCommand {
    /// List the packaged experiments
    List {
        /// Print the list as JSON
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
}

#[derive(Args)]
pub(crate) struct ExperimentArgs {
    /// A packaged experiment, or a file that describes one (*.toml)
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,
    /// How many task sets each point has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub sets: Option<u64>,
    /// How long each simulation is, as in 10s or "2 hyperperiods"
    #[arg(long, value_name = "TIME", value_parser = parse_horizon)]
    pub horizon: Option<layland_lab::Horizon>,
    /// Seeds every draw
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Measure and draw only what these figures need
    #[arg(long, value_name = "FIGURE,..", value_delimiter = ',')]
    pub only: Vec<String>,
    /// The folder for everything that is written; by default lab/NAME
    #[arg(short, long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Forget what the folder holds, and measure anew
    #[arg(long, conflicts_with = "resume")]
    pub fresh: bool,
    /// Go on with what the folder holds. This is the default
    #[arg(long)]
    pub resume: bool,
    /// How many threads measure; by default one per CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Do not measure how long decisions take, where the experiment wants that
    #[arg(long)]
    pub no_timing: bool,
    /// Also measure on real threads of this machine, where the experiment wants that; takes minutes and
    /// needs the right to real-time priorities (thread switches: root)
    #[arg(long)]
    pub real_threads: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

pub(crate) fn run(registry: &Registry, args: &LabArgs) -> Outcome {
    match &args.command {
        LabCommand::List { json } => list(*json),
        LabCommand::Show { name } => {
            terminal::result(find(name)?.text)?;
            Ok(Exit::Yes)
        }
        LabCommand::Run(args) => run_one(registry, args),
    }
}

fn find(name: &str) -> Result<&'static packaged::Packaged, Failure> {
    packaged::find(name).ok_or_else(|| ui::names::no_experiment(name))
}

fn list(as_json: bool) -> Outcome {
    let all = packaged::ALL.iter().map(packaged::Packaged::experiment);
    if as_json {
        let each: Vec<serde_json::Value> = all
            .map(|experiment| {
                json!({
                    "name": experiment.name,
                    "title": experiment.title,
                    "source": experiment.source,
                    "sets": experiment.sets,
                    "figures": names(experiment.figures.iter().map(|figure| &figure.name)),
                    "claims": names(experiment.claims.iter().map(|claim| &claim.name)),
                })
            })
            .collect();
        terminal::result(&format!("{:#}\n", json!({ "experiments": each })))?;
        return Ok(Exit::Yes);
    }
    let mut text = String::new();
    for experiment in all {
        text += &format!("{}: {}\n", experiment.name, experiment.title);
        text += &terminal::wrap(&experiment.source, "  ");
        let figures = names(experiment.figures.iter().map(|figure| &figure.name)).join(", ");
        text += &format!("\n{}\n", terminal::wrap(&format!("figures: {figures}"), "  "));
    }
    text += "\nlayland lab run NAME runs one, layland lab show NAME prints its file\n";
    terminal::result(&text)?;
    Ok(Exit::Yes)
}

fn names<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    names.map(String::as_str).collect()
}

/// The experiment that is meant, with what the command line changes.
fn load(registry: &Registry, args: &ExperimentArgs) -> Result<Experiment, Failure> {
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

fn run_one(registry: &Registry, args: &ExperimentArgs) -> Outcome {
    let experiment = load(registry, args)?;
    let figures = args
        .only
        .iter()
        .map(|name| {
            experiment.figures.iter().position(|figure| figure.name == *name).ok_or_else(|| {
                let known = names(experiment.figures.iter().map(|figure| &figure.name)).join(", ");
                Failure::usage(format!("there is no figure `{name}`"))
                    .help(format!("there are {known}"))
            })
        })
        .collect::<Result<Vec<usize>, Failure>>()?;
    let folder = args.out.clone().unwrap_or_else(|| Path::new("lab").join(&experiment.name));
    let shards = folder.join("shards");
    if args.fresh && shards.exists() {
        std::fs::remove_dir_all(&shards).map_err(|error| {
            Failure::refused(format!("failed to remove {}: {error}", shards.display()))
        })?;
    }
    let interrupt = interrupt::listen();
    let show = Show::new(args.quiet || args.json);
    let tell = |progress: Progress| show.tell(progress);
    let runner = Runner {
        experiment: &experiment,
        registry,
        folder: &folder,
        interrupt: Some(interrupt),
        progress: Some(&tell),
    };
    let plan = runner.plan(&figures);
    let measure = || runner.run(&plan);
    let results = threads::on(args.threads, measure)?.map_err(failed)?;
    show.bar.finish_and_clear();
    if !results.is_complete() {
        terminal::talk("interrupted: writing what there is; the same command goes on");
    }
    let mut written =
        layland_lab::write(&experiment, &results, &figures, &folder).map_err(failed)?;
    let timings = match args.no_timing || !results.is_complete() || !figures.is_empty() {
        true => None,
        false => {
            let tell = |done, points| show.timed(done, points);
            layland_lab::time(&experiment, registry, Some(interrupt), &tell).map_err(failed)?
        }
    };
    if let Some(timings) = &timings {
        written.extend(layland_lab::write_timings(&experiment, timings, &folder).map_err(failed)?);
    }
    let runs = match results.is_complete() && figures.is_empty() {
        true => real_threads(registry, args, &experiment, interrupt, &show)?,
        false => None,
    };
    if let Some(OnThreads::Measured(runs)) = &runs {
        written.extend(layland_lab::write_threads(&experiment, runs, &folder).map_err(failed)?);
    }
    let judged = judge(&experiment, &results);
    let exit = if results.is_complete() { Exit::Yes } else { Exit::Interrupted };
    if args.json {
        let document = as_json(&experiment, &results, &judged, &folder, &written, exit);
        terminal::result(&format!("{document:#}\n"))?;
    } else {
        let mut text = claims_text(&experiment, &results, &judged);
        for table in &experiment.tables {
            if results.grids.iter().any(|rows| rows.grid == table.grid) {
                text += &format!("\n{}", table_text(&experiment, &results, table));
            }
        }
        if let Some(timings) = &timings {
            text += &format!("\n{}", timings.text(&experiment));
        }
        match &runs {
            Some(OnThreads::Measured(runs)) => text += &format!("\n{}", runs.text(&experiment)),
            Some(OnThreads::Needs(what)) => {
                text += &format!("\nreal threads, skipped: needs {what}\n")
            }
            Some(OnThreads::Interrupted) => text += "\nreal threads: interrupted\n",
            Some(OnThreads::None) | None if experiment.threads.is_some() => {
                text += "\nnothing was measured on real threads: add --real-threads\n";
            }
            Some(OnThreads::None) | None => {}
        }
        terminal::result(&text)?;
        if !args.quiet {
            let count = written.len();
            terminal::talk(&format!("wrote {count} files into {}", folder.display()));
        }
    }
    Ok(exit)
}

/// Measures on real threads, if that was asked for.
fn real_threads(
    registry: &Registry,
    args: &ExperimentArgs,
    experiment: &Experiment,
    interrupt: &AtomicBool,
    show: &Show,
) -> Result<Option<OnThreads>, Failure> {
    if !args.real_threads {
        return Ok(None);
    }
    if experiment.threads.is_none() {
        let message = format!("{} measures nothing on real threads", experiment.name);
        return Err(Failure::usage(message).help("leave out --real-threads"));
    }
    let tell = |done, runs| show.ran(done, runs);
    layland_lab::on_threads(experiment, registry, interrupt, &tell).map(Some).map_err(failed)
}

fn failed(error: LabError) -> Failure {
    match error {
        LabError::Write { .. } | LabError::Parquet(_) => Failure::refused(error.to_string()),
        LabError::Draw { .. } | LabError::Simulate { .. } => Failure::input(error.to_string()),
    }
}

fn as_json(
    experiment: &Experiment,
    results: &Results,
    judged: &[Judged<'_>],
    folder: &Path,
    written: &[PathBuf],
    exit: Exit,
) -> serde_json::Value {
    let claims: Vec<serde_json::Value> = judged
        .iter()
        .map(|judged| {
            json!({
                "name": judged.claim.name,
                "text": judged.claim.text,
                "source": judged.claim.source,
                "figures": judged.claim.figures.iter()
                    .map(|&at| experiment.figures[at].name.as_str()).collect::<Vec<_>>(),
                "here": judged.judgement.name(),
                "compared": judged.compared,
                "agree": judged.agree,
                "of": judged.of,
                "even": judged.even,
                "against": judged.against,
            })
        })
        .collect();
    json!({
        "experiment": experiment.name,
        "provenance": experiment.provenance(),
        "complete": results.is_complete(),
        "units": results.units,
        "done": results.done,
        "claims": claims,
        "folder": folder,
        "files": written,
        "exit": exit,
    })
}

/// How far it is: a bar on a terminal, otherwise a line every few seconds.
struct Show {
    bar: ProgressBar,
    plain: bool,
    lines: Lines,
}

impl Show {
    fn new(quiet: bool) -> Show {
        let plain = !quiet && !std::io::stderr().is_terminal();
        let bar = if quiet || plain {
            ProgressBar::hidden()
        } else {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10))
        };
        let style = "{prefix} {wide_bar} {pos}/{len}  {eta} left";
        let style = ProgressStyle::with_template(style);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix("measuring");
        Show { bar, plain, lines: Lines::new(quiet) }
    }

    /// Shows the bar of what comes after the measurements.
    fn phase(&self, what: &'static str, done: usize, all: usize) {
        if self.bar.is_finished() {
            self.bar.reset();
        }
        self.bar.set_prefix(what);
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        if done == all {
            self.bar.finish_and_clear();
        }
    }

    fn timed(&self, done: usize, points: usize) {
        self.phase("times of decisions", done, points);
        if self.plain && (done == 1 || done == points) {
            terminal::talk(&format!("times of decisions: {done} of {points} points are measured"));
        }
    }

    fn ran(&self, done: usize, runs: usize) {
        self.phase("real threads", done, runs);
        if self.plain {
            terminal::talk(&format!("real threads: {done} of {runs} runs are measured"));
        }
    }

    fn tell(&self, Progress { done, units, resumed }: Progress) {
        self.bar.set_length(units as u64);
        self.bar.set_position(done as u64);
        if done == resumed {
            // What was measured before says nothing about how long the rest takes.
            self.bar.reset_eta();
        }
        if !self.plain {
            return;
        }
        if done == resumed && resumed > 0 {
            terminal::talk(&format!("{resumed} of {units} units were measured before"));
        }
        let (fresh, all) = (done - resumed, units - resumed);
        if fresh == all && all > 0 {
            terminal::talk(&format!("{units} of {units} units are measured"));
        } else {
            self.lines.tell(fresh as u64, Some(all as u64), || {
                format!("{done} of {units} units are measured")
            });
        }
    }
}
