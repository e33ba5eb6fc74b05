//! Reads and writes job sets of the schedule-abstraction graph (SAG), CSV with one job a line.
//!
//! The columns have a fixed order: task, job, earliest and latest release, least and largest
//! execution time, absolute deadline, priority. The times have no unit. Jobs are not preempted.
//!
//! | SAG | here |
//! |---|---|
//! | the jobs of one task | one task: equal distances of its jobs are its period, and other jobs have explicit times |
//! | `Arrival min` | arrival |
//! | `Arrival max` - `Arrival min`, equal for all jobs of a task | jitter |
//! | `Cost min`, `Cost max`, equal for all jobs of a task | execution times between both, WCET |
//! | `Deadline` - `Arrival min`, equal for all jobs of a task | relative deadline |
//! | `Priority`, equal for all jobs of a task | priority: the smaller number comes first in both |
//! | `Priority` = `Deadline` in each line (EDF) | no priority |
//!
//! A task has one set of parameters. If jobs of a task differ, each becomes a task of its own: SAG
//! does not order them, either.

use crate::csv::titles::simple;
use crate::host::{Host, MAX_TASKS, default_cpus};
use crate::keys::{Coverage, Of};
use crate::problem::{Problem, Problems, Span};
use layland_model::{
    Behaviour, Duration, ExecutionModel, Index, ParseTimeError, Preemption, Service, System, Task,
    Time,
};
use std::collections::BTreeMap;

/// The titles of the columns that are written.
const HEADER: &str = "Task ID,Job ID,Arrival min,Arrival max,Cost min,Cost max,Deadline,Priority\n";

/// The maximum number of jobs that are written.
const MAX_JOBS: i64 = 1_000_000;

/// Returns true for the titles of a job set.
pub(crate) fn is_header(line: &str) -> bool {
    let titles: Vec<String> = line.split([',', ';', '\t']).map(simple).collect();
    let has = |names: &[&str]| titles.iter().any(|title| names.contains(&&**title));
    has(&["jobid", "jid"]) && has(&["arrivalmin", "releasemin", "rmin", "amin", "r_min"])
}

/// Returns true for the titles of the files beside a job set, and for the first key of its YAML.
pub(crate) fn is_other_header(line: &str) -> bool {
    let titles: Vec<String> = line.split([',', ';', '\t']).map(simple).collect();
    let has = |names: &[&str]| names.iter().all(|name| titles.iter().any(|title| title == name));
    line.trim_end() == "jobset:"
        || has(&["predecessortid", "successortid"])
        || has(&["tid", "tmin", "cmin"])
        || has(&["jobatid", "jobbtid"])
        || has(&["ncores", "eft1"])
}

/// A job, in nanoseconds.
struct SagJob {
    number: i64,
    release: (i64, i64),
    cost: (i64, i64),
    deadline: i64,
    priority: i64,
    span: Span,
}

