//! The sentences of a report, derived from its data: the misses of each run, and the obstacles of
//! the first job that missed its deadline.

use crate::line::{Line, Severity};
use crate::run::Run;
use layland_model::{CpuId, CpuSet, Duration, Index, System, TaskId, Time, counted};
use layland_trace::{Job, JobEnd, JobRecord, Labels};
use std::collections::BTreeMap;

/// Returns the first lines of a comparison: the runs
/// with and without misses, and growing tardiness.
pub fn headline(runs: &[Run], labels: &Labels) -> Vec<Line> {
    let (mut bad, mut good) = (Vec::new(), Vec::new());
    let mut lines = Vec::new();
    for run in runs {
        let figures = run.figures(labels);
        let total = &figures.total;
        if total.missed == 0 {
            good.push(match total.released {
                0 => format!("{} has no job", run.name),
                1 => format!("{} meets its only one", run.name),
                jobs => format!("{} meets all {jobs}", run.name),
            });
            continue;
        }
        let late: Vec<&str> =
            figures.tasks.iter().filter(|task| task.missed > 0).map(|t| t.name.as_str()).collect();
        let worst = Duration::from_ns(total.max_tardiness_ns.max(total.overdue_ns));
        let by = match worst {
            Duration::ZERO => String::new(),
            worst => format!(", by up to {worst:#}"),
        };
        bad.push(format!(
            "{} misses {} of {} ({}){by}",
            run.name,
            total.missed,
            counted(total.released, "deadline"),
            list(&late),
        ));
        lines.extend(growth(run));
    }
    let severity = if bad.is_empty() { Severity::Good } else { Severity::Bad };
    let sentence = match (bad.is_empty(), good.is_empty()) {
        (true, true) => return lines,
        (false, true) => bad.join("; "),
        (true, false) => format!("No deadline is missed: {}", good.join("; ")),
        (false, false) => format!("{}, while {}", bad.join("; "), good.join("; ")),
    };
    lines.insert(0, Line::new(severity, sentence + "."));
    lines
}

/// Describes the growth of tardiness from the first
/// miss on, and its continuation in the second half.
fn growth(run: &Run) -> Option<Line> {
    let over = run.trace.over;
    let (from, to) = run.shown();
    let middle = from + Duration::from_ns((to - from).ns() / 2);
    let missed = run.trace.jobs.iter().filter(|record| record.missed(over));
    let late = missed.map(|record| {
        let end = record.end.map_or(over, |(at, _)| at);
        (record.job.deadline, record.job.tardiness(end))
    });
    // Of deadlines at the same time, the one that is missed by most.
    let (first_due, first) =
        late.clone().min_by_key(|&(due, late)| (due, std::cmp::Reverse(late)))?;
    let (worst_due, worst) =
        late.clone().max_by_key(|&(due, late)| (late, std::cmp::Reverse(due)))?;
    let most = |in_first: bool| {
        let half = late.clone().filter(|&(due, _)| (due <= middle) == in_first);
        half.map(|(_, late)| late).max().unwrap_or_default()
    };
    let still = if most(false) > most(true) {
        ", and still grows in the second half of what is shown"
    } else {
        ""
    };
    // Single late jobs among many that are on time show no trend.
    let between = |due: Time| (first_due..=worst_due).contains(&due);
    let all = run.trace.jobs.iter().filter(|record| between(record.job.deadline)).count();
    let is_trend = 4 * late.filter(|&(due, _)| between(due)).count() >= all;
    (worst > first && is_trend).then(|| {
        let text = format!(
            "Tardiness under {} grows from {first:#}, for the deadline at {first_due:#}, to {worst:#}, for \
             the one at {worst_due:#}{still}.",
            run.name
        );
        Line::new(Severity::Bad, text)
    })
}

/// Describes why the first job that missed its deadline did not run, as
/// far as the trace shows it: the time that it waited, the tasks that
/// held the CPUs that it may use, and any CPU that was idle meanwhile.
pub fn blame(run: &Run, labels: &Labels, system: &System) -> Option<Line> {
    let over = run.trace.over;
    let missed = run.trace.jobs.iter().filter(|record| record.missed(over));
    let record = missed.min_by_key(|record| (record.job.deadline, record.job.id))?;
    let Job { id, deadline, .. } = record.job;
    let name = labels.task(id.task);
    let end = match record.end {
        Some((at, JobEnd::Completed)) => {
            format!("done at {at:#}, {:#} late", record.job.tardiness(at))
        }
        Some((at, JobEnd::Aborted | JobEnd::Left)) => format!("aborted at {at:#}"),
        None => format!("not done when the run ends at {over:#}"),
    };
    let mut text = format!(
        "First miss under {}: {name}, job {}, due at {deadline:#}, {end}.",
        run.name,
        id.number(),
    );
    let waits = waits(run, record);
    let waited: Duration = waits.iter().map(|&(from, to)| to - from).sum();
    if waited > Duration::ZERO {
        text += &format!(" Before its deadline it waited for {waited:#}");
        match obstacle(run, labels, system, id.task, &waits) {
            Some(held) => text += &format!(", while{held}"),
            None => text.push('.'),
        }
    }
    Some(Line::new(Severity::Bad, text))
}

