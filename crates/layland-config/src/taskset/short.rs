//! The short way to read a long task-set file: of tasks with the keys that generators write.
//!
//! The parser needs a kilobyte for each task, which for a million of them would be more than the simulation. So the
//! tables of tasks are read line by line, and only the rest of the file, with one task in their place, is read
//! as a document. Whatever is not plain (another key, a comment in a table, an escape in a text) takes the long way,
//! and so does a file in which anything is wrong. A test holds that both ways agree.

use crate::host::MAX_TASKS;
use crate::problem::{Problems, Span};
use layland_model::{Duration, System, Task};

/// Shorter texts are read the long way.
pub(super) const LONG: usize = 1 << 20;

const HEADER: &str = "[[task]]";

/// The system, and where each task is, if the file is plain and nothing is wrong with it. `read_document` is the long
/// way.
pub(super) fn read(
    text: &str,
    read_document: impl Fn(&str, &mut Problems) -> Option<(System, Vec<Span>)>,
) -> Option<(System, Vec<Span>)> {
    // A text of several lines can have lines that look like a table.
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
            // A part of a task.
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
    // Defaults would change it, and other levels its execution times.
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
    /// Takes a line, if it is `key = "text"` or empty.
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
        // A key that is given twice is an error.
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
