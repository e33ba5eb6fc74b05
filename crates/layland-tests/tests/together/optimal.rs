//! RUN and QPS on random systems: no deadline is missed at full load, and the slow twins produce
//! equal schedules.

use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_model::{
    CpuId, Duration, ExecutionModel, Index, JobId, Overheads, Rate, Request, RequestKind, Service,
    System, Task, TaskId, Time,
};
use layland_offline::RateGrid;
use layland_policy::{Action, Event, Policy};
use layland_sim::{Horizon, SimOptions, simulate};
use layland_testkit::differential::{full, trees_of_qps, trees_of_run};
use layland_testkit::logged::{Logged, Step, first_divergence};
use layland_testkit::optimal::draw::{self, Drawn};
use layland_testkit::optimal::{CLAIMS, SystemKind};
use layland_testkit::registry;
use layland_trace::{Counters, Trace};
use std::collections::BTreeMap;

fn traced(system: &System, policy: impl Policy, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

fn build(spec: &str, system: &System) -> Box<dyn Policy> {
    registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

/// Draws systems of which the first few hundred nanoseconds and jobs are enough here.
fn systems(count: u64, sporadic: bool) -> impl Iterator<Item = Drawn> {
    (0..count).map(move |index| full(77, index, sporadic))
}

#[test]
fn no_deadline_is_missed_at_full_load() {
    for claim in CLAIMS {
        let is_sporadic = matches!(claim.about, SystemKind::Sporadic | SystemKind::SporadicSlots);
        let cases = if is_sporadic { 20 } else { 40 };
        match claim.explore(cases, 5, |_| {}) {
            Ok(seen) => assert!(seen.full > cases / 2, "{}: {seen:?}", claim.name),
            Err(broken) => panic!("{}: {}\n{:#?}", claim.name, broken.how, broken.system),
        }
    }
}

#[test]
fn run_is_its_twin() {
    for (index, drawn) in (0..).zip(systems(60, false)) {
        trees_of_run(&drawn, index).unwrap_or_else(|how| panic!("{how}"));
    }
}

#[test]
fn qps_is_its_twin() {
    for sporadic in [false, true] {
        for (index, drawn) in (0..).zip(systems(40, sporadic)) {
            trees_of_qps(&drawn, index).unwrap_or_else(|how| panic!("{how}"));
        }
    }
}

/// Replaces the first task of a system by many that are as long, and whose sum it is. A tenth of each
/// CPU is left, because rates are rounded again.
fn of_many(drawn: &Drawn) -> Drawn {
    const MANY: i64 = 40;
    let Drawn { system, until } = drawn;
    let mut tasks = Vec::new();
    for (id, task) in system.tasks.iter() {
        let mut task = task.clone();
        (task.period, task.deadline) = (task.period * MANY, task.deadline * MANY);
        task.execution = ExecutionModel::Wcet;
        let share = if id.index() == 0 { 1 } else { MANY };
        task.wcet[0] = Service::from_ns((task.wcet[0].ns() * share * 9 / 10).max(1));
        if id.index() == 0 {
            tasks.extend((0..MANY).map(|_| task.clone()));
        } else {
            tasks.push(task);
        }
    }
    for (number, task) in tasks.iter_mut().enumerate() {
        task.name = format!("t{number}").into();
    }
    let system = System::new(system.platform.cpu_count(), tasks);
    Drawn { system, until: Time::from_ns(until.ns() * MANY) }
}

/// In large hierarchies the due and the pending tasks are in heaps. Systems without whole budgets are
/// rejected, which are few.
#[test]
fn qps_of_many_tasks_is_its_twin() {
    let mut compared = 0;
    for sporadic in [false, true] {
        for (index, drawn) in (0..).zip(systems(12, sporadic)) {
            let drawn = of_many(&drawn);
            if registry().build("qps", &drawn.system).is_ok() {
                trees_of_qps(&drawn, index).unwrap_or_else(|how| panic!("{how}"));
                compared += 1;
            }
        }
    }
    assert!(compared >= 12, "{compared}");
}

/// A server of many tasks keeps them in trees.
#[test]
fn run_of_many_tasks_is_its_twin() {
    let mut compared = 0;
    for (index, drawn) in (0..).zip(systems(24, false)) {
        let drawn = of_many(&drawn);
        if registry().build("run", &drawn.system).is_ok() {
            trees_of_run(&drawn, index).unwrap_or_else(|how| panic!("{how}"));
            compared += 1;
        }
    }
    assert!(compared >= 12, "{compared}");
}

const POLICIES: [&str; 7] =
    ["run", "qps", "qps:master=edf", "dp-wrap", "dp-wrap:mirror=off", "lre-tl", "u-edf"];

#[test]
fn any_order_of_simultaneous_events_will_do() {
    for (index, Drawn { system, until }) in systems(60, false).enumerate() {
        for spec in POLICIES {
            let policy = build(spec, &system);
            let rule = policy.rule();
            let options = SimOptions { explore: Some(index as u64), ..SimOptions::until(until) };
            let report = check(&traced(&system, policy, &options), &system, &rule, 3);
            assert!(report.is_clean(), "{spec}: {report}\n{system:#?}");
        }
    }
}

/// With overheads, overruns, CPUs that go offline and tasks that leave, jobs are late, but no rule
/// of the boundary is violated.
#[test]
fn trouble_makes_late_but_breaks_nothing() {
    for (index, Drawn { mut system, until }) in systems(60, false).enumerate() {
        let trouble = index % 4;
        if trouble % 2 == 0 {
            let cost = Duration::from_ns(1 + index as i64 % 3);
            system.platform.overheads = Overheads {
                release: cost,
                context_switch: cost,
                tick: cost,
                tick_period: Duration::from_ns(50),
                ..Overheads::default()
            };
        }
        if trouble >= 1 {
            let task = system.tasks.values_mut().next().unwrap();
            task.execution = ExecutionModel::Fraction(Rate::new(3, 2));
        }
        if trouble >= 2 {
            let at = |share: i64| Time::from_ns(until.ns() * share / 7);
            system.requests = vec![
                Request { at: at(1), kind: RequestKind::CpuOffline(CpuId(0)) },
                Request { at: at(2), kind: RequestKind::Leave(TaskId(1)) },
                Request { at: at(4), kind: RequestKind::CpuOnline(CpuId(0)) },
            ];
        }
        for spec in POLICIES {
            let policy = build(spec, &system);
            let rule = policy.rule();
            let logged = Logged::new(policy.clone());
            let log = logged.log();
            let report =
                check(&traced(&system, logged, &SimOptions::until(until)), &system, &rule, 3);
            assert!(report.is_clean(), "{spec}: {report}\n{system:#?}");
            let log = log.lock().unwrap();
            let mut copy = policy.clone();
            let (first, rest) = log.split_at(log.len() / 2);
            assert_eq!(first_divergence(&mut copy, first), None, "{spec}");
            let mut other = copy.clone();
            assert_eq!(first_divergence(&mut copy, rest), None, "{spec}");
            assert_eq!(first_divergence(&mut other, rest), None, "{spec}");
        }
    }
}

/// An overrun of one task never makes another task miss a deadline.
#[test]
fn an_overrun_is_the_problem_of_its_task_alone() {
    for Drawn { mut system, until } in systems(40, false) {
        system.tasks.values_mut().next().unwrap().execution =
            ExecutionModel::Fraction(Rate::new(3, 2));
        for spec in ["run", "dp-wrap", "lre-tl", "u-edf"] {
            let trace = traced(&system, build(spec, &system), &SimOptions::until(until));
            let late = trace.jobs.iter().filter(|record| record.missed(until));
            let others: Vec<_> = late.filter(|record| record.job.id.task != TaskId(0)).collect();
            assert!(others.is_empty(), "{spec}: {others:?}\n{system:#?}");
        }
    }
}

/// Policies that place jobs on any free CPU. The set of running tasks recurs, but it may take many
/// hyperperiods until every task last ran on the same CPU as before.
const PLACED: [&str; 2] = ["lre-tl", "u-edf"];

/// Returns the running tasks of each CPU in an interval, with times relative to its start.
fn busy(trace: &Trace, from: Time, to: Time) -> Vec<(CpuId, Duration, Duration, TaskId)> {
    let in_it = trace.segments.iter().filter(|seg| seg.end > from && seg.start < to);
    let mut busy: Vec<_> = in_it
        .map(|seg| {
            let (start, end) = (seg.start.max(from) - from, seg.end.min(to) - from);
            (seg.cpu, start, end, seg.job.task)
        })
        .collect();
    busy.sort_unstable();
    busy
}

#[test]
fn a_schedule_recurs_with_the_hyperperiod() {
    let mut found = 0;
    for Drawn { system, .. } in systems(40, false).filter(|drawn| draw::is_full(&drawn.system)) {
        let hyperperiod = system.hyperperiod().expect("it is short");
        for spec in POLICIES {
            let is_placed = PLACED.contains(&spec);
            let at_most =
                if is_placed { Time::ZERO + 8 * hyperperiod } else { Time::from_ns(1 << 40) };
            let horizon = Horizon::Recurrence { at_most };
            let options = SimOptions { horizon, ..SimOptions::until(Time::ZERO) };
            let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
            let outcome = simulate(&system, build(spec, &system), &mut counters, &options).unwrap();
            let Some(cycle) = outcome.cycle else {
                assert!(is_placed, "{spec}: there are few states");
                continue;
            };
            found += usize::from(is_placed);
            let until = cycle.from + 2 * cycle.length;
            let trace = traced(&system, build(spec, &system), &SimOptions::until(until));
            let middle = cycle.from + cycle.length;
            assert_eq!(busy(&trace, cycle.from, middle), busy(&trace, middle, until), "{spec}");
        }
    }
    assert!(found >= 10, "{found} schedules of {PLACED:?} recur soon");
}

/// The running tasks, apart from their CPUs, are equal in every hyperperiod, because all jobs have
/// ended at its end.
#[test]
fn who_runs_recurs_with_the_hyperperiod() {
    for Drawn { system, .. } in systems(40, false).filter(|drawn| draw::is_full(&drawn.system)) {
        let hyperperiod = system.hyperperiod().expect("it is short");
        let until = Time::ZERO + hyperperiod;
        let over = SimOptions::until(until + 2 * hyperperiod);
        let trace = traced(&system, build("u-edf", &system), &over);
        let who = |from: Time| {
            // A job that changes its CPU has two segments.
            let mut runs: BTreeMap<(TaskId, Duration), Duration> = BTreeMap::new();
            for (_, start, end, task) in busy(&trace, from, from + hyperperiod) {
                runs.insert((task, start), end);
            }
            runs.into_iter().fold(Vec::new(), |mut all, ((task, start), end)| {
                match all.last_mut() {
                    Some((of, _, until)) if (*of, *until) == (task, start) => *until = end,
                    _ => all.push((task, start, end)),
                }
                all
            })
        };
        assert_eq!(who(Time::ZERO), who(until), "{system:#?}");
        assert_eq!(who(until), who(until + hyperperiod), "{system:#?}");
    }
}

#[test]
fn refusals_name_the_task_and_the_reason() {
    let task = |name: &str, c, t| Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
    let refusal = |spec: &str, change: &dyn Fn(&mut System)| {
        let mut system = System::new(2, vec![task("a", 2, 4), task("b", 1, 4)]);
        change(&mut system);
        match registry().build(spec, &system) {
            Ok(_) => panic!("{spec} was built"),
            Err(error) => error.to_string(),
        }
    };
    for name in ["run", "qps", "dp-wrap", "lre-tl", "u-edf"] {
        let short =
            refusal(name, &|system| system.tasks[TaskId(1)].deadline = Duration::from_ms(3));
        assert_eq!(
            short,
            format!(
                "task `b` has deadline 3ms and period 4ms: {name} needs deadlines equal to periods"
            )
        );
        let heavy = refusal(name, &|system| {
            system.tasks[TaskId(1)].wcet = vec![Service::from_ms(5)].into();
        });
        assert_eq!(heavy, "task `b` needs 5ms in every 4ms: more than a CPU has");
        let full = refusal(name, &|system| {
            for name in ["c", "d"] {
                system.tasks.push(task(name, 3, 4));
            }
        });
        assert_eq!(full, "the utilizations sum to 2.25, more than the 2 CPUs have");
        let rounded = refusal(name, &|system| {
            system.tasks = vec![task("a", 1, 3), task("b", 2, 3), task("c", 1, 1)].into();
            system.tasks[TaskId(2)].period = Duration::from_ns(1_000_001);
            system.tasks[TaskId(2)].deadline = Duration::from_ns(1_000_001);
        });
        assert!(rounded.contains("no longer once they are rounded up"), "{rounded}");
    }
    let sporadic = refusal("run", &|system| {
        system.tasks[TaskId(0)].behaviour = layland_model::Behaviour::Explicit(vec![Time::ZERO]);
    });
    assert_eq!(
        sporadic,
        "task `a` has releases of its own: run must know the next release of every task; `qps` need not"
    );
    let bins = |spec| refusal(spec, &|_| {});
    assert!(bins("run:packing=0").contains("each of the tasks [0, 1] once"));
    assert!(bins("qps:packing=0/0").contains("must hold each of t0, t1 once"));
}

/// Returns the job of each CPU after each of the decisions of a log.
fn assignments(log: &[Step], cpus: usize) -> Vec<Vec<Option<JobId>>> {
    let mut runs = vec![None; cpus];
    log.iter()
        .map(|step| {
            for event in &step.events {
                if let Event::Completion { cpu, .. } = event {
                    runs[cpu.index()] = None;
                }
            }
            for action in &step.actions {
                match *action {
                    Action::Run { cpu, job, .. } => runs[cpu.index()] = Some(job),
                    Action::Idle { cpu } => runs[cpu.index()] = None,
                    _ => {}
                }
            }
            runs.clone()
        })
        .collect()
}

/// Returns true if a job both begins and ends in these steps.
fn has_whole_job(log: &[Step]) -> bool {
    let events = || log.iter().flat_map(|step| &step.events);
    events().any(|event| match *event {
        Event::Release { job, .. } => events()
            .any(|event| matches!(*event, Event::Completion { job: ended, .. } if ended == job)),
        _ => false,
    })
}

/// Late notifications of several instants at once lead to an equal plan: windows, intervals and
/// budgets do not drift.
#[test]
fn being_told_late_changes_no_plan() {
    let mut merged = 0;
    // Jobs that end before their budget would end later if the notification is late.
    let exact = |drawn: &Drawn| {
        let grid = RateGrid::of(&drawn.system);
        draw::is_full(&drawn.system) && grid.is_some_and(|grid| grid.is_exact(&drawn.system))
    };
    for (index, Drawn { system, until }) in systems(80, false).filter(exact).enumerate() {
        for spec in POLICIES {
            let policy = build(spec, &system);
            let logged = Logged::new(policy.clone());
            let log = logged.log();
            traced(&system, logged, &SimOptions::until(until));
            let log = log.lock().unwrap();
            let cpus = system.platform.cpu_count();
            let in_time = assignments(&log, cpus);
            // The engine is late by up to this number of instants of the log.
            let mut random = Random::new(5, index as u64, Aspect::Utilizations);
            let (mut late, mut told) = (policy, Vec::new());
            let mut from = 0;
            while from < log.len() {
                let mut to = (from + 1 + random.below(3) as usize).min(log.len());
                // No job may end before the policy is notified of it.
                while has_whole_job(&log[from..to]) {
                    to -= 1;
                }
                let now = log[to - 1].now;
                let events: Vec<Event> =
                    log[from..to].iter().flat_map(|step| step.events.clone()).collect();
                events.iter().for_each(|event| late.on_event(now, event.clone()));
                let mut actions = Vec::new();
                late.decide(now, &mut actions);
                told.push((to - 1, Step { now, events, actions }));
                merged += usize::from(to - from > 1);
                from = to;
            }
            let (at, steps): (Vec<usize>, Vec<Step>) = told.into_iter().unzip();
            for (at, runs) in at.into_iter().zip(assignments(&steps, cpus)) {
                assert_eq!(runs, in_time[at], "{spec} at {}: {system:#?}", log[at].now);
            }
        }
    }
    assert!(merged > 1000, "{merged}");
}
