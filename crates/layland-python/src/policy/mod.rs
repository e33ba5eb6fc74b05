//! Policies in Python: classes become entries of a registry, like policies of any other crate.

mod foreign;
mod job;
mod key;
mod machine;

pub(crate) use job::{Job, PolicyTask};

use crate::errors;
use crate::patience::Stop;
use foreign::{ALARMS, Foreign, Style};
use layland_model::{Algorithm, RequestKind, ScheduleRule, System};
use layland_policy::{Policy, PolicyInfo, Refusal, Registry, SystemRefusal};
use machine::Machine;
use pyo3::prelude::*;
use std::sync::Arc;

/// Returns the built-in policies and those of some Python classes. If one of these fails, it stops
/// the whole operation.
pub(crate) fn registry(
    py: Python<'_>,
    classes: &[Py<PyAny>],
    stop: &Arc<Stop>,
) -> PyResult<Registry> {
    let mut registry = Registry::standard();
    for class in classes {
        let info = Description::of(class.bind(py))?.info(&registry, stop)?;
        registry = registry.with(info).map_err(|error| {
            errors::usage(py, &error.to_string(), Some("give the class another `name`"))
        })?;
    }
    Ok(registry)
}

/// The description that a class gives of its policies.
struct Description {
    class: Arc<Py<PyAny>>,
    name: String,
    title: String,
    style: Style,
    listens: bool,
    /// The policy whose schedule it promises to match.
    like: Option<String>,
}

impl Description {
    fn of(class: &Bound<'_, PyAny>) -> PyResult<Description> {
        let describe = class.py().import("layland._policy")?.getattr("describe")?;
        let (name, title, has_key, is_fixed, listens, like) =
            describe.call1((class,))?.extract()?;
        let style = if has_key { Style::Key { is_fixed } } else { Style::Decide };
        let class = Arc::new(class.clone().unbind());
        Ok(Description { class, name, title, style, listens, like })
    }

    fn info(self, registry: &Registry, stop: &Arc<Stop>) -> PyResult<PolicyInfo> {
        let Description { class, name, title, style, listens, like } = self;
        let (model, algorithm) = match like {
            None => (None, Algorithm::Other),
            Some(like) => {
                let (info, options) = registry.parse(&like).map_err(|error| {
                    Python::attach(|py| errors::usage(py, &error.to_string(), None))
                })?;
                let algorithm = info.algorithm(&options);
                (Some((info.clone(), options)), algorithm)
            }
        };
        let stop = Arc::clone(stop);
        let named = name.clone();
        let build = move |system: &System, _: &_| -> Result<Box<dyn Policy>, SystemRefusal> {
            let rule = match &model {
                Some((info, options)) => info.build(system, options)?.rule(),
                None => ScheduleRule::None,
            };
            suits(&named, style, system)?;
            let made = Python::attach(|py| stop.within(|| start(py, &class, system)));
            let (object, tasks) = made.map_err(|error| {
                let reason = format!("policy `{named}` cannot start: {error}");
                stop.with(error);
                Refusal::invalid(reason)
            })?;
            Ok(Box::new(Foreign {
                name: named.clone(),
                style,
                listens,
                object,
                stop: Arc::clone(&stop),
                tasks: Arc::new(tasks.into()),
                rule,
                machine: Machine::new(system),
                by_rank: Arc::new(system.by_rank()),
                news: Vec::new(),
                refused: Vec::new(),
                wake_at: None,
                alarms: ALARMS,
            }))
        };
        Ok(PolicyInfo::new(name, title, "a policy in Python", build).implementing(algorithm))
    }
}

/// Checks that a Python policy can schedule a system.
fn suits(name: &str, style: Style, system: &System) -> Result<(), SystemRefusal> {
    match style {
        Style::Key { .. } => {
            let all = system.platform.cpus().collect();
            for task in system.tasks.ids() {
                if system.allowed_cpus(task) != all {
                    let message = format!(
                        "policy `{name}` has one order of jobs for all CPUs, and task `{}` may not use every CPU",
                        system.tasks[task].name
                    );
                    return Err(Refusal::not_permitted(message).about(task));
                }
            }
        }
        Style::Decide => {
            let changes_cpus = |kind: &RequestKind| match kind {
                RequestKind::CpuOnline(_) | RequestKind::CpuOffline(_) => true,
                RequestKind::Leave(_)
                | RequestKind::Reconfigure(..)
                | RequestKind::SetClusterCpus { .. } => false,
            };
            if system.requests.iter().any(|request| changes_cpus(&request.kind)) {
                let message = format!(
                    "policy `{name}` is not notified of CPUs that come and go, as the set has them"
                );
                return Err(Refusal::not_permitted(message).into());
            }
        }
    }
    Ok(())
}

/// Creates an object of a class, or a copy of an object, that knows the tasks; and the Python objects of the tasks.
fn start(
    py: Python<'_>,
    class: &Py<PyAny>,
    system: &System,
) -> PyResult<(Py<PyAny>, Vec<Py<PolicyTask>>)> {
    let tasks = system.tasks.ids().map(|task| Py::new(py, PolicyTask::new(system, task)));
    let tasks: Vec<Py<PolicyTask>> = tasks.collect::<PyResult<_>>()?;
    let begin = py.import("layland._policy")?.getattr("begin")?;
    let object = begin.call1((class,))?.unbind();
    let seen: Vec<Py<PolicyTask>> = tasks.iter().map(|task| task.clone_ref(py)).collect();
    object.call_method1(py, "setup", (seen, system.platform.cpu_count()))?;
    Ok((object, tasks))
}
