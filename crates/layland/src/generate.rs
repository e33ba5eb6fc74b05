//! `layland gen`: random task sets.

use crate::args::{GenArgs, Generator, OffsetsArg};
use crate::exit::{Exit, Failure, Outcome};
use crate::{convert, input, terminal};
use layland_config::{Format, Host};
use layland_gen::{Criticalities, GenError, Offsets, Recipe, TwoBudgets, Utilizations, text};
use layland_model::Rate;
use std::path::{Path, PathBuf};

/// Utilizations on a lattice are multiples of one over this.
const RESOLUTION: u32 = 1000;

pub fn run(args: &GenArgs) -> Outcome {
    let format = convert::format(args.to, args.output.as_deref().filter(|_| args.sets == 1));
    if let Some(name) = &args.again {
        let (recipe, index) = again(name)?;
        let system = recipe.generate(index).map_err(failed)?;
        let text = convert::write(&system, format);
        terminal::write_file(args.output.as_deref().unwrap_or(Path::new("-")), text.as_bytes())?;
        return Ok(Exit::Yes);
    }
    let generator = recipe(args)?.generator().map_err(failed)?;
    let folder = args.output.as_deref().filter(|path| args.sets > 1 || path.is_dir());
    if args.sets > 1 {
        let folder = folder.ok_or_else(|| {
            Failure::usage("several sets go into a folder, one file each").help("add -o FOLDER")
        })?;
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::refused(format!("failed to make the folder {}: {error}", folder.display()))
        })?;
    }
    let ending = match format {
        Format::Toml => "toml",
        Format::RtApp => "json",
        Format::Csv => "csv",
        Format::Simso | Format::Schedcat => "xml",
    };
    let last =
        args.first.checked_add(args.sets).ok_or_else(|| Failure::usage("there are fewer sets"))?;
    for index in args.first..last {
        let text = convert::write(&generator.generate(index).map_err(failed)?, format);
        let path = match (folder, &args.output) {
            (Some(folder), _) => folder.join(format!("set-{index:05}.{ending}")),
            (None, Some(file)) => file.clone(),
            (None, None) => PathBuf::from("-"),
        };
        terminal::write_file(&path, text.as_bytes())?;
    }
    Ok(Exit::Yes)
}

fn failed(error: GenError) -> Failure {
    Failure::usage(error.to_string())
}

/// The recipe and the number that are written in a set.
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
    recipe.criticalities = criticalities(args);
    recipe.two_budgets = args.levels.map(|levels| TwoBudgets {
        levels: levels.into(),
        factor: args.level_factor.clone(),
        lowest_grows: !args.lowest_keeps,
    });
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
                    .help("-u draws tasks until the total is reached; -n draws so many tasks"))
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
    if !args.bounds.is_empty() && args.generator != Generator::Convolutional {
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
            let last = args.bounds.last().cloned().unwrap_or((min, max));
            let mut bounds = args.bounds.clone();
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
    let (min_factor, max_factor) = args.factor.clone();
    (count > 0).then_some(Criticalities {
        levels,
        probabilities,
        min_factor,
        max_factor,
        capped: args.capped,
    })
}
