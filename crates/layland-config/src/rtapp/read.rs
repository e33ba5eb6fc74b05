//! Reads rt-app JSON as a system.
//!
//! A thread of rt-app is a program of events, whereas
//! a task is a stream of jobs. Jobs end at timers:
//!
//! | thread | task |
//! |---|---|
//! | `run`, `runtime` | execution time, at the speed of a unit-speed CPU |
//! | `timer`, absolute | periodic |
//! | `timer`, relative | periodic, with a warning: rt-app re-arms it after a late job |
//! | no timer, `sleep` | self-suspending: the period is execution plus sleep |
//! | no timer, no `sleep` | never blocks, or gives up its budget at `yield` |
//! | phases with one period | jobs with a list of execution times |
//! | `dl-runtime`, `dl-deadline`, `dl-period` | budget, deadline, period; as in rt-app, the period defaults to the budget, and the deadline to the period |
//! | `priority` of SCHED_FIFO and SCHED_RR | the negated priority: here the smaller number is more important |
//! | `lock`, `unlock`, and `sleep` before the timer | steps of the job: critical sections and suspensions |
//! | `cpus`, `instance`, `delay`, `loop` | affinity, copies, offset, number of jobs |
//!
//! Everything else is a warning that names the thread and the event. A thread without an equivalent
//! task is omitted, with a warning; if none is left, that is an error.
//!
//! The format before 1.0 (`exec`, `period`, `deadline` of a thread) is supported, too.
//!
//! Long because the keys of the file, of threads and of phases are read side by side.

mod cycle;
mod phase;
mod policy;
mod program;
mod task;
mod value;

use self::phase::{Mutexes, PHASE};
use self::program::ALL_STEPS;
use crate::host::{Host, MAX_TASKS, default_cpus};
use crate::json::{self, Json, Member, Value};
use crate::levels;
use crate::problem::{Problem, Problems, Span};
use crate::steps::keep_used;
use layland_model::{
    CpuSet, Duration, InLevel, Index, Resource, ResourceId, System, TIME_LIMIT, Task, nearest,
};
use std::collections::BTreeSet;

const THREAD: &[&str] = &[
    "instance",
    "loop",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "cpus",
    "delay",
    "phases",
    "taskgroup",
    "util_min",
    "util_max",
    "nodes_membind",
];
/// Keys of a thread or phase that rt-app supports and that have no meaning for a task.
const NOT_MODELLED: &[&str] = &["taskgroup", "util_min", "util_max", "nodes_membind"];
/// Keys of a thread or phase before rt-app 1.0.
const OLD: &[&str] = &["exec", "period", "deadline", "lock_order", "resources"];

/// Reads a file: the system, the length of the run, and the span of each task.
pub(crate) fn read(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Option<Duration>, Vec<Span>)> {
    let json = json::parse(text, problems)?;
    let Value::Object(members) = &json.value else {
        let message = format!("the file is {}, not an object with `tasks`", json.kind());
        let problem = Problem::error("layland::rtapp::form", message).at(json.span, "here");
        problems.push(problem.help("an rt-app file starts with { \"tasks\" : {"));
        return None;
    };
    let mut importer = Importer {
        problems,
        default_policy: "SCHED_OTHER".to_owned(),
        has_round_robin: false,
        relative: Vec::new(),
        negated: Vec::new(),
        nice: Vec::new(),
        tasks: Vec::new(),
        names: BTreeSet::new(),
        mutexes: Mutexes::default(),
        steps_left: ALL_STEPS,
    };
    let until = importer.global(members);
    importer.threads(members, json.span.clone());
    importer.summaries();
    let Importer { tasks, mutexes, has_round_robin, .. } = importer;
    if problems.has_errors() {
        return None;
    }
    if tasks.is_empty() {
        let message = "no thread of the file can be taken as a task";
        let problem = Problem::error("layland::rtapp::no_task", message);
        problems
            .push(problem.help("a task needs `run` and `timer` (or `sleep`): see the warnings"));
        return None;
    }
    let used = tasks.iter().filter_map(|(task, _)| task.affinity.as_ref()?.highest());
    let used = used.max().map(|cpu| cpu.index() + 1);
    let cpus = default_cpus(host, used, "an rt-app file", problems)?;
    let spans: Vec<Span> = tasks.iter().map(|(_, span)| span.clone()).collect();
    let resources = mutexes.names.into_iter().map(|name| Resource { name, home: None }).collect();
    let mut system = System {
        tasks: tasks
            .into_iter()
            .enumerate()
            .map(|(rank, (task, _))| Task { rank: rank as i64, ..task })
            .collect(),
        resources,
        ..System::new(cpus, Vec::new())
    };
    keep_used(&mut system);
    if levels::are_shared(&system) {
        // The ends of SCHED_RR slices are unknown, so any of several equal threads may be next.
        let in_level = if has_round_robin { InLevel::Any } else { InLevel::Fifo };
        system.in_level = Some(in_level);
    }
    if let Some(words) = system.shared_levels_in_words(system.in_level) {
        let help = "[defaults] tie says what decides between equal priorities in a task-set file";
        problems.push(Problem::warning("layland::rtapp::equal", words).help(help));
    }
    for invalid in system.validate() {
        problems.push(Problem::invalid("layland::rtapp::invalid", invalid, |task, _| {
            Some((spans[task.index()].clone(), "this thread"))
        }));
    }
    Some((system, until, spans))
}

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Executes for this time in nanoseconds.
    Run(i64),
    Sleep(i64),
    /// Waits for a timer with this period.
    Timer(i64),
    Yield,
    Lock(ResourceId),
    Unlock(ResourceId),
}

