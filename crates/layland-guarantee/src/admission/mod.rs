//! May a newcomer be let in beside what is admitted? May a task change, may CPUs go?
//!
//! [`admit`] says *yes* only if every admitted task and the newcomer keep what they are promised ([`Guarantee`]) at
//! any time from now on: whatever has left or changed before, and whenever the jobs come. It is a pure decision. The
//! caller keeps the register ([`Admitted`]), has the clock, and carries out what is granted.
//!
//! Assumes:
//! 1. Releases of a task are at least a period apart, without jitter, and jobs do not suspend themselves.
//! 2. Nobody needs more than its runtime. Under policies with servers a task may, and then only that task suffers,
//!    unless the caller excludes it ([`Overruns`]).
//! 3. Who leaves drops its pending job.
//! 4. A change of parameters counts from the next job on, which comes a period of the *old* parameters after the last
//!    one.
//! 5. What is granted is carried out before the next question, as [`Grant::carry_out`] says.
//! 6. Where priorities are fixed, no two tasks have the same priority and rank.
//!
//! A *yes* is **sufficient**. A refusal says that nothing was shown.
//!
//! # Why what has left is still in the way
//!
//! [`assess`](crate::assess) is about sets that do not change. That the set before a change and the set after it keep
//! their deadlines does not mean that the change keeps them. Take EDF on one CPU. Let *l* be 2/10, and let *a* need
//! 10 every 1000, due in 12. These two are schedulable, and so are *a* and *n*, which needs 2 every 100, due in 2.
//! Now *l* and *a* come at 0, *l* leaves at 10, which is its deadline, and *n* comes: 14 units are due by 12. So
//! bandwidth is not free when a task leaves, and not always at its deadline either. One of two rules must hold for
//! each *group* of CPUs; CPUs are in one group if a task may use several of them.
//!
//! **The density rule** is for EDF on CPUs that all tasks of the group may use. At each instant, the densities `u` of
//! what is in use sum to at most `m - (m - 1) max u`. That is the test of Goossens, Funk and Baruah (2003, GFB) at
//! every instant. What has left is in use until the [window](Reservation::window) of its last job is over.
//!
//! Proof. A fluid schedule runs each job at the density of its task, throughout its window. Take the jobs that are
//! due by some `d`, and suppose that EDF falls behind the fluid schedule on them, for the first time just before `t`.
//! Then some job `j`, released at `a`, has got less by `t` from EDF than from the fluid schedule. EDF runs `j`
//! whenever a CPU is free, so CPUs are free for less than the integral of `max u` over `[a, t)`; otherwise all `m`
//! work. So EDF has done more than the integral of `m - (m - 1) max u` since `a`, and the fluid schedule at most that
//! much. EDF was not behind at `a`, and is not behind at `t`. So each job ends by the end of its window. If CPUs go
//! at some instant after `a` and `j` was not behind there, begin there; if it was, the inequality holds before and
//! after.
//!
//! - A job that has got `e` of its runtime when its task leaves is over in the fluid schedule at `r + e / u`. That is
//!   the *zero-lag time*, at which Linux frees the bandwidth of a thread (`d - q T / Q`). A caller that knows it may
//!   say so ([`Admitted::leave_knowing`]); otherwise a window after the departure is safe. The policy `dl` of the
//!   simulator frees bandwidth when the thread leaves or changes, as Linux did: see Example 1 of Tang et al.
//! - A task that changes has one job at a time. Until the window of the old job is over, the larger of both densities
//!   counts. That covers a server which starts anew in its old period: it does so only if its rest `q` is above `u'
//!   (d - t)`, so that it has got no more than `Q - u' (d - t)` of the `Q` that is in use until `d`.
//! - Under `dl` on several CPUs deadlines count a nanosecond earlier (`views.rs`, point 3).
//! - `apedf` and `a2pedf` place a thread by what is admitted now. While something that has left or changed is in use,
//!   all densities together must fit one CPU. Otherwise the first CPU with room takes the thread, and there is one:
//!   if `U_j + u > 1` on each CPU, the sum is above `m - (m - 1) u`. The bound of Lopez et al. (2004) is higher and
//!   does not survive departures: if half of each of two CPUs is taken, and a little more, a task of 1/2 has no
//!   place.
//!
//! **The quiet rule** is for every policy that remembers nothing of what has left. The tests accept everything that
//! was admitted at some time since the group was *quiet*, an instant at which nobody had a job left. What is over
//! counts as a task whose jobs come no more. From the quiet instant on, the schedule is one of that set. The caller
//! reports quiet instants ([`Admitted::quiet`]). On a group of one CPU one comes within the longest busy period of
//! everything that is known of the CPU, which is computed. This rule lets in what demand, response times and
//! tardiness bounds accept, fixed priorities, and tasks with different affinities. Densities may be too high then,
//! and so the density rule is off on these CPUs until they are quiet again. If a task changes so that each new job
//! could be one of the old, the old parameters count for both.
//!
//! **Servers of tasks that overrun.** A thread uses up its budget, gets the next one, ends its job with a part of it,
//! and sleeps. It wakes up for its next job before the deadline of its server and goes on with the rest `q`, as long
//! as `q / (d - t) <= Q / D`. That keeps to its density, but it is no job of `(Q, D, T)`: it is due in less than `D`.
//! Tests that count jobs then say *yes* where others are late. So where overruns are possible the quiet rule is not
//! used for servers with `D < T`, nor for deadlines on several CPUs. An admitted server also keeps the difference of
//! period and deadline: otherwise its next budget could be due before it is replenished.
//!
//! # Places
//!
//! An admitted task stays where it was put. Partitioned policies make a partition from scratch when they are built.
//! So the register has the CPU of each task ([`Holding::cpus`]), the tests get affinities of one CPU and the policy
//! with `fit=given`, and a CPU is searched for the newcomer alone: the first that fits, with `fit=bf` the fullest,
//! with `fit=wf` the emptiest. It is carried out in the same way: `p-edf` lets in a task with an affinity of one CPU.
//! Clustered policies, and `dl` with admission control, get the first whole cluster that fits.
//!
//! A task that changes its CPUs takes its pending job along, with what is left of it and a deadline that is near
//! (Example 3 of Tang et al.). So that is granted for an instant at which no job of it is pending, or by leaving and
//! entering anew ([`CarryOut::BetweenJobs`]).
//!
//! `run`, `qps` and mixed-criticality policies plan before the start and let nobody in ([`can_admit`]).
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
mod refusal;
mod register;
mod rules;
mod suggestions;
#[cfg(test)]
mod tests;

