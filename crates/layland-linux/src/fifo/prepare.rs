//! Changes to a system before it runs on real threads.

use crate::RunError;
use layland_engine::reserves::times;
use layland_model::{
    ArrivalCurve, Behaviour, Change, CurveArrivals, Duration, ExecutionModel, Preemption, Rate,
    RequestKind, Separation, Service, System, TaskId, Time,
};
use std::sync::Arc;

/// Multiplies the execution times of a task by `factor`. Its WCET, which the policy sees, stays the
/// same.
///
/// # Errors
/// Returns an error if an execution time becomes too long to be represented.
pub fn with_overrun(system: &System, task: TaskId, factor: &Rate) -> Result<System, RunError> {
    let mut system = system.clone();
    let levels = system.tasks[task].wcet.clone();
    let task = &mut system.tasks[task];
    let longer = |work: Service| times(work, factor);
    task.execution = match &task.execution {
        ExecutionModel::Wcet => ExecutionModel::Fraction(factor.clone()),
        ExecutionModel::Fraction(fraction) => ExecutionModel::Fraction(fraction * factor),
        ExecutionModel::Level(level) => ExecutionModel::List(vec![longer(levels[level.level()])]),
        ExecutionModel::Uniform { min, max } => {
            ExecutionModel::Uniform { min: longer(*min), max: longer(*max) }
        }
        ExecutionModel::Discrete(values) => ExecutionModel::Discrete(
            values.iter().map(|&(work, weight)| (longer(work), weight)).collect(),
        ),
        ExecutionModel::List(values) => {
            ExecutionModel::List(values.iter().map(|&work| longer(work)).collect())
        }
    };
    let name = task.name.clone();
    if let Some(fault) = system.validate().first() {
        return Err(RunError::unsupported(format!("task `{name}` cannot overrun so: {fault}")));
    }
    Ok(system)
}

/// Multiplies every time of a set, including its requests, by a positive factor. The overheads of
/// the machine stay the same, because it is as fast as before.
///
/// ```
/// use layland_linux::stretched;
/// use layland_model::{Duration, Rate, Service, System, Task};
/// let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(5));
/// let system = stretched(&System::new(1, vec![task]), &Rate::whole(20)).unwrap();
/// let task = system.tasks.values().next().unwrap();
/// assert_eq!((task.own_wcet(), task.period), (Service::from_ms(20), Duration::from_ms(100)));
/// ```
///
/// # Errors
/// Returns an error if a time becomes too long to be represented.
pub fn stretched(system: &System, factor: &Rate) -> Result<System, RunError> {
    let work = |work: &mut Service| {
        if *work > Service::ZERO {
            *work = times(*work, factor);
        }
    };
    let length = |length: &mut Duration| {
        if *length > Duration::ZERO {
            *length = times(Service::from_ns(length.ns()), factor).at_unit_speed();
        }
    };
    let time = |time: &mut Time| {
        let mut since = time.since_start();
        length(&mut since);
        *time = Time::ZERO + since;
    };
    let mut system = system.clone();
    for task in system.tasks.values_mut() {
        [&mut task.period, &mut task.deadline, &mut task.offset, &mut task.jitter]
            .into_iter()
            .for_each(length);
        task.wcet.iter_mut().chain(&mut task.budget).for_each(work);
        match &mut task.preemption {
            Preemption::Anywhere | Preemption::Never => {}
            Preemption::Delayed(region) => length(region),
            Preemption::Between(segments) => segments.iter_mut().for_each(work),
        }
        match &mut task.behaviour {
            Behaviour::Periodic | Behaviour::Hog | Behaviour::Yield => {}
            Behaviour::Sporadic(Separation::Uniform { max }) => length(max),
            Behaviour::Sporadic(Separation::Exponential { mean, max }) => {
                length(mean);
                length(max);
            }
            Behaviour::Explicit(times) => times.iter_mut().for_each(time),
            Behaviour::SelfSuspending { gap } => length(gap),
            Behaviour::Curve(arrivals) => {
                let mut distances = arrivals.curve.delta_min().to_vec();
                distances.iter_mut().for_each(length);
                let mut extra = arrivals.extra.clone();
                match &mut extra {
                    None => {}
                    Some(Separation::Uniform { max }) => length(max),
                    Some(Separation::Exponential { mean, max }) => {
                        length(mean);
                        length(max);
                    }
                }
                let curve = ArrivalCurve::new(&distances).map_err(|error| {
                    RunError::unsupported(format!("it cannot be stretched so: {error}"))
                })?;
                task.period = curve.separation();
                *arrivals = Arc::new(CurveArrivals { curve, extra });
            }
        }
        match &mut task.execution {
            ExecutionModel::Wcet | ExecutionModel::Level(_) | ExecutionModel::Fraction(_) => {}
            ExecutionModel::Uniform { min, max } => {
                work(min);
                work(max);
            }
            ExecutionModel::Discrete(values) => {
                values.iter_mut().for_each(|(value, _)| work(value));
            }
            ExecutionModel::List(values) => values.iter_mut().for_each(work),
        }
    }
    for request in &mut system.requests {
        time(&mut request.at);
        if let RequestKind::Reconfigure(_, Change::Parameters { wcet, period, deadline }) =
            &mut request.kind
        {
            work(wcet);
            length(period);
            length(deadline);
        }
    }
    match system.validate().first() {
        Some(fault) => Err(RunError::unsupported(format!("it cannot be stretched so: {fault}"))),
        None => Ok(system),
    }
}

/// Returns the least positive difference between a task's deadline and its WCET. A pause of the
/// machine must not exceed it.
pub(crate) fn least_slack(system: &System) -> Option<Duration> {
    let slack = |task: &layland_model::Task| task.deadline - task.own_wcet().at_unit_speed();
    system.tasks.values().map(slack).filter(|&slack| slack > Duration::ZERO).min()
}
