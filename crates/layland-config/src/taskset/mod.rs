//! The task-set file, format 1: TOML.
//!
//! [`read`] is strict: an unknown key, a bare number instead of a time, a missing `period` or
//! `wcet` is an error. An omitted key has only one meaning, which the schema states.
//!
//! The values of a text with TOML faults are still
//! checked, as far as the faults leave them readable.
//!
//! Long because the parts that belong to no single table are read here.

mod behaviour;
mod cache;
mod chains;
mod follows;
mod groups;
mod platform;
mod request;
mod short;
mod steps;
mod task;
pub(crate) mod text;
mod value;
mod write;

pub(crate) use text::quote;
pub use write::{Comments, TaskComments, to_toml, to_toml_with};

use crate::document::{BRACKETS, KeyValue, Reader, parse_with_faults, syntax, value_of};
use crate::host::Host;
use crate::keys::{Base, TIE, bases_of, keys_of};
use crate::levels;
use crate::problem::{Problem, Problems, Span};
use crate::steps::Resources;
use layland_model::{
    Field, InLevel, Index, Invalid, Levels, Observed, Platform, Provenance, System, SystemPart,
};
use platform::PlatformSpans;
use std::collections::BTreeMap;
use task::TaskTable;
use toml::de::{DeTable, DeValue};

/// The version of the format that this reader supports.
pub(crate) const VERSION: i64 = 1;

pub(crate) const TOP: &[&str] = &[
    "layland",
    "platform",
    "criticality",
    "defaults",
    "resource",
    "group",
    "task",
    "chain",
    "request",
    "provenance",
];
pub(crate) const CRITICALITY: &[&str] = &["levels"];
pub(crate) const PROVENANCE: &[&str] = &["generator", "seed", "parameters", "seen", "unexplained"];
#[cfg(test)]
pub(crate) use {
    chains::CHAIN,
    groups::GROUP,
    platform::{OVERHEAD, PLATFORM},
    request::REQUEST,
};

/// The maximum number of tokens: the parser needs some 50 bytes for each.
const MAX_TOKENS: usize = 10_000_000;

/// Reads a task-set file. Returns the system and the
/// span of each task, or `None` after reporting errors.
pub(crate) fn read(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    if text.len() > short::LONG
        && let Some(found) = short::read(text, |rest, problems| read_document(rest, host, problems))
    {
        return Some(found);
    }
    read_document(text, host, problems)
}

/// Reads any file in the same way.
fn read_document(text: &str, host: &Host, problems: &mut Problems) -> Option<(System, Vec<Span>)> {
    if tokens(text) > MAX_TOKENS {
        let message =
            format!("the text has more than {} million words and signs", MAX_TOKENS / 1_000_000);
        let help = "split the set, or write equal tasks as one [[task]] with `count`";
        problems.push(Problem::error("layland::text::too_long", message).help(help));
        return None;
    }
    let (document, faults) = parse_with_faults(text);
    let broken_from = faults.iter().filter_map(|fault| fault.span()).map(|span| span.start).min();
    // For two tables [task] the library continues with one, in which all later keys are duplicates.
    let found: Vec<Problem> = faults.iter().map(|fault| syntax(fault, text)).collect();
    match found.iter().position(|problem| problem.code == BRACKETS) {
        Some(at) => found.into_iter().take(at + 1).for_each(|problem| problems.push(problem)),
        None => found.into_iter().for_each(|problem| problems.push(problem)),
    }
    let table = document.get_ref();
    let mut found = Problems::default();
    let system = read_table(table, host, &mut found);
    match (faults.is_empty(), broken_from) {
        (true, _) => {}
        // Problems after a fault may be its consequences, and so may missing keys.
        (false, Some(from)) => found.retain(|problem| {
            problem.code != "layland::taskset::missing"
                && problem.code != "layland::taskset::invalid"
                && problem.span.as_ref().is_some_and(|span| span.end <= from)
        }),
        (false, None) => found = Problems::default(),
    }
    let failed = found.has_errors() || !faults.is_empty();
    problems.absorb(found);
    system.filter(|_| !failed)
}

/// Reads the table that a file or a line was parsed into.
pub(crate) fn read_table(
    table: &DeTable<'_>,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    Decoder::new(problems, host).document(table)
}

/// Returns the approximate number of tokens in the text; it is rarely too low.
fn tokens(text: &str) -> usize {
    let is_quote = |byte: u8| byte == b'"' || byte == b'\'';
    // Consecutive blanks are one token, as is a word with
    // its quotes; all other characters are one each.
    let class = |byte: u8| match byte {
        b' ' | b'\t' => 0,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'"' | b'\'' | 0x80.. => 1,
        _ => 2,
    };
    let (mut count, mut before) = (0, b'\n');
    for byte in text.bytes() {
        let starts = class(byte) == 2 || class(byte) != class(before);
        count += usize::from(starts || (is_quote(byte) && is_quote(before)));
        before = byte;
    }
    count
}

