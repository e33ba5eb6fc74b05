//! Warnings about valid settings that are probably mistakes. They are printed once, before the
//! answer.

use crate::Set;
use layland_analysis::EXPLAIN;
use layland_model::{Duration, ExecutionModel, Service, System, Task, TaskId, counted};

/// The largest number of tasks that are named.
const NAMED: usize = 3;

impl Set {
    /// Returns the settings that make the answer differ from what the user expects, each with advice.
    pub fn doubts(&self) -> Vec<(String, &'static str)> {
        let mut doubts = Vec::new();
        let system = &self.system;
        for what in system.unexplained() {
            doubts.push((
                format!("{}: the trace shows what the set does not explain: {what}", self.name),
                EXPLAIN,
            ));
        }
        let of = |is: &dyn Fn(&Task) -> bool| -> Vec<TaskId> {
            system.tasks.iter().filter(|(_, task)| is(task)).map(|(id, _)| id).collect()
        };
        let late = of(&|task| !is_done_in_time(system, task));
        if let Some(&first) = late.first() {
            let task = &system.tasks[first];
            let limit = task.period.min(task.deadline);
            let which = if limit == task.deadline { "deadline" } else { "period" };
            let message = format!(
                "the WCET of {} is longer than the {which}: {} takes {:#}, and has {:#}",
                named(system, &late),
                task.name,
                task.own_wcet(),
                limit
            );
            doubts.push((
                self.located(message, Some(first)),
                "nothing can meet such deadlines; are the two swapped? -t is NAME=WCET/PERIOD",
            ));
        }
        let longer = of(&|task| longest(task).is_some_and(|most| most > most_wcet(task)));
        if let Some(&first) = longer.first() {
            let task = &system.tasks[first];
            let message = format!(
                "{} may execute for longer than the WCET: {} up to {:#}, beyond {:#}",
                named(system, &longer),
                task.name,
                longest(task).unwrap_or_default(),
                most_wcet(task)
            );
            doubts.push((
                self.located(message, Some(first)),
                "such a job is an overrun, which no analysis covers; raise wcet",
            ));
        }
        doubts
    }

    /// Warns that jobs do not suffer the blocking that the set specifies, with advice; `None` if it
    /// specifies none.
    pub fn unblocked(&self) -> Option<(String, &'static str)> {
        let tasks = self.system.tasks.iter();
        let blocked = tasks.filter(|(_, task)| task.blocking_time > Duration::ZERO);
        let blocked: Vec<TaskId> = blocked.map(|(id, _)| id).collect();
        let first = *blocked.first()?;
        let message = format!(
            "blocking is for analyses; no job of {} is blocked here",
            named(&self.system, &blocked)
        );
        let help = "`layland check` counts it; say with steps and [[resource]] what jobs lock";
        Some((self.located(message, Some(first)), help))
    }
}

impl Set {
    /// Says that a guarantee counts every job of tasks that may have late ones, with advice; `None`
    /// if all tasks are hard.
    pub fn counted_as_hard(&self) -> Option<(String, &'static str)> {
        let tasks = self.system.tasks.iter();
        let tolerant: Vec<TaskId> =
            tasks.filter(|(_, task)| task.tolerance.is_some()).map(|(id, _)| id).collect();
        let first = *tolerant.first()?;
        let message = format!(
            "a guarantee is about every job here, also of {}, which may have late ones",
            named(&self.system, &tolerant)
        );
        let help = "`layland sim` judges `mk`, with --cycle for ever";
        Some((self.located(message, Some(first)), help))
    }
}

/// Formats tasks as `a`, or `3 tasks (a, b, c)`.
fn named(system: &System, tasks: &[TaskId]) -> String {
    let names: Vec<&str> =
        tasks.iter().take(NAMED).map(|&id| system.tasks[id].name.as_str()).collect();
    match tasks {
        [_] => names.concat(),
        _ => {
            let more = if tasks.len() > NAMED { ", .." } else { "" };
            format!("{} ({}{more})", counted(tasks.len(), "task"), names.join(", "))
        }
    }
}

/// Returns true if a job with its whole WCET can complete by its deadline, and by the next arrival,
/// on the fastest CPU.
fn is_done_in_time(system: &System, task: &Task) -> bool {
    let limit = task.period.min(task.deadline);
    let mut speeds = system.platform.speeds.values();
    speeds.any(|speed| speed.time_for(task.own_wcet()) <= limit)
}

fn most_wcet(task: &Task) -> Service {
    task.wcet.iter().copied().max().unwrap_or_default()
}

/// Returns the longest execution time that the set specifies explicitly. A fraction above 1 and a
/// higher level are intentional.
fn longest(task: &Task) -> Option<Service> {
    match &task.execution {
        ExecutionModel::Uniform { max, .. } => Some(*max),
        ExecutionModel::Discrete(values) => values.iter().map(|&(value, _)| value).max(),
        ExecutionModel::List(values) => values.iter().copied().max(),
        ExecutionModel::Wcet | ExecutionModel::Level(_) | ExecutionModel::Fraction(_) => None,
    }
}
