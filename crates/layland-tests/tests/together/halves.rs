//! The two halves of a decision: [`Policy::update`] and the rest. An engine that calls the first half
//! apart, to time it, gets the decisions of one that does not; and each half does its own work.

use layland_gen::{Aspect, Random};
use layland_model::{Duration, ScheduleRule, Service, System, Task, Time};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use layland_sim::{SimOptions, simulate};
use layland_testkit::differential::full;
use layland_testkit::optimal::draw::Drawn;
use layland_testkit::registry;
use layland_trace::{NoRecord, Trace};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The policies of parts that plan with windows, and two that have no halves.
const POLICIES: &[&str] =
    &["run", "qps", "qps:master=edf", "u-edf", "lre-tl", "dp-wrap", "pd2", "p-edf", "g-edf"];

/// The counts of all decisions by name: those of updates, and those of selections.
type Done = BTreeMap<&'static str, [u64; 2]>;

/// A policy whose updates are called apart, some of them twice and some never.
#[derive(Clone)]
struct Halved {
    policy: Box<dyn Policy>,
    random: Random,
    done: Arc<Mutex<Done>>,
}

impl Halved {
    /// Adds what has been counted since `before` to one of the halves.
    fn note(&self, before: &[Count], half: usize) {
        let mut done = self.done.lock().expect("no test thread panicked");
        for (now, before) in self.policy.counts().iter().zip(before) {
            done.entry(now.name).or_default()[half] += now.count - before.count;
        }
    }
}

impl Policy for Halved {
    fn on_event(&mut self, now: Time, event: Event) {
        let before = self.policy.counts();
        self.policy.on_event(now, event);
        self.note(&before, 0);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        let times = self.random.below(3);
        let before = self.policy.counts();
        (0..times).for_each(|_| self.policy.update(now));
        if times > 0 {
            self.note(&before, 0);
        }
        let before = self.policy.counts();
        self.policy.decide(now, actions);
        if times > 0 {
            self.note(&before, 1);
        }
    }
    fn save(&self, now: Time, state: &mut State) {
        self.policy.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.policy.needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.policy.rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.policy.counts()
    }
}

/// Returns the trace and the counts of a run.
fn run(system: &System, policy: Box<dyn Policy>, until: Time) -> (Trace, Vec<Count>) {
    let mut trace = Trace::default();
    let outcome = simulate(system, policy, &mut trace, &SimOptions::until(until));
    let counts = outcome.expect("the horizon is in range").policy.counts();
    (trace, counts)
}

/// At full load, periodic and sporadic: the schedule, and everything that the policy counts, is the
/// same with and without a call of the first half.
#[test]
fn an_update_apart_changes_no_schedule() {
    let mut runs = BTreeMap::new();
    let mut all: BTreeMap<&str, Done> = BTreeMap::new();
    for sporadic in [false, true] {
        for index in 0..60 {
            let Drawn { system, until } = full(77, index, sporadic);
            for &spec in POLICIES {
                let Ok(policy) = registry().build(spec, &system) else { continue };
                let done = Arc::default();
                let halved = Halved {
                    policy: policy.clone(),
                    random: Random::new(3, index, Aspect::Utilizations),
                    done: Arc::clone(&done),
                };
                let (whole, halved) =
                    (run(&system, policy, until), run(&system, Box::new(halved), until));
                assert_eq!(whole.0, halved.0, "{spec} {index}: {system:#?}");
                assert_eq!(whole.1, halved.1, "{spec} {index}");
                *runs.entry(spec).or_insert(0) += 1;
                for (name, [update, selection]) in &*done.lock().unwrap() {
                    let sums = all.entry(spec).or_default().entry(name).or_default();
                    *sums = [sums[0] + update, sums[1] + selection];
                }
            }
        }
    }
    assert!(POLICIES.iter().all(|spec| runs[spec] >= 20), "{runs:?}");
    // RUN updates its tree in the first half alone. In QPS intervals and modes are of the first half,
    // and invocations and chains of masters of the second.
    for (spec, name, half) in [
        ("run", "updates", 0),
        ("run", "server_updates", 0),
        ("qps", "updates", 0),
        ("qps", "intervals", 0),
        ("qps", "mode_changes", 0),
        ("qps", "events", 1),
        ("qps", "chain_steps", 1),
    ] {
        let done = all[spec][name];
        assert!(done[half] > 100 && done[1 - half] == 0, "{spec} {name}: {done:?}");
    }
}

fn task(wcet: i64, period: i64) -> Task {
    Task::implicit("t", Service::from_ms(wcet), Duration::from_ms(period))
}

fn count(spec: &str, system: &System, until_ms: i64, name: &str) -> u64 {
    let policy = registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let until = SimOptions::until(Time::from_ms(until_ms));
    let outcome = simulate(system, policy, &mut NoRecord, &until).expect("it is short");
    let counts = outcome.policy.counts();
    counts.iter().find(|count| count.name == name).expect("it is counted").count
}

/// The counts of updates by hand. A run includes the instant of its horizon, so that it ends before a release.
#[test]
fn updates_of_servers_are_counted() {
    // A task on a CPU: the server of RUN gets a window with each job, and QPS has none.
    let alone = System::new(1, vec![task(2, 10)]);
    assert_eq!(count("run", &alone, 99, "server_updates"), 10);
    assert_eq!(count("qps", &alone, 99, "server_updates"), 0);
    assert_eq!(count("qps", &alone, 99, "chain_steps"), 0);
    // Three tasks of 2/3 with equal periods: in each period the four servers of RUN get a window, and
    // its root turns from one dual to the next: three times in the first period, and twice later, since
    // the last one goes on.
    let three = System::new(2, vec![task(4, 6), task(4, 6), task(4, 6)]);
    assert_eq!(count("run", &three, 17, "server_updates"), 7 + 6 + 6);
    // QPS: two tasks have a CPU, and their excess is a master on the other. In each period there is one
    // interval of three servers, and the master begins and ends.
    assert_eq!(count("qps", &three, 17, "intervals"), 3);
    let updates = count("qps", &three, 17, "server_updates");
    assert!((9..=9 + 6).contains(&updates), "{updates}");
    assert!(count("qps", &three, 17, "chain_steps") >= 3);
}
