//! Tests of mixed criticality. Sets that a safe analysis accepts must survive adversarial
//! simulations with its mechanism, and some sets that an unsound analysis accepts must not.
//!
//! A *run* gives every task releases at least a period apart, from any offset on, and demands. It
//! belongs to a level `l`: jobs of tasks of level `l` or above execute for at most `C(l)`, and the
//! demands of the others are arbitrary. No job of a task of level `l` or above may then miss its
//! deadline. The checker must also find the guarantee kept in the trace, which states this for each
//! busy period.

pub mod anew;
mod literal;
mod rule;
pub mod ticks;

pub use literal::Literal;
pub use rule::ZeroSlackRule;

use crate::registry;
use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_model::{
    Behaviour, Criticality, Duration, ExecutionModel, Levels, Service, System, Task, TaskId, Time,
};
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_trace::Trace;

/// Policies whose analysis is safe, each with the parameters that the analysis finds.
pub const SAFE: &[&str] = &[
    "rms",
    "cms",
    "smc",
    "smc:order=rm",
    "smc:order=cm",
    "pt",
    "zss",
    "zss:late=demote",
    "amc",
    "amc:own_overrun=cut",
    "amc:order=amc-max",
    "amc:order=amc-ia",
    "amc:order=amc-ia:own_overrun=cut",
    "amc:order=rm",
    "plrs",
    "plrs:own_overrun=cut",
    "plrs:lists=lb",
    "ocbp",
    "ocbp:own_overrun=cut",
    "ocbp:releases=together",
    "ocbp:lists=lb",
    "edf-vd",
    "edf-vd:deadlines=whole",
    "edf-vd:deadlines=tuned",
];

/// Policies with parameters that are known to be unsafe. The search must be able to break them.
pub const UNSOUND: &[&str] = &[
    "zss:instants=paper",
    "plrs:lists=ija",
    "plrs:lists=ija-floor",
    "ocbp:lists=ija",
    "ocbp:lists=ija-floor",
];

/// Draws a random set for one CPU: 2 to 5 tasks with periods of 4 to 30, and 2 to 4 levels.
pub fn draw_set(random: &mut Random) -> System {
    let mut below = |n: i64| random.below(n as u64) as i64;
    let levels = 2 + below(3) * below(2);
    let count = 2 + below(4);
    let load = 3 + below(6);
    let task = |index: i64| {
        let period = 4 + below(27);
        let deadline = if below(2) == 0 { period } else { period - below(period / 2 + 1) };
        let criticality = below(levels);
        let most = (period * load / 8 / count).max(1);
        let mut wcet = 1 + below(most) - i64::from(criticality > 0 && below(8) == 0);
        let jumps_often = below(4) == 0;
        let bounds = (0..levels).map(|level| {
            if level > 0 && level <= criticality && (jumps_often || level == criticality) {
                wcet += below(most + 1);
            }
            wcet
        });
        let mut bounds: Vec<i64> = bounds.collect();
        // The task's bound at its own level is positive.
        let own = bounds[criticality as usize].max(1);
        bounds[criticality as usize..].fill(own);
        let name = format!("tau{index}");
        let mut task = Task::implicit(name, Service::from_ns(1), Duration::from_ns(period));
        task.deadline = Duration::from_ns(deadline);
        task.criticality = Criticality(criticality as u8);
        task.wcet = bounds.into_iter().map(Service::from_ns).collect();
        task
    };
    let tasks = (0..count).map(task).collect();
    let mut system = System::new(1, tasks);
    system.levels = Levels::new((0..levels).map(|level| format!("L{level}")).collect());
    system
}

/// Gives the tasks releases and demands of a run of a random level, and returns the level.
pub fn draw_run(random: &mut Random, system: &System, until: i64) -> (System, usize) {
    let mut below = |n: i64| random.below(n.max(1) as u64) as i64;
    let level = below(system.levels.count() as i64) as usize;
    let mut run = system.clone();
    // Periodic and synchronous, periodic with offsets, or sporadic.
    let kind = below(4);
    for task in run.tasks.values_mut() {
        let period = task.period.ns();
        let mut at = if kind == 0 { 0 } else { below(period) };
        let mut releases = Vec::new();
        let mut demands = Vec::new();
        while at < until {
            releases.push(Time::from_ns(at));
            at += period;
            if kind == 3 && below(2) == 0 {
                at += 1 + below(period / 2 + 1);
            }
            let own = task.own_wcet().ns();
            let demand = if task.criticality.level() >= level {
                let (lowest, bound) = (task.wcet[0].ns(), task.wcet[level].ns());
                match below(8) {
                    0 => below(bound + 1),
                    1 | 2 => lowest,
                    _ => bound,
                }
            } else {
                match below(4) {
                    0 => below(own + 1),
                    1 => own,
                    _ => own + below(2 * own + 1),
                }
            };
            demands.push(Service::from_ns(demand));
        }
        task.behaviour = Behaviour::Explicit(releases);
        if !demands.is_empty() {
            task.execution = ExecutionModel::List(demands);
        }
    }
    (run, level)
}

