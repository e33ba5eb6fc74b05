//! The extension module of the Python package `layland`: conversions, without decisions.
//!
//! Times are whole nanoseconds here; the Python code of the package (`python/layland`) parses
//! texts. Long operations release the interpreter's lock. Answers are those of the command line,
//! made by the same functions (`layland::answers`), so that the same input and seed give the same
//! bytes.

mod analyses;
mod errors;
mod lab;
mod patience;
mod policy;
mod run;
mod system;
mod table;
mod trace;

use layland_model::Duration;
use pyo3::prelude::*;
use std::ffi::OsString;

/// A time with its unit, in nanoseconds.
#[pyfunction]
fn parse_time(py: Python<'_>, text: &str) -> PyResult<i64> {
    let time = text.parse::<Duration>();
    time.map(Duration::ns)
        .map_err(|error| errors::usage(py, &format!("{error}: {}", error.help()), None))
}

/// Nanoseconds in the largest unit that keeps them exact.
#[pyfunction]
fn format_time(ns: i64) -> String {
    Duration::from_ns(ns).to_string()
}

/// Runs a command line, which begins with the name of the program, and returns the exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>, classes: Vec<Py<PyAny>>) -> PyResult<u8> {
    let stop = patience::Stop::of_work(py)?;
    let registry = policy::registry(py, &classes, &stop)?;
    let code = py.detach(|| layland::main_of(&registry, arguments));
    stop.raise()?;
    Ok(code)
}

/// The names of the bundled sets, with their titles.
#[pyfunction]
fn demos() -> Vec<&'static str> {
    layland_config::demos().iter().map(|demo| demo.name).collect()
}

/// The module.
#[pymodule]
fn _layland(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<system::System>()?;
    module.add_class::<run::Simulated>()?;
    module.add_class::<trace::Recording>()?;
    module.add_class::<lab::Experiment>()?;
    module.add_class::<lab::Results>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<policy::Job>()?;
    module.add_class::<policy::PolicyTask>()?;
    module.add_function(wrap_pyfunction!(parse_time, module)?)?;
    module.add_function(wrap_pyfunction!(format_time, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(demos, module)?)?;
    module.add_function(wrap_pyfunction!(patience::end_work, module)?)?;
    module.add_function(wrap_pyfunction!(patience::work_has_ended, module)?)?;
    module.add_function(wrap_pyfunction!(patience::stop_work, module)?)?;
    module.add_function(wrap_pyfunction!(lab::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(run::policies, module)?)?;
    module.add_function(wrap_pyfunction!(run::canonical, module)?)?;
    module.add_function(wrap_pyfunction!(analyses::analyses, module)?)
}
