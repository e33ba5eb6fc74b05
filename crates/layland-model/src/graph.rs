//! Tasks that follow others, and the graphs that they form.

use crate::{Index, System, TaskId, TaskMap};

/// Tasks that are connected by [`Task::follows`](crate::Task::follows), directly or through others:
/// a DAG task, of which each of these tasks is a node.
///
/// The jobs with the same number form an instance of the graph. They arrive together, and a job is
/// ready once the jobs with its number of all tasks that its task follows have completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Its tasks, ascending; at least two.
    pub tasks: Vec<TaskId>,
    /// The positions in `tasks` of each pair in which the second task follows the first. Sorted by
    /// the second task, then in the order of its `follows`.
    pub edges: Vec<(usize, usize)>,
}

impl System {
    /// Returns true if some task follows another one.
    pub fn has_followers(&self) -> bool {
        self.tasks.values().any(|task| !task.follows.is_empty())
    }

    /// Its graphs, by their first tasks. A task that neither follows another task nor is followed
    /// belongs to no graph.
    ///
    /// ```
    /// use layland_model::{Duration, Service, System, Task, TaskId};
    /// let task = |name| Task::implicit(name, Service::from_ms(1), Duration::from_ms(9));
    /// let mut system = System::new(2, vec![task("camera"), task("other"), task("plan"), task("act")]);
    /// let [camera, _, plan, act] = [0, 1, 2, 3].map(TaskId);
    /// system.tasks[plan].follows = [camera].into();
    /// system.tasks[act].follows = [camera, plan].into();
    /// let graphs = system.graphs();
    /// assert_eq!(graphs.len(), 1);
    /// assert_eq!(graphs[0].tasks, [camera, plan, act]);
    /// assert_eq!(graphs[0].edges, [(0, 1), (0, 2), (1, 2)]);
    /// ```
    pub fn graphs(&self) -> Vec<Graph> {
        if !self.has_followers() {
            return Vec::new();
        }
        // Union-find: each task points to a smaller one of its graph, or to itself.
        let mut towards: TaskMap<TaskId> = self.tasks.ids().collect();
        for (id, task) in self.tasks.iter() {
            for &followed in
                task.follows.iter().filter(|&&followed| self.tasks.get(followed).is_some())
            {
                let (one, other) = (first(&mut towards, id), first(&mut towards, followed));
                towards[one.max(other)] = one.min(other);
            }
        }
        let mut of: Vec<Vec<TaskId>> = vec![Vec::new(); self.tasks.len()];
        for id in self.tasks.ids() {
            of[first(&mut towards, id).index()].push(id);
        }
        let graph = |tasks: Vec<TaskId>| {
            let position = |id: &TaskId| tasks.binary_search(id).ok();
            let edges = tasks.iter().enumerate().flat_map(|(to, &id)| {
                let follows = self.tasks[id].follows.iter();
                follows.filter_map(move |followed| Some((position(followed)?, to)))
            });
            Graph { edges: edges.collect(), tasks }
        };
        of.into_iter().filter(|tasks| tasks.len() > 1).map(graph).collect()
    }
}

/// The first task of the graph of a task, as far as it is known yet.
fn first(towards: &mut TaskMap<TaskId>, id: TaskId) -> TaskId {
    let mut at = id;
    while towards[at] != at {
        // Path halving: later searches take half the steps.
        towards[at] = towards[towards[at]];
        at = towards[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duration, Service, Task};

    #[test]
    fn graphs_that_are_joined_late_are_one() {
        let task =
            |at: u32| Task::implicit(at.to_string(), Service::from_ms(1), Duration::from_ms(9));
        let mut system = System::new(1, (0..7).map(task).collect());
        assert_eq!(system.graphs(), []);
        system.tasks[TaskId(1)].follows = [TaskId(4)].into();
        system.tasks[TaskId(2)].follows = [TaskId(5)].into();
        system.tasks[TaskId(6)].follows = [TaskId(5), TaskId(4)].into();
        let graphs = system.graphs();
        assert_eq!(graphs.len(), 1);
        assert_eq!(graphs[0].tasks, [1, 2, 4, 5, 6].map(TaskId));
        assert_eq!(graphs[0].edges, [(2, 0), (3, 1), (3, 4), (2, 4)]);
    }
}
