//! Sets that are inferred from kernel traces, compared with the actual events.
//!
//! A small separate kernel (`kernel.rs`) runs threads with one feature at a time, or several
//! together, and writes a trace. The inferred set must explain it: no bound may be below a response
//! time in the trace, and no guaranteed deadline may have been missed. A set that itself reports
//! what it does not explain promises nothing.

mod bursts;
mod change;
mod kernel;

pub use self::bursts::BurstModel;

use self::change::change;
use self::kernel::{Act, Activation, AwakePeriod, KernelRun, ObservedThread, cut, run};
use crate::registry;
use layland_analysis::Verdict;
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Bound, Shown, assess, unexplained};
use layland_interchange::infer::{Inferred, Observation, Taking, Wanted, infer_held};
use layland_interchange::kernel::observe;
use layland_model::{Duration, Index, TaskMap};
use std::collections::{BTreeMap, BTreeSet};

/// A feature that distinguishes a trace from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "their names are what a table shows")]
pub enum Feature {
    Offsets,
    Jitter,
    Sporadic,
    Bursts,
    Bursty,
    Varying,
    CutStart,
    Ordinary,
    Global,
    Pinned,
    Deadline,
    SmallJitter,
    Rounding,
    Overrun,
    Double,
    RareBurst,
    Late,
    Drift,
    Suspension,
    Disk,
    Latency,
    CpuSet,
    Interrupts,
    Migration,
    FewJobs,
    Born,
    Dies,
    LongFirst,
    Pending,
    ClassChange,
    PriorityChange,
    FairServer,
    Inheritance,
    ShortPinned,
    Constrained,
    Throttled,
    Mixed,
}

use Feature::{
    Born, Bursts, Bursty, ClassChange, Constrained, CpuSet, CutStart, Deadline, Dies, Disk, Double,
    Drift, FairServer, FewJobs, Global, Inheritance, Interrupts, Jitter, Late, Latency, LongFirst,
    Migration, Mixed, Offsets, Ordinary, Overrun, Pending, Pinned, PriorityChange, RareBurst,
    Rounding, ShortPinned, SmallJitter, Sporadic, Suspension, Throttled, Varying,
};

impl Feature {
    /// All features.
    pub const ALL: [Feature; 37] = [
        Offsets,
        Jitter,
        Sporadic,
        Bursts,
        Bursty,
        Varying,
        CutStart,
        Ordinary,
        Global,
        Pinned,
        Deadline,
        SmallJitter,
        Rounding,
        Overrun,
        Double,
        RareBurst,
        Late,
        Drift,
        Suspension,
        Disk,
        Latency,
        CpuSet,
        Interrupts,
        Migration,
        FewJobs,
        Born,
        Dies,
        LongFirst,
        Pending,
        ClassChange,
        PriorityChange,
        FairServer,
        Inheritance,
        ShortPinned,
        Constrained,
        Throttled,
        Mixed,
    ];

    /// Returns true if a set of tasks can describe everything in such a trace, so that it has to be explained.
    pub fn is_plain(self) -> bool {
        self <= Deadline
    }
}

/// The results of the traces of a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureTally {
    /// The number of traces.
    pub traces: u64,
    /// Traces with a response time above its bound, or with a guaranteed deadline that was missed.
    pub broken: u64,
    /// Traces whose set reports what it does not explain.
    pub unexplained: u64,
    /// Traces for which all policies guarantee every deadline.
    pub guaranteed: u64,
    /// Traces in which no thread becomes a task, or which lack something.
    pub nothing: u64,
}

/// The results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct ObservedResults {
    /// The results for each feature.
    pub tallies: BTreeMap<Feature, FeatureTally>,
    /// Descriptions of the errors, with the seeds that reproduce them.
    pub broken: Vec<String>,
    /// The features and seeds of the traces with errors.
    pub seeds: Vec<(Feature, u64)>,
}

