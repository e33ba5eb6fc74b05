//! The mixed-criticality analyses, compared with obvious versions of themselves, and with each other.

use layland_model::{Criticality, Duration, Rate, TaskId};
use layland_offline::criticality::{
    Answer, Assignment, MixedSet, amc_ia, amc_max, amc_rt, criticality_monotonic, fixed, fjp,
    period_transformation, rate_monotonic, virtual_deadlines, zero_slack,
};
use layland_testkit::cases::on_random;
use layland_testkit::criticality::{self as twin, Ia, Plain, set_of, sets};
use layland_testkit::mixed::anew;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

const POINTS: u64 = amc_ia::FIXED_POINTS;

fn places(order: &[TaskId]) -> Vec<usize> {
    order.iter().map(|task| task.0 as usize).collect()
}

fn ns(bounds: &[Duration]) -> Vec<i64> {
    bounds.iter().map(|bound| bound.ns()).collect()
}

/// Returns the tasks of an assignment, without bounds.
fn left_or_ordered<R>(found: Assignment<R>) -> (Answer, Vec<TaskId>) {
    let answer = found.answer();
    let tasks = match found {
        Assignment::Found(found) => found.order,
        Assignment::NoneCanBeLowest(left) | Assignment::GaveUp(left) => left,
    };
    (answer, tasks)
}

/// Returns the orders to check: the two fixed ones and their reverses.
fn orders(set: &MixedSet) -> Vec<Vec<TaskId>> {
    let mut orders = vec![rate_monotonic(set), criticality_monotonic(set)];
    let reversed: Vec<Vec<TaskId>> =
        orders.iter().map(|order| order.iter().rev().copied().collect()).collect();
    orders.extend(reversed);
    orders
}

/// Returns true if any order works, over all orders.
fn some_order(n: usize, passes: &dyn Fn(usize, &[usize]) -> bool) -> bool {
    fn place(left: &[usize], passes: &dyn Fn(usize, &[usize]) -> bool) -> bool {
        left.is_empty()
            || left.iter().any(|&i| {
                let higher: Vec<usize> = left.iter().copied().filter(|&j| j != i).collect();
                passes(i, &higher) && place(&higher, passes)
            })
    }
    place(&(0..n).collect::<Vec<_>>(), passes)
}

#[test]
fn response_times_are_linear_search() {
    on_random(4_000, 1_500, sets(4, 5), |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let mut some = false;
        for order in orders(&set) {
            let plain = places(&order);
            let higher = |i: usize| &plain[..plain.iter().position(|&j| j == i).expect("it is in")];
            let smc = fixed::under(&set, &order);
            let rt = amc_rt::under(&set, &order);
            for (i, bound) in smc.response.values().enumerate() {
                prop_assert_eq!(bound.ok().map(Duration::ns), twin::smc(&tasks, i, higher(i)));
            }
            for (i, bound) in rt.response.values().enumerate() {
                let found = bound.as_ref().ok().map(|bounds| ns(bounds));
                some |= found.as_ref().is_some_and(|bounds| bounds.len() > 1);
                prop_assert_eq!(found, twin::amc_rt(&tasks, i, higher(i)));
            }
        }
        Ok(some)
    });
}

#[test]
fn changes_are_searched_where_the_worst_is() {
    on_random(3_000, 700, sets(3, 4), |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let mut some = false;
        for order in orders(&set) {
            let plain = places(&order);
            let higher = |i: usize| &plain[..plain.iter().position(|&j| j == i).expect("it is in")];
            if let Ok(found) = amc_max::under(&set, &order) {
                for (i, bound) in found.response.values().enumerate() {
                    let found = bound.as_ref().ok().map(|bounds| ns(bounds));
                    prop_assert_eq!(found, twin::amc_max(&tasks, i, higher(i)), "AMC-MAX {}", i);
                }
            }
            for (which, found) in [
                (Ia::Paper, amc_ia::paper_under(&set, &order, POINTS)),
                (Ia::Safe, amc_ia::safe_under(&set, &order, POINTS)),
            ] {
                for (i, bound) in found.response.values().enumerate() {
                    let found = bound.as_ref().ok().map(|bounds| ns(bounds));
                    let slow = twin::amc_ia(which, &tasks, i, higher(i));
                    some |= found.as_ref().is_some_and(|bounds| {
                        bounds.len() > 1 && higher(i).iter().any(|&j| tasks[j].level == 0)
                    });
                    prop_assert_eq!(found, slow, "{:?} {}", which, i);
                }
            }
        }
        Ok(some)
    });
}

