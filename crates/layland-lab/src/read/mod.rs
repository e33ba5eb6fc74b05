//! The file of an experiment: TOML, version 1.
//!
//! ```toml
//! lab = 1                                  # version of the format
//! title = "G-EDF against P-EDF"
//! sets = 100                               # systems per point
//! seed = 1
//! horizon = "2 hyperperiods"               # or a time: "10s"
//!
//! [generator]                              # what the grids share: the options of `layland gen`
//! cpus = 4
//! periods = "list:10ms,20ms,40ms"
//!
//! [[series]]
//! name = "g-edf"
//! policy = "g-edf"                         # or test = "GFB", of `layland_analysis::catalogue`; or
//!                                          # guarantee = "p-edf", what `layland check` says; or
//!                                          # structure = "qps", its hierarchies without a simulation
//!
//! [[grid]]                                 # lists are axes: every combination is a point
//! name = "load"
//! tasks = 8
//! utilization = ["2.0", "3.0", "3.8"]
//! pooled = true                            # only means over blocks of systems are kept; by default as
//!                                          # `pooled` says for all grids, else false
//!
//! [[figure]]
//! name = "misses"
//! grid = "load"
//! x = "utilization"
//! y = "miss_ratio"                         # of `METRICS`
//! statistic = "mean"                       # median, min, max, sum, weighted, q0.95
//!
//! [[claim]]
//! name = "misses-rise"
//! text = "Misses rise with the utilization"
//! figures = ["misses"]
//! left = "g-edf"
//! is = "rising"                            # falling, below, at most, above, at least, equal to
//! ```
//!
//! Nothing is defaulted silently where it changes a result; an unknown key is an error.
//!
//! Long because a description is one format: its tables refer to each other, and are checked together.

mod show;
mod threads;

use crate::experiment::*;
use crate::metric::{MEASURED, METRICS};
use crate::parameters::{PARAMETERS, Parameters};
use crate::structure::has_structure;
use layland_analysis::catalogue;
use layland_config::document::{self, Codes, KeyValue, Reader, Section, in_file_order, value_of};
use layland_config::{Problem, Problems, Report, Severity, Span};
use layland_model::{Duration, ParseTimeError, Time};
use layland_policy::Registry;
use layland_sim::Horizon;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// The codes of an experiment's file.
const CODES: Codes = Codes {
    missing: "layland::lab::missing",
    unknown_key: "layland::lab::unknown_key",
    wrong_type: "layland::lab::wrong_type",
    out_of_range: "layland::lab::out_of_range",
    invalid: "layland::lab::invalid",
    unknown_name: "layland::lab::unknown_name",
    reserved: &[],
};

/// The version of the format.
pub const VERSION: u64 = 1;

const TOP: &[&str] = &[
    "lab",
    "title",
    "source",
    "notes",
    "sets",
    "seed",
    "horizon",
    "block",
    "pooled",
    "generator",
    "series",
    "grid",
    "figure",
    "table",
    "claim",
    "timing",
    "threads",
];
const SERIES: &[&str] =
    &["name", "label", "policy", "test", "guarantee", "structure", "bound", "affinities"];
/// What a grid has beside parameters.
const GRID: &[&str] = &["name", "series", "pooled"];
const TIMING: &[&str] = &["sets", "horizon", "reported", "claim"];
const REPORTED: &[&str] = &["series", "statistic", "us"];
const TIMING_CLAIM: &[&str] = &["text", "source", "statistics", "slower", "faster"];
const THREADS: &[&str] =
    &["grid", "duration", "baseline", "accepted_by", "level", "moved", "order", "reported"];
const REPORTED_RUN: &[&str] = &["series", "at", "busy_us", "switches"];

