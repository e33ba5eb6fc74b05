//! A run from beginning to end: root domains or no admission control, threads, results.
//!
//! Long because the threads, the controller and the main thread share the state that is here.

use super::plan::ADMISSION_SETTING;
use super::thread::{OwnRequest, ThreadLog, Worker, answer, carry_out};
use super::{CpusetError, Cpusets, Plan, Reservation};
use crate::fifo::prepare::least_slack;
use crate::kernel::markers::Markers;
use crate::kernel::sys::{self, Tid};
use crate::machine::changes::{Changes, no_process};
use crate::machine::disturbance::{self, Disturbance, Watch};
use crate::machine::repair::{Repair, SYSCTLS};
use layland_engine::streams::Stream;
use layland_model::{
    Change, CpuId, Duration, Index, JobId, RequestKind, Service, System, TaskId, Time,
};
use layland_trace::{Answer, Trace};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The time between the last thread's entry into SCHED_DEADLINE and time 0.
const LEAD_NS: i64 = 50_000_000;

/// The options of a run.
#[derive(Clone)]
pub struct DeadlineOptions<'a> {
    /// The end of arrivals; jobs that are pending then are cut off.
    pub until: Duration,
    /// Seeds the streams from which execution times are drawn, as in a simulation.
    pub seed: u64,
    /// The machine's CPU for each CPU of the platform.
    pub cpus: &'a [usize],
    /// The destination of marks.
    pub markers: Option<Arc<Markers>>,
    /// Ends the run early.
    pub interrupt: Option<&'a AtomicBool>,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// The jobs, segments and answers that the threads observed.
    pub trace: Trace,
    /// The number of budget overruns that the kernel reported.
    pub overruns: u64,
    /// The causes that took CPUs from the run, by name.
    pub disturbance: Disturbance,
}

/// The reason why a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A thread cannot be started.
    #[error("failed to start the thread of task `{task}`: {error}")]
    Thread {
        /// The task.
        task: String,
        /// The error of the system call.
        error: io::Error,
    },
    /// A root domain cannot be created.
    #[error(transparent)]
    Cpuset(#[from] CpusetError),
    /// The process lacks `CAP_SYS_NICE`.
    #[error("SCHED_DEADLINE needs CAP_SYS_NICE; no rlimit and no rtkit can grant it")]
    NotPermitted,
    /// The affinity of a thread is smaller than its root domain.
    #[error("task `{task}`: its affinity {affinity:?} is smaller than its root domain")]
    Affinity {
        /// The task.
        task: String,
        /// The CPUs that its thread may use.
        affinity: Vec<usize>,
    },
    /// Admission control refused a reservation.
    #[error(
        "task `{task}`: the kernel's admission control refused {runtime} every {period} (EBUSY): \
         this set reserves {sum:.3} on {cpus} CPUs of this root domain, and others have \
         reserved part of the {limit:.3}, or a reservation that has just ended still counts"
    )]
    Busy {
        /// The task.
        task: String,
        /// The runtime that it asked for.
        runtime: Duration,
        /// The period of the reservation.
        period: Duration,
        /// The load that the whole domain asks for.
        sum: f64,
        /// The number of CPUs of the domain.
        cpus: usize,
        /// The load that may be reserved in the domain.
        limit: f64,
    },
    /// The rules of the repair cannot be switched on.
    #[error(
        "failed to switch on the repair of SCHED_DEADLINE, kernel.sched_dl_semi_partitioned: {0}"
    )]
    Repair(io::Error),
    /// Admission control cannot be switched off.
    #[error("failed to switch off admission control, in {ADMISSION}: {0}")]
    Admission(io::Error),
    /// The kernel returned another error.
    #[error("task `{task}`: the kernel refused SCHED_DEADLINE: {error}")]
    Refused {
        /// The task.
        task: String,
        /// The error that the kernel returned.
        error: io::Error,
    },
}

impl Ran {
    /// Returns the reason, if any, why missed deadlines say more about this machine than about the
    /// kernel's scheduler.
    pub fn excuse(&self, system: &System) -> Option<String> {
        let slack = least_slack(system)?;
        // The kernel's scheduler causes the pauses of the run's own threads, so only the CPU time
        // that other threads took counts.
        disturbance::excuse(Duration::ZERO, &self.disturbance, None, slack)
    }
}

