//! What a report says: sentences, and how much each matters.

/// How much a line matters, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For information.
    Note,
    /// As it should be.
    Good,
    /// Something to know before trusting the rest, such as a cut.
    Warning,
    /// A deadline was missed, a set is not schedulable.
    Bad,
    /// A rule that a policy promises to keep does not hold.
    BrokenRule,
    /// A bound that was promised does not hold.
    BrokenBound,
}

impl Severity {
    /// What the style sheet calls it.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Good => "good",
            Severity::Warning => "warning",
            Severity::Bad => "bad",
            Severity::BrokenRule | Severity::BrokenBound => "broken",
        }
    }

    /// The sign and the word that stand for it where there is no colour.
    pub(crate) fn sign(self) -> (&'static str, &'static str) {
        match self {
            Severity::Note => ("i", "note"),
            Severity::Good => ("✓", "good"),
            Severity::Warning => ("!", "warning"),
            Severity::Bad => ("✗", "missed"),
            Severity::BrokenRule => ("✗", "RULE BROKEN"),
            Severity::BrokenBound => ("✗", "BOUND BROKEN"),
        }
    }
}

/// A sentence, and how much it matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How much.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
}

impl Line {
    /// A line.
    pub fn new(severity: Severity, text: impl Into<String>) -> Line {
        Line { severity, text: text.into() }
    }
}
