//! The kinds of output files, chosen by their extensions.

use super::exit::Failure;
use super::export::Export;
use std::path::{Path, PathBuf};

/// The contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A report for a browser.
    Html,
    /// A chart.
    Svg,
    /// A chart as PNG.
    Png,
    /// A chart as PDF.
    Pdf,
    /// A chart for LaTeX.
    Tikz,
    /// A chart in characters.
    Text,
    /// The trace.
    Json,
    /// The trace as a table.
    Csv,
    /// The trace for another tool.
    Export(Export),
    /// The kernel's own trace.
    Kernel,
}

/// The kinds of files that can be made from every trace.
const OF_EVERY_TRACE: [FileKind; 10] = [
    FileKind::Html,
    FileKind::Svg,
    FileKind::Png,
    FileKind::Pdf,
    FileKind::Tikz,
    FileKind::Text,
    FileKind::Json,
    FileKind::Export(Export::Perfetto),
    FileKind::Export(Export::Parquet),
    FileKind::Export(Export::StTrace),
];

impl FileKind {
    fn endings(self) -> &'static [&'static str] {
        match self {
            FileKind::Html => &["html", "htm"],
            FileKind::Svg => &["svg"],
            FileKind::Png => &["png"],
            FileKind::Pdf => &["pdf"],
            FileKind::Tikz => &["tex", "tikz"],
            FileKind::Text => &["txt"],
            FileKind::Json => &["json"],
            FileKind::Csv => &["csv"],
            FileKind::Export(export) => export.endings(),
            FileKind::Kernel => &["trace"],
        }
    }
    fn meaning(self) -> &'static str {
        match self {
            FileKind::Html => ".html for a report",
            FileKind::Svg => ".svg, .png, .pdf, .tex or .txt for a chart",
            FileKind::Png | FileKind::Pdf | FileKind::Tikz | FileKind::Text => "",
            FileKind::Json => ".json for the trace",
            FileKind::Csv => ".csv for a table of it",
            FileKind::Export(export) => export.meaning(),
            FileKind::Kernel => ".trace for the kernel's own",
        }
    }
}

/// Advice on the formats of pictures.
const PICTURES: &str = "charts are written as .svg, .png or .pdf, which slides and documents take";

/// Returns true for a picture in a format that no command writes.
fn is_picture(path: &Path) -> bool {
    const OTHERS: [&str; 8] = ["jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "eps"];
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| OTHERS.contains(&ending.as_str()))
}

/// A file to write besides the result.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub kind: FileKind,
    pub path: PathBuf,
}

impl Output {
    /// Returns the kind of each of these files: those that every trace allows, and those in
    /// `besides` that the command offers.
    pub(crate) fn all(paths: &[PathBuf], besides: &[FileKind]) -> Result<Vec<Output>, Failure> {
        let offered = [&OF_EVERY_TRACE, besides].concat();
        let twice = |(at, path): &(usize, &PathBuf)| paths[..*at].contains(path);
        if let Some((_, path)) = paths.iter().enumerate().find(twice) {
            return Err(Failure::usage(format!("-o {} is given twice", path.display()))
                .help("each file is written once: leave one out"));
        }
        paths.iter().map(|path| Output::of(path, &offered)).collect()
    }

    /// Returns the kind of a file with this name. It is not known beforehand whether the file can
    /// be written, but a missing folder is detected before the simulation.
    pub(crate) fn of(path: &Path, offered: &[FileKind]) -> Result<Output, Failure> {
        let meanings: Vec<&str> =
            offered.iter().map(|kind| kind.meaning()).filter(|text| !text.is_empty()).collect();
        let known = format!("the extension says what to write: {}", meanings.join(", "));
        if path == Path::new("-") {
            return Err(Failure::usage("standard output has the result already").help(known));
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let kind = offered.iter().find(|kind| kind.endings().contains(&ending));
        let Some(&kind) = kind else {
            let message = format!("{} has no known extension", path.display());
            let help = if is_picture(path) && offered.contains(&FileKind::Svg) {
                PICTURES.to_owned()
            } else {
                known
            };
            return Err(Failure::usage(message).help(help));
        };
        match path.parent() {
            Some(folder) if folder != Path::new("") && !folder.is_dir() => {
                let message = format!(
                    "failed to write {}: there is no folder {}",
                    path.display(),
                    folder.display()
                );
                Err(Failure::refused(message).help("make the folder first"))
            }
            Some(_) | None => Ok(Output { kind, path: path.to_owned() }),
        }
    }
}

/// The number of pixels for each unit of a chart: enough for a slide.
#[cfg(feature = "png")]
const PIXELS: u16 = 2;

/// Draws a chart as PNG.
///
/// # Errors
/// Returns an error if this build has no such drawing, or the chart is too large.
#[cfg(feature = "png")]
pub(crate) fn png(svg: &str) -> Result<Vec<u8>, Failure> {
    layland_chart::png::of(svg, PIXELS).ok_or_else(|| {
        Failure::refused("the chart is too large for PNG")
            .help("write .svg or .pdf, or a shorter window with --window")
    })
}

/// Says that this build draws no PNG.
#[cfg(not(feature = "png"))]
pub(crate) fn png(_svg: &str) -> Result<Vec<u8>, Failure> {
    Err(Failure::refused("this build of layland draws no PNG").help(
        "write .svg or .pdf; or build it with the feature png, which a release and `cargo build -p layland` have",
    ))
}
