//! Sets that are declared schedulable never miss a deadline, no bound is exceeded, and tests relate
//! to each other as in the literature: global EDF, global fixed priorities, response times of EDF,
//! overheads.
//!
//! Long because each relation between tests in the literature is a test.

use layland_analysis::global_edf::{
    Slacks, bak, bar, bcl, bcli, combined, compliant_vector, edzl, ff_dbf, gfb, limited, load, rta,
};
use layland_analysis::global_fp;
use layland_analysis::overheads::inflate;
use layland_analysis::uniprocessor::edf::{Demand, criterion};
use layland_analysis::uniprocessor::edf_response::{self, Ties, responses};
use layland_analysis::uniprocessor::fixed_priority::{PriorityOrder, response_bounds, sweep};
use layland_analysis::{SchedulabilityTest, Sporadic, Verdict, catalogue};
use layland_model::{
    Algorithm, Duration, Form, Order, Overheads, Preemption, Service, System, Task, TaskId,
};
use layland_testkit::cases::{
    Deadlines, hyperperiod, on_random, run, some_sporadic, synchronous, systems,
};
use layland_testkit::{registry, specs_of};
use layland_trace::Counters;
use proptest::prelude::*;

fn misses(counters: &Counters) -> bool {
    counters.total().missed > 0
}

fn bare(system: &System) -> Vec<Sporadic> {
    system.tasks.values().map(Sporadic::from).collect()
}

fn verdict(test: &SchedulabilityTest, system: &System) -> Verdict {
    test.run(system).expect("the system keeps the assumptions").verdict
}

/// Multiplies the times of a system, so that a nanosecond is short.
fn scaled(mut system: System, factor: i64) -> System {
    for task in system.tasks.values_mut() {
        task.wcet = task.wcet.iter().map(|&c| c * factor).collect();
        task.period = task.period * factor;
        task.deadline = task.deadline * factor;
        task.offset = task.offset * factor;
    }
    system
}

// ---------------------------------------------------------------------------------------------
// Global EDF
// ---------------------------------------------------------------------------------------------

/// Checks that a set that a test accepts never misses a deadline, whatever the offsets and separations.
fn never_misses(tests: &[(SchedulabilityTest, u32)], policy: &str, load: std::ops::Range<i64>) {
    for (test, least) in tests {
        let inputs =
            (systems(2..5, 8, load.clone(), Deadlines::Constrained), any::<u8>(), any::<u64>());
        on_random(3_000, *least, inputs, |(system, sporadic, seed)| {
            let accepted = verdict(test, &system) == Verdict::Yes;
            if accepted {
                prop_assert!(!misses(&run(&system, policy, 400, 0)), "{}", test.name);
                let sporadic = some_sporadic(system, sporadic);
                prop_assert!(!misses(&run(&sporadic, policy, 600, seed)), "{}", test.name);
            }
            Ok(accepted)
        });
    }
}

#[test]
fn what_tests_for_global_edf_accept_never_misses() {
    let tests = [
        (load::TEST, 150),
        (bcli::TEST, 400),
        (bar::TEST, 300),
        (rta::TEST, 400),
        (ff_dbf::TEST, 300),
        (limited::TEST, 300),
        (combined::TEST, 500),
    ];
    never_misses(&tests, "g-edf", 10..75);
}

/// EDZL keeps the guarantees of global EDF, and its own test guarantees more.
#[test]
fn what_tests_for_edzl_accept_never_misses() {
    never_misses(&[(combined::TEST, 300), (edzl::TEST, 300)], "edzl", 10..75);
}

#[test]
fn what_the_test_for_fair_lateness_accepts_never_misses() {
    never_misses(&[(compliant_vector::NOT_LATE, 300)], "g-fl", 10..75);
}

