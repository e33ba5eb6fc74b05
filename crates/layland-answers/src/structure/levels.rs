//! The numbers of the analyses of mixed criticality, as papers print them: response times at each
//! level under AMC, and job patterns with their priorities under fixed job priorities.
//!
//! Analyses that are not safe are among them, and say so: they decide nothing, but a reader with
//! the paper open looks for their numbers.

use super::{Node, Structure};
use crate::Unanswered;
use layland_model::{Criticality, Duration, Protection, System, TaskId, TaskMap, counted};
use layland_offline::criticality::{Assignment, MixedSet, amc_ia, amc_max, amc_rt, fjp};

impl Structure {
    /// Returns the numbers of the analyses of a mechanism; `None` if it has none of these.
    ///
    /// # Errors
    /// If a task may use several CPUs, or the model does not fit the tasks of a CPU.
    pub(super) fn of_levels(
        system: &System,
        name: &str,
        protection: Protection,
    ) -> Option<Result<Structure, Unanswered>> {
        let of: fn(&Cpu<'_>) -> Vec<Node> = match protection {
            Protection::Adaptive(_) => of_responses,
            Protection::PriorityLists | Protection::RecomputedPriorities => of_patterns,
            _ => return None,
        };
        Some(each_cpu(system, name, of))
    }
}

/// The tasks of a CPU.
struct Cpu<'a> {
    system: &'a System,
    set: MixedSet,
    tasks: Vec<TaskId>,
}

impl Cpu<'_> {
    fn name(&self, task: TaskId) -> &str {
        &self.system.tasks[self.tasks[task.0 as usize]].name
    }
}

