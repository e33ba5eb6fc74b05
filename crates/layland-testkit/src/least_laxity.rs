//! LLF and MLLF one nanosecond at a time, by their definitions: at each tick that is an evaluation
//! of laxities, the ready jobs are sorted, and the first `m` run until the next evaluation.
//!
//! The result has the finishing times of jobs, for periodic tasks on unit-speed CPUs, with their
//! rules for late jobs.

use crate::ticks::Finished;
use layland_model::{LaxityRule, OnMiss, System, TaskId, Time};

#[derive(Clone, Copy, PartialEq, Eq)]
struct LaxityJob {
    task: TaskId,
    seq: u64,
    deadline: i64,
    left: i64,
}

impl LaxityJob {
    fn laxity(&self, now: i64) -> i64 {
        self.deadline - now - self.left
    }

    fn is(&self, other: &LaxityJob) -> bool {
        (self.task, self.seq) == (other.task, other.seq)
    }
}

/// Returns every job that finishes up to `until`, in the order of finishing and task.
pub fn simulate(system: &System, rule: LaxityRule, until: Time) -> Vec<Finished> {
    let m = system.platform.cpu_count();
    let (mut pending, mut running): (Vec<LaxityJob>, Vec<LaxityJob>) = (Vec::new(), Vec::new());
    let mut finished = Vec::new();
    // True if something happens at this tick, and the time of the rule's own next evaluation.
    let (mut happens, mut next_look) = (true, i64::MAX);
    for now in 0..until.ns() {
        let aborts = |job: &LaxityJob| system.tasks[job.task].on_miss == OnMiss::Abort;
        let before = pending.len();
        pending.retain(|job| !(aborts(job) && job.deadline <= now));
        happens |= pending.len() < before;
        for (id, task) in system.tasks.iter() {
            let since = now - task.offset.ns();
            let is_busy = pending.iter().any(|job| job.task == id);
            let skips = task.on_miss == OnMiss::Skip && is_busy;
            if since >= 0 && since % task.period.ns() == 0 && !skips {
                happens = true;
                pending.push(LaxityJob {
                    task: id,
                    seq: (since / task.period.ns()) as u64,
                    deadline: now + task.deadline.ns(),
                    left: task.own_wcet().ns(),
                });
            }
        }
        if happens || now == next_look {
            let is_first = |job: &&LaxityJob| {
                pending.iter().all(|other| other.task != job.task || other.seq >= job.seq)
            };
            let mut ready: Vec<LaxityJob> = pending.iter().filter(is_first).copied().collect();
            ready.sort_by_key(|job| {
                let runs = running.iter().any(|other| other.is(job));
                let tie = match rule {
                    LaxityRule::Quantum { running_first, .. } => i64::from(running_first && !runs),
                    LaxityRule::Modified => job.deadline,
                };
                (job.laxity(now), tie, system.tasks[job.task].rank, job.task)
            });
            let waiting = ready.split_off(m.min(ready.len()));
            running = ready;
            next_look = match (running.last(), waiting.first(), rule) {
                (Some(_), Some(_), LaxityRule::Quantum { quantum, .. }) => {
                    (now / quantum.ns() + 1) * quantum.ns()
                }
                (Some(last), Some(first), LaxityRule::Modified) => {
                    let out_of_laxity = waiting.iter().map(|job| now + job.laxity(now));
                    let all = out_of_laxity.chain([first.deadline - last.laxity(now)]);
                    all.filter(|&at| at > now).min().unwrap_or(i64::MAX)
                }
                (None, ..) | (_, None, _) => i64::MAX,
            };
        }
        for job in &mut pending {
            job.left -= i64::from(running.iter().any(|other| other.is(job)));
        }
        let done = pending.extract_if(.., |job| job.left == 0).map(|job| Finished {
            finish: now + 1,
            task: job.task,
            seq: job.seq,
            deadline: job.deadline,
        });
        let so_far = finished.len();
        finished.extend(done);
        happens = finished.len() > so_far;
    }
    finished.sort_unstable();
    finished
}
