//! The threads of the machine, as `/proc` lists them.

use crate::kernel::sys::Tid;
use crate::machine::threads;
use layland_model::{Duration, visible};
use std::collections::BTreeMap;
use std::fs;

/// A process of this PID namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process(pub i32);

/// A thread of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its kernel id.
    pub tid: Tid,
    /// Its start time. Start time and number together identify the thread for ever.
    pub started: u64,
    /// Its process.
    pub process: Process,
    /// Its name.
    pub name: String,
}

impl Thread {
    /// Returns true if it is the first thread of its process.
    pub fn is_main(&self) -> bool {
        self.tid.0 == self.process.0
    }

    /// Returns true if it has not ended.
    pub fn is_alive(&self) -> bool {
        threads::start_of(self.tid) == Some(self.started)
    }
}

/// Returns the threads of a process in the order of their numbers; none if there is no such
/// process.
pub fn threads_of(process: Process) -> Vec<Thread> {
    let numbers = numbers_of_threads(process);
    let mut found: Vec<Thread> = numbers.filter_map(|number| thread_of(process, number)).collect();
    found.sort_by_key(|thread| thread.tid.0);
    found
}

/// Returns the numbers of the threads of a process, in any order. Reading more costs three times as
/// much.
pub(super) fn numbers_of_threads(process: Process) -> impl Iterator<Item = i32> {
    numbers(&format!("/proc/{}/task", process.0))
}

/// Returns a thread of a process, by its number.
pub(super) fn thread_of(process: Process, number: i32) -> Option<Thread> {
    let path = format!("/proc/{}/task/{number}/comm", process.0);
    let name = fs::read_to_string(path).ok()?;
    // A thread chooses its own name, so the name may contain invisible characters.
    let name = visible(name.trim_end_matches('\n')).into_owned();
    let (tid, started) = (Tid(number), threads::start_of(Tid(number))?);
    Some(Thread { tid, started, process, name })
}

/// Returns a thread by its number, in any process.
pub fn thread(number: i32) -> Option<Thread> {
    // `/proc` has an entry for every thread, but lists only the first ones of processes.
    let status = fs::read_to_string(format!("/proc/{number}/status")).ok()?;
    let process = field(&status, "Tgid:")?.first().copied()?;
    thread_of(Process(i32::try_from(process).ok()?), number)
}

/// The users of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user who started it.
    pub real: u32,
    /// The user whose rights it has.
    pub effective: u32,
    /// The user whose rights it may assume.
    pub saved: u32,
}

impl Owner {
    /// Parses the status of a thread.
    pub(super) fn read(status: &str) -> Option<Owner> {
        let ids = field(status, "Uid:")?;
        Some(Owner { real: *ids.first()?, effective: *ids.get(1)?, saved: *ids.get(2)? })
    }

    /// Returns true if all three are this user.
    pub fn is(&self, user: u32) -> bool {
        [self.real, self.effective, self.saved] == [user; 3]
    }
}

/// Parses the numbers of a line of `/proc/PID/status`.
pub(super) fn field(status: &str, name: &str) -> Option<Vec<u32>> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().map(|word| word.parse().ok()).collect()
}

/// Returns a process and all that it has started, as far as they are still its descendants. The
/// children of a process that has ended belong to the ancestor that adopts them.
pub fn descendants(of: Process) -> Vec<Process> {
    let mut found = vec![of];
    let mut parents = None;
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        next += 1;
        match children(parent) {
            Some(children) => found.extend(children),
            None => {
                let parents: &BTreeMap<i32, i32> = parents.get_or_insert_with(all_parents);
                let own = parents.iter().filter(|&(_, &of)| of == parent.0);
                found.extend(own.map(|(&child, _)| Process(child)));
            }
        }
    }
    found
}

/// Returns the children of a process; `None` if the kernel does not list children.
fn children(process: Process) -> Option<Vec<Process>> {
    let mut found = Vec::new();
    for thread in numbers(&format!("/proc/{}/task", process.0)) {
        let path = format!("/proc/{}/task/{thread}/children", process.0);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let numbers = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
                found.extend(numbers.map(Process));
            }
            // Either the thread has ended, or the kernel has no such list.
            Err(_)
                if fs::metadata(format!("/proc/self/task/{}/children", Tid::own().0)).is_err() =>
            {
                return None;
            }
            Err(_) => {}
        }
    }
    Some(found)
}

/// Returns the parent of each process.
fn all_parents() -> BTreeMap<i32, i32> {
    let parent = |process: i32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    numbers("/proc").filter_map(|process| Some((process, parent(process)?))).collect()
}

/// Returns every process of this PID namespace.
pub(super) fn all() -> impl Iterator<Item = Process> {
    numbers("/proc").map(Process)
}

/// Returns the processor time that a thread of any process has used; `None` if there is no such
/// thread.
pub fn processor_time(thread: i32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    let ns = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Duration::from_ns(ns))
}

