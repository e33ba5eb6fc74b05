//! The jobs of threads as a trace shows them, independent of its format.

use layland_model::{CpuId, CpuSet, Duration, Index, JobId, Service, Time};
use layland_trace::{JobEnd, Labels, MarkKind, Trace};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Prefixes of the names of those kernel threads that can be real-time.
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
    /// The number of CPUs, up to the last one that is named.
    pub cpus: usize,
    /// Time 0 on the clock of the trace, in nanoseconds.
    pub origin_ns: i64,
    /// True if time 0 is the start of the run, and not just the first event in the trace.
    pub is_run: bool,
    /// The length of the trace.
    pub length: Duration,
    /// The times between the captures of which the trace consists, in order. Their lengths count for
    /// nothing.
    pub gaps: Vec<(Time, Time)>,
    /// The unit of which all times are multiples.
    pub resolution: Duration,
    /// The tool that wrote the trace; `None` for a trace of ours.
    pub dialect: Option<&'static str>,
    /// A lower bound on the number of events that the kernel dropped.
    pub lost: u64,
    /// The number of switches to threads that the kernel
    /// did not record, although it lost no events.
    pub unrecorded: u64,
    /// The number of lines that are neither events nor comments.
    pub unknown_lines: u64,
    /// Doubts about the trace, in words.
    pub remarks: Vec<String>,
    /// The end of the trace.
    pub over: Time,
    /// The threads that held CPUs for which real-time threads waited.
    pub taken: Vec<Taken>,
}

impl Observation {
    /// Returns the CPUs on which threads of real-time classes ran, except for the kernel's own.
    pub(super) fn used(&self) -> CpuSet {
        let is_real_time = |thread: &&Thread| {
            matches!(thread.class(), Class::Deadline | Class::RealTime { .. })
                && !is_of_kernel(&thread.name)
        };
        let threads = self.threads.iter().filter(is_real_time);
        threads.flat_map(|thread| thread.cpus.iter().collect::<Vec<CpuId>>()).collect()
    }
}

impl Observation {
    /// Returns the end of the capture in which a time lies.
    pub(super) fn seen_until(&self, at: Time) -> Time {
        let gap = self.gaps.iter().find(|(from, _)| at <= *from);
        gap.map_or(self.over, |&(from, _)| from)
    }

    /// Returns jobs as if their captures followed each other, with the median gap between the last
    /// arrival of a capture and the first of the next one.
    pub(super) fn joined<'j>(&self, jobs: &'j [SeenJob]) -> Cow<'j, [SeenJob]> {
        let firsts = self.gaps.iter().map(|&(_, to)| jobs.partition_point(|job| job.arrival < to));
        let mut firsts: Vec<usize> = firsts.filter(|&at| at > 0 && at < jobs.len()).collect();
        firsts.dedup();
        let within = (1..jobs.len()).filter(|at| !firsts.contains(at));
        let mut within: Vec<Duration> =
            within.map(|at| jobs[at].arrival - jobs[at - 1].arrival).collect();
        within.sort_unstable();
        let Some(&usual) = within.get(within.len() / 2).filter(|_| !firsts.is_empty()) else {
            return Cow::Borrowed(jobs);
        };
        let mut joined = jobs.to_vec();
        for first in firsts {
            let shift = joined[first].arrival - (joined[first - 1].arrival + usual);
            for job in &mut joined[first..] {
                job.arrival = job.arrival - shift;
                job.end = job.end.map(|end| end - shift);
            }
        }
        Cow::Owned(joined)
    }
}

/// A thread that held a CPU for which another one waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The index of the waiting thread.
    pub from: usize,
    /// The index of the thread that held the CPU.
    pub by: usize,
    /// The most important priority that the holder had meanwhile, as the kernel counts.
    pub priority: i32,
    /// The longest part of a single wait.
    pub longest: Duration,
    /// The total of all waits.
    pub total: Duration,
}

/// A thread as the trace shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its name, the last one if it changed.
    pub name: String,
    /// Its id in the kernel.
    pub pid: Option<u32>,
    /// The priorities that it had, as the kernel counts, each with the number of times it was seen;
    /// the most frequent first. -1 is SCHED_DEADLINE, 0 to 98 are SCHED_FIFO and SCHED_RR, the
    /// highest first, and the others start at 100.
    pub priorities: Vec<(i32, u64)>,
    /// Its jobs in the order of their arrivals.
    pub jobs: Vec<SeenJob>,
    /// The number of jobs left out because their beginnings are not in the trace.
    pub beheaded: u64,
    /// The number of jobs left out because switches of the thread are missing in them.
    pub torn: u64,
    /// The number of jobs left out because the thread was being born or died in them.
    pub unlike: u64,
    /// The number of times that it lost its CPU because
    /// its reservation was used up, or yielded the rest.
    pub throttled: u64,
    /// The CPUs on which it ran.
    pub cpus: CpuSet,
    /// The number of times that it waited for a CPU while another one had nothing as important. The
    /// kernel would have moved the thread there if it could.
    pub tied: u64,
    /// The other CPUs in those waits.
    pub passed: CpuSet,
    /// True if marks delimit its jobs, instead of its sleeps.
    pub is_marked: bool,
    /// The jobs that were left out because they are unlike others or incomplete.
    pub partial: Vec<Partial>,
    /// The beginning of a wait for a CPU that lasts to the end of the trace.
    pub waits_since: Option<Time>,
    /// Its reservation under SCHED_DEADLINE, if the caller provides one: no event contains it.
    pub reserved: Option<Reserved>,
}

