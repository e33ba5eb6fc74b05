//! Reads and writes the task sets of SchedCAT.
//!
//! A `<taskset>` has a `<task>` for each task, with `wcet` and `period`, optionally `id`,
//! `deadline` (by default the period) and `partition` (the CPU of the task, which becomes its
//! affinity), and the resources that its jobs use ([`sections`]). The format does not specify the
//! unit; these files use microseconds, as the generators there do. A `<testpoint>` with one set and
//! a single `<task>` are accepted, too. The caller supplies the number of CPUs.

use super::sections::{self, Sections};
use super::tree::{Attributes, Element, in_units, parse};
use crate::host::{Host, MAX_TASKS, default_cpus};
use crate::keys::{Coverage, Of, lost_of_set};
use crate::problem::{Problem, Problems, Span};
use crate::steps::keep_used;
use layland_model::{Behaviour, CpuId, CpuSet, Duration, Field, Index, Service, System, Task};

const LOST: &str = "layland::schedcat::lost";
/// Microseconds are 10^3 nanoseconds.
const US: i32 = 3;

/// The attributes from which fields of a task are read.
const NAMES: &[(Field, &[&str])] = &[
    (Field::Name, &["id"]),
    (Field::Period, &["period"]),
    (Field::Deadline, &["deadline", "period"]),
    (Field::Wcet, &["wcet"]),
    (Field::Affinity, &["partition"]),
];

/// Reads a task set. Returns the system and the span
/// of each task, or `None` after reporting errors.
pub(crate) fn read(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let root = parse(text, problems)?;
    let mut attributes = Attributes { problems };
    let elements: Vec<&Element> = match root.name.as_str() {
        "task" => vec![&root],
        "taskset" => root.all("task").collect(),
        "testpoint" => {
            let mut sets = root.all("taskset");
            let first = sets.next();
            if let Some(second) = sets.next() {
                let message = format!("the file has {} task sets", 2 + sets.count());
                let help = "leave one in the file";
                let span = second.span.clone();
                attributes.error("layland::schedcat::sets", span, message, help);
                return None;
            }
            first.map_or(Vec::new(), |first| first.all("task").collect())
        }
        other => {
            let message = format!("the document is <{other}>, not <taskset>");
            let help = "this is not a task set of SchedCAT: convert it with --from";
            attributes.error("layland::schedcat::root", root.span.clone(), message, help);
            return None;
        }
    };
    if elements.len() > MAX_TASKS {
        let message = format!("the set has more than {MAX_TASKS} tasks");
        attributes.error("layland::schedcat::too_many", root.span.clone(), message, "split it");
        return None;
    }
    let mut sections = Sections::default();
    let tasks: Vec<Option<Task>> = elements
        .iter()
        .enumerate()
        .map(|(position, element)| task(&mut attributes, &mut sections, element, position))
        .collect();
    let tasks = tasks.into_iter().collect::<Option<Vec<Task>>>()?;
    let used = tasks.iter().filter_map(|task| task.affinity.as_ref()?.highest()).max();
    let used = used.map(|cpu| cpu.index() + 1);
    let cpus = default_cpus(host, used, "the task set", attributes.problems)?;
    let mut system = System::new(cpus, tasks);
    system.resources = sections.resources;
    keep_used(&mut system);
    for invalid in system.validate() {
        attributes.invalid(invalid, "layland::schedcat::invalid", &elements, NAMES);
    }
    let spans = elements.iter().map(|element| element.span.clone()).collect();
    Some((system, spans))
}

