//! The SCHED_FIFO engine on real threads.
//!
//! The assertions also hold on a loaded machine: the checker's rules, replay, and the requested
//! settings. Deadlines may be missed only if the machine pauses, or is kept from its CPUs, for
//! longer than a task has slack.
//!
//! Long because the properties of every run are here once, for policies of every kind.

mod common;

use common::{alone, options, skipped, task, try_run};
use layland_checker::check_with;
use layland_linux::trace::{View, evidence, verify};
use layland_linux::{
    Entry, LogFile, Margin, Outcome, RunError, replay, run, supports, with_margin, with_slack,
};
use layland_model::{
    Behaviour, Duration, Index, OnMiss, Preemption, Rate, Request, RequestKind, ScheduleRule,
    Service, System, Task, TaskId, Time,
};
use layland_policy::{AfterJob, Count, Needs, Policy, Registry, Schedules};
use layland_trace::{JobEnd, Trace};

/// The number of attempts for a run that the machine disturbs.
const ATTEMPTS: usize = 20;
/// The maximum delay until the manager notices a deadline or an end.
const MANAGER: Duration = Duration::from_ms(5);
/// The number of runs that may miss deadlines without a measurement that explains it.
const UNEXPLAINED: usize = 5;

/// Asserts the properties that hold on any machine: the trace is consistent, the schedule that the
/// policy made keeps its rule, and a fresh copy decides the same.
fn assert_sound(spec: &str, system: &System, rule: &ScheduleRule, outcome: &Outcome) -> Trace {
    assert!(outcome.doubts.is_empty(), "{spec}: {:?}", outcome.doubts);
    let violations = verify(&outcome.log, system, rule);
    assert!(violations.is_empty(), "{spec}: {violations:#?}");
    let mut fresh = Registry::standard().build(spec, system).unwrap();
    let replayed = replay(&outcome.log, system, &mut *fresh).unwrap();
    assert_eq!(replayed.divergence, None, "{spec}");
    assert_eq!(replayed.decisions, outcome.decisions, "{spec}");
    assert_eq!(replayed.events, outcome.events, "{spec}");
    outcome.trace(system, View::Measured)
}

fn missed(trace: &Trace) -> usize {
    trace.jobs.iter().filter(|job| job.missed(trace.over)).count()
}

/// Runs a set with slack under a policy. Every run must be sound, and one that the machine does not
/// disturb must not miss a deadline.
#[expect(clippy::print_stdout, reason = "the figures help to understand a failure")]
fn runs_in_time(spec: &str, system: &System, duration: Duration) {
    let mut unexplained = 0;
    for _ in 0..ATTEMPTS {
        let policy = Registry::standard().build(spec, system).unwrap();
        let rule = policy.rule();
        let Some(outcome) = try_run(system, policy, duration) else { return };
        let trace = assert_sound(spec, system, &rule, &outcome);
        let completed = trace.jobs.iter().filter(|job| job.completion().is_some()).count();
        assert!(completed > 0, "{spec}");
        let late = missed(&trace);
        println!(
            "{spec}: {completed} jobs, {late} missed, dispatch {:?}",
            outcome.measured.dispatch.figures().map(|figures| (figures.p50_ns, figures.max_ns))
        );
        if late == 0 {
            return;
        }
        let why = outcome.pause(system);
        println!("{spec}: {why:?}");
        unexplained += usize::from(why.is_none());
        assert!(
            unexplained < UNEXPLAINED,
            "{spec} misses deadlines, and the machine did not pause"
        );
    }
    skipped(&format!("a machine that leaves {spec} its CPUs for {duration}"));
}

/// Returns one CPU with tasks of utilization 0.6.
fn one_cpu() -> System {
    System::new(1, vec![task("a", 4, 20), task("b", 10, 50), task("c", 20, 100)])
}

/// Returns two CPUs with tasks that migrate, of utilization 0.8 in total.
fn two_cpus() -> System {
    System::new(
        2,
        vec![task("a", 10, 40), task("b", 10, 40), task("c", 10, 50), task("d", 10, 100)],
    )
}

