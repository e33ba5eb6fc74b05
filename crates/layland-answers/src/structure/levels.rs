//! The numbers of the analyses of mixed criticality, as papers print them: response times at each
//! level under AMC, and job patterns with their priorities under fixed job priorities.
//!
//! Analyses that are not safe are among them, and say so: they decide nothing, but a reader with
//! the paper open looks for their numbers.

use super::{Node, Structure};
use crate::Unanswered;
use layland_guarantee::in_time;
use layland_model::{
    Algorithm, Criticality, Duration, Protection, System, TaskId, TaskMap, counted,
};
use layland_offline::criticality::{Assignment, MixedSet, amc_ia, amc_max, amc_rt, fjp};
use layland_policy::Registry;
use schemars::JsonSchema;
use serde::Serialize;

/// The numbers of the analyses for the tasks of a CPU.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
pub(crate) struct CpuNumbers {
    /// The CPU.
    cpu: u32,
    /// The analyses, also those of papers that are not safe and decide nothing.
    analyses: Vec<AnalysisNumbers>,
}

/// The numbers of an analysis.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum AnalysisNumbers {
    /// Response times under fixed priorities of tasks.
    Responses {
        /// The analysis.
        analysis: &'static str,
        /// False if it is not safe.
        safe: bool,
        /// The tasks by priority, highest first; null if it finds none.
        priorities: Option<Vec<String>>,
        /// The tasks of which none can have the lowest priority; null if that is not the reason.
        none_lowest: Option<Vec<String>>,
        /// The response times in this order; empty without priorities.
        tasks: Vec<Responses>,
    },
    /// A pattern of jobs with fixed priorities.
    Pattern {
        /// The analysis.
        analysis: &'static str,
        /// False if it is not safe.
        safe: bool,
        /// The length of a busy period `B(l)` at each level `l` from 0; empty if there is none.
        #[schemars(inner(range(min = 0)))]
        busy_ns: Vec<i64>,
        /// The latest change `s(l)` to each level `l` from 1; empty where the analysis has none.
        #[schemars(inner(range(min = 0)))]
        change_ns: Vec<i64>,
        /// The number of jobs; null if a level leaves no time, or the analysis gives up.
        jobs: Option<u64>,
        /// Each task.
        tasks: Vec<PatternTask>,
    },
}

/// The response times of a task.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
struct Responses {
    /// The task.
    task: String,
    /// Its response time `R(l)` at each level `l` from 0 to its own.
    #[schemars(inner(range(min = 0)))]
    response_ns: Vec<i64>,
}

/// The jobs of a task in a pattern.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
struct PatternTask {
    /// The task.
    task: String,
    /// True if it is of the lowest level.
    lowest: bool,
    /// The number of its jobs.
    jobs: u64,
    /// Their priorities, from the first job on; 0 is the lowest. Null if there are none.
    priorities: Option<Vec<u32>>,
}

/// The analyses of a mechanism.
type Analyses = fn(&Cpu<'_>) -> Vec<AnalysisNumbers>;

fn analyses(protection: Protection) -> Option<Analyses> {
    match protection {
        Protection::Adaptive(_) => Some(responses),
        Protection::PriorityLists | Protection::RecomputedPriorities => Some(patterns),
        _ => None,
    }
}

/// Returns the numbers of the analyses of a policy; `None` if it has none, or the set is not for it.
pub(crate) fn numbers(registry: &Registry, system: &System, spec: &str) -> Option<Vec<CpuNumbers>> {
    let (info, options) = registry.parse(spec).ok()?;
    let Algorithm::MixedCriticality(protection) = info.algorithm(&options) else { return None };
    each_cpu(system, analyses(protection)?).ok()
}

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
        let numbers = each_cpu(system, analyses(protection)?);
        Some(numbers.map(|numbers| {
            let heading = format!(
                "{name}: the numbers of each analysis; they need not be those of its own test"
            );
            let trees = numbers.iter().map(|of_cpu| Node {
                title: format!("CPU {}", of_cpu.cpu),
                lines: Vec::new(),
                separator: "",
                children: of_cpu.analyses.iter().map(AnalysisNumbers::node).collect(),
            });
            Structure { heading: vec![heading], trees: trees.collect() }
        }))
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

    fn names(&self, tasks: &[TaskId]) -> Vec<String> {
        tasks.iter().map(|&task| self.name(task).to_owned()).collect()
    }
}

fn each_cpu(system: &System, of: Analyses) -> Result<Vec<CpuNumbers>, Unanswered> {
    let (mut found, timed) = (Vec::new(), in_time(system));
    let system = timed.as_ref();
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
        let analyses = of(&Cpu { system, set, tasks });
        found.push(CpuNumbers { cpu: cpu.0, analyses });
    }
    Ok(found)
}

