//! One CPU: blocking, response times with blocking, and SRP.

use super::{Draw, Shape, ceil, draw_set, from_below, sets, some};
use layland_analysis::locking::{
    Held, Locker, ceiling, ceiling_responses, inheritance, inheritance_assigned,
    inheritance_nested, plain, plain_responses, responses, stack,
};

const FLAT: Shape = Shape {
    tasks: 5,
    cpus: 1,
    resources: 4,
    period: (20, 60),
    sections: (3, 6),
    nested: 0,
    suspends: 0,
};

/// `ceiling(q)`: the smallest position of a user.
fn ceiling_of(tasks: &[Locker], q: usize) -> usize {
    let uses = |task: &Locker| task.sections.iter().any(|section| section.q == q);
    tasks.iter().position(uses).unwrap_or(usize::MAX)
}

/// The maximum sum of sections of these tasks, one of each task and one on each resource.
fn best_choice(tasks: &[Locker], lower: &[Locker], i: usize, taken: &[usize]) -> i64 {
    let Some((j, rest)) = lower.split_first() else { return 0 };
    let mut best = best_choice(tasks, rest, i, taken);
    for section in &j.sections {
        if !taken.contains(&section.q) && ceiling_of(tasks, section.q) <= i {
            let taken = [taken, &[section.q]].concat();
            best = best.max(section.length + best_choice(tasks, rest, i, &taken));
        }
    }
    best
}

#[test]
fn inheritance_without_nesting_is_at_most_the_smaller_sum_and_exactly_the_best_choice() {
    let (mut draw, mut apart) = (Draw(1), 0);
    for _ in 0..sets(1_500) {
        let tasks = draw_set(&mut draw, FLAT);
        let (sums, assigned) = (inheritance(&tasks), inheritance_assigned(&tasks));
        for i in 0..tasks.len() {
            let lower = &tasks[i + 1..];
            assert_eq!(assigned[i], best_choice(&tasks, lower, i, &[]), "{i} of {tasks:?}");
            let reaching = |section: &&Held| ceiling_of(&tasks, section.q) <= i;
            let mut by_task = 0;
            for j in lower {
                by_task += j.sections.iter().filter(reaching).map(|s| s.length).max().unwrap_or(0);
            }
            let mut by_resource = 0;
            for q in (0..4).filter(|&q| ceiling_of(&tasks, q) <= i) {
                let on_q = lower.iter().flat_map(|j| &j.sections).filter(|s| s.q == q);
                by_resource += on_q.map(|s| s.length).max().unwrap_or(0);
            }
            assert_eq!(sums[i], by_task.min(by_resource), "{i} of {tasks:?}");
            assert!(assigned[i] <= sums[i]);
            apart += i32::from(assigned[i] < sums[i]);
        }
        // One section is one of these choices.
        assert!(ceiling(&tasks).iter().zip(&assigned).all(|(ceiling, best)| ceiling <= best));
    }
    assert!(apart > 10, "{apart}");
}

/// Every resource whose waiters pass their priorities on to the holder of `q`: `q` itself, and the
/// resources that are held around a section on one of these.
fn passing_on(tasks: &[Locker], q: usize) -> Vec<usize> {
    let mut all = vec![q];
    let mut at = 0;
    while at < all.len() {
        let inner = all[at];
        for task in tasks {
            for (place, _) in task.sections.iter().enumerate().filter(|(_, s)| s.q == inner) {
                for x in around(task, place) {
                    if !all.contains(&x) {
                        all.push(x);
                    }
                }
            }
        }
        at += 1;
    }
    all
}

/// The resources that are held around a section, at any depth.
fn around(task: &Locker, place: usize) -> Vec<usize> {
    let outer = std::iter::successors(task.sections[place].within, |&at| task.sections[at].within);
    outer.map(|at| task.sections[at].q).collect()
}

#[test]
fn inheritance_with_nesting_follows_who_waits_for_whom() {
    let (mut draw, mut chained) = (Draw(2), 0);
    for _ in 0..sets(1_500) {
        let tasks = draw_set(&mut draw, Shape { nested: 2, ..FLAT });
        let B = inheritance_nested(&tasks);
        for i in 0..tasks.len() {
            let reaches =
                |q: usize| passing_on(&tasks, q).iter().any(|&x| ceiling_of(&tasks, x) <= i);
            let mut expected = 0;
            for j in &tasks[i + 1..] {
                let mut longest = 0;
                for (place, section) in j.sections.iter().enumerate() {
                    let outermost = around(j, place).last().copied();
                    let length = match outermost {
                        None => section.length,
                        Some(_) => {
                            let mut at = place;
                            while let Some(outer) = j.sections[at].within {
                                at = outer;
                            }
                            j.sections[at].length
                        }
                    };
                    if reaches(section.q) {
                        longest = longest.max(length);
                    }
                    chained += i32::from(reaches(section.q) && ceiling_of(&tasks, section.q) > i);
                }
                expected += longest;
            }
            assert_eq!(B[i], expected, "{i} of {tasks:?}");
        }
        // An outermost section is at least as long as those within it.
        assert!(ceiling(&tasks).iter().zip(&B).all(|(ceiling, B)| ceiling <= B));
    }
    assert!(chained > 10, "{chained}");
}

