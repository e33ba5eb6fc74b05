//! The question, and its names.

use crate::{Unanswered, distinct_policies};
use layland_analysis::catalogue;
use layland_engine::reserves::Margin;
use layland_guarantee::{AssessOptions, BoundsBy, Effort, Findings, More, Wanted};
use layland_policy::Registry;

/// The question of `layland check`: is every deadline of a set guaranteed?
///
/// The default question is that of the command without options: every policy to which a test
/// applies, with all bounds and the factor by which WCETs could grow.
#[derive(Clone, Debug)]
pub struct CheckQuestion {
    /// The policies with their options; every policy to which a test applies, if empty.
    pub policies: Vec<String>,
    /// The margin that real runs reserve. With a margin, the answer is about the larger
    /// reservations.
    pub margin: Option<Margin>,
    /// The tests, the content of the answer, the effort of searches, and the tick.
    pub options: AssessOptions,
    /// True if the answer includes the findings that hold for every policy.
    pub any_policy: bool,
    /// True if policies stay in the answer about which no test says anything.
    pub every_policy: bool,
}

impl Default for CheckQuestion {
    fn default() -> CheckQuestion {
        let wanted = Wanted {
            findings: Findings::UntilDecided,
            bounds: BoundsBy::All,
            more: More::of(true, false),
            limits: false,
        };
        CheckQuestion {
            policies: Vec::new(),
            margin: None,
            options: AssessOptions { wanted, ..AssessOptions::default() },
            any_policy: true,
            every_policy: false,
        }
    }
}

impl CheckQuestion {
    /// Asks about these policies; about every policy to which a test applies, if there are none.
    pub fn about(policies: Vec<String>) -> CheckQuestion {
        CheckQuestion { policies, ..CheckQuestion::default() }
    }

    /// Sets whether every test is asked, even after one has decided, and every policy stays in the
    /// answer.
    #[must_use]
    pub fn with_every_test(mut self, every_test: bool) -> CheckQuestion {
        let findings = if every_test { Findings::All } else { Findings::UntilDecided };
        self.options.wanted.findings = findings;
        self.every_policy = every_test;
        self
    }

    /// Sets whether the factor is searched by which WCETs could grow.
    #[must_use]
    pub fn with_factor(mut self, factor: bool) -> CheckQuestion {
        let wanted = &mut self.options.wanted;
        wanted.more = More::of(factor, wanted.more.has_proof());
        self
    }

    /// Sets whether the limits of each task and CPU are searched.
    #[must_use]
    pub fn with_limits(mut self, limits: bool) -> CheckQuestion {
        self.options.wanted.limits = limits;
        self
    }

    /// Limits the search to this many jobs and states; without a number the usual limit applies.
    #[must_use]
    pub fn with_effort(mut self, jobs: Option<u64>) -> CheckQuestion {
        self.options.effort = jobs.map_or(Effort::default(), Effort::Jobs);
        self
    }

    /// Returns the question with its policies in the notation of the output.
    ///
    /// # Errors
    /// If a policy or a test does not exist, or a policy is named twice.
    pub fn resolved(mut self, registry: &Registry) -> Result<CheckQuestion, Unanswered> {
        self.policies = distinct_policies(registry, &self.policies)?;
        self.options.tests.iter().try_for_each(|name| known_test(name))?;
        Ok(self)
    }

    /// Returns the question with proofs, which the certificate contains.
    ///
    /// # Errors
    /// If the question has a margin: the verifier knows sets as they are, not larger ones.
    pub fn with_proofs(mut self) -> Result<CheckQuestion, Unanswered> {
        if self.margin.is_some() {
            return Err(Unanswered::usage("a certificate covers a set without a reserve")
                .help("leave the margin out"));
        }
        let wanted = &mut self.options.wanted;
        wanted.more = More::of(wanted.more.has_margin(), true);
        Ok(self)
    }
}

fn known_test(name: &str) -> Result<(), Unanswered> {
    if catalogue::test(name).is_some() || catalogue::bound(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = catalogue::TESTS.iter().map(|test| test.name).collect();
    Err(Unanswered::usage(format!("there is no test `{name}`"))
        .help(format!("there are {}", names.join(", "))))
}
