//! Reads lines that begin with the kind of a task, as lecture tools on servers have them.
//!
//! ```text
//! P 0 40 50 50      periodic: release, execution time, period, deadline (or without the deadline)
//! D 15 80 40        periodic, with a deadline: execution time, period, deadline (or a release first)
//! S 5 20            the server: budget, period
//! A 25 5            an aperiodic job: arrival, execution time
//! ```
//!
//! The server serves the aperiodic jobs: it is one task with a `budget`, and they are its jobs. Their
//! deadline is so late that it serves them all. Without a server they are left out: they have no deadlines,
//! and give way to the tasks. A server without jobs uses all of its budget.

use crate::host::{Host, MAX_TASKS, default_cpus};
use crate::plain::no_unit;
use crate::problem::{Problem, Problems, Span};
use layland_model::{
    Behaviour, Duration, ExecutionModel, Index, ParseTimeError, Service, System, Task, Time,
};
use std::collections::BTreeSet;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Letter {
    Periodic,
    WithDeadline,
    Server,
    Aperiodic,
}

impl Letter {
    fn of(letter: &str) -> Option<Letter> {
        Some(match letter {
            "P" => Letter::Periodic,
            "D" => Letter::WithDeadline,
            "S" => Letter::Server,
            "A" => Letter::Aperiodic,
            _ => return None,
        })
    }

    /// Returns the counts of numbers that a line of this kind may have.
    fn counts(self) -> &'static [usize] {
        match self {
            Letter::Periodic | Letter::WithDeadline => &[3, 4],
            Letter::Server | Letter::Aperiodic => &[2],
        }
    }

    fn form(self) -> &'static str {
        match self {
            Letter::Periodic => "P release execution period [deadline]",
            Letter::WithDeadline => "D [release] execution period deadline",
            Letter::Server => "S budget period",
            Letter::Aperiodic => "A arrival execution",
        }
    }
}

/// Returns the kind of a line and the words behind it.
fn parts(line: &str) -> Option<(Letter, Vec<&str>)> {
    let mut words = line.split('#').next()?.split_whitespace();
    let kind = Letter::of(words.next()?)?;
    Some((kind, words.collect()))
}

/// Returns true if every line begins with a kind, and the first one is right. Letters that differ may
/// as well be the names of tasks, unless one of them says that there are servers or aperiodic jobs.
pub(crate) fn are_lines(text: &str) -> bool {
    let content = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let lines = || text.lines().map(str::trim).filter(content).take(200);
    let is_time = |word: &&str| {
        matches!(word.parse::<Duration>(), Ok(_) | Err(ParseTimeError::MissingUnit { .. }))
    };
    let is_right = |(kind, words): &(Letter, Vec<&str>)| {
        kind.counts().contains(&words.len()) && words.iter().all(is_time)
    };
    let found: Option<Vec<(Letter, Vec<&str>)>> = lines().map(parts).collect();
    found.is_some_and(|found| {
        let different: BTreeSet<Letter> = found.iter().map(|(kind, _)| *kind).collect();
        let is_served = |(kind, words): &(Letter, Vec<&str>)| {
            matches!(kind, Letter::Server | Letter::Aperiodic) && words.len() == 2
        };
        let is_kind = different.len() < found.len() || found.iter().any(is_served);
        found.first().is_some_and(is_right) && is_kind
    })
}

/// Parses the lines. Returns the system and the span of each task, or `None` after reporting errors.
pub(crate) fn read(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let mut lines: Vec<(Letter, Vec<Duration>, Span)> = Vec::new();
    let mut without_unit: Option<Span> = None;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let start = content.as_ptr() as usize - text.as_ptr() as usize;
        let span = start..start + content.len();
        if lines.len() == MAX_TASKS {
            let message = format!("the text has more than {MAX_TASKS} lines");
            let problem = Problem::error("layland::plain::too_many", message).at(span, "here");
            problems.push(problem.help("split it"));
            break;
        }
        let Some((kind, numbers)) = parts(content) else {
            let message = "the line is not of a kind: P, D, S or A, and times";
            let problem = Problem::error("layland::plain::line", message).at(span, "this line");
            problems.push(problem.help("write P release execution period, as the others"));
            continue;
        };
        if !kind.counts().contains(&numbers.len()) {
            let message = format!("the line has {} times", numbers.len());
            let problem = Problem::error("layland::plain::line", message).at(span, "this line");
            problems.push(problem.help(format!("write {}", kind.form())));
            continue;
        }
        let mut times = Vec::new();
        for number in numbers {
            let at = number.as_ptr() as usize - text.as_ptr() as usize;
            match host.time(number) {
                Ok(time) => times.push(time),
                Err(ParseTimeError::MissingUnit { .. }) => {
                    without_unit.get_or_insert(at..at + number.len());
                }
                Err(fault) => {
                    let problem = Problem::error("layland::plain::time", fault.to_string());
                    problems.push(problem.at(at..at + number.len(), "here").help(fault.help()));
                }
            }
        }
        if kind == Letter::Server && lines.iter().any(|(kind, ..)| *kind == Letter::Server) {
            let message = "there are two servers, and a job does not say which one serves it";
            let problem = Problem::error("layland::plain::line", message).at(span.clone(), "here");
            problems.push(problem.help("write tasks with `budget` in a task-set file"));
        }
        lines.push((kind, times, span));
    }
    if let Some(span) = without_unit {
        problems.push(no_unit(span));
    }
    if problems.has_errors() {
        return None;
    }
    let (system, spans) = system(&lines, host, problems)?;
    for invalid in system.validate() {
        problems.push(Problem::invalid("layland::plain::invalid", invalid, |task, _| {
            Some((spans[task.index()].clone(), "this line"))
        }));
    }
    Some((system, spans))
}

