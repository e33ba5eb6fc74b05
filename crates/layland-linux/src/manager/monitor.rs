//! A manager that the threads of the tasks work for: they release and end their jobs themselves.
//!
//! The state of the manager is behind a lock. A thread that wakes up at a release, and a thread that
//! has ended its job, take the lock and do what the manager would do: a round, in which the policy
//! receives everything that is due, decides, and has its decision carried out. So log, replay and
//! trace are those of any run. The manager's own thread sleeps until the policy itself asks to
//! decide (a timer, a budget), or until something is due that no thread reports: a request, a
//! deadline at which a job is aborted, or a job of which its policy must be notified although
//! the job has not run ([`FixedOrder::notified_by`]).
//!
//! | event | on the thread of |
//! |---|---|
//! | release | the task, if nothing of higher priority runs; otherwise whoever works next |
//! | completion | the task |
//! | timer, budget exhausted, request, abort at a deadline | the manager |
//!
//! This is how threads are released and ended under zero-slack scheduling and period transformation
//! in H.-M. Huang, C. Gill, C. Lu (ACM TECS 13(4s), 2014, Sections 5.1 and 5.2). There the manager has
//! periodic timers, and often finds that the job has ended; here it has them on request
//! ([`Timers::Periodic`]). Deviation: a thread that ends a critical or late job resumes the suspended
//! ones itself.
//!
//! A release that waits for jobs of higher priority is not late: its latency is not measured.

use super::carrier::{Carrier, SelfReleasing};
use super::{Finished, Manager, RESERVE};
use crate::kernel::lock::PriorityLock;
use crate::kernel::sys::{self, Tid};
use crate::kernel::timer::Timer;
use layland_engine::{Status, rounds};
use layland_model::{Index, OnMiss, TaskId, Time};
use layland_policy::{FixedOrder, Policy};

/// The timers of a manager that the threads work for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Timers {
    /// The manager wakes up when it is needed.
    #[default]
    AsNeeded,
    /// It also wakes up at every instant at which its policy may have to decide about a job by itself,
    /// to look whether the job is over. So no thread sets or clears a timer of the policy.
    Periodic,
}

impl<C: Carrier> Manager<'_, C> {
    /// Returns the fixed order of the policy, if threads release and end their jobs.
    pub fn order(&self) -> Option<&FixedOrder> {
        if self.are_self_releasing { self.ledger.policy.fixed_order() } else { None }
    }

    /// Returns true unless a job that was released then had to wait for jobs of higher priority before
    /// its thread could release it.
    pub fn is_prompt(&self, id: TaskId, release: Time) -> bool {
        let Some(order) = self.order() else { return true };
        let cpu = order.cpu_of[id];
        match self.cpus[cpu].task {
            Some(other) => order.yields[cpu] || order.is_before(id, other),
            None => self.cpus[cpu].free_since <= release,
        }
    }
}

impl<C: SelfReleasing> Manager<'_, C> {
    /// Begins a run in which the threads release and end their jobs themselves.
    pub fn begin(&mut self, timers: Timers) {
        self.are_self_releasing = true;
        self.timers = timers;
        rounds::begin(self);
        self.send_to_rest();
    }

    /// Does everything that is due, on the thread of this task or on the manager's own. Returns true if
    /// the run is over.
    pub fn work(&mut self, worker: Option<TaskId>) -> bool {
        self.carrier.enter(worker);
        while self.round() {
            if self.carrier.is_tripped() {
                break;
            }
        }
        self.send_to_rest();
        self.is_log_full |= self.log.is_full(RESERVE);
        self.is_over() || self.is_log_full
    }

    /// Gives each thread the time at which to release its next job.
    fn send_to_rest(&mut self) {
        for index in 0..self.ledger.tasks.len() {
            let id = TaskId::from_index(index);
            let task = &self.ledger.tasks[id];
            let until_ns = match task.status {
                Status::Outside | Status::Idle if task.next_release != Time::NEVER => {
                    self.absolute_ns(task.next_release)
                }
                Status::Outside | Status::Idle | Status::Ready | Status::Gone => i64::MAX,
            };
            self.carrier.rest(id, until_ns);
        }
    }

    /// Returns the time at which the manager's own thread has to work next.
    pub fn needed_at(&self) -> Time {
        let Some(order) = self.order() else { return self.next_time() };
        let mut next = self.end.min(self.ledger.next_time_but_arrivals());
        for run in self.cpus.values().filter(|run| run.task.is_some()) {
            next = next.min(run.budget_end);
        }
        if self.timers == Timers::Periodic {
            for (id, task) in self.ledger.tasks.iter() {
                // Before the first job this time is past every instant.
                let looks = order.next_instant(id, task.job.release, self.ledger.now);
                next = next.min(looks);
            }
        }
        for (id, task) in self.ledger.tasks.iter() {
            if task.next_release >= next {
                continue;
            }
            let is_behind = task.status == Status::Ready || !task.waiting.is_empty();
            let notified_by = match task.on_miss {
                // The state of the job before it at this very time decides whether a job is skipped.
                OnMiss::Skip if is_behind => task.next_release,
                OnMiss::Skip | OnMiss::Continue | OnMiss::Abort => {
                    order.notified_by(id, task.next_arrival, is_behind)
                }
            };
            next = next.min(notified_by.max(task.next_release));
        }
        next
    }

    /// Ends the run.
    pub fn end(self) -> Finished {
        let log_full = self.is_log_full;
        self.carrier.expect_awake_by(i64::MAX);
        self.finish(log_full).0
    }
}

