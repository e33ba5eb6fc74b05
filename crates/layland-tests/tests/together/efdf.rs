//! EFDF: its example, its rule and its tick-by-tick twin on random systems with jobs that need less
//! or more than their WCETs, and its relation to global EDF, on which its guarantees rest.

use layland_checker::check;
use layland_model::{
    Behaviour, Duration, ExecutionModel, JobId, OnMiss, Order, Overheads, Rate, Service, Speed,
    System, Task, TaskId, Time,
};
use layland_policy::{Policy, Registry};
use layland_sim::{SimOptions, simulate, with_random_ranks};
use layland_testkit::logged::{Logged, first_divergence};
use layland_testkit::strategies::{periodic_system, rich_system};
use layland_testkit::ticks;
use layland_trace::{JobEnd, JobRecord, Trace};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;

const HORIZON: Time = Time::from_ns(120);

fn run(system: &System, policy: Box<dyn Policy>, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

fn build(name: &str, system: &System) -> Box<dyn Policy> {
    Registry::standard().build(name, system).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn misses(trace: &Trace) -> usize {
    trace.jobs.iter().filter(|record| record.missed(trace.over)).count()
}

/// Returns the violations of the rule of EFDF.
fn violations(trace: &Trace, system: &System) -> String {
    let report = check(trace, system, &build("efdf", system).rule(), 5);
    if report.is_clean() { String::new() } else { format!("{report}\n{system:#?}") }
}

/// Returns the execution of each job: when, and on which CPU.
fn executions(trace: &Trace) -> BTreeMap<JobId, Vec<(Time, Time, u32)>> {
    let mut runs: BTreeMap<JobId, Vec<(Time, Time, u32)>> = BTreeMap::new();
    for segment in &trace.segments {
        let run = (segment.start, segment.end, segment.cpu.0);
        runs.entry(segment.job).or_default().push(run);
    }
    runs
}

/// Gives the tasks lists of execution times, from a half to the double of their WCETs.
fn with_lists(mut system: System, factors: &[i64]) -> System {
    for (at, task) in system.tasks.values_mut().enumerate() {
        let wcet = task.own_wcet().ns();
        let of = |index: usize| (wcet * factors[(at + index) % factors.len()] / 4).max(1);
        task.execution = ExecutionModel::List((0..3).map(of).map(Service::from_ns).collect());
    }
    system
}

fn factors(range: std::ops::Range<i64>) -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(range, 5)
}

/// A job of 4 ms with 6 ms to its deadline waits behind a job of 3 ms. Its laxity is negative from 2
/// ms on.
#[test]
fn a_waiting_job_is_aborted_when_its_laxity_is_negative() {
    let task = |name: &str, wcet, deadline| {
        let mut task = Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(20));
        task.deadline = Duration::from_ms(deadline);
        task
    };
    let system =
        System::new(1, vec![task("first", 3, 5), task("second", 4, 6), task("third", 9, 13)]);
    let until = SimOptions::until(Time::from_ms(19));
    let trace = run(&system, build("efdf", &system), &until);
    assert_eq!(violations(&trace, &system), "");
    let mut ends: Vec<_> =
        trace.jobs.iter().map(|record| (record.job.id.task.0, record.end)).collect();
    ends.sort_unstable_by_key(|&(task, _)| task);
    let second = Time::from_ms(2) + Duration::from_ns(1);
    assert_eq!(
        ends,
        [
            (0, Some((Time::from_ms(3), JobEnd::Completed))),
            (1, Some((second, JobEnd::Aborted))),
            (2, Some((Time::from_ms(12), JobEnd::Completed))),
        ]
    );
    // Under EDF two jobs are late, and EDF violates the rule: it aborts nothing.
    let trace = run(&system, build("p-edf", &system), &until);
    assert_eq!(misses(&trace), 2);
    assert!(violations(&trace, &system).contains("second#1 is not aborted at 2000.001us"));
}

