//! Which threads are tasks, if nobody says so.

use super::arrivals::Pattern;
use super::estimate::{Estimate, Sureness, Taking, Unfit, estimate};
use super::observation::{Class, Observation, Thread};

/// What the names of the kernel's own threads begin with, where those can be real-time.
const OF_KERNEL: [&str; 13] = [
    "migration/",
    "irq/",
    "ksoftirqd/",
    "ktimers/",
    "ktimersoftd/",
    "kworker/",
    "rcu",
    "cpuhp/",
    "idle_inject/",
    "watchdog/",
    "watchdogd",
    "sugov:",
    "posixcputmr/",
];

/// Which threads are wanted.
#[derive(Clone, Copy, Default)]
pub enum Wanted<'a> {
    /// Those that write marks; or else those of real-time classes, but for the kernel's own; or else those that look
    /// periodic.
    #[default]
    RealTime,
    /// Those for which this is true of name and thread id.
    Where(&'a dyn Fn(&str, Option<u32>) -> bool),
}

/// Which threads are tasks, and why others are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The tasks: by priority, then by period.
    pub tasks: Vec<Estimate>,
    /// Threads that were wanted, or could have been, and are no tasks.
    pub left_out: Vec<LeftOut>,
    /// How many others were not looked at, as they are not of a real-time class.
    pub others: usize,
    /// By what the threads were chosen.
    pub by: Choice,
}

/// By what threads were chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// They are the tasks of a trace of ours, or write marks.
    Marks,
    /// By their class.
    #[default]
    RealTime,
    /// No thread is of a real-time class, and they look periodic.
    Periodic,
    /// By the user.
    Asked,
}

/// A thread that is no task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its place among the threads of the observation.
    pub thread: usize,
    /// Why.
    pub why: WhyNot,
}

impl LeftOut {
    /// Whether it belongs to the kernel.
    pub fn is_of_kernel(&self) -> bool {
        matches!(self.why, WhyNot::OfKernel)
    }
}

/// Why a thread is no task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    /// It does not tell enough.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// It belongs to the kernel.
    #[error("a thread of the kernel")]
    OfKernel,
    /// It writes no marks, and others do.
    #[error("others write marks, and it does not")]
    Unmarked,
}

/// Chooses the tasks.
pub fn choose(seen: &Observation, wanted: Wanted<'_>, taking: &Taking) -> Chosen {
    let mut chosen = Chosen::default();
    let is_real_time =
        |thread: &Thread| matches!(thread.class(), Class::Deadline | Class::RealTime { .. });
    let ran = |thread: &&(usize, &Thread)| !thread.1.cpus.is_empty() || !thread.1.jobs.is_empty();
    let threads: Vec<(usize, &Thread)> = seen.threads.iter().enumerate().collect();
    let mut all = threads.iter().filter(ran).copied();
    match wanted {
        Wanted::Where(is_wanted) => {
            chosen.by = Choice::Asked;
            for (place, thread) in all {
                if is_wanted(&thread.name, thread.pid) {
                    chosen.add(seen, place, taking);
                } else {
                    chosen.others += 1;
                }
            }
        }
        Wanted::RealTime if all.clone().any(|(_, thread)| thread.is_marked) => {
            chosen.by = Choice::Marks;
            for (place, thread) in all {
                if thread.is_marked {
                    chosen.add(seen, place, taking);
                } else if is_real_time(thread) && !is_of_kernel(&thread.name) {
                    chosen.left_out.push(LeftOut { thread: place, why: WhyNot::Unmarked });
                } else {
                    chosen.others += 1;
                }
            }
        }
        Wanted::RealTime => {
            chosen.by = Choice::RealTime;
            for (place, thread) in all.by_ref() {
                if !is_real_time(thread) {
                    chosen.others += 1;
                } else if is_of_kernel(&thread.name) {
                    chosen.left_out.push(LeftOut { thread: place, why: WhyNot::OfKernel });
                } else {
                    chosen.add(seen, place, taking);
                }
            }
            if chosen.tasks.is_empty() {
                chosen.periodic(seen, taking);
            }
        }
    }
    let priority = |estimate: &Estimate| seen.threads[estimate.thread].priority();
    chosen.tasks.sort_by_key(|task| (priority(task).unwrap_or(i32::MAX), task.period, task.thread));
    chosen
}

impl Chosen {
    fn add(&mut self, seen: &Observation, thread: usize, taking: &Taking) {
        match estimate(seen, thread, taking) {
            Ok(task) => self.tasks.push(task),
            Err(unfit) => self.left_out.push(LeftOut { thread, why: unfit.into() }),
        }
    }

    /// No thread is of a real-time class: those that look periodic.
    fn periodic(&mut self, seen: &Observation, taking: &Taking) {
        let looks = |task: &Estimate| {
            matches!(task.arrivals.pattern, Pattern::Periodic { .. })
                && task.sureness > Sureness::Guess
        };
        for place in 0..seen.threads.len() {
            let thread = &seen.threads[place];
            if is_of_kernel(&thread.name) {
                continue;
            }
            if let Ok(task) = estimate(seen, place, taking)
                && looks(&task)
            {
                self.others -= 1;
                self.tasks.push(task);
            }
        }
        if !self.tasks.is_empty() {
            self.by = Choice::Periodic;
        }
    }
}

fn is_of_kernel(name: &str) -> bool {
    OF_KERNEL.iter().any(|&of_kernel| name.starts_with(of_kernel))
}