/// The fast forms decide like the tests, at equality as well.
#[test]
fn fast_forms_are_the_tests() {
    let inputs = prop_oneof![
        systems(1..5, 8, 10..103, Deadlines::Implicit),
        systems(1..5, 8, 10..90, Deadlines::Constrained),
    ];
    on_random(6_000, 1_000, (inputs, any::<bool>()), |(system, large)| {
        // Times in the range of hours, for which fixed point has the fewest digits.
        let system = if large { scaled(system, 86_400_000_000_000 / 7) } else { system };
        let (tasks, cpus) = (bare(&system), system.platform.cpu_count());
        let yes = |test| verdict(test, &system) == Verdict::Yes;
        prop_assert_eq!(gfb::accepts(&tasks, cpus), yes(&gfb::TEST));
        prop_assert_eq!(bcl::accepts(&tasks, cpus), yes(&bcl::TEST));
        prop_assert_eq!(bak::accepts(&tasks, cpus), yes(&bak::TEST));
        Ok(yes(&gfb::TEST))
    });
}

/// Baruah's condition at every integer `t` up to the bound, by its definition.
fn baruah_by_definition(tasks: &[Sporadic], m: usize) -> bool {
    let ns = |task: &Sporadic| [task.wcet.ns(), task.deadline.ns(), task.period.ns()];
    (0..tasks.len()).all(|k| {
        let [c_k, d_k, _] = ns(&tasks[k]);
        (d_k..1_500).all(|t| {
            let mut sum = 0;
            let mut more: Vec<i64> = Vec::new();
            for (i, task) in tasks.iter().enumerate() {
                let [c, d, period] = ns(task);
                let dbf = ((t - d).div_euclid(period) + 1).max(0) * c;
                let carried = t / period * c + c.min(t % period);
                let (own, most) = if i == k { (c_k, t - d_k) } else { (0, t - c_k + 1) };
                let (one, two) = ((dbf - own).min(most), (carried - own).min(most));
                sum += one;
                more.push(two - one);
            }
            more.sort_unstable_by(|a, b| b.cmp(a));
            sum + more.iter().take(m - 1).sum::<i64>() < m as i64 * (t - c_k + 1)
        })
    })
}

#[test]
fn bar_is_its_definition() {
    let inputs = systems(1..5, 7, 10..85, Deadlines::Constrained);
    on_random(600, 100, inputs, |system| {
        let (tasks, cpus) = (bare(&system), system.platform.cpu_count());
        let fits = bar::carried(&tasks, cpus);
        if fits == bar::Carried::NoBound {
            return Ok(false);
        }
        let expected = baruah_by_definition(&tasks, cpus);
        prop_assert_eq!(fits == bar::Carried::Fits, expected);
        Ok(expected)
    });
}

/// A set that the condition of the paper, with `t - C_k` and equality, would accept.
#[test]
fn bar_refuses_what_misses_at_equality() {
    let system = system_of(&[[5, 8, 12], [5, 5, 24]], 1);
    assert!(misses(&run(&system, "g-edf", 24, 0)));
    assert_eq!(verdict(&bar::TEST, &system), Verdict::Unknown);
}

/// The load condition at every `t`, by its definition, in rationals of small numbers.
fn load_by_definition(tasks: &[Sporadic], m: i64) -> bool {
    let densest = tasks
        .iter()
        .map(|task| (task.wcet.ns(), task.deadline.min(task.period).ns()))
        .max_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)));
    let Some((c, d)) = densest else { return true };
    let mu = m * d - (m - 1) * c;
    // The multiples of `d` below `mu`, and `mu` itself.
    let room = |mu: i64| mu - ((mu + d - 1).div_euclid(d) - 1) * c;
    let bound = (1..).map(|k| k * d).take_while(|&k| k < mu).map(room).fold(room(mu), i64::max);
    (1..3_000).all(|t| {
        let of_task = |task: &Sporadic| {
            let jobs = (t - task.deadline.ns()).div_euclid(task.period.ns()) + 1;
            jobs.max(0) * task.wcet.ns()
        };
        tasks.iter().map(of_task).sum::<i64>() * d <= bound * t
    })
}

