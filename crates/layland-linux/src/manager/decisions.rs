//! Decisions: the policy is asked, and what it says is noted for `enact.rs`.

use super::{Manager, Status};
use crate::log::Entry;
use crate::sys;
use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
use layland_policy::{Action, TimerId};

impl Manager<'_> {
    pub(super) fn decide(&mut self) {
        self.decisions += 1;
        let now = self.now;
        self.tell_lost();
        let mut actions = std::mem::take(&mut self.actions);
        let began = sys::monotonic_ns();
        self.policy.decide(now, &mut actions);
        let cost = sys::monotonic_ns() - began;
        self.measured.decision.record(cost);
        let (count, cost_ns) = (actions.len() as u32, cost.clamp(0, i64::from(u32::MAX)) as u32);
        self.log.push(now, Entry::Decide { actions: count, cost_ns });
        for action in actions.drain(..) {
            self.carry_out(action);
        }
        self.actions = actions;
        self.enact();
        if !self.asked.is_empty() {
            self.grant();
        }
        for task in self.tasks.values_mut() {
            task.fresh &= task.dispatched_ns.is_some();
        }
    }

    pub(super) fn carry_out(&mut self, action: Action) {
        let now = self.now;
        match action {
            Action::Run { cpu, job, budget } => {
                self.log.push(now, Entry::Run { cpu, job, budget });
                self.want_run(cpu, job, budget);
            }
            Action::Idle { cpu } => {
                self.log.push(now, Entry::Idle { cpu });
                self.want_idle(cpu);
            }
            Action::SetTimer { id, at } => {
                self.log.push(now, Entry::SetTimer { id, at });
                self.set_timer(id, at);
            }
            Action::ClearTimer { id } => {
                self.log.push(now, Entry::ClearTimer { id });
                self.set_timer(id, Time::NEVER);
            }
            Action::Abort { job } => {
                self.log.push(now, Entry::Abort { job });
                self.assert_ready(job, "aborts");
                self.drop_job(job.task, true);
            }
            Action::EndJob { job } => {
                self.log.push(now, Entry::EndJob { job });
                self.end_endless(job);
            }
            Action::SetDates { job, release, deadline } => {
                self.log.push(now, Entry::SetDates { job, release, deadline });
                self.tasks[job.task].dated = true;
                if let Some(markers) = self.markers {
                    markers.release(job, release, deadline);
                }
            }
            Action::SetSpeed { cpu, speed } => {
                self.log.push(now, Entry::SetSpeed { cpu, speed });
                self.unsupported.get_or_insert_with(|| {
                    format!("the policy sets the speed of CPU {cpu}, which real CPUs do not offer")
                });
            }
            Action::Note { note } => self.log.push(now, Entry::Note(note)),
            Action::Refuse { request, reason } => self.refuse(request, reason),
        }
    }

    pub(super) fn assert_ready(&self, job: JobId, what: &str) {
        let task = &self.tasks[job.task];
        assert!(
            task.status == Status::Ready && task.job == job,
            "the policy {what} {job:?}, which is not ready"
        );
    }

    pub(super) fn want_run(&mut self, cpu: CpuId, job: JobId, budget: Option<Service>) {
        self.assert_ready(job, "runs");
        assert!(self.cpus[cpu].online, "the policy runs {job:?} on {cpu:?}, which is offline");
        let id = job.task;
        match self.tasks[id].want {
            Some(from) if from == cpu => {}
            from => {
                if let Some(from) = from {
                    self.cpus[from].want = None;
                }
                if let Some(other) = self.cpus[cpu].want.replace(id) {
                    self.tasks[other].want = None;
                }
                self.tasks[id].want = Some(cpu);
            }
        }
        let stays = self.cpus[cpu].task == Some(id);
        let from = (stays && budget.is_some()).then(|| self.used_now(id));
        let run = &mut self.cpus[cpu];
        run.budget = budget;
        run.budget_from = from;
        run.budget_end = budget
            .map_or(Time::NEVER, |budget| self.now.saturating_add(Duration::from_ns(budget.ns())));
    }

    pub(super) fn want_idle(&mut self, cpu: CpuId) {
        let run = &mut self.cpus[cpu];
        run.budget = None;
        run.budget_end = Time::NEVER;
        if let Some(id) = run.want.take() {
            self.tasks[id].want = None;
        }
    }

    pub(super) fn set_timer(&mut self, id: TimerId, at: Time) {
        let index = id.0 as usize;
        if index >= self.timers.len() {
            self.timers.resize(index + 1, Time::NEVER);
        }
        self.timers[index] = at;
    }

    /// The policy cuts the work of a hog: the ready job is over, and the next one is ready.
    pub(super) fn end_endless(&mut self, job: JobId) {
        let now = self.now;
        let id = job.task;
        let task = &self.tasks[id];
        assert!(
            task.endless && task.job == job && task.status != Status::Idle,
            "the policy ends {job:?}, which is not the ready job of a hog"
        );
        let next = JobId { task: id, seq: job.seq + 1 };
        let used = self.used_now(id);
        let on = self.cpus.iter().find(|(_, run)| run.task == Some(id)).map(|(cpu, _)| cpu);
        let task = &mut self.tasks[id];
        if let Some(cpu) = on {
            let part = Service::from_ns(used - task.used_on);
            self.log.push(now, Entry::Off { cpu, job, used: part, until: now });
            task.used_on = used;
            // The next one begins here, unless it has to go by the same decision.
            self.cpus[cpu].began = Some(now);
        }
        self.log.push(now, Entry::Done { job, end: now, used: Service::ZERO });
        if let Some(markers) = self.markers {
            markers.complete(job);
        }
        task.job = next;
        task.dated = false;
    }

    /// Ends the ready job of a task, wherever it is: its thread gives it up.
    pub(super) fn drop_job(&mut self, id: TaskId, aborted: bool) {
        let on = self.cpus.iter().find(|(_, run)| run.task == Some(id)).map(|(cpu, _)| cpu);
        if let Some(cpu) = self.tasks[id].want.take() {
            self.cpus[cpu].want = None;
        }
        self.give_up(id, on);
        let job = self.tasks[id].job;
        self.log.push(self.now, Entry::Dropped { job, aborted });
        if let Some(markers) = self.markers {
            markers.abort(job);
        }
        self.end_job(id);
    }
}
