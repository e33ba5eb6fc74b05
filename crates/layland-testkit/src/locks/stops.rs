//! The number of preemptions of jobs, tick by tick.

use super::{RunRecord, Ticker};

/// A job that has run and lost its CPU.
#[derive(Clone, Copy)]
struct Stopped {
    seq: u64,
    cpu: usize,
    /// True if the job neither suspends itself nor waits for a lock.
    could_go_on: bool,
    /// True if the job requested or released a lock at that time.
    stepped: bool,
}

/// The states of the jobs of all tasks.
pub(super) struct Stops {
    ran: Vec<Option<(u64, usize)>>,
    stopped: Vec<Option<Stopped>>,
    pub(super) preemptions: Vec<u64>,
}

impl Stops {
    pub(super) fn new(tasks: usize) -> Stops {
        Stops { ran: vec![None; tasks], stopped: vec![None; tasks], preemptions: vec![0; tasks] }
    }

    /// Handles a tick in which each CPU runs the job of one of these tasks, before it begins.
    pub(super) fn look(&mut self, ticker: &Ticker<'_>, selected: &[Option<usize>]) {
        for task in 0..self.ran.len() {
            let Some(job) = &ticker.jobs[task] else {
                (self.ran[task], self.stopped[task]) = (None, None);
                continue;
            };
            let runs_on = selected.iter().position(|&on| on == Some(task));
            if let Some((seq, cpu)) = self.ran[task]
                && seq == job.seq
                && runs_on != Some(cpu)
            {
                let could_go_on = job.wakes.is_none() && job.asked.is_none();
                let stepped = has_stepped(&ticker.ran, ticker.now, task, seq);
                self.stopped[task] = Some(Stopped { seq, cpu, could_go_on, stepped });
            }
            self.ran[task] = runs_on.map(|cpu| (job.seq, cpu));
            if let Some(cpu) = runs_on
                && let Some(stopped) = self.stopped[task].take()
                && stopped.seq == job.seq
            {
                let moves_by_itself = stopped.cpu != cpu && stopped.stepped;
                self.preemptions[task] += u64::from(stopped.could_go_on && !moves_by_itself);
            }
        }
    }
}

fn has_stepped(ran: &RunRecord, now: i64, task: usize, seq: u64) -> bool {
    let mut at_once = ran.locks.iter().rev().take_while(|lock| lock.0 == now);
    at_once.any(|lock| (lock.1.0 as usize, lock.2) == (task, seq))
}
