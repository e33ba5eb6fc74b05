//! The files of an experiment.

use crate::claim::judge;
use crate::curve::curves;
use crate::draw::Chart;
use crate::experiment::{Experiment, Figure, SETS_PER_POINT};
use crate::metric::Origin;
use crate::results::Results;
use crate::run::LabError;
use crate::shard::replace;
use crate::table::{claims_text, figure_text, table_text};
use crate::timing::Timings;
use layland_chart::plot::Picture;
use std::path::{Path, PathBuf};

/// The file of the claims. The head of it says from how many sets the results are.
const CLAIMS: &str = "claims.txt";

/// The written files, relative to the folder.
pub type Written = Vec<PathBuf>;

/// Writes the results (`results.csv`, `results.parquet`, with distributions also
/// `distributions.csv` and `.parquet`), the figures (`figures/NAME.svg`, `.pdf` and `.csv`),
/// `claims.txt`, `tables.txt` and the description (`experiment.toml`). `figures` selects figures by
/// index; if it is empty, all measured figures are drawn.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write(
    experiment: &Experiment,
    results: &Results,
    figures: &[usize],
    folder: &Path,
) -> Result<Written, LabError> {
    let mut written = Vec::new();
    let chosen = |at: usize, figure: &Figure| {
        let measured = results.grids.iter().any(|rows| rows.grid == figure.grid);
        let is_wanted = figures.is_empty() || figures.contains(&at);
        measured && is_wanted && figure.origin() == Origin::Computed
    };
    draw(experiment, results, "figures", chosen, folder, &mut written)?;
    let mut put = |name: &str, bytes: &[u8]| {
        written.push(PathBuf::from(name));
        replace(&folder.join(name), bytes)
    };
    put("experiment.toml", experiment.text.as_bytes())?;
    let table = results.table(experiment);
    put("results.csv", table.csv().as_bytes())?;
    put("results.parquet", &table.parquet()?)?;
    if let Some(distribution) = results.distribution(experiment) {
        put("distributions.csv", distribution.csv().as_bytes())?;
        put("distributions.parquet", &distribution.parquet()?)?;
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
    put(CLAIMS, claims_text(experiment, results, &judged).as_bytes())?;
    Ok(written)
}

/// Returns the number of task sets per point of the results that were last written into a folder;
/// `None` if it has none.
pub fn sets_in(folder: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(folder.join(CLAIMS)).ok()?;
    // The provenance is the second line.
    let (before, _) = text.lines().nth(1)?.split_once(SETS_PER_POINT)?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Draws the chosen figures into a part of the folder.
pub(crate) fn draw(
    experiment: &Experiment,
    results: &Results,
    part: &str,
    chosen: impl Fn(usize, &Figure) -> bool,
    folder: &Path,
    written: &mut Written,
) -> Result<(), LabError> {
    let drawn = folder.join(part);
    std::fs::create_dir_all(&drawn).map_err(|error| LabError::Write { path: drawn, error })?;
    let figures = experiment.figures.iter().enumerate();
    for (_, figure) in figures.filter(|(at, figure)| chosen(*at, figure)) {
        let name = format!("{part}/{}", figure.name);
        for (ending, bytes) in [
            ("svg", figure_svg(experiment, results, figure).into_bytes()),
            ("pdf", figure_pdf(experiment, results, figure)),
            ("csv", figure_text(experiment, results, figure).into_bytes()),
        ] {
            let file = PathBuf::from(format!("{name}.{ending}"));
            replace(&folder.join(&file), &bytes)?;
            written.push(file);
        }
    }
    Ok(())
}

/// A figure as SVG, with the bytes of the written file.
pub fn figure_svg(experiment: &Experiment, results: &Results, figure: &Figure) -> String {
    let (picture, about) = drawn(experiment, results, figure);
    picture.svg(&about)
}

/// A figure as PDF, with the bytes of the written file.
pub fn figure_pdf(experiment: &Experiment, results: &Results, figure: &Figure) -> Vec<u8> {
    let (picture, about) = drawn(experiment, results, figure);
    picture.pdf(&about)
}

/// The picture of a figure, and its description.
pub(crate) fn drawn(
    experiment: &Experiment,
    results: &Results,
    figure: &Figure,
) -> (Picture, String) {
    let curves = curves(experiment, results, figure);
    let about = format!("{}. {}", experiment.provenance(), figure.name);
    (Chart::new(experiment, figure, &curves).picture(), about)
}

/// Writes measured times, which differ in every run: `measured.csv`, `measured.txt`, and the
/// figures that show them (`measured/NAME.svg`, `.pdf` and `.csv`).
///
/// # Errors
/// Returns an error if a file cannot be written.
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
    let mut written = ["measured.csv", "measured.txt"].map(PathBuf::from).to_vec();
    let is_timed = |figure: &Figure| figure.origin() == Origin::Timed;
    if experiment.figures.iter().any(is_timed) {
        let chosen = |_, figure: &Figure| is_timed(figure);
        draw(experiment, &timings.rows, "measured", chosen, folder, &mut written)?;
    }
    Ok(written)
}
