//! `layland trace record`.

use super::args::{InputArgs, RecordArgs};
use super::{load, show};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::files::{LARGEST_TRACE, NewFile};
use crate::ui::{interrupt, terminal};
use layland_linux::Changes;
use layland_linux::tracefs::{Instance, TracefsError};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The interval at which the kernel's buffer is emptied.
const EVERY: Duration = Duration::from_millis(20);

pub(super) fn run(args: &RecordArgs) -> Outcome {
    if args.command.is_empty() && args.until.is_none() {
        return Err(Failure::usage("for how long?").help("give --until TIME, or -- and a command"));
    }
    let to_stdout = args.output == Path::new("-");
    if to_stdout && args.set.is_some() {
        return Err(Failure::usage("standard output cannot have both the trace and the figures")
            .help("write the trace to a file: -o FILE"));
    }
    let set = args.set.as_deref().map(load::named_set).transpose()?;
    let interrupt = interrupt::listen();
    let mut changes = Changes::begin("layland trace record", layland_model::Duration::MAX)?;
    let mut instance = Instance::start(args.buffer, &mut changes).map_err(refused)?;
    let mut file = (!to_stdout).then(|| NewFile::create(&args.output)).transpose()?;
    let mut stdout = BufWriter::new(std::io::stdout().lock());
    let mut out: &mut dyn Write = match &mut file {
        Some(file) => file,
        None => &mut stdout,
    };
    let mut child = start(args, &instance)?;
    let unwritten = |error: std::io::Error| {
        Failure::refused(format!("failed to record into {}: {error}", args.output.display()))
    };
    let begin = now();
    let mut status = None;
    loop {
        instance.drain(&mut out).map_err(unwritten)?;
        if interrupt.load(Ordering::SeqCst) {
            break;
        }
        if let Some(child) = &mut child
            && let Some(ended) = child.try_wait().map_err(unwritten)?
        {
            status = Some(ended);
            break;
        }
        if args.until.is_some_and(|length| now().saturating_sub(begin) >= length.ns()) {
            break;
        }
        wait(EVERY);
    }
    if let (Some(child), None) = (&mut child, status) {
        // The time is over, or the user has ended the recording.
        let _ = child.kill();
        let _ = child.wait();
    }
    let lost = instance.finish(&mut out).map_err(unwritten)?;
    out.flush().map_err(unwritten)?;
    drop(stdout);
    if let Some(file) = file {
        file.keep()?;
    }
    let taken_back = crate::commands::run::end(changes, Exit::Yes);
    if !to_stdout {
        terminal::talk(&format!("wrote {}", args.output.display()));
    }
    if let Some(status) = status.filter(|status| !status.success()) {
        terminal::warn(&format!("the command ended with {status}"), None);
    }
    if taken_back != Exit::Yes {
        return Ok(taken_back);
    }
    if lost > 0 {
        terminal::warn(
            &format!("{lost} events were lost: the trace supports no verdict"),
            Some("choose a larger --buffer"),
        );
        return Ok(Exit::Untrusted);
    }
    if let Some(set) = set {
        let input =
            InputArgs { set: args.set.clone(), thread: None, tid: Vec::new(), origin: None };
        let loaded = load::load(&args.output.to_string_lossy(), &input, Some(&set))?;
        loaded.tell();
        return show::figures_of(&loaded, false);
    }
    Ok(if interrupt.load(Ordering::SeqCst) { Exit::Interrupted } else { Exit::Yes })
}

/// Records the kernel for some time from now on, or until Ctrl-C. Returns the text of the trace.
pub(super) fn live(length: layland_model::Duration) -> Result<String, Failure> {
    let interrupt = interrupt::listen();
    let mut changes = Changes::begin("layland trace infer", layland_model::Duration::MAX)?;
    let mut instance = Instance::start(None, &mut changes).map_err(refused)?;
    let unread = |error: std::io::Error| {
        Failure::refused(format!("failed to read the kernel's trace: {error}"))
    };
    let mut bytes = Vec::new();
    let begin = now();
    while now().saturating_sub(begin) < length.ns() && !interrupt.load(Ordering::SeqCst) {
        instance.drain(&mut bytes).map_err(unread)?;
        if bytes.len() as u64 > LARGEST_TRACE {
            terminal::warn("the trace is too long: it ends here", None);
            break;
        }
        wait(EVERY);
    }
    instance.finish(&mut bytes).map_err(unread)?;
    crate::commands::run::end(changes, Exit::Yes);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn refused(error: TracefsError) -> Failure {
    Failure::refused(error.to_string()).help(error.help())
}

fn start(args: &RecordArgs, instance: &Instance) -> Result<Option<Child>, Failure> {
    let Some((program, rest)) = args.command.split_first() else { return Ok(None) };
    let child = Command::new(program)
        .args(rest)
        .env(crate::commands::run::MARKER_VARIABLE, instance.path().join("trace_marker"))
        .stdin(Stdio::inherit())
        .spawn();
    child.map(Some).map_err(|error| {
        Failure::refused(format!("failed to start {}: {error}", program.to_string_lossy()))
    })
}

#[expect(clippy::disallowed_methods, reason = "a recording takes real time")]
fn wait(length: Duration) {
    std::thread::sleep(length);
}

/// Returns the monotonic time in nanoseconds.
fn now() -> i64 {
    layland_linux::now_ns()
}
