//! `layland gen`: random task sets.

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::files::Stream;
use crate::ui::numbers::{count, whole, whole_u8, whole_u64};
use crate::ui::{files, formats, input};
use clap::{Args, ValueEnum};
use layland_answers::values::{seed_of, time_of};
use layland_config::{Format, Host, RtAppPolicy, to_line};
use layland_gen::{
    Bursts, Criticalities, GenError, Offsets, Recipe, TwoBudgets, Utilizations, text,
};
use layland_model::{Duration, Rate, Service, System};
use preemption::PreemptionArgs;
use std::path::{Path, PathBuf};
use structure::{GraphArgs, StepArgs};

mod preemption;
mod structure;

/// Utilizations on a lattice are multiples of 1 / `RESOLUTION`.
const RESOLUTION: u32 = 1000;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland gen -n 16 -u 7.6 --cpus 8
      16 tasks with a total utilization of 7.6 for 8 CPUs, to standard output
  layland gen -n 240 -u 18 --cpus 24 --periods log:10ms..100ms --sets 100 -o sets/
      100 sets, one file each; set K alone is made again with --first K --sets 1
  layland gen -n 20 -u 4 --cpus 8 --sets 100000 --to jsonl | layland check --from jsonl - --policy g-edf
      a stream of sets, one in each line, checked as they come
  layland gen --range 0.5..0.9 -u 14.4 --cpus 16
      heavy tasks until the total is reached
  layland gen -n 20 -u 3 --cpus 4 --criticality LO,HI --criticality-factor 2..4
      mixed criticality
  layland gen -n 20 -u 0.6 --generator uunifast --levels 4 --level-factor 1.5
      mixed criticality with two execution times per task, and levels in turn
  layland gen -n 48 -u 18 --cpus 24 --affinity levels:2 --feasible
      affinities to all CPUs, a socket or one CPU, drawn again until they are feasible
  layland gen -n 4 -u 5 --max 3 --cpus 8 --graphs gnp --nodes 5..20
      DAG tasks: 4 graphs with a total utilization of 5, and of 3 at most each
  layland gen -n 16 -u 3.2 --cpus 4 --resources 4 --access 0.25 --requests 1..3 --section medium
      tasks that share 4 resources, with sections of up to 100 us
  layland gen -n 10 -u 0.7 --deadlines factor:2 --bursts 1..3 --regions segments:2..4
      tasks that come in bursts, and are preempted between their segments alone
  layland gen -n 10 -u 0.7 --periods log:5ms..500ms --cache-sets 256 --reuse 0..0.3
      tasks that evict each other's blocks from a cache
  layland gen --again set.toml
      make a generated set again from what is written in it";

