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
    /// What tasks have that do not say otherwise.
    defaults: Option<DefaultsTable>,
    /// What jobs of several tasks lock.
    #[schemars(default)]
    resource: Vec<ResourceTable>,
    /// The tasks.
    #[schemars(default)]
    task: Vec<TaskTable>,
    /// Cause-effect chains: which tasks hand data on to which.
    #[schemars(default)]
    chain: Vec<ChainTable>,
    /// What is asked of the system while it runs.
    #[schemars(default)]
    request: Vec<RequestTable>,
    /// How the set was made.
    provenance: Option<ProvenanceTable>,
}

/// The machine.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PlatformTable {
    /// How many CPUs: a number, "0-3", or "host" for as many as the machine has that reads this.
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
    /// What the machine spends besides the jobs. Nothing if left out.
    overhead: Option<OverheadTable>,
}

/// A number of CPUs.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum CpuCount {
    /// So many, numbered from 0.
    Number(#[schemars(range(min = 1, max = 4096))] u32),
    /// A range from 0, or "host".
    Text(String),
}

/// CPUs: "0-3", "0,2", "l3:0", "!7" (all of the cluster but 7), "all", or a list of CPUs and such
/// texts.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Cpus {
    /// A text.
    Text(String),
    /// A list.
    List(Vec<CpuOrText>),
}

/// A CPU, or a text that names some.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum CpuOrText {
    /// A CPU.
    Cpu(#[schemars(range(max = 4095))] u32),
    /// A text.
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

/// What tasks have that do not say otherwise.
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
    /// What decides between jobs of tasks of one `priority`, for policies that read it. If left out: the ranks, if
    /// every task that shares its priority has one; otherwise "fifo".
    tie: Option<Tie>,
}

/// What decides between jobs of tasks of one priority.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum Tie {
    /// The smaller rank goes first, and preempts.
    Rank,
    /// The job that became ready first goes first, and is not preempted by another one of its priority.
    Fifo,
    /// It is not known: what is guaranteed holds in every order.
    Any,
}

/// Something that one job at a time holds: a bus, a buffer, a lock.
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
    /// Makes so many tasks, named `name.0`, `name.1` and so on.
    #[schemars(range(min = 1, max = 1_000_000))]
    count: Option<u32>,
    /// The time between two jobs; the least time, if the task is sporadic.
    period: TimeText,
    /// How long after its arrival a job has to be done. The period if left out.
    deadline: Option<TimeText>,
    /// The longest execution time of a job, on a CPU of speed 1. The sum of the `run` steps if left out by a task that
    /// has `steps`; a task without steps has no default.
    wcet: Option<Wcet>,
    /// The processor time that is reserved per period. The WCET at the task's own level if left
    /// out.
    budget: Option<TimeText>,
    /// The name of its criticality level. The lowest if left out.
    criticality: Option<String>,
    /// Where it may run. All CPUs of its cluster if left out.
    affinity: Option<Cpus>,
    /// The index of its cluster. May be left out if there is one, or if the affinity lies in one.
    cluster: Option<u32>,
    /// Arrival of the first job. 0 if left out.
    offset: Option<TimeText>,
    /// How long after its arrival a job may become ready. 0 if left out.
    jitter: Option<TimeText>,
    /// Breaks ties: the smaller rank goes first. The position among the tasks, from 0, if left out.
    rank: Option<i64>,
    /// A fixed priority, smaller is more important, for policies that take given priorities.
    priority: Option<i64>,
    /// How many jobs come. Unlimited if left out.
    jobs: Option<u64>,
    /// What happens to a late job and those behind it. "continue" if left out.
    on_miss: Option<OnMissName>,
    /// Whether its server reclaims what others do not use (SCHED_FLAG_RECLAIM). Counts under `dl:grub=on`. false if
    /// left out.
    reclaim: Option<bool>,
    /// Whether its jobs are preempted nowhere once they have begun; or, as a time, for how long at most a job goes on
    /// when one comes before it. For EDF and fixed priorities. false if left out.
    nonpreemptive: Option<Nonpreemptive>,
    /// The lengths of the parts of a job between which alone it is preempted; their sum is the WCET. For EDF and fixed
    /// priorities. Preempted anywhere if left out.
    #[schemars(length(min = 1))]
    segments: Option<Vec<TimeText>>,
    /// What each job does, step by step: "run 1ms", "lock bus", "unlock bus", "suspend 3ms". Its `run` steps sum to the
    /// WCET, critical sections are nested, and what it locks is listed under `[[resource]]`. A job only executes if it
    /// is left out.
    #[schemars(length(min = 1))]
    steps: Option<Vec<StepText>>,
    /// The tasks that it follows, by name: each of its jobs is ready once their jobs of the same number have completed.
    /// Tasks that follow each other have the same period, offset, jitter, `release` and `jobs`, and make no cycle. Of
    /// tasks with `count`, each copy follows the copy of its number. It follows none if left out.
    follows: Option<Vec<String>>,
    /// How long after its release a job writes in chains with `communication = "let"`: more than 0, and at most the
    /// period. The period if left out.
    let_interval: Option<TimeText>,
    /// The sets of the cache with useful blocks (UCB): what a job that is preempted may have to load again. Each of
    /// them is in `ecb`, too. None if left out.
    ucb: Option<CacheSets>,
    /// The sets of the cache with evicting blocks (ECB): all that a job may load something into. The file then says
    /// `block_reload_time`. None if left out.
    ecb: Option<CacheSets>,
    /// For how long at most jobs of lower priority (of later relative deadline under EDF) delay its jobs, once in a
    /// busy period. For analyses that know it: response times under fixed priorities and processor demand under EDF, on
    /// single CPUs. 0 if left out.
    blocking: Option<TimeText>,
    /// Which threads of a program it is about (`layland exec`): "main", or a regular expression that a whole name must
    /// match. The name of the task if left out.
    thread: Option<String>,
    /// When jobs come. "periodic" if left out.
    release: Option<Release>,
    /// How long jobs really execute. "wcet" if left out.
    exec: Option<Exec>,
}

