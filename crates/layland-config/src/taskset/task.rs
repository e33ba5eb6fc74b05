//! The `[[task]]` tables and `[defaults]`.

use super::{Broken, Decoder, bit};
use crate::document::{KeyValue, value_of};
use crate::host::MAX_TASKS;
use crate::keys::{TASK_KEYS, TASK_NAMES, TIE, TaskKey, Value};
use crate::problem::{Problem, Span};
use crate::steps::{Resources, execution};
use crate::tolerance;
use layland_model::{
    Behaviour, CpuSet, Criticality, Duration, ExecutionModel, Field, Levels, MissTolerance,
    Platform, Preemption, Service, Task, nearest,
};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// The maximum number of numbers and strings in all
/// tasks together, including copies made by `count`.
const MAX_VALUES: usize = 16_000_000;

/// A `[[task]]` and its start.
pub(super) struct TaskTable<'t> {
    pub table: &'t DeTable<'t>,
    pub span: Span,
}

/// Looks up keys: first in the table of a task, then in the defaults.
pub(super) struct Lookup<'t> {
    pub(super) table: &'t DeTable<'t>,
    defaults: Option<&'t DeTable<'t>>,
}

impl<'t> Lookup<'t> {
    pub(super) fn get(&self, key: &str) -> Option<KeyValue<'t>> {
        value_of(self.table, key).or_else(|| self.defaults.and_then(|table| value_of(table, key)))
    }
}

/// The fields of a task that could not be read.
#[derive(Default)]
struct Faults(u32);

impl Faults {
    fn add(&mut self, field: Field) {
        self.0 |= bit(field);
    }

    /// Records that `field` could not be read, and continues with `stand_in`.
    fn or<T>(&mut self, read: Option<T>, field: Field, stand_in: T) -> T {
        read.unwrap_or_else(|| {
            self.add(field);
            stand_in
        })
    }
}

impl Decoder<'_, '_> {
    /// Returns every `[[task]]`.
    pub(super) fn task_tables<'t>(&mut self, top: &'t DeTable<'t>) -> Vec<TaskTable<'t>> {
        let Some(section) = value_of(top, "task") else { return Vec::new() };
        if let DeValue::Table(_) = section.value {
            let help = "write [[task]], with two brackets, before each task";
            self.reader.wrong_type(&section, "a list of tables", help);
            return Vec::new();
        }
        let elements = self.reader.list(&section, "[]").unwrap_or_default();
        let mut tables = Vec::new();
        for element in elements {
            if let Some(table) = self.reader.table(&element, "[[task]] before each task") {
                tables.push(TaskTable { table, span: element.span });
            }
        }
        tables
    }