/// A job that exceeds its WCET is aborted at its deadline, and one on fast CPUs needs less time.
#[test]
fn overruns_end_at_the_deadline_and_the_fastest_cpu_counts() {
    let mut system =
        System::new(1, vec![Task::implicit("a", Service::from_ns(4), Duration::from_ns(10))]);
    system.tasks[TaskId(0)].execution = ExecutionModel::List(vec![Service::from_ns(30)]);
    let end = |system: &System| {
        let trace = run(system, build("efdf", system), &SimOptions::until(Time::from_ns(10)));
        assert_eq!(violations(&trace, system), "");
        trace.jobs[0].end
    };
    assert_eq!(end(&system), Some((Time::from_ns(10), JobEnd::Aborted)));
    // 30 ns of work on a CPU of speed 3 take the whole period; on one of speed 29/10 they do not fit.
    system.tasks[TaskId(0)].wcet = [Service::from_ns(30)].into_iter().collect();
    for (speed, expected) in [
        (Rate::whole(3), (Time::from_ns(10), JobEnd::Completed)),
        (Rate::new(29, 10), (Time::ZERO, JobEnd::Aborted)),
    ] {
        *system.platform.speeds.values_mut().next().expect("one CPU") =
            Speed::new(&speed).expect("a small fraction");
        assert_eq!(end(&system), Some(expected));
    }
}

#[test]
fn ticks_finish_the_same_jobs() {
    let aborted = Cell::new(0);
    proptest!(ProptestConfig::with_cases(400), |(system in periodic_system(), factors in factors(1..9))| {
        let system = with_lists(system, &factors);
        let policy = build("efdf", &system);
        let rule = policy.rule();
        let trace = run(&system, policy, &SimOptions::until(HORIZON));
        let mut finished: Vec<ticks::Finished> = (trace.jobs.iter())
            .filter_map(|record| Some(ticks::Finished {
                finish: record.completion()?.ns(),
                task: record.job.id.task,
                seq: record.job.id.seq,
                deadline: record.job.deadline.ns(),
            }))
            .collect();
        finished.sort_unstable();
        prop_assert!(finished.iter().all(|job| job.finish <= job.deadline));
        prop_assert_eq!(finished, ticks::simulate(&system, &rule, Order::Deadline, HORIZON));
        prop_assert_eq!(violations(&trace, &system), "");
        aborted.set(aborted.get() + u32::from(misses(&trace) > 0));
    });
    assert!(aborted.get() > 100, "only {aborted:?} cases with aborted jobs");
}

/// The claim of the header, for jobs that execute for their WCETs: one policy is late if and only if
/// the other aborts a job, and else they make the same schedule, on the same CPUs.
#[test]
fn it_aborts_a_job_if_and_only_if_one_is_late_under_global_edf() {
    let (late, in_time) = (Cell::new(0), Cell::new(0));
    proptest!(ProptestConfig::with_cases(600), |(system in periodic_system())| {
        let options = SimOptions::until(HORIZON);
        let edf = run(&system, build("g-edf", &system), &options);
        let efdf = run(&system, build("efdf", &system), &options);
        // A job that was aborted early may be late only after the end of the run.
        let end = |record: &JobRecord| record.missed(efdf.over) && record.job.deadline <= HORIZON;
        prop_assert!(misses(&edf) == 0 || efdf.jobs.iter().any(end));
        if misses(&efdf) == 0 {
            prop_assert_eq!(misses(&edf), 0);
            prop_assert_eq!(executions(&efdf), executions(&edf));
            in_time.set(in_time.get() + 1);
        } else {
            late.set(late.get() + 1);
        }
    });
    assert!(late.get() > 100 && in_time.get() > 50, "{late:?} late, {in_time:?} in time");
}

