//! U-EDF: the worked examples, its rule and its slow twin on random systems, and what it does beside the plan.

use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_model::{
    Behaviour, CpuId, Duration, ExecutionModel, JobId, Rate, Separation, Service, System, Task,
    TaskId, Time,
};
use layland_policy::{Action, Event, Policy, TimerId};
use layland_sim::{SimOptions, simulate};
use layland_testkit::differential::nanoseconds;
use layland_testkit::optimal::draw::{self, Drawn};
use layland_testkit::optimal::slow_lanes::schedule;
use layland_testkit::registry;
use layland_trace::{NoRecord, Segment, Trace};

fn build(spec: &str, system: &System) -> Box<dyn Policy> {
    registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn run(system: &System, policy: impl Policy, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("it is short");
    trace
}

fn task(name: &str, wcet: i64, period: i64) -> Task {
    Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period))
}

fn at(times: &[i64]) -> Behaviour {
    Behaviour::Explicit(times.iter().map(|&at| Time::from_ns(at)).collect())
}

/// Who runs, as (start, end, CPU, task), in the order of starts and CPUs.
fn rows(trace: &Trace) -> Vec<(i64, i64, u32, u32)> {
    let row = |segment: &Segment| {
        (segment.start.ns(), segment.end.ns(), segment.cpu.0, segment.job.task.0)
    };
    let mut rows: Vec<_> = trace.segments.iter().map(row).collect();
    rows.sort_unstable();
    rows
}

/// Utilizations of 1/2, 3/4 and 3/4 on two CPUs, with times in microseconds.
fn halves() -> System {
    let tasks = [("a", 2, 4), ("b", 6, 8), ("c", 6, 8)];
    System::new(2, tasks.map(|(name, c, t)| task(name, 1_000 * c, 1_000 * t)).to_vec())
}

/// At 0 `a` has 2 on lane 1, which keeps 2 more for its next job; so `b` has 4 there and 2 on lane 2, and `c` has 6 on
/// lane 2. At 4 `b` needs 2 more, which fit behind the second job of `a`.
#[test]
fn lane_after_lane_is_filled_in_the_order_of_deadlines() {
    let system = halves();
    let policy = build("u-edf", &system);
    let rule = policy.rule();
    let trace = run(&system, policy, &SimOptions::until(Time::from_us(8)));
    let expected = [
        (0, 2_000, 0, 0),
        // On lane 2 until 2, then on lane 1: it stays on its CPU.
        (0, 4_000, 1, 1),
        (2_000, 8_000, 0, 2),
        (4_000, 6_000, 1, 0),
        (6_000, 8_000, 1, 1),
    ];
    assert_eq!(rows(&trace), expected);
    assert!(check(&trace, &system, &rule, 3).is_clean());
}

/// The job of `a` comes at 3. Until then lane 1 keeps half of its time for it, and so `b` has 4 there and 2 on lane 2,
/// as if it had come at 0. At 3 `b` and `c` need 3 each. `a` is due at 7 and has 2 on lane 1, which keeps half of the
/// time from 7 to 8 for its next job: so `b` has 2.5 there, and 0.5 on lane 2 before `c`.
#[test]
fn there_is_room_for_jobs_that_may_come() {
    let mut system = halves();
    system.tasks[TaskId(0)].behaviour = at(&[3_000]);
    let policy = build("u-edf", &system);
    let rule = policy.rule();
    let trace = run(&system, policy, &SimOptions::until(Time::from_us(8)));
    let expected = [
        (0, 3_000, 1, 2),
        (0, 3_500, 0, 1),
        (3_000, 5_000, 1, 0),
        (3_500, 6_500, 0, 2),
        (5_000, 7_500, 1, 1),
    ];
    assert_eq!(rows(&trace), expected);
    assert!(check(&trace, &system, &rule, 3).is_clean());
}

/// On one CPU it is EDF.
#[test]
fn on_one_cpu_it_is_edf() {
    let tasks = [("a", 1, 4), ("b", 3, 6), ("c", 3, 12)];
    let system =
        System::new(1, tasks.map(|(name, c, t)| task(name, 1_000 * c, 1_000 * t)).to_vec());
    let until = SimOptions::until(Time::from_us(120));
    let of = |spec| rows(&run(&system, build(spec, &system), &until));
    assert_eq!(of("u-edf"), of("g-edf"));
}

/// Tasks of a few units each: periodic, with releases of their own, or sporadic; some jobs end early or need more than
/// their WCETs; releases are on the grid, or anywhere.
fn systems() -> impl Iterator<Item = Drawn> {
    (0..240).map(|index| {
        let mut random = Random::new(11, index, Aspect::Utilizations);
        let is_sporadic = index % 3 == 2;
        let Drawn { mut system, until } = match is_sporadic {
            true => draw::sporadic(&mut random),
            false => draw::in_slots(&mut random, false),
        };
        match index % 4 {
            0 => {
                let first = system.tasks.values_mut().next().expect("there are tasks");
                first.execution = ExecutionModel::Fraction(Rate::new(3, 2));
            }
            // Room for rates that are rounded up a lot.
            1 if !is_sporadic => {
                for task in system.tasks.values_mut() {
                    let max = Duration::from_ns(random.between(0, 40));
                    let wcet = 6 * task.wcet[0].ns();
                    task.period = Duration::from_ns(11 * task.period.ns() + random.between(0, 9));
                    task.deadline = task.period;
                    task.wcet = vec![Service::from_ns(wcet)];
                    task.execution = ExecutionModel::Wcet;
                    task.behaviour = match random.below(2) {
                        0 => Behaviour::Periodic,
                        _ => Behaviour::Sporadic(Separation::Uniform { max }),
                    };
                }
            }
            _ => {}
        }
        Drawn { system, until: until.min(Time::from_ns(2_000)) }
    })
}

