//! Small systems, exactly: every state that a set of sporadic tasks can reach, whenever its jobs come.
//!
//! Releases and execution times are whole units of time, at least a period apart. A set whose states never
//! contain a late job is schedulable, and the longest responses are known; otherwise there is a pattern of
//! releases with a late job. That decides whether a verdict of `layland check` is right, where random
//! simulations can only fail to refute it.
//!
//! - [`Model`]: a system in units, and how one unit goes by (`rules.rs`);
//! - [`search()`]: all of its states (`search.rs`);
//! - [`judge`]: a policy of the registry, its verdict and its bounds against the search;
//! - [`replay`]: the pattern of a miss in the simulator, so that the search itself is held against something.
//!
//! With [`Rule::AnyWeak`] an analysis is held against every scheduler that keeps the weak invariant: more
//! than the policies do, and just what the analyses of affinities claim.

mod rules;
mod search;

pub use rules::{CPUS, LONGEST, Model, Rule, TASKS};
pub use search::{Arrival, Outcome, search};

use crate::registry;
use layland_analysis::Verdict;
use layland_gen::{Aspect, Random};
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Index, Rate, Service, System, Task, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_trace::Counters;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The states that a search may look at.
pub const STATES: usize = 400_000;

/// What a verdict was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// *Yes*, and no job is ever late.
    RightYes,
    /// *No*, and a job can be late.
    RightNo,
    /// *Unknown*; no job is ever late.
    UnknownMeets,
    /// *Unknown*; a job can be late.
    UnknownMisses,
    /// *Yes*, and a job can be late.
    FalseYes,
    /// *No*, and no job is ever late.
    FalseNo,
    /// A response is longer than its bound.
    BoundExceeded,
    /// There are too many states.
    GaveUp,
}

/// How a policy and its verdict did on a system.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The verdict, weighed.
    pub judgement: Judgement,
    /// What decided, and what was found.
    pub why: String,
    /// The pattern with the miss, if there is one.
    pub arrivals: Vec<Arrival>,
}

/// Weighs the verdict on a policy of the registry. None if the policy refuses the system, or there is no model.
pub fn judge(spec: &str, system: &System, any_weak: bool, shorter: bool) -> Option<Judged> {
    let policy = registry().build(spec, system).ok()?;
    let model = Model::new(system, &*policy, any_weak)?;
    let found =
        assess(registry(), spec, system, &AssessOptions::by_tests()).expect("the policy exists");
    if shorter && model.has_laxity() {
        // Laxity is that of the WCET, and a state knows what is left of the job.
        return None;
    }
    let outcome = search(&model, shorter, STATES);
    let name = |task: usize| &system.tasks.values().nth(task).expect("it has it").name;
    let judged = |judgement, why| Judged { judgement, why, arrivals: Vec::new() };
    Some(match (found.verdict, outcome) {
        (_, Outcome::GaveUp) => judged(Judgement::GaveUp, String::new()),
        (verdict, Outcome::Misses { arrivals, task, at }) => {
            let judgement = match verdict {
                Verdict::Yes => Judgement::FalseYes,
                Verdict::No => Judgement::RightNo,
                Verdict::Unknown => Judgement::UnknownMisses,
            };
            let why = format!(
                "{:?} says {}; {} misses at {at}",
                found.decided_by,
                verdict.name(),
                name(task)
            );
            Judged { judgement, why, arrivals }
        }
        (verdict, Outcome::Meets { responses, .. }) => {
            for ((_, bound), (task, &seen)) in found.bounds.iter().zip(responses.iter().enumerate())
            {
                if let Bound::Response { within, by, .. } = bound
                    && within.ns() < seen
                {
                    let why =
                        format!("{by}: a response of {} is {seen}, bound {within}", name(task));
                    return Some(judged(Judgement::BoundExceeded, why));
                }
            }
            let judgement = match verdict {
                Verdict::Yes => Judgement::RightYes,
                Verdict::No => Judgement::FalseNo,
                Verdict::Unknown => Judgement::UnknownMeets,
            };
            judged(judgement, format!("{:?}; responses {responses:?}", found.decided_by))
        }
    })
}

/// The system with these jobs and no others.
pub fn with_arrivals(system: &System, arrivals: &[Arrival]) -> System {
    let mut system = system.clone();
    for (i, task) in system.tasks.values_mut().enumerate() {
        let own: Vec<&Arrival> = arrivals.iter().filter(|arrival| arrival.task == i).collect();
        task.behaviour =
            Behaviour::Explicit(own.iter().map(|arrival| Time::from_ns(arrival.at)).collect());
        task.jobs = Some(own.len() as u64);
        let work: Vec<Service> = own.iter().map(|arrival| Service::from_ns(arrival.work)).collect();
        if !work.is_empty() {
            task.execution = ExecutionModel::List(work);
        }
    }
    system
}

