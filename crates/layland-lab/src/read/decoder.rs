//! [`Decoder`]: the parts of an experiment to which several sections refer, above all its series.

use crate::experiment::*;
use crate::metric::{MEASURED, METRICS, THREADED};
use crate::series::{Measured, Series, SeriesBound};
use crate::structure::has_structure;
use layland_analysis::catalogue;
use layland_config::document::{KeyValue, Reader, Section, value_of};
use layland_policy::Registry;

const SERIES: &[&str] = &[
    "name",
    "label",
    "policy",
    "test",
    "guarantee",
    "structure",
    "bound",
    "affinities",
    "regions",
    "overhead",
];

/// Reads the parts of an experiment, and keeps those to which later parts refer.
pub(super) struct Decoder<'p> {
    pub reader: Reader<'p>,
    pub registry: &'p Registry,
    pub series: Vec<Series>,
    pub grids: Vec<Grid>,
    pub figures: Vec<Figure>,
}

impl Decoder<'_> {
    /// Reads a whole number of at least `least`. TOML guarantees 63 bits.
    pub(super) fn count(&mut self, entry: &KeyValue<'_>, least: u64) -> Option<u64> {
        self.reader.integer(entry, i128::from(least)..=i128::from(i64::MAX))
    }

    pub(super) fn required_text(
        &mut self,
        section: &Section<'_>,
        key: &str,
        example: &str,
    ) -> Option<String> {
        let entry = self.reader.required(section, key, example)?;
        self.reader.text(&entry, "..").map(str::to_owned)
    }

    pub(super) fn text(&mut self, section: &Section<'_>, key: &str, default: &str) -> String {
        let text = value_of(section.table, key).and_then(|entry| self.reader.text(&entry, ".."));
        text.unwrap_or(default).to_owned()
    }

    /// Reads the name of a section: a valid file name that no other section has.
    pub(super) fn name(&mut self, section: &Section<'_>, taken: &[&str]) -> Option<String> {
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

    pub(super) fn one_series(&mut self, section: &Section<'_>) -> Option<Series> {
        self.reader.only(section.table, SERIES, &section.what);
        let taken: Vec<String> = self.series.iter().map(|series| series.name.clone()).collect();
        let name = self.name(section, &taken.iter().map(String::as_str).collect::<Vec<_>>())?;
        let label = self.text(section, "label", &name);
        let measured = self.measured(section)?;
        let bound = match value_of(section.table, "bound") {
            Some(entry) => Some(match self.reader.text(&entry, "..")? {
                "check" => SeriesBound::Check,
                name if catalogue::bound(name).is_some() => SeriesBound::Tardiness(name.to_owned()),
                name => {
                    let known = catalogue::BOUNDS.iter().map(|bound| bound.name);
                    self.reader.unknown(&entry, "bound", name, known.chain(["check"]));
                    return None;
                }
            }),
            None => None,
        };
        let ignores_affinities = self.ignores(section, "affinities");
        let ignores_regions = self.ignores(section, "regions");
        let overheads = match value_of(section.table, "overhead") {
            Some(entry) => Some(self.reader.overheads(&entry)?),
            None => None,
        };
        Some(Series {
            name,
            label,
            measured,
            bound,
            ignores_affinities,
            ignores_regions,
            overheads,
        })
    }

    /// Returns true if a series ignores a drawn property.
    fn ignores(&mut self, section: &Section<'_>, what: &str) -> bool {
        value_of(section.table, what).is_some_and(|entry| match self.reader.text(&entry, "..") {
            Some("ignored") => true,
            Some("kept") | None => false,
            Some(_) => {
                let message = format!("{what} are `kept` or `ignored`");
                self.reader.invalid(&entry, message, "leave it out to keep them");
                false
            }
        })
    }

    /// Reads the measurement of a series, which must be exactly one.
    pub(super) fn measured(&mut self, section: &Section<'_>) -> Option<Measured> {
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

    /// Reads the series that a section names; by default, all series of its grid.
    pub(super) fn some_series(&mut self, section: &Section<'_>, grid: Option<usize>) -> Vec<usize> {
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

    pub(super) fn find_series(&mut self, entry: &KeyValue<'_>, name: &str) -> Option<usize> {
        let at = self.series.iter().position(|series| series.name == name);
        if at.is_none() {
            let known = self.series.iter().map(|series| series.name.as_str());
            self.reader.unknown(entry, "series", name, known);
        }
        at
    }

    pub(super) fn find_grid(&mut self, section: &Section<'_>) -> Option<usize> {
        let entry = self.reader.required(section, "grid", "\"the name of a grid\"")?;
        let name = self.reader.text(&entry, "..")?;
        let at = self.grids.iter().position(|grid| grid.name == name);
        if at.is_none() {
            let known = self.grids.iter().map(|grid| grid.name.as_str());
            self.reader.unknown(&entry, "grid", name, known);
        }
        at
    }

    pub(super) fn metric(
        &mut self,
        entry: &KeyValue<'_>,
        name: &str,
        also: &[&'static str],
    ) -> Option<String> {
        let known = METRICS.iter().chain(MEASURED).chain(THREADED).map(|metric| metric.name);
        let known = known.chain(also.iter().copied());
        if known.clone().any(|known| known == name) {
            return Some(name.to_owned());
        }
        self.reader.unknown(entry, "metric", name, known);
        None
    }

    pub(super) fn statistic(&mut self, entry: &KeyValue<'_>, name: &str) -> Option<Statistic> {
        let statistic = Statistic::parse(name);
        if statistic.is_none() {
            let help = "use mean, median, min, max, sum, weighted, or a quantile such as q0.95";
            self.reader.invalid(entry, format!("`{name}` is not a statistic"), help);
        }
        statistic
    }
}