impl RunError {
    /// Returns the name of the task whose thread could not be set up, if the error concerns one.
    pub fn task(&self) -> Option<&str> {
        match self {
            RunError::Thread { task, .. }
            | RunError::Affinity { task, .. }
            | RunError::Busy { task, .. }
            | RunError::Refused { task, .. } => Some(task),
            RunError::Cpuset(_)
            | RunError::NotPermitted
            | RunError::Repair(_)
            | RunError::Admission(_) => None,
        }
    }

    /// Returns advice for the user.
    pub fn help(&self) -> String {
        match self {
            RunError::Thread { error, .. } => no_process(error),
            RunError::Cpuset(error) => error.help(),
            RunError::NotPermitted => "run it as root, e.g. with sudo".to_owned(),
            RunError::Affinity { .. } => {
                "let the platform have all CPUs of the machine, or start it without taskset"
                    .to_owned()
            }
            RunError::Busy { .. } => {
                "wait a period, stop the other SCHED_DEADLINE threads, or choose a smaller --reserve"
                    .to_owned()
            }
            RunError::Repair(_) | RunError::Admission(_) => {
                "run it as root, e.g. with sudo".to_owned()
            }
            RunError::Refused { .. } => "see `layland doctor`".to_owned(),
        }
    }
}

/// The state that the threads share.
pub(super) struct SharedState {
    /// Time 0 in `CLOCK_MONOTONIC` nanoseconds, or 0 while it is unknown.
    pub epoch: AtomicI64,
    /// The number of threads that have tried to enter SCHED_DEADLINE.
    ready: AtomicU32,
    /// True if the run is over or has been cancelled.
    pub stop: AtomicBool,
    pub until: i64,
    pub markers: Option<Arc<Markers>>,
    /// By task: true if it has left.
    pub left: Vec<AtomicBool>,
    /// By task: the kernel id of its thread.
    threads: Vec<AtomicI32>,
    /// Parameter changes that the threads of the tasks have not applied yet.
    pub changes: Mutex<Vec<(TaskId, Change)>>,
}

impl SharedState {
    fn new(system: &System, options: &DeadlineOptions) -> SharedState {
        SharedState {
            epoch: AtomicI64::new(0),
            ready: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            until: options.until.ns(),
            markers: options.markers.clone(),
            left: system.tasks.ids().map(|_| AtomicBool::new(false)).collect(),
            threads: system.tasks.ids().map(|_| AtomicI32::new(0)).collect(),
            changes: Mutex::default(),
        }
    }

    /// Waits until `end`, or until the run is cancelled. Returns true if the user interrupts it.
    fn wait(&self, end: i64, interrupt: Option<&AtomicBool>) -> bool {
        let mut is_interrupted = false;
        while sys::monotonic_ns() < end && !self.stop.load(Ordering::SeqCst) {
            if interrupt.is_some_and(|flag| flag.load(Ordering::SeqCst)) {
                is_interrupted = true;
                self.stop.store(true, Ordering::SeqCst);
            }
            sys::sleep_until((sys::monotonic_ns() + 10_000_000).min(end));
        }
        is_interrupted
    }
}

