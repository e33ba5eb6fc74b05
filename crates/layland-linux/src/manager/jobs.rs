//! Jobs: they arrive, use up budgets, and end.

use super::{Asked, BUDGET_GRAIN, LEAST_LOOK, Manager, Status, Thread, Waiting};
use crate::log::Entry;
use crate::worker::ENDLESS;
use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
use layland_policy::{AfterJob, Event};
use std::sync::atomic::Ordering;

impl Manager<'_> {
    pub(super) fn arrive(&mut self, id: TaskId) {
        if self.follows {
            self.arrive_followed(id);
            return;
        }
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
            self.join(id);
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

    fn join(&mut self, id: TaskId) {
        self.tasks[id].status = Status::Idle;
        let request = self.new_request(Asked::Join(id));
        let parameters = self.streams[id].parameters();
        self.log.push(self.now, Entry::Join { task: id, request });
        self.tell(Event::Join { task: id, parameters, request });
    }

    /// The same for a policy that follows arrivals: it is told of every job that has arrived, and then of
    /// the one that is ready, if none was.
    fn arrive_followed(&mut self, id: TaskId) {
        let now = self.now;
        if self.tasks[id].status == Status::Gone {
            self.tasks[id].next_release = Time::NEVER;
            return;
        }
        if self.tasks[id].status == Status::Outside {
            self.join(id);
        }
        let had_waited = !self.tasks[id].waiting.is_empty();
        while self.tasks[id].next_release <= now {
            let task = &mut self.tasks[id];
            let seq = task.job.seq.wrapping_add(1 + task.waiting.len() as u64);
            let (arrival, release) = (task.next_arrival, task.next_release);
            let deadline = arrival + task.deadline;
            let stream = &mut self.streams[id];
            let demand = stream.demand(seq).ns();
            task.set_next(stream.next(seq, arrival));
            task.waiting.push_back(Waiting { arrival, release, deadline, demand });
            let job = JobId { task: id, seq };
            self.measured.release.record((now - release).ns());
            self.log.push(now, Entry::Arrival { job, release, deadline });
            self.tell(Event::Arrival { job, release, deadline });
        }
        let task = &mut self.tasks[id];
        if task.status == Status::Idle
            && let Some(Waiting { arrival, release, deadline, demand }) = task.waiting.pop_front()
        {
            task.status = Status::Ready;
            task.job.seq = task.job.seq.wrapping_add(1);
            let job = task.job;
            (task.release, task.demand) = (release, demand);
            task.begin();
            task.fresh = !had_waited;
            self.log.push(now, Entry::Release { job, release, deadline });
            let demand = Some(Service::from_ns(demand));
            self.log.push(now, Entry::Asked { job, arrival, demand });
            if let Some(markers) = self.markers {
                markers.release(job, arrival, deadline);
            }
            self.tell(Event::Release { job, release, deadline });
        }
        let task = &mut self.tasks[id];
        task.blocked = !task.waiting.is_empty();
    }

    /// Tells the policy what jobs had got when they lost their CPUs, before it decides again; one that was
    /// given another CPU at once has got more meanwhile.
    pub(super) fn tell_lost(&mut self) {
        while let Some((job, used)) = self.lost.pop() {
            let task = &self.tasks[job.task];
            if task.status == Status::Ready && task.job == job {
                let used = if task.want.is_some() { self.used_now(job.task) } else { used };
                self.tell_measured(job, used);
            }
        }
    }

    fn tell_measured(&mut self, job: JobId, used: i64) {
        let executed = Service::from_ns(used);
        self.log.push(self.now, Entry::Measured { job, executed });
        self.tell(Event::Measured { job, executed });
    }

    /// A job has lost its CPU, with this much in all.
    pub(crate) fn note_lost(&mut self, job: JobId, used: i64) {
        if self.follows || self.threads {
            self.lost.push((job, used));
        }
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
        if self.threads {
            self.tell_measured(job, used);
        }
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
        if let (Some(budget), Some(from)) = (run.budget, run.budget_from) {
            let used = self.used_now(id);
            let left = budget.ns() - (used - from);
            if self.threads {
                self.tell_measured(self.tasks[id].job, used);
            }
            if left > BUDGET_GRAIN {
                self.cpus[cpu].budget_end = now + Duration::from_ns(left).max(LEAST_LOOK);
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
