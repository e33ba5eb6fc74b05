//! Loads the task set of the command line: a file, standard input, a bundled set, or inline tasks.

use super::exit::{Failure, Message};
use super::numbers::whole;
use super::{formats, names, terminal};
use clap::Args;
use layland_answers::{CPUS_NOT_GIVEN, EMPTY, Unanswered, assumed};
use layland_config::{Columns, Format, Host, HowMade, Report, Unit};
use layland_model::{System, visible};
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use layland_answers::Set;

/// The prefix of the names of bundled sets.
const DEMO: &str = "demo:";

/// The arguments that say which task set is meant.
#[derive(Args, Default)]
pub(crate) struct SetArgs {
    /// The task set: a file (TOML, a table of any kind, rt-app JSON, JSON or YAML lists, lines of times, XML of SimSo
    /// or SchedCAT, lines of JSON), - for standard input, or demo:NAME
    #[arg(value_name = "SET")]
    pub set: Option<String>,
    // An attribute, because brackets in a comment would be links.
    #[arg(
        short,
        long,
        value_name = "TASK",
        help_heading = "Task set",
        help = "Add a task: NAME=WCET/PERIOD[/DEADLINE][@CPUS]. May be repeated, and needs no SET"
    )]
    pub task: Vec<String>,
    /// The number of CPUs. Overrides the number in the set
    #[arg(long, value_name = "N", help_heading = "Task set")]
    #[arg(value_parser = whole::<1, 4096>)]
    pub cpus: Option<u32>,
    /// The format of the set, if its content does not show it
    #[arg(long, value_name = "FORMAT", value_parser = formats::by_name(), help_heading = "Task set")]
    #[arg(hide_short_help = true)]
    pub from: Option<Format>,
    /// The unit of numbers that are written without one, in tables and plain lines
    #[arg(long, value_name = "UNIT", value_parser = formats::unit(), help_heading = "Task set")]
    #[arg(hide_short_help = true)]
    pub unit: Option<Unit>,
    /// The columns of a table without titles, as in O,C,D,T; - is a column that does not count
    #[arg(long, value_name = "TITLES", help_heading = "Task set", hide_short_help = true)]
    #[arg(allow_hyphen_values = true)]
    pub columns: Option<Columns>,
}

impl SetArgs {
    /// Returns the defaults of the user and of the machine.
    pub(crate) fn host(&self) -> Host {
        // The query reads half a dozen kernel files, so its result is kept for all sets of a
        // stream.
        static CPUS: OnceLock<Option<usize>> = OnceLock::new();
        let count = || std::thread::available_parallelism().ok().map(usize::from);
        Host {
            cpus: *CPUS.get_or_init(count),
            default_cpus: self.cpus.map(|cpus| cpus as usize),
            unit: self.unit,
            columns: self.columns.clone(),
        }
    }

    /// Returns the same arguments with another task set.
    pub(crate) fn with(&self, set: Option<String>) -> SetArgs {
        SetArgs {
            set,
            task: self.task.clone(),
            cpus: self.cpus,
            from: self.from,
            unit: self.unit,
            columns: self.columns.clone(),
        }
    }
}

/// Reads the task set, and prints warnings to standard error.
pub(crate) fn load(args: &SetArgs) -> Result<Set, Failure> {
    let host = args.host();
    let mut set = match &args.set {
        None if args.task.is_empty() => {
            return Err(Failure::usage("which task set?").help(
                "name a file, - for standard input, or a bundled set (demo:dhall), or give tasks (-t a=1ms/5ms)",
            ));
        }
        None => Set::in_memory("inline", System::new(host.default_cpus.unwrap_or(1), Vec::new())),
        Some(name) => {
            let (bytes, format) = bytes(name)?;
            // Headings and messages show the name.
            let name = &*if name == "-" { Cow::Borrowed("<stdin>") } else { visible(name) };
            let format = match args.from.or(format) {
                Some(format) => format,
                // An empty file has a message of its own.
                None if bytes.trim_ascii().is_empty() => Format::Toml,
                None => Format::detect(name, &bytes, &host)
                    .map_err(|report| program(name, &bytes).unwrap_or_else(|| failure(&report)))?,
            };
            let (set, warnings) = Set::read(name, &bytes, format, &host)?;
            tell(&warnings);
            set
        }
    };
    complete(&mut set, args)?;
    for (message, help) in set.doubts() {
        terminal::warn(&message, Some(help));
    }
    Ok(set)
}

