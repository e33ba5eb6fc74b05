//! Weakly hard constraints and probabilities of misses: each fast form beside its slow twin on random inputs.
//!
//! Long because each form has its inputs and its twin here.

#![expect(non_snake_case, reason = "symbols of the papers")]

use layland_analysis::Sporadic;
use layland_analysis::how_often::{
    Grid, Judged, MandatoryPattern, OneCpuOrder, PatternTask, Periodic, Precision, RandomTask,
    SampleInterval, TypicalTask, most_misses,
};
use layland_answers::Set;
use layland_answers::simulate::{ObservedConstraint, SimulateQuestion, Watch as AnswerWatch};
use layland_guarantee::search::misses::{FoundMisses, MissSearch};
use layland_model::{
    ArrivalCurve, Duration, HitOrMiss, JobId, MissTolerance, OnMiss, Profile, Rate, Service,
    System, Task, TaskId, Time, Watch, WeaklyHard, WeaklyHardJudge,
};
use layland_sim::{Horizon, SimOptions, simulate};
use layland_testkit::cases::on_random;
use layland_testkit::how_often::probability::{SlowRandomTask, SlowSet};
use layland_testkit::how_often::runs::{self, RunTask, completions, outcomes};
use layland_testkit::how_often::words as slow;
use layland_testkit::registry;
use layland_trace::{Job, JobEnd, JobRecord, Outcomes, Trace};
use proptest::prelude::*;

fn constraints(longest: u32) -> impl Strategy<Value = WeaklyHard> {
    let pair = (1..=longest, any::<u32>());
    pair.prop_filter_map("a constraint", |(k, m)| WeaklyHard::new(m % (k + 1), k))
}

/// Words of up to this many jobs, with few undecided ones.
fn words(longest: usize) -> impl Strategy<Value = Vec<HitOrMiss>> {
    let outcome = prop_oneof![
        8 => Just(HitOrMiss::Hit),
        4 => Just(HitOrMiss::Miss),
        1 => Just(HitOrMiss::Undecided),
    ];
    prop::collection::vec(outcome, 0..longest)
}

#[test]
fn words_are_judged_window_by_window() {
    on_random(4_000, 4_000, (words(40), constraints(12)), |(word, of)| {
        let mut judge = WeaklyHardJudge::new(of);
        let mut was_violated = None;
        for (job, &outcome) in word.iter().enumerate() {
            if judge.push(outcome) {
                was_violated = Some(job as u64);
            }
        }
        let found = judge.violation().map(|violation| violation.ends());
        prop_assert_eq!(found, slow::violation(&word, of));
        prop_assert_eq!(found.map(|[_, last]| last), was_violated);
        let undecided = word.iter().filter(|outcome| **outcome == HitOrMiss::Undecided).count();
        if undecided <= 10 {
            prop_assert_eq!(judge.observance(), slow::observance(&word, of));
        }
        let by_windows = [HitOrMiss::Hit, HitOrMiss::Miss]
            .map(|reading| slow::most_misses(&word, of.window() as usize, reading));
        prop_assert_eq!(judge.most_misses(), by_windows);
        prop_assert_eq!(judge.slack(), i64::from(of.misses()) - i64::from(by_windows[1]));
        Ok(true)
    });
}

/// Every pair of constraints with windows of up to eight jobs, by inclusion of their words.
#[test]
fn one_constraint_implies_another_if_all_its_words_do() {
    let all: Vec<WeaklyHard> =
        (1..=8).flat_map(|k| (0..=k).filter_map(move |m| WeaklyHard::new(m, k))).collect();
    let mut implied = 0;
    for &a in &all {
        for &b in &all {
            assert_eq!(a.implies(b), slow::implies(a, b), "{a} and {b}");
            assert_eq!(a.normal() == b.normal(), a.implies(b) && b.implies(a), "{a} and {b}");
            implied += u32::from(a.implies(b));
        }
    }
    assert_eq!(all.len(), 44);
    assert!((400..1_500).contains(&implied), "{implied} of 1,936 pairs");
}

/// The repeated word is long enough: a much longer one has no more misses in a window.
#[test]
fn no_window_of_a_cycle_is_left_out() {
    on_random(2_000, 2_000, (words(8), words(8), 1..20u32), |(prefix, cycle, window)| {
        let most = |longest: u32| {
            let mut watch = Watch::new(window);
            let word = layland_model::word_forever(&prefix, &cycle, longest);
            word.for_each(|outcome| watch.push(outcome));
            watch.most_misses()
        };
        prop_assert_eq!(most(window), most(200));
        Ok(true)
    });
}

