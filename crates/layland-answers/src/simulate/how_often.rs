//! The weakly hard constraints of a set, judged by the outcomes of a run.

use crate::limits::Held;
use layland_model::{
    HitOrMiss, Observance, Profile, System, TaskId, Time, Violation, WeaklyHard, WeaklyHardJudge,
    counted, word_forever,
};
use layland_sim::Cycle;
use layland_trace::Outcomes;
use schemars::JsonSchema;
use serde::Serialize;

/// A constraint of a task, as a run keeps it.
#[derive(Clone, Debug)]
pub struct ObservedConstraint {
    /// The task.
    pub task: TaskId,
    /// The constraint.
    pub constraint: WeaklyHard,
    /// The answer of the run. It holds for ever if the schedule recurs, and for the run otherwise.
    pub observance: Observance,
    /// The first violation. Its jobs count from 0.
    pub violation: Option<Violation>,
    /// The most misses in a window, with undecided jobs as hits and as misses.
    pub most_misses: [u32; 2],
    /// The number of misses that each window could have had more.
    pub slack: i64,
    /// True if the schedule recurs, so that the answer holds for ever.
    pub is_for_ever: bool,
    /// The most misses in windows of several lengths, in the run.
    pub profile: Profile,
}

impl ObservedConstraint {
    /// Judges each constraint of a set. If the schedule recurs, the run has each turn of the cycle
    /// whole, and the jobs of one are decided in it.
    pub fn all(
        system: &System,
        outcomes: &Outcomes,
        cycle: Option<Cycle>,
    ) -> Vec<ObservedConstraint> {
        let of_task = |id: TaskId| system.tasks[id].constraints().map(move |of| (id, of));
        let judge = |(task, constraint)| ObservedConstraint::of(task, constraint, outcomes, cycle);
        system.tasks.ids().flat_map(of_task).map(judge).collect()
    }

    /// Judges a constraint of a task by the jobs of a run.
    pub fn in_run(task: TaskId, constraint: WeaklyHard, outcomes: &Outcomes) -> ObservedConstraint {
        ObservedConstraint::of(task, constraint, outcomes, None)
    }

    fn of(
        task: TaskId,
        constraint: WeaklyHard,
        outcomes: &Outcomes,
        cycle: Option<Cycle>,
    ) -> ObservedConstraint {
        let word = outcomes.of(task);
        let mut judge = WeaklyHardJudge::new(constraint);
        let mut profile = Profile::default();
        let mut take = |missing: u64, outcome: HitOrMiss| {
            judge.lose(missing);
            profile.lose(missing);
            judge.push(outcome);
            profile.push(outcome);
        };
        match cycle {
            Some(Cycle { from, length }) => {
                let prefix: Vec<HitOrMiss> = word.between(Time::ZERO, from).collect();
                let turn: Vec<HitOrMiss> =
                    word.between(from, from.saturating_add(length)).collect();
                word_forever(&prefix, &turn, constraint.window())
                    .for_each(|outcome| take(0, outcome));
            }
            None => word.outcomes().for_each(|(missing, outcome)| take(missing, outcome)),
        }
        ObservedConstraint {
            task,
            constraint,
            observance: judge.observance(),
            violation: judge.violation().cloned(),
            most_misses: judge.most_misses(),
            slack: judge.slack(),
            is_for_ever: cycle.is_some(),
            profile,
        }
    }

    /// The first violation in words: `jobs 3, 7 and 8 are late: 3 of 6, 2 allowed`. Jobs count from
    /// 1, as everywhere in output.
    pub fn violation_in_words(&self) -> Option<String> {
        let violation = self.violation.as_ref()?;
        let [first, last] = violation.ends();
        let numbers: Vec<String> =
            violation.misses.iter().map(|number| (number + 1).to_string()).collect();
        let jobs = match numbers.as_slice() {
            [one] => format!("job {one} is late"),
            [start @ .., end] if numbers.len() <= 10 => {
                format!("jobs {} and {end} are late", start.join(", "))
            }
            _ => format!("jobs {} to {} have {} misses", first + 1, last + 1, numbers.len()),
        };
        let (window, allowed) = (self.constraint.window(), self.constraint.misses());
        Some(format!("{jobs}: {} within {window}, {allowed} allowed", numbers.len()))
    }

    /// The answer in a sentence without its full stop.
    pub fn in_words(&self, system: &System) -> String {
        let (name, constraint) = (&system.tasks[self.task].name, self.constraint);
        let how_long = if self.is_for_ever { " for ever" } else { "" };
        match self.observance {
            Observance::Yes => format!(
                "`{name}` keeps {constraint}{how_long}: at most {} late in any {}",
                self.most_misses[1],
                counted(constraint.window(), "job")
            ),
            Observance::Open => format!(
                "`{name}`: {constraint} is open: the deadlines of its last jobs are after the end of the run"
            ),
            Observance::No => {
                let found = self.violation_in_words().unwrap_or_default();
                format!("`{name}` breaks {constraint}: {found}")
            }
        }
    }

    /// The answer in the form of a limit.
    pub fn held(&self, system: &System) -> Held {
        let limit = format!("{}: {}", system.tasks[self.task].name, self.constraint);
        Held { limit, found: self.violation_in_words() }
    }
}

/// A weakly hard constraint of a task, as a run keeps it.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub struct OfConstraint<'a> {
    /// The task.
    task: &'a str,
    /// The constraint: at least so many of any so many consecutive jobs are in time.
    mk: String,
    /// The answer of the run: open if jobs without an outcome decide.
    #[schemars(extend("enum" = ["yes", "no", "open"]))]
    kept: &'static str,
    /// True if the schedule recurs, so that the answer holds for ever.
    for_ever: bool,
    /// The numbers, from 1, of the late jobs of the first violation; null if there is none.
    violation: Option<Vec<u64>>,
    /// The most late jobs in a window of the constraint, with jobs without an outcome as in time.
    most_misses: u32,
    /// The number of late jobs that each window could have had more.
    slack: i64,
    /// The longest run of late jobs.
    longest_run: u64,
    /// Pairs of a number of consecutive jobs and the most late ones among so many.
    profile: Vec<[u32; 2]>,
}

/// Returns the constraints for a document.
pub fn observed_constraints<'a>(
    system: &'a System,
    found: &[ObservedConstraint],
) -> Vec<OfConstraint<'a>> {
    let of = |of: &ObservedConstraint| OfConstraint {
        task: &system.tasks[of.task].name,
        mk: of.constraint.to_string(),
        kept: of.observance.name(),
        for_ever: of.is_for_ever,
        violation: of
            .violation
            .as_ref()
            .map(|violation| violation.misses.iter().map(|number| number + 1).collect()),
        most_misses: of.most_misses[0],
        slack: of.slack,
        longest_run: of.profile.longest_run()[0],
        profile: of
            .profile
            .most_misses()
            .iter()
            .map(|(window, [most, _])| [*window, *most])
            .collect(),
    };
    found.iter().map(of).collect()
}
