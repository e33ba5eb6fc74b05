//! Writes values in the syntax of a task-set file.

use crate::keys::Of;
use layland_model::{Behaviour, ExecutionModel, Index, Preemption, Separation};
use std::fmt::{Display, Write};

/// Quotes a value that needs no escapes: a time, a rate, a set.
pub(super) fn text(value: impl Display) -> String {
    format!("\"{value}\"")
}

/// Formats a list.
pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Formats an inline table.
pub(super) fn inline(entries: impl Iterator<Item = String>) -> String {
    format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
}

/// Formats a key, without quotes if TOML allows that.
pub(super) fn bare_or_quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { quoted(key) }
}

/// Formats a basic TOML string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text, &mut out);
    out
}

/// Appends a string in quotes that is valid in TOML and JSON.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    let is_plain = |byte: &u8| matches!(byte, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~');
    if text.as_bytes().iter().all(is_plain) {
        *out += text;
        out.push('"');
        return;
    }
    for c in text.chars() {
        match c {
            '"' => *out += "\\\"",
            '\\' => *out += "\\\\",
            '\n' => *out += "\\n",
            '\r' => *out += "\\r",
            '\t' => *out += "\\t",
            c if c.is_control() => {
                // Writing to a string never fails.
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

// ---------------------------------------------------------------------------------------------
// Keys of tasks with a syntax of their own
// ---------------------------------------------------------------------------------------------

/// Returns nothing, for keys that are read and never written.
pub(crate) fn none(_: Of<'_>) -> Option<String> {
    None
}

pub(crate) fn name(of: Of<'_>) -> Option<String> {
    Some(quoted(&of.task.name))
}

/// Returns the name of a criticality level.
fn level(of: Of<'_>, index: usize) -> String {
    match of.system.levels.names().get(index) {
        Some(name) => name.clone(),
        None => index.to_string(),
    }
}

pub(crate) fn wcet(of: Of<'_>) -> Option<String> {
    let wcet = &of.task.wcet;
    if wcet.windows(2).all(|pair| pair[0] == pair[1]) {
        return Some(text(of.task.own_wcet()));
    }
    let own = of.task.criticality.level();
    let by_level = wcet.iter().enumerate().filter(|&(at, c)| at <= own || *c != wcet[own]);
    Some(inline(
        by_level.map(|(at, c)| format!("{} = {}", bare_or_quoted(&level(of, at)), text(c))),
    ))
}

pub(crate) fn criticality(of: Of<'_>) -> Option<String> {
    let own = of.task.criticality.level();
    (own != 0).then(|| quoted(&level(of, own)))
}

pub(crate) fn affinity(of: Of<'_>) -> Option<String> {
    of.task.affinity.as_ref().map(text)
}

/// A task names its cluster if there are several.
pub(crate) fn cluster(of: Of<'_>) -> Option<String> {
    (of.system.platform.clusters.len() > 1).then(|| of.task.cluster.to_string())
}

pub(crate) fn nonpreemptive(of: Of<'_>) -> Option<String> {
    match &of.task.preemption {
        Preemption::Anywhere | Preemption::Between(_) => None,
        Preemption::Never => Some("true".to_owned()),
        Preemption::Delayed(region) => Some(text(region)),
    }
}

pub(crate) fn segments(of: Of<'_>) -> Option<String> {
    match &of.task.preemption {
        Preemption::Anywhere | Preemption::Never | Preemption::Delayed(_) => None,
        Preemption::Between(segments) => Some(list(segments.iter().map(text))),
    }
}

pub(crate) fn steps(of: Of<'_>) -> Option<String> {
    let step = |&step| quoted(&crate::steps::text(step, &of.system.resources));
    of.task.steps.as_ref().map(|steps| list(steps.iter().map(step)))
}

pub(crate) fn follows(of: Of<'_>) -> Option<String> {
    let names = of.task.follows.iter().filter_map(|&id| of.system.tasks.get(id));
    (!of.task.follows.is_empty()).then(|| list(names.map(|task| quoted(&task.name))))
}

pub(crate) fn group(of: Of<'_>) -> Option<String> {
    let group = of.system.groups.get(of.task.group?.index())?;
    Some(quoted(&group.name))
}

pub(crate) fn mk(of: Of<'_>) -> Option<String> {
    let texts: Vec<String> = of.task.constraints().map(text).collect();
    match texts.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(list(texts.into_iter())),
    }
}

pub(crate) fn miss(of: Of<'_>) -> Option<String> {
    of.task.miss_probability().map(text)
}

pub(crate) fn ucb(of: Of<'_>) -> Option<String> {
    of.task.cache.as_ref().map(|cache| quoted(&cache.ucb.to_string()))
}

pub(crate) fn ecb(of: Of<'_>) -> Option<String> {
    of.task.cache.as_ref().map(|cache| quoted(&cache.ecb.to_string()))
}

pub(crate) fn release(of: Of<'_>) -> Option<String> {
    let kind = |name: &str, rest: String| Some(format!("{{ kind = \"{name}\", {rest} }}"));
    match &of.task.behaviour {
        Behaviour::Periodic => None,
        Behaviour::Hog => Some("\"hog\"".to_owned()),
        Behaviour::Yield => Some("\"yield\"".to_owned()),
        Behaviour::Sporadic(separation) => {
            kind("sporadic", format!("extra = {}", extra(separation)))
        }
        Behaviour::Curve(arrivals) => {
            let distances = list(arrivals.curve.delta_min().iter().map(text));
            let drawn = arrivals.extra.as_ref().map(|own| format!(", extra = {}", extra(own)));
            kind("curve", format!("delta_min = {distances}{}", drawn.unwrap_or_default()))
        }
        Behaviour::Explicit(times) => {
            kind("explicit", format!("at = {}", list(times.iter().map(text))))
        }
        Behaviour::SelfSuspending { gap } => {
            kind("self-suspending", format!("gap = {}", text(gap)))
        }
    }
}

/// Formats the time that is added to the distances of jobs.
fn extra(separation: &Separation) -> String {
    match separation {
        Separation::Uniform { max } => text(max),
        Separation::Exponential { mean, max } => {
            format!("{{ dist = \"exponential\", mean = {}, max = {} }}", text(mean), text(max))
        }
    }
}

pub(crate) fn exec(of: Of<'_>) -> Option<String> {
    let model = |name: &str, rest: String| Some(format!("{{ model = \"{name}\", {rest} }}"));
    match &of.task.execution {
        ExecutionModel::Wcet => None,
        ExecutionModel::Level(other) => {
            model("level", format!("level = {}", quoted(&level(of, other.level()))))
        }
        ExecutionModel::Fraction(part) => model("fraction", format!("of = {}", text(part))),
        ExecutionModel::Uniform { min, max } => {
            model("uniform", format!("min = {}, max = {}", text(min), text(max)))
        }
        ExecutionModel::Discrete(values) => {
            let times = list(values.iter().map(|(c, _)| text(c)));
            let weights = list(values.iter().map(|(_, weight)| weight.to_string()));
            model("discrete", format!("values = {times}, weights = {weights}"))
        }
        ExecutionModel::List(values) => {
            let runs = values.chunk_by(|a, b| a == b).flat_map(|run| match run {
                [value, _, _, _, ..] => vec![text(format!("{value} x {}", run.len()))],
                few => few.iter().map(text).collect(),
            });
            model("list", format!("values = {}", list(runs)))
        }
    }
}
