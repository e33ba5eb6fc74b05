//! The rules for the parts of a task.

use super::{Field, SystemPart};
use crate::{
    Behaviour, Duration, ExecutionModel, Preemption, Separation, Service, Speed, System,
    TIME_LIMIT, Task, TaskId, Time,
};

impl System {
    /// Reports each invalid part of a task. Steps, intervals of LET, caches and curves have functions of their own.
    pub(super) fn validate_task(
        &self,
        id: TaskId,
        task: &Task,
        wrong: &mut impl FnMut(SystemPart, String, &str),
    ) {
        let mut field =
            |field, message: String, help: &str| wrong(SystemPart::Task(id, field), message, help);
        validate_name(task, &mut field);
        validate_lengths(task, &mut field);
        self.validate_wcet(task, &mut field);
        validate_budget(task, &mut field);
        validate_preemption(task, &mut field);
        self.validate_cluster(task, &mut field);
        validate_behaviour(task, &mut field);
        self.validate_execution(task, &mut field);
    }

    /// Checks the execution times of a task, which has one for each level.
    fn validate_wcet(&self, task: &Task, field: &mut impl FnMut(Field, String, &str)) {
        let name = &task.name;
        if task.wcet.len() != self.levels.count() {
            let message = format!(
                "`{name}` has {} execution times for {} criticality levels",
                task.wcet.len(),
                self.levels.count()
            );
            field(Field::Wcet, message, "give one time, or one per level");
        } else if task.criticality.level() >= self.levels.count() {
            let message = format!("`{name}` has a criticality that is not a level");
            field(Field::Criticality, message, "list it under [criticality] levels");
        } else {
            if task.own_wcet() <= Service::ZERO || task.wcet.iter().any(|&c| c < Service::ZERO) {
                field(
                    Field::Wcet,
                    format!("wcet of `{name}` is {}", task.own_wcet()),
                    "it must be longer than zero",
                );
            }
            // Levels above its own do not apply to a task.
            if task.wcet[..=task.criticality.level()].windows(2).any(|pair| pair[0] > pair[1]) {
                let message =
                    format!("wcet of `{name}` falls from one criticality level to the next");
                field(Field::Wcet, message, "a higher level allows for more, never for less");
            }
        }
        if task.wcet.iter().any(|c| c.ns() > TIME_LIMIT) {
            field(
                Field::Wcet,
                format!("wcet of `{name}` is too long"),
                "at most about 36 years fit",
            );
        }
    }

    /// Checks the cluster of a task, and its affinity within the cluster.
    fn validate_cluster(&self, task: &Task, field: &mut impl FnMut(Field, String, &str)) {
        let name = &task.name;
        match self.platform.clusters.get(task.cluster) {
            None => {
                let message =
                    format!("`{name}` is in cluster {}, which does not exist", task.cluster);
                let help = format!(
                    "there are clusters 0 to {}",
                    self.platform.clusters.len().saturating_sub(1)
                );
                field(Field::Cluster, message, &help);
            }
            Some(cluster) => {
                if let Some(affinity) = &task.affinity
                    && (affinity.is_empty() || !affinity.is_subset(cluster))
                {
                    let message =
                        format!("`{name}` may run on {affinity:#}, but its cluster has {cluster}");
                    field(
                        Field::Affinity,
                        message,
                        "an affinity is a non-empty part of the cluster",
                    );
                }
            }
        }
    }

    /// Checks the model from which the execution times of jobs come.
    fn validate_execution(&self, task: &Task, field: &mut impl FnMut(Field, String, &str)) {
        let name = &task.name;
        let in_range = |c: Service| (0..=TIME_LIMIT).contains(&c.ns());
        let execution_ok = match &task.execution {
            ExecutionModel::Wcet => true,
            ExecutionModel::Level(level) => level.level() < self.levels.count(),
            ExecutionModel::Fraction(rate) => rate
                .as_i64_pair()
                .is_some_and(|(n, d)| n > 0 && n <= Speed::LIMIT && d <= Speed::LIMIT),
            ExecutionModel::Uniform { min, max } => min <= max && in_range(*min) && in_range(*max),
            ExecutionModel::Discrete(values) => {
                values.iter().all(|&(c, _)| in_range(c))
                    && values.iter().map(|&(_, weight)| u128::from(weight)).sum::<u128>() > 0
                    && values.iter().map(|&(_, weight)| u128::from(weight)).sum::<u128>() < 1 << 60
            }
            ExecutionModel::List(values) => {
                !values.is_empty() && values.iter().all(|&c| in_range(c))
            }
        };
        if !execution_ok {
            let message = format!("the execution times of `{name}` are out of range");
            field(
                Field::Execution,
                message,
                "times from 0 on, min <= max, a fraction above 0, at least one value with a weight",
            );
        }
    }
}

