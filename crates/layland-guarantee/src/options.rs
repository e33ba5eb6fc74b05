//! What is asked of an assessment, and how hard to try.

use layland_analysis::catalogue;
use layland_model::{Duration, System};

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct AssessOptions {
    /// Only these tests, by name; all of them if empty.
    pub tests: Vec<String>,
    /// What is wanted.
    pub wanted: Wanted,
    /// How hard to try.
    pub effort: Effort,
    /// All that arrivals are multiples of, if the user says so. Tests do not use it: what they refute may need jobs
    /// between ticks, and is unknown, unless a run on ticks misses.
    pub tick: Option<Duration>,
}

/// What is wanted of an assessment: by default the verdict with its reasons, and bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// What is told of the tests.
    pub findings: Findings,
    /// Whom to ask for bounds of the tasks.
    pub bounds: BoundsBy,
    /// What else.
    pub more: More,
}

/// What is told of the tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Findings {
    /// The verdict, and the test that decides; no reasons, which some tests have later than their verdicts.
    Verdict,
    /// What tests say up to the one that decides, with reasons.
    #[default]
    UntilDecided,
    /// What every test says, also after one has decided.
    All,
}

/// Who is asked for bounds of the tasks, which can take longer than all tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoundsBy {
    /// Nobody.
    Nobody,
    /// The analyses that are [named](AssessOptions::tests).
    #[default]
    Named,
    /// Every analysis, also one that is not named.
    All,
}

/// What is wanted besides the verdict and the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum More {
    /// Nothing.
    #[default]
    Nothing,
    /// The [`Margin`](crate::Margin).
    Margin,
    /// What was analysed, and what proves the answer ([`Assessment::proven`](crate::Assessment::proven)).
    Proof,
    /// Both.
    MarginAndProof,
}

impl More {
    /// These.
    pub const fn of(margin: bool, proof: bool) -> More {
        match (margin, proof) {
            (false, false) => More::Nothing,
            (true, false) => More::Margin,
            (false, true) => More::Proof,
            (true, true) => More::MarginAndProof,
        }
    }

    /// The same but for the margin.
    #[must_use]
    pub const fn without_margin(self) -> More {
        More::of(false, self.has_proof())
    }

    /// Whether the margin is wanted.
    pub const fn has_margin(self) -> bool {
        matches!(self, More::Margin | More::MarginAndProof)
    }

    /// Whether a proof is wanted.
    pub const fn has_proof(self) -> bool {
        matches!(self, More::Proof | More::MarginAndProof)
    }
}

/// How hard to try. The default is what `layland check` does for one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Leave out what searches ([`catalogue::LONG`]), unless it is [named](AssessOptions::tests).
    Quick,
    /// Every test.
    Tests,
    /// Every test, and where none decides runs and states ([`search`](crate::search)): as many as are worth it for the
    /// set, and at most `most`. A job costs more where there are many tasks: a second or two must do for all policies
    /// of an ordinary set.
    Usual {
        /// Jobs, and as many states.
        most: u64,
    },
    /// The same with so many jobs, and as many states.
    Jobs(u64),
}

impl Default for Effort {
    fn default() -> Effort {
        Effort::Usual { most: Effort::ONE_SET }
    }
}

impl Effort {
    /// How many jobs are simulated for one set, at most, if nobody says.
    pub const ONE_SET: u64 = 20_000;

    /// The same without runs.
    #[must_use]
    pub fn without_runs(self) -> Effort {
        match self {
            Effort::Quick => Effort::Quick,
            Effort::Tests | Effort::Usual { .. } | Effort::Jobs(_) => Effort::Tests,
        }
    }

    /// How many jobs are simulated for this set.
    pub(crate) fn jobs(self, system: &System) -> u64 {
        match self {
            Effort::Quick | Effort::Tests => 0,
            // `most` may be 0, so that this is no `clamp`.
            Effort::Usual { most } => (50_000 / system.tasks.len().max(1) as u64).max(1).min(most),
            Effort::Jobs(jobs) => jobs,
        }
    }
}

impl AssessOptions {
    /// The verdict with its reasons, bounds, and the [`Margin`](crate::Margin).
    pub fn with_margin() -> AssessOptions {
        let wanted = Wanted { more: More::Margin, ..Wanted::default() };
        AssessOptions { wanted, ..AssessOptions::default() }
    }

    /// The verdict of the tests with their reasons, and bounds: no run is searched for.
    pub fn by_tests() -> AssessOptions {
        AssessOptions { effort: Effort::Tests, ..AssessOptions::default() }
    }

    /// What every test says, and bounds.
    pub fn of_every_test() -> AssessOptions {
        let wanted = Wanted { findings: Findings::All, ..Wanted::default() };
        AssessOptions { wanted, ..AssessOptions::by_tests() }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match self.tests.is_empty() {
            true => self.effort != Effort::Quick || !catalogue::LONG.contains(&name),
            false => self.tests.iter().any(|test| test.eq_ignore_ascii_case(name)),
        }
    }

    pub(crate) fn bounds_by(&self, name: &str) -> bool {
        match self.wanted.bounds {
            BoundsBy::Nobody => false,
            BoundsBy::Named => self.has(name),
            BoundsBy::All => self.has(name) || !self.tests.is_empty(),
        }
    }

    /// Whether anybody wants the reasons of the tests. A proof is made from them.
    pub(crate) fn tells(&self) -> bool {
        self.wanted.findings != Findings::Verdict || self.wanted.more.has_proof()
    }

    /// The same for a verdict that is compared with that of the system as it is.
    pub(crate) fn for_another_system(&self) -> AssessOptions {
        let AssessOptions { tests, wanted: _, effort, tick } = self;
        let wanted =
            Wanted { findings: Findings::Verdict, bounds: BoundsBy::Nobody, more: More::Nothing };
        let effort = effort.without_runs();
        AssessOptions { tests: tests.clone(), wanted, effort, tick: *tick }
    }
}
