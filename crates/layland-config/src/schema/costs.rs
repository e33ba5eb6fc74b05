//! The overheads of the machine, in the schema.

use super::values::TimeText;
use schemars::JsonSchema;

/// The overheads of the machine.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct OverheadTable {
    /// Serving the release of one job.
    release: Option<TimeText>,
    /// Making one scheduling decision.
    scheduling: Option<TimeText>,
    /// Switching to another job.
    context_switch: Option<TimeText>,
    /// Loss of cache contents after a migration.
    migration: Option<TimeText>,
    /// Latency of an inter-processor interrupt.
    interrupt: Option<TimeText>,
    /// One timer tick.
    tick: Option<TimeText>,
    /// The time between two timer ticks.
    tick_period: Option<TimeText>,
    /// Reloading one block of the cache that another job has evicted. It counts for tasks with `ucb`.
    block_reload_time: Option<TimeText>,
}

/// Sets of the cache of a CPU: "0-39", "0-39,64", or a list of numbers and such strings. They count from 0.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum CacheSets {
    /// Ranges, both ends included.
    Text(String),
    /// A list.
    List(#[schemars(length(min = 1))] Vec<SetOrText>),
    /// A set.
    Set(#[schemars(range(max = 65535))] u32),
}

/// A set of the cache, or a string with ranges.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum SetOrText {
    /// A set.
    Set(#[schemars(range(max = 65535))] u32),
    /// Ranges, both ends included.
    Text(String),
}
