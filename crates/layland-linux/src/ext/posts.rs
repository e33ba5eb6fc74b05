//! The threads of a load: their jobs are those of a set, and arrive through their posts.

use super::load::{BY_GATE, NO_JOB, ThreadProcess, UNKNOWN};
use super::mechanism::Mechanism;
use super::shared;
use super::threads::CarriedThread;
use super::work::Work;
use crate::RunError;
use crate::kernel::sys::{self, Tid};
use crate::manager::carrier::{EndReport, NewJob, NextJob};
use layland_engine::programs::Visit;
use layland_model::{Index, Task, TaskId, TaskMap};
use layland_policy::Refusal;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

/// See the file header.
pub(super) struct Posts<'a>(pub &'a ThreadProcess);

/// Returns the threads of a load and registers them with the mechanism.
pub(super) fn threads_of(
    load: &ThreadProcess,
    mechanism: &Mechanism,
) -> Result<TaskMap<CarriedThread>, RunError> {
    // `PIDFD_THREAD`: the thread need not be the first of its process.
    let of_thread = PidfdFlags::from_bits_retain(libc::O_EXCL as u32);
    let mut threads = TaskMap::default();
    for (index, post) in load.posts().iter().enumerate() {
        let tid = Tid(post.tid.load(Ordering::Acquire));
        let pid = Pid::from_raw(tid.0).ok_or_else(|| RunError::unsupported("a thread is gone"))?;
        let named = pidfd_open(pid, of_thread).map_err(std::io::Error::from);
        let named = named.and_then(|thread| mechanism.name(thread.as_fd(), index));
        named.map_err(|error| {
            let help = "needs Linux 7.2 or later: see layland doctor".to_owned();
            RunError::refused("failed to name a thread to the kernel", &error, help)
        })?;
        threads.push(CarriedThread::of(tid, 0));
    }
    Ok(threads)
}

impl Posts<'_> {
    fn done_ns(&self, id: TaskId, thread: &CarriedThread) -> i64 {
        self.0.posts()[id.index()].done_ns[thread.gate as usize % 2].load(Ordering::Relaxed)
    }

    /// Returns true if the thread has fallen asleep since its job ended.
    fn has_slept(&self, id: TaskId, thread: &CarriedThread, kernel: &shared::KernelThread) -> bool {
        kernel.slept_at.load(Ordering::Acquire) as i64 >= self.done_ns(id, thread)
    }
}

