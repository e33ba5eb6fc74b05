//! [`Graphs`]: the arrived and waiting jobs of each graph.

use layland_model::{System, TaskId, TaskMap, Time};
use std::collections::VecDeque;

/// The graphs of a system, with the state of each task.
#[derive(Debug)]
pub(crate) struct Graphs {
    pub(crate) members: TaskMap<Option<Box<GraphTask>>>,
    /// The tasks of each graph.
    pub(crate) tasks: Vec<Vec<TaskId>>,
}

/// A task of a graph.
#[derive(Debug, Default)]
pub(crate) struct GraphTask {
    /// Its graph, by position in [`Graphs::tasks`].
    pub(crate) graph: usize,
    /// The number of tasks that it follows.
    pub(crate) follows: usize,
    /// The tasks that follow it.
    pub(crate) followers: Vec<TaskId>,
    /// The missing predecessors of each waiting job, in the order of
    /// [`TaskRun::waiting`](crate::TaskRun::waiting).
    pub(crate) waiting: VecDeque<Missing>,
}

/// The jobs that a job waits for, apart from the previous job of its task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing {
    /// The number of jobs that it follows and that have not completed.
    pub(crate) jobs: usize,
    /// The latest completion so far of a job that it follows; its own release, if none has
    /// completed.
    pub(crate) since: Time,
}

impl Graphs {
    /// Returns the graphs of a system, or `None` if no task follows another one.
    pub(crate) fn of(system: &System) -> Option<Box<Graphs>> {
        let graphs = system.graphs();
        if graphs.is_empty() {
            return None;
        }
        let mut members: TaskMap<Option<Box<GraphTask>>> =
            system.tasks.ids().map(|_| None).collect();
        for (graph, found) in graphs.iter().enumerate() {
            let mut own: Vec<GraphTask> =
                found.tasks.iter().map(|_| GraphTask { graph, ..GraphTask::default() }).collect();
            for &(from, to) in &found.edges {
                own[to].follows += 1;
                own[from].followers.push(found.tasks[to]);
            }
            for (&id, member) in found.tasks.iter().zip(own) {
                members[id] = Some(Box::new(member));
            }
        }
        let tasks = graphs.into_iter().map(|graph| graph.tasks).collect();
        Some(Box::new(Graphs { members, tasks }))
    }

    pub(crate) fn member(&self, id: TaskId) -> Option<&GraphTask> {
        // Programs that join later follow no task.
        self.members.get(id)?.as_deref()
    }

    /// Returns the task whose arrivals are those of the graph of this task, if it is in a graph.
    pub(crate) fn first_of(&self, id: TaskId) -> Option<TaskId> {
        Some(self.tasks[self.member(id)?.graph][0])
    }

    /// Removes the first waiting job of a task, which is never released because the run is over.
    /// Returns the time at which the jobs that it follows had completed, or zero if one has not.
    pub(crate) fn give_up(&mut self, id: TaskId) -> Time {
        let member = self.members.get_mut(id).and_then(|member| member.as_deref_mut());
        match member.and_then(|member| member.waiting.pop_front()) {
            Some(Missing { jobs: 0, since }) => since,
            Some(_) | None => Time::ZERO,
        }
    }
}
