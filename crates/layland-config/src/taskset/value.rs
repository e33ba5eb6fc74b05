//! Times, rates and sets of CPUs in a task-set file.

use crate::cpus::Choice;
use crate::document::{Codes, KeyValue, Reader, Reserved};
use crate::problem::Problem;
use layland_model::{CpuId, CpuSet, Index, ParseTimeError, Rate};
use std::collections::BTreeMap;
use std::str::FromStr;
use toml::de::DeValue;

/// The problem codes of a task-set file.
pub(super) const CODES: Codes = Codes {
    missing: "layland::taskset::missing",
    unknown_key: "layland::taskset::unknown_key",
    wrong_type: "layland::taskset::wrong_type",
    out_of_range: "layland::taskset::out_of_range",
    invalid: "layland::taskset::invalid",
    unknown_name: "layland::taskset::unknown_name",
    reserved: RESERVED,
    other_names: OTHER_NAMES,
};

impl Reader<'_> {
    /// Reads a time: a string with a unit.
    pub(super) fn time<T: FromStr<Err = ParseTimeError>>(
        &mut self,
        entry: &KeyValue<'_>,
    ) -> Option<T> {
        let bare = |number: &str| ParseTimeError::MissingUnit { number: number.to_owned() };
        let parsed = match entry.value {
            DeValue::String(text) => text.parse(),
            DeValue::Integer(number) => Err(bare(number.as_str())),
            DeValue::Float(number) => Err(bare(number.as_str())),
            DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                self.wrong_type(entry, "a time", "write a number with a unit, as in \"5ms\"");
                return None;
            }
        };
        parsed.map_err(|fault| self.time_fault(&fault, entry)).ok()
    }

    /// Reports the fault of a time.
    pub(super) fn time_fault(&mut self, fault: &ParseTimeError, entry: &KeyValue<'_>) {
        self.problems.push(time_fault(fault, entry));
    }

    /// Reads an exact number: a string.
    pub(super) fn rate(&mut self, entry: &KeyValue<'_>) -> Option<Rate> {
        let number = match entry.value {
            DeValue::String(text) => {
                let parsed = text.parse();
                return parsed
                    .map_err(|_| {
                        let message = format!("`{text}` is not a number");
                        let help = "write a decimal (\"0.75\") or a fraction (\"3/4\")";
                        self.error(
                            "layland::taskset::not_a_number",
                            entry.span.clone(),
                            message,
                            "not a number",
                            help,
                        );
                    })
                    .ok();
            }
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                "0.95"
            }
        };
        let help = format!("write \"{number}\" in quotes, so that it stays exact");
        self.wrong_type(entry, "a string with a number", help);
        None
    }

    /// Reads CPUs: a string, or a list of CPUs and strings.
    pub(super) fn cpus(
        &mut self,
        entry: &KeyValue<'_>,
        topology: &BTreeMap<String, Vec<CpuSet>>,
    ) -> Option<Choice> {
        const HELP: &str = "write \"0-3\", [0, 2], [\"0-1\", 3], \"all\", \"!7\" or \"l3:0\"";
        let mut choice = Choice::default();
        let mut ok = true;
        let elements = match entry.value {
            DeValue::String(_) => vec![entry.clone()],
            DeValue::Array(list) => list.iter().map(|value| entry.element(value)).collect(),
            DeValue::Integer(number) => {
                let help = format!("write {} = [{number}]", entry.key);
                self.wrong_type(entry, "a set of CPUs", help);
                return None;
            }
            DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Table(_) => {
                self.wrong_type(entry, "a set of CPUs", HELP);
                return None;
            }
        };
        if elements.is_empty() {
            let message = format!("`{}` names no CPU", entry.key);
            self.error("layland::taskset::cpus", entry.span.clone(), message, "empty", HELP);
            return None;
        }
        for element in elements {
            match element.value {
                DeValue::String(text) => {
                    if let Err((message, help)) = choice.add(text, topology) {
                        let code = "layland::taskset::cpus";
                        self.error(code, element.span, message, "not a set of CPUs", help);
                        ok = false;
                    }
                }
                DeValue::Integer(_) => {
                    match self.integer::<u32>(&element, 0..=CpuSet::MAX_CPUS as i128 - 1) {
                        Some(cpu) => choice.add_cpu(CpuSet::single(CpuId(cpu))),
                        None => ok = false,
                    }
                }
                DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_)
                | DeValue::Table(_) => {
                    self.wrong_type(&element, "a list of CPUs", HELP);
                    ok = false;
                }
            }
        }
        ok.then_some(choice)
    }

    /// Reads CPUs that must exist, none of them relative to a cluster.
    pub(super) fn fixed_cpus(
        &mut self,
        entry: &KeyValue<'_>,
        topology: &BTreeMap<String, Vec<CpuSet>>,
        all: &CpuSet,
    ) -> Option<CpuSet> {
        let choice = self.cpus(entry, topology)?;
        let cpus = choice.of(all).unwrap_or_else(|| all.clone());
        self.exist(entry, &cpus.union(choice.excluded()), all).then_some(cpus)
    }

    /// Returns true if the CPUs exist, and reports an error otherwise.
    pub(super) fn exist(&mut self, entry: &KeyValue<'_>, cpus: &CpuSet, all: &CpuSet) -> bool {
        let outside = cpus.difference(all);
        if !outside.is_empty() {
            let message = format!("`{}` names CPU {outside}, which does not exist", entry.key);
            let help = format!("the CPUs are {all}");
            self.error("layland::taskset::cpus", entry.span.clone(), message, "no such CPU", help);
        }
        outside.is_empty()
    }
}

