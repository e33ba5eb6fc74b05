//! Run-time admission: decides whether a task may enter or change, and whether CPUs may be removed.
//!
//! [`admit`] answers *yes* only if every admitted task and the newcomer keep their guarantees
//! ([`Guarantee`]) at any time from now on, for all earlier departures and changes and all arrival
//! times of jobs. It is a pure decision: the caller keeps the register ([`Admitted`]), has the
//! clock, and carries out a grant.
//!
//! Assumes:
//! 1. Releases of a task are at least a period apart, without jitter, and jobs do not suspend
//!    themselves.
//! 2. No job needs more than the runtime of its task. Under policies with servers a job may, and
//!    then only its own task suffers, unless the caller excludes overruns ([`Overruns`]).
//! 3. A task that leaves drops its pending job.
//! 4. A change of parameters takes effect with the next job, which comes a period of the *old*
//!    parameters after the last one.
//! 5. A grant is carried out before the next question, as [`Grant::carry_out`] says.
//! 6. Where priorities are fixed, no two tasks have the same priority and rank.
//!
//! A *yes* is **sufficient**. A refusal means only that nothing was shown.
//!
//! # Why departed tasks still count
//!
//! [`assess`](crate::assess) is about sets that do not change. Even if the sets before and after a
//! change both keep their deadlines, the change itself may not. Take EDF on one CPU. Let *l* be
//! 2/10, and let *a* need 10 every 1000, due in 12. These two are schedulable, and so are *a* and
//! *n*, which needs 2 every 100, due in 2. Now *l* and *a* arrive at 0, *l* leaves at 10, which is
//! its deadline, and *n* arrives: 14 units are due by 12. So bandwidth is not free when a task
//! leaves, and not always at its deadline either. One of two rules must hold for each *group* of
//! CPUs; CPUs are in one group if a task may use several of them.
//!
//! **The density rule** is for EDF on CPUs that all tasks of the group may use. At each instant,
//! the densities `u` of the reservations in use sum to at most `m - (m - 1) max u`. This is the
//! test of Goossens, Funk and Baruah (2003, GFB) at every instant. A departed reservation is in use
//! until the [window](Reservation::window) of its last job is over.
//!
//! Proof. A fluid schedule runs each job at the density of its task, throughout its window. Take
//! the jobs that are due by some `d`, and suppose that EDF falls behind the fluid schedule on them,
//! for the first time just before `t`. Then some job `j`, released at `a`, has received less by `t`
//! from EDF than from the fluid schedule. EDF runs `j` whenever a CPU is free, so CPUs are free for
//! less than the integral of `max u` over `[a, t)`; otherwise all `m` work. So EDF has done more
//! than the integral of `m - (m - 1) max u` since `a`, and the fluid schedule at most that much.
//! EDF was not behind at `a`, and is not behind at `t`. So each job ends by the end of its window.
//! If CPUs are removed at some instant after `a` and `j` was not behind there, begin the argument
//! there; if it was, the inequality holds before and after.
//!
//! - A job that has received `e` of its runtime when its task leaves is complete in the fluid
//!   schedule at `r + e / u`. This is the *zero-lag time*, at which Linux frees the bandwidth of a
//!   thread (`d - q T / Q`). A caller that knows it may pass it ([`Admitted::leave_knowing`]);
//!   otherwise a window after the departure is safe. The policy `dl` of the simulator frees
//!   bandwidth when the thread leaves or changes, as Linux did: see Example 1 of Tang et al.
//! - A task that changes has one job at a time. Until the window of the old job is over, the larger
//!   of both densities counts. This covers a server that starts anew in its old period: it does so
//!   only if its remaining budget `q` is above `u' (d - t)`, so that it has received no more than
//!   `Q - u' (d - t)` of the `Q` that is in use until `d`.
//! - Under `dl` on several CPUs deadlines count a nanosecond earlier (`views.rs`, point 3).
//! - `apedf` and `a2pedf` place a thread by the currently admitted tasks. While a departed or
//!   changed reservation is in use, all densities together must fit one CPU. Otherwise the first
//!   CPU with enough free bandwidth takes the thread, and there is one: if `U_j + u > 1` on each
//!   CPU, the sum is above `m - (m - 1) u`. The bound of Lopez et al. (2004) is higher and does not
//!   survive departures: if slightly more than half of each of two CPUs is taken, a task of 1/2
//!   fits neither.
//!
//! **The quiet rule** is for every policy that keeps no memory of departed tasks. The tests accept
//! everything that was admitted at some time since the group was *quiet*, an instant at which no
//! task had a job left. A departed task counts as a task without further jobs. From the quiet
//! instant on, the schedule is one of that set. The caller reports quiet instants
//! ([`Admitted::quiet`]). On a group of one CPU one comes within the longest busy period of all
//! tasks in the register for that CPU, which is computed. This rule accepts what demand tests,
//! response times and tardiness bounds accept, fixed priorities, and tasks with different
//! affinities. Densities may be too high then, so the density rule is off on these CPUs until they
//! are quiet again. If a task changes so that each new job could be one of the old, the old
//! parameters count for both.
//!
//! **Servers of tasks that overrun.** A thread uses up its budget, gets the next one, ends its job
//! with a part of it, and sleeps. It wakes up for its next job before the deadline of its server
//! and continues with the remaining budget `q`, as long as `q / (d - t) <= Q / D`. This keeps to
//! its density, but it is not a job of `(Q, D, T)`: it is due in less than `D`. Tests that count
//! jobs then say *yes* although other jobs are late. So where overruns are possible the quiet rule
//! is not used for servers with `D < T`, nor for deadlines on several CPUs. An admitted server also
//! keeps the difference of period and deadline: otherwise its next budget could be due before it is
//! replenished.
//!
//! # Places
//!
//! An admitted task stays where it was placed. Partitioned policies compute a partition from
//! scratch when they are built. So the register has the CPU of each task ([`Holding::cpus`]), the
//! tests receive affinities of one CPU and the policy with `fit=given`, and a CPU is searched only
//! for the newcomer: the emptiest that fits, with `fit=bf` the fullest, with `fit=ff` the first.
//! The grant is carried out in the same way: `p-edf` admits a task with an affinity of one CPU.
//! Under clustered policies, and `dl` with admission control, the newcomer gets the first whole
//! cluster that fits.
//!
//! A task that changes its CPUs takes its pending job along, with its remaining work and a deadline
//! that is near (Example 3 of Tang et al.). So such a change is granted for an instant at which no
//! job of the task is pending, or by leaving and entering anew ([`CarryOut::BetweenJobs`]).
//!
//! `run`, `qps` and mixed-criticality policies plan before the start and admit no tasks at run time
//! ([`can_admit`]).
//!
//! ```
//! use layland_guarantee::admission::{Admission, AdmitOptions, Admitted, Ask, Reservation, Suggestion, admit};
//! use layland_model::{Duration, Platform, Service, Time};
//! use layland_policy::Registry;
//! let registry = Registry::standard();
//! let task = |name, c, t| Reservation::implicit(name, Service::from_ms(c), Duration::from_ms(t));
//! let ask = |admitted: &Admitted, at, task| {
//!     admit(&registry, admitted, Time::from_ms(at), &Ask::Enter(&task), &AdmitOptions::default()).unwrap()
//! };
//! let mut admitted = Admitted::new(Platform::identical(1), "dl:ac=on");
//! let Admission::Granted(grant) = ask(&admitted, 0, task("audio", 6, 10)) else { panic!() };
//! admitted = grant.after;
//! // No room for another 6 of 10; at most 3.5 would fit, as SCHED_DEADLINE uses 95 % of a CPU.
//! let Admission::Refused(refused) = ask(&admitted, 1, task("video", 6, 10)) else { panic!() };
//! assert_eq!(refused.suggestions, [Suggestion::Runtime(Service::from_us(3500))]);
//! // Audio leaves, but nobody else has a job then: its place is free at once.
//! assert!(admitted.leave("audio", Time::from_ms(2)));
//! assert!(ask(&admitted, 2, task("video", 6, 10)).is_granted());
//! ```