/// Returns the margin that a policy requires beyond the WCETs if its reservations end exactly at
/// the deadline. Slots of PD2 are as long as all times allow. Each begins late by a latency of the
/// machine, which is a tenth of a short slot.
fn slack(spec: &str, system: &System) -> Option<Margin> {
    let rule = Registry::standard().build(spec, system).unwrap().rule();
    let part = if matches!(rule, ScheduleRule::Pfair { .. }) { 4 } else { 10 };
    rule.plans_with_wcets().then(|| Margin::Fraction(Rate::new(1, part)))
}

/// The load is twice the capacity of the CPU. Each late job is aborted at its deadline, or its
/// successors are skipped. The thread truly stops, because the other one finds the CPU free.
#[test]
fn late_jobs_are_given_up_or_skipped() {
    let _alone = alone();
    for (on_miss, spec) in
        [(OnMiss::Abort, "g-edf"), (OnMiss::Abort, "p-rm"), (OnMiss::Skip, "g-edf")]
    {
        let mut system = System::new(1, vec![task("a", 15, 20), task("b", 30, 40)]);
        system.tasks.values_mut().for_each(|task| task.on_miss = on_miss);
        let policy = Registry::standard().build(spec, &system).unwrap();
        let rule = policy.rule();
        let Some(outcome) = try_run(&system, policy, Duration::from_ms(600)) else { return };
        let trace = assert_sound(spec, &system, &rule, &outcome);
        let given_up: Vec<_> = (trace.jobs.iter())
            .filter(|record| matches!(record.end, Some((_, JobEnd::Aborted))))
            .collect();
        assert!(
            given_up.len() >= 5,
            "{spec}, {on_miss:?}: {} of {}",
            given_up.len(),
            trace.jobs.len()
        );
        let completed = trace.jobs.iter().filter_map(|record| Some((record, record.completion()?)));
        match on_miss {
            OnMiss::Abort => {
                // Each ends at its deadline or, if the manager came late, after it; no job runs
                // beyond.
                for record in &given_up {
                    let (at, _) = record.end.unwrap();
                    assert!(at >= record.job.deadline, "{spec}: {record:?}");
                }
            }
            OnMiss::Skip => {
                assert!(given_up.iter().all(|record| record.executed == Service::ZERO), "{spec}");
                // No job waits for its predecessor: each job that runs comes after the last one
                // that ran.
                let mut ended = [Time::ZERO; 2];
                for (record, at) in completed {
                    let last = &mut ended[record.job.id.task.index()];
                    assert!(
                        record.job.release + MANAGER >= *last,
                        "{spec}: {record:?} after {last}"
                    );
                    *last = at;
                }
            }
            OnMiss::Continue => unreachable!("not tried"),
        }
    }
}

#[test]
fn every_policy_is_in_time_on_a_quiet_machine() {
    let _alone = alone();
    for info in &Registry::standard() {
        let mut system = one_cpu();
        (1..).zip(system.tasks.values_mut()).for_each(|(at, task)| task.priority = Some(at));
        if Registry::standard().build(&info.name, &system).unwrap().needs().schedules
            == Schedules::Threads
        {
            system = with_margin(&system, &Margin::default());
        }
        if let Some(slack) = slack(&info.name, &system) {
            system = with_slack(&system, &slack);
        }
        runs_in_time(&info.name, &system, Duration::from_ms(200));
    }
}

#[test]
fn policies_migrate_on_a_quiet_machine() {
    let _alone = alone();
    let specs = [
        "g-edf", "p-edf", "g-dm", "g-fl", "edf-us", "fpedf", "edf-k", "rm-us", "edzl", "llf",
        "mllf", "dl", "dl-sp", "apedf", "a2pedf",
    ];
    for spec in specs {
        let mut system = two_cpus();
        if Registry::standard().build(spec, &system).unwrap().needs().schedules
            == Schedules::Threads
        {
            system = with_margin(&system, &Margin::default());
        }
        runs_in_time(spec, &system, Duration::from_ms(300));
    }
}

