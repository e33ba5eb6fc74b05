//! The limits of tasks: the slow twin tries every value of one number, with the policy's decisions fixed by
//! affinities and priorities, and simulates nothing.

use layland_analysis::Verdict;
use layland_guarantee::{AssessOptions, Limits, Sensitivity, assess};
use layland_model::{CpuId, CpuSet, Duration, Rate, Service, Speed, System, Task, TaskId, TaskMap};
use layland_testkit::cases::on_random;
use layland_testkit::registry;
use layland_testkit::strategies::periodic_system;
use proptest::prelude::*;

fn asked(spec: &str, system: &System) -> (Verdict, Option<Sensitivity>) {
    let mut options = AssessOptions::by_tests();
    options.wanted.limits = true;
    let found = assess(registry(), spec, system, &options).unwrap();
    (found.verdict, found.sensitivity)
}

fn is_accepted(spec: &str, system: &System) -> bool {
    system.validate().is_empty()
        && assess(registry(), spec, system, &AssessOptions::by_tests()).unwrap().verdict
            == Verdict::Yes
}

/// Ties each task to a CPU, gives CPUs speeds and tasks a jitter, and makes deadlines no longer than periods.
fn prepared(mut system: System, speeds: &[(i64, i64)], jitter: bool) -> System {
    for (speed, &(n, d)) in system.platform.speeds.values_mut().zip(speeds) {
        *speed = Speed::new(&Rate::new(n, d)).unwrap();
    }
    let cpus = system.platform.cpu_count();
    for (at, task) in system.tasks.values_mut().enumerate() {
        task.offset = Duration::ZERO;
        task.deadline = task.deadline.min(task.period);
        task.affinity = Some(CpuSet::single(CpuId((at % cpus) as u32)));
        if jitter && at % 2 == 0 {
            task.jitter = Duration::from_ns(1);
        }
    }
    system
}

/// Returns the system in time, whose priorities are fixed: the twin of what is kept.
fn fixed(system: &System, order: &str) -> System {
    let mut fixed = system.clone();
    for task in fixed.tasks.values_mut() {
        let cpu = task.affinity.as_ref().unwrap().lowest().unwrap();
        task.wcet =
            vec![Service::from_ns(system.platform.speeds[cpu].time_for(task.own_wcet()).ns())]
                .into();
    }
    fixed.platform.speeds.values_mut().for_each(|speed| *speed = Speed::UNIT);
    let key = |id: TaskId| match order {
        "rm" => system.tasks[id].period.ns(),
        "dm" => system.tasks[id].deadline.ns(),
        _ => system.tasks[id].priority.unwrap_or(0),
    };
    let mut ids: Vec<TaskId> = system.tasks.ids().collect();
    ids.sort_by_key(|&id| (key(id), system.tasks[id].rank, id));
    for (at, id) in ids.into_iter().enumerate() {
        fixed.tasks[id].priority = Some(at as i64);
    }
    fixed
}

/// Tries every value from the present one on, in one direction, up to the limit of the values.
fn tried(
    spec: &str,
    base: &System,
    id: TaskId,
    values: impl Iterator<Item = i64>,
    change: impl Fn(&mut Task, i64),
) -> Option<i64> {
    let with = |value: i64| {
        let mut other = base.clone();
        change(&mut other.tasks[id], value);
        is_accepted(spec, &other)
    };
    values.take_while(|&value| with(value)).last()
}

/// The limits by trying every value of a set that is guaranteed.
fn by_every_value(spec: &str, base: &System) -> TaskMap<[Option<i64>; 4]> {
    let of = |id: TaskId| {
        let task = base.tasks[id].clone();
        let set = |task: &mut Task, ns: i64| task.wcet = vec![Service::from_ns(ns)].into();
        let wcet = tried(spec, base, id, task.own_wcet().ns().., set);
        let deadline = tried(spec, base, id, (1..=task.deadline.ns()).rev(), |task, ns| {
            task.deadline = Duration::from_ns(ns);
        });
        let period = tried(spec, base, id, (1..=task.period.ns()).rev(), |task, ns| {
            task.period = Duration::from_ns(ns);
            task.deadline = task.deadline.min(task.period);
        });
        let jitter = tried(spec, base, id, task.jitter.ns().., |task, ns| {
            task.jitter = Duration::from_ns(ns);
        });
        [wcet, deadline, period, jitter]
    };
    base.tasks.ids().map(of).collect()
}

