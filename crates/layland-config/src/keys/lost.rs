//! The keys that a format lacks, and the warnings about their loss.

use super::TASK_KEYS;
use super::kind::{Of, TaskKey};

/// The keys that a format has. The loss of any other key is a warning.
pub(crate) struct Coverage {
    /// Returns true if the format has the key, or if its writer has warnings of its own.
    pub has: fn(&TaskKey) -> bool,
    /// The advice about the loss of a key.
    pub help: fn(&TaskKey) -> &'static str,
}

impl Coverage {
    /// Returns a warning and its advice for each key of a task that the format lacks.
    pub(crate) fn lost(&self, of: Of<'_>) -> impl Iterator<Item = (String, &'static str)> {
        let is_lost =
            move |key: &&TaskKey| !key.lost.is_empty() && !(self.has)(key) && (key.is_given)(of);
        let lost = TASK_KEYS.iter().filter(is_lost);
        lost.map(move |key| (key.lost.replace("{}", &of.task.name), (self.help)(key)))
    }
}
