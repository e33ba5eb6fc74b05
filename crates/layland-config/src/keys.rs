//! The keys of `[[task]]`, in one table: readers, writers, schema and warnings come from it.
//!
//! A new key of a common kind is one entry here and the field of [`Task`]. The tests hold every
//! field of a task against every format: each format reads it back or reports its loss.
//!
//! Long because each key has its entry here.

mod kind;
mod lost;

pub(crate) use kind::{Base, Fault, Of, Own, TaskKey, Value, Word};
pub(crate) use lost::{Coverage, lost_of_set};

use crate::csv::cells;
use crate::schema::costs::CacheSets;
use crate::schema::values::{
    Constraints, Cpus, Exec, MissText, Nonpreemptive, OnMissName, Release, StepText, TimeText, Wcet,
};
use crate::taskset::text;
use Base::{Levels, Platform};
use layland_model::{Behaviour, Duration, ExecutionModel, Field, OnMiss, Preemption, Service};
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// The key in `[defaults]` for the rule that orders jobs of equal priority. It belongs to the set
/// and not to tasks.
pub(crate) const TIE: &str = "tie";

/// The names of all keys, in the order of the table.
pub(crate) static TASK_NAMES: [&str; TASK_KEYS.len()] = {
    let mut names = [""; TASK_KEYS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = TASK_KEYS[at].name;
        at += 1;
    }
    names
};

/// Returns the keys from which a field of a task is read, the most relevant one first.
pub(crate) fn keys_of(field: Field) -> impl Iterator<Item = &'static str> {
    // Segments of a task matter more than a default for `nonpreemptive`.
    let keys = [false, true].into_iter().flat_map(move |is_inherited| {
        TASK_KEYS
            .iter()
            .filter(move |key| key.field == Some(field) && key.is_inherited == is_inherited)
    });
    // Without its own key, the value of these follows from another one.
    let others = [(Field::Deadline, "period"), (Field::Wcet, "steps")];
    let other = others.into_iter().find(|(of, _)| *of == field).map(|(_, key)| key);
    keys.map(|key| key.name).chain(other)
}

/// Returns the parts of a file whose faults may be the cause of a fault in a field.
pub(crate) fn bases_of(field: Field) -> impl Iterator<Item = Base> {
    let keys = TASK_KEYS.iter().filter(move |key| key.field == Some(field));
    keys.flat_map(|key| key.rests_on).copied()
}

/// The parts of an entry that few keys need.
const KEY: TaskKey = TaskKey {
    name: "",
    meaning: "",
    value: own(of::<()>, text::none, cells::none),
    limits: &[],
    is_given: |_| false,
    is_required: false,
    is_inherited: false,
    is_early: false,
    field: None,
    rests_on: &[],
    column: None,
    lost: "",
};