#[test]
fn ceilings_block_once_and_plain_locks_without_end() {
    let mut draw = Draw(3);
    for _ in 0..sets(1_500) {
        let tasks = draw_set(&mut draw, Shape { nested: 3, ..FLAT });
        for i in 0..tasks.len() {
            let (mut longest, mut is_shared) = (0, false);
            for section in tasks[i + 1..].iter().flat_map(|j| &j.sections) {
                for user in &tasks[..=i] {
                    if user.sections.iter().any(|other| other.q == section.q) {
                        longest = longest.max(section.length);
                        is_shared = true;
                    }
                }
            }
            assert_eq!(ceiling(&tasks)[i], longest, "{i} of {tasks:?}");
            assert_eq!(plain(&tasks)[i].is_none(), is_shared, "{i} of {tasks:?}");
        }
    }
}

#[test]
fn response_times_are_the_first_from_below() {
    let (mut draw, mut found, mut suspending) = (Draw(4), 0, 0);
    for _ in 0..sets(1_500) {
        let shape = Shape { nested: 4, suspends: 4, sections: (2, 4), ..FLAT };
        let tasks = draw_set(&mut draw, shape);
        let B = ceiling(&tasks);
        let without: Vec<Locker> =
            tasks.iter().map(|task| Locker { S: 0, m: 0, ..task.clone() }).collect();
        for (blocking, said) in [
            (inheritance(&without), responses(&without, &inheritance(&without))),
            (B.clone(), ceiling_responses(&without)),
        ] {
            for (i, task) in without.iter().enumerate() {
                let above = &without[..i];
                let f = |t: i64| {
                    task.C + blocking[i] + above.iter().map(|h| ceil(t, h.T) * h.C).sum::<i64>()
                };
                assert_eq!(said[i].ok(), from_below(1, task.D, f), "{i} of {without:?}");
                found += i32::from(said[i].is_ok());
            }
        }
        let plainly = plain_responses(&without);
        for (i, B) in plain(&without).iter().enumerate() {
            let as_alone = responses(&without, &vec![0; without.len()])[i].ok();
            assert_eq!(plainly[i].ok(), B.and(as_alone), "{i} of {without:?}");
        }
        // With suspensions: each end of a suspension meets one more section.
        let mut R: Vec<Option<i64>> = Vec::new();
        for (i, task) in tasks.iter().enumerate() {
            let is_late_above = R.iter().any(Option::is_none);
            let suspends = tasks[..=i].iter().any(|task| task.S > 0);
            let J = |h: usize| if tasks[h].S > 0 { R[h].unwrap_or(0) - tasks[h].C } else { 0 };
            let f = |t: i64| {
                let above: i64 = (0..i).map(|h| ceil(t + J(h), tasks[h].T) * tasks[h].C).sum();
                task.C + task.S + (task.m + 1) * B[i] + above
            };
            let next = if suspends && is_late_above { None } else { from_below(1, task.D, f) };
            suspending += i32::from(suspends && next.is_some());
            R.push(next);
        }
        assert_eq!(some(&ceiling_responses(&tasks)), R, "{tasks:?}");
    }
    assert!(found > 1_000 && suspending > 300, "{found} and {suspending}");
}

#[test]
fn srp_fails_at_the_first_instant_that_does() {
    let (mut draw, mut met, mut fails, mut blocked) = (Draw(5), 0, 0, 0);
    for _ in 0..sets(3_000) {
        let shape =
            Shape { tasks: 3, resources: 2, period: (6, 12), sections: (2, 4), nested: 3, ..FLAT };
        let tasks = draw_set(&mut draw, shape);
        let lcm = |a: i64, b: i64| a / gcd(a, b) * b;
        let H = tasks.iter().map(|task| task.T).fold(1, lcm);
        let load: i64 = tasks.iter().map(|task| H / task.T * task.C).sum();
        let demand = |t: i64| -> i64 {
            let jobs = |task: &Locker| ((t - task.D).div_euclid(task.T) + 1).max(0);
            tasks.iter().map(|task| jobs(task) * task.C).sum()
        };
        let B = |t: i64| {
            let mut longest = 0;
            for j in tasks.iter().filter(|j| j.D > t) {
                for section in &j.sections {
                    let wanted = |user: &Locker| {
                        user.D <= t && user.sections.iter().any(|other| other.q == section.q)
                    };
                    if tasks.iter().any(wanted) {
                        longest = longest.max(section.length);
                    }
                }
            }
            longest
        };
        let longest = tasks.iter().map(|task| task.D).max().unwrap_or(0);
        let said = stack::demand_and_blocking(&tasks).unwrap();
        if load > H {
            assert_eq!(said, stack::Stacked::Overload, "{tasks:?}");
            continue;
        }
        match (1..=H + longest).find(|&t| demand(t) + B(t) > t) {
            None => assert_eq!(said, stack::Stacked::Met, "{tasks:?}"),
            Some(t) => {
                let needed = demand(t) + B(t);
                assert_eq!(said, stack::Stacked::Fails { t, needed }, "{tasks:?}");
                fails += 1;
                blocked += i32::from((1..=H + longest).all(|t| demand(t) <= t));
            }
        }
        met += i32::from(said == stack::Stacked::Met);
    }
    assert!(met > 200 && fails > 50 && blocked > 20, "{met}, {fails} and {blocked}");
}

/// Euclid's algorithm.
fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
