//! `layland-guarantee` compared with simulation: for every policy of the registry, guaranteed
//! deadlines are never missed, refuted sets miss one, and no bound is exceeded.
//!
//! Long because each kind of answer is compared with the behaviour of policies.
//!
//! A longer run: `CASES=100000 cargo test --release -p layland-tests --test together check`.

use layland_analysis::Verdict;
use layland_gen::{Aspect, Random};
use layland_guarantee::{AssessOptions, Bound, Effort, assess, scaled, verdict_at};
use layland_model::{
    Algorithm, Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Form, Index, Order, Overheads,
    Rate, ScheduleRule, Service, System, TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::cases::{
    Deadlines, Masks, masks, on_random, run, some_sporadic, systems, with_masks,
};
use layland_testkit::mixed::{describe, draw_run, draw_set};
use layland_testkit::registry;
use layland_trace::Trace;
use proptest::prelude::*;
use rayon::prelude::*;
use std::cell::Cell;

/// Returns the number of cases, which the environment can increase.
fn cases(default: u32) -> u32 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(default)
}

/// Simulates with several seeds and releases, and compares.
fn agrees(
    system: &System,
    spec: &str,
    until: i64,
    (sporadic, seed): (u8, u64),
) -> Result<bool, TestCaseError> {
    let found =
        assess(registry(), spec, system, &AssessOptions::by_tests()).expect("the policy exists");
    if found.refused.is_some() {
        prop_assert!(registry().build(spec, system).is_err());
        return Ok(false);
    }
    let known = found.bounds.values().any(|bound| *bound != Bound::Unknown);
    for system in [system.clone(), some_sporadic(system.clone(), sporadic)] {
        // RUN and DP-WRAP reject sporadic tasks, and QPS, LRE-TL and U-EDF need more capacity for them.
        if matches!(spec, "run" | "qps" | "dp-wrap" | "lre-tl" | "u-edf")
            && registry().build(spec, &system).is_err()
        {
            continue;
        }
        // Pfair meets deadlines only for jobs that are released at the beginnings of slots.
        if matches!(spec, "pd2" | "er-pd2")
            && assess(registry(), spec, &system, &AssessOptions::by_tests())
                .is_ok_and(|found| found.verdict != Verdict::Yes)
        {
            continue;
        }
        let counters = run(&system, spec, until, seed);
        let missed = counters.total().missed > 0;
        prop_assert!(
            !(missed && found.verdict == Verdict::Yes),
            "{} is guaranteed by {:?} and misses",
            spec,
            found.decided_by
        );
        for (id, bound) in found.bounds.iter() {
            let seen = counters.task(id);
            match bound {
                Bound::Unknown => {}
                Bound::Response { within, by, .. } => {
                    let longest = seen.max_response.unwrap_or_default();
                    prop_assert!(longest <= *within, "{} {}: {} > {}", spec, by, longest, within);
                }
                Bound::Tardiness { within, by } => {
                    let late = Rate::whole(seen.max_tardiness.max(seen.overdue).ns());
                    prop_assert!(late <= *within, "{} {}: {} > {}", spec, by, late, within);
                }
            }
        }
    }
    Ok(known)
}

#[test]
fn every_policy_keeps_what_is_said_of_it() {
    let inputs = prop_oneof![
        systems(1..5, 7, 20..103, Deadlines::Implicit),
        systems(1..5, 7, 20..90, Deadlines::Constrained),
        systems(1..3, 5, 20..103, Deadlines::Arbitrary),
    ];
    let cases = cases(250);
    on_random(cases, cases / 2, (inputs, any::<u8>(), any::<u64>()), |(system, sporadic, seed)| {
        let mut any = false;
        for info in registry() {
            any |= agrees(&system, &info.name, 400, (sporadic, seed))?;
        }
        Ok(any)
    });
}

