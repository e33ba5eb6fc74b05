//! Parses one line of a kernel trace, in any dialect. Allocates only the list of events.
//!
//! Long because every dialect of every event is here.

use super::import::ReadError;
use super::marker::{Marker, MarkerError, cpu_id};
use super::page::Page;

/// The tool that wrote the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dialect {
    /// The kernel: `trace` or `trace_pipe`.
    #[default]
    Tracefs,
    /// `trace-cmd report -N`: events as printed by the kernel, without flags.
    TraceCmd,
    /// `trace-cmd report`: events as printed by plugins.
    TraceCmdPlugins,
    /// `trace-cmd report -R`: every field unformatted.
    TraceCmdRaw,
    /// `perf script`.
    Perf,
}

impl Dialect {
    /// The name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Tracefs => "tracefs",
            Dialect::TraceCmd => "trace-cmd report -N",
            Dialect::TraceCmdPlugins => "trace-cmd report",
            Dialect::TraceCmdRaw => "trace-cmd report -R",
            Dialect::Perf => "perf script",
        }
    }
}

/// The state in which a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateAfter {
    /// It could continue: `R`, `R+`.
    Runnable,
    /// It sleeps and may be interrupted: `S`.
    Sleeping,
    /// It is stopped, or waits in the kernel: `D`, `T`, `I` and the like.
    Blocked,
    /// It ended.
    Dead,
}

/// A thread as named in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedThread<'a> {
    /// Its name; empty if the kernel no longer knew it.
    pub comm: &'a str,
    /// Its id; 0 is the idle thread.
    pub pid: u32,
    /// Its priority as the kernel counts, if the event has
    /// it: -1 is SCHED_DEADLINE, below 100 is real-time.
    pub priority: Option<i32>,
}

/// The kind of an event, with its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EventKind<'a> {
    Switch {
        prev: NamedThread<'a>,
        left: StateAfter,
        next: NamedThread<'a>,
    },
    Wake {
        thread: NamedThread<'a>,
        /// True if the thread has never run before.
        is_new: bool,
    },
    Migrate {
        thread: NamedThread<'a>,
        from: u32,
        to: u32,
    },
    Mark(Marker<'a>),
    /// An event of no interest.
    Other,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event<'a> {
    /// The time, in nanoseconds of the trace's clock.
    pub at: i64,
    pub cpu: u32,
    /// The thread that was running.
    pub thread: NamedThread<'a>,
    /// True if an interrupt had the CPU and not the thread; `None` if the line has no flags.
    pub in_interrupt: Option<bool>,
    pub kind: EventKind<'a>,
}

/// The events of a whole text.
#[derive(Debug, Default)]
pub(super) struct Lines<'a> {
    /// In the order of time; events of one instant in the order of the text.
    pub events: Vec<Event<'a>>,
    pub dialect: Dialect,
    pub lost: u64,
    pub unknown: u64,
    pub first_unknown: Option<usize>,
}

impl Lines<'_> {
    /// Removes the events before the first and after the last event
    /// of the scheduler: some tools begin with a line at time 0.
    fn cut(&mut self) {
        let is_telling = |event: &Event<'_>| !matches!(event.kind, EventKind::Other);
        if let (Some(first), Some(last)) =
            (self.events.iter().position(is_telling), self.events.iter().rposition(is_telling))
        {
            self.events.truncate(last + 1);
            self.events.drain(..first);
        }
    }
}