/// Returns the failure for a file that is a program, with the command that runs it.
fn program(name: &str, bytes: &[u8]) -> Option<Failure> {
    if !bytes.starts_with(b"\x7fELF") && !bytes.starts_with(b"#!/") {
        return None;
    }
    let program = if name.contains('/') { name.to_owned() } else { format!("./{name}") };
    let failure = Failure::input(format!("{name} is a program and no task set"));
    Some(failure.help(format!(
        "`layland exec --dl RUNTIME/PERIOD -- {program}` runs a program with processor time reserved"
    )))
}

/// Fails if one of the names of several sets is a policy and no file. Nothing has been simulated yet.
pub(crate) fn policies_are_not_sets(more: &[String]) -> Result<(), Failure> {
    let slip = more.iter().find(|name| names::is_policy(name) && !Path::new(name).exists());
    match slip {
        None => Ok(()),
        Some(name) => {
            let failure = Failure::usage(format!("`{name}` is a policy and no task set"));
            Err(failure.help("separate policies by commas, as in -p g-edf,p-edf"))
        }
    }
}

/// Applies the arguments about the set: further tasks, and another number of CPUs.
fn complete(set: &mut Set, args: &SetArgs) -> Result<(), Failure> {
    set.add_tasks(&args.task)?;
    other_cpus(set, args)
}

/// Changes the number of CPUs to that of the user, if it differs.
fn other_cpus(set: &mut Set, args: &SetArgs) -> Result<(), Failure> {
    let note = args.cpus.map(|cpus| set.change_cpus(cpus as usize)).transpose()?.flatten();
    if let Some(note) = note {
        terminal::note(&note);
    }
    Ok(())
}

/// Several task sets, which are read one by one: files, and the lines of files with one set per
/// line.
pub(crate) struct Sets<'a> {
    args: &'a SetArgs,
    /// The remaining names. The next one is last.
    names: Vec<Option<String>>,
    lines: Option<Lines>,
    /// The rule that keeps or drops the provenance of sets in lines.
    made: HowMade,
}

/// A file with one set per line.
struct Lines {
    name: String,
    reader: Box<dyn BufRead + Send>,
    /// The number of lines that have been read.
    read: usize,
    /// True if one of them contained a set.
    found: bool,
    line: Vec<u8>,
}

impl<'a> Sets<'a> {
    /// Iterates over the sets with these names, or over the set that the arguments describe without
    /// a name.
    pub(crate) fn new(args: &'a SetArgs, more: &[String]) -> Sets<'a> {
        let names = args.set.iter().chain(more).map(|name| Some(name.clone()));
        let mut names: Vec<Option<String>> = match args.set {
            Some(_) => names.collect(),
            None => vec![None],
        };
        names.reverse();
        Sets { args, names, lines: None, made: HowMade::Kept }
    }

    /// Leaves out the provenance of sets in lines, for commands that do not show it.
    pub(crate) fn without_origin(self) -> Sets<'a> {
        Sets { made: HowMade::LeftOut, ..self }
    }

    fn open(&mut self, name: String) -> Result<Lines, Failure> {
        let reader: Box<dyn BufRead + Send> = if name == "-" {
            Box::new(BufReader::new(std::io::stdin()))
        } else {
            match std::fs::File::open(&name) {
                Ok(file) => Box::new(BufReader::with_capacity(1 << 16, file)),
                Err(error) => return Err(unreadable(&name, &error)),
            }
        };
        let name = if name == "-" { "<stdin>".to_owned() } else { visible(&name).into_owned() };
        Ok(Lines { name, reader, read: 0, found: false, line: Vec::new() })
    }

    fn has_lines(&self, name: &str) -> bool {
        match self.args.from {
            Some(format) => format == Format::Lines,
            None => formats::is_lines(Path::new(name)),
        }
    }
}

