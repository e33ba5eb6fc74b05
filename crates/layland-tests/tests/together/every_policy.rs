//! Properties of every policy of the registry, tested for each of them.
//!
//! There is no list of the systems that each policy accepts. Systems of every kind are drawn, each
//! policy gets those that it does not reject, and a policy that accepts too few fails the test. The
//! exemptions of a policy are in [`EXEMPT`], with their reasons.
//!
//! Long because every property of every policy is here, with the systems from which they are drawn.
//!
//! A longer run: `CASES=5000 cargo test --release -p layland-tests --test together every_policy`.

use layland_analysis::{Assumption, TestKind, Verdict, catalogue};
use layland_checker::{Violation, check};
use layland_gen::{Aspect, Random};
use layland_guarantee::{AssessOptions, Bound, BoundsBy, Effort, Findings, Wanted, assess};
use layland_model::{
    Behaviour, CacheUse, CpuId, Criticality, Duration, ExecutionModel, JobId, Levels, Note,
    Overheads, Request, RequestKind, ScheduleRule, Service, System, Task, TaskId, Time,
};
use layland_policy::{Action, Event, Policy, PolicyInfo, State, Values};
use layland_sim::{Horizon, SimOptions, simulate, with_random_ranks};
use layland_testkit::ahead::{Share, Shares, compare};
use layland_testkit::logged::{Logged, Step, first_divergence};
use layland_testkit::mixed::{draw_run, draw_set};
use layland_testkit::optimal::draw;
use layland_testkit::preempted::{EarlyRemovals, Hasty, removed_early};
use layland_testkit::registry;
use layland_testkit::strategies::{clustered, masked, periodic_system, rich_system, threads};
use layland_trace::{Counters, NoRecord, Trace};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// (property, policy, reason for the exemption).
const EXEMPT: &[(&str, &str, &str)] = &[
    ("blocked", "llf", UNTESTED),
    ("blocked", "mllf", UNTESTED),
    ("removed", "weak-edf", MATCHED),
    ("removed", "weak-rm", MATCHED),
    ("removed", "weak-dm", MATCHED),
    ("removed", "weak-fp", MATCHED),
    ("removed", "strong-edf", MATCHED),
    ("removed", "strong-rm", MATCHED),
    ("removed", "strong-dm", MATCHED),
    ("removed", "strong-fp", MATCHED),
    ("removed", "dl", QUEUED),
    ("removed", "dl-sp", QUEUED),
    ("removed", "apedf", QUEUED),
    ("removed", "a2pedf", QUEUED),
    ("removed", "qps", "a set remembers which of its clients it picked last"),
    ("removed", "u-edf", "who got the lane of the job before its end was told was last on its CPU"),
    ("removed", "amc", PENDING),
    ("removed", "ocbp", PENDING),
    ("removed", "plrs", PENDING),
    ("removed", "edf-vd", PENDING),
];
const UNTESTED: &str = "no test promises it anything";
const MATCHED: &str =
    "which CPU a task gets depends on who was matched before, and nothing is shifted back";
const QUEUED: &str = "a thread stays on the CPU to which it was moved while the job was there";
const PENDING: &str =
    "jobs that arrive are treated by what pends then, and an idle instant ends a busy period";

/// The minimum number of tests of each policy.
const LEAST: u32 = 10;
/// The maximum number of rounds of drawing systems.
const ROUNDS: u64 = 20;

/// Returns the time by which about this number of jobs have arrived.
fn jobs(count: i64, system: &System) -> Time {
    let per_time: f64 = system.tasks.values().map(|task| 1.0 / task.period.ns() as f64).sum();
    Time::from_ns((count as f64 / per_time) as i64 + 1)
}

/// Returns the end of the simulation of a system.
fn horizon(system: &System) -> Time {
    jobs(60, system)
}

/// Returns the number of systems, which the environment can increase.
fn cases() -> u32 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(40)
}

