//! Reads a trace in any format. The bytes determine the format.

use super::args::InputArgs;
use super::loops;
use crate::ui::exit::{Exit, Failure};
use crate::ui::files::LARGEST_TRACE;
use crate::ui::input::{self, Set, SetArgs};
use crate::ui::terminal;
use layland_checker::{Demand, Evidence, Origin};
use layland_config::{Host, Kind};
use layland_interchange::kernel::{
    self, Begins, Decision, Import, ReadError, ReadOptions, Threads, Unrecorded, Wake,
};
use layland_interchange::rt_app_log::{self, Loop};
use layland_interchange::st_trace;
use layland_model::{Duration, TaskId, TaskMap, Time};
use layland_trace::json::{Recorded, read_json_recorded};
use layland_trace::{Foreign, Labels, ThreadEvent, Trace};
use std::io::Read;
use std::process::Command;

/// A trace, and the information on how it was recorded.
pub(super) struct Loaded {
    pub trace: Trace,
    pub labels: Labels,
    /// The tool that wrote it, if it is a kernel trace.
    pub dialect: Option<String>,
    pub wakes: Vec<Wake>,
    pub decisions: Vec<Decision>,
    pub remarks: Vec<String>,
    pub lost: u64,
    pub is_inferred: bool,
    pub is_trustworthy: bool,
    pub origin_ns: i64,
    /// The time of the set that is time 0 of the trace.
    pub origin: Origin,
    /// The end of the run, if that is not the end of the record.
    pub until: Option<Time>,
    /// True for a kernel trace, which has no event for a job that waits for its predecessor.
    pub is_of_kernel: bool,
    /// The rule that determined the execution times of its jobs.
    pub demand: Demand,
    pub foreign: Vec<Foreign>,
    /// The events of threads under SCHED_DEADLINE, and the other threads that preceded them.
    pub thread_events: Vec<ThreadEvent>,
    pub above: Vec<Foreign>,
    /// The switches that the kernel did not record, and their number, which includes those of which
    /// nothing else is known.
    pub unrecorded: Vec<Unrecorded>,
    pub unrecorded_switches: u64,
    /// If switches are missing and the trace is judged: the trace with the earliest and with the
    /// latest possible start times of the threads.
    pub extremes: Vec<Loaded>,
}

impl Loaded {
    /// Wraps a trace that contains all information.
    fn complete(trace: Trace, labels: Labels) -> Loaded {
        Loaded {
            trace,
            labels,
            dialect: None,
            wakes: Vec::new(),
            decisions: Vec::new(),
            remarks: Vec::new(),
            lost: 0,
            is_inferred: false,
            is_trustworthy: true,
            origin_ns: 0,
            origin: Origin::Known { since: Time::ZERO },
            until: None,
            is_of_kernel: false,
            demand: Demand::Drawn,
            foreign: Vec::new(),
            thread_events: Vec::new(),
            above: Vec::new(),
            unrecorded: Vec::new(),
            unrecorded_switches: 0,
            extremes: Vec::new(),
        }
    }

    /// Returns how the trace was recorded, if it was. This is written with the trace, so that it is
    /// judged as before.
    pub(super) fn recorded(&self) -> Option<Recorded> {
        let since = match self.origin {
            Origin::Known { since } => Some(since),
            Origin::Unknown => None,
        };
        Some(Recorded {
            by: self.dialect.clone()?,
            is_of_kernel: self.is_of_kernel,
            is_inferred: self.is_inferred,
            is_trustworthy: self.is_trustworthy,
            origin_ns: self.origin_ns,
            since,
            until: self.until,
            lost_events: self.lost,
            unrecorded_switches: self.unrecorded_switches,
            remarks: self.remarks.clone(),
            foreign: self.foreign.clone(),
            above: self.above.clone(),
            thread_events: self.thread_events.clone(),
        })
    }

