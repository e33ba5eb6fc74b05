//! The reservations of a run on real threads. They exceed the parameters of the set if the policy
//! grants no more than the parameters it receives.
//!
//! On a machine a job also pays for the context switches to it and for interrupts. A policy that
//! lets a job run until it ends is not affected. A policy that counts the time it has granted would
//! stop a job that takes its WCET shortly before its end, so it receives slightly larger
//! parameters. The difference is the [`Margin`]. The increased parameters follow from what the
//! policy counts ([`Reserves`]).
//!
//! Both the code that runs a set and the code that predicts the guarantees of that run use
//! [`Reserves`], so that a guarantee is about the set that runs. Execution times of jobs do not
//! change: the margin covers what the machine takes.

use layland_model::{Behaviour, Duration, ExecutionModel, Rate, Service, System, Task};
use layland_policy::{Policy, Schedules};
use std::borrow::Cow;

/// The minimum of a margin that is a fraction: enough for some context switches and interrupts per
/// period.
pub const LEAST_MARGIN: Service = Service::from_us(100);

/// The amount by which a reservation exceeds the needs of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Margin {
    /// A fraction of the needs.
    Fraction(Rate),
    /// A fixed time.
    Time(Duration),
}

impl Margin {
    /// Returns the margin for this amount of work. A fraction yields at least [`LEAST_MARGIN`]; a
    /// fixed time has no minimum.
    pub fn of(&self, own: Service) -> Service {
        match self {
            Margin::Fraction(fraction) => times(own, fraction).max(LEAST_MARGIN),
            Margin::Time(time) => Service::from_ns(time.ns()),
        }
    }
}

/// Parses a fraction, or a time with its unit.
impl std::str::FromStr for Margin {
    type Err = String;

    fn from_str(text: &str) -> Result<Margin, String> {
        let text = text.trim();
        let (margin, is_negative) = match text.parse::<Rate>() {
            Ok(fraction) => {
                let is_negative = fraction < Rate::ZERO;
                (Margin::Fraction(fraction), is_negative)
            }
            Err(_) => {
                let time = text.parse::<Duration>();
                let time = time.map_err(|error| format!("{error}: {}", error.help()))?;
                (Margin::Time(time), time < Duration::ZERO)
            }
        };
        if is_negative { Err("a margin is not negative".to_owned()) } else { Ok(margin) }
    }
}

/// The default margin of a run: 5 %.
impl Default for Margin {
    fn default() -> Margin {
        Margin::Fraction(Rate::new(1, 20))
    }
}

/// Formats the margin as on a command line.
impl std::fmt::Display for Margin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Margin::Fraction(fraction) => write!(f, "{}", fraction.to_f64()),
            Margin::Time(time) => write!(f, "{time}"),
        }
    }
}

/// The parameters that a run increases beyond those of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reserves {
    /// No parameters: the policy lets jobs run until they end.
    AsSaid,
    /// The budgets of threads.
    Budgets,
    /// The WCETs that the policy plans with or watches.
    Wcets,
}

impl Reserves {
    /// Returns the parameters that a policy counts.
    pub fn of(policy: &dyn Policy) -> Reserves {
        match policy.needs().schedules {
            Schedules::Threads => Reserves::Budgets,
            Schedules::ReadyJobs | Schedules::ArrivingJobs => {
                let plans = policy.rule().plans_with_wcets();
                if plans { Reserves::Wcets } else { Reserves::AsSaid }
            }
        }
    }

    /// Returns the system that a real run passes to its policy, and that an analysis must use for
    /// guarantees of the run. The policy accepts the original system; it may refuse this one.
    ///
    /// ```
    /// use layland_engine::reserves::{Margin, Reserves};
    /// use layland_model::{Duration, Service, System, Task};
    /// use layland_policy::Registry;
    /// let task = Task::implicit("a", Service::from_ms(10), Duration::from_ms(50));
    /// let system = System::new(1, vec![task]);
    /// let under = |spec: &str| {
    ///     let policy = Registry::standard().build(spec, &system).unwrap();
    ///     let reserved = Reserves::of(&*policy).larger(&system, &Margin::default());
    ///     let task = reserved.tasks.values().next().unwrap();
    ///     (task.own_wcet(), task.budget)
    /// };
    /// let (wcet, more) = (Service::from_ms(10), Service::from_us(10_500));
    /// assert_eq!(under("p-edf"), (wcet, None));
    /// assert_eq!(under("dl"), (wcet, Some(more)));
    /// assert_eq!(under("run"), (more, None));
    /// ```
    pub fn larger<'a>(self, system: &'a System, margin: &Margin) -> Cow<'a, System> {
        match self {
            Reserves::AsSaid => Cow::Borrowed(system),
            Reserves::Budgets => Cow::Owned(with_margin(system, margin)),
            Reserves::Wcets => Cow::Owned(with_slack(system, margin)),
        }
    }
}

