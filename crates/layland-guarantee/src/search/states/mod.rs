//! A search over every state that sporadic tasks can reach. Where tests do not decide, it finds the
//! pattern of releases that misses a deadline, or proves that none does.
//!
//! Jobs arrive at whole multiples of a *tick*, at least a period apart, and execute for their
//! WCETs. Between two ticks a state consists, for each task, of the time until it may release again
//! and the remaining work; it has one successor for each set of tasks that release now. The search
//! starts from the state in which all tasks may release, examines every reachable state, and drops
//! those that another one *covers*, so that whatever misses after the one misses after the other:
//! at least the same work is left for each task, each task may release at least as soon and, unless
//! priorities are fixed by task, jobs that are active in the covered state have the same release in
//! both (`kept.rs`). This extends the idle-tasks simulation of Geeraerts, Goossens and Lindström.
//!
//! **Lemma.** *Take two runs with the same jobs in the same order. In the second, each job is
//! released `x >= 0` earlier and executes for at least `x` longer, and there may be more jobs. Then
//! no job completes earlier in the second run.* By induction from the highest job down: the higher
//! jobs that are active in the second run include those of the first at every instant. So a job
//! that runs in the second run also runs in the first if it is active there; before its first
//! release it executes for at most `x`. On identical CPUs a job runs if fewer than `m` higher jobs
//! are active. Under strong affinities it runs if the higher active jobs do not span it in the
//! matroid of tasks that can be matched to CPUs, and more higher jobs span no less.
//!
//! The lemma is why covered states can be dropped, and why WCETs suffice: with all `x = 0` it is
//! the predictability of Ha and Liu. EDZL, whose jobs change their order, is predictable on
//! identical CPUs by a proof of its own (Piao et al.). Under weak affinities shorter jobs can delay
//! others, and the search refuses these policies.
//!
//! Under global fixed priorities on identical CPUs the search goes task by task (`targets.rs`), and
//! examines a fraction of the states.
//!
//! - A late job is a *no*, whatever the tick: the pattern is legal.
//! - If the search ends without one, the policy keeps every deadline *of jobs that arrive at
//!   ticks*.
//!
//! **Ticks matter.** No tick except the shortest possible time stands for all releases: four tasks
//! on two CPUs under global rate-monotonic priorities, (C, D, T) = (1, 2, 2), (3, 3, 4), (2, 6, 6),
//! (1, 4, 7), keep every deadline as long as jobs arrive at whole times, and miss one with releases
//! at halves. (Bonifaci and Marchetti-Spaccamela showed in 2010 that whole times suffice for what
//! *some* scheduler can do; this implies nothing about a given scheduler.) Whole times suffice on
//! one CPU, and for the first `m + 1` tasks under global fixed priorities ([`Explored::is_dense`]):
//!
//! The `m` highest tasks are never delayed, so each of their jobs executes from its release on for
//! its WCET. A job of the next task, released at `r`, is late if and only if all `m` of them execute
//! at once for more than `D - C` in total within `[r, r + D)`. For a fixed order of all these
//! instants, that time is a sum of differences of two of them, under constraints on differences of
//! two of them with whole constants. Such a linear program has an optimum in whole times.
//!
//! **Inflated sets.** A *yes* for all arrivals comes from a search with WCETs `C' = (ceil(C / d) + 1) d`
//! on ticks of `d`, of which all deadlines and periods are multiples ([`TakenJobs::Inflated`]). Take a run
//! with a late job, and move each release down to the tick. Separations stay legal, since `r2 >= r1 + T`
//! gives `floor(r2) >= floor(r1) + T`. The order of jobs stays, if ties may be broken in any way. By
//! the lemma, with `x < d`, no job completes earlier if it executes for `C + x <= C'`. So a job is late
//! on ticks.
//!
//! Assumes: (1) jobs of a task arrive at least a period apart, and at ticks; (2) a job is ready
//! when it arrives; (3) no deadline is longer than the period; (4) no job executes for longer than
//! the WCET; (5) no overheads; (6) every CPU has unit speed; (7) tasks and CPUs stay as they are;
//! (8) for a *yes*, no task has a blocking time. **Exact** for the tick; a *no* holds for all
//! arrivals.
//!
//! Ties are broken as the policies break them, by rank.

