//! The units of work, and their results on disk.
//!
//! A unit is a block of systems of one point, under every series of its grid. Its *key* is a string
//! with all inputs of its result, including the build of the code. The name of the shard that holds
//! the result is a hash of the key, and the shard repeats the key. A shard is written to a
//! temporary file and then renamed, so that it is complete or missing, and its first line is a hash
//! of the rest. A damaged shard is reported and its unit measured again; so is a unit whose shard
//! has another key. Therefore any machine may measure any unit of a shared folder, and measuring a
//! unit twice does no harm.

use crate::experiment::Experiment;
use crate::measure::Row;
use crate::results::SCHEMA;
use crate::run::LabError;
use crate::series::{Measured, SeriesBound};
use layland_sim::Horizon;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// The build of this crate and of those that it is built on: a hash of the sources, or a commit;
/// empty if neither is known.
pub const BUILD: &str = env!("LAYLAND_LAB_BUILD");

/// A block of systems of one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The index of the grid.
    pub grid: usize,
    /// The index of the point.
    pub cell: usize,
    /// The numbers of the systems.
    pub sets: std::ops::Range<u64>,
    /// The inputs of the results of its point, before and after the numbers of the systems. All
    /// units of a point share it: an experiment can have many units, and their keys would take
    /// gigabytes.
    point: Arc<(String, String)>,
}

impl Unit {
    /// The inputs of the result.
    pub(crate) fn key(&self) -> String {
        let (head, tail) = &*self.point;
        format!("{head}sets {}..{}\n{tail}", self.sets.start, self.sets.end)
    }

    /// Its name: a hash of its key.
    pub(crate) fn hash(&self) -> String {
        format!("{:032x}", XxHash3_128::oneshot(self.key().as_bytes()))
    }

    /// The path of its result.
    pub(crate) fn path(&self, shards: &Path) -> PathBuf {
        shards.join(format!("{}.json", self.hash()))
    }
}

/// The seed of a point. It depends only on the seed of the experiment and the parameters, so that
/// other points have no influence. It fits 63 bits.
pub(crate) fn cell_seed(seed: u64, parameters: &str) -> u64 {
    (XxHash3_128::oneshot(format!("{seed} {parameters}").as_bytes()) >> 65) as u64
}

/// The maximum number of units of a plan: their list as JSON takes about 250 MB.
pub(crate) const MOST_UNITS: u64 = 250_000;

/// Every unit of some grids, in the order of the results; `code` identifies further inputs besides
/// this build.
///
/// # Errors
/// Returns an error if there are more than [`MOST_UNITS`].
pub(crate) fn units(
    experiment: &Experiment,
    grids: &[usize],
    code: Option<&str>,
) -> Result<Vec<Unit>, LabError> {
    // Count the units before creating any.
    let of_grid = |&at: &usize| {
        let points = u64::try_from(experiment.grids[at].points()).unwrap_or(u64::MAX);
        points.saturating_mul(experiment.sets.div_ceil(experiment.block(at)))
    };
    let count = grids.iter().map(of_grid).fold(0, u64::saturating_add);
    if count > MOST_UNITS {
        return Err(LabError::TooManyUnits { units: count, most: MOST_UNITS });
    }
    let mut units = Vec::new();
    // The strings below are part of the keys of units: a change invalidates existing shards.
    let code = code.map_or(String::new(), |code| format!("code {code}\n"));
    for &at in grids {
        let grid = &experiment.grids[at];
        let series: Vec<String> = grid
            .series
            .iter()
            .map(|&series| {
                let series = &experiment.series[series];
                let bound = series.bound.as_ref().map_or("-", SeriesBound::name);
                let mut free = String::new();
                if series.ignores_affinities {
                    free += " without affinities";
                }
                if series.ignores_regions {
                    free += " without regions";
                }
                if let Some(overheads) = &series.overheads {
                    free += &format!(" with {overheads:?}");
                }
                match &series.measured {
                    Measured::Policy(spec) => format!("policy {spec} bound {bound}{free}"),
                    Measured::Test(name) => format!("test {name}{free}"),
                    Measured::Guarantee(spec) => format!("guarantee {spec}{free}"),
                    Measured::Structure(spec) => format!("structure {spec}{free}"),
                }
            })
            .collect();
        let horizon = match experiment.horizon {
            Horizon::At(at) => format!("{} ns", at.ns()),
            Horizon::Hyperperiods(count) => format!("{count} hyperperiods"),
            Horizon::Recurrence { at_most } => format!("recurrence within {} ns", at_most.ns()),
        };
        for (cell, point) in grid.cells().iter().enumerate() {
            let parameters = point.parameters.line();
            let head = format!(
                "layland-lab {} build {BUILD} results {SCHEMA}\n{code}parameters {parameters}\nseed {}\n",
                env!("CARGO_PKG_VERSION"),
                experiment.seed,
            );
            let tail = format!(
                "horizon {horizon}\ndistribution {}\n{}{}\n",
                experiment.needs_distribution(at),
                if grid.pooled { "pooled\n" } else { "" },
                series.join("\n")
            );
            let about = Arc::new((head, tail));
            let (mut from, block) = (0, experiment.block(at));
            while from < experiment.sets {
                let to = from.saturating_add(block).min(experiment.sets);
                units.push(Unit { grid: at, cell, sets: from..to, point: Arc::clone(&about) });
                from = to;
            }
        }
    }
    Ok(units)
}

