//! The ready jobs of highest priority run: global EDF, and with it most textbook algorithms.
//!
//! With `m` CPUs online in a group, the `m` ready jobs of highest priority run. With the absolute
//! deadline as the key of a job this is global EDF (Dhall and Liu 1978); with the period of its
//! task, global rate-monotonic scheduling. In groups of one CPU it is EDF as in Liu and Layland
//! (1973), in clusters it is clustered scheduling: the [shell](crate::shell) forms groups, and
//! requests a decision after events in a group.
//!
//! The order of jobs is strict ([`Priority`]): ties of keys go to the smaller rank, then to the
//! smaller id of the task. So the set of jobs that run is unique, and a job that has started keeps
//! its priority until it ends. With [`Ties::Running`] a running job goes first among equal keys,
//! and the others by rank as before: this avoids preemptions that help no deadline. The shell
//! decides on which CPU a job runs.
//!
//! A release or a completion costs O(log w) for `w` waiting jobs.

use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, Values};
use crate::queue::Queue;
use crate::shell::{Priority, Progress, Scheduler, Turn};
use layland_model::{Group, JobOrder, ScheduleRule};

/// The rule for a waiting job with the same key as a running one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ties {
    /// The waiting job preempts if its rank is smaller.
    #[default]
    Rank,
    /// The running job continues.
    Running,
    /// The running job continues: jobs of one level queue by the time at which they became ready
    /// (see `levels.rs`), and only a job of a higher level preempts.
    Level,
}

impl Ties {
    pub(crate) fn option() -> OptionInfo {
        OptionInfo::new(
            "tie",
            "equal deadlines: rank (default; a running job gives way to a smaller rank) or running (it keeps its CPU)",
            Values::one_of(["rank", "running"]),
        )
    }

    /// Reads the option `tie` of policies for deadlines.
    ///
    /// # Errors
    /// If it is neither `rank` nor `running`.
    pub fn of(options: &PolicyOptions) -> Result<Ties, Refusal> {
        let values = [("rank", Ties::Rank), ("running", Ties::Running)];
        Ok(options.one_of("tie", &values)?.unwrap_or_default())
    }
}

/// Runs the jobs of highest priority: see the file header.
#[derive(Clone, Debug, Default)]
pub struct HighestFirst {
    ties: Ties,
    /// The ready jobs that do not run.
    waiting: Queue,
}

impl HighestFirst {
    /// Returns the scheduler with a rule for equal keys. [`Ties::Running`] is for deadlines alone:
    /// analyses of fixed priorities rely on ranks or levels.
    pub fn new(ties: Ties) -> HighestFirst {
        HighestFirst { ties, waiting: Queue::default() }
    }

    /// Returns true if a waiting job takes the CPU of a running one.
    #[inline(always)]
    fn preempts(&self, waiting: Priority, running: Priority) -> bool {
        match self.ties {
            Ties::Rank => waiting.is_higher_than(running),
            Ties::Running => waiting.has_smaller_key(running),
            Ties::Level => waiting.has_smaller_level(running),
        }
    }
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

    fn is_highest_first(&self, order: &JobOrder) -> bool {
        match self.ties {
            Ties::Rank => true,
            Ties::Running => *order == JobOrder::DeadlineThenRunning,
            // Different numbers: every level has one task.
            Ties::Level => matches!(order, JobOrder::Fixed(_)),
        }
    }

    fn rule(&self, groups: Vec<Group>, order: JobOrder) -> ScheduleRule {
        let order = match (self.ties, order) {
            (Ties::Running, JobOrder::Deadline) => JobOrder::DeadlineThenRunning,
            (_, order) => order,
        };
        ScheduleRule::highest_first(groups, order)
    }
}

impl HighestFirst {
    /// Decides, and reports each running job that has to wait again to `preempted`.
    #[inline(always)]
    pub(crate) fn decide_telling(
        &mut self,
        turn: &mut Turn<'_>,
        mut preempted: impl FnMut(Priority),
    ) {
        while let Some(highest) = self.waiting.highest() {
            if !turn.has_idle_cpu() {
                // Every CPU is busy: the lowest of the running jobs gives way, or none does.
                match turn.lowest_running() {
                    Some(lowest) if self.preempts(highest, lowest) => {
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