mod extent;
mod kept;
mod model;
pub mod proof;
mod search;
mod state;
mod targets;

pub use extent::{ASSUMES, ArrivalGrid, Extent, MOST_STATES, TakenJobs};

use layland_analysis::Assumption;
use layland_model::{Citation, Duration, JobOrder, ScheduleRule, System, TaskId, TaskMap, Time};
use layland_policy::Policy;
use model::{Keys, Model, Part};
use search::Found;

/// The source of the search.
pub const BAKER_CIRINEI: Citation = Citation {
    key: "baker2007brute",
    text: "T. P. Baker, M. Cirinei. Brute-force determination of multiprocessor schedulability for sets of sporadic \
           hard-deadline tasks. OPODIS 2007, LNCS 4878, pages 62-75.",
    bibtex: "@inproceedings{baker2007brute,
  author    = {Baker, Theodore P. and Cirinei, Michele},
  title     = {Brute-Force Determination of Multiprocessor Schedulability for Sets of Sporadic Hard-Deadline Tasks},
  booktitle = {Principles of Distributed Systems (OPODIS)},
  series    = {LNCS},
  volume    = {4878},
  pages     = {62--75},
  year      = {2007}
}",
};

/// The source of the pruning.
pub const GEERAERTS: Citation = Citation {
    key: "geeraerts2013multiprocessor",
    text: "G. Geeraerts, J. Goossens, M. Lindström. Multiprocessor schedulability of arbitrary-deadline sporadic \
           tasks: complexity and antichain algorithm. Real-Time Systems 49(2), 2013, pages 171-218.",
    bibtex: "@article{geeraerts2013multiprocessor,
  author  = {Geeraerts, Gilles and Goossens, Jo{\\\"e}l and Lindstr{\\\"o}m, Markus},
  title   = {Multiprocessor schedulability of arbitrary-deadline sporadic tasks: complexity and antichain algorithm},
  journal = {Real-Time Systems},
  volume  = {49},
  number  = {2},
  pages   = {171--218},
  year    = {2013},
  doi     = {10.1007/s11241-012-9172-y}
}",
};

/// The source of the argument that WCETs suffice.
pub const HA_LIU: Citation = Citation {
    key: "ha1994validating",
    text: "R. Ha, J. W. S. Liu. Validating timing constraints in multiprocessor and distributed real-time systems. \
           ICDCS 1994, pages 162-171.",
    bibtex: "@inproceedings{ha1994validating,
  author    = {Ha, Rhan and Liu, Jane W. S.},
  title     = {Validating timing constraints in multiprocessor and distributed real-time systems},
  booktitle = {International Conference on Distributed Computing Systems (ICDCS)},
  pages     = {162--171},
  year      = {1994}
}",
};

/// All sources to cite.
pub const CITATIONS: [&Citation; 3] = [&BAKER_CIRINEI, &GEERAERTS, &HA_LIU];

/// A job of a pattern of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The arrival time.
    pub at: Time,
    /// The task of the job.
    pub task: TaskId,
}

/// A bound on the response time of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// No job responds later.
    pub within: Duration,
    /// True if some job that arrives at a tick responds that late.
    pub is_exact: bool,
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No job that arrives at a tick is ever late.
    Meets {
        /// A bound on the responses of the jobs that arrive at ticks, for each task.
        responses: TaskMap<Response>,
    },
    /// With these arrivals a job of the task misses its deadline.
    Misses {
        /// The arrivals, sorted by time, then by task.
        arrivals: Vec<Arrival>,
        /// The task whose job misses.
        task: TaskId,
    },
    /// There are more states than the search may examine.
    GaveUp,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// The outcome.
    pub outcome: Outcome,
    /// The number of states that were kept.
    pub states: usize,
    /// The length of which all arrivals are whole multiples, rounded down to a nanosecond.
    pub tick: Duration,
    /// True if what holds for arrivals at whole multiples of the tick holds for all arrivals: each
    /// part has one CPU under EDF or fixed priorities, or has up to `m + 1` tasks under fixed
    /// priorities, and all times are multiples of the tick.
    pub is_dense: bool,
}