#[test]
fn the_limits_are_those_of_trying_every_value() {
    let counts = std::cell::RefCell::new([0u32; 2]);
    let speed = prop_oneof![2 => Just((1i64, 1i64)), 3 => (1i64..5, 1i64..5)];
    let draws = (periodic_system(), prop::collection::vec(speed, 4), any::<bool>());
    on_random(300, 30, draws, |(system, speeds, jitter)| {
        let system = prepared(system, &speeds, jitter);
        let mut accepted = false;
        for order in ["edf", "rm", "dm", "fp"] {
            let spec = format!("p-{order}");
            let (verdict, found) = asked(&spec, &system);
            let Some(found) = found else { continue };
            if verdict != Verdict::Yes {
                counts.borrow_mut()[0] += 1;
                continue;
            }
            (counts.borrow_mut()[1], accepted) = (counts.borrow()[1] + 1, true);
            let base = fixed(&system, order);
            // With jitter and a load of 1, drawn or tried, QPA gives up.
            let is_full = |cpu: CpuId| {
                let own = base.tasks.iter().filter(|(id, _)| base.allowed_cpus(*id).contains(cpu));
                own.map(|(_, task)| task.utilization()).sum::<Rate>() == Rate::ONE
            };
            let gives_up = jitter || order == "edf" && base.platform.speeds.ids().any(is_full);
            prop_assert!(found.is_exact || gives_up, "{spec}: {system:?}");
            let twin = if order == "edf" { "p-edf" } else { "p-fp:tie=rank" };
            let every = by_every_value(twin, &base);
            for (id, limits) in found.tasks.iter() {
                let Limits { wcet, work, deadline, period, jitter } = *limits;
                let ns = |length: Option<Duration>| length.map(Duration::ns);
                let shown = [ns(wcet), ns(deadline), ns(period), ns(jitter)];
                prop_assert_eq!(shown, every[id], "{}, task {}: {:?}", spec, id.0, system);
                // The largest work is accepted, and a nanosecond more is not.
                for (more, is_right) in [(0, true), (1, false)] {
                    let mut other = system.clone();
                    let ns = work.unwrap().ns() + more;
                    other.tasks[id].wcet = vec![Service::from_ns(ns)].into();
                    prop_assert_eq!(is_accepted(&spec, &other), is_right, "{}: {:?}", spec, other);
                }
            }
            for limit in &found.cpus {
                for (more, is_right) in [(0, true), (1, false)] {
                    let mut other = system.clone();
                    for task in other.tasks.values_mut() {
                        if task.affinity == Some(CpuSet::single(limit.cpu)) {
                            let ns = task.own_wcet().ns() * (limit.thousandths + more);
                            task.wcet = vec![Service::from_ns((ns + 999) / 1000)].into();
                        }
                    }
                    prop_assert_eq!(is_accepted(&spec, &other), is_right, "{}: {:?}", spec, other);
                }
            }
        }
        Ok(accepted)
    });
    let [refused, accepted] = counts.into_inner();
    assert!(refused > 50 && accepted > 60, "{refused} are not guaranteed, {accepted} are");
}

/// Where a set is not guaranteed, each limit is accepted, and the value before it is not.
#[test]
fn the_limits_of_a_set_that_is_not_guaranteed_make_it_one_that_is() {
    let found_any = std::cell::Cell::new(0u32);
    let speed = prop_oneof![Just((1i64, 1i64)), (1i64..5, 1i64..5)];
    let draws = (periodic_system(), prop::collection::vec(speed, 4));
    on_random(300, 60, draws, |(system, speeds)| {
        let system = prepared(system, &speeds, true);
        let mut counted = false;
        for order in ["edf", "fp"] {
            let spec = format!("p-{order}");
            let (verdict, found) = asked(&spec, &system);
            let Some(found) = found.filter(|_| verdict != Verdict::Yes) else { continue };
            counted = true;
            let base = fixed(&system, order);
            let twin = if order == "edf" { "p-edf" } else { "p-fp:tie=rank" };
            let changed = |id: TaskId, change: &dyn Fn(&mut Task)| {
                let mut other = base.clone();
                change(&mut other.tasks[id]);
                is_accepted(twin, &other)
            };
            for (id, limits) in found.tasks.iter() {
                let at = |length: Duration, by: i64| Duration::from_ns(length.ns() + by);
                let holds = |accepted: bool, refused: bool| {
                    found_any.set(found_any.get() + 1);
                    accepted && !refused
                };
                let of = |length: Duration| vec![Service::from_ns(length.ns())].into();
                if let Some(most) = limits.wcet {
                    let [one, next] =
                        [0, 1].map(|by| changed(id, &|task| task.wcet = of(at(most, by))));
                    prop_assert!(holds(one, next), "{spec}: WCET {most}: {system:?}");
                }
                if let Some(least) = limits.deadline {
                    let [one, next] =
                        [0, -1].map(|by| changed(id, &|task| task.deadline = at(least, by)));
                    prop_assert!(holds(one, next), "{spec}: deadline {least}: {system:?}");
                }
                if let Some(least) = limits.period {
                    let [one, next] =
                        [0, -1].map(|by| changed(id, &|task| task.period = at(least, by)));
                    prop_assert!(holds(one, next), "{spec}: period {least}: {system:?}");
                }
                if let Some(most) = limits.jitter {
                    let [one, next] =
                        [0, 1].map(|by| changed(id, &|task| task.jitter = at(most, by)));
                    prop_assert!(holds(one, next), "{spec}: jitter {most}: {system:?}");
                }
            }
        }
        Ok(counted)
    });
    assert!(found_any.get() > 100, "{}", found_any.get());
}

/// The margin of the set as it is placed is that of the CPU, not that of another partition.
#[test]
fn the_assignment_is_pinned() {
    let task = |name, c| Task::implicit(name, Service::from_ns(c), Duration::from_ns(10));
    let system = System::new(2, vec![task("a", 5), task("b", 3), task("c", 2)]);
    let (verdict, found) = asked("p-edf:fit=ff", &system);
    assert_eq!(verdict, Verdict::Yes);
    let found = found.unwrap();
    // All three run on CPU 0, which is full; CPU 1 has no task.
    let factors: Vec<(u32, i64)> =
        found.cpus.iter().map(|limit| (limit.cpu.0, limit.thousandths)).collect();
    assert_eq!(factors, [(0, 1000)]);
    let largest: Vec<Option<i64>> =
        found.tasks.values().map(|limits| limits.wcet.map(Duration::ns)).collect();
    assert_eq!(largest, [Some(5), Some(3), Some(2)]);
    // Global tests know no CPU of a task, and say of their limits what they are.
    let (_, global) = asked("g-edf", &system);
    let global = global.unwrap();
    assert!(global.cpus.is_empty() && !global.is_exact);
    assert!(global.tasks.values().all(|limits| limits.wcet.is_some()));
}
