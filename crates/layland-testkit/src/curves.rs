//! Random tasks with arrival curves, and the arrivals that a curve permits, by every sum of its distances.

use layland_model::{
    ArrivalCurve, Behaviour, CurveArrivals, Duration, Rate, Separation, Service, System, Task,
};
use proptest::prelude::*;
use std::sync::Arc;

/// Gives a task arrivals by this curve, and the curve's separation as its period.
pub fn by_curve(task: &mut Task, curve: ArrivalCurve, extra: Option<Separation>) {
    task.period = curve.separation();
    task.behaviour = Behaviour::Curve(Arc::new(CurveArrivals { curve, extra }));
}

/// Returns the first pair of arrivals, in ascending order, that are nearer to each other than the
/// distances permit. The permitted distance is the longest sum of distances, computed from scratch.
pub fn too_close(delta_min: &[Duration], arrivals: &[i64]) -> Option<(usize, usize)> {
    let mut least = vec![0];
    for steps in 1..arrivals.len() {
        let parts = delta_min.iter().enumerate().filter(|&(at, _)| at < steps);
        least.push(parts.map(|(at, part)| part.ns() + least[steps - at - 1]).max().unwrap_or(0));
    }
    let pairs = (0..arrivals.len()).flat_map(|a| (a + 1..arrivals.len()).map(move |b| (a, b)));
    pairs.into_iter().find(|&(a, b)| arrivals[b] - arrivals[a] < least[b - a])
}

/// Draws up to three tasks on one CPU, released together and as densely as their curves permit.
/// Each has its own priority, and the load is at most 1. Some are sporadic.
pub fn bursty() -> impl Strategy<Value = System> {
    let curve = (0i64..7, prop::collection::vec(0i64..14, 0..4), 4i64..30);
    let task = (curve, 1i64..5, 2i64..60);
    prop::collection::vec(task, 1..=3).prop_filter_map("a load of at most 1", |tasks| {
        let mut all = Vec::new();
        for (at, ((first, more, last), wcet, deadline)) in tasks.into_iter().enumerate() {
            let mut distances = vec![first];
            more.iter()
                .chain([&last])
                .for_each(|step| distances.push(distances[distances.len() - 1] + step));
            let distances: Vec<Duration> = distances.into_iter().map(Duration::from_ns).collect();
            let curve = ArrivalCurve::new(&distances).ok()?;
            let mut task =
                Task::implicit(format!("t{at}"), Service::from_ns(wcet), Duration::from_ns(1));
            by_curve(&mut task, curve, None);
            task.deadline = Duration::from_ns(deadline);
            task.priority = Some(at as i64);
            all.push(task);
        }
        let system = System::new(1, all);
        let fits = system.utilization().fits(&Rate::ZERO, &Rate::ONE);
        (fits && system.validate().is_empty()).then_some(system)
    })
}
