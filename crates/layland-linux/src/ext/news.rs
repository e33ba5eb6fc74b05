//! What the mechanism has told, and what follows from it besides the events of the policy.

use super::shared::{CPUS, Record, kind};
use super::threads::Thread;
use crate::manager::overheads::Distribution;
use layland_model::{CpuId, Index, TaskId, TaskMap};

/// As many guesses and CPUs that come or go are kept until the next decision.
const ROOM: usize = 1024;

/// What a CPU did by itself: gave itself to a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess {
    pub cpu: CpuId,
    pub thread: usize,
}

/// What has been told, and not been dealt with.
#[derive(Debug)]
pub(super) struct News {
    pub count: u32,
    pub guesses: Vec<Guess>,
    pub cpus: Vec<(CpuId, bool)>,
    /// All of them, and when.
    pub cpu_changes: Vec<(i64, CpuId, bool)>,
    /// How many threads have fallen asleep, and when the last one did on each CPU of the machine, until another runs.
    pub sleeps: u64,
    pub slept: [Option<i64>; CPUS],
    /// From a wake-up to the CPU that it takes at once, and from the end of a job to the next one, which waits.
    pub wake_to_run: Distribution,
    pub end_to_next: Distribution,
    /// Why the run is over, if it is.
    pub over: Option<String>,
    /// Threads that have left their class, where that does not end the run.
    pub left: Vec<usize>,
    leaving_ends: bool,
}

impl News {
    /// Whether the run is over when a thread leaves its class.
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

    /// Takes in what was told; `cpu_of` is the CPU of the platform that one of the machine carries.
    pub fn absorb(
        &mut self,
        record: &Record,
        threads: &mut TaskMap<Thread>,
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
            // The budget, and why it is gone, are in the shared records.
            kind::USED_UP | kind::GONE => {}
            _ => {}
        }
        self.count = self.count.wrapping_add(1);
    }

    /// A thread has come to a CPU.
    fn ran(&mut self, thread: &mut Thread, record: &Record, cpu: Option<CpuId>) {
        let at = record.at as i64;
        if thread.cpu == cpu && thread.raised_ns.is_some_and(|raised| raised <= at) {
            thread.came.get_or_insert(at);
        }
        let woke = thread.woke.take();
        let slept =
            usize::try_from(record.cpu).ok().and_then(|host| self.slept[host % CPUS].take());
        match (woke, slept) {
            // Nothing has ended meanwhile, so that it took its CPU at once.
            (Some((woke, sleeps)), _) if sleeps == self.sleeps => {
                self.wake_to_run.record(at - woke)
            }
            // It waited when the job before it ended.
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
