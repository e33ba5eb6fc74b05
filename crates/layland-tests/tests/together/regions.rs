//! Non-preemptive regions, compared with the crate `response-time-analysis`, whose bounds are
//! proved in Prosa.

use crate::curves::{LIMIT, agree, bounds, cost, length, service, theirs};
use layland_analysis::uniprocessor::deferred::{edf_response, fixed_priority};
use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_model::{Duration, Preemption, System, Task};
use layland_testkit::cases::on_random;
use layland_testkit::curves::bursty;
use layland_testkit::deferred::with_regions;
use proptest::prelude::*;
use response_time_analysis as other;
use response_time_analysis::arrival::ExtrapolatingCurve;
use response_time_analysis::demand::RBF;
use response_time_analysis::wcet::Scalar;

/// Returns our bounds under fixed priorities and EDF.
fn ours(system: &System) -> [Vec<Option<u64>>; 2] {
    [fixed_priority::TEST.responses_under(PriorityOrder::Given).unwrap(), edf_response::RESPONSES]
        .map(|test| {
            let all = bounds(&test, system).into_iter();
            all.map(|bound| bound.map(|bound| bound.ns().unsigned_abs())).collect()
        })
}

/// Returns the longest region: the task's blocking, plus the nanosecond in which the region has begun.
fn longest(task: &Task) -> other::time::Service {
    service(task.blocking().ns() + 1)
}

fn blocked(lower: &[&Task]) -> other::time::Service {
    service(lower.iter().map(|task| task.blocking().ns()).max().unwrap_or(0))
}

fn demand(task: &Task) -> RBF<ExtrapolatingCurve, Scalar> {
    RBF::new(theirs(task), cost(task))
}

/// With segments, the longest segment of another task blocks, and no job interrupts the task's own last segment.
#[test]
fn bounds_with_segments_are_those_of_another_implementation() {
    let draws = prop::collection::vec(any::<u64>(), 8);
    let limit = other::time::Duration::from(LIMIT);
    on_random(500, 400, (bursty(), draws), |(system, draws)| {
        let system = with_regions(system, &draws, false);
        let [fp, edf] = ours(&system);
        let tasks: Vec<&Task> = system.tasks.values().collect();
        let demands: Vec<_> = tasks.iter().map(|task| demand(task)).collect();
        let mut said = false;
        for (at, task) in tasks.iter().enumerate() {
            let arrivals = theirs(task);
            let last_np_segment = service(task.last_region().ns());
            let tua = other::fixed_priority::limited_preemptive::TaskUnderAnalysis {
                wcet: cost(task),
                arrivals: &arrivals,
                last_np_segment,
                blocking_bound: blocked(&tasks[at + 1..]),
            };
            let found = other::fixed_priority::limited_preemptive::dedicated_uniproc_rta(
                &tua,
                &demands[..at],
                limit,
            );
            said |= agree("LP-FP", at, fp[at], found, &system)?;
            let tua = other::edf::limited_preemptive::TaskUnderAnalysis {
                wcet: cost(task),
                arrivals: &arrivals,
                deadline: length(task.deadline),
                last_np_segment,
            };
            let others: Vec<_> = (tasks.iter().zip(&demands).enumerate())
                .filter(|&(place, _)| place != at)
                .map(|(_, (task, rbf))| other::edf::limited_preemptive::InterferingTask {
                    rbf,
                    deadline: length(task.deadline),
                    max_np_segment: longest(task),
                })
                .collect();
            let found = other::edf::limited_preemptive::dedicated_uniproc_rta(&tua, &others, limit);
            said |= agree("LP-EDF", at, edf[at], found, &system)?;
        }
        Ok(said)
    });
}

/// Floating regions block with their whole length. The protection of a job by its own region is not counted.
#[test]
fn bounds_with_floating_regions_are_those_of_another_implementation() {
    let delays = prop::collection::vec(1i64..7, 3);
    let limit = other::time::Duration::from(LIMIT);
    on_random(500, 400, (bursty(), delays), |(mut system, delays)| {
        for (task, &delay) in system.tasks.values_mut().zip(&delays) {
            task.preemption = Preemption::Delayed(Duration::from_ns(delay));
        }
        let [fp, edf] = ours(&system);
        let tasks: Vec<&Task> = system.tasks.values().collect();
        let demands: Vec<_> = tasks.iter().map(|task| demand(task)).collect();
        let mut said = false;
        for (at, task) in tasks.iter().enumerate() {
            let tua = other::fixed_priority::floating_nonpreemptive::TaskUnderAnalysis {
                rbf: &demands[at],
                blocking_bound: blocked(&tasks[at + 1..]),
            };
            let found = other::fixed_priority::floating_nonpreemptive::dedicated_uniproc_rta(
                &tua,
                &demands[..at],
                limit,
            );
            said |= agree("FP-NPS", at, fp[at], found, &system)?;
            let tua = other::edf::floating_nonpreemptive::TaskUnderAnalysis {
                rbf: &demands[at],
                deadline: length(task.deadline),
            };
            let others: Vec<_> = (tasks.iter().zip(&demands).enumerate())
                .filter(|&(place, _)| place != at)
                .map(|(_, (task, rbf))| other::edf::floating_nonpreemptive::InterferingTask {
                    rbf,
                    deadline: length(task.deadline),
                    max_np_segment: longest(task),
                })
                .collect();
            let found =
                other::edf::floating_nonpreemptive::dedicated_uniproc_rta(&tua, &others, limit);
            said |= agree("EDF-NPS", at, edf[at], found, &system)?;
        }
        Ok(said)
    });
}
