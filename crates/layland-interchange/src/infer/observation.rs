//! What a trace says of the jobs of threads, whatever wrote it.

use layland_model::{CpuId, CpuSet, Duration, Index, JobId, Service, Time};
use layland_trace::{JobEnd, Labels, MarkKind, Trace};
use std::collections::BTreeMap;

/// What the names of the kernel's own threads begin with, where those can be real-time.
const OF_KERNEL: [&str; 16] = [
    "migration/",
    "irq/",
    "ksoftirqd/",
    "ktimers/",
    "ktimersoftd/",
    "kworker/",
    "rcu_",
    "rcub/",
    "rcuc/",
    "rcuo",
    "cpuhp/",
    "idle_inject/",
    "watchdog/",
    "watchdogd",
    "sugov:",
    "posixcputmr/",
];

/// A trace, thread by thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// The threads, or the tasks of a trace of ours.
    pub threads: Vec<Thread>,
    /// How many CPUs there are, counted up to the last one that is named.
    pub cpus: usize,
    /// What time 0 is on the clock of the trace, in nanoseconds.
    pub origin_ns: i64,
    /// Whether time 0 is that of the run, and not the first event that happens to be in the trace.
    pub is_run: bool,
    /// How long the trace is.
    pub length: Duration,
    /// Times are multiples of this.
    pub resolution: Duration,
    /// Who wrote it; `None` is a trace of ours.
    pub dialect: Option<&'static str>,
    /// How many events the kernel dropped, at least.
    pub lost: u64,
    /// How many switches to threads the kernel did not record, although it lost nothing.
    pub unrecorded: u64,
    /// How many lines are neither events nor comments.
    pub unknown_lines: u64,
    /// What is doubtful, in words.
    pub remarks: Vec<String>,
    /// When the trace is over.
    pub over: Time,
    /// Who had CPUs for which real-time threads waited.
    pub taken: Vec<Taken>,
}

impl Observation {
    /// The CPUs on which threads of real-time classes ran, but for the kernel's own.
    pub(super) fn used(&self) -> CpuSet {
        let is_real_time = |thread: &&Thread| {
            matches!(thread.class(), Class::Deadline | Class::RealTime { .. })
                && !is_of_kernel(&thread.name)
        };
        let threads = self.threads.iter().filter(is_real_time);
        threads.flat_map(|thread| thread.cpus.iter().collect::<Vec<CpuId>>()).collect()
    }
}

/// A thread had CPUs for which another one waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The place of the one that waited among the threads.
    pub from: usize,
    /// The place of the other one.
    pub by: usize,
    /// The most important priority with which that ran, as the kernel counts.
    pub priority: i32,
    /// The longest part of one wait.
    pub longest: Duration,
    /// All of them together.
    pub total: Duration,
}

/// What was seen of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its name, the last one if it changed.
    pub name: String,
    /// Its id in the kernel.
    pub pid: Option<u32>,
    /// The priorities that it had, as the kernel counts, with how often each was seen; the most frequent first.
    /// -1 is SCHED_DEADLINE, 0 to 98 are SCHED_FIFO and SCHED_RR, the highest first, and from 100 on are the others.
    pub priorities: Vec<(i32, u64)>,
    /// Its jobs in the order of their arrivals.
    pub jobs: Vec<SeenJob>,
    /// How many jobs were left out, as their beginnings are not in the trace.
    pub beheaded: u64,
    /// How many were left out as switches of the thread are missing in them.
    pub torn: u64,
    /// How many were left out as what a thread does when it is born or dies.
    pub unlike: u64,
    /// How many times it lost its CPU because its reservation was used up, or because it gave up the rest by a yield.
    pub throttled: u64,
    /// Where it ran.
    pub cpus: CpuSet,
    /// How many times it waited for a CPU while another one had nothing as important: the kernel would have moved it
    /// there if it could.
    pub tied: u64,
    /// Those other CPUs.
    pub passed: CpuSet,
    /// Whether marks tell of its jobs, and not its sleeps.
    pub is_marked: bool,
    /// The jobs that were left out, as they are not like others or not whole.
    pub partial: Vec<Partial>,
    /// Since when it waits for a CPU that it does not get in the trace.
    pub waits_since: Option<Time>,
    /// What it has reserved under SCHED_DEADLINE, if anybody says so: no event does.
    pub reserved: Option<Reserved>,
}

/// What a thread of SCHED_DEADLINE has reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// Processor time in each period.
    pub runtime: Service,
    /// The relative deadline.
    pub deadline: Duration,
    /// The period.
    pub period: Duration,
}

/// A job that is no measure of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// What is known of it; it arrives at the beginning of the trace at the latest, if it is cut.
    pub job: SeenJob,
    /// Whether its beginning is not in the trace. Otherwise it is what a thread does when it is born or dies.
    pub is_cut: bool,
}

impl Thread {
    /// The priority that it had most often.
    pub fn priority(&self) -> Option<i32> {
        self.priorities.first().map(|&(priority, _)| priority)
    }
    /// Its class by its priority.
    pub fn class(&self) -> Class {
        Class::of(self.priority())
    }
}

/// A class of the kernel's scheduler, as far as a priority tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// SCHED_DEADLINE.
    Deadline,
    /// SCHED_FIFO or SCHED_RR; events do not tell which.
    RealTime {
        /// As programs give it: 99 is the highest.
        priority: i32,
    },
    /// SCHED_OTHER and the like.
    Other,
    /// The trace does not tell.
    Unknown,
}

