//! Traces: tables, charts, files, and the checker.

use crate::errors;
use crate::system::System;
use crate::table::Table;
use layland_chart::gantt::{PdfOptions, Rows, SvgOptions, TextOptions, TikzOptions, View};
use layland_checker::{Evidence, check_with};
use layland_interchange::tables;
use layland_model::{ScheduleRule, Time};
use layland_trace::json::{read_json_recorded, write_json_recorded};
use layland_trace::{Labels, Summary};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// The limit on reported violations.
const TOLD: usize = 20;

/// A trace with the names of its tasks.
pub(crate) struct Recorded {
    pub trace: layland_trace::Trace,
    pub labels: Labels,
    /// The recording of a real machine, if it is one.
    pub how: Option<layland_trace::json::Recorded>,
    /// The statistics of the whole run, if they are known.
    pub summary: Option<Summary>,
    /// The JSON of a trace that came from another process: it has statistics, which are not parsed.
    pub json: Option<Vec<u8>>,
}

/// A recorded schedule.
#[pyclass(frozen, name = "Recording", module = "layland._layland")]
pub(crate) struct Recording {
    pub recorded: Arc<Recorded>,
    /// The rule that the policy promises to keep, if it is known.
    pub rule: Option<ScheduleRule>,
}

impl Recording {
    fn table(&self, index: usize) -> Table {
        let Recorded { trace, labels, .. } = &*self.recorded;
        let [(_, jobs), (_, segments), (_, marks)] = tables::of(trace, labels, &[]);
        Table::of(
            [jobs, segments, marks]
                .into_iter()
                .nth(index)
                .unwrap_or_else(|| unreachable!("there are three tables")),
        )
    }
}

fn rows_of(py: Python<'_>, rows: &str) -> PyResult<Rows> {
    match rows {
        "cpus" => Ok(Rows::Cpus),
        "tasks" => Ok(Rows::Tasks),
        "both" => Ok(Rows::Both),
        _ => {
            let message = format!("`{rows}` are not rows: there are cpus, tasks and both");
            Err(errors::usage(py, &message, None))
        }
    }
}

#[pymethods]
impl Recording {
    /// Reads the JSON of a trace.
    #[staticmethod]
    fn read(py: Python<'_>, text: &[u8]) -> PyResult<Recording> {
        let (trace, labels, how) = py.detach(|| read_json_recorded(text)).map_err(|error| {
            errors::usage(py, &format!("this is not a trace in JSON: {error}"), None)
        })?;
        let recorded = Recorded { trace, labels, how, summary: None, json: None };
        Ok(Recording { recorded: Arc::new(recorded), rule: None })
    }

    /// A trace that was sent from another process, as JSON.
    #[staticmethod]
    fn restored(py: Python<'_>, text: &[u8]) -> PyResult<Recording> {
        let (trace, labels, how) = py.detach(|| read_json_recorded(text)).map_err(|error| {
            errors::usage(py, &format!("this is not a trace in JSON: {error}"), None)
        })?;
        let recorded = Recorded { trace, labels, how, summary: None, json: Some(text.to_vec()) };
        Ok(Recording { recorded: Arc::new(recorded), rule: None })
    }

    /// True if the promise of the policy is known.
    #[getter]
    fn has_rule(&self) -> bool {
        self.rule.is_some()
    }

