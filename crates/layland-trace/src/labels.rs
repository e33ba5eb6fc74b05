//! [`Labels`]: the names for a trace, for code that displays it. A [`Trace`] identifies tasks and
//! CPUs by number only.

use crate::Trace;
use layland_model::{Criticality, Index, ResourceId, System, TaskId, TaskMap};

/// The names of the tasks, resources and criticality levels, and the number of CPUs.
///
/// ```
/// use layland_model::{Duration, Service, System, Task, TaskId};
/// use layland_trace::Labels;
/// let control = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// let labels = Labels::of(&System::new(2, vec![control]));
/// assert_eq!(labels.task(TaskId(0)), "control");
/// assert_eq!(labels.task(TaskId(7)), "task 7");
/// assert_eq!(labels.cpus, 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The name of each task.
    pub tasks: TaskMap<String>,
    /// The number of CPUs.
    pub cpus: usize,
    /// The names of the criticality levels, low to high; empty if there is only one.
    pub levels: Vec<String>,
    /// The name of each resource.
    pub resources: Vec<String>,
}

impl Labels {
    /// The names in a system.
    pub fn of(system: &System) -> Labels {
        Labels {
            tasks: system.tasks.values().map(|task| task.name.to_string()).collect(),
            cpus: system.platform.cpu_count(),
            levels: match system.levels.names() {
                [_] => Vec::new(),
                names => names.to_vec(),
            },
            resources: system.resources.iter().map(|resource| resource.name.clone()).collect(),
        }
    }

    /// Uses numbers as names, for a trace without further information.
    pub fn numbered(trace: &Trace) -> Labels {
        let of_jobs = trace.jobs.iter().map(|record| record.job.id.task);
        let of_segments = trace.segments.iter().map(|segment| segment.job.task);
        let count = of_jobs.chain(of_segments).map(|task| task.index() + 1).max().unwrap_or(0);
        Labels {
            tasks: (0..count).map(|index| default_name(TaskId::from_index(index))).collect(),
            cpus: trace.cpu_count(),
            levels: Vec::new(),
            resources: Vec::new(),
        }
    }

    /// These labels, completed by a number for each task of a trace that has no name here.
    #[must_use]
    pub fn completed(&self, trace: &Trace) -> Labels {
        let mut labels = self.clone();
        for task in (self.tasks.len()..Labels::numbered(trace).tasks.len()).map(TaskId::from_index)
        {
            labels.tasks.push(default_name(task));
        }
        labels
    }

    /// The name of a task; `task N` if it has none.
    pub fn task(&self, task: TaskId) -> String {
        self.tasks.get(task).cloned().unwrap_or_else(|| default_name(task))
    }

    /// The name of a resource; its number if it has none.
    pub fn resource(&self, resource: ResourceId) -> String {
        let name = self.resources.get(resource.index()).cloned();
        name.unwrap_or_else(|| resource.to_string())
    }

    /// The name of a criticality level; `level N` if it has none.
    pub fn level(&self, level: Criticality) -> String {
        let name = self.levels.get(level.level()).cloned();
        name.unwrap_or_else(|| format!("level {}", level.level()))
    }
}

fn default_name(task: TaskId) -> String {
    format!("task {task}")
}
