//! A run from beginning to end: the process of the threads, the mechanism, the manager, the
//! results.

use super::load::ThreadProcess;
use super::mechanism::Mechanism;
use super::posts::{self, Posts};
use super::shared::{CPUS, Settings, THREADS};
use super::threads::{ExtThreads, How, Last};
use super::{DEAD_NS, LATE_NS};
use crate::RunError;
use crate::fifo::guard::{Post, Watchdog, WatchdogClass};
use crate::fifo::logs::log_for;
use crate::fifo::outcome::Outcome;
use crate::fifo::run::{FifoOptions, LONGEST, TAIL, outcome_of, supports};
use crate::fifo::worker::SharedState;
use crate::kernel::sys::{self, Tid};
use crate::machine::Awake;
use crate::machine::disturbance::{self, Watch};
use crate::machine::ext::{ExtSupport, Obstacle, support};
use crate::machine::guardian::Guardian;
use crate::machine::throttling::Throttling;
use crate::manager::{Finished, Manager, Start};
use layland_model::{CpuId, Duration, Request, RequestKind, System, Time};
use layland_policy::Policy;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The time from attaching the mechanism, which disturbs every CPU for a moment, to time zero.
const LEAD_NS: i64 = 400_000_000;
/// The time that loading may take.
const LOADING: Duration = Duration::from_secs(30);
/// The time until threads that were woken have fallen asleep again.
const SETTLING_NS: i64 = 50_000_000;
const MANAGER_STACK: usize = 4 << 20;

/// The options of a run.
pub struct ExtOptions<'a> {
    /// The options of a run on `SCHED_FIFO`, which apply here, too.
    pub fifo: FifoOptions<'a>,
    /// True if CPUs act by a table before the manager has decided.
    pub looks_ahead: bool,
    /// True if the caretaker of the kernel acts at once: global EDF in the kernel, as a reference
    /// for latencies. The decisions of the policy are still carried out, a moment later.
    pub is_reference: bool,
}

/// Runs a valid system on real threads of class `SCHED_EXT`, under a policy that was built for it.
///
/// Arrivals and execution times are the same as those of [`run()`](crate::run()) on `SCHED_FIFO`.
///
/// # Errors
/// Returns an error if the kernel rejects the mechanism, refuses real-time priorities or a thread,
/// or has another scheduler; or if the system or the policy requires a feature that real threads do
/// not have.
pub fn run(
    system: &System,
    policy: Box<dyn Policy>,
    options: &ExtOptions<'_>,
) -> Result<Outcome, RunError> {
    supports(system, &*policy)?;
    let duration = options.fifo.duration;
    if !(Duration::from_ms(1)..=LONGEST).contains(&duration) {
        let reason = format!("a run of {duration} is out of range: 1 ms to {LONGEST}");
        return Err(RunError::unsupported(reason));
    }
    if system.tasks.len() > THREADS {
        let reason = format!("the engine ext carries at most {THREADS} tasks");
        return Err(RunError::unsupported(reason));
    }
    if let Some(host) = options.fifo.hosts.of.values().find(|&&host| host >= CPUS) {
        let reason =
            format!("the engine ext uses the first {CPUS} CPUs of a machine, and not CPU {host}");
        return Err(RunError::unsupported(reason));
    }
    let support = support();
    refuse(&support)?;
    let mut remarks = Vec::new();
    let mut guardian = match Guardian::start(duration + TAIL + LOADING) {
        Ok(guardian) => Some(guardian),
        Err(error) => {
            remarks.push(format!("failed to start the guardian process: {error}"));
            None
        }
    };
    let _awake = Awake::keep();
    let watch = Watch::begin(options.fifo.hosts.all());
    let throttling = Throttling::of_machine();
    let mut result = execute(system, policy, options, &support, remarks);
    if let Ok(outcome) = &mut result {
        outcome.disturbance = watch.end();
        outcome.throttling = throttling;
        outcome.remarks.extend(disturbance::others(&outcome.disturbance));
    }
    sys::unlock_memory();
    if let Some(guardian) = &mut guardian {
        guardian.dismiss();
    }
    result
}

/// Returns an error if anything prevents a run, before anything is changed.
pub(super) fn refuse(support: &ExtSupport) -> Result<(), RunError> {
    let Some(first) = support.obstacles.first() else { return Ok(()) };
    let all: Vec<String> = support.obstacles.iter().map(Obstacle::to_string).collect();
    Err(RunError::Refused {
        what: "the engine ext cannot run here".to_owned(),
        error: all.join("; "),
        help: first.fix().to_owned(),
    })
}

