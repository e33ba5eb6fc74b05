//! **MSRP** between CPUs under EDF (Gai, Lipari and Di Natale 2001): processor demand including
//! spinning, and blocking. **Sufficient.**
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart, (3) no
//! release jitter, (4) `D_i <= T_i`, (5) WCETs are kept, including the sections, (6) overheads are
//! part of `C_i`, (7) unit speeds, (8) nothing changes while the system runs, (9) few pairs of
//! tasks share a CPU, (10) jobs do not suspend themselves, (11) only resources of one CPU are
//! nested.
//!
//! | symbol | meaning |
//! |---|---|
//! | `C'_i` | `C_i`, and the spinning of a job within its deadline: [`holistic`](super::msrp) with `R = D` |
//! | `h(t)` | `sum over the tasks of the CPU of max(0, floor((t - D_i) / T_i) + 1) C'_i` |
//! | `B(t)` | the longest request of a task with `D_j > t`, spinning and holding; or its longest section on a local resource that a task with `D <= t` uses |
//!
//! The tasks are schedulable if on each CPU `h(t) + B(t) <= t` for every `t`, with `C'` in the utilization as well.
//!
//! *Proof.* Let `d` be the first deadline of the whole system that is missed, and `s` the last
//! instant before which no job that is due by `d` is pending on its CPU. Until `d`, that CPU runs
//! such jobs, and whatever one job that is due later had begun before `s`: a request, from issue to
//! unlock, or a section under the ceiling. So both together are more than `t = d - s`. No deadline
//! before `d` is missed anywhere, so a job of `u` on another CPU meets a job of `i` only if it is
//! released less than `D_u` before it, or within `D_i` after.
//!
//! Deviations: SchedCAT uses the classic spin, where each request meets the longest section of each
//! CPU, which is never less. It also lets QPA jump from any `t` to the time required there, and so
//! skips shorter intervals in which `B` is larger. Here the search stays between two relative
//! deadlines, where `B` is constant. The article of Gai, Lipari and Di Natale uses utilizations in
//! place of demand.

#![expect(non_snake_case, reason = "symbols of the specification")]

use super::{Shared, msrp};
use crate::fixed_point::GaveUp;
use crate::group::together;
use crate::locking::schedulability::SPINNING;
use crate::locking::stack::{self, Stacked, fits, said, sporadic};
use crate::locking::tasks::lockers;
use crate::locking::{BARUAH_2006, GAI, NO_PROOF};
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{Certify, Decide, SchedulabilityTest, Sporadic, Subject, TestKind, overheads};
use layland_model::{Algorithm, CpuId, CpuSet, Order, Protocol, Service, System};

/// Demand and blocking of EDF with MSRP, for each CPU.
///
/// ```
/// use layland_analysis::{Verdict, locking::between::demand};
/// use layland_model::{CpuId, CpuSet, Duration, Resource, ResourceId, Service, Step, System, Task};
/// let run = |ns| Step::Run(Service::from_ns(ns));
/// let [lock, unlock] = [Step::Lock(ResourceId(0)), Step::Unlock(ResourceId(0))];
/// // Both CPUs share a resource: 3 ns on CPU 0, 4 ns on CPU 1.
/// let task = |c: i64, d, cpu, steps: Vec<Step>| Task {
///     affinity: Some(CpuSet::single(CpuId(cpu))),
///     steps: Some(steps.into()),
///     ..Task::implicit(format!("{c}"), Service::from_ns(c), Duration::from_ns(d))
/// };
/// let system = |urgent| {
///     let low = task(5, 40, 0, vec![run(2), lock, run(3), unlock]);
///     let other = task(4, 40, 1, vec![lock, run(4), unlock]);
///     let mut system = System::new(2, vec![task(2, urgent, 0, vec![run(2)]), low, other]);
///     system.resources = vec![Resource { name: "r".into(), home: None }].into();
///     system
/// };
/// // Who comes to CPU 0 waits while `low` spins for 4 ns and holds for 3 ns: with its own 2 ns that is 9 ns.
/// assert_eq!(demand::TEST.run(&system(9)).unwrap().verdict, Verdict::Yes);
/// let finding = demand::TEST.run(&system(8)).unwrap();
/// assert_eq!(
///     finding.reasons[0].describe(&system(8)),
///     "the demand and the blocking on CPU 0 in 8 ns is 9 ns, not within 8 ns"
/// );
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "MSRP-QPA",
    title: "demand, spinning and blocking of EDF with MSRP between CPUs",
    subject: Subject::Algorithms(&[Algorithm::Locking(Order::Deadline, Protocol::Msrp)]),
    kind: TestKind::Sufficient,
    assumptions: SPINNING,
    citations: &[&GAI, &BARUAH_2006, &overheads::BRANDENBURG],
    certify: Certify::Without(NO_PROOF),
    decide: Decide::by(|system| {
        together(each_cpu(system).map(|(cpu, found)| said(CpuSet::single(cpu), found)))
    }),
};

/// Returns the result of the criterion for each CPU.
fn each_cpu(system: &System) -> impl Iterator<Item = (CpuId, Result<Stacked, GaveUp>)> {
    let shared = Shared::new(lockers(system, PriorityOrder::DeadlineMonotonic));
    let D: Vec<i64> = shared.tasks.iter().map(|task| task.D).collect();
    let cpus = shared.cpus.clone();
    cpus.into_iter().map(move |cpu| {
        let spinning = |i: usize| Sporadic {
            wcet: Service::from_ns(
                shared.tasks[i].C.saturating_add(msrp::holistic(&shared, i, &D)),
            ),
            ..sporadic(&shared.tasks[i])
        };
        let plain: Vec<Sporadic> = shared.on(cpu).map(spinning).collect();
        // For each task, its deadline and its longest request; and all sections on resources of
        // this CPU.
        let request = |j: usize| {
            let of_use =
                |used: &super::Use| used.L.saturating_add(msrp::one_request(&shared, j, used.q));
            (D[j], shared.uses[j].iter().map(of_use).max().unwrap_or(0))
        };
        let requests: Vec<(i64, i64)> = shared.on(cpu).map(request).collect();
        let mut local: Vec<_> = shared.on(cpu).map(|j| (j, shared.tasks[j].clone())).collect();
        for (j, task) in &mut local {
            task.sections.retain(|section| shared.of(*j, section.q).0 == 0);
        }
        let local: Vec<_> = local.into_iter().map(|(_, task)| task).collect();
        let B = |t: i64| {
            let later = requests.iter().filter(|(D_j, _)| *D_j > t);
            later.map(|(_, length)| *length).max().unwrap_or(0).max(stack::blocking(&local, t))
        };
        (cpu, fits(&plain, B))
    })
}
