//! Reads task sets as plain lines of times, `C T` or
//! `C T D`, as generators of task sets print them.
//!
//! ```text
//! # a comment
//! 1ms 5ms
//! 8ms 20ms 15ms
//! ```
//!
//! A line is a task: its WCET, its period and, if it differs from the period, its deadline. A
//! comment above the first line that names other columns counts as titles. Numbers without a unit
//! need the unit that the user sets ([`Host::unit`]). Tasks are named `t0`, `t1` and so on, by
//! their positions.

use crate::csv::{self, titles, words};
use crate::host::{Columns, Host, MAX_TASKS, default_cpus};
use crate::lettered;
use crate::problem::{Problem, Problems, Span};
use layland_model::{Duration, Field, Index, ParseTimeError, Platform, Service, System, Task};

/// Returns true if a line looks like a task: two or three times and nothing else.
pub(crate) fn is_task(line: &str) -> bool {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let is_time = |field: &&str| match field.parse::<Duration>() {
        Ok(_) | Err(ParseTimeError::MissingUnit { .. }) => true,
        Err(_) => false,
    };
    matches!(fields.len(), 2 | 3) && fields.iter().all(is_time)
}

/// Parses plain lines. Returns the system and the span
/// of each task, or `None` after reporting errors.
pub(crate) fn read(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let bare = text.trim_start_matches('\u{feff}');
    let lines = || bare.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    if host.columns.is_some() {
        return csv::read(text, csv::layout_of_rows(text), host, problems);
    }
    if lettered::are_lines(bare) {
        return lettered::read(text, host, problems);
    }
    if words::is_task(first) {
        return csv::read_words(text, host, problems);
    }
    if let Some(columns) =
        titles_above(lines().take_while(|line| line.starts_with('#')).last(), first)
    {
        let host = Host { columns: Some(columns), ..host.clone() };
        return csv::read(text, csv::layout_of_rows(text), &host, problems);
    }
    let (mut tasks, mut fields) = (Vec::new(), Vec::new());
    let mut without_unit: Option<Span> = None;
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    for line in text[at..].split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.split('#').next().unwrap_or_default();
        let spans = words(content, start);
        if spans.is_empty() {
            continue;
        }
        let whole = spans[0].start..spans[spans.len() - 1].end;
        if !matches!(spans.len(), 2 | 3) {
            let message = format!("a task is two or three times, and here are {}", spans.len());
            let problem = Problem::error("layland::plain::line", message).at(whole, "this line");
            problems.push(
                problem.help(
                    "write the WCET, the period and, if it differs, the deadline: 1ms 5ms 4ms",
                ),
            );
            continue;
        }
        if tasks.len() == MAX_TASKS {
            let message = format!("the text has more than {MAX_TASKS} lines");
            let problem = Problem::error("layland::plain::too_many", message).at(whole, "here");
            problems.push(problem.help("split it"));
            break;
        }
        let mut times = Vec::new();
        for span in &spans {
            match host.time(&text[span.clone()]) {
                Ok(time) => times.push(time),
                // Report this once for the whole text: all its numbers lack the same unit.
                Err(ParseTimeError::MissingUnit { .. }) => {
                    without_unit.get_or_insert(span.clone());
                }
                Err(fault) => {
                    let problem = Problem::error("layland::plain::time", fault.to_string());
                    problems.push(problem.at(span.clone(), "here").help(fault.help()));
                }
            }
        }
        if let [wcet, period, ref deadline @ ..] = times[..]
            && times.len() == spans.len()
        {
            let name = format!("t{}", tasks.len());
            let mut task = Task::implicit(name, Service::from_ns(wcet.ns()), period);
            task.deadline = deadline.first().copied().unwrap_or(period);
            task.rank = tasks.len() as i64;
            tasks.push(task);
            fields.push(spans);
        }
    }
    if let Some(span) = without_unit {
        problems.push(no_unit(span));
    }
    if problems.has_errors() {
        return None;
    }
    let cpus = default_cpus(host, None, "the text", problems)?;
    let system = System { tasks: tasks.into(), ..System::new(cpus, Vec::new()) };
    debug_assert_eq!(system.platform, Platform::identical(cpus));
    for invalid in system.validate() {
        problems.push(Problem::invalid("layland::plain::invalid", invalid, |task, field| {
            let spans: &Vec<Span> = &fields[task.index()];
            let place = if field == Field::Period {
                1
            } else if field == Field::Deadline {
                spans.len() - 1
            } else {
                0
            };
            Some((spans[place].clone(), "here"))
        }));
    }
    let whole = fields.iter().map(|spans| spans[0].start..spans[spans.len() - 1].end).collect();
    Some((system, whole))
}

/// Returns the problem of a text whose numbers have no unit, which begin here.
pub(crate) fn no_unit(first: Span) -> Problem {
    let problem = Problem::error("layland::plain::time", "the numbers have no unit");
    let help = "say which with --unit, or write ns, us, ms or s after each number";
    problem.at(first, "the first").help(help)
}

/// Returns the columns that the comment above the first line names, if their order is not that of
/// this format.
fn titles_above(comment: Option<&str>, first: &str) -> Option<Columns> {
    let words: Vec<&str> = comment?.trim_start_matches('#').split_whitespace().collect();
    let is =
        |word: &str, key: &str| titles::meaning(word).is_some_and(|meaning| meaning.is_key(key));
    let is_usual =
        words.iter().zip(["wcet", "period", "deadline"]).all(|(word, key)| is(word, key));
    let is_known = words.iter().all(|word| titles::meaning(word).is_some());
    let is_line = words.len() == first.split_whitespace().count();
    (is_line && is_known && !is_usual).then(|| words.join(",").parse().ok())?
}

/// Returns the spans of the words of a line that begins at `start`.
fn words(line: &str, start: usize) -> Vec<Span> {
    let place = |word: &str| {
        let at = start + (word.as_ptr() as usize - line.as_ptr() as usize);
        at..at + word.len()
    };
    line.split_whitespace().map(place).collect()
}
