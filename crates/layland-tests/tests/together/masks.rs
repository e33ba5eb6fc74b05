//! The analyses for affinities, compared with simulation, with the obvious form of the reduction,
//! and with the analyses without affinities.
//!
//! A longer run: `CASES=100000 cargo test --release -p layland-tests --test together masks`.

use layland_analysis::affinity::{busy, edf, feasibility, fixed_priority, hpa_speed};
use layland_analysis::global_edf::{Slacks, rta};
use layland_analysis::global_fp;
use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_analysis::{ResponseTest, SchedulabilityTest, Sporadic, Verdict};
use layland_model::{CpuId, CpuSet, System, TaskId};
use layland_testkit::cases::{
    Deadlines, masks, on_random, run, some_sporadic, systems, with_masks,
};
use layland_testkit::{registry, specs_of};
use proptest::prelude::*;

/// Returns the number of cases, which the environment can increase.
fn cases(default: u32) -> u32 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(default)
}

/// Checks that a set that the test accepts never misses a deadline, under any policy that the test covers.
fn never_misses(test: &SchedulabilityTest, load: std::ops::Range<i64>, deadlines: Deadlines) {
    let cases = cases(800);
    let inputs = (systems(2..6, 8, load, deadlines), masks(), any::<u8>(), any::<u64>());
    on_random(cases, cases / 12, inputs, |(system, (kind, draws), sporadic, seed)| {
        let system = with_masks(system, kind, &draws);
        let accepted = test.run(&system).is_ok_and(|finding| finding.verdict == Verdict::Yes);
        if !accepted {
            return Ok(false);
        }
        for policy in &specs_of(test.subject.algorithms()) {
            if registry().build(policy, &system).is_err() {
                prop_assert!(policy.starts_with("hpa-"));
                continue;
            }
            for (system, seed) in
                [(system.clone(), 0), (some_sporadic(system.clone(), sporadic), seed)]
            {
                let missed = run(&system, policy, 500, seed).total().missed;
                prop_assert!(missed == 0, "{} accepts and {} misses", test.name, policy);
            }
        }
        Ok(true)
    });
}

#[test]
fn what_is_accepted_with_fixed_priorities_never_misses() {
    never_misses(
        &fixed_priority::TEST.under(PriorityOrder::RateMonotonic),
        10..75,
        Deadlines::Constrained,
    );
    never_misses(
        &fixed_priority::TEST.under(PriorityOrder::DeadlineMonotonic),
        10..75,
        Deadlines::Constrained,
    );
    never_misses(&fixed_priority::TEST.under(PriorityOrder::Given), 5..60, Deadlines::Constrained);
}

#[test]
fn what_is_accepted_by_the_cpus_that_jobs_reach_never_misses() {
    never_misses(
        &busy::STRONG_FIXED.under(PriorityOrder::RateMonotonic),
        10..75,
        Deadlines::Constrained,
    );
    never_misses(
        &busy::STRONG_FIXED.under(PriorityOrder::DeadlineMonotonic),
        10..75,
        Deadlines::Constrained,
    );
    never_misses(&busy::STRONG_FIXED.under(PriorityOrder::Given), 5..60, Deadlines::Constrained);
    never_misses(&busy::STRONG_EDF, 10..80, Deadlines::Constrained);
}

#[test]
fn what_is_accepted_under_edf_never_misses() {
    never_misses(&busy::EDF, 10..75, Deadlines::Constrained);
    never_misses(&edf::TEST, 10..75, Deadlines::Constrained);
    never_misses(&hpa_speed::TEST, 5..70, Deadlines::Implicit);
}

/// Includes bounds of tasks in sets in which other tasks have none.
#[test]
fn no_response_is_longer_than_its_bound() {
    let all: [ResponseTest; 4] = [
        fixed_priority::TEST.responses_under(PriorityOrder::RateMonotonic).unwrap(),
        fixed_priority::TEST.responses_under(PriorityOrder::DeadlineMonotonic).unwrap(),
        fixed_priority::TEST.responses_under(PriorityOrder::Given).unwrap(),
        edf::RESPONSES,
    ];
    let cases = cases(800);
    let inputs = systems(2..6, 8, 20..110, Deadlines::Constrained);
    let inputs = (inputs, masks(), any::<u8>(), any::<u64>());
    on_random(cases, cases / 2, inputs, |(system, (kind, draws), sporadic, seed)| {
        let system = with_masks(system, kind, &draws);
        let mut any = false;
        for analysis in &all {
            let bounds = analysis.run(&system).expect("no assumption is broken");
            for policy in &specs_of(analysis.algorithms) {
                if registry().build(policy, &system).is_err() {
                    continue;
                }
                for system in [system.clone(), some_sporadic(system.clone(), sporadic)] {
                    let counters = run(&system, policy, 500, seed);
                    for bound in bounds.values().flatten() {
                        let seen = counters.task(bound.task).max_response.unwrap_or_default();
                        prop_assert!(
                            seen <= bound.response,
                            "{} {}: {} seen, {} bound",
                            policy,
                            analysis.name,
                            seen,
                            bound.response
                        );
                        any = true;
                    }
                }
            }
        }
        Ok(any)
    });
}