mod beside;
mod book;
mod foreign;
mod refusal;
mod regime;
mod register;
mod rules;
mod share;
mod shortfall;
mod sign;
mod suggestions;
#[cfg(test)]
mod tests;

pub use beside::{Kept, LeavesRoom, Leveled, Load, Usage, keeps_priorities, leaves_room};
pub use book::{Book, Granted, HIGHEST, Held, NotGranted, Region, Terms, lowest};
pub use foreign::{Budgeted, Foreign, OnSeveralCpus, Outsider, Watched};
pub use refusal::{Refused, Suggestion};
pub use regime::Regime;
pub use register::{Admitted, Guarantee, Holding, How, Left, Overruns, Reservation};
pub use share::{BeyondShare, Has, Share, Whose};
pub use shortfall::Shortfall;
pub use sign::{Account, Sign};

use crate::options::Effort;
use layland_model::{Algorithm, CpuSet, Invalid, Platform, Rate, Time};
use layland_offline::Heuristic;
use layland_policy::{BuildError, Registry};
use rules::{Case, Placing, Shown, Theory, system_of};
use std::cmp::Reverse;

/// A question to [`admit`].
#[derive(Clone, Copy, Debug)]
pub enum Ask<'a> {
    /// A task asks to enter.
    Enter(&'a Reservation),
    /// The admitted task of this name asks for these parameters or CPUs.
    Change(&'a Reservation),
    /// These CPUs are to be removed.
    Lose(&'a CpuSet),
}

/// The effort of the tests, and the suggestions of a refusal.
#[derive(Clone, Debug, Default)]
pub struct AdmitOptions {
    /// The tests that are run.
    pub effort: Effort,
    /// The suggestions of a refusal; finding them runs the tests some dozens of times more.
    pub suggest: Suggest,
    /// Policies that are tried for a suggestion, with all tasks.
    pub policies: Vec<String>,
}

/// The suggestions that a refusal has besides its reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Suggest {
    /// Changes that would be granted.
    #[default]
    WhatFits,
    /// No suggestions.
    Nothing,
}

/// The answer to an [`Ask`].
#[must_use]
#[derive(Clone, Debug)]
pub enum Admission {
    /// Every task keeps its guarantee.
    Granted(Box<Grant>),
    /// It was not shown that every task keeps its guarantee.
    Refused(Refused),
}

impl Admission {
    /// Returns true if the answer is *yes*.
    pub fn is_granted(&self) -> bool {
        match self {
            Admission::Granted(_) => true,
            Admission::Refused(_) => false,
        }
    }
}

/// The answer *yes*.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The register from now on.
    pub after: Admitted,
    /// The reservation of the task and its CPUs; none if CPUs are removed.
    pub holding: Option<Holding>,
    /// The way in which the grant has to be carried out.
    pub carry_out: CarryOut,
    /// The rule that accounts for departed tasks; the quiet rule if any group needs it.
    pub rule: Rule,
    /// The test that decided; none if the bounds of the tasks did, or no task is left.
    pub decided_by: Option<&'static str>,
}

