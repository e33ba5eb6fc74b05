//! The kernel's trace of the threads with reservations. At the end it yields the number of jobs and
//! of late jobs, and the files of `--output`.

use crate::ui::exit::Failure;
use crate::ui::files::LARGEST_TRACE;
use crate::ui::output::Output;
use crate::ui::recorded::{Recorded, summary};
use crate::ui::table::{self, Style};
use crate::ui::terminal;
use layland_guarantee::admission::Reservation;
use layland_interchange::kernel::{self, Counted, JobCounter, ReadOptions, Threads};
use layland_linux::exec::{Reserving, monotonic_ns};
use layland_linux::tracefs::{Instance, TracefsError};
use layland_model::{Duration, Index, System, Task, TaskId, counted};
use layland_report::{Line, Severity};
use layland_trace::{Scratch, Spool};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The number of bytes of a trace that are kept in memory. The rest is kept in a file.
const ROOM: usize = 16 << 20;

/// Without output files, jobs are counted from this long after the first reservation on: a program
/// that loads does nothing periodic yet, and a short program need not wait for the kernel to set up
/// and end a recording.
const COUNTED_AFTER_NS: i64 = 1_000_000_000;

/// A recording of the kernel's trace. For output files, it lasts from the start of the program to
/// its end.
pub(super) struct Seen {
    outputs: Vec<Output>,
    /// `Some` while the trace is recorded.
    instance: Option<Instance>,
    /// The time at which the recording is to begin, if it has not.
    begins_ns: Option<i64>,
    /// The times at which the first and the last of the slots got their threads, of those that had
    /// one soon.
    reserved_ns: Option<(i64, i64)>,
    /// True if there are threads that are not recorded yet.
    has_more: bool,
    /// The whole trace, if output files are made from it.
    text: Option<Whole>,
    counter: JobCounter,
    /// Every thread that has had a reservation.
    threads: BTreeMap<u32, Thread>,
    lost: u64,
    /// The reason why nothing is recorded.
    refused: Option<TracefsError>,
}

/// The counts of a thread.
#[derive(Clone, Copy)]
struct Thread {
    slot: usize,
    deadline: Duration,
    period: Duration,
    figures: Figures,
}

/// The counts of jobs. A job that extends into later periods counts in each of them, because a
/// program that is behind does the work of several jobs at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    jobs: u64,
    late: u64,
    used_up: u64,
}

/// The trace so far, up to the largest readable size.
struct Whole {
    spool: Spool,
    length: u64,
    is_cut: bool,
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Cut the trace at the end of a line: half an event would count as damaged.
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
    /// Creates the recording, and starts it at once if there are files to write.
    pub(super) fn begin(paths: &[PathBuf], reserving: &mut Reserving) -> Result<Seen, Failure> {
        let outputs = Output::all(paths, &[])?;
        let folder = outputs.first().map(|first| first.path.parent().unwrap_or(Path::new("")));
        let text = folder.map(|folder| Whole {
            spool: Scratch::in_folder(folder, ROOM).spool(),
            length: 0,
            is_cut: false,
        });
        let refused = |error: TracefsError| Failure::refused(error.to_string()).help(error.help());
        let instance = text.is_some().then(|| reserving.record().map_err(refused)).transpose()?;
        Ok(Seen {
            outputs,
            instance,
            begins_ns: None,
            reserved_ns: None,
            has_more: false,
            text,
            counter: JobCounter::default(),
            threads: BTreeMap::new(),
            lost: 0,
            refused: None,
        })
    }

    /// Records that a thread has got the reservation of a slot.
    pub(super) fn has_slot(&mut self, thread: i32, slot: usize, of: &Reservation) {
        let (tid, figures) = (thread.unsigned_abs(), Figures::default());
        let Reservation { deadline, period, .. } = *of;
        let now = monotonic_ns();
        if self.text.is_none() && self.threads.is_empty() {
            self.begins_ns = Some(now + COUNTED_AFTER_NS);
        }
        let (first, last) = self.reserved_ns.unwrap_or((now, now));
        let is_new = self.threads.values().all(|thread| thread.slot != slot);
        let is_soon = now - first <= COUNTED_AFTER_NS;
        self.reserved_ns = Some((first, if is_new && is_soon { now } else { last }));
        if is_new && is_soon && self.text.is_some() {
            // The page begins anew, and so do the counts.
            self.drain();
            self.threads.values_mut().for_each(|thread| thread.figures = Figures::default());
        }
        self.threads.entry(tid).or_insert(Thread { slot, deadline, period, figures });
        self.counter.follow(tid);
        self.has_more = self.text.is_none();
    }

