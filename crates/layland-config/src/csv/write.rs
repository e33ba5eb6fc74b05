//! Writes a system as a table.

use super::{follows, steps};
use crate::levels;
use crate::problem::Problem;
use layland_model::{
    Behaviour, CpuSet, ExecutionModel, InLevel, Index, Levels, OnMiss, Overheads, Preemption,
    System, Task, csv_cell,
};

/// Formats the cell of a task in a column.
type Text<'a> = &'a dyn Fn(usize, &Task) -> String;

/// Returns a system as a table with commas, and a problem for every loss.
///
/// ```
/// use layland_config::to_csv;
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// let (text, lost) = to_csv(&System::new(2, vec![task]));
/// assert_eq!(text, "# cpus = 2\nname,period,wcet\ncontrol,5ms,1ms\n");
/// assert!(lost.is_empty());
/// ```
pub fn to_csv(system: &System) -> (String, Vec<Problem>) {
    let platform = &system.platform;
    let lost = lost(system);
    let mut out = format!("# cpus = {}\n", platform.cpu_count());
    if platform.clusters != [platform.all_cpus()] {
        let clusters: Vec<String> = platform.clusters.iter().map(CpuSet::to_string).collect();
        out += &format!("# clusters = {}\n", clusters.join(" "));
    }
    let mixed = system.levels != Levels::default();
    if mixed {
        out += &format!("# levels = {}\n", system.levels.names().join(" "));
    }
    let any = |differs: &dyn Fn(usize, &Task) -> bool| {
        system.tasks.iter().any(|(id, task)| differs(id.index(), task))
    };
    // A column of ranks states that ranks decide between equal priorities.
    let is_shared = !system.shared_levels(system.tasks.ids()).is_empty();
    let by_rank = system.in_level.is_none() && is_shared;
    let mut titles: Vec<String> = vec!["name".to_owned(), "period".to_owned()];
    let mut columns: Vec<Text<'_>> =
        vec![&|_, task| task.name.to_string(), &|_, task| task.period.to_string()];
    let optional: [(&str, bool, Text<'_>); 10] = [
        ("deadline", any(&|_, t| t.deadline != t.period), &|_, t| t.deadline.to_string()),
        ("wcet", !mixed, &|_, t| t.own_wcet().to_string()),
        ("budget", any(&|_, t| t.budget.is_some()), &|_, t| {
            t.budget.map_or(String::new(), |budget| budget.to_string())
        }),
        ("criticality", any(&|_, t| t.criticality.level() > 0), &|_, t| {
            system.levels.names().get(t.criticality.level()).cloned().unwrap_or_default()
        }),
        ("affinity", any(&|_, t| t.affinity.is_some()), &|_, t| {
            t.affinity.as_ref().map_or(String::new(), CpuSet::to_string)
        }),
        ("cluster", any(&|_, t| t.cluster > 0), &|_, t| t.cluster.to_string()),
        ("offset", any(&|_, t| t.offset.ns() != 0), &|_, t| t.offset.to_string()),
        ("jitter", any(&|_, t| t.jitter.ns() != 0), &|_, t| t.jitter.to_string()),
        ("rank", by_rank || any(&|at, t| t.rank != at as i64), &|_, t| t.rank.to_string()),
        ("priority", any(&|_, t| t.priority.is_some()), &|_, t| {
            t.priority.map_or(String::new(), |priority| priority.to_string())
        }),
    ];
    for (title, present, column) in optional {
        if present {
            titles.push(title.to_owned());
            columns.push(column);
        }
    }
    let jobs: Text<'_> = &|_, t| t.jobs.map_or(String::new(), |jobs| jobs.to_string());
    if any(&|_, t| t.jobs.is_some()) {
        titles.push("jobs".to_owned());
        columns.push(jobs);
    }
    if any(&|_, t| t.on_miss != OnMiss::Continue) {
        titles.push("on_miss".to_owned());
        columns.push(&|_, t| t.on_miss.name().to_owned());
    }
    if any(&|_, t| t.reclaim) {
        titles.push("reclaim".to_owned());
        columns.push(&|_, t| t.reclaim.to_string());
    }
    let is_between = |t: &Task| matches!(t.preemption, Preemption::Between(_));
    if any(&|_, t| !t.preemption.is_anywhere() && !is_between(t)) {
        titles.push("nonpreemptive".to_owned());
        columns.push(&|_, t| match &t.preemption {
            Preemption::Anywhere | Preemption::Between(_) => String::new(),
            Preemption::Never => "true".to_owned(),
            Preemption::Delayed(region) => region.to_string(),
        });
    }
    if any(&|_, t| is_between(t)) {
        titles.push("segments".to_owned());
        columns.push(&|_, t| match &t.preemption {
            Preemption::Anywhere | Preemption::Never | Preemption::Delayed(_) => String::new(),
            Preemption::Between(segments) => {
                segments.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            }
        });
    }
    let steps: Text<'_> = &|_, t| steps::cell_text(t, &system.resources);
    if any(&|_, t| !steps::cell_text(t, &system.resources).is_empty()) {
        titles.push("steps".to_owned());
        columns.push(steps);
    }
    let followed: Text<'_> = &|_, t| follows::cell_text(t, system).unwrap_or_default();
    if any(&|_, t| !t.follows.is_empty()) {
        titles.push("follows".to_owned());
        columns.push(followed);
    }
    if any(&|_, t| t.blocking_time.ns() != 0) {
        titles.push("blocking".to_owned());
        columns.push(&|_, t| t.blocking_time.to_string());
    }
    if any(&|_, t| t.thread.is_some()) {
        titles.push("thread".to_owned());
        columns.push(&|_, t| t.thread.as_deref().unwrap_or_default().to_owned());
    }
    let levels = if mixed { system.levels.count() } else { 0 };
    titles.extend(system.levels.names().iter().take(levels).map(|name| format!("wcet.{name}")));
    let quoted: Vec<String> = titles.iter().map(|title| csv_cell(title).into_owned()).collect();
    out += &format!("{}\n", quoted.join(","));
    for (id, task) in system.tasks.iter() {
        let mut cells: Vec<String> =
            columns.iter().map(|column| csv_cell(&column(id.index(), task)).into_owned()).collect();
        cells.extend(
            (0..levels)
                .map(|level| task.wcet.get(level).map_or(String::new(), |wcet| wcet.to_string())),
        );
        out += &format!("{}\n", cells.join(","));
    }
    (out, lost)
}

/// Returns the losses of a table.
fn lost(system: &System) -> Vec<Problem> {
    let mut lost = Vec::new();
    let mut lose = |is: bool, what: String| {
        if is {
            let problem = Problem::warning("layland::csv::lost", format!("{what} lost"));
            lost.push(problem.help("a table has no column for it: write a task-set file"));
        }
    };
    let platform = &system.platform;
    lose(!platform.is_unit_speed(), "the speeds of the CPUs are".to_owned());
    lose(!platform.topology.is_empty(), "the names of the topology are".to_owned());
    lose(platform.overheads != Overheads::default(), "the overheads are".to_owned());
    let has_ranks = system.tasks.iter().any(|(id, task)| task.rank != id.index() as i64);
    let is_shared = !system.shared_levels(system.tasks.ids()).is_empty();
    let is_told = match system.in_level {
        None => true,
        Some(InLevel::Fifo) => !has_ranks,
        Some(InLevel::Any) => false,
    };
    let tie = levels::word(system.in_level);
    lose(is_shared && !is_told, format!("that equal priorities are tie=\"{tie}\" is"));
    lose(!system.requests.is_empty(), format!("{} requests are", system.requests.len()));
    lose(system.provenance.is_some(), "the provenance is".to_owned());
    lose(system.observed.is_some(), "the trace that the set was inferred from is".to_owned());
    lose(!system.chains.is_empty(), format!("{} cause-effect chains are", system.chains.len()));
    steps::lost(system, &mut lose);
    for task in system.tasks.values() {
        let name = &task.name;
        let is_lost = follows::cell_text(task, system).is_none();
        lose(is_lost, format!("what `{name}` follows is"));
        lose(task.let_interval.is_some(), format!("when `{name}` writes is"));
        lose(task.cache.is_some(), format!("the cache sets of `{name}` are"));
        lose(task.behaviour != Behaviour::Periodic, format!("the release of `{name}` is"));
        lose(task.execution != ExecutionModel::Wcet, format!("the execution of `{name}` is"));
    }
    lost
}