/// A phase: steps that are repeated.
struct Phase {
    name: String,
    /// The number of repetitions; `None` for an endless phase.
    times: Option<u64>,
    steps: Vec<Step>,
    cpus: Option<CpuSet>,
}

/// The keys of a thread other than its phases.
struct Thread {
    name: String,
    span: Span,
    times: Option<u64>,
    phases: Vec<Phase>,
    /// The events that have no equivalent in a task.
    lost: Vec<(String, Span)>,
    /// The spans of its locks and unlocks.
    locks: Vec<Span>,
    /// The first event that waits for another thread; a barrier only if there is no other. A thread
    /// that sleeps sets its own pace, even if it waits for others at barriers.
    waits: Option<(String, Span)>,
    /// The deadline of the old format.
    deadline: Option<i64>,
    reservation: Reservation,
}

/// The parameters of SCHED_DEADLINE, in nanoseconds.
#[derive(Default)]
struct Reservation {
    runtime: Option<i64>,
    deadline: Option<i64>,
    period: Option<i64>,
    span: Option<Span>,
}

impl Reservation {
    /// Returns the period, which rt-app sets to the budget by default.
    fn period(&self) -> Option<i64> {
        self.period.or(self.runtime)
    }
}

struct Importer<'p> {
    problems: &'p mut Problems,
    default_policy: String,
    /// The threads with relative timers.
    relative: Vec<(String, Span)>,
    /// The threads whose priority was negated.
    negated: Vec<(String, Span)>,
    /// True if a thread is SCHED_RR.
    has_round_robin: bool,
    /// The threads whose priority is a nice value.
    nice: Vec<(String, Span)>,
    tasks: Vec<(Task, Span)>,
    names: BTreeSet<String>,
    /// The named mutexes, including those of omitted threads.
    mutexes: Mutexes,
    /// The number of steps that the remaining threads may have.
    steps_left: usize,
}

