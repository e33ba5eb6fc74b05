//! Compares an inferred set with its trace. If the trace shows behaviour that the set does not
//! allow, includes further facts until one of them explains it.
//!
//! This crate contains no analyses: a function passed
//! by the caller returns what a set does not explain.

use super::choose::Chosen;
use super::estimate::{Affinity, EVERY, Estimate, More, Taking};
use super::observation::{Class, Observation, Partial, Taken};
use super::{Inferred, Wanted, infer};
use layland_model::{Duration, Observed, Rate, System, Time};

/// The further facts, in the order in which they are tried: those that change the least come first.
const TRIED: [(More, bool); 8] = {
    const NONE: More = More { partial: false, used: false, strangers: false };
    const PARTIAL: More = More { partial: true, ..NONE };
    const BOTH: More = More { strangers: true, ..PARTIAL };
    [
        (NONE, false),
        (More { strangers: true, ..NONE }, false),
        (PARTIAL, false),
        (BOTH, false),
        (More { used: true, ..NONE }, false),
        (More { used: true, ..BOTH }, false),
        (NONE, true),
        (BOTH, true),
    ]
};

/// Does what [`infer`] does and compares the set with the trace. The function returns the behaviour
/// in the trace that the set does not explain, in sentences without full stops. Returns the first
/// set that explains everything. If there is none, returns the first set, with the unexplained
/// behaviour in [`System::observed`].
///
/// The comparison is about the execution times that were seen. A factor or a quantile changes the
/// WCETs afterwards, so that they never change the platform.
pub fn infer_held(
    seen: &Observation,
    wanted: Wanted<'_>,
    taking: &Taking,
    unexplained: &dyn Fn(&Inferred) -> Vec<String>,
) -> Inferred {
    let as_seen = Taking { quantile: EVERY, margin: Rate::ONE, ..taking.clone() };
    let (facts, found, mut left) = explained(seen, wanted, &as_seen, unexplained);
    let Taking { more, affinity, .. } = facts;
    let facts = Taking { more, affinity, ..taking.clone() };
    let mut inferred = if *taking == as_seen { found } else { infer(seen, wanted, &facts) };
    if *taking != as_seen && !inferred.chosen.tasks.is_empty() {
        left = unexplained(&inferred);
    }
    let left = left.into_iter().map(|sentence| with_reason(seen, &inferred, sentence)).collect();
    if let Some(Observed { unexplained, .. }) = &mut inferred.system.observed {
        *unexplained = left;
    }
    inferred
}

/// Returns the facts with which the trace is explained, the set that they give, and what it does
/// not explain. Returns those of the first set if none explains everything.
fn explained(
    seen: &Observation,
    wanted: Wanted<'_>,
    taking: &Taking,
    unexplained: &dyn Fn(&Inferred) -> Vec<String>,
) -> (Taking, Inferred, Vec<String>) {
    let mut first: Option<(Taking, Inferred, Vec<String>)> = None;
    let mut asked: Vec<System> = Vec::new();
    for (more, is_where_seen) in TRIED {
        if (more.used || is_where_seen) && (seen.cpus <= 1 || taking.affinity == Affinity::None) {
            continue;
        }
        let affinity = if is_where_seen { Affinity::Seen } else { taking.affinity };
        let facts = Taking { more, affinity, ..taking.clone() };
        let inferred = infer(seen, wanted, &facts);
        if inferred.chosen.tasks.is_empty() || asked.contains(&inferred.system) {
            if first.is_none() {
                return (facts, inferred, Vec::new());
            }
            continue;
        }
        let left = unexplained(&inferred);
        if left.is_empty() {
            return (facts, inferred, left);
        }
        asked.push(inferred.system.clone());
        first.get_or_insert((facts, inferred, left));
    }
    first.unwrap_or_else(|| (taking.clone(), infer(seen, wanted, taking), Vec::new()))
}