/// The distance to failure, by appending misses; the class, by its rule.
#[test]
fn the_distance_to_failure_is_the_number_of_misses_that_break_it() {
    on_random(2_000, 2_000, (words(20), constraints(9)), |(word, of)| {
        if of.hits() == 0 {
            return Ok(true);
        }
        // Only the last jobs count: earlier violations are past.
        let recent = &word[word.len().saturating_sub(of.window() as usize)..];
        let breaks_after = |misses: u32| {
            let mut longer: Vec<HitOrMiss> = vec![HitOrMiss::Hit; of.window() as usize];
            longer.extend(recent);
            longer.extend(std::iter::repeat_n(HitOrMiss::Miss, misses as usize));
            let last = &longer[longer.len() - of.window() as usize..];
            last.iter().filter(|outcome| **outcome != HitOrMiss::Hit).count() as u32 > of.misses()
        };
        let by_appending = (0..=of.window()).find(|&misses| breaks_after(misses));
        prop_assert_eq!(Some(of.distance_to_failure(&word)), by_appending);
        Ok(true)
    });
}

fn ns(length: i64) -> Duration {
    Duration::from_ns(length)
}

fn random_tasks(count: usize, longest: i64) -> impl Strategy<Value = Vec<SlowRandomTask>> {
    let task = (2..=longest, 1..=longest + 1, 1..=3i64, 1..=4i64, 1..8i64, any::<bool>()).prop_map(
        |(period, deadline, short, more, eighths, is_random)| {
            let rate = Rate::new(eighths, 8);
            let times = if is_random {
                vec![(short, rate.clone()), (short + more, &Rate::ONE - &rate)]
            } else {
                vec![(short, Rate::ONE)]
            };
            SlowRandomTask { times, period, deadline }
        },
    );
    prop::collection::vec(task, 1..=count)
}

fn sets(count: usize, longest: i64) -> impl Strategy<Value = SlowSet> {
    let inputs = (random_tasks(count, longest), any::<bool>(), any::<prop::sample::Index>());
    inputs.prop_map(|(tasks, is_edf, judged)| {
        let judged = judged.index(tasks.len());
        SlowSet { tasks, is_edf, on_miss: OnMiss::Continue, judged }
    })
}

fn typed(tasks: &[SlowRandomTask]) -> Vec<RandomTask> {
    let of = |task: &SlowRandomTask| {
        let times: Vec<(Service, Rate)> =
            task.times.iter().map(|(time, rate)| (Service::from_ns(*time), rate.clone())).collect();
        RandomTask::new(&times, ns(task.period), ns(task.deadline), Duration::ZERO).unwrap()
    };
    tasks.iter().map(of).collect()
}

fn judged<'a>(tasks: &'a [RandomTask], of: &SlowSet) -> Judged<'a> {
    let orders = [OneCpuOrder::FixedPriority, OneCpuOrder::EarliestDeadline];
    Judged { tasks, order: orders[usize::from(of.is_edf)], task: of.judged }
}

/// Sporadic arrivals from 0 on, with these gaps; the judged task has a job at the returned time.
fn arrivals(of: &SlowSet, gaps: &[usize], job: usize) -> (Vec<Vec<i64>>, i64) {
    let mut gaps = gaps.iter().cycle();
    let mut gap = |most: i64| (*gaps.next().unwrap_or(&0) as i64) % (most + 1);
    let mut all: Vec<Vec<i64>> = Vec::new();
    for task in &of.tasks {
        let mut times = vec![gap(task.period)];
        while times.len() < 6 {
            let more = if gap(3) == 0 { gap(2) } else { 0 };
            times.push(times[times.len() - 1] + task.period + more);
        }
        all.push(times);
    }
    let at = all[of.judged][job % 3];
    (all, at)
}

fn times(arrivals: &[Vec<i64>]) -> Vec<Vec<Time>> {
    arrivals.iter().map(|times| times.iter().map(|at| Time::from_ns(*at)).collect()).collect()
}

/// A gap that rounding to units of 2^-96 cannot make in a short run.
fn tiny() -> Rate {
    Rate::of_wide(1, 1 << 80)
}

