//! What is guaranteed where jobs lock and suspend themselves. The policies here only say what they are: nothing runs.

use layland_analysis::Verdict;
use layland_guarantee::{AssessOptions, Assessment, Bound, assess, scaled};
use layland_model::{
    Algorithm, CpuId, CpuSet, Duration, Form, Locking, Order, Protocol, Resource, ResourceId,
    ScheduleRule, Service, Step, System, Task, TaskId, Time,
};
use layland_policy::{Action, Count, Event, Needs, Policy, PolicyInfo, Registry, State, ordered};

/// Partitioned scheduling that says that it follows a protocol.
#[derive(Clone)]
struct Follows<P> {
    policy: P,
    protocol: Protocol,
}

impl<P: Policy + Clone + 'static> Policy for Follows<P> {
    fn on_event(&mut self, now: Time, event: Event) {
        self.policy.on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.policy.decide(now, actions);
    }
    fn save(&self, now: Time, state: &mut State) {
        self.policy.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.policy.needs()
    }
    fn rule(&self) -> ScheduleRule {
        let ScheduleRule::HighestFirst { groups, order } = self.policy.rule() else {
            panic!("it has the rule of partitioned scheduling");
        };
        ScheduleRule::Locking(Locking { groups, order, protocol: self.protocol })
    }
    fn counts(&self) -> Vec<Count> {
        self.policy.counts()
    }
}

/// Policies with names as in `fp-pcp`.
fn registry() -> Registry {
    let mut registry = Registry::standard();
    for order in Order::ALL {
        for protocol in Protocol::ALL {
            let name = format!("{}-{}", order.abbreviation(), protocol.abbreviation());
            let info = PolicyInfo::new(name.clone(), name, "for tests", move |system, options| {
                let policy = ordered::partitioned(order, system, options)?;
                Ok(Box::new(Follows { policy, protocol }))
            })
            .implementing(Algorithm::Ordered(Form::Partitioned, order))
            .following_steps();
            registry = registry.with(info).unwrap();
        }
    }
    registry
}

const A: ResourceId = ResourceId(0);
const B: ResourceId = ResourceId(1);

fn run(us: i64) -> Step {
    Step::Run(Service::from_us(us))
}

fn hold(resource: ResourceId, us: i64) -> Vec<Step> {
    vec![Step::Lock(resource), run(us), Step::Unlock(resource)]
}

/// A task with a period of so many microseconds, and a priority.
fn task(name: &str, cpu: u32, priority: i64, period: i64, steps: Vec<Step>) -> Task {
    let executed = steps.iter().map(|step| match step {
        Step::Run(length) => *length,
        Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => Service::ZERO,
    });
    let c = executed.sum();
    Task {
        priority: Some(priority),
        affinity: Some(CpuSet::single(CpuId(cpu))),
        steps: Some(steps.into()),
        ..Task::implicit(name, c, Duration::from_us(period))
    }
}

fn system(cpus: usize, tasks: Vec<Task>) -> System {
    let mut system = System::new(cpus, tasks);
    let resource = |name: &str| Resource { name: name.to_owned(), home: Some(CpuId(0)) };
    system.resources = ["a", "b"].map(resource).to_vec();
    assert_eq!(system.validate(), []);
    system
}

/// Chained blocking: the first task can meet a section of each of the others, or with ceilings of one.
fn chained(deadline: i64) -> System {
    let mut high = task("high", 0, 0, 50, [hold(A, 1), hold(B, 1), vec![run(1)]].concat());
    high.deadline = Duration::from_us(deadline);
    let middle = task("middle", 0, 1, 50, [vec![run(1)], hold(B, 3)].concat());
    let low = task("low", 0, 2, 50, [hold(A, 4), vec![run(1)]].concat());
    system(1, vec![high, middle, low])
}

fn assessed(policy: &str, system: &System) -> Assessment {
    assess(&registry(), policy, system, &AssessOptions::with_margin()).unwrap()
}

fn response(found: &Assessment, task: u32) -> Option<Duration> {
    match &found.bounds[TaskId(task)] {
        Bound::Response { within, .. } => Some(*within),
        Bound::Tardiness { .. } | Bound::Unknown => None,
    }
}