/// The serialized form of a shard. Floating-point values are kept as their bits.
#[derive(Serialize, Deserialize)]
struct Wire {
    key: String,
    rows: Vec<WireRow>,
}

#[derive(Serialize, Deserialize)]
struct WireRow {
    set: u64,
    /// The position among the series of the grid.
    series: usize,
    refused: Option<String>,
    values: Vec<Option<u64>>,
    tardiness: Vec<(u64, u64)>,
}

/// The state of a unit in a folder.
#[derive(Debug)]
pub(crate) enum Kept {
    /// The unit has these rows.
    Rows(Vec<Row>),
    /// The unit has no shard.
    Missing,
    /// The shard is damaged: the unit must be measured again.
    Damaged,
}

impl Kept {
    pub(crate) fn rows(self) -> Option<Vec<Row>> {
        match self {
            Kept::Rows(rows) => Some(rows),
            Kept::Missing | Kept::Damaged => None,
        }
    }
}

/// Loads the rows of a unit, if it was measured before.
pub(crate) fn load(unit: &Unit, series: &[usize], shards: &Path) -> Kept {
    let Ok(bytes) = std::fs::read(unit.path(shards)) else { return Kept::Missing };
    let wire: Option<Wire> = content(&bytes).and_then(|text| serde_json::from_slice(text).ok());
    let Some(wire) = wire else { return Kept::Damaged };
    if wire.key != unit.key() {
        return Kept::Missing;
    }
    let row = |row: WireRow| {
        Some(Row {
            set: row.set,
            series: *series.get(row.series)?,
            refused: row.refused,
            values: row.values.iter().map(|bits| bits.map(f64::from_bits)).collect(),
            tardiness: row.tardiness,
        })
    };
    let rows: Option<Vec<Row>> = wire.rows.into_iter().map(row).collect();
    rows.map_or(Kept::Damaged, Kept::Rows)
}

/// The content of a shard after the hash in its first line, if the hash is correct.
fn content(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (hash, text) = (&bytes[..end], &bytes[end + 1..]);
    (hash == format!("{:032x}", XxHash3_128::oneshot(text)).as_bytes()).then_some(text)
}

/// Returns true if a unit was measured before.
pub(crate) fn is_kept(unit: &Unit, shards: &Path) -> bool {
    #[derive(Deserialize)]
    struct Head {
        key: String,
        #[serde(rename = "rows")]
        _rows: Vec<serde::de::IgnoredAny>,
    }
    let Ok(bytes) = std::fs::read(unit.path(shards)) else { return false };
    let head = content(&bytes).and_then(|text| serde_json::from_slice::<Head>(text).ok());
    head.is_some_and(|head| head.key == unit.key())
}

/// Stores the rows of a unit.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub(crate) fn store(
    unit: &Unit,
    series: &[usize],
    rows: &[Row],
    shards: &Path,
) -> Result<(), LabError> {
    let position = |row: &Row| series.iter().position(|&series| series == row.series);
    let wire = Wire {
        key: unit.key(),
        rows: rows
            .iter()
            .map(|row| WireRow {
                set: row.set,
                series: position(row).expect("a row is of a series of its grid"),
                refused: row.refused.clone(),
                values: row.values.iter().map(|value| value.map(f64::to_bits)).collect(),
                tardiness: row.tardiness.clone(),
            })
            .collect(),
    };
    let text = serde_json::to_vec(&wire).expect("a shard is plain data");
    let mut bytes = format!("{:032x}\n", XxHash3_128::oneshot(&text)).into_bytes();
    bytes.extend(text);
    replace(&unit.path(shards), &bytes)
}

/// Writes a file atomically: it is complete or missing, even after a crash.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    let fail = |error| LabError::Write { path: path.to_owned(), error };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path)).map_err(|error| {
        // If the disk is full, leave no partial file behind.
        let _ = std::fs::remove_file(&part);
        fail(error)
    })
}

/// Removes the partial files of processes that were killed. A process on another machine may be
/// writing one, which takes it moments: files younger than an hour are kept.
pub(crate) fn sweep(folder: &Path) {
    const OLD: std::time::Duration = std::time::Duration::from_secs(3600);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let parts = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "part"));
    for part in parts {
        let age = part.metadata().and_then(|file| file.modified()).ok();
        let is_old = age.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > OLD);
        if is_old {
            // Another process may have removed it.
            let _ = std::fs::remove_file(part.path());
        }
    }
}
