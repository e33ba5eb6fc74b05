//! The common parts of the tests of LRE-TL and U-EDF: systems on a grid of time, and properties of both policies.

use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_model::{
    Behaviour, CpuId, Duration, ExecutionModel, JobId, Rate, Separation, Service, System, Task,
    TaskId, Time,
};
use layland_policy::{Action, Event, Policy, TimerId};
use layland_sim::{SimOptions, simulate};
use layland_testkit::differential::{Nanoseconds, nanoseconds};
use layland_testkit::optimal::draw::{self, Drawn};
use layland_testkit::registry;
use layland_trace::{Segment, Trace};

pub(crate) fn build(spec: &str, system: &System) -> Box<dyn Policy> {
    registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

pub(crate) fn run(system: &System, policy: impl Policy, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("it is short");
    trace
}

pub(crate) fn task(name: &str, wcet: i64, period: i64) -> Task {
    Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period))
}

pub(crate) fn at(times: &[i64]) -> Behaviour {
    Behaviour::Explicit(times.iter().map(|&at| Time::from_ns(at)).collect())
}

/// Returns the segments as (start, end, CPU, task), in the order of starts and CPUs.
pub(crate) fn rows(trace: &Trace) -> Vec<(i64, i64, u32, u32)> {
    let row = |segment: &Segment| {
        (segment.start.ns(), segment.end.ns(), segment.cpu.0, segment.job.task.0)
    };
    let mut rows: Vec<_> = trace.segments.iter().map(row).collect();
    rows.sort_unstable();
    rows
}

/// Draws tasks of a few units each: periodic, with listed releases, or sporadic. Some jobs end
/// early or need more than their WCETs. Releases are on the grid, or anywhere.
fn systems() -> impl Iterator<Item = Drawn> {
    (0..60).map(|index| {
        let mut random = Random::new(11, index, Aspect::Utilizations);
        let is_sporadic = index % 3 == 2;
        let Drawn { mut system, until } = if is_sporadic {
            draw::sporadic(&mut random)
        } else {
            draw::in_slots(&mut random, false)
        };
        match index % 4 {
            0 => {
                let first = system.tasks.values_mut().next().expect("there are tasks");
                first.execution = ExecutionModel::Fraction(Rate::new(3, 2));
            }
            // Leave slack for rates that are rounded up a lot.
            1 if !is_sporadic => {
                for task in system.tasks.values_mut() {
                    let max = Duration::from_ns(random.between(0, 40));
                    let wcet = 6 * task.wcet[0].ns();
                    task.period = Duration::from_ns(11 * task.period.ns() + random.between(0, 9));
                    task.deadline = task.period;
                    task.wcet = vec![Service::from_ns(wcet)].into();
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

/// Compares the schedules of a policy with its promise and its twin.
pub(crate) fn compare_with_twin(spec: &str, schedule: fn(&System, &Trace) -> Nanoseconds) {
    let (mut compared, mut coarse) = (0, 0);
    for (index, Drawn { system, until }) in (0..).zip(systems()) {
        let Ok(policy) = registry().build(spec, &system) else { continue };
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
    assert!(compared > 25_000 && coarse > 5, "{compared} nanoseconds, {coarse} on a grid");
}

/// Checks that execution that a machine failed to deliver remains part of the work.
pub(crate) fn make_good(spec: &str) {
    let mut system = System::new(1, vec![task("a", 2, 4), task("b", 4, 12)]);
    system.tasks.values_mut().for_each(|task| {
        task.wcet = vec![Service::from_ns(task.wcet[0].ns() * 1_000_000)].into();
        task.period = Duration::from_ns(task.period.ns() * 1_000_000);
        task.deadline = task.period;
    });
    let mut policy = build(spec, &system);
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
    // The job's share of 2 ms is over, but it got only 1 ms, so it goes on.
    let got = |task, ms: i64| Event::Measured {
        job: job(task),
        executed: Service::from_ns(ms * 1_000_000),
    };
    let timer = Event::Timer { id: TimerId(0) };
    assert_eq!(runs(&tell(ms(2), vec![timer.clone(), got(0, 1)])), None);
    assert_eq!(runs(&tell(ms(3), vec![timer, got(0, 2)])), Some(1));
}
