//! [`Graphs`]: what of each graph has arrived and waits.

use layland_model::{System, TaskId, TaskMap, Time};
use std::collections::VecDeque;

/// The graphs of a system, by task.
#[derive(Debug)]
pub(crate) struct Graphs {
    pub(crate) members: TaskMap<Option<Box<Member>>>,
    /// The tasks of each graph.
    pub(crate) tasks: Vec<Vec<TaskId>>,
}

/// A task of a graph.
#[derive(Debug, Default)]
pub(crate) struct Member {
    /// Its graph, by position in [`Graphs::tasks`].
    pub(crate) graph: usize,
    /// How many tasks it follows.
    pub(crate) follows: usize,
    /// The tasks that follow it.
    pub(crate) followers: Vec<TaskId>,
    /// Of each job that waits, as in [`TaskRun::waiting`](crate::TaskRun::waiting): what it waits for.
    pub(crate) waiting: VecDeque<Missing>,
}

/// What a job waits for besides the job before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing {
    /// So many jobs that it follows have not completed.
    pub(crate) jobs: usize,
    /// When the last one did that has; its release, if none has.
    pub(crate) since: Time,
}

impl Graphs {
    /// None, if no task follows another one.
    pub(crate) fn of(system: &System) -> Option<Box<Graphs>> {
        let graphs = system.graphs();
        if graphs.is_empty() {
            return None;
        }
        let mut members: TaskMap<Option<Box<Member>>> = system.tasks.ids().map(|_| None).collect();
        for (graph, found) in graphs.iter().enumerate() {
            let mut own: Vec<Member> =
                found.tasks.iter().map(|_| Member { graph, ..Member::default() }).collect();
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

    pub(crate) fn member(&self, id: TaskId) -> Option<&Member> {
        // Programs that come later follow nothing.
        self.members.get(id)?.as_deref()
    }

    /// The task whose arrivals are those of the graph of this one, if that is in one.
    pub(crate) fn first_of(&self, id: TaskId) -> Option<TaskId> {
        Some(self.tasks[self.member(id)?.graph][0])
    }

    /// The first job of a task that waits is never released, because the run is over. When the jobs that it follows
    /// have completed, if all of them did.
    pub(crate) fn give_up(&mut self, id: TaskId) -> Time {
        let member = self.members.get_mut(id).and_then(|member| member.as_deref_mut());
        match member.and_then(|member| member.waiting.pop_front()) {
            Some(Missing { jobs: 0, since }) => since,
            Some(_) | None => Time::ZERO,
        }
    }
}
