//! The threads of a load: their jobs are those of a set, which they are told by their posts.

use super::load::{BY_GATE, Load, NO_JOB, UNKNOWN};
use super::mechanism::Mechanism;
use super::shared;
use super::threads::Thread;
use super::work::Work;
use crate::RunError;
use crate::kernel::sys::{self, Tid};
use crate::manager::carrier::{NewJob, NextJob, Report};
use layland_engine::programs::Visit;
use layland_model::{Index, Task, TaskId, TaskMap};
use layland_policy::Refusal;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

/// See the file header.
pub(super) struct Posts<'a>(pub &'a Load);

/// The threads of a load, known to the mechanism from now on.
pub(super) fn threads_of(load: &Load, mechanism: &Mechanism) -> Result<TaskMap<Thread>, RunError> {
    // PIDFD_THREAD: of a thread that is not the first of its process.
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
        threads.push(Thread::of(tid, 0));
    }
    Ok(threads)
}

impl Posts<'_> {
    fn done_ns(&self, id: TaskId, thread: &Thread) -> i64 {
        self.0.posts()[id.index()].done_ns[thread.gate as usize % 2].load(Ordering::Relaxed)
    }

    /// Whether the thread, whose job has ended, has fallen asleep since.
    fn has_slept(&self, id: TaskId, thread: &Thread, kernel: &shared::Thread) -> bool {
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

    fn has_ended(&self, id: TaskId, thread: &Thread) -> bool {
        let done = self.0.posts()[id.index()].done_gate.load(Ordering::Acquire);
        done.wrapping_sub(thread.gate) as i32 >= 0
    }

    fn is_done(&self, id: TaskId, thread: &Thread, kernel: &shared::Thread) -> bool {
        self.has_ended(id, thread) && self.has_slept(id, thread, kernel)
    }

    fn wake_of(&self, id: TaskId, thread: &Thread, kernel: &shared::Thread) -> Option<u32> {
        // First whether it is awake, then whether its job has ended: it says so before it sleeps. The other way round,
        // it could say so and fall asleep in between, and its next job would be taken for this one.
        let wakes = kernel.wakes.load(Ordering::Acquire);
        let is_awake = kernel.is_awake.load(Ordering::Acquire) != 0;
        // One that has said so, and lost its CPU before it could sleep, needs a CPU for that.
        if self.has_ended(id, thread) && (!is_awake || self.has_slept(id, thread, kernel)) {
            return None;
        }
        Some(if is_awake { wakes } else { wakes.wrapping_add(1) })
    }

    fn report(&self, id: TaskId, thread: &Thread, kernel: &shared::Thread) -> Report {
        let end_ns = self.done_ns(id, thread);
        let asleep = kernel.slept_at.load(Ordering::Acquire) as i64;
        let all = (kernel.slept_ran.load(Ordering::Acquire) as i64 - thread.base).max(0);
        // What it took to fall asleep is not the job's. It may have been without a CPU for some of that time, but has
        // got what it asked for.
        let most_of_it = all - (asleep - end_ns).max(0);
        Report { end_ns, used: most_of_it.max(thread.demand.min(all)) }
    }

    fn expect(&self, id: TaskId, first: &NextJob, kernel: &shared::Thread) {
        let post = &self.0.posts()[id.index()];
        post.next_demand.store(first.demand.unwrap_or(UNKNOWN), Ordering::Relaxed);
        post.next_ns.store(first.at_ns, Ordering::Release);
        kernel.relative.store(first.relative_ns.max(0) as u64, Ordering::Relaxed);
        // It waits for the gate alone.
        sys::wake_shared(&post.gate);
    }

    fn begin(&mut self, id: TaskId, job: &NewJob, thread: &mut Thread, kernel: &shared::Thread) {
        let post = &self.0.posts()[id.index()];
        thread.gate = thread.gate.wrapping_add(1);
        // One that has woken by itself has got something of this job; one that has not slept since it was to give up
        // its last job has got that for nothing.
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
        post.gate.store(thread.gate, Ordering::Release);
        if kernel.is_awake.load(Ordering::Acquire) == 0 {
            sys::wake_shared(&post.gate);
        }
    }

    fn give_up(&mut self, id: TaskId, thread: &mut Thread, kernel: &shared::Thread) {
        let post = &self.0.posts()[id.index()];
        // Wherever it is, it notices when it gets a CPU again.
        thread.gave_up = Some(kernel.wakes.load(Ordering::Acquire));
        post.demand.store(NO_JOB, Ordering::Relaxed);
        post.gate.store(thread.gate, Ordering::Release);
    }

    fn visit(
        &mut self,
        _left: &mut Vec<usize>,
        _threads: &mut TaskMap<Thread>,
        _kernel: &[shared::Thread],
    ) -> Option<Visit> {
        None
    }

    fn entered(
        &mut self,
        _id: TaskId,
        _parameters: &Task,
        _refused: Option<&Refusal>,
        _thread: &mut Thread,
        _kernel: &shared::Thread,
    ) {
    }

    fn left(&mut self, _id: TaskId) {}
}
