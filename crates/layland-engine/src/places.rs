//! [`Steps`]: the progress of jobs of tasks with steps, and the holders of resources.

use crate::Agenda;
use layland_model::{IdVec, ResourceId, Service, System, TaskId, TaskMap, Time};

/// The progress of all jobs of tasks with steps.
#[derive(Debug)]
pub(crate) struct Steps {
    pub(crate) places: TaskMap<Place>,
    pub(crate) holders: IdVec<ResourceId, Option<TaskId>>,
    /// The end of each suspension, by the position of the task.
    pub(crate) resumes: Agenda,
}

/// The progress of the ready job of a task through its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The index of the current step.
    pub(crate) at: usize,
    pub(crate) doing: Doing,
    /// The work of the steps up to this one, if the job executes its WCET.
    pub(crate) upto: Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It executes.
    Runs,
    /// It needs its CPU for its next step.
    IsDue,
    /// It has requested a resource.
    Waits,
    /// It suspends itself.
    Suspends,
}

impl Steps {
    /// Returns the state for a system, or `None` if no task has steps.
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

    /// Returns the time at which the next suspension ends.
    pub(crate) fn next(&self) -> Time {
        self.resumes.next()
    }
}
