//! Converts bytes of a format to a system: rejects unsuitable input before parsing, and [`read`]s.
//! [`Kind`](crate::Kind) decides which format a file has.

use crate::host::Host;
use crate::problem::{Position, Problem, Problems, Report, positions};
use crate::{csv, dot, json, lines, plain, poet, rtapp, sag, taskset, xml, yaml};
use layland_model::{Duration, System};
use std::borrow::Cow;

/// The maximum length of a text; longer ones are rejected.
pub const MAX_BYTES: usize = 64 << 20;

/// A format of task sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Layland's own task-set file, TOML.
    Toml,
    /// The JSON of rt-app 1.0, with the deviations in its example files and in those of `workgen`.
    RtApp,
    /// A table with commas, semicolons or tabs between the columns.
    Csv,
    /// A table with blanks, pipes (markdown) or `&` (LaTeX) between the columns.
    Table,
    /// A list of tasks in JSON, with the titles of tables as keys.
    Objects,
    /// A list of tasks in YAML, with the titles of tables as keys.
    Yaml,
    /// Lines of times, `C T` or `C T D`, or of words, `T1: C=1, T=4`.
    Plain,
    /// The configuration of a SimSo simulation, XML.
    Simso,
    /// A SchedCAT task set, XML.
    Schedcat,
    /// A set of HEAPLab's schedsim, XML.
    Schedsim,
    /// A set of jobs of the schedule-abstraction graph (SAG), CSV.
    Sag,
    /// A problem of POET and pyRTA, YAML: the tasks of one CPU.
    Poet,
    /// A graph of tasks in the language of Graphviz.
    Dot,
    /// One set in one line of JSON, with the keys of the task-set file or those of rt-app.
    Lines,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 14] = [
        Format::Toml,
        Format::RtApp,
        Format::Csv,
        Format::Table,
        Format::Objects,
        Format::Yaml,
        Format::Plain,
        Format::Simso,
        Format::Schedcat,
        Format::Schedsim,
        Format::Sag,
        Format::Poet,
        Format::Dot,
        Format::Lines,
    ];

    /// Returns its name, for options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Format::Toml => "toml",
            Format::RtApp => "rt-app",
            Format::Csv => "csv",
            Format::Table => "table",
            Format::Objects => "objects",
            Format::Yaml => "yaml",
            Format::Plain => "plain",
            Format::Simso => "simso",
            Format::Schedcat => "schedcat",
            Format::Schedsim => "schedsim",
            Format::Sag => "sag",
            Format::Poet => "poet",
            Format::Dot => "dot",
            Format::Lines => "jsonl",
        }
    }

    /// Returns the usual ending of the names of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Toml => "toml",
            Format::RtApp | Format::Objects => "json",
            Format::Csv | Format::Sag => "csv",
            Format::Table | Format::Plain => "txt",
            Format::Yaml | Format::Poet => "yaml",
            Format::Simso | Format::Schedcat | Format::Schedsim => "xml",
            Format::Dot => "dot",
            Format::Lines => "jsonl",
        }
    }

    /// Returns true if sets are also written in the format. The others keep too little of a set.
    pub fn is_written(self) -> bool {
        match self {
            Format::Toml
            | Format::RtApp
            | Format::Csv
            | Format::Simso
            | Format::Schedcat
            | Format::Sag
            | Format::Poet
            | Format::Lines => true,
            Format::Table
            | Format::Objects
            | Format::Yaml
            | Format::Plain
            | Format::Schedsim
            | Format::Dot => false,
        }
    }

    /// Returns true if `--columns` can name the columns of the format.
    fn has_columns(self) -> bool {
        matches!(self, Format::Csv | Format::Table | Format::Plain)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Format, String> {
        let known = Format::ALL.into_iter().find(|format| format.name() == text);
        known.ok_or_else(|| {
            let names = Format::ALL.map(Format::name).join(", ");
            format!("`{text}` is not a format: there are {names}")
        })
    }
}

/// The result of reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The system. It is valid: [`System::validate`] finds nothing.
    pub system: System,
    /// Warnings about parts that do not take effect as written. Often empty.
    pub warnings: Report,
    /// The length of the run, if the file contains one (rt-app, SimSo, schedsim).
    pub until: Option<Duration>,
    /// The policy that corresponds to the scheduler in the file, if it has one (SimSo, schedsim,
    /// POET).
    pub policy: Option<&'static str>,
    /// The position of each task in the text; tasks of one table or thread share a position.
    pub places: Vec<Position>,
}

/// Returns a text that begins with a list of tuples, as Python prints one, with lists in their place. Every character
/// keeps its position.
fn tuples_as_lists(text: &str) -> Cow<'_, str> {
    let start: String = text.chars().filter(|c| !c.is_whitespace()).take(2).collect();
    if start != "[(" {
        return Cow::Borrowed(text);
    }
    let mut quote = None;
    let of = |c: char| match (c, quote) {
        ('"' | '\'', None) => {
            quote = Some(c);
            '"'
        }
        (_, Some(open)) if c == open => {
            quote = None;
            '"'
        }
        ('(', None) => '[',
        (')', None) => ']',
        _ => c,
    };
    Cow::Owned(text.chars().map(of).collect())
}