/// Increases the reservation of every thread by the margin, up to its deadline.
///
/// The server of a thread also pays for the context switches to it. With a reservation of exactly
/// the WCET, a job that takes its WCET is throttled shortly before its end, and misses its
/// deadline. Reservations of hogs stay unchanged: their jobs are defined by the reservation.
///
/// ```
/// use layland_engine::reserves::{Margin, with_margin};
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("a", Service::from_ms(10), Duration::from_ms(50));
/// let system = with_margin(&System::new(1, vec![task]), &Margin::default());
/// assert_eq!(system.tasks.values().next().unwrap().budget, Some(Service::from_us(10_500)));
/// ```
pub fn with_margin(system: &System, margin: &Margin) -> System {
    let mut system = system.clone();
    for task in system.tasks.values_mut() {
        if matches!(task.behaviour, Behaviour::Hog) {
            continue;
        }
        let own = task.reservation();
        task.budget = Some(within(own, margin, room(task)));
    }
    system
}

/// Increases the WCETs of every task by the margin, up to its deadline, without changing the
/// execution times of its jobs.
///
/// RUN and QPS use up their reservations exactly at the deadline. With a reservation of exactly the
/// execution time, every context switch would make a job late.
///
/// ```
/// use layland_engine::reserves::{Margin, with_slack};
/// use layland_model::{Duration, ExecutionModel, Service, System, Task};
/// let task = Task::implicit("a", Service::from_ms(10), Duration::from_ms(50));
/// let system = System::new(1, vec![task]);
/// let system = with_slack(&system, &Margin::Time(Duration::from_ms(1)));
/// let task = system.tasks.values().next().unwrap();
/// assert_eq!(task.own_wcet(), Service::from_ms(11));
/// assert_eq!(task.execution, ExecutionModel::List(vec![Service::from_ms(10)]));
/// ```
pub fn with_slack(system: &System, margin: &Margin) -> System {
    let mut system = system.clone();
    for task in system.tasks.values_mut() {
        let own = task.own_wcet();
        task.execution = match &task.execution {
            ExecutionModel::Wcet => ExecutionModel::List(vec![own]),
            ExecutionModel::Fraction(fraction) => ExecutionModel::List(vec![times(own, fraction)]),
            ExecutionModel::Level(level) => ExecutionModel::List(vec![task.wcet[level.level()]]),
            drawn @ (ExecutionModel::Uniform { .. }
            | ExecutionModel::Discrete(_)
            | ExecutionModel::List(_)) => drawn.clone(),
        };
        let room = room(task);
        for wcet in task.wcet.iter_mut() {
            *wcet = within(*wcet, margin, room);
        }
    }
    system
}

/// Returns an amount of work plus its margin, limited by `room`, but at least the amount itself.
fn within(own: Service, margin: &Margin, room: Service) -> Service {
    let more = own.checked_add(margin.of(own));
    // An amount that exceeds the room already stays, since a margin must not shorten it.
    more.map_or(room, |more| more.min(room)).max(own)
}

/// Returns the time between a release and the deadline or the next release, whichever is earlier.
fn room(task: &Task) -> Service {
    Service::from_ns(task.deadline.min(task.period).ns())
}

