//! Loads the task set of the command line: a file, standard input, a bundled set, or inline tasks.

use super::exit::Failure;
use super::{formats, names, sense, terminal};
use clap::Args;
use layland_config::{Format, Host, HowMade, Loaded, Position, Report, Unit};
use layland_model::{CpuSet, Duration, Index, Platform, System, Task, TaskId, counted, visible};
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The prefix of the names of bundled sets.
const DEMO: &str = "demo:";

/// The code of the warning about a file without a number of CPUs.
const CPUS_NOT_GIVEN: &str = "layland::platform::cpus_not_given";

const EMPTY: &str = "a task set is expected; `layland demos robot` prints one to start from";

/// The arguments that say which task set is meant.
#[derive(Args)]
pub(crate) struct SetArgs {
    /// The task set: a file (TOML, rt-app JSON, CSV, lines of times, XML of SimSo or SchedCAT, lines of JSON), - for
    /// standard input, or demo:NAME
    #[arg(value_name = "SET")]
    pub set: Option<String>,
    // An attribute, because brackets in a comment would be links.
    #[arg(
        short,
        long,
        value_name = "TASK",
        help_heading = "Task set",
        help = "Add a task: NAME=WCET/PERIOD[/DEADLINE][@CPUS]. May be repeated; needs no SET"
    )]
    pub task: Vec<String>,
    /// The number of CPUs, if the set does not give it, or another number to try
    #[arg(long, value_name = "N", help_heading = "Task set")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// The format of the set, if neither its name nor its first bytes show it
    #[arg(long, value_name = "FORMAT", value_parser = formats::by_name(), help_heading = "Task set")]
    pub from: Option<Format>,
    /// The unit of numbers without one, in tables and plain lines
    #[arg(long, value_name = "UNIT", value_parser = formats::unit(), help_heading = "Task set")]
    pub unit: Option<Unit>,
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
        }
    }

    /// Returns the same arguments with another task set.
    pub(crate) fn with(&self, set: Option<String>) -> SetArgs {
        SetArgs { set, task: self.task.clone(), cpus: self.cpus, from: self.from, unit: self.unit }
    }
}

/// A task set, with the other contents of its file.
pub(crate) struct Set {
    /// The name of the set.
    pub name: String,
    /// The system, which is valid.
    pub system: System,
    /// The length of a run that the file asks for.
    pub until: Option<Duration>,
    /// The policy that the file asks for.
    pub policy: Option<&'static str>,
    /// The positions of the first tasks in the user's file; empty if they are not known.
    places: Vec<Position>,
    /// The name and the positions that apply if this is the only set of its file, which has one set
    /// per line.
    alone: Option<(String, Vec<Position>)>,
    /// Assumptions about values that the file does not contain, in sentences without full stops.
    pub assumed: Vec<String>,
}

impl Set {
    /// Wraps a valid system that is not from a file.
    pub(crate) fn in_memory(name: &str, system: System) -> Set {
        Set {
            name: name.to_owned(),
            system,
            until: None,
            policy: None,
            places: Vec::new(),
            alone: None,
            assumed: Vec::new(),
        }
    }

    /// Names the set after its file, and applies its positions, as for the only set of the file.
    pub(crate) fn alone(mut self) -> Set {
        if let Some((name, places)) = self.alone.take() {
            (self.name, self.places) = (name, places);
        }
        self
    }

    /// Adds to the reason of a refusal the position of the task that it is about, if any.
    pub(crate) fn located(&self, reason: String, task: Option<TaskId>) -> String {
        match task.and_then(|task| self.places.get(task.index())) {
            Some(place) => format!("{reason} ({}:{place})", self.name),
            None => reason,
        }
    }

    /// Adds the position of a task that an engine names.
    #[cfg(target_os = "linux")]
    pub(crate) fn located_by_name(&self, reason: String, task: Option<&str>) -> String {
        let named = |(id, of): (TaskId, &Task)| (Some(of.name.as_str()) == task).then_some(id);
        self.located(reason, self.system.tasks.iter().find_map(named))
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
            let format = args.from.or(format).unwrap_or_else(|| Format::detect(name, &bytes));
            // Headings and messages show the name.
            let name = &*if name == "-" { Cow::Borrowed("<stdin>") } else { visible(name) };
            let (set, warnings) =
                open(name, &bytes, format, &host)?.map_err(|report| failure(&report))?;
            tell(&warnings);
            set
        }
    };
    complete(&mut set, args)?;
    for (message, help) in sense::doubts(&set) {
        terminal::warn(&message, Some(help));
    }
    Ok(set)
}