/// Returns the tasks in the order of rate-monotonic priorities.
fn by_period(system: &System) -> Vec<TaskId> {
    let mut ids: Vec<TaskId> = system.tasks.ids().collect();
    ids.sort_by_key(|&id| (system.tasks[id].period, system.tasks[id].rank, id));
    ids
}

/// The reduction by its definition: every subset of the CPUs, every rival as a list, and the
/// response times searched one by one. Carry-in is counted for all rivals, or, if `limited`, for as
/// many of those that may use the whole subset as the argument allows.
fn by_definition(system: &System, limited: bool) -> Vec<Option<i64>> {
    let ids = by_period(system);
    let of = |id: TaskId| {
        let [c, d, t] = {
            let task = Sporadic::from(&system.tasks[id]);
            [task.wcet.ns(), task.deadline.ns(), task.period.ns()]
        };
        (c, d, t, system.allowed_cpus(id))
    };
    let mut bounds: Vec<Option<i64>> = Vec::new();
    for (k, &id) in ids.iter().enumerate() {
        let (c_k, d_k, _, mask) = of(id);
        let cpus: Vec<CpuId> = mask.iter().collect();
        let mut best: Option<i64> = None;
        for bits in 1u32..1 << cpus.len() {
            let part: CpuSet =
                (0..cpus.len()).filter(|at| bits >> at & 1 == 1).map(|at| cpus[at]).collect();
            let rivals: Vec<usize> = (0..k).filter(|&i| !of(ids[i]).3.is_disjoint(&part)).collect();
            if rivals.iter().any(|&i| bounds[i].is_none()) {
                continue;
            }
            let around = rivals.iter().filter(|&&i| part.is_subset(&of(ids[i]).3));
            let union = around.fold(CpuSet::new(), |union, &i| union.union(&of(ids[i]).3));
            let found = (c_k..=d_k).find(|&x| {
                let most = x - c_k + 1;
                let (mut sum, mut more) = (0, Vec::new());
                for &i in &rivals {
                    let (c, _, t, mask) = of(ids[i]);
                    let r = bounds[i].expect("it was looked at");
                    let no = (x / t * c + c.min(x % t)).min(most);
                    let y = (x - c).max(0);
                    let tail = (y % t - (t - r)).clamp(0, c - 1);
                    let carried = (y / t * c + c + tail).min(most);
                    if !part.is_subset(&mask) {
                        // All of the rival's job may have waited: the first job runs as late as
                        // possible, the later ones as early as possible.
                        let whole = (x + r - c) / t;
                        let rest = c.min(x + r - c - whole * t);
                        sum += (whole * c + rest).min(most);
                    } else if limited {
                        sum += no;
                        more.push((carried - no).max(0));
                    } else {
                        sum += no.max(carried);
                    }
                }
                more.sort_unstable_by(|a, b| b.cmp(a));
                sum += more.iter().take(union.len().max(1) - 1).sum::<i64>();
                c_k + sum / part.len() as i64 <= x
            });
            best = match (best, found) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        bounds.push(best);
    }
    bounds
}

/// Classes of CPUs lose nothing, and the limit on carry-in only improves the bounds.
#[test]
fn the_reduction_is_its_definition() {
    let cases = cases(600);
    let inputs = (systems(1..6, 8, 20..100, Deadlines::Constrained), masks());
    on_random(cases, cases / 2, inputs, |(system, (kind, draws))| {
        let system = with_masks(system, kind, &draws);
        let found = fixed_priority::bounds(&system, PriorityOrder::RateMonotonic);
        let found: Vec<Option<i64>> = (by_period(&system).into_iter())
            .map(|id| found[id].as_ref().map(|(response, _)| response.ns()))
            .collect();
        prop_assert_eq!(&found, &by_definition(&system, true));
        for (limited, all) in found.iter().zip(by_definition(&system, false)) {
            prop_assert!(all.is_none_or(|all| limited.is_some_and(|limited| limited <= all)));
        }
        Ok(found.iter().flatten().count() > 1)
    });
}

/// If there are too many classes for all unions, the result is sound, and not better than with all unions.
#[test]
fn a_family_of_parts_is_not_better_than_all() {
    let cases = cases(60);
    let inputs =
        (systems(10..12, 20, 20..90, Deadlines::Implicit), prop::collection::vec(0u64..40_000, 24));
    on_random(cases, cases / 3, inputs, |(system, draws)| {
        let system = with_masks(system, layland_testkit::cases::Masks::Levels, &draws);
        let found = fixed_priority::bounds(&system, PriorityOrder::RateMonotonic);
        for policy in ["weak-rm", "strong-rm", "hpa-rm"] {
            let counters = run(&system, policy, 500, 0);
            for (id, bound) in found.iter() {
                let seen = counters.task(id).max_response.unwrap_or_default();
                prop_assert!(bound.as_ref().is_none_or(|(bound, _)| seen <= *bound));
            }
        }
        let all = by_definition(&system, true);
        for (id, all) in by_period(&system).into_iter().zip(&all) {
            let found = found[id].as_ref().map(|(response, _)| response.ns());
            // Worse bounds of rivals make it worse, so only one direction is certain.
            prop_assert!(found.is_none_or(|found| all.is_some_and(|all| all <= found)));
        }
        let long = system.tasks.values().filter(|task| {
            task.affinity
                .as_ref()
                .is_some_and(|mask| mask.len() > layland_analysis::affinity::reduction::EVERY)
        });
        Ok(long.count() > 0 && found.values().flatten().count() > 1)
    });
}

/// Without affinities these tests equal those for global scheduling.
#[test]
fn without_masks_the_reduction_is_global() {
    let cases = cases(600);
    on_random(cases, cases / 4, systems(1..5, 8, 10..85, Deadlines::Constrained), |system| {
        let cpus = system.platform.cpu_count();
        let ids = by_period(&system);
        let ordered: Vec<Sporadic> =
            ids.iter().map(|&id| Sporadic::from(&system.tasks[id])).collect();
        let global = global_fp::guan(&ordered, cpus);
        prop_assert_eq!(
            fixed_priority::slacks(&system, PriorityOrder::RateMonotonic),
            global.clone()
        );
        let tasks: Vec<Sporadic> = system.tasks.values().map(Sporadic::from).collect();
        let all = edf::bounds(&system).values().all(Option::is_some);
        prop_assert_eq!(all, rta::accepts(&tasks, cpus));
        Ok(matches!(global, Slacks::All(_)) && all)
    });
}

/// Accepted sets are feasible.
#[test]
fn what_is_accepted_is_feasible() {
    let cases = cases(600);
    let inputs = (systems(2..5, 8, 10..90, Deadlines::Implicit), masks());
    on_random(cases, cases / 8, inputs, |(system, (kind, draws))| {
        let system = with_masks(system, kind, &draws);
        let yes = |test: &SchedulabilityTest| {
            test.run(&system).is_ok_and(|finding| finding.verdict == Verdict::Yes)
        };
        let tests = [
            fixed_priority::TEST.under(PriorityOrder::RateMonotonic),
            fixed_priority::TEST.under(PriorityOrder::DeadlineMonotonic),
            edf::TEST,
            hpa_speed::TEST,
            busy::EDF,
            busy::STRONG_EDF,
            busy::STRONG_FIXED.under(PriorityOrder::RateMonotonic),
        ];
        let any = tests.iter().any(yes);
        prop_assert!(!any || yes(&feasibility::TEST));
        Ok(any)
    });
}

/// The tests of the gap and of the reached CPUs accept every set that the others accept.
#[test]
fn the_tighter_tests_accept_what_the_others_do() {
    let cases = cases(1_500);
    let inputs = (systems(2..5, 8, 10..75, Deadlines::Constrained), masks());
    on_random(cases, cases / 8, inputs, |(system, (kind, draws))| {
        let system = with_masks(system, kind, &draws);
        let yes = |test: &SchedulabilityTest| {
            test.run(&system).is_ok_and(|finding| finding.verdict == Verdict::Yes)
        };
        let mut any = false;
        for (one, other) in [
            (edf::TEST, busy::EDF),
            (busy::EDF, busy::STRONG_EDF),
            (
                fixed_priority::TEST.under(PriorityOrder::RateMonotonic),
                busy::STRONG_FIXED.under(PriorityOrder::RateMonotonic),
            ),
            (
                fixed_priority::TEST.under(PriorityOrder::DeadlineMonotonic),
                busy::STRONG_FIXED.under(PriorityOrder::DeadlineMonotonic),
            ),
        ] {
            prop_assert!(
                !yes(&one) || yes(&other),
                "{} accepts, {} does not",
                one.name,
                other.name
            );
            any |= !yes(&one) && yes(&other);
        }
        Ok(any)
    });
}