/// The state of reading one document.
struct Decoder<'p, 'h> {
    reader: Reader<'p>,
    host: &'h Host,
}

/// The parts that could not be read, so that no conclusion is drawn from their stand-ins.
#[derive(Default)]
struct Broken {
    platform: bool,
    levels: bool,
    /// For each table of a task, the fields, as bits of [`bit`].
    fields: Vec<u32>,
}

/// Returns the bit of a field.
fn bit(field: Field) -> u32 {
    1 << field as u32
}

impl<'p, 'h> Decoder<'p, 'h> {
    fn new(problems: &'p mut Problems, host: &'h Host) -> Self {
        Decoder { reader: Reader::new(problems, &value::CODES), host }
    }

    fn document<'t>(&mut self, top: &'t DeTable<'t>) -> Option<(System, Vec<Span>)> {
        if !self.version(top) {
            return None;
        }
        self.reader.only(top, TOP, "a task-set file");
        let mut broken = Broken::default();
        let (platform, platform_spans) = self.platform(top, &mut broken);
        let levels = self.levels(top, &mut broken);
        let resources = self.resources(top, &platform, &broken);
        let groups = self.groups(top, &platform, &broken);
        let tables = self.task_tables(top);
        let defaults = self.defaults(top, &platform, &levels);
        let (mut tasks, origin) =
            self.tasks(&tables, defaults, (&platform, &levels, &resources), &mut broken);
        self.follow(&tables, &mut tasks, &origin);
        self.join(&tables, defaults, (&mut tasks, &origin), &groups);
        self.has_reload_time(top, &tables);
        let (chains, chain_spans) = self.chains(top, &tasks);
        let (requests, request_spans, all_requests) = self.requests(top, &platform, &tasks);
        let provenance = value_of(top, "provenance");
        let (provenance, observed) = provenance
            .map_or((None, None), |entry| self.provenance(&entry).unwrap_or((None, None)));
        let Resources { listed, spans: resource_spans, .. } = resources;
        let mut system = System {
            platform,
            levels,
            tasks: tasks.into(),
            in_level: None,
            resources: listed,
            groups: groups.listed,
            chains,
            requests,
            provenance,
            observed,
        };
        system.in_level = match defaults.and_then(|table| value_of(table, TIE)) {
            Some(entry) => self.tie(&entry).filter(|_| levels::are_shared(&system)),
            None => levels::by_default(&system, |id| {
                let (table, _) = origin[id.index()];
                value_of(tables[table as usize].table, "rank").is_some()
            }),
        };
        for invalid in system.validate() {
            let spans_of = SystemSpans {
                tables: &tables,
                defaults,
                origin: &origin,
                platform: &platform_spans,
                resources: &resource_spans,
                groups: &groups.spans,
                chains: &chain_spans,
                requests: &request_spans,
                requests_complete: all_requests,
                broken: &broken,
            };
            if let Some(problem) = spans_of.problem(&system, invalid) {
                self.reader.problems.push(problem);
            }
        }
        let spans = origin.iter().map(|&(table, _)| tables[table as usize].span.clone());
        (!self.reader.problems.has_errors()).then(|| (system, spans.collect()))
    }

    /// Returns true if the version is the one that this reader supports.
    fn version(&mut self, top: &DeTable<'_>) -> bool {
        let Some(entry) = value_of(top, "layland") else {
            let problem =
                Problem::error("layland::taskset::missing", "the file has no `layland` key");
            let help = "start it with `layland = 1`, the version of the format";
            self.reader.problems.push(problem.at(0..0, "here").help(help));
            return true;
        };
        match entry.value {
            DeValue::Integer(number) if number.as_str().parse() == Ok(VERSION) => true,
            DeValue::Integer(number) => {
                let message = format!("format version {number} is not understood");
                let help = "this program understands version 1";
                self.reader.error(
                    "layland::taskset::version",
                    entry.span,
                    message,
                    "unknown version",
                    help,
                );
                false
            }
            DeValue::String(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => {
                self.reader.wrong_type(&entry, "a whole number", "write layland = 1");
                true
            }
        }
    }

    /// Reads the rule that orders jobs of equal priority; `None` for ranks.
    fn tie(&mut self, entry: &KeyValue<'_>) -> Option<InLevel> {
        let word = self.reader.text(entry, "fifo")?;
        match levels::WORDS.iter().find(|(known, _)| *known == word) {
            Some(&(_, in_level)) => in_level,
            None => {
                let message = format!("`{word}` is not a rule between jobs of one priority");
                let help = "use \"rank\", \"fifo\" or \"any\"";
                let code = "layland::taskset::tie";
                self.reader.error(code, entry.span.clone(), message, "unknown", help);
                None
            }
        }
    }

    fn levels(&mut self, top: &DeTable<'_>, broken: &mut Broken) -> Levels {
        let Some(section) = value_of(top, "criticality") else { return Levels::default() };
        let names = self.level_names(&section);
        broken.levels = names.is_none();
        Levels::new(names.unwrap_or_default())
    }

    fn level_names(&mut self, section: &KeyValue<'_>) -> Option<Vec<String>> {
        const EXAMPLE: &str = "[\"LO\", \"HI\"]";
        let reader = &mut self.reader;
        let table = reader.table(section, "[criticality]")?;
        reader.only(table, CRITICALITY, "[criticality]");
        let Some(list) = value_of(table, "levels") else {
            let help = format!("name the levels from low to high: levels = {EXAMPLE}");
            reader.missing(section.key_span.clone(), "[criticality]", "levels", help);
            return None;
        };
        let mut names: Vec<String> = Vec::new();
        let code = "layland::taskset::levels";
        for element in reader.list(&list, EXAMPLE)? {
            let name = reader.text(&element, "LO")?;
            if name.is_empty() {
                reader.error(code, element.span, "a level has no name", "empty", "name it");
                return None;
            }
            if names.iter().any(|other| other == name) {
                let message = format!("the level `{name}` appears twice");
                reader.error(code, element.span, message, "again", "remove one of the two");
                return None;
            }
            if names.len() > usize::from(u8::MAX) {
                let message = "there are more than 256 levels";
                reader.error(code, list.span, message, "too many", "use at most 256");
                return None;
            }
            names.push(name.to_owned());
        }
        if names.is_empty() {
            let help = format!("name them from low to high: levels = {EXAMPLE}");
            reader.error(code, list.span, "there is no level", "empty", help);
            return None;
        }
        Some(names)
    }

    /// Reads the provenance of a set: a generator, or a trace.
    fn provenance(
        &mut self,
        section: &KeyValue<'_>,
    ) -> Option<(Option<Provenance>, Option<Observed>)> {
        let reader = &mut self.reader;
        let table = reader.table(section, "[provenance]")?;
        reader.only(table, PROVENANCE, "[provenance]");
        let observed = observed(reader, table);
        if observed.is_some()
            && ["generator", "seed", "parameters"].iter().all(|key| value_of(table, key).is_none())
        {
            return Some((None, observed));
        }
        let generator = match value_of(table, "generator") {
            Some(entry) => reader.text(&entry, "layland gen 0.1.0 uunifast").map(str::to_owned),
            None => {
                let help = "name the program: generator = \"layland gen\"";
                reader.missing(section.key_span.clone(), "[provenance]", "generator", help);
                None
            }
        };
        let seed = match value_of(table, "seed") {
            // TOML guarantees only 63 bits, so larger seeds are written as strings.
            Some(KeyValue { value: DeValue::String(text), span, .. }) => {
                let seed = text.parse::<u64>().ok();
                if seed.is_none() {
                    let help = "write a whole number below 2^64: seed = 7";
                    let code = "layland::taskset::out_of_range";
                    reader.error(code, span, format!("`{text}` is not a seed"), "not a seed", help);
                }
                seed
            }
            Some(entry) => reader.integer(&entry, 0..=i128::from(u64::MAX)),
            None => {
                let help = "give the seed that makes it again: seed = 7";
                reader.missing(section.key_span.clone(), "[provenance]", "seed", help);
                None
            }
        };
        let mut parameters = BTreeMap::new();
        if let Some(entry) = value_of(table, "parameters") {
            for (key, value) in reader.table(&entry, "[provenance.parameters]")?.iter() {
                let entry = KeyValue::new(key, value);
                if let Some(text) = reader.text(&entry, "0.75") {
                    parameters.insert(entry.key.into(), text.into());
                }
            }
        }
        Some((Some(Provenance { generator: generator?, seed: seed?, parameters }), observed))
    }
}

