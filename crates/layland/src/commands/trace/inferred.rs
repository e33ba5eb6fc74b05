//! The JSON document of `layland trace infer`.

use super::document::Source;
use crate::ui::exit::Exit;
use layland_interchange::infer::{
    Arrivals, Chain, Choice, Class, Estimate, Inferred, Observation, Pattern, Thread,
};
use layland_model::{Duration, Service, Task};
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of `layland trace infer --json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct InferDocument<'a> {
    /// The version of Layland.
    layland: &'static str,
    #[schemars(extend("const" = "trace infer"))]
    command: &'static str,
    /// The file.
    trace: &'a str,
    /// The number of CPUs of the set.
    #[schemars(range(min = 1))]
    cpus: usize,
    /// The length of the trace.
    #[schemars(range(min = 0))]
    length_ns: i64,
    /// The criterion by which threads became tasks: marks (or a trace of Layland), real-time
    /// classes, a period, or --thread and --pid.
    #[schemars(extend("enum" = ["marks", "class", "period", "name"]))]
    chosen_by: &'static str,
    /// In the order of the set.
    tasks: Vec<InferredTask<'a>>,
    /// The wake-ups of tasks by threads.
    chains: Vec<WakeUps<'a>>,
    /// Threads that are not tasks although they were requested or could have been.
    left_out: Vec<LeftOut<'a>>,
    /// The number of other threads.
    others: usize,
    /// Observations of the trace that the set does not explain, in sentences: they are in the file,
    /// too.
    unexplained: &'a [String],
    /// The origin of the trace.
    source: Source<'a>,
    /// The result of the command.
    exit: Exit,
}

/// A task of the set, and the observations of its thread.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct InferredTask<'a> {
    /// Its name in the set.
    name: &'a str,
    /// The id of its thread; null in a trace of Layland.
    thread: Option<u32>,
    /// The class of its thread; null if the trace does not show it.
    #[schemars(extend("enum" = ["deadline", "fifo or rr", "other", null]))]
    class: Option<&'static str>,
    /// The priority of SCHED_FIFO or SCHED_RR; 99 is the highest. Null in another class.
    class_priority: Option<i32>,
    /// The priority in the set, a smaller one is more important; null without one.
    priority: Option<i64>,
    /// The period or the least separation.
    #[schemars(range(min = 1))]
    period_ns: i64,
    /// The relative deadline.
    #[schemars(range(min = 1))]
    deadline_ns: i64,
    /// The WCET.
    #[schemars(range(min = 1))]
    wcet_ns: i64,
    /// The offset.
    #[schemars(range(min = 0))]
    offset_ns: i64,
    /// The jitter.
    #[schemars(range(min = 0))]
    jitter_ns: i64,
    /// The CPUs to which it is tied; null if there are none.
    affinity: Option<String>,
    /// The observations, before anything was rounded, chosen or left out.
    seen: Seen,
    /// The confidence in it.
    how_sure: Confidence,
    /// Remarks, for people.
    remarks: &'a [String],
}

/// The observations of a thread.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Seen {
    /// The pattern of arrivals.
    #[schemars(extend("enum" = ["periodic", "sporadic", "bursts"]))]
    pattern: &'static str,
    /// The period, or the distance of arrivals apart from the jitter.
    #[schemars(range(min = 0))]
    period_ns: i64,
    /// The jitter.
    #[schemars(range(min = 0))]
    jitter_ns: i64,
    /// The time that the thread sleeps after each of its jobs, if that explains why it is not
    /// periodic; null otherwise.
    sleep_ns: Option<i64>,
    /// The time from one arrival to the next.
    gap_ns: Gaps,
    /// The time for which jobs held CPUs.
    execution_ns: ExecutionTimes,
    /// The CPUs of the machine on which it ran.
    cpus: String,
    /// The number of observed arrivals.
    arrivals: usize,
    /// The number of jobs that were observed from beginning to end.
    jobs: usize,
    /// Jobs that were left out, as they began before the trace.
    begun_before: u64,
    /// Jobs that were left out, as switches are missing in them.
    torn: u64,
    /// Jobs that were left out, as the thread began or ended in them.
    birth_or_death: u64,
    /// The first jobs, which fit no period and were left out; null if there are none.
    start_up: Option<FirstJobs>,
    /// Jobs within which the thread suspended itself.
    suspending_jobs: usize,
    /// It waited for its CPU while another one had nothing as important.
    waits_with_a_free_cpu: u64,
    /// Its reservation under SCHED_DEADLINE; null if that is not known.
    reserved: Option<Reservation>,
    /// The longest time for which a ready job did not begin while nothing as important had the CPU.
    #[schemars(range(min = 0))]
    latency_ns: i64,
    /// The longest time for which a job that had begun waited in that way.
    #[schemars(range(min = 0))]
    lost_ns: i64,
    /// Jobs that ran into the next period.
    late_and_run_on: usize,
    /// Periods without a job.
    empty_periods: u64,
}

/// The distances of arrivals.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Gaps {
    /// The least.
    #[schemars(range(min = 0))]
    min: i64,
    /// 95 % are at least this.
    #[schemars(range(min = 0))]
    p5: i64,
    /// The mean.
    #[schemars(range(min = 0))]
    mean: i64,
    /// The largest.
    #[schemars(range(min = 0))]
    max: i64,
}

/// Execution times.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct ExecutionTimes {
    /// The least.
    #[schemars(range(min = 0))]
    min: i64,
    /// The median.
    #[schemars(range(min = 0))]
    p50: i64,
    /// 90 % are at most this.
    #[schemars(range(min = 0))]
    p90: i64,
    /// 99 % are at most this.
    #[schemars(range(min = 0))]
    p99: i64,
    /// 99.9 % are at most this.
    #[schemars(range(min = 0))]
    p999: i64,
    /// The largest.
    #[schemars(range(min = 0))]
    max: i64,
}

/// The first jobs of a thread.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct FirstJobs {
    /// The number.
    #[schemars(range(min = 1))]
    jobs: usize,
    /// From the first one to the first one after them.
    #[schemars(range(min = 0))]
    length_ns: i64,
    /// The longest execution time of one of them.
    #[schemars(range(min = 0))]
    max_execution_ns: i64,
}

/// A reservation.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Reservation {
    /// Processor time in each period.
    #[schemars(range(min = 0))]
    runtime_ns: i64,
    /// The relative deadline.
    #[schemars(range(min = 0))]
    deadline_ns: i64,
    /// The period.
    #[schemars(range(min = 0))]
    period_ns: i64,
}

/// The confidence in a task.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Confidence {
    /// In a word.
    #[schemars(extend("enum" = ["a guess", "likely", "sure"]))]
    word: &'static str,
    /// The share of gaps that are whole periods, or else the mean gap, up to a twentieth.
    #[schemars(range(min = 0, max = 1))]
    gaps_fitting: f64,
}

/// A thread that wakes a task.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct WakeUps<'a> {
    /// The task or the thread that wakes the other.
    producer: &'a str,
    /// The task that wakes up.
    consumer: &'a str,
    /// The number of its jobs that begin in this way.
    times: usize,
    /// The number of its jobs whose wake-up was observed.
    of: usize,
    /// True if the trace distinguishes interrupts from threads.
    certain: bool,
    /// The number of times that it is the last action of the producer.
    at_end: usize,
    /// The time from the arrival of the producer's job; null if its jobs were not observed.
    after_ns: Option<Quantiles>,
}

/// Quantiles.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Quantiles {
    /// The least.
    min: i64,
    /// The median.
    p50: i64,
    /// The largest.
    max: i64,
}

/// A thread.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct LeftOut<'a> {
    /// Its name.
    name: &'a str,
    /// Its id; null in a trace of Layland.
    thread: Option<u32>,
    /// The reason why it is not a task.
    why: String,
}

impl<'a> InferDocument<'a> {
    pub(super) fn of(
        file: &'a str,
        seen: &'a Observation,
        inferred: &'a Inferred,
        exit: Exit,
    ) -> InferDocument<'a> {
        let chosen = &inferred.chosen;
        let tasks = (inferred.system.tasks.values().zip(&chosen.tasks))
            .zip(&inferred.words.tasks)
            .map(|((task, estimate), words)| of_task(seen, task, estimate, &words.above));
        let name = |thread: usize| {
            let place = chosen.tasks.iter().position(|task| task.thread == thread);
            let task = place.and_then(|place| inferred.system.tasks.values().nth(place));
            task.map_or(seen.threads[thread].name.as_str(), |task| task.name.as_str())
        };
        let chain = |chain: &Chain| WakeUps {
            producer: name(chain.producer),
            consumer: name(chain.consumer),
            times: chain.times,
            of: chain.of,
            certain: chain.is_certain,
            at_end: chain.at_end,
            after_ns: chain
                .after
                .map(|all| all.map(Duration::ns))
                .map(|[min, p50, max]| Quantiles { min, p50, max }),
        };
        let left_out = chosen.left_out.iter().map(|left_out| {
            let thread = &seen.threads[left_out.thread];
            LeftOut { name: &thread.name, thread: thread.pid, why: left_out.why.to_string() }
        });
        InferDocument {
            layland: env!("CARGO_PKG_VERSION"),
            command: "trace infer",
            trace: file,
            cpus: inferred.system.platform.cpu_count(),
            length_ns: seen.length.ns(),
            chosen_by: match chosen.by {
                Choice::Marks => "marks",
                Choice::RealTime => "class",
                Choice::Periodic => "period",
                Choice::Asked => "name",
            },
            tasks: tasks.collect(),
            chains: inferred.chains.iter().map(chain).collect(),
            left_out: left_out.collect(),
            others: chosen.others,
            unexplained: inferred.system.unexplained(),
            source: Source {
                dialect: seen.dialect,
                lost_events: seen.lost,
                unrecorded_switches: seen.unrecorded,
                inferred: chosen.by != Choice::Marks,
                trustworthy: exit != Exit::Untrusted,
                origin_ns: Some(seen.origin_ns),
                decisions: 0,
                remarks: &seen.remarks,
            },
            exit,
        }
    }
}

fn of_task<'a>(
    seen: &Observation,
    task: &'a Task,
    estimate: &Estimate,
    remarks: &'a [String],
) -> InferredTask<'a> {
    let thread = &seen.threads[estimate.thread];
    let (class, class_priority) = match Class::of(estimate.priority) {
        Class::Deadline => (Some("deadline"), None),
        Class::RealTime { priority } => (Some("fifo or rr"), Some(priority)),
        Class::Other => (Some("other"), None),
        Class::Unknown => (None, None),
    };
    InferredTask {
        name: &task.name,
        thread: thread.pid,
        class,
        class_priority,
        priority: task.priority,
        period_ns: task.period.ns(),
        deadline_ns: task.deadline.ns(),
        wcet_ns: task.own_wcet().ns(),
        offset_ns: task.offset.ns(),
        jitter_ns: task.jitter.ns(),
        affinity: task.affinity.as_ref().map(ToString::to_string),
        seen: Seen::of(thread, estimate),
        how_sure: Confidence {
            word: estimate.sureness.word(),
            gaps_fitting: f64::from(estimate.arrivals.fitting) / 1_000.0,
        },
        remarks,
    }
}

impl Seen {
    fn of(thread: &Thread, estimate: &Estimate) -> Seen {
        let Arrivals { pattern, count, gaps, usual, .. } = &estimate.arrivals;
        let [least, mean, most] = gaps.map(Duration::ns);
        let (name, period, jitter) = match pattern {
            Pattern::Periodic { period, jitter, .. } => ("periodic", period, jitter),
            Pattern::Sporadic { separation, jitter, .. } => ("sporadic", separation, jitter),
            Pattern::Bursts { period, jitter, .. } => ("bursts", period, jitter),
        };
        let (run_on, empty) = match pattern {
            Pattern::Periodic { run_on, empty, .. } => (run_on.len(), *empty),
            Pattern::Sporadic { .. } | Pattern::Bursts { .. } => (0, 0),
        };
        let sleep = match pattern {
            Pattern::Sporadic { sleep, .. } | Pattern::Bursts { sleep, .. } => *sleep,
            Pattern::Periodic { .. } => None,
        };
        let [min, p50, p90, p99, p999, max] = estimate.execution.quantiles.map(Service::ns);
        Seen {
            pattern: name,
            period_ns: period.ns(),
            jitter_ns: jitter.ns(),
            sleep_ns: sleep.map(Duration::ns),
            gap_ns: Gaps { min: least, p5: usual.ns(), mean, max: most },
            execution_ns: ExecutionTimes { min, p50, p90, p99, p999, max },
            cpus: thread.cpus.to_string(),
            arrivals: *count,
            jobs: estimate.execution.jobs,
            begun_before: thread.beheaded,
            torn: thread.torn,
            birth_or_death: thread.unlike,
            start_up: estimate.start_up.map(|start| FirstJobs {
                jobs: start.jobs,
                length_ns: start.length.ns(),
                max_execution_ns: start.longest.ns(),
            }),
            suspending_jobs: thread.jobs.iter().filter(|job| !job.stretches.is_empty()).count(),
            waits_with_a_free_cpu: thread.tied,
            reserved: estimate.reserved.map(|reserved| Reservation {
                runtime_ns: reserved.runtime.ns(),
                deadline_ns: reserved.deadline.ns(),
                period_ns: reserved.period.ns(),
            }),
            latency_ns: estimate.latency.ns(),
            lost_ns: estimate.lost.ns(),
            late_and_run_on: run_on,
            empty_periods: empty,
        }
    }
}