#[test]
fn probabilities_under_given_arrivals_are_those_of_every_state() {
    let inputs = (sets(3, 6), prop::collection::vec(0..100usize, 12), 0..3usize, 0..3usize);
    on_random(600, 600, inputs, |(set, gaps, job, on_miss)| {
        let set = SlowSet { on_miss: OnMiss::ALL[on_miss], ..set };
        let (arrivals, at) = arrivals(&set, &gaps, job);
        let tasks = typed(&set.tasks);
        let found =
            judged(&tasks, &set).under_arrivals(set.on_miss, &times(&arrivals), Time::from_ns(at));
        let found = found.unwrap();
        let exact = set.miss(&arrivals, at);
        let (low, high) = (found.low.to_rate(), found.high.to_rate());
        prop_assert!(low <= exact && exact <= high, "{low} {exact} {high}");
        prop_assert!(&high - &low < tiny());
        Ok(true)
    });
}

/// The theorem: of all sporadic arrivals, the periodic ones around the job are the worst if late
/// jobs continue. Aborted jobs leave less work; a skipped one is a miss of its own.
#[test]
fn no_arrivals_are_worse_than_the_worst_phase() {
    on_random(120, 120, (sets(2, 4), 0..5i64), |(set, at)| {
        let tasks = typed(&set.tasks);
        let worst = judged(&tasks, &set).worst_first_jobs(Time::from_ns(at), 10_000).unwrap();
        let (low, high) = (worst.chance.low.to_rate(), worst.chance.high.to_rate());
        let exact = set.greatest(at);
        prop_assert!(low <= exact && exact <= high && &high - &low < tiny(), "{exact} {high}");
        let aborted = SlowSet { on_miss: OnMiss::Abort, ..set.clone() }.greatest(at);
        prop_assert!(aborted <= high);
        Ok(true)
    });
}

#[test]
fn no_arrivals_exceed_the_bounds() {
    let inputs = (sets(3, 8), prop::collection::vec(0..100usize, 12), 0..3usize, 0..3usize);
    on_random(600, 200, inputs, |(set, gaps, job, on_miss)| {
        let set = SlowSet { on_miss: OnMiss::ALL[on_miss], ..set };
        let (arrivals, at) = arrivals(&set, &gaps, job);
        let tasks = typed(&set.tasks);
        let of = judged(&tasks, &set);
        let exact = set.miss(&arrivals, at);
        let mut said = false;
        for unit in [0, 1] {
            let grid = Grid { tick: ns(1), arrivals: ns(unit) };
            if let Ok(shares) = of.shares(&grid) {
                let bound = of.rate(set.on_miss, &shares, &grid, &Precision::default()).unwrap();
                prop_assert!(exact <= bound.to_rate(), "{exact} above RATE {bound:?}");
                said = true;
            }
            let windows: Vec<Duration> = set.tasks.iter().map(|task| ns(task.deadline)).collect();
            let carried = of.carry(&windows, &grid).filter(|_| set.on_miss == OnMiss::Abort);
            if let Some(carried) = carried {
                let end = ns(set.tasks[set.judged].deadline);
                let chernoff = of.best_chernoff(&carried.counts, end, &grid);
                for bound in [carried.sequential, carried.minimum, chernoff] {
                    prop_assert!(
                        exact <= bound.to_rate(),
                        "{exact} above {carried:?} {chernoff:?}"
                    );
                }
                prop_assert!(carried.sequential <= carried.minimum);
                said = true;
            }
        }
        Ok(said)
    });
}

/// The bounds of the long run enclose it: from an empty start no job exceeds the upper one.
#[test]
fn no_periodic_job_exceeds_the_bound_of_the_long_run() {
    let inputs = (sets(2, 6), prop::collection::vec(0..6i64, 2));
    on_random(200, 80, inputs, |(set, offsets)| {
        let tasks = typed(&set.tasks);
        let offsets: Vec<Duration> = (0..tasks.len()).map(|i| ns(offsets[i])).collect();
        let periodic = Periodic { judged: judged(&tasks, &set), offsets: &offsets };
        let precision = Precision { cells: 4_000, rounds: 60, ..Precision::default() };
        let Ok(found) = periodic.long_run(&precision) else { return Ok(false) };
        let H = periodic.hyperperiod().unwrap().ns();
        let own = &set.tasks[set.judged];
        for number in 0..(3 * H / own.period).min(24) {
            let at = offsets[set.judged].ns() + number * own.period;
            let chance = periodic.job(number).unwrap();
            let bound = found.iter().find(|job| job.offset.ns() == at % H).unwrap().chance;
            prop_assert!(chance.low <= bound.high, "job {number}: {chance:?} above {bound:?}");
            prop_assert!(bound.low <= bound.high);
        }
        Ok(true)
    });
}

