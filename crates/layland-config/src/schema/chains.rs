//! Cause-effect chains in the schema.

use super::TimeText;
use schemars::JsonSchema;

/// A cause-effect chain: each task writes a register that the next one reads.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct ChainTable {
    /// Its name; no two chains have the same.
    #[schemars(length(min = 1))]
    name: String,
    /// The names of its tasks, from the one that samples an event to the one that answers it; none twice in a row.
    #[schemars(length(min = 1))]
    tasks: Vec<String>,
    /// The times at which jobs read and write. "implicit" if left out.
    communication: Option<CommunicationName>,
    /// The constraint on its reaction time: more than 0. None if left out.
    max_reaction: Option<TimeText>,
    /// The constraint on its data age: more than 0. None if left out.
    max_age: Option<TimeText>,
}

/// The times at which the jobs of a chain read and write.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum CommunicationName {
    /// They read when they first execute, and write when they end.
    Implicit,
    /// They read at their release, and write `let_interval` later.
    Let,
}
