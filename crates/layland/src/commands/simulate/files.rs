//! `layland sim -o FILE`: charts and traces as files, one for each policy.

use super::comparison::{Comparison, Ran, Simulated, fits};
use crate::ui::exit::Failure;
use crate::ui::export::{Files, Origin};
use crate::ui::gate::{Bounds, Held, Suite};
use crate::ui::output::{FileKind, Output};
use crate::ui::{chart, files, gate, terminal};
use layland_chart::gantt::{Colours, PdfOptions, Rows, SvgOptions, TikzOptions, View};
use layland_model::Time;
use layland_trace::json::write_json;
use layland_trace::{Labels, Trace};
use std::path::{Path, PathBuf};

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
            let Some(all) = self.files_of(output, &path, policy, ran, self.window())? else {
                terminal::warn(&format!("interrupted: {} is not written", path.display()), None);
                continue;
            };
            for (path, bytes) in all {
                files::write(&path, &bytes)?;
                if !self.args.quiet {
                    let partial =
                        if ran.outcome.interrupted { ", interrupted: partial" } else { "" };
                    terminal::talk(&format!("wrote {}{partial}", path.display()));
                }
            }
        }
        Ok(())
    }

    /// What came of each limit under each policy, with what is guaranteed there; none under one that refused the
    /// set.
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

    /// Writes the result for continuous integration.
    pub(super) fn write_junit(&self, path: &Path, held: Vec<Vec<Held>>) -> Result<(), Failure> {
        let suites = self.policies.iter().zip(held).map(|(policy, held)| Suite {
            name: format!("{} under {}", self.set.name, policy.spec),
            result: policy.result.as_ref().map(|ran| &ran.summary).map_err(String::as_str),
            held,
        });
        files::write(path, gate::junit(&suites.collect::<Vec<_>>()).as_bytes())
    }

    /// The files of an output and their bytes; none if making them was interrupted.
    fn files_of(
        &self,
        output: &Output,
        path: &Path,
        policy: &Simulated,
        ran: &Ran,
        window: (Time, Time),
    ) -> Result<Option<Files>, Failure> {
        let labels = Labels::of(&self.set.system);
        let title = format!("{} under {}", self.set.name, policy.spec);
        if let FileKind::Json | FileKind::Export(_) = output.kind {
            fits(ran.summary.total.released.into(), ran.outcome.end)?;
            let mut trace = Trace::default();
            if self.record(ran, ran.outcome.end, &mut trace)? {
                return Ok(None);
            }
            trace.interrupted = ran.outcome.interrupted;
            if let FileKind::Export(export) = output.kind {
                let origin = Origin {
                    title: &title,
                    provenance: self.provenance(std::slice::from_ref(policy)),
                    seed: Some(self.args.seed),
                    system: Some(&self.set.system),
                };
                return export.files(path, &trace, &labels, &origin).map(Some);
            }
            let mut bytes = Vec::new();
            write_json(&mut bytes, &trace, &labels, Some(&ran.summary))
                .map_err(|error| Failure::refused(error.to_string()))?;
            return Ok(Some(vec![(path.to_owned(), bytes)]));
        }
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
                return Ok(Some(vec![(path.to_owned(), view.pdf(&options, &title))]));
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
        Ok(Some(vec![(path.to_owned(), text.into_bytes())]))
    }
}

/// `dir/name.ending` with the policy before the ending.
fn named(path: &Path, policy: Option<&str>) -> PathBuf {
    let Some(policy) = policy else { return path.to_owned() };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let ending = path.extension().map(|ending| ending.to_string_lossy()).unwrap_or_default();
    path.with_file_name(format!("{stem}.{}.{ending}", policy.replace([':', '='], "-")))
}
