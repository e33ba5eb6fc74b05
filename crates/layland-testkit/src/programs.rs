//! Programs that come and go at random, for tests and for the campaign `soak`.

use layland_engine::programs::{Programs, Visit};
use layland_gen::Random;
use layland_model::{CpuId, CpuSet, Duration, Service, Task, TaskId, Time};
use layland_policy::Refusal;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A source of programs that come and go, with a limit on their number. Each uses a small share of a CPU.
pub struct Churn {
    random: Random,
    most: usize,
    next_entry: Time,
    /// The leaving times of the present programs.
    leaving: BinaryHeap<Reverse<(Time, TaskId)>>,
    /// The affinities, from which one is drawn for each program.
    affinities: Vec<Option<CpuSet>>,
    /// The number of programs that requested to enter.
    pub asked: u64,
    /// The number of rejected programs.
    pub refused: u64,
    /// The number of programs that have left.
    pub left: u64,
    /// The highest assigned id.
    pub highest: TaskId,
}

impl Churn {
    /// The mean time between the entries of two programs.
    pub const GAP: Duration = Duration::from_us(500);

    /// Creates a source from a seed, with at most `most` programs at once.
    pub fn new(seed: u64, most: usize) -> Churn {
        Churn {
            // A stream of random numbers that no task uses.
            random: Random::of_task(seed, u64::MAX - 2),
            most,
            next_entry: Time::ZERO,
            leaving: BinaryHeap::new(),
            affinities: vec![None],
            asked: 0,
            refused: 0,
            left: 0,
            highest: TaskId(0),
        }
    }

    /// Restricts half of the programs to one CPU each.
    #[must_use]
    pub fn with_single_cpus(mut self, cpus: usize) -> Churn {
        let single = (0..cpus).map(|cpu| Some(CpuSet::single(CpuId(cpu as u32))));
        self.affinities = std::iter::repeat_n(None, cpus).chain(single).collect();
        self
    }

    /// Returns the number of present programs.
    pub fn present(&self) -> usize {
        self.leaving.len()
    }

    fn length(&mut self, from: Duration, to: Duration) -> Duration {
        Duration::from_ns(self.random.between(from.ns(), to.ns()))
    }

    /// Draws a program that uses at most a 40th of a CPU.
    fn program(&mut self) -> Task {
        let period = self.length(Duration::from_ms(1), Duration::from_ms(4));
        let wcet = Service::from_ns(self.random.between(1_000, period.ns() / 40));
        let mut task = Task::implicit(format!("program {}", self.asked), wcet, period);
        let affinity = self.random.below(self.affinities.len() as u64);
        task.affinity = self.affinities[affinity as usize].clone();
        // Unlike for tasks of the set, rank and priority are random, to detect a policy that keeps
        // those of an earlier task.
        task.rank = self.random.between(-9, 9);
        task.priority = Some(self.random.between(1, 99));
        task
    }
}

impl Programs for Churn {
    fn next(&self) -> Time {
        let leaves = self.leaving.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        leaves.min(self.next_entry)
    }

    fn visit(&mut self, now: Time) -> Option<Visit> {
        if let Some(&Reverse((at, task))) = self.leaving.peek()
            && at <= now
        {
            self.leaving.pop();
            self.left += 1;
            return Some(Visit::Leaves(task));
        }
        if self.next_entry > now {
            return None;
        }
        self.next_entry = now + self.length(Duration::from_ns(1), Churn::GAP * 2);
        if self.present() >= self.most {
            return self.visit(now);
        }
        self.asked += 1;
        Some(Visit::Enters(Arc::new(self.program())))
    }

    fn entered(&mut self, now: Time, task: TaskId, refused: Option<&Refusal>) {
        self.highest = self.highest.max(task);
        if refused.is_some() {
            self.refused += 1;
            return;
        }
        let stay = self.length(Duration::from_ns(1), Duration::from_ms(20));
        self.leaving.push(Reverse((now + stay, task)));
    }
}

/// Returns the peak memory of this process, if the system reports it.
pub fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
