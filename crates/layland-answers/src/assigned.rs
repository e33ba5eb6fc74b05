//! The CPU of each task, in documents.

use layland_model::{Assigned, System, TaskMap};
use schemars::JsonSchema;
use serde::Serialize;

/// The CPU on which a task runs.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "assigned")]
pub(crate) struct AssignedTask<'a> {
    /// The task.
    task: &'a str,
    /// Its CPU.
    cpu: u32,
    /// Its place in the order of fixed priorities on that CPU, of which 1 comes first; null under
    /// EDF.
    #[schemars(range(min = 1))]
    priority: Option<u32>,
}

/// Returns the entries of an assignment.
pub(crate) fn assigned<'a>(
    assignment: Option<&TaskMap<Assigned>>,
    system: &'a System,
) -> Option<Vec<AssignedTask<'a>>> {
    let entry = |(id, assigned): (_, &Assigned)| AssignedTask {
        task: &system.tasks[id].name,
        cpu: assigned.cpu.0,
        priority: assigned.priority,
    };
    Some(assignment?.iter().map(entry).collect())
}
