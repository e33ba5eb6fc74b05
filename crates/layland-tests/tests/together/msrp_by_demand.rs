//! Demand, spinning and blocking of EDF with MSRP, compared with the criterion at every instant,
//! with SRP on one CPU, and with simulations.
//!
//! `CASES=20000 cargo test -p layland-tests --test together msrp_by_demand` simulates more sets.

use layland_analysis::locking::{between::demand, stack};
use layland_analysis::{Assumption, Verdict};
use layland_gen::Random;
use layland_guarantee::{AssessOptions, assess};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Index, Resource, ResourceId, Separation,
    Service, Step, System, Task, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::Counters;

/// The longest interval that is checked.
const LONGEST: i64 = 2_000;

/// Draws tasks with up to two requests each, for resources that any of them may use.
fn system(random: &mut Random, cpus: i64) -> System {
    let run = |length: i64| Step::Run(Service::from_ns(length));
    let count = random.between(2, 3 * cpus);
    let task = |at: i64| {
        let (mut steps, mut c) = (vec![run(1)], 1);
        for _ in 0..random.between(0, 2) {
            let (resource, length) =
                (ResourceId(random.between(0, 2) as u32), random.between(1, 5));
            steps.extend([Step::Lock(resource), run(length), Step::Unlock(resource), run(1)]);
            c += length + 1;
        }
        let period = random.between(2 * c, 8 * c + 20);
        Task {
            affinity: Some(CpuSet::single(CpuId(random.between(0, cpus - 1) as u32))),
            deadline: Duration::from_ns(random.between(period / 2, period)),
            steps: Some(steps.into()),
            ..Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(period))
        }
    };
    let mut system = System::new(cpus as usize, (0..count).map(task).collect());
    system.resources = (0..3).map(|at| Resource { name: format!("r{at}"), home: None }).collect();
    system
}

/// The parameters of a task in the criterion: CPU, `C`, `D`, `T`, and the sections on each resource.
struct Seen {
    cpu: u32,
    times: [i64; 3],
    sections: [Vec<i64>; 3],
}

fn seen(task: &Task) -> Seen {
    let mut sections = [const { Vec::new() }; 3];
    for section in task.sections() {
        sections[section.resource.index()].push(section.length.ns());
    }
    Seen {
        cpu: task.affinity.as_ref().and_then(CpuSet::lowest).expect("a CPU").0,
        times: [task.own_wcet().ns(), task.deadline.ns(), task.period.ns()],
        sections,
    }
}

/// Returns the least slack of all intervals of a CPU, and its utilization with spinning, in percent.
fn slack_and_load(tasks: &[Seen], cpus: u32, cpu: u32) -> (i64, i64) {
    let is_global = |q: usize| {
        let mut users = tasks.iter().filter(|task| !task.sections[q].is_empty());
        let first = users.next().map(|task| task.cpu);
        users.any(|task| Some(task.cpu) != first)
    };
    let others = || (0..cpus).filter(|&other| other != cpu);
    let on = |cpu: u32| tasks.iter().filter(move |task| task.cpu == cpu);
    // All sections that may compete within the deadline, from each other CPU the longest ones.
    let spin = |task: &Seen| -> i64 {
        let of_resource = |q: usize| -> i64 {
            let of_cpu = |other: u32| -> i64 {
                let mut all = Vec::new();
                for user in on(other) {
                    let jobs = (task.times[1] + user.times[1] + user.times[2] - 1) / user.times[2];
                    let longest = user.sections[q].iter().max().copied().unwrap_or(0);
                    all.extend(vec![longest; jobs as usize * user.sections[q].len()]);
                }
                all.sort_unstable_by(|one, other| other.cmp(one));
                all.iter().take(task.sections[q].len()).sum()
            };
            others().map(of_cpu).sum()
        };
        (0..3).filter(|&q| is_global(q)).map(of_resource).sum()
    };
    let longest = |other: u32, q: usize| on(other).flat_map(|task| &task.sections[q]).max();
    let blocks = |task: &Seen, q: usize, t: i64| -> i64 {
        let Some(held) = task.sections[q].iter().max() else { return 0 };
        let is_reached = on(cpu).any(|user| user.times[1] <= t && !user.sections[q].is_empty());
        match (is_global(q), is_reached) {
            (true, _) => held + others().filter_map(|other| longest(other, q)).sum::<i64>(),
            (false, true) => *held,
            (false, false) => 0,
        }
    };
    let own: Vec<(&Seen, i64)> = on(cpu).map(|task| (task, task.times[0] + spin(task))).collect();
    let needed = |t: i64| -> i64 {
        let later = on(cpu).filter(|task| task.times[1] > t);
        let each = later.flat_map(|task| (0..3).map(move |q| blocks(task, q, t)));
        let due = own.iter().filter(|(task, _)| task.times[1] <= t);
        let demand = due.map(|(task, c)| ((t - task.times[1]) / task.times[2] + 1) * c);
        demand.sum::<i64>() + each.max().unwrap_or(0)
    };
    let deadlines = (1..LONGEST).filter(|t| own.iter().any(|(task, _)| task.times[1] <= *t));
    let slack = deadlines.map(|t| t - needed(t)).min().unwrap_or(0);
    (slack, own.iter().map(|(task, c)| 100 * c / task.times[2] + 1).sum())
}