/// The comparison with tasks tied to CPUs, clusters, options, jitter and overheads.
#[test]
fn so_it_is_with_affinities_clusters_jitter_and_overheads() {
    let extras = (prop::collection::vec(0usize..6, 7), prop::collection::vec(0i64..3, 7), 0i64..4);
    let inputs =
        (systems(2..5, 7, 15..80, Deadlines::Constrained), extras, any::<u8>(), any::<u64>());
    let cases = cases(300);
    on_random(cases, cases / 3, inputs, |(mut system, (pins, jitters, cost), sporadic, seed)| {
        let cpus = system.platform.cpu_count();
        for (task, (&pin, &jitter)) in system.tasks.values_mut().zip(pins.iter().zip(&jitters)) {
            if pin < cpus && seed % 3 == 0 {
                task.affinity = Some(CpuSet::single(CpuId::from_index(pin)));
            }
            if seed % 2 == 0 {
                task.jitter = Duration::from_ns(jitter);
            }
        }
        let mut system = scaled(&system, 1_000);
        if cost == 3 {
            for task in system.tasks.values_mut() {
                task.wcet.iter_mut().for_each(|c| *c = *c * 100);
                task.period = task.period * 100;
                task.deadline = task.deadline * 100;
            }
            let one = Duration::from_ns(1);
            system.platform.overheads = Overheads {
                release: one,
                scheduling: one,
                context_switch: one,
                ..Overheads::default()
            };
        }
        let until = if cost == 3 { 40_000 } else { 400 };
        let mut any = false;
        for spec in
            ["g-edf", "c-edf:size=1", "p-edf:fit=wfd", "p-edf", "p-dm", "g-dm", "dl-sp", "dl"]
        {
            any |= agrees(&system, spec, until, (sporadic, seed))?;
        }
        Ok(any)
    });
}

/// The comparison with affinities of every kind: nested, disjoint, overlapping.
#[test]
fn so_it_is_with_masks() {
    let inputs = prop_oneof![
        systems(1..6, 8, 15..90, Deadlines::Implicit),
        systems(2..6, 8, 10..75, Deadlines::Constrained),
    ];
    let cases = cases(150);
    let inputs = (inputs, masks(), any::<u8>(), any::<u64>());
    on_random(cases, cases / 4, inputs, |(system, (kind, draws), sporadic, seed)| {
        let system = with_masks(system, kind, &draws);
        let mut any = false;
        for info in registry() {
            let of_affinities = matches!(
                info.algorithm(&Default::default()),
                Algorithm::Ordered(Form::Weak | Form::Strong | Form::Hierarchical, _)
            );
            let known = agrees(&system, &info.name, 400, (sporadic, seed))?;
            any |= known && of_affinities;
        }
        Ok(any)
    });
}

/// A policy that accepts the system keeps the affinities. `hpa-*` rejects overlapping ones.
#[test]
fn policies_keep_affinities_or_refuse_them() {
    let inputs = (systems(2..5, 6, 20..80, Deadlines::Implicit), masks());
    on_random(cases(200), 20, inputs, |(system, (kind, draws))| {
        let system = with_masks(system, kind, &draws);
        let Some(found) = layland_guarantee::affinities(registry(), &system) else {
            return Ok(false);
        };
        for name in &found.kept_by {
            prop_assert!(registry().build(name, &system).is_ok(), "{}", name);
        }
        for (why, policies) in &found.refused_by {
            for name in policies {
                prop_assert!(registry().build(name, &system).is_err(), "{}: {}", name, why);
            }
        }
        for form in [Form::Weak, Form::Strong] {
            for order in Order::ALL {
                let name = Algorithm::Ordered(form, order).to_string();
                prop_assert!(found.kept_by.iter().any(|kept| *kept == name), "{}", name);
            }
        }
        let hierarchical = found.kept_by.iter().any(|kept| kept == "hpa-edf");
        prop_assert!(hierarchical || kind == Masks::Arbitrary);
        Ok(true)
    });
}