#[derive(Args)]
pub(crate) struct GenArgs {
    /// The number of tasks
    #[arg(short = 'n', long = "tasks", value_name = "N", help_heading = "Utilizations")]
    #[arg(value_parser = count)]
    pub tasks: Option<usize>,
    /// The total utilization, as in 7.6 or 38/5
    #[arg(short, long, value_name = "U", help_heading = "Utilizations")]
    #[arg(allow_negative_numbers = true)]
    pub utilization: Option<Rate>,
    /// The generator of utilizations. All but uunifast keep them within bounds; randfixedsum and
    /// convolutional are uniform; randfixedsum needs memory for the square of the number of tasks
    #[arg(long, value_enum, default_value_t = Generator::RandFixedSum, help_heading = "Utilizations")]
    #[arg(hide_short_help = true)]
    pub generator: Generator,
    /// The least utilization of a task (randfixedsum, convolutional)
    #[arg(long, value_name = "U", default_value = "0", help_heading = "Utilizations")]
    #[arg(hide_short_help = true)]
    pub min: Rate,
    /// The largest utilization of a task (randfixedsum, convolutional, uunifast-discard)
    #[arg(long, value_name = "U", default_value = "1", help_heading = "Utilizations")]
    #[arg(hide_short_help = true)]
    pub max: Rate,
    /// The bounds of the utilizations of the tasks in turn (convolutional), as in 0..0.5,0.2..1. The last one repeats
    #[arg(long, value_name = "MIN..MAX,..", value_delimiter = ',', value_parser = layland_gen::text::rates)]
    #[arg(help_heading = "Utilizations", conflicts_with_all = ["min", "max"])]
    #[arg(hide_short_help = true)]
    pub task_bounds: Vec<(Rate, Rate)>,
    /// Draw each utilization from this range: heavy is 0.5..0.9, medium 0.1..0.5. With -u, until the
    /// total is reached; with -n, for this many tasks
    #[arg(long, value_name = "MIN..MAX|heavy|medium", value_parser = layland_gen::text::range)]
    #[arg(help_heading = "Utilizations", conflicts_with_all = ["generator", "min", "max", "task_bounds"])]
    #[arg(hide_short_help = true)]
    pub range: Option<(Rate, Rate)>,
    /// The periods, as in log:10ms..1s. Or uniform:10ms..100ms, harmonic:5ms,8ms*2^4, list:5ms,10ms,20ms
    #[arg(long, value_name = "PERIODS", default_value = "log:10ms..1s", help_heading = "Timing")]
    pub periods: String,
    /// Periods are multiples of this
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = time_of::<Duration>)]
    #[arg(help_heading = "Timing")]
    #[arg(hide_short_help = true)]
    pub period_granularity: Duration,
    /// Execution times and everything else are multiples of this
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = time_of::<Duration>)]
    #[arg(help_heading = "Timing")]
    #[arg(hide_short_help = true)]
    pub granularity: Duration,
    /// The shortest execution time
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time_of::<Service>)]
    #[arg(help_heading = "Timing")]
    #[arg(hide_short_help = true)]
    pub min_wcet: Service,
    /// The deadlines, implicit or as in factor:0.5..1. A factor is a share of the period; constrained:MIN..MAX is a
    /// share of the way from WCET to period
    #[arg(long, value_name = "DEADLINES", default_value = "implicit", help_heading = "Timing")]
    pub deadlines: String,
    /// First arrivals: all at 0, or uniform within the period
    #[arg(long, value_enum, default_value_t = OffsetsArg::Synchronous, help_heading = "Timing")]
    #[arg(hide_short_help = true)]
    pub offsets: OffsetsArg,
    /// The arrivals, periodic or as in sporadic:0.5. One of periodic, sporadic:MAX (uniform extra separation, in
    /// periods), or exponential:MEAN..MAX
    #[arg(long, value_name = "ARRIVALS", default_value = "periodic", help_heading = "Timing")]
    #[arg(hide_short_help = true)]
    pub arrivals: String,
    /// The number of jobs in a burst, by an arrival curve; in the long run one arrives per period
    #[arg(long, value_name = "MIN..MAX", value_parser = layland_gen::text::counts)]
    #[arg(help_heading = "Timing")]
    #[arg(hide_short_help = true)]
    pub bursts: Option<(u32, u32)>,
    /// The distance between the jobs of a burst, in periods
    #[arg(long, value_name = "MIN..MAX", value_parser = layland_gen::text::rates)]
    #[arg(default_value = "0.1..0.3", help_heading = "Timing", requires = "bursts")]
    #[arg(hide_short_help = true)]
    pub burst_distance: (Rate, Rate),
    /// Names of the criticality levels, low to high
    #[arg(long, value_name = "LEVEL,..", value_delimiter = ',', help_heading = "Criticality")]
    pub criticality: Vec<String>,
    /// The probability of each level; by default equal
    #[arg(long, value_name = "P,..", value_delimiter = ',', requires = "criticality")]
    #[arg(help_heading = "Criticality")]
    #[arg(hide_short_help = true)]
    pub probability: Vec<Rate>,
    /// The factor by which the execution time grows from one level to the next
    #[arg(long, value_name = "MIN..MAX", value_parser = layland_gen::text::rates, default_value = "2..2")]
    #[arg(help_heading = "Criticality", requires = "criticality")]
    #[arg(hide_short_help = true)]
    pub criticality_factor: (Rate, Rate),
    /// Cut execution times of higher levels at the period
    #[arg(long, requires = "criticality", help_heading = "Criticality")]
    #[arg(hide_short_help = true)]
    pub capped: bool,
    /// The number of levels L0, L1, .., which tasks get in turn. Each task has two execution times: a
    /// smaller one below its own level (Huang, Gill and Lu 2014)
    #[arg(long, value_name = "N", value_parser = whole_u8::<1, 255>)]
    #[arg(help_heading = "Criticality", conflicts_with = "criticality")]
    #[arg(hide_short_help = true)]
    pub levels: Option<u8>,
    /// With --levels: the larger execution time over the smaller one
    #[arg(long, value_name = "CF", value_parser = layland_gen::text::factor, default_value = "1.5")]
    #[arg(help_heading = "Criticality", requires = "levels")]
    #[arg(hide_short_help = true)]
    pub level_factor: Rate,
    /// With --levels: tasks of the lowest level keep the smaller execution time
    #[arg(long, requires = "levels", help_heading = "Criticality")]
    #[arg(hide_short_help = true)]
    pub lowest_keeps: bool,
    #[command(flatten)]
    pub graphs: GraphArgs,
    #[command(flatten)]
    pub steps: StepArgs,
    #[command(flatten)]
    pub preemption: PreemptionArgs,
    /// The number of CPUs
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Platform")]
    #[arg(value_parser = count)]
    pub cpus: usize,
    /// The affinities of the tasks. One of global, clustered:K, partitioned, round-robin, levels:SOCKETS, nested
    #[arg(long, value_name = "AFFINITY", default_value = "global", help_heading = "Platform")]
    #[arg(hide_short_help = true)]
    pub affinity: String,
    /// Draw the set again until its affinities can carry it (Hall's condition)
    #[arg(long, help_heading = "Platform")]
    #[arg(hide_short_help = true)]
    pub feasible: bool,
    /// The largest number of draws for a set
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = "Sets")]
    #[arg(value_parser = whole::<1, 1_000_000>)]
    #[arg(hide_short_help = true)]
    pub tries: u32,
    /// The seed of everything that is drawn. The same arguments and seed give the same bytes
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Sets")]
    #[arg(value_parser = seed_of, allow_hyphen_values = true)]
    pub seed: u64,
    /// The number of task sets
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Sets")]
    #[arg(value_parser = whole_u64::<1, 1_000_000>)]
    pub sets: u64,
    /// The number of the first set. Each set depends on the seed and its number only
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Sets")]
    #[arg(value_parser = whole_u64::<0, { u64::MAX }>)]
    #[arg(hide_short_help = true)]
    pub first: u64,
    /// Generate the set in this file again, from the recipe that it contains; - is standard input
    #[arg(long, value_name = "FILE", help_heading = "Sets")]
    #[arg(conflicts_with_all = ["tasks", "utilization", "generator", "min", "max", "task_bounds", "range",
        "periods", "period_granularity", "granularity", "min_wcet", "deadlines", "offsets",
        "arrivals", "bursts", "burst_distance", "criticality", "probability", "criticality_factor", "capped", "levels", "level_factor",
        "lowest_keeps", "shape", "nodes", "edge_probability", "fork_probability", "branches", "depth",
        "resources", "access", "requests", "section", "suspensions", "suspension",
        "regions", "cache_sets", "cache_utilization", "reuse", "block_reload", "cpus", "affinity", "feasible", "tries", "seed", "sets", "first"])]
    #[arg(hide_short_help = true)]
    pub again: Option<String>,
    /// The format to write. By default the one that the extension of the file names, or else toml
    #[arg(long, value_name = "FORMAT", value_parser = formats::written(), help_heading = "Output")]
    pub to: Option<Format>,
    /// Write to this file. Without it, to standard output; several sets go into this folder, or into a file
    /// .jsonl with one set in each line
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generator {
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
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Generator::RandFixedSum => "randfixedsum",
            Generator::Convolutional => "convolutional",
            Generator::UUniFast => "uunifast",
            Generator::UUniFastDiscard => "uunifast-discard",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OffsetsArg {
    Synchronous,
    Uniform,
}

pub(crate) fn run(args: &GenArgs) -> Outcome {
    let is_file = |path: &&Path| args.sets == 1 || formats::is_lines(path);
    let format = formats::chosen(args.to, args.output.as_deref().filter(is_file));
    if let Some(name) = &args.again {
        let (recipe, index) = again(name)?;
        let system = recipe.generate(index).map_err(failed)?;
        let text = formats::write(&system, format, RtAppPolicy::OfTasks)?;
        files::write(args.output.as_deref().unwrap_or(Path::new("-")), text.as_bytes())?;
        return Ok(Exit::Yes);
    }
    let sets = numbered(args)?;
    let folder = args.output.as_deref().filter(|path| path.is_dir());
    match (format, folder) {
        (Format::Lines, None) => {
            lines(args.output.as_deref().unwrap_or(Path::new("-")), sets)?;
        }
        (_, folder) if args.sets > 1 => {
            let folder = folder.or(args.output.as_deref()).ok_or_else(|| {
                Failure::usage("several sets go into a folder, one file each, or into one stream")
                    .help("add -o FOLDER, or --to jsonl for one set in each line")
            })?;
            files(folder, format, sets)?;
        }
        (_, Some(folder)) => files(folder, format, sets)?,
        (_, None) => {
            for set in sets {
                let text = formats::write(&set?.1, format, RtAppPolicy::OfTasks)?;
                let path = args.output.as_deref().unwrap_or(Path::new("-"));
                files::write(path, text.as_bytes())?;
            }
        }
    }
    Ok(Exit::Yes)
}

/// Generates the sets one by one, with their numbers.
fn numbered(
    args: &GenArgs,
) -> Result<impl Iterator<Item = Result<(u64, System), Failure>> + use<>, Failure> {
    let generator = recipe(args)?.generator().map_err(failed)?;
    let last =
        args.first.checked_add(args.sets).ok_or_else(|| Failure::usage("there are fewer sets"))?;
    Ok((args.first..last)
        .map(move |index| generator.generate(index).map(|system| (index, system)).map_err(failed)))
}

/// Writes the sets as they are generated, one per line.
fn lines(
    path: &Path,
    sets: impl Iterator<Item = Result<(u64, System), Failure>>,
) -> Result<(), Failure> {
    let mut out = Stream::create(path)?;
    for set in sets {
        out.write(to_line(&set?.1).as_bytes())?;
        if out.is_unread() {
            break;
        }
    }
    out.keep()
}

/// Writes one file for each set.
fn files(
    folder: &Path,
    format: Format,
    sets: impl Iterator<Item = Result<(u64, System), Failure>>,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::refused(format!("failed to make the folder {}: {error}", folder.display()))
    })?;
    let ending = format.extension();
    for set in sets {
        let (index, system) = set?;
        let text = formats::write(&system, format, RtAppPolicy::OfTasks)?;
        let path = folder.join(format!("set-{index:05}.{ending}"));
        files::write(&path, text.as_bytes())?;
    }
    Ok(())
}