/// Runs a set on the kernel's scheduler.
///
/// # Errors
/// Returns an error if the kernel refuses; all changes are reverted then.
pub fn run(
    system: &System,
    plan: &Plan,
    limit_per_cpu: f64,
    options: &DeadlineOptions,
    changes: &mut Changes,
) -> Result<Ran, RunError> {
    let machine = |cpu: CpuId| options.cpus.get(cpu.index()).copied().unwrap_or(cpu.index());
    let domains: Vec<Vec<usize>> =
        plan.domains.iter().map(|domain| domain.cpus.iter().map(machine).collect()).collect();
    // A domain of all CPUs needs no cpuset, because the whole machine is a root domain already.
    let is_whole = domains.len() == 1 && domains[0].len() == online().max(1);
    let is_free = plan.affinities.is_some() && plan.repair.is_none();
    if let Some(repair) = plan.repair {
        let path = Path::new(SYSCTLS).join("kernel").join(Repair::SETTING);
        changes
            .change(Repair::SETTING, &path, &repair.value().to_string())
            .map_err(RunError::Repair)?;
    }
    if is_free {
        changes.wait_for_ended();
        // The setting stays until the changes are reverted.
        changes
            .change(ADMISSION_SETTING, Path::new(ADMISSION), "-1")
            .map_err(RunError::Admission)?;
    }
    let cpusets = if is_whole || is_free { None } else { Some(Cpusets::make(&domains, changes)?) };
    // The kernel counts a thread that has ended until its zero-lag time, at most one period longer.
    let periods = plan.reservations.values().map(|reservation| reservation.period);
    let longest = periods.max().unwrap_or_default();
    changes.pause_before(longest).map_err(RunError::Admission)?;
    let watch = Watch::of_deadline_threads(options.cpus.to_vec());
    sys::count_overruns().map_err(|error| RunError::Refused { task: String::new(), error })?;
    let overruns = sys::overruns();
    let shared = Arc::new(SharedState::new(system, options));
    let plan = Arc::new(plan.clone());
    let cpusets = Arc::new(cpusets);
    let Crew { threads, failure, not_started } = start(system, &plan, options, &shared, &cpusets);
    let count = threads.len() as u32;
    while shared.ready.load(Ordering::SeqCst) < count {
        sys::sleep_until(sys::monotonic_ns() + 1_000_000);
    }
    let epoch = sys::monotonic_ns() + LEAD_NS + plan.lead.ns();
    if let Some(markers) = &shared.markers {
        markers.begin(epoch, options.cpus);
    }
    shared.epoch.store(epoch, Ordering::SeqCst);
    let controller = controller(system, &plan, options.cpus, &shared, epoch);
    let is_interrupted = shared.wait(epoch + options.until.ns(), options.interrupt);
    let disturbance = watch.end();
    let over = Time::from_ns((sys::monotonic_ns() - epoch).clamp(0, options.until.ns()));
    shared.stop.store(true, Ordering::SeqCst);
    let mut trace = Trace { over, interrupted: is_interrupted, ..Trace::default() };
    collect(threads, controller, &mut trace);
    if let Some(markers) = &shared.markers {
        markers.end(over);
    }
    if count > 0 {
        changes.note_ended(longest);
    }
    if let Some(cpusets) = cpusets.as_ref() {
        cpusets.remove(changes);
    }
    if let Some(error) = not_started {
        return Err(error);
    }
    let failure = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((id, failed)) = failure {
        return Err(explain(system, &plan, limit_per_cpu, id, failed));
    }
    cut(&mut trace);
    settle(&mut trace);
    Ok(Ran { trace, overruns: sys::overruns() - overruns, disturbance })
}

/// The threads of the tasks.
struct Crew {
    threads: Vec<JoinHandle<ThreadLog>>,
    /// The first thread that could not enter its reservation.
    failure: Arc<Mutex<Option<(TaskId, Failed)>>>,
    /// The reason why a thread was not started; those after it were not either.
    not_started: Option<RunError>,
}

/// Starts a thread for each task that is admitted.
fn start(
    system: &System,
    plan: &Arc<Plan>,
    options: &DeadlineOptions,
    shared: &Arc<SharedState>,
    cpusets: &Arc<Option<Cpusets>>,
) -> Crew {
    let machine = |cpu: CpuId| options.cpus.get(cpu.index()).copied().unwrap_or(cpu.index());
    let failure: Arc<Mutex<Option<(TaskId, Failed)>>> = Arc::default();
    let mut threads = Vec::new();
    let mut not_started = None;
    for (id, task) in system.tasks.iter() {
        let domain = plan.domain_of(id);
        if domain.is_none() && plan.affinities.is_none() {
            continue;
        }
        let stream = Stream::new(id, &system.tasks, options.seed);
        let (own, failure, cpusets) =
            (Arc::clone(shared), Arc::clone(&failure), Arc::clone(cpusets));
        let reservation = plan.reservations[id];
        let affinity: Option<Vec<usize>> =
            plan.affinities.as_ref().map(|of| of[id].iter().map(machine).collect());
        let (affinity, tied) = match plan.repair {
            None => (affinity, None),
            // Its root domain has the others.
            Some(_) => (None, affinity.filter(|cpus| cpus.len() == 1).map(|cpus| cpus[0])),
        };
        let requests = own_requests(system, plan, id);
        let (cpus, plan) = (options.cpus.to_vec(), Arc::clone(plan));
        let body = move || {
            own.threads[id.index()].store(Tid::own().0, Ordering::SeqCst);
            let place = ThreadPlace { cpusets: cpusets.as_ref().as_ref(), domain, affinity, tied };
            let entered = enter(reservation, place);
            if let Err(error) = entered {
                own.stop.store(true, Ordering::SeqCst);
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert((id, error));
            }
            drop(cpusets);
            own.ready.fetch_add(1, Ordering::SeqCst);
            let not_before = Time::ZERO;
            let (shared, plan, cpus) = (&*own, &*plan, &*cpus);
            let seen = ThreadLog::default();
            let mut worker = Worker { id, stream, shared, plan, cpus, requests, not_before, seen };
            worker.work();
            worker.seen
        };
        let builder = std::thread::Builder::new()
            .name(layland_interchange::kernel::comm(&task.name).replace('\0', " "))
            .stack_size(256 * 1024);
        match builder.spawn(body) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                shared.stop.store(true, Ordering::SeqCst);
                not_started = Some(RunError::Thread { task: task.name.to_string(), error });
                break;
            }
        }
    }
    Crew { threads, failure, not_started }
}

