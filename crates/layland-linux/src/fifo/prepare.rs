//! What is changed of a system before it runs on real threads.

use crate::RunError;
use layland_model::{
    Behaviour, Change, Duration, ExecutionModel, Rate, RequestKind, Separation, Service, System,
    TaskId, Time,
};

/// The least margin of a reservation: some switches and interrupts per period.
pub const LEAST_MARGIN: Service = Service::from_us(100);

/// Gives every thread a reservation that is larger by this fraction of it, but at least by
/// [`LEAST_MARGIN`]; at most its deadline.
///
/// The server of a thread also pays for the switches to it. With a reservation of just the WCET, a job
/// that takes its WCET is throttled shortly before its end, and misses its deadline. Reservations of
/// hogs stay: their jobs are what the reservation grants.
///
/// ```
/// use layland_linux::with_margin;
/// use layland_model::{Duration, Rate, Service, System, Task};
/// let task = Task::implicit("a", Service::from_ms(10), Duration::from_ms(50));
/// let system = with_margin(&System::new(1, vec![task]), &Rate::new(1, 20));
/// assert_eq!(system.tasks.values().next().unwrap().budget, Some(Service::from_us(10_500)));
/// ```
pub fn with_margin(system: &System, margin: &Rate) -> System {
    larger(system, |own| margin_of(own, margin))
}

/// The same with one margin for all.
pub fn with_margin_of(system: &System, margin: Duration) -> System {
    larger(system, |_| Service::from_ns(margin.ns()))
}

/// Gives every task a WCET that is larger by this, at most its deadline, while its jobs execute as they
/// did.
///
/// What RUN and QPS reserve is used up at the deadline and not before: with a reservation of just the
/// execution time every switch makes a job late.
///
/// ```
/// use layland_linux::with_slack;
/// use layland_model::{Duration, ExecutionModel, Service, System, Task};
/// let task = Task::implicit("a", Service::from_ms(10), Duration::from_ms(50));
/// let system = with_slack(&System::new(1, vec![task]), |_| Service::from_ms(1));
/// let task = system.tasks.values().next().unwrap();
/// assert_eq!(task.own_wcet(), Service::from_ms(11));
/// assert_eq!(task.execution, ExecutionModel::List(vec![Service::from_ms(10)]));
/// ```
pub fn with_slack(system: &System, margin: impl Fn(Service) -> Service) -> System {
    let mut system = system.clone();
    for task in system.tasks.values_mut() {
        let own = task.own_wcet();
        task.execution = match &task.execution {
            ExecutionModel::Wcet => ExecutionModel::List(vec![own]),
            ExecutionModel::Fraction(fraction) => ExecutionModel::List(vec![scaled(own, fraction)]),
            ExecutionModel::Level(level) => ExecutionModel::List(vec![task.wcet[level.level()]]),
            drawn @ (ExecutionModel::Uniform { .. }
            | ExecutionModel::Discrete(_)
            | ExecutionModel::List(_)) => drawn.clone(),
        };
        let most = Service::from_ns(task.deadline.min(task.period).ns());
        for wcet in task.wcet.iter_mut() {
            *wcet = (*wcet + margin(*wcet)).min(most.max(*wcet));
        }
    }
    system
}

/// The margin of a reservation: this fraction of it, at least [`LEAST_MARGIN`].
pub fn margin_of(own: Service, fraction: &Rate) -> Service {
    scaled(own, fraction).max(LEAST_MARGIN)
}

fn larger(system: &System, margin: impl Fn(Service) -> Service) -> System {
    let mut system = system.clone();
    for task in system.tasks.values_mut() {
        if matches!(task.behaviour, Behaviour::Hog) {
            continue;
        }
        let own = task.reservation();
        let most = Service::from_ns(task.deadline.min(task.period).ns()).max(own);
        task.budget = Some((own + margin(own)).min(most));
    }
    system
}

/// Makes the jobs of a task execute this many times as long, while everybody believes its WCET.
///
/// # Errors
/// If an execution time becomes too long to be counted.
pub fn with_overrun(system: &System, task: TaskId, factor: &Rate) -> Result<System, RunError> {
    let mut system = system.clone();
    let levels = system.tasks[task].wcet.clone();
    let task = &mut system.tasks[task];
    let longer = |work: Service| scaled(work, factor);
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

/// Multiplies every time of a set, its requests included, by a positive factor. What the machine
/// spends stays: it is as fast as before.
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
/// If a time becomes too long to be counted.
pub fn stretched(system: &System, factor: &Rate) -> Result<System, RunError> {
    let work = |work: &mut Service| {
        if *work > Service::ZERO {
            *work = scaled(*work, factor);
        }
    };
    let length = |length: &mut Duration| {
        if *length > Duration::ZERO {
            *length = scaled(Service::from_ns(length.ns()), factor).at_unit_speed();
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
        match &mut task.behaviour {
            Behaviour::Periodic | Behaviour::Hog | Behaviour::Yield => {}
            Behaviour::Sporadic(Separation::Uniform { max }) => length(max),
            Behaviour::Sporadic(Separation::Exponential { mean, max }) => {
                length(mean);
                length(max);
            }
            Behaviour::Explicit(times) => times.iter_mut().for_each(time),
            Behaviour::SelfSuspending { gap } => length(gap),
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

/// An amount of work times a positive rate, rounded up, at least 1 ns.
fn scaled(work: Service, rate: &Rate) -> Service {
    let Some((n, d)) = rate.as_i64_pair() else { return work };
    let product = i128::from(work.ns()) * i128::from(n);
    let rounded_up = (product + i128::from(d) - 1) / i128::from(d);
    Service::from_ns(i64::try_from(rounded_up).unwrap_or(i64::MAX).max(1))
}

/// The least time that a task has besides its execution, of those that have any: what a pause of the
/// machine must not exceed.
pub(crate) fn least_slack(system: &System) -> Option<Duration> {
    let slack = |task: &layland_model::Task| task.deadline - task.own_wcet().at_unit_speed();
    system.tasks.values().map(slack).filter(|&slack| slack > Duration::ZERO).min()
}
