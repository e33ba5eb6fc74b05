//! A search over every state that sporadic tasks can reach. Where tests do not decide, it finds the
//! pattern of releases that misses a deadline, or proves that none does.
//!
//! Jobs arrive at whole multiples of a *tick*, at least a period apart, and execute for their
//! WCETs. Between two ticks a state consists, for each task, of the time until it may release again
//! and the remaining work; it has one successor for each set of tasks that release now. The search
//! starts from the state in which all tasks may release, examines every reachable state, and prunes
//! those that another one *dominates*: the same work is left, and no idle task has to wait for
//! longer, so that whatever happens after the one can happen after the other (the idle-tasks
//! simulation of Geeraerts, Goossens and Lindström).
//!
//! - A late job is a *no*, whatever the tick: the pattern is legal.
//! - If the search ends without one, the policy keeps every deadline *of jobs that arrive at
//!   ticks*, and the longest responses are exact.
//!
//! **Ticks matter.** No tick except the shortest possible time stands for all releases: four tasks
//! on two CPUs under global fixed priorities, (C, D, T) = (2, 6, 6), (1, 2, 2), (3, 3, 4), (1, 4,
//! 7) by descending priority, keep every deadline as long as jobs arrive at whole times, and miss
//! one with releases at halves. So a *yes* is given only for a tick that the user vouches for, or
//! one of a nanosecond. (Bonifaci and Marchetti-Spaccamela showed in 2010 that whole times suffice
//! for what *some* scheduler can do; this implies nothing about a given scheduler.)
//!
//! It suffices to consider WCETs, since priorities of jobs do not depend on how long they execute:
//! with shorter jobs no job completes later. Ha and Liu show this for identical CPUs. For strong
//! affinities, where the highest tasks that *can be matched* to CPUs run, the same induction over
//! priorities holds: if fewer higher jobs are ready, no more of them keep a job from being matched.
//! Under weak affinities it does not hold, and the search refuses these policies.
//!
//! Assumes: (1) jobs of a task arrive at least a period apart, and at ticks; (2) a job is ready
//! when it arrives; (3) no deadline is longer than the period; (4) no job executes for longer than
//! the WCET; (5) no overheads; (6) every CPU has unit speed; (7) tasks and CPUs stay as they are;
//! (8) for a *yes*, no task has a blocking time. **Exact** for the tick; a *no* holds for all
//! arrivals.
//!
//! Ties are broken as the policies break them, by rank.

mod model;
mod search;

use layland_analysis::Assumption;
use layland_model::{Citation, Duration, System, TaskId, TaskMap, Time};
use layland_policy::Policy;
use model::Model;
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

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No job that arrives at a tick is ever late.
    Meets {
        /// The longest response time of jobs that arrive at ticks, for each task: exact.
        responses: TaskMap<Duration>,
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
    /// The length of which all arrivals are whole multiples.
    pub tick: Duration,
}

/// The assumptions of [`explore`], besides arrivals at ticks.
pub const ASSUMES: [Assumption; 10] = [
    Assumption::SporadicReleases,
    Assumption::NoJitter,
    Assumption::ConstrainedDeadlines,
    Assumption::WcetKept,
    Assumption::NoOverheads,
    Assumption::UnitSpeeds,
    Assumption::NoRequests,
    Assumption::Independent,
    Assumption::NoCacheDelay,
    Assumption::Explained,
];

/// The limit on states of any search; this many take one or two gigabytes.
pub const MOST_STATES: usize = 10_000_000;

/// Examines the states that the tasks can reach under a policy: at most `states`, and at most
/// [`MOST_STATES`]. Without a tick the search takes the longest time of which all WCETs, deadlines
/// and periods are multiples.
///
/// # Errors
/// The reason, if the search does not support such a policy or such a system.
pub fn explore(
    system: &System,
    policy: &dyn Policy,
    tick: Option<Duration>,
    states: usize,
) -> Result<Explored, String> {
    let states = states.min(MOST_STATES);
    for assumption in ASSUMES {
        assumption.check(system).map_err(|refusal| refusal.to_string())?;
    }
    let rule = policy.rule();
    let parts = model::parts(system, &rule)?;
    let unit = model::unit(system);
    let tick = tick.unwrap_or(unit);
    let (mut kept, mut responses) = (0, TaskMap::filled(Duration::ZERO, system.tasks.len()));
    let mut outcome = None;
    for part in &parts {
        let model = Model::new(system, part, &rule, tick)?;
        let found = search::search(&model, states.saturating_sub(kept));
        kept += found.states;
        match found.outcome {
            Found::Meets { responses: units } => {
                for (&task, units) in part.tasks.iter().zip(units) {
                    responses[task] = model.time(u64::from(units));
                }
            }
            Found::Misses { arrivals, task } => {
                let arrival = |&(at, i): &(u64, usize)| Arrival {
                    at: Time::ZERO + model.time(at),
                    task: part.tasks[i],
                };
                let (arrivals, task) = (arrivals.iter().map(arrival).collect(), part.tasks[task]);
                return Ok(Explored {
                    outcome: Outcome::Misses { arrivals, task },
                    states: kept,
                    tick,
                });
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
    Ok(Explored { outcome, states: kept, tick })
}