impl Class {
    /// That of a priority, as the kernel counts.
    pub fn of(priority: Option<i32>) -> Class {
        match priority {
            None => Class::Unknown,
            Some(..0) => Class::Deadline,
            Some(priority @ 0..100) => Class::RealTime { priority: 99 - priority },
            Some(_) => Class::Other,
        }
    }
}

/// A job of which the beginning was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenJob {
    /// When it arrived.
    pub arrival: Time,
    /// How much later it could run, if the trace tells that from its arrival.
    pub delay: Duration,
    /// When it completed; `None` if the trace ends before, or it was given up.
    pub end: Option<Time>,
    /// How long it held CPUs.
    pub executed: Service,
    /// How long it waited, after it had begun, while nothing as important had the CPU: this counts as execution.
    pub lost: Duration,
    /// What it did between its suspensions of itself; empty if there is none.
    pub stretches: Vec<Stretch>,
    /// Its relative deadline, if the trace knows.
    pub deadline: Option<Duration>,
    /// Who woke the thread for it, if that was seen.
    pub woken_by: Option<Waker>,
}

/// A part of a job, up to a suspension of itself or to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stretch {
    /// How long it held CPUs, and what the machine took to begin.
    pub executed: Service,
    /// How long it then could not go on; zero after the last one.
    pub suspended: Duration,
}

/// Who woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waker {
    /// The thread that had the CPU; 0 is an idle one.
    pub pid: u32,
    /// Whether it was an interrupt, and not that thread; `None` if the trace does not tell.
    pub in_interrupt: Option<bool>,
}

/// What a trace of a simulation or of a run of ours says. Nothing in it is guessed.
pub fn of_trace(trace: &Trace, labels: &Labels) -> Observation {
    let named = |name: &String| Thread { name: name.clone(), is_marked: true, ..Thread::default() };
    let mut threads: Vec<Thread> = labels.tasks.values().map(named).collect();
    let mut stretches = stretches(trace);
    for record in &trace.jobs {
        let job = &record.job;
        let Some(thread) = threads.get_mut(job.id.task.index()) else { continue };
        let completed = record.end.filter(|&(_, how)| how == JobEnd::Completed);
        thread.jobs.push(SeenJob {
            arrival: job.arrival,
            delay: (job.release - job.arrival).max(Duration::ZERO),
            end: completed.map(|(at, _)| at),
            executed: record.executed,
            lost: Duration::ZERO,
            stretches: stretches.remove(&job.id).unwrap_or_default(),
            deadline: Some(job.deadline - job.arrival).filter(|&length| length > Duration::ZERO),
            woken_by: None,
        });
    }
    for segment in &trace.segments {
        if let Some(thread) = threads.get_mut(segment.job.task.index()) {
            thread.cpus.insert(segment.cpu);
        }
    }
    for thread in &mut threads {
        thread.jobs.sort_by_key(|job| job.arrival);
    }
    let used = trace.segments.iter().map(|segment: &_| segment.cpu).max();
    Observation {
        threads,
        cpus: labels.cpus.max(used.map_or(0, |cpu: CpuId| cpu.index() + 1)),
        is_run: true,
        length: trace.over.since_start(),
        over: trace.over,
        resolution: Duration::from_ns(1),
        ..Observation::default()
    }
}

/// What the jobs did that suspend themselves, between their suspensions.
fn stretches(trace: &Trace) -> BTreeMap<JobId, Vec<Stretch>> {
    let mut pauses: BTreeMap<JobId, Vec<(Time, Option<Time>)>> = BTreeMap::new();
    for mark in &trace.marks {
        match mark.kind {
            MarkKind::Suspended(job) => pauses.entry(job).or_default().push((mark.at, None)),
            MarkKind::Resumed(job) => {
                let last = pauses.get_mut(&job).and_then(|pauses| pauses.last_mut());
                if let Some((_, to @ None)) = last {
                    *to = Some(mark.at);
                }
            }
            MarkKind::CpuOnline(_)
            | MarkKind::CpuOffline(_)
            | MarkKind::Speed(..)
            | MarkKind::BudgetExhausted(..)
            | MarkKind::Lock(..)
            | MarkKind::Note(_) => {}
        }
    }
    let stretch = |&(from, to): &(Time, Option<Time>)| Stretch {
        executed: Service::ZERO,
        suspended: to.map_or(Duration::ZERO, |to| (to - from).max(Duration::ZERO)),
    };
    let mut stretches: BTreeMap<JobId, Vec<Stretch>> = pauses
        .iter()
        .map(|(&job, pauses)| {
            (job, pauses.iter().map(stretch).chain([Stretch::default()]).collect())
        })
        .collect();
    for segment in &trace.segments {
        let Some(pauses) = pauses.get(&segment.job) else { continue };
        // Each segment lies between two pauses.
        let place = pauses.partition_point(|&(from, _)| from <= segment.start);
        if let Some(stretch) = stretches.get_mut(&segment.job).and_then(|all| all.get_mut(place)) {
            stretch.executed += Service::from_ns((segment.end - segment.start).ns());
        }
    }
    stretches
}

/// Whether a thread has a name that the kernel gives its own.
pub(super) fn is_of_kernel(name: &str) -> bool {
    OF_KERNEL.iter().any(|&of_kernel| name.starts_with(of_kernel))
}
