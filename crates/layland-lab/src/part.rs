//! Sharing an experiment between processes: each measures a part of the units into one folder, and
//! any of them draws the figures when all units are done.

use crate::experiment::Experiment;
use crate::run::{Done, LabError, Plan, Progress, Runner};
use crate::shard::{Unit, is_kept};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use twox_hash::XxHash3_128;

/// One of several parts of an experiment, as in `3/200`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the part; the first is 1.
    pub part: u64,
    /// The number of parts.
    pub of: u64,
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let help = "write PART/PARTS, as in 3/200; the first part is 1";
        let (part, of) = text.split_once('/').ok_or(help)?;
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| help.to_owned());
        let (part, of) = (number(part)?, number(of)?);
        match part {
            0 => Err("the first part is 1".to_owned()),
            _ if part > of => Err(format!("there are {of} parts, and this is the {part}th")),
            _ => Ok(Share { part, of }),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

/// The units that a process measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Every `of`th unit. The cost of a unit grows along an axis, so each part gets cheap and
    /// expensive units.
    Share(Share),
    /// The units with these names, in any order.
    Named(Vec<String>),
}

/// A unit of work in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name: a hash of all inputs of its results.
    pub name: String,
    /// The name of its grid.
    pub grid: String,
    /// The values of the axes of its grid, by their names.
    pub at: Vec<(String, String)>,
    /// The numbers of its systems, as a half-open range.
    pub sets: std::ops::Range<u64>,
    /// True if the folder contains its results.
    pub is_done: bool,
}

impl Runner<'_> {
    /// The units of a plan, in the order of the results.
    pub fn listed<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = Listed> + 'a {
        let shards = self.folder.join("shards");
        let listed = move |unit: &Unit| Listed {
            name: unit.hash(),
            grid: self.experiment.grids[unit.grid].name.clone(),
            at: at(self.experiment, unit),
            sets: unit.sets.clone(),
            is_done: is_kept(unit, &shards),
        };
        // List the units in chunks: shards are read in parallel, and few are held in memory.
        plan.units
            .chunks(4096)
            .flat_map(move |units| units.par_iter().map(&listed).collect::<Vec<Listed>>())
    }

    /// Measures those units of a part that have no results yet, on the threads of the current pool,
    /// and writes only their shards. With `until_done` it then continues with units that other
    /// processes have not measured, until the plan is complete: the other processes take over the
    /// units of a process that was killed.
    ///
    /// The returned progress counts the part; with `until_done`, the whole plan.
    ///
    /// # Errors
    /// Returns an error if a system cannot be drawn or simulated, a shard cannot be written, or no
    /// unit has a given name.
    pub fn run_part(
        &self,
        plan: &Plan,
        part: &Part,
        until_done: bool,
    ) -> Result<Progress, LabError> {
        let shards = self.shards()?;
        let mine = units_of(plan, part)?;
        let progress = self.fill(&mine, &shards)?;
        if !until_done {
            return Ok(progress);
        }
        // Each process handles missing units in its own order, so that few processes measure the
        // same unit.
        let salt = format!("{part:?}");
        let order = |unit: &&Unit| XxHash3_128::oneshot(format!("{salt}{}", unit.key()).as_bytes());
        let mut all: Vec<&Unit> = plan.units.iter().collect();
        all.sort_by_cached_key(order);
        loop {
            let progress = self.fill(&all, &shards)?;
            if progress.done == progress.units || self.interrupted() {
                return Ok(progress);
            }
        }
    }

    fn fill(&self, units: &[&Unit], shards: &Path) -> Result<Progress, LabError> {
        let kept: Vec<bool> = units.par_iter().map(|unit| is_kept(unit, shards)).collect();
        let missing: Vec<&Unit> = units
            .iter()
            .zip(kept)
            .filter_map(|(&unit, is_kept)| (!is_kept).then_some(unit))
            .collect();
        let resumed = units.len() - missing.len();
        let done = Done::new(self, units.len(), resumed);
        let measured = self.measure_missing(&missing, shards, &done, |_| ())?;
        let measured = measured.iter().flatten().count();
        Ok(Progress { done: resumed + measured, units: units.len(), resumed })
    }
}

/// The units of a part, in the order of the plan.
fn units_of<'a>(plan: &'a Plan, part: &Part) -> Result<Vec<&'a Unit>, LabError> {
    match part {
        Part::Share(Share { part, of }) => {
            let numbered = (1..=*of).cycle().zip(&plan.units);
            Ok(numbered.filter_map(|(number, unit)| (number == *part).then_some(unit)).collect())
        }
        Part::Named(names) => {
            let by_name: BTreeMap<String, usize> =
                plan.units.iter().enumerate().map(|(at, unit)| (unit.hash(), at)).collect();
            let find = |name: &String| {
                by_name.get(name).copied().ok_or_else(|| LabError::NoUnit { name: name.clone() })
            };
            let mut found = names.iter().map(find).collect::<Result<Vec<usize>, LabError>>()?;
            found.sort_unstable();
            found.dedup();
            Ok(found.into_iter().map(|at| &plan.units[at]).collect())
        }
    }
}

/// The values of the axes of a unit.
fn at(experiment: &Experiment, unit: &Unit) -> Vec<(String, String)> {
    let grid = &experiment.grids[unit.grid];
    let names = grid.axes.iter().map(|(axis, _)| axis.clone());
    let values = grid.cell(unit.cell).map(|cell| cell.values);
    names.zip(values.unwrap_or_default()).collect()
}
