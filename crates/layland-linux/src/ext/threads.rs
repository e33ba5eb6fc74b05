//! Threads of class `SCHED_EXT`: how the mechanism carries out decisions.
//!
//! | action | implementation |
//! |---|---|
//! | start a job | release it to its thread, which wakes the thread unless it woke by itself; give it a slot |
//! | preempt a job, suspend it, let it continue | give its slot to another job, to none, or to it |
//!
//! A decision is one call into the kernel, which changes all affected slots together
//! ([`Carrier::settle`]). The slots are compared with their targets, and only the differences are
//! ordered. So an action that a CPU took by itself, by the table or by the caretaker, is either
//! right already or is corrected here, and a stale order is issued again.
//!
//! The watchdog of the kernel would end the whole scheduler if the job of a thread waited too long.
//! [`ExtThreads::keep`] shows the watchdog that the thread is not forgotten.
//!
//! Long because a carrier is one trait, whose methods share the state of the threads.

use super::ExtFigures;
use super::mechanism::Mechanism;
use super::news::{Guess, News};
use super::shared::{self, NO_BUDGET};
use super::work::Work;
use crate::RunError;
use crate::fifo::worker::SharedState;
use crate::kernel::sys::{self, Tid};
use crate::manager::BUDGET_GRAIN;
use crate::manager::carrier::{Carrier, EndReport, Grant, NewJob, NextJob, Noticed, There};
use crate::manager::overheads::Measured;
use layland_engine::ahead::AnswerTable;
use layland_engine::programs::Visit;
use layland_model::{CpuId, CpuMap, Index, Task, TaskId, TaskMap};
use layland_policy::{FixedOrder, Refusal};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

/// The interval at which the manager checks whether the run is to end.
const LOOK_NS: i64 = 50_000_000;
/// The wait after which a thread is shown to the watchdog of the kernel, which fires after 30 s.
const KEEP_NS: i64 = 8_000_000_000;

/// The state of a thread.
#[derive(Debug, Default)]
pub(super) struct CarriedThread {
    pub tid: Tid,
    /// For a thread of a load, the generation of its present or last job; for one of another
    /// program, the wake-up that is its job.
    pub gate: u32,
    /// True if it has a job.
    pub has_job: bool,
    /// The wake-up in which its job was aborted; the thread may not have noticed yet.
    pub gave_up: Option<u32>,
    /// The demand of its job.
    pub demand: i64,
    /// The processor time of the thread when its job began.
    pub base: i64,
    /// The CPU that it has, or had last.
    pub cpu: Option<CpuId>,
    pub raised_ns: Option<i64>,
    migrated: bool,
    /// The time at which it came to its present CPU, if it has.
    pub came: Option<i64>,
    /// Until it runs: its wake-up time, and the number of threads that had fallen asleep by then.
    pub woke: Option<(i64, u64)>,
    kept_ns: i64,
    /// Its own nice value. Showing it to the kernel's watchdog changes the value for a while.
    pub nice: i32,
    is_shown: bool,
}

impl CarriedThread {
    /// Creates the state of a thread that has no job yet.
    pub fn of(tid: Tid, nice: i32) -> CarriedThread {
        CarriedThread { tid, nice, ..CarriedThread::default() }
    }
}

/// The threads of a run.
pub(super) struct ExtThreads<'a, W> {
    control: &'a SharedState,
    work: W,
    pub(super) mechanism: Mechanism,
    /// The CPU of the machine that carries each CPU of the platform.
    pub(super) hosts: &'a CpuMap<usize>,
    pub(super) threads: RefCell<TaskMap<CarriedThread>>,
    /// The task and the budget of each CPU from the next settlement on, and the budget last granted
    /// there.
    wanted: CpuMap<Option<TaskId>>,
    grants: CpuMap<Option<Grant>>,
    granted: CpuMap<Option<Grant>>,
    /// During a settlement: true if the CPU took the right thread by itself.
    guessed: CpuMap<bool>,
    news: RefCell<News>,
    pub(super) epoch: u32,
    pub(super) is_offered: Cell<bool>,
    looks_ahead: bool,
    /// True if the manager polls instead of being woken.
    polls: bool,
    figures: ExtFigures,
}

