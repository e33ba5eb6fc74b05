//! GFB, the density test for global EDF (Goossens, Funk, Baruah 2003 for implicit deadlines;
//! Bertogna, Cirinei, Lipari 2005 for constrained ones). **Sufficient.**
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs.
//!
//! | paper | meaning |
//! |---|---|
//! | `delta_i` | density of a task, `C_i / D_i` |
//! | `m` | number of CPUs |

use super::{ALGORITHMS, CONSTRAINED};
use crate::group::{Group, together};
use crate::sporadic::{SHIFT, fixed};
use crate::{
    Certify, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Sporadic, Subject,
    TestKind,
};
use layland_model::{Rate, RateSum, Task};

pub use layland_offline::top::GOOSSENS;

/// GFB, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::gfb};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(18, 80), (90, 120), (9, 80)]
///     .map(|(c, t)| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t)));
/// let finding = gfb::TEST.run(&System::new(3, tasks.to_vec())).unwrap();
/// assert_eq!(finding.verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "GFB",
    title: "density test for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: CONSTRAINED,
    citations: &[&GOOSSENS, &super::bcl::BERTOGNA],
    certify: Certify::Reasons,
    decide: Decide::by(|system| together(Group::clusters(system).iter().map(gfb)))
        .or_sooner(|system| super::verdict_by(system, accepts)),
};

/// `sum delta_i <= m - (m - 1) max delta_i`.
fn gfb(group: &Group<'_>) -> Finding {
    let m = group.cpu_count();
    let mut sum = RateSum::with_capacity(group.tasks.len());
    group.tasks().for_each(|task| task.add_density(&mut sum));
    let fraction = |task: &Task| {
        let [C, D] = [task.own_wcet().ns(), task.deadline.min(task.period).ns()];
        (i128::from(C), i128::from(D))
    };
    let densest = group.tasks().max_by(|a, b| {
        let ((a, b), (c, d)) = (fraction(a), fraction(b));
        (a * d).cmp(&(c * b))
    });
    let largest = densest.map_or(Rate::ZERO, Task::density);
    let bound = &Rate::whole(m) - &(&Rate::whole(m - 1) * &largest);
    let holds = sum.fits(&Rate::ZERO, &bound);
    let reason = Reason::compared(
        "the sum of the densities",
        Scope::cpus(&group.cpus),
        Quantity::Sum(sum),
        Quantity::Number(bound),
        holds,
    );
    Finding::new(TestKind::Sufficient.verdict(holds), reason)
}

/// Returns true if the test accepts these tasks, which must keep its assumptions, on this many
/// CPUs. Decides in fixed point, and exactly where rounding could matter.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    let (mut sum, mut largest) = (0u128, 0u128);
    for task in tasks {
        let density = fixed(task.wcet.ns(), task.deadline.ns());
        sum += density;
        largest = largest.max(density);
    }
    // Each density is rounded down by less than one unit.
    let others = cpus as u128 - 1;
    let (low, bound) = (sum + others * largest, (cpus as u128) << SHIFT);
    let rounding = tasks.len() as u128 + others;
    if low > bound {
        false
    } else if low + rounding <= bound {
        true
    } else {
        exactly(tasks, cpus)
    }
}

#[cold]
fn exactly(tasks: &[Sporadic], cpus: usize) -> bool {
    let densities: Vec<Rate> =
        tasks.iter().map(|task| Rate::new(task.wcet.ns(), task.deadline.ns())).collect();
    let largest = densities.iter().max().cloned().unwrap_or(Rate::ZERO);
    let others = &Rate::whole(cpus as i64 - 1) * &largest;
    densities.into_iter().fold(others, |sum, density| &sum + &density) <= Rate::whole(cpus as i64)
}