/// Reads an experiment with policies of this registry. `name` is what it is called, `file` what reports call its
/// file.
///
/// # Errors
/// A report with every error of the text.
///
/// ```
/// let registry = layland_policy::Registry::standard();
/// let text = b"lab = 1\nstes = 10\n";
/// let report = layland_lab::read("mine", "mine.toml", text, &registry).unwrap_err();
/// assert!(report.plain().starts_with("mine.toml:1:1: error: the experiment has no `title`"));
/// assert!(report.plain().contains("mine.toml:2:1: error: unknown key `stes`"));
/// ```
pub fn read(
    name: &str,
    file: &str,
    bytes: &[u8],
    registry: &Registry,
) -> Result<Experiment, Report> {
    let mut problems = Problems::default();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let problem = Problem::error("layland::text::not_utf8", "the text is not UTF-8");
            problems.push(problem.at(at..at, "here").help("save the file as UTF-8"));
            let good = std::str::from_utf8(&bytes[..at]).unwrap_or_default();
            return Err(Report::new(file, good, problems));
        }
    };
    let document = document::parse(text, &mut problems);
    if problems.has_errors() {
        return Err(Report::new(file, text, problems));
    }
    let mut decoder = Decoder {
        reader: Reader::new(&mut problems, &CODES),
        registry,
        series: Vec::new(),
        grids: Vec::new(),
        figures: Vec::new(),
    };
    let top = Section { what: "the experiment".to_owned(), span: 0..0, table: document.get_ref() };
    let experiment = decoder.experiment(name, &top, text);
    if problems.has_errors() {
        return Err(Report::new(file, text, problems));
    }
    debug_assert!(Report::new(file, text, problems).count(Severity::Error) == 0);
    Ok(experiment)
}

/// A time, or a number of hyperperiods.
///
/// # Errors
/// What to write instead.
pub fn parse_horizon(text: &str) -> Result<Horizon, String> {
    let mut words = text.split_whitespace();
    if let (Some(count), Some("hyperperiod" | "hyperperiods"), None) =
        (words.next(), words.next(), words.next())
    {
        let count = count.parse().ok().filter(|&count| count > 0);
        return count.map(Horizon::Hyperperiods).ok_or_else(|| {
            format!("`{text}` is not a number of hyperperiods: write \"2 hyperperiods\"")
        });
    }
    let length: Result<Duration, ParseTimeError> = text.trim().parse();
    match length {
        Ok(length) if length > Duration::ZERO => Ok(Horizon::At(Time::ZERO + length)),
        Ok(_) => Err("a simulation must be longer than zero".to_owned()),
        Err(error) => Err(format!("{error}: {}, or \"2 hyperperiods\"", error.help())),
    }
}

struct Decoder<'p> {
    reader: Reader<'p>,
    registry: &'p Registry,
    series: Vec<Series>,
    grids: Vec<Grid>,
    figures: Vec<Figure>,
}

