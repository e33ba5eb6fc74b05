//! The logs that rt-app writes for its threads: their figures, and their check against a task set.

use super::args::{StatsArgs, TraceCheckArgs};
use super::document::{CheckDocument, LogDocument, LoopTimes, Source};
use crate::ui::document::{self, Named};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::Set;
use crate::ui::table::{self, Style};
use crate::ui::terminal;
use layland_answers::simulate::{ObservedConstraint, observed_constraints};
use layland_interchange::rt_app_log::{self, Loop};
use layland_model::shown::{DIGITS, Unit};
use layland_model::{Duration, JobId, Observance, Service, Task, Time, counted};
use layland_trace::{Job, JobEnd, Outcomes, Recorder};
use std::collections::BTreeMap;

/// The largest number of violations that are shown.
const MOST_SHOWN: usize = 20;

/// The source, as for other traces.
const SOURCE: Source<'static> = Source {
    dialect: Some("log of rt-app"),
    lost_events: 0,
    unrecorded_switches: 0,
    inferred: false,
    trustworthy: true,
    origin_ns: None,
    decisions: 0,
    remarks: &[],
};

/// Reads a log, if the file is one.
pub(super) fn read(name: &str, bytes: &[u8]) -> Option<Result<Vec<Loop>, Failure>> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| rt_app_log::is_log(text))?;
    Some(rt_app_log::read(text).map_err(|error| Failure::input(format!("{name}: {error}"))))
}

/// The quantities of a log: their names, and their values in ascending order.
fn quantities(loops: &[Loop]) -> Vec<(&'static str, Vec<Duration>)> {
    let all = |of: fn(&Loop) -> Option<Duration>| {
        let mut values: Vec<Duration> = loops.iter().filter_map(of).collect();
        values.sort_unstable();
        values
    };
    let mut found = vec![
        ("run", all(|of| Some(of.run))),
        ("period", all(|of| Some(of.period))),
        ("slack", all(|of| (of.timer > Duration::ZERO).then_some(of.slack))),
        ("wake-up latency", all(|of| of.latency)),
    ];
    found.retain(|(_, values)| !values.is_empty());
    found
}

/// Returns true if the work of a loop ended after its next timer.
fn is_late(of: &&Loop) -> bool {
    of.timer > Duration::ZERO && of.slack < Duration::ZERO
}

/// Prints the figures of a log.
pub(super) fn stats(args: &StatsArgs, loops: &[Loop]) -> Outcome {
    let late = loops.iter().filter(is_late).count();
    let exit = if late == 0 { Exit::Yes } else { Exit::No };
    let at = |values: &[Duration], percent: usize| values[(values.len() - 1) * percent / 100];
    if args.json {
        let figures = quantities(loops).into_iter().map(|(name, values)| {
            let [min, p50, p99, max] = [0, 50, 99, 100].map(|percent| at(&values, percent).ns());
            let name = name.replace([' ', '-'], "_") + "_ns";
            (name, LoopTimes { count: values.len(), min, p50, p99, max })
        });
        document::print(&LogDocument {
            layland: env!("CARGO_PKG_VERSION"),
            command: "trace stats",
            trace: &args.file,
            source: SOURCE,
            loops: loops.len(),
            late,
            figures: Named(figures.collect()),
            exit,
        })?;
        return Ok(exit);
    }
    let found = quantities(loops);
    let columns = [0, 50, 99, 100]
        .map(|percent| (percent, Unit::of(found.iter().map(|(_, values)| at(values, percent)))));
    let rows = found.iter().map(|(name, values)| {
        let [least, median, p99, most] =
            columns.map(|(percent, unit)| unit.show(at(values, percent), DIGITS));
        [(*name).to_owned(), values.len().to_string(), least, median, p99, most]
    });
    let headings = ["of a loop", "count", "least", "median", "99 %", "most"];
    let style = Style { ascii: args.ascii, colours: terminal::colours() };
    let verdict = if loops.iter().all(|of| of.timer == Duration::ZERO) {
        "the thread has no timer, so that no loop is late".to_owned()
    } else {
        format!("{} of {} late", late, counted(loops.len(), "loop"))
    };
    terminal::result(&format!(
        "{}\n{verdict}\nlog of rt-app\n",
        table::plain(headings, rows, style)
    ))?;
    Ok(exit)
}