/// Converts the fault of a time to a problem at its position.
fn time_fault(fault: &ParseTimeError, entry: &KeyValue<'_>) -> Problem {
    let (code, label) = match fault {
        ParseTimeError::MissingUnit { .. } => ("layland::taskset::missing_unit", "a bare number"),
        ParseTimeError::UnknownUnit { .. } => ("layland::taskset::unknown_unit", "unknown unit"),
        ParseTimeError::NotANumber { .. } => ("layland::taskset::not_a_time", "not a time"),
        ParseTimeError::NotWhole { .. } => ("layland::taskset::not_whole", "not whole"),
        ParseTimeError::TooLarge { .. } => ("layland::taskset::too_large", "too long"),
    };
    let message = match fault {
        ParseTimeError::MissingUnit { .. } => format!("`{}`: {fault}", entry.key),
        ParseTimeError::UnknownUnit { .. }
        | ParseTimeError::NotANumber { .. }
        | ParseTimeError::NotWhole { .. }
        | ParseTimeError::TooLarge { .. } => fault.to_string(),
    };
    Problem::error(code, message).at(entry.span.clone(), label).help(fault.help())
}

/// Keys that are reserved for later versions of the format.
const RESERVED: &[Reserved] = &[
    reserved("command", "remove it: a task of a set is a synthetic load"),
    reserved("reserve", "remove it: the whole of every CPU is for the tasks"),
    reserved("policy", "remove it: name policies on the command line"),
    reserved("return", "remove it"),
];

/// Names that other formats, papers and the command line have for the keys of a task.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("cpus", "affinity"),
    ("cpu", "affinity"),
    ("core", "affinity"),
    ("cores", "affinity"),
    ("C", "wcet"),
    ("cost", "wcet"),
    ("execution_time", "wcet"),
    ("T", "period"),
    ("interval", "period"),
    ("min_separation", "period"),
    ("D", "deadline"),
    ("relative_deadline", "deadline"),
    ("runtime", "budget"),
    ("phase", "offset"),
    ("prio", "priority"),
    ("task", "name"),
    ("id", "name"),
];

const fn reserved(key: &'static str, help: &'static str) -> Reserved {
    Reserved { key, code: "layland::taskset::not_supported", help }
}

/// Iterates over the indices of the CPUs in a set, for tables with one entry per CPU.
pub(super) fn cpu_indices(set: &CpuSet) -> impl Iterator<Item = usize> + '_ {
    set.iter().map(Index::index)
}