/// Both ends, by exact sums at the end and at its neighbour on the grid.
#[test]
fn intervals_are_the_tightest_on_the_grid() {
    on_random(60, 60, (1..20u64, any::<u64>()), |(runs, late)| {
        let late = late % (runs + 1);
        let found = SampleInterval::new(runs, late, &Rate::new(1, 20));
        let at_least = |x: u64, p: &Rate| -> Rate {
            let q = &Rate::ONE - p;
            let power = |of: &Rate, n: u64| (0..n).fold(Rate::ONE, |product, _| &product * of);
            let term = |i: u64| {
                let ways = (0..i).fold(1, |ways, j| ways * (runs - j) / (j + 1));
                &Rate::whole(ways as i64) * &(&power(p, i) * &power(&q, runs - i))
            };
            (x..=runs).map(term).sum()
        };
        let (half, step) = (Rate::new(1, 40), Rate::new(1, 1 << 40));
        if late > 0 {
            prop_assert!(at_least(late, &found.low()) <= half);
            prop_assert!(at_least(late, &(&found.low() + &step)) > half);
        }
        if late < runs {
            let at_most = |p: &Rate| &Rate::ONE - &at_least(late + 1, p);
            prop_assert!(at_most(&found.high()) <= half);
            prop_assert!(at_most(&(&found.high() - &step)) > half);
        }
        Ok(true)
    });
}

/// Runs with exceptional jobs as often as they may come, and late as they like.
#[test]
fn no_run_has_more_misses_than_the_typical_bound() {
    let task = (1..4i64, 6..16i64, 0..6i64, 20..90i64);
    let inputs =
        (prop::collection::vec(task, 2..4), 1..12u32, prop::collection::vec(0..100usize, 20));
    on_random(400, 150, inputs, |(of, window, drawn)| {
        let tasks: Vec<TypicalTask> = of
            .iter()
            .map(|&(usual, period, more, apart)| TypicalTask {
                usual: Service::from_ns(usual),
                period: ns(period),
                deadline: ns(period),
                more: Service::from_ns(more),
                exceptions: ArrivalCurve::new(&[ns(apart)]).ok(),
            })
            .collect();
        let k = tasks.len() - 1;
        let Ok(bound) = most_misses(&tasks, k, window) else { return Ok(false) };
        let until = 400;
        let mut drawn = drawn.iter().cycle();
        let mut draw = |most: i64| *drawn.next().unwrap_or(&0) as i64 % (most + 1);
        let mut run = Vec::new();
        for (i, &(usual, period, more, apart)) in of.iter().enumerate() {
            let (mut at, mut free, mut jobs) = (draw(period), draw(20), Vec::new());
            while at < until {
                let is_exceptional = at >= free && draw(3) > 0;
                if is_exceptional {
                    free = at + apart;
                }
                jobs.push((at, usual + if is_exceptional { more } else { 0 }));
                at += period + if i < k && draw(4) == 0 { draw(3) } else { 0 };
            }
            run.push(RunTask { deadline: period, jobs });
        }
        let mut watch = Watch::new(window);
        outcomes(&run, false, k, until).into_iter().for_each(|outcome| watch.push(outcome));
        prop_assert!(u64::from(watch.most_misses()[0]) <= bound.misses, "{bound:?}");
        Ok(true)
    });
}