/// The times that a thread has run and waited so far, by the kernel's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The time during which it ran.
    pub ran: Duration,
    /// The time during which it was ready and did not run.
    pub waited: Duration,
    /// The number of times that it began to run.
    pub times: i64,
}

impl Waits {
    /// Reads the account of a thread; `None` if there is no such thread.
    pub fn of(thread: Tid) -> Option<Waits> {
        Waits::read(&fs::read_to_string(format!("/proc/{}/schedstat", thread.0)).ok()?)
    }

    fn read(text: &str) -> Option<Waits> {
        let mut numbers = text.split_ascii_whitespace().map(|word| word.parse().ok());
        let (ran, waited, times) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let (ran, waited) = (Duration::from_ns(ran), Duration::from_ns(waited));
        Some(Waits { ran, waited, times })
    }
}

/// Returns true if a thread is asleep. It may wake up at any time.
pub(super) fn is_asleep(thread: Tid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", thread.0)).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'))
}

/// Returns the threads of the kernel, such as `irq/131-eth0`.
pub fn threads_of_kernel() -> Vec<Thread> {
    let of_kernel = all().filter(|process| is_of_kernel(process.0));
    of_kernel.filter_map(|process| thread_of(process, process.0)).collect()
}

/// Returns true if a thread belongs to the kernel.
pub(super) fn is_of_kernel(thread: i32) -> bool {
    const PF_KTHREAD: u64 = 0x0020_0000;
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    // The fields are state, parent, group, session, terminal, its group, flags. The name before
    // them may contain any character, also `)`.
    let flags = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(6));
    flags.and_then(|flags| flags.parse::<u64>().ok()).is_some_and(|flags| flags & PF_KTHREAD != 0)
}

/// Returns the time for which each CPU has been busy since boot, in steps of 10 ms.
pub fn busy_times() -> Vec<(usize, Duration)> {
    busy_times_in(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

fn busy_times_in(statistics: &str) -> Vec<(usize, Duration)> {
    // cpuN user nice system idle iowait irq softirq ..: in units of USER_HZ, always 100 here.
    const TICK: Duration = Duration::from_ms(10);
    let of_line = |line: &str| {
        // The first line, which has no number after `cpu`, is the sum of all.
        let numbered = line.strip_prefix("cpu").filter(|rest| !rest.starts_with(' '))?;
        let mut fields = numbered.split_ascii_whitespace();
        let cpu: usize = fields.next()?.parse().ok()?;
        let ticks: Vec<i64> = fields.take(7).filter_map(|field| field.parse().ok()).collect();
        let [user, nice, system, _idle, _iowait, irq, softirq] = ticks.try_into().ok()?;
        Some((cpu, TICK * (user + nice + system + irq + softirq)))
    };
    statistics.lines().filter_map(of_line).collect()
}

fn numbers(folder: &str) -> impl Iterator<Item = i32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn cpus_are_busy_with_what_is_not_idle() {
        let statistics = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 40 4 30 999 77 2 1 9 0 0\ncpu12 1 0 0 5 0 0 0 0 0 0\nintr 7\n";
        let times = [(0, Duration::from_ms(770)), (12, Duration::from_ms(10))];
        assert_eq!(busy_times_in(statistics), times);
        let own = Tid::own().0;
        // The kernel updates the account at ticks and switches, and a new thread may have seen
        // none.
        while processor_time(own).unwrap() == Duration::ZERO {
            std::thread::yield_now();
        }
        assert_eq!(processor_time(i32::MAX), None);
        assert!(!is_of_kernel(own));
    }

    #[test]
    fn a_thread_that_waits_for_its_processor_is_told_from_one_that_sleeps() {
        let (ran, waited) = (Duration::from_ns(423_622_143), Duration::from_ns(4_335_892));
        let read = Waits::read("423622143 4335892 144\n");
        assert_eq!(read, Some(Waits { ran, waited, times: 144 }));
        assert_eq!(Waits::read("0 0\n"), None);
        assert!(Waits::of(Tid::own()).is_some() && Waits::of(Tid(i32::MAX)).is_none());
        assert!(!is_asleep(Tid::own()));
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        while !is_asleep(Tid(child.id() as i32)) {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn own_threads_and_children_are_found() {
        let own = Process(std::process::id() as i32);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = Process(child.id() as i32);
        assert!(descendants(own).contains(&of_child));
        assert!(all_parents().get(&of_child.0) == Some(&own.0));
        let is_sleep = |thread: &Thread| thread.name == "sleep" && thread.is_main();
        // The child keeps the name of this program until it executes another one.
        while !threads_of(of_child).iter().all(is_sleep) {
            std::thread::yield_now();
        }
        let [thread] = threads_of(of_child).try_into().unwrap();
        assert!(thread.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!thread.is_alive());
        assert_eq!(threads_of(of_child), []);
        assert!(threads_of(own).iter().any(|thread| thread.tid == Tid::own()));
    }
}
