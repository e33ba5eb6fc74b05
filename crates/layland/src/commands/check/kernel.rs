//! The parts of a set that Linux rejects under `dl`, which is its SCHED_DEADLINE, and those that a
//! kernel cannot keep up with under `dl-sp`. An answer about such a set promises nothing on Linux.

use crate::ui::terminal;
use layland_analysis::deadline::admission::stays_late;
use layland_model::{Algorithm, Duration, System, Task};
use layland_policy::Registry;
use layland_policy::deadline::KernelOptions;

/// The shortest runtime that Linux reserves.
const SHORTEST_RUNTIME: Duration = Duration::from_ns(1024);
/// The periods that Linux accepts, unless root has changed `sched_deadline_period_min_us` and
/// `_max_us`.
const SHORTEST_PERIOD: Duration = Duration::from_us(100);
const LONGEST_PERIOD: Duration = Duration::from_us(1 << 22);

/// Warns of what Linux would reject, if its policy is among those requested, and of tasks that stay
/// late under its repair.
pub(super) fn warn(registry: &Registry, policies: &[String], system: &System) {
    if policies.iter().any(|policy| policy.split(':').next() == Some("dl")) {
        refused(system).iter().for_each(|said| terminal::warn(said, None));
    }
    let said = policies.iter().find_map(|policy| late_for_ever(registry, policy, system));
    said.iter().for_each(|said| terminal::warn(said, None));
}

/// Returns what is to say of tasks that do not catch up once they are late under a policy, unless it
/// turns them away. The costs of a kernel are unknown here, if the policy does not state them; but no
/// cost is too small for a task that needs all of a CPU.
fn late_for_ever(registry: &Registry, policy: &str, system: &System) -> Option<String> {
    let (info, options) = registry.parse(policy).ok()?;
    let algorithm = info.algorithm(&options);
    if algorithm != Algorithm::SemiPartitionedDeadline {
        return None;
    }
    let stated = KernelOptions::of(algorithm, &options).ok()?;
    let late = stays_late(system, stated.throttle_cost);
    let first = &system.tasks[*late.first()?].name;
    if stated.needs_slack && stated.limit.is_some() {
        return None;
    }
    let more = and_more(late.len() - 1);
    let cost = match stated.throttle_cost {
        Duration::ZERO => "nothing".to_owned(),
        cost => format!("no more than {cost:#}"),
    };
    Some(format!(
        "on a kernel `{first}`{more} would not catch up once late: a late task that migrates is throttled at the \
         end of each budget, which takes time, and {cost} of its period is left for it ({}:slack=on refuses such \
         tasks)",
        info.name
    ))
}

/// Returns the end of a list of which only the first item is named.
fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

fn refused(system: &System) -> Vec<String> {
    let said = |is_it: &dyn Fn(&Task) -> bool, rule: &str| {
        let mut tasks = system.tasks.values().filter(|task| is_it(task));
        let first = tasks.next()?.name.to_string();
        let more = and_more(tasks.count());
        Some(format!("Linux refuses SCHED_DEADLINE for `{first}`{more}: {rule}"))
    };
    let is_short = |task: &Task| {
        let runtime = task.reservation().at_unit_speed();
        runtime > Duration::ZERO && runtime < SHORTEST_RUNTIME
    };
    let is_outside = |task: &Task| !(SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&task.period);
    let all = system.platform.all_cpus();
    let is_tied = |task: &Task| task.affinity.as_ref().is_some_and(|own| !all.is_subset(own));
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

    #[test]
    fn tasks_that_would_not_catch_up_are_told() {
        let task = |name: &str, us| {
            Task::implicit(name.to_owned(), Service::from_us(us), Duration::from_ms(10))
        };
        let mut system =
            System::new(3, vec![task("a", 10_000), task("b", 9_950), task("c", 9_000)]);
        let said = |policy: &str, system: &System| {
            late_for_ever(&Registry::standard(), policy, system).unwrap_or_default()
        };
        assert!(said("dl-sp", &system).starts_with("on a kernel `a` would not catch up"));
        assert!(said("dl-sp", &system).contains("nothing of its period"));
        assert!(said("dl-sp:throttle_cost=49us", &system).contains("`a` would"));
        let both = said("dl-sp:throttle_cost=50us", &system);
        assert!(
            both.contains("`a` and 1 more would") && both.contains("no more than 50 us"),
            "{both}"
        );
        // They are refused, or there are no such rules.
        for policy in ["dl-sp:slack=on", "dl", "dl:ac=on", "apedf", "g-edf"] {
            assert_eq!(said(policy, &system), "", "{policy}");
        }
        // A tied thread is alone with its cost.
        system.tasks[TaskId(0)].affinity = Some(CpuSet::single(CpuId(1)));
        assert_eq!(said("dl-sp", &system), "");
    }
}
