//! The tasks of a system as each of its CPUs sees them, in the
//! [time](layland_model::System::time_view) of its speed.

use layland_model::{CpuId, Speed, System, Task, TaskId, TaskMap};

/// The tasks of a system on CPUs of different speeds.
pub(super) struct Timed<'a> {
    system: &'a System,
    /// The tasks on CPUs of each speed other than 1.
    others: Vec<(Speed, TaskMap<Task>)>,
}

impl<'a> Timed<'a> {
    /// Returns none if a time is beyond the limit of times.
    pub(super) fn of(system: &'a System) -> Option<Timed<'a>> {
        let mut others: Vec<(Speed, TaskMap<Task>)> = Vec::new();
        for &speed in system.platform.speeds.values() {
            if speed != Speed::UNIT && others.iter().all(|(other, _)| *other != speed) {
                let at_speed = |task: &Task| task.at_speed(speed);
                let tasks: Option<TaskMap<Task>> = system.tasks.values().map(at_speed).collect();
                others.push((speed, tasks?));
            }
        }
        Some(Timed { system, others })
    }

    /// Returns a task on a CPU.
    pub(super) fn on(&self, cpu: CpuId, task: TaskId) -> &Task {
        let own = self.system.platform.speeds[cpu];
        match self.others.iter().find(|(speed, _)| *speed == own) {
            Some((_, tasks)) => &tasks[task],
            None => &self.system.tasks[task],
        }
    }

    /// Returns true if two CPUs have one speed.
    pub(super) fn have_one_speed(&self, a: CpuId, b: CpuId) -> bool {
        let speeds = &self.system.platform.speeds;
        speeds[a] == speeds[b]
    }
}
