//! `layland sim -o FILE`: writes charts and traces as files, one for each policy, and all policies
//! into one page.

use crate::pages::ChartSpan;
use crate::pages::simulation::View;
use crate::ui::exit::Failure;
use crate::ui::export::{self, Export, Origin};
use crate::ui::files::{self, LARGEST_TRACE, NewFile};
use crate::ui::output::{FileKind, Output};
use crate::ui::{chart, report, terminal, threads};
use layland_answers::simulate::{PolicyRun, Ran, Watch};
use layland_answers::{Set, SimulateQuestion};
use layland_chart::gantt::{Colours, PdfOptions, Rows, SvgOptions, TikzOptions};
use layland_model::Time;
use layland_policy::Registry;
use layland_trace::Labels;
use layland_trace::json::JsonWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The files of a simulation.
pub(super) struct Files<'a> {
    pub view: View<'a>,
    /// True for ASCII characters only.
    pub ascii: bool,
    /// True if the files that are written are not listed.
    pub quiet: bool,
}

/// Writes the files of `-o` about a set, for programs without a command line.
pub(crate) fn write_files(
    registry: &Registry,
    question: &SimulateQuestion,
    set: Set,
    shown: ChartSpan,
    paths: &[PathBuf],
    interrupt: &AtomicBool,
) -> Result<(), Failure> {
    let outputs = Output::all(paths, &[])?;
    shown.within(question, &set)?;
    let watch = Watch { interrupt: Some(interrupt), progress: None };
    let simulated = threads::on(None, || question.ask(registry, set, &watch))??;
    let view = View { simulated: &simulated, shown, interrupt };
    let files = Files { view, ascii: false, quiet: true };
    outputs.iter().try_for_each(|output| files.write(output))
}

/// Reports after an interrupt what is still written. Writing simulates the same time once more, and
/// can take as long.
fn say_what_goes_on(path: &Path) {
    let path = path.display();
    terminal::talk(&format!("interrupted: writing {path} up to there; Ctrl-C again leaves it out"));
}

impl Files<'_> {
    /// Writes a file, or one for each policy.
    pub(super) fn write(&self, output: &Output) -> Result<(), Failure> {
        if output.kind == FileKind::Html {
            return self.write_report(&output.path);
        }
        let several = self.view.simulated.policies.len() > 1;
        for policy in &self.view.simulated.policies {
            let Ok(ran) = &policy.result else { continue };
            let path = named(&output.path, several.then_some(policy.spec.as_str()));
            if ran.outcome.interrupted {
                say_what_goes_on(&path);
            }
            let written = match output.kind {
                FileKind::Json => self.write_trace(&path, ran)?,
                FileKind::Export(export) => self.export(export, &path, policy, ran)?,
                _ => match self.chart(output, &path, policy, ran)? {
                    Some(bytes) => {
                        files::write(&path, &bytes)?;
                        Some(vec![path.clone()])
                    }
                    None => None,
                },
            };
            let Some(all) = written else {
                terminal::warn(&format!("interrupted: {} is not written", path.display()), None);
                continue;
            };
            for path in all {
                if !self.quiet {
                    let partial =
                        if ran.outcome.interrupted { ", interrupted: partial" } else { "" };
                    terminal::talk(&format!("wrote {}{partial}", path.display()));
                }
            }
        }
        Ok(())
    }

    /// Simulates once more and writes the whole trace as it is produced. Returns the file, unless
    /// that was interrupted.
    fn write_trace(&self, path: &Path, ran: &Ran) -> Result<Option<Vec<PathBuf>>, Failure> {
        let failed = |error| files::failed(path, &error);
        let (labels, over) = (Labels::of(&self.view.simulated.set.system), over(ran));
        let file = NewFile::create(path)?;
        let mut writer =
            JsonWriter::new(file, &labels, over, Some(&ran.summary), &export::scratch(path));
        if self.view.record(ran, over.0, &mut writer)? {
            return Ok(None);
        }
        writer.finish().map_err(failed)?.keep()?;
        if std::fs::metadata(path).is_ok_and(|file| file.len() > LARGEST_TRACE) {
            let message = format!(
                "{} has more than 1 GiB, which `layland trace` does not read",
                path.display()
            );
            terminal::warn(&message, Some("other programs may; --until makes it shorter"));
        }
        Ok(Some(vec![path.to_owned()]))
    }

    /// Writes the trace for another tool.
    fn export(
        &self,
        export: Export,
        path: &Path,
        policy: &PolicyRun,
        ran: &Ran,
    ) -> Result<Option<Vec<PathBuf>>, Failure> {
        let (labels, over) = (Labels::of(&self.view.simulated.set.system), over(ran));
        let origin = Origin {
            title: &self.view.title(policy),
            provenance: self.view.provenance(std::slice::from_ref(policy)),
            seed: Some(self.view.simulated.question.seed),
            system: Some(&self.view.simulated.set.system),
        };
        let mut file = export.begin(path, &labels, over, &origin)?;
        if self.view.record(ran, over.0, &mut file)? {
            return Ok(None);
        }
        file.keep().map(Some)
    }

    /// Returns a chart as the bytes of a file, unless it was interrupted.
    fn chart(
        &self,
        output: &Output,
        path: &Path,
        policy: &PolicyRun,
        ran: &Ran,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let labels = Labels::of(&self.view.simulated.set.system);
        let Some(chart) = self.view.chart(policy, ran)? else { return Ok(None) };
        let shown = &self.view.shown;
        chart::tell_if_idle(shown.window, &chart.trace, &path.display().to_string());
        let (view, title) = (chart.view(&labels), chart.title.clone());
        let text = match output.kind {
            FileKind::Pdf => {
                let options = PdfOptions { title: Some(title.clone()), ..PdfOptions::default() };
                return Ok(Some(view.pdf(&options, &title)));
            }
            FileKind::Svg | FileKind::Png => {
                let svg = view.svg(&SvgOptions { title: Some(title), ..SvgOptions::default() });
                if output.kind == FileKind::Png {
                    return crate::ui::output::png(&svg).map(Some);
                }
                svg
            }
            FileKind::Tikz => {
                view.tikz(&TikzOptions { title: Some(title), ..TikzOptions::default() })
            }
            FileKind::Html
            | FileKind::Text
            | FileKind::Json
            | FileKind::Csv
            | FileKind::Export(_)
            | FileKind::Kernel => {
                let charset = chart::charset(self.ascii);
                view.text(&chart::text_options(Rows::Both, charset, Colours::Never))
            }
        };
        Ok(Some(text.into_bytes()))
    }

    fn write_report(&self, path: &Path) -> Result<(), Failure> {
        if self.view.simulated.ran().any(|ran| ran.outcome.interrupted) {
            say_what_goes_on(path);
        }
        let Some(report) = self.view.report()? else {
            terminal::warn(&format!("interrupted: {} is not written", path.display()), None);
            return Ok(());
        };
        report::write(path, &report, self.quiet)
    }
}

/// Returns the end of a run, and whether that was before its horizon.
fn over(ran: &Ran) -> (Time, bool) {
    (ran.outcome.end, ran.outcome.interrupted)
}

/// Returns the path with the policy before the extension of the file.
fn named(path: &Path, policy: Option<&str>) -> PathBuf {
    let Some(policy) = policy else { return path.to_owned() };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let ending = path.extension().map(|ending| ending.to_string_lossy()).unwrap_or_default();
    path.with_file_name(format!("{stem}.{}.{ending}", policy.replace([':', '='], "-")))
}
