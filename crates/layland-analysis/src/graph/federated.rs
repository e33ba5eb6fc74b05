//! `FEDERATED`: DAG tasks under federated scheduling (Li et al. 2014). **Sufficient.**
//!
//! Each cluster holds the CPUs as the policy assigned them: several CPUs with one graph, or one CPU
//! with light graphs.
//!
//! | where | condition | bound on the response time |
//! |---|---|---|
//! | `m` CPUs with one graph | the bound is at most `D` | the least of `graham`, `long` and `order-chains` ([`Dag::bound`]) |
//! | one CPU | the densities `C_i / D_i` sum up to at most 1 | that of EDF on one CPU (`one_cpu.rs`) |
//!
//! The condition on one CPU is that of partitioned EDF for sequential tasks, as a graph on one CPU
//! is a sequential task (`one_cpu.rs`). None of the other bounds of one graph is less than these
//! three: `order-chains` is at most `path`, `order` and `chains`. It requires that nodes run in the
//! order of ranks, as they do under the policy.
//!
//! Assumes: (1) some task follows another, and the tasks of a graph have one deadline and the same CPUs, (2) jobs of
//! a task at least a period apart, (3) no release jitter, (4) `D_i <= T_i`, so that with a bound of at most `D_i`
//! instances do not overlap, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no affinities
//! within a cluster, (9) nothing changes while the system runs. Times are whole nanoseconds.
//!
//! [`Dag::bound`]: layland_offline::graph::Dag::bound

use super::{BASE, NO_PROOF, one_cpu};
use crate::group::Group;
use crate::{
    BoundedTest, Certify, Finding, Quantity, Reason, ResponseBound, ResponseTest,
    SchedulabilityTest, Scope, TestKind,
};
use layland_model::{Algorithm, Duration, Graph, Rate, RateSum, System, TaskMap};
use layland_offline::graph::{self, BoundKind, HE, LI, Recurrent};

const TEST: BoundedTest = BoundedTest {
    name: "FEDERATED",
    title: "graphs on CPUs of their own, and light ones under EDF on one CPU each",
    algorithms: &[Algorithm::Federated],
    assumptions: BASE,
    citations: &[&LI, &HE],
    certify: Certify::Without(NO_PROOF),
    both,
};
/// `FEDERATED`: graphs on CPUs of their own, and light ones under EDF on one CPU each.
pub const FEDERATED: SchedulabilityTest = TEST.test();
/// The response bounds of `FEDERATED`.
pub const FEDERATED_RESPONSES: ResponseTest = TEST.responses();

/// The bounds that no other bound can beat.
const LEAST: [BoundKind; 3] = [BoundKind::Graham, BoundKind::Long, BoundKind::OrderChains];

/// Returns the finding and the bounds.
fn both(system: &System) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let graphs = graph::all(system);
    let mut bounds: TaskMap<Option<ResponseBound>> = system.tasks.values().map(|_| None).collect();
    let (mut held, mut failed) = (Vec::new(), Vec::new());
    for group in Group::clusters(system) {
        let of: Vec<&Graph> = (group.tasks.iter())
            .filter_map(|&(id, _)| {
                let at = graphs.binary_search_by_key(&id, |graph| graph.tasks[0]).ok()?;
                Some(&graphs[at])
            })
            .collect();
        if group.cpus.len() == 1 {
            let mut densities = RateSum::with_capacity(group.tasks.len());
            group.tasks().for_each(|task| task.add_density(&mut densities));
            let fits = densities.fits(&Rate::ZERO, &Rate::ONE);
            let (value, bound) = (Quantity::Sum(densities), Quantity::Number(Rate::ONE));
            let reason =
                Reason::compared("the density", Scope::cpus(&group.cpus), value, bound, fits);
            if fits { &mut held } else { &mut failed }.push(reason);
            for bound in one_cpu::edf_bounds(&group) {
                let task = bound.task;
                bounds[task] = Some(bound);
            }
            continue;
        }
        let cpus = group.cpus.len();
        let least =
            |task: &Recurrent| LEAST.iter().filter_map(|&kind| task.dag.bound(kind, cpus)).min();
        let found = match &of[..] {
            [alone] => Recurrent::of(system, alone).ok().and_then(|task| least(&task)),
            // Several graphs share these CPUs, so the policy is not federated.
            _ => None,
        };
        let first = of.first().map_or(group.tasks[0].0, |graph| graph.tasks[0]);
        let Some(found) = found else {
            failed.push(Reason::MayBeLate(first));
            continue;
        };
        let deadline = system.tasks[first].deadline.ns();
        let holds = found <= deadline;
        let reason = Reason::compared(
            "the response time of the graph",
            Scope::task(first, &group.cpus),
            Quantity::of_ns(found.into()),
            Quantity::of_ns(deadline.into()),
            holds,
        );
        if holds { &mut held } else { &mut failed }.push(reason);
        if holds {
            for &(id, _) in &group.tasks {
                bounds[id] = Some(ResponseBound::new(id, Duration::from_ns(found)));
            }
        }
    }
    let verdict = TestKind::Sufficient.verdict(failed.is_empty());
    let reasons = if failed.is_empty() { held } else { failed };
    (Finding { verdict, reasons }, bounds)
}
