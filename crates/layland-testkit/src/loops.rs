//! The two event loops of the simulator side by side: the fast one for fixed job priorities, and the
//! general one, its slow twin. All figures must be the same.

use crate::registry;
use layland_gen::Random;
use layland_model::{
    CpuId, CpuSet, Duration, ExecutionModel, Rate, ScheduleRule, Service, System, Task, Time,
};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use layland_sim::{EventLoop, SimOptions, simulate};
use layland_trace::{Both, FirstMiss, Labels, Refusals, Statistics, Summary};
use std::sync::atomic::AtomicBool;

/// The policies, with options, that the fast loop takes for some sets.
pub const POLICIES: [&str; 23] = [
    // Without groups it is partitioned.
    "groups",
    "g-edf",
    "c-edf",
    "p-edf",
    "g-edf:tie=running",
    "c-edf:tie=running",
    "p-edf:tie=running",
    "g-rm",
    "c-rm",
    "p-rm",
    "g-dm",
    "c-dm",
    "p-dm",
    "g-fp",
    "c-fp",
    "p-fp",
    "g-fl",
    "c-fl",
    "edf-us",
    "fpedf",
    "edf-k",
    "rm-us",
    "federated",
];

/// The result for one system under one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BothLoops {
    /// The policy refuses the system, or the fast loop does not take it.
    Other,
    /// The figures are the same.
    Same {
        /// True if some job was late.
        late: bool,
    },
    /// They differ: the figures of both, in words.
    Different(String),
}

/// The figures of a run.
#[derive(Debug, PartialEq)]
struct Figures {
    summary: Summary,
    first_miss: Option<Time>,
    end: Time,
    events: u64,
    decisions: u64,
}

fn figures(system: &System, policy: Box<dyn Policy>, options: &SimOptions<'_>) -> Figures {
    let statistics = Statistics::new(system.tasks.len(), system.platform.cpu_count());
    let mut recorder = Both(statistics, Both(FirstMiss::default(), Refusals::default()));
    // Not `simulate_figures`, which may need no loop for most of a run that recurs.
    let outcome = simulate(system, policy, &mut recorder, options).expect("a horizon");
    let Both(statistics, Both(FirstMiss(first_miss), _)) = recorder;
    Figures {
        summary: statistics.summary(&Labels::of(system)),
        first_miss,
        end: outcome.end,
        events: outcome.events,
        decisions: outcome.decisions,
    }
}

/// Compares the loops on a system up to this time.
///
/// # Panics
/// If a policy that the fast loop takes receives an event.
pub fn compare(system: &System, spec: &str, until: Time) -> BothLoops {
    let Ok(policy) = registry().build(spec, system) else { return BothLoops::Other };
    if !policy.is_highest_first() {
        return BothLoops::Other;
    }
    let options = SimOptions::until(until);
    let general = SimOptions { event_loop: EventLoop::General, ..options };
    let slow = figures(system, policy.clone(), &general);
    let fast = figures(system, Box::new(Unasked(policy)), &options);
    if slow == fast {
        return BothLoops::Same { late: slow.first_miss.is_some() };
    }
    BothLoops::Different(format!("{spec} until {until}\nslow: {slow:#?}\nfast: {fast:#?}"))
}

/// A policy of which no engine may ask a decision.
#[derive(Clone)]
struct Unasked(Box<dyn Policy>);

impl Policy for Unasked {
    fn on_event(&mut self, _now: Time, event: Event) {
        panic!("the fast loop should need no policy, but reports {event:?}");
    }
    fn decide(&mut self, _now: Time, _actions: &mut Vec<Action>) {
        panic!("the fast loop should need no decision");
    }
    fn save(&self, now: Time, state: &mut State) {
        self.0.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.0.needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.0.rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.0.counts()
    }
    fn is_highest_first(&self) -> bool {
        self.0.is_highest_first()
    }
}

/// Draws a system that the fast loop takes under every policy of [`POLICIES`] that accepts it, and the
/// end of its run.
pub fn draw(random: &mut Random) -> (System, Time) {
    let cpus = match random.below(8) {
        0 => random.between(33, 79),
        1..=3 => random.between(5, 20),
        _ => random.between(1, 4),
    } as usize;
    // More than 64 waiting jobs need another list.
    let most = if random.below(10) == 0 { 220 } else { 4 * cpus as i64 + 4 };
    let n = random.between(1, most) as usize;
    let grain = [1, 7, 1_000, 1_000_000][random.below(4) as usize];
    // Few different periods: many events at one instant.
    let harmonic = random.below(2) == 0;
    // In percent of the capacity.
    let load = random.between(20, 130);
    let mut tasks = Vec::with_capacity(n);
    for index in 0..n {
        let period = if harmonic { 8 << random.below(4) } else { random.between(5, 200) };
        let share = period * load * cpus as i64 / (100 * n as i64);
        let wcet = random.between(1, (2 * share).max(1)).min(period);
        let length = |units: i64| Duration::from_ns(units * grain);
        let mut task =
            Task::implicit(format!("t{index}"), Service::from_ns(wcet * grain), length(period));
        task.deadline = match random.below(4) {
            0 => length(random.between(wcet, period)),
            1 => length(period + random.between(0, period)),
            _ => length(period),
        };
        if random.below(2) == 0 {
            task.offset = length(random.between(0, period));
        }
        task.rank = random.between(0, 3);
        task.priority = Some(index as i64);
        if random.below(4) == 0 {
            task.execution = ExecutionModel::Fraction(Rate::new(random.between(1, 5), 4));
        }
        tasks.push(task);
    }
    let longest = tasks.iter().map(|task| task.period.ns()).max().unwrap_or(1);
    let mut system = System::new(cpus, tasks);
    let mut priorities: Vec<i64> = (0..n as i64).collect();
    random.shuffle(&mut priorities);
    for (task, &priority) in system.tasks.values_mut().zip(&priorities) {
        task.priority = Some(priority);
    }
    if random.below(3) == 0 {
        let size = random.between(1, cpus as i64) as usize;
        let all: Vec<CpuId> = system.platform.cpus().collect();
        let clusters: Vec<CpuSet> =
            all.chunks(size).map(|chunk| chunk.iter().copied().collect()).collect();
        for task in system.tasks.values_mut() {
            task.cluster = random.below(clusters.len() as u64) as usize;
        }
        system.platform.clusters = clusters;
    }
    (system, Time::from_ns(longest * random.between(1, 30) + random.between(0, 3)))
}

/// Returns true if a run in the fast loop ends soon after it is interrupted, with the figures up to
/// then.
pub fn is_interrupted_alike(system: &System, spec: &str) -> bool {
    let flag = AtomicBool::new(true);
    let policy = || registry().build(spec, system).expect("it accepts the system");
    let far =
        SimOptions { interrupt: Some(&flag), ..SimOptions::until(Time::from_ms(100_000_000)) };
    let mut statistics = Statistics::default();
    let outcome = simulate(system, policy(), &mut statistics, &far).expect("a horizon");
    let mut again = Statistics::default();
    let general = SimOptions { event_loop: EventLoop::General, ..SimOptions::until(outcome.end) };
    simulate(system, policy(), &mut again, &general).expect("a horizon");
    let labels = Labels::of(system);
    let summary =
        |statistics: &Statistics| Summary { interrupted: false, ..statistics.summary(&labels) };
    outcome.interrupted && summary(&statistics) == summary(&again)
}
