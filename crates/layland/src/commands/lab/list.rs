//! Lists the packaged experiments, or the units of one.

use super::{Chosen, Which, failed, names};
use crate::ui::exit::{Exit, Outcome};
use crate::ui::terminal;
use layland_lab::packaged;
use layland_policy::Registry;
use serde_json::json;

pub(super) fn list(as_json: bool) -> Outcome {
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
        terminal::data(&format!("{:#}\n", json!({ "experiments": each })))?;
        return Ok(Exit::Yes);
    }
    let mut text = String::new();
    for experiment in all {
        let title = format!("{}: {}", experiment.name, experiment.title);
        text += &(terminal::wrap(&title, "") + "\n");
        if !experiment.source.is_empty() {
            text += &(terminal::wrap(&experiment.source, "  ") + "\n");
        }
        let figures = names(experiment.figures.iter().map(|figure| &figure.name)).join(", ");
        let shown = if figures.is_empty() {
            "tables only".to_owned()
        } else {
            format!("figures: {figures}")
        };
        text += &format!("{}\n", terminal::wrap(&shown, "  "));
    }
    text += "\nlayland lab run NAME runs one, layland lab show NAME prints its file\n";
    terminal::result(&text)?;
    Ok(Exit::Yes)
}

/// Prints the units of an experiment, and which of them the folder contains.
pub(super) fn units(registry: &Registry, which: &Which, as_json: bool) -> Outcome {
    let chosen = Chosen::of(registry, which)?;
    let runner = chosen.runner(registry);
    let plan = runner.plan(&chosen.figures).map_err(failed)?;
    let mut done = 0;
    if as_json {
        let units: Vec<serde_json::Value> = runner
            .listed(&plan)
            .map(|unit| {
                done += usize::from(unit.is_done);
                json!({
                    "name": unit.name,
                    "grid": unit.grid,
                    "at": unit.at.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                    "sets": [unit.sets.start, unit.sets.end],
                    "is_done": unit.is_done,
                })
            })
            .collect();
        let document = json!({
            "experiment": chosen.experiment.name,
            "provenance": chosen.experiment.provenance(),
            "build": layland_lab::BUILD,
            "folder": chosen.folder,
            "done": done,
            "units": units,
        });
        terminal::data(&format!("{document:#}\n"))?;
        return Ok(Exit::Yes);
    }
    let mut out = terminal::Results::default();
    for unit in runner.listed(&plan) {
        done += usize::from(unit.is_done);
        let state = if unit.is_done { "done" } else { "missing" };
        let at: Vec<String> = unit.at.iter().map(|(axis, at)| format!(" {axis}={at}")).collect();
        let (from, last) = (unit.sets.start, unit.sets.end - 1);
        let (name, grid) = (&unit.name, &unit.grid);
        let line = format!("{name}  {state:7}  {grid}{} sets={from}..={last}\n", at.concat());
        out.write(line.as_bytes())?;
        if out.is_unread() {
            return Ok(Exit::Yes);
        }
    }
    out.flush()?;
    let (all, folder) = (plan.units(), chosen.folder.display());
    terminal::talk(&format!("{done} of {all} units are measured in {folder}"));
    Ok(Exit::Yes)
}