/// Waits for the threads to end, and takes what they saw.
fn collect(
    threads: Vec<JoinHandle<ThreadLog>>,
    controller: Option<JoinHandle<Vec<Answer>>>,
    trace: &mut Trace,
) {
    for thread in threads {
        // The message of a panicking thread is already printed, so its results are skipped
        // silently.
        let Ok(seen) = thread.join() else { continue };
        trace.jobs.extend(seen.jobs);
        trace.segments.extend(seen.segments);
        trace.answers.extend(seen.answers);
    }
    if let Some(Ok(answers)) = controller.map(JoinHandle::join) {
        trace.answers.extend(answers);
    }
    trace.answers.sort_by_key(|answer| answer.at);
}

/// Drops what threads did after the end of the run.
fn cut(trace: &mut Trace) {
    let over = trace.over;
    trace.segments.retain_mut(|segment| {
        segment.end = segment.end.min(over);
        segment.start < segment.end
    });
    for record in &mut trace.jobs {
        record.end = record.end.filter(|&(at, _)| at <= over);
    }
    trace.jobs.retain(|record| record.job.arrival <= over);
}

/// Sorts the trace and computes the execution of each job from its segments.
fn settle(trace: &mut Trace) {
    trace.segments.sort_by_key(|segment| (segment.end, segment.cpu));
    let mut supplied: std::collections::BTreeMap<JobId, Service> = Default::default();
    for segment in &trace.segments {
        let length = Service::from_ns((segment.end - segment.start).ns());
        *supplied.entry(segment.job).or_default() += length;
    }
    for record in &mut trace.jobs {
        record.executed = supplied.get(&record.job.id).copied().unwrap_or_default();
    }
    trace.jobs.sort_by_key(|record| {
        (record.end.map_or((1, trace.over), |(at, _)| (0, at)), record.job.id)
    });
}

fn online() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    text.trim().parse::<layland_model::CpuSet>().map_or(0, |cpus| cpus.len())
}

/// The reason why a thread could not enter SCHED_DEADLINE.
enum Failed {
    Cpuset(CpusetError),
    Kernel(io::Error, Vec<usize>),
}

/// The CPUs on which a thread runs.
struct ThreadPlace<'a> {
    cpusets: Option<&'a Cpusets>,
    domain: Option<usize>,
    /// The CPUs of the machine, if there are no root domains.
    affinity: Option<Vec<usize>>,
    /// The CPU to which it is tied, in a root domain with the repair.
    tied: Option<usize>,
}

fn enter(reservation: Reservation, place: ThreadPlace<'_>) -> Result<(), Failed> {
    if let (Some(cpusets), Some(domain)) = (place.cpusets, place.domain) {
        cpusets.attach(domain, Tid::own()).map_err(Failed::Cpuset)?;
    }
    let failed = |error| Failed::Kernel(error, sys::allowed_cpus().unwrap_or_default());
    let own = Tid::own();
    if let Some(cpu) = place.tied {
        // The kernel decides by the affinity, and lets no thread change it later.
        sys::set_affinity(own, [cpu]).map_err(failed)?;
    }
    let Some(affinity) = place.affinity else {
        return sys::set_deadline(own, reservation, true).map_err(failed);
    };
    // The thread begins on the first of its CPUs.
    let first = affinity.first().copied();
    sys::set_affinity(own, first).map_err(failed)?;
    sys::set_deadline(own, reservation, true).map_err(failed)?;
    sys::sleep_until(sys::monotonic_ns() + 2_000_000);
    sys::set_affinity(own, affinity).map_err(failed)
}