#[test]
fn audsley_finds_priorities_if_there_are_some() {
    on_random(2_000, 300, sets(3, 4), |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let n = tasks.len();
        let found = fixed::ftp_smc(&set).answer().is_yes();
        prop_assert_eq!(found, some_order(n, &|i, higher| twin::smc(&tasks, i, higher).is_some()));
        let found = amc_rt::amc_rt(&set).answer().is_yes();
        let slow = some_order(n, &|i, higher| twin::amc_rt(&tasks, i, higher).is_some());
        prop_assert_eq!(found, slow);
        let found = amc_ia::safe(&set, POINTS).answer().is_yes();
        let slow = |i, higher: &[usize]| twin::amc_ia(Ia::Safe, &tasks, i, higher).is_some();
        prop_assert_eq!(found, some_order(n, &slow));
        Ok(found && n > 1)
    });
}

/// A set that an analysis accepts is also accepted by the analyses that contain it.
#[test]
fn analyses_contain_each_other() {
    let inputs = prop_oneof![sets(2, 6), sets(4, 6)];
    on_random(6_000, 1_000, inputs, |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let smc = fixed::ftp_smc(&set).answer();
        let rt = amc_rt::amc_rt(&set).answer();
        let safe = amc_ia::safe(&set, POINTS);
        let paper = amc_ia::paper(&set, POINTS);
        let mut chain = vec![smc, rt];
        if let Ok(max) = amc_max::amc_max(&set) {
            chain.push(max.answer());
        }
        chain.push(safe.answer());
        if levels <= 2 {
            chain.push(paper.answer());
        }
        prop_assert!(
            chain.windows(2).all(|pair| !pair[0].is_yes() || pair[1].is_yes()),
            "{chain:?}"
        );
        prop_assert!(!rt.is_yes() || paper.answer().is_yes());
        // The shortcut changes only the time.
        let (short, long) = (amc_ia::safe_order(&set, POINTS), safe);
        prop_assert_eq!(left_or_ordered(short), left_or_ordered(long));
        let (short, long) = (amc_ia::paper_order(&set, POINTS), paper);
        prop_assert_eq!(left_or_ordered(short), left_or_ordered(long));
        // A relation between patterns: without a full level, FJP accepts every set that AMC-RT accepts.
        let full = (0..levels).any(|m| {
            let mine = tasks.iter().filter(|task| task.level >= m);
            mine.map(|task| Rate::new(task.wcet[m], task.period)).sum::<Rate>() >= Rate::ONE
        });
        let fjp = fjp::safe(&set, fjp::JOBS).answer;
        prop_assert!(!rt.is_yes() || full || fjp.is_yes());
        prop_assert!(
            !period_transformation::safe(&set, 1).answer.is_yes()
                || period_transformation::paper(&set, 1).answer.is_yes()
        );
        let differ =
            chain.iter().any(|answer| answer.is_yes()) && chain.iter().any(|a| !a.is_yes());
        Ok(differ || smc.is_yes())
    });
}

