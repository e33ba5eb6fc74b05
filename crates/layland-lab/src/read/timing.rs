//! `[timing]`: the measurement of decision times.

use super::decoder::Decoder;
use crate::experiment::*;
use crate::series::Measured;
use layland_config::document::{KeyValue, Section, value_of};

const TIMING: &[&str] = &["sets", "horizon", "reported", "claim"];
const REPORTED: &[&str] = &["series", "statistic", "us"];
const TIMING_CLAIM: &[&str] =
    &["text", "source", "statistics", "slower", "faster", "ratio", "factor"];

impl Decoder<'_> {
    pub(super) fn timing(&mut self, top: &Section<'_>) -> Option<Timing> {
        let entry_of = value_of(top.table, "timing")?;
        let table = self.reader.table(&entry_of, "[timing]")?;
        let section = Section { what: "[timing]".to_owned(), span: entry_of.span.clone(), table };
        self.reader.only(section.table, TIMING, &section.what);
        let sets = self.reader.required(&section, "sets", "2");
        let sets = sets.and_then(|entry| self.count(&entry, 1));
        let horizon = self.horizon(&section);
        let mut reported = Vec::new();
        for section in self.reader.sections(table, "reported") {
            self.reader.only(section.table, REPORTED, &section.what);
            let series = self.timed_series(&section, "series");
            let statistic = self.reader.required(&section, "statistic", "\"q0.999\"");
            let statistic = statistic.and_then(|entry| self.statistic_of(&entry));
            let us = self.reader.required(&section, "us", "\"5.79\"").and_then(|entry| {
                let text = self.reader.text(&entry, "..")?;
                let us = text.parse().ok().filter(|us: &f64| us.is_finite() && *us >= 0.0);
                if us.is_none() {
                    let help = "write a number of microseconds in quotes";
                    self.reader.invalid(&entry, format!("`{text}` is not a time"), help);
                }
                us
            });
            if let (Some(series), Some(statistic), Some(us)) = (series, statistic, us) {
                reported.push(Reported { series, statistic, us });
            }
        }
        let mut claims = Vec::new();
        for section in self.reader.sections(table, "claim") {
            self.reader.only(section.table, TIMING_CLAIM, &section.what);
            let text = self.required_text(&section, "text", "\"what is claimed\"");
            let source = self.text(&section, "source", "");
            let statistics = self.reader.required(&section, "statistics", "[\"median\"]");
            let statistics: Vec<Statistic> = statistics
                .map(|entry| self.reader.one_or_more(&entry))
                .unwrap_or_default()
                .iter()
                .filter_map(|entry| self.statistic_of(entry))
                .collect();
            let slower = self.timed_series(&section, "slower");
            let faster = self.timed_series(&section, "faster");
            let ratio = value_of(section.table, "ratio");
            let ratio = ratio.and_then(|entry| self.reader.number(&entry));
            let ratio = ratio.and_then(|ratio| Some((ratio, self.factor(&section)?)));
            if let (Some(text), Some(slower), Some(faster)) = (text, slower, faster) {
                claims.push(TimingClaim { text, source, statistics, slower, faster, ratio });
            }
        }
        Some(Timing { sets: sets?, horizon: horizon?, reported, claims })
    }

    pub(super) fn timed_series(&mut self, section: &Section<'_>, key: &str) -> Option<usize> {
        let entry = self.reader.required(section, key, "\"a-name\"")?;
        let name = self.reader.text(&entry, "..")?;
        let at = self.find_series(&entry, name)?;
        let what = match self.series[at].measured {
            Measured::Policy(_) => return Some(at),
            Measured::Test(_) => "test",
            Measured::Guarantee(_) => "guarantee",
            Measured::Structure(_) => "structure",
        };
        let message = format!("`{name}` is a {what}, and makes no decisions");
        self.reader.invalid(&entry, message, "name a series with a policy");
        None
    }

    fn statistic_of(&mut self, entry: &KeyValue<'_>) -> Option<Statistic> {
        let name = self.reader.text(entry, "..")?;
        let found = Statistic::parse(name)
            .filter(|statistic| !matches!(statistic, Statistic::Sum | Statistic::Weighted));
        if found.is_none() {
            let help = "use mean, median, min, max, or a quantile as in q0.99";
            self.reader.invalid(entry, format!("`{name}` is not a statistic of times"), help);
        }
        found
    }
}
