//! Limits that no scheduler can exceed: a **necessary** test.
//!
//! A system fails on every scheduler if (a) a job alone needs longer than its deadline on the fastest
//! CPU that its task may use, or (b) the utilizations sum to more than the CPUs can do.
//!
//! Assumes: (1) no job executes for longer than its WCET. The offsets do not matter; tasks that end
//! cannot fail (b).

use crate::group::weaken_if_finite;
use crate::{
    Assumption, Certify, Finding, Quantity, Reason, SchedulabilityTest, Scope, Subject, Verdict,
};
use layland_model::{Rate, RateSum, System};

/// Whether the CPUs are fast and many enough.
///
/// ```
/// use layland_analysis::{Verdict, necessary};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(3), Duration::from_ms(4));
/// let finding = necessary::TEST.run(&System::new(1, vec![task("a"), task("b")])).unwrap();
/// assert_eq!(finding.verdict, Verdict::No);
/// let finding = necessary::TEST.run(&System::new(2, vec![task("a"), task("b")])).unwrap();
/// assert_eq!(finding.verdict, Verdict::Unknown);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "CAPACITY",
    title: "no job is too long for its deadline, and the CPUs can do the sum of the utilizations",
    subject: Subject::SomeScheduler,
    kind: crate::TestKind::Necessary,
    assumptions: &[Assumption::WcetKept],
    citations: &[],
    certify: Certify::Reasons,
    decide: capacity,
};

fn capacity(system: &System) -> Finding {
    for (id, task) in system.tasks.iter() {
        let allowed = system.allowed_cpus(id);
        let times = allowed.iter().map(|cpu| system.platform.speeds[cpu].time_for(task.own_wcet()));
        let shortest = times.min().unwrap_or(task.own_wcet().at_unit_speed());
        if shortest > task.deadline {
            let quantity = |ns: i64| Quantity::of_ns(ns.into());
            let (value, bound) = (quantity(shortest.ns()), quantity(task.deadline.ns()));
            let scope = Scope { task: Some(id), ..Scope::default() };
            let reason = Reason::compared("the execution time", scope, value, bound, false);
            return Finding::new(Verdict::No, reason);
        }
    }
    let sum = system.utilization();
    let capacity: Rate = system.platform.speeds.values().map(|speed| speed.rate()).sum();
    let holds = sum.fits(&Rate::ZERO, &capacity);
    let mut finding =
        Finding::new(crate::TestKind::Necessary.verdict(holds), load(&sum, capacity, holds));
    weaken_if_finite(system, &mut finding);
    finding
}

/// The sum of the utilizations of all tasks, and its limit.
pub(crate) fn load(sum: &RateSum, capacity: Rate, holds: bool) -> Reason {
    let value = Quantity::Number(sum.exact());
    Reason::compared("the utilization", Scope::default(), value, Quantity::Number(capacity), holds)
}