/// With one level, all analyses reduce to plain fixed priorities.
#[test]
fn one_level_is_plain() {
    on_random(2_000, 500, sets(1, 5), |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let smc = fixed::ftp_smc(&set).found();
        let rt = amc_rt::amc_rt(&set).found();
        let safe = amc_ia::safe(&set, POINTS).found();
        let one = |found: Option<layland_offline::criticality::Assigned<Vec<Duration>>>| {
            found.map(|found| {
                (found.order, found.response.values().map(|r| r[0]).collect::<Vec<_>>())
            })
        };
        let plain = smc.map(|found| (found.order, found.response.values().copied().collect()));
        prop_assert_eq!(&one(rt), &plain);
        prop_assert_eq!(&one(safe), &plain);
        let slices = period_transformation::safe(&set, 1);
        prop_assert!(slices.slices.values().all(|slices| slices.count == 1));
        prop_assert_eq!(slices.answer, fixed::rms(&set).answer());
        Ok(plain.is_some())
    });
}

#[test]
fn zero_slack_instants_are_the_latest() {
    on_random(30_000, 250, sets(3, 4), |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let found = zero_slack::safe(&set);
        let slow = twin::zero_slack_safe(&tasks, &places(&found.order));
        let instants: Vec<Option<i64>> =
            found.zero_slack.values().map(|instant| instant.map(Duration::ns)).collect();
        let some = found
            .zero_slack
            .iter()
            .any(|(task, instant)| instant.is_some_and(|instant| instant < set.deadline(task)));
        prop_assert_eq!(instants, slow);
        Ok(some)
    });
}

#[test]
fn the_original_zero_slack_method_is_followed() {
    on_random(10_000, 250, sets(3, 4), |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let found = zero_slack::paper(&set);
        let slow = twin::zero_slack_paper(&tasks, &places(&found.order));
        let instants: Vec<Option<i64>> =
            found.zero_slack.values().map(|instant| instant.map(Duration::ns)).collect();
        let some = levels > 1 && instants.iter().any(Option::is_some);
        prop_assert_eq!(instants, slow);
        Ok(some)
    });
}

#[test]
fn job_arrival_patterns_are_counted() {
    on_random(5_000, 500, (sets(3, 4), any::<bool>()), |((levels, tasks), floor)| {
        let set = set_of(levels, &tasks);
        let found =
            if floor { fjp::ija_floor(&set, fjp::JOBS) } else { fjp::ija_paper(&set, fjp::JOBS) };
        let Some(busy) = &found.busy else { return Ok(false) };
        let Some((b, s, n)) = twin::ija(&tasks, levels, floor, 5_000) else {
            prop_assert!(busy.iter().any(|b| b.ns() > 5_000));
            return Ok(false);
        };
        prop_assert_eq!(ns(busy), b);
        prop_assert_eq!(found.change.as_deref().map(ns), Some(s));
        let counts: Vec<Vec<i64>> = found
            .counts
            .iter()
            .flat_map(|counts| counts.values())
            .map(|counts| counts.iter().map(|&count| count as i64).collect())
            .collect();
        let by_task: Vec<Vec<i64>> =
            (0..tasks.len()).map(|i| n.iter().map(|n| n[i]).collect()).collect();
        prop_assert_eq!(counts, by_task);
        Ok(levels > 1)
    });
}

#[test]
fn slices_divide_periods_and_budgets() {
    on_random(3_000, 800, (sets(4, 5), 1i64..=7), |((levels, tasks), resolution)| {
        let set = set_of(levels, &tasks);
        let found = period_transformation::paper(&set, resolution);
        for (i, task) in tasks.iter().enumerate() {
            let slices = found.slices.values().as_slice();
            let fits = |count: i64| {
                let lower = tasks.iter().zip(slices).filter(|(other, _)| other.level < task.level);
                lower.clone().all(|(other, s)| task.period * s.count <= other.period * count)
            };
            prop_assert_eq!((1..).find(|&count| fits(count)), Some(slices[i].count));
            prop_assert!(slices[i].length * slices[i].count <= task.period * resolution);
            prop_assert!(slices[i].budget * slices[i].count >= task.wcet[task.level] * resolution);
        }
        Ok(found.slices.values().any(|slices| slices.count > 1))
    });
}

fn jobs_of(found: &fjp::Jobs) -> Option<Vec<usize>> {
    let counts = found.counts.as_ref()?;
    Some(counts.values().map(|&count| count as usize).collect())
}

