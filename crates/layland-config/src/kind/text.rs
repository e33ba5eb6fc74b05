//! Recognizes texts: by what only one format has, then by the ending, then by what several could
//! have.

use super::{Foreign, Kind, json};
use crate::csv::{self, Layout, titles, words};
use crate::read::Format;
use crate::{lettered, plain, poet, sag, xml};

/// The number of lines that are looked at where one line does not decide.
const LINES: usize = 200;

/// Returns the kind of a text with this ending; `is_named` if the user names the columns of a
/// table.
pub(super) fn kind(text: &str, ending: Option<&str>, is_named: bool) -> Kind {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.is_empty() {
        return Kind::Set(by_ending(ending).unwrap_or(Format::Toml));
    }
    if let Some(kind) = strong(text) {
        return kind;
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines().find(|line| !line.starts_with(['#', '%'])) else {
        return Kind::Set(by_ending(ending).unwrap_or(Format::Toml));
    };
    if sag::is_header(first) {
        return Kind::Set(Format::Sag);
    }
    if sag::is_other_header(first) {
        return Kind::Foreign(Foreign::SagOther);
    }
    if is_named {
        let layout = csv::layout_of_rows(text);
        return Kind::Set(if matches!(layout, Layout::Separated(_)) {
            Format::Csv
        } else {
            Format::Table
        });
    }
    match csv::layout(text) {
        Some(Layout::Separated(_)) => return Kind::Set(Format::Csv),
        Some(Layout::Blanks | Layout::Pipes | Layout::Latex) => return Kind::Set(Format::Table),
        None => {}
    }
    if let Some(foreign) = source(text, first) {
        return Kind::Foreign(foreign);
    }
    // A file that says that it is one of ours has its errors explained by our reader.
    if matches!(ending, Some("toml" | "csv" | "tsv" | "jsonl" | "ndjson"))
        && let Some(format) = by_ending(ending)
    {
        return Kind::Set(format);
    }
    if first.starts_with("- {") || first.starts_with("- [") {
        // Its commas are within the items.
        return Kind::Set(Format::Yaml);
    }
    if plain::is_task(first) || words::is_task(first) || lettered::are_lines(text) {
        return Kind::Set(Format::Plain);
    }
    if let Some(layout) = csv::without_titles(first) {
        let is_separated = matches!(layout, Layout::Separated(_));
        return Kind::Set(if is_separated { Format::Csv } else { Format::Table });
    }
    let is_yaml = lines().filter(|line| !line.starts_with('#')).take(5).all(is_yaml);
    if is_yaml || matches!(ending, Some("yaml" | "yml")) {
        let begins = |word: &str| text.lines().any(|line| line.trim_start().starts_with(word));
        if begins("cpu_islands:") || (begins("taskset:") && begins("- name:") && begins("iat:")) {
            return Kind::Foreign(Foreign::PartSim);
        }
        let has_task = text.lines().take(LINES).any(|line| {
            let key = line.trim_start_matches([' ', '-']).split(':').next().unwrap_or_default();
            line.contains(':')
                && matches!(titles::meaning(key), Some(meaning) if meaning.is_key("wcet"))
        });
        // Flow lists (`{C: 1, T: 5}`) have their keys within the line.
        let has_flow =
            text.lines().take(LINES).any(|line| line.contains('{') || line.contains("- ["));
        return if has_task || has_flow {
            Kind::Set(Format::Yaml)
        } else {
            Kind::Foreign(Foreign::OtherYaml)
        };
    }
    if is_toml(first) {
        return Kind::Set(Format::Toml);
    }
    match csv::within(text) {
        Some((Layout::Separated(_), _)) => Kind::Set(Format::Csv),
        Some(_) => Kind::Set(Format::Table),
        None => Kind::Foreign(Foreign::Text),
    }
}

/// Returns the first of two lines with as many words and with numbers in the same places: the rows
/// of a table without titles, somewhere in a text.
pub(super) fn numbers(text: &str) -> Option<&str> {
    let is_number = |word: &str| {
        let word = word.trim_end_matches([',', ';', '.']);
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let shape = |line: &str| line.split_whitespace().map(is_number).collect::<Vec<bool>>();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut pairs = lines.windows(2).map(|pair| (pair[0], shape(pair[0]), shape(pair[1])));
    let found = pairs.find(|(_, first, second)| {
        first == second && first.iter().filter(|is_number| **is_number).count() > 1
    });
    found.map(|(line, ..)| line)
}

/// Returns the format of task sets that files with an ending usually have.
fn by_ending(ending: Option<&str>) -> Option<Format> {
    match ending? {
        "toml" => Some(Format::Toml),
        "json" => Some(Format::RtApp),
        "csv" | "tsv" => Some(Format::Csv),
        "jsonl" | "ndjson" => Some(Format::Lines),
        "yaml" | "yml" => Some(Format::Yaml),
        "xml" => Some(Format::Simso),
        "md" | "tex" => Some(Format::Table),
        "dot" | "gv" => Some(Format::Dot),
        _ => None,
    }
}

/// Returns the kind of a text that has what only one kind has.
fn strong(text: &str) -> Option<Kind> {
    if text.starts_with("#!") {
        return Some(Kind::Foreign(Foreign::Script));
    }
    // Their lines may begin like XML (`<idle>-0`) or JSON (`[10:00:00]`).
    if let Some(foreign) = trace(text) {
        return Some(Kind::Foreign(foreign));
    }
    let inner = without_comments(text);
    if inner.starts_with('{') || (inner.starts_with('[') && !is_section(inner.lines().next()?)) {
        return Some(json::kind(inner));
    }
    if text.starts_with('<')
        && text[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "?!".contains(c))
    {
        return Some(of_xml(text));
    }
    let lines = || text.lines().take(LINES).map(str::trim);
    let has = |word: &str| lines().any(|line| line.starts_with(word));
    let is_key = |line: &str, key: &str| {
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    if lines().any(|line| is_key(line, "lab")) {
        return Some(Kind::Foreign(Foreign::Experiment));
    }
    if has("[[callback]]") || has("[executor]") {
        return Some(Kind::Foreign(Foreign::Callbacks));
    }
    if lines().any(|line| is_key(line, "layland")) || has("[[task]]") || has("[platform]") {
        return Some(Kind::Set(Format::Toml));
    }
    if lines().any(poet::is_first_key) {
        return Some(Kind::Set(Format::Poet));
    }
    let first = inner.lines().next().unwrap_or_default();
    let graph = first.strip_prefix("strict ").unwrap_or(first);
    let is_dot = ["digraph", "graph"].iter().any(|word| {
        let rest = graph.strip_prefix(word);
        rest.is_some_and(|rest| rest.starts_with([' ', '{']) && inner.contains('{'))
    });
    is_dot.then_some(Kind::Set(Format::Dot))
}

/// Returns the text after comments in the style of C, which rt-app takes in JSON.
fn without_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let rest = if text.starts_with("//") {
            text.split_once('\n').map(|(_, rest)| rest)
        } else if text.starts_with("/*") {
            text.split_once("*/").map(|(_, rest)| rest)
        } else {
            None
        };
        match rest {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

/// Returns true for the title of a section of TOML: `[platform]`, `[[task]]`.
fn is_section(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default().trim();
    let name = line.trim_start_matches('[').trim_end_matches(']').trim();
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    line.ends_with(']')
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_bare)
}

fn is_toml(line: &str) -> bool {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-.\"' ".contains(c);
    let is_key = |key: &str| !key.trim().is_empty() && key.chars().all(is_bare);
    is_section(line) || line.split_once('=').is_some_and(|(key, _)| is_key(key))
}

/// Returns true for a line of YAML: `key: value`, `key:`, `- item`, `---`.
fn is_yaml(line: &str) -> bool {
    let item = line.strip_prefix("- ").unwrap_or(line).trim();
    let key = item.split_once(':').filter(|(key, rest)| {
        let is_name = |c: char| c.is_alphanumeric() || "_-.\"' ".contains(c);
        !key.is_empty()
            && key.len() < 60
            && key.chars().all(is_name)
            && (rest.is_empty() || rest.starts_with(' '))
    });
    line == "---" || line == "-" || line.starts_with("- ") || key.is_some()
}

fn of_xml(text: &str) -> Kind {
    let root = xml::root(text).unwrap_or_default();
    let lower = root.to_ascii_lowercase();
    let has = |word: &str| text.contains(word);
    Kind::Foreign(match &*lower {
        "simulation" if has("<software") || has("<hardware") || has("<pe ") => {
            return Kind::Set(Format::Schedsim);
        }
        "simulation" => return Kind::Set(Format::Simso),
        "task" | "taskset" | "testpoint" => return Kind::Set(Format::Schedcat),
        "cheddar" => Foreign::Cheddar,
        "graphml" => Foreign::GraphMl,
        "svg" => Foreign::Image,
        "html" => Foreign::Html,
        "" if text.get(..14).is_some_and(|start| start.eq_ignore_ascii_case("<!doctype html")) => {
            Foreign::Html
        }
        _ if lower.contains("amalthea") || has("app4mc.org/amalthea") || has("app4mc/model") => {
            Foreign::Amalthea
        }
        _ if lower.contains("mast_model") => Foreign::Mast,
        _ => Foreign::OtherXml,
    })
}

/// The words that a model of MAST may begin with.
const MAST: [&str; 8] = [
    "model",
    "processing_resource",
    "scheduler",
    "scheduling_server",
    "shared_resource",
    "operation",
    "transaction",
    "timer",
];

/// Returns the kind of a text that other programs have recorded.
fn trace(text: &str) -> Option<Foreign> {
    let lines = || text.lines().take(LINES);
    let has = |word: &str| lines().any(|line| line.contains(word));
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with('#') && ["idx", "perf", "slack"].iter().all(|word| first.contains(word)) {
        return Some(Foreign::RtAppLog);
    }
    // babeltrace writes the context of an event before its fields.
    if has(": { cpu_id = ") {
        return Some(Foreign::LttngTrace);
    }
    // A time in seconds has a point. Clocks that count write whole numbers.
    let is_counted = |line: &str| {
        let time =
            line.split_once(": sched_").and_then(|(before, _)| before.split_whitespace().last());
        time.is_some_and(|time| time.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if lines().any(is_counted) {
        return Some(Foreign::CountedTrace);
    }
    let words = ["sched_switch:", "sched_waking:", "sched_wakeup:", "tracing_mark_write:"];
    if first.starts_with("# tracer:") || words.iter().any(|word| has(word)) {
        return Some(Foreign::KernelTrace);
    }
    let begins = |word: &str| lines().any(|line| line.trim_start().starts_with(word));
    if begins("@TASK_GRAPH") || begins("@HYPERPERIOD") {
        return Some(Foreign::Tgff);
    }
    // Both are read in any case.
    let lower =
        text.trim_start().get(..40.min(text.len())).unwrap_or_default().to_ascii_lowercase();
    let is_mast = MAST.iter().any(|word| {
        let rest = lower.strip_prefix(word);
        rest.is_some_and(|rest| rest.trim_start().starts_with('('))
    });
    (is_mast && (has("Model_Name") || has("=>"))).then_some(Foreign::Mast)
}

/// Returns the language of source code.
fn source(text: &str, first: &str) -> Option<Foreign> {
    let begins = |words: &[&str]| {
        text.lines()
            .take(LINES)
            .map(str::trim)
            .any(|line| words.iter().any(|word| line.starts_with(word)))
    };
    if begins(&["#include <", "#include \"", "int main(", "void main(", "#ifndef ", "#pragma once"])
    {
        return Some(Foreign::CSource);
    }
    if begins(&["fn main(", "use std::", "pub fn ", "impl "]) {
        return Some(Foreign::RustSource);
    }
    let is_python =
        first.starts_with("import ") || (first.starts_with("from ") && first.contains(" import "));
    if is_python || begins(&["def ", "if __name__"]) {
        return Some(Foreign::PythonSource);
    }
    let is_package = first.starts_with("package ") && !first.ends_with(';');
    (is_package && begins(&["public", "thread ", "system ", "end "])).then_some(Foreign::Aadl)
}