/// Returns the names of the policies by which a kernel schedules
/// threads of these classes; empty if the classes are not known.
pub(super) fn policies(seen: &Observation, chosen: &Chosen, system: &System) -> Vec<&'static str> {
    let is = |class: fn(i32) -> bool| move |task: &Estimate| task.priority.is_some_and(class);
    if chosen.tasks.iter().all(is(|priority| priority < 0)) {
        return vec!["dl"];
    }
    if !chosen.tasks.iter().any(is(|priority| priority < 100)) {
        return Vec::new();
    }
    let tied = system.tasks.values().filter(|task| task.affinity.is_some()).count();
    match (system.platform.cpu_count(), tied) {
        (1, _) => vec!["p-fp"],
        // Threads that never moved may be pinned; a later
        // entry of `TRIED` gives them such affinities.
        (_, 0) if chosen.tasks.iter().any(|task| seen.threads[task.thread].cpus.len() > 1) => {
            vec!["g-fp"]
        }
        (_, _) => vec!["g-fp", "p-fp"],
    }
}

/// Returns the longest response of each task in the trace, including jobs that are cut off.
///
/// A job in which a thread is born or dies, or is not yet steady, counts only if `more` takes it into the estimates: a
/// program starts and ends once, and takes as long as it takes. The delay of other tasks by it is in the responses of
/// those tasks. A start that is a large part of the trace counts, since it need not be one.
pub(super) fn responses(seen: &Observation, chosen: &Chosen, more: More) -> Vec<Duration> {
    let longest = |task: &Estimate| {
        let thread = &seen.threads[task.thread];
        let counts = |partial: &&Partial| more.partial || partial.is_cut;
        let partial = thread.partial.iter().filter(counts).map(|partial| &partial.job);
        let start = task.start_up.filter(|start| start.length.ns() <= seen.length.ns() / 4);
        let begin = thread.jobs.first().map_or(Time::ZERO, |job| job.arrival);
        let steady = begin + start.map_or(Duration::ZERO, |start| start.length);
        let jobs = thread.jobs.iter().filter(|job| job.arrival >= steady).chain(partial);
        let waits = thread.waits_since.map(|since| seen.over - since);
        let took = jobs
            .map(|job| job.end.unwrap_or_else(|| seen.seen_until(job.arrival)) - job.arrival)
            .chain(waits);
        took.max().unwrap_or(Duration::ZERO).max(Duration::ZERO)
    };
    chosen.tasks.iter().map(longest).collect()
}

/// Appends to a sentence the thread that took the most CPU time from the task named there, among
/// threads that are not in the set or had a more important priority than in the set.
fn with_reason(seen: &Observation, inferred: &Inferred, sentence: String) -> String {
    let mut tasks = inferred.system.tasks.values().zip(&inferred.chosen.tasks);
    let named = tasks.find(|(task, _)| sentence.contains(&format!("`{}`", task.name)));
    let Some((_, estimate)) = named else { return sentence };
    let is_in_set = |taken: &Taken| {
        let task = inferred.chosen.tasks.iter().find(|task| task.thread == taken.by);
        task.is_some_and(|task| task.priority.is_some_and(|priority| priority <= taken.priority))
    };
    let of_it = seen.taken.iter().filter(|taken| taken.from == estimate.thread);
    let most = of_it.filter(|taken| !is_in_set(taken)).max_by_key(|taken| taken.total);
    let class = |priority: i32| match priority {
        ..0 => "SCHED_DEADLINE".to_owned(),
        0..100 => format!("priority {priority} of the kernel"),
        _ => "an ordinary thread".to_owned(),
    };
    let mut sentence = sentence;
    if let Some(most) = most {
        let by = &seen.threads[most.by];
        let name = by.pid.map_or_else(|| by.name.clone(), |pid| format!("{} ({pid})", by.name));
        sentence += &format!(
            "; `{name}`, {}, had the CPU for up to {:#} of a wait",
            class(most.priority),
            most.longest
        );
    }
    let of = &seen.threads[estimate.thread];
    if of.class() == Class::Deadline && of.throttled > 0 {
        sentence += &format!("; it was throttled {} times", of.throttled);
    }
    sentence
}
