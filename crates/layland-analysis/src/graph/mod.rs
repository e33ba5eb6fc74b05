//! DAG tasks: tasks that follow others, with response bounds. This file has the bounds for graphs
//! that share several CPUs, which are **sufficient**.
//!
//! | test | policies | source |
//! |---|---|---|
//! | [`FEDERATED`] | `federated` | Li et al. 2014 and the bounds of one graph (`federated.rs`) |
//! | [`QPA`], [`RTA`] | EDF and fixed priorities on one CPU | proved there (`one_cpu.rs`) |
//! | `GRAPH-EDF` | `g-edf`, `c-edf` | Melani et al. 2015, with floors |
//! | `GRAPH-FP`, `GRAPH-RM`, `GRAPH-DM` | `g-fp`, `g-rm`, `g-dm` | Melani et al. 2015, with floors |
//!
//! Assumes: (1) some task follows another, and the tasks of a graph have one deadline and one cluster, (2) jobs of a
//! task at least a period apart, (3) no release jitter, (4) `D_i <= T_i`, (5) WCETs are kept, (6) overheads are part of
//! `C_i`, (7) unit speeds, (8) no affinities within a cluster, (9) nothing changes while the system runs; for fixed
//! priorities: (10) the tasks of a graph have one priority, and different graphs of a cluster have different ones.
//! Jobs are preemptible and only execute. Times are whole nanoseconds.
//!
//! Assumption (10) is essential. For equal priorities the *rank* decides before the task, so the
//! nodes of two graphs interleave, which no order of the graphs describes.
//!
//! A task that neither follows nor is followed is a graph of one node. The bound of a task is that of its graph: from
//! the arrival of an instance to the end of the last of its nodes.

mod bounds;
mod federated;
mod one_cpu;

pub use bounds::{global_edf, global_fp};
pub use federated::{FEDERATED, FEDERATED_RESPONSES};
pub use one_cpu::{QPA, QPA_RESPONSES, RTA};

use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::group::Group;
use crate::ordered::{Analysis, ByOrder, GLOBAL, given_last};
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{
    BoundedTest, Certify, Citation, Finding, OrderedTest, Quantity, Reason, ResponseBound,
    ResponseTest, SchedulabilityTest, Scope, TestKind,
};
use layland_model::{Algorithm, Duration, Form, Graph, Order, System, TaskMap};
use layland_offline::graph::{self, Recurrent};

/// Melani, Bertogna, Bonifaci, Marchetti-Spaccamela and Buttazzo 2015.
pub const MELANI: Citation = Citation {
    key: "melani2015response",
    text: "A. Melani, M. Bertogna, V. Bonifaci, A. Marchetti-Spaccamela and G. Buttazzo. Response-time analysis of \
           conditional DAG tasks in multiprocessor systems. ECRTS 2015, pages 211-221.",
    bibtex: "@inproceedings{melani2015response,
  author    = {Alessandra Melani and Marko Bertogna and Vincenzo Bonifaci and Alberto Marchetti-Spaccamela and
               Giorgio Buttazzo},
  title     = {Response-Time Analysis of Conditional {DAG} Tasks in Multiprocessor Systems},
  booktitle = {27th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {211--221}, year = {2015},
  doi       = {10.1109/ECRTS.2015.26}
}",
};

/// `Graphs` is checked first, so that a set without graphs is refused for this reason, whatever
/// else it breaks.
const BASE: &[Assumption] = &[
    Graphs,
    SporadicReleases,
    NoJitter,
    ConstrainedDeadlines,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    WholeClusters,
    NoRequests,
];
const NO_PROOF: &str = "the verifier does not know graphs";

const UNDER_EDF: BoundedTest = BoundedTest {
    name: "GRAPH-EDF",
    title: "response times of graphs under global EDF",
    algorithms: &[
        Algorithm::Ordered(Form::Global, Order::Deadline),
        Algorithm::Ordered(Form::Clustered, Order::Deadline),
    ],
    assumptions: BASE,
    citations: &[&MELANI],
    certify: Certify::Without(NO_PROOF),
    both: |system| both(system, None),
};
/// `GRAPH-EDF`: response times of graphs under global EDF.
pub const EDF: SchedulabilityTest = UNDER_EDF.test();
/// The response bounds of `GRAPH-EDF`.
pub const EDF_RESPONSES: ResponseTest = UNDER_EDF.responses();

/// `GRAPH-RM`, `GRAPH-DM` and `GRAPH-FP`: response times of graphs under global fixed priorities.
pub const FIXED: OrderedTest = OrderedTest {
    listing: given_last!("GRAPH", "response times of graphs under global ", " priorities"),
    subject: GLOBAL,
    kind: TestKind::Sufficient,
    assumptions: ByOrder {
        given: &and::<11>(&and::<10>(BASE, Priorities), GraphPriorities),
        rate_monotonic: &and::<10>(BASE, GraphPeriods),
        deadline_monotonic: &and::<10>(BASE, GraphDeadlines),
    },
    citations: &[&MELANI],
    certify: ByOrder::all(Certify::Without(NO_PROOF)),
    analysis: Analysis::Together(|system, order| both(system, Some(order))),
};

/// Returns the finding and the bounds for global EDF or for fixed priorities in an order.
fn both(
    system: &System,
    order: Option<PriorityOrder>,
) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let graphs = graph::all(system);
    let mut bounds: TaskMap<Option<ResponseBound>> = system.tasks.values().map(|_| None).collect();
    let (mut held, mut failed) = (Vec::new(), Vec::new());
    for mut group in Group::clusters(system) {
        if let Some(order) = order {
            group.tasks = order.sort(&group);
        }
        // Each graph belongs to the cluster of its first task; sorted by priority.
        let of = group.tasks.iter().filter_map(|&(id, _)| {
            let at = graphs.binary_search_by_key(&id, |graph| graph.tasks[0]).ok()?;
            Some(&graphs[at])
        });
        let of: Vec<_> = of.collect();
        let dags: Option<Vec<Recurrent>> =
            of.iter().map(|graph| Recurrent::of(system, graph).ok()).collect();
        let dags = dags.unwrap_or_default();
        let refs: Vec<&Recurrent> = dags.iter().collect();
        let found: Vec<Option<i64>> = match order {
            Some(_) => global_fp(&refs, group.cpus.len()),
            None => match global_edf(&refs, group.cpus.len()) {
                Some(found) => found.into_iter().map(Some).collect(),
                None => Vec::new(),
            },
        };
        for (at, Graph { tasks, .. }) in of.iter().enumerate() {
            let Some(bound) = found.get(at).copied().flatten() else {
                failed.push(Reason::MayBeLate(tasks[0]));
                continue;
            };
            for &id in tasks {
                bounds[id] = Some(ResponseBound::new(id, Duration::from_ns(bound)));
            }
            let deadline = system.tasks[tasks[0]].deadline.ns();
            held.push(Reason::compared(
                "the response time of the graph",
                Scope::task(tasks[0], &group.cpus),
                Quantity::of_ns(bound.into()),
                Quantity::of_ns(deadline.into()),
                true,
            ));
        }
    }
    let verdict = TestKind::Sufficient.verdict(failed.is_empty());
    let reasons = if failed.is_empty() { held } else { failed };
    (Finding { verdict, reasons }, bounds)
}
