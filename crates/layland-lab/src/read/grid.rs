//! `[generator]` and `[[grid]]`: the points of an experiment.

use super::decoder::Decoder;
use crate::experiment::*;
use crate::parameters::{PARAMETERS, Parameters};
use layland_config::Span;
use layland_config::document::{KeyValue, Section, in_file_order, value_of};
use std::collections::BTreeMap;
use toml::de::DeValue;

/// The keys of a grid besides parameters.
const GRID: &[&str] = &["name", "series", "pooled"];

impl Decoder<'_> {
    /// Reads the value of a parameter as a string.
    pub(super) fn parameter(&mut self, entry: &KeyValue<'_>) -> Option<String> {
        match entry.value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) => Some(number.as_str().to_owned()),
            DeValue::Boolean(value) => Some(value.to_string()),
            DeValue::Float(number) => {
                let help =
                    format!("write \"{}\" in quotes, so that it stays exact", number.as_str());
                self.reader.wrong_type(entry, "a string or a whole number", help);
                None
            }
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                self.reader.wrong_type(entry, "a string or a whole number", "write one value");
                None
            }
        }
    }

    pub(super) fn grids(&mut self, top: &Section<'_>, seed: u64, pooled: bool) {
        let names: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
        let mut shared = Parameters::default();
        let mut places: BTreeMap<String, Span> = BTreeMap::new();
        if let Some(entry) = value_of(top.table, "generator") {
            match entry.value {
                DeValue::Table(table) => {
                    let what = "the generator".to_owned();
                    let section = Section { what, span: entry.span.clone(), table };
                    self.reader.only(section.table, &names, &section.what);
                    for entry in in_file_order(table) {
                        if let Some(value) = self.parameter(&entry) {
                            shared.put(entry.key, value);
                            places.insert(entry.key.to_owned(), entry.span);
                        }
                    }
                }
                _ => self.reader.wrong_type(&entry, "a table", "write [generator]"),
            }
        }
        let known: Vec<&str> = GRID.iter().copied().chain(names).collect();
        for section in self.reader.sections(top.table, "grid") {
            self.reader.only(section.table, &known, &section.what);
            let taken: Vec<String> = self.grids.iter().map(|grid| grid.name.clone()).collect();
            let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
            let Some(name) = self.name(&section, &taken) else { continue };
            let series = self.some_series(&section, None);
            let own = value_of(section.table, "pooled");
            let pooled = own.and_then(|entry| self.reader.boolean(&entry)).unwrap_or(pooled);
            let mut grid = Grid { name, axes: Vec::new(), fixed: shared.clone(), series, pooled };
            let mut places = places.clone();
            for entry in in_file_order(section.table) {
                if GRID.contains(&entry.key) {
                    continue;
                }
                places.insert(entry.key.to_owned(), entry.span.clone());
                let is_list = matches!(entry.value, DeValue::Array(_));
                let elements = self.reader.one_or_more(&entry);
                let values: Vec<String> =
                    elements.iter().filter_map(|element| self.parameter(element)).collect();
                match values.as_slice() {
                    [value] if !is_list => grid.fixed.put(entry.key, value.clone()),
                    _ => grid.axes.push((entry.key.to_owned(), values)),
                }
            }
            self.check_grid(&section, &grid, &places, seed);
            self.grids.push(grid);
        }
        if self.grids.is_empty() {
            let message = "there is no [[grid]]";
            let help = "add one with a name and lists of parameters";
            self.reader.error("layland::lab::missing", 0..0, message, "here", help);
        }
    }

    /// Reports the first point whose systems cannot be drawn.
    fn check_grid(
        &mut self,
        section: &Section<'_>,
        grid: &Grid,
        places: &BTreeMap<String, Span>,
        seed: u64,
    ) {
        // Points are a product of lists, and short lists can produce more points than memory holds.
        const MOST_POINTS: usize = 100_000;
        if grid.points() > MOST_POINTS {
            let message =
                format!("the grid has {} points, and {MOST_POINTS} are the most", grid.points());
            let help = "shorten a list of parameters, or make several grids";
            self.reader.error("layland::lab::invalid", section.span.clone(), message, "here", help);
            return;
        }
        for cell in grid.cells() {
            if let Err((name, reason)) = cell.parameters.source(seed) {
                let place = name.and_then(|name| places.get(name)).unwrap_or(&section.span);
                let what = name.map_or(String::new(), |name| format!("`{name}`: "));
                let help = format!("this is at {}", cell.parameters.line());
                let code = "layland::lab::invalid";
                self.reader.error(code, place.clone(), what + &reason, "here", help);
                return;
            }
        }
    }
}