/// Reads a job set. Returns the system and the span of each task, or `None` after reporting errors.
pub(crate) fn read(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let mut tasks: BTreeMap<i64, Vec<SagJob>> = BTreeMap::new();
    let mut without_unit: Option<(Span, String)> = None;
    let mut count = 0;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') || is_header(content) {
            continue;
        }
        count += 1;
        let start = content.as_ptr() as usize - text.as_ptr() as usize;
        let whole = start..start + content.len();
        if count > MAX_TASKS {
            let message = format!("the set has more than {MAX_TASKS} jobs");
            fault(problems, whole, message, "split it");
            break;
        }
        let cells: Vec<&str> = content.split([',', ';', '\t']).map(str::trim).collect();
        let cells: Vec<&str> = cells.into_iter().filter(|cell| !cell.is_empty()).collect();
        if cells.len() != 8 {
            let message = format!("a job has 8 values, and here are {}", cells.len());
            let help = "write task, job, earliest and latest release, least and largest cost, deadline, priority";
            fault(problems, whole, message, help);
            continue;
        }
        let place = |cell: &str| {
            let at = cell.as_ptr() as usize - text.as_ptr() as usize;
            at..at + cell.len()
        };
        let mut times = [0; 5];
        let mut is_good = true;
        for (time, cell) in times.iter_mut().zip(&cells[2..7]) {
            match host.time(cell) {
                Ok(found) => *time = found.ns(),
                // Report this once: all numbers lack the same unit.
                Err(ParseTimeError::MissingUnit { number }) => {
                    without_unit.get_or_insert((place(cell), number));
                    is_good = false;
                }
                Err(error) => {
                    fault(problems, place(cell), error.to_string(), &error.help().replace('"', ""));
                    is_good = false;
                }
            }
        }
        let mut whole_number = |cell: &str| {
            let number: Option<i64> = cell.trim_start_matches(['T', 't', 'J', 'j']).parse().ok();
            if number.is_none() {
                fault(problems, place(cell), format!("`{cell}` is not a whole number"), "as in 1");
            }
            number
        };
        let [task, number, priority] = [0, 1, 7].map(|at| whole_number(cells[at]));
        let (Some(task), Some(number), Some(priority)) = (task, number, priority) else { continue };
        if !is_good {
            continue;
        }
        let [from, until, least, most, deadline] = times;
        if until < from || most < least {
            let message = "the largest value is before the least".to_owned();
            fault(problems, whole, message, "write the earliest release and the least cost first");
            continue;
        }
        let (release, cost) = ((from, until), (least, most));
        let job = SagJob { number, release, cost, deadline, priority, span: whole };
        tasks.entry(task).or_default().push(job);
    }
    if let Some((span, number)) = without_unit {
        let help = format!("say which with --unit, or write it: {number}us");
        let problem = Problem::error("layland::sag::jobs", "the numbers have no unit");
        problems.push(problem.at(span, "the first").help(help));
    }
    if tasks.is_empty() && !problems.has_errors() {
        problems.push(
            Problem::error("layland::sag::jobs", "the set has no job").help("write one a line"),
        );
    }
    let is_edf = tasks.values().flatten().all(|job| {
        let unit = host.unit.map_or(1, |unit| ns_of(unit.name()));
        job.priority.checked_mul(unit) == Some(job.deadline)
    });
    let (mut found, mut spans) = (Vec::new(), Vec::new());
    for (id, mut jobs) in tasks {
        jobs.sort_by_key(|job| job.release);
        if !differ(id, &jobs, is_edf, problems) {
            spans.push(jobs[0].span.clone());
            found.push(task(format!("T{id}"), &jobs, is_edf, found.len()));
            continue;
        }
        for job in jobs {
            spans.push(job.span.clone());
            let name = format!("T{id}.{}", job.number);
            found.push(task(name, &[job], is_edf, found.len()));
        }
    }
    if problems.has_errors() {
        return None;
    }
    let message = "the jobs of the set are not preempted, as SAG takes them";
    let help = "a task-set file without `nonpreemptive` has jobs that are";
    problems.push(Problem::warning("layland::sag::nonpreemptive", message).help(help));
    let cpus = default_cpus(host, None, "a job set", problems)?;
    let system = System { tasks: found.into(), ..System::new(cpus, Vec::new()) };
    for invalid in system.validate() {
        problems.push(Problem::invalid("layland::sag::invalid", invalid, |task, _| {
            Some((spans[task.index()].clone(), "here"))
        }));
    }
    Some((system, spans))
}

/// Returns true, and says so, if jobs of a task have no parameters in common.
fn differ(id: i64, jobs: &[SagJob], is_edf: bool, problems: &mut Problems) -> bool {
    let first = &jobs[0];
    let parameters = |job: &SagJob| {
        let priority = if is_edf { 0 } else { job.priority };
        [job.cost.1, relative_deadline(job), jitter(job), priority]
    };
    let names = ["largest cost", "relative deadline", "release interval", "priority"];
    let found = jobs[1..].iter().find_map(|job| {
        let pairs = parameters(job).into_iter().zip(parameters(first));
        let at = pairs.into_iter().position(|(own, other)| own != other)?;
        Some((job, names[at]))
    });
    let Some((job, what)) = found else { return false };
    let message = format!("a job of task {id} has another {what} than the first");
    let problem = Problem::warning("layland::sag::differ", message).at(job.span.clone(), "here");
    let help = "each job of this task becomes a task of its own";
    problems.push(problem.and_at(first.span.clone(), "the first").help(help));
    true
}

fn relative_deadline(job: &SagJob) -> i64 {
    job.deadline.saturating_sub(job.release.0)
}

