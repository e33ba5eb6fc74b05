//! The JSON Schema of the task-set file, for editors and for other programs that write it.
//!
//! The structures below describe the file and are never constructed: [`crate::read`] reads strictly
//! and keeps positions, which a derived reader cannot. A test compares the keys of both.
//!
//! Long because the structures of all tables of the file are here.
#![expect(dead_code, reason = "these structures are turned into a schema and never made")]

mod chains;
mod costs;

use chains::ChainTable;
use costs::{CacheSets, OverheadTable};
use schemars::{JsonSchema, generate::SchemaSettings};
use std::collections::BTreeMap;

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

/// A time: a number and a unit (ns, us, ms, s), as in "5ms", "1.5us" or "10/3s".
#[derive(JsonSchema)]
#[schemars(transparent)]
struct TimeText(#[schemars(regex(pattern = r"^\s*-?[0-9_./ ]+\s*(ns|us|µs|μs|ms|s)\s*$"))] String);

/// A time, or several that are equal, as in "1ms x 300".
#[derive(JsonSchema)]
#[schemars(transparent)]
struct RepeatedTimeText(
    #[schemars(regex(pattern = r"^\s*-?[0-9_./ ]+\s*(ns|us|µs|μs|ms|s)\s*( x [0-9]+\s*)?$"))]
    String,
);

/// An exact number: a decimal ("0.75") or a fraction ("3/4"), in quotes.
#[derive(JsonSchema)]
#[schemars(transparent)]
struct RateText(#[schemars(regex(pattern = r"^\s*-?[0-9_./ ]+\s*$"))] String);

/// A step of a job: "run" or "suspend" with a time, "lock" or "unlock" with the name of a resource.
#[derive(JsonSchema)]
#[schemars(transparent)]
struct StepText(
    #[schemars(regex(
        pattern = r"^\s*((run|suspend)\s+-?[0-9_./ ]+\s*(ns|us|µs|μs|ms|s)|(lock|unlock)\s+\S+)\s*$"
    ))]
    String,
);

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

/// CPUs: "0-3", "0,2", "l3:0", "!7" (all of the cluster but 7), "all", or a list of CPUs and such
/// strings.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Cpus {
    /// A string.
    Text(String),
    /// A list.
    List(Vec<CpuOrText>),
}

/// A CPU, or a string that names some.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum CpuOrText {
    /// A CPU.
    Cpu(#[schemars(range(max = 4095))] u32),
    /// A string.
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

/// Defaults for keys that a task leaves out.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct DefaultsTable {
    /// See the task.
    criticality: Option<String>,
    /// See the task.
    affinity: Option<Cpus>,
    /// See the task.
    cluster: Option<u32>,
    /// See the task.
    offset: Option<TimeText>,
    /// See the task.
    jitter: Option<TimeText>,
    /// See the task.
    jobs: Option<u64>,
    /// See the task.
    on_miss: Option<OnMissName>,
    /// See the task.
    reclaim: Option<bool>,
    /// See the task.
    nonpreemptive: Option<Nonpreemptive>,
    /// See the task.
    release: Option<Release>,
    /// See the task.
    exec: Option<Exec>,
    /// The rule that decides between jobs of tasks with the same `priority`, for policies that read it. If left out:
    /// "rank", if every task that shares its priority has a rank; otherwise "fifo".
    tie: Option<Tie>,
}

/// The rule that decides between jobs of tasks with the same priority.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum Tie {
    /// The smaller rank goes first, and preempts.
    Rank,
    /// The job that became ready first goes first, and no other job of its priority preempts it.
    Fifo,
    /// The order is not known: guarantees hold in every order.
    Any,
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