/// Checks this number of traces, with each feature in turn, from this seed on.
pub fn campaign(traces: u64, seed: u64) -> ObservedResults {
    let mut found = ObservedResults::default();
    for number in 0..traces {
        let feature = Feature::ALL[(number % Feature::ALL.len() as u64) as usize];
        let seed = seed.wrapping_add(number);
        let held = held(&trace(feature, seed));
        let tally = found.tallies.entry(feature).or_default();
        tally.traces += 1;
        tally.broken += u64::from(!held.broken.is_empty());
        tally.unexplained += u64::from(held.is_unexplained);
        tally.guaranteed += u64::from(held.is_guaranteed);
        tally.nothing += u64::from(held.is_nothing || held.is_untrusted);
        if !held.broken.is_empty() {
            found.seeds.push((feature, seed));
        }
        found
            .broken
            .extend(held.broken.iter().map(|what| format!("{feature:?}, seed {seed}: {what}")));
    }
    found
}

/// A trace, and the facts that it shows.
pub struct Trace {
    /// The text in the format of tracefs.
    pub text: String,
    /// The length of the trace.
    pub length: Duration,
    /// The response times of each thread in the trace, by name, in the order of time.
    pub responses: BTreeMap<String, Vec<Response>>,
    /// The policies that are checked.
    pub policies: Vec<&'static str>,
}

/// A response time in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The wake-up, from any origin.
    pub from: Duration,
    /// The time from the wake-up to the sleep, as far as the trace shows it.
    pub took: Duration,
    /// True if the trace shows the wake-up.
    pub is_whole: bool,
    /// True if the thread is born or dies in it, and the trace shows that.
    pub is_life_event: bool,
}

impl Trace {
    /// Returns the longest response of a thread about which its set promises something. A set promises nothing about
    /// the jobs that it says are left out: those in which the thread is born or dies, and those of its start, which is
    /// at most a quarter of the trace.
    fn longest(&self, name: &str, words: &[String], start: Option<Duration>) -> Option<Duration> {
        let responses = self.responses.get(name)?;
        let is_left_out =
            |what: &str| words.iter().any(|line| line.starts_with(&format!("Left out: {what}")));
        let life_events_count = !is_left_out("jobs that were its first or last");
        let is_whole = |response: &&Response| response.is_whole && !response.is_life_event;
        let begin = responses.iter().find(is_whole).map_or(Duration::ZERO, |first| first.from);
        let start = start.filter(|start| start.ns() <= self.length.ns() / 4);
        let start = start.filter(|_| is_left_out("its start")).unwrap_or(Duration::ZERO);
        let counts = |response: &&Response| match response {
            Response { is_life_event: true, .. } => life_events_count,
            Response { is_whole: false, .. } => true,
            Response { from, .. } => *from - begin >= start,
        };
        responses.iter().filter(counts).map(|response| response.took).max()
    }
}

/// The results of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InferredSet {
    /// Descriptions of the errors.
    pub broken: Vec<String>,
    /// True if the set reports what it does not explain.
    pub is_unexplained: bool,
    /// True if every policy guarantees every deadline.
    pub is_guaranteed: bool,
    /// True if no thread became a task.
    pub is_nothing: bool,
    /// True if the trace lacks something. The command then exits with 6, and nothing is compared.
    pub is_untrusted: bool,
}

