//! Exact analysis of small systems: every state that a set of sporadic tasks can reach, for all
//! arrivals of jobs.
//!
//! Releases and execution times are whole units of time, and releases are at least a period apart.
//! If no state contains a late job, the set is schedulable, and the longest response times are
//! known. Otherwise there is a pattern of releases with a late job. The search decides whether a
//! verdict of `layland check` is right, while random simulations can only fail to refute it.
//!
//! - [`Model`]: a system in units, and its transition in one unit (`rules.rs`);
//! - [`search()`]: all of its states (`search.rs`);
//! - [`judge`]: compares the verdict and the bounds of a policy of the registry with the search;
//! - [`compare`]: the search of `layland check` beside this one (`compared.rs`);
//! - [`replay`]: repeats the pattern of a miss in the simulator, which checks the search itself.
//!
//! With [`Rule::AnyWeak`], an analysis is compared with every scheduler that keeps the weak
//! invariant. These are more schedules than those of the policies, and exactly those that the
//! analyses of affinities claim to cover.

mod compared;
mod rules;
mod search;

pub use compared::{Agreed, compare, in_units};
pub use rules::{CPUS, LONGEST, Model, Rule, TASKS};
pub use search::{Arrival, SearchResult, search};

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

/// The maximum number of states in a search.
pub const STATES: usize = 400_000;

/// The comparison of a verdict with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// The verdict is *yes*, and no job is ever late.
    RightYes,
    /// The verdict is *no*, and a job can be late.
    RightNo,
    /// The verdict is *unknown*, and no job is ever late.
    UnknownMeets,
    /// The verdict is *unknown*, and a job can be late.
    UnknownMisses,
    /// The verdict is *yes*, but a job can be late.
    FalseYes,
    /// The verdict is *no*, but no job is ever late.
    FalseNo,
    /// A response time exceeds its bound.
    BoundExceeded,
    /// There are too many states.
    GaveUp,
}

/// The judgement of a policy and its verdict on a system.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The judgement of the verdict.
    pub judgement: Judgement,
    /// The deciding test, and the result of the search.
    pub why: String,
    /// The pattern of releases that leads to a miss, if there is one.
    pub arrivals: Vec<Arrival>,
}

/// Judges the verdict on a policy of the registry. Returns `None` if the policy rejects the system
/// or has no model.
pub fn judge(spec: &str, system: &System, any_weak: bool, shorter: bool) -> Option<Judged> {
    let policy = registry().build(spec, system).ok()?;
    let model = Model::new(system, &*policy, any_weak)?;
    let found =
        assess(registry(), spec, system, &AssessOptions::by_tests()).expect("the policy exists");
    if shorter && model.has_laxity() {
        // The laxity depends on the WCET, but a state only has the remaining work of the job.
        return None;
    }
    let outcome = search(&model, shorter, STATES);
    let name = |task: usize| &system.tasks.values().nth(task).expect("it has it").name;
    let judged = |judgement, why| Judged { judgement, why, arrivals: Vec::new() };
    Some(match (found.verdict, outcome) {
        (_, SearchResult::GaveUp) => judged(Judgement::GaveUp, String::new()),
        (verdict, SearchResult::Misses { arrivals, task, at }) => {
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
        (verdict, SearchResult::Meets { responses, .. }) => {
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

/// Returns the system with exactly these jobs.
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

/// Returns true if a job is late in the simulator, with these jobs.
pub fn replay(spec: &str, system: &System, arrivals: &[Arrival]) -> bool {
    // A task without jobs becomes one whose first job arrives after the end.
    let (given, end) = (with_arrivals(system, arrivals), Time::from_ns(10_000));
    let mut given = given;
    for task in given.tasks.values_mut().filter(|task| task.jobs == Some(0)) {
        (task.behaviour, task.jobs) = (Behaviour::Periodic, None);
        task.offset = Duration::from_ns(20_000);
    }
    // The partition, the clusters and the priorities are those of the original set.
    let policy = registry().build(spec, system).expect("it was built before");
    let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
    simulate(&given, policy, &mut counters, &SimOptions::until(end)).expect("it is in range");
    counters.total().missed > 0
}

/// Draws a small random system: up to `tasks` tasks with periods up to 8, on 2 or 3 CPUs. If it has
/// affinities, they are nested in every second system.
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
                // Nested masks: single CPUs and the first two.
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

/// The results of many systems for a policy.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of systems with each judgement.
    pub counts: BTreeMap<Judgement, usize>,
    /// The first system of each bad judgement: its number, and the judgement.
    pub bad: Vec<(u64, Judged)>,
    /// The number of patterns of misses that were repeated in the simulator.
    pub replayed: usize,
    /// The systems whose pattern of a miss did not miss in the simulator.
    pub not_replayed: Vec<u64>,
}

impl Tally {
    /// Returns the number of systems with this judgement.
    pub fn count(&self, judgement: Judgement) -> usize {
        self.counts.get(&judgement).copied().unwrap_or(0)
    }
    /// Returns the number of systems.
    pub fn sets(&self) -> usize {
        self.counts.values().sum()
    }
}

/// The parameters of [`tally`].
#[derive(Clone, Copy, Debug)]
pub struct TallyOptions {
    /// The seed of the systems.
    pub seed: u64,
    /// The number of systems.
    pub sets: u64,
    /// The maximum number of tasks in a system.
    pub tasks: u64,
    /// True for any scheduler with the weak invariant, instead of the policy.
    pub any_weak: bool,
    /// True if jobs may execute for less than their WCETs.
    pub shorter: bool,
}

/// Judges a policy on random systems. They have affinities if the policy's form uses them.
pub fn tally(spec: &str, asked: TallyOptions) -> Tally {
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
