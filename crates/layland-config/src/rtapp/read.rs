//! rt-app JSON as a system.
//!
//! A thread of rt-app is a program of events; a task is a stream of jobs. A thread is cut into
//! jobs at its timers:
//!
//! | thread | task |
//! |---|---|
//! | `run`, `runtime` | execution time, at the speed of a unit-speed CPU |
//! | `timer`, absolute | periodic |
//! | `timer`, relative | periodic, with a warning: rt-app re-arms it after a late job |
//! | no timer, `sleep` | self-suspending: the period is execution plus sleep |
//! | no timer, no `sleep` | never blocks, or gives up its budget at `yield` |
//! | phases with one period | jobs with a list of execution times |
//! | `dl-runtime`, `dl-deadline`, `dl-period` | budget, deadline, period |
//! | `priority` of SCHED_FIFO and SCHED_RR | the negated priority: here the smaller number is more important |
//! | `cpus`, `instance`, `delay`, `loop` | affinity, copies, offset, number of jobs |
//!
//! Everything else is a warning that names the thread and the event. A thread that no task can
//! stand for is left out, with a warning; an error, if none is left.
//!
//! The format before 1.0 (`exec`, `period`, `deadline` of a thread) is read alike.

use crate::json::{self, Json, Member, Value};
use crate::problem::{Problem, Problems, Span};
use crate::read::{Host, MAX_TASKS, default_cpus};
use crate::spelling::nearest;
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Index, Levels, Place, Platform, Service,
    System, TIME_LIMIT, Task,
};
use std::collections::{BTreeMap, BTreeSet};

/// Longer lists of execution times are replaced by a distribution.
const MAX_LIST: u64 = 100_000;

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
];
const PHASE: &[&str] = &["loop", "cpus"];
/// Events, each before those that it starts with.
const EVENTS: &[&str] = &[
    "runtime",
    "run",
    "sleep",
    "timer",
    "yield",
    "suspend",
    "resume",
    "lock",
    "unlock",
    "wait",
    "signal",
    "sig_and_wait",
    "broad",
    "sync",
    "barrier",
    "mem",
    "iorun",
    "fork",
];
/// Events that wait for another thread.
const WAITING: &[&str] = &["suspend", "wait", "sig_and_wait", "sync", "barrier"];
/// Keys of a thread or phase before rt-app 1.0.
const OLD: &[&str] = &["exec", "period", "deadline", "lock_order", "resources"];

/// Reads a file: the system, how long it is to run, and where each task is.
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
        relative: Vec::new(),
        negated: Vec::new(),
        nice: Vec::new(),
        tasks: Vec::new(),
        names: BTreeSet::new(),
    };
    let until = importer.global(members);
    importer.threads(members, json.span.clone());
    importer.summaries();
    let Importer { tasks, .. } = importer;
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
    let system = System {
        platform: Platform::identical(cpus),
        levels: Levels::default(),
        tasks: tasks
            .into_iter()
            .enumerate()
            .map(|(rank, (task, _))| Task { rank: rank as i64, ..task })
            .collect(),
        requests: Vec::new(),
        provenance: None,
    };
    for invalid in system.validate() {
        let problem = Problem::error("layland::rtapp::invalid", invalid.message).help(invalid.help);
        problems.push(match invalid.place {
            Place::Task(task, _) => problem.at(spans[task.index()].clone(), "this thread"),
            Place::Set
            | Place::Cpus
            | Place::Speed(_)
            | Place::Cluster(_)
            | Place::Overheads
            | Place::Request(_) => problem,
        });
    }
    Some((system, until, spans))
}

/// What a thread does in one step.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Executes for so many nanoseconds.
    Run(i64),
    Sleep(i64),
    /// Waits for a timer with this period.
    Timer(i64),
    Yield,
}

/// A phase: steps that are repeated.
struct Phase {
    name: String,
    /// None: for ever.
    times: Option<u64>,
    steps: Vec<Step>,
    cpus: Option<CpuSet>,
}