/// The treatment of the provenance, if the text contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HowMade {
    /// It is stored in [`System::provenance`].
    Kept,
    /// It is parsed and dropped: for a stream of sets, storing it is much of the work.
    LeftOut,
}

/// Reads a text of the given format. `name` is its name in reports.
///
/// # Errors
/// A report with every error of the text (at most [`LISTED`](crate::LISTED) are listed), and with
/// its warnings.
pub fn read(name: &str, bytes: &[u8], format: Format, host: &Host) -> Result<Loaded, Report> {
    read_with(name, bytes, format, host, HowMade::Kept)
}

/// Does what [`read`] does, for callers that may not need the provenance of the set.
///
/// # Errors
/// The errors of [`read`], whether or not the provenance is kept.
pub fn read_with(
    name: &str,
    bytes: &[u8],
    format: Format,
    host: &Host,
    made: HowMade,
) -> Result<Loaded, Report> {
    let mut problems = Problems::default();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = error.valid_up_to();
            let text = std::str::from_utf8(&bytes[..good]).unwrap_or_default();
            let problem = Problem::error(
                "layland::text::not_utf8",
                format!("the text is not UTF-8: byte {good} (0x{:02x})", bytes[good]),
            );
            problems.push(problem.at(good..good, "here").help(if bytes.contains(&0) {
                "this looks like a binary file: a task set is a text file"
            } else {
                "save the file as UTF-8"
            }));
            return Err(Report::new(name, text, problems));
        }
    };
    if text.len() > MAX_BYTES {
        // The total length is unknown: the caller may have stopped reading at the limit.
        let message = format!("the text is longer than {} MiB: no more is read", MAX_BYTES >> 20);
        let help = "split the set, or write equal tasks as one [[task]] with `count`";
        problems.push(Problem::error("layland::text::too_long", message).help(help));
        return Err(Report::new(name, "", problems));
    }
    if !text.contains('\n')
        && let Some(at) = text.trim_end().find('\r')
    {
        let message = "the lines of the text end with a return alone (CR)";
        let problem = Problem::error("layland::text::line_ends", message).at(at..at + 1, "here");
        problems.push(problem.help("save the file with newlines (LF, or CR and LF)"));
        return Err(Report::new(name, text, problems));
    }
    if host.columns.is_some() && !format.has_columns() {
        let message = format!("the columns of a table are named, and the format is {format}");
        let problem = Problem::error("layland::csv::header", message);
        problems.push(
            problem.help("leave --columns out, or name the format with --from csv or --from table"),
        );
        return Err(Report::new(name, text, problems));
    }
    let mut policy = None;
    let set = |(system, spans)| (system, None, spans);
    let found = match format {
        Format::Toml => taskset::read(text, host, &mut problems).map(set),
        Format::RtApp => rtapp::read(text, host, &mut problems),
        Format::Csv => csv::read(text, csv::separated(text), host, &mut problems).map(set),
        Format::Table => {
            let layout = match host.columns {
                None => csv::layout(text),
                Some(_) => None,
            };
            let layout = layout.unwrap_or_else(|| csv::layout_of_rows(text));
            csv::read(text, layout, host, &mut problems).map(set)
        }
        Format::Objects => json::parse(&tuples_as_lists(text), &mut problems)
            .and_then(|json| csv::read_objects(text, &json, host, &mut problems))
            .map(set),
        Format::Yaml => yaml::parse(text, &mut problems)
            .and_then(|yaml| csv::read_objects(text, &yaml, host, &mut problems))
            .map(set),
        Format::Plain => plain::read(text, host, &mut problems).map(set),
        Format::Simso => {
            xml::read_simso(text, &mut problems).map(|(system, until, asked, spans)| {
                policy = asked;
                (system, until, spans)
            })
        }
        Format::Schedcat => xml::read_schedcat(text, host, &mut problems).map(set),
        Format::Schedsim => {
            xml::read_schedsim(text, host, &mut problems).map(|(system, until, asked, spans)| {
                policy = asked;
                (system, until, spans)
            })
        }
        Format::Sag => sag::read(text, host, &mut problems).map(set),
        Format::Poet => poet::read(text, host, &mut problems).map(|(system, named, spans)| {
            policy = Some(named);
            (system, None, spans)
        }),
        Format::Dot => dot::read(text, host, &mut problems).map(set),
        Format::Lines => lines::read(text, host, made, &mut problems),
    };
    match found {
        Some((mut system, until, spans)) if !problems.has_errors() => {
            system.provenance = system.provenance.filter(|_| made == HowMade::Kept);
            let places = positions(text, &spans);
            let warnings = Report::new(name, text, problems);
            Ok(Loaded { system, warnings, until, policy, places })
        }
        Some(_) | None => {
            debug_assert!(problems.has_errors(), "nothing was read and nothing was wrong");
            Err(Report::new(name, text, problems))
        }
    }
}
