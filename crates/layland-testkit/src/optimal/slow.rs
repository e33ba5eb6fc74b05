//! What the slow twins have in common: what they are told, and how they say what runs.

use layland_model::{CpuId, Index, JobId, TaskId};
use layland_policy::{Action, Event};
use std::collections::BTreeMap;

/// What a twin looks at of an event.
pub(super) enum Told {
    /// A job is ready, and due then.
    Released(JobId, i64),
    /// A job has ended.
    Completed(JobId),
    /// Nothing that matters to it.
    Nothing,
}

/// What the engine was told to run, by CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown(BTreeMap<usize, JobId>);

impl Shown {
    /// Takes note of an event.
    ///
    /// # Panics
    /// If it is a request: the twins know none.
    pub(super) fn told(&mut self, event: &Event) -> Told {
        match *event {
            Event::Release { job, deadline, .. } => Told::Released(job, deadline.ns()),
            Event::Completion { job, cpu, .. } => {
                self.0.remove(&cpu.index());
                Told::Completed(job)
            }
            Event::Ended { job } => {
                self.0.retain(|_, shown| *shown != job);
                Told::Completed(job)
            }
            Event::Join { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Timer { .. }
            | Event::CpuOnline { .. } => Told::Nothing,
            Event::Leave { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::BudgetExhausted { .. }
            | Event::CpuOffline { .. } => panic!("the twin knows no requests"),
        }
    }

    /// Says what changes on these CPUs.
    pub(super) fn show(
        &mut self,
        cpus: usize,
        job_on: impl Fn(usize) -> Option<JobId>,
        actions: &mut Vec<Action>,
    ) {
        for cpu in 0..cpus {
            let job = job_on(cpu);
            if job == self.0.get(&cpu).copied() {
                continue;
            }
            let id = CpuId::from_index(cpu);
            actions.push(match job {
                Some(job) => {
                    self.0.insert(cpu, job);
                    Action::Run { cpu: id, job, budget: None }
                }
                None => {
                    self.0.remove(&cpu);
                    Action::Idle { cpu: id }
                }
            });
        }
    }
}

/// The place of a task in the order of ranks.
pub(super) fn seat(order: &[TaskId], task: TaskId) -> usize {
    order.iter().position(|&other| other == task).expect("every task has joined")
}
