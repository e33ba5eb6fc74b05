//! Writes a system as a task-set file.

use crate::levels;
use layland_model::{
    Behaviour, Chain, Change, Communication, CpuId, CpuSet, ExecutionModel, Index, Levels,
    Observed, OnMiss, Overheads, Platform, Preemption, RequestKind, Separation, Speed, System,
    Task, TaskId,
};
use std::collections::BTreeMap;
use std::fmt::Write;

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
    let has_rank = |id: TaskId| system.tasks[id].rank != id.index() as i64;
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
    let none = TaskComments::default();
    for (id, task) in system.tasks.iter() {
        let of_task = comments.tasks.get(id.index()).unwrap_or(&none);
        out.text.push('\n');
        out.comment(&of_task.above);
        out.keys = &of_task.keys;
        out.task(task, id.index() as i64, system);
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
            within.iter().for_each(|within| out.key(key, time(within)));
        }
    }
    for request in &system.requests {
        out.table("[[request]]");
        out.key("at", time(request.at));
        out.request(&request.kind, system);
    }
    if system.provenance.is_some() || system.observed.is_some() {
        out.table("[provenance]");
    }
    if let Some(Observed { length, unexplained }) = &system.observed {
        if let Some(length) = length {
            out.key("seen", time(*length));
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
            self.key("clusters", list(platform.clusters.iter().map(cpus)));
        }
        if !platform.topology.is_empty() {
            let names = platform.topology.iter().map(|(name, sets)| {
                format!("{} = {}", bare_or_quoted(name), list(sets.iter().map(cpus)))
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
                speeds.iter().map(|(speed, set)| format!("{} = {}", cpus(set), text(speed)));
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
                    self.key(key, time(cost));
                }
            }
            // If tasks have cache blocks, the reload time is required, even if it is zero.
            if block_reload_time.ns() != 0 || has_blocks {
                self.key("block_reload_time", time(block_reload_time));
            }
        }
    }

    fn task(&mut self, task: &Task, position: i64, system: &System) {
        let Task {
            name,
            period,
            deadline,
            wcet,
            criticality,
            budget,
            offset,
            jitter,
            affinity,
            cluster,
            rank,
            priority,
            behaviour,
            execution,
            jobs,
            on_miss,
            reclaim,
            preemption,
            steps,
            follows,
            let_interval,
            cache,
            blocking_time,
            thread,
        } = task;
        let level = |index: usize| match system.levels.names().get(index) {
            Some(name) => name.clone(),
            None => index.to_string(),
        };
        self.text += "[[task]]\n";
        self.key("name", quoted(name));
        self.key("period", time(period));
        if deadline != period {
            self.key("deadline", time(deadline));
        }
        if wcet.windows(2).all(|pair| pair[0] == pair[1]) {
            self.key("wcet", time(task.own_wcet()));
        } else {
            let own = criticality.level();
            let by_level = wcet.iter().enumerate().filter(|&(at, c)| at <= own || *c != wcet[own]);
            self.key(
                "wcet",
                inline(
                    by_level.map(|(at, c)| format!("{} = {}", bare_or_quoted(&level(at)), time(c))),
                ),
            );
        }
        if let Some(steps) = steps {
            let texts =
                steps.iter().map(|&step| quoted(&crate::steps::text(step, &system.resources)));
            self.key("steps", list(texts));
        }
        if !follows.is_empty() {
            let names = follows.iter().filter_map(|&id| system.tasks.get(id));
            self.key("follows", list(names.map(|task| quoted(&task.name))));
        }
        if let Some(interval) = let_interval {
            self.key("let_interval", time(interval));
        }
        if let Some(cache) = cache {
            self.key("ucb", quoted(&cache.ucb.to_string()));
            self.key("ecb", quoted(&cache.ecb.to_string()));
        }
        if blocking_time.ns() != 0 {
            self.key("blocking", time(blocking_time));
        }
        if let Some(budget) = budget {
            self.key("budget", time(budget));
        }
        if criticality.level() != 0 {
            self.key("criticality", quoted(&level(criticality.level())));
        }
        if let Some(affinity) = affinity {
            self.key("affinity", cpus(affinity));
        }
        if system.platform.clusters.len() > 1 {
            self.key("cluster", cluster);
        }
        for (key, length) in [("offset", offset), ("jitter", jitter)] {
            if length.ns() != 0 {
                self.key(key, time(length));
            }
        }
        if *rank != position {
            self.key("rank", rank);
        }
        if let Some(priority) = priority {
            self.key("priority", priority);
        }
        if let Some(jobs) = jobs {
            self.key("jobs", jobs);
        }
        if *on_miss != OnMiss::Continue {
            self.key("on_miss", quoted(on_miss.name()));
        }
        if *reclaim {
            self.key("reclaim", reclaim);
        }
        match preemption {
            Preemption::Anywhere => {}
            Preemption::Never => self.key("nonpreemptive", true),
            Preemption::Delayed(region) => self.key("nonpreemptive", time(region)),
            Preemption::Between(segments) => self.key("segments", list(segments.iter().map(time))),
        }
        if let Some(thread) = thread {
            self.key("thread", quoted(thread));
        }
        self.behaviour(behaviour);
        let model = |name: &str, rest: String| format!("{{ model = \"{name}\", {rest} }}");
        match execution {
            ExecutionModel::Wcet => {}
            ExecutionModel::Level(of) => {
                let rest = format!("level = {}", quoted(&level(of.level())));
                self.key("exec", model("level", rest));
            }
            ExecutionModel::Fraction(of) => {
                self.key("exec", model("fraction", format!("of = {}", text(of))));
            }
            ExecutionModel::Uniform { min, max } => {
                let rest = format!("min = {}, max = {}", time(min), time(max));
                self.key("exec", model("uniform", rest));
            }
            ExecutionModel::Discrete(values) => {
                let (times, weights) = (
                    list(values.iter().map(|(c, _)| time(c))),
                    list(values.iter().map(|(_, weight)| weight.to_string())),
                );
                let rest = format!("values = {times}, weights = {weights}");
                self.key("exec", model("discrete", rest));
            }
            ExecutionModel::List(values) => {
                let runs = values.chunk_by(|a, b| a == b).flat_map(|run| match run {
                    [value, _, _, _, ..] => vec![text(format!("{value} x {}", run.len()))],
                    few => few.iter().map(time).collect(),
                });
                self.key("exec", model("list", format!("values = {}", list(runs))));
            }
        }
    }

    fn behaviour(&mut self, behaviour: &Behaviour) {
        let kind = |name: &str, rest: String| format!("{{ kind = \"{name}\", {rest} }}");
        match behaviour {
            Behaviour::Periodic => {}
            Behaviour::Hog => self.key("release", "\"hog\""),
            Behaviour::Yield => self.key("release", "\"yield\""),
            Behaviour::Sporadic(separation) => {
                self.key("release", kind("sporadic", format!("extra = {}", extra(separation))));
            }
            Behaviour::Curve(arrivals) => {
                let distances = list(arrivals.curve.delta_min().iter().map(time));
                let drawn = arrivals.extra.as_ref().map(|own| format!(", extra = {}", extra(own)));
                let keys = format!("delta_min = {distances}{}", drawn.unwrap_or_default());
                self.key("release", kind("curve", keys));
            }
            Behaviour::Explicit(times) => {
                let times = list(times.iter().map(time));
                self.key("release", kind("explicit", format!("at = {times}")));
            }
            Behaviour::SelfSuspending { gap } => {
                self.key("release", kind("self-suspending", format!("gap = {}", time(gap))));
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
                        self.key("wcet", time(wcet));
                        self.key("period", time(period));
                        if deadline != period {
                            self.key("deadline", time(deadline));
                        }
                    }
                    Change::Affinity(set) => self.key("affinity", cpus(set)),
                    Change::Cluster(cluster) => self.key("cluster", cluster),
                }
            }
            RequestKind::SetClusterCpus { cluster, cpus: set } => {
                self.key("cluster", cluster);
                self.key("cpus", cpus(set));
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

/// Quotes a value that needs no escapes.
fn text(value: impl std::fmt::Display) -> String {
    format!("\"{value}\"")
}

/// Quotes a time.
fn time(value: impl std::fmt::Display) -> String {
    text(value)
}

/// Quotes CPUs.
fn cpus(set: &CpuSet) -> String {
    text(set)
}

/// Formats the time that is added to the distances of jobs.
fn extra(separation: &Separation) -> String {
    match separation {
        Separation::Uniform { max } => time(max),
        Separation::Exponential { mean, max } => {
            format!("{{ dist = \"exponential\", mean = {}, max = {} }}", time(mean), time(max))
        }
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn inline(entries: impl Iterator<Item = String>) -> String {
    format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
}

/// Formats a key, without quotes if TOML allows that.
fn bare_or_quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { quoted(key) }
}

/// Formats a basic TOML string.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text, &mut out);
    out
}

/// Appends a string in quotes that is valid in TOML and JSON.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    let is_plain = |byte: &u8| matches!(byte, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~');
    if text.as_bytes().iter().all(is_plain) {
        *out += text;
        out.push('"');
        return;
    }
    for c in text.chars() {
        match c {
            '"' => *out += "\\\"",
            '\\' => *out += "\\\\",
            '\n' => *out += "\\n",
            '\r' => *out += "\\r",
            '\t' => *out += "\\t",
            c if c.is_control() => {
                // Writing to a string never fails.
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
