//! The parts of a set that Linux rejects under `dl`, which is its SCHED_DEADLINE. An answer about
//! such a set promises nothing on Linux.

use crate::ui::terminal;
use layland_model::{Duration, System};

/// The shortest runtime that Linux reserves.
const SHORTEST_RUNTIME: Duration = Duration::from_ns(1024);
/// The periods that Linux accepts, unless root has changed `sched_deadline_period_min_us` and
/// `_max_us`.
const SHORTEST_PERIOD: Duration = Duration::from_us(100);
const LONGEST_PERIOD: Duration = Duration::from_us(1 << 22);

/// Warns of what Linux would reject, if its policy is among those requested.
pub(super) fn warn(policies: &[String], system: &System) {
    if policies.iter().any(|policy| policy.split(':').next() == Some("dl")) {
        refused(system).iter().for_each(|said| terminal::warn(said, None));
    }
}

fn refused(system: &System) -> Vec<String> {
    let said = |is_it: &dyn Fn(&layland_model::Task) -> bool, rule: &str| {
        let mut tasks = system.tasks.values().filter(|task| is_it(task));
        let first = tasks.next()?.name.to_string();
        let more = match tasks.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("Linux refuses SCHED_DEADLINE for `{first}`{more}: {rule}"))
    };
    let is_short = |task: &layland_model::Task| {
        let runtime = task.reservation().at_unit_speed();
        runtime > Duration::ZERO && runtime < SHORTEST_RUNTIME
    };
    let is_outside =
        |task: &layland_model::Task| !(SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&task.period);
    let all = system.platform.all_cpus();
    let is_tied =
        |task: &layland_model::Task| task.affinity.as_ref().is_some_and(|own| !all.is_subset(own));
    let affinities = "a thread under it may run on all CPUs of its cpuset (EPERM otherwise), unless the admission \
                      control is off (sched_rt_runtime_us is -1)";
    let periods = "it takes periods of 100 us to 4.19 s (sched_deadline_period_min_us and _max_us)";
    let runtimes = "it reserves at least 1024 ns";
    let refused =
        [said(&is_outside, periods), said(&is_short, runtimes), said(&is_tied, affinities)];
    refused.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{CpuId, CpuSet, Service, Task, TaskId};

    #[test]
    fn what_linux_never_takes_is_told() {
        let task = |name: &str, runtime, period| {
            Task::implicit(name.to_owned(), Service::from_ns(runtime), Duration::from_ns(period))
        };
        let tasks = vec![
            task("a", 1024, 100_000),
            task("b", 1023, 1_000_000),
            task("c", 20_000, 99_999),
            task("d", 20_000, 4_194_304_000),
            task("e", 20_000, 4_194_304_001),
        ];
        let mut system = System::new(2, tasks);
        system.tasks[TaskId(0)].affinity = Some(CpuSet::first(2));
        let said = refused(&system);
        assert_eq!(said.len(), 2);
        assert!(said[0].starts_with("Linux refuses SCHED_DEADLINE for `c` and 1 more: it takes"));
        assert!(
            said[1].starts_with("Linux refuses SCHED_DEADLINE for `b`: it reserves"),
            "{said:?}"
        );
        system.tasks[TaskId(0)].affinity = Some(CpuSet::single(CpuId(1)));
        let said = refused(&system);
        assert!(said[2].starts_with("Linux refuses SCHED_DEADLINE for `a`: a thread"), "{said:?}");
    }
}
