//! What the kernel's trace says of the threads with reservations, for the files of `--output`.

use crate::ui::exit::Failure;
use crate::ui::files::LARGEST_TRACE;
use crate::ui::output::Output;
use crate::ui::recorded::{Recorded, summary};
use crate::ui::terminal;
use layland_interchange::kernel::{self, ReadOptions, Threads};
use layland_linux::exec::Reserving;
use layland_linux::tracefs::{Instance, TracefsError};
use layland_model::{Index, System, Task, TaskId, counted};
use layland_report::{Line, Severity};
use layland_trace::{MarkKind, Scratch, Spool};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// So much of a trace waits in memory, and the rest in a file.
const ROOM: usize = 16 << 20;

/// A recording of the kernel's trace, from the start of the program to its end.
pub(super) struct Seen {
    outputs: Vec<Output>,
    /// Until the recording ends.
    instance: Option<Instance>,
    text: Counted,
    /// The slot of each thread that has had one.
    threads: BTreeMap<u32, TaskId>,
}

/// The trace so far, up to the limit of what can be read.
struct Counted {
    spool: Spool,
    length: u64,
    is_cut: bool,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Cut at the end of a line: half an event would be a damaged one.
        let room = usize::try_from(LARGEST_TRACE - self.length).unwrap_or(usize::MAX);
        let taken = match bytes {
            _ if self.is_cut => &[],
            all if all.len() <= room => all,
            more => {
                self.is_cut = true;
                let end = more[..room].iter().rposition(|&byte| byte == b'\n');
                &more[..end.map_or(0, |end| end + 1)]
            }
        };
        self.spool.write_all(taken)?;
        self.length += taken.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.spool.flush()
    }
}

impl Seen {
    /// Starts to record, if there are files to be written.
    pub(super) fn begin(
        paths: &[PathBuf],
        reserving: &mut Reserving,
    ) -> Result<Option<Seen>, Failure> {
        let outputs = Output::all(paths, &[])?;
        let Some(first) = outputs.first() else { return Ok(None) };
        let folder = first.path.parent().unwrap_or(Path::new("")).to_owned();
        let refused = |error: TracefsError| Failure::refused(error.to_string()).help(error.help());
        let instance = Some(reserving.record().map_err(refused)?);
        let spool = Scratch::in_folder(&folder, ROOM).spool();
        let text = Counted { spool, length: 0, is_cut: false };
        Ok(Some(Seen { outputs, instance, text, threads: BTreeMap::new() }))
    }

    /// A thread has got the reservation of a slot.
    pub(super) fn has_slot(&mut self, thread: i32, slot: usize) {
        self.threads.insert(thread.unsigned_abs(), TaskId::from_index(slot));
    }

    /// Takes what was recorded out of the kernel's buffer.
    pub(super) fn drain(&mut self) {
        let Some(instance) = &mut self.instance else { return };
        if let Err(error) = instance.drain(&mut self.text) {
            terminal::warn(&format!("failed to read the kernel's trace: {error}"), None);
            self.instance = None;
        }
    }

    /// Ends the recording, before the kernel's buffer is given back.
    pub(super) fn end(&mut self) {
        let Some(instance) = self.instance.take() else { return };
        if let Err(error) = instance.finish(&mut self.text) {
            terminal::warn(&format!("failed to read the kernel's trace: {error}"), None);
        }
    }

    /// Writes the files.
    pub(super) fn write(self, about: &About<'_>) -> Result<(), Failure> {
        let Seen { outputs, text: Counted { spool, is_cut, .. }, threads, .. } = self;
        let mut bytes = Vec::new();
        let read = spool.read_again().and_then(|mut text| text.read_to_end(&mut bytes));
        read.map_err(|error| {
            Failure::refused(format!("failed to read what was recorded: {error}"))
        })?;
        let system = System::new(about.cpus, about.tasks.clone());
        let threads = Threads::Known(&system, &threads);
        let options = ReadOptions { threads, ..ReadOptions::default() };
        let import = kernel::read(&String::from_utf8_lossy(&bytes), &options)
            .map_err(|error| Failure::refused(format!("the kernel's trace: {error}")))?;
        let mut lines: Vec<Line> = Vec::new();
        for (of, task) in system.tasks.iter() {
            let is_it = |kind: &MarkKind| matches!(kind, MarkKind::BudgetExhausted(job, _) if job.task == of);
            let count = import.trace.marks.iter().filter(|mark| is_it(&mark.kind)).count();
            if count > 0 {
                let times = counted(count, "time");
                let text = format!("{}: its budget was used up {times}.", task.name);
                lines.push(Line::new(Severity::Note, text));
            }
        }
        let inferred = "The response times are inferred: a job is what a thread does between a wake-up and its next \
                        sleep.";
        lines.push(Line::new(Severity::Note, inferred));
        let cut =
            is_cut.then(|| "The trace was too long: it ends before the program did.".to_owned());
        let doubts = import.remarks.iter().cloned().chain(cut);
        lines.extend(doubts.map(|text| Line::new(Severity::Warning, text)));
        let recorded = Recorded {
            title: format!("{} under {}", about.name, about.policy),
            name: about.policy.to_owned(),
            labels: import.labels.clone(),
            system: Some(&system),
            trace: &import.trace,
            how: Some(import.recorded()),
            summary: summary(&import.trace, &import.labels),
            lines,
            provenance: format!("layland {}: exec of {}", env!("CARGO_PKG_VERSION"), about.what),
            seed: None,
            window: None,
            ascii: false,
        };
        outputs.iter().try_for_each(|output| recorded.write(output, about.is_quiet))
    }
}

/// What the files are about.
pub(super) struct About<'a> {
    pub(super) name: &'a str,
    pub(super) what: &'a str,
    pub(super) policy: &'a str,
    /// The CPUs that are online, up to the last one.
    pub(super) cpus: usize,
    /// The reservations.
    pub(super) tasks: Vec<Task>,
    pub(super) is_quiet: bool,
}
