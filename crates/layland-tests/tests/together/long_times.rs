//! Times up to the limit, 2^60 ns: the exact tests of one CPU, compared with slow ones in wide
//! integers, which have no limit.
//!
//! Sums of such times can exceed the range of a search. If a search gives up, the answer is
//! *unknown*. A *no* means a late job, and a *yes* means that there is none.

use layland_analysis::uniprocessor::edf_response::{self, Ties};
use layland_analysis::uniprocessor::fixed_priority::{self as fp, PriorityOrder, response_time};
use layland_analysis::uniprocessor::{deferred, edf};
use layland_analysis::{SchedulabilityTest, Sporadic, Verdict, fixed_point::Diverged};
use layland_model::{Duration, Preemption, Service, System, TIME_LIMIT, Task};
use layland_testkit::cases::on_random;
use proptest::prelude::*;

/// A task in wide integers.
#[derive(Clone, Copy, Debug)]
struct Wide {
    c: i128,
    d: i128,
    t: i128,
    rank: i64,
}

impl From<&Task> for Wide {
    fn from(task: &Task) -> Wide {
        let [c, d, t] =
            [task.own_wcet().ns(), task.deadline.ns(), task.period.ns()].map(i128::from);
        Wide { c, d, t, rank: task.rank }
    }
}

/// The number of steps after which a slow search stops, too, without an answer.
const STEPS: u32 = 20_000;

fn up(a: i128, b: i128) -> i128 {
    (a + b - 1) / b
}

/// Returns the least fixed point from `start` on, or `None`.
fn least(start: i128, f: impl Fn(i128) -> i128) -> Option<i128> {
    let mut at = start;
    for _ in 0..STEPS {
        match f(at) {
            next if next == at => return Some(at),
            next => at = next,
        }
    }
    None
}

/// Returns true if the utilizations sum to more than 1.
fn is_overload(tasks: &[Wide]) -> bool {
    // Four periods of 60 bits have no common multiple of 127 bits, so the sum is computed in
    // floating point. It is as good as exact for the drawn loads.
    let load: f64 = tasks.iter().map(|task| task.c as f64 / task.t as f64).sum();
    load > 1.0 + 1e-9
}

/// Returns the largest response time of the last task under fixed priorities, or the first one that
/// is too long; `None` if it is not found. `blocking` is the time for which a lower task keeps the
/// CPU. With `is_whole` a job is not preempted once it has begun.
fn slow_response(tasks: &[Wide], blocking: i128, is_whole: bool) -> Option<i128> {
    let (own, higher) = tasks.split_last().unwrap();
    let last = if is_whole { own.c } else { 1 };
    let mut longest = 0;
    let busy = least(blocking + tasks.iter().map(|task| task.c).sum::<i128>(), |w| {
        blocking + tasks.iter().map(|task| up(w, task.t) * task.c).sum::<i128>()
    });
    for q in 0..i128::from(STEPS) {
        if busy.is_some_and(|busy| q * own.t >= busy) {
            return Some(longest);
        }
        // The start of the last region. Jobs that arrive at that instant go first.
        let before = blocking + (q + 1) * own.c - last;
        let begins = least(before, |s| {
            before + higher.iter().map(|task| (s / task.t + 1) * task.c).sum::<i128>()
        })?;
        longest = longest.max(begins + last - q * own.t);
        if longest > own.d {
            return Some(longest);
        }
    }
    None
}

/// Returns true if tasks in the order of their priorities are in time, if the search finds an answer.
fn slow_fixed(tasks: &[Wide], is_whole: bool) -> Option<bool> {
    if is_overload(tasks) {
        return Some(false);
    }
    let mut all = Some(true);
    for at in 0..tasks.len() {
        let below = tasks[at + 1..].iter().map(|task| task.c - 1).max().unwrap_or(0);
        let blocking = if is_whole { below } else { 0 };
        match slow_response(&tasks[..=at], blocking, is_whole) {
            Some(response) if response > tasks[at].d => return Some(false),
            Some(_) => {}
            None => all = None,
        }
    }
    all
}

/// Returns true if some order is in time, by trying all orders.
fn slow_some_order(tasks: &[Wide]) -> Option<bool> {
    let mut orders = vec![Vec::new()];
    for at in 0..tasks.len() {
        orders = (orders.iter())
            .flat_map(|order: &Vec<usize>| {
                (0..=order.len()).map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, at);
                    longer
                })
            })
            .collect();
    }
    let mut found = Some(false);
    for order in orders {
        let sorted: Vec<Wide> = order.iter().map(|&at| tasks[at]).collect();
        match slow_fixed(&sorted, false) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => found = None,
        }
    }
    found
}

