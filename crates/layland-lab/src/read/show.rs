//! Reads the presentation of the results: figures, tables and claims.

use super::decoder::Decoder;
use crate::experiment::*;
use crate::metric::{Origin, origin};
use layland_config::document::{KeyValue, Section, in_file_order, value_of};
use layland_model::Rate;
use toml::de::DeValue;

const FIGURE: &[&str] = &[
    "name",
    "title",
    "kind",
    "grid",
    "x",
    "y",
    "statistic",
    "series",
    "only",
    "x_label",
    "y_label",
    "x_range",
    "y_range",
    "log_y",
    "bars",
    "bar_labels",
];
const TABLE: &[&str] = &["name", "title", "grid", "series", "columns"];
const CLAIM: &[&str] = &[
    "name", "text", "source", "ours", "figures", "from", "to", "share", "left", "is", "right",
    "factor",
];

const ERRATUM: &[&str] = &["source", "text", "commands"];

impl Decoder<'_> {
    pub(super) fn figure(&mut self, section: &Section<'_>) -> Option<Figure> {
        self.reader.only(section.table, FIGURE, &section.what);
        let taken: Vec<String> = self.figures.iter().map(|figure| figure.name.clone()).collect();
        let name = self.name(section, &taken.iter().map(String::as_str).collect::<Vec<_>>());
        let grid = self.find_grid(section)?;
        let kind = match value_of(section.table, "kind") {
            None => FigureKind::Lines,
            Some(entry) => match self.reader.text(&entry, "..")? {
                "lines" => FigureKind::Lines,
                "distribution" => FigureKind::Distribution,
                "bars" => FigureKind::Bars,
                other => {
                    let message = format!("`{other}` is not a kind of figure");
                    self.reader.invalid(&entry, message, "use lines, bars or distribution");
                    return None;
                }
            },
        };
        let (x, y, statistic) = match kind {
            FigureKind::Distribution => (String::new(), TARDINESS.to_owned(), Statistic::Mean),
            FigureKind::Bars => ("bar".to_owned(), String::new(), Statistic::Mean),
            FigureKind::Lines => {
                let x = self.axis(section, grid);
                let entry = self.reader.required(section, "y", "\"miss_ratio\"")?;
                let y = self.reader.text(&entry, "..")?;
                let y = self.metric(&entry, y, &[]);
                let entry = self.reader.required(section, "statistic", "\"mean\"")?;
                let statistic = self.reader.text(&entry, "..")?;
                (x?, y?, self.statistic(&entry, statistic)?)
            }
        };
        let weighted = statistic == Statistic::Weighted;
        let bars = if kind == FigureKind::Bars { self.bars(section)? } else { Vec::new() };
        let only = self.only(section, grid, &x, kind, weighted)?;
        let plain = |text: &str| text.replace('_', " ");
        let (mut x_name, mut y_name) = (plain(&x), format!("{statistic} {}", plain(&y)));
        if kind == FigureKind::Distribution {
            x_name = "tardiness / period".to_owned();
            y_name = "share of jobs".to_owned();
        }
        let log_y = value_of(section.table, "log_y").and_then(|entry| self.reader.boolean(&entry));
        let mut interval = |key| {
            value_of(section.table, key)
                .and_then(|entry| self.reader.interval(&entry).map(|bounds| (entry, bounds)))
        };
        let (x_bounds, y_bounds) = (interval("x_range"), interval("y_range"));
        if let Some((entry, (low, _))) = &y_bounds
            && log_y == Some(true)
            && *low <= 0.0
        {
            self.reader.invalid(entry, "a logarithmic axis starts above 0", "write [1e-4, 1]");
        }
        Some(Figure {
            name: name?,
            title: self.text(section, "title", ""),
            kind,
            grid,
            x,
            y,
            bars,
            statistic,
            series: self.some_series(section, Some(grid)),
            only,
            labels: (
                self.text(section, "x_label", &x_name),
                self.text(section, "y_label", &y_name),
            ),
            x_bounds: x_bounds.map(|(_, bounds)| bounds),
            y_bounds: y_bounds.map(|(_, bounds)| bounds),
            log_y: log_y.unwrap_or(false),
        })
    }

    /// Reads the contents of the bars of a figure, with their labels.
    fn bars(&mut self, section: &Section<'_>) -> Option<Vec<Bar>> {
        let entry_of = self.reader.required(section, "bars", "[\"preemptions_per_job:mean\"]")?;
        let labels = value_of(section.table, "bar_labels");
        let labels: Vec<String> = labels
            .map(|entry| self.reader.one_or_more(&entry))
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| self.reader.text(entry, "..").map(str::to_owned))
            .collect();
        let columns = self.columns(&entry_of, &[]);
        if !labels.is_empty() && labels.len() != columns.len() {
            let message = format!("{} bars have {} labels", columns.len(), labels.len());
            self.reader.invalid(&entry_of, message, "write one label for each of the `bars`");
            return None;
        }
        let bar = |(at, (metric, statistic, heading)): (usize, (String, Statistic, String))| Bar {
            label: labels.get(at).cloned().unwrap_or(heading),
            metric,
            statistic,
        };
        Some(columns.into_iter().enumerate().map(bar).collect())
    }

    /// Reads metrics with their statistics, such as `miss_ratio:mean`, each with its heading.
    fn columns(
        &mut self,
        entry: &KeyValue<'_>,
        also: &[&'static str],
    ) -> Vec<(String, Statistic, String)> {
        let mut columns = Vec::new();
        for element in self.reader.one_or_more(entry) {
            let Some(text) = self.reader.text(&element, "..") else { continue };
            let (metric, statistic) = text.split_once(':').unwrap_or((text, "mean"));
            let metric = self.metric(&element, metric, also);
            let statistic = self.statistic(&element, statistic);
            if let (Some(metric), Some(statistic)) = (metric, statistic) {
                let heading = format!("{metric} {statistic}");
                columns.push((metric, statistic, heading));
            }
        }
        columns
    }

    /// Reads the axis that `x` names; its values are numbers.
    fn axis(&mut self, section: &Section<'_>, grid: usize) -> Option<String> {
        let entry = self.reader.required(section, "x", "\"utilization\"")?;
        let name = self.reader.text(&entry, "..")?;
        let Some(axis) = self.grids[grid].axis(name) else {
            let grid = self.grids[grid].clone();
            let known = grid.axes.iter().map(|(axis, _)| axis.as_str());
            self.reader.unknown(&entry, "axis", name, known);
            return None;
        };
        let values = &self.grids[grid].axes[axis].1;
        if let Some(other) = values.iter().find(|value| value.parse::<Rate>().is_err()) {
            let message = format!("`{other}` of `{name}` is not a number that an axis can show");
            self.reader.invalid(&entry, message, "choose a parameter whose values are numbers");
            return None;
        }
        Some(name.to_owned())
    }

    /// Reads the selected values of the other axes. Each axis with several values needs one, except
    /// the utilization, over which the weighted mean is taken.
    fn only(
        &mut self,
        section: &Section<'_>,
        grid: usize,
        x: &str,
        kind: FigureKind,
        weighted: bool,
    ) -> Option<Vec<(String, String)>> {
        let mut only = Vec::new();
        let mut place = section.span.clone();
        if let Some(given) = value_of(section.table, "only") {
            place = given.span.clone();
            let table = self.reader.table(&given, "only = { tasks = 16 }")?;
            for entry in in_file_order(table) {
                let value = self.parameter(&entry)?;
                let axes = self.grids[grid].axes.clone();
                match axes.iter().find(|(axis, _)| axis == entry.key) {
                    Some((_, values)) if values.contains(&value) => {
                        only.push((entry.key.to_owned(), value));
                    }
                    Some((_, values)) => {
                        let known = values.iter().map(String::as_str);
                        self.reader.unknown(&entry, "value", &value, known);
                    }
                    None => {
                        let known = axes.iter().map(|(axis, _)| axis.as_str());
                        self.reader.unknown(&entry, "axis", entry.key, known);
                    }
                }
            }
        }
        let open = self.grids[grid].axes.iter().find(|(axis, values)| {
            kind == FigureKind::Lines
                && axis != x
                && !(weighted && axis == "utilization")
                && values.len() > 1
                && !only.iter().any(|(named, _)| named == axis)
        });
        if let Some((axis, values)) = open {
            let message = format!("points differ in `{axis}`, which the figure does not show");
            let help = format!("add only = {{ {axis} = \"{}\" }}", values[0]);
            self.reader.error("layland::lab::invalid", place, message, "here", help);
            return None;
        }
        Some(only)
    }

    pub(super) fn table(&mut self, section: &Section<'_>) -> Option<Table> {
        self.reader.only(section.table, TABLE, &section.what);
        let name = self.name(section, &[]);
        let grid = self.find_grid(section)?;
        let series = self.some_series(section, Some(grid));
        let entry = self.reader.required(section, "columns", "[\"miss_ratio:mean\"]");
        let columns =
            entry.as_ref().map(|entry| self.columns(entry, &[TARDINESS])).unwrap_or_default();
        if let Some(entry) = entry
            && let Some((name, ..)) =
                columns.iter().find(|(name, ..)| origin(name) != Origin::Computed)
        {
            let message = format!("`{name}` is measured");
            self.reader.invalid(&entry, message, "show it in a figure: tables are of results");
        }
        Some(Table { name: name?, title: self.text(section, "title", ""), grid, series, columns })
    }

    pub(super) fn claim(&mut self, section: &Section<'_>) -> Option<Claim> {
        self.reader.only(section.table, CLAIM, &section.what);
        let name = self.name(section, &[]);
        let text = self.required_text(section, "text", "\"what is claimed\"");
        let mut figures = Vec::new();
        let entry_of_figures = self.reader.required(section, "figures", "[\"a figure\"]")?;
        for element in self.reader.one_or_more(&entry_of_figures) {
            let Some(name) = self.reader.text(&element, "..") else { continue };
            match self.figures.iter().position(|figure| figure.name == name) {
                Some(at) if self.figures[at].kind != FigureKind::Distribution => figures.push(at),
                Some(_) => {
                    let message = format!("figure `{name}` has no points to compare");
                    self.reader.invalid(&element, message, "name a figure of lines or bars");
                }
                None => {
                    let known: Vec<String> =
                        self.figures.iter().map(|figure| figure.name.clone()).collect();
                    let known = known.iter().map(String::as_str);
                    self.reader.unknown(&element, "figure", name, known);
                }
            }
        }
        let mut bound = |key| value_of(section.table, key).and_then(|e| self.reader.number(&e));
        let range = Range { from: bound("from"), to: bound("to") };
        let share = bound("share").filter(|share| *share > 0.0 && *share <= 1.0);
        if let Some(entry) = value_of(section.table, "share").filter(|_| share.is_none()) {
            let help = "write 0.5 if half of the points are enough";
            self.reader.invalid(&entry, "a share is above 0 and at most 1", help);
        }
        let left = self.reader.required(section, "left", "\"a series\"")?;
        let left = self.reader.text(&left, "..").and_then(|text| self.operand(&left, text));
        let is = self.reader.required(section, "is", "\"at most\"")?;
        let comparison = self.reader.text(&is, "..")?;
        let comparison = match comparison {
            "rising" => Comparison::Rises,
            "falling" => Comparison::Falls,
            "below" => Comparison::Below(self.others(section)?),
            "at most" => Comparison::AtMost(self.others(section)?),
            "above" => Comparison::Above(self.others(section)?),
            "at least" => Comparison::AtLeast(self.others(section)?),
            "equal to" => Comparison::Equals(self.others(section)?),
            "like" => Comparison::Like(self.others(section)?, self.factor(section)?),
            "flat" => Comparison::Flat(self.factor(section)?),
            other => {
                let help =
                    "use below, at most, above, at least, equal to, like, flat, rising or falling";
                self.reader.invalid(&is, format!("`{other}` is not a comparison"), help);
                return None;
            }
        };
        let ours = value_of(section.table, "ours").and_then(|entry| self.reader.boolean(&entry));
        Some(Claim {
            name: name?,
            text: text?,
            source: self.text(section, "source", ""),
            ours: ours.unwrap_or(false),
            figures,
            share,
            range,
            left: left?,
            comparison,
        })
    }

    pub(super) fn erratum(&mut self, section: &Section<'_>) -> Option<Erratum> {
        self.reader.only(section.table, ERRATUM, &section.what);
        let source = self.required_text(section, "source", "\"Section 3\"");
        let text = self.required_text(section, "text", "\"what does not hold\"");
        let commands = value_of(section.table, "commands")
            .map(|entry| self.reader.one_or_more(&entry))
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| self.reader.text(entry, "..").map(str::to_owned))
            .collect();
        Some(Erratum { source: source?, text: text?, commands })
    }

    /// Reads the factor within which values are alike.
    pub(super) fn factor(&mut self, section: &Section<'_>) -> Option<f64> {
        let entry = self.reader.required(section, "factor", "2")?;
        let factor = self.reader.number(&entry)?;
        if factor < 1.0 {
            let message = format!("the factor {factor} is below 1");
            self.reader.invalid(&entry, message, "two alike values are within a factor of 1");
            return None;
        }
        Some(factor)
    }

    /// Reads `series` or `series/metric`, with the suffix `@figure` for another figure.
    fn operand(&mut self, entry: &KeyValue<'_>, text: &str) -> Option<Operand> {
        let (text, figure) = match text.split_once('@') {
            Some((text, name)) => {
                let at = self.figures.iter().position(|figure| figure.name == name);
                if at.is_none() {
                    let known: Vec<String> =
                        self.figures.iter().map(|figure| figure.name.clone()).collect();
                    let known = known.iter().map(String::as_str);
                    self.reader.unknown(entry, "figure", name, known);
                }
                (text, Some(at?))
            }
            None => (text, None),
        };
        let (series, metric) = match text.split_once('/') {
            Some((series, metric)) => (series, Some(metric)),
            None => (text, None),
        };
        let series = self.find_series(entry, series)?;
        let metric = match metric {
            Some(metric) => Some(self.metric(entry, metric, &[])?),
            None => None,
        };
        Some(Operand { series, metric, figure })
    }

    fn others(&mut self, section: &Section<'_>) -> Option<Vec<Other>> {
        let entry = self.reader.required(section, "right", "\"a series\", or a number")?;
        let mut others = Vec::new();
        for element in self.reader.one_or_more(&entry) {
            others.push(match element.value {
                DeValue::String(text) => Other::Series(self.operand(&element, text)?),
                _ => Other::Value(self.reader.number(&element)?),
            });
        }
        Some(others)
    }
}
