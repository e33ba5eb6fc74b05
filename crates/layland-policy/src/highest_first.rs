//! The ready jobs of highest priority run: global EDF, and with it most of what textbooks have.
//!
//! With `m` CPUs online in a group, the `m` ready jobs of highest priority run. With the absolute deadline as
//! the key of a job that is global EDF (Dhall and Liu 1978); with the period of its task, global
//! rate-monotonic scheduling. In groups of one CPU it is EDF as Liu and Layland (1973) had it, in
//! clusters it is clustered scheduling: the [shell](crate::shell) makes groups, and asks for a decision when
//! something happened in one.
//!
//! The order of jobs is strict ([`Priority`]): ties of keys go to the smaller rank, then to the smaller id of
//! the task. So the set of jobs that run is unique, and a job that has started keeps its priority until it
//! ends. Where a job runs is decided by the shell.
//!
//! A release or a completion costs O(log w) for `w` waiting jobs.

use crate::queue::Queue;
use crate::shell::{Priority, Progress, Scheduler, Turn};
use layland_model::{Group, JobOrder, ScheduleRule};

/// Runs the jobs of highest priority: see the file header.
#[derive(Clone, Debug, Default)]
pub struct HighestFirst {
    /// The ready jobs that do not run.
    waiting: Queue,
}

impl Scheduler for HighestFirst {
    const PROGRESS: Progress = Progress::Ignored;

    #[inline]
    fn wait(&mut self, job: Priority) {
        self.waiting.push(job);
    }

    #[inline]
    fn forget(&mut self, job: Priority) {
        self.waiting.remove(job);
    }

    fn clear(&mut self) {
        self.waiting.clear();
    }

    #[inline(always)]
    fn decide(&mut self, turn: &mut Turn<'_>) {
        self.decide_telling(turn, |_| {});
    }

    fn rule(groups: Vec<Group>, order: JobOrder) -> ScheduleRule {
        ScheduleRule::HighestFirst { groups, order }
    }
}

impl HighestFirst {
    /// Decides, and tells of each running job that has to wait again.
    #[inline(always)]
    pub(crate) fn decide_telling(
        &mut self,
        turn: &mut Turn<'_>,
        mut preempted: impl FnMut(Priority),
    ) {
        while let Some(highest) = self.waiting.highest() {
            if !turn.has_idle_cpu() {
                // Every CPU is taken: the lowest of the running jobs gives way, or none does.
                match turn.lowest_running() {
                    Some(lowest) if highest.is_higher_than(lowest) => {
                        turn.preempt_lowest();
                        self.waiting.pop();
                        self.wait(lowest);
                        preempted(lowest);
                    }
                    Some(_) | None => break,
                }
            } else {
                self.waiting.pop();
            }
            turn.start(highest);
        }
    }
}