/// The limit of real-time threads; -1 switches admission control off.
const ADMISSION: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Returns the requests that the thread of a task issues itself.
fn own_requests(system: &System, plan: &Plan, id: TaskId) -> VecDeque<OwnRequest> {
    let of_task = |kind: &RequestKind| match kind {
        RequestKind::Reconfigure(task, _) => *task == id,
        RequestKind::Leave(_)
        | RequestKind::SetClusterCpus { .. }
        | RequestKind::CpuOnline(_)
        | RequestKind::CpuOffline(_) => false,
    };
    let mine = system.requests.iter().filter(|request| plan.asks_itself && of_task(&request.kind));
    mine.map(|request| OwnRequest {
        at: request.at,
        kind: request.kind.clone(),
        words: system.describe(&request.kind),
    })
    .collect()
}

/// Starts a thread that carries out the other requests at their times.
fn controller(
    system: &System,
    plan: &Arc<Plan>,
    cpus: &[usize],
    shared: &Arc<SharedState>,
    epoch: i64,
) -> Option<JoinHandle<Vec<Answer>>> {
    let mut due = Vec::new();
    for request in &system.requests {
        let (task, is_own) = match &request.kind {
            RequestKind::Reconfigure(task, _) => (*task, plan.asks_itself),
            RequestKind::Leave(task) => (*task, false),
            RequestKind::SetClusterCpus { .. }
            | RequestKind::CpuOnline(_)
            | RequestKind::CpuOffline(_) => continue,
        };
        if !is_own {
            let at = request.at + plan.settle[task];
            due.push((at, task, request.kind.clone(), system.describe(&request.kind)));
        }
    }
    if due.is_empty() {
        return None;
    }
    let (plan, cpus, shared) = (Arc::clone(plan), cpus.to_vec(), Arc::clone(shared));
    let body = move || {
        let period = Duration::from_ms(1);
        let urgent = Reservation { runtime: Duration::from_us(500), deadline: period, period };
        // If the kernel refuses, requests are carried out only when a CPU is free.
        let _ = sys::set_deadline(Tid::own(), urgent, false);
        let mut answers = Vec::new();
        for (at, task, kind, words) in due {
            sys::sleep_until(epoch + at.ns());
            if shared.stop.load(Ordering::SeqCst) {
                break;
            }
            let thread = Tid(shared.threads[task.index()].load(Ordering::SeqCst));
            let result = carry_out(&shared, &plan, &cpus, thread, &kind);
            let now = Time::from_ns(sys::monotonic_ns() - epoch);
            answers.push(answer(now, words, &result));
        }
        answers
    };
    std::thread::Builder::new().name("layland-asks".to_owned()).spawn(body).ok()
}

/// Maps an error of the kernel to the matching [`RunError`].
fn explain(system: &System, plan: &Plan, limit: f64, id: TaskId, failed: Failed) -> RunError {
    let task = system.tasks[id].name.to_string();
    let (error, affinity) = match failed {
        Failed::Cpuset(error) => return error.into(),
        Failed::Kernel(error, affinity) => (error, affinity),
    };
    match error.raw_os_error() {
        Some(libc::EPERM) if sys::has_capability(sys::CAP_SYS_NICE) => {
            RunError::Affinity { task, affinity }
        }
        Some(libc::EPERM) => RunError::NotPermitted,
        Some(libc::EBUSY) => {
            let Reservation { runtime, period, .. } = plan.reservations[id];
            let domain = plan.domain_of(id).map(|index| &plan.domains[index]);
            let (sum, cpus) =
                domain.map_or((0.0, 0), |domain| (plan.load(domain), domain.cpus.len()));
            RunError::Busy { task, runtime, period, sum, cpus, limit: limit * cpus as f64 }
        }
        Some(_) | None => RunError::Refused { task, error },
    }
}
