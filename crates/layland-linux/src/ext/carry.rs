//! The mechanism and its manager for threads of other programs, from the first thread to the last:
//! a [`Carrying`].
//!
//! A thread enters in three steps, so that the manager knows every thread of class `SCHED_EXT`. The
//! policy admits the thread ([`Carrying::enter`]), the mechanism receives its identity, and then
//! the caller gives the thread its class. A thread leaves by losing the class, or by ending; the
//! kernel reports this to the mechanism, and the manager passes it on to the policy.

use super::mechanism::{Mechanism, Names};
use super::programs::{Desk, ProgramMessage, ProgramRequest, Programs};
use super::run::refuse;
use super::shared::{CPUS, Settings, THREADS};
use super::threads::{CarriedThread, ExtThreads, How, Last};
use super::{DEAD_NS, ExtFigures, LATE_NS};
use crate::RunError;
use crate::fifo::guard::{Post, Watchdog, WatchdogClass};
use crate::fifo::worker::SharedState;
use crate::kernel::sys::{self, Tid};
use crate::log::{Log, Program};
use crate::machine::Awake;
use crate::machine::ext::{ExtSupport, support};
use crate::manager::{Finished, Manager, Start};
use layland_model::{CpuMap, Index, System, TaskId, Time};
use layland_policy::{Policy, Refusal, Schedules, Speeds};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// The time that the manager may take to answer whether a thread may enter.
const PATIENCE_NS: i64 = 2_000_000_000;
const MANAGER_STACK: usize = 4 << 20;
/// The priority of the manager, which shares its CPU with its watchdog.
const BELOW_THE_WATCHDOG: i32 = sys::MANAGER - 1;
/// The largest number of threads at a time. The other numbers are for threads that are about to
/// leave.
const MOST: usize = THREADS - 12;

/// The reason why a thread is not admitted.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    /// The policy refuses it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The scheduler has ended, for this reason.
    #[error("{0}")]
    Over(String),
    /// The number of threads is at its maximum.
    #[error("the engine ext carries at most {MOST} threads")]
    Full,
    /// The kernel cannot identify the thread, for example because it has ended.
    #[error("thread {thread}: {error}")]
    Thread {
        /// The kernel id of the thread.
        thread: i32,
        /// The error that the kernel returned.
        error: io::Error,
    },
}

/// A thread that was admitted: its task number, which may be reused later, and a number that is
/// not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    task: TaskId,
    number: u64,
}

/// The options of a [`Carrying`].
pub struct CarryOptions {
    /// The CPU of the machine that carries each CPU of the platform.
    pub hosts: Vec<usize>,
    /// The CPU of the machine on which the manager runs.
    pub manager: usize,
    /// The capacity of the log, in records. The log ends when it is full; with 0 there is no log.
    pub log_records: usize,
}

/// The result of a [`Carrying`].
#[derive(Debug)]
pub struct Carried {
    /// The log, as far as its capacity sufficed.
    pub log: Log,
    /// The counters of the engine.
    pub figures: ExtFigures,
    /// The reason why it ended by itself, if it did.
    pub over: Option<String>,
    /// The number of events that the policy received, and the number of decisions that it made.
    pub events: u64,
    /// See [`Carried::events`].
    pub decisions: u64,
}

/// Threads of other programs under a policy; see the file header. Dropping it removes the
/// mechanism.
#[derive(Debug)]
pub struct Carrying {
    desk: Arc<Desk>,
    control: Arc<SharedState>,
    names: Names,
    manager: Option<JoinHandle<Result<Carried, RunError>>>,
    watchdog: Option<Watchdog>,
    /// True if the watchdog has a priority at which no thread of this process can starve it.
    is_watched: bool,
    /// The threads that are admitted, and those that have left and not been reported yet.
    tickets: BTreeMap<TaskId, Ticket>,
    left: Vec<Ticket>,
    last: u64,
    /// The former affinity of the thread that started it.
    allowed: Vec<usize>,
    _awake: Awake,
}

