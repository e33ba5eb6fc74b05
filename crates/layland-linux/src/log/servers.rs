//! The times of pushes and forced throttles in a run: the costs that Tang, Anderson and Abeni 2021,
//! Section 6, measure for their kernel, measured here for the dispatcher.
//!
//! | paper | here |
//! |---|---|
//! | push | a thread that one decision moves to the run queue of another CPU by a push ([`MoveReason::Pushed`]) |
//! | forced throttle | a server that one decision throttles and replenishes: its deadline had passed, and SCHED_DEADLINE without the repair would not have throttled it |
//!
//! A decision takes no time on the policy's clock. So a time counts from the reading of the
//! manager's clock at the decision (the time of the records) to its next reading, when the manager
//! began to give the CPU to the thread ([`Entry::On`]). It includes the events, the decision, and
//! threads that had to leave first. It does not include the latency before (the figures
//! `completion`, `budget`, `timer` of [`Measured`](crate::Measured)) and the first instruction
//! after (`switch`, `migration`).
//!
//! In the kernel, a forced throttle ends when the thread is in a run queue again, even if it does
//! not run. Here that is the decision, whose cost is reported separately.

use crate::log::{Entry, Log};
use crate::manager::overheads::{Distribution, Figures};
use layland_model::{CpuId, MoveReason, Note, TaskId, Time};

/// The actions of the servers of one run, and their times.
#[derive(Clone, Debug, Default)]
pub struct ServerCosts {
    /// Threads that were moved by a push.
    pub pushes: u64,
    /// Threads that were moved by a pull.
    pub pulls: u64,
    /// Servers that were throttled, by force or not.
    pub throttles: u64,
    /// Servers that were throttled and replenished by the same decision.
    pub forced: u64,
    /// The time from a decision with a push until the thread was given the CPU to which it was
    /// pushed, if the same decision gave it that CPU.
    pub push: Distribution,
    /// The time from a decision with a forced throttle until the thread was given a CPU, if the
    /// same decision gave it one.
    pub forced_to_cpu: Distribution,
    /// Forced throttles after which the thread continued without leaving its CPU.
    pub forced_stayed: u64,
    /// The cost of each decision with a forced throttle: the policy's own time for its events and
    /// the decision.
    pub forced_decision: Distribution,
}

/// The notes and moves of the latest decision so far.
#[derive(Default)]
struct OpenDecision {
    at: Option<Time>,
    cost_ns: u32,
    throttled: Vec<TaskId>,
    forced: Vec<TaskId>,
    pushed: Vec<(TaskId, CpuId)>,
    /// Threads that this decision took off a CPU, with that CPU.
    left: Vec<(TaskId, CpuId)>,
}

/// Computes the costs of the servers of a run. All are zero for a policy without servers.
///
/// If records are lost ([`Log::lost`]), the counts are too low.
pub fn server_costs(log: &Log) -> ServerCosts {
    let mut costs = ServerCosts::default();
    let mut open = OpenDecision::default();
    for record in &log.records {
        match record.entry {
            Entry::Decide { cost_ns, .. } => {
                open = OpenDecision { at: Some(record.at), cost_ns, ..OpenDecision::default() };
            }
            Entry::Note(Note::Throttled { task }) => {
                costs.throttles += 1;
                open.throttled.push(task);
            }
            Entry::Note(Note::Replenished { task, .. }) => {
                let before = open.throttled.len();
                open.throttled.retain(|&other| other != task);
                if open.throttled.len() < before {
                    costs.forced += 1;
                    costs.forced_decision.record(i64::from(open.cost_ns));
                    open.forced.push(task);
                }
            }
            Entry::Note(Note::Moved { task, to, why, .. }) => match why {
                MoveReason::Pushed => {
                    costs.pushes += 1;
                    // If a decision pushes a thread several times, the last push counts.
                    open.pushed.retain(|&(other, _)| other != task);
                    open.pushed.push((task, to));
                }
                MoveReason::Pulled => {
                    costs.pulls += 1;
                    open.pushed.retain(|&(other, _)| other != task);
                }
                MoveReason::Placed | MoveReason::Expelled => {}
            },
            Entry::Off { cpu, job, .. } => open.left.push((job.task, cpu)),
            Entry::On { cpu, job, since } => {
                // No CPU is given to a job between two decisions, so this record belongs to the
                // last one.
                let Some(at) = open.at.filter(|&at| at == record.at) else { continue };
                let length = (since - at).ns();
                let task = job.task;
                if take(&mut open.forced, |&other| other == task).is_some() {
                    // The server's job was split in place, and the next job begins there: the
                    // thread did not move.
                    if length == 0 && open.left.contains(&(task, cpu)) {
                        costs.forced_stayed += 1;
                    } else {
                        costs.forced_to_cpu.record(length);
                    }
                }
                if take(&mut open.pushed, |&pushed| pushed == (task, cpu)).is_some() {
                    costs.push.record(length);
                }
            }
            Entry::Note(_)
            | Entry::Online { .. }
            | Entry::Offline { .. }
            | Entry::Join { .. }
            | Entry::Enter { .. }
            | Entry::Leave { .. }
            | Entry::Asks { .. }
            | Entry::Arrival { .. }
            | Entry::Release { .. }
            | Entry::Completion { .. }
            | Entry::Budget { .. }
            | Entry::Ended { .. }
            | Entry::Timer { .. }
            | Entry::Measured { .. }
            | Entry::Run { .. }
            | Entry::Idle { .. }
            | Entry::SetTimer { .. }
            | Entry::ClearTimer { .. }
            | Entry::Abort { .. }
            | Entry::EndJob { .. }
            | Entry::SetDates { .. }
            | Entry::SetSpeed { .. }
            | Entry::Refuse { .. }
            | Entry::Asked { .. }
            | Entry::Leaked { .. }
            | Entry::Done { .. }
            | Entry::Dropped { .. }
            | Entry::Granted { .. }
            | Entry::Refused { .. }
            | Entry::TurnedAway { .. }
            | Entry::Skipped { .. }
            | Entry::NeverReady { .. }
            | Entry::Over { .. } => {}
        }
    }
    costs
}