    /// Returns `[defaults]`, which is checked even if no task uses it.
    pub(super) fn defaults<'t>(
        &mut self,
        top: &'t DeTable<'t>,
        platform: &Platform,
        levels: &Levels,
    ) -> Option<&'t DeTable<'t>> {
        let section = value_of(top, "defaults")?;
        let table = self.reader.table(&section, "[defaults]")?;
        let keys: Vec<&str> = TASK_NAMES.iter().copied().chain([TIE]).collect();
        for key in TASK_KEYS.iter().filter(|key| !key.is_inherited) {
            if let Some(entry) = value_of(table, key.name) {
                let message = format!("`{}` has no default", key.name);
                let help = "give it in every [[task]]";
                let code = "layland::taskset::unknown_key";
                self.reader.error(code, entry.key_span, message, "not here", help);
            }
        }
        self.reader.only(table, &keys, "[defaults]");
        let lookup = Lookup { table, defaults: None };
        let mut ignored = Faults::default();
        self.criticality(&lookup, levels, &mut ignored);
        self.cpus_of_task(&lookup, None, platform, &mut ignored);
        let mut unused = Task::implicit("", Service::ZERO, Duration::ZERO);
        let inherited = TASK_KEYS.iter().filter(|key| key.is_inherited);
        self.values(inherited, &lookup, &mut unused, &mut ignored);
        self.preemption(&lookup);
        self.tolerance(&lookup);
        self.behaviour(&lookup);
        self.execution(&lookup, levels);
        Some(table)
    }

    /// Reads the tasks; for each, also returns the index
    /// of its table, and true if it is a further copy.
    pub(super) fn tasks<'t>(
        &mut self,
        tables: &[TaskTable<'t>],
        defaults: Option<&'t DeTable<'t>>,
        set: (&Platform, &Levels, &Resources),
        broken: &mut Broken,
    ) -> (Vec<Task>, Vec<(u32, bool)>) {
        let (mut tasks, mut origin) = (Vec::new(), Vec::new());
        let mut values = 0usize;
        for (index, table) in tables.iter().enumerate() {
            let lookup = Lookup { table: table.table, defaults };
            let mut faults = Faults::default();
            let task = self.task(table, &lookup, set, &mut faults);
            broken.fields.push(faults.0);
            let count = match value_of(table.table, "count") {
                None => Some(None),
                Some(entry) => self.reader.integer(&entry, 1..=MAX_TASKS as i128).map(Some),
            };
            let Some(count) = count else { continue };
            let copies: usize = count.unwrap_or(1);
            values = values.saturating_add(copies.saturating_mul(size(&task)));
            if tasks.len() + copies > MAX_TASKS || values > MAX_VALUES {
                let message = "the set is too large".to_owned();
                let help = format!("at most {MAX_TASKS} tasks, with {MAX_VALUES} values, are read");
                let code = "layland::taskset::too_many";
                let problem = Problem::error(code, message).at(table.span.clone(), "from here on");
                self.reader.problems.push(problem.help(help));
                break;
            }
            for copy in 0..copies {
                let name = match count {
                    Some(_) => format!("{}.{copy}", task.name),
                    None => task.name.to_string(),
                };
                // The default rank is the position, so that ties break in the order of the file.
                let rank = if value_of(table.table, "rank").is_some() {
                    task.rank
                } else {
                    tasks.len() as i64
                };
                tasks.push(Task { name: name.into(), rank, ..task.clone() });
                origin.push((index as u32, copy > 0));
            }
        }
        // The loop may have ended before the last table.
        broken.fields.resize(tables.len(), 0);
        (tasks, origin)
    }

    fn task(
        &mut self,
        here: &TaskTable<'_>,
        lookup: &Lookup<'_>,
        (platform, levels, resources): (&Platform, &Levels, &Resources),
        faults: &mut Faults,
    ) -> Task {
        self.reader.only(here.table, &TASK_NAMES, "a task");
        let name = match lookup.get("name") {
            Some(entry) => self.reader.text(&entry, "control"),
            None => {
                let help = "name it: name = \"control\"";
                self.reader.missing(here.span.clone(), "a task", "name", help);
                None
            }
        };
        let what = name.map_or("a task".to_owned(), |name| format!("task `{name}`"));
        let name = faults.or(name, Field::Name, "");
        let mut required = |key: &str, help: &str| {
            let found = lookup.get(key);
            // A misspelt key has been reported as unknown.
            let meant = |other: &str| {
                let near = nearest(other, TASK_NAMES);
                let is_it = near == Some(key) || near == Some("steps") && key == "wcet";
                !TASK_NAMES.contains(&other) && is_it
            };
            let mut keys = here.table.keys().map(|other| -> &str { other.get_ref() });
            if found.is_none() && !keys.any(meant) {
                self.reader.missing(here.span.clone(), &what, key, help);
            }
            found
        };
        let period = required(
            "period",
            "give the least time between two jobs: period = \"5ms\"; there is no default",
        );
        if period.is_none() {
            faults.add(Field::Period);
        }
        // The WCET of a job with steps is the sum of its `run` steps.
        let steps = lookup.get("steps");
        let wcet = match steps {
            Some(_) => lookup.get("wcet"),
            None => required(
                "wcet",
                "give the longest execution time of a job: wcet = \"1ms\"; there is no default",
            ),
        };
        let criticality = self.criticality(lookup, levels, faults);
        let known = faults.0 & bit(Field::Criticality) == 0;
        let steps = steps.and_then(|entry| {
            let steps = self.steps(&entry, resources).map(Some);
            faults.or(steps, Field::Steps, None)
        });
        let wcet = match &wcet {
            Some(entry) => self.wcet(entry, &what, levels, known.then_some(criticality)),
            None => steps.as_ref().map(|steps| vec![execution(steps); levels.count()]),
        };
        let wcet = faults.or(wcet, Field::Wcet, vec![Service::from_ns(1); levels.count()]);
        let (affinity, cluster) =
            self.cpus_of_task(lookup, Some((&what, here.span.clone())), platform, faults);
        let mut task = Task::implicit(name, Service::ZERO, Duration::from_secs(1));
        self.values(TASK_KEYS.iter(), lookup, &mut task, faults);
        Task {
            wcet: wcet.into(),
            criticality,
            affinity,
            cluster,
            behaviour: faults.or(self.behaviour(lookup), Field::Behaviour, Behaviour::Periodic),
            execution: faults.or(
                self.execution(lookup, levels),
                Field::Execution,
                ExecutionModel::Wcet,
            ),
            preemption: faults.or(self.preemption(lookup), Field::Preemption, Preemption::Anywhere),
            steps: steps.map(Into::into),
            tolerance: self.tolerance(lookup),
            cache: faults.or(self.cache(lookup), Field::Cache, None),
            // The tasks that it follows may come later, so they
            // are resolved after all tasks have been read.
            ..task
        }
    }

    /// Reads the values of keys into a task, but for those with a syntax of their own.
    fn values(
        &mut self,
        keys: impl Iterator<Item = &'static TaskKey>,
        lookup: &Lookup<'_>,
        task: &mut Task,
        faults: &mut Faults,
    ) {
        for key in keys.filter(|key| !matches!(key.value, Value::Own(_))) {
            if let Some(entry) = lookup.get(key.name)
                && self.value(key, &entry, task).is_none()
                && let Some(field) = key.field
            {
                faults.add(field);
            }
        }
    }

    /// Reads the value of a key into a task; `None` after a fault.
    fn value(&mut self, key: &TaskKey, entry: &KeyValue<'_>, task: &mut Task) -> Option<()> {
        let reader = &mut self.reader;
        match &key.value {
            Value::Time(_, set) => set(task, reader.time(entry)?),
            Value::Number(_, set) => {
                set(task, reader.integer(entry, i64::MIN.into()..=i64::MAX.into())?);
            }
            Value::Count(_, set) => set(task, reader.integer(entry, 0..=u64::MAX.into())?),
            Value::Flag(_, set, _) => set(task, reader.boolean(entry)?),
            Value::Text(_, set, example) => set(task, reader.text(entry, example)?),
            Value::Word(word) => {
                let text = reader.text(entry, word.example)?;
                if (word.set)(task, text).is_none() {
                    reader.unknown(entry, word.what, text, (word.words)().into_iter());
                    return None;
                }
            }
            Value::Own(_) => {}
        }
        Some(())
    }

    /// Reads `mk` and `miss`. A fault in them concerns nothing else.
    fn tolerance(&mut self, lookup: &Lookup<'_>) -> Option<Arc<MissTolerance>> {
        let mut constraints = Vec::new();
        if let Some(entry) = lookup.get("mk") {
            for element in self.reader.one_or_more(&entry) {
                let text = self.reader.text(&element, "9 of 10");
                match text.map(tolerance::constraint) {
                    Some(Ok(constraint)) => constraints.push(constraint),
                    Some(Err((message, help))) => self.reader.invalid(&element, message, help),
                    None => {}
                }
            }
        }
        let entry = lookup.get("miss");
        let text = entry.as_ref().and_then(|entry| self.reader.text(entry, "1e-6 per job"));
        let probability = match (entry, text.map(tolerance::probability)) {
            (Some(entry), Some(Err((message, help)))) => {
                self.reader.invalid(&entry, message, help);
                None
            }
            (_, read) => read.and_then(Result::ok),
        };
        tolerance::of(constraints, probability)
    }

    fn criticality(
        &mut self,
        lookup: &Lookup<'_>,
        levels: &Levels,
        faults: &mut Faults,
    ) -> Criticality {
        let level = match lookup.get("criticality") {
            Some(entry) => self.level(&entry, levels),
            None => Some(Criticality::default()),
        };
        faults.or(level, Field::Criticality, Criticality::default())
    }

    /// Reads the name of a level.
    pub(super) fn level(&mut self, entry: &KeyValue<'_>, levels: &Levels) -> Option<Criticality> {
        let name = self.reader.text(entry, "HI")?;
        let level = levels.find(name);
        if level.is_none() {
            self.unknown_level(name, entry.span.clone(), levels);
        }
        level
    }

    fn unknown_level(&mut self, name: &str, span: Span, levels: &Levels) {
        let names = levels.names().iter().map(String::as_str);
        let help = if *levels == Levels::default() {
            "list the levels first: [criticality] with levels = [\"LO\", \"HI\"]".to_owned()
        } else if let Some(near) = nearest(name, names) {
            format!("did you mean `{near}`?")
        } else {
            format!("the levels are {}", levels.names().join(", "))
        };
        let message = format!("`{name}` is not a criticality level");
        self.reader.error("layland::taskset::levels", span, message, "unknown level", help);
    }

    /// Reads one time for all levels, or a table of times by level. Levels above the task's own
    /// that the table omits get the time of its own level: the task never runs longer than that.
    fn wcet(
        &mut self,
        entry: &KeyValue<'_>,
        what: &str,
        levels: &Levels,
        own: Option<Criticality>,
    ) -> Option<Vec<Service>> {
        let DeValue::Table(table) = entry.value else {
            return self.reader.time(entry).map(|wcet| vec![wcet; levels.count()]);
        };
        let mut times: Vec<Option<Service>> = vec![None; levels.count()];
        let mut ok = true;
        for (key, value) in table.iter() {
            let of_level = KeyValue::new(key, value);
            let time = self.reader.time(&of_level);
            match levels.find(of_level.key) {
                Some(level) => times[level.level()] = time,
                None => self.unknown_level(of_level.key, of_level.key_span.clone(), levels),
            }
            ok &= time.is_some() && levels.find(of_level.key).is_some();
        }
        let own = own.filter(|_| ok)?;
        let missing: Vec<&str> = levels.names()[..=own.level()]
            .iter()
            .zip(&times)
            .filter(|(_, time)| time.is_none())
            .map(|(name, _)| name.as_str())
            .collect();
        if !missing.is_empty() {
            let message = format!("`wcet` of {what} has no time for level {}", missing.join(", "));
            let help = format!("give one for every level up to {}", levels.names()[own.level()]);
            let code = "layland::taskset::missing";
            self.reader.error(code, entry.span.clone(), message, "here", help);
            return None;
        }
        let at_own = times[own.level()]?;
        Some(times.into_iter().map(|time| time.unwrap_or(at_own)).collect())
    }

    /// Reads the affinity and the cluster. With several clusters
    /// a task names its own, or its affinity must lie within one.
    fn cpus_of_task(
        &mut self,
        lookup: &Lookup<'_>,
        required: Option<(&str, Span)>,
        platform: &Platform,
        faults: &mut Faults,
    ) -> (Option<CpuSet>, usize) {
        let choice = lookup.get("affinity").map(|entry| {
            let choice = self.reader.cpus(&entry, &platform.topology);
            (entry, choice)
        });
        let clusters = &platform.clusters;
        let fixed = match &choice {
            Some((_, Some(choice))) if !choice.is_relative() => choice.of(&CpuSet::new()),
            Some(_) | None => None,
        };
        let cluster = match (lookup.get("cluster"), fixed) {
            (Some(entry), _) => {
                let last = clusters.len().saturating_sub(1) as i128;
                self.reader.integer(&entry, 0..=last)
            }
            (None, _) if clusters.len() == 1 => Some(0),
            (None, Some(cpus)) if clusters.iter().any(|cluster| cpus.is_subset(cluster)) => {
                clusters.iter().position(|cluster| cpus.is_subset(cluster))
            }
            (None, _) => {
                if let Some((what, span)) = required {
                    let last = clusters.len() - 1;
                    let help = format!("name one of the clusters 0 to {last}: cluster = 0");
                    self.reader.missing(span, what, "cluster", help);
                }
                None
            }
        };
        let cluster = faults.or(cluster, Field::Cluster, 0);
        let Some((entry, choice)) = choice else { return (None, cluster) };
        let affinity = choice.and_then(|choice| {
            let excluded = choice.excluded();
            let platform_known = faults.0 & bit(Field::Cluster) == 0;
            if platform_known && !self.reader.exist(&entry, excluded, &platform.all_cpus()) {
                return None;
            }
            Some(choice.of(&clusters[cluster]))
        });
        (faults.or(affinity, Field::Affinity, None), cluster)
    }
}

/// Returns the number of values that a task keeps.
fn size(task: &Task) -> usize {
    let list = match &task.execution {
        ExecutionModel::Wcet
        | ExecutionModel::Level(_)
        | ExecutionModel::Fraction(_)
        | ExecutionModel::Uniform { .. } => 0,
        ExecutionModel::Discrete(values) => 2 * values.len(),
        ExecutionModel::List(values) => values.len(),
    };
    let releases = match &task.behaviour {
        Behaviour::Explicit(times) => times.len(),
        Behaviour::Curve(arrivals) => arrivals.curve.delta_min().len(),
        Behaviour::Periodic
        | Behaviour::Sporadic(_)
        | Behaviour::Hog
        | Behaviour::Yield
        | Behaviour::SelfSuspending { .. } => 0,
    };
    let cpus =
        task.affinity.as_ref().and_then(CpuSet::highest).map_or(0, |cpu| cpu.0 as usize / 64);
    let segments = match &task.preemption {
        Preemption::Anywhere | Preemption::Never | Preemption::Delayed(_) => 0,
        Preemption::Between(segments) => segments.len(),
    };
    let steps = 2 * task.steps().len();
    8 + task.name.len() / 8 + task.wcet.len() + list + releases + cpus + segments + steps
}