/// Returns a trace with the response times of its plainest reading: from each wake-up of a thread
/// to its next sleep. They are compared with the policies by which its kernel schedules such
/// threads.
pub fn shown(text: &str) -> Trace {
    let field = |line: &str, key: &str| -> Option<String> {
        let (_, rest) = line.split_once(&format!(" {key}="))?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let name = |line: &str, key: &str, next: &str| -> Option<String> {
        let (_, rest) = line.split_once(&format!(" {key}="))?;
        rest.split_once(&format!(" {next}=")).map(|(name, _)| name.to_owned())
    };
    let at = |line: &str| -> Option<i64> {
        let word =
            line.split_whitespace().find_map(|word| word.strip_suffix(':')?.split_once('.'))?;
        let fraction = word.1.parse::<i64>().ok()? * 10i64.pow(9 - word.1.len() as u32);
        Some(word.0.parse::<i64>().ok()? * 1_000_000_000 + fraction)
    };
    let mut awake: BTreeMap<String, i64> = BTreeMap::new();
    let mut is_born: BTreeSet<String> = BTreeSet::new();
    let mut responses: BTreeMap<String, Vec<Response>> = BTreeMap::new();
    let mut length = Duration::ZERO;
    let mut first = None;
    for line in text.lines() {
        let Some(at) = at(line) else { continue };
        length = Duration::from_ns(at - *first.get_or_insert(at));
        if line.contains(": sched_wak") {
            is_born.extend(field(line, "pid").filter(|_| line.contains("sched_wakeup_new")));
            awake.extend(
                field(line, "pid").filter(|pid| !awake.contains_key(pid)).map(|pid| (pid, at)),
            );
        } else if let (Some(pid), Some(state)) =
            (field(line, "prev_pid"), field(line, "prev_state"))
            && matches!(state.as_str(), "S" | "X")
            && let Some(since) = awake.remove(&pid)
            && let Some(name) = name(line, "prev_comm", "prev_pid")
        {
            responses.entry(name).or_default().push(Response {
                from: Duration::from_ns(since),
                took: Duration::from_ns(at - since),
                is_whole: true,
                is_life_event: state == "X" || is_born.remove(&pid),
            });
        }
    }
    let policies = observe(text).map_or_else(|_| Vec::new(), |seen| inferred(&seen).policies);
    Trace { text: text.to_owned(), length, responses, policies }
}

/// Infers a set from an observation as `layland trace infer` does.
pub fn inferred(seen: &Observation) -> Inferred {
    infer_held(seen, Wanted::RealTime, &Taking::default(), &|inferred| {
        let shown = inferred.responses.iter().map(|&response| Shown { response });
        let shown: TaskMap<Shown> = shown.collect::<Vec<Shown>>().into();
        unexplained(registry(), &inferred.system, &shown, &inferred.policies)
    })
}

/// Compares the set inferred from a trace with the facts of the trace.
pub fn held(trace: &Trace) -> InferredSet {
    let Ok(seen) = observe(&trace.text) else {
        return InferredSet { is_nothing: true, ..InferredSet::default() };
    };
    let Inferred { system, chosen, words, .. } = inferred(&seen);
    if system.tasks.is_empty() {
        return InferredSet { is_nothing: true, ..InferredSet::default() };
    }
    let is_torn = chosen.tasks.iter().any(|task| seen.threads[task.thread].torn > 0);
    if is_torn || seen.lost > 0 || seen.unknown_lines > 0 {
        return InferredSet { is_untrusted: true, ..InferredSet::default() };
    }
    let is_unexplained = !system.unexplained().is_empty();
    let mut held = InferredSet { is_unexplained, is_guaranteed: true, ..InferredSet::default() };
    for &spec in &trace.policies {
        let options = AssessOptions::by_tests();
        let found = assess(registry(), spec, &system, &options).expect("the policy exists");
        held.is_guaranteed &= found.verdict == Verdict::Yes;
        for (id, task) in system.tasks.iter() {
            let words = &words.tasks[id.index()].above;
            let start = chosen.tasks[id.index()].start_up.map(|start| start.length);
            let Some(longest) = trace.longest(&task.name, words, start) else { continue };
            if let Some(Bound::Response { within, by, .. }) = found.bounds.get(id)
                && *within < longest
            {
                held.broken.push(format!(
                    "{spec}: `{task}` within {within} by {by}, and {longest} is seen"
                ));
            }
            if found.verdict == Verdict::Yes && longest > task.deadline {
                held.broken.push(format!("{spec}: `{task}` is never late, and {longest} is seen"));
            }
        }
    }
    held
}

/// A source of random values.
struct Draw(Random);

impl Draw {
    fn below(&mut self, bound: i64) -> i64 {
        self.0.below(bound.max(1) as u64) as i64
    }
    fn between(&mut self, least: i64, most: i64) -> i64 {
        least + self.below(most - least + 1)
    }
    fn one_of(&mut self, of: &[i64]) -> i64 {
        of[self.below(of.len() as i64) as usize]
    }
    /// Draws a time in whole microseconds.
    fn us(&mut self, least: i64, most: i64) -> i64 {
        self.between(least / US, most / US) * US
    }
}

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// The threads and parameters of a run.
struct RunPlan {
    cpus: usize,
    threads: Vec<ObservedThread>,
    until: i64,
    from: i64,
    latency: i64,
    policies: Vec<&'static str>,
}

/// Returns the trace of a feature and a seed.
pub fn trace(feature: Feature, seed: u64) -> Trace {
    let mut draw = Draw(Random::of_task(seed, 0x07ace));
    let mut plan = plan(feature, &mut draw);
    match feature {
        Mixed => {
            for _ in 0..draw.between(2, 4) {
                let other = Feature::ALL[draw.below(Feature::ALL.len() as i64 - 1) as usize];
                // Features that change the classes or the CPUs of all threads cannot be combined with others.
                if !matches!(
                    other,
                    Global | Pinned | Deadline | CpuSet | ShortPinned | Constrained | Throttled
                ) {
                    change(other, &mut plan, &mut draw);
                }
            }
        }
        feature => change(feature, &mut plan, &mut draw),
    }
    let RunPlan { cpus, mut threads, until, from, latency, policies } = plan;
    for thread in &mut threads {
        thread.activations.sort_by_key(|activation| activation.at);
    }
    let mut wait = || if latency == 0 { 0 } else { draw.us(0, latency) };
    let KernelRun { text, seen } = run(cpus, &threads, until, &mut wait);
    let text = if from > 0 { cut(&text, from) } else { text };
    let mut responses: BTreeMap<String, Vec<Response>> = BTreeMap::new();
    // A trace lasts from its first event to its last one.
    let times: Vec<i64> = text.lines().filter_map(time).collect();
    let (first, last) = (times.first().copied().unwrap_or(0), times.last().copied().unwrap_or(0));
    for AwakePeriod { thread, from: begin, end, is_life_event } in seen {
        let took = end.unwrap_or(until).min(last) - begin.max(first);
        let is_whole = begin >= first;
        responses.entry(threads[thread].name.clone()).or_default().push(Response {
            from: Duration::from_ns(begin),
            took: Duration::from_ns(took.max(0)),
            is_whole,
            // An observer does not see a birth before the trace.
            is_life_event: is_life_event && is_whole,
        });
    }
    responses.values_mut().for_each(|of| of.sort_by_key(|response| response.from));
    let length = Duration::from_ns(last - first);
    Trace { text, length, responses, policies }
}

/// Returns the time of the event in a line, counted from the beginning of the run.
fn time(line: &str) -> Option<i64> {
    let word = line.split_whitespace().find_map(|word| word.strip_suffix(':')?.split_once('.'))?;
    let (seconds, rest) = (word.0.parse::<i64>().ok()?, word.1.parse::<i64>().ok()?);
    Some((seconds - 100) * 1_000_000_000 + rest)
}

/// Returns a plan of periodic threads of SCHED_FIFO with different priorities.
fn plan(feature: Feature, draw: &mut Draw) -> RunPlan {
    let cpus = match feature {
        Global | Pinned => draw.between(2, 4) as usize,
        CpuSet => 4,
        ShortPinned => 2,
        _ => 1,
    };
    let used = if feature == CpuSet { 2 } else { cpus };
    let count = draw.between(2, 3 + used as i64) as usize;
    let is_deadline = matches!(feature, Deadline | Constrained | Throttled);
    let until = if feature == ShortPinned { 60 * MS } else { draw.between(300, 900) * MS };
    let mut threads = Vec::new();
    for number in 0..count {
        let period = draw.one_of(&[5, 8, 10, 12, 20, 25, 40]) * MS;
        let share = if is_deadline { 500 } else { 700 };
        let wcet =
            draw.us(100 * US, period / 1_000 * share * used as i64 / count as i64).min(period / 2);
        let offset = draw.us(0, period);
        let activations = (0..).map(|k| offset + k * period).take_while(|&at| at < until);
        let activations =
            activations.map(|at| Activation { at, acts: vec![Act::Run(wcet)] }).collect();
        let cpu = draw.below(used as i64) as usize;
        let is_pinned = matches!(feature, Pinned | ShortPinned);
        threads.push(ObservedThread {
            name: format!("rt{number}"),
            pid: 500 + number as u32,
            priority: if is_deadline { -1 } else { 39 + 10 * number as i32 },
            cpus: if is_pinned { vec![cpu] } else { (0..used).collect() },
            activations,
            server: is_deadline.then_some([wcet, period, period]),
            ..ObservedThread::default()
        });
    }
    let policies = match feature {
        _ if is_deadline => vec!["dl"],
        Global | CpuSet => vec!["g-fp"],
        _ => vec!["p-fp"],
    };
    RunPlan { cpus, threads, until, from: 0, latency: 0, policies }
}
