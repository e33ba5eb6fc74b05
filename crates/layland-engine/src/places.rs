//! [`Steps`]: where the jobs of tasks with steps are, and who holds what.

use crate::Agenda;
use layland_model::{IdVec, ResourceId, Service, System, TaskId, TaskMap, Time};

/// Where the jobs of tasks with steps are.
#[derive(Debug)]
pub(crate) struct Steps {
    pub(crate) places: TaskMap<Place>,
    pub(crate) holders: IdVec<ResourceId, Option<TaskId>>,
    /// When jobs that suspend themselves are ready again, by the position of their task.
    pub(crate) resumes: Agenda,
}

/// Where the ready job of a task is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The step that it is at.
    pub(crate) at: usize,
    pub(crate) doing: Doing,
    /// What the steps up to this one execute, if the job executes its WCET.
    pub(crate) upto: Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It executes.
    Runs,
    /// It has to hold its CPU for what it does next.
    IsDue,
    /// It has asked for a resource.
    Waits,
    /// It suspends itself.
    Suspends,
}

impl Steps {
    /// None, if no task has steps.
    pub(crate) fn of(system: &System) -> Option<Box<Steps>> {
        system.tasks.values().any(|task| task.steps.is_some()).then(|| {
            let (tasks, resources) = (system.tasks.len(), system.resources.len());
            let place = Place { at: 0, doing: Doing::Runs, upto: Service::ZERO };
            Box::new(Steps {
                places: TaskMap::filled(place, tasks),
                holders: IdVec::filled(None, resources),
                resumes: Agenda::new(tasks),
            })
        })
    }

    /// When the next job that suspends itself is ready again.
    pub(crate) fn next(&self) -> Time {
        self.resumes.next()
    }
}