fn execute(
    system: &System,
    policy: Box<dyn Policy>,
    options: &ExtOptions<'_>,
    support: &ExtSupport,
    mut remarks: Vec<String>,
) -> Result<Outcome, RunError> {
    let fifo = &options.fifo;
    let control = Arc::new(SharedState::new(0));
    let no_thread = |error: &std::io::Error| {
        RunError::refused("failed to start a thread", error, String::new())
    };
    // Fork before this process starts threads, because a fork would not copy them.
    let load = ThreadProcess::start(system, fifo.hosts.of.as_slice(), fifo.markers.as_ref())
        .map_err(|error| no_thread(&error))?;
    let log = log_for(system, fifo, &mut remarks);
    if let Err(error) = sys::lock_memory() {
        remarks.push(format!(
            "failed to lock the memory ({error}): page faults may delay the manager; raise memlock in limits.conf"
        ));
    }
    let until = sys::monotonic_ns() + (fifo.duration + TAIL + LOADING).ns();
    let watchdog =
        Watchdog::start(&control, until, Post::Anywhere).map_err(|error| no_thread(&error))?;
    let class = watchdog.class();
    // The fair class preempts `SCHED_EXT`, so this ordinary thread leaves the CPUs of the load.
    let allowed = sys::allowed_cpus().unwrap_or_default();
    let _ = sys::pin(Tid::own(), fifo.hosts.manager);
    let ended = std::thread::scope(|scope| {
        let (shared, load) = (&*control, &load);
        let manager =
            std::thread::Builder::new().stack_size(MANAGER_STACK).spawn_scoped(scope, move || {
                manage(system, policy, options, support, log, shared, load)
            });
        let manager = manager.map_err(|error| no_thread(&error))?;
        while !manager.is_finished() {
            sys::sleep_until(sys::monotonic_ns() + 10_000_000);
            let interrupted = fifo.interrupt.is_some_and(|flag| flag.load(Ordering::SeqCst));
            if interrupted || load.is_gone() {
                control.stop.store(true, Ordering::Release);
            }
        }
        manager.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    drop(watchdog);
    drop(load);
    let _ = sys::set_affinity(Tid::own(), allowed);
    let ManagerEnd { finished, last, epoch_ns } = ended?;
    let Last { figures, over, cpu_changes } = last;
    let tripped = control.tripped.load(Ordering::Acquire);
    if !matches!(class, WatchdogClass::Deadline) {
        remarks.push(
            "the watchdog is not a SCHED_DEADLINE thread: a runaway manager may hold its CPU"
                .to_owned(),
        );
    }
    let end = finished.end;
    let mut outcome = outcome_of(finished, remarks, class, tripped)?;
    outcome.manager = fifo.hosts.shared();
    outcome.ext = Some(figures);
    outcome.cpu_changes = cpu_changes.into_iter().map(|change| request(epoch_ns, change)).collect();
    let mut doubt = |text: String| outcome.doubts.push(text);
    if let Some(over) = over {
        doubt(format!("{over}: the run ended at {end}"));
    }
    if figures.by_caretaker > 0 && !options.is_reference {
        doubt(format!(
            "the manager was late: {} by the caretaker of the kernel, by earliest deadline",
            layland_model::counted(figures.by_caretaker as usize, "decision"),
        ));
    }
    if figures.lost > 0 {
        doubt(format!("the manager did not read {} of the kernel's messages", figures.lost));
    }
    Ok(outcome)
}

/// Represents a CPU that came or went as a request of the set.
fn request(epoch_ns: i64, (at_ns, cpu, online): (i64, CpuId, bool)) -> Request {
    let at = Time::from_ns((at_ns - epoch_ns).max(0));
    Request {
        at,
        kind: if online { RequestKind::CpuOnline(cpu) } else { RequestKind::CpuOffline(cpu) },
    }
}

/// The result of the manager's thread.
struct ManagerEnd {
    finished: Finished,
    last: Last,
    epoch_ns: i64,
}

/// Runs the manager's thread.
fn manage(
    system: &System,
    policy: Box<dyn Policy>,
    options: &ExtOptions<'_>,
    support: &ExtSupport,
    log: crate::log::Log,
    control: &SharedState,
    load: &ThreadProcess,
) -> Result<ManagerEnd, RunError> {
    sys::name_thread("layland-manager");
    sys::precise_timers();
    let fifo = &options.fifo;
    let own = Tid::own();
    let help = || "choose other CPUs with --on-cpus".to_owned();
    sys::pin(own, fifo.hosts.manager)
        .map_err(|error| RunError::refused("failed to choose a CPU", &error, help()))?;
    let polls = support.manager_polls();
    let settings = Settings {
        cpus_used: fifo.hosts.of.values().fold(0, |bits, &host| bits | 1 << host),
        late_ns: if options.is_reference { 0 } else { LATE_NS },
        dead_ns: DEAD_NS,
        has_timers: u32::from(support.has_timers),
        wakes_manager: u32::from(!polls),
    };
    let mut mechanism = Mechanism::load(&settings, polls)?;
    mechanism.attach()?;
    let how = How { looks_ahead: options.looks_ahead, polls };
    let members = posts::threads_of(load, &mechanism)?;
    let work = Posts(load);
    let threads = ExtThreads::new(control, work, members, mechanism, &fifo.hosts.of, &how);
    let epoch_ns = sys::monotonic_ns() + LEAD_NS;
    if let Some(markers) = &fifo.markers {
        markers.begin(epoch_ns, fifo.hosts.of.as_slice());
    }
    let start = Start {
        system,
        policy,
        markers: fifo.markers.as_deref(),
        log,
        seed: fifo.seed,
        epoch_ns,
        end: Time::ZERO + fifo.duration,
    };
    let mut manager = Manager::new(start, threads);
    manager.announce();
    sys::sleep_until(sys::monotonic_ns() + SETTLING_NS);
    manager.carrier.hand_over()?;
    sys::set_fifo(own, sys::MANAGER).map_err(|error| {
        let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
        RunError::refused("no real-time priority", &error, help)
    })?;
    control.manager.store(own.0, Ordering::Release);
    control.expect_awake_by(0, sys::monotonic_ns() + LEAD_NS);
    let (mut finished, threads) = manager.run_with_carrier();
    let _ = sys::set_ordinary(own);
    // Another thread may get this number soon.
    control.manager.store(0, Ordering::Release);
    let last = threads.end(&mut finished.measured);
    Ok(ManagerEnd { finished, last, epoch_ns })
}