    /// Applies the stored information on a recording.
    fn recorded_as(self, recorded: Recorded) -> Loaded {
        // If the start of a thread is not known exactly, only the original record has its limits.
        let is_complete = recorded.unrecorded_switches == 0;
        let mut remarks = recorded.remarks;
        if !is_complete && recorded.is_trustworthy {
            remarks.push(UNRECORDED.to_owned());
        }
        Loaded {
            dialect: Some(recorded.by),
            remarks,
            lost: recorded.lost_events,
            is_inferred: recorded.is_inferred,
            is_trustworthy: recorded.is_trustworthy && is_complete,
            origin_ns: recorded.origin_ns,
            origin: recorded.since.map_or(Origin::Unknown, |since| Origin::Known { since }),
            until: recorded.until,
            is_of_kernel: recorded.is_of_kernel,
            demand: Demand::Bounded,
            foreign: recorded.foreign,
            thread_events: recorded.thread_events,
            above: recorded.above,
            unrecorded_switches: recorded.unrecorded_switches,
            ..self
        }
    }

    /// Returns the evidence on how the trace was recorded.
    pub(super) fn evidence(&self, latency: Duration) -> Evidence<'_> {
        // With a latency, the trace is from a real machine, regardless of its source.
        let demand = if latency > Duration::ZERO { Demand::Bounded } else { self.demand };
        Evidence {
            origin: self.origin,
            demand,
            is_inferred: self.is_inferred,
            hides_waiting: self.is_of_kernel,
            foreign: &self.foreign,
            heard_until: self.until.map(|until| until - latency),
            ..Evidence::within(latency)
        }
    }

    /// Prints doubts to standard error.
    pub(super) fn tell(&self) {
        for remark in &self.remarks {
            terminal::warn(remark, None);
        }
        if self.is_inferred {
            terminal::warn(
                "the trace has no marks: where jobs begin and end is inferred from sleeps",
                None,
            );
        }
    }

    /// Returns this exit code if the trace can be trusted.
    pub(super) fn exit(&self, exit: Exit) -> Exit {
        if self.is_trustworthy { exit } else { Exit::Untrusted }
    }

    /// Returns this exit code if the trace can be trusted, and if the code is the same for all
    /// possible start times of threads whose start is known only up to an interval.
    pub(super) fn exit_with(&self, exit: Exit, of: impl Fn(&Loaded) -> Exit) -> Exit {
        if self.extremes.iter().all(|extreme| of(extreme) == exit) {
            return self.exit(exit);
        }
        terminal::warn(
            "no verdict: it hangs on when a thread began, which the kernel did not record",
            Some(
                "record it again; `layland doctor` names the threads from which no switch is recorded",
            ),
        );
        Exit::Untrusted
    }
}

/// The reason why a verdict needs the original record if start times of threads are missing.
const UNRECORDED: &str =
    "some switches were not recorded, and what they leave open is in the record alone: judge that";

/// Loads the named task set, if any.
pub(super) fn set(args: &InputArgs) -> Result<Option<Set>, Failure> {
    args.set.as_deref().map(named_set).transpose()
}

/// Loads the task set with this name.
pub(super) fn named_set(name: &str) -> Result<Set, Failure> {
    let set = Some(name.to_owned());
    input::load(&SetArgs { set, ..SetArgs::default() })
}

/// The contents of a file, by format.
pub(super) enum Raw {
    /// JSON of layland.
    Json(Vec<u8>),
    /// Records of LITMUS^RT.
    Litmus(Vec<u8>),
    /// The text of a kernel trace, possibly converted by the tool that wrote the file.
    Kernel(String),
}