/// Parses every line.
pub(super) fn lines(text: &str) -> Result<Lines<'_>, ReadError> {
    let mut lines = Lines::default();
    // One loss may be reported at its position, in the header and in the footer.
    let (mut inline, mut head, mut foot) = (0u64, 0u64, 0u64);
    let mut dialect = None;
    let mut lacking = None;
    let page = Page::of(text);
    for (index, line) in text.lines().enumerate() {
        let within = page.as_ref().map_or(Some(line), |page| page.line(text, line));
        let Some(trimmed) = within.map(str::trim) else { continue };
        if let Some(count) = lost_here(trimmed) {
            inline = inline.saturating_add(count);
        } else if let Some(comment) = comment(trimmed) {
            head = head.saturating_add(overwritten(comment).unwrap_or(0));
            foot = foot.saturating_add(counted_loss(comment).unwrap_or(0));
        } else if let Some((event, of_line)) = event(trimmed) {
            let kind = dialect_of(of_line);
            if dialect.is_none() || (dialect == Some(Dialect::TraceCmd) && is_telling(kind)) {
                dialect = Some(kind);
            }
            lines.events.push(event);
        } else {
            lacking = lacking.or_else(|| lack(trimmed, index + 1));
            lines.unknown += 1;
            lines.first_unknown.get_or_insert(index + 1);
        }
    }
    lines.lost = inline.max(head).max(foot);
    lines.dialect = dialect.unwrap_or_default();
    if lines.events.is_empty() {
        let none = ReadError::NoEvents { first_unknown_line: lines.first_unknown };
        return Err(lacking.unwrap_or(none));
    }
    lines.events.sort_by_key(|event| event.at);
    lines.cut();
    Ok(lines)
}

fn is_telling(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::TraceCmdPlugins | Dialect::TraceCmdRaw)
}

/// Parses `CPU:1 [LOST 12 EVENTS]`, `CPU:1 [12 EVENTS DROPPED]`, `PERF_RECORD_LOST lost 12`;
/// returns at least 1 if the number is missing.
fn lost_here(line: &str) -> Option<u64> {
    let is_kernel = line.starts_with("CPU:")
        && line.ends_with(']')
        && (line.contains("[LOST") || line.contains("EVENTS DROPPED]"));
    let is_perf = line.contains("PERF_RECORD_LOST");
    let text = if is_kernel {
        line.split_once('[')?.1
    } else if is_perf {
        line.rsplit_once("lost")?.1
    } else {
        return None;
    };
    let number = text.split(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty());
    Some(number.and_then(|word| word.parse().ok()).unwrap_or(1).max(1))
}

/// Returns the line if it is a comment, or another line that need not be an event.
fn comment(line: &str) -> Option<&str> {
    let is_comment = line.is_empty()
        || line.starts_with('#')
        || line.starts_with("cpus=")
        || line.starts_with("version =")
        || line.starts_with("CPU ")
        || line.starts_with("CPU:")
        || counted_loss(line).is_some();
    is_comment.then_some(line)
}

/// Parses `# entries-in-buffer/entries-written: 197/351   #P:2`: the number of overwritten entries.
fn overwritten(comment: &str) -> Option<u64> {
    let (_, numbers) = comment.split_once("entries-written:")?;
    let (kept, written) = numbers.split_whitespace().next()?.split_once('/')?;
    let (kept, written) = (kept.parse::<u64>().ok()?, written.parse::<u64>().ok()?);
    Some(written.saturating_sub(kept))
}

/// Parses `overrun: 73`, `dropped events: 2`,
/// `commit overrun: 0` of a CPU's `stats`, also in comments.
fn counted_loss(line: &str) -> Option<u64> {
    let line = line.trim_start_matches(['#', ' ']);
    let line = match line.split_once(' ') {
        Some((cpu, rest)) if cpu.starts_with("cpu") => rest,
        Some(_) | None => line,
    };
    let (key, number) = line.split_once(": ")?;
    matches!(key, "overrun" | "commit overrun" | "dropped events")
        .then(|| number.trim().parse().ok())?
}

/// The format of the prefix of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    Flags,
    Plain,
    Perf,
}

/// The format of the event itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Fields,
    Plugin,
    Raw,
}

fn dialect_of((prefix, form): (Prefix, Form)) -> Dialect {
    match (prefix, form) {
        (Prefix::Perf, _) => Dialect::Perf,
        (Prefix::Flags, Form::Fields | Form::Raw) => Dialect::Tracefs,
        (_, Form::Plugin) => Dialect::TraceCmdPlugins,
        (Prefix::Plain, Form::Raw) => Dialect::TraceCmdRaw,
        (Prefix::Plain, Form::Fields) => Dialect::TraceCmd,
    }
}

