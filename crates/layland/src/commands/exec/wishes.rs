//! The requested reservations, and the threads that are to have them.

use super::args::{ExecArgs, Policy};
use super::groups::Groups;
use super::list;
use crate::ui::exit::Failure;
use crate::ui::input::{self, SetArgs};
use crate::ui::terminal;
use layland_guarantee::admission::{Guarantee, Reservation};
use layland_linux::exec::{Given, Thread, threads_of_kernel};
use layland_model::{Behaviour, CpuSet, TaskId};
use regex::Regex;

/// A requested reservation.
pub(super) struct Wish {
    /// The name of the task in a set. In the register, the name of the program precedes it.
    pub(super) name: String,
    pub(super) reservation: Reservation,
    threads: Threads,
    /// True if each matching thread gets a reservation; otherwise only one does.
    pub(super) is_for_each: bool,
}

enum Threads {
    /// The first thread of the first process.
    Main,
    Named(Regex),
    /// The first threads of the processes of a control group, by its path.
    Of(String),
}

/// The processes whose threads are considered.
pub(super) struct Sight<'a> {
    /// The process that was started or named. For control groups, each process counts as such.
    pub(super) main: Option<i32>,
    pub(super) groups: &'a Groups,
}

impl Wish {
    /// Returns true if the wish is for this thread.
    pub(super) fn is_about(&self, thread: &Thread, sight: &Sight<'_>) -> bool {
        match &self.threads {
            Threads::Main => sight.main.map_or(thread.is_main(), |main| thread.tid.0 == main),
            Threads::Named(pattern) => pattern.is_match(&thread.name),
            Threads::Of(group) => thread.is_main() && sight.groups.has(group, thread.process),
        }
    }

    /// Returns the control group that the wish names.
    pub(super) fn group(&self) -> Option<&str> {
        match &self.threads {
            Threads::Of(group) => Some(group),
            Threads::Main | Threads::Named(_) => None,
        }
    }

    /// Returns true if the wish is for the first thread of the first process.
    pub(super) fn is_about_main(&self) -> bool {
        matches!(self.threads, Threads::Main)
    }
}

fn threads(pattern: &str) -> Result<Threads, regex::Error> {
    if let Some(group) = pattern.strip_prefix("cgroup:") {
        return Ok(Threads::Of(group.to_owned()));
    }
    match pattern {
        "main" => Ok(Threads::Main),
        pattern => Ok(Threads::Named(Regex::new(&format!("^(?:{pattern})$"))?)),
    }
}

/// Everything that is requested.
pub(super) struct Wishes {
    pub(super) all: Vec<Wish>,
    /// The number of CPUs of the task set that they are from.
    pub(super) cpus: Option<usize>,
}

