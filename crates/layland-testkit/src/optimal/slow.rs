//! The common parts of the slow twins: the events that they use, their actions, and the placement
//! of chosen tasks.

use layland_model::{CpuId, Index, JobId, TaskId};
use layland_policy::{Action, Event};
use layland_trace::Trace;
use std::collections::BTreeMap;

/// The relevant part of an event for a twin.
pub(super) enum TwinEvent {
    /// A job is ready, with this deadline.
    Released(JobId, i64),
    /// A job has ended.
    Completed(JobId),
    /// The event is irrelevant for the twins.
    Nothing,
}

/// The job that the engine runs on each CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningJobs(BTreeMap<usize, JobId>);

impl RunningJobs {
    /// Records an event.
    ///
    /// # Panics
    /// If the event is a request, which the twins do not support.
    pub(super) fn told(&mut self, event: &Event) -> TwinEvent {
        match *event {
            Event::Release { job, deadline, .. } => TwinEvent::Released(job, deadline.ns()),
            Event::Completion { job, cpu, .. } => {
                self.0.remove(&cpu.index());
                TwinEvent::Completed(job)
            }
            Event::Ended { job } => {
                self.0.retain(|_, shown| *shown != job);
                TwinEvent::Completed(job)
            }
            Event::Join { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. }
            | Event::Timer { .. }
            | Event::CpuOnline { .. } => TwinEvent::Nothing,
            Event::Leave { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::BudgetExhausted { .. }
            | Event::CpuOffline { .. } => panic!("the twin knows no requests"),
        }
    }

    /// Emits the changes on these CPUs.
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

/// Returns the position of a task in the order of ranks.
pub(super) fn seat(order: &[TaskId], task: TaskId) -> usize {
    order.iter().position(|&other| other == task).expect("every task has joined")
}

/// The CPU of a task, and the end and the CPU of its last execution.
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

/// Runs exactly these tasks from now on. A task that goes on keeps its CPU. A free CPU prefers the
/// task that ran on it last. The other tasks take the lowest free CPUs in this order.
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
        // Among the most recent tasks, take the first in the order.
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

/// A job of a trace that a twin schedules again.
pub(super) struct FutureJob {
    pub id: JobId,
    pub release: i64,
    pub deadline: i64,
    pub needs: i64,
}

/// The jobs of a task in a trace, in their order.
pub(super) fn jobs_of(trace: &Trace, task: TaskId) -> Vec<FutureJob> {
    let of_task = trace.jobs.iter().filter(|record| record.job.id.task == task);
    let mut jobs: Vec<FutureJob> = of_task
        .map(|record| FutureJob {
            id: record.job.id,
            release: record.job.release.ns(),
            deadline: record.job.deadline.ns(),
            // A job that did not complete in the trace does not complete in the twin either.
            needs: record.completion().map_or(i64::MAX, |_| record.executed.ns()),
        })
        .collect();
    jobs.sort_by_key(|job| job.id);
    jobs
}
