//! Explains the waits of ready threads: by threads on the CPU that are
//! usually as important. The rest of a wait is the latency of the machine, or
//! the execution of a less important thread, or of a thread whose priority
//! was inherited or changed for a time: a set has only one priority per task.

use super::lives::Life;
use crate::infer::Taken;
use layland_model::Duration;
use std::collections::BTreeMap;

/// A time for which a thread held a CPU.
struct ThreadOnCpu {
    thread: usize,
    start: i64,
    end: i64,
    priority: Option<i32>,
}

/// The threads that held each CPU, in the order of time.
pub(super) struct Holders {
    /// The most frequent priority of each thread.
    usual: Vec<Option<i32>>,
    by_cpu: BTreeMap<u32, Vec<ThreadOnCpu>>,
    taken: BTreeMap<(usize, usize), Taken>,
}

impl Holders {
    pub(super) fn of(lives: &[Life], usual: Vec<Option<i32>>) -> Holders {
        let (by_cpu, taken) = (BTreeMap::new(), BTreeMap::new());
        let mut holders = Holders { usual, by_cpu, taken };
        for (thread, life) in lives.iter().enumerate() {
            for run in &life.runs {
                let priority = run.priority.or(holders.usual[thread]);
                let held = ThreadOnCpu { thread, start: run.start, end: run.end, priority };
                holders.by_cpu.entry(run.cpu).or_default().push(held);
            }
        }
        // An empty run, as at the beginning of a trace,
        // precedes the run that follows in the same instant.
        holders
            .by_cpu
            .values_mut()
            .for_each(|held| held.sort_by_key(|held| (held.start, held.end)));
        holders
    }

    /// Stores with each run the part of the wait before it that nothing as important explains.
    pub(super) fn explain(&mut self, lives: &mut [Life]) {
        for (thread, life) in lives.iter_mut().enumerate() {
            let mut before: Option<(i64, bool)> = None;
            for place in 0..life.runs.len() {
                let run = life.runs[place];
                let ready = match before {
                    Some((end, true)) => Some(end),
                    Some((_, false)) | None => {
                        let at = life.wakes.partition_point(|woken| woken.ran < run.start);
                        let woken = life.wakes.get(at).filter(|woken| woken.ran == run.start);
                        woken.map(|woken| woken.at.max(before.map_or(i64::MIN, |(end, _)| end)))
                    }
                };
                if let Some(ready) = ready {
                    life.runs[place].unexplained =
                        self.unexplained(thread, run.cpu, (ready, run.start));
                }
                let can_go_on = matches!(run.left, Some(super::super::line::StateAfter::Runnable));
                before = Some((run.end, can_go_on));
            }
        }
    }

    /// Returns the time of a wait in which nothing as important had the CPU. Returns 0 for threads
    /// that are not of a real-time class, because they wait by other rules.
    pub(super) fn unexplained(&mut self, thread: usize, cpu: u32, (from, to): (i64, i64)) -> i64 {
        let Some(own) = self.usual[thread].filter(|own| *own < 100) else { return 0 };
        if to <= from {
            return 0;
        }
        let mut left = to - from;
        let mut by: BTreeMap<usize, (i64, i32)> = BTreeMap::new();
        let held = self.by_cpu.get(&cpu).map_or(&[][..], Vec::as_slice);
        let last = held.partition_point(|held| held.start < to);
        for held in held[..last].iter().rev() {
            // Runs do not overlap, so the search ends at one that began before the wait.
            let overlap = held.end.min(to) - held.start.max(from);
            if overlap > 0 {
                let priority = held.priority.unwrap_or(i32::MAX);
                let is_as_important = self.usual[held.thread].is_some_and(|usual| usual <= own);
                if held.thread == thread || is_as_important {
                    left -= overlap;
                }
                if held.thread != thread {
                    by.entry(held.thread).or_insert((0, priority)).0 += overlap;
                }
            }
            if held.start <= from {
                break;
            }
        }
        for (by, (length, priority)) in by {
            let length = Duration::from_ns(length);
            let taken = self.taken.entry((thread, by)).or_insert(Taken {
                from: thread,
                by,
                priority,
                longest: Duration::ZERO,
                total: Duration::ZERO,
            });
            taken.longest = taken.longest.max(length);
            taken.total += length;
            taken.priority = taken.priority.min(priority);
        }
        left.max(0)
    }

    /// Returns the time since which threads as important
    /// as this one have had a CPU, up to an instant.
    pub(super) fn busy_since(&self, thread: usize, cpu: u32, to: i64) -> i64 {
        let held = self.by_cpu.get(&cpu).map_or(&[][..], Vec::as_slice);
        let own = self.usual[thread];
        let mut since = to;
        for held in held[..held.partition_point(|held| held.start < to)].iter().rev() {
            let is_as_important =
                self.usual[held.thread].zip(own).is_some_and(|(it, own)| it <= own);
            if held.end < since || !is_as_important {
                break;
            }
            since = since.min(held.start);
        }
        since
    }

    /// Returns the threads that had CPUs for which others waited, ordered by the waiting thread.
    pub(super) fn taken(self) -> Vec<Taken> {
        self.taken.into_values().collect()
    }
}
