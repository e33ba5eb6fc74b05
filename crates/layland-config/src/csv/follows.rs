//! The cell of the column `follows`: `camera; radar`. The tasks may stand anywhere in the table.

use super::TableReader;
use super::header::Column;
use super::rows::Cell;
use super::task::Row;
use crate::problem::Span;
use layland_model::{Index, System, Task, TaskId, nearest};
use std::collections::BTreeMap;

/// What stands between two tasks.
const BETWEEN: char = ';';

/// What a row says that its task follows.
pub(super) struct Following {
    /// The position of the task.
    task: usize,
    names: String,
    span: Span,
}

impl Following {
    /// Of a row that has such a cell.
    pub(super) fn of(
        columns: &[Option<Column>],
        cells: &[Cell<'_>],
        task: usize,
    ) -> Option<Following> {
        let mut all = columns.iter().zip(cells);
        let is_it = |column: &Option<Column>| column.as_ref().is_some_and(|c| c.key == "follows");
        let (_, cell) = all.find(|(column, _)| is_it(column))?;
        let names = cell.text.trim().to_owned();
        (!names.is_empty()).then(|| Following { task, names, span: cell.span.clone() })
    }
}

impl TableReader<'_> {
    /// Gives every task the tasks that it follows.
    pub(super) fn follow(&mut self, following: &[Following], tasks: &mut [Row]) {
        if following.is_empty() {
            return;
        }
        let mut ids: BTreeMap<String, TaskId> = BTreeMap::new();
        for (at, row) in tasks.iter().enumerate() {
            ids.entry(row.task.name.clone()).or_insert(TaskId::from_index(at));
        }
        for Following { task, names, span } in following {
            let mut follows = Vec::new();
            for name in names.split(BETWEEN).map(str::trim) {
                let (message, help) = match ids.get(name) {
                    Some(&id) => {
                        follows.push(id);
                        continue;
                    }
                    None if name.is_empty() => (
                        "a name is missing".to_owned(),
                        "write names with semicolons between them: camera; radar".to_owned(),
                    ),
                    None => {
                        let near = match self.problems.is_full() {
                            true => None,
                            false => nearest(name, ids.keys().map(String::as_str)),
                        };
                        let help = match near {
                            Some(near) => format!("did you mean `{near}`?"),
                            None => "name a task of this table, and put semicolons between names"
                                .to_owned(),
                        };
                        (format!("there is no task `{name}`"), help)
                    }
                };
                self.error("layland::csv::follows", span.clone(), message, &help);
            }
            tasks[*task].task.follows = follows.into();
        }
    }
}

/// What a task follows as a cell; none if a name cannot be written in one.
pub(super) fn cell_text(task: &Task, system: &System) -> Option<String> {
    let name = |id: &TaskId| {
        let name = &system.tasks.get(*id)?.name;
        let is_one = !name.contains(BETWEEN) && !name.is_empty() && name.trim() == name;
        is_one.then_some(name.as_str())
    };
    let names: Option<Vec<&str>> = task.follows.iter().map(name).collect();
    names.map(|names| names.join("; "))
}
