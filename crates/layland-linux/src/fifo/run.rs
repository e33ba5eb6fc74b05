//! A run from beginning to end: threads, the manager, the results.

use crate::RunError;
use crate::fifo::dispatch::{Dispatch, make_posts, manage_per_cpu};
use crate::fifo::guard::{Post, Watchdog, WatchdogClass};
use crate::fifo::hosts::Hosts;
use crate::fifo::logs::logs_for;
use crate::fifo::outcome::Outcome;
use crate::fifo::releases::{Releases, order_of};
use crate::fifo::threads::FifoThreads;
use crate::fifo::worker::{self, SharedState};
use crate::kernel::markers::Markers;
use crate::kernel::sys::{self, Tid};
use crate::log::Log;
use crate::machine::Awake;
use crate::machine::changes::no_process;
use crate::machine::disturbance::{self, Disturbance, Watch};
use crate::machine::guardian::Guardian;
use crate::machine::throttling::Throttling;
use crate::manager::dispatchers::{Scope, scopes};
use crate::manager::monitor::{Monitor, Timers};
use crate::manager::{Finished, Manager, Start};
use layland_interchange::kernel::comm;
use layland_model::{Duration, System, Time, counted};
use layland_policy::{FixedOrder, Policy, Speeds};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The longest run.
pub const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The time for which a run may still exist after its end.
pub(crate) const TAIL: Duration = Duration::from_secs(5);
/// The time from the creation of the threads to time zero.
const LEAD_NS: i64 = 50_000_000;
const WORKER_STACK: usize = 64 << 10;
/// The stack of a worker that also works for the manager.
const STEPPING_STACK: usize = 512 << 10;
const MANAGER_STACK: usize = 1 << 20;
/// The options of a run.
pub struct FifoOptions<'a> {
    /// The length of the run.
    pub duration: Duration,
    /// The seed for the random choices of the tasks.
    pub seed: u64,
    /// The assignment of CPUs.
    pub hosts: Hosts,
    /// The destination of marks of jobs and decisions in the kernel's trace.
    pub markers: Option<Arc<Markers>>,
    /// Ends the run early when it becomes true; the outcome has the records so far.
    pub interrupt: Option<&'a AtomicBool>,
    /// The capacity of the log in records, instead of an estimate.
    pub log_records: Option<usize>,
    /// The threads that release and end jobs.
    pub releases: Releases,
    /// The timers of a manager that does not release jobs.
    pub timers: Timers,
    /// The threads that drive the policy. With dispatchers of CPUs, threads of tasks release no jobs, and
    /// the place of a manager does not matter.
    pub dispatch: Dispatch,
}

impl FifoOptions<'_> {
    /// Returns the default options.
    pub fn new(duration: Duration, hosts: Hosts) -> FifoOptions<'static> {
        FifoOptions {
            duration,
            seed: 0,
            hosts,
            markers: None,
            interrupt: None,
            log_records: None,
            releases: Releases::default(),
            timers: Timers::default(),
            dispatch: Dispatch::default(),
        }
    }
}

/// Checks that real threads can run this system under this policy.
///
/// # Errors
/// Returns the reason if they cannot.
pub fn supports(system: &System, policy: &dyn Policy) -> Result<(), RunError> {
    if policy.needs().speeds == Speeds::SetByPolicy {
        return Err(RunError::unsupported(
            "the policy sets the speeds of CPUs, and a real CPU cannot be given an exact speed",
        ));
    }
    if !system.platform.is_unit_speed() {
        return Err(RunError::unsupported(
            "the platform has CPUs of other speeds than 1, and real CPUs have the speed that they have",
        ));
    }
    if let Some(task) = system.tasks.values().find(|task| task.steps.is_some()) {
        return Err(RunError::unsupported(format!(
            "task `{}` has `steps`, and the threads of a run do not lock and do not suspend themselves within a job",
            task.name
        )));
    }
    if let Some(task) = system.tasks.values().find(|task| !task.follows.is_empty()) {
        return Err(RunError::unsupported(format!(
            "task `{}` follows another one, and the threads of a run wait for no job of another thread",
            task.name
        )));
    }
    Ok(())
}