/// The response times at each level, by each analysis of AMC.
fn responses(cpu: &Cpu<'_>) -> Vec<AnalysisNumbers> {
    let of = |analysis, safe, found: Assignment<Vec<Duration>>| {
        let (mut priorities, mut none_lowest, mut tasks) = (None, None, Vec::new());
        match found {
            Assignment::Found(found) => {
                tasks.extend(found.order.iter().map(|&task| Responses {
                    task: cpu.name(task).to_owned(),
                    response_ns: found.response[task].iter().map(|at| at.ns()).collect(),
                }));
                priorities = Some(cpu.names(&found.order));
            }
            Assignment::NoneCanBeLowest(left) => none_lowest = Some(cpu.names(&left)),
            Assignment::GaveUp(_) => {}
        }
        AnalysisNumbers::Responses { analysis, safe, priorities, none_lowest, tasks }
    };
    let set = &cpu.set;
    let mut found = vec![of("AMC-RT", true, amc_rt::amc_rt(set))];
    if let Ok(by_max) = amc_max::amc_max(set) {
        found.push(of("AMC-MAX", true, by_max));
    }
    found.push(of("AMC-IA", true, amc_ia::safe(set, amc_ia::FIXED_POINTS)));
    found.push(of("AMC-IA-PAPER", false, amc_ia::paper(set, amc_ia::FIXED_POINTS)));
    found
}

/// The patterns of jobs, with the priorities that they get; 0 is the lowest.
fn patterns(cpu: &Cpu<'_>) -> Vec<AnalysisNumbers> {
    let ns = |lengths: Option<&Vec<Duration>>| -> Vec<i64> {
        lengths.into_iter().flatten().map(|length| length.ns()).collect()
    };
    let of = |(analysis, safe): (&'static str, bool),
              (busy_ns, change_ns): (Vec<i64>, Vec<i64>),
              counts: Option<Vec<u64>>,
              priorities: Option<&TaskMap<Vec<u32>>>| {
        let jobs = counts.as_ref().map(|counts| counts.iter().sum());
        let counts = cpu.set.ids().zip(counts.into_iter().flatten());
        let tasks = counts.map(|(task, jobs)| PatternTask {
            task: cpu.name(task).to_owned(),
            lowest: cpu.set.criticality(task) == Criticality(0),
            jobs,
            priorities: priorities.map(|priorities| priorities[task].clone()),
        });
        let tasks = tasks.collect();
        AnalysisNumbers::Pattern { analysis, safe, busy_ns, change_ns, jobs, tasks }
    };
    let safe = fjp::safe(&cpu.set, fjp::JOBS);
    let mut found = vec![of(
        ("FJP", true),
        (ns(safe.busy.as_ref()), Vec::new()),
        safe.counts.as_ref().map(|counts| counts.values().copied().collect()),
        safe.priorities.as_ref(),
    )];
    for (analysis, of_paper) in [
        ("FJP-IJA-PAPER", fjp::ija_paper(&cpu.set, fjp::JOBS)),
        ("FJP-IJA-FLOOR", fjp::ija_floor(&cpu.set, fjp::JOBS)),
    ] {
        let last = |counts: &Vec<u64>| counts.last().copied().unwrap_or(0);
        // The change from the highest level leads nowhere.
        let mut change_ns = ns(of_paper.change.as_ref());
        change_ns.pop();
        found.push(of(
            (analysis, false),
            (ns(of_paper.busy.as_ref()), change_ns),
            of_paper.counts.as_ref().map(|counts| counts.values().map(last).collect()),
            of_paper.priorities.as_ref(),
        ));
    }
    found
}

impl AnalysisNumbers {
    /// Returns the numbers as a part of a drawing.
    fn node(&self) -> Node {
        let title = |analysis: &str, safe: bool| {
            if safe { analysis.to_owned() } else { format!("{analysis}, not safe") }
        };
        let at = |letter: &'static str| {
            move |(&ns, level): (&i64, u32)| {
                format!("{letter}({level}) = {}", Duration::from_ns(ns))
            }
        };
        match self {
            AnalysisNumbers::Responses { analysis, safe, priorities, none_lowest, tasks } => {
                let line = match (priorities, none_lowest) {
                    (Some(order), _) => format!("priorities, highest first: {}", order.join(", ")),
                    (None, Some(left)) => {
                        format!("none of {} can have the lowest priority", left.join(", "))
                    }
                    (None, None) => "it gives up".to_owned(),
                };
                let children = tasks.iter().map(|of| {
                    let lines = of.response_ns.iter().zip(0..).map(at("R"));
                    leaf(of.task.clone(), lines.collect())
                });
                let (title, children) = (title(analysis, *safe), children.collect());
                Node { title, lines: vec![line], separator: ", ", children }
            }
            AnalysisNumbers::Pattern { analysis, safe, busy_ns, change_ns, jobs, tasks } => {
                let mut lines: Vec<String> = busy_ns.iter().zip(0..).map(at("B")).collect();
                lines.extend(change_ns.iter().zip(1..).map(at("s")));
                let has_priorities = tasks.iter().all(|task| task.priorities.is_some());
                lines.push(match jobs {
                    None => "a level leaves no time, or it gives up".to_owned(),
                    Some(jobs) if has_priorities => counted(*jobs, "job"),
                    Some(jobs) => format!("{}, no priorities", counted(*jobs, "job")),
                });
                let children = tasks.iter().map(PatternTask::node).collect();
                Node { title: title(analysis, *safe), lines, separator: ", ", children }
            }
        }
    }
}