pub use beside::{Kept, LeavesRoom, Leveled, Load, Usage, keeps_priorities, leaves_room};
pub use refusal::{Refused, Shortfall, Suggestion};
pub use register::{Admitted, Guarantee, Holding, How, Left, Overruns, Reservation};

use crate::options::Effort;
use layland_model::{Algorithm, CpuSet, Invalid, Platform, Rate, Time};
use layland_offline::Heuristic;
use layland_policy::{BuildError, Registry};
use rules::{Case, Placing, Shown, Theory, system_of};
use std::cmp::Reverse;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Ask<'a> {
    /// A task wants to enter.
    Enter(&'a Reservation),
    /// The admitted task of this name wants these parameters, or these CPUs.
    Change(&'a Reservation),
    /// These CPUs are to go.
    Lose(&'a CpuSet),
}

/// How hard to try, and what to suggest.
#[derive(Clone, Debug, Default)]
pub struct AdmitOptions {
    /// Which tests are asked.
    pub effort: Effort,
    /// Whether a refusal says what would fit, which asks the tests some dozens of times more.
    pub suggest: Suggest,
    /// Policies under which to look whether all would fit.
    pub policies: Vec<String>,
}

/// What a refusal says besides its reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Suggest {
    /// What would fit.
    #[default]
    WhatFits,
    /// Nothing.
    Nothing,
}

/// The answer.
#[must_use]
#[derive(Clone, Debug)]
pub enum Admission {
    /// Everybody keeps its guarantee.
    Granted(Box<Grant>),
    /// That is not shown.
    Refused(Refused),
}

impl Admission {
    /// Whether it is *yes*.
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
    /// What the task has, and where it was put; none if CPUs go.
    pub holding: Option<Holding>,
    /// How it has to be done.
    pub carry_out: CarryOut,
    /// Which rule lets what has left out of the way; the quiet rule if it is needed anywhere.
    pub rule: Rule,
    /// The test that decided; none if the bounds of the tasks did, or nobody is left.
    pub decided_by: Option<&'static str>,
}

/// How a grant has to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarryOut {
    /// At once.
    AtOnce,
    /// At an instant at which no job of the task is pending. Where the caller cannot wait for one, the task has to
    /// leave and to enter anew; its pending job is then dropped.
    BetweenJobs,
}

/// The rules of the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Densities at each instant.
    Density,
    /// Everything since the last quiet instant.
    Quiet,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// There is no such policy or option.
    #[error(transparent)]
    Policy(#[from] BuildError),
    /// The policy decides everything before the start.
    #[error("{policy} lets nobody in at run time: it plans for the tasks that it starts with")]
    TakesNobody {
        /// The policy.
        policy: String,
    },
    /// The policy makes clusters of its own.
    #[error("{policy} with size=.. packs its tasks anew: say which clusters the platform has")]
    OwnClusters {
        /// The policy.
        policy: String,
    },
    /// The parameters are not those of a task.
    #[error("the reservation is not valid: {0}")]
    Invalid(Invalid),
    /// The name is taken.
    #[error("a task `{name}` is admitted already")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Nobody has the name.
    #[error("no task `{name}` is admitted")]
    Unknown {
        /// The name.
        name: String,
    },
}

/// Whether the policy lets tasks in at run time, on this machine.
///
/// # Errors
/// If it does not exist, or plans for the tasks that it starts with.
pub fn can_admit(
    registry: &Registry,
    spec: &str,
    platform: &Platform,
) -> Result<(), AdmissionError> {
    Theory::of(registry, spec, platform).map(|_| ())
}

/// Whether what is asked at `now` may be granted: see the module's documentation.
///
/// # Errors
/// If the policy does not exist or lets nobody in, the reservation is not valid, or a name is wrong.
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

/// Where one question is answered.
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
        // Where it may run is a matter of its place.
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

    /// The newcomer in the first place in which everybody keeps its guarantee.
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

    /// The sets of CPUs on which the policy could put a newcomer, in the order in which they are tried.
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

    /// Other parameters in the same place, or another place.
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
        // A server that was used up gets its next budget at `d + T - D` of the old parameters, due at `d` plus the
        // new `T`: too early if the new `T - D` is smaller. A server that wakes up waits until `d + T - D` of the new
        // parameters, and its next job comes a period of the old ones after the last: too late if it is larger.
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

    /// The clusters without these CPUs. Who may use other CPUs of its own stays there.
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
                // Who has left does not come back.
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

/// Whether a CPU is something else than a cluster.
fn clusters_are_large(clusters: &[CpuSet]) -> bool {
    clusters.iter().any(|cluster| cluster.len() > 1)
}
