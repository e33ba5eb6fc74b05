//! Decisions: the policy is asked, and what it says is carried out.

use super::Engine;
use super::state::{ENDLESS, NONE, Status};
use layland_model::{CpuId, JobId, Speed, TaskId, Time};
use layland_policy::{Action, Note, Policy};
use layland_trace::{JobEnd, Mark, MarkKind, Recorder};

impl<P: Policy, R: Recorder> Engine<'_, P, R> {
    #[inline]
    pub(super) fn decide(&mut self) {
        self.decisions += 1;
        let mut actions = std::mem::take(&mut self.actions);
        self.policy.decide(self.now, &mut actions);
        for action in actions.drain(..) {
            match action {
                Action::Run { cpu, job, budget } => self.run_job(cpu, job, budget),
                Action::Idle { cpu } => self.detach(cpu),
                Action::SetTimer { id, at } => {
                    self.timers.grow(id.0 as usize + 1);
                    self.timers.set(id.0 as usize, at.max(self.now));
                }
                Action::ClearTimer { id } => {
                    self.timers.grow(id.0 as usize + 1);
                    self.timers.clear(id.0 as usize);
                }
                Action::Abort { job } => self.abort(job),
                Action::EndJob { job } => self.end_endless(job),
                Action::SetDates { job, release, deadline } => {
                    self.set_dates(job, release, deadline);
                }
                Action::SetSpeed { cpu, speed } => self.set_speed(cpu, speed),
                Action::Note { note } => self.note(note),
                Action::Refuse { request, reason } => self.refuse(request, reason),
            }
        }
        self.actions = actions;
        if !self.asked.is_empty() {
            self.grant();
        }
    }

    #[cold]
    pub(super) fn abort(&mut self, job: JobId) {
        let task = &self.tasks[job.task];
        assert!(
            task.status == Status::Ready && task.job.id == job,
            "the policy aborts {job:?}, which is not ready"
        );
        self.stop(job.task, JobEnd::Aborted);
    }

    /// The policy cuts the work of a hog: the ready job is over, and the next one is ready.
    pub(super) fn end_endless(&mut self, job: JobId) {
        let task = &self.tasks[job.task];
        assert!(
            task.endless && task.job.id == job && task.status != Status::Idle,
            "the policy ends {job:?}, which is not the ready job of a hog"
        );
        let cpu = CpuId(task.cpu);
        if cpu.0 != NONE {
            self.charge(cpu);
            self.mark_dirty(cpu);
        }
        let task = &mut self.tasks[job.task];
        let executed = self.grains.to_service(task.demand - task.remaining);
        self.recorder.ended(&task.job, self.now, JobEnd::Completed, executed);
        task.job.id.seq += 1;
        (task.demand, task.remaining) = (ENDLESS, ENDLESS);
        task.last_cpu = NONE;
        task.dated = false;
    }

    /// A hog has left, after the decision of that instant.
    pub(super) fn left(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        if task.endless && std::mem::take(&mut task.dated) {
            let executed = self.grains.to_service(task.demand - task.remaining);
            self.recorder.ended(&task.job, self.now, JobEnd::Left, executed);
        }
    }

    pub(super) fn set_dates(&mut self, job: JobId, release: Time, deadline: Time) {
        let task = &mut self.tasks[job.task];
        assert!(
            task.status == Status::Ready && task.job.id == job,
            "the policy dates {job:?}, which is not ready"
        );
        task.job.deadline = deadline;
        if task.endless {
            (task.job.arrival, task.job.release) = (release, release);
            if !std::mem::replace(&mut task.dated, true) {
                self.recorder.released(&task.job);
            }
        }
    }

    #[cold]
    pub(super) fn set_speed(&mut self, cpu: CpuId, speed: Speed) {
        self.charge(cpu);
        let factor = self.grains.refine(speed);
        if factor > 1 {
            self.system.platform.cpus().for_each(|other| self.charge(other));
            self.rescale(factor);
        }
        self.cpus[cpu].per_ns = self.grains.per_ns(speed);
        if self.cpus[cpu].task != NONE {
            self.schedule_end(cpu);
        }
        self.recorder.marked(&Mark { at: self.now, kind: MarkKind::Speed(cpu, speed) });
    }

    /// Every grain becomes `factor` grains.
    pub(super) fn rescale(&mut self, factor: i64) {
        for cpu in self.cpus.values_mut() {
            cpu.per_ns *= factor;
        }
        for task in self.tasks.values_mut() {
            if task.endless {
                task.remaining = task.demand - (task.demand - task.remaining) * factor;
                continue;
            }
            let scale = |grains: i64| {
                grains.checked_mul(factor).expect("execution times fit the speeds of the policy")
            };
            (task.demand, task.remaining) = (scale(task.demand), scale(task.remaining));
            task.waiting.iter_mut().for_each(|(_, demand)| *demand = scale(*demand));
            task.regular = task.regular.map(|(period, demand)| (period, scale(demand)));
        }
    }

    pub(super) fn note(&mut self, note: Note) {
        self.recorder.marked(&Mark { at: self.now, kind: MarkKind::Note(note) });
    }

    /// Ends the ready job of a task, wherever it is.
    pub(super) fn stop(&mut self, id: TaskId, end: JobEnd) {
        let cpu = self.tasks[id].cpu;
        if cpu != NONE {
            self.detach(CpuId(cpu));
        }
        self.end_job(id, end);
    }
}
