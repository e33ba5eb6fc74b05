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
//! overhead = { context_switch = "2us" }    # what the machine spends, as in a task set
//!
//! [[grid]]                                 # lists are axes: every combination is a point
//! name = "load"
//! tasks = 8
//! utilization = ["2.0", "3.0", "3.8"]
//! pooled = true                            # only means over blocks of systems are kept; by default as
//!                                          # `pooled` says for all grids, else false
//!
//! [threads]                                # with --real-threads: what policies cost on threads
//! grid = "load"
//! duration = "5s"
//! baseline = "g-edf"                       # the others are compared with it
//! timers = "periodic"                      # where threads release jobs themselves: the manager also looks
//!                                          # after jobs that are over; by default "as-needed"
//! dispatch = "per-cpu"                     # a dispatcher on every CPU, with a lock for each group of CPUs that
//!                                          # share their tasks; by default one "manager"
//! one_lock = ["g-edf"]                     # whose dispatchers share one lock
//!
//! [engines]                                # with --real-threads: the simulator and every engine, side by side
//! grid = "load"                            # its series are policies
//! sets = 1                                 # systems per point
//! duration = "2s"
//! margin = "1ms"                           # what policies with budgets reserve besides the WCET
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
//! is = "rising"                            # falling, below, at most, above, at least, equal to, like
//!                                          # (with `factor = 2`: within it, above or below), flat (the
//!                                          # same, of every two points of `left`)
//! share = 0.5                              # how many of the points agree if it holds: "often"
//! ours = true                              # the source does not say it
//!
//! [[erratum]]                              # what does not hold in the source, for its authors
//! source = "Section 3"
//! text = "The bound is exceeded"
//! commands = ["layland sim set.toml"]
//! ```
//!
//! No default silently changes a result; an unknown key is an error.

mod decoder;
mod engines;
mod grid;
mod show;
mod threads;
mod timing;

use crate::experiment::Experiment;
use crate::metric::Origin;
use decoder::Decoder;
use layland_config::document::{self, Codes, Reader, Section, value_of};
use layland_config::{Problem, Problems, Report, Severity};
use layland_model::{Duration, ParseTimeError, Time};
use layland_policy::Registry;
use layland_sim::Horizon;

/// The error codes of an experiment's file.
const CODES: Codes = Codes {
    missing: "layland::lab::missing",
    unknown_key: "layland::lab::unknown_key",
    wrong_type: "layland::lab::wrong_type",
    out_of_range: "layland::lab::out_of_range",
    invalid: "layland::lab::invalid",
    unknown_name: "layland::lab::unknown_name",
    reserved: &[],
    other_names: &[],
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
    "erratum",
    "timing",
    "threads",
    "engines",
];
/// Reads an experiment with policies of this registry. `name` is the name of the experiment, `file`
/// the name of its file in reports.
///
/// # Errors
/// Returns a report with every error in the file.
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

/// Parses a time, or a number of hyperperiods.
///
/// # Errors
/// Returns advice for the user.
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
        let sections = self.reader.sections(top.table, "erratum");
        let errata = sections.iter().filter_map(|section| self.erratum(section)).collect();
        let timing = self.timing(top);
        let threads = self.threads(top);
        let engines = self.engines(top);
        let of = |origin| self.figures.iter().find(move |figure| figure.origin() == origin);
        let mut missing = Vec::new();
        if timing.is_none()
            && let Some(figure) = of(Origin::Timed)
        {
            let message = format!("figure `{}` shows measured times", figure.name);
            missing.push((message, "add [timing] with `sets` and `horizon`"));
        }
        let is_measured = |grid| threads.as_ref().is_some_and(|threads| threads.grid == grid);
        if let Some(figure) = of(Origin::Threads)
            && !is_measured(figure.grid)
        {
            let message = format!("figure `{}` shows what real threads do", figure.name);
            missing.push((message, "add [threads] with its grid"));
        }
        for (message, help) in missing {
            self.reader.error("layland::lab::missing", 0..0, message, "here", help);
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
            errata,
            timing,
            threads,
            engines,
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
}

#[cfg(test)]
mod tests;
