//! Parses tasks that are written as one word, as on a command line: `control=1ms/5ms/4ms@0-1`.

use crate::problem::{Problem, Problems, Report, Span};
use layland_model::{CpuSet, Duration, ParseTimeError, Service, Task};

const FORM: &str =
    "write name=wcet/period, as in control=1ms/5ms, with /deadline and @cpus if needed";

/// Parses `name=wcet/period[/deadline][@cpus]`. The deadline defaults to the period. A time that is
/// a fraction has parentheses around its number: `a=(1/3)s/1s`.
///
/// The rank of the task is 0: its position breaks ties.
///
/// ```
/// use layland_config::parse_inline;
/// let task = parse_inline("control=1ms/5ms/4ms@0-1").unwrap();
/// assert_eq!(task.to_string(), "control=1ms/5ms/4ms");
/// let report = parse_inline("control=1/5ms").unwrap_err();
/// assert_eq!(report.problems[0].message, "the wcet: a time needs a unit");
/// ```
///
/// # Errors
/// A report whose text is the argument.
pub fn parse_inline(text: &str) -> Result<Task, Report> {
    let mut problems = Problems::default();
    match task(text, &mut problems) {
        Some(task) if problems.is_empty() => Ok(task),
        Some(_) | None => Err(Report::new("task", text, problems)),
    }
}

fn task(text: &str, problems: &mut Problems) -> Option<Task> {
    let code = "layland::inline::form";
    // A name may contain `=`, but times may not.
    let Some(equals) = text.rfind('=') else {
        let problem = Problem::error(code, format!("`{}` is not a task", shortened(text)));
        problems.push(problem.at(0..text.len(), "no `=`").help(FORM));
        return None;
    };
    let name = text[..equals].trim();
    if name.is_empty() {
        problems
            .push(Problem::error(code, "the task has no name").at(0..equals, "here").help(FORM));
    }
    let times_end = text[equals..].find('@').map_or(text.len(), |at| equals + at);
    let fields = fields(text, equals + 1..times_end);
    let affinity = (times_end < text.len()).then(|| {
        let span = times_end + 1..text.len();
        text[span.clone()].parse::<CpuSet>().map_err(|error| {
            let help = "write CPUs as in @0-3 or @0,2";
            let problem = Problem::error("layland::inline::cpus", error.to_string());
            problems.push(problem.at(span, "not CPUs").help(help));
        })
    });
    let [wcet, period, deadline @ ..] = &fields[..] else {
        let problem = Problem::error(code, "the task has no period");
        problems.push(problem.at(equals + 1..times_end, "one time only").help(FORM));
        return None;
    };
    let mut time = |what: &str, span: &Span| -> Option<i64> {
        let written = &text[span.clone()];
        // `(1/3)s` is the fraction `1/3s`.
        let plain = match written.trim().strip_prefix('(') {
            Some(rest) => rest.replacen(')', "", 1),
            None => written.to_owned(),
        };
        let parsed: Result<Duration, ParseTimeError> = plain.parse();
        let fault = match parsed {
            Ok(length) if length > Duration::ZERO => return Some(length.ns()),
            Ok(_) => Problem::error("layland::inline::time", format!("the {what} is not positive"))
                .help("it must be longer than zero"),
            Err(error) => Problem::error("layland::inline::time", format!("the {what}: {error}"))
                .help(error.help().replace('"', "")),
        };
        problems.push(fault.at(span.clone(), "here"));
        None
    };
    let wcet = time("wcet", wcet);
    let period = time("period", period);
    let deadline = match deadline {
        [] => period,
        [deadline] => time("deadline", deadline),
        [_, more, ..] => {
            let problem = Problem::error(code, "a task has at most three times");
            problems.push(problem.at(more.start..times_end, "too many").help(FORM));
            None
        }
    };
    let mut task = Task::implicit(name, Service::from_ns(wcet?), Duration::from_ns(period?));
    task.deadline = Duration::from_ns(deadline?);
    task.affinity = affinity.transpose().ok()?;
    Some(task)
}

/// Returns the parts between those slashes that are not in parentheses.
fn fields(text: &str, span: Span) -> Vec<Span> {
    let (mut fields, mut start, mut open) = (Vec::new(), span.start, false);
    for (at, byte) in text.as_bytes()[span.clone()].iter().enumerate() {
        match byte {
            b'(' => open = true,
            b')' => open = false,
            b'/' if !open => {
                fields.push(start..span.start + at);
                start = span.start + at + 1;
            }
            _ => {}
        }
    }
    fields.push(start..span.end);
    fields
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}..", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_in_one_word() {
        let task = parse_inline("a=(1/2)ms/5ms@0,2").unwrap();
        assert_eq!(task.own_wcet(), Service::from_us(500));
        assert_eq!(task.deadline, Duration::from_ms(5));
        assert_eq!(task.affinity.unwrap().to_string(), "0,2");
        for (text, at, message) in [
            ("a", 0, "`a` is not a task"),
            ("a=1ms", 2, "the task has no period"),
            ("=1ms/2ms", 0, "the task has no name"),
            ("a=1/5ms", 2, "the wcet: a time needs a unit"),
            ("a=1ms/0ms", 6, "the period is not positive"),
            ("a=1ms/5ms/", 10, "the deadline: `` is not a time"),
            ("a=1ms/5ms/4ms/3ms", 14, "a task has at most three times"),
            ("a=1ms/5ms@x", 10, "`x` is not a CPU or a range of CPUs: write \"0-3\" or \"0,2,5\""),
        ] {
            let report = parse_inline(text).unwrap_err();
            assert_eq!(report.problems[0].message, message, "{text}");
            assert_eq!(report.problems[0].span.as_ref().unwrap().start, at, "{text}");
        }
    }
}