/// Periodic tasks that arrive together and begin their patterns together are the worst: the tests
/// are exact for them.
#[test]
fn patterns_are_tested_as_they_run() {
    let task = (1..4i64, prop::sample::select(vec![4i64, 5, 6, 8]), 0..3i64, constraints(4));
    let inputs = (prop::collection::vec(task, 1..4), any::<bool>());
    on_random(500, 300, inputs, |(of, is_even)| {
        let pattern = [MandatoryPattern::Red, MandatoryPattern::Even][usize::from(is_even)];
        let tasks: Vec<PatternTask> = of
            .iter()
            .map(|&(wcet, period, less, constraint)| PatternTask {
                wcet: Service::from_ns(wcet),
                period: ns(period),
                deadline: ns((period - less).max(1)),
                constraint,
            })
            .collect();
        let lcm = tasks.iter().fold(1, |lcm, task| {
            num_lcm(lcm, task.period.ns() * i64::from(task.constraint.window()))
        });
        if lcm > 600 {
            return Ok(false);
        }
        let until = 2 * lcm;
        let run: Vec<RunTask> = tasks
            .iter()
            .map(|task| {
                let number = |at: i64| (at / task.period.ns()) as u64;
                let arrivals = (0..until).step_by(task.period.ns() as usize);
                let mandatory =
                    arrivals.filter(|&at| pattern.is_mandatory(task.constraint, number(at)));
                let jobs = mandatory.map(|at| (at, task.wcet.ns())).collect();
                RunTask { deadline: task.deadline.ns(), jobs }
            })
            .collect();
        // Those that are left at the end may be late afterwards: they are due within the run.
        let is_in_time = |k: usize, done: &[Option<i64>]| {
            run[k].jobs.iter().zip(done).all(|(job, done)| {
                let due = job.0 + run[k].deadline;
                done.map_or(due > until, |done| done <= due)
            })
        };
        let by_deadline = completions(&run, true, until);
        let all = (0..tasks.len()).all(|k| is_in_time(k, &by_deadline[k]));
        prop_assert_eq!(pattern.keeps_deadlines(&tasks), Ok(all));
        let by_priority = completions(&run, false, until);
        for k in 0..tasks.len() {
            let first = by_priority[k].first().copied().flatten();
            match pattern.response_time(&tasks, k) {
                Ok(bound) if tasks[k].constraint.hits() == 0 => prop_assert_eq!(bound.ns(), 0),
                Ok(bound) => {
                    prop_assert_eq!(first, Some(bound.ns()));
                    prop_assert!(is_in_time(k, &by_priority[k]));
                }
                Err(_) => prop_assert!(!is_in_time(k, &by_priority[k])),
            }
        }
        Ok(true)
    });
}

fn num_lcm(a: i64, b: i64) -> i64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

/// The arrivals that are found lead to the number of misses, and no others up to a horizon to more.
#[test]
fn the_search_finds_the_most_misses() {
    let task = (1..3i64, 2..5i64, 1..5i64);
    let inputs = (prop::collection::vec(task, 1..3), any::<bool>(), any::<usize>(), 1..4u32);
    on_random(150, 60, inputs, |(of, is_edf, judged, window)| {
        let judged = judged % of.len();
        let tasks: Vec<Sporadic> = of
            .iter()
            .map(|&(wcet, period, deadline)| Sporadic {
                wcet: Service::from_ns(wcet),
                period: ns(period),
                deadline: ns(deadline),
            })
            .collect();
        let orders = [OneCpuOrder::FixedPriority, OneCpuOrder::EarliestDeadline];
        let order = orders[usize::from(is_edf)];
        let search = MissSearch { tasks: &tasks, order, judged, window, tick: ns(1) };
        let FoundMisses::Most { misses, arrivals } = search.run(200_000) else { return Ok(false) };
        let slowly = runs::most_misses(&of, is_edf, judged, window as usize, 9);
        prop_assert!(slowly <= misses, "{slowly} above {misses}");
        if misses > 0 {
            let run: Vec<RunTask> = of
                .iter()
                .zip(&arrivals)
                .map(|(task, times)| RunTask {
                    deadline: task.2,
                    jobs: times.iter().map(|at| (at.ns(), task.0)).collect(),
                })
                .collect();
            let until = arrivals.iter().flatten().map(|at| at.ns()).max().unwrap_or(0) + 10;
            let word = outcomes(&run, is_edf, judged, until);
            let replayed = slow::most_misses(&word, window as usize, HitOrMiss::Hit);
            prop_assert_eq!(replayed, misses);
        }
        Ok(true)
    });
}

