//! A finding of a test, shared by all policies that lead to the same system.

use layland_analysis::{Finding, Refusal};
use layland_model::System;
use layland_model::shown::Digits;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// The finding of a test, or the reason why it does not apply; with the sentences of its reasons,
/// which are formatted once.
pub struct Stated {
    finding: Result<Finding, Refusal>,
    sentences: OnceLock<Vec<String>>,
}

impl Stated {
    pub(crate) fn new(finding: Result<Finding, Refusal>) -> Stated {
        Stated { finding, sentences: OnceLock::new() }
    }

    /// Returns the reasons of the finding in sentences without full stops; none if the test does
    /// not apply. The system must have the tasks and CPUs of the tested one. The digits are those of
    /// the first call.
    pub fn sentences(&self, system: &System, Digits(digits): Digits) -> &[String] {
        self.sentences.get_or_init(|| {
            let reasons = self.finding.iter().flat_map(|finding| &finding.reasons);
            reasons.map(|reason| reason.describe_with(system, digits)).collect()
        })
    }

    /// Returns the finding for modification, and drops the sentences, which would be stale.
    pub(crate) fn finding_mut(&mut self) -> &mut Result<Finding, Refusal> {
        self.sentences = OnceLock::new();
        &mut self.finding
    }
}

impl Deref for Stated {
    type Target = Result<Finding, Refusal>;
    fn deref(&self) -> &Result<Finding, Refusal> {
        &self.finding
    }
}

impl Clone for Stated {
    fn clone(&self) -> Stated {
        Stated::new(self.finding.clone())
    }
}

impl fmt::Debug for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.finding.fmt(f)
    }
}