/// Returns two CPUs with a set that cannot be partitioned: three tasks of 11/20.
fn not_partitioned() -> System {
    System::new(2, vec![task("a", 11, 20), task("b", 22, 40), task("c", 33, 60)])
}

/// RUN and QPS must share CPUs here: servers, dual or master, run their budgets to the end, and
/// windows and intervals follow each other for the whole run. PD2 has slots of a millisecond.
#[test]
fn optimal_policies_meet_deadlines_on_a_quiet_machine() {
    let _alone = alone();
    let whole = ["run", "qps", "qps:master=edf", "dp-wrap", "lre-tl", "u-edf"];
    for spec in whole.into_iter().chain(["pd2:quantum=1ms", "er-pd2:quantum=1ms"]) {
        let system = with_slack(&not_partitioned(), &Margin::Fraction(Rate::new(1, 10)));
        runs_in_time(spec, &system, Duration::from_ms(600));
    }
    for spec in ["qps", "qps:master=edf"] {
        let mut system = not_partitioned();
        for task in system.tasks.values_mut() {
            let max = Duration::from_ms(7);
            task.behaviour = Behaviour::Sporadic(layland_model::Separation::Uniform { max });
        }
        let system = with_slack(&system, &Margin::Fraction(Rate::new(1, 10)));
        runs_in_time(spec, &system, Duration::from_ms(600));
    }
}

/// Jobs of 12 ms get 4 ms of every 20, so that two periods pass. The other task would otherwise be
/// late.
#[test]
fn servers_keep_to_their_budgets_on_a_quiet_machine() {
    let _alone = alone();
    let (mut server, mut other) = (task("server", 12, 20), task("other", 13, 25));
    (server.deadline, other.deadline) = (Duration::from_ms(150), Duration::from_ms(24));
    server.budget = Some(Service::from_ms(4));
    server.behaviour = Behaviour::Explicit([0, 200, 400].map(Time::from_ms).to_vec());
    let (system, duration) = (System::new(1, vec![server, other]), Duration::from_ms(600));
    for spec in ["ss", "ds", "ps"] {
        runs_in_time(spec, &system, duration);
        let policy = || Registry::standard().build(spec, &system).unwrap();
        let Some(outcome) = try_run(&system, policy(), duration) else { return };
        let trace = assert_sound(spec, &system, &policy().rule(), &outcome);
        for record in trace.jobs.iter().filter(|record| record.job.id.task == TaskId(0)) {
            let response = record.completion().unwrap_or(trace.over) - record.job.release;
            assert!(response >= Duration::from_ms(39), "{spec}: {record:?}");
        }
    }
}

/// Two of the tasks are whole; the jobs of the third one change CPUs when a piece is used up.
#[test]
fn pieces_of_split_tasks_follow_each_other_on_a_quiet_machine() {
    let _alone = alone();
    for spec in ["cd", "cd:split=next-first", "edf-wm"] {
        let system = System::new(2, ["a", "b", "c"].map(|name| task(name, 11, 20)).to_vec());
        let system = with_slack(&system, &Margin::Fraction(Rate::new(1, 10)));
        let rule = Registry::standard().build(spec, &system).unwrap().rule();
        let ScheduleRule::Split { pieces } = &rule else { panic!("{spec}: {rule:?}") };
        assert!(pieces.values().any(|own| own.len() == 2), "{spec}: {pieces:?}");
        runs_in_time(spec, &system, Duration::from_ms(600));
    }
}