/// A task.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(extend("anyOf" = [{ "required": ["wcet"] }, { "required": ["steps"] }]))]
struct TaskTable {
    /// Its name; no two tasks have the same.
    #[schemars(length(min = 1))]
    name: String,
    /// The number of copies to make, named `name.0`, `name.1` and so on.
    #[schemars(range(min = 1, max = 1_000_000))]
    count: Option<u32>,
    /// The time between two jobs; the least time, if the task is sporadic.
    period: TimeText,
    /// The deadline of a job, relative to its arrival. The period if left out.
    deadline: Option<TimeText>,
    /// The longest execution time of a job, on a CPU of speed 1. The sum of the `run` steps if left out by a task that
    /// has `steps`; a task without steps has no default.
    wcet: Option<Wcet>,
    /// The processor time that is reserved per period. The WCET at the task's own level if left
    /// out.
    budget: Option<TimeText>,
    /// The name of its criticality level. The lowest if left out.
    criticality: Option<String>,
    /// The CPUs on which it may run. All CPUs of its cluster if left out.
    affinity: Option<Cpus>,
    /// The index of its cluster. May be left out if there is one, or if the affinity lies in one.
    cluster: Option<u32>,
    /// Arrival of the first job. 0 if left out.
    offset: Option<TimeText>,
    /// The longest time from the arrival of a job until it becomes ready. 0 if left out.
    jitter: Option<TimeText>,
    /// Breaks ties: the smaller rank goes first. The position among the tasks, from 0, if left out.
    rank: Option<i64>,
    /// A fixed priority, for policies that take given priorities. Smaller is more important.
    priority: Option<i64>,
    /// The number of jobs. Unlimited if left out.
    jobs: Option<u64>,
    /// The treatment of a late job and the jobs behind it. "continue" if left out.
    on_miss: Option<OnMissName>,
    /// True if its server reclaims bandwidth that others do not use (SCHED_FLAG_RECLAIM). Counts under `dl:grub=on`.
    /// false if left out.
    reclaim: Option<bool>,
    /// True if its jobs are never preempted once they have begun; or, as a time, the longest time for which a job goes
    /// on when one of higher priority arrives. For EDF and fixed priorities. false if left out.
    nonpreemptive: Option<Nonpreemptive>,
    /// The lengths of the parts of a job, which is preempted only between them; their sum is the WCET. For EDF and
    /// fixed priorities. Preempted anywhere if left out.
    #[schemars(length(min = 1))]
    segments: Option<Vec<TimeText>>,
    /// The steps of each job: "run 1ms", "lock bus", "unlock bus", "suspend 3ms". The `run` steps sum to the WCET,
    /// critical sections are nested, and each resource that a job locks is listed under `[[resource]]`. A job only
    /// executes if it is left out.
    #[schemars(length(min = 1))]
    steps: Option<Vec<StepText>>,
    /// The tasks that it follows, by name: each of its jobs is ready once their jobs of the same number have completed.
    /// Tasks that follow each other have the same period, offset, jitter, `release` and `jobs`, and make no cycle. Of
    /// tasks with `count`, each copy follows the copy of its number. None if left out.
    follows: Option<Vec<String>>,
    /// The time from the release of a job until it writes, in chains with `communication = "let"`: more than 0, and at
    /// most the period. The period if left out.
    let_interval: Option<TimeText>,
    /// The sets of the cache with useful blocks (UCB), which a preempted job may have to load again. Each of them is in
    /// `ecb`, too. None if left out.
    ucb: Option<CacheSets>,
    /// The sets of the cache with evicting blocks (ECB): all sets into which a job may load a block. The file then
    /// gives `block_reload_time`. None if left out.
    ecb: Option<CacheSets>,
    /// The longest time for which jobs of lower priority (of later relative deadline under EDF) delay its jobs, once in
    /// a busy period. For analyses that count it: response times under fixed priorities and processor demand under EDF,
    /// on single CPUs. 0 if left out.
    blocking: Option<TimeText>,
    /// The threads of a program that it describes (`layland exec`): "main", or a regular expression that must match the
    /// whole name. The name of the task if left out.
    thread: Option<String>,
    /// The arrivals of jobs. "periodic" if left out.
    release: Option<Release>,
    /// The actual execution times of jobs. "wcet" if left out.
    exec: Option<Exec>,
}

/// The treatment of a late job and the jobs behind it.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum OnMissName {
    /// It runs on, and the next one waits for it.
    Continue,
    /// It is aborted at its deadline.
    Abort,
    /// It runs on, and jobs that could start meanwhile are skipped.
    Skip,
}

