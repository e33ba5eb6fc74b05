//! The machine under a Python policy: ready jobs, CPUs, and their changes.
//!
//! Jobs for which the policy chooses no CPU are placed as under the built-in policies (the locality
//! rule of `layland-policy/src/shell/turn.rs`): a job returns to the CPU on which its task ran
//! last, if it is idle; among several jobs with the same last CPU the one that ran most recently
//! does; every other job takes the lowest remaining idle CPU. So a policy with the order of global
//! EDF produces the schedule of `g-edf`.

use super::job::Job;
use layland_model::{CpuId, CpuMap, CpuSet, JobId, Service, Speed, System, TaskId, TaskMap, Time};
use layland_policy::Action;
use pyo3::prelude::*;

/// The parts of a nanosecond in which work is counted: speeds are fractions.
const PARTS: i128 = 1 << 20;

/// A ready job.
pub(super) struct Ready {
    pub id: JobId,
    pub release: Time,
    pub deadline: Time,
    /// The Python object of the job, created at the first decision.
    pub seen: Option<Py<Job>>,
    /// Its key, if the key does not change.
    pub key: Option<super::key::Key>,
    /// The work that it has done, in [`PARTS`] of a nanosecond.
    work: i128,
}

impl Ready {
    /// A job that has done nothing yet.
    pub(super) fn new(id: JobId, release: Time, deadline: Time) -> Ready {
        Ready { id, release, deadline, seen: None, key: None, work: 0 }
    }

    /// Returns the work that it has done, to the nearest nanosecond.
    pub(super) fn executed(&self) -> Service {
        let ns = (self.work + PARTS / 2) / PARTS;
        Service::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
    }

    /// Shows the Python object how far the job is.
    pub(super) fn show(&self, now: Time) {
        if let Some(seen) = &self.seen {
            seen.get().seen.set(now, self.executed());
        }
    }

    /// Returns a copy that shares the Python object.
    pub(super) fn copy(&self, py: Python<'_>) -> Ready {
        Ready {
            id: self.id,
            release: self.release,
            deadline: self.deadline,
            seen: self.seen.as_ref().map(|seen| seen.clone_ref(py)),
            key: self.key.as_ref().map(|key| key.copy(py)),
            work: self.work,
        }
    }
}

/// The state of the machine after the last decision.
pub(super) struct Machine {
    /// The ready job of each task, if there is one.
    pub ready: TaskMap<Option<Ready>>,
    /// The task that each CPU runs.
    pub running: CpuMap<Option<TaskId>>,
    pub online: CpuSet,
    /// The CPU on which each task ran last, and the end of that execution.
    last: TaskMap<Option<(CpuId, Time)>>,
    speeds: CpuMap<Speed>,
    /// The time up to which the work of each CPU is counted.
    counted: CpuMap<Time>,
}

impl Machine {
    pub(super) fn new(system: &System) -> Machine {
        let tasks = system.tasks.len();
        Machine {
            ready: (0..tasks).map(|_| None).collect::<Vec<_>>().into(),
            running: CpuMap::filled(None, system.platform.cpu_count()),
            online: CpuSet::new(),
            last: TaskMap::filled(None, tasks),
            speeds: system.platform.speeds.clone(),
            counted: CpuMap::filled(Time::ZERO, system.platform.cpu_count()),
        }
    }

    /// Returns a copy whose jobs share their Python objects.
    pub(super) fn copy(&self, py: Python<'_>) -> Machine {
        let job = |ready: &Option<Ready>| ready.as_ref().map(|ready| ready.copy(py));
        let ready: Vec<_> = self.ready.values().map(job).collect();
        Machine {
            ready: ready.into(),
            running: self.running.clone(),
            online: self.online.clone(),
            last: self.last.clone(),
            speeds: self.speeds.clone(),
            counted: self.counted.clone(),
        }
    }

    /// Counts the work of the job that a CPU runs, up to now.
    fn count(&mut self, now: Time, cpu: CpuId) {
        let from = std::mem::replace(&mut self.counted[cpu], now);
        let Some(task) = self.running[cpu] else { return };
        if let Some(ready) = &mut self.ready[task] {
            let speed = self.speeds[cpu];
            let held = i128::from(now.ns() - from.ns()) * i128::from(speed.numerator());
            ready.work += held * PARTS / i128::from(speed.denominator());
        }
    }