/// The results at the end of a run.
pub(super) struct Last {
    pub figures: ExtFigures,
    /// The reason why the run ended early, if it did.
    pub over: Option<String>,
    /// The CPUs that came or went: the time, the CPU, and true if it came.
    pub cpu_changes: Vec<(i64, CpuId, bool)>,
}

/// The way in which the threads are driven.
pub(super) struct How {
    pub looks_ahead: bool,
    pub polls: bool,
}

impl<'a, W: Work> ExtThreads<'a, W> {
    /// Wraps threads that are still in the ordinary class.
    pub fn new(
        control: &'a SharedState,
        work: W,
        threads: TaskMap<CarriedThread>,
        mechanism: Mechanism,
        hosts: &'a CpuMap<usize>,
        how: &How,
    ) -> ExtThreads<'a, W> {
        let leaving_ends = work.leaving_ends();
        let cpus = hosts.len();
        ExtThreads {
            control,
            work,
            mechanism,
            hosts,
            threads: RefCell::new(threads),
            wanted: CpuMap::filled(None, cpus),
            grants: CpuMap::filled(None, cpus),
            granted: CpuMap::filled(None, cpus),
            guessed: CpuMap::filled(false, cpus),
            news: RefCell::new(News::new(leaving_ends)),
            epoch: 0,
            is_offered: Cell::new(false),
            looks_ahead: how.looks_ahead,
            polls: how.polls,
            figures: ExtFigures::default(),
        }
    }

    /// Moves the threads, which sleep, to the class of the mechanism.
    pub fn hand_over(&self) -> Result<(), RunError> {
        for thread in self.threads.borrow().values() {
            sys::set_ext(thread.tid, 0, false).map_err(|error| {
                let help =
                    "layland doctor says what this kernel lacks for the engine ext".to_owned();
                RunError::refused("no thread of class SCHED_EXT", &error, help)
            })?;
        }
        Ok(())
    }

    /// Ends every job, returns the threads to the kernel, and removes the mechanism.
    pub fn end(self, measured: &mut Measured) -> Last {
        let cpu_changes = {
            let mut news = self.drain();
            measured.wake_to_run = std::mem::take(&mut news.wake_to_run);
            measured.end_to_next = std::mem::take(&mut news.end_to_next);
            if self.work.is_gone() {
                news.over.get_or_insert_with(|| "the process of the threads has died".to_owned());
            }
            std::mem::take(&mut news.cpu_changes)
        };
        self.work.end();
        let counts = &self.mechanism.shared().counts;
        let figures = ExtFigures {
            stale: counts.stale.load(Ordering::Relaxed),
            bounced: counts.bounced.load(Ordering::Relaxed),
            by_caretaker: counts.cared.load(Ordering::Relaxed),
            lost: counts.lost.load(Ordering::Relaxed),
            followed: counts.followed.load(Ordering::Relaxed),
            woken: counts.woken.load(Ordering::Relaxed),
            ..self.figures
        };
        let ended = self.mechanism.ended();
        let ended = ended.map(|why| format!("the kernel took the scheduler out ({why})"));
        let over = ended.or_else(|| self.news.borrow_mut().over.take());
        let mut mechanism = self.mechanism;
        mechanism.detach();
        Last { figures, over, cpu_changes }
    }

    pub(super) fn kernel(&self, id: TaskId) -> &shared::KernelThread {
        &self.mechanism.shared().threads[id.index()]
    }

    fn cpu_of(&self, host: i32) -> Option<CpuId> {
        self.hosts.iter().find(|&(_, &own)| own as i32 == host).map(|(cpu, _)| cpu)
    }

    /// Reads the new records of the mechanism.
    fn drain(&self) -> std::cell::RefMut<'_, News> {
        let mut news = self.news.borrow_mut();
        let mut threads = self.threads.borrow_mut();
        // Clear this before reading: any later record starts a new wait for an answer.
        self.mechanism.shared().asked_at.store(0, Ordering::SeqCst);
        for record in self.mechanism.drain().iter() {
            news.absorb(record, &mut threads, |host| self.cpu_of(host));
        }
        news
    }

    /// Returns the wake-up that the job of a thread belongs to, unless the job has ended and the
    /// thread has fallen asleep.
    pub(super) fn wake_of(&self, id: TaskId) -> Option<u32> {
        self.work.wake_of(id, &self.threads.borrow()[id], self.kernel(id))
    }

    /// Shows waiting threads to the watchdog of the kernel, by changing a nice value that has no
    /// effect.
    fn keep(&self, now: i64) {
        let mut threads = self.threads.borrow_mut();
        for index in 0..threads.len() {
            let id = TaskId::from_index(index);
            let (thread, kernel) = (&mut threads[id], self.kernel(id));
            if thread.tid == Tid::default() {
                continue;
            }
            if kernel.is_awake.load(Ordering::Acquire) == 0
                || kernel.on.load(Ordering::Acquire) >= 0
            {
                thread.kept_ns = now;
            } else if now - thread.kept_ns > KEEP_NS {
                thread.kept_ns = now;
                thread.is_shown = !thread.is_shown;
                let other = if thread.nice < 19 { thread.nice + 1 } else { thread.nice - 1 };
                let nice = if thread.is_shown { other } else { thread.nice };
                let _ = sys::set_ext(thread.tid, nice, !self.work.leaving_ends());
            }
        }
    }

    /// Returns the processor time of a thread's job until `now`; `known` is the value of the last
    /// reading.
    fn used_by(&self, id: TaskId, known: i64, now: i64) -> i64 {
        let thread = &self.threads.borrow()[id];
        if !thread.has_job {
            return known;
        }
        (self.kernel(id).ran(now) - thread.base).max(known)
    }

    /// Returns the budget that the slot of a CPU leaves to its thread at `now`, if it is limited.
    fn rest(&self, host: usize, id: TaskId, now: i64) -> Option<i64> {
        let budget = self.mechanism.shared().slots[host].budget.load(Ordering::Acquire);
        let stretch = self.kernel(id).stretch();
        let so_far = if stretch.on == host as i32 { stretch.length(now) } else { 0 };
        (budget != NO_BUDGET).then(|| budget as i64 - so_far)
    }

    /// Counts the CPUs that acted by themselves, separately for those that matched the decision.
    fn judge_guesses(&mut self) {
        let news = self.news.get_mut();
        self.guessed.values_mut().for_each(|guessed| *guessed = false);
        for Guess { cpu, thread } in news.guesses.drain(..) {
            if self.wanted[cpu].is_some_and(|id| id.index() == thread) {
                self.figures.right += 1;
                self.guessed[cpu] = true;
            } else {
                self.figures.wrong += 1;
            }
        }
    }
}