#[test]
fn load_is_its_definition() {
    let inputs = systems(1..5, 6, 5..70, Deadlines::Constrained);
    on_random(800, 60, inputs, |system| {
        let (tasks, cpus) = (bare(&system), system.platform.cpu_count());
        let expected = load_by_definition(&tasks, cpus as i64);
        match load::load(&tasks, cpus) {
            load::Load::NoEnd => return Ok(false),
            found => prop_assert_eq!(found == load::Load::Within, expected),
        }
        Ok(expected)
    });
}

#[test]
fn tests_for_global_edf_contain_each_other() {
    let inputs = prop_oneof![
        systems(2..5, 8, 10..85, Deadlines::Implicit),
        systems(2..5, 8, 10..75, Deadlines::Constrained),
    ];
    on_random(4_000, 600, (inputs, any::<bool>()), |(system, large)| {
        // Milliseconds in units of nanoseconds, with which fixed points are approached in short steps.
        let system = if large { scaled(system, 1_000_003) } else { system };
        let (tasks, cpus) = (bare(&system), system.platform.cpu_count());
        let implies = |a: bool, b: bool| !a || b;
        prop_assert!(implies(bcl::accepts(&tasks, cpus), bcli::accepts(&tasks, cpus)));
        prop_assert!(implies(bcli::accepts(&tasks, cpus), rta::accepts(&tasks, cpus)));
        let implicit = tasks.iter().all(|task| task.deadline == task.period);
        if implicit {
            // Except for the rounding of sigma.
            prop_assert!(implies(ff_dbf::accepts(&tasks, cpus), gfb::accepts(&tasks, cpus)));
            prop_assert!(implies(load::accepts(&tasks, cpus), gfb::accepts(&tasks, cpus)));
        }
        let any = gfb::accepts(&tasks, cpus)
            || load::accepts(&tasks, cpus)
            || bak::accepts(&tasks, cpus)
            || bcl::accepts(&tasks, cpus)
            || bar::accepts(&tasks, cpus)
            || rta::accepts(&tasks, cpus)
            || ff_dbf::accepts(&tasks, cpus);
        // The limited test takes fewer steps than G-RTA and BAR, which matters if a nanosecond is short.
        prop_assert!(large || implies(rta::accepts(&tasks, cpus), limited::accepts(&tasks, cpus)));
        prop_assert!(large || implies(bar::accepts(&tasks, cpus), limited::accepts(&tasks, cpus)));
        if cpus == 1 {
            // The demand of each length is exact.
            let met = criterion(&tasks) == Ok(Demand::Met);
            prop_assert!(implies(limited::accepts(&tasks, cpus), met));
            prop_assert!(large || implies(met, limited::accepts(&tasks, cpus)));
        }
        prop_assert_eq!(combined::accepted_by(&tasks, cpus).is_some(), any);
        if let (Slacks::All(one), Slacks::All(other)) =
            (bcli::slacks(&tasks, cpus), rta::slacks(&tasks, cpus))
        {
            prop_assert_eq!(one.len(), other.len());
        }
        Ok(any || limited::accepts(&tasks, cpus))
    });
}

/// Fewer CPUs or a longer WCET never help GFB, BCLI, G-RTA and BAR.
#[test]
fn more_work_is_never_accepted_where_less_is_not() {
    let inputs = (systems(2..5, 7, 10..75, Deadlines::Constrained), any::<prop::sample::Index>());
    on_random(3_000, 300, inputs, |(system, which)| {
        let (tasks, cpus) = (bare(&system), system.platform.cpu_count());
        let mut less = tasks.clone();
        let at = which.index(less.len());
        less[at].wcet = Service::from_ns((less[at].wcet.ns() - 1).max(1));
        type Accepts = fn(&[Sporadic], usize) -> bool;
        let tests: [(&str, Accepts); 4] = [
            ("GFB", gfb::accepts),
            ("BCLI", bcli::accepts),
            ("G-RTA", rta::accepts),
            ("BAR", bar::accepts),
        ];
        for (name, accepts) in tests {
            if accepts(&tasks, cpus) {
                prop_assert!(accepts(&less, cpus), "{}", name);
                prop_assert!(accepts(&tasks, cpus + 1), "{}", name);
            }
        }
        Ok(gfb::accepts(&tasks, cpus))
    });
}

