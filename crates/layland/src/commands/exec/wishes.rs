//! The requested reservations, and the threads that are to have them.

use super::args::{ExecArgs, Policy};
use super::groups::Groups;
use super::list;
use crate::ui::exit::Failure;
use crate::ui::input::{self, SetArgs};
use crate::ui::terminal;
use layland_guarantee::admission::{Guarantee, Reservation};
use layland_linux::exec::{Given, Thread, threads_of_kernel};
use layland_model::{Behaviour, CpuSet, Duration, Service, Speed, Step, System, Task, TaskId};
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
        let Demand { runtime, deadline, period, remarks } = match Demand::of(task, &set.system) {
            Ok(demand) => demand,
            Err((reason, help)) => {
                return Err(Failure::input(set.located(reason, Some(id))).help(help));
            }
        };
        for remark in remarks {
            terminal::warn(&set.located(remark, Some(id)), None);
        }
        let reservation = Reservation {
            name: name.to_string(),
            runtime,
            deadline,
            period,
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
            let reason = format!(
                "task `{name}` reserves {:#}, which does not fit before its deadline, {:#} after a wake-up",
                reservation.runtime.at_unit_speed(),
                reservation.deadline
            );
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

/// The needs of a task that a reservation covers: its threads wake up at least a period apart, and execute for
/// at most the runtime until the deadline after a wake-up.
///
/// A reservation has no jitter, suspensions, or blocking. The set may have them, and then the same
/// promise holds with more processor time or less time.
struct Demand {
    runtime: Service,
    deadline: Duration,
    period: Duration,
    /// The differences from the set, in words.
    remarks: Vec<String>,
}

impl Demand {
    /// # Errors
    /// The reason, and advice, if no reservation covers what the task does.
    fn of(task: &Task, system: &System) -> Result<Demand, (String, &'static str)> {
        let name = &task.name;
        let cannot = |what: &str, help: &'static str| Err((format!("task `{name}` {what}"), help));
        if task.group.is_some() {
            let help =
                "give each task of the group a reservation of its own, in a file without [[group]]";
            return cannot("is in a group, and exec has no budgets for groups", help);
        }
        if !task.follows.is_empty() {
            let help = "leave `follows` out, and count the wait for other threads as `jitter`";
            return cannot(
                "follows others, and a reservation does not know when they are done",
                help,
            );
        }
        let steps = task.steps();
        if steps.iter().any(|step| matches!(step, Step::Lock(_) | Step::Unlock(_))) {
            let help = "leave the steps out, and give the longest wait for others as `blocking`";
            return cannot("locks resources, and a reservation does not know who holds them", help);
        }
        let used = task.affinity.clone().unwrap_or_else(|| system.platform.all_cpus());
        if used.iter().any(|cpu| system.platform.speeds[cpu] != Speed::UNIT) {
            let help =
                "leave the speeds out, and give the execution times on the CPUs of the machine";
            return cannot("may run on CPUs of another speed, and exec counts at speed 1", help);
        }
        let mut remarks = Vec::new();
        let suspended = steps.iter().map(|step| match step {
            Step::Suspend(time) => *time,
            Step::Run(_) | Step::Lock(_) | Step::Unlock(_) => Duration::ZERO,
        });
        let suspended: Duration = suspended.fold(Duration::ZERO, |sum, time| sum + time);
        let more = suspended + task.blocking_time;
        if more > Duration::ZERO {
            remarks.push(format!(
                "`{name}` waits for up to {more:#} within a job: this counts as execution"
            ));
        }
        if task.jitter > Duration::ZERO {
            remarks.push(format!(
                "`{name}` may wake up {:#} late: its period and deadline are as much shorter",
                task.jitter
            ));
        }
        if task.jitter >= task.period {
            let help = "jobs may come at once; a longer period with as much work has less jitter";
            return cannot("has a jitter of a period or more, which no reservation has", help);
        }
        if !task.preemption.is_anywhere() {
            remarks.push(format!("jobs of `{name}` are preempted anywhere by the kernel"));
        }
        Ok(Demand {
            runtime: task.reservation() + Service::from_ns(more.ns()),
            deadline: task.deadline.min(task.period) - task.jitter,
            period: task.period - task.jitter,
            remarks,
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{CpuId, GroupId, Preemption, Rate, ResourceId, TaskGroup};

    /// A system of one task of 4 ms every 10 ms, changed.
    fn demand(change: impl Fn(&mut Task, &mut System)) -> Result<Demand, (String, &'static str)> {
        let mut task = Task::implicit("a", Service::from_ms(4), Duration::from_ms(10));
        let mut system = System::new(2, Vec::new());
        change(&mut task, &mut system);
        Demand::of(&task, &system)
    }

    #[test]
    fn a_reservation_covers_all_that_a_task_does_or_is_refused() {
        let ms = Duration::from_ms;
        let steps = |steps: &[Step]| Some(steps.into());
        let (run, suspend) = (Step::Run(Service::from_ms(4)), Step::Suspend(ms(3)));
        let lock = [Step::Lock(ResourceId(0)), run, Step::Unlock(ResourceId(0))];
        let told = |found: Result<Demand, _>| {
            let Demand { runtime, deadline, period, remarks } = found.ok()?;
            Some((runtime.at_unit_speed(), deadline, period, remarks.len()))
        };
        let plain = (ms(4), ms(10), ms(10), 0);
        assert_eq!(told(demand(|_, _| {})), Some(plain));
        let found = demand(|task, _| task.jitter = ms(1));
        assert_eq!(told(found), Some((ms(4), ms(9), ms(9), 1)));
        let found = demand(|task, _| task.blocking_time = ms(2));
        assert_eq!(told(found), Some((ms(6), ms(10), ms(10), 1)));
        let found = demand(|task, _| task.steps = steps(&[run, suspend]));
        assert_eq!(told(found), Some((ms(7), ms(10), ms(10), 1)));
        let found = demand(|task, _| task.preemption = Preemption::Never);
        assert_eq!(told(found), Some((ms(4), ms(10), ms(10), 1)));
        for found in [
            demand(|task, _| task.jitter = ms(10)),
            demand(|task, _| task.follows = [TaskId(0)].into()),
            demand(|task, _| task.steps = steps(&lock)),
            demand(|task, system| {
                system.groups = vec![TaskGroup::new("g", ms(5), system.platform.all_cpus())];
                task.group = Some(GroupId(0));
            }),
            demand(|_, system| {
                let half = Speed::new(&Rate::new(1, 2)).expect("a speed");
                system.platform.speeds[CpuId(1)] = half;
            }),
        ] {
            assert_eq!(told(found), None);
        }
    }
}