fn jitter(job: &SagJob) -> i64 {
    job.release.1 - job.release.0
}

/// Makes one task of jobs that are alike, in the order of their releases.
fn task(name: String, jobs: &[SagJob], is_edf: bool, rank: usize) -> Task {
    let first = &jobs[0];
    let gaps: Vec<i64> =
        jobs.windows(2).map(|pair| pair[1].release.0 - pair[0].release.0).collect();
    let deadline = Duration::from_ns(relative_deadline(first));
    let is_periodic = gaps.windows(2).all(|pair| pair[0] == pair[1]);
    let period = gaps
        .iter()
        .copied()
        .min()
        .map_or(deadline.max(Duration::from_ns(first.cost.1)), Duration::from_ns);
    let least = jobs.iter().map(|job| job.cost.0).min().unwrap_or(0);
    let (min, max) = (Service::from_ns(least), Service::from_ns(first.cost.1));
    let behaviour = if is_periodic {
        Behaviour::Periodic
    } else {
        Behaviour::Explicit(jobs.iter().map(|job| Time::from_ns(job.release.0)).collect())
    };
    let is_counted = behaviour == Behaviour::Periodic;
    Task {
        deadline,
        offset: if is_counted { Duration::from_ns(first.release.0) } else { Duration::ZERO },
        jitter: Duration::from_ns(jitter(first)),
        execution: if min < max {
            ExecutionModel::Uniform { min, max }
        } else {
            ExecutionModel::Wcet
        },
        jobs: is_counted.then_some(jobs.len() as u64),
        priority: (!is_edf).then_some(first.priority),
        preemption: Preemption::Never,
        behaviour,
        rank: rank as i64,
        ..Task::implicit(name, max, period)
    }
}

fn fault(problems: &mut Problems, span: Span, message: String, help: &str) {
    problems.push(Problem::error("layland::sag::jobs", message).at(span, "here").help(help));
}

pub(crate) fn ns_of(unit: &str) -> i64 {
    match unit {
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        _ => 1,
    }
}

