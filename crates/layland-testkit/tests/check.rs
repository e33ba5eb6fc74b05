//! `layland-guarantee` against simulation: for every policy of the registry, what is guaranteed does not
//! miss, what is refuted does, and no bound is exceeded.
//!
//! A longer run: `CASES=100000 cargo test --release -p layland-testkit --test check`.

use layland_analysis::Verdict;
use layland_gen::{Aspect, Random};
use layland_guarantee::{AssessOptions, Bound, assess, scaled};
use layland_model::{
    Algorithm, CpuId, CpuSet, Duration, Form, Index, Order, Overheads, Rate, System, TaskId, Time,
};
use layland_sim::simulate;
use layland_testkit::cases::{
    Deadlines, Masks, masks, on_random, run, some_sporadic, systems, with_masks,
};
use layland_testkit::mixed::{describe, draw_run, draw_set};
use layland_testkit::registry;
use layland_trace::Trace;
use proptest::prelude::*;
use rayon::prelude::*;

/// How many cases: more if the environment asks for it.
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
        assess(registry(), spec, system, &AssessOptions::default()).expect("the policy exists");
    if found.refused.is_some() {
        prop_assert!(registry().build(spec, system).is_err());
        return Ok(false);
    }
    let known = found.bounds.values().any(|bound| *bound != Bound::Unknown);
    for system in [system.clone(), some_sporadic(system.clone(), sporadic)] {
        // RUN takes no sporadic task, and QPS needs more for one.
        if matches!(spec, "run" | "qps") && registry().build(spec, &system).is_err() {
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
    let cases = cases(400);
    on_random(cases, cases / 2, (inputs, any::<u8>(), any::<u64>()), |(system, sporadic, seed)| {
        let mut any = false;
        for info in registry() {
            any |= agrees(&system, &info.name, 400, (sporadic, seed))?;
        }
        Ok(any)
    });
}

/// Tasks tied to CPUs, clusters, options, jitter and overheads.
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

/// Affinities of every kind: nested, disjoint, overlapping.
#[test]
fn so_it_is_with_masks() {
    let inputs = prop_oneof![
        systems(1..6, 8, 15..90, Deadlines::Implicit),
        systems(2..6, 8, 10..75, Deadlines::Constrained),
    ];
    let cases = cases(250);
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

/// Who keeps affinities is who takes the system; `hpa-*` refuses what overlaps.
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

#[test]
fn the_margin_is_accepted_and_the_next_step_is_not() {
    let inputs = systems(1..4, 6, 20..95, Deadlines::Constrained);
    on_random(cases(60), 30, inputs, |system| {
        // Times of which a thousandth is something.
        let mut system = scaled(&system, 1_000);
        for task in system.tasks.values_mut() {
            task.wcet.iter_mut().for_each(|c| *c = *c * 1_000);
            task.period = task.period * 1_000;
            task.deadline = task.deadline * 1_000;
        }
        let mut any = false;
        for spec in ["g-edf", "p-dm", "p-edf"] {
            let options = AssessOptions { margin: true, ..AssessOptions::default() };
            let found = assess(registry(), spec, &system, &options).expect("the policy exists");
            let Some(margin) = found.margin else { continue };
            let verdict = |thousandths: i64| {
                let scaled = scaled(&system, thousandths);
                assess(registry(), spec, &scaled, &AssessOptions::default())
                    .expect("it exists")
                    .verdict
            };
            if margin.thousandths > 0 {
                prop_assert_eq!(verdict(margin.thousandths), Verdict::Yes, "{}", spec);
                any = true;
            }
            prop_assert!(verdict(margin.thousandths + 1) != Verdict::Yes, "{}", spec);
            prop_assert_eq!(found.verdict == Verdict::Yes, margin.thousandths >= 1_000);
        }
        Ok(any)
    });
}

/// Jobs that are covered respond within what `layland check` says, in runs of every level.
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
        // Bounds that were held against jobs, those that were reached, and those of some level alone.
        let (mut held, mut reached, mut levels) = (0, 0, 0);
        for index in 0..1_500 {
            let mut random = Random::new(13, index, Aspect::Criticalities);
            let system = draw_set(&mut random);
            let found = assess(registry(), spec, &system, &AssessOptions::default()).unwrap();
            if found.refused.is_some() {
                continue;
            }
            let policy = registry().build(spec, &system).unwrap();
            for _ in 0..8 {
                let (run, level) = draw_run(&mut random, &system, 150);
                let mut trace = Trace::default();
                let options = layland_sim::SimOptions::until(Time::from_ns(150));
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
