//! The fast way to read a long task-set file whose tasks have only the keys that generators write.
//!
//! The parser needs a kilobyte per task, which for a million tasks would exceed the
//! memory of the simulation. So the tables of tasks are read line by line, and only
//! the rest of the file, with one task in their place, is parsed as a document. A file
//! with anything else (another key, a comment in a table, an escape in a string), or
//! with any fault, is read in the slow way. A test checks that both ways agree.

use crate::host::MAX_TASKS;
use crate::problem::{Problems, Span};
use layland_model::{Duration, System, Task};

/// The minimum length; shorter texts are read in the slow way.
pub(super) const LONG: usize = 1 << 20;

const HEADER: &str = "[[task]]";

/// Returns the system and the span of each task, if the file is plain and has no faults.
/// `read_document` is the slow way.
pub(super) fn read(
    text: &str,
    read_document: impl Fn(&str, &mut Problems) -> Option<(System, Vec<Span>)>,
) -> Option<(System, Vec<Span>)> {
    // A multi-line string can contain lines that look like a table.
    if text.contains("\"\"\"") || text.contains("'''") {
        return None;
    }
    let mut rest = String::new();
    let (mut tasks, mut spans) = (Vec::new(), Vec::new());
    let mut keys: Option<Keys<'_>> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let plain = line.strip_suffix('\n').unwrap_or(line);
        let plain = plain.strip_suffix('\r').unwrap_or(plain);
        if plain == HEADER {
            if let Some(keys) = keys.replace(Keys::default()) {
                tasks.push(keys.task(tasks.len())?);
            }
            spans.push(start..start + HEADER.len());
        } else if plain.starts_with('[') {
            // This table is a part of a task.
            if plain.starts_with("[task") || plain.starts_with("[[task") {
                return None;
            }
            if let Some(keys) = keys.take() {
                tasks.push(keys.task(tasks.len())?);
            }
            rest += line;
        } else if let Some(keys) = &mut keys {
            keys.line(plain)?;
        } else {
            rest += line;
        }
    }
    if let Some(keys) = keys {
        tasks.push(keys.task(tasks.len())?);
    }
    if tasks.is_empty() || tasks.len() > MAX_TASKS {
        return None;
    }
    rest += "\n[[task]]\nname = \"a\"\nperiod = \"1s\"\nwcet = \"1ns\"\n";
    let mut problems = Problems::default();
    let (mut system, others) = read_document(&rest, &mut problems)?;
    let stand_in = Task::implicit("a", layland_model::Service::from_ns(1), Duration::from_secs(1));
    // Defaults would change the stand-in, and other levels its execution times.
    let is_plain = others.len() == 1 && system.tasks.as_slice() == [stand_in];
    if !is_plain || !system.requests.is_empty() || !problems.is_empty() {
        return None;
    }
    system.tasks = tasks.into();
    system.validate().is_empty().then_some((system, spans))
}

/// The keys of a task.
#[derive(Default)]
struct Keys<'t> {
    name: Option<&'t str>,
    period: Option<&'t str>,
    deadline: Option<&'t str>,
    wcet: Option<&'t str>,
    offset: Option<&'t str>,
}

impl<'t> Keys<'t> {
    /// Reads a line, if it is `key = "text"` or empty.
    fn line(&mut self, line: &'t str) -> Option<()> {
        if line.is_empty() {
            return Some(());
        }
        let (key, value) = line.split_once(" = \"")?;
        let text = value.strip_suffix('"')?;
        if text.contains(|sign: char| matches!(sign, '"' | '\\') || sign.is_control()) {
            return None;
        }
        let place = match key {
            "name" => &mut self.name,
            "period" => &mut self.period,
            "deadline" => &mut self.deadline,
            "wcet" => &mut self.wcet,
            "offset" => &mut self.offset,
            _ => return None,
        };
        // A duplicate key is an error.
        place.replace(text).is_none().then_some(())
    }

    fn task(self, rank: usize) -> Option<Task> {
        let length = |text: &str| text.parse::<Duration>().ok();
        let mut task = Task::implicit(self.name?, self.wcet?.parse().ok()?, length(self.period?)?);
        task.rank = rank as i64;
        if let Some(deadline) = self.deadline {
            task.deadline = length(deadline)?;
        }
        if let Some(offset) = self.offset {
            task.offset = length(offset)?;
        }
        Some(task)
    }
}
