//! Reads the column `follows`: `camera; radar`. The tasks may be anywhere in the table.

use super::cells::BETWEEN;
use super::rows::Cell;
use crate::problem::Span;
use layland_model::{TaskId, nearest};
use std::collections::BTreeMap;

/// The tasks that a task follows, as written in its row.
pub(super) struct Following {
    /// The index of the task.
    pub task: usize,
    names: String,
    pub span: Span,
}

impl Following {
    /// Returns the content of the cell of a task, unless it is empty.
    pub(super) fn of(cell: &Cell<'_>, task: usize) -> Option<Following> {
        let names = cell.text.trim().to_owned();
        (!names.is_empty()).then(|| Following { task, names, span: cell.span.clone() })
    }

    /// Resolves the names to tasks. Without `guesses` it omits the slow search for similar names.
    pub(super) fn tasks(&self, ids: &Ids, guesses: bool) -> Result<Box<[TaskId]>, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut follows = Vec::new();
        for name in self.names.split(BETWEEN).map(str::trim) {
            if let Some(&id) = ids.get(name) {
                follows.push(id);
                continue;
            }
            if name.is_empty() {
                faults.push(Fault {
                    message: "a name is missing".to_owned(),
                    help: "write names with semicolons between them: camera; radar".to_owned(),
                });
                continue;
            }
            let near = guesses.then(|| nearest(name, ids.keys().map(String::as_str))).flatten();
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name a task of this table, and put semicolons between names".to_owned(),
            };
            faults.push(Fault { message: format!("there is no task `{name}`"), help });
        }
        if faults.is_empty() { Ok(follows.into()) } else { Err(faults) }
    }
}

/// The tasks of a table by name. Of several tasks with one name it has the first.
pub(super) type Ids = BTreeMap<String, TaskId>;

/// The reason why a cell does not name tasks.
pub(super) struct Fault {
    pub message: String,
    pub help: String,
}