// ---------------------------------------------------------------------------------------------
// Global fixed priorities
// ---------------------------------------------------------------------------------------------

#[test]
fn what_tests_for_global_priorities_accept_never_misses() {
    never_misses(
        &[
            (global_fp::BCL.under(PriorityOrder::RateMonotonic), 300),
            (global_fp::GUAN.under(PriorityOrder::RateMonotonic), 400),
        ],
        "g-rm",
        10..75,
    );
    never_misses(
        &[
            (global_fp::BERTOGNA.under(PriorityOrder::DeadlineMonotonic), 500),
            (global_fp::GUAN.under(PriorityOrder::DeadlineMonotonic), 500),
        ],
        "g-dm",
        10..75,
    );
    never_misses(
        &[
            (global_fp::BERTOGNA.under(PriorityOrder::Given), 200),
            (global_fp::GUAN.under(PriorityOrder::Given), 200),
        ],
        "g-fp",
        10..65,
    );
}

/// Returns the system with the regions that an analysis expects. Its policies have an option that
/// turns every job into one region.
fn with_regions_of(algorithms: &[Algorithm], system: &System) -> System {
    let mut system = system.clone();
    if algorithms.iter().any(|algorithm| matches!(algorithm, Algorithm::Deferred(..))) {
        system.tasks.values_mut().for_each(|task| task.preemption = Preemption::Never);
    }
    system
}

