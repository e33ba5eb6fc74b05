//! The files of an experiment.

use crate::claim::judge;
use crate::curve::curves;
use crate::draw::{Chart, Scene};
use crate::experiment::Experiment;
use crate::results::Results;
use crate::run::LabError;
use crate::shard::replace;
use crate::table::{claims_text, figure_text, table_text};
use crate::timing::Timings;
use std::path::{Path, PathBuf};

/// What was written, relative to the folder.
pub type Written = Vec<PathBuf>;

/// Writes the results (`results.csv`, `results.parquet`, with distributions also
/// `distributions.csv` and `.parquet`), the figures (`figures/NAME.svg`, `.pdf` and `.csv`),
/// `claims.txt`, `tables.txt` and the description (`experiment.toml`). Without figures, as indices, all
/// that were measured are drawn.
///
/// # Errors
/// If a file cannot be written.
pub fn write(
    experiment: &Experiment,
    results: &Results,
    figures: &[usize],
    folder: &Path,
) -> Result<Written, LabError> {
    let mut written = Vec::new();
    let mut put = |name: &str, bytes: &[u8]| {
        written.push(PathBuf::from(name));
        replace(&folder.join(name), bytes)
    };
    let drawn = folder.join("figures");
    std::fs::create_dir_all(&drawn).map_err(|error| LabError::Write { path: drawn, error })?;
    put("experiment.toml", experiment.text.as_bytes())?;
    let table = results.table(experiment);
    put("results.csv", table.csv().as_bytes())?;
    put("results.parquet", &table.parquet()?)?;
    if let Some(distribution) = results.distribution(experiment) {
        put("distributions.csv", distribution.csv().as_bytes())?;
        put("distributions.parquet", &distribution.parquet()?)?;
    }
    for (at, figure) in experiment.figures.iter().enumerate() {
        let measured = results.grids.iter().any(|rows| rows.grid == figure.grid);
        if !measured || !(figures.is_empty() || figures.contains(&at)) {
            continue;
        }
        let curves = curves(experiment, results, figure);
        let scene = Scene::of(&Chart::new(experiment, figure, &curves));
        let name = format!("figures/{}", figure.name);
        let about = format!("{}. {}", experiment.provenance(), figure.name);
        put(&format!("{name}.svg"), scene.svg(&about).as_bytes())?;
        put(&format!("{name}.pdf"), &scene.pdf(&about))?;
        put(&format!("{name}.csv"), figure_text(experiment, results, figure).as_bytes())?;
    }
    let texts: Vec<String> = experiment
        .tables
        .iter()
        .filter(|table| results.grids.iter().any(|rows| rows.grid == table.grid))
        .map(|table| table_text(experiment, results, table))
        .collect();
    if !texts.is_empty() {
        put("tables.txt", texts.join("\n").as_bytes())?;
    }
    let judged = judge(experiment, results);
    put("claims.txt", claims_text(experiment, results, &judged).as_bytes())?;
    Ok(written)
}

/// Writes measured times, which are never the same twice: `measured.csv` and `measured.txt`.
///
/// # Errors
/// If a file cannot be written.
pub fn write_timings(
    experiment: &Experiment,
    timings: &Timings,
    folder: &Path,
) -> Result<Written, LabError> {
    let csv = timings.table(experiment).csv();
    let text =
        format!("{}\n{}\n{}", experiment.title, experiment.provenance(), timings.text(experiment));
    for (name, bytes) in [("measured.csv", csv), ("measured.txt", text)] {
        replace(&folder.join(name), bytes.as_bytes())?;
    }
    Ok(["measured.csv", "measured.txt"].map(PathBuf::from).to_vec())
}