/// The way in which a grant has to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarryOut {
    /// At once.
    AtOnce,
    /// At an instant at which no job of the task is pending. A caller that cannot wait for one
    /// makes the task leave and enter anew, which drops its pending job.
    BetweenJobs,
}

/// The rules of the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Bounds the sum of densities at each instant.
    Density,
    /// Counts every task that was admitted since the last quiet instant.
    Quiet,
}

/// The errors of a question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// The policy or an option does not exist.
    #[error(transparent)]
    Policy(#[from] BuildError),
    /// The policy decides everything before the start.
    #[error("{policy} admits no tasks at run time: it plans for the tasks that it starts with")]
    TakesNobody {
        /// The policy.
        policy: String,
    },
    /// The policy computes its own clusters.
    #[error("{policy} with size=.. packs its tasks again: say which clusters the platform has")]
    OwnClusters {
        /// The policy.
        policy: String,
    },
    /// The parameters are not those of a valid task.
    #[error("the reservation is not valid: {0}")]
    Invalid(Invalid),
    /// An admitted task has this name already.
    #[error("a task `{name}` is admitted already")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// No admitted task has this name.
    #[error("no task `{name}` is admitted")]
    Unknown {
        /// The name.
        name: String,
    },
}

/// Checks that the policy admits tasks at run time on this platform.
///
/// # Errors
/// If the policy does not exist, or plans for the tasks that it starts with.
pub fn can_admit(
    registry: &Registry,
    spec: &str,
    platform: &Platform,
) -> Result<(), AdmissionError> {
    Theory::of(registry, spec, platform).map(|_| ())
}

