//! The result for one set.

use super::ask::cannot_start;
use super::chains;
use super::how_often::ObservedConstraint;
use super::question::SimulateQuestion;
use crate::limits::Held;
use crate::{Exit, Set, Unanswered};
use layland_model::{Assigned, System, TaskMap, Time};
use layland_policy::{Policy, Schedules};
use layland_sim::{Horizon, SimOptions, simulate};
use layland_trace::{ChainFigures, Outcomes, Recorder, Refusals, Summary};
use std::sync::atomic::AtomicBool;

/// The complete result for one set.
pub struct Simulated {
    /// The set.
    pub set: Set,
    /// The question, with its policies in the notation of the output.
    pub question: SimulateQuestion,
    /// The length of the simulation.
    pub horizon: Horizon,
    /// The results of the policies, in the order of the question.
    pub policies: Vec<PolicyRun>,
    /// True if the simulations were interrupted.
    pub interrupted: bool,
    /// The exit code of the command.
    pub exit: Exit,
}

/// The result of one policy.
pub struct PolicyRun {
    /// The policy with its options.
    pub spec: String,
    /// The run, or the reason why the policy rejected the set.
    pub result: Result<Ran, String>,
    /// The result of each limit; empty if the policy rejected the set.
    pub held: Vec<Held>,
}

/// The data of one simulation.
pub struct Ran {
    /// The set, with the ranks of an explored order.
    pub(super) system: System,
    pub(super) policy: Box<dyn Policy>,
    /// The outcome without the policy, which for many tasks occupies hundreds of megabytes.
    pub outcome: layland_sim::Outcome<()>,
    /// The figures.
    pub summary: Summary,
    /// The first deadline that was missed.
    pub first_miss: Option<Time>,
    /// The number of misses of tasks without weakly hard constraints.
    pub missed_of_hard: u64,
    /// The requests that the policy refused.
    pub refusals: Refusals,
    /// The measurements of the chains of the set.
    pub chains: Vec<ChainFigures>,
    /// The outcomes of all jobs, if a constraint or a limit is about them.
    pub(super) outcomes: Outcomes,
    /// The weakly hard constraints of the set, as the run keeps them.
    pub how_often: Vec<ObservedConstraint>,
    /// The violations that the checker found; `None` if they were not asked for, or the check was
    /// interrupted.
    pub broken_rules: Option<Vec<String>>,
}

impl Simulated {
    /// Returns the simulations that took place.
    pub fn ran(&self) -> impl Iterator<Item = &Ran> {
        self.policies.iter().filter_map(|policy| policy.result.as_ref().ok())
    }

    /// Simulates again up to some time, for the contents of charts and files. Returns true if that
    /// was interrupted. After an interrupt of the answer itself, its time is recorded in any case.
    ///
    /// # Errors
    /// If the simulation cannot start up to this time.
    pub fn record<R: Recorder>(
        &self,
        ran: &Ran,
        until: Time,
        recorder: &mut R,
        interrupt: Option<&AtomicBool>,
    ) -> Result<bool, Unanswered> {
        let options = SimOptions {
            horizon: Horizon::At(until),
            seed: self.question.seed,
            explore: self.question.explore,
            event_loop: self.question.event_loop,
            interrupt: interrupt.filter(|_| !self.interrupted),
            progress: None,
        };
        simulate(&ran.system, ran.policy.clone(), recorder, &options)
            .map(|outcome| outcome.interrupted)
            .map_err(cannot_start)
    }
}

impl PolicyRun {
    /// Returns true if the schedule breaks a rule, which is a bug of Layland.
    fn is_broken(&self) -> bool {
        let broken = |ran: &Ran| ran.broken_rules.as_ref().is_some_and(|found| !found.is_empty());
        self.result.as_ref().is_ok_and(broken)
    }

    /// Returns true if the policy took the set and every entry into it, and every limit holds; or,
    /// without limits, if every deadline and every constraint on a chain was met.
    fn is_kept(&self) -> bool {
        let holds = |ran: &Ran| match &self.held[..] {
            [] => ran.missed_of_hard == 0 && ran.keeps_constraints(),
            held => held.iter().all(|held| held.found.is_none()),
        };
        self.result.as_ref().is_ok_and(|ran| holds(ran) && ran.refusals.entries == 0)
    }
}

impl Ran {
    /// Returns the constraints of the set in the form of limits: those on chains, and the weakly
    /// hard ones. One that is open is not broken.
    pub fn constraints(&self) -> Vec<Held> {
        let how_often = self.how_often.iter().map(|of| of.held(&self.system));
        chains::constraints(&self.system, &self.chains).into_iter().chain(how_often).collect()
    }

    /// Returns true if no constraint of the set is broken.
    pub fn keeps_constraints(&self) -> bool {
        self.constraints().iter().all(|held| held.found.is_none())
    }

    /// Returns the CPU of each task, if its policy assigns each to one.
    pub fn assignment(&self) -> Option<TaskMap<Assigned>> {
        self.policy.rule().assignment(&self.system)
    }

    /// Returns the kind of schedules that its policy makes.
    pub fn schedules(&self) -> Schedules {
        self.policy.needs().schedules
    }
}

/// Returns the exit code: yes if every policy kept what was asked of it.
pub(super) fn exit(policies: &[PolicyRun], interrupted: bool) -> Exit {
    if policies.iter().any(PolicyRun::is_broken) {
        Exit::Bug
    } else if interrupted {
        Exit::Interrupted
    } else if policies.iter().all(PolicyRun::is_kept) {
        Exit::Yes
    } else {
        Exit::No
    }
}
