//! Lists the packaged experiments, or the units of one.

use super::{Chosen, Which, failed, names};
use crate::ui::exit::{Exit, Outcome};
use crate::ui::{document, terminal};
use layland_lab::{Experiment, packaged};
use layland_policy::Registry;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The answer of `layland lab list --json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Experiments<'a> {
    /// Each experiment.
    experiments: Vec<Listed<'a>>,
}

/// An experiment.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Listed<'a> {
    /// Its name.
    name: &'a str,
    /// Its title.
    title: &'a str,
    /// The paper.
    source: &'a str,
    /// Sets per point.
    sets: u64,
    /// The names of its figures.
    figures: Vec<&'a str>,
    /// The names of its claims.
    claims: Vec<&'a str>,
}

/// The answer of `layland lab units --json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Units<'a> {
    /// Its name.
    experiment: &'a str,
    /// The provenance.
    provenance: String,
    /// The identity of the build: a hash of its sources or a commit; empty if neither is known.
    build: &'static str,
    /// The folder of the results.
    folder: Cow<'a, str>,
    /// The number of measured units.
    done: usize,
    /// Each unit, in the order of the results.
    units: Vec<ListedUnit>,
}

/// A block of task sets of one point.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct ListedUnit {
    /// A hash of everything that its results depend on.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    name: String,
    /// The name of its grid.
    grid: String,
    /// The values of the axes, by their names.
    at: BTreeMap<String, String>,
    /// The number of the first task set, and that after the last.
    sets: [u64; 2],
    /// True if the folder has its results.
    is_done: bool,
}

pub(super) fn list(as_json: bool) -> Outcome {
    let all: Vec<Experiment> = packaged::ALL.iter().map(packaged::Packaged::experiment).collect();
    if as_json {
        let each = all.iter().map(|experiment| Listed {
            name: &experiment.name,
            title: &experiment.title,
            source: &experiment.source,
            sets: experiment.sets,
            figures: names(experiment.figures.iter().map(|figure| &figure.name)),
            claims: names(experiment.claims.iter().map(|claim| &claim.name)),
        });
        document::print(&Experiments { experiments: each.collect() })?;
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
        let units = runner.listed(&plan).map(|unit| {
            done += usize::from(unit.is_done);
            ListedUnit {
                at: unit.at.iter().cloned().collect(),
                name: unit.name,
                grid: unit.grid,
                sets: [unit.sets.start, unit.sets.end],
                is_done: unit.is_done,
            }
        });
        let units = units.collect();
        document::print(&Units {
            experiment: &chosen.experiment.name,
            provenance: chosen.experiment.provenance(),
            build: layland_lab::BUILD,
            folder: chosen.folder.to_string_lossy(),
            done,
            units,
        })?;
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