/// Parses `12.000345:` into nanoseconds, with up to nine decimals.
fn time(word: &str) -> Option<i64> {
    let (seconds, decimals) = word.strip_suffix(':')?.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(seconds) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    let fraction = decimals.parse::<i64>().ok()? * 10i64.pow(9 - decimals.len() as u32);
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Returns what a line of perf lacks: the name in `7 [001] 12.000345: sched:..`, or the CPU in
/// `comm 7 12.000345: sched:..`.
fn lack(line: &str, number: usize) -> Option<ReadError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| time(word).is_some())?;
    words.get(at + 1).filter(|word| word.ends_with(':'))?;
    let is_cpu = |word: &&str| {
        let digits = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        digits.is_some_and(|digits| cpu_id(digits).is_some())
    };
    // Flags may follow the CPU.
    let cpu = words[..at].iter().rposition(is_cpu);
    Some(match cpu {
        None => ReadError::NoCpu { line: number },
        Some(_) => ReadError::NoName { line: number },
    })
}

fn event(line: &str) -> Option<(Event<'_>, (Prefix, Form))> {
    bracketed(line).or_else(|| of_latency_format(line))
}

/// Parses a line of the latency format: `comm-7  1d.h4. 2010us!: sched_switch: ..`. The CPU and the
/// flags are one word, and the time is in microseconds since the start of the trace, with a mark for
/// a long gap.
fn of_latency_format(line: &str) -> Option<(Event<'_>, (Prefix, Form))> {
    line.match_indices("us").find_map(|(at, _)| {
        let rest = line[at + 2..].strip_prefix([' ', '.', '+', '!', '#', '*', '@', '$'])?;
        let rest = rest.strip_prefix(':')?;
        let (before, us) = line[..at].rsplit_once(' ')?;
        if us.is_empty() || !us.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let at_ns = us.parse::<i64>().ok()?.checked_mul(1_000)?;
        let (thread, word) = before.trim_end().rsplit_once(' ')?;
        let (cpu, flags) = word.split_at(word.find(|c: char| !c.is_ascii_digit())?);
        let cpu = cpu_id(cpu)?;
        let (name, body) = rest.trim_start().split_once(':')?;
        if name.is_empty() || name.contains(' ') || flags.len() < 4 {
            return None;
        }
        let (thread, _) = running(thread.trim_end())?;
        let (kind, form) = kind(name, body.trim_start())?;
        let event = Event { at: at_ns, cpu, thread, in_interrupt: is_interrupt(flags), kind };
        Some((event, (Prefix::Flags, form)))
    })
}

fn bracketed(line: &str) -> Option<(Event<'_>, (Prefix, Form))> {
    // The CPU is the first `[digits]` that is followed by a valid rest of the line.
    line.match_indices(" [").find_map(|(at, _)| {
        let (cpu, rest) = line[at + 2..].split_once(']')?;
        if cpu.is_empty() || !cpu.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let cpu = cpu_id(cpu)?;
        let (flags, at_ns, rest) = timestamp(rest)?;
        let rest = rest.trim_start();
        // NuttX writes the result of a system call like this.
        let result = rest.split_once(" -> ").filter(|(name, _)| name.starts_with("sys_"));
        let (name, body) = match result {
            Some(call) if !call.0.contains([' ', ':']) => call,
            Some(_) | None => rest.split_once(':')?,
        };
        // perf has the prefix `sched:` in `sched:sched_switch:`.
        let (name, body) = match name {
            "sched" | "ftrace" | "print" if !body.starts_with(' ') => body.split_once(':')?,
            name => (name, body),
        };
        if name.is_empty() || name.contains(' ') {
            return None;
        }
        let (thread, is_perf) = running(line[..at].trim_end())?;
        let prefix = match (is_perf, flags) {
            (true, _) => Prefix::Perf,
            (false, Some(_)) => Prefix::Flags,
            (false, None) => Prefix::Plain,
        };
        let (kind, form) = kind(name, body.trim_start())?;
        let in_interrupt = flags.and_then(is_interrupt);
        Some((Event { at: at_ns, cpu, thread, in_interrupt, kind }, (prefix, form)))
    })
}

