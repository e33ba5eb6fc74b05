//! `[threads]`: the measurements on real threads.

use super::decoder::Decoder;
use crate::experiment::{Said, Threads};
use crate::timers::ManagerTimers;
use layland_analysis::catalogue;
use layland_config::document::{KeyValue, Section, in_file_order, value_of};
use layland_model::{Criticality, Duration};

const THREADS: &[&str] = &[
    "grid",
    "duration",
    "baseline",
    "sets",
    "accepted_by",
    "level",
    "timers",
    "dispatch",
    "one_lock",
    "moved",
    "reported",
];
const SAID: &[&str] = &["series", "at", "values"];
const SAID_VALUES: &str = "values = { thread_busy_us = \"11154\" }";

impl Decoder<'_> {
    pub(super) fn threads(&mut self, top: &Section<'_>) -> Option<Threads> {
        let entry_of = value_of(top.table, "threads")?;
        let table = self.reader.table(&entry_of, "[threads]")?;
        let section = Section { what: "[threads]".to_owned(), span: entry_of.span.clone(), table };
        self.reader.only(section.table, THREADS, &section.what);
        let grid = self.find_grid(&section);
        let duration = self.length(&section, "duration", Duration::from_ms(1));
        let baseline = self.timed_series(&section, "baseline");
        let level =
            value_of(table, "level").and_then(|entry| self.reader.integer::<u8>(&entry, 0..=255));
        let sets = value_of(table, "sets").and_then(|entry| self.count(&entry, 1));
        let moved = value_of(table, "moved").and_then(|entry| self.count(&entry, 1));
        let timers = value_of(table, "timers").and_then(|entry| self.timers_of(&entry));
        let dispatch = value_of(table, "dispatch").and_then(|entry| self.is_per_cpu(&entry));
        let one_lock = value_of(table, "one_lock").map(|entry| {
            if dispatch != Some(true) {
                let message = "only dispatchers of CPUs have locks".to_owned();
                self.reader.invalid(&entry, message, "add dispatch = \"per-cpu\", or leave it out");
            }
            let mut series = Vec::new();
            for element in self.reader.one_or_more(&entry) {
                let Some(name) = self.reader.text(&element, "..") else { continue };
                series.extend(self.find_series(&element, name));
            }
            series
        });
        let accepted_by = value_of(table, "accepted_by")
            .map(|entry| self.reader.one_or_more(&entry))
            .unwrap_or_default();
        let accepted_by = accepted_by
            .iter()
            .filter_map(|entry| {
                let name = self.reader.text(entry, "..")?;
                if catalogue::test(name).is_none() {
                    let known = catalogue::TESTS.iter().map(|test| test.name);
                    self.reader.unknown(entry, "test", name, known);
                    return None;
                }
                Some(name.to_owned())
            })
            .collect();
        let mut reported = Vec::new();
        for section in self.reader.sections(table, "reported") {
            self.reader.only(section.table, SAID, &section.what);
            let series = self.timed_series(&section, "series");
            let at = value_of(section.table, "at").map(|entry| self.reader.text(&entry, "\"4\""));
            let Some(values) = self.reader.required(&section, "values", SAID_VALUES) else {
                continue;
            };
            let Some(values) = self.reader.table(&values, SAID_VALUES) else { continue };
            for entry in in_file_order(values) {
                let Some(metric) = self.metric(&entry, entry.key, &[]) else { continue };
                let value = self.reader.text(&entry, "..").and_then(|text| {
                    let value = text.parse().ok().filter(|value: &f64| value.is_finite());
                    if value.is_none() {
                        let message = format!("`{text}` is not a number");
                        self.reader.invalid(&entry, message, "write it in quotes, as \"5.75\"");
                    }
                    value
                });
                let at = at.flatten().map(str::to_owned);
                if let (Some(series), Some(value)) = (series, value) {
                    reported.push(Said { series, at, metric, value });
                }
            }
        }
        Some(Threads {
            grid: grid?,
            sets: sets.unwrap_or(1),
            duration: duration?,
            baseline: baseline?,
            accepted_by,
            level: level.map(Criticality),
            timers: timers.unwrap_or_default(),
            is_per_cpu: dispatch.unwrap_or(false),
            one_lock: one_lock.unwrap_or_default(),
            moved: moved.and_then(|moved| usize::try_from(moved).ok()).unwrap_or(0),
            reported,
        })
    }

    fn is_per_cpu(&mut self, entry: &KeyValue<'_>) -> Option<bool> {
        const DISPATCH: &[(&str, bool)] = &[("manager", false), ("per-cpu", true)];
        let name = self.reader.text(entry, "\"per-cpu\"")?;
        let found = DISPATCH.iter().find(|(known, _)| *known == name);
        if found.is_none() {
            let known = DISPATCH.iter().map(|(known, _)| *known);
            self.reader.unknown(entry, "kind of dispatcher", name, known);
        }
        found.map(|&(_, is_per_cpu)| is_per_cpu)
    }

    fn timers_of(&mut self, entry: &KeyValue<'_>) -> Option<ManagerTimers> {
        const TIMERS: &[(&str, ManagerTimers)] =
            &[("as-needed", ManagerTimers::AsNeeded), ("periodic", ManagerTimers::Periodic)];
        let name = self.reader.text(entry, "\"periodic\"")?;
        let found = TIMERS.iter().find(|(known, _)| *known == name);
        if found.is_none() {
            self.reader.unknown(
                entry,
                "kind of timers",
                name,
                TIMERS.iter().map(|(known, _)| *known),
            );
        }
        found.map(|&(_, timers)| timers)
    }
}