impl<W: Work> Carrier for ExtThreads<'_, W> {
    fn clock_ns(&self) -> i64 {
        sys::monotonic_ns()
    }

    fn news(&self) -> u32 {
        self.drain().count.wrapping_add(self.work.rung())
    }

    fn wait(&mut self, news: u32, until_ns: i64) {
        let now = sys::monotonic_ns();
        self.keep(now);
        let until = until_ns.min(now + LOOK_NS);
        while self.news() == news && !self.is_stopped() {
            let left = until - sys::monotonic_ns();
            if left <= 0 {
                return;
            }
            if self.polls {
                std::hint::spin_loop();
                continue;
            }
            let timeout = Timespec { tv_sec: left / 1_000_000_000, tv_nsec: left % 1_000_000_000 };
            let told = self.mechanism.told();
            let told = PollFd::from_borrowed_fd(told, PollFlags::IN);
            match self.work.bell() {
                None => drop(poll(&mut [told], Some(&timeout))),
                Some(bell) => {
                    let bell = PollFd::from_borrowed_fd(bell, PollFlags::IN);
                    let _ = poll(&mut [told, bell], Some(&timeout));
                    self.work.heard();
                }
            }
        }
    }

    fn expect_awake_by(&self, at_ns: i64) {
        self.control.expect_awake_by(0, at_ns);
    }

    fn is_stopped(&self) -> bool {
        self.control.stop.load(Ordering::Relaxed) || self.is_tripped()
    }

    fn is_tripped(&self) -> bool {
        self.control.tripped.load(Ordering::Relaxed)
            || self.mechanism.shared().exit_kind.load(Ordering::Acquire) != 0
            || self.news.borrow().over.is_some()
    }

    fn is_done(&self, id: TaskId) -> bool {
        let thread = &self.threads.borrow()[id];
        thread.has_job && self.work.is_done(id, thread, self.kernel(id))
    }

    fn report(&self, id: TaskId) -> EndReport {
        self.work.report(id, &self.threads.borrow()[id], self.kernel(id))
    }

    fn used(&self, id: TaskId, known: i64) -> i64 {
        if self.is_done(id) {
            return self.report(id).used;
        }
        self.used_by(id, known, sys::monotonic_ns())
    }

    fn notice(&mut self, id: TaskId) -> Option<Noticed> {
        let began = self.kernel(id).began_at.load(Ordering::Acquire) as i64;
        let thread = &mut self.threads.get_mut()[id];
        let (raised, came) = (thread.raised_ns?, thread.came?);
        thread.raised_ns = None;
        Some(Noticed {
            // If the CPU acted by itself, the thread came before the order.
            latency_ns: (came - raised).max(0),
            migrated: thread.migrated,
            started_ns: (began != 0).then_some(began),
        })
    }

    fn is_unnoticed(&self, id: TaskId) -> bool {
        self.threads.borrow()[id].raised_ns.is_some()
    }

    fn is_used_up(&self, cpu: CpuId) -> bool {
        let slot = &self.mechanism.shared().slots[self.hosts[cpu]];
        let thread1 = slot.thread1.load(Ordering::Acquire) as usize;
        thread1 != 0
            && self.wanted[cpu].is_some_and(|id| id.index() + 1 == thread1)
            && slot.budget.load(Ordering::Acquire) == 0
    }

    fn visit(&mut self) -> Option<Visit> {
        // Threads that have left are known before their numbers are reused.
        drop(self.drain());
        let news = self.news.get_mut();
        if !news.cpus.is_empty() {
            let (cpu, online) = news.cpus.remove(0);
            return Some(Visit::Cpu { cpu, online });
        }
        let kernel = &self.mechanism.shared().threads;
        self.work.visit(&mut news.left, self.threads.get_mut(), kernel)
    }

    fn entered(&mut self, id: TaskId, parameters: &Task, refused: Option<&Refusal>) {
        let kernel = &self.mechanism.shared().threads[id.index()];
        self.work.entered(id, parameters, refused, &mut self.threads.get_mut()[id], kernel);
    }

    fn left(&mut self, id: TaskId) {
        self.threads.get_mut()[id] = CarriedThread::default();
        self.work.left(id);
    }

    fn expect(&mut self, id: TaskId, first: NextJob) {
        self.work.expect(id, &first, self.kernel(id));
    }

    fn begin(&mut self, id: TaskId, job: NewJob) {
        let kernel = &self.mechanism.shared().threads[id.index()];
        let thread = &mut self.threads.get_mut()[id];
        thread.has_job = true;
        thread.raised_ns = None;
        thread.demand = job.demand;
        kernel.deadline.store(job.deadline_ns.max(0) as u64, Ordering::Relaxed);
        self.work.begin(id, &job, thread, kernel);
    }

    fn lower(&mut self, id: TaskId, measured: &mut Measured) -> Option<i64> {
        let cpu = self.threads.get_mut()[id].cpu?;
        if self.wanted[cpu] == Some(id) {
            self.wanted[cpu] = None;
            self.grants[cpu] = None;
        }
        if !self.is_done(id) {
            measured.demotions += 1;
        }
        let kernel = self.kernel(id);
        let stretch = kernel.stretch();
        let is_there = stretch.on == self.hosts[cpu] as i32;
        // The thread may not have reached the CPU yet.
        let came = self.threads.get_mut()[id].came;
        (!is_there && came.is_some_and(|came| came <= stretch.since)).then_some(stretch.since)
    }

    fn raise(&mut self, id: TaskId, cpu: CpuId, measured: &mut Measured) -> Option<There> {
        let stretch = self.kernel(id).stretch();
        let is_there = stretch.on == self.hosts[cpu] as i32;
        let thread = &mut self.threads.get_mut()[id];
        let there = There { since_ns: stretch.since, used: stretch.ran - thread.base };
        let there = is_there.then_some(there);
        thread.raised_ns = Some(sys::monotonic_ns());
        thread.came = there.map(|there| there.since_ns);
        thread.migrated = thread.cpu.is_some_and(|last| last != cpu);
        thread.cpu = Some(cpu);
        measured.dispatches += 1;
        measured.migrations += u64::from(thread.migrated);
        self.wanted[cpu] = Some(id);
        self.granted[cpu] = None;
        there
    }

    fn limit(&mut self, cpu: CpuId, grant: Option<Grant>) {
        self.grants[cpu] = grant;
    }

    /// Nothing to do: the mechanism runs the threads that were decided.
    fn arrange(&mut self, _order: &FixedOrder) {}

    fn settle(&mut self, _measured: &mut Measured) {
        self.judge_guesses();
        let mut is_changed = false;
        for (cpu, &host) in self.hosts.iter() {
            let shared = self.mechanism.shared();
            let (slot, order) = (&shared.slots[host], &shared.orders[host]);
            let has = slot.thread1.load(Ordering::Acquire);
            let wake = self.wanted[cpu].and_then(|id| Some((id, self.wake_of(id)?)));
            let Some((id, wake)) = wake else {
                if has != 0 && self.is_vacant(cpu, has) {
                    order.thread1.store(0, Ordering::Relaxed);
                    order.is_set.store(1, Ordering::Release);
                    is_changed = true;
                }
                continue;
            };
            let is_there =
                has as usize == id.index() + 1 && slot.wake.load(Ordering::Acquire) == wake;
            if is_there && self.granted[cpu] == self.grants[cpu] {
                continue;
            }
            self.granted[cpu] = self.grants[cpu];
            let now = sys::monotonic_ns();
            let left = self.grants[cpu]
                .map(|grant| grant.amount - (self.used_by(id, grant.from, now) - grant.from));
            if is_there && is_same(self.rest(host, id, now), left) {
                continue;
            }
            self.figures.adjusted += u64::from(is_there && self.guessed[cpu]);
            // At least 1, because no CPU runs a thread with budget 0.
            let budget = left.map_or(NO_BUDGET, |left| left.max(1) as u64);
            order.thread1.store(id.index() as u32 + 1, Ordering::Relaxed);
            order.wake.store(wake, Ordering::Relaxed);
            order.budget.store(budget, Ordering::Relaxed);
            // Last, because this store publishes the order.
            order.is_set.store(1, Ordering::Release);
            is_changed = true;
        }
        if is_changed {
            // A stale order concerns a job that has ended, and the next record reports that end.
            let _ = self.mechanism.commit();
            self.figures.commits += 1;
        }
    }

    /// Nothing to do: an empty slot suspends.
    fn clear(&mut self, _cpu: CpuId, _measured: &mut Measured) -> bool {
        false
    }

    fn give_up(&mut self, id: TaskId) {
        let thread = &mut self.threads.get_mut()[id];
        self.wanted
            .values_mut()
            .filter(|wanted| **wanted == Some(id))
            .for_each(|wanted| *wanted = None);
        if std::mem::take(&mut thread.has_job) {
            let kernel = &self.mechanism.shared().threads[id.index()];
            self.work.give_up(id, thread, kernel);
        }
        thread.raised_ns = None;
    }

    fn forget(&mut self, id: TaskId) {
        self.wanted
            .values_mut()
            .filter(|wanted| **wanted == Some(id))
            .for_each(|wanted| *wanted = None);
        let thread = &mut self.threads.get_mut()[id];
        thread.has_job = false;
        thread.raised_ns = None;
    }

    fn acts_ahead(&self) -> bool {
        self.looks_ahead
    }

    fn offer(&mut self, table: &AnswerTable) {
        self.offer_table(table);
    }

    fn withdraw(&mut self) {
        if self.is_offered.replace(false) {
            self.mechanism.shared().epoch.store(0, Ordering::SeqCst);
        }
    }
}

/// Returns true if the rest of a slot's budget equals the granted one, up to the precision of
/// clocks. A thread with an exhausted slot has been stopped, and needs a new budget to continue.
fn is_same(slot: Option<i64>, granted: Option<i64>) -> bool {
    match (slot, granted) {
        (None, None) => true,
        (Some(slot), Some(granted)) => slot > 0 && (slot - granted).abs() <= BUDGET_GRAIN,
        (None, Some(_)) | (Some(_), None) => false,
    }
}

impl<W: Work> ExtThreads<'_, W> {
    /// Returns true if the thread in the slot of a CPU must leave. If the CPU is to be idle, a
    /// thread whose job has ended stays, so that it can fall asleep there.
    fn is_vacant(&self, cpu: CpuId, thread1: u32) -> bool {
        let id = TaskId::from_index(thread1 as usize - 1);
        self.wanted[cpu] != Some(id) || !self.work.has_ended(id, &self.threads.borrow()[id])
    }
}
