//! `--fail-on`: prints the limits that a run exceeds, and writes the results as a JUnit file.

use super::terminal;
use layland_answers::limits::Held;
use layland_model::Duration;
use layland_trace::Summary;
use std::fmt::Write;

/// Reports the limits that are exceeded.
pub(crate) fn tell(policy: &str, held: &[Held]) {
    for Held { limit, found } in held {
        if let Some(found) = found {
            terminal::talk(&format!("{policy} fails on {limit}: {found}"));
        }
    }
}

/// The result of a run, as a test suite.
pub(crate) struct Suite<'a> {
    /// The names of the set and the policy.
    pub name: String,
    /// The figures, or the reason why the run did not take place.
    pub result: Result<&'a Summary, &'a str>,
    /// The result of each limit.
    pub held: Vec<Held>,
    /// The result of each constraint of the set.
    pub constraints: Vec<Held>,
}

/// Returns a JUnit file with a suite for each run: a test for each task, which fails if the task
/// missed a deadline, and one for each constraint and each limit. If there are limits, only these
/// can fail.
pub(crate) fn junit(suites: &[Suite<'_>]) -> String {
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"layland\">\n".to_owned();
    for suite in suites {
        let mut cases: Vec<(String, Result<(), String>)> = Vec::new();
        match suite.result {
            Err(reason) => cases.push(("takes the set".to_owned(), Err(reason.to_owned()))),
            Ok(summary) => {
                for task in &summary.tasks {
                    let fails = task.missed > 0 && suite.held.is_empty();
                    let late = Duration::from_ns(task.max_tardiness_ns.max(task.overdue_ns));
                    let why = format!(
                        "{} of {} deadlines missed, by up to {late:#}",
                        task.missed, task.released
                    );
                    cases.push((
                        format!("{} meets its deadlines", task.name),
                        if fails { Err(why) } else { Ok(()) },
                    ));
                }
            }
        }
        let mut judge = |all: &[Held], counts: bool| {
            cases.extend(all.iter().map(|held| {
                let found = held.found.clone().filter(|_| counts);
                (format!("not {}", held.limit), found.map_or(Ok(()), Err))
            }));
        };
        judge(&suite.constraints, suite.held.is_empty());
        judge(&suite.held, true);
        let failures = cases.iter().filter(|(_, result)| result.is_err()).count();
        let name = escaped(&suite.name);
        let _ = writeln!(
            text,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\">",
            cases.len()
        );
        for (case, result) in cases {
            let case = escaped(&case);
            let _ = match result {
                Ok(()) => writeln!(text, "    <testcase classname=\"{name}\" name=\"{case}\"/>"),
                Err(why) => writeln!(
                    text,
                    "    <testcase classname=\"{name}\" name=\"{case}\"><failure message=\"{}\"/></testcase>",
                    escaped(&why)
                ),
            };
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

/// Escapes a string for the value of an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(' '),
            control if control.is_control() => out.push('?'),
            other => out.push(other),
        }
    }
    out
}
