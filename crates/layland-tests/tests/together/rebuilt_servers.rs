//! The servers of SCHED_DEADLINE that the checker rebuilds from the actions of threads, compared
//! with those of the policy that caused the actions: simulations of random sets, in the form of a
//! kernel's record.

use layland_checker::reservations::{Client, Judgement, Kept, Recorded, Reserved, reservations};
use layland_model::note::Note;
use layland_model::{
    Behaviour, CpuId, Duration, ExecutionModel, Index, Service, System, Task, TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::{Lost, MarkKind, ThreadEvent, ThreadEventKind, Trace};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The length of a run.
const UNTIL: Time = Time::from_ms(2_000);

#[derive(Clone, Debug)]
struct Drawn {
    period_ms: i64,
    deadline_percent: i64,
    budget_percent: i64,
    /// The minimum and the maximum demand of a job, in percent of the budget; more is throttled.
    needs: (i64, i64),
    offset_ms: i64,
    is_hog: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let deadline = prop_oneof![Just(100i64), 40i64..100];
    let needs = (10i64..100, 0i64..60);
    (10i64..80, deadline, 5i64..45, needs, 0i64..50, 0..6).prop_map(
        |(period_ms, deadline_percent, budget_percent, (least, more), offset_ms, kind)| Drawn {
            period_ms,
            deadline_percent,
            budget_percent,
            needs: (least, least + more),
            offset_ms,
            is_hog: kind == 0,
        },
    )
}

fn system(cpus: usize, drawn: &[Drawn]) -> System {
    let tasks = drawn.iter().enumerate().map(|(index, one)| {
        let period = Duration::from_ms(one.period_ms);
        let deadline = Duration::from_us(one.period_ms * 10 * one.deadline_percent);
        let budget = Service::from_ns((deadline.ns() / 100 * one.budget_percent).max(1_000_000));
        let part = |percent: i64| Service::from_ns(budget.ns() / 100 * percent);
        let mut task = Task::implicit(format!("t{index}"), part(one.needs.1), period);
        task.deadline = deadline;
        task.budget = Some(budget);
        task.offset = Duration::from_ms(one.offset_ms);
        task.execution = ExecutionModel::Uniform { min: part(one.needs.0), max: part(one.needs.1) };
        if one.is_hog {
            task.behaviour = Behaviour::Hog;
            task.execution = ExecutionModel::Wcet;
            task.offset = Duration::ZERO;
        }
        task
    });
    System::new(cpus, tasks.collect())
}

/// Returns the trace as a kernel records it: without deadlines, budgets or replenishments.
fn as_recorded(trace: &Trace, system: &System) -> Vec<ThreadEvent> {
    let throttled: BTreeSet<(TaskId, Time)> = trace
        .marks
        .iter()
        .filter_map(|mark| match mark.kind {
            MarkKind::Note(Note::Throttled { task }) => Some((task, mark.at)),
            _ => None,
        })
        .collect();
    let mut busy: BTreeMap<CpuId, Vec<(Time, Time)>> = BTreeMap::new();
    for segment in &trace.segments {
        busy.entry(segment.cpu).or_default().push((segment.start, segment.end));
    }
    let ran_until = |cpu: CpuId, at: Time| {
        busy.get(&cpu).is_some_and(|all| all.iter().any(|&(_, end)| end == at))
    };
    let mut events: Vec<(Time, u8, ThreadEvent)> = Vec::new();
    for task in system.tasks.ids() {
        let mut jobs: Vec<_> = trace.jobs.iter().filter(|one| one.job.id.task == task).collect();
        jobs.sort_by_key(|record| record.job.id.seq);
        let mut push = |at, order, kind| events.push((at, order, ThreadEvent { at, task, kind }));
        let mut awake_until: Option<Time> = None;
        for (place, record) in jobs.iter().enumerate() {
            if awake_until.is_none_or(|until| until < record.job.release) {
                push(record.job.release, 2, ThreadEventKind::WokeUp);
            }
            let end = record.end.map_or(Time::NEVER, |(at, _)| at);
            let next = jobs.get(place + 1).map_or(Time::NEVER, |next| next.job.release);
            let sleeps = next > end;
            awake_until = Some(end);
            let mut own: Vec<_> =
                trace.segments.iter().filter(|one| one.job == record.job.id).collect();
            own.sort_by_key(|segment| segment.start);
            for segment in own {
                let was_free = !ran_until(segment.cpu, segment.start);
                let cpu = segment.cpu;
                push(segment.start, 3, ThreadEventKind::GotCpu { cpu, was_free });
                let lost = if segment.end == end && sleeps {
                    Lost::Slept
                } else if throttled.contains(&(task, segment.end)) {
                    Lost::Throttled
                } else {
                    Lost::Preempted
                };
                push(segment.end, 1, ThreadEventKind::LostCpu(lost));
            }
        }
    }
    events.sort_by_key(|&(at, order, event)| (at, order, event.task));
    events.into_iter().map(|(.., event)| event).collect()
}

fn judge(trace: &Trace, system: &System, latency: Duration) -> Judgement {
    let clients = system.tasks.iter().map(|(id, task)| Client {
        name: task.name.to_string(),
        reserved: Reserved {
            runtime: Duration::from_ns(task.reservation().ns()),
            deadline: task.deadline,
            period: task.period,
        },
        cpus: system.allowed_cpus(id),
        reclaims: false,
    });
    let events = as_recorded(trace, system);
    let recorded = Recorded {
        events: &events,
        above: &[],
        others: &[],
        unknown: &[],
        over: trace.over,
        latency,
    };
    reservations(&clients.collect(), &recorded, 5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// On one CPU that is not overloaded every reservation is kept, and each rebuilt deadline is
    /// one that the policy had at about that time.
    #[test]
    fn the_rebuilt_servers_are_those_of_the_policy(drawn in prop::collection::vec(drawn(), 1..4)) {
        let system = system(1, &drawn);
        let demand: i64 = system.tasks.values()
            .map(|task| task.reservation().ns() * 1_000 / task.deadline.ns()).sum();
        prop_assume!(demand <= 950);
        let policy = registry().build("dl", &system).expect("reservations are in order");
        let mut trace = Trace::default();
        let _ = simulate(&system, policy, &mut trace, &SimOptions::until(UNTIL)).expect("it is short");
        let judgement = judge(&trace, &system, Duration::from_us(500));
        prop_assert_eq!(judgement.count, 0, "{}", judgement);
        let told: BTreeSet<(TaskId, Time)> = trace.marks.iter().filter_map(|mark| match mark.kind {
            MarkKind::Note(Note::Replenished { task, deadline }) => Some((task, deadline)),
            _ => None,
        }).collect();
        for event in &judgement.events {
            let Some(deadline) = event.replenished else { continue };
            let near = Duration::from_us(300);
            let range = (event.task, deadline - near)..=(event.task, deadline + near);
            prop_assert!(told.range(range).next().is_some(), "{:?} is none of {:?}", event, told);
        }
        for (id, account) in judgement.accounts.iter() {
            let wakes = trace.jobs.iter().filter(|record| record.job.id.task == id).count();
            if drawn[id.index()].is_hog && account.throttled > 2 {
                prop_assert_eq!(account.verdict(), Kept::Yes);
            }
            prop_assert!(account.periods <= wakes as u64 + account.throttled + 4);
        }
    }
}

/// A job that gets more than its runtime, one that gets less, and one that is passed over.
#[test]
fn breaches_are_found() {
    let ms = Duration::from_ms;
    let client = |name: &str, runtime, period| Client {
        name: name.to_owned(),
        reserved: Reserved { runtime: ms(runtime), deadline: ms(period), period: ms(period) },
        cpus: layland_model::CpuSet::first(1),
        reclaims: false,
    };
    let event = |task, at, kind| ThreadEvent { at: Time::from_ms(at), task: TaskId(task), kind };
    let woke = ThreadEventKind::WokeUp;
    let got = ThreadEventKind::GotCpu { cpu: CpuId(0), was_free: true };
    let lost = ThreadEventKind::LostCpu;
    let judge = |clients: Vec<Client>, events: &[ThreadEvent]| {
        let (over, latency) = (Time::from_ms(100), Duration::from_us(200));
        let recorded = Recorded { events, above: &[], others: &[], unknown: &[], over, latency };
        reservations(&clients.into(), &recorded, 9)
    };
    // The first wake-up only shows the thread; the second one, after a whole deadline, begins a period.
    let begin = |task| {
        [event(task, 0, woke), event(task, 0, got), event(task, 1, lost(Lost::Slept))].to_vec()
    };
    let with = |more: &[ThreadEvent]| [begin(0), more.to_vec()].concat();
    let of = |judgement: &Judgement| judgement.to_string();
    let one = || vec![client("a", 2, 10)];

    let fair = with(&[event(0, 20, woke), event(0, 20, got), event(0, 22, lost(Lost::Slept))]);
    assert_eq!(of(&judge(one(), &fair)), "no violation");
    let more = with(&[event(0, 20, woke), event(0, 20, got), event(0, 23, lost(Lost::Slept))]);
    let said = "1 violation\n  a got 3ms between two replenishments by 23ms, and has reserved 2ms";
    assert_eq!(of(&judge(one(), &more)), said);
    let reclaims = Client { reclaims: true, ..client("a", 2, 10) };
    assert_eq!(of(&judge(vec![reclaims], &more)), "no violation");

    // It is ready from 20 on and gets the CPU at 29, which was idle before.
    let less = with(&[event(0, 20, woke), event(0, 29, got), event(0, 35, lost(Lost::Slept))]);
    let judgement = judge(one(), &less);
    assert_eq!(judgement.accounts[TaskId(0)].short, 1, "{judgement}");
    assert!(
        of(&judgement).contains("a was ready from 20.1ms on and got 1.3ms of 2ms"),
        "{judgement}"
    );

    // `b` is due at 60, `a` at 35: it waits for 3 ms while `b` runs.
    let two = vec![client("a", 2, 10), client("b", 20, 40)];
    let mut events = [begin(0), begin(1)].concat();
    events.extend([
        event(1, 41, woke),
        event(1, 41, got),
        event(0, 45, woke),
        event(1, 48, lost(Lost::Preempted)),
        event(0, 48, got),
        event(0, 49, lost(Lost::Slept)),
        event(1, 49, got),
        event(1, 55, lost(Lost::Slept)),
    ]);
    events.sort_by_key(|event| event.at);
    let judgement = judge(two, &events);
    assert_eq!(judgement.accounts[TaskId(0)].passed_over, 1, "{judgement}");
    let said = "a, with the server deadline 55.1ms, waits at 45ms while CPU 0 runs b with 81ms";
    assert!(of(&judgement).contains(said), "{judgement}");
}
