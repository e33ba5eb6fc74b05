//! Writes a system as rt-app JSON. Properties that rt-app cannot express become warnings.

use crate::keys::{Coverage, Of};
use crate::problem::Problem;
use crate::steps::used;
use layland_model::{
    Behaviour, Duration, ExecutionModel, InLevel, Index, OnMiss, Order, Overheads, ResourceId,
    Service, Step, System, Task, TaskId,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The kernel policies of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtAppPolicy {
    /// By task: SCHED_DEADLINE with a budget, SCHED_FIFO with a priority, or else SCHED_OTHER.
    OfTasks,
    /// SCHED_DEADLINE for all tasks; the budget defaults to the WCET.
    Deadline,
    /// SCHED_FIFO for all tasks, with priorities in this order.
    ///
    /// # Panics
    /// [`to_rt_app`] panics for [`Order::Deadline`]: such priorities change from job to job.
    Fifo(Order),
}

/// Returns a system as a file for rt-app 1.0, and a problem for every
/// loss. SCHED_FIFO has 99 priorities: if a set needs more, the
/// problems contain an error with their number, and the text is empty.
///
/// Timers are absolute, execution times are calibrated
/// work (`run`), times are rounded up to microseconds.
///
/// ```
/// use layland_config::{RtAppPolicy, to_rt_app};
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// let (text, lost) = to_rt_app(&System::new(2, vec![task]), RtAppPolicy::Deadline);
/// assert!(text.contains("\"run\": 1000") && text.contains("\"dl-runtime\": 1000"));
/// assert!(lost.is_empty());
/// ```
pub fn to_rt_app(system: &System, policy: RtAppPolicy) -> (String, Vec<Problem>) {
    let (lost, priorities) = (Vec::new(), priorities(system, policy));
    if priorities.len() > NUMBERS {
        let message =
            format!("the set needs {} priorities, and SCHED_FIFO has {NUMBERS}", priorities.len());
        let help =
            "give several tasks one `priority`: with tie = \"fifo\" they share one of the kernel";
        return (String::new(), vec![Problem::error("layland::rtapp::levels", message).help(help)]);
    }
    let mut writer = Writer { policy, priorities, lost };
    let mut tasks = Map::new();
    for of in Of::each(system) {
        tasks.insert(of.task.name.to_string(), writer.thread(of));
    }
    writer.set(system);
    writer.ordinary(system);
    let file = json!({
        "tasks": tasks,
        "global": {
            "duration": -1,
            "calibration": "CPU0",
            "default_policy": "SCHED_OTHER",
            "pi_enabled": false,
            "lock_pages": true,
            "logdir": "./",
            "log_basename": "rt-app",
            "ftrace": false,
            "gnuplot": false,
        },
    });
    (format!("{file:#}\n"), writer.lost)
}

/// The key that orders the tasks under SCHED_FIFO; the smaller one is
/// more important. If ranks decide between equal numbers, the rank
/// and the position are part of it: the kernel has only priorities.
type Key = (i64, i64, u32);

fn key(id: TaskId, system: &System, policy: RtAppPolicy) -> Option<Key> {
    let task = &system.tasks[id];
    let ranked = |number: i64| (number, task.rank, id.0);
    match policy {
        RtAppPolicy::OfTasks if task.budget.is_some() => None,
        RtAppPolicy::OfTasks | RtAppPolicy::Fifo(Order::Given) => {
            let priority = task.priority?;
            let is_ranked = system.in_level.is_none();
            Some(if is_ranked { ranked(priority) } else { (priority, 0, 0) })
        }
        RtAppPolicy::Fifo(Order::RateMonotonic) => Some(ranked(task.period.ns())),
        RtAppPolicy::Fifo(Order::DeadlineMonotonic) => Some(ranked(task.deadline.ns())),
        RtAppPolicy::Fifo(Order::Deadline) => panic!("deadlines are not fixed priorities"),
        RtAppPolicy::Deadline => None,
    }
}

/// Returns the distinct keys, the most important first.
fn priorities(system: &System, policy: RtAppPolicy) -> Vec<Key> {
    let found: BTreeSet<Key> =
        system.tasks.ids().filter_map(|id| key(id, system, policy)).collect();
    found.into_iter().collect()
}

/// The number of SCHED_FIFO priorities.
const NUMBERS: usize = 99;

/// The keys that rt-app has, or whose loss depends on the policy of the thread.
const WRITTEN: [&str; 11] = [
    "deadline", "budget", "affinity", "offset", "rank", "priority", "jobs", "on_miss", "steps",
    "release", "exec",
];

/// The keys that are lost, and the reasons.
const COVERAGE: Coverage = Coverage {
    has: |key| WRITTEN.contains(&key.name),
    help: |key| match key.name {
        "jitter" => "rt-app has none",
        "reclaim" => "rt-app has no key for SCHED_FLAG_RECLAIM",
        "nonpreemptive" | "segments" => "rt-app has no key for non-preemptive regions",
        "follows" => "threads of rt-app wait for each other by `sync` and `signal`",
        "let_interval" => "rt-app knows no logical execution time",
        "ecb" => "rt-app knows no blocks of a cache",
        "blocking" => "rt-app has locks, and no number for how long they block",
        "thread" => "the threads of rt-app are those that it starts",
        _ => "rt-app has no key for it",
    },
};

struct Writer {
    policy: RtAppPolicy,
    /// The keys of all tasks.
    priorities: Vec<Key>,
    lost: Vec<Problem>,
}

impl Writer {
    /// Warns of the threads that compete with all other threads on the machine.
    fn ordinary(&mut self, system: &System) {
        if self.policy != RtAppPolicy::OfTasks {
            return;
        }
        let is_ordinary = |task: &&Task| task.budget.is_none() && task.priority.is_none();
        let names: Vec<&str> =
            system.tasks.values().filter(is_ordinary).map(|task| task.name.as_str()).collect();
        let Some((first, more)) = names.split_first() else { return };
        let message = match more.len() {
            0 => format!("`{first}` is SCHED_OTHER: it has neither a budget nor a priority"),
            count => format!(
                "`{first}` and {count} more are SCHED_OTHER: they have neither budgets nor priorities"
            ),
        };
        self.lose(message, "give all a real-time policy: --policy dl, g-rm, g-dm or g-fp");
    }

    fn lose(&mut self, message: String, help: &str) {
        self.lost.push(Problem::warning("layland::rtapp::lost", message).help(help));
    }

    /// Reports the losses that concern the whole set.
    fn set(&mut self, system: &System) {
        let platform = &system.platform;
        if !platform.is_unit_speed() {
            self.lose("the speeds of the CPUs are lost".to_owned(), "rt-app calibrates on one CPU");
        }
        if platform.clusters != [platform.all_cpus()] {
            self.lose("the clusters are lost".to_owned(), "make cpusets, and start rt-app in them");
        }
        if platform.overheads != Overheads::default() {
            self.lose("the overheads are lost".to_owned(), "the machine has its own");
        }
        let is_of_file =
            matches!(self.policy, RtAppPolicy::OfTasks | RtAppPolicy::Fifo(Order::Given));
        let is_shared = !system.shared_levels(system.tasks.ids()).is_empty();
        if is_of_file && is_shared && system.in_level == Some(InLevel::Any) {
            let help =
                "threads of SCHED_FIFO are served first come, first served: write SCHED_RR by hand";
            self.lose("that equal priorities come in any order is lost".to_owned(), help);
        }
        if system.observed.is_some() {
            let help = "keep the file: it has what the trace shows and the set does not explain";
            self.lose("the trace that the set was inferred from is lost".to_owned(), help);
        }
        if system.levels.is_mixed() {
            let help = "the execution time at each task's own level is written";
            self.lose("the criticality levels are lost".to_owned(), help);
        }
        let used = used(system);
        for (index, resource) in system.resources.iter().enumerate() {
            if !used.contains(&ResourceId::from_index(index)) {
                let message = format!("the resource `{}` is lost: no task uses it", resource.name);
                self.lose(message, "rt-app makes mutexes where they are locked");
            } else if resource.home.is_some() {
                let message = format!("the home of `{}` is lost", resource.name);
                self.lose(message, "a thread of rt-app locks a mutex where it runs");
            }
        }
        if !system.groups.is_empty() {
            let message = format!("{} groups with budgets are lost", system.groups.len());
            self.lose(message, "rt-app has no budget that several threads share");
        }
        if !system.chains.is_empty() {
            let message = format!("{} cause-effect chains are lost", system.chains.len());
            self.lose(message, "rt-app has no names for data that threads pass on");
        }
        if !system.requests.is_empty() {
            let message = format!("{} requests are lost", system.requests.len());
            self.lose(message, "rt-app changes nothing while it runs");
        }
    }

    /// Returns whole microseconds, rounded up.
    fn micros(&mut self, of: &str, what: &str, ns: i64) -> i64 {
        let us = ns.div_euclid(1000) + i64::from(ns.rem_euclid(1000) != 0);
        if ns.rem_euclid(1000) != 0 {
            let exact = Duration::from_ns(ns);
            self.lose(
                format!("{what} of `{of}` is {exact}: {us}us is written"),
                "rt-app counts in microseconds",
            );
        }
        us
    }

    fn thread(&mut self, of: Of<'_>) -> Value {
        let Of { task, system, .. } = of;
        let name = &task.name;
        let mut thread = Map::new();
        COVERAGE.lost(of).for_each(|(message, help)| self.lose(message, help));
        self.policy(of, &mut thread);
        if let Some(affinity) = &task.affinity {
            let cpus: Vec<u32> = affinity.iter().map(|cpu| cpu.0).collect();
            thread.insert("cpus".to_owned(), json!(cpus));
            let reserves = self.policy == RtAppPolicy::Deadline
                || self.policy == RtAppPolicy::OfTasks && task.budget.is_some();
            if reserves && *affinity != system.platform.all_cpus() {
                let message = format!("the affinity of `{name}` needs a cpuset");
                self.lose(message, "the kernel refuses SCHED_DEADLINE with an affinity otherwise");
            }
        }
        if task.offset > Duration::ZERO {
            let delay = self.micros(name, "the offset", task.offset.ns());
            thread.insert("delay".to_owned(), json!(delay));
        }
        if task.deadline != task.period && self.budget(task).is_none() {
            let help = "give it a budget: SCHED_DEADLINE has deadlines";
            self.lose(format!("the deadline of `{name}` is lost"), help);
        }
        let period = self.micros(name, "the period", task.period.ns());
        let end = self.end(task, period);
        let times = self.times(task);
        if times.iter().max() != Some(&task.own_wcet()) {
            let help = "rt-app has only the times for which jobs execute";
            self.lose(format!("the WCET of `{name}` is lost"), help);
        }
        let jobs: Vec<Map<String, Value>> =
            times.into_iter().map(|time| self.job(task, time, system)).collect();
        // Without phases, rt-app 1.0 repeats a thread forever, regardless of its `loop`.
        if let ([job], None) = (&jobs[..], task.jobs) {
            thread.insert("loop".to_owned(), json!(-1));
            thread.extend(job.clone());
            if let Some((key, value)) = end {
                thread.insert(key.to_owned(), value);
            }
        } else {
            let count = jobs.len() as u64;
            let turns = task.jobs.map(|jobs| jobs.div_ceil(count));
            if task.jobs.is_some_and(|jobs| jobs % count != 0) {
                let message = format!("`{name}` ends after a whole turn of its {count} jobs");
                self.lose(message, "rt-app repeats all phases together");
            }
            let loops = turns.map_or(-1, |turns| i64::try_from(turns).unwrap_or(i64::MAX));
            if turns.is_some_and(|turns| turns > i64::MAX as u64) {
                let message = format!("`{name}` ends after {loops} turns");
                self.lose(message, "rt-app counts no further");
            }
            thread.insert("loop".to_owned(), json!(loops));
            let mut phases = Map::new();
            for (index, job) in jobs.into_iter().enumerate() {
                let mut phase = Map::new();
                phase.insert("loop".to_owned(), json!(1));
                phase.extend(job);
                if let Some((key, value)) = &end {
                    phase.insert((*key).to_owned(), value.clone());
                }
                phases.insert(format!("job{index}"), Value::Object(phase));
            }
            thread.insert("phases".to_owned(), Value::Object(phases));
        }
        Value::Object(thread)
    }

    /// Returns the budget of a thread under SCHED_DEADLINE; `None` if it has another policy.
    fn budget(&self, task: &Task) -> Option<Service> {
        match self.policy {
            RtAppPolicy::OfTasks => task.budget,
            RtAppPolicy::Deadline => Some(task.reservation()),
            RtAppPolicy::Fifo(_) => None,
        }
    }

    fn policy(&mut self, of: Of<'_>, thread: &mut Map<String, Value>) {
        let Of { task, id, system } = of;
        let name = &task.name;
        if task.on_miss != OnMiss::Continue {
            let message = format!("late jobs of `{name}` run on");
            self.lose(message, "rt-app neither aborts nor skips jobs");
        }
        let own = key(id, system, self.policy);
        let has_given =
            matches!(self.policy, RtAppPolicy::OfTasks | RtAppPolicy::Fifo(Order::Given));
        let is_ranked = own.is_some() && (system.in_level.is_none() || !has_given);
        if of.has_rank() && !is_ranked {
            let help = "only priorities of SCHED_FIFO can follow from ranks";
            self.lose(format!("the rank of `{name}` is lost"), help);
        }
        if let Some(budget) = self.budget(task) {
            thread.insert("policy".to_owned(), json!("SCHED_DEADLINE"));
            for (key, what, ns) in [
                ("dl-runtime", "the budget", budget.ns()),
                ("dl-deadline", "the deadline", task.deadline.ns()),
                ("dl-period", "the period", task.period.ns()),
            ] {
                let us = self.micros(name, what, ns);
                thread.insert(key.to_owned(), json!(us));
            }
            if task.deadline > task.period {
                let message = format!("the deadline of `{name}` is longer than its period");
                self.lose(message, "the kernel refuses such a reservation");
            }
            if task.priority.is_some() {
                let help = "SCHED_DEADLINE has no priorities";
                self.lose(format!("the priority of `{name}` is lost"), help);
            }
        } else if let Some(own) = own {
            let index = self.priorities.partition_point(|&other| other < own);
            let (priority, ..) = own;
            // Equal numbers that ranks distinguish need distinct numbers in the kernel.
            let as_is =
                self.priorities.iter().all(|&(priority, ..)| (-99..=-1).contains(&priority))
                    && self.priorities.windows(2).all(|pair| pair[0].0 != pair[1].0);
            let number = if as_is { -priority } else { 99 - index as i64 };
            thread.insert("policy".to_owned(), json!("SCHED_FIFO"));
            thread.insert("priority".to_owned(), json!(number));
            if has_given && !as_is {
                let message = format!("the priority {priority} of `{name}` is written as {number}");
                let help = "rt-app has 1 to 99, and the larger number is more important";
                self.lose(message, help);
            }
        } else {
            thread.insert("policy".to_owned(), json!("SCHED_OTHER"));
        }
    }

    /// Returns the event that ends a job.
    fn end(&mut self, task: &Task, period: i64) -> Option<(&'static str, Value)> {
        let name = &task.name;
        let timer = json!({ "ref": "unique", "period": period, "mode": "absolute" });
        match &task.behaviour {
            Behaviour::Periodic => Some(("timer", timer)),
            Behaviour::Sporadic(_) => {
                let message = format!("`{name}` is sporadic: it is written as periodic");
                self.lose(message, "rt-app draws no times between jobs");
                Some(("timer", timer))
            }
            Behaviour::Explicit(_) => {
                let message = format!("the release times of `{name}` are lost");
                self.lose(message, "it is written as periodic");
                Some(("timer", timer))
            }
            Behaviour::Curve(_) => {
                let message = format!("the arrival curve of `{name}` is lost");
                self.lose(message, "it is written as periodic");
                Some(("timer", timer))
            }
            Behaviour::Hog => None,
            Behaviour::Yield => {
                if task.budget.is_none() {
                    let message = format!("`{name}` yields without a budget");
                    self.lose(message, "it runs without end unless it is SCHED_DEADLINE");
                }
                Some(("yield", json!("")))
            }
            Behaviour::SelfSuspending { gap } => {
                let gap = self.micros(name, "the gap", gap.ns());
                Some(("sleep", json!(gap)))
            }
        }
    }

    /// Returns the execution times of the jobs; one if all are equal.
    fn times(&mut self, task: &Task) -> Vec<Service> {
        let name = &task.name;
        let own = task.own_wcet();
        let drawn = |writer: &mut Self| {
            let message = format!("the execution times of `{name}` are drawn: its wcet is written");
            writer.lose(message, "rt-app draws no times");
            vec![own]
        };
        match &task.execution {
            ExecutionModel::Wcet => vec![own],
            ExecutionModel::Level(level) => {
                vec![task.wcet.get(level.level()).copied().unwrap_or(own)]
            }
            ExecutionModel::Fraction(rate) => {
                let scaled = rate.as_i64_pair().map(|(n, d)| {
                    let product = i128::from(own.ns()) * i128::from(n);
                    let ns = product.div_euclid(i128::from(d))
                        + i128::from(product.rem_euclid(i128::from(d)) != 0);
                    Service::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
                });
                vec![scaled.unwrap_or(own)]
            }
            ExecutionModel::Uniform { .. } | ExecutionModel::Discrete(_) => drawn(self),
            ExecutionModel::List(values) => values.clone(),
        }
    }

    /// Returns the events of a job with this execution
    /// time. Its `run` steps are scaled in proportion.
    fn job(&mut self, task: &Task, time: Service, system: &System) -> Map<String, Value> {
        let name = &task.name;
        let mut job = Map::new();
        let Some(steps) = &task.steps else {
            let run = self.micros(name, "an execution time", time.ns());
            job.insert("run".to_owned(), json!(run));
            return job;
        };
        let mutex = |resource: ResourceId| match system.resources.get(resource.index()) {
            Some(resource) => json!(resource.name),
            None => json!(resource.to_string()),
        };
        // At least 1, because it is a divisor.
        let (c, time) = (i128::from(task.own_wcet().ns().max(1)), i128::from(time.ns()));
        for (index, step) in steps.iter().enumerate() {
            let (event, value) = match *step {
                Step::Run(length) => {
                    let product = i128::from(length.ns()) * time;
                    let ns = product.div_euclid(c) + i128::from(product.rem_euclid(c) != 0);
                    let ns = i64::try_from(ns).unwrap_or(i64::MAX);
                    ("run", json!(self.micros(name, "a step", ns)))
                }
                Step::Suspend(length) => ("sleep", json!(self.micros(name, "a step", length.ns()))),
                Step::Lock(resource) => ("lock", mutex(resource)),
                Step::Unlock(resource) => ("unlock", mutex(resource)),
            };
            // Keys of an object must be distinct.
            job.insert(format!("{event}{index}"), value);
        }
        job
    }
}