/// Decides whether the request may be granted at `now`: see the module's documentation.
///
/// # Errors
/// If the policy does not exist or admits no tasks, the reservation is not valid, or a name is
/// wrong.
pub fn admit(
    registry: &Registry,
    admitted: &Admitted,
    now: Time,
    ask: &Ask<'_>,
    options: &AdmitOptions,
) -> Result<Admission, AdmissionError> {
    let theory = Theory::of(registry, &admitted.spec, &admitted.platform)?;
    let mut before = admitted.clone();
    before.settle(&theory, now);
    let case = Case { registry, theory: &theory, now, effort: options.effort };
    let desk = Desk { case, before };
    let shortfalls = match desk.answer(ask)? {
        Ok(grant) => return Ok(Admission::Granted(Box::new(grant))),
        Err(shortfalls) => shortfalls,
    };
    let suggestions = match options.suggest {
        Suggest::WhatFits => desk.suggestions(ask, options),
        Suggest::Nothing => Vec::new(),
    };
    let left = desk.before.holdings.iter().filter(|holding| holding.left.is_some());
    let leaving = left.map(|holding| holding.task.clone()).collect();
    Ok(Admission::Refused(Refused { shortfalls, suggestions, leaving }))
}

/// The context in which one question is answered.
struct Desk<'a> {
    case: Case<'a>,
    before: Admitted,
}

type Answer = Result<Grant, Vec<Shortfall>>;

