//! The CPUs of a group: which are idle, which runs the job of lowest priority, and which get jobs.

use super::least::{Least, NEVER};
use std::hint::select_unpredictable;

/// The key of a CPU that runs nothing. No job has it, and it is before that of every job, so that a
/// search for the lowest job never finds such a CPU.
pub(super) const IDLE: u64 = 0;
/// The number of CPUs up to which the lowest running job is searched among all, and only when it is
/// needed.
const FEW_CPUS: usize = 32;

/// The job that a CPU runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningJob {
    /// Its key, or [`IDLE`].
    pub key: u64,
    pub start: u64,
    pub end: u64,
}

/// The CPUs that run nothing, as bits.
#[derive(Debug)]
pub(super) struct IdleCpus {
    words: Vec<u64>,
    pub count: usize,
}

impl IdleCpus {
    pub(super) fn all(cpus: usize) -> IdleCpus {
        let mut idle = IdleCpus { words: vec![0; cpus.div_ceil(64)], count: 0 };
        (0..cpus).for_each(|cpu| idle.insert(cpu));
        idle
    }
    #[inline(always)]
    pub(super) fn insert(&mut self, cpu: usize) {
        self.words[cpu / 64] |= 1 << (cpu % 64);
        self.count += 1;
    }
    #[inline(always)]
    pub(super) fn remove(&mut self, cpu: usize) {
        self.words[cpu / 64] &= !(1 << (cpu % 64));
        self.count -= 1;
    }
    #[inline(always)]
    pub(super) fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 != 0)
    }
    #[inline(always)]
    pub(super) fn lowest(&self) -> usize {
        let word = self.words.iter().position(|&word| word != 0);
        let word = word.expect("there is an idle CPU for each job that starts");
        word * 64 + self.words[word].trailing_zeros() as usize
    }
}

/// The running job of lowest priority, which has the greatest key.
#[derive(Debug)]
pub(super) enum Lowest {
    /// Its key, or [`IDLE`] if it is not known.
    Cached(u64),
    /// The complements of all keys.
    Tracked(Least),
}

impl Lowest {
    pub(super) fn of(cpus: usize) -> Lowest {
        if cpus <= FEW_CPUS { Lowest::Cached(IDLE) } else { Lowest::Tracked(Least::new(cpus)) }
    }

    /// Notes that a CPU runs a job with this key.
    #[inline(always)]
    pub(super) fn runs(&mut self, cpu: usize, key: u64) {
        match self {
            Lowest::Tracked(keys) => keys.set(cpu, !key),
            Lowest::Cached(lowest) => {
                let is_lower = (*lowest != IDLE) & (key > *lowest);
                *lowest = select_unpredictable(is_lower, key, *lowest);
            }
        }
    }

    /// Notes that a CPU no longer runs the job with this key.
    #[inline(always)]
    pub(super) fn runs_no_more(&mut self, cpu: usize, key: u64) {
        match self {
            Lowest::Tracked(keys) => keys.set(cpu, NEVER),
            Lowest::Cached(lowest) => *lowest = select_unpredictable(*lowest == key, IDLE, *lowest),
        }
    }

    /// Returns the key of the lowest of the running jobs; [`IDLE`] if no job runs.
    #[inline(always)]
    pub(super) fn key(&mut self, running: &[RunningJob]) -> u64 {
        match self {
            Lowest::Tracked(keys) => !keys.first(),
            Lowest::Cached(lowest) => {
                if *lowest == IDLE {
                    let greater = |a, b| select_unpredictable(a > b, a, b);
                    *lowest = running.iter().fold(IDLE, |most, job| greater(job.key, most));
                }
                *lowest
            }
        }
    }
}

/// Memory for the placement of several jobs, kept from turn to turn.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The keys of the jobs that start, highest first.
    pub starting: Vec<u64>,
    /// Those of `starting` that go back to their last CPU, and the others.
    pub own: Vec<u64>,
    pub others: Vec<u64>,
    /// The job that each CPU prefers, as a position in `starting`; [`NOBODY`] between turns.
    pub preferred: Vec<u32>,
}