/// Returns the times at which a job was ready before its deadline and did not run.
fn waits(run: &Run, record: &JobRecord) -> Vec<(Time, Time)> {
    let Job { id, release, deadline, .. } = record.job;
    let of_task = run.trace.jobs.iter().filter(|other| other.job.id.task == id.task);
    let ended = of_task.filter(|other| other.job.id.seq < id.seq).filter_map(|other| other.end);
    let mut ready = ended.map(|(at, _)| at).max().unwrap_or(release).max(release);
    let until = record.end.map_or(deadline, |(at, _)| at.min(deadline));
    let own = run.trace.segments.iter().filter(|segment| segment.job == id);
    let mut waits = Vec::new();
    for segment in own {
        if ready < segment.start.min(until) {
            waits.push((ready, segment.start.min(until)));
        }
        ready = ready.max(segment.end);
    }
    if ready < until {
        waits.push((ready, until));
    }
    waits
}

/// Returns the length of the part of an interval that lies in some others.
fn overlap(from: Time, to: Time, intervals: &[(Time, Time)]) -> Duration {
    let part = |&(a, b): &(Time, Time)| (to.min(b) - from.max(a)).max(Duration::ZERO);
    intervals.iter().map(part).sum()
}

fn obstacle(
    run: &Run,
    labels: &Labels,
    system: &System,
    task: TaskId,
    waits: &[(Time, Time)],
) -> Option<String> {
    let cpus = labels.cpus.max(run.trace.cpu_count());
    let allowed = |task: TaskId| -> CpuSet {
        let affinity = system.tasks.get(task).and_then(|task| task.affinity.clone());
        affinity.unwrap_or_else(|| CpuSet::first(cpus))
    };
    let mine = allowed(task);
    let waited: Duration = waits.iter().map(|&(from, to)| to - from).sum();
    let mut held: BTreeMap<TaskId, Duration> = BTreeMap::new();
    let mut idle = vec![waited; cpus];
    for segment in &run.trace.segments {
        let part = overlap(segment.start, segment.end, waits);
        idle[segment.cpu.index()] = idle[segment.cpu.index()] - part;
        if mine.contains(segment.cpu) && part > Duration::ZERO {
            *held.entry(segment.job.task).or_default() += part;
        }
    }
    let place = match mine.iter().take(2).collect::<Vec<CpuId>>()[..] {
        _ if mine.len() >= cpus => "the CPUs were".to_owned(),
        [only] => format!("CPU {only}, the only one that it may use, was"),
        _ => format!("the {} CPUs that it may use were", mine.len()),
    };
    let mut holders: Vec<(TaskId, Duration)> = held.into_iter().collect();
    // The longest holder first; of equal ones the task that comes first.
    holders.sort_by_key(|&(id, time)| (std::cmp::Reverse(time), id));
    let &(holder, _) = holders.first()?;
    let holder_name = labels.task(holder);
    let named: Vec<String> = (holders.iter().take(3))
        .map(|&(id, time)| format!("{} for {time:#}", labels.task(id)))
        .collect();
    let others = match holders.len() - named.len() {
        0 => String::new(),
        1 => " and one more task".to_owned(),
        others => format!(" and {others} more tasks"),
    };
    let mut text = match (&named[..], others.as_str()) {
        ([start @ .., last], "") if !start.is_empty() => {
            format!(" {place} held by {} and {last}", start.join(", "))
        }
        _ => format!(" {place} held by {}{others}", named.join(", ")),
    };
    let longest = |usable: &CpuSet| {
        let ids = (0..cpus).map(CpuId::from_index).filter(|&cpu| usable.contains(cpu));
        let times = ids.map(|cpu| (idle[cpu.index()], cpu));
        times
            .filter(|&(time, _)| time > Duration::ZERO)
            .max_by_key(|&(time, cpu)| (time, std::cmp::Reverse(cpu)))
    };
    if let Some((time, cpu)) = longest(&mine) {
        text += &format!("; yet CPU {cpu}, which it may use, was idle for {time:#} of that time");
    } else if let Some((time, cpu)) = longest(&allowed(holder)) {
        text += &format!(
            ", although CPU {cpu}, where {holder_name} may run, was idle for {time:#} of that time"
        );
    }
    Some(text + ".")
}

/// `a`, `a and b`, `a, b, c and 4 more tasks`.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [start @ .., last] if names.len() <= 5 => format!("{} and {last}", start.join(", ")),
        [a, b, c, rest @ ..] => format!("{a}, {b}, {c} and {} more tasks", rest.len()),
        [a, b] => format!("{a} and {b}"),
    }
}