fn failed(error: GenError) -> Failure {
    Failure::usage(error.to_string())
}

/// Returns the recipe and the number that a generated set contains.
fn again(name: &str) -> Result<(Recipe, u64), Failure> {
    let (bytes, _) = input::bytes(name)?;
    let loaded = layland_config::read(name, &bytes, Format::Toml, &Host::default())
        .map_err(|report| input::failure(&report))?;
    let provenance = loaded.system.provenance.ok_or_else(|| {
        Failure::input(format!("{name} does not say how it was made"))
            .help("only task-set files that `layland gen` wrote do")
    })?;
    Recipe::from_provenance(&provenance)
        .map_err(|error| Failure::input(format!("failed to make {name} again: {error}")))
}

fn recipe(args: &GenArgs) -> Result<Recipe, Failure> {
    let mut recipe = Recipe::new(args.cpus, utilizations(args)?, args.seed);
    recipe.periods =
        text::periods(&args.periods, args.period_granularity).map_err(Failure::usage)?;
    recipe.granularity = args.granularity;
    recipe.min_wcet = args.min_wcet;
    recipe.deadlines = text::deadlines(&args.deadlines).map_err(Failure::usage)?;
    recipe.offsets = match args.offsets {
        OffsetsArg::Synchronous => Offsets::Synchronous,
        OffsetsArg::Uniform => Offsets::Uniform,
    };
    recipe.arrivals = text::arrivals(&args.arrivals).map_err(Failure::usage)?;
    let distance = &args.burst_distance;
    recipe.bursts = args.bursts.map(|jobs| Bursts { jobs, distance: distance.clone() });
    recipe.criticalities = criticalities(args);
    recipe.two_budgets = args.levels.map(|levels| TwoBudgets {
        levels: levels.into(),
        factor: args.level_factor.clone(),
        lowest_grows: !args.lowest_keeps,
    });
    recipe.graphs = args.graphs.graphs()?;
    recipe.sections = args.steps.sections();
    recipe.suspensions = args.steps.suspensions();
    recipe.regions = args.preemption.regions.clone();
    recipe.caches = args.preemption.caches();
    recipe.affinities = text::affinities(&args.affinity).map_err(Failure::usage)?;
    recipe.feasible = args.feasible;
    recipe.tries = args.tries;
    Ok(recipe)
}