/// Checks the name of a task.
fn validate_name(task: &Task, field: &mut impl FnMut(Field, String, &str)) {
    let name = &task.name;
    if name.is_empty() {
        field(Field::Name, "a task has no name".to_owned(), "name it, as in name = \"control\"");
    } else if let Some(control) = name.chars().find(|char| char.is_control()) {
        // Tables, charts and kernel traces have one name per line.
        field(
            Field::Name,
            format!("the name {name:?} has the character {control:?}"),
            "a name is a line of text",
        );
    }
}

/// Checks the times of a task that have one range each.
fn validate_lengths(task: &Task, field: &mut impl FnMut(Field, String, &str)) {
    let name = &task.name;
    for (which, label, length, least) in [
        (Field::Period, "period", task.period, 1),
        (Field::Deadline, "deadline", task.deadline, 1),
        (Field::Offset, "offset", task.offset, 0),
        (Field::Jitter, "jitter", task.jitter, 0),
        (Field::Blocking, "blocking", task.blocking_time, 0),
    ] {
        if !(least..=TIME_LIMIT).contains(&length.ns()) {
            let help =
                if least == 1 { "it must be longer than zero" } else { "it cannot be negative" };
            field(which, format!("{label} of `{name}` is {length}"), help);
        }
    }
}

/// Checks the budget of a task against its deadline.
fn validate_budget(task: &Task, field: &mut impl FnMut(Field, String, &str)) {
    let name = &task.name;
    if let Some(budget) = task.budget {
        if budget <= Service::ZERO {
            field(
                Field::Budget,
                format!("budget of `{name}` is {budget}"),
                "it must be longer than zero",
            );
        } else if budget.at_unit_speed() > task.deadline {
            let message = format!(
                "budget of `{name}` ({budget}) is larger than its deadline ({})",
                task.deadline
            );
            field(Field::Budget, message, "raise `deadline` or lower `budget`");
        }
    }
}

/// Checks the non-preemptive regions of a task.
fn validate_preemption(task: &Task, field: &mut impl FnMut(Field, String, &str)) {
    let name = &task.name;
    match &task.preemption {
        Preemption::Delayed(length) if !(1..=TIME_LIMIT).contains(&length.ns()) => field(
            Field::Preemption,
            format!("nonpreemptive of `{name}` is {length}"),
            "it must be longer than zero, or false",
        ),
        Preemption::Between(segments) => {
            let sum = segments.iter().map(|segment| i128::from(segment.ns())).sum::<i128>();
            let c = task.own_wcet();
            if segments.iter().any(|&segment| segment <= Service::ZERO) {
                let message = format!("a segment of `{name}` is not longer than zero");
                field(Field::Preemption, message, "leave it out");
            } else if sum != i128::from(c.ns()) {
                let message = match i64::try_from(sum) {
                    Ok(sum) => format!(
                        "the segments of `{name}` sum to {}, and its wcet is {c}",
                        Service::from_ns(sum)
                    ),
                    Err(_) => format!("the segments of `{name}` are too long"),
                };
                let help = "a job executes one after the other: their sum is the wcet";
                field(Field::Preemption, message, help);
            }
        }
        Preemption::Anywhere | Preemption::Never | Preemption::Delayed(_) => {}
    }
}

/// Checks the arrivals of a task.
fn validate_behaviour(task: &Task, field: &mut impl FnMut(Field, String, &str)) {
    let name = &task.name;
    match &task.behaviour {
        Behaviour::Explicit(releases) => {
            let out_of_range = |&at: &Time| !(0..=TIME_LIMIT).contains(&at.ns());
            if releases.iter().any(out_of_range)
                || releases.windows(2).any(|pair| pair[0] > pair[1])
            {
                let message = format!("the releases of `{name}` are not in order");
                field(
                    Field::Behaviour,
                    message,
                    "list them from the earliest to the latest, from 0s on",
                );
            }
        }
        Behaviour::SelfSuspending { gap } if *gap < Duration::ZERO => {
            field(Field::Behaviour, format!("`{name}` sleeps for {gap}"), "it cannot be negative");
        }
        Behaviour::Sporadic(
            Separation::Uniform { max } | Separation::Exponential { max, mean: _ },
        ) if *max < Duration::ZERO => {
            field(Field::Behaviour, format!("`{name}` comes {max} later"), "it cannot be negative");
        }
        Behaviour::Sporadic(Separation::Exponential { mean, .. }) if *mean <= Duration::ZERO => {
            field(
                Field::Behaviour,
                format!("`{name}` comes {mean} later on average"),
                "the mean is positive",
            );
        }
        Behaviour::Periodic
        | Behaviour::Sporadic(_)
        | Behaviour::Curve(_)
        | Behaviour::Hog
        | Behaviour::Yield
        | Behaviour::SelfSuspending { .. } => {}
    }
}
