//! The bounds of DAG tasks, compared with every work-conserving schedule, and with each other.
//! `PROPTEST_CASES=20000` runs more cases.

use layland_offline::graph::{Allocation, BoundKind, Recurrent, federated};
use layland_testkit::graph_schedules::Nodes;
use proptest::prelude::*;

/// Draws a DAG of up to six nodes. Its edges lead to larger indices.
fn nodes() -> impl Strategy<Value = Nodes> {
    let work = prop::collection::vec(0i64..4, 1..7);
    (work, prop::collection::vec(prop::bool::weighted(0.3), 15)).prop_filter_map(
        "some node has work",
        |(work, chosen)| {
            let n = work.len();
            let pairs = (0..n).flat_map(|v| (0..v).map(move |u| (u, v)));
            let edges = pairs.zip(chosen).filter(|&(_, chosen)| chosen).map(|(edge, _)| edge);
            work.iter().any(|&work| work > 0).then(|| Nodes { edges: edges.collect(), work })
        },
    )
}

proptest! {
    #[test]
    fn no_work_conserving_schedule_exceeds_a_bound(nodes in nodes(), cpus in 1usize..4) {
        let dag = nodes.dag();
        prop_assert_eq!(dag.width(), nodes.width());
        let early = nodes.work.iter().sum::<i64>() <= 8;
        let any = nodes.longest_schedule(cpus, early, false);
        let ordered = nodes.longest_schedule(cpus, early, true);
        for kind in BoundKind::ALL {
            let is_ordered = matches!(kind, BoundKind::Order | BoundKind::OrderChains);
            let longest = if is_ordered { ordered } else { any };
            let bound = dag.bound(kind, cpus).unwrap();
            prop_assert!(longest <= bound, "{}: {longest} against {bound}", kind.name());
        }
    }

    #[test]
    fn a_kind_that_knows_more_is_never_above_one_that_knows_less(nodes in nodes(), cpus in 1usize..5) {
        let dag = nodes.dag();
        let of = |kind| dag.bound(kind, cpus).unwrap();
        use BoundKind::*;
        for (less, more) in [
            (Order, Path), (Path, Graham), (Chains, Path), (OrderChains, Order), (OrderChains, Chains), (Long, Graham),
        ] {
            prop_assert!(of(less) <= of(more), "{} and {}", less.name(), more.name());
        }
        prop_assert!(of(Graham) <= dag.volume() && of(Long) >= dag.length());
    }

    #[test]
    fn no_kind_asks_for_more_cpus_than_the_formula(nodes in nodes(), more in 0i64..6) {
        let dag = nodes.dag();
        let deadline = dag.length() + more;
        let task = [Recurrent { dag, period: deadline, deadline }];
        let cpus = |kind| federated::allocate(&task, 30, kind).map(|of| of[0].len());
        if let Ok(li) = cpus(Allocation::Li) {
            for kind in BoundKind::ALL {
                prop_assert!(cpus(Allocation::Bound(kind)).is_ok_and(|n| n <= li), "{}", kind.name());
            }
        }
    }
}
