//! Writes a system as a task-set file.

use super::groups::DESIGN;
use super::text::{bare_or_quoted, inline, list, quoted, text};
use crate::keys::{Of, TASK_KEYS, TaskKey, Value};
use crate::levels;
use layland_model::{
    Chain, Change, Communication, CpuId, CpuSet, Index, InnerPolicy, Levels, Observed, Overheads,
    Platform, RequestKind, ServerRule, Speed, System, TaskGroup,
};
use std::collections::BTreeMap;

/// Returns a system as a task-set file, without the keys that have default values. Equal systems
/// produce the same text. It reads back as an equal system if [`System::validate`] finds no fault,
/// the names of levels are distinct, and requests are in the order of their times.
///
/// ```
/// use layland_config::to_toml;
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// assert_eq!(
///     to_toml(&System::new(2, vec![task])),
///     "layland = 1\n\n[platform]\ncpus = 2\n\n\
///      [[task]]\nname = \"control\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n"
/// );
/// ```
pub fn to_toml(system: &System) -> String {
    to_toml_with(system, &Comments::default())
}

/// Comments in a task-set file. A line break starts a further line, or is a space after a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comments {
    /// Comments at the top.
    pub head: Vec<String>,
    /// Comments about the tasks, in their order; tasks beyond the end of the list have none.
    pub tasks: Vec<TaskComments>,
}

/// Comments about a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskComments {
    /// Comments above its table.
    pub above: Vec<String>,
    /// Comments after its keys. If a key is omitted because it has its default, so is its comment.
    pub keys: BTreeMap<&'static str, String>,
}

/// Returns the same file with comments, which do not affect the system.
///
/// ```
/// use layland_config::{Comments, TaskComments, to_toml_with};
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// let keys = [("wcet", "measured".to_owned())].into();
/// let of_task = TaskComments { above: vec!["The brake.".to_owned()], keys };
/// let comments = Comments { head: vec!["Of a car.".to_owned()], tasks: vec![of_task] };
/// assert_eq!(
///     to_toml_with(&System::new(2, vec![task]), &comments),
///     "# Of a car.\n\nlayland = 1\n\n[platform]\ncpus = 2\n\n# The brake.\n\
///      [[task]]\nname = \"control\"\nperiod = \"5ms\"\nwcet = \"1ms\" # measured\n"
/// );
/// ```
pub fn to_toml_with(system: &System, comments: &Comments) -> String {
    let mut out = Out { text: String::new(), keys: &BTreeMap::new() };
    out.comment(&comments.head);
    out.text += if comments.head.is_empty() { "layland = 1\n" } else { "\nlayland = 1\n" };
    out.platform(&system.platform, system.tasks.values().any(|task| task.cache.is_some()));
    if system.levels != Levels::default() {
        out.table("[criticality]");
        out.key("levels", list(system.levels.names().iter().map(|name| quoted(name))));
    }
    // The reader detects a rank only if it is written, because it differs from the position.
    let has_rank = |id| Of { task: &system.tasks[id], id, system }.has_rank();
    if levels::are_shared(system) && system.in_level != levels::by_default(system, has_rank) {
        out.table("[defaults]");
        out.key("tie", quoted(levels::word(system.in_level)));
    }
    for resource in &system.resources {
        out.table("[[resource]]");
        out.key("name", quoted(&resource.name));
        if let Some(home) = resource.home {
            out.key("home", home);
        }
    }
    for group in &system.groups {
        out.group(group, system);
    }
    let none = TaskComments::default();
    for of in Of::each(system) {
        let of_task = comments.tasks.get(of.id.index()).unwrap_or(&none);
        out.text.push('\n');
        out.comment(&of_task.above);
        out.keys = &of_task.keys;
        out.task(of);
    }
    out.keys = &none.keys;
    for Chain { name, tasks, communication, max_reaction, max_age } in &system.chains {
        out.table("[[chain]]");
        out.key("name", quoted(name));
        let names = tasks.iter().filter_map(|&id| system.tasks.get(id));
        out.key("tasks", list(names.map(|task| quoted(&task.name))));
        if *communication != Communication::default() {
            out.key("communication", quoted(communication.name()));
        }
        for (key, within) in [("max_reaction", max_reaction), ("max_age", max_age)] {
            within.iter().for_each(|within| out.key(key, text(within)));
        }
    }
    for request in &system.requests {
        out.table("[[request]]");
        out.key("at", text(request.at));
        out.request(&request.kind, system);
    }
    if system.provenance.is_some() || system.observed.is_some() {
        out.table("[provenance]");
    }
    if let Some(Observed { length, unexplained }) = &system.observed {
        if let Some(length) = length {
            out.key("seen", text(*length));
        }
        // An empty list marks the set as inferred from a trace if no other key does.
        if length.is_none() || !unexplained.is_empty() {
            out.key("unexplained", list(unexplained.iter().map(|text| quoted(text))));
        }
    }
    if let Some(provenance) = &system.provenance {
        out.key("generator", quoted(&provenance.generator));
        // TOML guarantees only 63 bits.
        out.key(
            "seed",
            match i64::try_from(provenance.seed) {
                Ok(seed) => seed.to_string(),
                Err(_) => quoted(&provenance.seed.to_string()),
            },
        );
        if !provenance.parameters.is_empty() {
            out.table("[provenance.parameters]");
            for (key, value) in &provenance.parameters {
                out.key(&bare_or_quoted(key), quoted(value));
            }
        }
    }
    out.text
}

/// The text so far, and the comments on the keys of the current table.
struct Out<'c> {
    text: String,
    keys: &'c BTreeMap<&'static str, String>,
}