/// Parses the bytes of a task set. Returns the set with its warnings, or a report if it is invalid.
pub(crate) fn open(
    name: &str,
    bytes: &[u8],
    format: Format,
    host: &Host,
) -> Result<Result<(Set, Report), Report>, Failure> {
    if bytes.trim_ascii().is_empty() {
        return Err(Failure::input(format!("{name} is empty")).help(EMPTY));
    }
    let read = layland_config::read(name, bytes, format, host);
    Ok(read.map(|Loaded { system, warnings, until, policy, mut places }| {
        if name.starts_with(DEMO) {
            places.clear();
        }
        let assumed = assumed(&warnings);
        let name = name.to_owned();
        (Set { name, system, until, policy, places, alone: None, assumed }, warnings)
    }))
}

/// Applies the arguments about the set: further tasks, and another number of CPUs.
pub(crate) fn complete(set: &mut Set, args: &SetArgs) -> Result<(), Failure> {
    for text in &args.task {
        let mut task = layland_config::parse_inline(text).map_err(|report| failure(&report))?;
        task.rank = set.system.tasks.len() as i64;
        let level = set.system.levels.count();
        let wcet = task.wcet[0];
        task.wcet.resize(level, wcet);
        set.system.tasks.push(task);
    }
    if !args.task.is_empty() {
        let faults = set.system.validate();
        if !faults.is_empty() {
            let (messages, helps): (Vec<_>, Vec<_>) =
                faults.iter().map(|fault| (fault.to_string(), fault.help.to_string())).unzip();
            return Err(Failure::input(messages.join("; ")).help(helps.join("; ")));
        }
    }
    other_cpus(set, args)
}

/// Changes the number of CPUs to that of the user, if it differs.
fn other_cpus(set: &mut Set, args: &SetArgs) -> Result<(), Failure> {
    match args.cpus.map(|cpus| cpus as usize) {
        Some(cpus) if cpus != set.system.platform.cpu_count() => what_if(set, cpus),
        Some(_) | None => Ok(()),
    }
}

/// Moves the tasks to another number of CPUs, unless the set refers to CPUs that would not exist.
fn what_if(set: &mut Set, cpus: usize) -> Result<(), Failure> {
    let has = set.system.platform.cpu_count();
    let said = format!("{} has {}, and --cpus says {cpus}", set.name, counted(has, "CPU"));
    let refused = |why: &str| {
        Err(Failure::input(format!("{said}: {why}"))
            .help("change `cpus` under [platform], or leave --cpus out"))
    };
    let platform = &set.system.platform;
    if platform.clusters.len() > 1 {
        return refused("its clusters are of those that it has");
    }
    if !platform.is_unit_speed() {
        return refused("its CPUs have speeds of their own");
    }
    let all = CpuSet::first(cpus);
    let tied = |task: &&Task| task.affinity.as_ref().is_some_and(|own| !own.is_subset(&all));
    if let Some(task) = set.system.tasks.values().find(tied) {
        return refused(&format!("task `{}` names CPUs beyond these", task.name));
    }
    // Names of CPU groups are kept if all of their CPUs remain.
    let mut topology = platform.topology.clone();
    topology.retain(|_, sets| sets.iter().all(|cpus| cpus.is_subset(&all)));
    let overheads = platform.overheads.clone();
    set.system.platform = Platform { overheads, topology, ..Platform::identical(cpus) };
    // Requests may refer to removed CPUs, too.
    if let Some(fault) = set.system.validate().first() {
        return refused(&fault.to_string());
    }
    terminal::warn(&format!("what if: {said}; the answer is about {}", counted(cpus, "CPU")), None);
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
        let reader: Box<dyn BufRead + Send> = match name == "-" {
            true => Box::new(BufReader::new(std::io::stdin())),
            false => match std::fs::File::open(&name) {
                Ok(file) => Box::new(BufReader::with_capacity(1 << 16, file)),
                Err(error) => return Err(unreadable(&name, &error)),
            },
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
        let name = format!("{}:{}", self.name, self.read);
        // The name contains the number of the line.
        let Loaded { system, warnings, until, policy, places: mut in_file } =
            layland_config::read_with(&name, &self.line, Format::Lines, &args.host(), made)
                .map_err(|report| failure(&report))?;
        tell(&warnings);
        let assumed = assumed(&warnings);
        in_file.iter_mut().for_each(|place| place.line += self.read - 1);
        let alone = Some((self.name.clone(), in_file));
        let places = Vec::new();
        let mut set = Set { name, system, until, policy, places, alone, assumed };
        other_cpus(&mut set, args)?;
        for (message, help) in sense::doubts(&set) {
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
    if layland_config::demo(name).is_some() {
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
        terminal::talk(&draw(&report));
    }
}

/// Returns the assumptions about values that a file does not contain: the number of CPUs.
fn assumed(warnings: &Report) -> Vec<String> {
    let problems = warnings.problems.iter().filter(|problem| problem.code == CPUS_NOT_GIVEN);
    problems.map(ToString::to_string).collect()
}

fn draw(report: &Report) -> String {
    report.graphical(terminal::width(), terminal::talk_colours(), true)
}
