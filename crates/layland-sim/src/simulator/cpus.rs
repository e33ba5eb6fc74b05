//! CPUs: their current jobs, the ends of these, and the segments that record them.

use super::Simulator;
use super::state::NONE;
use layland_engine::programs::Programs;
use layland_model::{CpuId, Duration, Index, JobId, TaskId, Time};
use layland_policy::Policy;
use layland_trace::{Recorder, Segment};

impl<P: Policy, R: Recorder, G: Programs> Simulator<'_, P, R, G> {
    /// Accounts for the progress of the job on a CPU since the last accounting.
    #[inline]
    pub(super) fn charge(&mut self, cpu: CpuId) {
        let run = &mut self.cpus[cpu];
        if run.task != NONE {
            run.charge(self.ledger.now, &mut self.ledger.tasks[TaskId(run.task)].own);
        }
    }

    /// Schedules the next end on a CPU, of its job or of its budget.
    #[inline]
    pub(super) fn schedule_end(&mut self, cpu: CpuId) {
        let run = &self.cpus[cpu];
        let end = run.end(&self.ledger.tasks[TaskId(run.task)].own);
        self.ends.set(cpu.index(), end);
    }

    /// Takes the job off a CPU, which then runs nothing. The job stays ready.
    #[inline]
    pub(super) fn detach(&mut self, cpu: CpuId) {
        if self.unload(cpu) {
            self.ends.clear(cpu.index());
            self.dirty.mark(cpu);
        }
    }

    /// Takes the job off a CPU that another job takes at once, so the agenda and the segments need
    /// no update here. Returns true if the CPU ran a job.
    #[inline]
    fn unload(&mut self, cpu: CpuId) -> bool {
        let run = &mut self.cpus[cpu];
        if run.task == NONE {
            return false;
        }
        let task = TaskId(run.task);
        let own = &mut self.ledger.tasks[task].own;
        run.charge(self.ledger.now, own);
        own.cpu = NONE;
        run.task = NONE;
        if self.caches.is_some() {
            self.stop_reload(cpu, task);
        }
        true
    }

    #[inline]
    pub(super) fn run_job(&mut self, cpu: CpuId, job: JobId, budget: Option<Duration>) {
        let now = self.ledger.now;
        let budget_end = budget.map_or(Time::NEVER, |budget| now.saturating_add(budget));
        let from = self.ledger.tasks[job.task].own.cpu;
        // The job stays on its CPU, and only its budget changes.
        if from == cpu.0 {
            self.charge(cpu);
            self.cpus[cpu].budget_end = budget_end;
            self.schedule_end(cpu);
            return;
        }
        if from != NONE {
            self.detach(CpuId(from));
        }
        self.unload(cpu);
        if self.costs.is_some() {
            self.pay_dispatch(cpu, job);
        }
        let (run, own) = (&mut self.cpus[cpu], &mut self.ledger.tasks[job.task].own);
        own.cpu = cpu.0;
        run.task = job.task.0;
        run.budget_end = budget_end;
        run.progress_from = self.ledger.now.max(run.busy_until);
        let end = run.end(own);
        self.ends.set(cpu.index(), end);
        self.dirty.mark(cpu);
    }

    /// Updates the segments to the jobs on the CPUs at the end of an instant.
    #[inline]
    pub(super) fn show(&mut self) {
        while let Some(cpu) = self.dirty.take_lowest() {
            self.show_on(cpu);
        }
    }

    /// Updates the segments at the end of a run. A separate call keeps a single copy in the code
    /// that runs at every instant.
    #[cold]
    #[inline(never)]
    pub(super) fn show_last(&mut self) {
        self.show();
    }

    #[inline(always)]
    fn show_on(&mut self, cpu: CpuId) {
        let (run, now) = (&mut self.cpus[cpu], self.ledger.now);
        let (task, shown) = (run.task, run.shown);
        let seq = if task == NONE { 0 } else { self.ledger.tasks[TaskId(task)].job.id.seq };
        if (task, seq) == (shown, run.shown_seq) {
            return;
        }
        let (job, start) = (JobId { task: TaskId(shown), seq: run.shown_seq }, run.segment_start);
        let overhead = (now - start) - run.segment_progress;
        (run.shown, run.shown_seq) = (task, seq);
        run.segment_start = now;
        run.segment_progress = Duration::ZERO;
        if shown != NONE && now > start {
            let owner = &mut self.ledger.tasks[job.task];
            // The next job of the task may have been released since, and has no last CPU yet.
            if owner.job.id.seq == job.seq {
                owner.own.last_cpu = cpu.0;
            }
            self.recorder.executed(&Segment { job, cpu, start, end: now, overhead });
        }
    }
}