#[test]
fn its_schedule_is_that_of_its_twin() {
    let (mut compared, mut coarse) = (0, 0);
    for (index, Drawn { system, until }) in (0..).zip(systems()) {
        let Ok(policy) = registry().build("u-edf", &system) else { continue };
        let rule = policy.rule();
        let trace = run(&system, policy, &SimOptions { seed: index, ..SimOptions::until(until) });
        let report = check(&trace, &system, &rule, 3);
        assert!(report.is_clean(), "{report}\n{system:#?}");
        let found = nanoseconds(&trace);
        let expected = schedule(&system, &trace);
        let differs = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert_eq!(differs, None, "{system:#?}");
        assert_eq!(found.len(), expected.len(), "{system:#?}");
        compared += found.len();
        let is_sporadic =
            |task: &Task| matches!(task.behaviour, Behaviour::Sporadic(_) | Behaviour::Explicit(_));
        let grid = layland_offline::RateGrid::of(&system).expect("the policy was built");
        let on_grid = grid.unit > Duration::from_ns(1);
        coarse += usize::from(on_grid && system.tasks.values().any(is_sporadic));
    }
    assert!(compared > 100_000 && coarse > 20, "{compared} nanoseconds, {coarse} on a grid");
}

/// While no job is there it asks for nothing.
#[test]
fn it_sleeps_while_there_is_nothing_to_do() {
    let mut system = System::new(1, vec![task("a", 1_000, 2_000), task("b", 10_000, 20_000)]);
    system.tasks[TaskId(0)].behaviour = at(&[0, 1_000_001_000]);
    system.tasks[TaskId(1)].behaviour = at(&[500_000_000]);
    let until = SimOptions::until(Time::from_ns(2_000_000_000));
    let outcome = simulate(&system, build("u-edf", &system), &mut NoRecord, &until);
    let counts = outcome.expect("it is short").policy.counts();
    let count = |name| counts.iter().find(|count| count.name == name).map(|count| count.count);
    // One for each job; and each begins and ends, and looks at the start of the run.
    assert_eq!(count("allotments"), Some(3), "{counts:?}");
    assert!(count("updates").is_some_and(|updates| updates <= 7), "{counts:?}");
}

/// What a machine gave less than was planned is part of what is left.
#[test]
fn what_a_machine_did_not_give_is_made_good() {
    let mut system = System::new(1, vec![task("a", 2, 4), task("b", 4, 12)]);
    system.tasks.values_mut().for_each(|task| {
        task.wcet = vec![Service::from_ns(task.wcet[0].ns() * 1_000_000)];
        task.period = Duration::from_ns(task.period.ns() * 1_000_000);
        task.deadline = task.period;
    });
    let mut policy = build("u-edf", &system);
    let ms = |ms: i64| Time::from_ns(ms * 1_000_000);
    let job = |task| JobId { task: TaskId(task), seq: 0 };
    let mut tell = |now: Time, events: Vec<Event>| {
        let mut actions = Vec::new();
        events.into_iter().for_each(|event| policy.on_event(now, event));
        policy.decide(now, &mut actions);
        actions
    };
    let runs = |actions: &[Action]| {
        let mut runs = actions.iter().filter_map(|action| match *action {
            Action::Run { job, .. } => Some(job.task.0),
            _ => None,
        });
        runs.next()
    };
    let release = |task, due| Event::Release { job: job(task), release: ms(0), deadline: ms(due) };
    let start = vec![Event::CpuOnline { cpu: CpuId(0) }, release(0, 4), release(1, 12)];
    assert_eq!(runs(&tell(ms(0), start)), Some(0));
    // Its share of 2 ms is over, but it got 1 ms of them, so it goes on.
    let got = |task, ms: i64| Event::Measured {
        job: job(task),
        executed: Service::from_ns(ms * 1_000_000),
    };
    let timer = Event::Timer { id: TimerId(0) };
    assert_eq!(runs(&tell(ms(2), vec![timer.clone(), got(0, 1)])), None);
    assert_eq!(runs(&tell(ms(3), vec![timer, got(0, 2)])), Some(1));
}

/// Who runs is promised at every instant: under EDF others run, and one job that runs a little later is found.
#[test]
fn the_rule_finds_what_is_moved() {
    let ms = 1_000_000;
    let tasks = [("a", 1, 3), ("b", 1, 3), ("c", 3, 6)];
    let mut system = System::new(2, tasks.map(|(name, c, t)| task(name, c * ms, t * ms)).to_vec());
    system.tasks[TaskId(0)].behaviour =
        Behaviour::Sporadic(Separation::Uniform { max: Duration::from_ms(3) });
    system.tasks[TaskId(2)].wcet = vec![Service::from_ms(5)];
    let rule = build("u-edf", &system).rule();
    let until = SimOptions::until(Time::from_ms(60));
    let trace = run(&system, build("u-edf", &system), &until);
    assert!(check(&trace, &system, &rule, 9).is_clean());
    let report = check(&run(&system, build("lre-tl", &system), &until), &system, &rule, 9);
    assert!(report.to_string().contains("where the allotments let it"), "{report}");
    let moved = trace.segments.iter().position(|segment| segment.start > Time::from_ms(20));
    let mut lie = trace.clone();
    lie.segments[moved.expect("it is longer")].start += Duration::from_ns(1);
    let report = check(&lie, &system, &rule, 9);
    assert!(report.to_string().contains("where the allotments let it run"), "{report}");
}