/// Checks a log against the task of its thread.
pub(super) fn check(args: &TraceCheckArgs, set: &Set, loops: &[Loop]) -> Outcome {
    if let Some(policy) = &args.policy {
        let message =
            format!("a log of rt-app has no switches, which the promise of {policy} is about");
        return Err(Failure::usage(message).help(
            "leave --policy out, or record the kernel's scheduler with `layland trace record`",
        ));
    }
    let task = task_of(&args.file, set)?;
    let latency = args.latency.unwrap_or(Duration::ZERO);
    let (violations, late) = violations(task, latency, loops);
    let observed = observed(task, set, latency, loops);
    let is_kept = observed.iter().all(|of| of.observance != Observance::No);
    let exit = if violations.is_empty() && is_kept { Exit::Yes } else { Exit::No };
    if args.json {
        let count = violations.len() as u64;
        document::print(&CheckDocument {
            layland: env!("CARGO_PKG_VERSION"),
            command: "trace check",
            trace: &args.file,
            policy: None,
            latency_ns: latency.ns(),
            violations: violations.into_iter().take(MOST_SHOWN).collect(),
            count,
            caused_by_others: &BTreeMap::new(),
            missed: late,
            how_often: observed_constraints(&set.system, &observed),
            reservations: None,
            source: SOURCE,
            exit,
        })?;
        return Ok(exit);
    }
    let mut text = match violations.len() {
        0 => format!("no violations: {} of `{}`\n", counted(loops.len(), "loop"), task.name),
        count => format!(
            "{} in {} of `{}`\n",
            counted(count, "violation"),
            counted(loops.len(), "loop"),
            task.name
        ),
    };
    for violation in violations.iter().take(MOST_SHOWN) {
        text += &format!("  {violation}\n");
    }
    if violations.len() > MOST_SHOWN {
        text += &format!("  and {} more\n", violations.len() - MOST_SHOWN);
    }
    for of in &observed {
        text += &(of.in_words(&set.system) + "\n");
    }
    terminal::result(&text)?;
    Ok(exit)
}

/// Judges the weakly hard constraints of the task by the loops.
fn observed(task: &Task, set: &Set, latency: Duration, loops: &[Loop]) -> Vec<ObservedConstraint> {
    let id = set.system.tasks.iter().find(|(_, of)| of.name == task.name).map(|(id, _)| id);
    let Some(task_id) = id else { return Vec::new() };
    let mut outcomes = Outcomes::default();
    for (seq, of) in (0..).zip(loops) {
        let (arrival, id) = (Time::ZERO, JobId { task: task_id, seq });
        let job = Job { id, arrival, release: arrival, deadline: arrival };
        let end =
            if is_late_for(task, latency, of) { Duration::from_ns(1) } else { Duration::ZERO };
        outcomes.ended(&job, arrival + end, JobEnd::Completed, Service::ZERO);
    }
    task.constraints()
        .map(|constraint| ObservedConstraint::in_run(task_id, constraint, &outcomes))
        .collect()
}

/// Returns true if the work of a loop ends after its deadline. It ends before the next release by
/// the slack.
fn is_late_for(task: &Task, latency: Duration, of: &Loop) -> bool {
    of.timer > Duration::ZERO && of.slack + latency < task.period - task.deadline
}

/// Returns the task of the thread of a log: rt-app writes its name into that of the file.
fn task_of<'s>(file: &str, set: &'s Set) -> Result<&'s Task, Failure> {
    let stem =
        std::path::Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_default();
    let is_part =
        |name: &str| stem.split(['-', '.', '_']).any(|part| part == name) || stem.contains(name);
    let named = set.system.tasks.values().filter(|task| is_part(&task.name));
    // Of `ctl` and `ctl2` the longer name is that of `rt-app-ctl2-0.log`.
    let found = named.max_by_key(|task| task.name.len());
    match (found, set.system.tasks.as_slice()) {
        (Some(task), _) | (None, [task]) => Ok(task),
        (None, _) => Err(Failure::input(format!(
            "{file}: no task of {} has a name that is in the name of the log",
            set.name
        ))
        .help(
            "rt-app calls a log rt-app-NAME-0.log, after the thread: rename the task or the file",
        )),
    }
}

/// Returns what contradicts the task, in the order of the log, and the number of late loops.
fn violations(task: &Task, latency: Duration, loops: &[Loop]) -> (Vec<String>, u64) {
    let (mut found, mut late) = (Vec::new(), 0);
    let wcet = task.own_wcet().at_unit_speed();
    for of in loops {
        let mut say = |text: String| found.push(format!("line {}: {text}", of.line));
        if of.timer > Duration::ZERO && of.timer != task.period {
            say(format!("the timer has the period {:#}, and the task {:#}", of.timer, task.period));
        }
        if of.asked > wcet {
            say(format!("the file asks for {:#}, and the WCET is {wcet:#}", of.asked));
        }
        if is_late_for(task, latency, of) {
            // Its constraints judge the late loops of a task that may have some.
            if !task.has_constraints() {
                say(format!("the loop is late by {:#}", task.period - task.deadline - of.slack));
            }
            late += 1;
        }
    }
    (found, late)
}