/// Parses the flags, if any, and the time; also returns the rest.
fn timestamp(rest: &str) -> Option<(Option<&str>, i64, &str)> {
    let mut rest = rest;
    let mut flags = None;
    for _ in 0..3 {
        rest = rest.trim_start();
        let (word, after) = rest.split_once(' ')?;
        if let Some(at) = time(word) {
            return Some((flags, at, after));
        }
        flags = Some(word);
        rest = after;
    }
    None
}

/// Interprets the third flag: `h`, `H` and `s` are hard and
/// soft interrupts, `z` and `Z` those that cannot be masked.
fn is_interrupt(flags: &str) -> Option<bool> {
    match flags.as_bytes() {
        [_, _, b'.', _, ..] => Some(false),
        [_, _, b'h' | b'H' | b's' | b'z' | b'Z', _, ..] => Some(true),
        _ => None,
    }
}

/// Parses `comm-7`, `comm-7 (5)`, or perf's `comm 7` and `comm 5/7`.
fn running(text: &str) -> Option<(NamedThread<'_>, bool)> {
    let text = match text.rsplit_once('(') {
        Some((before, group))
            if group.strip_suffix(')').is_some_and(|group| {
                !group.is_empty() && group.trim().bytes().all(|b| b.is_ascii_digit() || b == b'-')
            }) =>
        {
            before.trim_end()
        }
        Some(_) | None => text,
    };
    // Without a name before it, the dash is the sign of -1, which perf prints for a thread that
    // just ended.
    if let Some((comm, pid)) = text.rsplit_once('-')
        && !comm.trim_start().is_empty()
        && let Some(pid) = id(pid)
    {
        return Some((named(comm, pid), false));
    }
    let (comm, ids) = text.rsplit_once(' ')?;
    let pid = id(ids.rsplit('/').next()?)?;
    Some((named(comm.trim_end(), pid), true))
}

fn id(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn named(comm: &str, pid: u32) -> NamedThread<'_> {
    let comm = comm.trim_start();
    // `<...>` is printed for a name that the kernel did not keep.
    NamedThread { comm: if comm == "<...>" { "" } else { comm }, pid, priority: None }
}

fn kind<'a>(name: &str, body: &'a str) -> Option<(EventKind<'a>, Form)> {
    match name {
        "sched_switch" => switch(body),
        "sched_waking" | "sched_wakeup" => wake(body, false),
        "sched_wakeup_new" => wake(body, true),
        "sched_migrate_task" => {
            let (body, to) = last_field(body, "dest_cpu")?;
            let (body, from) = last_field(body, "orig_cpu")?;
            let (thread, _) = fields_thread(body, "comm", "pid", "prio")?;
            let kind = EventKind::Migrate { thread, from: cpu_id(from)?, to: cpu_id(to)? };
            Some((kind, Form::Fields))
        }
        "tracing_mark_write" | "print" | "bprint" => match Marker::parse(body) {
            Ok(marker) => Some((EventKind::Mark(marker), Form::Fields)),
            Err(MarkerError::Foreign) => Some((EventKind::Other, Form::Fields)),
            Err(MarkerError::Damaged) => None,
        },
        _ => Some((EventKind::Other, Form::Fields)),
    }
}

/// Returns the last `key=value` of a text, and the text before it.
fn last_field<'a>(text: &'a str, key: &str) -> Option<(&'a str, &'a str)> {
    let (at, _) = text.rmatch_indices(key).find(|&(at, _)| {
        text[at + key.len()..].starts_with('=') && (at == 0 || text[..at].ends_with(' '))
    })?;
    let value = text[at + key.len() + 1..].split(' ').next()?;
    Some((text[..at].trim_end(), value))
}