impl Decoder<'_> {
    fn experiment(&mut self, name: &str, top: &Section<'_>, text: &str) -> Experiment {
        self.reader.only(top.table, TOP, &top.what);
        if let Some(entry) = self.reader.required(top, "lab", "1")
            && self.count(&entry, 1).is_some_and(|version| version != VERSION)
        {
            let message = "this version of the format is not known";
            self.reader.invalid(&entry, message, format!("this program reads lab = {VERSION}"));
        }
        let title = self.required_text(top, "title", "\"what it is about\"");
        let source = self.text(top, "source", "");
        let notes = self.text(top, "notes", "");
        let mut count = |key, least, example| {
            let entry = self.reader.required(top, key, example);
            entry.and_then(|entry| self.count(&entry, least)).unwrap_or(least)
        };
        let (sets, seed) = (count("sets", 1, "10"), count("seed", 0, "1"));
        let block = value_of(top.table, "block").and_then(|entry| self.count(&entry, 1));
        let pooled = value_of(top.table, "pooled").and_then(|entry| self.reader.boolean(&entry));
        let horizon = self.horizon(top);
        for section in self.reader.sections(top.table, "series") {
            if let Some(series) = self.one_series(&section) {
                self.series.push(series);
            }
        }
        if value_of(top.table, "series").is_none() {
            let message = "there is no [[series]]";
            let help = "add one with a name and a policy or a test";
            self.reader.error("layland::lab::missing", 0..0, message, "here", help);
        }
        self.grids(top, seed, pooled.unwrap_or(false));
        for section in self.reader.sections(top.table, "figure") {
            if let Some(figure) = self.figure(&section) {
                self.figures.push(figure);
            }
        }
        let sections = self.reader.sections(top.table, "table");
        let tables = sections.iter().filter_map(|section| self.table(section)).collect();
        let sections = self.reader.sections(top.table, "claim");
        let claims = sections.iter().filter_map(|section| self.claim(section)).collect();
        let timing = self.timing(top);
        let threads = self.threads(top);
        if timing.is_none() {
            let measured = self.figures.iter().find(|figure| figure.is_measured());
            if let Some(figure) = measured {
                let message = format!("figure `{}` shows measured times", figure.name);
                let help = "add [timing] with `sets` and `horizon`";
                self.reader.error("layland::lab::missing", 0..0, message, "here", help);
            }
        }
        Experiment {
            name: name.to_owned(),
            title: title.unwrap_or_default(),
            source,
            notes,
            sets,
            seed,
            horizon: horizon.unwrap_or(Horizon::Hyperperiods(2)),
            block: block.unwrap_or(5),
            series: std::mem::take(&mut self.series),
            grids: std::mem::take(&mut self.grids),
            figures: std::mem::take(&mut self.figures),
            tables,
            claims,
            timing,
            threads,
            text: text.to_owned(),
        }
    }

    fn horizon(&mut self, section: &Section<'_>) -> Option<Horizon> {
        let entry = self.reader.required(section, "horizon", "\"2 hyperperiods\"")?;
        let text = self.reader.text(&entry, "..")?;
        parse_horizon(text)
            .map_err(|error| self.reader.invalid(&entry, error, "a time has a unit"))
            .ok()
    }

    fn timing(&mut self, top: &Section<'_>) -> Option<Timing> {
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
            if let (Some(text), Some(slower), Some(faster)) = (text, slower, faster) {
                claims.push(TimingClaim { text, source, statistics, slower, faster });
            }
        }
        Some(Timing { sets: sets?, horizon: horizon?, reported, claims })
    }

    fn timed_series(&mut self, section: &Section<'_>, key: &str) -> Option<usize> {
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

    // --- Pieces -------------------------------------------------------------------------------

    /// A whole number of at least `least`. TOML promises 63 bits.
    fn count(&mut self, entry: &KeyValue<'_>, least: u64) -> Option<u64> {
        self.reader.integer(entry, i128::from(least)..=i128::from(i64::MAX))
    }

    fn required_text(&mut self, section: &Section<'_>, key: &str, example: &str) -> Option<String> {
        let entry = self.reader.required(section, key, example)?;
        self.reader.text(&entry, "..").map(str::to_owned)
    }

    fn text(&mut self, section: &Section<'_>, key: &str, default: &str) -> String {
        let text = value_of(section.table, key).and_then(|entry| self.reader.text(&entry, ".."));
        text.unwrap_or(default).to_owned()
    }

    /// The name of a section: a word that can be a file, and that no other one has.
    fn name(&mut self, section: &Section<'_>, taken: &[&str]) -> Option<String> {
        let entry = self.reader.required(section, "name", "\"a-name\"")?;
        let name = self.reader.text(&entry, "..")?;
        let fine = |c: char| c.is_ascii_alphanumeric() || "-_+.:=".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(fine) {
            let help = "use letters, digits, and - _ + . : =";
            self.reader.invalid(&entry, format!("`{name}` is not a name"), help);
            return None;
        }
        if taken.contains(&name) {
            self.reader.invalid(&entry, format!("the name `{name}` is taken"), "use another name");
            return None;
        }
        Some(name.to_owned())
    }

    fn one_series(&mut self, section: &Section<'_>) -> Option<Series> {
        self.reader.only(section.table, SERIES, &section.what);
        let taken: Vec<String> = self.series.iter().map(|series| series.name.clone()).collect();
        let name = self.name(section, &taken.iter().map(String::as_str).collect::<Vec<_>>())?;
        let label = self.text(section, "label", &name);
        let measured = self.measured(section)?;
        let bound = match value_of(section.table, "bound") {
            Some(entry) => {
                let name = self.reader.text(&entry, "..")?;
                if catalogue::bound(name).is_none() {
                    let known = catalogue::BOUNDS.iter().map(|bound| bound.name);
                    self.reader.unknown(&entry, "tardiness bound", name, known);
                    return None;
                }
                Some(name.to_owned())
            }
            None => None,
        };
        let affinities = value_of(section.table, "affinities");
        let ignores_affinities =
            affinities.is_some_and(|entry| match self.reader.text(&entry, "..") {
                Some("ignored") => true,
                Some("kept") | None => false,
                Some(_) => {
                    let message = "affinities are `kept` or `ignored`";
                    self.reader.invalid(&entry, message, "leave it out to keep them");
                    false
                }
            });
        Some(Series { name, label, measured, bound, ignores_affinities })
    }

    /// What a series measures: it says exactly one thing.
    fn measured(&mut self, section: &Section<'_>) -> Option<Measured> {
        let keys = ["policy", "test", "guarantee", "structure"];
        let said: Vec<KeyValue<'_>> =
            keys.iter().filter_map(|key| value_of(section.table, key)).collect();
        let [entry] = said.as_slice() else {
            let message = format!("{} has either a `policy` or a `test`", section.what);
            let help = "write policy = \"g-edf\", test = \"GFB\", guarantee = \"p-edf\" (what is \
                        guaranteed of a policy) or structure = \"qps\" (how large its hierarchies are)";
            let span = section.span.clone();
            self.reader.error("layland::lab::missing", span, message, "here", help);
            return None;
        };
        let name = self.reader.text(entry, "..")?;
        if entry.key == "test" {
            if catalogue::test(name).is_none() {
                let known = catalogue::TESTS.iter().map(|test| test.name);
                self.reader.unknown(entry, "test", name, known);
                return None;
            }
            return Some(Measured::Test(name.to_owned()));
        }
        match self.registry.parse(name) {
            Err(error) => {
                let help = "`layland policies` lists them";
                self.reader.invalid(entry, error.to_string(), help);
                None
            }
            Ok((info, options))
                if entry.key == "structure" && !has_structure(info.algorithm(&options)) =>
            {
                let message = format!("`{}` makes no trees or hierarchies", info.name);
                self.reader.invalid(entry, message, "use run or qps");
                None
            }
            Ok(_) => Some(match entry.key {
                "guarantee" => Measured::Guarantee(name.to_owned()),
                "structure" => Measured::Structure(name.to_owned()),
                _ => Measured::Policy(name.to_owned()),
            }),
        }
    }

    /// The value of a parameter as text.
    fn parameter(&mut self, entry: &KeyValue<'_>) -> Option<String> {
        match entry.value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) => Some(number.as_str().to_owned()),
            DeValue::Boolean(value) => Some(value.to_string()),
            DeValue::Float(number) => {
                let help =
                    format!("write \"{}\" in quotes, so that it stays exact", number.as_str());
                self.reader.wrong_type(entry, "a text or a whole number", help);
                None
            }
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                self.reader.wrong_type(entry, "a text or a whole number", "write one value");
                None
            }
        }
    }

    fn grids(&mut self, top: &Section<'_>, seed: u64, pooled: bool) {
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

    /// The series that a section names, or all of its grid.
    fn some_series(&mut self, section: &Section<'_>, grid: Option<usize>) -> Vec<usize> {
        let all: Vec<usize> = match grid {
            Some(grid) => self.grids[grid].series.clone(),
            None => (0..self.series.len()).collect(),
        };
        let Some(entry) = value_of(section.table, "series") else { return all };
        let mut chosen = Vec::new();
        for element in self.reader.one_or_more(&entry) {
            let Some(name) = self.reader.text(&element, "..") else { continue };
            match self.find_series(&element, name) {
                Some(at) if all.contains(&at) => chosen.push(at),
                Some(_) => {
                    let message = format!("the grid does not have the series `{name}`");
                    self.reader.invalid(&element, message, "add it to the `series` of the grid");
                }
                None => {}
            }
        }
        chosen
    }

    fn find_series(&mut self, entry: &KeyValue<'_>, name: &str) -> Option<usize> {
        let at = self.series.iter().position(|series| series.name == name);
        if at.is_none() {
            let known = self.series.iter().map(|series| series.name.as_str());
            self.reader.unknown(entry, "series", name, known);
        }
        at
    }

    fn find_grid(&mut self, section: &Section<'_>) -> Option<usize> {
        let entry = self.reader.required(section, "grid", "\"the name of a grid\"")?;
        let name = self.reader.text(&entry, "..")?;
        let at = self.grids.iter().position(|grid| grid.name == name);
        if at.is_none() {
            let known = self.grids.iter().map(|grid| grid.name.as_str());
            self.reader.unknown(&entry, "grid", name, known);
        }
        at
    }

    fn metric(
        &mut self,
        entry: &KeyValue<'_>,
        name: &str,
        also: &[&'static str],
    ) -> Option<String> {
        let known = METRICS.iter().chain(MEASURED).map(|metric| metric.name);
        let known = known.chain(also.iter().copied());
        if known.clone().any(|known| known == name) {
            return Some(name.to_owned());
        }
        self.reader.unknown(entry, "metric", name, known);
        None
    }

    fn statistic(&mut self, entry: &KeyValue<'_>, name: &str) -> Option<Statistic> {
        let statistic = Statistic::parse(name);
        if statistic.is_none() {
            let help = "use mean, median, min, max, sum, weighted, or a quantile such as q0.95";
            self.reader.invalid(entry, format!("`{name}` is not a statistic"), help);
        }
        statistic
    }
}

#[cfg(test)]
mod tests;
