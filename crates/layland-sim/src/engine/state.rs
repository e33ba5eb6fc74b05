//! What the loop keeps of each task and of each CPU.

use crate::grains::Grains;
use layland_engine::streams::{Arrival, Stream};
use layland_model::{Behaviour, Duration, ExecutionModel, JobId, Task, TaskId, Time};
use layland_trace::Job;
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) const NONE: u32 = u32::MAX;

/// The demand of a job that does not end by itself, in grains.
pub(super) const ENDLESS: i64 = 1 << 61;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It has not asked to enter yet.
    Outside,
    /// It has no ready job.
    Idle,
    /// It has a ready job.
    Ready,
    /// It has left, or was refused.
    Gone,
}

/// What the loop needs of a task at every job.
#[derive(Clone, Debug)]
pub(super) struct TaskRun {
    pub(super) status: Status,
    /// Whether the next job has arrived and waits for this one to end.
    pub(super) blocked: bool,
    /// The CPU that runs the ready job, or [`NONE`].
    pub(super) cpu: u32,
    /// Its leaf among the arrivals: its place in the order of ranks.
    pub(super) leaf: u32,
    /// The ready job, or the last one.
    pub(super) job: Job,
    /// What the ready job needs in all, and still, in grains.
    pub(super) demand: i64,
    pub(super) remaining: i64,
    /// The job after it.
    pub(super) next_arrival: Time,
    pub(super) next_release: Time,
    pub(super) deadline: Duration,
    /// Where arrivals and demands are the same for every job: the period and the demand.
    pub(super) regular: Option<(Duration, i64)>,
    /// The CPU that the ready job ran on last, or [`NONE`].
    pub(super) last_cpu: u32,
    /// Whether it is a hog whose thread the policy schedules: one job without an end, which the
    /// policy cuts into jobs; and whether the part that is ready has dates yet.
    pub(super) endless: bool,
    pub(super) dated: bool,
    /// The jobs that have arrived and wait for this one to end, with what they need in grains: only where
    /// the policy follows arrivals.
    pub(super) waiting: VecDeque<(Job, i64)>,
}

#[derive(Clone, Debug)]
pub(super) struct CpuRun {
    /// The task whose job it runs, or [`NONE`].
    pub(super) task: u32,
    /// Grains per nanosecond.
    pub(super) per_ns: i64,
    /// The job makes progress from here on; before, the CPU is busy with overheads.
    pub(super) progress_from: Time,
    /// When the budget that the policy granted ends, [`Time::NEVER`] if it is unlimited.
    pub(super) budget_end: Time,
    /// The job whose segment is open: task (or [`NONE`]) and sequence number.
    pub(super) shown: u32,
    pub(super) shown_seq: u64,
    pub(super) segment_start: Time,
    /// How long the job of the open segment has made progress in it.
    pub(super) segment_progress: Duration,
    /// Whether what it runs may differ from what its open segment shows.
    pub(super) dirty: bool,
    pub(super) online: bool,
    /// For overheads: the end of the work of the kernel, the job loaded last, and the last time
    /// that the CPU itself had reason to schedule.
    pub(super) busy_until: Time,
    pub(super) loaded: Option<JobId>,
    pub(super) entered_at: Time,
}

impl TaskRun {
    pub(super) fn new(id: TaskId, task: &Task, grains: Grains, stream: &mut Stream) -> Self {
        let never = Time::NEVER;
        let job = Job {
            // The first release makes this 0.
            id: JobId { task: id, seq: u64::MAX },
            arrival: never,
            release: never,
            deadline: never,
        };
        let mut run = Self {
            status: Status::Outside,
            blocked: false,
            cpu: NONE,
            leaf: 0,
            job,
            demand: 0,
            remaining: 0,
            next_arrival: never,
            next_release: never,
            deadline: task.deadline,
            regular: regular(task, grains, stream),
            last_cpu: NONE,
            endless: false,
            dated: false,
            waiting: VecDeque::new(),
        };
        run.set_next(stream.first());
        run
    }

    pub(super) fn set_next(&mut self, arrival: Option<Arrival>) {
        (self.next_arrival, self.next_release) =
            arrival.map_or((Time::NEVER, Time::NEVER), |arrival| (arrival.at, arrival.release));
    }

    /// Other parameters from the next job on, whose arrival stands.
    pub(super) fn reconfigure(&mut self, task: &Task, grains: Grains, stream: &mut Stream) {
        stream.reconfigure(Arc::new(task.clone()));
        self.deadline = task.deadline;
        self.regular = if self.endless { None } else { regular(task, grains, stream) };
    }
}

/// The period and the demand in grains of a task all of whose jobs are alike and unlimited.
fn regular(task: &Task, grains: Grains, stream: &mut Stream) -> Option<(Duration, i64)> {
    let regular_arrivals = match task.behaviour {
        Behaviour::Periodic | Behaviour::Hog => {
            task.jitter == Duration::ZERO && task.jobs.is_none()
        }
        Behaviour::Yield
        | Behaviour::Sporadic(_)
        | Behaviour::Explicit(_)
        | Behaviour::SelfSuspending { .. } => false,
    };
    let regular_demand = match task.execution {
        ExecutionModel::Wcet | ExecutionModel::Level(_) | ExecutionModel::Fraction(_) => true,
        ExecutionModel::Uniform { .. } | ExecutionModel::Discrete(_) | ExecutionModel::List(_) => {
            false
        }
    };
    (regular_arrivals && regular_demand).then(|| (task.period, grains.from(stream.demand(0))))
}

impl CpuRun {
    pub(super) fn new(per_ns: i64) -> Self {
        Self {
            task: NONE,
            per_ns,
            progress_from: Time::ZERO,
            budget_end: Time::NEVER,
            shown: NONE,
            shown_seq: 0,
            segment_start: Time::ZERO,
            segment_progress: Duration::ZERO,
            dirty: false,
            online: false,
            busy_until: Time::ZERO,
            loaded: None,
            entered_at: Time::NEVER,
        }
    }
}