    /// Starts the recording when its time has come.
    pub(super) fn begin_to_count(&mut self, reserving: &mut Reserving) {
        if self.begins_ns.is_none_or(|at| at > monotonic_ns()) {
            return;
        }
        self.begins_ns = None;
        match reserving.record() {
            Ok(instance) => self.instance = Some(instance),
            Err(error) => self.refused = Some(error),
        }
    }

    /// Moves recorded data out of the kernel's buffer.
    pub(super) fn drain(&mut self) {
        let Some(mut instance) = self.instance.take() else { return };
        if std::mem::take(&mut self.has_more) {
            // This takes the kernel some 50 ms, so it is done once for all threads that are new
            // since the last time.
            let all: Vec<u32> = self.threads.keys().copied().collect();
            instance.keep_only(&all);
        }
        let mut bytes = Vec::new();
        let drained = instance.drain(&mut bytes).and_then(|()| self.take(&bytes));
        match drained {
            Ok(()) => self.instance = Some(instance),
            Err(error) => {
                terminal::warn(&format!("failed to read the kernel's trace: {error}"), None);
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let counted = self.counter.read(&String::from_utf8_lossy(bytes));
        self.count(counted);
        self.text.as_mut().map_or(Ok(()), |text| text.write_all(bytes))
    }

    fn count(&mut self, all: Vec<Counted>) {
        for counted in all {
            let (Counted::Job { thread, .. } | Counted::BudgetUsedUp { thread }) = counted;
            let Some(Thread { deadline, period, figures, .. }) = self.threads.get_mut(&thread)
            else {
                continue;
            };
            match counted {
                Counted::Job { response, .. } => figures.add(response, *deadline, *period),
                Counted::BudgetUsedUp { .. } => figures.used_up += 1,
            }
        }
    }

    /// Ends the recording, before the kernel's buffer is given back.
    pub(super) fn end(&mut self) {
        self.begins_ns = None;
        let Some(instance) = self.instance.take() else { return };
        let mut bytes = Vec::new();
        let ended = instance.finish(&mut bytes).and_then(|lost| {
            self.lost = lost;
            self.take(&bytes)
        });
        if let Err(error) = ended {
            terminal::warn(&format!("failed to read the kernel's trace: {error}"), None);
        }
        let rest = self.counter.finish();
        self.count(rest);
    }

    /// Returns the counts of a slot, over all threads that have had it.
    fn figures(&self, slot: usize) -> Figures {
        let of_slot = self.threads.values().filter(|thread| thread.slot == slot);
        of_slot.fold(Figures::default(), |all, Thread { figures, .. }| Figures {
            jobs: all.jobs + figures.jobs,
            late: all.late + figures.late,
            used_up: all.used_up + figures.used_up,
        })
    }

    /// Reports the counts.
    fn tell(&self, about: &About<'_>) {
        if let Some(error) = &self.refused {
            let help = error.help();
            terminal::talk(&format!("the jobs were not counted: {error} ({help})"));
            return;
        }
        let figures = |(slot, task): (usize, &Task)| (task.name.to_string(), self.figures(slot));
        let of: Vec<(String, Figures)> = about.tasks.iter().enumerate().map(figures).collect();
        // A program that ended at once had no job.
        if of.iter().all(|(_, figures)| *figures == Figures::default()) {
            return;
        }
        let short: Vec<&str> = of
            .iter()
            .filter(|(_, figures)| figures.late > 0 && figures.used_up > 0)
            .map(|(name, _)| &**name)
            .collect();
        let short = (!short.is_empty()).then(|| short.join(", "));
        let style = Style { ascii: false, colours: terminal::talk_colours() };
        let heads = ["reservation", "jobs", "late", "budget used up"];
        let rows = of.into_iter().map(|(name, Figures { jobs, late, used_up })| {
            [name, jobs.to_string(), late.to_string(), used_up.to_string()]
        });
        terminal::talk(&table::plain(heads, rows, style));
        if let Some(names) = short {
            terminal::talk(&format!("late with its budget used up: reserve more for {names}"));
        }
        if self.lost > 0 {
            let lost = counted(usize::try_from(self.lost).unwrap_or(usize::MAX), "event");
            terminal::warn(&format!("there were more: the kernel has dropped {lost}"), None);
        }
    }

    /// Reports the counts, and writes the files.
    pub(super) fn write(mut self, about: &About<'_>) -> Result<(), Failure> {
        if !about.is_quiet {
            self.tell(about);
        }
        let Some(Whole { spool, is_cut, .. }) = self.text.take() else { return Ok(()) };
        let mut bytes = Vec::new();
        let read = spool.read_again().and_then(|mut text| text.read_to_end(&mut bytes));
        read.map_err(|error| {
            Failure::refused(format!("failed to read what was recorded: {error}"))
        })?;
        let system = System::new(about.cpus, about.tasks.clone());
        let tasks = self.threads.iter();
        let tasks: BTreeMap<u32, TaskId> =
            tasks.map(|(&tid, thread)| (tid, TaskId::from_index(thread.slot))).collect();
        let threads = Threads::Known(&system, &tasks);
        let text = String::from_utf8_lossy(&bytes);
        let whole = ReadOptions { threads, ..ReadOptions::default() };
        // The policy is not to blame for what threads did before they had their reservations. The times
        // are those of the trace's clock.
        let from_ns = self.reserved_ns.map(|(_, last)| last);
        let reserved = kernel::read(&text, &ReadOptions { from_ns, ..whole });
        let import = reserved
            .or_else(|_| kernel::read(&text, &whole))
            .map_err(|error| Failure::refused(format!("the kernel's trace: {error}")))?;
        let mut lines: Vec<Line> = Vec::new();
        if let Some((first, last)) = self.reserved_ns
            && last > first
        {
            let text = format!(
                "The page begins when each of these threads had its reservation, {:#} after the first of them.",
                Duration::from_ns(last - first)
            );
            lines.push(Line::new(Severity::Note, text));
        }
        for (of, task) in system.tasks.iter() {
            let Figures { jobs, late, used_up } = self.figures(of.index());
            let many =
                |count: u64, what| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
            if used_up > 0 {
                let times = many(used_up, "time");
                let text = format!("{}: its budget was used up {times}.", task.name);
                lines.push(Line::new(Severity::Note, text));
            }
            if late > 0 {
                let text = format!(
                    "{}: {late} of {} late; one that lasts for several periods counts once for each.",
                    task.name,
                    many(jobs, "job")
                );
                lines.push(Line::new(Severity::Warning, text));
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
        self.outputs.iter().try_for_each(|output| recorded.write(output, about.is_quiet))
    }
}

impl Figures {
    /// Adds a job of length `took`: counts the jobs that arrived within it, and those that were
    /// late at its end.
    fn add(&mut self, took: Duration, deadline: Duration, period: Duration) {
        let of = |length: Duration| {
            let (length, period) =
                (length.ns().max(0).unsigned_abs(), period.ns().max(1).unsigned_abs());
            length.div_ceil(period)
        };
        self.jobs += of(took).max(1);
        self.late += of(took - deadline);
    }
}

/// The description of a run for its files.
pub(super) struct About<'a> {
    pub(super) name: &'a str,
    pub(super) what: &'a str,
    pub(super) policy: &'a str,
    /// One more than the highest online CPU.
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
            let mut figures = Figures::default();
            figures.add(ms(took), ms(deadline), ms(10));
            (figures.jobs, figures.late)
        };
        assert_eq!(of(0, 10), (1, 0));
        assert_eq!(of(10, 10), (1, 0));
        // The deadline of the second job is at 20 ms.
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