/// Whether a job is late in the simulator, with these jobs.
pub fn replay(spec: &str, system: &System, arrivals: &[Arrival]) -> bool {
    // A task without jobs is one that comes after the end.
    let (given, end) = (with_arrivals(system, arrivals), Time::from_ns(10_000));
    let mut given = given;
    for task in given.tasks.values_mut().filter(|task| task.jobs == Some(0)) {
        (task.behaviour, task.jobs) = (Behaviour::Periodic, None);
        task.offset = Duration::from_ns(20_000);
    }
    // The partition, the clusters and the priorities are those of the set as it is.
    let policy = registry().build(spec, system).expect("it was built before");
    let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
    simulate(&given, policy, &mut counters, &SimOptions::until(end)).expect("it is in range");
    counters.total().missed > 0
}

/// A small random system: up to `tasks` tasks, periods up to 8, on 2 or 3 CPUs; with affinities, every second
/// time nested ones.
pub fn draw(seed: u64, index: u64, tasks: u64, affinities: bool) -> System {
    let mut random = Random::new(seed, index, Aspect::Utilizations);
    let cpus = if random.below(4) == 0 { 3 } else { 2 };
    let count = tasks.max(2) - random.below(2).min(tasks.max(2) - 2);
    let laminar = random.below(2) == 0;
    let load = Rate::new(random.between(50, 110) * cpus, 100);
    let (mut sum, mut set) = (Rate::ZERO, Vec::new());
    for index in 0..count {
        let period = random.between(2, 8);
        let wcet = random.between(1, (period * 3 / 4).max(1));
        let own = Rate::new(wcet, period);
        if &sum + &own > load && !set.is_empty() {
            continue;
        }
        sum = &sum + &own;
        let (c, t) = (Service::from_ns(wcet), Duration::from_ns(period));
        let mut task = Task::implicit(format!("t{index}"), c, t);
        if random.below(3) == 0 {
            task.deadline = Duration::from_ns(random.between(wcet, period));
        }
        task.priority = Some(random.between(0, 5));
        if affinities {
            let all = (1u64 << cpus) - 1;
            let bits = match random.below(5) {
                0 | 1 => all,
                // Nested: single CPUs and the first two.
                2 if laminar => 3.min(all),
                _ if laminar => 1 << random.below(cpus as u64),
                _ => 1 + random.below(all),
            };
            let has = |cpu: &usize| bits >> cpu & 1 == 1;
            task.affinity =
                Some((0..cpus as usize).filter(has).map(CpuId::from_index).collect::<CpuSet>());
        }
        set.push(task);
    }
    System::new(cpus as usize, set)
}

/// What many systems say of a policy.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How often each judgement was.
    pub counts: BTreeMap<Judgement, usize>,
    /// The first system of each bad judgement: its number, and what happened.
    pub bad: Vec<(u64, Judged)>,
    /// Patterns of misses that were run in the simulator.
    pub replayed: usize,
    /// Systems whose pattern of a miss did not miss there.
    pub not_replayed: Vec<u64>,
}

impl Tally {
    /// How often this judgement was.
    pub fn count(&self, judgement: Judgement) -> usize {
        self.counts.get(&judgement).copied().unwrap_or(0)
    }
    /// How many systems there were.
    pub fn sets(&self) -> usize {
        self.counts.values().sum()
    }
}

/// What is asked of [`tally`].
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The first system, and how many.
    pub seed: u64,
    /// How many systems.
    pub sets: u64,
    /// The most tasks of one.
    pub tasks: u64,
    /// Any scheduler with the weak invariant, instead of the policy.
    pub any_weak: bool,
    /// Whether jobs may execute less than their WCET.
    pub shorter: bool,
}

/// Weighs a policy on random systems. With affinities where it is about them.
pub fn tally(spec: &str, asked: Asked) -> Tally {
    let affinities = ["weak", "strong", "hpa"].iter().any(|form| spec.starts_with(form));
    let judged: Vec<(u64, Option<(Judged, bool)>)> = (0..asked.sets)
        .into_par_iter()
        .map(|index| {
            let system = draw(asked.seed, index, asked.tasks, affinities);
            let judged = judge(spec, &system, asked.any_weak, asked.shorter).map(|judged| {
                let missed = judged.arrivals.is_empty()
                    || asked.any_weak
                    || replay(spec, &system, &judged.arrivals);
                (judged, missed)
            });
            (index, judged)
        })
        .collect();
    let mut tally = Tally::default();
    for (index, judged) in judged {
        let Some((judged, missed)) = judged else { continue };
        *tally.counts.entry(judged.judgement).or_default() += 1;
        if !missed {
            tally.not_replayed.push(index);
        }
        tally.replayed += usize::from(!judged.arrivals.is_empty() && !asked.any_weak);
        let is_bad = matches!(
            judged.judgement,
            Judgement::FalseYes | Judgement::FalseNo | Judgement::BoundExceeded
        );
        if is_bad {
            tally.bad.push((index, judged));
        }
    }
    tally
}