/// Checks a property for every policy, on random systems that the policy accepts. The property
/// returns true if it applied.
fn for_every_policy(
    property: &str,
    systems: impl Strategy<Value = System>,
    holds: impl Fn(&str, &System, Box<dyn Policy>, u64) -> Result<bool, TestCaseError>,
) {
    let exempt = |policy: &str| EXEMPT.iter().any(|&(of, who, _)| (of, who) == (property, policy));
    let said: RefCell<BTreeMap<&str, u32>> = RefCell::default();
    let systems = (systems, any::<u64>());
    let test = |(system, seed): (System, u64)| {
        for info in registry().iter().filter(|info| !exempt(&info.name)) {
            for spec in [info.name.to_string(), with_an_option(info, seed)] {
                let Ok(policy) = registry().build(&spec, &system) else { continue };
                let any = holds(&spec, &system, policy, seed)?;
                *said.borrow_mut().entry(info.name.as_ref()).or_default() += u32::from(any);
            }
        }
        Ok(())
    };
    let rarely = || {
        let said = said.borrow();
        let all = registry().iter().filter(|info| !exempt(&info.name));
        let times =
            all.map(|info| (&info.name, said.get(info.name.as_ref()).copied().unwrap_or(0)));
        times
            .filter(|&(_, times)| times < LEAST)
            .map(|(name, times)| format!("{name} {times}"))
            .collect()
    };
    // Some policies accept few of the systems. If by chance there were too few, more are drawn.
    for round in 0..ROUNDS {
        let mut config = ProptestConfig {
            cases: cases(),
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        // A fixed seed would draw the same systems again.
        if let RngSeed::Fixed(seed) = &mut config.rng_seed {
            *seed = seed.wrapping_add(round);
        }
        // A runner cannot run further cases after its own.
        if let Err(error) = TestRunner::new(config).run(&systems, test) {
            panic!("{property}: {error}");
        }
        if Vec::is_empty(&rarely()) {
            return;
        }
    }
    let rarely: Vec<String> = rarely();
    panic!("{property}: tested too few times: {}", rarely.join(", "));
}

/// Returns the policy with one of its options, if it has options with listed values.
fn with_an_option(info: &PolicyInfo, seed: u64) -> String {
    let mut specs = Vec::new();
    for option in &info.options {
        let values: Vec<&str> = match &option.values {
            Values::Switch => vec!["on", "off"],
            Values::OneOf(words) => words.iter().map(AsRef::as_ref).collect(),
            Values::Duration => vec!["4ns", "20ns"],
            Values::Number | Values::Rate | Values::Cpus | Values::Bins => Vec::new(),
        };
        specs.extend(values.iter().map(|value| format!("{}:{}={value}", info.name, option.name)));
    }
    match specs.len() as u64 {
        0 => info.name.to_string(),
        count => specs.swap_remove((seed % count) as usize),
    }
}

#[test]
fn exemptions_are_of_policies_that_exist() {
    for (property, policy, reason) in EXEMPT {
        assert!(registry().find(policy).is_some(), "{property}: {policy}");
        assert!(!reason.is_empty(), "{property}: why is {policy} exempt?");
    }
}

// --- Systems of every kind -------------------------------------------------------------------------

/// Limits deadlines to periods.
fn constrained(mut system: System) -> System {
    for task in system.tasks.values_mut() {
        task.deadline = task.deadline.min(task.period);
    }
    system
}

/// Adds the clusters, affinities and deadlines that some policy needs.
fn of_every_form(
    system: impl Strategy<Value = System> + Clone,
) -> impl Strategy<Value = System> + Clone {
    prop_oneof![
        system.clone(),
        system.clone().prop_map(constrained),
        system.clone().prop_map(|system| clustered(system, 2)),
        system.clone().prop_map(|system| masked(system, true)),
        system.prop_map(|system| masked(system, false)),
    ]
}

/// Draws systems that fully use their CPUs.
fn full() -> impl Strategy<Value = System> + Clone {
    any::<u64>().prop_map(|index| {
        let mut random = Random::new(77, index, Aspect::Utilizations);
        with_random_ranks(&draw::periodic(&mut random).system, index)
    })
}

/// Draws periodic systems with several criticality levels, some with jobs that exceed their bounds.
fn critical() -> impl Strategy<Value = System> + Clone {
    any::<u64>().prop_map(|index| {
        let mut random = Random::new(7, index, Aspect::Criticalities);
        let mut system = draw_set(&mut random);
        for task in system.tasks.values_mut() {
            let demands = (0..1 + random.below(3)).map(|_| match random.below(3) {
                0 => task.wcet[0],
                1 => task.own_wcet(),
                _ => Service::from_ns(random.between(0, 2 * task.own_wcet().ns())),
            });
            task.execution = ExecutionModel::List(demands.collect());
            task.offset = Duration::from_ns(random.between(0, task.period.ns()));
        }
        system
    })
}

/// Draws such systems in adversarial runs.
fn critical_runs() -> impl Strategy<Value = System> {
    any::<u64>().prop_map(|index| {
        let mut random = Random::new(7, index, Aspect::Criticalities);
        let system = draw_set(&mut random);
        draw_run(&mut random, &system, horizon(&system).ns()).0
    })
}

/// Draws systems whose state can recur: no value is drawn at run time, and no list of arrivals ends.
fn periodic() -> impl Strategy<Value = System> {
    let threads = threads().prop_map(|mut system| {
        for task in system.tasks.values_mut() {
            if let Behaviour::Explicit(_) = task.behaviour {
                task.behaviour = Behaviour::Periodic;
            }
        }
        system
    });
    prop_oneof![
        4 => of_every_form(periodic_system().boxed()),
        1 => threads,
        1 => full(),
        2 => critical(),
    ]
}

/// Draws systems with all features of tasks.
fn any_kind() -> impl Strategy<Value = System> {
    prop_oneof![
        4 => of_every_form(rich_system().boxed()),
        1 => threads(),
        1 => full(),
        2 => critical_runs(),
    ]
}

fn run<P: Policy>(system: &System, policy: P, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

// --- Clean, and the same every time ----------------------------------------------------------------

#[test]
fn schedules_keep_every_rule() {
    for_every_policy("rules", any_kind(), |spec, system, policy, seed| {
        let rule = policy.rule();
        for explore in [None, Some(seed)] {
            let options = SimOptions { seed, explore, ..SimOptions::until(horizon(system)) };
            let report = check(&run(system, policy.clone(), &options), system, &rule, 5);
            prop_assert!(report.is_clean(), "{} {:?}: {}", spec, explore, report);
        }
        Ok(true)
    });
}

/// Reduces the load so far that most policies keep every deadline.
fn light(mut system: System) -> System {
    system.requests.clear();
    for task in system.tasks.values_mut() {
        task.wcet.iter_mut().for_each(|wcet| *wcet = Service::from_ns(1));
        task.budget = None;
        task.execution = ExecutionModel::Wcet;
        task.deadline = task.deadline.max(task.period);
    }
    system
}

/// A job that may be blocked for a second is promised nothing. The only statements about it come
/// from the few analyses of blocking times.
#[test]
fn nothing_is_promised_to_jobs_that_are_blocked_for_long() {
    let systems = prop_oneof![
        periodic(),
        periodic().prop_map(light),
        periodic().prop_map(light).prop_map(constrained),
    ];
    let wanted = Wanted { findings: Findings::Verdict, bounds: BoundsBy::All, ..Wanted::default() };
    let options = AssessOptions { wanted, effort: Effort::Quick, ..AssessOptions::by_tests() };
    let counts = |by: &str| {
        let of_it = catalogue::RESPONSES.iter().filter(|analysis| analysis.name == by);
        of_it.flat_map(|analysis| analysis.assumptions).any(|it| *it == Assumption::BlockingKept)
    };
    for_every_policy("blocked", systems, |spec, system, _, seed| {
        let long = Duration::from_secs(1);
        let task = TaskId((seed % system.tasks.len() as u64) as u32);
        let mut blocked = system.clone();
        blocked.tasks[task].blocking_time = long;
        let [without, with] = [system, &blocked]
            .map(|system| assess(registry(), spec, system, &options).expect("the policy exists"));
        prop_assert_ne!(with.verdict, Verdict::Yes, "{} by {:?}", spec, with.decided_by);
        for (id, bound) in with.bounds.iter() {
            match bound {
                Bound::Response { by, within, kind, .. } => {
                    prop_assert!(counts(by), "{} by {}", spec, by);
                    let is_above = *within > long && *kind == TestKind::Sufficient;
                    prop_assert!(id != task || is_above, "{} by {}: {}", spec, by, within);
                }
                Bound::Tardiness { by, .. } => prop_assert!(false, "{} by {}", spec, by),
                Bound::Unknown => {}
            }
        }
        // Without groups no test is about `groups`.
        Ok(without.verdict == Verdict::Yes || spec.starts_with("groups"))
    });
}

/// With overheads, and CPUs that come and go, jobs are late, but a schedule still keeps its rule.
#[test]
fn trouble_breaks_no_rule() {
    let changes = prop::collection::vec((0i64..100, 0u32..4, 0u8..3), 0..6);
    let costs = prop::array::uniform6(0i64..3).prop_map(|costs| costs.map(Duration::from_ns));
    let systems = (any_kind(), changes, costs).prop_map(|(mut system, changes, costs)| {
        let cpus = system.platform.cpu_count() as u32;
        let requests = |(at, cpu, change): (i64, u32, u8)| {
            let cpu = CpuId(cpu % cpus);
            let (offline, online) = (RequestKind::CpuOffline(cpu), RequestKind::CpuOnline(cpu));
            let kinds = match change {
                0 => vec![online],
                1 => vec![offline],
                // The CPU returns at the instant at which it goes offline, but its job has still lost it.
                _ => vec![offline, online],
            };
            kinds.into_iter().map(move |kind| Request { at: Time::from_ns(at), kind })
        };
        system.requests = changes.into_iter().flat_map(requests).collect();
        system.requests.sort_by_key(|request| request.at);
        let [release, scheduling, context_switch, migration, interrupt, tick] = costs;
        let tick_period = Duration::from_ns(7);
        system.platform.overheads = Overheads {
            release,
            scheduling,
            context_switch,
            migration,
            interrupt,
            tick,
            tick_period,
            block_reload_time: context_switch,
        };
        // Jobs that resume also reload blocks that others have evicted.
        for (at, task) in system.tasks.values_mut().enumerate() {
            let first = at % 3;
            let ucb = (first..first + 2).collect();
            let cache = CacheUse { ucb, ecb: (first..first + 4).collect() };
            task.cache = task.steps.is_none().then(|| cache.into());
        }
        system
    });
    for_every_policy("trouble", systems, |spec, system, policy, seed| {
        let rule = match policy.rule() {
            // These rules promise deadlines, which the disturbances break.
            ScheduleRule::Optimal { .. }
            | ScheduleRule::Shares { .. }
            | ScheduleRule::Allotted { .. }
            | ScheduleRule::MixedCriticality { .. } => ScheduleRule::None,
            other => other,
        };
        let options = SimOptions { seed, ..SimOptions::until(horizon(system)) };
        let report = check(&run(system, policy, &options), system, &rule, 5);
        prop_assert!(report.is_clean(), "{}: {}", spec, report);
        Ok(true)
    });
}

#[test]
fn clones_and_wrappers_do_the_same() {
    for_every_policy("clones", any_kind(), |spec, system, policy, seed| {
        let options = SimOptions { seed, ..SimOptions::until(horizon(system)) };
        let logged = Logged::new(policy.clone());
        let log = logged.log();
        let trace = run(system, logged, &options);
        let boxed: Box<dyn Policy> = Box::new(policy.clone());
        prop_assert_eq!(&trace, &run(system, boxed, &options), "{} does not repeat", spec);
        // A clone that receives the same events takes the same actions, also from the middle on.
        let log = log.lock().unwrap();
        let (first, rest) = log.split_at(log.len() / 2);
        let mut copy = policy.clone();
        prop_assert_eq!(first_divergence(&mut copy, first), None, "{}", spec);
        let mut other = copy.clone();
        prop_assert_eq!(first_divergence(&mut copy, rest), None, "{}", spec);
        prop_assert_eq!(first_divergence(&mut other, rest), None, "{}", spec);
        Ok(!rest.is_empty())
    });
}

// --- Jobs that end while they are being preempted ----------------------------------------------------

/// A policy never runs a job again after it was notified of the job's end, which the simulator
/// would reject. Its schedule keeps its rule without that job.
#[test]
fn jobs_that_end_while_preempted_are_gone() {
    for_every_policy("preempted", any_kind(), |spec, system, policy, seed| {
        let rule = match policy.rule() {
            // These rules promise deadlines for the stated demands of jobs, or compare the progress
            // of jobs at the notification of such an end, which comes a moment later.
            ScheduleRule::Optimal { .. }
            | ScheduleRule::Shares { .. }
            | ScheduleRule::Allotted { .. }
            | ScheduleRule::MixedCriticality { .. }
            | ScheduleRule::LeastLaxity { .. } => ScheduleRule::None,
            other => other,
        };
        let mut ended = 0;
        for explore in [None, Some(seed)] {
            let options = SimOptions { seed, explore, ..SimOptions::until(horizon(system)) };
            let mut trace = Trace::default();
            let hasty = Hasty::new(policy.clone(), system, seed);
            let outcome = simulate(system, hasty, &mut trace, &options).expect("it is short");
            ended += outcome.policy.ended;
            let report = check(&trace, system, &rule, 1000);
            // The engine records the abort of the job that it was made to perform.
            let made_up = |violation: &&Violation| {
                !matches!(
                    violation,
                    Violation::Aborted { .. }
                        | Violation::AbortedFeasible { .. }
                        | Violation::GivenUpEarly { .. }
                        | Violation::GivenUpWithin { .. }
                )
            };
            let found: Vec<_> = report.violations.iter().filter(made_up).collect();
            prop_assert!(found.is_empty(), "{} {:?}: {:#?}", spec, explore, found);
        }
        Ok(ended > 0)
    });
}

/// After the notification of such an end, a policy is in the state in which it would be if the job
/// had completed before the preemption. This holds if its decisions do not depend on earlier
/// decisions.
#[test]
fn an_end_leaves_nothing_behind() {
    for_every_policy("removed", any_kind(), |spec, system, policy, seed| {
        let logged = Logged::new(policy.clone());
        let log = logged.log();
        let options = SimOptions { seed, ..SimOptions::until(jobs(100, system)) };
        simulate(system, logged, &mut NoRecord, &options).expect("it is short");
        let EarlyRemovals { compared, differing } =
            removed_early(policy, system, &log.lock().unwrap());
        prop_assert_eq!(differing, 0, "{}: {} of {}", spec, differing, compared);
        Ok(compared > 0)
    });
}

// --- Looking ahead ---------------------------------------------------------------------------------

/// Policies whose answers are all in tables, because an event of a task affects only its CPU.
const ONE_CPU: &[&str] = &["p-edf", "p-rm", "p-dm", "p-fp"];

/// A table that was filled for the time of an event has the policy's decision at that event, and
/// the table omits no answer that concerns one CPU.
///
/// `--nocapture` shows the share of the answers that tables have.
#[test]
fn a_table_says_what_the_policy_will_decide() {
    let found: RefCell<BTreeMap<String, Shares>> = RefCell::default();
    // At full load few instants have a single event, so draw more of these systems.
    let systems = prop_oneof![2 => any_kind(), 1 => full()];
    for_every_policy("ahead", systems, |spec, system, policy, seed| {
        let logged = Logged::new(policy.clone());
        let log = logged.log();
        let options = SimOptions { seed, ..SimOptions::until(jobs(100, system)) };
        simulate(system, logged, &mut NoRecord, &options).expect("it is short");
        let shares = compare(policy, system, &log.lock().unwrap());
        let shares = shares.map_err(|how| TestCaseError::fail(format!("{spec}: {how}")))?;
        let name = spec.split(':').next().unwrap_or(spec).to_owned();
        let mut found = found.borrow_mut();
        let all = found.entry(name).or_default();
        all.successors = all.successors.plus(shares.successors);
        all.wakes = all.wakes.plus(shares.wakes);
        Ok(shares.successors.asked + shares.wakes.asked > 0)
    });
    for (name, Shares { successors, wakes }) in &*found.borrow() {
        for (what, share) in [("completions", successors), ("releases", wakes)] {
            let Share { asked, kept, idle, limited, with_timers, too_early } = share;
            println!(
                "{name}: {kept} of {asked} {what}, {idle} for nobody, {limited} with a budget, {with_timers} when a \
                 timer was due, {too_early} too early"
            );
        }
        let all = successors.plus(*wakes);
        assert!(all.kept > 0, "{name}: {all:?}");
        assert!(all.kept == all.asked || !ONE_CPU.contains(&name.as_str()), "{name}: {all:?}");
    }
}

// --- The saved state of a policy -------------------------------------------------------------------

#[test]
fn a_found_cycle_repeats() {
    for_every_policy("cycles", periodic(), |spec, system, policy, _| {
        let horizon = Horizon::Recurrence { at_most: jobs(1_500, system) };
        let options = SimOptions { horizon, ..SimOptions::until(Time::ZERO) };
        let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        let Ok(outcome) = simulate(system, policy.clone(), &mut counters, &options) else {
            return Ok(false);
        };
        let Some(cycle) = outcome.cycle else { return Ok(false) };
        let trace = run(system, policy, &SimOptions::until(cycle.from + 3 * cycle.length));
        // The executions of the first cycle recur in the second and in the third.
        let window = |index: i64| {
            let (from, to) =
                (cycle.from + index * cycle.length, cycle.from + (index + 1) * cycle.length);
            let segments = trace.segments.iter();
            let mut busy: Vec<_> = segments
                .filter(|segment| segment.end > from && segment.start < to)
                .map(|segment| {
                    let (start, end) = (segment.start.max(from), segment.end.min(to));
                    (segment.cpu, segment.job.task, start - from, end - from)
                })
                .collect();
            busy.sort_unstable();
            busy
        };
        prop_assert_eq!(window(0), window(1), "{} {:?}", spec, cycle);
        prop_assert_eq!(window(0), window(2), "{} {:?}", spec, cycle);
        Ok(true)
    });
}

#[test]
fn an_underloaded_system_recurs() {
    let task = |(at, (c, t)): (usize, (i64, i64))| {
        let name = format!("t{at}");
        let mut task = Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
        task.priority = Some(t);
        task
    };
    let tasks = [(1, 4), (2, 6), (3, 10)].into_iter().enumerate().map(task);
    let system = System::new(2, tasks.collect());
    for info in registry() {
        let policy = registry().build(&info.name, &system).expect("every policy takes it");
        let horizon = Horizon::Recurrence { at_most: Time::from_ms(1000) };
        let options = SimOptions { horizon, ..SimOptions::until(Time::ZERO) };
        let outcome = simulate(&system, policy, &mut Trace::default(), &options).unwrap();
        let cycle = outcome.cycle.expect("it recurs after a hyperperiod or two");
        // The assignment of CPUs may need more than one hyperperiod to recur.
        assert_eq!(cycle.length % Duration::from_ms(60), Duration::ZERO, "{}", info.name);
    }
}

/// A copy of a policy after a decision.
struct Snapshot {
    policy: Box<dyn Policy>,
    now: Time,
    state: State,
    /// The number of jobs of each task until then.
    jobs: BTreeMap<TaskId, u64>,
}

/// Feeds a log to a policy, and keeps a copy after each decision.
fn snapshots(mut policy: Box<dyn Policy>, log: &[Step]) -> Vec<Snapshot> {
    let mut jobs = BTreeMap::new();
    let mut actions = Vec::new();
    let mut snapshots = Vec::new();
    for Step { now, events, .. } in log {
        for event in events {
            if let Event::Release { job, .. } = event {
                jobs.insert(job.task, job.seq + 1);
            }
            policy.on_event(*now, event.clone());
        }
        actions.clear();
        policy.decide(*now, &mut actions);
        for action in &actions {
            if let Action::EndJob { job, .. } = action {
                jobs.insert(job.task, job.seq + 2);
            }
        }
        let mut state = State::default();
        policy.save(*now, &mut state);
        snapshots.push(Snapshot { policy: policy.clone(), now: *now, state, jobs: jobs.clone() });
    }
    snapshots
}

/// The shift between two instants with equal states.
struct Shift {
    time: Duration,
    jobs: BTreeMap<TaskId, u64>,
}

impl Shift {
    fn between(early: &Snapshot, late: &Snapshot) -> Shift {
        let known = |id: &TaskId| early.jobs.get(id).copied().unwrap_or(0);
        let jobs = late.jobs.iter().map(|(id, jobs)| (*id, jobs - known(id))).collect();
        Shift { time: late.now - early.now, jobs }
    }

    fn time(&self, at: Time) -> Time {
        if at == Time::NEVER { at } else { at - self.time }
    }

    fn job(&self, job: JobId) -> JobId {
        JobId { seq: job.seq - self.jobs.get(&job.task).copied().unwrap_or(0), ..job }
    }

    /// Returns the event as it would have occurred earlier.
    fn event(&self, event: &Event) -> Event {
        let mut event = event.clone();
        match &mut event {
            Event::Arrival { job, release, deadline }
            | Event::Release { job, release, deadline } => {
                *job = self.job(*job);
                *release = self.time(*release);
                *deadline = self.time(*deadline);
            }
            Event::Measured { job, .. }
            | Event::Completion { job, .. }
            | Event::Ended { job }
            | Event::Step { job, .. }
            | Event::BudgetExhausted { job, .. } => *job = self.job(*job),
            Event::Join { .. }
            | Event::Leave { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::Timer { .. }
            | Event::CpuOnline { .. }
            | Event::CpuOffline { .. } => {}
        }
        event
    }

    /// Returns the action as it would have occurred earlier.
    fn action(&self, action: &Action) -> Action {
        let mut action = action.clone();
        match &mut action {
            Action::Run { job, .. }
            | Action::Abort { job }
            | Action::Grant { job, .. }
            | Action::EndJob { job, .. } => {
                *job = self.job(*job);
            }
            Action::SetTimer { at, .. } => *at = self.time(*at),
            Action::SetDates { job, release, deadline } => {
                *job = self.job(*job);
                *release = self.time(*release);
                *deadline = self.time(*deadline);
            }
            Action::Note { note } => {
                if let Note::Replenished { deadline, .. } = note {
                    *deadline = self.time(*deadline);
                }
            }
            Action::Idle { .. }
            | Action::ClearTimer { .. }
            | Action::SetSpeed { .. }
            | Action::Refuse { .. } => {}
        }
        action
    }
}

/// Two instants with equal states and equal future events have equal future decisions.
#[test]
fn the_same_state_has_the_same_future() {
    for_every_policy("futures", periodic(), futures_agree);
}

/// A job of the low level may have a budget of zero, and ends at the instant at which it is
/// dispatched. Jobs that arrive at that instant wait for its end. They were once left out of the
/// state.
#[test]
fn what_waits_within_an_instant_is_saved() {
    let task = |name: &str, period, deadline, wcet: [i64; 2], offset, demands: &[i64]| {
        let ns = Duration::from_ns;
        let mut task = Task::implicit(name, Service::from_ns(wcet[1]), ns(period));
        task.deadline = ns(deadline);
        task.wcet = wcet.map(Service::from_ns).to_vec().into();
        task.offset = ns(offset);
        let demands = demands.iter().map(|&demand| Service::from_ns(demand)).collect();
        task.execution = ExecutionModel::List(demands);
        task
    };
    let mut tasks = vec![
        task("a", 12, 12, [0, 1], 10, &[0]),
        task("b", 8, 5, [1, 2], 2, &[1, 1]),
        task("c", 10, 8, [1, 1], 1, &[1, 2, 2]),
        task("d", 20, 20, [3, 3], 18, &[3, 3]),
    ];
    for high in &mut tasks[..2] {
        high.criticality = Criticality(1);
    }
    for low in &mut tasks[2..] {
        low.wcet.truncate(1);
    }
    let mut system = System::new(1, tasks);
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    let policy = registry().build("amc", &system).unwrap();
    assert!(futures_agree("amc", &system, policy, 0).unwrap());
}

fn futures_agree(
    spec: &str,
    system: &System,
    policy: Box<dyn Policy>,
    seed: u64,
) -> Result<bool, TestCaseError> {
    let logged = Logged::new(policy.clone());
    let log = logged.log();
    run(system, logged, &SimOptions { seed, ..SimOptions::until(jobs(150, system)) });
    let log = log.lock().unwrap();
    let snapshots = snapshots(policy, &log);
    let mut seen: BTreeMap<&State, usize> = BTreeMap::new();
    let mut pairs = 0;
    for (late, snapshot) in snapshots.iter().enumerate() {
        let Some(&early) = seen.get(&snapshot.state) else {
            seen.insert(&snapshot.state, late);
            continue;
        };
        pairs += 1;
        if pairs > 10 {
            break;
        }
        let shift = Shift::between(&snapshots[early], snapshot);
        let mut copy = snapshots[early].policy.clone();
        for step in &log[late + 1..] {
            let now = shift.time(step.now);
            step.events.iter().for_each(|event| copy.on_event(now, shift.event(event)));
            let mut actions = Vec::new();
            copy.decide(now, &mut actions);
            let expected: Vec<Action> =
                step.actions.iter().map(|action| shift.action(action)).collect();
            prop_assert_eq!(
                &actions,
                &expected,
                "{} saves the same at {} and {}, and differs {} later",
                spec,
                snapshots[early].now,
                snapshot.now,
                now - snapshots[early].now
            );
        }
    }
    Ok(pairs > 0)
}