/// Runs a valid system on real threads, under a policy that was built for it.
///
/// Every thread spins for the execution times of its jobs. Arrivals and execution times are those
/// that the simulator draws from the same seed.
///
/// # Errors
/// Returns an error if the kernel refuses real-time priorities or a thread, or the system or the
/// policy requires a feature that real threads do not have.
pub fn run(
    system: &System,
    policy: Box<dyn Policy>,
    options: &FifoOptions<'_>,
) -> Result<Outcome, RunError> {
    supports(system, &*policy)?;
    if !(Duration::from_ms(1)..=LONGEST).contains(&options.duration) {
        let reason = format!("a run of {} is out of range: 1 ms to {LONGEST}", options.duration);
        return Err(RunError::unsupported(reason));
    }
    may_be_real_time()?;
    let mut remarks = Vec::new();
    let mut guardian = match Guardian::start(options.duration + TAIL) {
        Ok(guardian) => Some(guardian),
        Err(error) => {
            remarks.push(format!("failed to start the guardian process: {error}"));
            None
        }
    };
    worker::install_park_handler()
        .map_err(|error| RunError::refused("failed to install a handler", &error, String::new()))?;
    let _awake = Awake::keep();
    let domains = match options.dispatch {
        Dispatch::Manager => Vec::new(),
        Dispatch::PerCpu(locks) => scopes(&policy.rule(), system, locks),
    };
    let shared = Arc::new(SharedState::with_domains(system.tasks.len(), domains.len().max(1)));
    let run = FifoRun { system, options, shared };
    let watch = Watch::begin(options.hosts.all());
    let throttling = Throttling::of_machine();
    let limit = limit_real_time(options.duration + TAIL);
    let mut result = run.execute(policy, domains, remarks);
    if let Ok(outcome) = &mut result {
        outcome.disturbance = watch.end();
        outcome.throttling = throttling;
        outcome.remarks.extend(disturbance::others(&outcome.disturbance));
    }
    if let Some(limit) = limit {
        let _ = sys::set_real_time_limit(limit);
    }
    sys::unlock_memory();
    if let Some(guardian) = &mut guardian {
        guardian.dismiss();
    }
    result
}

/// Tries the highest priority on a short-lived thread.
fn may_be_real_time() -> Result<(), RunError> {
    let tried = std::thread::Builder::new().spawn(|| sys::set_fifo(Tid::own(), sys::MANAGER));
    let tried = tried.map_err(|error| {
        RunError::refused("failed to start a thread", &error, no_process(&error))
    })?;
    match tried.join() {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            let help = if cgroup_without_budget() {
                "this cgroup has no RT budget (cpu.rt_runtime_us = 0): move to the root cpu cgroup, as in \
                 echo $$ > /sys/fs/cgroup/cpu/tasks"
                    .to_owned()
            } else {
                format!(
                    "need CAP_SYS_NICE or rtprio >= 99 in limits.conf (soft limit now: {})",
                    sys::priority_limit()
                )
            };
            Err(RunError::refused("no real-time priority", &error, help))
        }
        Err(_) => Err(RunError::unsupported("a thread panicked")),
    }
}

/// Returns true if a cpu cgroup (version 1) of this process has no real-time budget.
fn cgroup_without_budget() -> bool {
    let Ok(cgroups) = std::fs::read_to_string("/proc/self/cgroup") else { return false };
    let own = cgroups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == "cpu").then(|| path.to_owned())
    });
    let path = own.map(|path| format!("/sys/fs/cgroup/cpu{path}/cpu.rt_runtime_us"));
    path.and_then(|path| std::fs::read_to_string(path).ok()).is_some_and(|text| text.trim() == "0")
}

/// Makes the kernel end this process if a real-time thread runs for longer than `most` without
/// blocking. Returns the previous limit.
fn limit_real_time(most: Duration) -> Option<(u64, u64)> {
    let (now, hard) = sys::real_time_limit().ok()?;
    let wanted = (most.ns() / 1000) as u64;
    (wanted < now).then(|| sys::set_real_time_limit((wanted, hard)).ok().map(|()| (now, hard)))?
}

