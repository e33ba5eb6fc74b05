//! Chooses the threads that become tasks, if the caller does not name them.

use super::arrivals::Pattern;
use super::estimate::{Estimate, Taking, Unfit, estimate, guess};
use super::observation::{Class, Observation, Thread, is_of_kernel};
use super::sureness::Sureness;
use layland_model::Duration;

/// A selection of threads.
#[derive(Clone, Copy, Default)]
pub enum Wanted<'a> {
    /// Threads that write marks. If there are none, those of real-time classes except the kernel's
    /// own. If there are none of these, those that look periodic.
    #[default]
    RealTime,
    /// Threads for which the function returns true, given name and thread id.
    Where(&'a dyn Fn(&str, Option<u32>) -> bool),
}

/// The threads that become tasks, and why others do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The tasks, sorted by priority, then by period; those of a trace of ours in its order.
    pub tasks: Vec<Estimate>,
    /// Threads that were selected, or could have been, and do not become tasks.
    pub left_out: Vec<LeftOut>,
    /// The number of all other threads.
    pub others: usize,
    /// The criterion by which the threads were chosen.
    pub by: Choice,
}

/// A criterion by which threads are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The threads are the tasks of one of our own traces, or write marks.
    Marks,
    /// The threads belong to a real-time class.
    #[default]
    RealTime,
    /// No thread belongs to a real-time class, and these look periodic.
    Periodic,
    /// The user chose the threads.
    Asked,
}

/// A thread that does not become a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its index among the threads of the observation.
    pub thread: usize,
    /// The reason.
    pub why: WhyNot,
}

impl LeftOut {
    /// Returns true if the thread belongs to the kernel.
    pub fn is_of_kernel(&self) -> bool {
        matches!(self.why, WhyNot::OfKernel)
    }
}

/// The reason why a thread does not become a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    /// The trace does not have enough of its jobs.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// It belongs to the kernel.
    #[error("a thread of the kernel")]
    OfKernel,
    /// It was born and died within a small part of the trace, as a command of a shell does.
    #[error("lived for {_0:#} only; name it with --thread if it is a task")]
    Transient(Duration),
    /// It writes no marks, whereas other threads do.
    #[error("others write marks, and it does not")]
    Unmarked,
}

/// Chooses the threads that become tasks.
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
                } else if let Some(life) = thread.life().filter(|life| is_transient(*life, seen)) {
                    chosen.left_out.push(LeftOut { thread: place, why: WhyNot::Transient(life) });
                } else {
                    chosen.add(seen, place, taking);
                }
            }
            if chosen.tasks.is_empty() {
                chosen.periodic(seen, taking);
            }
        }
    }
    if chosen.by == Choice::RealTime {
        chosen.strangers(seen, taking);
    }
    // A trace of ours has the order of its set, which breaks ties, and is checked against this set.
    if seen.dialect.is_some() || !seen.is_run {
        let key = |task: &Estimate| (task.priority.unwrap_or(i32::MAX), task.period, task.thread);
        chosen.tasks.sort_by_key(key);
    } else {
        chosen.tasks.sort_by_key(|task| task.thread);
    }
    chosen
}

/// Returns true if a whole life is less than a tenth of the trace. Such a thread does not recur, so that no task
/// describes it. Where tasks cannot be explained without it, it becomes one nevertheless, as a stranger.
fn is_transient(life: Duration, seen: &Observation) -> bool {
    life.ns() < seen.length.ns() / 10
}

/// A real-time thread that held a CPU this long while a task waited for it becomes a task, too.
const WORTH_A_TASK: Duration = Duration::from_us(50);

impl Chosen {
    fn add(&mut self, seen: &Observation, thread: usize, taking: &Taking) {
        match estimate(seen, thread, taking) {
            Ok(task) => self.tasks.push(task),
            Err(unfit) => self.left_out.push(LeftOut { thread, why: unfit.into() }),
        }
    }

    /// Adds the threads of real-time classes that held CPUs while tasks waited: interrupt threads,
    /// other kernel threads, and threads with few jobs.
    fn strangers(&mut self, seen: &Observation, taking: &Taking) {
        loop {
            let is_task = |place: usize| self.tasks.iter().any(|task| task.thread == place);
            let next = seen.taken.iter().filter(|taken| {
                // One that lives for a moment may have delayed the start of a program, and nothing else.
                let is_passing =
                    || seen.threads[taken.by].life().is_some_and(|life| is_transient(life, seen));
                let is_long = taken.longest >= WORTH_A_TASK && !is_passing();
                let is_long = is_long || taking.more.strangers;
                let usual = seen.threads[taken.by].priority();
                let is_real_time = usual.is_some_and(|priority| priority < 100);
                is_task(taken.from) && !is_task(taken.by) && is_long && is_real_time
            });
            let found = next.filter_map(|taken| {
                let found = estimate(seen, taken.by, taking);
                found.or_else(|_| guess(seen, taken.by, taking)).ok()
            });
            let mut found = found;
            let Some(found) = found.next() else { return };
            let count = self.left_out.len();
            self.left_out.retain(|left_out| left_out.thread != found.thread);
            if self.left_out.len() == count {
                self.others = self.others.saturating_sub(1);
            }
            self.tasks.push(found);
        }
    }

    /// Chooses the threads that look periodic, if no thread belongs to a real-time class.
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