/// Returns the system in which each task is tied to the CPU that a policy gives it. Returns `None`
/// if the policy gives some task no single CPU.
fn tied(system: &System, spec: &str) -> Option<System> {
    let groups = match registry().build(spec, system).ok()?.rule() {
        ScheduleRule::HighestFirst { groups, .. }
        | ScheduleRule::Deferred { groups, .. }
        | ScheduleRule::Served { groups, .. }
        | ScheduleRule::MixedCriticality { groups, .. } => groups,
        _ => return None,
    };
    let mut tied = system.clone();
    for group in groups.iter().filter(|group| !group.tasks.is_empty()) {
        if group.cpus.len() > 1 {
            return None;
        }
        group.tasks.iter().for_each(|&id| tied.tasks[id].affinity = Some(group.cpus.clone()));
    }
    Some(tied)
}

/// For every policy, the test accepts the factor for the policy's decisions for the original set,
/// and rejects the next step. If tasks are tied to the CPUs that the policy gives them, a set in a
/// file has the same answer.
#[test]
fn the_margin_is_that_of_what_runs() {
    let inputs = systems(2..4, 6, 20..95, Deadlines::Constrained);
    let (tied_ones, stops, anew) = (Cell::new(0), Cell::new(0), Cell::new(0));
    on_random(cases(40), 20, inputs, |system| {
        // Multiply the times, so that a thousandth of each is a positive number.
        let mut system = scaled(&system, 1_000);
        for task in system.tasks.values_mut() {
            task.wcet.iter_mut().for_each(|c| *c = *c * 1_000);
            task.period = task.period * 1_000;
            task.deadline = task.deadline * 1_000;
        }
        let mut implicit = system.clone();
        implicit.tasks.values_mut().for_each(|task| task.deadline = task.period);
        let mut any = false;
        for (system, info) in [&system, &implicit]
            .into_iter()
            .flat_map(|set| registry().iter().map(move |info| (set, info)))
        {
            let spec = &*info.name;
            let options = AssessOptions { effort: Effort::Quick, ..AssessOptions::with_margin() };
            let found = assess(registry(), spec, system, &options).expect("the policy exists");
            let Some(margin) = found.margin else { continue };
            let at = |thousandths| {
                verdict_at(registry(), spec, system, thousandths, Effort::Quick).expect("it exists")
            };
            if margin.thousandths > 0 {
                prop_assert_eq!(at(margin.thousandths), Verdict::Yes, "{}", spec);
                let stop = margin.stopped_by.as_ref().expect("something stops it");
                prop_assert!(!stop.reason.is_empty(), "{}: {:?}", spec, stop);
                stops.set(stops.get() + usize::from(stop.task.is_some() && stop.cpus.is_some()));
                any = true;
            }
            prop_assert!(at(margin.thousandths + 1) != Verdict::Yes, "{}", spec);
            prop_assert_eq!(found.verdict == Verdict::Yes, margin.thousandths >= 1_000);
            if let Some(factor) = margin.decided_anew {
                prop_assert!(factor > margin.thousandths);
                let larger = scaled(system, factor);
                let again = assess(registry(), spec, &larger, &options).expect("it exists");
                prop_assert_eq!(again.verdict, Verdict::Yes, "{} decides anew", spec);
                anew.set(anew.get() + 1);
            }
            // Orders that a search finds are not in a file, and federated scheduling assigns CPUs itself.
            let is_of_cpus = !matches!(spec, "smc" | "amc" | "federated");
            if let Some(tied) = tied(system, spec).filter(|_| is_of_cpus) {
                let verdict = |thousandths| {
                    let options = AssessOptions { effort: Effort::Quick, ..Default::default() };
                    let larger = scaled(&tied, thousandths);
                    assess(registry(), spec, &larger, &options).expect("it exists").verdict
                };
                if margin.thousandths > 0 {
                    prop_assert_eq!(verdict(margin.thousandths), Verdict::Yes, "{} tied", spec);
                }
                prop_assert!(verdict(margin.thousandths + 1) != Verdict::Yes, "{} tied", spec);
                tied_ones.set(tied_ones.get() + 1);
            }
        }
        Ok(any)
    });
    assert!(tied_ones.get() > 100 && stops.get() > 100 && anew.get() > 10);
}

