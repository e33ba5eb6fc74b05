//! The content and the effort of an assessment.

use layland_analysis::catalogue;
use layland_model::shown::Digits;
use layland_model::{Duration, System};

/// The options of an assessment.
#[derive(Clone, Debug, Default)]
pub struct AssessOptions {
    /// The names of the only tests to run; all of them if empty.
    pub tests: Vec<String>,
    /// The content of the assessment.
    pub wanted: Wanted,
    /// The effort of the tests and searches.
    pub effort: Effort,
    /// The length of which all arrivals are multiples, if the user states one. Tests do not use it:
    /// a pattern that refutes the set may need jobs between ticks, so the answer is unknown unless
    /// a run on ticks misses.
    pub tick: Option<Duration>,
    /// The digits of rounded numbers in reasons.
    pub digits: Digits,
}

/// The content of an assessment: by default the verdict with its reasons, and bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The findings of the tests.
    pub findings: Findings,
    /// The analyses that compute bounds of the tasks.
    pub bounds: BoundsBy,
    /// Further content.
    pub more: More,
    /// True for the [`Sensitivity`](crate::Sensitivity) of each task and CPU.
    pub limits: bool,
}

/// The findings that an assessment reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Findings {
    /// The verdict and the test that decides; no reasons, which some tests compute after their
    /// verdicts.
    Verdict,
    /// The findings up to the test that decides, with reasons.
    #[default]
    UntilDecided,
    /// The findings of every test, even after one has decided.
    All,
}

/// The analyses that compute bounds of the tasks, which can take longer than all tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoundsBy {
    /// No analysis.
    Nobody,
    /// The analyses that are [named](AssessOptions::tests).
    #[default]
    Named,
    /// Every analysis, even if it is not named.
    All,
}

/// The content besides the verdict and the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum More {
    /// Nothing.
    #[default]
    Nothing,
    /// The [`Margin`](crate::Margin).
    Margin,
    /// The analysed system and the proof of the answer
    /// ([`Assessment::proven`](crate::Assessment::proven)).
    Proof,
    /// Both.
    MarginAndProof,
}

impl More {
    /// Combines the two choices.
    pub const fn of(margin: bool, proof: bool) -> More {
        match (margin, proof) {
            (false, false) => More::Nothing,
            (true, false) => More::Margin,
            (false, true) => More::Proof,
            (true, true) => More::MarginAndProof,
        }
    }

    /// Returns this choice without the margin.
    #[must_use]
    pub const fn without_margin(self) -> More {
        More::of(false, self.has_proof())
    }

    /// Returns true if the margin is wanted.
    pub const fn has_margin(self) -> bool {
        matches!(self, More::Margin | More::MarginAndProof)
    }

    /// Returns true if a proof is wanted.
    pub const fn has_proof(self) -> bool {
        matches!(self, More::Proof | More::MarginAndProof)
    }
}

/// The effort of an assessment. The default is that of `layland check` for one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Leave out tests that search ([`catalogue::LONG`]), unless they are
    /// [named](AssessOptions::tests).
    Quick,
    /// Every test.
    Tests,
    /// Every test, and where none decides a [`search`](crate::search) over runs and states: as many
    /// as the set justifies, and at most `most`. A job costs more where there are many tasks: a
    /// second or two must suffice for all policies of an ordinary set.
    Usual {
        /// The limit on jobs, and on states.
        most: u64,
    },
    /// Every test and a search with this many jobs and states.
    Jobs(u64),
}

impl Default for Effort {
    fn default() -> Effort {
        Effort::Usual { most: Effort::ONE_SET }
    }
}

impl Effort {
    /// The default limit on the jobs that are simulated for one set.
    pub const ONE_SET: u64 = 20_000;

    /// Returns this effort without runs.
    #[must_use]
    pub fn without_runs(self) -> Effort {
        match self {
            Effort::Quick => Effort::Quick,
            Effort::Tests | Effort::Usual { .. } | Effort::Jobs(_) => Effort::Tests,
        }
    }

    /// Returns the number of jobs that may be simulated for this set.
    pub(crate) fn jobs(self, system: &System) -> u64 {
        match self {
            Effort::Quick | Effort::Tests => 0,
            // Not `clamp`, which would panic: `most` may be 0.
            Effort::Usual { most } => (50_000 / system.tasks.len().max(1) as u64).max(1).min(most),
            Effort::Jobs(jobs) => jobs,
        }
    }
}

impl AssessOptions {
    /// Requests the verdict with its reasons, bounds, and the [`Margin`](crate::Margin).
    pub fn with_margin() -> AssessOptions {
        let wanted = Wanted { more: More::Margin, ..Wanted::default() };
        AssessOptions { wanted, ..AssessOptions::default() }
    }

    /// Requests the verdict of the tests with their reasons, and bounds; no search for a run.
    pub fn by_tests() -> AssessOptions {
        AssessOptions { effort: Effort::Tests, ..AssessOptions::default() }
    }

    /// Requests the findings of every test, and bounds.
    pub fn of_every_test() -> AssessOptions {
        let wanted = Wanted { findings: Findings::All, ..Wanted::default() };
        AssessOptions { wanted, ..AssessOptions::by_tests() }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        if self.tests.is_empty() {
            self.effort != Effort::Quick || !catalogue::LONG.contains(&name)
        } else {
            self.tests.iter().any(|test| test.eq_ignore_ascii_case(name))
        }
    }

    pub(crate) fn bounds_by(&self, name: &str) -> bool {
        match self.wanted.bounds {
            BoundsBy::Nobody => false,
            BoundsBy::Named => self.has(name),
            BoundsBy::All => self.has(name) || !self.tests.is_empty(),
        }
    }

    /// Returns true if the reasons of the tests are needed. A proof is made from them.
    pub(crate) fn tells(&self) -> bool {
        self.wanted.findings != Findings::Verdict || self.wanted.more.has_proof()
    }

    /// Returns the options for a verdict that is compared with that of the system as it is.
    pub(crate) fn for_another_system(&self) -> AssessOptions {
        let AssessOptions { tests, wanted: _, effort, tick, digits } = self;
        let wanted =
            Wanted { findings: Findings::Verdict, bounds: BoundsBy::Nobody, ..Wanted::default() };
        let effort = effort.without_runs();
        AssessOptions { tests: tests.clone(), wanted, effort, tick: *tick, digits: *digits }
    }
}
