//! The sentences of a report, each with its severity.

/// The severity of a line, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For information.
    Note,
    /// An expected result.
    Good,
    /// A fact to consider before trusting the rest, such as omitted data.
    Warning,
    /// A missed deadline, or a set that is not schedulable.
    Bad,
    /// A violated rule of a policy.
    BrokenRule,
    /// A violated bound.
    BrokenBound,
}

impl Severity {
    /// Returns its class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Good => "good",
            Severity::Warning => "warning",
            Severity::Bad => "bad",
            Severity::BrokenRule | Severity::BrokenBound => "broken",
        }
    }

    /// Returns the sign and the word that represent it without colour.
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

/// A sentence and its severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The severity.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
}

impl Line {
    /// Returns a line.
    pub fn new(severity: Severity, text: impl Into<String>) -> Line {
        Line { severity, text: text.into() }
    }
}
