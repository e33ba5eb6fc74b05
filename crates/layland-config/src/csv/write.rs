//! Writes a system as a table.

use super::{cells, steps};
use crate::keys::{Coverage, Of, TASK_KEYS, TaskKey, Value};
use crate::levels;
use crate::problem::Problem;
use layland_model::{CpuSet, InLevel, Levels, Overheads, System, csv_cell};

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
    // A column of ranks states that ranks decide between equal priorities.
    let is_shared = !system.shared_levels(system.tasks.ids()).is_empty();
    let by_rank = system.in_level.is_none() && is_shared;
    let is_present = |key: &&TaskKey| match key.name {
        "name" | "period" => true,
        // Times by level have columns of their own.
        "wcet" => !mixed,
        "rank" if by_rank => true,
        // The cells are empty if the names of resources have semicolons.
        "steps" => Of::each(system).any(|of| !cell(key, of).is_empty()),
        _ => Of::each(system).any(key.is_given),
    };
    let has_column = TASK_KEYS.iter().filter(|key| key.column.is_some());
    let columns: Vec<&TaskKey> = has_column.filter(is_present).collect();
    let mut titles: Vec<String> = columns.iter().map(|key| key.name.to_owned()).collect();
    let levels = if mixed { system.levels.count() } else { 0 };
    titles.extend(system.levels.names().iter().take(levels).map(|name| format!("wcet.{name}")));
    let quoted: Vec<String> = titles.iter().map(|title| csv_cell(title).into_owned()).collect();
    out += &format!("{}\n", quoted.join(","));
    for of in Of::each(system) {
        let mut cells: Vec<String> =
            columns.iter().map(|key| csv_cell(&cell(key, of)).into_owned()).collect();
        let wcet = |level| of.task.wcet.get(level).map_or(String::new(), ToString::to_string);
        cells.extend((0..levels).map(wcet));
        out += &format!("{}\n", cells.join(","));
    }
    (out, lost)
}

/// Returns the cell of a task; it is empty if the task lacks the value.
fn cell(key: &TaskKey, of: Of<'_>) -> String {
    let task = of.task;
    match &key.value {
        Value::Time(get, _) => get(task).map_or(String::new(), |time| time.to_string()),
        Value::Number(get, _) => get(task).map_or(String::new(), |number| number.to_string()),
        Value::Count(get, _) => get(task).map_or(String::new(), |number| number.to_string()),
        Value::Flag(get, ..) => get(task).to_string(),
        Value::Text(get, ..) => get(task).unwrap_or_default().to_owned(),
        Value::Word(word) => (word.get)(task).to_owned(),
        Value::Own(own) => (own.cell)(of),
    }
}

const LOST: &str = "layland::csv::lost";
const NO_COLUMN: &str = "a table has no column for it: write a task-set file";

/// A table has the keys with a column.
const COVERAGE: Coverage = Coverage { has: |key| key.column.is_some(), help: |_| NO_COLUMN };

/// Returns the losses of a table.
fn lost(system: &System) -> Vec<Problem> {
    let mut lost = Vec::new();
    let mut lose = |is: bool, what: String| {
        if is {
            lost.push(Problem::warning(LOST, format!("{what} lost")).help(NO_COLUMN));
        }
    };
    let platform = &system.platform;
    lose(!platform.is_unit_speed(), "the speeds of the CPUs are".to_owned());
    lose(!platform.topology.is_empty(), "the names of the topology are".to_owned());
    lose(platform.overheads != Overheads::default(), "the overheads are".to_owned());
    let has_ranks = Of::each(system).any(Of::has_rank);
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
    lose(!system.groups.is_empty(), format!("{} groups with budgets are", system.groups.len()));
    lose(!system.chains.is_empty(), format!("{} cause-effect chains are", system.chains.len()));
    steps::lost(system, &mut lose);
    for of in Of::each(system) {
        let is_unwritten = !of.task.follows.is_empty() && cells::follows(of).is_empty();
        let follows = is_unwritten.then(|| format!("what `{}` follows is lost", of.task.name));
        let messages = follows.into_iter().chain(COVERAGE.lost(of).map(|(message, _)| message));
        lost.extend(messages.map(|message| Problem::warning(LOST, message).help(NO_COLUMN)));
    }
    lost
}