#[test]
fn a_set_is_accepted_if_every_interval_has_room() {
    let (mut accepted, mut not) = (0, 0);
    for case in 0..3_000 {
        let random = &mut Random::of_task(case, 21);
        let cpus = random.between(1, 3);
        let system = system(random, cpus);
        assert_eq!(system.validate(), []);
        let tasks: Vec<Seen> = system.tasks.values().map(seen).collect();
        let each: Vec<(i64, i64)> =
            (0..cpus as u32).map(|cpu| slack_and_load(&tasks, cpus as u32, cpu)).collect();
        let verdict = demand::TEST.run(&system).expect("no assumption is broken").verdict;
        if each.iter().any(|&(slack, _)| slack < 0) {
            assert_eq!(verdict, Verdict::Unknown, "{each:?}: {system:#?}");
            not += 1;
        } else if each.iter().all(|&(_, load)| load < 90) {
            // At this load no busy period of the CPU is longer than the checked intervals.
            assert_eq!(verdict, Verdict::Yes, "{each:?}: {system:#?}");
            accepted += 1;
        }
    }
    assert!(accepted > 300 && not > 300, "{accepted} {not}");
}

#[test]
fn on_one_cpu_it_is_the_stack_resource_policy() {
    let (mut accepted, mut not) = (0, 0);
    for case in 0..2_000 {
        let system = system(&mut Random::of_task(case, 22), 1);
        assert!(Assumption::LocalResources.check(&system).is_ok());
        let srp = stack::TEST.run(&system).expect("no assumption is broken").verdict;
        assert_eq!(demand::TEST.run(&system).expect("nor here").verdict, srp, "{system:#?}");
        if srp == Verdict::Yes { accepted += 1 } else { not += 1 }
    }
    assert!(accepted > 200 && not > 50, "{accepted} {not}");
}

/// Returns the tasks without the locks that only one CPU uses, which the policy rejects. Some jobs
/// come late, and some need less.
fn shared_between_cpus(system: System, random: &mut Random) -> System {
    let users = |resource: ResourceId| {
        let locks = |task: &&Task| task.steps().contains(&Step::Lock(resource));
        let users = system.tasks.values().filter(locks);
        users.map(|task| task.affinity.clone()).collect::<std::collections::BTreeSet<_>>().len()
    };
    let is_shared: Vec<bool> = (0..3).map(|q| users(ResourceId(q)) > 1).collect();
    let mut system = system;
    for task in system.tasks.values_mut() {
        let keeps = |step: &Step| match *step {
            Step::Lock(q) | Step::Unlock(q) => is_shared[q.index()],
            Step::Run(_) | Step::Suspend(_) => true,
        };
        task.steps = Some(task.steps().iter().filter(|step| keeps(step)).cloned().collect());
        let c = task.own_wcet();
        if random.between(0, 2) == 0 {
            task.execution = ExecutionModel::Uniform { min: Service::from_ns(1), max: c };
        }
        task.offset = Duration::from_ns(random.between(0, 9));
        let max = Duration::from_ns(random.between(0, 1) * random.between(1, 9));
        task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
    }
    system
}

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(1_500)
}

#[test]
fn what_is_accepted_never_misses() {
    let cases = cases();
    let (mut accepted, mut waits) = (0, 0);
    for case in 0..cases {
        let random = &mut Random::of_task(case, 23);
        let cpus = random.between(2, 3);
        let drawn = system(random, cpus);
        let system = shared_between_cpus(drawn, random);
        assert_eq!(system.validate(), []);
        let spec = "p-edf:locks=msrp";
        let found = assess(registry(), spec, &system, &AssessOptions::of_every_test()).unwrap();
        assert!(found.refused.is_none(), "{:?}", found.reasons);
        if found.verdict != Verdict::Yes {
            continue;
        }
        accepted += 1;
        let locks = |task: &Task| task.steps().iter().any(|step| matches!(step, Step::Lock(_)));
        waits += u64::from(system.tasks.values().any(locks));
        let policy = registry().build(spec, &system).unwrap();
        let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        let options = SimOptions { seed: case, ..SimOptions::until(Time::from_ns(4_000)) };
        simulate(&system, policy, &mut counters, &options).unwrap();
        assert_eq!(counters.total().missed, 0, "case {case}: {system:#?}");
    }
    assert!(accepted > cases / 4 && waits > cases / 8, "{accepted} {waits} of {cases}");
}
