//! Assumptions of tests about the parameters of tasks.

use super::Assumption::{
    self, BoundedArrivals, BudgetKept, ConstrainedDeadlines, FitsAlone, ImplicitDeadlines,
    NoBlocking, NoJitter, OwnLevel, Preemptible, Priorities, SporadicReleases, WcetKept,
};
use super::{Refusal, longest_execution};
use layland_model::{Behaviour, Duration, Field, System, Task};

impl Assumption {
    /// Checks that a valid system keeps an assumption about parameters of tasks; every system keeps the other
    /// assumptions.
    #[expect(clippy::wildcard_enum_match_arm, reason = "`check` names every assumption")]
    pub(super) fn check_parameters(self, system: &System) -> Result<(), Refusal> {
        match self {
            SporadicReleases => self.each_task(
                system,
                Field::Behaviour,
                &|_, task| releases_too_close(task),
                "make it periodic or sporadic with the shortest separation as its period",
            ),
            BoundedArrivals => self.each_task(
                system,
                Field::Behaviour,
                &|_, task| releases_too_close(task).filter(|_| task.bursts().is_none()),
                "make it periodic or sporadic with the shortest separation as its period, or give it an arrival curve",
            ),
            NoJitter => self.each_task(
                system,
                Field::Jitter,
                &|_, task| {
                    (task.jitter > Duration::ZERO)
                        .then(|| format!("has a release jitter of {:#}", task.jitter))
                },
                "shorten its deadline and its period by the jitter, and leave out `jitter`",
            ),
            ImplicitDeadlines => self.each_task(
                system,
                Field::Deadline,
                &|_, task| {
                    let (d, t) = (task.deadline, task.period);
                    (d != t).then(|| format!("has the deadline {d:#} and the period {t:#}"))
                },
                "make the deadline the period, or use a test for other deadlines",
            ),
            ConstrainedDeadlines => self.each_task(
                system,
                Field::Deadline,
                &|_, task| {
                    let (d, t) = (task.deadline, task.period);
                    (d > t).then(|| format!("has the deadline {d:#}, longer than its period {t:#}"))
                },
                "shorten the deadline to the period",
            ),
            FitsAlone => self.each_task(
                system,
                Field::Wcet,
                &|id, task| {
                    let (c, d) = (task.own_wcet(), task.deadline);
                    let is_too_long = c.at_unit_speed() > d && {
                        let allowed = system.allowed_cpus(id);
                        allowed.iter().all(|cpu| system.platform.speeds[cpu].time_for(c) > d)
                    };
                    is_too_long.then(|| format!("needs {c:#} within {d:#}"))
                },
                "no scheduler can do that: lower `wcet` or raise `deadline`",
            ),
            WcetKept => self.each_task(
                system,
                Field::Execution,
                &|_, task| {
                    let (c, longest) = (task.own_wcet(), longest_execution(task));
                    (longest > c).then(|| format!("executes for up to {longest:#}, its WCET is {c:#}"))
                },
                "raise `wcet` to what it executes at most",
            ),
            BudgetKept => self.each_task(
                system,
                Field::Budget,
                &|_, task| {
                    let (q, longest) = (task.reservation(), longest_execution(task));
                    (longest > q)
                        .then(|| format!("executes for up to {longest:#}, its budget is {q:#}"))
                },
                "raise `budget` to what it executes at most",
            ),
            Priorities => self.each_task(
                system,
                Field::Priority,
                &|_, task| task.priority.is_none().then(|| "has no priority".to_owned()),
                "give every task a `priority`, or use the rate- or deadline-monotonic form",
            ),
            OwnLevel => self.each_task(
                system,
                Field::Wcet,
                &|_, task| {
                    let own = task.criticality.level();
                    let above =
                        (own + 1..task.wcet.len()).find(|&l| task.wcet[l] != task.wcet[own])?;
                    let name = |level: usize| system.levels.names()[level].clone();
                    Some(format!(
                        "executes for {:#} at level {} and for {:#} at its own level {}",
                        task.wcet[above],
                        name(above),
                        task.wcet[own],
                        name(own)
                    ))
                },
                "repeat the execution time of its own level: above it nothing is promised to the task",
            ),
            Preemptible => self.each_task(
                system,
                Field::Preemption,
                &|_, task| {
                    let has_regions = !task.preemption.is_anywhere();
                    has_regions.then(|| "has non-preemptive regions".to_owned())
                },
                "leave out `nonpreemptive` and `segments`, or ask about EDF or fixed priorities on each CPU",
            ),
            NoBlocking => self.each_task(
                system,
                Field::Blocking,
                &|_, task| {
                    (task.blocking_time > Duration::ZERO)
                        .then(|| format!("has a blocking time of {}", task.blocking_time))
                },
                "ask about fixed priorities or EDF on each CPU, without overheads, or leave out `blocking`",
            ),
            _ => Ok(()),
        }
    }
}

/// Returns a description of arrivals that are closer than a period.
fn releases_too_close(task: &Task) -> Option<String> {
    match &task.behaviour {
        Behaviour::Periodic | Behaviour::Sporadic(_) | Behaviour::Hog | Behaviour::Yield => None,
        Behaviour::Curve(_) => task.bursts().map(|curve| {
            let (jobs, length) = curve.cycle();
            format!(
                "arrives by a curve: two jobs may come {:#} apart, and {jobs} every {length:#} in the long run",
                curve.distance(1)
            )
        }),
        Behaviour::SelfSuspending { gap } => {
            Some(format!("comes back {gap:#} after each completion, not each period"))
        }
        Behaviour::Explicit(releases) => (releases.windows(2))
            .find(|pair| pair[1] - pair[0] < task.period)
            .map(|pair| format!("is released at {} and at {}", pair[0], pair[1]))
            .map(|what| format!("{what}, less than its period {} apart", task.period)),
    }
}