impl Iterator for Sets<'_> {
    type Item = Result<Set, Failure>;

    fn next(&mut self) -> Option<Result<Set, Failure>> {
        loop {
            if let Some(lines) = &mut self.lines {
                if let Some(set) = lines.next(self.args, self.made) {
                    return Some(set);
                }
                self.lines = None;
            }
            match self.names.pop()? {
                Some(name) if self.has_lines(&name) => match self.open(name) {
                    Ok(lines) => self.lines = Some(lines),
                    Err(failure) => return Some(Err(failure)),
                },
                name => return Some(load(&self.args.with(name))),
            }
        }
    }
}

impl Lines {
    /// Returns the set of the next line that is not empty. Its name consists of the file and the
    /// line.
    fn next(&mut self, args: &SetArgs, made: HowMade) -> Option<Result<Set, Failure>> {
        loop {
            self.line.clear();
            // Read one byte more than allowed, so that the parser rejects a line that is too long.
            let limit = layland_config::MAX_BYTES as u64 + 1;
            let read = (&mut self.reader).take(limit).read_until(b'\n', &mut self.line);
            match read {
                Err(error) => return Some(Err(unreadable(&self.name, &error))),
                Ok(0) if self.found => return None,
                Ok(0) => {
                    self.found = true;
                    let message = format!("{} has no line with a set", self.name);
                    return Some(Err(Failure::input(message).help(EMPTY)));
                }
                Ok(_) => self.read += 1,
            }
            if !self.line.trim_ascii().is_empty() {
                self.found = true;
                return Some(self.set(args, made));
            }
        }
    }

    fn set(&self, args: &SetArgs, made: HowMade) -> Result<Set, Failure> {
        let (mut set, warnings) =
            Set::read_line(&self.name, self.read, &self.line, &args.host(), made)?;
        tell(&warnings);
        other_cpus(&mut set, args)?;
        for (message, help) in set.doubts() {
            terminal::warn(&message, Some(help));
        }
        Ok(set)
    }
}

/// Returns the bytes of the set, and its format if the name determines it.
pub(crate) fn bytes(name: &str) -> Result<(Vec<u8>, Option<Format>), Failure> {
    if let Some(demo) = name.strip_prefix(DEMO) {
        let found = layland_config::demo(demo).ok_or_else(|| names::no_demo(demo))?;
        return Ok((found.text.as_bytes().to_vec(), Some(Format::Toml)));
    }
    let limit = layland_config::MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let read = if name == "-" {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(name).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    match read {
        Ok(_) => Ok((bytes, None)),
        Err(error) => Err(unreadable(name, &error)),
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    let failure = Failure::input(format!("failed to read {name}: {error}"));
    if names::is_policy(name) {
        failure.help(format!(
            "`{name}` is a policy: separate policies by commas, as in -p g-edf,p-edf"
        ))
    } else if layland_config::demo(name).is_some() {
        failure.help(format!("the bundled set is called demo:{name}"))
    } else if std::path::Path::new(name).is_dir() {
        failure.help("name a file in it")
    } else if error.kind() == std::io::ErrorKind::NotFound {
        failure
            .help("`layland demos` lists the bundled sets; a task without a file is -t a=1ms/5ms")
    } else {
        failure
    }
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Failure {
        let Unanswered { message, help, exit, report } = unanswered;
        match report {
            Some(report) => failure(&report),
            None => Failure { exit, message: Message::Plain(message, help) },
        }
    }
}

/// Converts a report with its positions into a failure of invalid input.
pub(crate) fn failure(report: &Report) -> Failure {
    Failure::report(draw(report))
}

/// Prints the warnings of a report, if any.
pub(crate) fn tell(report: &Report) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let mut report = report.clone();
    // For many sets, the warning is printed once.
    if !assumed(&report).is_empty() && SAID.swap(true, Ordering::Relaxed) {
        report.problems.retain(|problem| problem.code != CPUS_NOT_GIVEN);
    }
    if !report.is_empty() {
        terminal::quote(&draw(&report));
    }
}

fn draw(report: &Report) -> String {
    report.graphical(terminal::width(), terminal::talk_colours(), true)
}