impl PatternTask {
    fn node(&self) -> Node {
        let mut lines = vec![counted(self.jobs, "job")];
        if let Some(priorities) = &self.priorities {
            let each: Vec<String> = priorities.iter().map(ToString::to_string).collect();
            lines.push(format!("priorities {}", each.join(", ")));
        }
        let level = if self.lowest { "lowest" } else { "higher" };
        leaf(format!("{} ({level})", self.task), lines)
    }
}

fn leaf(title: String, lines: Vec<String>) -> Node {
    Node { title, lines, separator: ", ", children: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Levels, Service, Task};
    use serde_json::{Value, json};

    /// Returns tasks with two levels, each with its period and its WCET at each level up to its own.
    fn system(tasks: &[(i64, &[i64])]) -> System {
        let task = |&(period, wcets): &(i64, &[i64])| {
            let period = Duration::from_ms(period);
            let mut task = Task::implicit("t", Service::from_ms(wcets[0]), period);
            task.wcet = wcets.iter().map(|&ms| Service::from_ms(ms)).collect::<Vec<_>>().into();
            task.criticality = Criticality(wcets.len() as u8 - 1);
            task
        };
        let mut system = System::new(1, tasks.iter().map(task).collect());
        system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
        system
    }

    /// Returns the numbers of an analysis, in milliseconds.
    fn found(system: &System, spec: &str, analysis: &str) -> Value {
        let numbers = numbers(&Registry::standard(), system, spec).expect("it has numbers");
        let [of_cpu] = numbers.as_slice() else { panic!("one CPU: {numbers:?}") };
        let all = serde_json::to_value(of_cpu).expect("it can be serialized");
        let all = all["analyses"].as_array().expect("a list").clone();
        let found = all.into_iter().find(|found| found["analysis"] == analysis);
        in_ms(found.expect("it is there"))
    }

    fn in_ms(value: Value) -> Value {
        match value {
            Value::Object(entries) => entries
                .into_iter()
                .map(|(key, value)| {
                    let ms = |list: Vec<Value>| -> Value {
                        list.iter().map(|ns| ns.as_i64().unwrap_or(-1) / 1_000_000).collect()
                    };
                    let value = match value {
                        Value::Array(list) if key.ends_with("_ns") => ms(list),
                        other => in_ms(other),
                    };
                    (key, value)
                })
                .collect(),
            Value::Array(list) => list.into_iter().map(in_ms).collect(),
            other => other,
        }
    }

    /// The numbers that Huang et al. print in Section 3.1: 50, and 58 by an analysis that is not safe.
    #[test]
    fn responses_are_those_of_section_3_1() {
        let system = system(&[(2, &[1]), (10, &[1, 5]), (100, &[20, 20])]);
        for (analysis, safe, response) in [
            ("AMC-IA-PAPER", false, [50, 58]),
            ("AMC-IA", true, [50, 64]),
            ("AMC-RT", true, [50, 90]),
        ] {
            let found = found(&system, "amc", analysis);
            assert_eq!((&found["kind"], &found["safe"]), (&json!("responses"), &json!(safe)));
            assert_eq!(found["tasks"][2]["response_ns"], json!(response), "{analysis}");
        }
        assert_eq!(numbers(&Registry::standard(), &system, "smc"), None);
    }

    /// The pattern of Section 3.2 with its priorities, and the longer one with a floor, which has none.
    #[test]
    fn patterns_are_those_of_section_3_2() {
        let system = system(&[(10, &[4, 6]), (20, &[3, 5]), (30, &[6]), (15, &[2])]);
        let paper = found(&system, "plrs", "FJP-IJA-PAPER");
        let of = |key: &str| paper[key].clone();
        assert_eq!([of("busy_ns"), of("change_ns")], [json!([28, 38]), json!([17])]);
        assert_eq!(
            [of("jobs"), of("safe"), of("kind")],
            [json!(9), json!(false), json!("pattern")]
        );
        let priorities: Vec<&Value> =
            of_tasks(&paper).iter().map(|task| &task["priorities"]).collect();
        let expected = [json!([7, 5, 2, 0]), json!([6, 1]), json!([3]), json!([8, 4])];
        assert_eq!(priorities, expected.iter().collect::<Vec<_>>());
        let floor = found(&system, "plrs", "FJP-IJA-FLOOR");
        assert_eq!((&floor["busy_ns"], &floor["jobs"]), (&json!([28, 59]), &json!(12)));
        assert!(of_tasks(&floor).iter().all(|task| task["priorities"].is_null()));
    }

    fn of_tasks(found: &Value) -> &[Value] {
        found["tasks"].as_array().map_or(&[], Vec::as_slice)
    }
}
