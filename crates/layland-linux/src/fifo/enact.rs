//! How a decision is carried out on threads.
//!
//! | to | is done by |
//! |---|---|
//! | start a job | tying its sleeping thread to the CPU, if it was elsewhere; raising it to [`RUN`](sys::RUN), if it is not; opening its gate |
//! | preempt a job | lowering its thread to [`WAIT`](sys::WAIT) |
//! | go on with a job | tying its waiting thread to the CPU, if it was elsewhere; raising it |
//! | suspend a job, where its CPU is to idle | parking its thread (see `worker.rs`) |
//!
//! What a decision changes is the difference between what the CPUs run and what they are to run, so
//! that intermediate steps of a decision do not count. First every thread that has to go is lowered,
//! then every CPU gets its new job: no job is ever on two CPUs. What the threads that had to go have
//! got is read and recorded after that, because a CPU waits for nothing but the priorities.

use crate::RunError;
use crate::fifo::manager::{Manager, Thread};
use crate::fifo::worker::{NO_JOB, park_signal};
use crate::kernel::sys::{self, RUN, WAIT};
use crate::log::Entry;
use layland_model::{CpuId, Index, JobId, Service, TaskId};
use std::sync::atomic::Ordering;

impl Manager<'_> {
    /// Before the run: gives every thread its first CPU and the priority to run, and tries out what
    /// the run will do.
    pub fn prepare(&mut self, tasks: &[TaskId]) -> Result<(), RunError> {
        for &id in tasks {
            let host = self.first_host(id);
            let task = self.thread_mut(id);
            let help = || "choose other CPUs with --host-cpus".to_owned();
            sys::pin(task.tid, host)
                .map_err(|error| RunError::refused("failed to choose a CPU", &error, help()))?;
            sys::set_fifo(task.tid, RUN).map_err(|error| {
                let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
                RunError::refused("no real-time priority", &error, help)
            })?;
            task.promoted = true;
            task.host = host;
        }
        Ok(())
    }

    /// What the ready job of a task has got so far.
    pub fn used_now(&self, id: TaskId) -> i64 {
        let (task, post) = (self.thread(id), self.post(id));
        if !task.sent {
            return task.used;
        }
        if self.is_done(id) {
            return post.done_used_ns.load(Ordering::Relaxed);
        }
        if post.started_gate.load(Ordering::Acquire) != task.gate {
            return 0;
        }
        let start = post.started_cpu_ns.load(Ordering::Relaxed);
        sys::cpu_ns(task.tid).map_or(task.used, |clock| clock - start).max(task.used)
    }

    /// Brings the CPUs to what they are to run.
    pub fn bring_to_cpus(&mut self) {
        let began = sys::monotonic_ns();
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
        for index in 0..self.cpus.len() {
            let cpu = CpuId::from_index(index);
            self.account(cpu);
            self.note_start(cpu);
        }
        // A CPU may also have become idle because its job ended.
        for index in 0..self.cpus.len() {
            let cpu = CpuId::from_index(index);
            if self.cpus[cpu].task.is_none() {
                changed |= self.park_on(self.hosts[cpu]);
                if self.note_busy(cpu, false)
                    && let Some(markers) = self.markers
                {
                    markers.decision(cpu, None);
                }
            }
        }
        if changed {
            self.measured.enact.record(sys::monotonic_ns() - began);
        }
    }

    /// Whether that is news.
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

    /// Takes the job off a CPU. It stays ready.
    pub fn take_off(&mut self, cpu: CpuId) {
        self.lower(cpu);
        self.account(cpu);
    }

    /// Takes the thread off a CPU; what it has got is still to be accounted for.
    fn lower(&mut self, cpu: CpuId) {
        let Some(id) = self.cpus[cpu].task.take() else { return };
        if self.thread(id).sent && !self.is_done(id) {
            // Fails only if the thread is gone, and then it runs no more.
            let _ = sys::set_fifo(self.thread(id).tid, WAIT);
            self.measured.demotions += 1;
            self.thread_mut(id).promoted = false;
        }
        let task = self.thread_mut(id);
        task.thread = if task.sent { Thread::Demoted } else { Thread::Asleep };
        if task.want.is_none() && self.cpus[cpu].want.is_none() {
            // The CPU is to idle: at the lowest priority the thread would go on.
            self.park_on(self.hosts[cpu]);
        }
        let until = self.clock();
        self.cpus[cpu].began = None;
        self.cpus[cpu].left = Some((id, until));
    }

    /// Accounts for the thread that left a CPU.
    fn account(&mut self, cpu: CpuId) {
        let Some((id, mut until)) = self.cpus[cpu].left.take() else { return };
        let used = self.used_now(id);
        if self.is_done(id) {
            self.measured.held += 1;
            until = until.min(self.time_of(self.post(id).done_ns.load(Ordering::Relaxed)));
        }
        self.collect(id);
        let (job, task) = (self.job(id), self.thread_mut(id));
        let part = used - task.used_on;
        task.used = used;
        self.note_lost(job, used);
        // At the lowest priority it may have gone on until its clock was read.
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

    /// Gives a CPU that runs nothing a job.
    fn occupy(&mut self, cpu: CpuId, id: TaskId) {
        let host = self.hosts[cpu];
        let left = self.cpus.iter().find(|(_, run)| run.is_left_by(id)).map(|(from, _)| from);
        if let Some(from) = left {
            self.account(from);
        }
        let began = sys::monotonic_ns();
        let post = self.post(id);
        let done = self.is_done(id);
        let used = if self.thread(id).sent { self.used_now(id) } else { 0 };
        let run = &mut self.ledger.tasks[id];
        let (job, task) = (run.job.id, &mut run.own);
        let leaked = used - task.used;
        task.used_on = if done { task.used } else { used };
        task.migrated = task.host != host;
        if !done {
            task.turn = task.turn.wrapping_add(1);
            post.turn.store(task.turn, Ordering::Release);
            task.dispatched_ns = Some(began);
            self.measured.dispatches += 1;
            if task.host != host {
                let _ = sys::pin(task.tid, host);
                task.host = host;
                self.measured.migrations += u64::from(task.migrated);
            }
            if task.thread == Thread::Parked {
                post.park.store(0, Ordering::Release);
                sys::wake(&post.park);
            }
            if !task.promoted {
                let _ = sys::set_fifo(task.tid, RUN);
                task.promoted = true;
            }
            if !task.sent {
                task.sent = true;
                task.gate = task.gate.wrapping_add(1);
                post.demand.store(run.demand, Ordering::Relaxed);
                post.seq.store(job.seq, Ordering::Relaxed);
                post.gate.store(task.gate, Ordering::Release);
                sys::wake(&post.gate);
            }
            task.thread = Thread::Running;
        }
        let used_on = task.used_on;
        self.cpus[cpu].task = Some(id);
        self.cpus[cpu].start_budget(used_on);
        self.cpus[cpu].began = Some(self.time_of(began));
        if leaked > 0 {
            self.note_leak(job, leaked);
        }
    }

    /// A job got this much without having a CPU.
    pub fn note_leak(&mut self, job: JobId, leaked_ns: i64) {
        self.measured.leaked_ns += leaked_ns;
        self.note(Entry::Leaked { job, got: Service::from_ns(leaked_ns) });
    }

    /// Parks every waiting thread of a CPU that is to idle; whether there was one.
    fn park_on(&mut self, host: usize) -> bool {
        let mut found = false;
        for index in 0..self.ledger.tasks.len() {
            let id = TaskId::from_index(index);
            let task = self.thread(id);
            if task.thread != Thread::Demoted || task.host != host || self.is_done(id) {
                continue;
            }
            let post = self.post(id);
            post.park.store(1, Ordering::Release);
            let sent = sys::signal(self.thread(id).tid, park_signal());
            if sent.is_err() {
                // The queue of signals is full. It goes on at the lowest priority; the next decision tries again.
                post.park.store(0, Ordering::Release);
                self.measured.not_parked += 1;
                continue;
            }
            self.thread_mut(id).thread = Thread::Parked;
            self.measured.parks += 1;
            found = true;
        }
        found
    }

    /// Lets a parked thread go on, at the priority that it has.
    pub fn unpark(&mut self, id: TaskId) {
        let post = self.post(id);
        if self.thread(id).thread == Thread::Parked {
            post.park.store(0, Ordering::Release);
            sys::wake(&post.park);
            self.thread_mut(id).thread = Thread::Demoted;
        }
    }

    /// The thread of a task gives up its job, which may be on a CPU.
    pub fn give_up(&mut self, id: TaskId, on: Option<CpuId>) {
        if let Some(cpu) = on {
            self.take_off(cpu);
            self.cpus[cpu].leave();
        }
        self.unpark(id);
        let post = self.post(id);
        let task = self.thread_mut(id);
        if task.sent {
            task.gate = task.gate.wrapping_add(1);
            post.demand.store(NO_JOB, Ordering::Relaxed);
            post.gate.store(task.gate, Ordering::Release);
            sys::wake(&post.gate);
            task.sent = false;
        }
        task.thread = Thread::Asleep;
    }

    /// Measures the last dispatch of a task, if its thread has noticed it.
    pub fn collect(&mut self, id: TaskId) {
        let post = self.post(id);
        let task = &mut self.ledger.tasks[id].own;
        let Some(dispatched) = task.dispatched_ns else { return };
        if post.seen_turn.load(Ordering::Acquire) != task.turn {
            return;
        }
        task.dispatched_ns = None;
        let seen = post.seen_ns.load(Ordering::Relaxed);
        if task.migrated {
            self.measured.migration.record(seen - dispatched);
        } else {
            self.measured.switch.record(seen - dispatched);
        }
        let fresh = std::mem::take(&mut task.fresh);
        if fresh && post.started_gate.load(Ordering::Acquire) == task.gate {
            let release = self.ledger.tasks[id].job.release;
            let started = post.started_ns.load(Ordering::Relaxed);
            let latency = self.time_of(started) - release;
            self.measured.dispatch.record(latency.ns());
        }
    }
}
