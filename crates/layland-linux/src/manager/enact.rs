//! The enactment of decisions: it turns the actions of the policy into calls of the [`Carrier`].
//!
//! The changes of a decision are the difference between the present and the new jobs of the CPUs,
//! so intermediate steps of a decision do not count. First every thread that must leave its CPU is
//! lowered, then every CPU gets its new job: a job is never on two CPUs. The execution times of the
//! threads that left are read and recorded afterwards, so that a CPU waits for nothing except its
//! thread.

use crate::log::Entry;
use crate::manager::Manager;
use crate::manager::carrier::{Carrier, Grant, Noticed, There};
use layland_model::{CpuId, Index, JobId, Service, TaskId};

impl<C: Carrier> Manager<'_, C> {
    /// Returns the present execution time of the ready job of a task.
    pub fn used_now(&self, id: TaskId) -> i64 {
        self.carrier.used(id, self.thread(id).used)
    }

    /// Gives the CPUs the jobs that they are to run.
    pub fn bring_to_cpus(&mut self) {
        let began = self.carrier.clock_ns();
        let mut changed = false;
        for index in 0..self.cpus.len() {
            let cpu = CpuId::from_index(index);
            if self.cpus[cpu].task.is_some() && self.cpus[cpu].task != self.cpus[cpu].want {
                self.lower(cpu);
                changed = true;
            }
        }
        for index in 0..self.cpus.len() {
            let cpu = CpuId::from_index(index);
            if let Some(id) = self.cpus[cpu].want
                && self.cpus[cpu].task.is_none()
            {
                self.occupy(cpu, id);
                changed = true;
            }
        }
        self.limit();
        if self.are_self_releasing
            && let Some(order) = self.ledger.policy.fixed_order()
        {
            self.carrier.arrange(order);
        }
        self.carrier.settle(&mut self.measured);
        for index in 0..self.cpus.len() {
            let cpu = CpuId::from_index(index);
            self.account(cpu);
            self.note_start(cpu);
        }
        // A CPU may also have become idle because its job ended.
        for index in 0..self.cpus.len() {
            let cpu = CpuId::from_index(index);
            if self.cpus[cpu].task.is_none() {
                changed |= self.carrier.clear(cpu, &mut self.measured);
                if self.note_busy(cpu, false)
                    && let Some(markers) = self.markers
                {
                    markers.decision(cpu, None);
                }
            }
        }
        if changed {
            self.measured.enact.record(self.carrier.clock_ns() - began);
        }
    }

    /// Passes the remaining budgets of the jobs on CPUs to the carrier.
    fn limit(&mut self) {
        for (cpu, run) in self.cpus.iter() {
            let grant = run.task.and(run.budget).zip(run.budget_from);
            let grant = grant.map(|(budget, from)| Grant { from, amount: budget.ns() });
            self.carrier.limit(cpu, grant);
        }
    }

    /// Records that a CPU is busy or idle. Returns true if that is a change.
    fn note_busy(&mut self, cpu: CpuId, busy: bool) -> bool {
        let now = self.ledger.now;
        let run = &mut self.cpus[cpu];
        if busy {
            let is_news = run.busy_since.is_none();
            run.busy_since.get_or_insert(now);
            return is_news;
        }
        let since = run.busy_since.take();
        if let Some(since) = since {
            self.measured.busy.record((now - since).ns());
        }
        since.is_some()
    }

    /// Takes the job off a CPU. The job stays ready.
    pub fn take_off(&mut self, cpu: CpuId) {
        self.lower(cpu);
        self.carrier.settle(&mut self.measured);
        self.account(cpu);
    }

    /// Takes the thread off a CPU. Its execution time is still to be accounted for.
    fn lower(&mut self, cpu: CpuId) {
        let Some(id) = self.cpus[cpu].task.take() else { return };
        let left = self.carrier.lower(id, &mut self.measured);
        if self.thread(id).want.is_none() && self.cpus[cpu].want.is_none() {
            self.carrier.clear(cpu, &mut self.measured);
        }
        let until = left.map_or_else(|| self.clock(), |left| self.time_of(left));
        let until = until.max(self.cpus[cpu].since);
        self.cpus[cpu].began = None;
        self.cpus[cpu].left = Some((id, until));
        self.cpus[cpu].free_since = until;
        self.cpus[cpu].ended_at = None;
        self.thread_mut(id).off = until;
    }

    /// Accounts for the thread that left a CPU.
    fn account(&mut self, cpu: CpuId) {
        let Some((id, mut until)) = self.cpus[cpu].left.take() else { return };
        let used = self.used_now(id);
        if self.is_done(id) {
            self.measured.held += 1;
            until = until.min(self.time_of(self.carrier.report(id).end_ns));
        }
        self.collect(id);
        let (job, task) = (self.job(id), self.thread_mut(id));
        let part = used - task.used_on;
        task.used = used;
        self.note_lost(job, used);
        // At the lowest priority, the thread may have executed until its clock was read.
        let leaked = part - (until - self.cpus[cpu].since).ns();
        if leaked > 0 {
            self.note_leak(job, leaked);
        }
        self.note(Entry::Off { cpu, job, used: Service::from_ns(part), until });
    }

    /// Records that a CPU was given a job.
    fn note_start(&mut self, cpu: CpuId) {
        let Some(since) = self.cpus[cpu].began.take() else { return };
        let Some(id) = self.cpus[cpu].task else { return };
        let job = self.job(id);
        self.cpus[cpu].since = since;
        self.note_busy(cpu, true);
        self.note(Entry::On { cpu, job, since });
        if let Some(markers) = self.markers {
            markers.decision(cpu, Some(job));
        }
    }

    /// Gives a job to a CPU that runs nothing.
    fn occupy(&mut self, cpu: CpuId, id: TaskId) {
        let left = self.cpus.iter().find(|(_, run)| run.is_left_by(id)).map(|(from, _)| from);
        if let Some(from) = left {
            self.account(from);
        }
        let mut began = self.carrier.clock_ns();
        let done = self.is_done(id);
        let mut used = self.used_now(id);
        if !done && let Some(there) = self.carrier.raise(id, cpu, &mut self.measured) {
            // The thread executed on this CPU since `since_ns`, and that counts against this
            // budget. Two parts are already accounted for and must not count twice: the time until
            // the thread itself was last lowered, if it was to leave and stays; and the time until
            // the CPU's previous thread was lowered.
            let There { since_ns, used: before } = there;
            let free = self.cpus[cpu].free_since.max(self.thread(id).off);
            let since = since_ns.max(self.absolute_ns(free)).min(began);
            used = before + (since - since_ns).max(0);
            began = since;
        }
        let ended = self.cpus[cpu].ended_at.take();
        let given = self.time_of(began);
        let run = &mut self.ledger.tasks[id];
        let (job, task) = (run.job.id, &mut run.own);
        task.follows = ended.filter(|&end| run.job.release < end).map(|end| given - end);
        let leaked = used - task.used;
        task.used_on = if done { task.used } else { used.max(task.used) };
        let used_on = task.used_on;
        self.cpus[cpu].task = Some(id);
        self.cpus[cpu].start_budget(used_on);
        self.cpus[cpu].began = Some(given);
        if leaked > 0 {
            self.note_leak(job, leaked);
        }
    }

    /// Records the execution of a job while it had no CPU.
    pub fn note_leak(&mut self, job: JobId, leaked_ns: i64) {
        self.measured.leaked_ns += leaked_ns;
        self.note(Entry::Leaked { job, got: Service::from_ns(leaked_ns) });
    }

    /// Aborts the job of a task, which may be on a CPU.
    pub fn give_up(&mut self, id: TaskId, on: Option<CpuId>) {
        if let Some(cpu) = on {
            self.take_off(cpu);
            self.cpus[cpu].leave();
        }
        self.carrier.give_up(id);
    }

    /// Measures the last dispatch of a task, if its thread has noticed it.
    pub fn collect(&mut self, id: TaskId) {
        let Some(Noticed { latency_ns, migrated, started_ns }) = self.carrier.notice(id) else {
            return;
        };
        if migrated {
            self.measured.migration.record(latency_ns);
        } else {
            self.measured.switch.record(latency_ns);
        }
        if let Some(until_given) = self.thread_mut(id).follows.take() {
            self.measured.end_to_next.record(until_given.ns() + latency_ns);
        }
        let fresh = std::mem::take(&mut self.thread_mut(id).fresh);
        if let (true, Some(started)) = (fresh, started_ns) {
            let release = self.ledger.tasks[id].job.release;
            let latency = self.time_of(started) - release;
            self.measured.dispatch.record(latency.ns());
        }
    }
}