/// Makes the system of lines whose times are known.
fn system(
    lines: &[(Letter, Vec<Duration>, Span)],
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let mut jobs: Vec<(Duration, Duration)> = lines
        .iter()
        .filter(|(kind, ..)| *kind == Letter::Aperiodic)
        .map(|(_, times, _)| (times[0], times[1]))
        .collect();
    // Jobs are served in the order of their arrivals.
    jobs.sort_by_key(|(arrival, _)| *arrival);
    let has_server = lines.iter().any(|(kind, ..)| *kind == Letter::Server);
    if let (false, Some((.., span))) =
        (has_server, lines.iter().find(|(kind, ..)| *kind == Letter::Aperiodic))
    {
        let message = "aperiodic jobs are left out: without a server they give way to the tasks";
        let problem = Problem::warning("layland::plain::background", message);
        problems.push(problem.at(span.clone(), "the first").help("write a server, as in S 5 20"));
    }
    let (mut tasks, mut spans, mut number) = (Vec::<Task>::new(), Vec::new(), 0);
    let service = |time: Duration| Service::from_ns(time.ns());
    for (kind, times, span) in lines {
        let task = match (kind, &times[..]) {
            (Letter::Periodic | Letter::WithDeadline, _) => {
                let (offset, rest) = match (kind, &times[..]) {
                    (Letter::WithDeadline, rest @ [_, _, _]) => (Duration::ZERO, rest),
                    (_, all) => (all[0], &all[1..]),
                };
                number += 1;
                let task = Task::implicit(format!("T{}", number), service(rest[0]), rest[1]);
                Task { offset, deadline: rest.get(2).copied().unwrap_or(rest[1]), ..task }
            }
            (Letter::Server, times) => {
                let longest = jobs.iter().map(|(_, length)| *length).max().unwrap_or(times[0]);
                let task = Task::implicit("server", service(longest), times[1]);
                let task = Task { budget: Some(service(times[0])), ..task };
                if jobs.is_empty() {
                    task
                } else {
                    let at = jobs.iter().map(|(at, _)| Time::from_ns(at.ns())).collect();
                    Task {
                        behaviour: Behaviour::Explicit(at),
                        execution: ExecutionModel::List(
                            jobs.iter().map(|(_, length)| service(*length)).collect(),
                        ),
                        ..task
                    }
                }
            }
            (Letter::Aperiodic, _) => continue,
        };
        tasks.push(Task { rank: tasks.len() as i64, ..task });
        spans.push(span.clone());
    }
    if let Some(server) = tasks.iter_mut().find(|task| task.budget.is_some())
        && !jobs.is_empty()
    {
        // Behind the last arrival there is a period for each budget that the jobs need, and then
        // as long again.
        let budget = server.budget.map_or(1, |budget| budget.ns()).max(1);
        let work: i128 = jobs.iter().map(|(_, length)| i128::from(length.ns())).sum();
        let periods = work / i128::from(budget) + 2;
        let last = jobs.last().map_or(0, |(arrival, _)| arrival.ns());
        let far = 2 * (i128::from(last) + periods * i128::from(server.period.ns()));
        server.deadline = Duration::from_ns(i64::try_from(far).unwrap_or(i64::MAX));
    }
    let cpus = default_cpus(host, None, "the text", problems)?;
    Some((System { tasks: tasks.into(), ..System::new(cpus, Vec::new()) }, spans))
}