/// The parts of jobs that are not preempted.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Nonpreemptive {
    /// Jobs are never preempted once they have begun (true), or are anywhere (false).
    Whole(bool),
    /// The longest time for which a job goes on when one of higher priority arrives.
    Region(TimeText),
}

/// A longest execution time.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Wcet {
    /// One time for all criticality levels.
    Time(TimeText),
    /// By the name of the level. All levels up to the task's own are named; those above have its
    /// own time if they are left out.
    ByLevel(BTreeMap<String, TimeText>),
}

/// The arrivals of jobs.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Release {
    /// Without parameters.
    Named(ReleaseName),
    /// With parameters.
    Table(ReleaseTable),
}

/// The arrivals of jobs.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum ReleaseName {
    /// A job every period.
    Periodic,
    /// The thread never blocks.
    Hog,
    /// A job every period; the thread gives up the rest of its budget after each.
    Yield,
}

/// The arrivals of jobs.
#[derive(JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum ReleaseTable {
    /// A job every period.
    Periodic,
    /// The thread never blocks.
    Hog,
    /// A job every period; the thread gives up the rest of its budget after each.
    Yield,
    /// Jobs that arrive at least a period apart.
    Sporadic {
        /// The time that is added to the period: at most this much, evenly distributed, or a distribution.
        extra: Extra,
    },
    /// Jobs by an arrival curve: each as soon as it permits. The period is their mean distance in the long run, rounded
    /// down to a nanosecond.
    Curve {
        /// The least times from one arrival to the next, to the one after, and so on. Distances that
        /// follow from shorter ones may be left out, and the curve continues with their sums: bursts repeat.
        #[schemars(length(min = 1, max = 512))]
        delta_min: Vec<TimeText>,
        /// The time that is added to the least distance: at most this much, evenly distributed, or a distribution.
        /// Nothing if left out.
        extra: Option<Extra>,
    },
    /// Jobs at given times.
    Explicit {
        /// The times, from the earliest to the latest.
        at: Vec<TimeText>,
    },
    /// The next job arrives some time after the end of the one before.
    SelfSuspending {
        /// The time from the end of a job to the next arrival.
        gap: TimeText,
    },
}

/// The time that is added to the period of a sporadic task.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Extra {
    /// Evenly distributed from 0 to this time.
    Max(TimeText),
    /// From a distribution.
    Table(ExtraTable),
}

/// A distribution of times.
#[derive(JsonSchema)]
#[schemars(tag = "dist", rename_all = "kebab-case", deny_unknown_fields)]
enum ExtraTable {
    /// Evenly from 0 to `max`.
    Uniform {
        /// The most.
        max: TimeText,
    },
    /// Exponential, cut off at `max`.
    Exponential {
        /// The mean before the cut.
        mean: TimeText,
        /// The most.
        max: TimeText,
    },
}

/// The actual execution times of jobs.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Exec {
    /// Without parameters.
    Named(ExecName),
    /// With parameters.
    Table(ExecTable),
}

/// The actual execution times of jobs.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum ExecName {
    /// As long as the WCET at the task's own level.
    Wcet,
}

/// The actual execution times of jobs.
#[derive(JsonSchema)]
#[schemars(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
enum ExecTable {
    /// As long as the WCET at the task's own level.
    Wcet,
    /// As long as the WCET at another level.
    Level {
        /// Its name.
        level: String,
    },
    /// A fraction of the WCET; above 1 is an overrun.
    Fraction {
        /// The fraction.
        of: RateText,
    },
    /// Evenly distributed.
    Uniform {
        /// The least.
        min: TimeText,
        /// The most.
        max: TimeText,
    },
    /// One of some times.
    Discrete {
        /// The times.
        values: Vec<TimeText>,
        /// The relative probability of each.
        weights: Vec<u64>,
    },
    /// These times in order, again and again.
    List {
        /// The times; "1ms x 300" stands for 300 of them.
        values: Vec<RepeatedTimeText>,
    },
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