/// Returns the longest time of which all WCETs, deadlines and periods are multiples.
pub fn unit(system: &System) -> Duration {
    model::unit(system)
}

/// Returns the longest time of which all deadlines and periods are multiples.
pub fn unit_of_windows(system: &System) -> Duration {
    model::unit_of(system.tasks.values().flat_map(|task| [task.deadline, task.period]))
}

/// Examines the states that the tasks can reach under a policy.
///
/// # Errors
/// The reason, if the search does not support such a policy or such a system.
pub fn explore(system: &System, policy: &dyn Policy, extent: Extent) -> Result<Explored, String> {
    let states = extent.states.min(MOST_STATES);
    for assumption in ASSUMES {
        assumption.check(system).map_err(|refusal| refusal.to_string())?;
    }
    let rule = policy.rule();
    let parts = model::parts(system, &rule)?;
    let models = parts.iter().map(|part| Model::new(system, part, &rule, extent));
    let models = models.collect::<Result<Vec<Model>, String>>()?;
    let unit = model::unit(system);
    let tick = match extent.grid {
        ArrivalGrid::Tick(tick) => tick,
        ArrivalGrid::Unit(parts) => Duration::from_ns(unit.ns() / i64::from(parts.max(1))),
    };
    let on_grid = match extent.grid {
        ArrivalGrid::Tick(tick) => unit.ns() % tick.ns() == 0,
        ArrivalGrid::Unit(_) => true,
    };
    let is_dense = extent.jobs == TakenJobs::Inflated
        || on_grid && models.iter().all(|model| whole_times_suffice(model, &rule));
    let nothing = Response { within: Duration::ZERO, is_exact: true };
    let (mut kept, mut responses) = (0, TaskMap::filled(nothing, system.tasks.len()));
    let mut outcome = None;
    for (part, model) in parts.iter().zip(&models) {
        let found = search::search(model, states.saturating_sub(kept), extent.wants_responses);
        kept += found.states;
        match found.outcome {
            Found::Meets { responses: units } => {
                for (&task, (units, is_exact)) in part.tasks.iter().zip(units) {
                    let within = model.time(u64::from(units));
                    responses[task] = Response { within, is_exact };
                }
            }
            Found::Misses { arrivals, task } => {
                let outcome = misses(part, model, &arrivals, task);
                return Ok(Explored { outcome, states: kept, tick, is_dense });
            }
            // Continue: another part may have a late job, which decides.
            Found::GaveUp => outcome = Some(Outcome::GaveUp),
        }
    }
    let outcome = outcome.unwrap_or(Outcome::Meets { responses });
    // A job that is late without blocking is late with it, so only a *yes* needs this assumption.
    if matches!(outcome, Outcome::Meets { .. }) {
        Assumption::NoBlocking.check(system).map_err(|refusal| refusal.to_string())?;
    }
    Ok(Explored { outcome, states: kept, tick, is_dense })
}

fn misses(part: &Part, model: &Model, arrivals: &[(u64, usize)], task: usize) -> Outcome {
    let arrival =
        |&(at, i): &(u64, usize)| Arrival { at: Time::ZERO + model.time(at), task: part.tasks[i] };
    Outcome::Misses { arrivals: arrivals.iter().map(arrival).collect(), task: part.tasks[task] }
}

/// Returns true if whole multiples of the unit stand for all arrivals in a part.
fn whole_times_suffice(model: &Model, rule: &ScheduleRule) -> bool {
    let is_edf = matches!(
        rule,
        ScheduleRule::HighestFirst { order: JobOrder::Deadline | JobOrder::Feasible, .. }
            | ScheduleRule::Strong { order: JobOrder::Deadline | JobOrder::Feasible }
    );
    match (model.keys, model.cpus) {
        (Keys::Fixed, 1) => true,
        (Keys::Fixed, cpus) => model.is_whole && model.tasks.len() <= cpus + 1,
        (Keys::Points, 1) => is_edf,
        (Keys::Points | Keys::PointsAnyTies | Keys::ZeroLaxity, _) => false,
    }
}