impl ServerCosts {
    /// Returns the distributions by name, except those without values.
    pub fn figures(&self) -> Vec<(&'static str, Figures)> {
        let all = [
            ("push", &self.push),
            ("forced throttle", &self.forced_to_cpu),
            ("its decision", &self.forced_decision),
        ];
        all.into_iter()
            .filter_map(|(name, distribution)| Some((name, distribution.figures()?)))
            .collect()
    }

    /// Returns true if the servers did nothing.
    pub fn is_empty(&self) -> bool {
        self.pushes + self.pulls + self.throttles == 0
    }
}

fn take<T>(from: &mut Vec<T>, which: impl FnMut(&T) -> bool) -> Option<T> {
    let at = from.iter().position(which)?;
    Some(from.swap_remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Record;
    use layland_model::{JobId, Service};

    const TASK: TaskId = TaskId(4);
    const OTHER: TaskId = TaskId(2);
    const JOB: JobId = JobId { task: TASK, seq: 7 };

    fn us(us: i64) -> Time {
        Time::from_us(us)
    }

    fn decide(cost_ns: u32) -> Entry {
        Entry::Decide { actions: 1, cost_ns }
    }

    fn throttled(task: TaskId) -> Entry {
        Entry::Note(Note::Throttled { task })
    }

    fn replenished(task: TaskId) -> Entry {
        Entry::Note(Note::Replenished { task, deadline: us(900) })
    }

    fn moved(why: MoveReason, to: u32) -> Entry {
        Entry::Note(Note::Moved { task: TASK, from: CpuId(0), to: CpuId(to), why })
    }

    fn on(cpu: u32, since: i64) -> Entry {
        Entry::On { cpu: CpuId(cpu), job: JOB, since: us(since) }
    }

    fn off(cpu: u32, until: i64) -> Entry {
        Entry::Off { cpu: CpuId(cpu), job: JOB, used: Service::from_us(1), until: us(until) }
    }

    fn costs(entries: &[(i64, Entry)]) -> ServerCosts {
        let mut log = Log::with_capacity(entries.len(), 0);
        log.records.extend(entries.iter().map(|&(at, entry)| Record { at: us(at), entry }));
        server_costs(&log)
    }

    fn only(distribution: &Distribution) -> (u64, i64) {
        (distribution.count(), distribution.max() / 1000)
    }

    #[test]
    fn a_forced_throttle_lasts_until_the_thread_has_a_cpu() {
        let found = costs(&[
            (100, decide(2_000)),
            (100, throttled(TASK)),
            (100, replenished(TASK)),
            (100, moved(MoveReason::Pushed, 3)),
            (100, off(0, 100)),
            (100, on(3, 109)),
        ]);
        assert_eq!((found.throttles, found.forced, found.pushes), (1, 1, 1));
        assert_eq!(only(&found.forced_to_cpu), (1, 9));
        assert_eq!(only(&found.push), (1, 9));
        assert_eq!((only(&found.forced_decision), found.forced_stayed), ((1, 2), 0));
    }

    #[test]
    fn a_thread_that_goes_on_where_it_was_has_not_waited() {
        let found = costs(&[
            (100, decide(2_000)),
            (100, throttled(TASK)),
            (100, replenished(TASK)),
            (100, off(0, 100)),
            (100, on(0, 100)),
        ]);
        assert_eq!((found.forced, found.forced_stayed), (1, 1));
        assert_eq!(found.forced_to_cpu.count(), 0);
    }

    #[test]
    fn what_is_replenished_by_another_decision_was_not_forced() {
        let found = costs(&[
            (100, decide(2_000)),
            (100, throttled(TASK)),
            (100, throttled(OTHER)),
            (100, off(0, 100)),
            (300, decide(1_000)),
            (300, replenished(TASK)),
            (300, on(0, 304)),
        ]);
        assert_eq!((found.throttles, found.forced), (2, 0));
        assert_eq!(found.forced_to_cpu.count(), 0);
        assert_eq!(found.figures(), []);
    }

    #[test]
    fn a_thread_that_waits_where_it_was_pushed_is_not_timed() {
        let found = costs(&[
            (100, decide(2_000)),
            (100, moved(MoveReason::Pushed, 3)),
            (200, decide(2_000)),
            (200, on(3, 204)),
        ]);
        assert_eq!((found.pushes, found.push.count()), (1, 0));
        // The same decision pulled the thread back, so no push moved it.
        let found = costs(&[
            (100, decide(2_000)),
            (100, moved(MoveReason::Pushed, 3)),
            (100, moved(MoveReason::Pulled, 1)),
            (100, on(1, 104)),
        ]);
        assert_eq!((found.pushes, found.pulls, found.push.count()), (1, 1, 0));
        assert!(!found.is_empty() && costs(&[]).is_empty());
    }
}
