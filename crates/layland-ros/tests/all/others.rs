//! Compares the bounds on random inputs with those of the crate `response-time-analysis`, which
//! shares no code with them.

use layland_model::{Duration, Service};
use layland_ros::bounds::{
    Load, SupplyBound, busy_window, casini_chain, casini_polled, casini_timer, fifo, round_robin,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use response_time_analysis as other;
use response_time_analysis::arrival::Sporadic;
use response_time_analysis::demand::{RBF, Slice};
use response_time_analysis::ros2::{self, bw, rr};
use response_time_analysis::wcet::Scalar;
use std::cell::Cell;

const LIMIT: i64 = 2000;

type Demand = RBF<Sporadic, Scalar>;

fn length(length: Duration) -> other::time::Duration {
    other::time::Duration::from(length.ns().unsigned_abs())
}

fn arrivals(load: &Load) -> Sporadic {
    Sporadic::new(length(load.period), length(load.jitter))
}

fn cost(load: &Load) -> Scalar {
    Scalar::new(other::time::Service::from(load.wcet.ns().unsigned_abs()))
}

fn demand(load: &Load) -> Demand {
    RBF::new(arrivals(load), cost(load))
}

fn ours(bound: Option<Duration>) -> Option<u64> {
    bound.map(|bound| bound.ns().unsigned_abs())
}

fn theirs(bound: other::fixed_point::SearchResult) -> Option<u64> {
    bound.ok().map(u64::from).filter(|&bound| bound <= LIMIT.unsigned_abs())
}

fn load() -> impl Strategy<Value = Load> {
    (1_i64..6, 8_i64..70, 0_i64..40, any::<bool>(), any::<bool>()).prop_map(
        |(wcet, period, jitter, late, polled)| Load {
            wcet: Service::from_ns(wcet),
            period: Duration::from_ns(period),
            jitter: Duration::from_ns(if late { jitter } else { 0 }),
            polled,
        },
    )
}

#[test]
#[expect(clippy::too_many_lines, reason = "one call of ours beside one of theirs, seven times")]
fn bounds_are_those_of_another_implementation() {
    let config =
        ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() };
    let inputs = (
        prop::collection::vec(load(), 1..5),
        2_i64..12,
        0_i64..6,
        prop::collection::vec(1_i64..60, 5),
        any::<prop::sample::Index>(),
    );
    let (compared, finite) = (Cell::new(0), Cell::new(0));
    let result =
        TestRunner::new(config).run(&inputs, |(mut loads, period, less, responses, which)| {
            // Sort into the order of the executor: timers first.
            loads.sort_by_key(|load| load.polled);
            let budget = (period - less).max(1);
            let [p, q] = [period, budget].map(Duration::from_ns);
            let supply = SupplyBound::server(p, q).expect("a server");
            let limit = Duration::from_ns(LIMIT);
            let their_supply = other::supply::Periodic::new(
                other::time::Service::from(budget.unsigned_abs()),
                length(p),
            );
            let their_limit = length(limit);
            let same = |ours: Option<u64>, theirs: Option<u64>, what: &str| {
                compared.set(compared.get() + 1);
                finite.set(finite.get() + u32::from(ours.is_some()));
                prop_assert_eq!(ours, theirs, "{}", what);
                Ok(())
            };
            let at = which.index(loads.len());
            let own = loads[at];
            let rest: Vec<Load> = loads
                .iter()
                .enumerate()
                .filter(|&(one, _)| one != at)
                .map(|(_, load)| *load)
                .collect();
            let demands: Vec<Demand> = rest.iter().map(demand).collect();
            same(
                ours(casini_polled(own, &rest, supply, limit)),
                theirs(ros2::rta_polling_point_callback(
                    &their_supply,
                    &demand(&own),
                    &Slice::of(&demands),
                    their_limit,
                )),
                "polled",
            )?;
            let blocking = Service::from_ns(responses[0] % 6);
            same(
                ours(casini_timer(own, &rest, blocking, supply, limit)),
                theirs(ros2::rta_timer(
                    &their_supply,
                    &demand(&own),
                    &Slice::of(&demands),
                    other::time::Service::from(blocking.ns().unsigned_abs()),
                    their_limit,
                )),
                "timer",
            )?;
            // The chain has its last callback and one before it, with the arrivals of one source.
            let before = Load { wcet: Service::from_ns(1 + responses[1] % 4), ..own };
            let whole = Load { wcet: own.wcet + before.wcet, ..own };
            same(
                ours(casini_chain(own, &[before], &rest, supply, limit)),
                theirs(ros2::rta_processing_chain(
                    &their_supply,
                    &demand(&own),
                    &demand(&before),
                    &demand(&whole),
                    &Slice::of(&demands),
                    their_limit,
                )),
                "chain",
            )?;
            let all: Vec<Demand> = loads.iter().map(demand).collect();
            same(
                ours(fifo(&loads, SupplyBound::ALWAYS, limit)),
                theirs(other::fifo::dedicated_uniproc_rta(&Slice::of(&all), their_limit)),
                "fifo",
            )?;
            let responses: Vec<Duration> = loads
                .iter()
                .zip(&responses)
                .map(|(load, &more)| Duration::from_ns(load.wcet.ns() + more))
                .collect();
            let curves: Vec<(Sporadic, Scalar)> =
                loads.iter().map(|load| (arrivals(load), cost(load))).collect();
            let kind = |at: usize| {
                if loads[at].polled {
                    rr::CallbackType::Polled(i32::try_from(at).expect("few"))
                } else {
                    rr::CallbackType::Timer
                }
            };
            let rr_all: Vec<_> = curves
                .iter()
                .enumerate()
                .map(|(at, (arrivals, cost))| {
                    rr::Callback::new(length(responses[at]), arrivals, cost, kind(at))
                })
                .collect();
            let bw_all: Vec<_> = curves
                .iter()
                .enumerate()
                .map(|(at, (arrivals, cost))| {
                    bw::Callback::new(length(responses[at]), arrivals, cost, kind(at))
                })
                .collect();
            let first = (at + 1) % loads.len();
            for chain in [vec![at], vec![first, at]] {
                if chain.len() > 1 && first == at {
                    continue;
                }
                let rr_chain: Vec<_> = chain.iter().map(|&at| &rr_all[at]).collect();
                let bw_chain: Vec<_> = chain.iter().map(|&at| &bw_all[at]).collect();
                same(
                    ours(round_robin(&loads, &chain, &responses, supply, limit)),
                    theirs(rr::rta_subchain(&their_supply, &rr_all, &rr_chain, their_limit)),
                    "rr",
                )?;
                same(
                    ours(busy_window(&loads, &chain, &responses, supply, limit)),
                    theirs(bw::rta_subchain(&their_supply, &bw_all, &bw_chain, their_limit)),
                    "bw",
                )?;
            }
            Ok(())
        });
    result.unwrap_or_else(|error| panic!("{error:?}"));
    let (compared, finite) = (compared.get(), finite.get());
    println!("{compared} comparisons, {finite} of bounds that exist");
    assert!(compared > 1000 && finite * 2 > compared, "{compared} comparisons, {finite} bounds");
}
