//! Reads and writes the problems of POET and pyRTA, YAML: the tasks of one CPU, whose policy and
//! preemption the file names.
//!
//! The times have no unit.
//!
//! | POET | here |
//! |---|---|
//! | `scheduling policy: FP`, `EDF` | the policy that is suggested: `p-fp`, `p-edf` |
//! | `preemption model: NP` | every task is nonpreemptive |
//! | `period` | period |
//! | `min interarrival` | period of a sporadic task |
//! | `arrival curve: [H, [[t, n], ..]]`: at most n jobs in an interval of length t or longer | arrival curve by least distances: n + 1 jobs are at least (t' - 1) apart, where t' is the next step; `n` of the last step, and one more, H apart |
//! | `priority`: a larger number comes first | a smaller number comes first |
//!
//! POET's times are whole. An interval of length t holds two jobs that are t - 1 apart, which is
//! where the 1 comes from. Beyond H its curve repeats, and ours continues with the longest sums of
//! distances, which may admit fewer jobs, and never jobs that distances exclude.

use crate::host::{Host, default_cpus};
use crate::json::{Json, Member, Value};
use crate::keys::{Coverage, Of, lost_of_set};
use crate::problem::{Problem, Problems, Span};
use crate::{sag, yaml};
use layland_model::{
    ArrivalCurve, Behaviour, CurveArrivals, Duration, Index, ParseTimeError, Preemption,
    Separation, Service, System, Task,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const POLICY: &str = "scheduling policy";
const PREEMPTION: &str = "preemption model";
const TASKS: &str = "task set";

/// Returns true for a line that only such a problem has.
pub(crate) fn is_first_key(line: &str) -> bool {
    line.strip_prefix(POLICY).is_some_and(|rest| rest.starts_with(':'))
}

/// A system, the policy of the file, and the span of each task.
pub(crate) type PoetSet = (System, &'static str, Vec<Span>);

/// Reads a problem. Returns `None` after reporting errors.
pub(crate) fn read(text: &str, host: &Host, problems: &mut Problems) -> Option<PoetSet> {
    let root = yaml::parse(text, problems)?;
    let Some(members) = object(&root) else {
        fault(problems, &root.span, "this is not a problem of POET".to_owned(), "write its keys");
        return None;
    };
    for member in
        members.iter().filter(|member| ![POLICY, PREEMPTION, TASKS].contains(&&*member.key))
    {
        unknown(problems, member, &format!("a problem has {POLICY}, {PREEMPTION} and {TASKS}"));
    }
    let mut word = |key: &str, known: [&[&str]; 2]| {
        let found = members.iter().find(|member| member.key == key);
        let text = found.and_then(|member| scalar(&member.value));
        let at = known.iter().position(|words| text.is_some_and(|text| words.contains(&text)));
        if at.is_none() {
            let span = found.map_or(&root.span, |member| &member.value.span);
            let help = format!("write {} or {}", known[0][0], known[1][0]);
            fault(problems, span, format!("`{key}` is missing or not known"), &help);
        }
        at
    };
    let is_edf = word(POLICY, [&["FP", "fixed-priority"], &["EDF", "earliest-deadline-first"]]);
    let whole = word(PREEMPTION, [&["FP", "fully-preemptive"], &["NP", "non-preemptive"]]);
    let (is_edf, never_preempts) = (is_edf? == 1, whole? == 1);
    let tasks = members.iter().find(|member| member.key == TASKS).map(|member| &member.value);
    let Some(Json { value: Value::List(items), .. }) = tasks else {
        let span = tasks.map_or(&root.span, |tasks| &tasks.span);
        fault(
            problems,
            span,
            format!("`{TASKS}` is missing, or it is not a list"),
            "list the tasks",
        );
        return None;
    };
    let mut reader = Reader { host, problems, without_unit: None };
    let found: Vec<PoetTask> = items.iter().filter_map(|item| reader.task(item)).collect();
    if let Some((span, number)) = reader.without_unit {
        let help = format!("say which with --unit, or write it: {number}us");
        fault(problems, &span, "the numbers have no unit".to_owned(), &help);
    }
    let highest = found.iter().filter_map(|task| task.priority).max().unwrap_or(0);
    let mut first_of: BTreeMap<usize, &Span> = BTreeMap::new();
    let (mut all, mut spans) = (Vec::new(), Vec::new());
    for (rank, task) in found.iter().enumerate() {
        if first_of.insert(task.id, &task.span).is_some() {
            let message = format!("there is another task {}", task.id);
            fault(problems, &task.span, message, "give it another `id`");
        }
        if !is_edf && task.priority.is_none() {
            let message = format!("task {} has no priority", task.id);
            fault(problems, &task.span, message, "a larger number comes first: `priority: 1`");
        }
        all.push(Task {
            deadline: task.deadline,
            behaviour: task.behaviour.clone(),
            // In POET, the largest number comes first.
            priority: task.priority.filter(|_| !is_edf).map(|own| highest.saturating_sub(own) + 1),
            preemption: if never_preempts { Preemption::Never } else { Preemption::Anywhere },
            rank: rank as i64,
            ..Task::implicit(name_of(task.id), task.wcet, task.period)
        });
        spans.push(task.span.clone());
    }
    if all.is_empty() && !problems.has_errors() {
        fault(problems, &root.span, "there is no task in it".to_owned(), "list the tasks");
    }
    if problems.has_errors() {
        return None;
    }
    // Its analyses are of one CPU.
    let one = Host { default_cpus: host.default_cpus.or(Some(1)), ..host.clone() };
    let cpus = default_cpus(&one, None, "a problem of POET", problems)?;
    let system = System { tasks: all.into(), ..System::new(cpus, Vec::new()) };
    for invalid in system.validate() {
        problems.push(Problem::invalid("layland::poet::invalid", invalid, |task, _| {
            Some((spans[task.index()].clone(), "here"))
        }));
    }
    Some((system, if is_edf { "p-edf" } else { "p-fp" }, spans))
}

struct PoetTask {
    id: usize,
    wcet: Service,
    deadline: Duration,
    period: Duration,
    behaviour: Behaviour,
    priority: Option<i64>,
    span: Span,
}

struct Reader<'a> {
    host: &'a Host,
    problems: &'a mut Problems,
    /// The first number that needs a unit: all lack the same one.
    without_unit: Option<(Span, String)>,
}

impl Reader<'_> {
    /// Reads a task. Returns `None` after reporting errors.
    fn task(&mut self, item: &Json) -> Option<PoetTask> {
        const KEYS: [&str; 7] = [
            "id",
            "worst-case execution time",
            "deadline",
            "period",
            "min interarrival",
            "arrival curve",
            "priority",
        ];
        let Some(members) = object(item) else {
            let message = "a task has keys, and here are none".to_owned();
            fault(self.problems, &item.span, message, "write `id: 1` and the others below it");
            return None;
        };
        for member in members.iter().filter(|member| !KEYS.contains(&&*member.key)) {
            unknown(self.problems, member, &format!("a task has {}", KEYS.join(", ")));
        }
        let of =
            |key: &str| members.iter().find(|member| member.key == key).map(|found| &found.value);
        let [id, wcet, deadline, period, apart, curve, priority] = KEYS.map(of);
        for (key, value) in KEYS.iter().zip([id, wcet, deadline]) {
            if value.is_none() {
                let message = format!("the task has no `{key}`");
                fault(self.problems, &item.span, message, "every task has one");
            }
        }
        let given = [period, apart, curve].into_iter().flatten().count();
        if given != 1 {
            let message =
                format!("the task has {given} of `period`, `min interarrival`, `arrival curve`");
            fault(self.problems, &item.span, message, "write exactly one of them");
        }
        let priority =
            match priority.map(|value| (value, scalar(value).and_then(|text| text.parse().ok()))) {
                Some((value, None)) => {
                    let message = "the priority is not a whole number".to_owned();
                    fault(self.problems, &value.span, message, "a larger number comes first");
                    return None;
                }
                Some((_, priority)) => priority,
                None => None,
            };
        let Some(id) = id.and_then(scalar).and_then(|id| id.parse().ok()) else {
            let span = id.map_or(&item.span, |id| &id.span);
            fault(self.problems, span, "the `id` is not a number".to_owned(), "as in `id: 1`");
            return None;
        };
        let [wcet, deadline] = [wcet, deadline].map(|time| self.time(time?));
        let (period, behaviour) = match (period, apart, curve) {
            (Some(period), None, None) => (self.time(period)?, Behaviour::Periodic),
            (None, Some(apart), None) => (self.time(apart)?, WITHOUT_MORE),
            (None, None, Some(curve)) => self.curve(curve)?,
            _ => return None,
        };
        let (wcet, deadline) = (Service::from_ns(wcet?.ns()), deadline?);
        Some(PoetTask { id, wcet, deadline, period, behaviour, priority, span: item.span.clone() })
    }

    /// Reads `[H, [[t, n], ..]]` as the least distances of 2, 3, .. jobs.
    fn curve(&mut self, value: &Json) -> Option<(Duration, Behaviour)> {
        let shape = |problems: &mut Problems, span: &Span| {
            let message = "this is not an arrival curve of POET".to_owned();
            let help = "write the horizon and its steps, both growing: [220, [[1, 1], [105, 2]]]";
            fault(problems, span, message, help);
        };
        let Some([horizon, steps]) = list(value) else {
            shape(self.problems, &value.span);
            return None;
        };
        // The unit is also the shortest length of an interval; `time` reports other values first.
        let (horizon, one) = (self.time(horizon)?, self.one(horizon)?);
        let Value::List(steps) = &steps.value else {
            shape(self.problems, &steps.span);
            return None;
        };
        let mut delta_min: Vec<Duration> = Vec::new();
        let (mut before, mut jobs) = (Duration::ZERO, 0);
        for step in steps {
            let pair = list(step).map(|[length, count]| (length, scalar(count)));
            let Some((length, Some(count))) = pair else {
                shape(self.problems, &step.span);
                return None;
            };
            let (length, count) = (self.time(length)?, count.parse::<usize>().unwrap_or(0));
            let is_first = jobs == 0;
            if length <= before || count <= jobs || (is_first && length != one) || length >= horizon
            {
                shape(self.problems, &step.span);
                return None;
            }
            if count > ArrivalCurve::MAX {
                let message =
                    format!("an arrival curve has at most {} jobs here", ArrivalCurve::MAX);
                fault(self.problems, &step.span, message, "shorten the horizon: the curve repeats");
                return None;
            }
            // The first job of a burst is at no distance.
            let more = if is_first { count - 1 } else { count - jobs };
            delta_min.extend(std::iter::repeat_n(length - one, more));
            (before, jobs) = (length, count);
        }
        delta_min.push(horizon);
        match ArrivalCurve::new(&delta_min) {
            Ok(curve) => {
                let period = curve.separation();
                let arrivals = CurveArrivals { curve, extra: None };
                Some((period, Behaviour::Curve(Arc::new(arrivals))))
            }
            Err(error) => {
                fault(self.problems, &value.span, error.to_string(), error.help());
                None
            }
        }
    }

    fn time(&mut self, value: &Json) -> Option<Duration> {
        let Some(text) = scalar(value) else {
            let message = format!("this is {}, and not a time", value.kind());
            fault(self.problems, &value.span, message, "write a number");
            return None;
        };
        match self.host.time(text) {
            Ok(time) => Some(time),
            Err(ParseTimeError::MissingUnit { number }) => {
                self.without_unit.get_or_insert((value.span.clone(), number));
                None
            }
            Err(error) => {
                let help = error.help().replace('"', "");
                fault(self.problems, &value.span, error.to_string(), &help);
                None
            }
        }
    }

    /// Returns the unit of the numbers; for a time with a unit of its own, the nanosecond.
    fn one(&self, value: &Json) -> Option<Duration> {
        let is_number = scalar(value)?.parse::<u64>().is_ok();
        let unit = self.host.unit.filter(|_| is_number);
        Some(unit.map_or(Duration::from_ns(1), |unit| Duration::from_ns(sag::ns_of(unit.name()))))
    }
}