/// What a thread says besides its phases.
struct Thread {
    name: String,
    span: Span,
    times: Option<u64>,
    phases: Vec<Phase>,
    /// Events that no task can stand for.
    lost: Vec<(String, Span)>,
    /// The first event that waits for another thread; a barrier, only if there is nothing else.
    /// A thread that sleeps, and meets others at barriers, still has a pace of its own.
    waits: Option<(String, Span)>,
    /// Deadline of the old format.
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

struct Importer<'p> {
    problems: &'p mut Problems,
    default_policy: String,
    /// Threads with relative timers.
    relative: Vec<(String, Span)>,
    /// Threads whose priority was negated.
    negated: Vec<(String, Span)>,
    /// Threads whose priority is a nice value.
    nice: Vec<(String, Span)>,
    tasks: Vec<(Task, Span)>,
    names: BTreeSet<String>,
}

impl Importer<'_> {
    fn error(&mut self, code: &'static str, span: &Span, message: String, help: &str) {
        self.problems.push(Problem::error(code, message).at(span.clone(), "here").help(help));
    }
    fn warn(&mut self, code: &'static str, span: &Span, message: String, help: &str) {
        self.problems.push(Problem::warning(code, message).at(span.clone(), "here").help(help));
    }

    /// A time in microseconds, as nanoseconds.
    fn micros(&mut self, key: &str, json: &Json) -> Option<i64> {
        let Value::Number(number) = &json.value else {
            let message = format!("`{key}` is a number of microseconds, not {}", json.kind());
            let help = "write a whole number, without quotes";
            self.error("layland::rtapp::wrong_type", &json.span, message, help);
            return None;
        };
        let read = format!("{number}us").parse::<Duration>().map(Duration::ns);
        match read {
            Ok(ns) if ns >= 0 => {
                if number.contains('.') {
                    let message = format!("`{key}` is {number}, a decimal number");
                    let help = "rt-app takes whole microseconds only: it would run something else";
                    self.warn("layland::rtapp::decimal", &json.span, message, help);
                }
                Some(ns)
            }
            Ok(_) => {
                let message = format!("`{key}` is negative: {number}");
                self.error("layland::rtapp::out_of_range", &json.span, message, "use 0 or more");
                None
            }
            Err(error) => {
                let message = format!("`{key}` is not a number of microseconds: {error}");
                let help = "write a whole number, as in 5000";
                self.error("layland::rtapp::wrong_type", &json.span, message, help);
                None
            }
        }
    }

    fn whole(&mut self, key: &str, json: &Json) -> Option<i64> {
        let number = match &json.value {
            Value::Number(number) => number.parse().ok(),
            Value::Omitted
            | Value::Null
            | Value::Bool
            | Value::Text(_)
            | Value::List(_)
            | Value::Object(_) => None,
        };
        if number.is_none() {
            let message = format!("`{key}` is a whole number, not {}", json.kind());
            self.error("layland::rtapp::wrong_type", &json.span, message, "write a whole number");
        }
        number
    }

    fn text<'j>(&mut self, key: &str, json: &'j Json) -> Option<&'j str> {
        if let Value::Text(text) = &json.value {
            return Some(text);
        }
        let message = format!("`{key}` is a text, not {}", json.kind());
        self.error("layland::rtapp::wrong_type", &json.span, message, "write it in quotes");
        None
    }

    fn object<'j>(&mut self, key: &str, json: &'j Json) -> Option<&'j [Member]> {
        if let Value::Object(members) = &json.value {
            return Some(members);
        }
        let message = format!("`{key}` is an object, not {}", json.kind());
        self.error("layland::rtapp::wrong_type", &json.span, message, "write { .. }");
        None
    }

    /// `loop`: none means for ever.
    fn times(&mut self, json: &Json) -> Option<Option<u64>> {
        let times = self.whole("loop", json)?;
        if times < -1 {
            let message = format!("`loop` is {times}");
            let help = "write how often, or -1 for ever";
            self.error("layland::rtapp::out_of_range", &json.span, message, help);
            return None;
        }
        Some(u64::try_from(times).ok())
    }

    fn cpus(&mut self, json: &Json) -> Option<CpuSet> {
        let Value::List(list) = &json.value else {
            let message = format!("`cpus` is a list, not {}", json.kind());
            self.error("layland::rtapp::wrong_type", &json.span, message, "write [0, 2]");
            return None;
        };
        let mut cpus = CpuSet::new();
        for item in list {
            let cpu = self.whole("cpus", item)?;
            let Some(cpu) = usize::try_from(cpu).ok().filter(|&cpu| cpu < CpuSet::MAX_CPUS) else {
                let message = format!("CPU {cpu} does not exist");
                let help = "CPUs are numbered from 0; there are at most 4096";
                self.error("layland::rtapp::out_of_range", &item.span, message, help);
                return None;
            };
            cpus.insert(CpuId::from_index(cpu));
        }
        (!cpus.is_empty()).then_some(cpus)
    }

    /// The `global` object: how long to run. The rest of it does not touch the tasks.
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
                    key if KNOWN.contains(&key) => {}
                    key => self.unknown(key, "`global`", KNOWN, &member.key_span),
                }
            }
        }
        until
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
                // Since rt-app 1.0 resources are made where they are used.
                "global" | "resources" => {}
                key => self.unknown(key, "the file", &["tasks", "global"], &member.key_span),
            }
        }
        if !found {
            let message = "the file has no `tasks`".to_owned();
            let help = "this is read as rt-app JSON: { \"tasks\" : { \"name\" : { .. } } }";
            self.error("layland::rtapp::form", &(whole.start..whole.start + 1), message, help);
        }
    }

    /// One thread: its tasks, or a warning.
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
                self.tasks.push((Task { name, ..task.clone() }, thread.span.clone()));
            }
        }
    }

    /// Names the events that no task can stand for.
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
            .help("the execution time of the job does not include it, and nothing waits for it");
        for (_, span) in more {
            problem = problem.and_at(span.clone(), "and here");
        }
        self.problems.push(problem);
    }

    /// The affinity of a thread; phases may have others.
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
            Some(union) => format!("CPUs {union}"),
            None => "all CPUs".to_owned(),
        };
        let message = format!("the phases of `{}` have different `cpus`", thread.name);
        let help = format!("it is taken to run on {taken} all the time");
        self.warn("layland::rtapp::not_modelled", &thread.span, message, &help);
        union
    }

    /// What policy and priority mean; the priority of the task.
    fn policy(
        &mut self,
        thread: &mut Thread,
        policy: &str,
        span: &Span,
        priority: Option<(i64, Span)>,
    ) -> Option<i64> {
        let name = thread.name.clone();
        let deadline = policy == "SCHED_DEADLINE";
        match policy {
            "SCHED_FIFO" | "SCHED_RR" => {
                let (number, span) = priority.unwrap_or((10, span.clone()));
                self.negated.push((name.clone(), span));
                self.reservation_unused(thread, policy);
                return Some(-number);
            }
            "SCHED_DEADLINE" => {
                if thread.reservation.runtime.is_none() {
                    let message = format!("`{name}` is SCHED_DEADLINE without `dl-runtime`");
                    let help = "it has no budget of its own then: its execution time counts";
                    self.warn("layland::rtapp::no_budget", span, message, help);
                }
            }
            "SCHED_OTHER" | "SCHED_IDLE" | "SCHED_BATCH" => {}
            _ => {
                let message = format!("`{name}` has the unknown policy `{policy}`");
                let help = "write SCHED_OTHER, SCHED_FIFO, SCHED_RR or SCHED_DEADLINE";
                self.warn("layland::rtapp::unknown_policy", span, message, help);
            }
        }
        if let Some((_, span)) = priority.filter(|_| !deadline) {
            self.nice.push((name, span));
        }
        if !deadline {
            self.reservation_unused(thread, policy);
        }
        None
    }

    fn reservation_unused(&mut self, thread: &mut Thread, policy: &str) {
        if let Some(span) = thread.reservation.span.take() {
            let message =
                format!("`{}` is {policy}: its `dl-` parameters do not count", thread.name);
            let help = "write \"policy\" : \"SCHED_DEADLINE\"";
            self.warn("layland::rtapp::not_modelled", &span, message, help);
            thread.reservation = Reservation::default();
        }
    }

    /// The events of a phase, or of a thread without phases.
    fn phase(
        &mut self,
        thread: &mut Thread,
        name: &str,
        members: &[Member],
        known: &[&str],
    ) -> Phase {
        let mut phase =
            Phase { name: name.to_owned(), times: Some(1), steps: Vec::new(), cpus: None };
        let of = thread.name.clone();
        let mut timers: BTreeSet<String> = BTreeSet::new();
        let mut old_timer = None;
        for Member { key, key_span, value } in members {
            if known.contains(&key.as_str()) {
                match key.as_str() {
                    "loop" => phase.times = self.times(value).unwrap_or(Some(1)),
                    "cpus" => phase.cpus = self.cpus(value),
                    _ => {}
                }
                continue;
            }
            let step = match event(key) {
                Some("run" | "runtime") => self.micros(key, value).map(Step::Run),
                // `"sleep" : false` of the old format.
                Some("sleep") if matches!(value.value, Value::Bool) => None,
                Some("sleep") => self.micros(key, value).map(Step::Sleep),
                Some("yield") => Some(Step::Yield),
                Some("timer") => self.timer(&of, value).map(|(period, reference)| {
                    timers.insert(reference);
                    Step::Timer(period)
                }),
                Some(other) => {
                    thread.lost.push((other.to_owned(), key_span.clone()));
                    let only_barriers =
                        thread.waits.as_ref().is_none_or(|(event, _)| event == "barrier");
                    if WAITING.contains(&other) && only_barriers {
                        thread.waits = Some((other.to_owned(), key_span.clone()));
                    }
                    None
                }
                None if OLD.contains(&key.as_str()) => match key.as_str() {
                    "exec" => self.micros(key, value).map(Step::Run),
                    "period" => {
                        old_timer = self.micros(key, value).map(Step::Timer);
                        None
                    }
                    "deadline" => {
                        thread.deadline = self.micros(key, value);
                        None
                    }
                    other => {
                        thread.lost.push((other.to_owned(), key_span.clone()));
                        None
                    }
                },
                None => {
                    let all: Vec<&str> = known.iter().chain(EVENTS).copied().collect();
                    self.unknown(key, &format!("`{of}`"), &all, key_span);
                    None
                }
            };
            phase.steps.extend(step);
        }
        phase.steps.extend(old_timer);
        if timers.len() > 1 {
            let message = format!("`{of}` waits for several timers in one phase");
            let help = "they are taken as one timer";
            self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
        }
        phase
    }

    /// Period and reference of a timer.
    fn timer(&mut self, of: &str, json: &Json) -> Option<(i64, String)> {
        let (mut period, mut absolute, mut reference) = (None, false, "unique".to_owned());
        for Member { key, key_span, value } in self.object("timer", json)? {
            match key.as_str() {
                "period" => period = self.micros(key, value),
                "ref" => reference = self.text(key, value)?.to_owned(),
                "mode" => match self.text(key, value)? {
                    "absolute" => absolute = true,
                    "relative" => {}
                    other => {
                        let message = format!("`{other}` is not a mode of a timer");
                        let help = "write \"absolute\" or \"relative\"";
                        self.error("layland::rtapp::form", &value.span, message, help);
                        return None;
                    }
                },
                _ => self.unknown(key, "a timer", &["ref", "period", "mode"], key_span),
            }
        }
        let Some(period) = period else {
            let message = format!("a timer of `{of}` has no period");
            let help = "write { \"ref\" : \"unique\", \"period\" : 5000 }";
            self.error("layland::rtapp::form", &json.span, message, help);
            return None;
        };
        if !absolute {
            self.relative.push((of.to_owned(), json.span.clone()));
        }
        Some((period, reference))
    }

    fn skip(&mut self, thread: &Thread, why: &str, help: &str) {
        let message = format!("`{}` is left out: {why}", thread.name);
        self.warn("layland::rtapp::left_out", &thread.span, message, help);
    }

    /// The task that a thread is, without what does not depend on its events.
    fn task(&mut self, thread: &Thread) -> Option<Task> {
        let phases = self.reachable(thread);
        let all = || phases.iter().flat_map(|phase| &phase.steps);
        let runs = all().any(|step| matches!(step, Step::Run(ns) if *ns > 0));
        if thread.times == Some(0) || phases.is_empty() {
            self.skip(thread, "it is never executed", "raise `loop`");
            return None;
        }
        if !runs {
            self.skip(thread, "it never runs", "give it a `run`, if it is to take time");
            return None;
        }
        let has_timer = all().any(|step| matches!(step, Step::Timer(ns) if *ns > 0));
        let has_sleep = all().any(|step| matches!(step, Step::Sleep(ns) if *ns > 0));
        if let Some((event, span)) = &thread.waits
            && !has_timer
            && !(has_sleep && event == "barrier")
        {
            let message = format!(
                "`{}` is left out: it waits for other threads (`{event}`), not for a timer",
                thread.name
            );
            let help = "give it a `timer` with the period at which it is woken";
            self.warn("layland::rtapp::left_out", span, message, help);
            return None;
        }
        // An endless phase is repeated for ever, whatever the thread's own loop says.
        let endless = thread.times.is_none() || phases.iter().any(|phase| phase.times.is_none());
        let cycle = Cycle::of(&phases, has_timer);
        let task = if has_timer {
            self.by_timer(thread, cycle, endless)
        } else if has_sleep {
            Some(self.by_sleep(thread, cycle, endless))
        } else {
            let yields = all().any(|step| matches!(step, Step::Yield));
            Some(self.without_end(thread, &cycle, endless, yields))
        };
        task.map(|task| self.reserve(thread, task, has_timer || has_sleep))
    }

    /// The phases that are executed over and over.
    fn reachable<'t>(&mut self, thread: &'t Thread) -> Vec<&'t Phase> {
        let phases: Vec<&Phase> =
            thread.phases.iter().filter(|phase| phase.times != Some(0)).collect();
        let Some(endless) = phases.iter().position(|phase| phase.times.is_none()) else {
            return phases;
        };
        if phases.len() > 1 {
            let name = &phases[endless].name;
            let message = format!("the phase `{name}` of `{}` never ends", thread.name);
            let help = "only this phase is taken; those before it would come once, at the start";
            self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
        }
        vec![phases[endless]]
    }

    /// A thread with timers: a periodic task.
    fn by_timer(&mut self, thread: &Thread, mut cycle: Cycle, endless: bool) -> Option<Task> {
        let name = &thread.name;
        let periods: BTreeSet<i64> = cycle.jobs().map(|job| job.wait).collect();
        let &period = periods.first()?;
        if periods.len() > 1 {
            let some: Vec<String> =
                periods.iter().take(4).map(|&ns| Duration::from_ns(ns).to_string()).collect();
            let why = format!("its timers have different periods ({})", some.join(", "));
            let help = "a task has one period: make a thread of each, or use one period";
            self.skip(thread, &why, help);
            return None;
        }
        if cycle.jobs().any(|job| job.slept > 0) {
            let message = format!("`{name}` sleeps inside of a job");
            let help = "the sleep is not modelled: the job's execution time does not include it";
            self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
        }
        let mut offset = 0;
        if cycle.tail > 0 {
            // What follows the last timer belongs to the first job of the next turn.
            let tail = cycle.tail;
            let first = cycle.first_mut()?;
            let begins_with_timer = first.run == 0;
            first.run = first.run.saturating_add(tail);
            if begins_with_timer {
                offset = period;
            } else {
                let message = format!("`{name}` runs before and after its last timer");
                let help = "both are taken as one job, also the first time";
                self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
            }
        }
        let mut task = self.with_times(thread, &cycle, period);
        task.offset = Duration::from_ns(offset);
        task.jobs = jobs(thread, &cycle, endless);
        Some(task)
    }

    /// A thread with sleeps and without timers: a self-suspending task.
    fn by_sleep(&mut self, thread: &Thread, mut cycle: Cycle, endless: bool) -> Task {
        let name = &thread.name;
        let tail = std::mem::take(&mut cycle.tail);
        if let Some(first) = cycle.first_mut() {
            first.run = first.run.saturating_add(tail);
        }
        let gaps: BTreeSet<i64> = cycle.jobs().map(|job| job.wait).collect();
        if gaps.len() > 1 || cycle.jobs().any(|job| job.run == 0) {
            let message = format!("`{name}` sleeps in several places");
            let help = "one turn of its loop is taken as one job, with all sleeps at its end";
            self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
            cycle = cycle.merged();
        }
        let gap = cycle.jobs().next().map_or(0, |job| job.wait);
        let longest = cycle.jobs().map(|job| job.run).max().unwrap_or(0);
        let period = limited(longest.saturating_add(gap));
        let mut task = self.with_times(thread, &cycle, period);
        task.behaviour = Behaviour::SelfSuspending { gap: Duration::from_ns(gap) };
        task.jobs = jobs(thread, &cycle, endless);
        let message = format!(
            "`{name}` has no timer: it sleeps for {} after each job",
            Duration::from_ns(gap)
        );
        let help = format!("its period is taken as run plus sleep, {}", Duration::from_ns(period));
        self.warn("layland::rtapp::no_period", &thread.span, message, &help);
        task
    }

    /// A thread that neither sleeps nor waits.
    fn without_end(&mut self, thread: &Thread, cycle: &Cycle, endless: bool, yields: bool) -> Task {
        let name = &thread.name;
        let run = if endless {
            cycle.tail
        } else {
            let turns = i64::try_from(thread.times.unwrap_or(1)).unwrap_or(i64::MAX);
            cycle.tail.saturating_mul(turns)
        };
        let wcet = limited(run);
        let period = thread.reservation.period.filter(|&ns| ns > 0).unwrap_or(wcet);
        let (length, shown) = (Duration::from_ns(period), Duration::from_ns(period));
        let mut task = Task::implicit(name.clone(), Service::from_ns(wcet), length);
        let (message, help) = if yields {
            task.behaviour = Behaviour::Yield;
            let message = format!("`{name}` yields after each job and has no timer");
            (message, format!("its period is taken as {shown}"))
        } else if endless {
            task.behaviour = Behaviour::Hog;
            let message = format!("`{name}` never sleeps");
            (message, format!("it is taken to run without end, with a period of {shown}"))
        } else {
            task.jobs = Some(1);
            let message = format!("`{name}` runs once and ends");
            (message, format!("it is taken as a single job of {}", Duration::from_ns(wcet)))
        };
        self.warn("layland::rtapp::no_period", &thread.span, message, &help);
        task
    }

    /// A task with the execution times of the jobs of a cycle.
    fn with_times(&mut self, thread: &Thread, cycle: &Cycle, period: i64) -> Task {
        let longest = cycle.jobs().map(|job| job.run).max().unwrap_or(0);
        let wcet = Service::from_ns(limited(longest));
        let mut task =
            Task::implicit(thread.name.clone(), wcet, Duration::from_ns(limited(period)));
        if let Some(deadline) = thread.deadline {
            task.deadline = Duration::from_ns(deadline);
        }
        if cycle.jobs().any(|job| job.run != longest) {
            if cycle.length() <= MAX_LIST {
                let times = cycle.blocks.iter().flat_map(|(jobs, times)| {
                    (0..*times)
                        .flat_map(move |_| jobs)
                        .map(|job| Service::from_ns(limited(job.run)))
                });
                task.execution = ExecutionModel::List(times.collect());
            } else {
                let mut weights: BTreeMap<i64, u64> = BTreeMap::new();
                for (jobs, times) in &cycle.blocks {
                    for job in jobs {
                        let weight = weights.entry(limited(job.run)).or_default();
                        *weight = weight.saturating_add(*times).min(1 << 40);
                    }
                }
                let values = weights.into_iter().map(|(ns, weight)| (Service::from_ns(ns), weight));
                task.execution = ExecutionModel::Discrete(values.collect());
                let message = format!("the phases of `{}` are too long for a list", thread.name);
                let help = "their execution times are drawn with the same frequencies instead";
                self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
            }
        }
        task
    }

    /// Adds the reservation.
    fn reserve(&mut self, thread: &Thread, mut task: Task, has_period: bool) -> Task {
        let Reservation { runtime, deadline, period, span } = &thread.reservation;
        let Some(span) = span else { return task };
        task.budget = runtime.map(Service::from_ns);
        if let Some(deadline) = deadline.or(*period) {
            task.deadline = Duration::from_ns(deadline);
        }
        let period = period.map(Duration::from_ns);
        if let Some(period) = period.filter(|&period| has_period && period != task.period) {
            if let Behaviour::SelfSuspending { .. } = task.behaviour {
                task.period = period;
                return task;
            }
            let message = format!(
                "`{}` has a job every {}, and a budget every {}",
                thread.name, task.period, period
            );
            let help = "a task has one period: that of the timer is taken for both";
            self.warn("layland::rtapp::not_modelled", span, message, help);
        }
        task
    }

    /// Warnings that hold for several threads, once.
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