/// Parses `comm=.. pid=.. prio=..` at the end of a text; also returns the text before it.
fn fields_thread<'a>(
    text: &'a str,
    comm: &str,
    pid: &str,
    prio: &str,
) -> Option<(NamedThread<'a>, &'a str)> {
    let (text, prio) = last_field(text, prio)?;
    let (text, pid) = last_field(text, pid)?;
    let start = text.find(&format!("{comm}="))?;
    // A name may contain the key itself: search for the last occurrence that follows a space.
    let start = match comm {
        "next_comm" => text.rfind(" next_comm=").map_or(start, |at| at + 1),
        _ => start,
    };
    let name = &text[start + comm.len() + 1..];
    let thread = NamedThread { comm: name, pid: id(pid)?, priority: priority(prio) };
    Some((thread, text[..start].trim_end()))
}

fn switch(body: &str) -> Option<(EventKind<'_>, Form)> {
    if !body.starts_with("prev_comm=") {
        let (prev, next) = body.rsplit_once(" ==> ")?;
        let (prev, state) = prev.rsplit_once(' ')?;
        let kind = EventKind::Switch {
            prev: plugin_thread(prev)?,
            left: left(state)?,
            next: plugin_thread(next)?,
        };
        return Some((kind, Form::Plugin));
    }
    let (next, rest) = fields_thread(body, "next_comm", "next_pid", "next_prio")?;
    let (rest, is_arrow) = match rest.strip_suffix("==>") {
        Some(rest) => (rest.trim_end(), true),
        None => (rest, false),
    };
    let (rest, state) = last_field(rest, "prev_state")?;
    let (prev, _) = fields_thread(rest, "prev_comm", "prev_pid", "prev_prio")?;
    let form = if is_arrow { Form::Fields } else { Form::Raw };
    Some((EventKind::Switch { prev, left: left(state)?, next }, form))
}

fn wake(body: &str, is_new: bool) -> Option<(EventKind<'_>, Form)> {
    if body.starts_with("comm=") {
        let thread = match fields_thread(body, "comm", "pid", "prio") {
            Some((thread, _)) => thread,
            // NuttX has no priority there. A line that is cut off lacks the CPU, too.
            None => {
                let (body, _) = last_field(body, "target_cpu")?;
                let (comm, pid) = last_field(body, "pid")?;
                named(comm.strip_prefix("comm=")?, id(pid)?)
            }
        };
        return Some((EventKind::Wake { thread, is_new }, Form::Fields));
    }
    // `comm:7 [39] CPU:001`; old versions have `success=1` before the CPU.
    let end = body.rfind(']')?;
    let thread = plugin_thread(&body[..=end])?;
    Some((EventKind::Wake { thread, is_new }, Form::Plugin))
}

/// Parses `comm:7 [39]`.
fn plugin_thread(text: &str) -> Option<NamedThread<'_>> {
    let (thread, prio) = text.trim_end().strip_suffix(']')?.rsplit_once(" [")?;
    let (comm, pid) = thread.rsplit_once(':')?;
    Some(NamedThread { priority: priority(prio), ..named(comm, id(pid)?) })
}

/// Parses a priority; `-R` may print that of SCHED_DEADLINE without its sign.
fn priority(text: &str) -> Option<i32> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    i32::try_from(if number == i64::from(u32::MAX) { -1 } else { number }).ok()
}

/// Parses a state from its letters, or from its number as printed by `-R`.
fn left(state: &str) -> Option<StateAfter> {
    if let Ok(bits) = state
        .parse::<u32>()
        .or_else(|_| u32::from_str_radix(state.strip_prefix("0x").unwrap_or("no number"), 16))
    {
        // The low byte is the state; a higher bit marks a thread that was preempted.
        return Some(match bits & 0xff {
            0 => StateAfter::Runnable,
            bits if bits & 0x30 != 0 => StateAfter::Dead,
            bits if bits & 1 != 0 => StateAfter::Sleeping,
            _ => StateAfter::Blocked,
        });
    }
    Some(match state.chars().next()? {
        'R' => StateAfter::Runnable,
        'S' => StateAfter::Sleeping,
        'X' | 'Z' | 'x' => StateAfter::Dead,
        'D' | 'T' | 't' | 'I' | 'P' | 'W' | 'K' | 'N' => StateAfter::Blocked,
        _ => return None,
    })
}
