//! Assumptions of tests about tasks that follow others.

use super::Assumption::{
    self, DeadlinesAlong, GraphDeadlines, GraphPeriods, GraphPriorities, Graphs, GraphsTogether,
    Independent,
};
use super::{Refusal, masks};
use layland_model::{Field, Graph, System, SystemPart, Task, TaskId};
use layland_offline::graph;
use std::collections::BTreeMap;

impl Assumption {
    /// Checks that a valid system keeps an assumption about graphs; every system keeps the other
    /// assumptions.
    pub(super) fn check_graphs(self, system: &System) -> Result<(), Refusal> {
        let refuse = |id: TaskId, what: String, help| {
            let message = format!("task `{}` {what}", system.tasks[id].name);
            Err(Refusal {
                assumption: self,
                part: SystemPart::Task(id, Field::Name),
                message,
                help,
            })
        };
        let name = |id: TaskId| &system.tasks[id].name;
        if self == Independent {
            let follower = system.tasks.iter().find(|(_, task)| !task.follows.is_empty());
            return follower.map_or(Ok(()), |(id, task)| {
                let what = format!("follows `{}`", name(task.follows[0]));
                refuse(
                    id,
                    what,
                    "leave out `follows`, or use a test for graphs (g-edf and g-fp have some)",
                )
            });
        }
        if self == DeadlinesAlong {
            for (id, task) in system.tasks.iter() {
                let is_later =
                    |followed: &&TaskId| system.tasks[**followed].deadline > task.deadline;
                if let Some(&followed) = task.follows.iter().find(is_later) {
                    let what = format!("follows `{}`, whose deadline is later", name(followed));
                    return refuse(
                        id,
                        what,
                        "give no task a later deadline than one that follows it",
                    );
                }
            }
            return Ok(());
        }
        if self == Graphs || self == GraphsTogether {
            if !system.has_followers() {
                let message = "no task follows another one".to_owned();
                let help = "use a test for independent tasks";
                return Err(Refusal { assumption: self, part: SystemPart::Set, message, help });
            }
            for graph in system.graphs() {
                let first = graph.tasks[0];
                for &id in &graph.tasks {
                    let has_other = system.tasks[id].deadline != system.tasks[first].deadline;
                    if self == Graphs && has_other {
                        let what =
                            format!("has another deadline than `{}` of its graph", name(first));
                        return refuse(id, what, "give all tasks of a graph one deadline");
                    }
                    if masks(system, id) != masks(system, first) {
                        let what =
                            format!("may use other CPUs than `{}` of its graph", name(first));
                        return refuse(id, what, "give all tasks of a graph the same CPUs");
                    }
                }
            }
            return Ok(());
        }
        let (key, what): (fn(&Task) -> i64, _) = if self == GraphPriorities {
            (|task| task.priority.unwrap_or_default(), "priority")
        } else if self == GraphPeriods {
            (|task| task.period.ns(), "period")
        } else if self == GraphDeadlines {
            (|task| task.deadline.ns(), "deadline")
        } else {
            return Ok(());
        };
        let mut of: BTreeMap<(usize, i64), TaskId> = BTreeMap::new();
        for Graph { tasks, .. } in graph::all(system) {
            let first = &system.tasks[tasks[0]];
            if let Some(&id) = tasks.iter().find(|&&id| key(&system.tasks[id]) != key(first)) {
                let what = format!("has another {what} than `{}` of its graph", first.name);
                return refuse(id, what, "give all tasks of a graph one priority");
            }
            if let Some(other) = of.insert((first.cluster, key(first)), tasks[0]) {
                let what = format!("has the same {what} as `{}` of another graph", name(other));
                return refuse(
                    tasks[0],
                    what,
                    "give different graphs different priorities, or use g-edf",
                );
            }
        }
        Ok(())
    }
}