/// Packing by response times keeps every set schedulable that packing by load makes schedulable, and adds more.
#[test]
fn fixed_priorities_are_packed_by_the_test_that_judges() {
    let inputs = systems(2..4, 7, 40..98, Deadlines::Constrained);
    let (gained, all) = (Cell::new(0), Cell::new(0));
    on_random(cases(300), 200, inputs, |mut system| {
        for (at, task) in system.tasks.values_mut().enumerate() {
            task.priority = Some(at as i64);
        }
        for policy in ["p-rm", "p-dm", "p-fp"] {
            for fit in ["ffd", "wfd", "bf"] {
                let verdict = |accept: &str| {
                    let spec = format!("{policy}:fit={fit}:accept={accept}");
                    let options = AssessOptions::by_tests();
                    assess(registry(), &spec, &system, &options).expect("it exists").verdict
                };
                let (by_load, by_test) = (verdict("load"), verdict("test"));
                let kept = by_load != Verdict::Yes || by_test == Verdict::Yes;
                prop_assert!(kept, "{} {}", policy, fit);
                let gains = by_load != Verdict::Yes && by_test == Verdict::Yes;
                gained.set(gained.get() + usize::from(gains));
                all.set(all.get() + usize::from(by_load == Verdict::Yes));
            }
        }
        Ok(true)
    });
    assert!(gained.get() > 50 && all.get() > 100, "{} gained, {}", gained.get(), all.get());
}

/// Two short tasks share a CPU, and the long one is alone.
#[test]
fn a_long_task_is_left_alone_where_a_short_one_would_make_it_late() {
    let task = |name: &str, c, t| {
        layland_model::Task::implicit(name.to_owned(), Service::from_ms(c), Duration::from_ms(t))
    };
    let system = System::new(2, vec![task("x", 2, 10), task("y", 2, 10), task("z", 9, 12)]);
    let verdict = |spec: &str| {
        assess(registry(), spec, &system, &AssessOptions::by_tests()).expect("it exists").verdict
    };
    assert_eq!(verdict("p-rm"), Verdict::Yes);
    assert_eq!(verdict("p-dm"), Verdict::Yes);
    assert_eq!(verdict("p-rm:fit=ffd:accept=load"), Verdict::No);
}

/// Covered jobs respond within the bounds of `layland check`, in runs of every level.
#[test]
fn no_response_of_a_covered_job_is_longer_than_its_bound() {
    let specs = [
        "rms",
        "cms",
        "smc",
        "smc:order=rm",
        "smc:order=cm",
        "amc",
        "amc:own_overrun=cut",
        "amc:order=rm",
        "amc:order=amc-max",
        "amc:order=amc-ia",
    ];
    specs.par_iter().for_each(|spec| {
        // The number of bounds that were compared with jobs, of those that were reached, and of
        // those of a single level.
        let (mut held, mut reached, mut levels) = (0, 0, 0);
        for index in 0..1_500 {
            let mut random = Random::new(13, index, Aspect::Criticalities);
            let system = draw_set(&mut random);
            let found = assess(registry(), spec, &system, &AssessOptions::by_tests()).unwrap();
            if found.refused.is_some() {
                continue;
            }
            let policy = registry().build(spec, &system).unwrap();
            for _ in 0..8 {
                let (run, level) = draw_run(&mut random, &system, 150);
                let mut trace = Trace::default();
                let options = SimOptions::until(Time::from_ns(150));
                simulate(&run, policy.clone_policy(), &mut trace, &options).unwrap();
                let covered = |task: TaskId| system.tasks[task].criticality.level() >= level;
                for record in trace.jobs.iter().filter(|record| covered(record.job.id.task)) {
                    let Bound::Response { within, by, per_level, .. } =
                        &found.bounds[record.job.id.task]
                    else {
                        continue;
                    };
                    let bound = per_level.get(level).copied().unwrap_or(*within);
                    let ended = record.end.map_or(trace.over, |(at, _)| at);
                    let response = ended - record.job.arrival;
                    assert!(
                        response <= bound,
                        "{spec} {by}: {:?} {response} > {bound} in a run of level {level}\n{}",
                        record.job.id,
                        describe(&run)
                    );
                    held += 1;
                    reached += usize::from(response == bound);
                    levels += usize::from(bound < *within);
                }
            }
            let bounded = found.bounds.values().filter(|bound| **bound != Bound::Unknown).count();
            if found.verdict == Verdict::Yes {
                assert_eq!(bounded, system.tasks.len(), "{spec}");
            }
        }
        assert!(held > 1_000 && reached > 100, "{spec}: {held} held, {reached} reached");
        assert_eq!(levels > 0, spec.starts_with("amc"), "{spec}: {levels}");
    });
}

