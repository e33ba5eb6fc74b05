//! One cycle through the phases of a thread, split into jobs at its waits.

use super::{Phase, Step, limited};

/// A stretch of execution up to a wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Job {
    pub(super) run: i64,
    /// The period of the timer, or the length of the sleep, that ends it.
    pub(super) wait: i64,
}

/// One cycle through the phases, split into jobs.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    /// Sequences of jobs, each with its number of repetitions.
    pub(super) blocks: Vec<(Vec<Job>, u64)>,
    /// The execution time after the last wait.
    pub(super) tail: i64,
}

impl Cycle {
    pub(super) fn of(phases: &[&Phase], by_timer: bool) -> Cycle {
        // Sums saturate; `limited` later cuts them to the valid range.
        let mut cycle = Cycle::default();
        let mut open = Job::default();
        for phase in phases {
            let times = phase.times.unwrap_or(1);
            let mut jobs = Vec::new();
            let before = open;
            for step in &phase.steps {
                match *step {
                    Step::Run(ns) => open.run = open.run.saturating_add(ns),
                    Step::Timer(ns) if ns > 0 && by_timer => {
                        jobs.push(Job { wait: ns, ..open });
                        open = Job::default();
                    }
                    Step::Sleep(ns) if ns > 0 && !by_timer => {
                        jobs.push(Job { wait: ns, ..open });
                        open = Job::default();
                    }
                    Step::Timer(_)
                    | Step::Sleep(_)
                    | Step::Yield
                    | Step::Lock(_)
                    | Step::Unlock(_) => {}
                }
            }
            if let Some(first) = jobs.first().copied() {
                let tail = open;
                cycle.blocks.push((jobs.clone(), 1));
                if times > 1 {
                    // On repetition, the first job begins with the end of the repetition before.
                    let own = first.run.saturating_sub(before.run);
                    jobs[0] = Job { run: own.saturating_add(tail.run), ..first };
                    cycle.blocks.push((jobs, times - 1));
                }
            } else {
                // A phase without a wait only extends the current job, once per repetition.
                let times = i64::try_from(times).unwrap_or(i64::MAX);
                let own = open.run.saturating_sub(before.run);
                open.run = before.run.saturating_add(own.saturating_mul(times));
            }
        }
        cycle.tail = open.run;
        cycle
    }

    /// The distinct jobs of the cycle.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.blocks.iter().flat_map(|(jobs, _)| jobs)
    }

    pub(super) fn first_mut(&mut self) -> Option<&mut Job> {
        self.blocks.first_mut()?.0.first_mut()
    }

    /// The number of jobs in the cycle.
    pub(super) fn length(&self) -> u64 {
        let lengths =
            self.blocks.iter().map(|(jobs, times)| times.saturating_mul(jobs.len() as u64));
        lengths.fold(0, u64::saturating_add)
    }

    /// Returns the cycle as a single job.
    pub(super) fn merged(&self) -> Cycle {
        let sum = |of: fn(&Job) -> i64| {
            let blocks = self.blocks.iter().map(|(jobs, times)| {
                let one = jobs.iter().map(of).fold(0, i64::saturating_add);
                one.saturating_mul(i64::try_from(*times).unwrap_or(i64::MAX))
            });
            blocks.fold(0, i64::saturating_add)
        };
        let job = Job { run: sum(|job| job.run), wait: limited(sum(|job| job.wait)) };
        Cycle { blocks: vec![(vec![job], 1)], tail: self.tail }
    }
}