impl Importer<'_> {
    fn error(&mut self, code: &'static str, span: &Span, message: String, help: &str) {
        self.problems.push(Problem::error(code, message).at(span.clone(), "here").help(help));
    }
    fn warn(&mut self, code: &'static str, span: &Span, message: String, help: &str) {
        self.problems.push(Problem::warning(code, message).at(span.clone(), "here").help(help));
    }

    /// Reads the `global` object: the length of the run. Its other keys do not affect the tasks.
    fn global(&mut self, members: &[Member]) -> Option<Duration> {
        const KNOWN: &[&str] = &[
            "duration",
            "calibration",
            "default_policy",
            "pi_enabled",
            "lock_pages",
            "logdir",
            "log_basename",
            "log_size",
            "ftrace",
            "gnuplot",
            "io_device",
            "mem_buffer_size",
            "cumulative_slack",
            "frag",
        ];
        let mut until = None;
        for global in members.iter().filter(|member| member.key == "global") {
            for member in self.object("global", &global.value).unwrap_or_default() {
                match member.key.as_str() {
                    "duration" => {
                        let seconds = self.whole("duration", &member.value);
                        let seconds = seconds.filter(|&seconds| seconds > 0);
                        until = seconds
                            .and_then(|seconds| seconds.checked_mul(1_000_000_000))
                            .filter(|&ns| ns <= TIME_LIMIT)
                            .map(Duration::from_ns);
                    }
                    "default_policy" => {
                        if let Some(policy) = self.text("default_policy", &member.value) {
                            self.default_policy = policy.to_owned();
                        }
                    }
                    "pi_enabled" => self.inheritance(member),
                    key if KNOWN.contains(&key) => {}
                    key => self.unknown(key, "`global`", KNOWN, &member.key_span),
                }
            }
        }
        until
    }

    /// Warns of `pi_enabled`, with which all mutexes inherit priorities: a policy decides this
    /// here.
    fn inheritance(&mut self, member: &Member) {
        if !matches!(member.value.value, Value::Bool(true)) {
            return;
        }
        let message =
            "`pi_enabled` makes mutexes inherit priorities, and here the policy decides it"
                .to_owned();
        let help = "choose it with the policy: --policy p-fp:locks=pip";
        self.warn("layland::rtapp::not_modelled", &member.key_span, message, help);
    }

    /// Warns of what `resources` says beyond types: since rt-app 1.0, resources are created where
    /// they are used.
    fn listed(&mut self, resources: &Json) {
        let mut protocols: Vec<(String, Span)> = Vec::new();
        for resource in self.object("resources", resources).unwrap_or_default() {
            // Some files give only the type.
            let Value::Object(members) = &resource.value.value else { continue };
            for Member { key, key_span, value } in
                members.iter().filter(|member| member.key != "type")
            {
                if key == "protocol"
                    && let Value::Text(protocol) = &value.value
                {
                    protocols.push((protocol.to_ascii_lowercase(), key_span.clone()));
                    continue;
                }
                let what = format!("the resource `{}`", resource.key);
                self.unknown(key, &what, &["type", "protocol"], key_span);
            }
        }
        self.protocols(&protocols);
    }

    /// Warns of the protocols of mutexes, once: a policy decides them here, for all mutexes alike.
    fn protocols(&mut self, protocols: &[(String, Span)]) {
        let Some((first, span)) = protocols.first() else { return };
        let locks = |protocol: &str| match protocol.trim_start_matches("prio_") {
            "inherit" | "inheritance" | "pi" | "pip" => Some("pip"),
            "protect" | "ceiling" | "pp" | "ipcp" => Some("ipcp"),
            "pcp" => Some("pcp"),
            "none" => Some("none"),
            _ => None,
        };
        let is_one = protocols.iter().all(|(protocol, _)| locks(protocol) == locks(first));
        let (message, help) = match locks(first).filter(|_| is_one) {
            Some(name) => (
                format!("the mutexes have the protocol `{first}`, and here the policy decides it"),
                format!("choose it with the policy: --policy p-fp:locks={name}"),
            ),
            None => (
                "mutexes have several protocols, and here the policy decides on one for all"
                    .to_owned(),
                "choose one with the policy: --policy p-fp:locks=pip, or locks=ipcp".to_owned(),
            ),
        };
        self.warn("layland::rtapp::not_modelled", span, message, &help);
    }

    fn unknown(&mut self, key: &str, what: &str, known: &[&str], span: &Span) {
        let message = format!("unknown key `{key}` of {what}: it does not count");
        let help = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "remove it".to_owned(),
        };
        self.warn("layland::rtapp::unknown_key", span, message, &help);
    }

    fn threads(&mut self, members: &[Member], whole: Span) {
        let mut found = false;
        for member in members {
            match member.key.as_str() {
                "tasks" => {
                    found = true;
                    for thread in self.object("tasks", &member.value).unwrap_or_default() {
                        self.thread(thread);
                    }
                }
                // The first versions wrote the number of mutexes.
                "resources" if matches!(member.value.value, Value::Number(_)) => {}
                "resources" => self.listed(&member.value),
                "global" => {}
                key => self.unknown(key, "the file", &["tasks", "global"], &member.key_span),
            }
        }
        if !found {
            let message = "the file has no `tasks`".to_owned();
            let help = "an rt-app file is { \"tasks\" : { \"name\" : { \"run\" : .. } } }; a list of tasks is --from objects";
            self.error("layland::rtapp::form", &(whole.start..whole.start + 1), message, help);
        }
    }

    /// Reads one thread: adds its tasks, or a warning.
    fn thread(&mut self, member: &Member) {
        let mut name = member.key.clone();
        if self.names.contains(&name) {
            let taken = name.clone();
            let mut number = 2;
            while self.names.contains(&name) {
                name = format!("{taken}{number}");
                number += 1;
            }
            let message = format!("there are two threads `{taken}`: this one is called `{name}`");
            let help = "rt-app keeps the last of the two only: give it a name of its own";
            self.warn("layland::rtapp::duplicate", &member.key_span, message, help);
        }
        self.names.insert(name.clone());
        let Some(members) = self.object(&name, &member.value) else { return };
        let mut thread = Thread {
            name: name.clone(),
            span: member.key_span.clone(),
            times: None,
            phases: Vec::new(),
            lost: Vec::new(),
            locks: Vec::new(),
            waits: None,
            deadline: None,
            reservation: Reservation::default(),
        };
        let (mut instance, mut offset, mut cpus) = (1, 0, None);
        let mut policy = (self.default_policy.clone(), member.key_span.clone());
        let mut priority: Option<(i64, Span)> = None;
        let mut phases: Option<&Json> = None;
        let mut loop_span: Option<Span> = None;
        for Member { key, key_span, value } in members {
            match key.as_str() {
                "instance" => instance = self.whole(key, value).unwrap_or(1),
                "loop" => {
                    thread.times = self.times(value).flatten();
                    loop_span = Some(key_span.clone());
                }
                "delay" => offset = self.micros(key, value).unwrap_or(0),
                "cpus" => cpus = self.cpus(value),
                "policy" => {
                    if let Some(text) = self.text(key, value) {
                        policy = (text.to_owned(), key_span.clone());
                    }
                }
                "priority" => {
                    priority = self.whole(key, value).map(|number| (number, key_span.clone()));
                }
                "dl-runtime" | "dl-deadline" | "dl-period" => {
                    let ns = self.micros(key, value);
                    let Reservation { runtime, deadline, period, span } = &mut thread.reservation;
                    match key.as_str() {
                        "dl-runtime" => *runtime = ns,
                        "dl-deadline" => *deadline = ns,
                        _ => *period = ns,
                    }
                    *span = Some(key_span.clone());
                }
                "phases" => phases = Some(value),
                key if NOT_MODELLED.contains(&key) => self.not_modelled(&name, key, key_span),
                _ => {}
            }
        }
        let of_phases = match phases {
            Some(json) => self.object("phases", json).unwrap_or_default(),
            None => &[],
        };
        if let (Some(span), Some(times), None) = (loop_span, thread.times, phases) {
            let message =
                format!("`{name}` is taken to loop {times} times, as rt-app documents it");
            let help = "rt-app 1.0 repeats a thread without `phases` for ever: put the events into \
                        a phase";
            self.warn("layland::rtapp::loop", &span, message, help);
        }
        if phases.is_none() {
            let phase = self.phase(&mut thread, &name, members, THREAD);
            thread.phases.push(Phase { times: Some(1), cpus: None, ..phase });
        } else {
            for Member { key, key_span, .. } in members {
                if !THREAD.contains(&key.as_str()) {
                    let what = format!("`{name}` beside `phases`");
                    self.unknown(key, &what, THREAD, key_span);
                }
            }
        }
        for Member { key, value, .. } in of_phases {
            if let Some(members) = self.object(key, value) {
                let phase = self.phase(&mut thread, key, members, PHASE);
                thread.phases.push(phase);
            }
        }
        let affinity = self.affinity(&thread, cpus);
        let (policy, policy_span) = policy;
        let priority = self.policy(&mut thread, &policy, &policy_span, priority);
        let Some(mut task) = self.task(&thread) else { return };
        self.lost_events(&thread);
        task.affinity = affinity;
        task.priority = priority;
        let delayed = task.offset.ns().checked_add(offset).unwrap_or(TIME_LIMIT);
        task.offset = Duration::from_ns(delayed);
        if instance <= 0 {
            self.skip(&thread, "it has no instance", "write \"instance\" : 1");
        } else if self.tasks.len() as i64 + instance > MAX_TASKS as i64 {
            let message = format!("`{name}` makes {instance} tasks: the set is too large");
            let help = "at most a million tasks are read";
            self.error("layland::rtapp::too_many", &thread.span, message, help);
        } else if instance == 1 {
            self.tasks.push((task, thread.span));
        } else {
            for copy in 0..instance {
                let name = format!("{name}.{copy}");
                self.names.insert(name.clone());
                self.tasks.push((Task { name: name.into(), ..task.clone() }, thread.span.clone()));
            }
        }
    }

    /// Warns of a key that rt-app supports and that has no meaning for a task.
    fn not_modelled(&mut self, of: &str, key: &str, span: &Span) {
        let message = format!("`{key}` of `{of}` is not modelled");
        let help = match key {
            "taskgroup" => "groups share CPUs of SCHED_OTHER: here every task competes on its own",
            "nodes_membind" => "memory does not slow jobs down here",
            _ => "frequencies of CPUs are their speeds here",
        };
        self.warn("layland::rtapp::not_modelled", span, message, help);
    }

    /// Warns of the events that have no equivalent in a task.
    fn lost_events(&mut self, thread: &Thread) {
        let Some(((_, first), more)) = thread.lost.split_first() else { return };
        let mut kinds: Vec<String> = Vec::new();
        for (kind, _) in &thread.lost {
            let kind = format!("`{kind}`");
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let are = if kinds.len() == 1 { "is" } else { "are" };
        let message = format!("{} of `{}` {are} not modelled", kinds.join(", "), thread.name);
        let mut problem = Problem::warning("layland::rtapp::not_modelled", message)
            .at(first.clone(), "here")
            .help(if kinds.iter().any(|kind| kind == "`lock_order`") {
                "nothing waits for these locks: `layland convert FILE -o set.toml`, and write them as steps of the task, as in \
                 steps = [\"run 1ms\", \"lock r0\", \"run 1ms\", \"unlock r0\"]"
            } else {
                "the execution time of the job does not include it, and nothing waits for it"
            });
        for (_, span) in more {
            problem = problem.and_at(span.clone(), "and here");
        }
        self.problems.push(problem);
    }

    /// Returns the affinity of a thread; its phases may have others.
    fn affinity(&mut self, thread: &Thread, cpus: Option<CpuSet>) -> Option<CpuSet> {
        let of_phases: Vec<Option<&CpuSet>> =
            thread.phases.iter().map(|phase| phase.cpus.as_ref().or(cpus.as_ref())).collect();
        let first = of_phases.first().copied().flatten().cloned();
        if of_phases.iter().all(|cpus| *cpus == first.as_ref()) {
            return first;
        }
        let union = of_phases
            .iter()
            .try_fold(CpuSet::new(), |union, cpus| cpus.map(|cpus| union.union(cpus)));
        let taken = match &union {
            Some(union) => format!("{union:#}"),
            None => "all CPUs".to_owned(),
        };
        let message = format!("the phases of `{}` have different `cpus`", thread.name);
        let help = format!("it is taken to run on {taken} all the time");
        self.warn("layland::rtapp::not_modelled", &thread.span, message, &help);
        union
    }

    fn skip(&mut self, thread: &Thread, why: &str, help: &str) {
        let message = format!("`{}` is left out: {why}", thread.name);
        self.warn("layland::rtapp::left_out", &thread.span, message, help);
    }

    /// Adds one warning for each property that concerns several threads.
    fn summaries(&mut self) {
        let mut summary = |of: &[(String, Span)], code, what: &str, help: &str| {
            let Some(((_, first), more)) = of.split_first() else { return };
            let names: BTreeSet<&str> = of.iter().map(|(name, _)| name.as_str()).collect();
            let mut listed: Vec<String> =
                names.iter().take(5).map(|name| format!("`{name}`")).collect();
            if names.len() > 5 {
                listed.push(format!("{} more", names.len() - 5));
            }
            let message = format!("{what} {}", listed.join(", "));
            let mut problem = Problem::warning(code, message).at(first.clone(), "here").help(help);
            for (_, span) in more.iter().take(8) {
                problem = problem.and_at(span.clone(), "and here");
            }
            self.problems.push(problem);
        };
        summary(
            &self.relative,
            "layland::rtapp::relative_timer",
            "relative timers are taken as periodic:",
            "rt-app re-arms them after a late job, so later jobs drift; here they do not. Write \
             \"mode\" : \"absolute\" for a strict period",
        );
        summary(
            &self.negated,
            "layland::rtapp::priority",
            "priorities are negated, for",
            "in rt-app the larger number is more important, here the smaller one",
        );
        summary(
            &self.nice,
            "layland::rtapp::nice",
            "nice values are not modelled, of",
            "a priority counts with SCHED_FIFO and SCHED_RR",
        );
    }
}

/// Limits a length to the valid range of a system.
fn limited(ns: i64) -> i64 {
    ns.clamp(0, TIME_LIMIT)
}