struct FifoRun<'a> {
    system: &'a System,
    options: &'a FifoOptions<'a>,
    shared: Arc<SharedState>,
}

impl FifoRun<'_> {
    fn execute(
        &self,
        policy: Box<dyn Policy>,
        domains: Vec<Scope>,
        mut remarks: Vec<String>,
    ) -> Result<Outcome, RunError> {
        let logs = logs_for(self.system, self.options, domains.len(), &mut remarks);
        let order = if domains.is_empty() {
            order_of(&*policy, self.options.releases, &self.shared, &mut remarks)?
        } else {
            make_posts(&self.shared, &self.options.hosts)?;
            None
        };
        let monitor = OnceLock::new();
        let no_thread = |error: &std::io::Error| {
            RunError::refused("failed to start a thread", error, no_process(error))
        };
        std::thread::scope(|scope| {
            // The workers must be released on every path, because the scope would otherwise wait
            // for ever.
            let _release = ReleaseAll(&self.shared);
            let mut workers = Vec::with_capacity(self.system.tasks.len());
            for task in self.system.tasks.ids() {
                let shared = Arc::clone(&self.shared);
                let markers = self.options.markers.clone();
                let name = comm(&self.system.tasks[task].name).replace('\0', " ");
                let builder = std::thread::Builder::new().name(name);
                let worker = match order {
                    None => builder
                        .stack_size(WORKER_STACK)
                        .spawn_scoped(scope, move || worker::work(&shared, task, markers.as_ref())),
                    Some(_) => {
                        let monitor = &monitor;
                        builder.stack_size(STEPPING_STACK).spawn_scoped(scope, move || {
                            worker::work_by_itself(&shared, task, markers.as_ref(), monitor);
                        })
                    }
                };
                workers.push(worker.map_err(|error| no_thread(&error))?);
            }
            self.wait_for_workers();
            if let Err(error) = sys::lock_memory() {
                remarks.push(format!(
                    "failed to lock the memory ({error}): page faults may delay jobs; raise memlock in limits.conf"
                ));
            }
            let until = sys::monotonic_ns() + LEAD_NS + (self.options.duration + TAIL).ns();
            let watchdog =
                Watchdog::start(&self.shared, until, Post::Anywhere).map_err(|e| no_thread(&e))?;
            let class = watchdog.class();
            match class {
                WatchdogClass::Deadline => {}
                WatchdogClass::Fifo | WatchdogClass::Ordinary => remarks.push(
                    "the watchdog is not a SCHED_DEADLINE thread: a runaway manager may hold its CPU"
                        .to_owned(),
                ),
            }
            let epoch_ns = sys::monotonic_ns() + LEAD_NS;
            if let Some(markers) = &self.options.markers {
                markers.begin(epoch_ns, self.options.hosts.of.as_slice());
            }
            let start_of = move |policy: Box<dyn Policy>, log: Log| Start {
                system: self.system,
                policy,
                markers: self.options.markers.as_deref(),
                log,
                seed: self.options.seed,
                epoch_ns,
                end: Time::ZERO + self.options.duration,
            };
            let (shared, hosts) = (&*self.shared, &self.options.hosts);
            let (order, monitor, timers) = (order.as_ref(), &monitor, self.options.timers);
            let manager = std::thread::Builder::new()
                .stack_size(MANAGER_STACK)
                .spawn_scoped(scope, move || {
                    if !domains.is_empty() {
                        return manage_per_cpu((policy, logs), &start_of, shared, hosts, domains);
                    }
                    let log = logs.into_iter().next().unwrap_or_default();
                    manage(start_of(policy, log), shared, hosts, order, (monitor, timers))
                })
                .map_err(|error| no_thread(&error))?;
            while !manager.is_finished() {
                sys::sleep_until(sys::monotonic_ns() + 10_000_000);
                if self.options.interrupt.is_some_and(|flag| flag.load(Ordering::SeqCst)) {
                    self.shared.stop.store(true, Ordering::Release);
                    self.shared.ring();
                }
            }
            // After a panic of the policy, no thread must keep a real-time priority.
            self.shared.demote_all();
            self.shared.release_all();
            drop(watchdog);
            // A scope waits for the closures of its threads, not for the threads: join them, so
            // that none is left after a run.
            for worker in workers {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
            match manager.join() {
                Ok(Ok(finished)) => {
                    let tripped = self.shared.tripped.load(Ordering::Acquire);
                    let mut outcome = outcome_of(finished, remarks, class, tripped)?;
                    outcome.manager = self.options.hosts.shared();
                    Ok(outcome)
                }
                Ok(Err(error)) => Err(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn wait_for_workers(&self) {
        let all = |post: &worker::Post| post.tid.load(Ordering::Acquire) != 0;
        while !self.shared.posts.iter().all(all) {
            sys::sleep_until(sys::monotonic_ns() + 100_000);
        }
    }
}

/// Builds the outcome of a run, with the reasons to doubt it.
pub(crate) fn outcome_of(
    finished: Finished,
    remarks: Vec<String>,
    watchdog: WatchdogClass,
    tripped: bool,
) -> Result<Outcome, RunError> {
    if let Some(reason) = finished.unsupported {
        return Err(RunError::unsupported(reason));
    }
    let mut doubts = Vec::new();
    if finished.log_full || finished.log.lost > 0 {
        doubts.push(format!(
            "the log was full at {}: the run was ended there, and {} records are lost",
            finished.end, finished.log.lost
        ));
    }
    if finished.measured.not_parked > 0 {
        doubts.push(format!(
            "{} could not be suspended, because the queue of signals was full: see ulimit -i",
            counted(finished.measured.not_parked as usize, "thread")
        ));
    }
    if tripped {
        doubts.push(format!(
            "the watchdog found the manager late and ended the run at {}",
            finished.end
        ));
    }
    Ok(Outcome {
        log: finished.log,
        measured: finished.measured,
        end: finished.end,
        interrupted: finished.interrupted,
        events: finished.events,
        decisions: finished.decisions,
        manager: None,
        disturbance: Disturbance::default(),
        throttling: Vec::new(),
        doubts,
        remarks,
        watchdog,
        cpu_changes: Vec::new(),
        #[cfg(feature = "ext")]
        ext: None,
    })
}

struct ReleaseAll<'a>(&'a SharedState);

impl Drop for ReleaseAll<'_> {
    fn drop(&mut self) {
        self.0.release_all();
    }
}

/// Runs the manager's thread.
fn manage<'a>(
    start: Start<'a>,
    shared: &'a SharedState,
    hosts: &'a Hosts,
    order: Option<&FixedOrder>,
    (monitor, timers): (&OnceLock<Monitor<'a, FifoThreads<'a>>>, Timers),
) -> Result<Finished, RunError> {
    sys::name_thread("layland-manager");
    sys::precise_timers();
    let own = Tid::own();
    let pinned = sys::pin(own, hosts.manager);
    let help = || "choose other CPUs with --on-cpus".to_owned();
    pinned.map_err(|error| RunError::refused("failed to choose a CPU", &error, help()))?;
    let threads = FifoThreads::prepare(start.system, shared, &hosts.of, order)?;
    let mut manager = Manager::new(start, threads);
    manager.announce();
    sys::set_fifo(own, sys::MANAGER).map_err(|error| {
        let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
        RunError::refused("no real-time priority", &error, help)
    })?;
    shared.manager.store(own.0, Ordering::Release);
    shared.expect_awake_by(0, sys::monotonic_ns());
    let finished = match shared.timer.get() {
        None => Some(manager.run()),
        Some(timer) => monitor.get_or_init(|| Monitor::new(manager, timer, timers)).manage(own),
    };
    let _ = sys::set_ordinary(own);
    // Another thread may get this number soon.
    shared.manager.store(0, Ordering::Release);
    finished.ok_or_else(|| RunError::unsupported("a thread panicked"))
}
