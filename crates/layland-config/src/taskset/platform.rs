//! The `[platform]` table.

use super::value::cpu_indices;
use super::{Broken, Decoder, stand_in};
use crate::cpus::topology_name_fault;
use crate::document::{KeyValue, Reader, value_of};
use crate::problem::{Problem, Span};
use layland_model::{CpuId, CpuMap, CpuSet, Index, Overheads, Platform, Speed};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

pub(crate) const PLATFORM: &[&str] = &["cpus", "clusters", "topology", "speed", "overhead"];
pub(crate) const OVERHEAD: &[&str] = &[
    "release",
    "scheduling",
    "context_switch",
    "migration",
    "interrupt",
    "tick",
    "tick_period",
    "block_reload_time",
];

/// The spans of the parts of a platform.
#[derive(Debug, Default)]
pub(super) struct PlatformSpans {
    pub cpus: Option<Span>,
    pub speed: Option<Span>,
    pub overhead: Option<Span>,
    clusters: Vec<Span>,
}

impl PlatformSpans {
    pub(super) fn cluster(&self, index: usize) -> Option<Span> {
        self.clusters.get(index).or(self.cpus.as_ref()).cloned()
    }
}

impl Decoder<'_, '_> {
    pub(super) fn platform<'t>(
        &mut self,
        top: &'t DeTable<'t>,
        broken: &mut Broken,
    ) -> (Platform, PlatformSpans) {
        let mut spans = PlatformSpans::default();
        let platform = self.platform_table(top, &mut spans);
        broken.platform = platform.is_none();
        (platform.unwrap_or_else(stand_in), spans)
    }

    fn platform_table<'t>(
        &mut self,
        top: &'t DeTable<'t>,
        spans: &mut PlatformSpans,
    ) -> Option<Platform> {
        let Some(section) = value_of(top, "platform") else {
            return self.default_platform(None);
        };
        let table = self.reader.table(&section, "[platform]")?;
        self.reader.only(table, PLATFORM, "[platform]");
        let count = match value_of(table, "cpus") {
            Some(entry) => {
                spans.cpus = Some(entry.span.clone());
                self.cpu_count(&entry)
            }
            None => self.default_platform(Some(section.key_span)).map(|p| p.cpu_count()),
        };
        // If the number of CPUs is unknown, only the times of the platform can be checked.
        let overheads = match value_of(table, "overhead") {
            Some(entry) => {
                spans.overhead = Some(entry.span.clone());
                self.reader.overheads(&entry)
            }
            None => Some(Overheads::default()),
        };
        let mut platform = Platform::identical(count?);
        let all = platform.all_cpus();
        if let Some(entry) = value_of(table, "topology") {
            platform.topology = self.topology(&entry, &all)?;
        }
        let speeds = match value_of(table, "speed") {
            Some(entry) => {
                spans.speed = Some(entry.span.clone());
                self.speeds(&entry, &platform)
            }
            None => Some(platform.speeds.clone()),
        };
        if let Some(entry) = value_of(table, "clusters") {
            let mut clusters = Vec::new();
            for element in self.reader.list(&entry, "[\"0-1\", \"2-3\"]")? {
                clusters.push(self.reader.fixed_cpus(&element, &platform.topology, &all)?);
                spans.clusters.push(element.span);
            }
            if clusters.is_empty() {
                let help = "leave `clusters` out for one cluster of all CPUs";
                let code = "layland::taskset::cpus";
                self.reader.error(code, entry.span, "there is no cluster", "empty", help);
                return None;
            }
            platform.clusters = clusters;
        }
        Some(Platform { speeds: speeds?, overheads: overheads?, ..platform })
    }

    /// Returns the platform of a file without the number of CPUs.
    fn default_platform(&mut self, section: Option<Span>) -> Option<Platform> {
        if let Some(cpus) = self.host.default_cpus {
            // One more than the limit is enough for an error, and does not allocate much memory.
            return Some(Platform::identical(cpus.min(CpuSet::MAX_CPUS + 1)));
        }
        let code = "layland::taskset::missing";
        let (message, help) = match section {
            Some(_) => ("[platform] has no `cpus`", "say how many: cpus = 4 (or cpus = \"host\")"),
            None => {
                ("the file has no [platform]", "add [platform] with cpus = 4 (or cpus = \"host\")")
            }
        };
        self.reader.problems.push(match section {
            Some(span) => Problem::error(code, message).at(span, "here").help(help),
            None => Problem::error(code, message).help(help),
        });
        None
    }

    fn cpu_count(&mut self, entry: &KeyValue<'_>) -> Option<usize> {
        let code = "layland::taskset::cpus";
        match entry.value {
            DeValue::Integer(_) => self.reader.integer(entry, 1..=CpuSet::MAX_CPUS as i128),
            DeValue::String(text) if text == "host" => {
                let count = self.host.cpus.filter(|count| (1..=CpuSet::MAX_CPUS).contains(count));
                if count.is_none() {
                    let message = "it is not known how many CPUs this machine has";
                    let help = "write the number: cpus = 4";
                    self.reader.error(code, entry.span.clone(), message, "unknown", help);
                }
                count
            }
            DeValue::String(text) => match text.parse::<CpuSet>() {
                Ok(set) if set == CpuSet::first(set.len()) => Some(set.len()),
                Ok(set) => {
                    let message = "the CPUs of a platform are numbered from 0 without gaps";
                    let help = format!("write cpus = {}, and use these numbers", set.len());
                    self.reader.error(code, entry.span.clone(), message, "has gaps", help);
                    None
                }
                Err(error) => {
                    let help = "write cpus = 4, \"0-3\" or \"host\"";
                    let message = error.to_string();
                    self.reader.error(code, entry.span.clone(), message, "not CPUs", help);
                    None
                }
            },
            DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => {
                let help = "write cpus = 4, \"0-3\" or \"host\"";
                self.reader.wrong_type(entry, "a number of CPUs", help);
                None
            }
        }
    }

    fn topology(
        &mut self,
        section: &KeyValue<'_>,
        all: &CpuSet,
    ) -> Option<BTreeMap<String, Vec<CpuSet>>> {
        let reader = &mut self.reader;
        let none = BTreeMap::new();
        let mut topology = BTreeMap::new();
        let mut ok = true;
        for (key, value) in reader.table(section, "topology = { l3 = [\"0-1\", \"2-3\"] }")?.iter()
        {
            let entry = KeyValue::new(key, value);
            if let Some(fault) = topology_name_fault(entry.key) {
                let message = format!("`{}` cannot be a name of the topology", entry.key);
                let code = "layland::taskset::cpus";
                reader.error(code, entry.key_span, message, "not a name", fault);
                ok = false;
                continue;
            }
            let elements = match entry.value {
                DeValue::String(_) => Some(vec![entry.clone()]),
                DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_)
                | DeValue::Table(_) => reader.list(&entry, "[\"0-1\", \"2-3\"]"),
            };
            let sets: Option<Vec<CpuSet>> = elements.and_then(|elements| {
                elements.iter().map(|element| reader.fixed_cpus(element, &none, all)).collect()
            });
            match sets {
                Some(sets) => drop(topology.insert(entry.key.to_owned(), sets)),
                None => ok = false,
            }
        }
        ok.then_some(topology)
    }

    fn speeds(&mut self, section: &KeyValue<'_>, platform: &Platform) -> Option<CpuMap<Speed>> {
        let all = platform.all_cpus();
        let code = "layland::taskset::speed";
        let mut speeds = platform.speeds.clone();
        let mut seen = CpuSet::new();
        let mut ok = true;
        let table = self.reader.table(section, "speed = { \"4-7\" = \"0.446\" }")?;
        for (key, value) in table.iter() {
            let entry = KeyValue::new(key, value);
            let mut choice = crate::cpus::Choice::default();
            if let Err((message, help)) = choice.add(entry.key, &platform.topology) {
                self.reader.error(code, entry.key_span, message, "not a set of CPUs", help);
                ok = false;
                continue;
            }
            let cpus = choice.of(&all).unwrap_or_else(|| all.clone());
            let at_key = KeyValue { span: entry.key_span.clone(), ..entry.clone() };
            if !self.reader.exist(&at_key, &cpus, &all) {
                ok = false;
                continue;
            }
            let twice = cpus.intersection(&seen);
            if !twice.is_empty() {
                let message = format!("CPU {twice} has two speeds");
                self.reader.error(code, entry.key_span, message, "again", "name a CPU once");
                ok = false;
                continue;
            }
            seen = seen.union(&cpus);
            let Some(rate) = self.reader.rate(&entry) else {
                ok = false;
                continue;
            };
            let Some(speed) = Speed::new(&rate) else {
                let message = format!("{rate} is not a speed");
                let help = "a speed is above 0; numerator and denominator are at most a million";
                self.reader.error(code, entry.span, message, "not a speed", help);
                ok = false;
                continue;
            };
            for index in cpu_indices(&cpus) {
                speeds[CpuId::from_index(index)] = speed;
            }
        }
        ok.then_some(speeds)
    }
}

impl Reader<'_> {
    /// Reads overheads: `overhead = { context_switch = "2us" }`. Omitted ones are zero.
    pub fn overheads(&mut self, section: &KeyValue<'_>) -> Option<Overheads> {
        let table = self.table(section, "overhead = { context_switch = \"2us\" }")?;
        self.only(table, OVERHEAD, "overhead");
        let mut overheads = Overheads::default();
        let mut ok = true;
        for (key, field) in [
            ("release", &mut overheads.release),
            ("scheduling", &mut overheads.scheduling),
            ("context_switch", &mut overheads.context_switch),
            ("migration", &mut overheads.migration),
            ("interrupt", &mut overheads.interrupt),
            ("tick", &mut overheads.tick),
            ("tick_period", &mut overheads.tick_period),
            ("block_reload_time", &mut overheads.block_reload_time),
        ] {
            if let Some(entry) = value_of(table, key) {
                match self.time(&entry) {
                    Some(time) => *field = time,
                    None => ok = false,
                }
            }
        }
        ok.then_some(overheads)
    }
}