/// Returns all requested reservations.
pub(super) fn of(args: &ExecArgs) -> Result<Wishes, Failure> {
    let guarantee = args.tardiness.map_or(Guarantee::Deadlines, Guarantee::Tardiness);
    let Some(set) = &args.set else {
        let Some((runtime, period)) = args.dl else {
            return Err(Failure::usage("nothing to reserve")
                .help("give --dl RUNTIME/PERIOD, as in --dl 2ms/10ms, or a task-set file"));
        };
        if args.policy() == Policy::PFp {
            return Err(Failure::usage("p-fp goes by priorities, and a reservation has none")
                .help("name a task set whose tasks have them, or use p-dm or p-rm"));
        }
        let pattern = args.thread.as_deref().unwrap_or("main");
        let threads = threads(pattern).map_err(|error| {
            Failure::usage(format!("`{pattern}` is not a regular expression: {error}"))
        })?;
        let is_for_each = !matches!(threads, Threads::Main) || args.cgroup.is_some();
        let runtime = layland_model::Service::from_ns(runtime.ns());
        let mut reservation = Reservation::implicit("", runtime, period);
        reservation.deadline = args.deadline.unwrap_or(period);
        if runtime.at_unit_speed() > reservation.deadline {
            return Err(Failure::usage(format!(
                "a runtime of {runtime:#} does not fit before a deadline of {:#}",
                reservation.deadline
            )));
        }
        reservation.cpus = args.on_cpus.clone();
        reservation.guarantee = guarantee;
        let all = vec![Wish { name: String::new(), reservation, threads, is_for_each }];
        return Ok(Wishes { all, cpus: None });
    };
    let set_args = SetArgs { set: Some(set.clone()), ..SetArgs::default() };
    let set = input::load(&set_args)?;
    if let Some((message, help)) = set.unblocked() {
        terminal::warn(&message, Some(help));
    }
    let refused =
        |task: TaskId, reason: String| Err(Failure::input(set.located(reason, Some(task))));
    let of_kernel = threads_of_kernel();
    let mut wishes = Vec::new();
    for (id, task) in set.system.tasks.iter() {
        let wanted = task.thread.as_deref().unwrap_or(&task.name);
        if let Some(thread) = of_kernel.iter().find(|thread| thread.name == wanted) {
            tell_of_kernel(thread);
            continue;
        }
        let (name, pattern) = (&task.name, task.thread.as_deref().unwrap_or(&task.name));
        let threads = match (threads(pattern), &task.thread) {
            (Ok(threads), Some(_)) => threads,
            (Ok(Threads::Main), None) => Threads::Main,
            // A name is not a pattern: `a.b` matches only itself.
            (_, None) => {
                Threads::Named(Regex::new(&format!("^{}$", regex::escape(name))).map_err(
                    |error| Failure::input(format!("`{name}` cannot be looked for: {error}")),
                )?)
            }
            (Err(error), Some(_)) => {
                return refused(id, format!("`{pattern}` is not a regular expression: {error}"));
            }
        };
        match task.behaviour {
            Behaviour::Periodic | Behaviour::Sporadic(_) | Behaviour::Yield | Behaviour::Hog => {}
            Behaviour::Explicit(_) | Behaviour::Curve(_) | Behaviour::SelfSuspending { .. } => {
                return refused(id, format!("task `{name}` has no period that could be reserved"));
            }
        }
        if let Some(own) = task.affinity.as_ref().filter(|_| args.policy() == Policy::Dl) {
            let used = args.on_cpus.clone().unwrap_or_else(|| set.system.platform.all_cpus());
            if !used.is_subset(own) {
                let reason = format!(
                    "task `{name}` may only use the CPUs {own}, and SCHED_DEADLINE would let it run on {used}"
                );
                let failure = Failure::input(set.located(reason, Some(id)));
                return Err(failure.help("--policy p-edf keeps affinities"));
            }
        }
        let reservation = Reservation {
            name: name.to_string(),
            runtime: task.reservation(),
            deadline: task.deadline.min(task.period),
            period: task.period,
            cpus: cpus_of(args, task.affinity.as_ref()),
            priority: task.priority.filter(|_| args.policy() == Policy::PFp),
            rank: 0,
            guarantee,
        };
        if args.policy() == Policy::PFp && reservation.priority.is_none() {
            let reason = format!("task `{name}` has no priority, and p-fp goes by priorities");
            return refused(id, reason);
        }
        if reservation.runtime.at_unit_speed() > reservation.deadline {
            let reason = format!("task `{name}` reserves more than fits before its deadline");
            return refused(id, reason);
        }
        wishes.push(Wish { name: name.to_string(), reservation, threads, is_for_each: false });
    }
    if wishes.is_empty() {
        let refused = "no task of the set is a thread of a program";
        return Err(Failure::usage(refused).help("name one whose threads are to have reservations"));
    }
    Ok(Wishes { all: wishes, cpus: Some(set.system.platform.cpu_count()) })
}

/// Reports a kernel thread, which is left unchanged because the machine needs it. A set that was
/// inferred from a trace also names interrupt threads.
fn tell_of_kernel(thread: &Thread) {
    let now = Given::of(thread.tid).map_or_else(|_| String::new(), |given| list::said(&given));
    terminal::warn(
        &format!(
            "`{}` is a thread of the kernel ({now}): it gets no reservation, and counts as it is seen to act",
            thread.name
        ),
        Some(
            "chrt -f -p PRIORITY NUMBER changes its priority, where it is to come before the program",
        ),
    );
}

/// Returns the CPUs of the machine that a task names, or else those that the command line gives for
/// all tasks.
fn cpus_of(args: &ExecArgs, own: Option<&CpuSet>) -> Option<CpuSet> {
    own.cloned().or_else(|| args.on_cpus.clone())
}
