//! Jobs: they arrive, use up budgets, and end.

use super::{Asked, BUDGET_GRAIN, Manager, Status, Thread};
use crate::log::Entry;
use crate::worker::ENDLESS;
use layland_model::{CpuId, Duration, Service, TaskId, Time};
use layland_policy::{AfterJob, Event};
use std::sync::atomic::Ordering;

impl Manager<'_> {
    pub(super) fn arrive(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        if task.status == Status::Ready {
            task.blocked = true;
            return;
        }
        if task.status == Status::Gone {
            task.next_release = Time::NEVER;
            return;
        }
        let now = self.now;
        if task.status == Status::Outside {
            task.status = Status::Idle;
            let request = self.new_request(Asked::Join(id));
            let parameters = self.streams[id].parameters();
            self.log.push(now, Entry::Join { task: id, request });
            self.tell(Event::Join { task: id, parameters, request });
        }
        let task = &mut self.tasks[id];
        let was_blocked = std::mem::replace(&mut task.blocked, false);
        task.status = Status::Ready;
        task.job.seq = task.job.seq.wrapping_add(1);
        let (job, arrival) = (task.job, task.next_arrival);
        task.release = task.next_release;
        let deadline = arrival + task.deadline;
        if task.endless {
            task.demand = ENDLESS;
            task.dated = true;
            task.set_next(None);
        } else {
            let stream = &mut self.streams[id];
            task.demand = stream.demand(job.seq).ns();
            task.set_next(stream.next(job.seq, arrival));
        }
        task.begin();
        task.fresh = !was_blocked;
        let release = task.release;
        if task.next_release <= now {
            // The next one has arrived already, and waits.
            task.blocked = true;
        }
        if !was_blocked {
            self.measured.release.record((now - release).ns());
        }
        let endless = task.endless;
        let demand = (!endless).then(|| Service::from_ns(task.demand));
        self.log.push(now, Entry::Release { job, release, deadline });
        self.log.push(now, Entry::Asked { job, arrival, demand });
        if let Some(markers) = self.markers.filter(|_| !endless) {
            markers.release(job, arrival, deadline);
        }
        self.tell(Event::Release { job, release, deadline });
    }

    /// The job on a CPU has ended, and its thread has reported.
    pub(super) fn complete(&mut self, cpu: CpuId, id: TaskId) {
        let now = self.now;
        self.collect(id);
        let post = self.post(id);
        let end = self.time_of(post.done_ns.load(Ordering::Relaxed));
        let used = post.done_used_ns.load(Ordering::Relaxed);
        self.unpark(id);
        self.cpus[cpu].leave();
        let task = &mut self.tasks[id];
        task.want = None;
        task.thread = Thread::Asleep;
        self.measured.completion.record((now - end).ns());
        self.measured.got_ns += used;
        self.measured.asked_ns += task.demand;
        let (job, part) = (task.job, used - task.used_on);
        let then = self.end_job(id);
        self.log.push(now, Entry::Completion { job, cpu, then });
        self.log.push(now, Entry::Off { cpu, job, used: Service::from_ns(part), until: end });
        self.log.push(now, Entry::Done { job, end, used: Service::from_ns(used) });
        self.tell(Event::Completion { job, cpu, then });
    }

    /// The ready job of a task, which is on no CPU any more, ends.
    pub(super) fn end_job(&mut self, id: TaskId) -> AfterJob {
        let now = self.now;
        let task = &mut self.tasks[id];
        task.status = Status::Idle;
        task.sent = false;
        if !task.blocked {
            let stream = &mut self.streams[id];
            if let Some(arrival) = stream.after_completion(task.job.seq, now) {
                task.set_next(Some(arrival));
            }
        }
        if self.streams[id].yields() {
            AfterJob::Yields
        } else if task.blocked || task.next_release <= now {
            AfterJob::Continues
        } else {
            AfterJob::Blocks
        }
    }

    /// The time has come at which the job on a CPU may have used up its budget.
    pub(super) fn check_budget(&mut self, cpu: CpuId, id: TaskId) {
        let now = self.now;
        let run = &self.cpus[cpu];
        if !self.threads
            && let (Some(budget), Some(from)) = (run.budget, run.budget_from)
        {
            let left = budget.ns() - (self.used_now(id) - from);
            if left > BUDGET_GRAIN {
                self.cpus[cpu].budget_end = now + Duration::from_ns(left);
                return;
            }
        }
        let run = &mut self.cpus[cpu];
        let due = std::mem::replace(&mut run.budget_end, Time::NEVER);
        run.budget = None;
        self.measured.budget.record((now - due).ns());
        let job = self.tasks[id].job;
        self.log.push(now, Entry::Budget { job, cpu });
        if let Some(markers) = self.markers {
            markers.overrun(job);
        }
        self.tell(Event::BudgetExhausted { job, cpu });
    }
}