pub(super) fn raw(name: &str) -> Result<Raw, Failure> {
    let bytes = bytes(name)?;
    if is_perfetto(&bytes) {
        return Err(Failure::input(format!("{name} is a trace of Perfetto, which is written and not read"))
            .help(
                "https://ui.perfetto.dev shows it; write JSON beside it, as `layland sim -o trace.json` does, or \
                 keep the text that `layland trace record` wrote",
            ));
    }
    if let Kind::Foreign(foreign) = Kind::of(name, &bytes, &Host::default())
        && foreign.is_unread_trace()
    {
        return Err(Failure::input(format!("{name} is {foreign}")).help(foreign.help()));
    }
    if loops::read(name, &bytes).is_some() {
        return Err(Failure::input(format!("{name} is a log of rt-app, which has no switches"))
            .help("`layland trace stats` and `layland trace check` read it"));
    }
    if bytes.trim_ascii_start().starts_with(b"{") {
        return Ok(Raw::Json(bytes));
    }
    // Text, and every other supported format, has no zero byte near the beginning.
    if bytes.iter().take(24).any(|&byte| byte == 0) && matches!(bytes.first(), Some(1..=13)) {
        return Ok(Raw::Litmus(bytes));
    }
    let bytes = if bytes.starts_with(b"\x17\x08\x44tracing") {
        converted(name, "trace-cmd", &["report", "-R", "-t", "-i"], &[])?
    } else if bytes.starts_with(b"PERFILE2") {
        let fields = ["-F", "comm,tid,cpu,time,event,trace"];
        converted(name, "perf", &["script", "--ns", "-i"], &fields)?
    } else {
        bytes
    };
    Ok(Raw::Kernel(match String::from_utf8(bytes) {
        Ok(text) => without_escapes(text),
        Err(error) => without_escapes(String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }))
}

/// Returns the loops of a log of rt-app, if the file is one. Standard input is none.
pub(super) fn log(name: &str) -> Result<Option<Vec<Loop>>, Failure> {
    let mut head = Vec::new();
    let start = (name != "-").then(|| std::fs::File::open(name).ok()).flatten();
    if let Some(file) = start {
        // A file that is not readable is reported when it is read.
        let _ = file.take(1024).read_to_end(&mut head);
    }
    if !rt_app_log::is_log(&String::from_utf8_lossy(&head)) {
        return Ok(None);
    }
    loops::read(name, &bytes(name)?).transpose()
}

/// Returns true if the bytes consist entirely of Perfetto packets: field 1 of one message, each
/// with its length.
fn is_perfetto(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let [0x0a, after @ ..] = rest {
        let ends = after.iter().take(5).position(|&byte| byte < 0x80);
        let Some(last) = ends else { return false };
        let length = after[..=last]
            .iter()
            .rev()
            .fold(0usize, |length, &byte| length << 7 | usize::from(byte & 0x7f));
        let Some(next) = after[last + 1..].get(length..) else { return false };
        rest = next;
    }
    !bytes.is_empty() && rest.is_empty()
}

/// Removes escape sequences. A thread chooses its own name, in which a sequence would pass for one
/// of our styles.
fn without_escapes(text: String) -> String {
    if text.contains('\u{1b}') { text.replace('\u{1b}', "?") } else { text }
}

/// Compiles the regular expression of `--thread`, which matches whole names.
pub(super) fn pattern(comm: Option<&str>) -> Result<Option<regex::Regex>, Failure> {
    comm.map(|comm| regex::Regex::new(&format!("^(?:{comm})$")))
        .transpose()
        .map_err(|error| Failure::usage(format!("--thread is not a regular expression: {error}")))
}

/// Reports why a file is not a kernel trace.
pub(super) fn unread(name: &str, error: &ReadError) -> Failure {
    Failure::input(format!("{name}: {error}")).help(error.help())
}

/// Loads a trace for viewing.
pub(super) fn load(name: &str, args: &InputArgs, set: Option<&Set>) -> Result<Loaded, Failure> {
    loaded(name, args, set, false)
}

/// Loads a trace for a verdict, with its variants for other possible start times of threads.
pub(super) fn to_judge(name: &str, args: &InputArgs, set: Option<&Set>) -> Result<Loaded, Failure> {
    loaded(name, args, set, true)
}

fn loaded(
    name: &str,
    args: &InputArgs,
    set: Option<&Set>,
    is_judged: bool,
) -> Result<Loaded, Failure> {
    let text = match raw(name)? {
        Raw::Json(bytes) => return of_json(name, &bytes, set),
        Raw::Litmus(bytes) => return of_litmus(name, &bytes, set),
        Raw::Kernel(text) => text,
    };
    let pattern = pattern(args.thread.as_deref())?;
    let chosen = |comm: &str, pid: u32| {
        args.tid.contains(&pid) || pattern.as_ref().is_some_and(|pattern| pattern.is_match(comm))
    };
    let threads = match set {
        Some(set) => Threads::Of(&set.system),
        None if pattern.is_some() || !args.tid.is_empty() => Threads::Where(&chosen),
        None => Threads::Marked,
    };
    let origin_ns = args.origin.map(Duration::ns);
    let read = |threads, begins| {
        kernel::read(&text, &ReadOptions { threads, origin_ns, from_ns: None, begins })
    };
    let first = read(threads, Begins::Likely);
    let is_nothing_asked = matches!(threads, Threads::Marked);
    let real_time = match &first {
        // As `trace infer` chooses threads without options.
        Err(ReadError::NoTasks { .. }) if is_nothing_asked => real_time_threads(&text),
        Ok(_) | Err(_) => Vec::new(),
    };
    let is_real_time = |_: &str, pid: u32| real_time.contains(&pid);
    let (threads, first) = if real_time.is_empty() {
        (threads, first)
    } else {
        terminal::talk(
            "no marks name threads: these are the threads of real-time classes; --thread and --tid name others",
        );
        let threads = Threads::Where(&is_real_time);
        (threads, read(threads, Begins::Likely))
    };
    let mut loaded = of_import(first.map_err(|error| unread(name, &error))?);
    if is_judged && !loaded.unrecorded.is_empty() {
        for begins in [Begins::Earliest, Begins::Latest] {
            let read = read(threads, begins).map_err(|error| unread(name, &error))?;
            loaded.extremes.push(of_import(read));
        }
    }
    Ok(loaded)
}

/// Returns the ids of the threads of real-time classes, without those of the kernel.
fn real_time_threads(text: &str) -> Vec<u32> {
    let threads = kernel::observe(text).map(|seen| seen.threads).unwrap_or_default();
    let programs = threads.iter().filter(|thread| thread.is_real_time_program());
    programs.filter_map(|thread| thread.pid).collect()
}

fn of_import(import: Import) -> Loaded {
    Loaded {
        is_trustworthy: import.is_trustworthy(),
        trace: import.trace,
        labels: import.labels,
        dialect: Some(import.dialect.name().to_owned()),
        wakes: import.wakes,
        decisions: import.decisions,
        remarks: import.remarks,
        lost: import.lost,
        is_inferred: import.is_inferred,
        origin_ns: import.origin_ns,
        origin: import.since.map_or(Origin::Unknown, |since| Origin::Known { since }),
        until: import.until,
        is_of_kernel: true,
        demand: Demand::Bounded,
        foreign: import.foreign,
        thread_events: import.thread_events,
        above: import.above,
        unrecorded_switches: import.unrecorded.len() as u64,
        unrecorded: import.unrecorded,
        extremes: Vec::new(),
    }
}

fn of_json(name: &str, bytes: &[u8], set: Option<&Set>) -> Result<Loaded, Failure> {
    let (trace, labels, recorded) =
        read_json_recorded(bytes).map_err(|error| Failure::input(format!("{name}: {error}")))?;
    if let Some(set) = set {
        let of_set = Labels::of(&set.system);
        if of_set.tasks != labels.tasks {
            return Err(Failure::input(format!(
                "{name} has the tasks {}, and {} has {}",
                labels.tasks.as_slice().join(", "),
                set.name,
                of_set.tasks.as_slice().join(", ")
            ))
            .help("name the set that the trace was made from"));
        }
    }
    let loaded = Loaded::complete(trace, labels);
    Ok(match recorded {
        Some(recorded) => loaded.recorded_as(recorded),
        None => loaded,
    })
}

/// Reads a trace of LITMUS^RT. Its tasks are those of the set with the same names.
fn of_litmus(name: &str, bytes: &[u8], set: Option<&Set>) -> Result<Loaded, Failure> {
    let (mut trace, mut labels) =
        st_trace::read(bytes).map_err(|error| Failure::input(format!("{name}: {error}")))?;
    if let Some(set) = set {
        let of_set = Labels::of(&set.system);
        let mut unnamed: TaskMap<bool> = TaskMap::filled(true, of_set.tasks.len());
        let mut ids: TaskMap<TaskId> = TaskMap::default();
        for (_, task) in labels.tasks.iter() {
            // If several tasks have the same name, the first belongs to the first thread.
            let found = of_set.tasks.iter().find(|(id, whole)| {
                unnamed[*id] && st_trace::short_name(whole) == st_trace::short_name(task)
            });
            let Some((id, _)) = found else {
                let names = of_set.tasks.as_slice().join(", ");
                return Err(Failure::input(format!(
                    "{name} has the task {task}, and {} has {names}",
                    set.name
                ))
                .help("name the set that the trace was made from"));
            };
            unnamed[id] = false;
            ids.push(id);
        }
        trace.segments.iter_mut().for_each(|segment| segment.job.task = ids[segment.job.task]);
        trace.jobs.iter_mut().for_each(|record| record.job.id.task = ids[record.job.id.task]);
        labels = Labels { cpus: labels.cpus.max(of_set.cpus), ..of_set };
    }
    let dialect = Some("LITMUS^RT".to_owned());
    let loaded = Loaded::complete(trace, labels);
    Ok(Loaded { dialect, origin: Origin::Unknown, demand: Demand::Bounded, ..loaded })
}

fn bytes(name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut read = |input: &mut dyn Read| input.take(LARGEST_TRACE + 1).read_to_end(&mut bytes);
    let read = if name == "-" {
        read(&mut std::io::stdin().lock())
    } else {
        // A file whose size is known to be too large is rejected before it is read.
        match std::fs::metadata(name) {
            Ok(about) if about.is_file() && about.len() > LARGEST_TRACE => {
                return Err(too_large(name));
            }
            Ok(_) | Err(_) => std::fs::File::open(name).and_then(|mut file| read(&mut file)),
        }
    };
    match read {
        Ok(_) if bytes.len() as u64 > LARGEST_TRACE => Err(too_large(name)),
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::input(format!("failed to read {name}: {error}"))),
    }
}

fn too_large(name: &str) -> Failure {
    let gib = LARGEST_TRACE >> 30;
    Failure::input(format!("{name} is larger than {gib} GiB, the limit for a trace"))
        .help("record a shorter time, or fewer events: --until of `layland trace record`")
}

/// Returns the text that a tool makes from its own file.
fn converted(name: &str, tool: &str, before: &[&str], after: &[&str]) -> Result<Vec<u8>, Failure> {
    let command = format!("{tool} {} {name} {}", before.join(" "), after.join(" "));
    if name == "-" {
        return Err(Failure::input(format!("standard input is a file of {tool}, not text"))
            .help(format!("{tool} turns it into text: {command}")));
    }
    let output =
        Command::new(tool).args(before).arg(name).args(after).output().map_err(|error| {
            Failure::input(format!("{name} is a file of {tool}, which does not start: {error}"))
                .help(format!("where it is installed: {command} > trace.txt"))
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::input(format!("{command} failed: {}", said.trim())));
    }
    if output.stdout.len() as u64 > LARGEST_TRACE {
        return Err(too_large(name));
    }
    Ok(output.stdout)
}