/// Returns an amount of work times a positive rate, rounded up, at least 1 ns.
pub fn times(work: Service, rate: &Rate) -> Service {
    let product = rate * &Rate::whole(work.ns());
    Service::from_ns(product.ceil().unwrap_or(i64::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Criticality, Levels};
    use layland_policy::Registry;

    /// Returns a task named after its WCET.
    fn task(wcet: i64, period: i64) -> Task {
        Task::implicit(format!("t{wcet}"), Service::from_ms(wcet), Duration::from_ms(period))
    }

    fn ms(length: i64) -> Margin {
        Margin::Time(Duration::from_ms(length))
    }

    #[test]
    fn what_a_policy_counts_is_what_is_larger() {
        let system = System::new(1, vec![task(1, 10), task(2, 20)]);
        let mut kinds = [0; 3];
        for info in &Registry::standard() {
            let Ok(policy) = Registry::standard().build(&info.name, &system) else { continue };
            let reserves = Reserves::of(&*policy);
            kinds[reserves as usize] += 1;
            let larger = reserves.larger(&system, &ms(3));
            for (id, task) in system.tasks.iter() {
                let (more, wcet) = (task.own_wcet() + Service::from_ms(3), task.own_wcet());
                let expected = match &*info.name {
                    "dl" | "dl-sp" | "apedf" | "a2pedf" => (wcet, Some(more)),
                    "run" | "qps" | "pd2" | "er-pd2" | "dp-wrap" | "lre-tl" | "u-edf" | "cd"
                    | "edf-wm" | "smc" | "rms" | "cms" | "amc" | "zss" | "pt" | "plrs" | "ocbp"
                    | "edf-vd" => (more, None),
                    _ => (wcet, None),
                };
                let found = &larger.tasks[id];
                assert_eq!((found.own_wcet(), found.budget), expected, "{}", info.name);
            }
            assert_eq!(larger.validate(), [], "{}", info.name);
        }
        let [as_said, budgets, wcets] = kinds;
        assert!(as_said >= 10 && budgets >= 4 && wcets >= 10, "{kinds:?}");
    }

    #[test]
    fn a_margin_takes_the_room_that_there_is() {
        let mut hog = task(3, 10);
        hog.behaviour = Behaviour::Hog;
        let mut short = task(4, 10);
        short.deadline = Duration::from_ms(5);
        let mut granted = task(5, 10);
        granted.budget = Some(Service::from_ms(6));
        let full = task(10, 10);
        let system = System::new(1, vec![hog, short, granted, full]);
        let larger = with_margin(&system, &ms(3));
        let budgets: Vec<_> = larger.tasks.values().map(|task| task.budget).collect();
        assert_eq!(budgets, [None, Some(5), Some(9), Some(10)].map(|ms| ms.map(Service::from_ms)));
        let huge = Margin::Fraction(Rate::whole(i64::MAX));
        for larger in [with_margin(&system, &huge), with_slack(&system, &huge)] {
            assert_eq!(larger.validate(), []);
        }
    }

    #[test]
    fn every_level_has_its_margin_and_jobs_execute_as_they_did() {
        let mut mixed = task(2, 20);
        mixed.wcet = vec![Service::from_ms(2), Service::from_ms(19)].into();
        mixed.criticality = Criticality(1);
        mixed.execution = ExecutionModel::Level(Criticality(0));
        let mut system = System::new(1, vec![mixed]);
        system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
        let larger = with_slack(&system, &ms(3));
        let task = larger.tasks.values().next().unwrap();
        assert_eq!(task.wcet, [5, 20].map(Service::from_ms).into());
        assert_eq!(task.execution, ExecutionModel::List(vec![Service::from_ms(2)]));
    }

    #[test]
    fn a_fraction_is_rounded_up_and_at_least_so_much() {
        let of =
            |text: &str, own| Margin::Fraction(text.parse().unwrap()).of(Service::from_ns(own));
        assert_eq!(of("0.05", 10_000_001), Service::from_ns(500_001));
        assert_eq!(of("0.05", 1_000_000), LEAST_MARGIN);
        assert_eq!(of("0", 10_000_000), LEAST_MARGIN);
        // More digits than fit in 64 bits.
        assert_eq!(of("0.05000000000000000000001", 10_000_000), Service::from_ns(500_001));
        assert_eq!(Margin::Time(Duration::ZERO).of(Service::from_ms(1)), Service::ZERO);
    }

    #[test]
    fn margins_are_written_as_they_are_read() {
        assert_eq!(Margin::default().to_string(), "0.05");
        assert_eq!(ms(5).to_string(), "5ms");
    }
}