fn object(value: &Json) -> Option<&[Member]> {
    if let Value::Object(members) = &value.value { Some(members) } else { None }
}

fn list<const N: usize>(value: &Json) -> Option<&[Json; N]> {
    if let Value::List(items) = &value.value { items.as_slice().try_into().ok() } else { None }
}

/// Returns a number or a word as it is written.
fn scalar(value: &Json) -> Option<&str> {
    if let Value::Number(text) | Value::Text(text) = &value.value { Some(text) } else { None }
}

fn fault(problems: &mut Problems, span: &Span, message: String, help: &str) {
    problems
        .push(Problem::error("layland::poet::task", message).at(span.clone(), "here").help(help));
}

fn unknown(problems: &mut Problems, member: &Member, help: &str) {
    let message = format!("`{}` is not known", member.key);
    let problem = Problem::error("layland::poet::task", message);
    problems.push(problem.at(member.key_span.clone(), "here").help(help));
}

/// Returns a system as a problem for POET and pyRTA, and a problem for every loss.
///
/// The policy is fixed priorities if all tasks have a priority, and EDF otherwise.
///
/// ```
/// use layland_config::to_poet;
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// let (text, _) = to_poet(&System::new(1, vec![task]));
/// assert!(text.starts_with("scheduling policy: EDF\npreemption model: FP\ntask set:\n"), "{text}");
/// assert!(text.ends_with("  worst-case execution time: 1\n  period: 5\n  deadline: 5\n"), "{text}");
/// ```
pub fn to_poet(system: &System) -> (String, Vec<Problem>) {
    let tasks = &system.tasks;
    // The largest unit in which all times are whole.
    let is_whole_in = |unit: &&str| {
        tasks.values().all(|task| {
            let own = [task.own_wcet().ns(), task.deadline.ns()];
            let arrivals = match task.bursts() {
                Some(curve) => {
                    prefix(curve).into_iter().map(|(distance, _)| distance.ns()).collect()
                }
                None => vec![task.period.ns()],
            };
            let all: Vec<i64> = own.into_iter().chain(arrivals).collect();
            let ns = sag::ns_of(unit);
            // The last step comes before the horizon.
            let is_room = task.bursts().is_none() || all[all.len() - 1] - all[all.len() - 2] > ns;
            all.iter().all(|time| time % ns == 0) && is_room
        })
    };
    let unit = ["s", "ms", "us", "ns"].into_iter().find(is_whole_in).unwrap_or("ns");
    let in_units = |ns: i64| ns / sag::ns_of(unit);
    let has_priorities = tasks.values().all(|task| task.priority.is_some());
    let mut by_priority: Vec<_> = tasks.ids().collect();
    by_priority.sort_by_key(|&id| (tasks[id].priority, tasks[id].rank));
    let mut number_of: BTreeMap<_, usize> = BTreeMap::new();
    for (at, &id) in by_priority.iter().rev().enumerate() {
        number_of.insert(id, at + 1);
    }
    let are_preempted = tasks.values().any(|task| task.preemption != Preemption::Never);
    let policy = if has_priorities { "FP" } else { "EDF" };
    let preemption = if are_preempted { "FP" } else { "NP" };
    let mut out = format!("{POLICY}: {policy}\n{PREEMPTION}: {preemption}\n{TASKS}:\n");
    for (id, task) in tasks.iter() {
        let arrivals = match task.bursts() {
            Some(curve) => {
                let mut prefix = prefix(curve);
                let horizon = prefix.pop().map_or(0, |(distance, _)| in_units(distance.ns()));
                let step = |(distance, jobs): (Duration, u64)| {
                    format!("[{}, {jobs}]", in_units(distance.ns()) + 1)
                };
                let steps: Vec<String> = prefix.into_iter().map(step).collect();
                format!("arrival curve: [{horizon}, [{}]]", steps.join(", "))
            }
            None if task.behaviour == Behaviour::Periodic => {
                format!("period: {}", in_units(task.period.ns()))
            }
            None => format!("min interarrival: {}", in_units(task.period.ns())),
        };
        out += &format!(
            "- id: {}\n  worst-case execution time: {}\n  {arrivals}\n  deadline: {}\n",
            id.index() + 1,
            in_units(task.own_wcet().ns()),
            in_units(task.deadline.ns()),
        );
        if has_priorities {
            out += &format!("  priority: {}\n", number_of[&id]);
        }
    }
    (out, losses(system, unit, are_preempted))
}