/// `c` has begun when `a` arrives, at 20 ms, and continues to its end.
#[test]
fn jobs_are_not_preempted_on_a_quiet_machine() {
    let _alone = alone();
    let duration = Duration::from_ms(400);
    let ms = Duration::from_ms;
    let segments = [4, 12, 4].map(Service::from_ms);
    // The waiting times of the jobs of `a` at 20, 220 and so on, when `c` has run for 10 ms.
    let cases = [
        ("p-edf:nonpreemptive", Preemption::Anywhere, 10),
        ("p-rm:nonpreemptive", Preemption::Anywhere, 10),
        ("p-edf", Preemption::Between(segments.into()), 6),
        ("p-rm", Preemption::Between(segments.into()), 6),
        ("p-edf", Preemption::Delayed(ms(6)), 6),
        ("p-rm", Preemption::Delayed(ms(6)), 6),
    ];
    for (spec, preemption, waits) in cases {
        let tasks = vec![task("a", 4, 40), task("b", 10, 50), task("c", 20, 100)];
        let mut system = System::new(1, tasks);
        system.tasks[TaskId(0)].offset = ms(20);
        system.tasks[TaskId(2)].preemption = preemption.clone();
        runs_in_time(spec, &system, duration);
        let policy = || Registry::standard().build(spec, &system).unwrap();
        let rule = policy().rule();
        let what = format!("{spec} {preemption:?}");
        assert!(matches!(rule, ScheduleRule::Deferred { .. }), "{what}: {rule:?}");
        let Some(outcome) = try_run(&system, policy(), duration) else { return };
        let trace = assert_sound(spec, &system, &rule, &outcome);
        let mut waited = 0;
        for record in trace.jobs.iter().filter(|record| record.job.id.task == TaskId(0)) {
            let segments = trace.segments.iter();
            let own = segments.filter(|segment| segment.job == record.job.id);
            let Some(start) = own.map(|segment| segment.start).min() else { continue };
            let delay = start - record.job.release;
            assert!(delay < ms(waits + 1), "{what}: {delay}");
            waited += usize::from(delay > ms(waits - 1));
        }
        assert!(waited > 0, "{what}");
    }
}

