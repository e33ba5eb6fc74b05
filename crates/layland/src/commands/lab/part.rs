//! Measures one part of an experiment, as one of several processes that share a folder.

use super::{Chosen, ExperimentArgs, Show, failed, warn_of_damage};
use crate::ui::exit::{Exit, Outcome};
use crate::ui::{interrupt, terminal, threads};
use layland_lab::{Part, Progress, Runner};
use layland_policy::Registry;
use serde_json::json;

/// Measures a part. Nothing is drawn until every part is finished.
pub(super) fn run(
    registry: &Registry,
    args: &ExperimentArgs,
    chosen: &Chosen,
    part: &Part,
) -> Outcome {
    let show = Show::new(args.quiet || args.json);
    let tell = |progress: Progress| show.tell(progress);
    let runner = Runner {
        interrupt: Some(interrupt::listen()),
        progress: Some(&tell),
        damaged: Some(&warn_of_damage),
        ..chosen.runner(registry)
    };
    let plan = runner.plan(&chosen.figures).map_err(failed)?;
    let measure = || runner.run_part(&plan, part, args.until_done);
    let Progress { done, units, .. } = threads::on(args.workers, measure)?.map_err(failed)?;
    show.end();
    let is_complete = done == units;
    let exit = if is_complete { Exit::Yes } else { Exit::Interrupted };
    if args.json {
        let document = json!({
            "experiment": chosen.experiment.name,
            "provenance": chosen.experiment.provenance(),
            "part": match part {
                Part::Share(share) => Some(share.to_string()),
                Part::Named(_) => None,
            },
            "until_done": args.until_done,
            "complete": is_complete,
            "units": units,
            "done": done,
            "folder": chosen.folder,
            "exit": exit,
        });
        terminal::data(&format!("{document:#}\n"))?;
    } else if !is_complete {
        terminal::talk(&format!("interrupted: {done} of {units} units are measured"));
    } else if !args.quiet {
        let (whole, folder) = (plan.units(), chosen.folder.display());
        let of = if args.until_done { String::new() } else { format!(" of {whole}") };
        terminal::talk(&format!(
            "measured {units}{of} units in {folder}; without the part, the same command draws them"
        ));
    }
    Ok(exit)
}