/// The step of the proof: with the demands of aborted jobs shortened to what they executed, all jobs
/// run at the same instants under global EDF. A job without demand takes a CPU for no time, which
/// later jobs of its task remember, so the CPUs may differ.
#[test]
fn global_edf_runs_the_same_if_aborted_jobs_need_less() {
    let aborted = Cell::new(0);
    proptest!(ProptestConfig::with_cases(600), |(system in periodic_system(), factors in factors(1..5))| {
        let mut system = with_lists(system, &factors);
        for task in system.tasks.values_mut() {
            task.on_miss = OnMiss::Continue;
        }
        let options = SimOptions::until(HORIZON);
        let efdf = run(&system, build("efdf", &system), &options);
        for id in system.tasks.ids() {
            let task = &mut system.tasks[id];
            let of_task = efdf.jobs.iter().filter(|record| record.job.id.task == id);
            let mut jobs: Vec<&JobRecord> = of_task.collect();
            jobs.sort_unstable_by_key(|record| record.job.id.seq);
            let ExecutionModel::List(list) = &task.execution else { panic!("it has a list") };
            let demand = |record: &&JobRecord| match record.end {
                Some(_) => record.executed,
                None => list[(record.job.id.seq % list.len() as u64) as usize],
            };
            let demands: Vec<Service> = jobs.iter().map(demand).collect();
            if !demands.is_empty() {
                task.execution = ExecutionModel::List(demands);
            }
        }
        let edf = run(&system, build("g-edf", &system), &options);
        let times = |trace| {
            let mut all = executions(trace);
            all.values_mut().for_each(merge);
            all
        };
        prop_assert_eq!(times(&edf), times(&efdf));
        aborted.set(aborted.get() + u32::from(misses(&efdf) > 0));
    });
    assert!(aborted.get() > 100, "only {aborted:?} cases with aborted jobs");
}

/// Forgets the CPUs of the executions of a job.
fn merge(runs: &mut Vec<(Time, Time, u32)>) {
    runs.sort_unstable();
    runs.iter_mut().for_each(|run| run.2 = 0);
    runs.dedup_by(|next, last| {
        let follows = next.0 == last.1;
        if follows {
            last.1 = next.1;
        }
        follows
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Includes CPUs of other speeds, overruns, requests, simultaneous events in any order, and a
    /// clone in the middle.
    #[test]
    fn rich_systems_are_clean_and_repeat(system in rich_system(), seed in any::<u64>()) {
        let system = with_random_ranks(&system, seed);
        let Ok(policy) = Registry::standard().build("efdf", &system) else {
            let at_once = Behaviour::SelfSuspending { gap: Duration::ZERO };
            prop_assert!(system.tasks.values().any(|task| task.behaviour == at_once));
            return Ok(());
        };
        for explore in [None, Some(seed)] {
            let options = SimOptions { seed, explore, ..SimOptions::until(HORIZON) };
            let logged = Logged::new(policy.clone());
            let log = logged.log();
            let trace = run(&system, Box::new(logged), &options);
            prop_assert_eq!(violations(&trace, &system), "");
            prop_assert_eq!(&trace, &run(&system, policy.clone(), &options));
            let log = log.lock().unwrap();
            let (first, rest) = log.split_at(log.len() / 2);
            let mut copy = policy.clone();
            prop_assert_eq!(first_divergence(&mut copy, first), None);
            prop_assert_eq!(first_divergence(&mut copy.clone(), rest), None);
        }
    }

    /// Overheads of the machine count as execution for the policy, and for its rule.
    #[test]
    fn overheads_break_no_rule(system in periodic_system(), costs in prop::array::uniform6(0i64..3)) {
        let mut system = system;
        let [release, scheduling, context_switch, migration, interrupt, tick] =
            costs.map(Duration::from_ns);
        system.platform.overheads = Overheads {
            release, scheduling, context_switch, migration, interrupt, tick,
            tick_period: Duration::from_ns(7),
            block_reload_time: Duration::ZERO,
        };
        let trace = run(&system, build("efdf", &system), &SimOptions::until(HORIZON));
        prop_assert_eq!(violations(&trace, &system), "");
    }
}