/// A manager behind a lock, and the timer of its own thread.
pub(crate) struct Monitor<'a, C> {
    manager: PriorityLock<Shared<'a, C>>,
    timer: &'a Timer,
    timers: Timers,
}

struct Shared<'a, C> {
    /// `None` once the run is over.
    manager: Option<Manager<'a, C>>,
    /// The time to which the timer is set.
    set_to_ns: i64,
}

impl<'a, C: SelfReleasing> Monitor<'a, C> {
    /// Returns the monitor of a manager that has not begun.
    pub fn new(manager: Manager<'a, C>, timer: &'a Timer, timers: Timers) -> Monitor<'a, C> {
        let shared = Shared { manager: Some(manager), set_to_ns: i64::MIN };
        Monitor { manager: PriorityLock::new(shared), timer, timers }
    }

    /// Works on the thread of a task, which has been released or has ended its job. Returns false if
    /// the run is over.
    pub fn step(&self, own: Tid, task: TaskId) -> bool {
        let asked_ns = sys::monotonic_ns();
        let mut shared = self.manager.lock(own);
        let Shared { manager, set_to_ns } = &mut *shared;
        let Some(manager) = manager else { return false };
        let began_ns = manager.carrier.clock_ns();
        // If the policy does not return, the watchdog ends the run.
        manager.carrier.expect_awake_by(began_ns);
        let over = manager.work(Some(task));
        let needed_ns = if over { began_ns } else { manager.absolute_ns(manager.needed_at()) };
        if needed_ns != *set_to_ns {
            self.timer.set(needed_ns);
            *set_to_ns = needed_ns;
        }
        manager.carrier.expect_awake_by(needed_ns);
        manager.measured.lock.record(began_ns - asked_ns);
        manager.measured.step.record(manager.carrier.clock_ns() - asked_ns);
        manager.carrier.leave();
        !over
    }

    /// Works on the manager's own thread, until the run is over. Returns `None` if a thread panicked
    /// while it worked.
    pub fn manage(&self, own: Tid) -> Option<Finished> {
        if let Some(manager) = &mut self.manager.lock(own).manager {
            manager.begin(self.timers);
        }
        self.timer.set(sys::monotonic_ns());
        let mut has_begun = false;
        loop {
            self.timer.wait();
            let woke_ns = sys::monotonic_ns();
            let mut shared = self.manager.lock(own);
            if self.manager.is_poisoned() {
                return None;
            }
            let Shared { manager, set_to_ns } = &mut *shared;
            let Some(working) = manager else { return None };
            working.carrier.expect_awake_by(woke_ns);
            if working.work(None) {
                return manager.take().map(Manager::end);
            }
            // The timer has expired, or was set to call the manager now.
            let needed_ns = working.absolute_ns(working.needed_at());
            self.timer.set(needed_ns);
            *set_to_ns = needed_ns;
            working.carrier.expect_awake_by(needed_ns);
            // The first invocation only begins the run.
            if std::mem::replace(&mut has_begun, true) {
                working.measured.invocation.record(working.carrier.clock_ns() - woke_ns);
            }
        }
    }
}
