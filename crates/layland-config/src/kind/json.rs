//! Recognizes JSON by the keys at its start, without parsing all of it.

use super::{Foreign, Kind};
use crate::csv::titles::{self, Meaning};
use crate::read::Format;

/// The maximum number of keys that are looked at.
const KEYS: usize = 400;

/// A key at the start of a text.
struct Key {
    /// The number of brackets around it.
    depth: usize,
    name: String,
    /// The first character of its value.
    value: char,
    /// The start of its value.
    start: String,
}

/// Returns the kind of a text that begins like JSON.
pub(super) fn kind(text: &str) -> Kind {
    let keys = keys(text);
    let is_list = text.starts_with('[');
    let at = |depth: usize| keys.iter().filter(move |key| key.depth == depth);
    let has = |depth: usize, name: &str| at(depth).any(|key| key.name == name);
    if is_list {
        return if has(2, "ph") {
            Kind::Foreign(Foreign::ChromeTrace)
        } else {
            Kind::Set(Format::Objects)
        };
    }
    if let Some(own) = at(1).find(|key| key.name == "layland") {
        return if own.start.starts_with("\"run log") {
            Kind::Foreign(Foreign::RunLog)
        } else if own.value == '"' {
            Kind::Foreign(Foreign::Answer)
        } else {
            Kind::Set(Format::Lines)
        };
    }
    if has(1, "traceEvents") {
        return Kind::Foreign(Foreign::ChromeTrace);
    }
    if has(1, "linux-perf-json-version") {
        return Kind::Foreign(Foreign::PerfJson);
    }
    if has(1, "version") && has(1, "unit") && has(1, "cpus") {
        return Kind::Foreign(Foreign::LaylandTrace);
    }
    let list = at(1).find(|key| titles::LISTS.contains(&&*key.name.to_ascii_lowercase()));
    if let Some(list) = list {
        return match list.value {
            '[' => Kind::Set(Format::Objects),
            // rt-app has an object of threads. Objects with the parameters of a task have a WCET.
            '{' if list.name != "tasks" || has_wcet(at(3)) => Kind::Set(Format::Objects),
            _ => Kind::Set(Format::RtApp),
        };
    }
    let is_rt_app = |key: &Key| RT_APP.contains(&&*key.name);
    if keys.iter().filter(|key| key.depth <= 3).any(is_rt_app) {
        return Kind::Set(Format::RtApp);
    }
    // An object of tasks by name, or an object of columns.
    let is_column = |key: &&Key| key.value == '[' && titles::meaning(&key.name).is_some();
    if has_wcet(at(2)) || at(1).filter(is_column).count() > 1 {
        return Kind::Set(Format::Objects);
    }
    Kind::Foreign(Foreign::OtherJson)
}

/// Keys of rt-app that no list of tasks has.
const RT_APP: [&str; 9] =
    ["global", "resources", "phases", "timer", "loop", "run", "sleep", "dl-runtime", "instance"];

/// Returns true if one of the keys is the WCET of a task, and not an event of rt-app.
fn has_wcet<'k>(mut keys: impl Iterator<Item = &'k Key>) -> bool {
    keys.any(|key| {
        let is_event = matches!(&*key.name, "exec" | "runtime" | "run" | "delay");
        !is_event
            && matches!(titles::meaning(&key.name), Some(Meaning::Key(key)) if key.name == "wcet")
    })
}

/// Returns the keys at the start of a text, as far as they are visible without parsing it.
fn keys(text: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut depth = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut after = &rest[c.len_utf8()..];
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = usize::saturating_sub(depth, 1),
            '#' => after = after.split_once('\n').map_or("", |(_, after)| after),
            '/' if after.starts_with('/') => {
                after = after.split_once('\n').map_or("", |(_, after)| after)
            }
            '/' if after.starts_with('*') => {
                after = after.split_once("*/").map_or("", |(_, after)| after)
            }
            '"' => {
                let end = end_of_string(after);
                let name = &after[..end];
                after = after.get(end + 1..).unwrap_or("");
                if let Some(value) = after.trim_start().strip_prefix(':') {
                    let value = value.trim_start();
                    let first = value.chars().next().unwrap_or('\0');
                    let start = value.chars().take(10).collect();
                    keys.push(Key { depth, name: name.to_owned(), value: first, start });
                }
            }
            _ => {}
        }
        if keys.len() == KEYS {
            break;
        }
        rest = after;
    }
    keys
}

/// Returns the position of the quote that closes a string.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().find(|&(_, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at)
}