impl Out<'_> {
    fn table(&mut self, header: &str) {
        self.text += &format!("\n{header}\n");
    }
    fn key(&mut self, key: &str, value: impl std::fmt::Display) {
        self.text += &format!("{key} = {value}");
        if let Some(comment) = self.keys.get(key) {
            self.text += &format!(" # {}", plain(comment));
        }
        self.text.push('\n');
    }
    fn comment(&mut self, lines: &[String]) {
        for line in lines.iter().flat_map(|text| text.split('\n')) {
            self.text += &format!("# {}\n", plain(line));
        }
    }

    /// Writes the platform, with a reload time if some task `has_blocks`.
    fn platform(&mut self, platform: &Platform, has_blocks: bool) {
        self.table("[platform]");
        self.key("cpus", platform.cpu_count());
        if platform.clusters != [platform.all_cpus()] {
            self.key("clusters", list(platform.clusters.iter().map(text)));
        }
        if !platform.topology.is_empty() {
            let names = platform.topology.iter().map(|(name, sets)| {
                format!("{} = {}", bare_or_quoted(name), list(sets.iter().map(text)))
            });
            self.key("topology", inline(names));
        }
        let mut speeds: Vec<(Speed, CpuSet)> = Vec::new();
        for (cpu, &speed) in platform.speeds.iter() {
            match speeds.iter_mut().find(|(other, _)| *other == speed) {
                _ if speed == Speed::UNIT => {}
                Some((_, set)) => drop(set.insert(cpu)),
                None => speeds.push((speed, CpuSet::single(cpu))),
            }
        }
        if !speeds.is_empty() {
            let entries =
                speeds.iter().map(|(speed, set)| format!("{} = {}", text(set), text(speed)));
            self.key("speed", inline(entries));
        }
        let Overheads {
            release,
            scheduling,
            context_switch,
            migration,
            interrupt,
            tick,
            tick_period,
            block_reload_time,
        } = platform.overheads;
        if platform.overheads != Overheads::default() || has_blocks {
            self.table("[platform.overhead]");
            for (key, cost) in [
                ("release", release),
                ("scheduling", scheduling),
                ("context_switch", context_switch),
                ("migration", migration),
                ("interrupt", interrupt),
                ("tick", tick),
                ("tick_period", tick_period),
            ] {
                if cost.ns() != 0 {
                    self.key(key, text(cost));
                }
            }
            // If tasks have cache blocks, the reload time is required, even if it is zero.
            if block_reload_time.ns() != 0 || has_blocks {
                self.key("block_reload_time", text(block_reload_time));
            }
        }
    }

    fn group(&mut self, group: &TaskGroup, system: &System) {
        let TaskGroup { name, budget, period, deadline, cpus, inner, rule, priority, parent } =
            group;
        self.table("[[group]]");
        self.key("name", quoted(name));
        self.key("budget", budget.map_or_else(|| quoted(DESIGN), text));
        self.key("period", text(period));
        if deadline != period {
            self.key("deadline", text(deadline));
        }
        if *cpus != system.platform.all_cpus() {
            self.key("cpus", text(cpus));
        }
        self.key("inner", quoted(inner.name()));
        if let InnerPolicy::RoundRobin(quantum) = inner {
            self.key("quantum", text(quantum));
        }
        if *rule != ServerRule::default() {
            self.key("server", quoted(rule.name()));
        }
        if let Some(priority) = priority {
            self.key("priority", priority);
        }
        if let Some(parent) = parent.and_then(|id| system.groups.get(id.index())) {
            self.key("parent", quoted(&parent.name));
        }
    }

    fn task(&mut self, of: Of<'_>) {
        self.text += "[[task]]\n";
        let (early, others): (Vec<_>, Vec<_>) = TASK_KEYS.iter().partition(|key| key.is_early);
        for key in early.into_iter().chain(others) {
            if let Some(value) = value(key, of) {
                self.key(key.name, value);
            }
        }
    }

    fn request(&mut self, kind: &RequestKind, system: &System) {
        let name = |task| quoted(&system.tasks[task].name);
        let cpu = |cpu: &CpuId| cpu.to_string();
        match kind {
            RequestKind::Leave(task) => {
                self.key("task", name(*task));
                self.key("leave", true);
            }
            RequestKind::Reconfigure(task, change) => {
                self.key("task", name(*task));
                match change {
                    Change::Parameters { wcet, period, deadline } => {
                        self.key("wcet", text(wcet));
                        self.key("period", text(period));
                        if deadline != period {
                            self.key("deadline", text(deadline));
                        }
                    }
                    Change::Affinity(set) => self.key("affinity", text(set)),
                    Change::Cluster(cluster) => self.key("cluster", cluster),
                }
            }
            RequestKind::SetClusterCpus { cluster, cpus: set } => {
                self.key("cluster", cluster);
                self.key("cpus", text(set));
            }
            RequestKind::CpuOnline(id) => {
                self.key("cpu", cpu(id));
                self.key("online", true);
            }
            RequestKind::CpuOffline(id) => {
                self.key("cpu", cpu(id));
                self.key("online", false);
            }
        }
    }
}

/// Returns a line of a comment, without the control characters that TOML does not allow.
fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// Returns the value of a key in TOML; `None` if the task has the default.
fn value(key: &TaskKey, of: Of<'_>) -> Option<String> {
    let task = of.task;
    let value = match &key.value {
        Value::Time(get, _) => get(task).map(text),
        Value::Number(get, _) => get(task).map(|number| number.to_string()),
        Value::Count(get, _) => get(task).map(|number| number.to_string()),
        Value::Flag(get, ..) => Some(get(task).to_string()),
        Value::Text(get, ..) => get(task).map(quoted),
        Value::Word(word) => Some(quoted((word.get)(task))),
        Value::Own(own) => return (own.toml)(of),
    };
    value.filter(|_| (key.is_given)(of))
}
