//! Reads the files of HEAPLab's schedsim.
//!
//! | schedsim | here |
//! |---|---|
//! | `id` | name |
//! | `period`, `deadline`, `wcet` of a periodic task | period, deadline, execution time |
//! | `activation`, `deadline`, `wcet` of a sporadic task | a single job at this time |
//! | `real-time="false"` | left out: it gives way to all others |
//! | `pe`, `speed` | a CPU and its speed |
//! | `end` of the time | length of the run |
//! | `algorithm` EDF, GEDF, PEDF | the policy ([`Loaded::policy`](crate::Loaded::policy)) |
//!
//! Times are whole numbers of an unnamed unit, which the user sets. The other algorithms have no
//! policy: they are not for deadlines, or assign CPUs by a rule of their own.

use super::tree::{Attribute, Attributes, Element, parse};
use crate::host::{Host, MAX_TASKS};
use crate::once::{self, Once};
use crate::problem::{Problems, Span};
use layland_model::{
    CpuId, Duration, Field, Index, OnMiss, ParseTimeError, Platform, Service, System, Task, counted,
};

const LOST: &str = "layland::schedsim::lost";

/// The attributes from which fields of a task are read.
const NAMES: &[(Field, &[&str])] = &[
    (Field::Name, &["id"]),
    (Field::Period, &["period"]),
    (Field::Deadline, &["deadline", "period"]),
    (Field::Wcet, &["wcet"]),
    (Field::Offset, &["activation"]),
];

/// The content of a file: the tasks, the length of the run, the policy that corresponds to its
/// scheduler, and the span of each task.
type WithRun = (System, Option<Duration>, Option<&'static str>, Vec<Span>);

/// Reads a file. Returns `None` after reporting errors.
pub(crate) fn read(text: &str, host: &Host, problems: &mut Problems) -> Option<WithRun> {
    let root = parse(text, problems)?;
    let mut reader =
        SchedsimReader { attributes: Attributes { problems }, host, without_unit: None };
    let platform = reader.platform(&root);
    let software: Vec<&Element> = root.all("software").collect();
    let elements: Vec<&Element> =
        software.iter().flat_map(|part| part.all("tasks")).flat_map(|t| t.all("task")).collect();
    if elements.len() > MAX_TASKS {
        let message = format!("the set has more than {MAX_TASKS} tasks");
        reader.attributes.error("layland::schedsim::too_many", root.span, message, "split it");
        return None;
    }
    let mut once = Vec::new();
    let is_kept = |element: &&Element| is_real_time(element);
    let left_out = elements.iter().filter(|element| !is_kept(element)).count();
    let elements: Vec<&Element> = elements.into_iter().filter(is_kept).collect();
    if left_out > 0 {
        let message = format!(
            "{} left out: what is not real-time has no deadline, and gives way to all others",
            counted(left_out as u64, "task"),
        );
        let help = "a server serves it soon: write a task with `budget` in a task-set file; without preemption it may delay \
                    others";
        reader.attributes.warn(LOST, root.span.clone(), message, help);
    }
    let tasks: Vec<Option<Task>> =
        (0..).zip(&elements).map(|(rank, element)| reader.task(element, rank, &mut once)).collect();
    let until = reader.until(&root);
    let policy = reader.policy(&software, platform.as_ref().map_or(1, Platform::cpu_count));
    for part in &software {
        if let Some(noises) = part.all("noises").find(|noises| !noises.children.is_empty()) {
            let message = "noises of execution times are lost: jobs need the WCET".to_owned();
            let help = "describe them with `exec` in a task-set file";
            reader.attributes.warn(LOST, noises.span.clone(), message, help);
        }
    }
    reader.report_unit();
    if reader.attributes.problems.has_errors() {
        return None;
    }
    let mut tasks = tasks.into_iter().collect::<Option<Vec<Task>>>()?;
    once::settle(&mut tasks.iter_mut().collect::<Vec<_>>(), &once);
    let system = System { platform: platform?, tasks: tasks.into(), ..System::new(1, Vec::new()) };
    for invalid in system.validate() {
        reader.attributes.invalid(invalid, "layland::schedsim::invalid", &elements, NAMES);
    }
    let spans = elements.iter().map(|element| element.span.clone()).collect();
    Some((system, until, policy, spans))
}

/// Returns true for a task that is real-time. Early versions write `realtime`, and leave it out.
fn is_real_time(element: &Element) -> bool {
    let real_time = ["real-time", "realtime"].iter().find_map(|name| element.attribute(name));
    real_time.is_none_or(|value| value.value.trim() != "false")
}

struct SchedsimReader<'p> {
    attributes: Attributes<'p>,
    host: &'p Host,
    /// The first number, if the user has not set its unit.
    without_unit: Option<Span>,
}