/// Returns the first error of a run, if there is one.
pub fn broken(policy: &dyn Policy, run: &System, level: usize, until: i64) -> Option<String> {
    let mut trace = Trace::default();
    let options = SimOptions::until(Time::from_ns(until));
    if let Err(error) = simulate(run, policy.clone_policy(), &mut trace, &options) {
        return Some(error.to_string());
    }
    let late = trace.jobs.iter().find(|record| {
        run.tasks[record.job.id.task].criticality.level() >= level && record.missed(trace.over)
    });
    if let Some(late) = late {
        return Some(format!("{:?} misses in a run of level {level}", late.job.id));
    }
    let report = check(&trace, run, &policy.rule(), 3);
    (!report.is_clean()).then(|| report.to_string())
}

/// Builds a policy for a set that its analysis accepts, whether the analysis is sound or not.
pub fn accepted(spec: &str, system: &System) -> Option<Box<dyn Policy>> {
    let policy = registry().build(spec, system).ok()?;
    let layland_model::ScheduleRule::MixedCriticality { guaranteed, .. } = policy.rule() else {
        return None;
    };
    (!guaranteed.is_empty() || UNSOUND.contains(&spec)).then_some(policy)
}

/// The results of the runs of one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// True if the analysis accepts the set.
    pub accepted: bool,
    /// The number of runs.
    pub runs: u64,
    /// The first broken run: its number, its set with releases and demands, and a description.
    pub broken: Option<(u64, Box<System>, String)>,
}

/// Simulates set `index` of a seed in this number of runs.
pub fn try_set(spec: &str, seed: u64, index: u64, runs: u64) -> Tried {
    let mut random = Random::new(seed, index, Aspect::Criticalities);
    let system = draw_set(&mut random);
    let Some(policy) = accepted(spec, &system) else { return Tried::default() };
    let longest = system.tasks.values().map(|task| task.period.ns()).max().unwrap_or(1);
    let until = longest * 5;
    let mut tried = Tried { accepted: true, ..Tried::default() };
    for number in 0..runs {
        let (run, level) = draw_run(&mut random, &system, until);
        tried.runs += 1;
        if let Some(how) = broken(&*policy, &run, level, until) {
            tried.broken = Some((number, Box::new(run), how));
            break;
        }
    }
    tried
}

/// A comparison of two policies in the runs of the sets that both accept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The number of sets that both accept.
    pub sets: u64,
    /// The number of runs of these sets.
    pub runs: u64,
    /// The number of runs with different schedules.
    pub differ: u64,
    /// Deadline misses under either policy, which can only be of jobs without a guarantee.
    pub missed: [u64; 2],
    /// Segments of execution under either policy. A preemption cuts one segment in two.
    pub segments: [u64; 2],
}

impl Beside {
    /// Adds the results of more sets.
    #[must_use]
    pub fn and(self, other: Beside) -> Beside {
        let both = |a: [u64; 2], b: [u64; 2]| [a[0] + b[0], a[1] + b[1]];
        Beside {
            sets: self.sets + other.sets,
            runs: self.runs + other.runs,
            differ: self.differ + other.differ,
            missed: both(self.missed, other.missed),
            segments: both(self.segments, other.segments),
        }
    }
}

/// Simulates set `index` of a seed in this number of runs under both policies.
///
/// # Panics
/// If the simulator fails.
pub fn beside(specs: [&str; 2], seed: u64, index: u64, runs: u64) -> Beside {
    let mut random = Random::new(seed, index, Aspect::Criticalities);
    let system = draw_set(&mut random);
    let (Some(a), Some(b)) = (accepted(specs[0], &system), accepted(specs[1], &system)) else {
        return Beside::default();
    };
    let longest = system.tasks.values().map(|task| task.period.ns()).max().unwrap_or(1);
    let until = longest * 5;
    let mut found = Beside { sets: 1, ..Beside::default() };
    for _ in 0..runs {
        let (run, _) = draw_run(&mut random, &system, until);
        let trace = |policy: &dyn Policy| {
            let mut trace = Trace::default();
            let options = SimOptions::until(Time::from_ns(until));
            simulate(&run, policy.clone_policy(), &mut trace, &options).expect("it runs");
            trace
        };
        let traces = [trace(&*a), trace(&*b)];
        let missed = |trace: &Trace| {
            trace.jobs.iter().filter(|record| record.missed(trace.over)).count() as u64
        };
        found = found.and(Beside {
            sets: 0,
            runs: 1,
            differ: u64::from(traces[0].segments != traces[1].segments),
            missed: [missed(&traces[0]), missed(&traces[1])],
            segments: [traces[0].segments.len() as u64, traces[1].segments.len() as u64],
        });
    }
    found
}

/// Describes a set in one readable line: `(T, D, z, C)`.
pub fn describe(system: &System) -> String {
    let task = |id: TaskId| {
        let task = &system.tasks[id];
        let wcet: Vec<i64> = task.wcet.iter().map(|wcet| wcet.ns()).collect();
        format!(
            "({},{},{},{wcet:?}) {:?} {:?}",
            task.period.ns(),
            task.deadline.ns(),
            task.criticality.0,
            task.behaviour,
            task.execution
        )
    };
    system.tasks.ids().map(task).collect::<Vec<_>>().join("\n")
}
