//! Errors as Python exceptions: the classes of `layland._errors`, with their fields.

use layland::answers::Unanswered;
use layland_config::{Problem, Report};
use layland_policy::BuildError;
use layland_sim::SimError;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// Creates an exception of this class. An error during its creation is raised in its place.
fn exception<'py>(py: Python<'py>, class: &str, fields: impl PyCallArgs<'py>) -> PyErr {
    let made = py
        .import("layland._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1(fields));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Options of the command that messages name, and the arguments in Python that mean the same.
const OPTIONS: &[(&str, &str)] = &[
    ("columns", "columns"),
    ("cpus", "cpus"),
    ("effort", "effort"),
    ("from", "format"),
    ("reserve", "reserve"),
    ("policy", "policy"),
    ("tick", "tick"),
    ("until", "until"),
    ("unit", "unit"),
];

/// The advice of the command, and the advice that fits in Python.
const ADVICE: &[(&str, &str)] = &[
    ("`layland policies` lists them", "`layland.policies()` lists them"),
    ("use --until TIME, as in --until 10s", "give `until`, as in until=\"10s\""),
    ("as in --columns Task,C,T,D", "as in columns=\"Task,C,T,D\""),
    ("--policy p-fp:locks=pip", "\"p-fp:locks=pip\""),
    ("--from csv or --from table", "format=\"csv\" or format=\"table\""),
    ("--from objects", "format=\"objects\""),
    (
        ", as in `sed -n 1p FILE`; `check` and `sim` take them all",
        "; TaskSet.load_lines reads them all",
    ),
    ("; --policy dl, g-rm, g-dm or g-fp", ""),
];

/// Returns a message of the command in the words of Python: an option is an argument.
fn in_python(text: &str) -> String {
    let mut said = text.to_owned();
    for (of_command, of_python) in ADVICE {
        said = said.replace(of_command, of_python);
    }
    for (option, argument) in OPTIONS {
        said = said.replace(&format!("--{option}"), &format!("`{argument}`"));
    }
    said
}

/// The fields of a problem: severity, code, message, label, line, column and help.
type Fields = (String, &'static str, String, String, Option<usize>, Option<usize>, Option<String>);

/// Returns the fields of a problem, in the order of the Python class.
fn fields(problem: &Problem) -> Fields {
    (
        problem.severity.to_string(),
        problem.code,
        in_python(&problem.message),
        problem.label.clone(),
        problem.position.map(|position| position.line),
        problem.position.map(|position| position.column),
        problem.help.as_deref().map(in_python),
    )
}

/// Converts the problems of a report to Python objects.
pub(crate) fn problems(py: Python<'_>, list: &[Problem]) -> PyResult<Vec<Py<PyAny>>> {
    let class = py.import("layland._errors")?.getattr("Problem")?;
    list.iter().map(|problem| Ok(class.call1(fields(problem))?.unbind())).collect()
}

/// Creates the error for a string that is not a task set.
pub(crate) fn input(py: Python<'_>, report: &Report) -> PyErr {
    match problems(py, &report.problems) {
        Ok(problems) => {
            exception(py, "InputError", (in_python(&report.plain()), problems, report.unlisted))
        }
        Err(error) => error,
    }
}

/// Creates the error for a wrong argument.
pub(crate) fn usage(py: Python<'_>, message: &str, help: Option<&str>) -> PyErr {
    exception(py, "UsageError", (in_python(message), help.map(in_python)))
}

/// Creates the error for a command without an answer.
pub(crate) fn unanswered(py: Python<'_>, error: &Unanswered) -> PyErr {
    usage(py, &error.message, error.help.as_deref())
}

/// Creates the error for a policy that cannot be built for a system.
pub(crate) fn build(
    py: Python<'_>,
    spec: &str,
    system: &layland_model::System,
    error: &BuildError,
) -> PyErr {
    match error {
        BuildError::Refused(refusal) => {
            let task = refusal.task.map(|task| system.tasks[task].name.as_str());
            exception(py, "Refused", (spec, error.to_string(), task))
        }
        BuildError::UnknownPolicy { .. }
        | BuildError::Family { .. }
        | BuildError::UnknownOption { .. }
        | BuildError::BadValue { .. } => usage(py, &error.to_string(), None),
    }
}

/// Creates the error for a simulation that cannot start.
pub(crate) fn simulation(py: Python<'_>, error: &SimError) -> PyErr {
    let help = match error {
        SimError::NoHyperperiod | SimError::NeverRecurs { .. } | SimError::ProgramsNeverRecur => {
            "give `until`, as in until=\"10s\""
        }
        SimError::OutOfRange { .. } => "choose a time within that range",
    };
    usage(py, &error.to_string(), Some(help))
}
