//! Threads that this process does not manage: foreign reservations, rivals of real-time classes,
//! and the priority of another member's thread.

use super::processes::{self, Thread};
use crate::kernel::sys::{self, Reservation, Tid};
use crate::machine::admitted::Member;
use layland_model::Duration;
use std::io;

/// Returns the threads with `SCHED_DEADLINE` reservations that belong to no member, and the CPUs
/// that each may use. They use a share of the CPUs, too.
pub fn foreign_deadline(members: &[Member]) -> Vec<(Thread, Reservation, Vec<usize>)> {
    let known: Vec<i32> =
        members.iter().flat_map(|member| &member.reserved).filter_map(|of| of.thread).collect();
    let mut found = Vec::new();
    let numbers = |process| processes::numbers_of_threads(process).map(move |of| (process, of));
    for (process, number) in processes::all().flat_map(numbers) {
        // Most threads of a machine are not reserved, so read only the class of each first.
        let Ok(now) = sys::attributes(Tid(number)) else { continue };
        let is_deadline = now.sched_policy as i32 == libc::SCHED_DEADLINE;
        if !is_deadline || known.contains(&number) {
            continue;
        }
        let Some(thread) = processes::thread_of(process, number) else { continue };
        // The kernel's frequency-setting threads have the class, but their bandwidth does not
        // count.
        if thread.name.starts_with("sugov:") {
            continue;
        }
        let time = |ns: u64| Duration::from_ns(i64::try_from(ns).unwrap_or(i64::MAX));
        let reservation = Reservation {
            runtime: time(now.sched_runtime),
            deadline: time(now.sched_deadline),
            period: time(now.sched_period),
        };
        let Ok(set) = sys::affinity_of(thread.tid) else { continue };
        let all = 0..rustix::thread::CpuSet::MAX_CPU;
        found.push((thread, reservation, all.filter(|&cpu| set.is_set(cpu)).collect()));
    }
    found
}

/// A thread of `SCHED_FIFO` or `SCHED_RR` that no member has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// The thread.
    pub thread: Thread,
    /// Its class.
    pub class: &'static str,
    /// Its priority.
    pub priority: i32,
    /// The CPUs that it may use.
    pub cpus: Vec<usize>,
}

/// Returns the threads of these classes that no member has, with a priority of at least `lowest`.
/// The kernel's stopper threads, which stop a CPU to move a thread, are left out: they run for some
/// microseconds, on behalf of the thread that requests the move.
pub fn rivals(members: &[Member], lowest: i32) -> Vec<Rival> {
    let known: Vec<i32> =
        members.iter().flat_map(|member| &member.reserved).filter_map(|of| of.thread).collect();
    let numbers = |process| processes::numbers_of_threads(process).map(move |of| (process, of));
    let of = |(process, number): (processes::Process, i32)| {
        let now = sys::attributes(Tid(number)).ok()?;
        let class = match now.sched_policy as i32 {
            libc::SCHED_FIFO => "SCHED_FIFO",
            libc::SCHED_RR => "SCHED_RR",
            _ => return None,
        };
        let priority = now.sched_priority.cast_signed();
        if priority < lowest || known.contains(&number) {
            return None;
        }
        let thread = processes::thread_of(process, number)?;
        if thread.name.starts_with("migration/") && processes::is_of_kernel(number) {
            return None;
        }
        let set = sys::affinity_of(thread.tid).ok()?;
        let all = 0..rustix::thread::CpuSet::MAX_CPU;
        let cpus = all.filter(|&cpu| set.is_set(cpu)).collect();
        Some(Rival { thread, class, priority, cpus })
    };
    processes::all().flat_map(numbers).filter_map(of).collect()
}

/// The processor time that a thread was observed to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// The thread.
    pub rival: Rival,
    /// The processor time over the whole observation.
    pub whole: Duration,
    /// The length of the observation.
    pub within: Duration,
    /// The largest use between two consecutive readings, plus the tick by which the kernel's
    /// account may lag.
    pub most: Duration,
    /// The longest time between two consecutive readings.
    pub between: Duration,
}

/// Observes threads for `length` and reads their processor times regularly. A thread that has ended
/// uses nothing.
pub fn watch(rivals: Vec<Rival>, length: Duration) -> Vec<Used> {
    const LOOKS: i64 = 20;
    let start = sys::monotonic_ns();
    let now = |rival: &Rival| processes::processor_time(rival.thread.tid.0);
    let mut last: Vec<(Option<Duration>, i64)> =
        rivals.iter().map(|rival| (now(rival), sys::monotonic_ns())).collect();
    let first = last.clone();
    let mut most = vec![(Duration::ZERO, Duration::ZERO); rivals.len()];
    for look in 1..=LOOKS {
        sys::sleep_until(start + length.ns() / LOOKS * look);
        for ((rival, last), most) in rivals.iter().zip(&mut last).zip(&mut most) {
            let (before, then) = std::mem::replace(last, (now(rival), sys::monotonic_ns()));
            let used = last.0.zip(before).map_or(Duration::ZERO, |(now, before)| now - before);
            let between = Duration::from_ns(last.1 - then);
            *most = (most.0.max(used), most.1.max(between));
        }
    }
    let tick = Duration::from_ns(sys::tick_ns());
    let all = rivals.into_iter().zip(first).zip(last.into_iter().zip(most));
    let seen = |((rival, (before, begun)), ((now, at), (most, between)))| {
        let whole: Duration =
            Option::zip(now, before).map_or(Duration::ZERO, |(now, before)| now - before);
        let most = if whole > Duration::ZERO { most + tick } else { Duration::ZERO };
        Used { rival, whole, within: Duration::from_ns(at - begun), most, between }
    };
    all.map(seen).collect()
}

/// Sets the priority of a `SCHED_FIFO` thread, as the order of all admitted threads requires. A
/// thread that has ended is ignored.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub fn set_priority(thread: i32, priority: i32) -> io::Result<()> {
    let now = match sys::attributes(Tid(thread)) {
        Ok(now) => now,
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_fifo = now.sched_policy as i32 == libc::SCHED_FIFO;
    if !is_fifo || now.sched_priority == priority.unsigned_abs() {
        return Ok(());
    }
    sys::set_fifo(Tid(thread), priority)
}