/// A schedule that recurs is judged for ever: as a run of so many turns that every window is in it.
#[test]
fn a_schedule_that_recurs_is_judged_for_ever() {
    let task = (1..6i64, prop::sample::select(vec![4i64, 6, 8, 12]), 0..4i64, 0..5i64);
    let inputs = (
        prop::collection::vec((task, constraints(6)), 1..4),
        prop::sample::select(vec!["g-edf", "p-fp", "g-rm"]),
        prop::sample::select(OnMiss::ALL.to_vec()),
    );
    on_random(300, 150, inputs, |(of, policy, on_miss)| {
        let tasks =
            of.iter().enumerate().map(|(at, &((wcet, period, less, offset), constraint))| {
                let mut task = Task::implicit(format!("t{at}"), Service::from_ns(wcet), ns(period));
                task.deadline = ns((period - less).max(1));
                task.offset = ns(offset);
                task.on_miss = on_miss;
                task.priority = Some(at as i64);
                let tolerance = MissTolerance { constraints: vec![constraint], probability: None };
                task.tolerance = Some(tolerance.into());
                task
            });
        let system = System::new(1, tasks.collect());
        // Otherwise late jobs accumulate under `continue`.
        if !system.utilization().fits(&Rate::ZERO, &Rate::ONE) && on_miss == OnMiss::Continue {
            return Ok(false);
        }
        let mut question = SimulateQuestion::about(vec![policy.to_owned()]);
        question.horizon = Some(Horizon::Recurrence { at_most: Time::from_ns(3_000) });
        let set = Set::in_memory("set", system.clone());
        let simulated = question.ask(registry(), set, &AnswerWatch::default()).expect("it runs");
        let Some(cycle) = simulated.ran().next().expect("one policy").outcome.cycle else {
            return Ok(false);
        };
        let until = cycle.from + ns(cycle.length.ns() * 20 + 100);
        let mut trace = Trace::default();
        let built = registry().build(policy, &system).expect("it takes any set");
        simulate(&system, built, &mut trace, &SimOptions::until(until)).expect("in range");
        let outcomes = Outcomes::of_trace(&trace);
        let ran = simulated.ran().next().expect("one policy");
        prop_assert_eq!(ran.how_often.len(), system.tasks.len());
        for observed in &ran.how_often {
            // Jobs at the end have no outcome, and windows of decided ones say it all.
            let word: Vec<HitOrMiss> = outcomes
                .of(observed.task)
                .outcomes()
                .map(|(_, outcome)| outcome)
                .filter(|outcome| *outcome != HitOrMiss::Undecided)
                .collect();
            prop_assert!(observed.is_for_ever);
            prop_assert_eq!(observed.observance, slow::observance(&word, observed.constraint));
            let first = slow::violation(&word, observed.constraint);
            let found = observed.violation.as_ref().map(|violation| violation.ends());
            prop_assert_eq!(found, first);
        }
        Ok(true)
    });
}

/// Jobs that a trace lacks are judged as if each were undecided, and take neither time nor memory.
#[test]
fn jobs_that_are_lost_are_undecided() {
    let part = (prop::sample::select(vec!['H', 'M', '?']), 0..120u64);
    let inputs = (prop::collection::vec(part, 1..12), constraints(9), 0..2usize);
    on_random(500, 400, inputs, |(of, constraint, huge)| {
        let mut trace = Trace { over: Time::from_ns(10), ..Trace::default() };
        let (mut word, mut seq, mut number) = (Vec::new(), 5u64, 0u64);
        let mut numbers = Vec::new();
        for (at, &(letter, missing)) in of.iter().enumerate() {
            let missing = if at == 0 { 0 } else { missing };
            // As far apart as a file may have them, which the word has in short.
            let more = if at == of.len() / 2 && at > 0 { huge as u64 * (1 << 60) } else { 0 };
            (seq, number) = (seq + missing + more, number + missing + more);
            let lost = if more > 0 { 300 } else { missing };
            word.extend((0..lost).map(|_| HitOrMiss::Undecided));
            let due = if letter == '?' { 11 } else { 5 };
            let id = JobId { task: TaskId(0), seq };
            let (arrival, deadline) = (Time::ZERO, Time::from_ns(due));
            let job = Job { id, arrival, release: arrival, deadline };
            let end = (letter == 'H').then_some((Time::from_ns(5), JobEnd::Completed));
            trace.jobs.push(JobRecord { job, end, executed: Service::ZERO });
            numbers.resize(word.len() + 1, number);
            word.extend(HitOrMiss::word(&letter.to_string()).expect("a letter"));
            (seq, number) = (seq + 1, number + 1);
        }
        trace.jobs.reverse();
        let outcomes = Outcomes::of_trace(&trace);
        let found = ObservedConstraint::in_run(TaskId(0), constraint, &outcomes);
        let most = [HitOrMiss::Hit, HitOrMiss::Miss]
            .map(|reading| slow::most_misses(&word, constraint.window() as usize, reading));
        prop_assert_eq!(found.most_misses, most);
        let ends = slow::violation(&word, constraint);
        let ends = ends.map(|ends| ends.map(|at| numbers[at as usize]));
        prop_assert_eq!(found.violation.map(|violation| violation.ends()), ends);
        let mut profile = Profile::default();
        word.iter().for_each(|&outcome| profile.push(outcome));
        prop_assert_eq!(found.profile.most_misses(), profile.most_misses());
        prop_assert_eq!(found.profile.longest_run()[0], profile.longest_run()[0]);
        Ok(true)
    });
}