/// A reservation under SCHED_DEADLINE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The processor time in each period.
    pub runtime: Service,
    /// The relative deadline.
    pub deadline: Duration,
    /// The period.
    pub period: Duration,
}

/// A job that is not representative of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// The known part of the job; a job that is cut arrives no later than the trace begins.
    pub job: SeenJob,
    /// True if its beginning is not in the trace.
    /// Otherwise the thread was being born or died in it.
    pub is_cut: bool,
}

impl Thread {
    /// Returns the priority that it had most often.
    pub fn priority(&self) -> Option<i32> {
        self.priorities.first().map(|&(priority, _)| priority)
    }

    /// Returns true if it is of a real-time class and belongs to a program, not to the kernel.
    pub fn is_real_time_program(&self) -> bool {
        self.priority().is_some_and(|usual| usual < 100) && !is_of_kernel(&self.name)
    }

    /// Returns the longest execution of the jobs in which it was born or died.
    pub fn longest_unlike(&self) -> Option<Service> {
        let unlike = self.partial.iter().filter(|partial| !partial.is_cut);
        unlike.map(|partial| partial.job.executed).max()
    }

    /// Returns the time from its birth to its death, if the trace shows its death. Without the event of
    /// its birth, which not every tool records, the time counts from its first job.
    pub fn life(&self) -> Option<Duration> {
        let ends = self.partial.iter().filter(|partial| !partial.is_cut);
        let last = ends.clone().map(|partial| &partial.job).max_by_key(|job| job.arrival)?;
        let arrivals = self.jobs.iter().map(|job| job.arrival);
        // A birth comes before every job.
        if ends.count() < 2 && arrivals.clone().max()? >= last.arrival {
            return None;
        }
        let arrivals = arrivals.chain(self.partial.iter().map(|partial| partial.job.arrival));
        Some(last.end? - arrivals.min()?)
    }

    /// Returns its class, by its priority.
    pub fn class(&self) -> Class {
        Class::of(self.priority())
    }
}

/// A class of the kernel's scheduler, as far as a priority determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// SCHED_DEADLINE.
    Deadline,
    /// SCHED_FIFO or SCHED_RR; events do not distinguish them.
    RealTime {
        /// The priority as programs specify it: 99 is the highest.
        priority: i32,
    },
    /// SCHED_OTHER and similar classes.
    Other,
    /// The class is not in the trace.
    Unknown,
}

impl Class {
    /// Returns the class of a priority, as the kernel counts.
    pub fn of(priority: Option<i32>) -> Class {
        match priority {
            None => Class::Unknown,
            Some(..0) => Class::Deadline,
            Some(priority @ 0..100) => Class::RealTime { priority: 99 - priority },
            Some(_) => Class::Other,
        }
    }
}

/// A job whose beginning was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenJob {
    /// The arrival time.
    pub arrival: Time,
    /// The delay after the arrival until it could run, if the trace distinguishes the two.
    pub delay: Duration,
    /// The completion time; `None` if the trace ends before, or the job was aborted.
    pub end: Option<Time>,
    /// The time for which it held CPUs.
    pub executed: Service,
    /// The time that it waited, once started, while its
    /// CPU had nothing as important. Counts as execution.
    pub lost: Duration,
    /// The stretches between its suspensions of itself; empty if there are none.
    pub stretches: Vec<Stretch>,
    /// Its relative deadline, if the trace contains it.
    pub deadline: Option<Duration>,
    /// The cause of the wake-up of its thread, if the trace contains it.
    pub woken_by: Option<Waker>,
}

/// A part of a job, up to a suspension of itself or to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stretch {
    /// The time for which it held CPUs, plus the latency of the machine before it.
    pub executed: Service,
    /// The length of the suspension that follows; zero after the last stretch.
    pub suspended: Duration,
}

/// The cause of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waker {
    /// The thread that had the CPU; 0 is the idle thread.
    pub pid: u32,
    /// True if an interrupt caused the wake-up, and not
    /// that thread; `None` if the trace does not show it.
    pub in_interrupt: Option<bool>,
}

/// Returns the jobs in a trace of a simulation or of a run of ours. No part of it is a guess.
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

/// Returns the stretches of jobs between their suspensions of themselves.
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
        // Each segment lies between two suspensions.
        let place = pauses.partition_point(|&(from, _)| from <= segment.start);
        if let Some(stretch) = stretches.get_mut(&segment.job).and_then(|all| all.get_mut(place)) {
            stretch.executed += Service::from_ns((segment.end - segment.start).ns());
        }
    }
    stretches
}

/// Returns true if a thread has a name of a kernel thread.
pub(super) fn is_of_kernel(name: &str) -> bool {
    OF_KERNEL.iter().any(|&of_kernel| name.starts_with(of_kernel))
}