#[test]
fn jobs_are_those_of_the_simulator() {
    let _alone = alone();
    let mut system = one_cpu();
    system.tasks[TaskId(0)].execution = layland_model::ExecutionModel::Uniform {
        min: Service::from_ms(1),
        max: Service::from_ms(4),
    };
    system.tasks[TaskId(0)].jitter = Duration::from_ms(2);
    let policy = Registry::standard().build("p-rm", &system).unwrap();
    let Some(outcome) = try_run(&system, policy, Duration::from_ms(300)) else { return };
    let mut stream = layland_engine::streams::Stream::new(TaskId(0), &system.tasks, 0);
    let mut arrival = stream.first();
    let mut compared = 0;
    for record in &outcome.log.records {
        if let Entry::Asked { job, arrival: at, demand } = record.entry
            && job.task == TaskId(0)
        {
            let drawn = arrival.unwrap();
            assert_eq!((at, demand), (drawn.at, Some(stream.demand(job.seq))));
            arrival = stream.next(job.seq, drawn.at);
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared}");
}

#[test]
fn threads_that_never_block_are_cut_by_their_budgets() {
    let _alone = alone();
    let mut system = System::new(1, vec![task("hog", 10, 50), task("a", 5, 40)]);
    system.tasks[TaskId(0)].behaviour = Behaviour::Hog;
    system.tasks[TaskId(1)].budget = Some(Service::from_ms(7));
    for spec in ["dl", "apedf"] {
        let policy = Registry::standard().build(spec, &system).unwrap();
        let rule = policy.rule();
        let Some(outcome) = try_run(&system, policy, Duration::from_ms(600)) else { return };
        let trace = assert_sound(spec, &system, &rule, &outcome);
        // A hog gets its share of a CPU that would otherwise idle, and no more: its thread is
        // parked.
        let got: i64 = (trace.jobs.iter())
            .filter(|job| job.job.id.task == TaskId(0))
            .map(|job| job.executed.ns())
            .sum();
        let most = 12 * 10_000_000 + 12 * 2_000_000;
        assert!(got > 60_000_000 && got < most, "{spec}: the hog got {got} ns");
        assert!(outcome.measured.parks > 0, "{spec}: nothing was parked");
        assert!(outcome.measured.leaked_ns < 5_000_000, "{}", outcome.measured.leaked_ns);
    }
}

#[test]
fn requests_change_a_running_system() {
    let _alone = alone();
    let mut system = two_cpus();
    let ms = |ms| Time::from_ms(ms);
    system.requests = vec![
        Request { at: ms(100), kind: RequestKind::CpuOffline(layland_model::CpuId(1)) },
        Request { at: ms(200), kind: RequestKind::CpuOnline(layland_model::CpuId(1)) },
        Request { at: ms(250), kind: RequestKind::Leave(TaskId(3)) },
    ];
    let policy = Registry::standard().build("g-edf", &system).unwrap();
    let rule = policy.rule();
    let Some(outcome) = try_run(&system, policy, Duration::from_ms(400)) else { return };
    let trace = assert_sound("g-edf", &system, &rule, &outcome);
    assert_eq!(trace.answers.len(), 3, "{:?}", trace.answers);
    assert!(trace.answers.iter().all(|answer| answer.refused.is_none()));
    assert_eq!(trace.marks.len(), 2, "{:?}", trace.marks);
}

#[test]
fn a_log_survives_its_file() {
    let _alone = alone();
    let mut system = with_margin(&two_cpus(), &Margin::default());
    // Admission control refuses this request, so the log has a reason.
    system.requests = vec![Request {
        at: Time::from_ms(50),
        kind: RequestKind::Reconfigure(
            TaskId(0),
            layland_model::Change::Parameters {
                wcet: Service::from_ms(2000),
                period: Duration::from_ms(2000),
                deadline: Duration::from_ms(2000),
            },
        ),
    }];
    for spec in ["dl-sp:limit=1/2", "g-edf"] {
        let policy = Registry::standard().build(spec, &system).unwrap();
        let Some(outcome) = try_run(&system, policy, Duration::from_ms(300)) else { return };
        let file = LogFile {
            policy: spec.to_owned(),
            seed: 0,
            set: layland_config::to_toml(&system),
            log: outcome.log.clone(),
        };
        let mut bytes = Vec::new();
        file.write(&mut bytes).unwrap();
        let read = LogFile::read(std::str::from_utf8(&bytes).unwrap()).unwrap();
        assert_eq!((&read.policy, read.seed, &read.set), (&file.policy, 0, &file.set));
        assert_eq!(read.log.records.len(), outcome.log.records.len());
        let mut fresh = Registry::standard().build(spec, &system).unwrap();
        assert_eq!(replay(&read.log, &system, &mut *fresh).unwrap().divergence, None, "{spec}");
        // Another policy decides otherwise somewhere, so the comparison can fail.
        let mut other = Registry::standard().build("p-rm:fit=wf", &system).unwrap();
        assert!(replay(&read.log, &system, &mut *other).unwrap().divergence.is_some(), "{spec}");
    }
}

#[test]
fn a_full_log_ends_the_run_and_says_so() {
    let _alone = alone();
    let system = one_cpu();
    let policy = || Registry::standard().build("p-edf", &system).unwrap();
    let mut options = options(1, Duration::from_secs(5)).unwrap();
    options.log_records = Some(4400);
    match run(&system, policy(), &options) {
        Ok(outcome) => {
            assert!(outcome.doubts[0].starts_with("the log was full at"), "{:?}", outcome.doubts);
            assert!(outcome.end < Time::from_ms(5000) && outcome.interrupted);
            assert_eq!(outcome.log.lost, 0);
        }
        Err(RunError::Refused { .. }) => common::skipped("CAP_SYS_NICE"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_real_threads_cannot_do_is_refused() {
    let mut system = two_cpus();
    let scaling = Registry::standard().build("dl:grub_pa=on", &system).unwrap();
    let error = supports(&system, &*scaling).unwrap_err();
    assert!(error.to_string().starts_with("the policy sets the speeds of CPUs"), "{error}");
    let plain = Registry::standard().build("g-edf", &system).unwrap();
    assert!(supports(&system, &*plain).is_ok());
    let half = layland_model::Speed::new(&Rate::new(1, 2)).unwrap();
    system.platform.speeds[layland_model::CpuId(0)] = half;
    assert!(supports(&system, &*plain).is_err());
}

/// Grants each job a budget of its WCET, and aborts the job when the budget is exhausted. It serves
/// one CPU in order of arrival: a minimal policy with budgets.
#[derive(Clone, Default)]
struct Enforcer {
    queue: std::collections::VecDeque<layland_model::JobId>,
    running: bool,
    exhausted: Option<layland_model::JobId>,
    budget: Vec<Duration>,
}

impl Policy for Enforcer {
    fn on_event(&mut self, _now: Time, event: layland_policy::Event) {
        use layland_policy::Event;
        match event {
            Event::Release { job, .. } => self.queue.push_back(job),
            Event::Completion { .. } => {
                self.queue.pop_front();
                self.running = false;
            }
            Event::BudgetExhausted { job, .. } => self.exhausted = Some(job),
            _ => {}
        }
    }
    fn decide(&mut self, _now: Time, actions: &mut Vec<layland_policy::Action>) {
        use layland_policy::Action;
        if let Some(job) = self.exhausted.take() {
            actions.push(Action::Abort { job });
            self.queue.pop_front();
            self.running = false;
        }
        if let (false, Some(&job)) = (self.running, self.queue.front()) {
            let budget = Some(self.budget[job.task.0 as usize]);
            actions.push(Action::Run { cpu: layland_model::CpuId(0), job, budget });
            self.running = true;
        }
    }
    fn save(&self, _now: Time, _state: &mut layland_policy::State) {}
    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }
    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}

#[test]
fn overruns_are_noticed_by_the_clock_of_the_thread() {
    let _alone = alone();
    let system = one_cpu();
    let granted = |task: &Task| task.own_wcet().at_unit_speed() + Duration::from_us(500);
    let budget: Vec<Duration> = system.tasks.values().map(granted).collect();
    let system = layland_linux::with_overrun(&system, TaskId(1), &Rate::new(3, 2)).unwrap();
    let run = || {
        let policy = Enforcer { budget: budget.clone(), ..Enforcer::default() };
        try_run(&system, Box::new(policy), Duration::from_ms(500))
    };
    let Some(mut outcome) = run() else { return };
    for _ in 1..ATTEMPTS {
        // A machine that pauses for most of the run shows no overrun.
        if outcome.doubts.is_empty() && outcome.measured.budget.count() > 0 {
            break;
        }
        println!("once more: {:?}, {:?}", outcome.doubts, outcome.pause(&system));
        outcome = run().expect("it was permitted before");
    }
    let trace = outcome.trace(&system, View::Measured);
    let evidence = evidence(&outcome.log, View::Measured);
    let report = check_with(&trace, &system, &ScheduleRule::None, 20, &evidence);
    assert!(report.is_clean(), "{report}");
    for job in trace.jobs.iter().filter(|job| job.end.is_some()) {
        let overran = job.job.id.task == TaskId(1);
        assert_eq!(job.completion().is_none(), overran, "{job:?}");
        if overran {
            // Never early; the lateness depends on the machine.
            assert!((job.executed + Service::from_us(2)).at_unit_speed() >= budget[1], "{job:?}");
        }
    }
    assert!(trace.jobs.iter().any(|job| job.completion().is_none() && job.end.is_some()));
}

/// All engines share one rule: a thread that yields also does so when it is late.
#[test]
fn late_jobs_yield_on_threads_as_in_the_simulator() {
    let _alone = alone();
    let mut yields = task("yields", 6, 10);
    yields.behaviour = Behaviour::Yield;
    yields.budget = Some(Service::from_ms(4));
    let system = System::new(1, vec![yields, task("other", 30, 100)]);
    let policy = Registry::standard().build("dl", &system).unwrap();
    let Some(outcome) = try_run(&system, policy, Duration::from_ms(200)) else { return };
    let ends = outcome.log.records.iter().filter_map(|record| match record.entry {
        Entry::Completion { job, then, .. } if job.task == TaskId(0) => Some(then),
        _ => None,
    });
    let ends: Vec<AfterJob> = ends.collect();
    assert!(missed(&outcome.trace(&system, View::Measured)) > 1, "nobody is late");
    assert!(ends.len() > 2 && ends.iter().all(|&then| then == AfterJob::Yields), "{ends:?}");
}