const fn own(
    schema: fn(&mut SchemaGenerator) -> Schema,
    toml: fn(Of<'_>) -> Option<String>,
    cell: fn(Of<'_>) -> String,
) -> Value {
    Value::Own(Own { schema, toml, cell })
}

/// The JSON type of a value, for [`Own::schema`].
fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// All keys of a task, in the order of the schema, of the columns of a table, and of warnings.
pub(crate) static TASK_KEYS: &[TaskKey] = &[
    TaskKey {
        name: "name",
        meaning: "Its name; no two tasks have the same.",
        value: own(of::<String>, text::name, |of| of.task.name.to_string()),
        limits: &[("minLength", 1)],
        is_given: |_| true,
        is_required: true,
        is_early: true,
        field: Some(Field::Name),
        column: Some(&[
            "task",
            "tasks",
            "taskname",
            "taskid",
            "id",
            "tau",
            "taui",
            "process",
            "processname",
            "processid",
            "pid",
            "job",
            "label",
            "no",
            "nr",
            "number",
            "index",
        ]),
        ..KEY
    },
    TaskKey {
        name: "count",
        meaning: "The number of copies to make, named `name.0`, `name.1` and so on.",
        value: own(of::<Option<u32>>, text::none, cells::none),
        limits: &[("minimum", 1), ("maximum", 1_000_000)],
        ..KEY
    },
    TaskKey {
        name: "period",
        meaning: "The time between two jobs; the least time, if the task is sporadic.",
        value: Value::Time(
            |task| Some(task.period),
            // The deadline is the period if a task states no other.
            |task, period| (task.period, task.deadline) = (period, period),
        ),
        is_given: |_| true,
        is_required: true,
        is_early: true,
        field: Some(Field::Period),
        column: Some(&[
            "t",
            "ti",
            "taskperiod",
            "mininterarrivaltime",
            "minimuminterarrivaltime",
            "interarrivaltime",
            "interarrival",
            "mit",
            "cycle",
            "cycletime",
        ]),
        ..KEY
    },
    TaskKey {
        name: "deadline",
        meaning: "The deadline of a job, relative to its arrival. The period if left out.",
        value: Value::Time(|task| Some(task.deadline), |task, deadline| task.deadline = deadline),
        is_given: |of| of.task.deadline != of.task.period,
        is_early: true,
        field: Some(Field::Deadline),
        column: Some(&["d", "di", "dl", "relativedeadline", "reldeadline"]),
        lost: "the deadline of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "wcet",
        meaning: "The longest execution time of a job, on a CPU of speed 1. The sum of the `run` \
                  steps if left out by a task that\n\
                  has `steps`; a task without steps has no default.",
        value: own(of::<Option<Wcet>>, text::wcet, |of| of.task.own_wcet().to_string()),
        is_given: |_| true,
        is_early: true,
        field: Some(Field::Wcet),
        rests_on: &[Levels, Base::Field(Field::Criticality)],
        column: Some(&[
            "c",
            "ci",
            "e",
            "ei",
            "et",
            "cost",
            "burst",
            "bursttime",
            "cpuburst",
            "cpubursttime",
            "executiontime",
            "exectime",
            "execution",
            "exec",
            "worstcaseexecutiontime",
            "computation",
            "computationtime",
            "computetime",
            "capacity",
            "runtime",
            "servicetime",
            "processingtime",
            "cputime",
        ]),
        ..KEY
    },
    TaskKey {
        name: "budget",
        meaning: "The processor time that is reserved per period. The WCET at the task's own level if left\n\
                  out.",
        value: Value::Time(
            |task| task.budget.map(Service::at_unit_speed),
            |task, budget| task.budget = Some(Service::from_ns(budget.ns())),
        ),
        is_given: |of| of.task.budget.is_some(),
        field: Some(Field::Budget),
        rests_on: &[Base::Field(Field::Deadline), Base::Field(Field::Period)],
        column: Some(&[]),
        lost: "the budget of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "criticality",
        meaning: "The name of its criticality level. The lowest if left out.",
        value: own(of::<Option<String>>, text::criticality, cells::criticality),
        is_given: |of| of.task.criticality.level() > 0,
        is_inherited: true,
        field: Some(Field::Criticality),
        rests_on: &[Levels],
        column: Some(&["crit", "criticalitylevel"]),
        ..KEY
    },
    TaskKey {
        name: "affinity",
        meaning: "The CPUs on which it may run. All CPUs of its cluster if left out.",
        value: own(of::<Option<Cpus>>, text::affinity, cells::affinity),
        is_given: |of| of.task.affinity.is_some(),
        is_inherited: true,
        field: Some(Field::Affinity),
        rests_on: &[Platform, Base::Field(Field::Cluster)],
        column: Some(&["cpu", "core", "processor", "cpuid", "coreid"]),
        lost: "the affinity of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "cluster",
        meaning: "The index of its cluster. May be left out if there is one, or if the affinity lies in one.",
        value: own(of::<Option<u32>>, text::cluster, |of| of.task.cluster.to_string()),
        is_given: |of| of.task.cluster > 0,
        is_inherited: true,
        field: Some(Field::Cluster),
        rests_on: &[Platform],
        column: Some(&[]),
        ..KEY
    },
    TaskKey {
        name: "offset",
        meaning: "Arrival of the first job. 0 if left out.",
        value: Value::Time(|task| Some(task.offset), |task, offset| task.offset = offset),
        is_given: |of| of.task.offset != Duration::ZERO,
        is_inherited: true,
        field: Some(Field::Offset),
        column: Some(&[
            "o",
            "oi",
            "phase",
            "phi",
            "phii",
            "releaseoffset",
            "release",
            "releasetime",
            "arrival",
            "arrivaltime",
            "start",
            "starttime",
            "firstrelease",
            "activationdate",
        ]),
        lost: "the offset of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "jitter",
        meaning: "The longest time from the arrival of a job until it becomes ready. 0 if left out.",
        value: Value::Time(|task| Some(task.jitter), |task, jitter| task.jitter = jitter),
        is_given: |of| of.task.jitter != Duration::ZERO,
        is_inherited: true,
        field: Some(Field::Jitter),
        column: Some(&["j", "ji", "releasejitter"]),
        lost: "the jitter of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "rank",
        meaning: "Breaks ties: the smaller rank goes first. The position among the tasks, from 0, if left out.",
        value: Value::Number(|task| Some(task.rank), |task, rank| task.rank = rank),
        is_given: |of| of.has_rank(),
        column: Some(&[]),
        lost: "the rank of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "priority",
        meaning: "A fixed priority, for policies that take given priorities. Smaller is more important.",
        value: Value::Number(|task| task.priority, |task, priority| task.priority = Some(priority)),
        is_given: |of| of.task.priority.is_some(),
        field: Some(Field::Priority),
        column: Some(&["prio", "pri", "prioritylevel"]),
        lost: "the priority of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "jobs",
        meaning: "The number of jobs. Unlimited if left out.",
        value: Value::Count(|task| task.jobs, |task, jobs| task.jobs = Some(jobs)),
        is_given: |of| of.task.jobs.is_some(),
        is_inherited: true,
        column: Some(&[]),
        lost: "the number of jobs of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "on_miss",
        meaning: "The treatment of a late job and the jobs behind it. \"continue\" if left out.",
        value: Value::Word(Word {
            what: "way to treat late jobs",
            words: || OnMiss::ALL.map(OnMiss::name).to_vec(),
            get: |task| task.on_miss.name(),
            set: |task, word| OnMiss::find(word).map(|way| task.on_miss = way),
            schema: of::<Option<OnMissName>>,
            example: "abort",
            in_table: Fault {
                code: "layland::csv::on_miss",
                help: "write continue, abort or skip",
            },
        }),
        is_given: |of| of.task.on_miss != OnMiss::Continue,
        is_inherited: true,
        column: Some(&[]),
        lost: "what `{}` does when it is late is lost",
        ..KEY
    },
    TaskKey {
        name: "mk",
        meaning: "How many of any consecutive jobs are in time, as a text or a list of texts that all \
                  hold: \"9 of 10\", \"at most 1 miss in 10\",\n\
                  \"at most 2 misses in a row\". All jobs if it and `miss` are left out.",
        value: own(of::<Option<Constraints>>, text::mk, cells::mk),
        is_given: |of| of.task.has_constraints(),
        is_inherited: true,
        column: Some(&[]),
        lost: "how many jobs of `{}` may be late is lost",
        ..KEY
    },
    TaskKey {
        name: "miss",
        meaning: "The greatest probability with which a job is late: \"1e-6 per job\", \"1/1000000 per job\", \
                  \"0.0001% per job\". 0 if it and\n\
                  `mk` are left out.",
        value: own(of::<Option<MissText>>, text::miss, cells::miss),
        is_given: |of| of.task.miss_probability().is_some(),
        is_inherited: true,
        column: Some(&[]),
        lost: "with which probability jobs of `{}` may be late is lost",
        ..KEY
    },
    TaskKey {
        name: "reclaim",
        meaning: "True if its server reclaims bandwidth that others do not use \
                  (SCHED_FLAG_RECLAIM). Counts under `dl:grub=on`.\n\
                  false if left out.",
        value: Value::Flag(
            |task| task.reclaim,
            |task, reclaim| task.reclaim = reclaim,
            Fault {
                code: "layland::csv::reclaim",
                help: "write true if the server of the task reclaims, or false",
            },
        ),
        is_given: |of| of.task.reclaim,
        is_inherited: true,
        column: Some(&[]),
        lost: "that `{}` reclaims is lost",
        ..KEY
    },
    TaskKey {
        name: "nonpreemptive",
        meaning: "True if its jobs are never preempted once they have begun; or, as a time, the \
                  longest time for which a job goes\n\
                  on when one of higher priority arrives. For EDF and fixed priorities. false if left out.",
        value: own(of::<Option<Nonpreemptive>>, text::nonpreemptive, cells::nonpreemptive),
        is_given: |of| matches!(of.task.preemption, Preemption::Never | Preemption::Delayed(_)),
        is_inherited: true,
        field: Some(Field::Preemption),
        rests_on: &[Levels, Base::Field(Field::Wcet), Base::Field(Field::Criticality)],
        column: Some(&[]),
        lost: "where `{}` may be preempted is lost",
        ..KEY
    },
    TaskKey {
        name: "segments",
        meaning: "The lengths of the parts of a job, which is preempted only between them; their \
                  sum is the WCET. For EDF and\n\
                  fixed priorities. Preempted anywhere if left out.",
        value: own(of::<Option<Vec<TimeText>>>, text::segments, cells::segments),
        limits: &[("minItems", 1)],
        is_given: |of| matches!(of.task.preemption, Preemption::Between(_)),
        field: Some(Field::Preemption),
        column: Some(&[]),
        lost: "where `{}` may be preempted is lost",
        ..KEY
    },
    TaskKey {
        name: "steps",
        meaning: "The steps of each job: \"run 1ms\", \"lock bus\", \"unlock bus\", \"suspend \
                  3ms\". The `run` steps sum to the WCET,\n\
                  critical sections are nested, and each resource that a job locks is listed under \
                  `[[resource]]`. A job only\n\
                  executes if it is left out.",
        value: own(of::<Option<Vec<StepText>>>, text::steps, cells::steps),
        limits: &[("minItems", 1)],
        is_given: |of| of.task.steps.is_some(),
        is_early: true,
        field: Some(Field::Steps),
        rests_on: &[Levels, Base::Field(Field::Wcet), Base::Field(Field::Criticality)],
        column: Some(&[]),
        lost: "what the jobs of `{}` lock, and when they suspend, is lost",
        ..KEY
    },
    TaskKey {
        name: "follows",
        meaning: "The tasks that it follows, by name: each of its jobs is ready once their jobs of \
                  the same number have completed.\n\
                  Tasks that follow each other have the same period, offset, jitter, `release` and \
                  `jobs`, and make no cycle. Of\n\
                  tasks with `count`, each copy follows the copy of its number. None if left out.",
        value: own(of::<Option<Vec<String>>>, text::follows, cells::follows),
        is_given: |of| !of.task.follows.is_empty(),
        is_early: true,
        field: Some(Field::Follows),
        column: Some(&[
            "predecessors",
            "predecessor",
            "pred",
            "preds",
            "dependencies",
            "dependson",
            "deps",
            "after",
        ]),
        lost: "what `{}` follows is lost",
        ..KEY
    },
    TaskKey {
        name: "let_interval",
        meaning: "The time from the release of a job until it writes, in chains with `communication \
                  = \"let\"`: more than 0, and at\n\
                  most the period. The period if left out.",
        value: Value::Time(
            |task| task.let_interval,
            |task, interval| task.let_interval = Some(interval),
        ),
        is_given: |of| of.task.let_interval.is_some(),
        is_early: true,
        field: Some(Field::LetInterval),
        rests_on: &[Base::Field(Field::Period)],
        lost: "when `{}` writes is lost",
        ..KEY
    },
    TaskKey {
        name: "ucb",
        meaning: "The sets of the cache with useful blocks (UCB), which a preempted job may have to \
                  load again. Each of them is in\n\
                  `ecb`, too. None if left out.",
        value: own(of::<Option<CacheSets>>, text::ucb, cells::none),
        is_given: |of| of.task.cache.is_some(),
        is_early: true,
        field: Some(Field::Cache),
        // The warning about `ecb` is about both.
        ..KEY
    },
    TaskKey {
        name: "ecb",
        meaning: "The sets of the cache with evicting blocks (ECB): all sets into which a job may \
                  load a block. The file then\n\
                  gives `block_reload_time`. None if left out.",
        value: own(of::<Option<CacheSets>>, text::ecb, cells::none),
        is_given: |of| of.task.cache.is_some(),
        is_early: true,
        field: Some(Field::Cache),
        rests_on: &[Base::Field(Field::Steps)],
        lost: "the cache sets of `{}` are lost",
        ..KEY
    },
    TaskKey {
        name: "blocking",
        meaning: "The longest time for which jobs of lower priority (of later relative deadline \
                  under EDF) delay its jobs, once in\n\
                  a busy period. For analyses that count it: response times under fixed priorities \
                  and processor demand under EDF,\n\
                  on single CPUs. 0 if left out.",
        value: Value::Time(
            |task| Some(task.blocking_time),
            |task, blocking| task.blocking_time = blocking,
        ),
        is_given: |of| of.task.blocking_time != Duration::ZERO,
        is_early: true,
        field: Some(Field::Blocking),
        column: Some(&["b", "bi", "blockingtime"]),
        lost: "the blocking time of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "group",
        meaning: "The name of its group, whose budget its jobs use. None if left out: the policy itself schedules the\n\
                  task.",
        value: own(of::<Option<String>>, text::group, cells::none),
        is_given: |of| of.task.group.is_some(),
        is_inherited: true,
        is_early: true,
        field: Some(Field::Group),
        rests_on: &[Platform],
        lost: "the group of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "thread",
        meaning: "The threads of a program that it describes (`layland exec`): \"main\", or a \
                  regular expression that must match the\n\
                  whole name. The name of the task if left out.",
        value: Value::Text(
            |task| task.thread.as_deref(),
            |task, thread| task.thread = Some(thread.into()),
            "ctrl.*",
        ),
        is_given: |of| of.task.thread.is_some(),
        column: Some(&[]),
        lost: "which threads `{}` is about is lost",
        ..KEY
    },
    TaskKey {
        name: "release",
        meaning: "The arrivals of jobs. \"periodic\" if left out.",
        value: own(of::<Option<Release>>, text::release, cells::none),
        is_given: |of| of.task.behaviour != Behaviour::Periodic,
        is_inherited: true,
        field: Some(Field::Behaviour),
        lost: "the release of `{}` is lost",
        ..KEY
    },
    TaskKey {
        name: "exec",
        meaning: "The actual execution times of jobs. \"wcet\" if left out.",
        value: own(of::<Option<Exec>>, text::exec, cells::none),
        is_given: |of| of.task.execution != ExecutionModel::Wcet,
        is_inherited: true,
        field: Some(Field::Execution),
        rests_on: &[Levels],
        lost: "the execution of `{}` is lost",
        ..KEY
    },
];