impl SchedsimReader<'_> {
    fn time(&mut self, attribute: &Attribute) -> Option<Duration> {
        match self.host.time(attribute.value.trim()) {
            Ok(time) => Some(time),
            Err(ParseTimeError::MissingUnit { .. }) => {
                self.without_unit.get_or_insert_with(|| attribute.span.clone());
                None
            }
            Err(fault) => {
                let (span, help) = (attribute.span.clone(), fault.help());
                self.attributes.error("layland::schedsim::time", span, fault.to_string(), &help);
                None
            }
        }
    }

    /// Reports numbers without a unit, once: all of them lack the same unit.
    fn report_unit(&mut self) {
        if let Some(span) = self.without_unit.take() {
            let message = "the times of schedsim have no unit".to_owned();
            let help = "say it with --unit, as in --unit ms";
            self.attributes.error("layland::schedsim::time", span, message, help);
        }
    }

    fn platform(&mut self, root: &Element) -> Option<Platform> {
        let hardware = root.all("hardware").flat_map(|hardware| hardware.all("cpus"));
        let cpus: Vec<&Element> = hardware.flat_map(|cpus| cpus.all("pe")).collect();
        if cpus.is_empty() {
            let message = "the set has no CPU".to_owned();
            let help = "add <hardware><cpus><pe id=\"0\" speed=\"1\"/></cpus></hardware>";
            self.attributes.error("layland::schedsim::cpus", root.span.clone(), message, help);
            return None;
        }
        let mut platform = Platform::identical(cpus.len());
        for (index, cpu) in cpus.iter().enumerate() {
            let Some(attribute) = cpu.attribute("speed") else { continue };
            if let Some(speed) = self.attributes.speed(attribute, "layland::schedsim::speed") {
                platform.speeds[CpuId::from_index(index)] = speed;
            }
        }
        Some(platform)
    }

    fn until(&mut self, root: &Element) -> Option<Duration> {
        let end = root.all("time").find_map(|time| time.attribute("end"))?;
        self.time(end).filter(|end| *end > Duration::ZERO)
    }

    fn policy(&mut self, software: &[&Element], cpus: usize) -> Option<&'static str> {
        let scheduler = software.iter().find_map(|part| part.all("scheduler").next())?;
        let algorithm = scheduler.attribute("algorithm")?;
        let name = algorithm.value.trim();
        let (policy, message) = match name {
            // With one CPU all of them are EDF.
            "EDF" | "GEDF" | "PEDF" if cpus == 1 => return Some("p-edf"),
            "EDF" | "GEDF" => return Some("g-edf"),
            "PEDF" => (
                Some("p-edf"),
                format!("`p-edf` assigns CPUs by utilization, and {name} by the types of tasks"),
            ),
            _ => (None, format!("no policy is the scheduler `{name}`")),
        };
        let help = match policy {
            Some(_) => "write a task-set file with an `affinity` for each task to assign CPUs",
            None => "choose one with --policy",
        };
        self.attributes.warn(LOST, algorithm.span.clone(), message, help);
        policy
    }

    fn task(&mut self, element: &Element, rank: i64, once: &mut Vec<Once>) -> Option<Task> {
        let name = self.attributes.required(element, "id").map(|id| id.value.trim().to_owned());
        let mut time = |name: &str| {
            let attribute = self.attributes.required(element, name)?;
            self.time(attribute)
        };
        let (wcet, deadline) = (time("wcet"), time("deadline"));
        let kind = element.attribute("type").map_or("periodic", |kind| kind.value.trim());
        let (period, offset) = match kind {
            "periodic" => (time("period"), Some(Duration::ZERO)),
            "sporadic" => (Some(Duration::ZERO), time("activation")),
            _ => {
                let message = format!("`{kind}` is not a type of task in schedsim");
                let (span, help) = (element.place(&["type"]), "write periodic or sporadic");
                self.attributes.error("layland::schedsim::type", span, message, help);
                return None;
            }
        };
        let follows = element.attribute("dependencies").filter(|on| on.value.trim() != "0");
        if let Some(follows) = follows {
            let message = "dependencies are lost: jobs are released by time alone".to_owned();
            let help = "write `follows` in a task-set file, for tasks of one period";
            self.attributes.warn(LOST, follows.span.clone(), message, help);
        }
        let (deadline, period, wcet) = (deadline?, period?, wcet?);
        if kind == "sporadic" {
            once.push(Once { task: usize::try_from(rank).ok()?, deadline });
        }
        Some(Task {
            deadline,
            offset: offset?,
            on_miss: OnMiss::Continue,
            rank,
            ..Task::implicit(name?, Service::from_ns(wcet.ns()), period)
        })
    }
}
