//! The causes that took CPUs from a run, by name. They come from the kernel's accounting of foreign
//! real-time threads and of the time that a hypervisor took.

use crate::kernel::sys::{self, RUN};
use layland_model::{Duration, counted, visible};
use std::collections::BTreeMap;
use std::fs;

/// A process with real-time threads that may delay jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignProcess {
    /// Its name.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// True if it is another run of layland.
    pub is_layland: bool,
    /// The processor time of its real-time threads meanwhile, on the CPUs that they were last on.
    pub took: Duration,
    /// These CPUs, as far as the run uses them.
    pub cpus: Vec<usize>,
}

impl std::fmt::Display for ForeignProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ForeignProcess { name, pid, is_layland, took, cpus } = self;
        let who = if *is_layland {
            format!("another layland run (pid {pid})")
        } else {
            format!("real-time threads of `{name}` (pid {pid})")
        };
        let many = if cpus.len() == 1 { "CPU" } else { "CPUs" };
        let list = super::register::list(cpus);
        write!(f, "{who} took {took:#} while last on {many} {list}")
    }
}

/// The causes that took CPUs from a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disturbance {
    /// The time for which a hypervisor ran something else while the CPUs had work, if it reports
    /// that.
    pub stolen: Duration,
    /// Other processes with real-time threads on the CPUs of the run, with the most processor time
    /// first.
    pub foreign: Vec<ForeignProcess>,
}

/// A thread of another process, with the kernel's account of it.
#[derive(Clone, Debug)]
struct ForeignThread {
    pid: u32,
    cpu: usize,
    ran_ns: i64,
}

/// Observes the machine from the beginning to the end of a run.
#[derive(Debug)]
pub(crate) struct Watch {
    cpus: Vec<usize>,
    least_priority: i64,
    stolen: Duration,
    threads: BTreeMap<(u32, u64), ForeignThread>,
}

impl Watch {
    /// Begins for a run on these CPUs whose threads yield to `SCHED_FIFO` threads of at least
    /// priority `RUN`.
    pub fn begin(cpus: Vec<usize>) -> Watch {
        Watch::with(cpus, i64::from(RUN))
    }

    /// Begins for a run whose threads yield only to other `SCHED_DEADLINE` threads.
    pub fn of_deadline_threads(cpus: Vec<usize>) -> Watch {
        Watch::with(cpus, i64::MAX)
    }

    fn with(cpus: Vec<usize>, least_priority: i64) -> Watch {
        let (stolen, threads) = (sys::stolen(&cpus), threads(least_priority));
        Watch { cpus, least_priority, stolen, threads }
    }

    /// Returns the disturbance since the beginning.
    pub fn end(self) -> Disturbance {
        let mut foreign: BTreeMap<u32, ForeignProcess> = BTreeMap::new();
        for (id, thread) in threads(self.least_priority) {
            let before = self.threads.get(&id).map_or(0, |before| before.ran_ns);
            let took = Duration::from_ns((thread.ran_ns - before).max(0));
            if took == Duration::ZERO || !self.cpus.contains(&thread.cpu) {
                continue;
            }
            let (pid, cpu) = (thread.pid, thread.cpu);
            let found = foreign.entry(pid).or_insert_with(|| ForeignProcess {
                name: name(pid),
                pid,
                is_layland: is_layland(pid),
                took: Duration::ZERO,
                cpus: Vec::new(),
            });
            found.took += took;
            if !found.cpus.contains(&cpu) {
                found.cpus.push(cpu);
            }
        }
        let mut foreign: Vec<ForeignProcess> = foreign.into_values().collect();
        foreign.sort_by_key(|one| (std::cmp::Reverse(one.took), one.pid));
        Disturbance { stolen: sys::stolen(&self.cpus) - self.stolen, foreign }
    }
}

fn name(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    visible(name.trim()).into_owned()
}

fn is_layland(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut names =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|name| name.starts_with("layland-"))
}

/// Returns the `SCHED_DEADLINE` threads of other processes, and those with at least this real-time
/// priority, by their numbers and start times.
fn threads(least_priority: i64) -> BTreeMap<(u32, u64), ForeignThread> {
    let own = std::process::id();
    let numbers = |folder: &str| -> Vec<u32> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let mut found = BTreeMap::new();
    for pid in numbers("/proc").into_iter().filter(|&pid| pid != own) {
        for tid in numbers(&format!("/proc/{pid}/task")) {
            let folder = format!("/proc/{pid}/task/{tid}");
            let Ok(stat) = fs::read_to_string(format!("{folder}/stat")) else { continue };
            let Some((start, cpu)) = real_time(&stat, least_priority) else { continue };
            // The first number is the processor time of the thread, in nanoseconds.
            let schedule = fs::read_to_string(format!("{folder}/schedstat")).unwrap_or_default();
            let ran = schedule.split_whitespace().next().and_then(|text| text.parse().ok());
            let Some(ran_ns) = ran else { continue };
            found.insert((tid, start), ForeignThread { pid, cpu, ran_ns });
        }
    }
    found
}

/// Returns the start time and the last CPU of a thread, from its `stat`, if its class and priority
/// match.
fn real_time(stat: &str, least_priority: i64) -> Option<(u64, usize)> {
    let (head, rest) = stat.rsplit_once(')')?;
    // A guardian sleeps: either it belongs to the run, or it takes no CPU time from it.
    if head.ends_with("(layland-guard") {
        return None;
    }
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|text| text.parse::<i64>().ok());
    let (priority, class) = (number(37)?, number(38)?);
    let is_fifo = [libc::SCHED_FIFO, libc::SCHED_RR].map(i64::from).contains(&class);
    let is_deadline = class == i64::from(libc::SCHED_DEADLINE);
    let delays_jobs = is_deadline || is_fifo && priority >= least_priority;
    if delays_jobs { Some((number(19)? as u64, usize::try_from(number(36)?).ok()?)) } else { None }
}