/// Every response bound of every policy holds, for the analyses that have one.
#[test]
fn no_response_is_longer_than_its_bound() {
    let inputs = prop_oneof![
        systems(2..5, 8, 20..80, Deadlines::Constrained),
        systems(1..2, 6, 30..100, Deadlines::Arbitrary),
        systems(1..2, 6, 30..100, Deadlines::Implicit),
    ];
    on_random(300, 180, (inputs, any::<u8>(), any::<u64>()), |(system, sporadic, seed)| {
        let systems = [system.clone(), some_sporadic(system, sporadic)];
        let mut any = false;
        for analysis in catalogue::RESPONSES.iter() {
            let Ok(bounds) = analysis.run(&with_regions_of(analysis.algorithms, &systems[0]))
            else {
                continue;
            };
            if bounds.values().all(Option::is_none) {
                continue;
            }
            for policy in &specs_of(analysis.algorithms) {
                for system in &systems {
                    let counters = run(system, policy, 500, seed);
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

#[test]
fn bounds_for_global_priorities_contain_each_other() {
    on_random(3_000, 500, systems(1..5, 8, 10..85, Deadlines::Constrained), |system| {
        let (mut tasks, cpus) = (bare(&system), system.platform.cpu_count());
        tasks.sort_by_key(|task| task.deadline);
        let bcl = global_fp::bcl(&tasks, cpus);
        let Slacks::All(bcl) = bcl else { return Ok(false) };
        let (bertogna, guan) = (global_fp::bertogna(&tasks, cpus), global_fp::guan(&tasks, cpus));
        let (Slacks::All(bertogna), Slacks::All(guan)) = (bertogna, guan) else {
            return Err(TestCaseError::fail("BCL accepts, and another does not"));
        };
        for k in 0..tasks.len() {
            prop_assert!(bertogna[k] >= bcl[k]);
            prop_assert!(guan[k] >= bertogna[k]);
        }
        if cpus == 1 {
            let mut exact = Vec::new();
            prop_assert_eq!(sweep(&tasks, &mut exact), Ok(()));
            for k in 0..tasks.len() {
                prop_assert_eq!(tasks[k].deadline.ns() - guan[k], exact[k].ns());
            }
        }
        Ok(true)
    });
}

// ---------------------------------------------------------------------------------------------
// One CPU
// ---------------------------------------------------------------------------------------------

#[test]
fn the_sweep_is_the_response_time() {
    on_random(4_000, 1_000, systems(1..2, 8, 30..105, Deadlines::Constrained), |system| {
        let system = synchronous(system);
        let mut order: Vec<TaskId> = system.tasks.ids().collect();
        order.sort_by_key(|&id| (system.tasks[id].deadline, system.tasks[id].rank, id));
        let tasks: Vec<Sporadic> =
            order.iter().map(|&id| Sporadic::from(&system.tasks[id])).collect();
        let mut found = Vec::new();
        let meets = sweep(&tasks, &mut found);
        let bounds = response_bounds(&system, PriorityOrder::DeadlineMonotonic)
            .expect("no assumption is broken");
        for (&id, response) in order.iter().zip(&found) {
            prop_assert_eq!(Ok(*response), bounds[id].clone().map(|bound| bound.response));
        }
        let late = order.iter().position(|&id| {
            bounds[id].as_ref().map_or(true, |bound| bound.response > system.tasks[id].deadline)
        });
        prop_assert_eq!(meets, late.map_or(Ok(()), Err));
        Ok(meets.is_ok())
    });
}

#[test]
fn edf_response_times_decide_as_the_demand_does() {
    on_random(3_000, 800, systems(1..2, 6, 50..103, Deadlines::Arbitrary), |system| {
        let tasks = bare(&system);
        let demand = criterion(&tasks).expect("small numbers");
        let ranks: Vec<i64> = system.tasks.values().map(|task| task.rank).collect();
        // Ties change which job is late, but not whether one is late.
        for ties in [Ties::Lost, Ties::ByRank(&ranks)] {
            match responses(&tasks, ties).expect("small numbers") {
                None => prop_assert_eq!(demand, Demand::Overload),
                Some(found) => {
                    let met = found.iter().zip(&tasks).all(|(&r, task)| r <= task.deadline);
                    prop_assert_eq!(met, demand == Demand::Met);
                }
            }
        }
        let synchronous = synchronous(system);
        let exact = verdict(&edf_response::TEST, &synchronous);
        prop_assert_eq!(exact == Verdict::Yes, demand == Demand::Met);
        Ok(demand == Demand::Met)
    });
}

/// `R_i` by Spuri's definition: every arrival up to the longest busy period, and every step of each
/// fixed point. The jobs of a task that loses ties count only if they are due earlier; without
/// ranks no task loses ties.
fn spuri(tasks: &[Sporadic], ranks: Option<&[i64]>) -> Vec<Duration> {
    let fixed = |start: i64, f: &dyn Fn(i64) -> i64| {
        let mut reached = start;
        while f(reached) > reached {
            reached += 1;
        }
        reached
    };
    let ns = |task: &Sporadic| (task.wcet.ns(), task.deadline.ns(), task.period.ns());
    let all = tasks.iter().map(|task| task.wcet.ns()).sum();
    let work = |length: i64| -> i64 {
        tasks.iter().map(ns).map(|(c, _, t)| (length as u64).div_ceil(t as u64) as i64 * c).sum()
    };
    let longest = fixed(all, &work);
    let response = |i: usize| {
        let (own_c, own_d, own_t) = ns(&tasks[i]);
        let end = |a: i64| {
            let due = |w: i64| -> i64 {
                let others = tasks.iter().enumerate().filter(|&(j, _)| j != i);
                let of = |(j, task): (usize, &Sporadic)| {
                    let (c, d, t) = ns(task);
                    let is_behind = ranks.is_some_and(|ranks| (ranks[j], j) > (ranks[i], i));
                    let last = a + own_d - d - i64::from(is_behind);
                    let by_deadline = last.div_euclid(t) + 1;
                    by_deadline.clamp(0, (w as u64).div_ceil(t as u64) as i64) * c
                };
                (1 + a / own_t) * own_c + others.map(of).sum::<i64>()
            };
            fixed(1, &due)
        };
        Duration::from_ns((0..longest).map(|a| end(a) - a).fold(own_c, i64::max))
    };
    (0..tasks.len()).map(response).collect()
}

#[test]
fn edf_response_times_are_their_definition() {
    on_random(2_000, 800, systems(1..2, 6, 50..100, Deadlines::Arbitrary), |system| {
        let tasks = bare(&system);
        let ranks: Vec<i64> = system.tasks.values().map(|task| task.rank).collect();
        let found = |ties| responses(&tasks, ties).expect("small numbers");
        let Some(lost) = found(Ties::Lost) else { return Ok(false) };
        prop_assert_eq!(lost, spuri(&tasks, None));
        prop_assert_eq!(found(Ties::ByRank(&ranks)), Some(spuri(&tasks, Some(&ranks))));
        Ok(tasks.len() > 1)
    });
}

/// All other tasks start at 0 and the task itself some time later, with the last rank or with its
/// own. One of these schedules reaches the bound.
#[test]
fn edf_response_times_are_reached() {
    on_random(150, 80, systems(1..2, 4, 50..100, Deadlines::Implicit), |system| {
        let mut system = synchronous(system);
        let length = hyperperiod(&system);
        let own: Vec<i64> = system.tasks.values().map(|task| task.rank).collect();
        let bare = bare(&system);
        let found = |ties| responses(&bare, ties).expect("small numbers");
        let (Some(lost), Some(by_rank)) = (found(Ties::Lost), found(Ties::ByRank(&own))) else {
            return Ok(false);
        };
        for (id, is_last) in system.tasks.ids().flat_map(|id| [(id, true), (id, false)]) {
            for (task, &rank) in system.tasks.values_mut().zip(&own) {
                task.rank = if is_last { 0 } else { rank };
            }
            if is_last {
                system.tasks[id].rank = 1;
            }
            let mut longest = Duration::ZERO;
            for offset in 0..system.tasks[id].period.ns() {
                system.tasks[id].offset = Duration::from_ns(offset);
                let counters = run(&system, "p-edf:fit=ff", 2 * length + offset, 0);
                longest = longest.max(counters.task(id).max_response.unwrap_or_default());
            }
            system.tasks[id].offset = Duration::ZERO;
            let bound = if is_last { &lost } else { &by_rank }[id.0 as usize];
            prop_assert_eq!(longest, bound, "{} {}", id, is_last);
        }
        Ok(system.tasks.len() > 1)
    });
}

// ---------------------------------------------------------------------------------------------
// Overheads
// ---------------------------------------------------------------------------------------------

/// Sets that are accepted with inflated WCETs never miss a deadline on a machine with these overheads.
#[test]
fn inflation_covers_what_the_machine_charges() {
    let costs = prop::collection::vec(0i64..30, 6);
    let inputs = prop_oneof![
        systems(1..2, 5, 20..85, Deadlines::Constrained),
        systems(2..4, 7, 15..60, Deadlines::Constrained),
    ];
    on_random(625, 100, (inputs, costs), |(system, costs)| {
        let mut system = scaled(system, 1_000);
        let ns = |at: usize| Duration::from_ns(costs[at]);
        system.platform.overheads = Overheads {
            release: ns(0),
            scheduling: ns(1),
            context_switch: ns(2),
            migration: ns(3),
            interrupt: ns(4),
            tick: ns(5),
            tick_period: Duration::from_ns(1_700),
            block_reload_time: Duration::ZERO,
        };
        let Ok(inflated) = inflate(&system) else { return Ok(false) };
        let mut any = false;
        for test in catalogue::TESTS.iter() {
            let Ok(finding) = test.run(&inflated.system) else { continue };
            for algorithm in test.subject.algorithms() {
                let of_groups = matches!(
                    algorithm,
                    Algorithm::Ordered(Form::Global | Form::Clustered | Form::Partitioned, _)
                );
                let policy = &algorithm.to_string();
                if !of_groups || finding.verdict != Verdict::Yes || test.name == "LOPEZ" {
                    continue;
                }
                prop_assert!(
                    !misses(&run(&system, policy, 400_000, 0)),
                    "{} under {}",
                    test.name,
                    policy
                );
                any = true;
            }
        }
        Ok(any)
    });
}

// ---------------------------------------------------------------------------------------------
// A universe
// ---------------------------------------------------------------------------------------------

/// Returns all sets of tasks `(C, D, T)` with `T` from these, `1 <= C <= D <= T`, as multisets of this size.
fn universe(periods: &[i64], size: usize) -> Vec<Vec<[i64; 3]>> {
    let mut tasks = Vec::new();
    for &t in periods {
        for d in 1..=t {
            tasks.extend((1..=d).map(|c| [c, d, t]));
        }
    }
    let mut sets: Vec<Vec<[i64; 3]>> = vec![Vec::new()];
    for _ in 0..size {
        sets = sets
            .into_iter()
            .flat_map(|set| {
                let last = set.last().copied().unwrap_or_default();
                tasks.iter().filter(move |task| **task >= last).map(move |task| {
                    let mut longer = set.clone();
                    longer.push(*task);
                    longer
                })
            })
            .collect();
    }
    sets
}

fn system_of(set: &[[i64; 3]], cpus: usize) -> System {
    let task = |(at, &[c, d, t]): (usize, &[i64; 3])| {
        let (c, t) = (Service::from_ns(c), Duration::from_ns(t));
        let mut task = Task::implicit(at.to_string(), c, t);
        task.deadline = Duration::from_ns(d);
        task
    };
    System::new(cpus, set.iter().enumerate().map(task).collect())
}

/// One CPU, every multiset of two and of three tasks with periods 2, 3 and 4: exact tests agree with
/// the simulation of the synchronous release over the hyperperiod.
#[test]
fn exact_tests_agree_with_simulation_on_a_whole_universe() {
    let sets = [universe(&[2, 3, 4], 2), universe(&[2, 3, 4], 3)].concat();
    assert_eq!(sets.len(), 190 + 1_330);
    for set in &sets {
        let system = system_of(set, 1);
        let until = hyperperiod(&system) + 5;
        for (policy, tests) in [
            ("g-edf", &["QPA", "EDF-RTA"][..]),
            ("g-rm", &["RTA-RM"][..]),
            ("g-dm", &["RTA-DM"][..]),
        ] {
            let expected =
                if misses(&run(&system, policy, until, 0)) { Verdict::No } else { Verdict::Yes };
            // An overloaded set may miss only later, but it certainly does.
            let expected = if system.utilization().exact() > layland_model::Rate::ONE {
                Verdict::No
            } else {
                expected
            };
            for test in tests {
                let test = catalogue::test(test).expect("it is in the catalogue");
                assert_eq!(verdict(test, &system), expected, "{} of {set:?}", test.name);
            }
        }
    }
}

/// Two CPUs, every multiset of three tasks with periods 2 and 3, every combination of offsets: no
/// test accepts a set that misses a deadline.
#[test]
fn no_test_accepts_a_miss_in_a_whole_universe() {
    let sets = universe(&[2, 3], 3);
    assert_eq!(sets.len(), 165);
    for set in &sets {
        let mut system = system_of(set, 2);
        for order in [Order::Deadline, Order::RateMonotonic, Order::DeadlineMonotonic] {
            let algorithm = Algorithm::Ordered(Form::Global, order);
            let policy = &algorithm.to_string();
            let accepts = catalogue::TESTS.iter().filter(|test| {
                test.subject.algorithms().contains(&algorithm)
                    && test.run(&system).is_ok_and(|finding| finding.verdict == Verdict::Yes)
            });
            let accepting: Vec<&str> = accepts.map(|test| test.name).collect();
            if accepting.is_empty() {
                continue;
            }
            for offsets in 0..27 {
                for (at, task) in system.tasks.values_mut().enumerate() {
                    task.offset = Duration::from_ns(offsets / 3i64.pow(at as u32) % 3);
                }
                assert!(registry().build(policy, &system).is_ok());
                assert!(!misses(&run(&system, policy, 30, 0)), "{accepting:?} accept {set:?}");
            }
            system.tasks.values_mut().for_each(|task| task.offset = Duration::ZERO);
        }
    }
}