/// Returns a system of threads. Times are ten times as long, so that a nanosecond is short.
/// Budgets, behaviours, affinities to one CPU and clusters are drawn.
fn threads(mut system: System, drawn: &[(u64, i64, u64)], shape: u8) -> System {
    let cpus = system.platform.cpu_count();
    for (task, &(behaviour, slack, cpu)) in system.tasks.values_mut().zip(drawn.iter().cycle()) {
        task.wcet.iter_mut().for_each(|c| *c = *c * 10);
        (task.period, task.deadline) = (task.period * 10, task.deadline * 10);
        if slack >= 50 {
            let room = (task.deadline.ns() - task.own_wcet().ns()).min(task.own_wcet().ns());
            task.budget = Some(Service::from_ns(task.own_wcet().ns() + room * (slack - 50) / 100));
        }
        match behaviour {
            0 => task.behaviour = Behaviour::Hog,
            1 => task.behaviour = Behaviour::Yield,
            2 => {
                let max = task.own_wcet();
                task.execution = ExecutionModel::Uniform { min: Service::from_ns(1), max };
            }
            _ => {}
        }
        // All tasks are tied, or some.
        if shape == 0 || shape == 1 && cpu % 2 == 0 {
            let cpu = CpuId::from_index(cpu as usize % cpus);
            task.affinity = Some(CpuSet::single(cpu));
        }
    }
    if shape == 2 && cpus > 1 {
        let [low, high] = [0..cpus / 2, cpus / 2..cpus]
            .map(|range| range.map(CpuId::from_index).collect::<CpuSet>());
        system.platform.clusters = vec![low, high];
        for (at, task) in system.tasks.values_mut().enumerate() {
            task.cluster = at % 2;
        }
    }
    system
}

/// Returns a job that waits while a CPU of its cluster is idle or runs a later deadline, if there is one.
fn waits_for_a_later_deadline(system: &System, trace: &Trace) -> Option<String> {
    let deadline =
        |job| trace.jobs.iter().find(|own| own.job.id == job).map(|own| own.job.deadline);
    let starts = trace.segments.iter().map(|segment| (segment.start, deadline(segment.job)));
    let starts: Vec<_> = starts.collect();
    let mut times: Vec<Time> = trace.segments.iter().flat_map(|one| [one.start, one.end]).collect();
    times.extend(trace.jobs.iter().map(|own| own.job.release));
    times.sort_unstable();
    times.dedup();
    times.retain(|&at| at < trace.over);
    times.into_iter().find_map(|at| {
        let segments = || trace.segments.iter().zip(&starts);
        let now = || segments().filter(|(one, _)| one.start <= at && at < one.end);
        trace.jobs.iter().find_map(|own| {
            let id = own.job.id;
            let is_ready = own.job.release <= at && own.end.is_none_or(|(end, _)| at < end);
            if !is_ready || now().any(|(one, _)| one.job == id) {
                return None;
            }
            let cluster = &system.platform.clusters[system.tasks[id.task].cluster];
            let free = cluster.iter().find(|&cpu| {
                let runs = now().find(|(one, _)| one.cpu == cpu);
                runs.is_none_or(|(_, (_, running))| *running > Some(own.job.deadline))
            })?;
            Some(format!("{id:?} waits at {at} while CPU {free} runs nothing as early"))
        })
    })
}