/// Reads the facts about the trace from which a set was inferred, if there are any.
fn observed(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Observed> {
    let (seen, unexplained) = (value_of(table, "seen"), value_of(table, "unexplained"));
    if seen.is_none() && unexplained.is_none() {
        return None;
    }
    let length = seen.and_then(|entry| reader.time(&entry));
    let listed = unexplained.and_then(|entry| reader.list(&entry, "[\"a job took 8 ms\"]"));
    let texts = listed.into_iter().flatten();
    let unexplained =
        texts.filter_map(|entry| reader.text(&entry, "a job took 8 ms").map(str::to_owned));
    Some(Observed { length, unexplained: unexplained.collect() })
}

/// The spans of the parts of a system in the text.
struct SystemSpans<'a, 't> {
    tables: &'a [TaskTable<'t>],
    defaults: Option<&'t DeTable<'t>>,
    /// For each task the index of its table, and true if it is a further copy.
    origin: &'a [(u32, bool)],
    platform: &'a PlatformSpans,
    resources: &'a [Span],
    groups: &'a [Span],
    chains: &'a [Span],
    requests: &'a [Span],
    requests_complete: bool,
    broken: &'a Broken,
}

impl SystemSpans<'_, '_> {
    /// Converts an invalid part to a problem, unless it is the consequence of another one.
    fn problem(&self, system: &System, invalid: Invalid) -> Option<Problem> {
        let Invalid { part, message, help } = invalid;
        let problem = Problem::error("layland::taskset::invalid", message).help(help);
        let platform = &self.platform;
        let place = match part {
            SystemPart::Set if self.tables.is_empty() => return Some(problem),
            SystemPart::Set
                if self.broken.platform || self.broken.fields.iter().any(|&f| f != 0) =>
            {
                return None;
            }
            SystemPart::Set => platform.speed.clone(),
            SystemPart::Cpus
            | SystemPart::Cluster(_)
            | SystemPart::Overheads
            | SystemPart::Speed(_)
                if self.broken.platform =>
            {
                return None;
            }
            SystemPart::Cpus => platform.cpus.clone(),
            SystemPart::Speed(_) => platform.speed.clone(),
            SystemPart::Cluster(index) => platform.cluster(index),
            SystemPart::Overheads => platform.overhead.clone(),
            SystemPart::Request(_) if !self.requests_complete || self.broken.platform => {
                return None;
            }
            SystemPart::Request(index) => self.requests.get(index).cloned(),
            SystemPart::Resource(index) => self.resources.get(index).cloned(),
            SystemPart::Group(_) if self.broken.platform => return None,
            SystemPart::Group(index) => self.groups.get(index).cloned(),
            SystemPart::Chain(index) => self.chains.get(index).cloned(),
            SystemPart::Step(task, index) => {
                let (table, copy) = self.origin[task.index()];
                if copy {
                    return None;
                }
                Some(self.step(table as usize, index))
            }
            SystemPart::Task(task, field) => {
                let (table, copy) = self.origin[task.index()];
                let table = table as usize;
                if self.follows(table, field) || (copy && field != Field::Name) {
                    return None;
                }
                let here = self.field(table, field);
                if field == Field::Name {
                    let name = &system.tasks[task].name;
                    let first = system.tasks.iter().find(|(_, other)| other.name == *name);
                    let first = first.map(|(id, _)| self.origin[id.index()].0 as usize);
                    if let Some(first) = first.filter(|&first| first != table) {
                        let there = self.field(first, Field::Name);
                        return Some(problem.at(here, "again").and_at(there, "first here"));
                    }
                }
                Some(here)
            }
        };
        Some(match place {
            Some(span) => problem.at(span, "here"),
            None => problem,
        })
    }

