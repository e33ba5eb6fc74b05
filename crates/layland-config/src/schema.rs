//! The JSON Schema of the task-set file, for editors and for other programs that write it.
//!
//! The structures below describe the file and are never constructed: [`crate::read`] reads strictly
//! and keeps positions, which a derived reader cannot. A test compares the keys of both. The keys of
//! tasks come from their table ([`crate::keys`]).
#![expect(dead_code, reason = "these structures are turned into a schema and never made")]

mod chains;
pub(crate) mod costs;
mod groups;
mod tasks;
pub(crate) mod values;

use chains::ChainTable;
use costs::OverheadTable;
use groups::GroupTable;
use schemars::{JsonSchema, generate::SchemaSettings};
use std::collections::BTreeMap;
use tasks::{DefaultsTable, TaskTable};
use values::{Cpus, RateText, TimeText};

/// Returns the JSON Schema (draft 2020-12) of the task-set file, format 1.
///
/// ```
/// let schema = layland_config::schema();
/// assert_eq!(schema["required"][0], "layland");
/// ```
pub fn schema() -> serde_json::Value {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<TaskSetFile>();
    schema.insert("title".to_owned(), "Layland task-set file, format 1".into());
    schema.to_value()
}

/// A task set: the machine, its tasks, and what happens to them while they run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct TaskSetFile {
    /// The version of the format: 1.
    #[schemars(range(min = 1, max = 1))]
    layland: u32,
    /// The machine. May be left out where the number of CPUs is given otherwise.
    platform: Option<PlatformTable>,
    /// The criticality levels. One unnamed level if left out.
    criticality: Option<CriticalityTable>,
    /// Defaults for keys that a task leaves out.
    defaults: Option<DefaultsTable>,
    /// Resources that jobs of several tasks lock.
    #[schemars(default)]
    resource: Vec<ResourceTable>,
    /// Groups of tasks that share a budget.
    #[schemars(default)]
    group: Vec<GroupTable>,
    /// The tasks.
    #[schemars(default)]
    task: Vec<TaskTable>,
    /// Cause-effect chains: tasks that pass data on to each other.
    #[schemars(default)]
    chain: Vec<ChainTable>,
    /// Requests to the running system.
    #[schemars(default)]
    request: Vec<RequestTable>,
    /// The origin of the set.
    provenance: Option<ProvenanceTable>,
}

/// The machine.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PlatformTable {
    /// The number of CPUs: a number, "0-3", or "host" for the CPUs of the machine that reads the file.
    cpus: Option<CpuCount>,
    /// Disjoint sets of CPUs, as cpusets make them. One of all CPUs if left out.
    #[schemars(default)]
    clusters: Vec<Cpus>,
    /// Names for sets of CPUs, used in affinities: `l3 = ["0-1", "2-3"]` makes `l3:0` and `l3:1`.
    #[schemars(default)]
    topology: BTreeMap<String, Cpus>,
    /// Speeds by CPUs, as in `{ "4-7" = "0.446" }`. The others have speed 1.
    #[schemars(default)]
    speed: BTreeMap<String, RateText>,
    /// The overheads of the machine. None if left out.
    overhead: Option<OverheadTable>,
}

/// A number of CPUs.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum CpuCount {
    /// A number of CPUs, numbered from 0.
    Number(#[schemars(range(min = 1, max = 4096))] u32),
    /// A range from 0, or "host".
    Text(String),
}

/// The criticality levels.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct CriticalityTable {
    /// Their names, from low to high.
    #[schemars(length(min = 1, max = 256))]
    levels: Vec<String>,
}

/// A resource that one job at a time holds: a bus, a buffer, a lock.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ResourceTable {
    /// Its name, without blanks; no two resources have the same.
    #[schemars(length(min = 1), regex(pattern = r"^\S+$"))]
    name: String,
    /// The CPU on which its critical sections execute, for protocols that have one (DPCP).
    #[schemars(range(max = 4095))]
    home: Option<u32>,
}

/// A request to the running system: one of `task` with `leave`, `task` with
/// `affinity`, `task` with `wcet` and `period`, `task` with `cluster`, `cluster` with `cpus`, `cpu`
/// with `online`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct RequestTable {
    /// The time of the request.
    at: TimeText,
    /// The name of a task; of one copy (`lidar.0`), if the task has a count.
    task: Option<String>,
    /// The task leaves for good.
    leave: Option<bool>,
    /// The task gets another affinity.
    affinity: Option<Cpus>,
    /// The task gets another WCET and reservation.
    wcet: Option<TimeText>,
    /// The task gets another period.
    period: Option<TimeText>,
    /// The task gets another deadline. The new period if left out.
    deadline: Option<TimeText>,
    /// The task moves to this cluster; without `task`, the cluster that gets other CPUs.
    cluster: Option<u32>,
    /// The CPUs of the cluster from now on.
    cpus: Option<Cpus>,
    /// The CPU that comes or goes.
    cpu: Option<u32>,
    /// True if it comes, false if it goes.
    online: Option<bool>,
}

/// The origin of a set: a generator, which has a seed, or a trace.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ProvenanceTable {
    /// The length of the trace from which the set was inferred.
    #[schemars(default)]
    seen: Option<TimeText>,
    /// Observations of that trace that the set does not explain. As long as there are any, nothing is guaranteed of the
    /// set.
    #[schemars(default)]
    unexplained: Vec<String>,
    /// Name and version of the program and of the generator.
    generator: Option<String>,
    /// The seed: a number, or a string if it is 2^63 or more.
    seed: Option<Seed>,
    /// Every parameter.
    #[schemars(default)]
    parameters: BTreeMap<String, String>,
}

/// A seed.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Seed {
    /// Below 2^63.
    Number(u64),
    /// Below 2^64.
    Text(String),
}

#[cfg(test)]
mod tests;
