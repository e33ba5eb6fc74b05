//! `[threads]`: what is measured on real threads.

use super::decoder::Decoder;
use crate::experiment::{Measured, ReportedRun, Threads};
use layland_analysis::catalogue;
use layland_config::document::{Section, value_of};
use layland_model::{Criticality, Duration, ParseTimeError};

const THREADS: &[&str] =
    &["grid", "duration", "baseline", "accepted_by", "level", "moved", "order", "reported"];
const REPORTED_RUN: &[&str] = &["series", "at", "busy_us", "switches"];

impl Decoder<'_> {
    pub(super) fn threads(&mut self, top: &Section<'_>) -> Option<Threads> {
        let entry_of = value_of(top.table, "threads")?;
        let table = self.reader.table(&entry_of, "[threads]")?;
        let section = Section { what: "[threads]".to_owned(), span: entry_of.span.clone(), table };
        self.reader.only(section.table, THREADS, &section.what);
        let grid = self.find_grid(&section);
        let duration = self.reader.required(&section, "duration", "\"10s\"").and_then(|entry| {
            let text = self.reader.text(&entry, "..")?;
            let length: Result<Duration, ParseTimeError> = text.parse();
            match length {
                Ok(length) if length >= Duration::from_ms(1) => Some(length),
                Ok(_) => {
                    self.reader.invalid(&entry, "a run takes at least 1 ms", "write \"10s\"");
                    None
                }
                Err(error) => {
                    self.reader.invalid(&entry, error.to_string(), error.help());
                    None
                }
            }
        });
        let baseline = self.timed_series(&section, "baseline");
        let level =
            value_of(table, "level").and_then(|entry| self.reader.integer::<u8>(&entry, 0..=255));
        let moved = value_of(table, "moved").and_then(|entry| self.count(&entry, 1));
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
        let order = value_of(table, "order").map(|entry| self.reader.one_or_more(&entry));
        let order = order
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| {
                let name = self.reader.text(entry, "..")?;
                let at = self.find_series(entry, name)?;
                matches!(self.series[at].measured, Measured::Policy(_)).then_some(at)
            })
            .collect();
        let mut reported = Vec::new();
        for section in self.reader.sections(table, "reported") {
            self.reader.only(section.table, REPORTED_RUN, &section.what);
            let series = self.timed_series(&section, "series");
            let at = self.required_text(&section, "at", "\"4\"");
            let mut number = |key, example| {
                let entry = self.reader.required(&section, key, example)?;
                self.count(&entry, 0)
            };
            let (busy_us, switches) = (number("busy_us", "11154"), number("switches", "2"));
            if let (Some(series), Some(at), Some(busy_us), Some(switches)) =
                (series, at, busy_us, switches)
            {
                reported.push(ReportedRun { series, at, busy_us, switches });
            }
        }
        Some(Threads {
            grid: grid?,
            duration: duration?,
            baseline: baseline?,
            accepted_by,
            level: level.map(Criticality),
            moved: moved.and_then(|moved| usize::try_from(moved).ok()).unwrap_or(0),
            order,
            reported,
        })
    }
}