fn each_cpu(
    system: &System,
    name: &str,
    of: fn(&Cpu<'_>) -> Vec<Node>,
) -> Result<Structure, Unanswered> {
    let mut trees = Vec::new();
    for cpu in system.platform.cpus() {
        let is_here = |&task: &TaskId| system.allowed_cpus(task).contains(cpu);
        let tasks: Vec<TaskId> = system.tasks.ids().filter(is_here).collect();
        if let Some(&task) = tasks.iter().find(|&&task| system.allowed_cpus(task).len() > 1) {
            let why = format!("task `{}` may use several CPUs", system.tasks[task].name);
            return Err(Unanswered::usage(why).help("give each task one CPU"));
        }
        if tasks.is_empty() {
            continue;
        }
        let set = MixedSet::of_tasks(system, &tasks);
        let set = set.map_err(|error| Unanswered::no(error.to_string()))?;
        let children = of(&Cpu { system, set, tasks });
        trees.push(Node {
            title: format!("CPU {cpu}"),
            lines: Vec::new(),
            separator: "",
            children,
        });
    }
    let heading =
        format!("{name}: the numbers of each analysis; they need not be those of its own test");
    Ok(Structure { heading: vec![heading], trees })
}

/// The response times at each level, by each analysis of AMC.
fn of_responses(cpu: &Cpu<'_>) -> Vec<Node> {
    let node = |title: &str, found: Assignment<Vec<Duration>>| match found {
        Assignment::Found(found) => {
            let order: Vec<&str> = found.order.iter().map(|&task| cpu.name(task)).collect();
            let children = found.order.iter().map(|&task| {
                let responses = found.response[task].iter().zip(0..);
                let at = |(response, level): (&Duration, u32)| format!("R({level}) = {response}");
                leaf(cpu.name(task).to_owned(), responses.map(at).collect())
            });
            let children = children.collect();
            let lines = vec![format!("priorities, highest first: {}", order.join(", "))];
            Node { title: title.to_owned(), lines, separator: ", ", children }
        }
        Assignment::NoneCanBeLowest(left) => {
            let names: Vec<&str> = left.iter().map(|&task| cpu.name(task)).collect();
            let line = format!("none of {} can have the lowest priority", names.join(", "));
            leaf(title.to_owned(), vec![line])
        }
        Assignment::GaveUp(_) => leaf(title.to_owned(), vec!["it gives up".to_owned()]),
    };
    let set = &cpu.set;
    let mut nodes = vec![node("AMC-RT", amc_rt::amc_rt(set))];
    if let Ok(found) = amc_max::amc_max(set) {
        nodes.push(node("AMC-MAX", found));
    }
    nodes.push(node("AMC-IA", amc_ia::safe(set, amc_ia::FIXED_POINTS)));
    nodes.push(node("AMC-IA-PAPER, not safe", amc_ia::paper(set, amc_ia::FIXED_POINTS)));
    nodes
}

/// The patterns of jobs, with the priorities that they get; 0 is the lowest.
fn of_patterns(cpu: &Cpu<'_>) -> Vec<Node> {
    let safe = fjp::safe(&cpu.set, fjp::JOBS);
    let lengths = |busy: Option<&Vec<Duration>>, change: Option<&Vec<Duration>>| {
        let busy = busy.into_iter().flatten().zip(0..);
        let mut lines: Vec<String> = busy
            .map(|(length, level): (&Duration, u32)| format!("B({level}) = {length}"))
            .collect();
        // The change from the highest level leads nowhere.
        let last = change.map_or(0, |change| change.len().saturating_sub(1));
        let change = change.into_iter().flatten().zip(1..).take(last);
        lines.extend(change.map(|(at, level): (&Duration, u32)| format!("s({level}) = {at}")));
        lines
    };
    let jobs = |title: &str,
                mut lines: Vec<String>,
                counts: Vec<Option<u64>>,
                priorities: Option<&TaskMap<Vec<u32>>>| {
        let total: Option<u64> = counts.iter().copied().sum();
        lines.push(match (total, &priorities) {
            (None, _) => "a level leaves no time, or it gives up".to_owned(),
            (Some(total), Some(_)) => counted(total, "job"),
            (Some(total), None) => format!("{}, no priorities", counted(total, "job")),
        });
        let children = cpu.set.ids().zip(&counts).filter_map(|(task, count)| {
            let mut lines = vec![counted((*count)?, "job")];
            if let Some(priorities) = priorities {
                let each: Vec<String> = priorities[task].iter().map(ToString::to_string).collect();
                lines.push(format!("priorities {}", each.join(", ")));
            }
            let level = cpu.set.criticality(task);
            let level = if level == Criticality(0) { "lowest" } else { "higher" };
            Some(leaf(format!("{} ({level})", cpu.name(task)), lines))
        });
        let children = children.collect();
        Node { title: title.to_owned(), lines, separator: ", ", children }
    };
    let counts = |counts: Option<Vec<u64>>| -> Vec<Option<u64>> {
        counts.map_or(vec![None; cpu.set.len()], |counts| counts.into_iter().map(Some).collect())
    };
    let mut nodes = vec![jobs(
        "FJP",
        lengths(safe.busy.as_ref(), None),
        counts(safe.counts.as_ref().map(|counts| counts.values().copied().collect())),
        safe.priorities.as_ref(),
    )];
    for (title, found) in [
        ("FJP-IJA-PAPER, not safe", fjp::ija_paper(&cpu.set, fjp::JOBS)),
        ("FJP-IJA-FLOOR, not safe", fjp::ija_floor(&cpu.set, fjp::JOBS)),
    ] {
        let last = |counts: &Vec<u64>| counts.last().copied().unwrap_or(0);
        nodes.push(jobs(
            title,
            lengths(found.busy.as_ref(), found.change.as_ref()),
            counts(found.counts.as_ref().map(|counts| counts.values().map(last).collect())),
            found.priorities.as_ref(),
        ));
    }
    nodes
}

fn leaf(title: String, lines: Vec<String>) -> Node {
    Node { title, lines, separator: ", ", children: Vec::new() }
}