impl Desk<'_> {
    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, AdmissionError> {
        match ask {
            Ask::Enter(task) => {
                let name = &task.name;
                if self.before.find(name).is_some() {
                    return Err(AdmissionError::NameTaken { name: name.clone() });
                }
                self.validate(task)?;
                Ok(self.enter(&self.before, task, CarryOut::AtOnce))
            }
            Ask::Change(task) => {
                let unknown = || AdmissionError::Unknown { name: task.name.clone() };
                let old = self.before.find(&task.name).ok_or_else(unknown)?;
                self.validate(task)?;
                Ok(self.change(old, task))
            }
            Ask::Lose(cpus) => Ok(self.lose(cpus)),
        }
    }

    fn validate(&self, task: &Reservation) -> Result<(), AdmissionError> {
        // The CPUs are checked when the task is placed, so any will do here.
        let platform = &self.before.platform;
        let anywhere = platform.clusters.first().cloned();
        let holding = self.holding(task, anywhere.unwrap_or_else(|| platform.all_cpus()));
        let system = system_of(platform, &[&holding]);
        match system.validate().into_iter().next() {
            None => Ok(()),
            Some(invalid) => Err(AdmissionError::Invalid(invalid)),
        }
    }

    fn holding(&self, task: &Reservation, cpus: CpuSet) -> Holding {
        Holding { id: self.before.next_id, task: task.clone(), cpus, left: None }
    }

    /// Tries the places of the newcomer in order and grants the first in which every task keeps its
    /// guarantee.
    fn enter(&self, before: &Admitted, task: &Reservation, carry_out: CarryOut) -> Answer {
        let mut first = None;
        for cpus in self.places(before, task) {
            let holding = self.holding(task, cpus);
            let mut after = before.clone();
            after.next_id += 1;
            after.holdings.push(holding.clone());
            match self.grant(after, Some(holding), carry_out) {
                Ok(grant) => return Ok(grant),
                Err(shortfalls) => {
                    first.get_or_insert(shortfalls);
                }
            }
        }
        Err(first.unwrap_or_else(|| {
            let allowed = task.cpus.clone().unwrap_or_else(|| before.platform.all_cpus());
            vec![Shortfall::NoCpus { allowed }]
        }))
    }

    fn grant(&self, mut after: Admitted, holding: Option<Holding>, carry_out: CarryOut) -> Answer {
        let Shown { decided_by, rule, exceeded } = self.case.check(&after)?;
        after.exceeded = exceeded;
        Ok(Grant { after, holding, carry_out, rule, decided_by })
    }

    /// Returns the sets of CPUs where the policy could place a newcomer, in the order of the
    /// attempts.
    fn places(&self, before: &Admitted, task: &Reservation) -> Vec<CpuSet> {
        let clusters = &before.platform.clusters;
        let allowed = |cpus: &CpuSet| task.cpus.as_ref().is_none_or(|own| cpus.is_subset(own));
        let whole = || clusters.iter().filter(|cluster| allowed(cluster)).cloned();
        let single = || {
            let cpus = clusters.iter().flat_map(|cluster| cluster.iter().map(CpuSet::single));
            cpus.filter(|cpu| allowed(cpu))
        };
        match self.case.theory.placing {
            Placing::Clusters => whole().collect(),
            Placing::ClusterOrCpu => {
                whole().chain(single().filter(|_| clusters_are_large(clusters))).collect()
            }
            Placing::OneCpu(fit) => {
                let mut cpus: Vec<CpuSet> = single().collect();
                let load = |cpu: &CpuSet| -> Rate {
                    let here = before.tasks().filter(|holding| holding.cpus == *cpu);
                    here.map(|holding| holding.task.density()).sum()
                };
                if fit == Heuristic::Bf {
                    cpus.sort_by_cached_key(|cpu| Reverse(load(cpu)));
                } else if fit == Heuristic::Wf {
                    cpus.sort_by_cached_key(load);
                }
                cpus
            }
            Placing::Affinities => {
                let own = |cluster: &CpuSet| match &task.cpus {
                    None => cluster.clone(),
                    Some(own) => cluster.intersection(own),
                };
                clusters.iter().map(own).filter(|cpus| !cpus.is_empty()).collect()
            }
        }
    }

    /// Grants other parameters in the same place, or another place.
    fn change(&self, old: &Holding, task: &Reservation) -> Answer {
        let stays = task.cpus == old.task.cpus
            || task.cpus.as_ref().is_none_or(|cpus| old.cpus.is_subset(cpus))
                && self.case.theory.placing != Placing::Affinities;
        if self.case.theory.algorithm == Algorithm::SemiPartitionedDeadline {
            let reason = format!("{} changes nothing of a task", self.before.spec);
            return Err(vec![Shortfall::Anew { reason }]);
        }
        let mut before = self.before.clone();
        let place = before.holdings.iter().position(|holding| holding == old);
        let place = place.expect("it was found there");
        let window = old.task.window();
        let (at, until) = (self.case.now, self.case.now + window);
        if !stays {
            before.holdings[place].left = Some(Left { at, until, how: How::Gone });
            return self.enter(&before, task, CarryOut::BetweenJobs);
        }
        // A server with an exhausted budget gets its next budget at `d + T - D` of the old
        // parameters, due at `d` plus the new `T`: too early if the new `T - D` is smaller. A
        // server that wakes up waits until `d + T - D` of the new parameters, and its next job
        // comes a period of the old ones after the last: too late if it is larger.
        let rest = |task: &Reservation| task.period - task.deadline;
        let is_wrong = match before.overruns {
            Overruns::Possible => rest(task) != rest(&old.task),
            Overruns::Excluded => rest(task) > rest(&old.task),
        };
        if self.case.theory.isolates() && is_wrong {
            let reason = "a server cannot change the time between its deadline and the end of its period while it is \
                          in use";
            return Err(vec![Shortfall::Anew { reason: reason.to_owned() }]);
        }
        before.holdings[place].left = Some(Left { at, until, how: How::Changed });
        let holding = Holding { task: task.clone(), left: None, ..old.clone() };
        before.holdings.push(holding.clone());
        self.grant(before, Some(holding), CarryOut::AtOnce)
    }

    /// Removes these CPUs from the clusters. A task keeps those of its CPUs that remain.
    fn lose(&self, lost: &CpuSet) -> Answer {
        let mut after = self.before.clone();
        for cluster in &mut after.platform.clusters {
            *cluster = cluster.difference(lost);
        }
        after.platform.clusters.retain(|cluster| !cluster.is_empty());
        for holding in &mut after.holdings {
            let cpus = holding.cpus.difference(lost);
            match (cpus.is_empty(), holding.left) {
                (false, _) => holding.cpus = cpus,
                // A departed task needs no CPUs: it does not come back.
                (true, Some(_)) => {}
                (true, None) => {
                    let allowed = holding.cpus.clone();
                    return Err(vec![Shortfall::NoCpus { allowed }]);
                }
            }
        }
        after.holdings.retain(|holding| !holding.cpus.is_subset(lost));
        if after.platform.clusters.is_empty() {
            return Err(vec![Shortfall::NoCpus { allowed: lost.clone() }]);
        }
        self.grant(after, None, CarryOut::AtOnce)
    }
}

/// Returns true if some cluster has more than one CPU.
fn clusters_are_large(clusters: &[CpuSet]) -> bool {
    clusters.iter().any(|cluster| cluster.len() > 1)
}