fn utilizations(args: &GenArgs) -> Result<Utilizations, Failure> {
    if let Some((min, max)) = args.range.clone() {
        return match (&args.utilization, args.tasks) {
            (Some(total), None) => Ok(Utilizations::UntilTotal {
                total: total.clone(),
                min,
                max,
                resolution: RESOLUTION,
                tries: args.tries,
            }),
            (None, Some(tasks)) => Ok(Utilizations::Independent { tasks, min, max }),
            (Some(_), Some(_)) | (None, None) => {
                Err(Failure::usage("--range goes with either -u or -n")
                    .help("-u draws tasks until the total is reached; -n draws this many tasks"))
            }
        };
    }
    let (Some(tasks), Some(total)) = (args.tasks, args.utilization.clone()) else {
        return Err(Failure::usage("how many tasks, with which total utilization?")
            .help("add -n TASKS and -u UTILIZATION, as in -n 16 -u 7.6 --cpus 8, or see --range"));
    };
    let (min, max) = (args.min.clone(), args.max.clone());
    let bounded = match args.generator {
        Generator::RandFixedSum | Generator::Convolutional => true,
        Generator::UUniFast => min == Rate::ZERO && max == Rate::ONE,
        Generator::UUniFastDiscard => min == Rate::ZERO,
    };
    if !bounded {
        return Err(Failure::usage(format!(
            "{} does not keep these bounds",
            args.generator.name()
        ))
        .help("use --generator randfixedsum"));
    }
    if !args.task_bounds.is_empty() && args.generator != Generator::Convolutional {
        return Err(Failure::usage("bounds of each task need another generator")
            .help("add --generator convolutional"));
    }
    Ok(match args.generator {
        Generator::RandFixedSum => Utilizations::RandFixedSum { tasks, total, min, max },
        Generator::UUniFast => Utilizations::UUniFast { tasks, total },
        Generator::UUniFastDiscard => {
            Utilizations::UUniFastDiscard { tasks, total, max, tries: args.tries }
        }
        Generator::Convolutional => {
            let last = args.task_bounds.last().cloned().unwrap_or((min, max));
            let mut bounds = args.task_bounds.clone();
            if bounds.len() > tasks {
                return Err(Failure::usage(format!("{} bounds for {tasks} tasks", bounds.len())));
            }
            bounds.resize(tasks, last);
            Utilizations::Convolutional { total, bounds, resolution: RESOLUTION }
        }
    })
}

fn criticalities(args: &GenArgs) -> Option<Criticalities> {
    let levels = args.criticality.clone();
    let count = levels.len();
    let probabilities = if args.probability.is_empty() {
        vec![Rate::new(1, (count as i64).max(1)); count]
    } else {
        args.probability.clone()
    };
    let (min_factor, max_factor) = args.criticality_factor.clone();
    (count > 0).then_some(Criticalities {
        levels,
        probabilities,
        min_factor,
        max_factor,
        capped: args.capped,
    })
}
