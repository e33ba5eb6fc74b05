//! `layland sim -o FILE`: writes charts and traces as files, one for each policy.

use super::comparison::{Comparison, Ran, Simulated};
use crate::ui::exit::Failure;
use crate::ui::export::{self, Export, Origin};
use crate::ui::files::{LARGEST_TRACE, NewFile};
use crate::ui::gate::Suite;
use crate::ui::output::{FileKind, Output};
use crate::ui::{chart, files, gate, terminal};
use layland_answers::limits::{Bounds, Held};
use layland_chart::gantt::{Colours, PdfOptions, Rows, SvgOptions, TikzOptions, View};
use layland_model::Time;
use layland_trace::Labels;
use layland_trace::json::JsonWriter;
use std::path::{Path, PathBuf};

/// Reports after an interrupt what is still written. Writing simulates the same time once more, and
/// can take as long.
pub(super) fn say_what_goes_on(path: &Path) {
    let path = path.display();
    terminal::talk(&format!("interrupted: writing {path} up to there; Ctrl-C again leaves it out"));
}

impl Comparison<'_> {
    /// Writes a file, or one for each policy.
    pub(super) fn write(&self, output: &Output) -> Result<(), Failure> {
        if output.kind == FileKind::Html {
            return self.write_report(&output.path);
        }
        let several = self.policies.len() > 1;
        for policy in &self.policies {
            let Ok(ran) = &policy.result else { continue };
            let path = named(&output.path, several.then_some(policy.spec.as_str()));
            if ran.outcome.interrupted {
                say_what_goes_on(&path);
            }
            let written = match output.kind {
                FileKind::Json => self.write_trace(&path, ran)?,
                FileKind::Export(export) => self.export(export, &path, policy, ran)?,
                _ => match self.chart(output, &path, policy, ran, self.window())? {
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
                if !self.args.quiet {
                    let partial =
                        if ran.outcome.interrupted { ", interrupted: partial" } else { "" };
                    terminal::talk(&format!("wrote {}{partial}", path.display()));
                }
            }
        }
        Ok(())
    }

    /// Returns the result of each limit under each policy, with the guarantees there; empty for a
    /// policy that rejected the set.
    pub(super) fn held(&self, bounds: &[Bounds]) -> Vec<Vec<Held>> {
        let of = |(policy, bounds): (&Simulated, &Bounds)| match &policy.result {
            Ok(ran) => {
                let limits = self.args.fail_on.iter();
                limits.map(|limit| limit.judge(&ran.summary, bounds)).collect()
            }
            Err(_) => Vec::new(),
        };
        self.policies.iter().zip(bounds).map(of).collect()
    }

    /// Writes the results for continuous integration.
    pub(super) fn write_junit(&self, path: &Path, held: Vec<Vec<Held>>) -> Result<(), Failure> {
        let suites = self.policies.iter().zip(held).map(|(policy, held)| Suite {
            name: format!("{} under {}", self.set.name, policy.spec),
            result: policy.result.as_ref().map(|ran| &ran.summary).map_err(String::as_str),
            held,
        });
        files::write(path, gate::junit(&suites.collect::<Vec<_>>()).as_bytes())
    }

    /// Simulates once more and writes the whole trace as it is produced. Returns the file, unless
    /// that was interrupted.
    fn write_trace(&self, path: &Path, ran: &Ran) -> Result<Option<Vec<PathBuf>>, Failure> {
        let failed = |error| files::failed(path, &error);
        let (labels, over) = (Labels::of(&self.set.system), self.over(ran));
        let file = NewFile::create(path)?;
        let mut writer =
            JsonWriter::new(file, &labels, over, Some(&ran.summary), &export::scratch(path));
        if self.record(ran, over.0, &mut writer)? {
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
        policy: &Simulated,
        ran: &Ran,
    ) -> Result<Option<Vec<PathBuf>>, Failure> {
        let (labels, over) = (Labels::of(&self.set.system), self.over(ran));
        let origin = Origin {
            title: &self.title(policy),
            provenance: self.provenance(std::slice::from_ref(policy)),
            seed: Some(self.args.seed),
            system: Some(&self.set.system),
        };
        let mut file = export.begin(path, &labels, over, &origin)?;
        if self.record(ran, over.0, &mut file)? {
            return Ok(None);
        }
        file.keep().map(Some)
    }

    /// Returns the end of a run, and whether that was before its horizon.
    fn over(&self, ran: &Ran) -> (Time, bool) {
        (ran.outcome.end, ran.outcome.interrupted)
    }

    fn title(&self, policy: &Simulated) -> String {
        format!("{} under {}", self.set.name, policy.spec)
    }

    /// Returns the SVG chart of each policy that accepts the set, with the policy.
    pub(super) fn charts(&self) -> Result<Vec<(String, String)>, Failure> {
        let output = Output { kind: FileKind::Svg, path: PathBuf::new() };
        let mut charts = Vec::new();
        for policy in &self.policies {
            let Ok(ran) = &policy.result else { continue };
            let chart = self.chart(&output, &output.path, policy, ran, self.window())?;
            let chart = chart.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            charts.extend(chart.map(|chart| (policy.spec.clone(), chart)));
        }
        Ok(charts)
    }

    /// Returns a chart as the bytes of a file, unless it was interrupted.
    fn chart(
        &self,
        output: &Output,
        path: &Path,
        policy: &Simulated,
        ran: &Ran,
        window: (Time, Time),
    ) -> Result<Option<Vec<u8>>, Failure> {
        let labels = Labels::of(&self.set.system);
        let title = self.title(policy);
        let Some(trace) = self.chart_trace(ran, window)? else { return Ok(None) };
        chart::tell_if_idle(self.args.window, &trace, &path.display().to_string());
        let title = match self.elsewhere(ran, window) {
            Some(elsewhere) => format!("{title} ({elsewhere})"),
            None => title,
        };
        let view = View::new(&trace, &labels).window(window.0, window.1);
        let text = match output.kind {
            FileKind::Pdf => {
                let options = PdfOptions { title: Some(title.clone()), ..PdfOptions::default() };
                return Ok(Some(view.pdf(&options, &title)));
            }
            FileKind::Svg => view.svg(&SvgOptions { title: Some(title), ..SvgOptions::default() }),
            FileKind::Tikz => {
                view.tikz(&TikzOptions { title: Some(title), ..TikzOptions::default() })
            }
            FileKind::Html
            | FileKind::Text
            | FileKind::Json
            | FileKind::Csv
            | FileKind::Export(_)
            | FileKind::Kernel => view.text(&self.text_options(Rows::Both, Colours::Never)),
        };
        Ok(Some(text.into_bytes()))
    }
}

/// Returns the path with the policy before the extension of the file.
fn named(path: &Path, policy: Option<&str>) -> PathBuf {
    let Some(policy) = policy else { return path.to_owned() };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let ending = path.extension().map(|ending| ending.to_string_lossy()).unwrap_or_default();
    path.with_file_name(format!("{stem}.{}.{ending}", policy.replace([':', '='], "-")))
}
