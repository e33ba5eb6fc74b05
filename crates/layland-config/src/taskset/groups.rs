//! The `[[group]]` tables: groups of tasks with a budget on each of their CPUs, and the groups of tasks.

use super::task::TaskTable;
use super::{Broken, Decoder};
use crate::document::{KeyValue, value_of};
use crate::problem::{Problem, Span};
use layland_model::{
    CpuSet, Duration, GroupId, Index, InnerPolicy, Platform, ServerRule, Service, Task, TaskGroup,
};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

pub(crate) const GROUP: &[&str] = &[
    "name", "budget", "period", "deadline", "cpus", "inner", "quantum", "server", "priority",
    "parent",
];

/// The value of `budget` of a group whose budget is to be found.
pub(crate) const DESIGN: &str = "design";

/// The groups of a file.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) listed: Vec<TaskGroup>,
    /// The span of each table, from its name on.
    pub(super) spans: Vec<Span>,
    names: BTreeMap<String, GroupId>,
    /// True if all of them could be read.
    is_complete: bool,
}

/// A table that was read.
struct Read<'t> {
    group: TaskGroup,
    span: Span,
    /// The name of its parent, and the place of the name.
    parent: Option<(&'t str, KeyValue<'t>)>,
}

impl Decoder<'_, '_> {
    /// Reads every valid `[[group]]`.
    pub(super) fn groups<'t>(
        &mut self,
        top: &'t DeTable<'t>,
        platform: &Platform,
        broken: &Broken,
    ) -> Groups {
        let mut groups = Groups { is_complete: true, ..Groups::default() };
        let Some(section) = value_of(top, "group") else { return groups };
        if let DeValue::Table(_) = section.value {
            let help = "write [[group]], with two brackets, before each group";
            self.reader.wrong_type(&section, "a list of tables", help);
            groups.is_complete = false;
            return groups;
        }
        let mut parents = Vec::new();
        for element in self.reader.list(&section, "[]").unwrap_or_default() {
            match self.group(&element, platform, broken) {
                Some(Read { group, span, parent }) => {
                    let id = GroupId::from_index(groups.listed.len());
                    groups.names.entry(group.name.clone()).or_insert(id);
                    groups.listed.push(group);
                    groups.spans.push(span);
                    parents.push(parent);
                }
                None => groups.is_complete = false,
            }
        }
        for (at, parent) in parents.into_iter().enumerate() {
            groups.listed[at].parent =
                parent.and_then(|(name, entry)| self.named(name, &entry, &groups));
        }
        groups
    }

    /// Reads a table; returns `None` after reporting a fault.
    fn group<'t>(
        &mut self,
        element: &KeyValue<'t>,
        platform: &Platform,
        broken: &Broken,
    ) -> Option<Read<'t>> {
        let table = self.reader.table(element, "[[group]] before each group")?;
        self.reader.only(table, GROUP, "a group");
        let mut required = |key: &str, help: &str| {
            let entry = value_of(table, key);
            if entry.is_none() {
                self.reader.missing(element.span.clone(), "a group", key, help);
            }
            entry
        };
        let name = required("name", "name it: name = \"control\"");
        let budget = required("budget", "give its time per period and CPU: budget = \"2ms\"");
        let period = required("period", "say how often it has its budget: period = \"5ms\"");
        let inner = required("inner", "say how it orders its jobs: inner = \"edf\"");
        let span = name.as_ref().map(|entry| entry.span.clone());
        let name = name.and_then(|entry| self.reader.text(&entry, "control"));
        let budget = budget.and_then(|entry| self.budget(&entry));
        let period: Option<Duration> = period.and_then(|entry| self.reader.time(&entry));
        let inner = inner.and_then(|entry| self.inner(table, &entry));
        let mut is_sound = true;
        let mut optional = |found: Option<()>| is_sound &= found.is_some();
        let deadline = match value_of(table, "deadline") {
            Some(entry) => {
                let deadline: Option<Duration> = self.reader.time(&entry);
                optional(deadline.map(drop));
                deadline
            }
            None => period,
        };
        let cpus = match value_of(table, "cpus") {
            Some(entry) => {
                let all = platform.all_cpus();
                let all = if broken.platform { CpuSet::first(CpuSet::MAX_CPUS) } else { all };
                let cpus = self.reader.fixed_cpus(&entry, &platform.topology, &all);
                optional(cpus.as_ref().map(drop));
                cpus
            }
            None => Some(platform.all_cpus()),
        };
        let rule = match value_of(table, "server") {
            Some(entry) => {
                let rule = self.server_rule(&entry);
                optional(rule.map(drop));
                rule
            }
            None => Some(ServerRule::default()),
        };
        let priority = value_of(table, "priority").map(|entry| {
            let priority = self.reader.integer(&entry, i64::MIN.into()..=i64::MAX.into());
            optional(priority.map(drop));
            priority.unwrap_or(0)
        });
        let parent = value_of(table, "parent").map(|entry| {
            let name = self.reader.text(&entry, "robot");
            optional(name.map(drop));
            (name.unwrap_or_default(), entry)
        });
        let (name, (period, deadline)) = (name?.to_owned(), (period?, deadline?));
        let (budget, inner, cpus, rule) = (budget?, inner?, cpus?, rule?);
        let group =
            TaskGroup { name, budget, period, deadline, cpus, inner, rule, priority, parent: None };
        let read = Read { group, span: span?, parent };
        is_sound.then_some(read)
    }

    /// Reads a budget: a time, or `"design"`.
    fn budget(&mut self, entry: &KeyValue<'_>) -> Option<Option<Service>> {
        if let DeValue::String(text) = entry.value
            && text.as_ref() == DESIGN
        {
            return Some(None);
        }
        self.reader.time(entry).map(Some)
    }

    fn inner(&mut self, table: &DeTable<'_>, entry: &KeyValue<'_>) -> Option<InnerPolicy> {
        let name = self.reader.text(entry, "edf")?;
        let quantum = value_of(table, "quantum");
        let found = match (name, &quantum) {
            ("rr", Some(quantum)) => {
                return self.reader.time(quantum).map(InnerPolicy::RoundRobin);
            }
            ("rr", None) => {
                let help = "say how long a turn is: quantum = \"10ms\"";
                self.reader.missing(entry.span.clone(), "a group with turns", "quantum", help);
                return None;
            }
            ("fp", _) => InnerPolicy::Fp,
            ("edf", _) => InnerPolicy::Edf,
            ("fifo", _) => InnerPolicy::Fifo,
            ("np-fp", _) => InnerPolicy::NonpreemptiveFp,
            ("np-edf", _) => InnerPolicy::NonpreemptiveEdf,
            _ => {
                let names = InnerPolicy::NAMES.into_iter();
                self.reader.unknown(entry, "order within a group", name, names);
                return None;
            }
        };
        if let Some(quantum) = quantum {
            let message = format!("a group with inner = \"{name}\" has no turns");
            self.reader.invalid(&quantum, message, "leave it out, or use inner = \"rr\"");
            return None;
        }
        Some(found)
    }

    fn server_rule(&mut self, entry: &KeyValue<'_>) -> Option<ServerRule> {
        let name = self.reader.text(entry, "cbs")?;
        let found = ServerRule::find(name);
        if found.is_none() {
            let names = ServerRule::ALL.iter().map(|rule| rule.name());
            self.reader.unknown(entry, "server of a group", name, names);
        }
        found
    }

    /// The group of this name. If a table could not be read, it may be the one that is meant.
    fn named(&mut self, name: &str, entry: &KeyValue<'_>, groups: &Groups) -> Option<GroupId> {
        let found = groups.names.get(name).copied();
        if found.is_none() && groups.is_complete {
            let names = groups.names.keys().map(String::as_str);
            if groups.names.is_empty() {
                let message = format!("there is no group `{name}`");
                let code = "layland::taskset::unknown_name";
                let help = "add it: [[group]] with name, budget, period and inner";
                self.reader.error(code, entry.span.clone(), message, "unknown", help);
            } else {
                self.reader.unknown(entry, "group", name, names);
            }
        }
        found
    }

    /// Sets the group of each task, and warns of groups without any. `origin` has for each task the index
    /// of its table, and true for a further copy.
    pub(super) fn join(
        &mut self,
        tables: &[TaskTable<'_>],
        defaults: Option<&DeTable<'_>>,
        (tasks, origin): (&mut [Task], &[(u32, bool)]),
        groups: &Groups,
    ) {
        let mut known: Vec<Option<Option<GroupId>>> = vec![None; tables.len()];
        for (task, &(table, _)) in tasks.iter_mut().zip(origin) {
            let at = table as usize;
            let found = known[at].unwrap_or_else(|| {
                let entry = value_of(tables[at].table, "group")
                    .or_else(|| defaults.and_then(|defaults| value_of(defaults, "group")))?;
                let name = self.reader.text(&entry, "control")?;
                self.named(name, &entry, groups)
            });
            known[at] = Some(found);
            task.group = found;
        }
        for (at, (group, span)) in groups.listed.iter().zip(&groups.spans).enumerate() {
            let id = Some(GroupId::from_index(at));
            let is_used = tasks.iter().any(|task| task.group == id)
                || groups.listed.iter().any(|other| other.parent == id);
            if !is_used {
                let message = format!("no task is in the group `{}`", group.name);
                let problem = Problem::warning("layland::taskset::empty_group", message);
                let problem = problem.at(span.clone(), "without tasks");
                let help =
                    format!("put tasks into it, with group = \"{}\", or remove it", group.name);
                self.reader.problems.push(problem.help(help));
            }
        }
    }
}
