//! `[engines]`: the systems that run on every engine.

use super::decoder::Decoder;
use crate::experiment::Engines;
use crate::series::Measured;
use layland_config::document::{Section, value_of};
use layland_model::Duration;

const ENGINES: &[&str] = &["grid", "sets", "duration", "margin"];

impl Decoder<'_> {
    pub(super) fn engines(&mut self, top: &Section<'_>) -> Option<Engines> {
        let entry_of = value_of(top.table, "engines")?;
        let table = self.reader.table(&entry_of, "[engines]")?;
        let section = Section { what: "[engines]".to_owned(), span: entry_of.span.clone(), table };
        self.reader.only(section.table, ENGINES, &section.what);
        let grid = self.find_grid(&section);
        let duration = self.length(&section, "duration", Duration::from_ms(1));
        let margin = self.length(&section, "margin", Duration::ZERO);
        let sets = value_of(table, "sets").and_then(|entry| self.count(&entry, 1));
        let is_policy = |&&at: &&usize| matches!(self.series[at].measured, Measured::Policy(_));
        let other = grid.and_then(|at| self.grids[at].series.iter().find(|at| !is_policy(at)));
        if let Some(&other) = other {
            let message =
                format!("`{}` is not a policy, and runs on no engine", self.series[other].name);
            let help = "name a grid whose series are policies";
            self.reader.error("layland::lab::invalid", section.span, message, "here", help);
            return None;
        }
        Some(Engines { grid: grid?, sets: sets.unwrap_or(1), duration: duration?, margin: margin? })
    }

    /// Reads a length of time of at least `least`.
    pub(super) fn length(
        &mut self,
        section: &Section<'_>,
        key: &str,
        least: Duration,
    ) -> Option<Duration> {
        let entry = self.reader.required(section, key, "\"10s\"")?;
        match self.reader.text(&entry, "..")?.parse::<Duration>() {
            Ok(length) if length >= least => Some(length),
            Ok(_) => {
                let message = format!("`{key}` is at least {least:#}");
                self.reader.invalid(&entry, message, "write \"10s\"");
                None
            }
            Err(error) => {
                self.reader.invalid(&entry, error.to_string(), error.help());
                None
            }
        }
    }
}