/// Checks threads with reservations: budgets above the WCETs, threads that never block or yield,
/// ties and clusters.
#[test]
fn threads_keep_what_is_said_of_them() {
    const SPECS: [(&str, u32); 15] = [
        ("dl", 30),
        ("dl:tie=fifo", 30),
        ("dl:tie=rank:kernel=7.2", 30),
        ("dl:lag_reset=on", 30),
        ("dl-sp:limit=1", 30),
        ("dl-sp:limit=1:tie=fifo:lag_reset=on", 30),
        ("dl-sp:limit=1:throttle=waiting", 30),
        ("dl-sp:limit=1:throttle_cost=2ns", 25),
        ("dl-sp:throttle=waiting:throttle_cost=3ns:fair=1/20:slack=on", 10),
        ("dl:ac=on", 10),
        ("dl-sp", 20),
        ("apedf", 12),
        ("apedf:fallback=off", 12),
        ("a2pedf", 12),
        ("a2pedf:lag_reset=on", 12),
    ];
    let inputs = prop_oneof![
        systems(1..5, 7, 20..100, Deadlines::Implicit),
        systems(2..5, 7, 10..70, Deadlines::Constrained),
        systems(1..2, 5, 40..100, Deadlines::Constrained),
    ];
    let drawn = prop::collection::vec((0u64..6, 0i64..100, 0u64..8), 8);
    let yes: Vec<Cell<u32>> = SPECS.iter().map(|_| Cell::new(0)).collect();
    // The numbers of sets with a relevant budget, with ties, on several CPUs, and with the rule of global EDF.
    let [budgets, tied, global, ruled] = std::array::from_fn(|_| Cell::new(0));
    let cases = cases(250);
    let inputs = (inputs, drawn, 0u8..6, any::<u8>(), any::<u64>());
    on_random(cases, cases / 3, inputs, |(system, drawn, shape, sporadic, seed)| {
        let system = threads(system, &drawn, shape);
        let mut any = false;
        for ((spec, _), yes) in SPECS.iter().zip(&yes) {
            any |= agrees(&system, spec, 1_200, (sporadic, seed))?;
            let found = assess(registry(), spec, &system, &AssessOptions::by_tests())
                .expect("the policy exists");
            if found.verdict != Verdict::Yes {
                continue;
            }
            yes.set(yes.get() + 1);
            let count =
                |counter: &Cell<u32>, holds: bool| counter.set(counter.get() + u32::from(holds));
            count(&budgets, found.reasons.iter().any(|reason| reason.contains("budgets")));
            let is_tied = system.tasks.values().all(|task| task.affinity.is_some());
            count(&tied, is_tied && system.platform.cpu_count() > 1);
            let is_global = system.tasks.values().all(|task| task.affinity.is_none())
                && system.platform.clusters.iter().any(|cluster| cluster.len() > 1)
                && system.tasks.len() > system.platform.cpu_count();
            count(&global, is_global && spec.starts_with("dl"));
            // The tests for global EDF hold because no thread waits for a later deadline.
            let hogs = system.tasks.values().any(|task| task.behaviour == Behaviour::Hog);
            if is_global && spec.starts_with("dl") && !hogs {
                let mut trace = Trace::default();
                let options = SimOptions { seed, ..SimOptions::until(Time::from_ns(1_200)) };
                let policy = registry().build(spec, &system).expect("it takes it");
                simulate(&system, policy, &mut trace, &options).expect("it is in range");
                prop_assert_eq!(waits_for_a_later_deadline(&system, &trace), None, "{}", spec);
                count(&ruled, true);
            }
        }
        Ok(any)
    });
    for ((spec, least), yes) in SPECS.iter().zip(&yes) {
        assert!(yes.get() >= *least, "{spec} is guaranteed {} times", yes.get());
    }
    let counts = [&budgets, &tied, &global, &ruled].map(Cell::get);
    assert!(counts.iter().all(|&count| count >= 30), "{counts:?}");
}