#[test]
fn job_priorities_are_found_if_there_are_some() {
    on_random(30_000, 250, sets(3, 3), |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let safe = fjp::safe(&set, fjp::JOBS);
        let Some(mut counts) = jobs_of(&safe) else { return Ok(false) };
        if counts.iter().sum::<usize>() > 7 {
            return Ok(false);
        }
        let slow =
            twin::some_priorities(&mut counts, &|i, left| twin::fjp_safe_job(&tasks, i, left));
        prop_assert_eq!(safe.answer, Answer::of(slow));
        if let Some(priorities) = &safe.priorities {
            let mut all: Vec<u32> = priorities.values().flatten().copied().collect();
            all.sort_unstable();
            prop_assert!(all.iter().enumerate().all(|(at, &priority)| at == priority as usize));
            prop_assert!(
                priorities.values().all(|list| list.windows(2).all(|two| two[0] > two[1]))
            );
        }
        Ok(counts.iter().any(|&jobs| jobs > 1))
    });
}

/// The lists are those of a scan that tests every job by its definition.
#[test]
fn lists_are_in_the_order_of_the_scan() {
    on_random(20_000, 1_500, sets(3, 4), |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let found = fjp::safe(&set, 60);
        let Some(counts) = jobs_of(&found) else { return Ok(false) };
        if counts.iter().sum::<usize>() > 60 {
            return Ok(false);
        }
        let test = |i: usize, left: &[usize]| twin::fjp_safe_job(&tasks, i, left);
        let slow = anew::rescan(&tasks, &counts, &test);
        prop_assert_eq!(found.answer, Answer::of(slow.is_some()));
        let (Some(slow), Some(lists)) = (slow, &found.priorities) else { return Ok(true) };
        for (priority, &(i, job)) in slow.iter().enumerate() {
            prop_assert_eq!(lists.values().as_slice()[i][job] as usize, priority);
        }
        Ok(counts.iter().any(|&jobs| jobs > 1))
    });
}

/// The answers for a heuristic equal those of the analyses, without their bounds.
#[test]
fn short_answers_are_the_long_ones() {
    let yes: RefCell<BTreeMap<&str, [u32; 2]>> = RefCell::default();
    let inputs = prop_oneof![sets(2, 8), sets(4, 6)];
    on_random(12_000, 12_000, inputs, |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let over = (0..levels as u8).any(|level| {
            let shares = set.ids().map(|task| set.share(task, Criticality(level)));
            shares.sum::<u128>() > MixedSet::ONE
        });
        let tell = |name: &'static str, short: bool, long: bool| {
            yes.borrow_mut().entry(name).or_default()[usize::from(long)] += 1;
            prop_assert_eq!(short, long, "{}", name);
            // No analysis except zero slack accepts an overfull level.
            prop_assert!(!long || !over || name == "zero slack", "{}", name);
            Ok(())
        };
        for order in orders(&set) {
            let long = fixed::under(&set, &order).answer().is_yes();
            tell("fixed", fixed::accepts(&set, &order), long)?;
        }
        let (short, long) = (fixed::order(&set), fixed::ftp_smc(&set));
        tell("ftp_smc", short.answer().is_yes(), long.answer().is_yes())?;
        prop_assert_eq!(left_or_ordered(short), left_or_ordered(long));
        let (short, long) = (amc_rt::order(&set), amc_rt::amc_rt(&set));
        tell("amc_rt", short.answer().is_yes(), long.answer().is_yes())?;
        prop_assert_eq!(left_or_ordered(short), left_or_ordered(long));
        let long = period_transformation::safe(&set, 1);
        let cut = long.slices.values().all(|slices| slices.length > 0);
        tell("slices", period_transformation::accepts(&set), cut && long.answer.is_yes())?;
        tell("zero slack", zero_slack::accepts(&set), zero_slack::safe(&set).answer.is_yes())?;
        let found = virtual_deadlines::tuned(&set).answer().is_yes();
        tell("ekberg-yi", found, found)?;
        for most in [8, 30, fjp::JOBS] {
            let long = fjp::safe(&set, most);
            tell("fjp", fjp::accepts(&set, most), long.answer.is_yes())?;
            prop_assert_eq!(fjp::decide(&set, most), (long.answer, long.total()));
        }
        Ok(true)
    });
    for (name, [no, yes]) in yes.into_inner() {
        assert!(yes > 500 && no > 500, "{name}: {yes} are accepted and {no} are not");
    }
}