/// The event that a key names: `run0` and `run_a` are both `run`.
fn event(key: &str) -> Option<&'static str> {
    // `lock_order` is no lock.
    let key = Some(key).filter(|key| !OLD.contains(key))?;
    EVENTS.iter().copied().find(|event| {
        let rest = key.strip_prefix(event);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    })
}

/// A length that a system can have.
fn limited(ns: i64) -> i64 {
    ns.clamp(0, TIME_LIMIT)
}

/// How many jobs a thread has.
fn jobs(thread: &Thread, cycle: &Cycle, endless: bool) -> Option<u64> {
    let turns = thread.times.filter(|_| !endless)?;
    Some(cycle.length().saturating_mul(turns))
}

/// A stretch of execution up to a wait.
#[derive(Clone, Copy, Debug, Default)]
struct Job {
    run: i64,
    /// The period of the timer, or the length of the sleep, that ends it.
    wait: i64,
    /// Sleeps inside, where timers end jobs.
    slept: i64,
}

/// One turn through the phases, cut into jobs.
#[derive(Debug, Default)]
struct Cycle {
    /// Jobs, and how often they are repeated.
    blocks: Vec<(Vec<Job>, u64)>,
    /// What runs after the last wait.
    tail: i64,
}

impl Cycle {
    fn of(phases: &[&Phase], by_timer: bool) -> Cycle {
        let mut cycle = Cycle::default();
        let mut open = Job::default();
        for phase in phases {
            let times = phase.times.unwrap_or(1);
            let mut jobs = Vec::new();
            let before = open;
            for step in &phase.steps {
                match *step {
                    Step::Run(ns) => open.run = open.run.saturating_add(ns),
                    Step::Timer(ns) if ns > 0 && by_timer => {
                        jobs.push(Job { wait: ns, ..open });
                        open = Job::default();
                    }
                    Step::Sleep(ns) if ns > 0 && by_timer => {
                        open.slept = open.slept.saturating_add(ns);
                    }
                    Step::Sleep(ns) if ns > 0 => {
                        jobs.push(Job { wait: ns, ..open });
                        open = Job::default();
                    }
                    Step::Timer(_) | Step::Sleep(_) | Step::Yield => {}
                }
            }
            if let Some(first) = jobs.first().copied() {
                let tail = open;
                cycle.blocks.push((jobs.clone(), 1));
                if times > 1 {
                    // In a further turn the first job begins with the end of the turn before.
                    let own = first.run.saturating_sub(before.run);
                    let slept = first.slept.saturating_sub(before.slept);
                    jobs[0] = Job {
                        run: own.saturating_add(tail.run),
                        slept: slept.saturating_add(tail.slept),
                        ..first
                    };
                    cycle.blocks.push((jobs, times - 1));
                }
            } else {
                let times = i64::try_from(times).unwrap_or(i64::MAX);
                let own = open.run.saturating_sub(before.run);
                open.run = before.run.saturating_add(own.saturating_mul(times));
            }
        }
        cycle.tail = open.run;
        cycle
    }

    /// Its distinct jobs.
    fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.blocks.iter().flat_map(|(jobs, _)| jobs)
    }

    fn first_mut(&mut self) -> Option<&mut Job> {
        self.blocks.first_mut()?.0.first_mut()
    }

    /// How many jobs it has.
    fn length(&self) -> u64 {
        let lengths =
            self.blocks.iter().map(|(jobs, times)| times.saturating_mul(jobs.len() as u64));
        lengths.fold(0, u64::saturating_add)
    }

    /// All of it as one job.
    fn merged(&self) -> Cycle {
        let sum = |of: fn(&Job) -> i64| {
            let blocks = self.blocks.iter().map(|(jobs, times)| {
                let one = jobs.iter().map(of).fold(0, i64::saturating_add);
                one.saturating_mul(i64::try_from(*times).unwrap_or(i64::MAX))
            });
            blocks.fold(0, i64::saturating_add)
        };
        let job = Job { run: sum(|job| job.run), wait: limited(sum(|job| job.wait)), slept: 0 };
        Cycle { blocks: vec![(vec![job], 1)], tail: self.tail }
    }
}
