//! **Self-suspension** on one CPU under EDF: processor demand with suspensions as execution. **Sufficient.**
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart, (3) no
//! release jitter, (4) `D_i <= T_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit
//! speeds, (8) nothing changes while the system runs, (9) few pairs of tasks share a CPU, (10) jobs
//! lock nothing; a job suspends itself whenever it is selected, any number of times, for at most
//! `S_i` in total, and the end of a suspension does not depend on other jobs.
//!
//! The tasks are schedulable if on each CPU `sum over i of max(0, floor((t - D_i) / T_i) + 1) (C_i + S_i) <= t` for
//! every `t`, with `C_i + S_i` in the utilization as well. Chen et al. 2019 call this suspension-oblivious analysis.
//!
//! *Proof.* Let `d` be the first deadline that is missed, and `s` the last instant before it at
//! which no job that is due by `d` is pending. At each instant from `s` to `d` such jobs are
//! pending. If one of them is ready, one of them executes, since EDF prefers it to all jobs that
//! are due later; otherwise all of them suspend themselves. So at each instant at least one of them
//! executes or suspends itself. In total each does so for at most `C_i + S_i`, the late job has not
//! finished, and all of them were released from `s` on. So `t = d - s` is less than the sum.

use super::CHEN_2019;
use super::schedulability::ALONE;
use super::stack::{demand_and_blocking, points, said_of};
use super::tasks::{Locker, by_cpu};
use crate::group::together;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{Certify, Decide, SchedulabilityTest, Subject, TestKind};
use layland_model::{Algorithm, CpuSet, Order, Protocol, System};

/// Demand with suspensions, for each CPU. If jobs lock nothing, all protocols are equivalent.
///
/// ```
/// use layland_analysis::{Verdict, locking::suspended_demand};
/// use layland_model::{Duration, Service, Step, System, Task};
/// let system = |s: i64| {
///     let steps = [Step::Run(Service::from_ns(1)), Step::Suspend(Duration::from_ns(s)), Step::Run(Service::from_ns(1))];
///     let waits = Task::implicit("waits", Service::from_ns(2), Duration::from_ns(10));
///     let waits = Task { steps: Some(steps.into()), ..waits };
///     System::new(1, vec![waits, Task::implicit("b", Service::from_ns(5), Duration::from_ns(10))])
/// };
/// assert_eq!(suspended_demand::TEST.run(&system(3)).unwrap().verdict, Verdict::Yes);
/// let finding = suspended_demand::TEST.run(&system(4)).unwrap();
/// assert_eq!(finding.verdict, Verdict::Unknown);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "SUSP-OBL-EDF",
    title: "demand of EDF with self-suspension on each CPU, as execution",
    subject: Subject::Algorithms(&[
        Algorithm::Locking(Order::Deadline, Protocol::Plain),
        Algorithm::Locking(Order::Deadline, Protocol::Stack),
        Algorithm::Locking(Order::Deadline, Protocol::FmlpPlus),
        Algorithm::Locking(Order::Deadline, Protocol::Msrp),
    ]),
    kind: TestKind::Sufficient,
    assumptions: ALONE,
    citations: &[&CHEN_2019],
    certify: Certify::By(|system| each_cpu(system).iter().map(|tasks| points(tasks)).collect()),
    decide: Decide::by(|system| {
        together(each_cpu(system).iter().map(|tasks| {
            let cpu = CpuSet::single(tasks[0].cpu);
            said_of(cpu, demand_and_blocking(tasks), WORDS)
        }))
    }),
};

const WORDS: (&str, &str) =
    ("the demand with suspensions", "demand and suspensions are within each interval");

/// The tasks of each CPU, with suspensions as execution.
fn each_cpu(system: &System) -> Vec<Vec<Locker>> {
    let mut cpus = by_cpu(system, PriorityOrder::DeadlineMonotonic);
    for task in cpus.iter_mut().flatten() {
        task.C = task.C.saturating_add(task.S);
        task.S = 0;
    }
    cpus
}
