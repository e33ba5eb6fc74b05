//! What the kernel's trace says of the threads with reservations, for the files of `--output`.

use crate::ui::exit::Failure;
use crate::ui::files::LARGEST_TRACE;
use crate::ui::output::Output;
use crate::ui::recorded::{Recorded, summary};
use crate::ui::table::{self, Style};
use crate::ui::terminal;
use layland_interchange::kernel::{self, ReadOptions, Threads};
use layland_linux::exec::Reserving;
use layland_linux::tracefs::{Instance, TracefsError};
use layland_model::{Duration, Index, System, Task, TaskId, counted};
use layland_report::{Line, Severity};
use layland_trace::{MarkKind, Scratch, Spool, Trace};
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
        let mut rows = Vec::new();
        for (of, task) in system.tasks.iter() {
            let is_it = |kind: &MarkKind| matches!(kind, MarkKind::BudgetExhausted(job, _) if job.task == of);
            let used_up = import.trace.marks.iter().filter(|mark| is_it(&mark.kind)).count();
            let Arrived { jobs, late } = Arrived::of(&import.trace, of, task.period);
            rows.push([
                task.name.to_string(),
                jobs.to_string(),
                late.to_string(),
                used_up.to_string(),
            ]);
            if used_up > 0 {
                let times = counted(used_up, "time");
                let text = format!("{}: its budget was used up {times}.", task.name);
                lines.push(Line::new(Severity::Note, text));
            }
            if late > 0 {
                let text = format!(
                    "{}: {late} of {} late; one that lasts for several periods counts as so many.",
                    task.name,
                    counted(jobs, "job")
                );
                lines.push(Line::new(Severity::Warning, text));
            }
        }
        if !about.is_quiet {
            let style = Style { ascii: false, colours: terminal::talk_colours() };
            let heads = ["reservation", "jobs", "late", "budget used up"];
            terminal::talk(&table::plain(heads, rows.into_iter(), style));
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

/// The jobs of a thread by the periods in which they arrive: one that lasts into the next periods is theirs, too, since
/// a program that has fallen behind does the work of several in one go.
struct Arrived {
    jobs: u64,
    late: u64,
}

impl Arrived {
    fn of(trace: &Trace, task: TaskId, period: Duration) -> Arrived {
        let mut all = Arrived { jobs: 0, late: 0 };
        for record in trace.jobs.iter().filter(|record| record.job.id.task == task) {
            let job = &record.job;
            let took = record.end.map_or(trace.over, |(at, _)| at) - job.arrival;
            let (jobs, late) = arrived(took, job.deadline - job.arrival, period);
            (all.jobs, all.late) = (all.jobs + jobs, all.late + late);
        }
        all
    }
}

/// How many jobs arrive within the length of one, and how many of these are late when it ends.
fn arrived(took: Duration, deadline: Duration, period: Duration) -> (u64, u64) {
    let of = |length: Duration| {
        let (length, period) =
            (length.ns().max(0).unsigned_abs(), period.ns().max(1).unsigned_abs());
        length.div_ceil(period)
    };
    (of(took).max(1), of(took - deadline))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_lasts_for_several_periods_is_late_in_each_of_them() {
        let of = |took, deadline| {
            let ms = Duration::from_ms;
            arrived(ms(took), ms(deadline), ms(10))
        };
        assert_eq!(of(0, 10), (1, 0));
        assert_eq!(of(10, 10), (1, 0));
        // The second one has its deadline at 20 ms.
        assert_eq!(of(11, 10), (2, 1));
        assert_eq!(of(20, 10), (2, 1));
        assert_eq!(of(21, 10), (3, 2));
        assert_eq!(of(9, 8), (1, 1));
        assert_eq!(of(18, 8), (2, 1));
        assert_eq!(of(19, 8), (2, 2));
        // Deadlines beyond the period.
        assert_eq!(of(25, 20), (3, 1));
    }
}
