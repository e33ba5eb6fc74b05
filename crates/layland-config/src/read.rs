//! Converts bytes to a system: detects the format, rejects
//! unsuitable input before parsing, and [`read`]s.

use crate::host::Host;
use crate::problem::{Position, Problem, Problems, Report, positions};
use crate::{csv, lines, plain, rtapp, taskset, xml};
use layland_model::{Duration, System};

/// The maximum length of a text; longer ones are rejected.
pub const MAX_BYTES: usize = 64 << 20;

/// A format of task sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Layland's own task-set file, TOML.
    Toml,
    /// The JSON of rt-app 1.0, with the deviations in its example files and in those of `workgen`.
    RtApp,
    /// A table: commas, semicolons or tabs between the columns, and our keys as titles.
    Csv,
    /// Lines of times: WCET, period and an optional deadline.
    Plain,
    /// The configuration of a SimSo simulation, XML.
    Simso,
    /// A SchedCAT task set, XML.
    Schedcat,
    /// One set in one line of JSON, with the keys of the task-set file or those of rt-app.
    Lines,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 7] = [
        Format::Toml,
        Format::RtApp,
        Format::Csv,
        Format::Plain,
        Format::Simso,
        Format::Schedcat,
        Format::Lines,
    ];

    /// Returns its name, for options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Format::Toml => "toml",
            Format::RtApp => "rt-app",
            Format::Csv => "csv",
            Format::Plain => "plain",
            Format::Simso => "simso",
            Format::Schedcat => "schedcat",
            Format::Lines => "jsonl",
        }
    }

    /// Detects the format of a file by its extension, or else by the beginning of the text.
    ///
    /// ```
    /// use layland_config::Format;
    /// assert_eq!(Format::detect("a.json", b""), Format::RtApp);
    /// assert_eq!(Format::detect("<stdin>", b"/* two tasks */ {"), Format::RtApp);
    /// assert_eq!(Format::detect("<stdin>", b"name,period,wcet\n"), Format::Csv);
    /// assert_eq!(Format::detect("set.txt", b"# C T\n1000 5000\n"), Format::Plain);
    /// assert_eq!(Format::detect("a.xml", b"<?xml version='1.0'?><simulation etm='wcet'/>"), Format::Simso);
    /// assert_eq!(Format::detect("<stdin>", b"<taskset/>"), Format::Schedcat);
    /// assert_eq!(Format::detect("<stdin>", b"# mine\nlayland = 1\n"), Format::Toml);
    /// assert_eq!(Format::detect("<stdin>", b"{\"layland\":1,\"task\":[]}"), Format::Lines);
    /// ```
    pub fn detect(name: &str, bytes: &[u8]) -> Format {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("toml") => return Format::Toml,
            Some("json") => return Format::RtApp,
            Some("csv" | "tsv") => return Format::Csv,
            Some("jsonl" | "ndjson") => return Format::Lines,
            Some(_) | None => {}
        }
        let start = &bytes[..bytes.len().min(1 << 16)];
        let text = String::from_utf8_lossy(start);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with("\"layland\"")) {
            return Format::Lines;
        }
        if text.starts_with('{') || text.starts_with("/*") || text.starts_with("//") {
            return Format::RtApp;
        }
        if text.starts_with('<') || ending.as_deref() == Some("xml") {
            return match xml::root(text) {
                Some("task" | "taskset" | "testpoint") => Format::Schedcat,
                Some(_) | None => Format::Simso,
            };
        }
        let first =
            text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        match first {
            Some(line) if csv::is_header(line) => Format::Csv,
            Some(line) if plain::is_task(line) => Format::Plain,
            Some(_) | None => Format::Toml,
        }
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
    /// The length of the run, if the file contains one (`duration` of rt-app and SimSo).
    pub until: Option<Duration>,
    /// The policy that corresponds to the scheduler in the file, if it has one (SimSo).
    pub policy: Option<&'static str>,
    /// The position of each task in the text; tasks of one table or thread share a position.
    pub places: Vec<Position>,
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
    let mut policy = None;
    let found = match format {
        Format::Toml => {
            taskset::read(text, host, &mut problems).map(|(system, spans)| (system, None, spans))
        }
        Format::RtApp => rtapp::read(text, host, &mut problems),
        Format::Csv => {
            csv::read(text, host, &mut problems).map(|(system, spans)| (system, None, spans))
        }
        Format::Plain => {
            plain::read(text, host, &mut problems).map(|(system, spans)| (system, None, spans))
        }
        Format::Simso => {
            xml::read_simso(text, &mut problems).map(|(system, until, asked, spans)| {
                policy = asked;
                (system, until, spans)
            })
        }
        Format::Schedcat => xml::read_schedcat(text, host, &mut problems)
            .map(|(system, spans)| (system, None, spans)),
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
