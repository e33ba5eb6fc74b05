//! CPUs: what they run, for how long it lasts, and the segments that show it.

use super::Simulator;
use super::state::NONE;
use layland_engine::programs::Programs;
use layland_model::{CpuId, Duration, Index, JobId, Service, TaskId, Time};
use layland_policy::Policy;
use layland_trace::{Recorder, Segment};

impl<P: Policy, R: Recorder, G: Programs> Simulator<'_, P, R, G> {
    /// Accounts for what the job on a CPU did since it was last accounted for.
    #[inline]
    pub(super) fn charge(&mut self, cpu: CpuId) {
        let cpu = &mut self.cpus[cpu];
        if cpu.task == NONE || self.ledger.now <= cpu.progress_from {
            return;
        }
        let length = self.ledger.now - cpu.progress_from;
        let done = length.ns() * cpu.per_ns;
        cpu.progress_from = self.ledger.now;
        cpu.segment_progress += length;
        self.ledger.tasks[TaskId(cpu.task)].own.remaining -= done;
    }

    /// Puts the next end on a CPU, of its job or of its budget, among the events.
    #[inline]
    pub(super) fn schedule_end(&mut self, cpu: CpuId) {
        let run = &self.cpus[cpu];
        let left = self.ledger.tasks[TaskId(run.task)].own.remaining.max(0);
        let length = if run.per_ns == 1 { left } else { (left + run.per_ns - 1) / run.per_ns };
        let end = run.progress_from + Duration::from_ns(length);
        self.ends.set(cpu.index(), end.min(run.budget_end));
    }

    /// Takes the job off a CPU, which then runs nothing. The job stays ready.
    #[inline]
    pub(super) fn detach(&mut self, cpu: CpuId) {
        self.charge(cpu);
        let task = std::mem::replace(&mut self.cpus[cpu].task, NONE);
        if task != NONE {
            self.ledger.tasks[TaskId(task)].own.cpu = NONE;
            self.ends.clear(cpu.index());
            self.mark_dirty(cpu);
        }
    }

    #[inline]
    pub(super) fn mark_dirty(&mut self, cpu: CpuId) {
        if !self.cpus[cpu].dirty {
            self.cpus[cpu].dirty = true;
            self.dirty.push(cpu);
        }
    }

    #[inline]
    pub(super) fn run_job(&mut self, cpu: CpuId, job: JobId, budget: Option<Service>) {
        let per_ns = self.cpus[cpu].per_ns;
        let budget_end = budget.map_or(Time::NEVER, |budget| {
            let grains = self.grains.from(budget);
            let length = if per_ns == 1 { grains } else { (grains + per_ns - 1) / per_ns };
            self.ledger.now.saturating_add(Duration::from_ns(length))
        });
        let from = self.ledger.tasks[job.task].own.cpu;
        if from == cpu.0 {
            self.charge(cpu);
            self.cpus[cpu].budget_end = budget_end;
            self.schedule_end(cpu);
            return;
        }
        if from != NONE {
            self.detach(CpuId(from));
        }
        if self.cpus[cpu].task != NONE {
            self.detach(cpu);
        }
        if self.costs.is_some() {
            self.pay_dispatch(cpu, job);
        }
        self.ledger.tasks[job.task].own.cpu = cpu.0;
        let run = &mut self.cpus[cpu];
        run.task = job.task.0;
        run.budget_end = budget_end;
        run.progress_from = self.ledger.now.max(run.busy_until);
        self.schedule_end(cpu);
        self.mark_dirty(cpu);
    }

    /// Ends the open segment of a CPU now.
    #[inline]
    pub(super) fn close_segment(&mut self, cpu: CpuId) {
        let run = &mut self.cpus[cpu];
        let task = std::mem::replace(&mut run.shown, NONE);
        if task != NONE && self.ledger.now > run.segment_start {
            let job = JobId { task: TaskId(task), seq: run.shown_seq };
            let overhead = (self.ledger.now - run.segment_start) - run.segment_progress;
            let owner = &mut self.ledger.tasks[job.task];
            if owner.job.id.seq == job.seq {
                owner.own.last_cpu = cpu.0;
            }
            let segment =
                Segment { job, cpu, start: run.segment_start, end: self.ledger.now, overhead };
            self.recorder.executed(&segment);
        }
    }

    /// Brings the segments up to what the CPUs run at the end of an instant.
    #[inline]
    pub(super) fn show(&mut self) {
        if self.dirty.len() > 1 {
            self.dirty.sort_unstable();
        }
        for at in 0..self.dirty.len() {
            let cpu = self.dirty[at];
            let run = &mut self.cpus[cpu];
            run.dirty = false;
            let task = run.task;
            let seq = if task == NONE { 0 } else { self.ledger.tasks[TaskId(task)].job.id.seq };
            if task == run.shown && (task == NONE || seq == run.shown_seq) {
                continue;
            }
            self.close_segment(cpu);
            let run = &mut self.cpus[cpu];
            (run.shown, run.shown_seq) = (task, seq);
            run.segment_start = self.ledger.now;
            run.segment_progress = Duration::ZERO;
        }
        self.dirty.clear();
    }
}
