//! The outcomes of vectors.

use std::collections::BTreeMap;

/// A value that was read from a vector, or a description of the error.
pub(super) type Read<T> = Result<T, String>;

/// The outcome of one vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The results are as expected.
    Passed,
    /// The results differ, with the first difference.
    Failed(String),
    /// The vector needs a policy or an analysis that does not exist yet, given by name.
    NotSupported(String),
}

/// The first difference, if there is any.
impl From<Read<Option<String>>> for Verdict {
    fn from(difference: Read<Option<String>>) -> Self {
        match difference {
            Ok(None) => Verdict::Passed,
            Ok(Some(what)) | Err(what) => Verdict::Failed(what),
        }
    }
}

impl From<Read<()>> for Verdict {
    fn from(outcome: Read<()>) -> Self {
        outcome.map(|()| None).into()
    }
}

/// The verdicts of many vectors.
#[derive(Clone, Debug, Default)]
pub struct VectorReport {
    /// The number of vectors that passed.
    pub passed: usize,
    /// The vectors that failed: name and first difference.
    pub failed: Vec<(String, String)>,
    /// The number of unsupported vectors, by the missing policy or analysis.
    pub not_supported: BTreeMap<String, usize>,
}

impl VectorReport {
    /// Counts one more verdict.
    pub(super) fn add(&mut self, name: String, verdict: Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(difference) => self.failed.push((name, difference)),
            Verdict::NotSupported(what) => *self.not_supported.entry(what).or_default() += 1,
        }
    }

    /// Returns `vectors: N passed, M failed, K not supported (..)`.
    pub fn summary(&self) -> String {
        let unsupported: usize = self.not_supported.values().sum();
        let mut text = format!(
            "vectors: {} passed, {} failed, {unsupported} not supported",
            self.passed,
            self.failed.len()
        );
        if unsupported > 0 {
            let each: Vec<String> =
                self.not_supported.iter().map(|(what, count)| format!("{what}: {count}")).collect();
            text += &format!(" ({})", each.join(", "));
        }
        text
    }
}
