//! What the slow twins have in common: what they are told, how they say what runs, and where those go that they chose.

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
            | Event::Step { .. }
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

/// Where a task runs, and where and when it stopped running last.
#[derive(Clone, Debug, Default)]
pub(super) struct Seat {
    pub cpu: Option<usize>,
    last: Option<(i64, usize)>,
}

impl Seat {
    pub(super) fn stop(&mut self, now: i64) {
        self.last = self.cpu.take().map(|cpu| (now, cpu)).or(self.last);
    }
}

/// These tasks run from now on, and no others: who goes on stays, a free CPU prefers who ran on it last, and the others
/// take the lowest free CPUs in this order.
pub(super) fn place<T: AsMut<Seat>>(tasks: &mut [T], chosen: &[usize], now: i64, cpus: usize) {
    let mut seats: Vec<&mut Seat> = tasks.iter_mut().map(AsMut::as_mut).collect();
    for (at, seat) in seats.iter_mut().enumerate() {
        if !chosen.contains(&at) {
            seat.stop(now);
        }
    }
    let used = |seats: &[&mut Seat], cpu: usize| seats.iter().any(|seat| seat.cpu == Some(cpu));
    let free: Vec<usize> = (0..cpus).filter(|&cpu| !used(&seats, cpu)).collect();
    let starts: Vec<usize> = chosen.iter().copied().filter(|&at| seats[at].cpu.is_none()).collect();
    for &cpu in &free {
        let was_here = |at: &&usize| seats[**at].last.is_some_and(|(_, last)| last == cpu);
        // Of the most recent ones the first in the order.
        let preferred = starts.iter().rev().filter(was_here).max_by_key(|&&at| seats[at].last);
        if let Some(&at) = preferred {
            seats[at].cpu = Some(cpu);
        }
    }
    for &at in &starts {
        if seats[at].cpu.is_none() {
            seats[at].cpu = (0..cpus).find(|&cpu| !used(&seats, cpu));
        }
    }
}
