//! The records of the mechanism, and their effects besides the events of the policy.

use super::shared::{CPUS, MechanismRecord, kind};
use super::threads::CarriedThread;
use crate::manager::overheads::Distribution;
use layland_model::{CpuId, Index, TaskId, TaskMap};

/// The largest number of guesses, and of CPU changes, that are kept until the next decision.
const ROOM: usize = 1024;

/// An autonomous action of a CPU: it took a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess {
    pub cpu: CpuId,
    pub thread: usize,
}

/// The news that the manager has received but not processed.
#[derive(Debug)]
pub(super) struct News {
    pub count: u32,
    pub guesses: Vec<Guess>,
    pub cpus: Vec<(CpuId, bool)>,
    /// All changes of CPUs, with their times.
    pub cpu_changes: Vec<(i64, CpuId, bool)>,
    /// The number of threads that have fallen asleep, and the time of the last sleep on each CPU of
    /// the machine until another thread runs there.
    pub sleeps: u64,
    pub slept: [Option<i64>; CPUS],
    /// The latencies from a wake-up to a CPU that is taken at once, and from the end of a job to
    /// the start of a waiting one.
    pub wake_to_run: Distribution,
    pub end_to_next: Distribution,
    /// The reason why the run is over, if it is.
    pub over: Option<String>,
    /// Threads that have left their class, unless that ends the run.
    pub left: Vec<usize>,
    leaving_ends: bool,
}

impl News {
    /// Creates empty news. The run ends when a thread leaves its class if `leaving_ends` is true.
    pub fn new(leaving_ends: bool) -> News {
        News {
            count: 0,
            guesses: Vec::with_capacity(ROOM),
            cpus: Vec::with_capacity(ROOM),
            cpu_changes: Vec::with_capacity(ROOM),
            sleeps: 0,
            slept: [None; CPUS],
            wake_to_run: Distribution::default(),
            end_to_next: Distribution::default(),
            over: None,
            left: Vec::with_capacity(ROOM),
            leaving_ends,
        }
    }

    /// Processes a record; `cpu_of` maps a CPU of the machine to one of the platform.
    pub fn absorb(
        &mut self,
        record: &MechanismRecord,
        threads: &mut TaskMap<CarriedThread>,
        cpu_of: impl Fn(i32) -> Option<CpuId>,
    ) {
        let index = record.thread as usize;
        match record.kind {
            kind::RUNS => {
                if index < threads.len() {
                    let cpu = cpu_of(record.cpu);
                    self.ran(&mut threads[TaskId::from_index(index)], record, cpu);
                }
                return;
            }
            kind::STOPS => return,
            kind::WOKE => {
                if index < threads.len() {
                    threads[TaskId::from_index(index)].woke = Some((record.at as i64, self.sleeps));
                }
                let cpu = record.taken1.checked_sub(1).and_then(|host| cpu_of(host as i32));
                self.guess(cpu, index);
            }
            kind::SLEPT => {
                self.sleeps += 1;
                if let Ok(host) = usize::try_from(record.cpu) {
                    self.slept[host % CPUS] = Some(record.at as i64);
                }
                if let Some(next) = record.taken1.checked_sub(1) {
                    self.guess(cpu_of(record.cpu), next as usize);
                }
            }
            kind::ONLINE | kind::OFFLINE => {
                if let Some(cpu) = cpu_of(record.cpu)
                    && self.cpus.len() < ROOM
                {
                    self.cpus.push((cpu, record.kind == kind::ONLINE));
                    self.cpu_changes.push((record.at as i64, cpu, record.kind == kind::ONLINE));
                }
            }
            kind::LEFT if !self.leaving_ends => self.left.push(index),
            kind::LEFT => {
                self.over
                    .get_or_insert_with(|| "a thread of the run has left its class".to_owned());
            }
            // The exhausted budget, and the reason for the end of the scheduler, are in the shared
            // records.
            kind::USED_UP | kind::GONE => {}
            _ => {}
        }
        self.count = self.count.wrapping_add(1);
    }

    /// Processes the arrival of a thread on a CPU.
    fn ran(&mut self, thread: &mut CarriedThread, record: &MechanismRecord, cpu: Option<CpuId>) {
        let at = record.at as i64;
        if thread.cpu == cpu && thread.raised_ns.is_some_and(|raised| raised <= at) {
            thread.came.get_or_insert(at);
        }
        let woke = thread.woke.take();
        let slept =
            usize::try_from(record.cpu).ok().and_then(|host| self.slept[host % CPUS].take());
        match (woke, slept) {
            // No thread has fallen asleep meanwhile, so this thread took its CPU at once.
            (Some((woke, sleeps)), _) if sleeps == self.sleeps => {
                self.wake_to_run.record(at - woke)
            }
            // This thread was already waiting when the previous job ended.
            (Some((woke, _)), Some(slept)) if woke < slept => self.end_to_next.record(at - slept),
            (None, Some(slept)) => self.end_to_next.record(at - slept),
            _ => {}
        }
    }

    fn guess(&mut self, cpu: Option<CpuId>, thread: usize) {
        if let Some(cpu) = cpu
            && self.guesses.len() < ROOM
        {
            self.guesses.push(Guess { cpu, thread });
        }
    }
}
