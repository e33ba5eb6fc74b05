//! Jobs: they arrive, are ready, and end.

use super::state::{ENDLESS, NONE, Status};
use super::{Asked, Engine};
use layland_model::{CpuId, Index, JobId, TaskId, Time};
use layland_policy::{AfterJob, Event, Policy};
use layland_trace::{Job, JobEnd, Mark, MarkKind, Recorder};

impl<P: Policy, R: Recorder> Engine<'_, P, R> {
    /// The next job of a task arrives, or is ready because the one before it has ended.
    #[inline]
    pub(super) fn arrive(&mut self, id: TaskId) {
        if self.follows {
            self.arrive_followed(id);
            return;
        }
        let task = &mut self.tasks[id];
        if task.status == Status::Ready {
            task.blocked = true;
            self.arrivals.clear(task.leaf as usize);
            return;
        }
        if task.status == Status::Outside {
            task.status = Status::Idle;
            self.join(id);
        }
        self.release(id);
    }

    /// The same for a policy that follows arrivals: it is told of every job that has arrived, and then of
    /// the one that is ready, if none was.
    pub(super) fn arrive_followed(&mut self, id: TaskId) {
        let now = self.now;
        if self.tasks[id].status == Status::Outside {
            self.tasks[id].status = Status::Idle;
            self.join(id);
        }
        while self.tasks[id].next_release <= now {
            let task = &mut self.tasks[id];
            let seq = task.job.id.seq.wrapping_add(1 + task.waiting.len() as u64);
            let job = Job {
                id: JobId { task: id, seq },
                arrival: task.next_arrival,
                release: task.next_release,
                deadline: task.next_arrival + task.deadline,
            };
            let demand = if let Some((period, demand)) = task.regular {
                task.next_arrival += period;
                task.next_release = task.next_arrival;
                demand
            } else {
                let stream = &mut self.streams[id];
                let demand = self.grains.from(stream.demand(seq));
                task.set_next(stream.next(seq, job.arrival));
                demand
            };
            task.waiting.push_back((job, demand));
            let Job { release, deadline, .. } = job;
            self.tell(Event::Arrival { job: job.id, release, deadline });
        }
        let task = &mut self.tasks[id];
        self.arrivals.set(task.leaf as usize, task.next_release);
        if task.status == Status::Idle
            && let Some((job, demand)) = task.waiting.pop_front()
        {
            task.status = Status::Ready;
            task.last_cpu = NONE;
            task.job = job;
            (task.demand, task.remaining) = (demand, demand);
            self.recorder.released(&job);
            self.tell(Event::Release { job: job.id, release: job.release, deadline: job.deadline });
            if self.costs.is_some() {
                self.pay_release(id);
            }
        }
        let task = &mut self.tasks[id];
        task.blocked = !task.waiting.is_empty();
    }

    #[cold]
    pub(super) fn join(&mut self, id: TaskId) {
        let request = self.new_request(Asked::Join(id));
        let parameters = self.streams[id].parameters();
        self.tell(Event::Join { task: id, parameters, request });
    }

    #[inline]
    pub(super) fn release(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        task.status = Status::Ready;
        task.blocked = false;
        task.last_cpu = NONE;
        task.job.id.seq = task.job.id.seq.wrapping_add(1);
        task.job.arrival = task.next_arrival;
        task.job.release = task.next_release;
        task.job.deadline = task.next_arrival + task.deadline;
        let job = task.job;
        if let Some((period, demand)) = task.regular {
            task.demand = demand;
            task.next_arrival += period;
            task.next_release = task.next_arrival;
        } else if task.endless {
            task.demand = ENDLESS;
            task.dated = true;
            task.set_next(None);
        } else {
            let stream = &mut self.streams[id];
            task.demand = self.grains.from(stream.demand(job.id.seq));
            task.set_next(stream.next(job.id.seq, job.arrival));
        }
        task.remaining = task.demand;
        // A job that has arrived already is noticed within this instant, and waits.
        let key = task.next_release.max(self.now);
        self.arrivals.set(task.leaf as usize, key);
        self.recorder.released(&job);
        self.tell(Event::Release { job: job.id, release: job.release, deadline: job.deadline });
        if self.costs.is_some() {
            self.pay_release(id);
        }
    }

    /// A job has got all its work, or used up its budget.
    #[inline]
    pub(super) fn end_on(&mut self, cpu: CpuId) {
        self.charge(cpu);
        let id = TaskId(self.cpus[cpu].task);
        self.cpus[cpu].entered_at = self.now;
        let job = self.tasks[id].job;
        if self.tasks[id].remaining > 0 {
            self.cpus[cpu].budget_end = Time::NEVER;
            self.schedule_end(cpu);
            self.recorder
                .marked(&Mark { at: self.now, kind: MarkKind::BudgetExhausted(job.id, cpu) });
            self.tell(Event::BudgetExhausted { job: job.id, cpu });
            return;
        }
        self.cpus[cpu].task = NONE;
        self.ends.clear(cpu.index());
        self.mark_dirty(cpu);
        let then = self.end_job(id, JobEnd::Completed);
        self.tell(Event::Completion { job: job.id, cpu, then });
    }

    /// The ready job of a task, which is on no CPU any more, ends.
    #[inline]
    pub(super) fn end_job(&mut self, id: TaskId, end: JobEnd) -> AfterJob {
        let now = self.now;
        let task = &mut self.tasks[id];
        task.status = Status::Idle;
        task.cpu = NONE;
        let executed = self.grains.to_service(task.demand - task.remaining.max(0));
        let job = task.job;
        self.recorder.ended(&job, now, end, executed);
        let task = &mut self.tasks[id];
        if task.blocked {
            self.arrivals.set(task.leaf as usize, now);
        } else if task.regular.is_none() {
            let stream = &mut self.streams[id];
            if let Some(arrival) = stream.after_completion(job.id.seq, now) {
                task.set_next(Some(arrival));
                self.arrivals.set(task.leaf as usize, task.next_release);
            }
            if stream.yields() {
                return AfterJob::Yields;
            }
        }
        if task.blocked || task.next_release <= now {
            AfterJob::Continues
        } else {
            AfterJob::Blocks
        }
    }
}