impl Carrying {
    /// Loads the mechanism and starts a manager with this policy. The policy must have been built
    /// for a system with these CPUs and no tasks.
    ///
    /// # Errors
    /// Returns an error if the policy does not limit each thread by a budget, another scheduler is
    /// loaded, or the kernel rejects the mechanism.
    pub fn start(policy: Box<dyn Policy>, options: CarryOptions) -> Result<Carrying, RunError> {
        let needs = policy.needs();
        if needs.schedules != Schedules::Threads || needs.speeds != Speeds::Fixed {
            return Err(RunError::unsupported(
                "threads of other programs are carried under policies that give each a budget, at the speed of the \
                 CPUs: dl-sp, dl, apedf, a2pedf",
            ));
        }
        if let Some(host) = options.hosts.iter().find(|&&host| host >= CPUS) {
            let reason = format!(
                "the engine ext uses the first {CPUS} CPUs of a machine, and not CPU {host}"
            );
            return Err(RunError::unsupported(reason));
        }
        let support = support();
        refuse(&support)?;
        // A polling manager occupies its CPU entirely: threads there would never run.
        let polls = support.manager_polls();
        if polls && options.hosts.contains(&options.manager) {
            return Err(RunError::unsupported(
                "on a kernel with PREEMPT_RT the manager has a CPU of its own, which no thread is carried on",
            ));
        }
        let no_thread =
            |error: &io::Error| RunError::refused("failed to start a thread", error, String::new());
        let desk = Arc::new(Desk::new().map_err(|error| no_thread(&error))?);
        let control = Arc::new(SharedState::new(0));
        let _ = sys::lock_memory();
        let awake = Awake::keep();
        let watchdog = Watchdog::start(&control, i64::MAX, Post::Beside(options.manager))
            .map_err(|error| no_thread(&error))?;
        let is_watched = watchdog.class() != WatchdogClass::Ordinary;
        // An ordinary thread such as this one preempts threads of class `SCHED_EXT`, so it must
        // leave their CPUs.
        let allowed = sys::allowed_cpus().unwrap_or_default();
        let is_taken =
            |cpu: &usize| options.hosts.contains(cpu) || polls && *cpu == options.manager;
        let others: Vec<usize> = allowed.iter().copied().filter(|cpu| !is_taken(cpu)).collect();
        if !others.is_empty() {
            let _ = sys::set_affinity(Tid::own(), others);
        }
        let (ready, is_ready) = mpsc::channel();
        let (own_desk, own_control) = (Arc::clone(&desk), Arc::clone(&control));
        let manager = std::thread::Builder::new().stack_size(MANAGER_STACK).spawn(move || {
            let managed = manage(policy, &options, &support, &own_control, &own_desk, &ready);
            own_desk.nudge();
            managed
        });
        let manager = manager.map_err(|error| no_thread(&error))?;
        match is_ready.recv() {
            Ok(names) => Ok(Carrying {
                desk,
                control,
                names,
                manager: Some(manager),
                watchdog: Some(watchdog),
                is_watched,
                tickets: BTreeMap::new(),
                left: Vec::new(),
                last: 0,
                allowed,
                _awake: awake,
            }),
            Err(_) => {
                drop(watchdog);
                sys::unlock_memory();
                let _ = sys::set_affinity(Tid::own(), allowed);
                match manager.join() {
                    Ok(Ok(_)) => Err(RunError::unsupported("the manager ended at once")),
                    Ok(Err(error)) => Err(error),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        }
    }

    /// Returns true if no thread of this process can starve the watchdog.
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Asks the policy to admit a thread and registers it with the mechanism. Afterwards the caller
    /// may give the thread the class `SCHED_EXT`.
    ///
    /// # Errors
    /// Returns the reason for a refusal.
    pub fn enter(&mut self, program: &Program, thread: i32) -> Result<Ticket, EnterError> {
        if self.tickets.len() >= MOST {
            return Err(EnterError::Full);
        }
        let gone = |error: io::Error| EnterError::Thread { thread, error };
        // `PIDFD_THREAD`: the thread need not be the first of its process.
        let of_thread = PidfdFlags::from_bits_retain(libc::O_EXCL as u32);
        let pid = Pid::from_raw(thread).ok_or_else(|| gone(io::ErrorKind::NotFound.into()))?;
        let named = pidfd_open(pid, of_thread).map_err(|error| gone(error.into()))?;
        let nice = sys::attributes(Tid(thread)).map_err(gone)?.sched_nice;
        let task =
            program.task().map_err(|reason| EnterError::Refused(Refusal::invalid(reason)))?;
        self.desk.ask(ProgramRequest::Enter(Arc::new(task), Tid(thread), nice));
        let ticket = self.answer()?;
        if let Err(error) = self.names.name(named.as_fd(), ticket.task.index()) {
            self.forget(ticket);
            return Err(gone(error));
        }
        Ok(ticket)
    }

    fn answer(&mut self) -> Result<Ticket, EnterError> {
        let until = sys::monotonic_ns() + PATIENCE_NS;
        loop {
            if let Some(over) = self.over() {
                return Err(EnterError::Over(over));
            }
            if let Some(answer) = self.hear() {
                return Ok(answer?);
            }
            let left = until - sys::monotonic_ns();
            if left <= 0 {
                return Err(EnterError::Over("the manager does not answer".to_owned()));
            }
            let timeout = Timespec { tv_sec: 0, tv_nsec: left.min(50_000_000) };
            let answers = PollFd::from_borrowed_fd(self.desk.answers(), PollFlags::IN);
            let _ = poll(&mut [answers], Some(&timeout));
        }
    }

    /// Processes the messages of the manager in order, because it may reuse the number of a task at
    /// once.
    fn hear(&mut self) -> Option<Result<Ticket, Refusal>> {
        let mut answer = None;
        for told in self.desk.hear() {
            match told {
                ProgramMessage::Entered(Ok(task)) => {
                    self.last += 1;
                    let ticket = Ticket { task, number: self.last };
                    self.tickets.insert(task, ticket);
                    answer = Some(Ok(ticket));
                }
                ProgramMessage::Entered(Err(refusal)) => answer = Some(Err(refusal)),
                ProgramMessage::Left(task) => self.left.extend(self.tickets.remove(&task)),
            }
        }
        answer
    }

    /// Withdraws an admitted thread that could not be given its class.
    pub fn forget(&mut self, ticket: Ticket) {
        if self.tickets.get(&ticket.task) == Some(&ticket) {
            self.desk.ask(ProgramRequest::Leave(ticket.task));
        }
    }

    /// Returns the threads that have left since the last call, for any reason.
    pub fn left(&mut self) -> Vec<Ticket> {
        let late = self.hear();
        if let Some(Ok(ticket)) = late {
            // The caller of `enter` timed out before this answer.
            self.forget(ticket);
        }
        std::mem::take(&mut self.left)
    }

    /// Returns a descriptor that becomes readable when a thread has left, or the scheduler has
    /// ended.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.desk.answers()
    }

    /// Returns the reason why the scheduler has ended, if it has.
    pub fn over(&self) -> Option<String> {
        let is_over = self.manager.as_ref().is_none_or(JoinHandle::is_finished);
        is_over.then(|| "the scheduler has ended".to_owned())
    }

    /// Removes the mechanism. The caller should have restored the former class of every thread; any
    /// others become ordinary.
    ///
    /// # Errors
    /// Returns an error if the policy required something unsupported.
    pub fn end(mut self) -> Result<Carried, RunError> {
        match self.stop() {
            Some(Ok(carried)) => carried,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(RunError::unsupported("it has ended before")),
        }
    }

    fn stop(&mut self) -> Option<std::thread::Result<Result<Carried, RunError>>> {
        let manager = self.manager.take()?;
        self.control.stop.store(true, Ordering::Release);
        self.desk.wake();
        let joined = manager.join();
        self.watchdog = None;
        sys::unlock_memory();
        let _ = sys::set_affinity(Tid::own(), self.allowed.iter().copied());
        Some(joined)
    }
}

impl Drop for Carrying {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Runs the manager's thread.
fn manage(
    policy: Box<dyn Policy>,
    options: &CarryOptions,
    support: &ExtSupport,
    control: &SharedState,
    desk: &Arc<Desk>,
    ready: &mpsc::Sender<Names>,
) -> Result<Carried, RunError> {
    sys::name_thread("layland-manager");
    sys::precise_timers();
    let own = Tid::own();
    sys::pin(own, options.manager).map_err(|error| {
        RunError::refused("failed to choose a CPU", &error, "choose other CPUs".to_owned())
    })?;
    let polls = support.manager_polls();
    let settings = Settings {
        cpus_used: options.hosts.iter().fold(0, |bits, &host| bits | 1 << host),
        late_ns: LATE_NS,
        dead_ns: DEAD_NS,
        has_timers: u32::from(support.has_timers),
        wakes_manager: u32::from(!polls),
    };
    let mut mechanism = Mechanism::load(&settings, polls)?;
    mechanism.attach()?;
    let names = mechanism
        .names()
        .map_err(|error| RunError::refused("failed to keep a map", &error, String::new()))?;
    let hosts: CpuMap<usize> = options.hosts.iter().copied().collect();
    let system = System::new(hosts.len(), Vec::new());
    let members = (0..THREADS).map(|_| CarriedThread::default()).collect();
    let how = How { looks_ahead: false, polls };
    let work = Programs::new(Arc::clone(desk));
    let threads = ExtThreads::new(control, work, members, mechanism, &hosts, &how);
    let start = Start {
        system: &system,
        policy,
        markers: None,
        log: Log::of_the_beginning(options.log_records),
        seed: 0,
        epoch_ns: sys::monotonic_ns(),
        end: Time::NEVER,
    };
    let manager = Manager::new(start, threads);
    sys::set_fifo(own, BELOW_THE_WATCHDOG).map_err(|error| {
        let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
        RunError::refused("no real-time priority", &error, help)
    })?;
    control.manager.store(own.0, Ordering::Release);
    control.expect_awake_by(0, sys::monotonic_ns());
    let _ = ready.send(names);
    let (mut finished, threads) = manager.run_with_carrier();
    let _ = sys::set_ordinary(own);
    // Another thread may get this number soon.
    control.manager.store(0, Ordering::Release);
    let Last { figures, over, cpu_changes: _ } = threads.end(&mut finished.measured);
    let Finished { log, events, decisions, unsupported, .. } = finished;
    if let Some(reason) = unsupported {
        return Err(RunError::unsupported(reason));
    }
    let late = "the watchdog found the manager late".to_owned();
    let over = over.or_else(|| control.tripped.load(Ordering::Acquire).then_some(late));
    Ok(Carried { log, figures, over, events, decisions })
}