/// Compares the demand, with blocking, at every deadline of a busy period, one after the other.
fn slow_edf(tasks: &[Wide], is_whole: bool) -> Option<bool> {
    if is_overload(tasks) {
        return Some(false);
    }
    let work = |w: i128| tasks.iter().map(|task| up(w, task.t) * task.c).sum::<i128>();
    let busy = least(work(1), work)?;
    let longest = tasks.iter().map(|task| task.d).max().unwrap_or(0);
    let mut deadlines: Vec<i128> = Vec::new();
    for task in tasks {
        let jobs = (busy.max(longest) - task.d) / task.t + 1;
        if jobs > i128::from(STEPS) {
            return None;
        }
        deadlines.extend((0..jobs).map(|k| task.d + k * task.t));
    }
    Some(deadlines.into_iter().all(|t| {
        let demand = tasks.iter().filter(|task| task.d <= t);
        let demand: i128 = demand.map(|task| ((t - task.d) / task.t + 1) * task.c).sum();
        let blocks = tasks.iter().filter(|task| is_whole && task.d > t);
        demand + blocks.map(|task| task.c - 1).max().unwrap_or(0) <= t
    }))
}

/// Draws up to four tasks on one CPU, with periods of a few powers of two up to the limit.
fn long() -> impl Strategy<Value = System> {
    let task = (1i64..1 << 16, 0u32..5, 1i64..100, 0i64..200, 0i64..3);
    let top = prop_oneof![Just(60u32), Just(60), 20u32..60];
    (prop::collection::vec(task, 2..5), top, 500i64..1_001).prop_map(|(tasks, top, load)| {
        let weights: i64 = tasks.iter().map(|&(_, _, weight, ..)| weight).sum();
        let task =
            |(at, &(odd, less, weight, slack, rank)): (usize, &(i64, u32, i64, i64, i64))| {
                // Between half of a power of two and the power, with all bits drawn.
                let power = 1i128 << (top - less);
                let period = power / 2 + power / 2 * i128::from(odd) / (1 << 16) + 1;
                let share = i128::from(load * weight);
                let wcet = (period * share / i128::from(1_000 * weights)).max(1);
                let limit = i128::from(TIME_LIMIT);
                let deadline = (wcet + (2 * period - wcet) * i128::from(slack) / 199).min(limit);
                let ns = |length: i128| i64::try_from(length).expect("it is in range");
                let (wcet, period) = (Service::from_ns(ns(wcet)), Duration::from_ns(ns(period)));
                let mut task = Task::implicit(at.to_string(), wcet, period);
                task.deadline = Duration::from_ns(ns(deadline));
                (task.priority, task.rank) = (Some(at as i64), rank);
                task
            };
        System::new(1, tasks.iter().enumerate().map(task).collect())
    })
}

fn verdict(test: &SchedulabilityTest, system: &System) -> Verdict {
    test.run(system).expect("the system keeps the assumptions").verdict
}

/// Checks that a verdict equals the slow answer, if there is one, or is *unknown*.
fn agrees(
    test: &SchedulabilityTest,
    system: &System,
    slow: Option<bool>,
) -> Result<bool, TestCaseError> {
    let found = verdict(test, system);
    let wrong = match slow {
        Some(true) => Verdict::No,
        Some(false) => Verdict::Yes,
        None => return Ok(false),
    };
    prop_assert_ne!(found, wrong, "{}: {:#?}", test.name, system);
    Ok(found != Verdict::Unknown)
}

fn sorted(system: &System, key: impl Fn(&Wide) -> i128) -> Vec<Wide> {
    let mut tasks: Vec<Wide> = system.tasks.values().map(Wide::from).collect();
    tasks.sort_by_key(|task| (key(task), task.rank));
    tasks
}

fn preempted_nowhere(system: &System) -> System {
    let mut whole = system.clone();
    whole.tasks.values_mut().for_each(|task| task.preemption = Preemption::Never);
    whole
}

#[test]
fn verdicts_about_long_times_are_those_in_wide_integers() {
    on_random(4_000, 2_500, long(), |system| {
        let given: Vec<Wide> = system.tasks.values().map(Wide::from).collect();
        let mut said = 0;
        said += u32::from(agrees(
            &fp::RTA.under(PriorityOrder::Given),
            &system,
            slow_fixed(&given, false),
        )?);
        let by_period = sorted(&system, |task| task.t);
        said += u32::from(agrees(
            &fp::RTA.under(PriorityOrder::RateMonotonic),
            &system,
            slow_fixed(&by_period, false),
        )?);
        let by_deadline = sorted(&system, |task| task.d);
        said += u32::from(agrees(
            &fp::RTA.under(PriorityOrder::DeadlineMonotonic),
            &system,
            slow_fixed(&by_deadline, false),
        )?);
        said += u32::from(agrees(&fp::AUDSLEY, &system, slow_some_order(&given))?);
        let slow = slow_edf(&given, false);
        said += u32::from(agrees(&edf::TEST, &system, slow)?);
        said += u32::from(agrees(&edf_response::TEST, &system, slow)?);
        let whole = preempted_nowhere(&system);
        let slow = slow_fixed(&given, true);
        said += u32::from(agrees(
            &deferred::fixed_priority::TEST.under(PriorityOrder::Given),
            &whole,
            slow,
        )?);
        let slow = slow_edf(&given, true);
        said += u32::from(agrees(&deferred::edf::TEST, &whole, slow)?);
        said += u32::from(agrees(&deferred::edf_response::TEST, &whole, slow)?);
        Ok(said == 9)
    });
}