impl Work for Posts<'_> {
    fn leaving_ends(&self) -> bool {
        true
    }

    fn is_gone(&self) -> bool {
        self.0.is_gone()
    }

    fn end(&self) {
        self.0.end();
    }

    fn rung(&self) -> u32 {
        0
    }

    fn bell(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn heard(&self) {}

    fn has_ended(&self, id: TaskId, thread: &CarriedThread) -> bool {
        let done = self.0.posts()[id.index()].done_gate.load(Ordering::Acquire);
        done.wrapping_sub(thread.gate) as i32 >= 0
    }

    fn is_done(&self, id: TaskId, thread: &CarriedThread, kernel: &shared::KernelThread) -> bool {
        self.has_ended(id, thread) && self.has_slept(id, thread, kernel)
    }

    fn wake_of(
        &self,
        id: TaskId,
        thread: &CarriedThread,
        kernel: &shared::KernelThread,
    ) -> Option<u32> {
        // Read the state of the thread first, then the end of its job, because the thread reports
        // the end before it sleeps. In the opposite order, it could report the end and fall asleep
        // in between, and its next job would be mistaken for this one.
        let wakes = kernel.wakes.load(Ordering::Acquire);
        let is_awake = kernel.is_awake.load(Ordering::Acquire) != 0;
        // A thread that has reported the end, and lost its CPU before it could sleep, needs a CPU
        // to sleep.
        if self.has_ended(id, thread) && (!is_awake || self.has_slept(id, thread, kernel)) {
            return None;
        }
        Some(if is_awake { wakes } else { wakes.wrapping_add(1) })
    }

    fn report(
        &self,
        id: TaskId,
        thread: &CarriedThread,
        kernel: &shared::KernelThread,
    ) -> EndReport {
        let end_ns = self.done_ns(id, thread);
        let asleep = kernel.slept_at.load(Ordering::Acquire) as i64;
        let all = (kernel.slept_ran.load(Ordering::Acquire) as i64 - thread.base).max(0);
        // The time from the end of the job to the sleep is not part of the job. The thread may have
        // been without a CPU for some of that time, but the job has received its demand.
        let most_of_it = all - (asleep - end_ns).max(0);
        EndReport { end_ns, used: most_of_it.max(thread.demand.min(all)) }
    }

    fn expect(&self, id: TaskId, first: &NextJob, kernel: &shared::KernelThread) {
        let post = &self.0.posts()[id.index()];
        post.next_demand.store(first.demand.unwrap_or(UNKNOWN), Ordering::Relaxed);
        post.next_ns.store(first.at_ns, Ordering::Release);
        kernel.relative.store(first.relative_ns.max(0) as u64, Ordering::Relaxed);
        // The thread waits only for the gate.
        sys::wake_shared(&post.gate);
    }

    fn begin(
        &mut self,
        id: TaskId,
        job: &NewJob,
        thread: &mut CarriedThread,
        kernel: &shared::KernelThread,
    ) {
        let post = &self.0.posts()[id.index()];
        thread.gate = thread.gate.wrapping_add(1);
        // A thread that woke by itself may already have executed part of this job, so the account
        // begins at its last sleep. If it has not slept since its last job was aborted, its time
        // until now belongs to that job.
        let is_awake = kernel.is_awake.load(Ordering::Acquire) != 0;
        let wakes = kernel.wakes.load(Ordering::Acquire);
        thread.base = match thread.gave_up.take() {
            Some(since) if is_awake && since == wakes => kernel.ran(sys::monotonic_ns()),
            Some(_) | None => kernel.slept_ran.load(Ordering::Acquire) as i64,
        };
        let relative = job.next.map_or(0, |next| next.relative_ns.max(0) as u64);
        kernel.relative.store(relative, Ordering::Relaxed);
        post.demand.store(job.demand, Ordering::Relaxed);
        post.seq.store(job.id.seq, Ordering::Relaxed);
        let next_demand = job.next.and_then(|next| next.demand).unwrap_or(UNKNOWN);
        post.next_demand.store(next_demand, Ordering::Relaxed);
        post.next_ns.store(job.next.map_or(BY_GATE, |next| next.at_ns), Ordering::Relaxed);
        // Last, because this store publishes the words before it.
        post.gate.store(thread.gate, Ordering::Release);
        if kernel.is_awake.load(Ordering::Acquire) == 0 {
            sys::wake_shared(&post.gate);
        }
    }

    fn give_up(&mut self, id: TaskId, thread: &mut CarriedThread, kernel: &shared::KernelThread) {
        let post = &self.0.posts()[id.index()];
        // The thread notices the abort when it gets a CPU again.
        thread.gave_up = Some(kernel.wakes.load(Ordering::Acquire));
        post.demand.store(NO_JOB, Ordering::Relaxed);
        post.gate.store(thread.gate, Ordering::Release);
    }

    fn visit(
        &mut self,
        _left: &mut Vec<usize>,
        _threads: &mut TaskMap<CarriedThread>,
        _kernel: &[shared::KernelThread],
    ) -> Option<Visit> {
        None
    }

    fn entered(
        &mut self,
        _id: TaskId,
        _parameters: &Task,
        _refused: Option<&Refusal>,
        _thread: &mut CarriedThread,
        _kernel: &shared::KernelThread,
    ) {
    }

    fn left(&mut self, _id: TaskId) {}
}