    /// The trace as JSON.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Cow<'py, [u8]>> {
        let Recorded { trace, labels, how, summary, json } = &*self.recorded;
        if let Some(json) = json {
            return Ok(Cow::Owned(json.clone()));
        }
        let mut text = Vec::new();
        let (summary, how) = (summary.as_ref(), how.as_ref());
        py.detach(|| write_json_recorded(&mut text, trace, labels, summary, how))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Cow::Owned(text))
    }

    /// One row for each job.
    fn jobs(&self, py: Python<'_>) -> Table {
        py.detach(|| self.table(0))
    }

    /// One row for each interval in which a job held a CPU.
    fn segments(&self, py: Python<'_>) -> Table {
        py.detach(|| self.table(1))
    }

    /// One row for each mark and each answer to a request.
    fn marks(&self, py: Python<'_>) -> Table {
        py.detach(|| self.table(2))
    }

    /// The end of the run, in nanoseconds.
    #[getter]
    fn over_ns(&self) -> i64 {
        self.recorded.trace.over.ns()
    }

    /// True if it ended early.
    #[getter]
    fn interrupted(&self) -> bool {
        self.recorded.trace.interrupted
    }

    /// The names of the tasks.
    #[getter]
    fn task_names(&self) -> Vec<String> {
        self.recorded.labels.tasks.values().cloned().collect()
    }

    /// The number of CPUs.
    #[getter]
    fn cpus(&self) -> usize {
        self.recorded.labels.cpus
    }

    /// The part that is worth a first look, in nanoseconds.
    fn interesting(&self) -> (i64, i64) {
        let Recorded { trace, labels, .. } = &*self.recorded;
        let (from, to) = View::interesting(trace, labels).bounds();
        (from.ns(), to.ns())
    }

    /// A Gantt chart of a part, which begins at 0 or later and before it ends.
    fn svg(
        &self,
        py: Python<'_>,
        from_ns: i64,
        to_ns: i64,
        title: Option<String>,
        width: u32,
        rows: &str,
    ) -> PyResult<String> {
        if from_ns < 0 || from_ns >= to_ns {
            let help = Some("choose a start at 0 or later, and an end after it");
            return Err(errors::usage(py, "there is no such part of the run", help));
        }
        let rows = rows_of(py, rows)?;
        let Recorded { trace, labels, .. } = &*self.recorded;
        let options = SvgOptions { title, width, rows, ..SvgOptions::default() };
        Ok(py.detach(|| {
            let view = View::new(trace, labels);
            view.window(Time::from_ns(from_ns), Time::from_ns(to_ns)).svg(&options)
        }))
    }

    /// A Gantt chart of a part in a format of its own: `pdf`, `tikz` or `text`.
    fn chart<'py>(
        &self,
        py: Python<'py>,
        window: (i64, i64),
        title: String,
        format: &str,
        rows: &str,
    ) -> PyResult<Cow<'py, [u8]>> {
        let rows = rows_of(py, rows)?;
        let Recorded { trace, labels, .. } = &*self.recorded;
        let (from, to) = (Time::from_ns(window.0), Time::from_ns(window.1));
        let view = View::new(trace, labels).window(from, to);
        let titled = Some(title.clone());
        Ok(Cow::Owned(match format {
            "pdf" => {
                let options = PdfOptions { title: titled, rows, ..PdfOptions::default() };
                py.detach(|| view.pdf(&options, &title))
            }
            "tikz" => {
                let options = TikzOptions { title: titled, rows, ..TikzOptions::default() };
                view.tikz(&options).into_bytes()
            }
            "text" => {
                let options = TextOptions { rows, ..TextOptions::default() };
                view.text(&options).into_bytes()
            }
            _ => {
                let message = format!("`{format}` is not a format: there are pdf, tikz and text");
                return Err(errors::usage(py, &message, None));
            }
        }))
    }

    /// The violations in the trace, as one of a system under the policy that made it.
    fn check(&self, py: Python<'_>, system: &System) -> PyResult<Vec<String>> {
        let Recorded { trace, labels, how, .. } = &*self.recorded;
        let system = system.inner();
        if labels.tasks.len() != system.tasks.len() {
            let (has, tasks) = (labels.tasks.len(), system.tasks.len());
            let message = format!("the trace has {has} tasks, and the set has {tasks}");
            return Err(errors::usage(py, &message, None));
        }
        let rule = self.rule.clone().unwrap_or_default();
        let evidence = how.as_ref().map_or_else(Evidence::default, Evidence::of_record);
        let report = py.detach(|| check_with(trace, system, &rule, TOLD, &evidence));
        Ok(if report.is_clean() {
            Vec::new()
        } else {
            report.to_string().lines().map(str::to_owned).collect()
        })
    }

    /// The same trace, of a policy by its name.
    fn under(
        &self,
        py: Python<'_>,
        system: &System,
        policy: &str,
        classes: Vec<Py<PyAny>>,
    ) -> PyResult<Recording> {
        let rule = system.rule(py, policy, &classes)?;
        Ok(Recording { recorded: Arc::clone(&self.recorded), rule: Some(rule) })
    }
}