/// The scan at run time equals the brute-force scan, and finds priorities for every remainder of an
/// accepted pattern.
#[test]
fn what_is_left_of_a_pattern_gets_priorities() {
    let drawn = (sets(3, 4), prop::collection::vec((0usize..9, 0i64..20, any::<bool>()), 4), 0..3);
    on_random(20_000, 1_500, drawn, |((levels, tasks), drawn, from)| {
        let set = set_of(levels, &tasks);
        let from = (from as usize).min(levels - 1);
        let mut some = false;
        for summed in [false, true] {
            let found = if summed { fjp::load_based(&set, 40) } else { fjp::safe(&set, 40) };
            let (Some(counts), Some(_)) = (jobs_of(&found), &found.priorities) else { continue };
            let left = |i: usize| if tasks[i].level < from { 0 } else { drawn[i].0.min(counts[i]) };
            let left: Vec<usize> = (0..tasks.len()).map(left).collect();
            let first = |i: usize| if drawn[i].2 { drawn[i].1.min(tasks[i].period) } else { 0 };
            let first: Vec<i64> = (0..tasks.len()).map(first).collect();
            let mut rescan = if summed {
                fjp::Rescan::totals(set.clone())
            } else {
                fjp::Rescan::delays(set.clone())
            };
            let slow = anew::rescan(&tasks, &left, &|i, left| {
                if summed {
                    anew::summed_job(&tasks, i, left, &first)
                } else {
                    anew::delayed_job(&tasks, i, left, &first, from)
                }
            });
            // State of one scan must not affect the next one.
            for _ in 0..2 {
                let mut order = Vec::new();
                let placed = rescan.scan(&left, &first, from, |i, job| order.push((i, job)));
                prop_assert!(placed);
                prop_assert_eq!(Some(&order), slow.as_ref());
            }
            some |= left.iter().filter(|&&jobs| jobs > 0).count() > 1;
        }
        Ok(some)
    });
}

/// `B(m)` of FJP-LB equals the load over every interval.
#[test]
fn the_load_is_brute_force() {
    on_random(2_000, 500, sets(2, 3), |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let found = fjp::load_based(&set, fjp::JOBS);
        let longest = tasks.iter().map(|task| task.deadline).max().unwrap_or(0);
        let hyperperiod = tasks.iter().fold(1i64, |lcm, task| {
            let (mut a, mut b) = (lcm, task.period);
            while b != 0 {
                (a, b) = (b, a % b);
            }
            lcm / a * task.period
        });
        let mut busy: Vec<i64> = Vec::new();
        for m in 0..levels {
            let mine = tasks.iter().filter(|task| task.level >= m);
            let utilization: Rate = mine.map(|task| Rate::new(task.wcet[m], task.period)).sum();
            let (demand, x) = twin::load(&tasks, m, hyperperiod + longest);
            let load = utilization.max(Rate::new(demand, x));
            if load >= Rate::ONE {
                prop_assert_eq!(found.answer, Answer::NotSchedulable);
                prop_assert_eq!(found.busy, None);
                return Ok(false);
            }
            let before = Rate::whole(busy.last().copied().unwrap_or(0));
            let b = (&before + &(&load * &Rate::whole(longest))) / (Rate::ONE - load);
            busy.push(b.ceil().expect("it is small"));
        }
        prop_assert_eq!(found.busy.as_deref().map(ns), Some(busy));
        let constrained = tasks.iter().any(|task: &Plain| task.deadline < task.period);
        Ok(constrained)
    });
}
