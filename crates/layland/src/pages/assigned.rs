//! The CPU of each task under the policies that assign each task to one, as a table.

use layland_model::{Assigned, System, TaskId, TaskMap};

/// A policy with its assignment.
pub(crate) type OfPolicy<'a> = (&'a str, TaskMap<Assigned>);

/// A table of strings.
pub(crate) struct AssignedTable {
    /// The line above it.
    pub(crate) title: String,
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl AssignedTable {
    /// Returns the table of these policies: task, CPU, and the priority where it is fixed. Policies are
    /// left out if all tasks are on the only CPU, in no fixed order.
    /// `None` if no policy remains. The tasks of one policy are in the order of their CPUs and
    /// priorities; those of several, in the order of their deadlines.
    pub(crate) fn of(policies: &[OfPolicy<'_>], system: &System) -> Option<AssignedTable> {
        let is_told = |of: &&OfPolicy<'_>| system.platform.cpu_count() > 1 || has_priorities(of);
        let policies: Vec<&OfPolicy<'_>> = policies.iter().filter(is_told).collect();
        if policies.is_empty() {
            return None;
        }
        let mut ids: Vec<TaskId> = system.tasks.ids().collect();
        match policies[..] {
            [(_, only)] => ids.sort_by_key(|&id| (only[id].cpu, only[id].priority)),
            _ => ids.sort_by_key(|&id| system.tasks[id].deadline),
        }
        let mut headings = vec!["task".to_owned()];
        let mut rows: Vec<Vec<String>> =
            ids.iter().map(|&id| vec![system.tasks[id].name.to_string()]).collect();
        for of in &policies {
            let (spec, assigned) = of;
            let prefix = if policies.len() > 1 { format!("{spec}: ") } else { String::new() };
            headings.push(format!("{prefix}CPU"));
            for (row, &id) in rows.iter_mut().zip(&ids) {
                row.push(assigned[id].cpu.to_string());
            }
            if has_priorities(of) {
                headings.push(format!("{prefix}priority"));
                for (row, &id) in rows.iter_mut().zip(&ids) {
                    let priority = assigned[id].priority;
                    row.push(priority.map_or_else(|| "-".to_owned(), |place| place.to_string()));
                }
            }
        }
        let specs: Vec<&str> = policies.iter().map(|(spec, _)| *spec).collect();
        let is_ordered = policies.iter().any(|of| has_priorities(of));
        let order = if is_ordered { "; priority 1 comes first on its CPU" } else { "" };
        let title = format!("the CPU of each task under {}{order}", specs.join(", "));
        Some(AssignedTable { title, headings, rows })
    }

    /// Returns the table for a page.
    pub(crate) fn on_page(self) -> layland_report::Table {
        let AssignedTable { mut title, headings, rows } = self;
        title[..1].make_ascii_uppercase();
        layland_report::Table { title, headings, rows, ..layland_report::Table::default() }
    }
}

/// Returns the tasks of each CPU under a policy, in a line for each CPU that has tasks, below a line that
/// says what they are.
pub(crate) fn in_short(of: &OfPolicy<'_>, system: &System) -> Vec<String> {
    let (spec, assigned) = of;
    let mut ids: Vec<TaskId> = system.tasks.ids().collect();
    ids.sort_by_key(|&id| (assigned[id].cpu, assigned[id].priority));
    let order = if has_priorities(of) { ", highest priority first" } else { "" };
    let mut lines = vec![format!("the tasks of each CPU under {spec}{order}")];
    for of_cpu in ids.chunk_by(|&a, &b| assigned[a].cpu == assigned[b].cpu) {
        let names: Vec<&str> = of_cpu.iter().map(|&id| system.tasks[id].name.as_str()).collect();
        lines.push(format!("CPU {}: {}", assigned[of_cpu[0]].cpu, names.join(", ")));
    }
    lines
}

fn has_priorities((_, assigned): &OfPolicy<'_>) -> bool {
    assigned.values().any(|assigned| assigned.priority.is_some())
}
