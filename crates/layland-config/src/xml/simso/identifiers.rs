//! The identifiers of tasks and processors in a SimSo
//! configuration, for schedulers that depend on them.

use super::super::tree::{Element, parse};
use crate::problem::Problems;

/// The identifiers of tasks and processors in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimsoIdentifiers {
    /// The identifier of each task, in the order of the file.
    pub tasks: Vec<i64>,
    /// The identifier and the name of each processor.
    pub processors: Vec<(i64, String)>,
}

/// Returns the identifiers in a configuration that [`read`](crate::read)
/// accepts. Tasks and processors without a numeric identifier are
/// numbered from 1, as in SimSo. `None` if it is not a configuration.
///
/// ```
/// let text = "<simulation><processors><processor name='left' id='4'/></processors>\
///             <tasks><task name='a' id='11'/><task name='b'/></tasks></simulation>";
/// let found = layland_config::simso_identifiers(text).unwrap();
/// assert_eq!(found.tasks, [11, 2]);
/// assert_eq!(found.processors, [(4, "left".to_owned())]);
/// ```
pub fn simso_identifiers(text: &str) -> Option<SimsoIdentifiers> {
    let root = parse(text, &mut Problems::default())?;
    let id = |at: usize, element: &Element| {
        let given = element.attribute("id").and_then(|id| id.value.trim().parse().ok());
        given.unwrap_or(at as i64 + 1)
    };
    let tasks = root.all("tasks").flat_map(|tasks| tasks.all("task")).enumerate();
    let processors = root.all("processors").flat_map(|group| group.all("processor")).enumerate();
    let named = |(at, element): (usize, &Element)| {
        let number = id(at, element);
        let name = element.attribute("name").map(|name| name.value.clone());
        (number, name.unwrap_or_else(|| format!("CPU {}", at + 1)))
    };
    Some(SimsoIdentifiers {
        tasks: tasks.map(|(at, element)| id(at, element)).collect(),
        processors: processors.map(named).collect(),
    })
}
