//! Jobs on threads: reporting their execution times, checking their budgets, and ending them.

use super::carrier::{Carrier, NewJob, NextJob};
use super::{BUDGET_GRAIN, LEAST_LOOK, Manager};
use crate::log::Entry;
use layland_engine::{jobs, rounds};
use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
use layland_policy::{Event, Progress, Schedules};

/// Returns true if a job has received its demand, which is within its limit, but has not reported
/// its end yet.
///
/// The clock of a thread also counts interrupts and the time that a hypervisor took. If that comes
/// between the end of the work and the report, a job that keeps to its bound would look like an
/// overrun, and would be aborted.
fn has_all_of_it(used: i64, demand: i64, limit: i64) -> bool {
    demand <= used && demand <= limit
}

/// The report of a thread about the job that it has ended.
struct EndedJob {
    job: JobId,
    end: Time,
    /// The execution time in total.
    used: i64,
}

impl<C: Carrier> Manager<'_, C> {
    /// Reports to the policy the execution times of jobs that lost their CPUs, before it decides
    /// again. A job that was given another CPU at once has executed more meanwhile.
    pub(super) fn tell_lost(&mut self) {
        while let Some((job, used)) = self.lost.pop() {
            if self.ledger.tasks[job.task].is_ready(job) {
                let moved = self.thread(job.task).want.is_some();
                self.tell_got(job, if moved { self.used_now(job.task) } else { used });
            }
        }
    }

    /// Reports to the policy the execution time of the job on a CPU.
    pub(super) fn tell_progress(&mut self, cpu: CpuId) {
        if let Some(id) = self.cpus[cpu].task
            && self.ledger.tasks[id].is_ready(self.job(id))
        {
            self.tell_got(self.job(id), self.used_now(id));
        }
    }

    fn tell_got(&mut self, job: JobId, used: i64) {
        // The clocks of threads are read after the time of the decision. If the machine pauses in
        // between, a thread is charged for more time than has passed, which a policy must not
        // receive.
        let used = used.min(self.ledger.now.ns());
        rounds::tell(self, Event::Measured { job, executed: Service::from_ns(used) });
    }

    /// Returns the ready job of a task, for its thread.
    pub(super) fn new_job(&self, id: TaskId) -> NewJob {
        let task = &self.ledger.tasks[id];
        NewJob {
            id: task.job.id,
            demand: task.demand,
            deadline_ns: self.absolute_ns(task.job.deadline),
            next: self.next_job(id),
        }
    }

    /// Returns the next job of a task, if the clock releases it and its thread may sleep until
    /// then.
    pub(super) fn next_job(&self, id: TaskId) -> Option<NextJob> {
        let task = &self.ledger.tasks[id];
        let is_to_come = task.waiting.is_empty() && task.next_release > self.ledger.now;
        if task.endless || !is_to_come || task.next_release == Time::NEVER {
            return None;
        }
        let next = task.next_job();
        Some(NextJob {
            at_ns: self.absolute_ns(next.release),
            demand: task.regular.map(|(_, demand)| demand),
            relative_ns: (next.deadline - next.release).ns(),
        })
    }

    /// Records that a job has lost its CPU, with this execution time in total.
    pub(crate) fn note_lost(&mut self, job: JobId, used: i64) {
        match (self.ledger.schedules, self.ledger.progress) {
            (Schedules::ReadyJobs, Progress::Elapsed) => {}
            (Schedules::ArrivingJobs | Schedules::Threads, _) | (_, Progress::Measured) => {
                self.lost.push((job, used));
            }
        }
    }

    /// Completes the job on a CPU, whose thread has reported its end.
    pub(super) fn complete(&mut self, cpu: CpuId, id: TaskId) {
        let EndedJob { job, end, used } = self.take_report(id);
        self.cpus[cpu].leave();
        self.cpus[cpu].free_since = self.cpus[cpu].free_since.max(end);
        self.cpus[cpu].ended_at = Some(end);
        let part = used - self.thread(id).used_on;
        let then = jobs::complete(self, id);
        self.tell_total(job, used);
        rounds::tell(self, Event::Completion { job, cpu, then });
        self.note(Entry::Off { cpu, job, used: Service::from_ns(part), until: end });
        self.note(Entry::Done { job, end, used: Service::from_ns(used) });
    }

    /// Reports to the policy the jobs that have ended without a CPU.
    pub(super) fn tell_over(&mut self) {
        for index in 0..self.over.len() {
            let id = self.over[index];
            let EndedJob { job, end, used } = self.take_report(id);
            // The job is accounted for until it lost its CPU.
            let leaked = used - self.thread(id).used;
            jobs::complete(self, id);
            self.tell_total(job, used);
            rounds::tell(self, Event::Ended { job });
            if leaked > 0 {
                self.note_leak(job, leaked);
            }
            self.note(Entry::Done { job, end, used: Service::from_ns(used) });
        }
        self.over.clear();
    }

    /// Takes the report of the thread of a task, which has ended its job.
    fn take_report(&mut self, id: TaskId) -> EndedJob {
        let now = self.ledger.now;
        self.collect(id);
        let said = self.carrier.report(id);
        let (end, used) = (self.time_of(said.end_ns), said.used);
        let task = &mut self.ledger.tasks[id];
        task.own.want = None;
        self.measured.completion.record((now - end).ns());
        self.measured.got_ns += used;
        self.measured.asked_ns += task.demand;
        EndedJob { job: task.job.id, end, used }
    }

    /// Reports to the policy the total execution time of a job, if the policy accounts for it.
    fn tell_total(&mut self, job: JobId, used: i64) {
        if self.ledger.schedules == Schedules::Threads || self.ledger.progress == Progress::Measured
        {
            self.tell_got(job, used);
        }
    }

    /// Checks the budget of the job on a CPU: it may be exhausted by now, or the CPU has stopped
    /// the job because it is.
    pub(super) fn check_budget(&mut self, cpu: CpuId, id: TaskId, is_stopped: bool) {
        let now = self.ledger.now;
        let job = self.job(id);
        let run = &self.cpus[cpu];
        if let (Some(budget), Some(from)) = (run.budget, run.budget_from) {
            let used = self.used_now(id);
            let left = budget.ns() - (used - from);
            if self.ledger.schedules == Schedules::Threads {
                self.tell_got(job, used);
            }
            let demand = self.ledger.tasks[id].demand;
            let has_all = self.ledger.schedules == Schedules::ArrivingJobs
                && has_all_of_it(used, demand, from + budget.ns());
            if has_all || left > BUDGET_GRAIN && !is_stopped {
                let look = Duration::from_ns(left).max(LEAST_LOOK);
                self.cpus[cpu].budget_end = now + look;
                if is_stopped {
                    // The job needs the CPU to report its end.
                    self.carrier.limit(cpu, None);
                    self.carrier.settle(&mut self.measured);
                }
                return;
            }
        }
        let run = &mut self.cpus[cpu];
        let due = std::mem::replace(&mut run.budget_end, Time::NEVER);
        run.budget = None;
        self.measured.budget.record((now - due).ns());
        if let Some(markers) = self.markers {
            markers.overrun(job);
        }
        rounds::tell(self, Event::BudgetExhausted { job, cpu });
    }
}

#[cfg(test)]
mod tests {
    use super::has_all_of_it;
    use layland_engine::ENDLESS;

    #[test]
    fn who_keeps_to_the_bound_is_not_taken_for_an_overrun() {
        // Its demand is 1000 and its limit 1100; it lost 500 before it could report.
        assert!(has_all_of_it(1_500, 1_000, 1_100));
        // Its demand exceeds its limit, or it still works.
        assert!(!has_all_of_it(1_500, 1_200, 1_100));
        assert!(!has_all_of_it(900, 1_000, 1_100));
        assert!(!has_all_of_it(1_500, ENDLESS, 1_100));
    }
}