fn task(
    attributes: &mut Attributes<'_>,
    sections: &mut Sections,
    element: &Element,
    position: usize,
) -> Option<Task> {
    let mut time = |name: &str| {
        let attribute = attributes.required(element, name)?;
        attributes.time(attribute, US, "microseconds")
    };
    let (wcet, period) = (time("wcet"), time("period"));
    let deadline = match element.attribute("deadline") {
        Some(attribute) => attributes.time(attribute, US, "microseconds"),
        None => period,
    };
    let name = match element.attribute("id") {
        Some(id) if !id.value.trim().is_empty() => format!("T{}", id.value.trim()),
        Some(_) | None => format!("T{}", position + 1),
    };
    let mut affinity = None;
    if let Some(attribute) = element.attribute("partition") {
        let cpu = attributes.whole(attribute)?;
        let cpu = u32::try_from(cpu).ok().filter(|&cpu| (cpu as usize) < CpuSet::MAX_CPUS);
        let Some(cpu) = cpu else {
            let message = format!("`{}` is not a CPU", attribute.value);
            let help = format!("CPUs are 0 to {}", CpuSet::MAX_CPUS - 1);
            attributes.error(
                "layland::schedcat::partition",
                attribute.span.clone(),
                message,
                &help,
            );
            return None;
        };
        affinity = Some([CpuId(cpu)].into_iter().collect());
    }
    for (name, what) in [("wss", "the working set"), ("response_time", "the response time")] {
        if let Some(attribute) = element.attribute(name) {
            let help = "no analysis here uses it";
            attributes.warn(LOST, attribute.span.clone(), format!("{what} is lost"), help);
        }
    }
    let wcet = wcet?;
    let steps = sections.of(attributes, element, (&name, wcet));
    Some(Task {
        deadline: Duration::from_ns(deadline?),
        affinity,
        steps: steps.map(Into::into),
        ..Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period?))
    })
}

/// Returns a system as a SchedCAT task set, in microseconds, and a problem for every loss.
///
/// ```
/// use layland_config::to_schedcat;
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("T1", Service::from_ms(1), Duration::from_ms(5));
/// let (text, lost) = to_schedcat(&System::new(2, vec![task]));
/// assert!(text.contains("<task id=\"1\" period=\"5000\" wcet=\"1000\"/>"));
/// assert_eq!(lost.len(), 1); // that there are two CPUs
/// ```
pub fn to_schedcat(system: &System) -> (String, Vec<Problem>) {
    let us = |ns: i64| in_units(ns, 3);
    let mut out = format!("<taskset>\n  <properties count=\"{}\"/>\n", system.tasks.len());
    let mut lost = Vec::new();
    let mut lose = |is: bool, what: String, help: &str| {
        if is {
            lost.push(Problem::warning(LOST, what).help(help));
        }
    };
    let cpus = system.platform.cpu_count();
    lose(
        true,
        format!("that there are {cpus} CPUs is lost"),
        "say it with --cpus when you read it",
    );
    lost_of_set(system, NO_PLACE, &mut lose);
    sections::lost(system, &mut lose);
    for of in Of::each(system) {
        let (task, name) = (of.task, &of.task.name);
        let number = of.id.index() + 1;
        let renamed = *name != format!("T{number}");
        lose(renamed, format!("the name `{name}` is lost"), "tasks have numbers there");
        let periodic = task.behaviour == Behaviour::Periodic;
        lose(!periodic, format!("`{name}` becomes sporadic"), NO_PLACE);
        let one = task.affinity.as_ref().filter(|cpus| cpus.len() == 1);
        let several = task.affinity.is_some() && one.is_none();
        lose(several, format!("the affinity of `{name}` is lost"), "a partition is one CPU");
        COVERAGE.lost(of).for_each(|(message, help)| lose(true, message, help));
        out += &format!(
            "  <task id=\"{}\" period=\"{}\" wcet=\"{}\"",
            number,
            us(task.period.ns()),
            us(task.own_wcet().ns()),
        );
        if task.deadline != task.period {
            out += &format!(" deadline=\"{}\"", us(task.deadline.ns()));
        }
        if let Some(cpu) = one.and_then(CpuSet::highest) {
            out += &format!(" partition=\"{cpu}\"");
        }
        if system.resources.is_empty() {
            out += "/>\n";
        } else {
            // The analyses in SchedCAT need this element for
            // every task, even for one without resources.
            out += &format!(">{}</task>\n", sections::text(task, system, &mut lose));
        }
    }
    out += "</taskset>\n";
    (out, lost)
}

const NO_PLACE: &str = "the format has no place for it";

const COVERAGE: Coverage = Coverage {
    has: |key| matches!(key.name, "deadline" | "affinity" | "steps" | "release"),
    help: |_| NO_PLACE,
};