/// Returns the jobs of a system up to the end of a hyperperiod after the last offset, as a job set
/// for SAG, and a problem for every loss.
///
/// ```
/// use layland_config::to_sag;
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// let other = Task::implicit("log", Service::from_ms(2), Duration::from_ms(10));
/// let (text, _) = to_sag(&System::new(1, vec![task, other]));
/// assert!(text.ends_with("Priority\n1,1,0,0,1,1,5,5\n1,2,5,5,1,1,10,10\n2,1,0,0,2,2,10,10\n"), "{text}");
/// ```
pub fn to_sag(system: &System) -> (String, Vec<Problem>) {
    let mut lost = Vec::new();
    let last = system.tasks.values().map(|task| task.offset).max().unwrap_or_default();
    let end = system.hyperperiod().and_then(|length| last.checked_add(length));
    let of_task = |task: &Task| jobs(task, end);
    let count: i64 = system
        .tasks
        .values()
        .map(|task| of_task(task).map_or(MAX_JOBS, |jobs| jobs.1))
        .fold(0, i64::saturating_add);
    if count > MAX_JOBS || count == 0 {
        let message =
            format!("the set has more than {MAX_JOBS} jobs up to its hyperperiod, or none");
        let help =
            "SAG takes each job: change the periods so that they have a smaller common multiple";
        return (String::new(), vec![Problem::error("layland::sag::lost", message).help(help)]);
    }
    let least = |task: &Task| match task.execution {
        ExecutionModel::Uniform { min, max } if max == task.own_wcet() => min,
        ExecutionModel::Uniform { .. }
        | ExecutionModel::Wcet
        | ExecutionModel::Level(_)
        | ExecutionModel::Fraction(_)
        | ExecutionModel::Discrete(_)
        | ExecutionModel::List(_) => task.own_wcet(),
    };
    // The largest unit in which all times are whole.
    let unit = ["s", "ms", "us", "ns"].into_iter().find(|unit| {
        let is_whole = |ns: i64| ns % ns_of(unit) == 0;
        system.tasks.values().all(|task| {
            let times = [task.period.ns(), task.deadline.ns(), task.offset.ns(), task.jitter.ns()];
            let explicit = match &task.behaviour {
                Behaviour::Explicit(times) => times.iter().all(|time| is_whole(time.ns())),
                Behaviour::Periodic
                | Behaviour::Sporadic(_)
                | Behaviour::Curve(_)
                | Behaviour::Hog
                | Behaviour::Yield
                | Behaviour::SelfSuspending { .. } => true,
            };
            explicit
                && times.into_iter().chain([least(task).ns(), task.own_wcet().ns()]).all(is_whole)
        })
    });
    let unit = unit.unwrap_or("ns");
    let in_units = |ns: i64| ns / ns_of(unit);
    let has_priorities = system.tasks.values().all(|task| task.priority.is_some());
    let mut out = HEADER.to_owned();
    for (id, task) in system.tasks.iter() {
        let Some((arrivals, _)) = of_task(task) else { continue };
        for (at, arrival) in arrivals.into_iter().enumerate() {
            let deadline = in_units(arrival.saturating_add(task.deadline.ns()));
            let priority = task.priority.filter(|_| has_priorities).unwrap_or(deadline);
            out += &format!(
                "{},{},{},{},{},{},{deadline},{priority}\n",
                id.index() + 1,
                at + 1,
                in_units(arrival),
                in_units(arrival.saturating_add(task.jitter.ns())),
                in_units(least(task).ns()),
                in_units(task.own_wcet().ns()),
            );
        }
    }
    let mut lose = |is: bool, what: String, help: &str| {
        if is {
            lost.push(Problem::warning("layland::sag::lost", what).help(help));
        }
    };
    lose(
        true,
        format!("SAG has no units: the times are in {unit}"),
        "name the unit when you read them back: --unit",
    );
    lose(true, "the tasks have numbers in place of their names".to_owned(), NO_PLACE);
    let cpus = system.platform.cpu_count();
    lose(
        cpus > 1,
        format!("the {cpus} CPUs are no part of a job set"),
        "SAG has the option -m for them",
    );
    let is_preempted = |task: &Task| task.preemption != Preemption::Never;
    lose(
        system.tasks.values().any(is_preempted),
        "SAG takes jobs that are not preempted".to_owned(),
        "set `nonpreemptive`",
    );
    let is_other =
        |task: &Task| !matches!(task.behaviour, Behaviour::Periodic | Behaviour::Explicit(_));
    lose(
        system.tasks.values().any(is_other),
        "other releases become periodic".to_owned(),
        NO_PLACE,
    );
    lose(
        !has_priorities,
        "the priority of a job is its deadline, as under EDF".to_owned(),
        "give all tasks a `priority`",
    );
    let (_, others) = crate::to_csv(system);
    let is_of_set =
        |problem: &Problem| !problem.message.contains('`') && !problem.message.contains("release");
    lost.extend(others.into_iter().filter(is_of_set));
    for of in Of::each(system) {
        COVERAGE.lost(of).for_each(|(message, help)| {
            lost.push(Problem::warning("layland::sag::lost", message).help(help));
        });
    }
    (out, lost)
}

const NO_PLACE: &str = "SAG has no place for it";

const COVERAGE: Coverage = Coverage {
    has: |key| {
        matches!(
            key.name,
            "deadline" | "offset" | "jitter" | "priority" | "jobs" | "release" | "exec"
        )
    },
    help: |_| NO_PLACE,
};

/// Returns the arrivals of a task before `end`, and their number; `None` if they are too many.
fn jobs(task: &Task, end: Option<Duration>) -> Option<(Vec<i64>, i64)> {
    if let Behaviour::Explicit(times) = &task.behaviour {
        return Some((times.iter().map(|time| time.ns()).collect(), times.len() as i64));
    }
    let (period, offset) = (task.period.ns().max(1), task.offset.ns());
    let most = end.map(|end| (end.ns() - offset + period - 1) / period);
    let asked = task.jobs.map(|jobs| i64::try_from(jobs).unwrap_or(i64::MAX));
    let count = match (most, asked) {
        (Some(most), Some(asked)) => most.min(asked),
        (Some(count), None) | (None, Some(count)) => count,
        (None, None) => return None,
    };
    (0..=MAX_JOBS).contains(&count).then(|| {
        ((0..count).map(|at| offset.saturating_add(at.saturating_mul(period))).collect(), count)
    })
}
