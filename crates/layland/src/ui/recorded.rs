//! A recorded run of `run` or `trace`, and the files that can be made from it.

use super::exit::Failure;
use super::export::Origin;
use super::output::{FileKind, Output};
use super::{chart, files, terminal};
use crate::pages::report;
use layland_chart::gantt::{Colours, PdfOptions, Rows, SvgOptions, TikzOptions, View};
use layland_model::{System, Time};
use layland_report::{Distribution, Line, Report, Run};
use layland_trace::json::{self, write_json_recorded};
use layland_trace::{Labels, Statistics, Summary, Trace};
use std::path::Path;

pub(crate) struct Recorded<'a> {
    /// The title of the run.
    pub title: String,
    /// The policy, or the file.
    pub name: String,
    pub labels: Labels,
    pub system: Option<&'a System>,
    pub trace: &'a Trace,
    /// The circumstances of the recording, if the trace is a kernel record.
    pub how: Option<json::Recorded>,
    pub summary: Summary,
    /// The lines of a report besides its figures.
    pub lines: Vec<Line>,
    /// The command that made the run.
    pub provenance: String,
    pub seed: Option<u64>,
    /// The time window of charts; by default, it is around the first miss.
    pub window: Option<(Time, Time)>,
    pub ascii: bool,
}

/// Returns the figures of a trace.
pub(crate) fn summary(trace: &Trace, labels: &Labels) -> Summary {
    let mut statistics = Statistics::new(labels.tasks.len(), labels.cpus);
    trace.replay(&mut statistics);
    statistics.summary(labels)
}

impl Recorded<'_> {
    pub(crate) fn view(&self) -> View<'_> {
        match self.window {
            Some((from, to)) => View::new(self.trace, &self.labels).window(from, to),
            None => View::interesting(self.trace, &self.labels),
        }
    }

    /// Returns the chart for the terminal.
    pub(crate) fn chart(&self, rows: Rows) -> String {
        let colours = if terminal::colours() { Colours::Ansi } else { Colours::Never };
        self.view().text(&chart::text_options(rows, chart::charset(self.ascii), colours))
    }

    pub(crate) fn report(&self) -> Report {
        let mut report = Report::new(self.title.clone(), self.labels.clone());
        report.runs.push(Run {
            summary: Some(self.summary.clone()),
            ..Run::new(self.name.clone(), self.trace.clone())
        });
        report.lines = self.lines.clone();
        report::lead(&mut report, &self.labels, self.system);
        let tasks = self.summary.tasks.iter().map(|task| (task.name.clone(), Some(task)));
        let all = std::iter::once(("all".to_owned(), Some(&self.summary.total)));
        let mut table = report::table("Tasks".to_owned(), "task", tasks.chain(all));
        table.notes.push(report::NOTE.to_owned());
        report.tables.push(table);
        report.distributions = Distribution::of_runs(&report.runs, &self.labels);
        report.provenance = self.provenance.clone();
        report.window = self.window;
        report
    }

    /// Writes a file and reports that. The kernel's own trace cannot be made from a recorded run.
    pub(crate) fn write(&self, output: &Output, quiet: bool) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::refused(error.to_string());
        let path = &output.path;
        let mut bytes = Vec::new();
        match output.kind {
            FileKind::Kernel => return Ok(()),
            FileKind::Html => return super::report::write(path, &self.report(), quiet),
            FileKind::Svg | FileKind::Png => {
                let title = Some(self.title.clone());
                let svg = self.view().svg(&SvgOptions { title, ..SvgOptions::default() });
                let is_png = output.kind == FileKind::Png;
                bytes = if is_png { super::output::png(&svg)? } else { svg.into_bytes() };
            }
            FileKind::Tikz => {
                let title = Some(self.title.clone());
                bytes =
                    self.view().tikz(&TikzOptions { title, ..TikzOptions::default() }).into_bytes();
            }
            FileKind::Pdf => {
                let title = Some(self.title.clone());
                let options = PdfOptions { title, ..PdfOptions::default() };
                bytes = self.view().pdf(&options, &self.title);
            }
            FileKind::Export(export) => {
                let origin = Origin {
                    title: &self.title,
                    provenance: self.provenance.clone(),
                    seed: self.seed,
                    system: self.system,
                };
                let over = (self.trace.over, self.trace.interrupted);
                let labels = self.labels.completed(self.trace);
                let mut file = export.begin(path, &labels, over, &origin)?;
                self.trace.replay(&mut file);
                file.keep()?.iter().for_each(|path| tell_of(path, quiet));
                return Ok(());
            }
            FileKind::Text => {
                let charset = chart::charset(self.ascii);
                let options = chart::text_options(Rows::Both, charset, Colours::Never);
                bytes = self.view().text(&options).into_bytes();
            }
            FileKind::Json => {
                let (summary, how) = (Some(&self.summary), self.how.as_ref());
                write_json_recorded(&mut bytes, self.trace, &self.labels, summary, how)
                    .map_err(failed)?;
            }
            FileKind::Csv => {
                layland_trace::csv::write(&mut bytes, self.trace, &self.labels).map_err(failed)?;
            }
        }
        write(path, &bytes, quiet)
    }
}

fn write(path: &Path, bytes: &[u8], quiet: bool) -> Result<(), Failure> {
    files::write(path, bytes)?;
    tell_of(path, quiet);
    Ok(())
}

fn tell_of(path: &Path, quiet: bool) {
    if !quiet {
        terminal::talk(&format!("wrote {}", path.display()));
    }
}
