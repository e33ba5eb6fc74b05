//! The state that the simulator keeps of each task and of each CPU, in addition to the ledger.

use layland_model::{CpuId, Duration, Index, JobId, Time};

pub(super) const NONE: u32 = u32::MAX;

/// The state that the simulator keeps of a task.
#[derive(Clone, Debug)]
pub(super) struct TaskState {
    /// The CPU that runs the ready job, or [`NONE`].
    pub(super) cpu: u32,
    /// The CPU that the ready job ran on last, or [`NONE`].
    pub(super) last_cpu: u32,
    /// The remaining demand of the ready job, in grains: up to its next step, if it has steps.
    pub(super) remaining: i64,
    /// The demand after that step.
    pub(super) after: i64,
    /// True if the job has steps.
    pub(super) has_steps: bool,
    /// True if the ready job has filled a cache, so that it may have to reload blocks.
    pub(super) has_filled: bool,
    /// The time that the ready job must spend on reloads when it is on a CPU again.
    pub(super) to_reload: Duration,
}

impl TaskState {
    /// Returns the work that the ready job has received, given its total demand.
    pub(super) fn executed(&self, demand: i64) -> i64 {
        demand - self.remaining.max(0) - self.after
    }
}

impl Default for TaskState {
    fn default() -> Self {
        Self {
            cpu: NONE,
            last_cpu: NONE,
            remaining: 0,
            after: 0,
            has_steps: false,
            has_filled: false,
            to_reload: Duration::ZERO,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct CpuRun {
    /// The task whose job it runs, or [`NONE`].
    pub(super) task: u32,
    /// Grains per nanosecond.
    pub(super) per_ns: i64,
    /// The time from which the job makes progress; before it, the CPU is busy with overheads.
    pub(super) progress_from: Time,
    /// The end of the budget that the policy granted, [`Time::NEVER`] if it is unlimited.
    pub(super) budget_end: Time,
    /// The job whose segment is open: task (or [`NONE`]) and sequence number (or 0).
    pub(super) shown: u32,
    pub(super) shown_seq: u64,
    pub(super) segment_start: Time,
    /// The progress of the job of the open segment in that segment.
    pub(super) segment_progress: Duration,
    /// For overheads: the end of the work of the kernel, the job loaded last, and the last time at
    /// which the CPU itself had reason to schedule.
    pub(super) busy_until: Time,
    pub(super) loaded: Option<JobId>,
    pub(super) entered_at: Time,
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
            busy_until: Time::ZERO,
            loaded: None,
            entered_at: Time::NEVER,
        }
    }
}

impl CpuRun {
    /// Returns the time at which the current job has received all its work or used up its budget.
    #[inline]
    pub(super) fn end(&self, job: &TaskState) -> Time {
        let left = job.remaining.max(0);
        // Rounded up: a job ends at the first nanosecond by which it has received all its work.
        let length = if self.per_ns == 1 { left } else { (left + self.per_ns - 1) / self.per_ns };
        (self.progress_from + Duration::from_ns(length)).min(self.budget_end)
    }

    /// Accounts for the progress of the current job since the last accounting.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, job: &mut TaskState) {
        if now <= self.progress_from {
            return;
        }
        let length = now - self.progress_from;
        self.progress_from = now;
        self.segment_progress += length;
        job.remaining -= length.ns() * self.per_ns;
    }
}

/// A set of CPUs, which yields them in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Marked {
    words: Vec<u64>,
}

impl Marked {
    const WORD: usize = u64::BITS as usize;

    /// Returns an empty set of CPUs, with room for this number.
    pub(super) fn new(cpus: usize) -> Self {
        Self { words: vec![0; cpus.div_ceil(Marked::WORD)] }
    }

    #[inline]
    pub(super) fn mark(&mut self, cpu: CpuId) {
        self.words[cpu.index() / Marked::WORD] |= 1 << (cpu.index() % Marked::WORD);
    }

    /// Removes and returns the lowest CPU.
    #[inline]
    pub(super) fn take_lowest(&mut self) -> Option<CpuId> {
        for (at, word) in self.words.iter_mut().enumerate() {
            if *word != 0 {
                let cpu = at * Marked::WORD + word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(CpuId::from_index(cpu));
            }
        }
        None
    }
}