    /// Returns true if a fault in a field may be the
    /// consequence of another field that could not be read.
    fn follows(&self, table: usize, field: Field) -> bool {
        let broken = self.broken.fields[table];
        let is_broken = |base: Base| match base {
            Base::Platform => self.broken.platform,
            Base::Levels => self.broken.levels,
            Base::Field(field) => broken & bit(field) != 0,
        };
        is_broken(Base::Field(field)) || bases_of(field).any(is_broken)
    }

    /// Returns the span of an element of `steps`.
    fn step(&self, table: usize, index: usize) -> Span {
        let steps = value_of(self.tables[table].table, "steps");
        let element = steps.and_then(|entry| Some(entry.value.as_array()?.get(index)?.span()));
        element.unwrap_or_else(|| self.field(table, Field::Steps))
    }

    /// Returns the span of the value of a field, or else of the header of the table.
    fn field(&self, table: usize, field: Field) -> Span {
        let table = &self.tables[table];
        let found = keys_of(field).find_map(|key| {
            value_of(table.table, key)
                .or_else(|| self.defaults.and_then(|table| value_of(table, key)))
        });
        found.map_or(table.span.clone(), |entry| entry.span)
    }
}

/// Returns the stand-in for a platform that could not be read.
fn stand_in() -> Platform {
    Platform::identical(1)
}

#[cfg(test)]
mod tests;