fn losses(system: &System, unit: &str, are_preempted: bool) -> Vec<Problem> {
    let mut lost = Vec::new();
    let mut lose = |is: bool, what: String, help: &str| {
        if is {
            lost.push(Problem::warning("layland::poet::lost", what).help(help));
        }
    };
    let help = "name the unit when you read them back: --unit";
    lose(true, format!("POET has no units: the times are in {unit}"), help);
    let cpus = system.platform.cpu_count();
    let help = "give it the tasks of one CPU, as `layland check` assigns them";
    lose(cpus > 1, format!("POET analyses one CPU, and the set has {cpus}"), help);
    lost_of_set(system, NO_PLACE, &mut lose);
    let (some, all) = (
        system.tasks.values().any(|task| task.priority.is_some()),
        system.tasks.values().all(|task| task.priority.is_some()),
    );
    let help = "under FP every task has one: give all tasks a `priority`";
    lose(some && !all, "the priorities are lost, and the policy is EDF".to_owned(), help);
    for of in Of::each(system) {
        let (task, name) = (of.task, &of.task.name);
        let number = name_of(of.id.index() + 1);
        lose(**name != number, format!("`{name}` becomes {number}"), "tasks have numbers there");
        let is_drawn = match &task.behaviour {
            Behaviour::Curve(arrivals) => arrivals.extra.is_some(),
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Hog
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => {
                ![Behaviour::Periodic, WITHOUT_MORE].contains(&task.behaviour)
            }
        };
        lose(is_drawn, format!("the jobs of `{name}` arrive as often as they may"), NO_PLACE);
        let becomes = are_preempted && task.preemption != Preemption::Anywhere;
        let help = "POET has one preemption model for all tasks";
        lose(becomes, format!("the jobs of `{name}` can be preempted anywhere"), help);
        COVERAGE.lost(of).for_each(|(message, help)| lose(true, message, help));
    }
    lost
}