#[test]
fn the_protocol_decides_which_tests_speak() {
    let system = chained(8);
    for (policy, verdict, by) in [
        ("fp-none", Verdict::Unknown, None),
        ("fp-pip", Verdict::Unknown, None),
        ("fp-pcp", Verdict::Yes, Some("PCP-RTA")),
        ("fp-ipcp", Verdict::Yes, Some("PCP-RTA")),
        ("dm-pcp", Verdict::Yes, Some("PCP-RTA-DM")),
        ("fp-mpcp", Verdict::Yes, Some("MPCP")),
        ("fp-dpcp", Verdict::Yes, Some("DPCP")),
        ("fp-fmlp+", Verdict::Yes, Some("FMLP+")),
        ("fp-msrp", Verdict::Yes, Some("MSRP")),
        ("edf-srp", Verdict::Yes, Some("SRP")),
        // Nobody knows anything of these.
        ("edf-pip", Verdict::Unknown, None),
        ("edf-fmlp+", Verdict::Unknown, None),
    ] {
        let found = assessed(policy, &system);
        assert_eq!(
            (found.verdict, found.decided_by),
            (verdict, by),
            "{policy}: {:?}",
            found.reasons
        );
        // Older tests are not even asked.
        let strangers = ["RTA", "RTA-DM", "QPA"];
        assert!(found.said.iter().all(|said| !strangers.contains(&said.test.name)), "{policy}");
    }
    let found = assessed("fp-pcp", &system);
    // 3 and one section of 4; the second is blocked by the same one.
    assert_eq!(response(&found, 0), Some(Duration::from_us(7)));
    assert_eq!(response(&found, 1), Some(Duration::from_us(11)));
    let roomy = assessed("fp-pip", &chained(10));
    assert_eq!((roomy.verdict, response(&roomy, 0)), (Verdict::Yes, Some(Duration::from_us(10))));
}

#[test]
fn margins_scale_sections() {
    let system = chained(8);
    let margin = assessed("fp-pcp", &system).margin.unwrap().thousandths;
    // 7 us fit 8 us 1.142 times.
    assert_eq!(margin, 1142);
    let more = scaled(&system, margin + 1);
    assert_eq!(more.validate(), []);
    assert_eq!(assessed("fp-pcp", &more).verdict, Verdict::Unknown);
    let less = scaled(&system, margin);
    assert_eq!(less.validate(), []);
    assert_eq!(assessed("fp-pcp", &less).verdict, Verdict::Yes);
    let held = |system: &System| system.tasks[TaskId(2)].sections()[0].length.ns();
    assert_eq!(held(&less), 4_568);
}

#[test]
fn between_cpus_the_whole_system_is_asked_about() {
    let steps = |us| [vec![run(2)], hold(A, us), vec![run(1)]].concat();
    let tasks = vec![task("x", 0, 0, 40, steps(2)), task("y", 1, 1, 40, steps(3))];
    let shared = system(2, tasks);
    for (policy, by) in
        [("fp-mpcp", "MPCP"), ("fp-fmlp+", "FMLP+"), ("fp-dpcp", "DPCP"), ("rm-msrp", "MSRP-RM")]
    {
        let found = assessed(policy, &shared);
        assert_eq!((found.verdict, found.decided_by), (Verdict::Yes, Some(by)), "{policy}");
        // Each waits for the section of the other once; under DPCP `y` has its section on the CPU of `x`.
        let waits = Duration::from_us(8);
        assert_eq!(response(&found, 0), Some(waits), "{policy}");
    }
    // A protocol for one CPU says nothing of it.
    let found = assessed("fp-pcp", &shared);
    assert_eq!(found.verdict, Verdict::Unknown);
    let why = "PCP-RTA does not apply: task `x` locks `a`, which tasks on other CPUs use, too";
    assert!(found.reasons.iter().any(|reason| reason == why), "{:?}", found.reasons);
}

#[test]
fn self_suspension_has_its_tests_under_every_protocol() {
    // `C`, `S` and `T` of Chen, Nelissen and Huang 2016.
    let sleepy = |name, priority, c, s, t| {
        task(name, 0, priority, t, vec![Step::Suspend(Duration::from_us(s)), run(c)])
    };
    let last = task("3", 0, 2, 50, vec![run(4)]);
    let suspending = system(1, vec![sleepy("1", 0, 4, 5, 10), sleepy("2", 1, 6, 1, 19), last]);
    for protocol in ["none", "pip", "pcp", "mpcp", "fmlp+"] {
        let found = assessed(&format!("fp-{protocol}"), &suspending);
        assert_eq!(found.verdict, Verdict::Yes, "{protocol}");
        assert_eq!(response(&found, 2), Some(Duration::from_us(32)), "{protocol}");
    }
    // What is not sound decides nothing.
    let found = assessed("fp-pip", &suspending);
    assert_ne!(found.decided_by, Some("SUSP-JITTER-S"));
}

/// Where jobs only execute every protocol is partitioned scheduling.
#[test]
fn older_tests_speak_where_jobs_only_execute() {
    let plain =
        system(1, vec![task("a", 0, 0, 40, vec![run(10)]), task("b", 0, 1, 40, vec![run(30)])]);
    for (policy, by) in
        [("fp-none", "RTA"), ("rm-pcp", "RTA-RM"), ("edf-srp", "QPA"), ("edf-none", "QPA")]
    {
        let found = assessed(policy, &plain);
        assert_eq!((found.verdict, found.decided_by), (Verdict::Yes, Some(by)), "{policy}");
    }
}

/// What no scheduler can do no protocol can.
#[test]
fn overload_is_ruled_out() {
    let tasks = vec![task("a", 0, 0, 40, hold(A, 30)), task("b", 0, 1, 40, hold(A, 11))];
    let found = assessed("edf-pip", &system(1, tasks));
    assert_eq!((found.verdict, found.decided_by), (Verdict::No, Some("CAPACITY")));
}