    /// Counts the work of all running jobs up to now, and shows it to the Python objects.
    pub(super) fn count_all(&mut self, now: Time) {
        for cpu in self.running.ids() {
            self.count(now, cpu);
        }
        self.ready.values().flatten().for_each(|ready| ready.show(now));
    }

    /// Returns the CPU that runs the job of a task.
    pub(super) fn cpu_of(&self, task: TaskId) -> Option<CpuId> {
        self.running.iter().find(|(_, running)| **running == Some(task)).map(|(cpu, _)| cpu)
    }

    /// Makes a CPU idle.
    fn stop(&mut self, now: Time, cpu: CpuId) {
        self.count(now, cpu);
        if let Some(task) = self.running[cpu].take() {
            self.last[task] = Some((cpu, now));
        }
    }

    /// Removes the job of a task from the ready jobs.
    pub(super) fn retire(&mut self, now: Time, task: TaskId) -> Option<Ready> {
        if let Some(cpu) = self.cpu_of(task) {
            self.stop(now, cpu);
        }
        self.ready.get_mut(task).and_then(Option::take)
    }

    /// Takes a CPU offline; its job stays ready.
    pub(super) fn withdraw(&mut self, now: Time, cpu: CpuId) {
        self.online.remove(cpu);
        self.stop(now, cpu);
    }

    /// Runs exactly these jobs, at most as many as there are CPUs. Jobs that start choose their
    /// CPUs in the given order.
    pub(super) fn run_highest(&mut self, now: Time, chosen: &[TaskId], actions: &mut Vec<Action>) {
        let before = self.running.clone();
        for cpu in before.ids() {
            if self.running[cpu].is_some_and(|task| !chosen.contains(&task)) {
                self.stop(now, cpu);
            }
        }
        let starting: Vec<TaskId> =
            chosen.iter().copied().filter(|&task| self.cpu_of(task).is_none()).collect();
        let is_idle =
            |machine: &Machine, cpu| machine.online.contains(cpu) && machine.running[cpu].is_none();
        // The task that each idle CPU prefers, with the end of its last execution.
        let mut preferred: CpuMap<Option<(Time, TaskId)>> = CpuMap::filled(None, before.len());
        for &task in &starting {
            let Some((cpu, until)) = self.last[task].filter(|&(cpu, _)| is_idle(self, cpu)) else {
                continue;
            };
            if preferred[cpu].is_none_or(|(other, _)| until > other) {
                preferred[cpu] = Some((until, task));
            }
        }
        let mut places: Vec<(CpuId, TaskId)> = Vec::with_capacity(starting.len());
        let mut left: Vec<CpuId> = before
            .ids()
            .filter(|&cpu| is_idle(self, cpu) && preferred[cpu].is_none())
            .rev()
            .collect();
        for &task in &starting {
            let own = preferred.iter().find(|(_, of)| of.is_some_and(|(_, of)| of == task));
            match own.map(|(cpu, _)| cpu).or_else(|| left.pop()) {
                Some(cpu) => places.push((cpu, task)),
                None => debug_assert!(false, "there is a CPU for each job that starts"),
            }
        }
        for (cpu, task) in places {
            self.running[cpu] = Some(task);
        }
        self.tell(&before, actions);
    }

    /// Runs these tasks on these CPUs.
    pub(super) fn run_placed(
        &mut self,
        now: Time,
        wanted: &CpuMap<Option<TaskId>>,
        actions: &mut Vec<Action>,
    ) {
        let before = self.running.clone();
        for (cpu, &wants) in wanted.iter() {
            if self.running[cpu] != wants {
                self.stop(now, cpu);
            }
        }
        self.running = wanted.clone();
        self.tell(&before, actions);
    }

    /// Appends an action for each CPU whose task changed.
    fn tell(&self, before: &CpuMap<Option<TaskId>>, actions: &mut Vec<Action>) {
        for (cpu, &task) in self.running.iter().filter(|(cpu, task)| before[*cpu] != **task) {
            let job = task.and_then(|task| self.ready[task].as_ref());
            actions.push(match job {
                Some(ready) => Action::Run { cpu, job: ready.id, budget: None },
                None => Action::Idle { cpu },
            });
        }
    }
}