/// What happens to a late job and those behind it.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum OnMissName {
    /// It runs on, and the next one waits for it.
    Continue,
    /// It is given up at its deadline.
    Abort,
    /// It runs on, and jobs that could start meanwhile are skipped.
    Skip,
}

/// Where jobs are not preempted.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Nonpreemptive {
    /// Nowhere once they have begun (true), or they are anywhere (false).
    Whole(bool),
    /// The longest time for which a job goes on when one comes before it.
    Region(TimeText),
}

/// A longest execution time.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Wcet {
    /// The same at every criticality level.
    Time(TimeText),
    /// By the name of the level. All levels up to the task's own are named; those above have its
    /// own time if they are left out.
    ByLevel(BTreeMap<String, TimeText>),
}

/// When jobs come.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Release {
    /// Without parameters.
    Named(ReleaseName),
    /// With parameters.
    Table(ReleaseTable),
}

/// When jobs come.
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

/// When jobs come.
#[derive(JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum ReleaseTable {
    /// A job every period.
    Periodic,
    /// The thread never blocks.
    Hog,
    /// A job every period; the thread gives up the rest of its budget after each.
    Yield,
    /// Jobs at least a period apart.
    Sporadic {
        /// What is added to the period: at most this much, evenly, or a distribution.
        extra: Extra,
    },
    /// Jobs by an arrival curve: each as soon as it permits. The period is how far apart they are in the long run,
    /// rounded down to a nanosecond.
    Curve {
        /// The least times from one arrival to the next, to the one after, and so on. What follows from shorter ones
        /// need not be given, and the curve goes on by their sums: bursts repeat.
        #[schemars(length(min = 1, max = 512))]
        delta_min: Vec<TimeText>,
        /// What is added to the least distance: at most this much, evenly, or a distribution. Nothing if left out.
        extra: Option<Extra>,
    },
    /// Jobs at given times.
    Explicit {
        /// The times, from the earliest to the latest.
        at: Vec<TimeText>,
    },
    /// The next job comes a while after the end of the one before.
    SelfSuspending {
        /// How much later.
        gap: TimeText,
    },
}

/// What is added to the period of a sporadic task.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Extra {
    /// Evenly distributed from 0 to this.
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

/// How long jobs really execute.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Exec {
    /// Without parameters.
    Named(ExecName),
    /// With parameters.
    Table(ExecTable),
}

/// How long jobs really execute.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum ExecName {
    /// As long as the WCET at the task's own level.
    Wcet,
}

/// How long jobs really execute.
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
        /// How likely each is, relative to the others.
        weights: Vec<u64>,
    },
    /// These times in order, again and again.
    List {
        /// The times; "1ms x 300" stands for 300 of them.
        values: Vec<RepeatedTimeText>,
    },
}

/// Something that is asked of the running system: one of `task` with `leave`, `task` with
/// `affinity`, `task` with `wcet` and `period`, `task` with `cluster`, `cluster` with `cpus`, `cpu`
/// with `online`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct RequestTable {
    /// When.
    at: TimeText,
    /// The name of a task; of one copy (`lidar.0`), if it has a count.
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
    /// Whether it comes.
    online: Option<bool>,
}

/// How a set was made: by a generator, which has a seed, or from a trace.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ProvenanceTable {
    /// How long the trace is that the set was inferred from.
    #[schemars(default)]
    seen: Option<TimeText>,
    /// What that trace shows and the set does not explain. As long as there is any, nothing is guaranteed of the set.
    #[schemars(default)]
    unexplained: Vec<String>,
    /// Name and version of the program and of the generator.
    generator: Option<String>,
    /// The seed: a number, or a text if it is 2^63 or more.
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