/// A response time that is found is right, and one beyond a limit is indeed beyond it.
#[test]
fn response_times_beyond_a_limit_are_beyond_it() {
    on_random(4_000, 2_500, long(), |system| {
        let tasks: Vec<&Task> = system.tasks.values().collect();
        let wide: Vec<Wide> = tasks.iter().map(|&task| Wide::from(task)).collect();
        let mut said = false;
        for at in 0..tasks.len() {
            let endless = Wide { d: i128::MAX, ..wide[at] };
            let slow = slow_response(&[&wide[..at], &[endless]].concat(), 0, false);
            let Some(slow) = slow.filter(|_| !is_overload(&wide[..=at])) else { continue };
            for limit in [tasks[at].deadline, Duration::from_ns(TIME_LIMIT)] {
                match response_time(tasks[at], &tasks[..at], limit) {
                    Ok(found) => {
                        prop_assert_eq!(i128::from(found.ns()), slow, "{:#?}", system);
                        said |= at > 0;
                    }
                    Err(Diverged::Beyond { limit, reached }) => {
                        prop_assert!(reached > limit && i128::from(reached.ns()) <= slow);
                        said |= at > 0;
                    }
                    Err(Diverged::GaveUp(_)) => {}
                    Err(Diverged::Overload) => prop_assert!(false, "{:#?}", system),
                }
            }
        }
        let bare: Vec<Sporadic> = tasks.iter().map(|&task| Sporadic::from(task)).collect();
        if let Ok(Some(found)) = edf_response::responses(&bare, Ties::Lost) {
            let in_time = found.iter().zip(&tasks).all(|(&found, task)| found <= task.deadline);
            prop_assert!(
                slow_edf(&wide, false).is_none_or(|slow| slow == in_time),
                "{:#?}",
                system
            );
        }
        Ok(said)
    });
}

fn pair(fast: (i64, i64, i64), slow: (i64, i64, i64)) -> System {
    let task = |name: &str, (c, d, t)| {
        let mut task = Task::implicit(name, Service::from_ns(c), Duration::from_ns(t));
        task.deadline = Duration::from_ns(d);
        task
    };
    let mut system = System::new(1, vec![task("fast", fast), task("slow", slow)]);
    system.tasks.values_mut().zip(0..).for_each(|(task, at)| task.priority = Some(at));
    system
}

/// The load is almost full, so that a busy period has more jobs than a search visits, but each job
/// is in time: the `q`-th job completes 200 s, 10 s and less than `q` ns after its release.
#[test]
fn a_busy_period_without_end_in_sight_is_no_late_job() {
    const S: i64 = 1_000_000_000;
    let system = pair((5 * S, 10 * S, 10 * S), (100 * S + 3, 210 * S, 200 * S + 7));
    for test in [fp::RTA.under(PriorityOrder::RateMonotonic), fp::AUDSLEY] {
        assert_ne!(verdict(&test, &system), Verdict::No, "{}", test.name);
    }
    // The task that is never preempted has no task above it.
    let mut regions = system.clone();
    regions.tasks.values_mut().next().unwrap().preemption = Preemption::Never;
    let np = deferred::fixed_priority::TEST.under(PriorityOrder::RateMonotonic);
    assert_ne!(verdict(&np, &regions), Verdict::No);
    assert_eq!(verdict(&edf::TEST, &system), Verdict::Yes);
    let tasks: Vec<&Task> = system.tasks.values().collect();
    let found = response_time(tasks[1], &tasks[..1], tasks[1].deadline);
    assert!(matches!(found, Err(Diverged::GaveUp(_))), "{found:?}");
    let bounds = fp::response_bounds(&system, PriorityOrder::RateMonotonic).unwrap();
    assert!(bounds.values().nth(1).unwrap().is_err());
}

/// A task with an unknown answer gets the lowest priority only if no other task can have it; then
/// the result is unknown.
#[test]
fn priorities_are_looked_for_past_a_task_of_which_nothing_is_known() {
    const S: i64 = 1_000_000_000;
    // The task with the later deadline has more jobs in the busy period than a search visits, and
    // the other one has one job.
    let system = pair((9, TIME_LIMIT, 10), (S / 5, 10 * S - 1, 10 * S));
    let tasks: Vec<&Task> = system.tasks.values().collect();
    let found = response_time(tasks[0], &tasks[1..], tasks[0].deadline);
    assert!(matches!(found, Err(Diverged::GaveUp(_))), "{found:?}");
    assert_eq!(verdict(&fp::AUDSLEY, &system), Verdict::Yes);
    // As far as the search can find, neither task can be the lowest.
    let system = pair((5 * S, 10 * S, 10 * S), (100 * S + 3, 210 * S, 200 * S + 7));
    assert_eq!(verdict(&fp::AUDSLEY, &system), Verdict::Unknown);
}