fn name_of(number: usize) -> String {
    format!("tsk{number:02}")
}

/// A sporadic task whose jobs come as early as they may.
const WITHOUT_MORE: Behaviour = Behaviour::Sporadic(Separation::Uniform { max: Duration::ZERO });

const NO_PLACE: &str = "POET has no place for it";

const COVERAGE: Coverage = Coverage {
    has: |key| matches!(key.name, "deadline" | "priority" | "release" | "nonpreemptive"),
    help: |_| NO_PLACE,
};

/// Returns the least distance from the first to the last of a growing number of jobs, with the
/// largest number of jobs for each; the last is the horizon, from which the curve repeats.
///
/// A horizon of `k` steps is sound for each `k`: `q k + r` steps take at least as long as `q` times
/// `k` steps and `r` steps.
fn prefix(curve: &ArrivalCurve) -> Vec<(Duration, u64)> {
    let (steps, _) = curve.cycle();
    let given = curve.delta_min().len() as u64;
    let last = given.div_ceil(steps) * steps;
    let mut prefix: Vec<(Duration, u64)> = vec![(Duration::ZERO, 1)];
    for step in 1..=last {
        let (distance, jobs) = (curve.distance(step), step + 1);
        match prefix.last_mut() {
            Some((before, more)) if *before == distance => *more = jobs,
            Some(_) | None => prefix.push((distance, jobs)),
        }
    }
    prefix
}