/// Returns the cause, if any, that kept jobs from their CPUs for longer than the least slack of a
/// task. `pause` is the longest continuous time for which a job was kept from its CPU. `throttled`
/// describes the kernel's throttling, if that was the cause.
pub(crate) fn excuse(
    pause: Duration,
    found: &Disturbance,
    throttled: Option<&str>,
    slack: Duration,
) -> Option<String> {
    // Anything shorter does not count as a pause of the machine.
    let bearable = slack.max(Duration::from_ms(1));
    let by_name: Vec<String> = (found.foreign.iter())
        .filter(|one| one.took * 2 >= pause.max(bearable))
        .map(ToString::to_string)
        .collect();
    let stolen = format!("{:#}", found.stolen);
    let what = if pause >= bearable {
        let cause = if let Some(throttled) = throttled {
            format!(": {throttled}")
        } else if !by_name.is_empty() {
            format!(": {}", by_name.join(" and "))
        } else if found.stolen * 2 >= pause {
            format!(": a hypervisor took {stolen}")
        } else {
            String::new()
        };
        format!("the machine paused for {pause:#}{cause}")
    } else if found.stolen >= bearable {
        // Each theft may be short, but a job that meets several has no slack left.
        format!("a hypervisor took {stolen} of the CPUs")
    } else if found.foreign.first().is_some_and(|one| one.took >= bearable) {
        by_name.join(" and ")
    } else {
        return None;
    };
    Some(format!("{what}; the least slack of a task is {slack:#}"))
}

/// Returns a remark about other processes with real-time threads on the CPUs.
pub(crate) fn others(found: &Disturbance) -> Option<String> {
    let first = found.foreign.iter().find(|one| one.took >= Duration::from_ms(1))?;
    let more = found.foreign.iter().filter(|one| one.took >= Duration::from_ms(1)).count() - 1;
    let more =
        if more > 0 { format!(", and {} more", counted(more, "process")) } else { String::new() };
    Some(format!("{first}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_apart_by_class_and_priority() {
        let stat = |priority: i64, class: i64| {
            let mut fields = vec!["S".to_owned()];
            fields.extend((1..50).map(|index| match index {
                19 => "777".to_owned(),
                36 => "3".to_owned(),
                37 => priority.to_string(),
                38 => class.to_string(),
                _ => "0".to_owned(),
            }));
            format!("12 (a ) name) {}", fields.join(" "))
        };
        assert_eq!(real_time(&stat(60, 1), 60), Some((777, 3)));
        assert_eq!(real_time(&stat(99, 2), 60), Some((777, 3)));
        assert_eq!(real_time(&stat(59, 1), 60), None);
        assert_eq!(real_time(&stat(0, 0), 60), None);
        assert_eq!(real_time(&stat(0, 6), i64::MAX), Some((777, 3)));
    }

    #[test]
    fn misses_are_excused_by_what_exceeds_the_slack() {
        let other = |took| ForeignProcess {
            name: "hog".to_owned(),
            pid: 7,
            is_layland: false,
            took: Duration::from_us(took),
            cpus: vec![1],
        };
        let of = |pause, stolen, foreign: &[i64], throttled, slack| {
            let foreign = foreign.iter().map(|&took| other(took)).collect();
            let found = Disturbance { stolen: Duration::from_us(stolen), foreign };
            excuse(Duration::from_us(pause), &found, throttled, Duration::from_us(slack))
        };
        assert_eq!(of(7_999, 0, &[], None, 8_000), None);
        assert_eq!(of(0, 7_999, &[7_999], None, 8_000), None);
        let said = of(8_000, 0, &[100], None, 8_000);
        let expected = "the machine paused for 8 ms; the least slack of a task is 8 ms";
        assert_eq!(said.as_deref(), Some(expected));
        let said = of(8_000, 20_000, &[], None, 8_000);
        let expected = "the machine paused for 8 ms: a hypervisor took 20 ms; the least slack of a task is 8 ms";
        assert_eq!(said.as_deref(), Some(expected));
        let said = of(100, 20_000, &[], None, 8_000);
        let expected = "a hypervisor took 20 ms of the CPUs; the least slack of a task is 8 ms";
        assert_eq!(said.as_deref(), Some(expected));
        let said = of(50_000, 0, &[90_000], None, 8_000);
        let expected = "the machine paused for 50 ms: real-time threads of `hog` (pid 7) took 90 ms while last \
                        on CPU 1; the least slack of a task is 8 ms";
        assert_eq!(said.as_deref(), Some(expected));
        let said = of(50_000, 0, &[90_000], Some("throttling"), 8_000);
        let expected =
            "the machine paused for 50 ms: throttling; the least slack of a task is 8 ms";
        assert_eq!(said.as_deref(), Some(expected));
        let said = of(100, 0, &[9_000], None, 8_000).expect("it took more than the slack");
        assert!(said.starts_with("real-time threads of `hog`"), "{said}");
        // A time below one millisecond does not count as a pause, even for tasks without slack.
        assert_eq!(of(999, 0, &[], None, 0), None);
    }
}
