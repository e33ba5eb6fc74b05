//! Infers a task set from a trace of threads about which nothing else is known.
//!
//! ```text
//!   kernel::observe(text) --+
//!                           +--> Observation --choose--> Estimate of each task --+--> System
//!   of_trace(trace) --------+                 `--chains--> who wakes whom -------+--> Words
//! ```
//!
//! A job is the execution of a thread from a wake-up to its next sleep; [`kernel`](crate::kernel)
//! describes the limits of this rule. From the jobs the following is inferred:
//!
//! | what | how |
//! |---|---|
//! | period | a line through the arrivals, also if some are missing or late; or else the least gap between two; for bursts near the mean gap |
//! | jitter | how much the delays of the arrivals since that line differ, and what the machine takes to begin a job; a little of it makes the period shorter instead; for bursts by how much they get ahead of the period |
//! | offset | the line, which no arrival is before |
//! | WCET | the time on CPUs between wake-up and sleep, and what waits nothing as important explains, of any quantile of the jobs, and a margin |
//! | steps | suspensions within jobs (state `D`), if every job has as many; otherwise they count as execution |
//! | affinity | the only CPU that a thread was seen on, if it waited for it while another one was free |
//! | priority | the most frequent one |
//! | deadline | what marks or a trace of ours tell; a kernel trace tells none, and then it is the end of the period, for bursts twice the jitter later |
//!
//! All values are those that were observed. A longer trace may show longer jobs, and no trace shows
//! the longest one. The number of jobs and the share of gaps that fit give the
//! [reliability](Sureness) of an estimate.
//!
//! ```
//! use layland_interchange::infer::{Observation, SeenJob, Taking, Thread, Wanted, infer};
//! use layland_model::{Duration, Service, Time};
//! // A timer of 10 ms on a clock that is a little fast.
//! let job = |k: i64| SeenJob {
//!     arrival: Time::from_ns(3_000_000 + k * 9_999_300),
//!     delay: Duration::ZERO,
//!     end: Some(Time::from_ns(4_500_000 + k * 9_999_300)),
//!     executed: Service::from_us(1_200 + k % 5),
//!     lost: Duration::ZERO,
//!     stretches: Vec::new(),
//!     deadline: None,
//!     woken_by: None,
//! };
//! let control = Thread {
//!     name: "control".to_owned(),
//!     priorities: vec![(39, 400)],
//!     jobs: (0..200).map(job).collect(),
//!     ..Thread::default()
//! };
//! let seen = Observation { threads: vec![control], cpus: 2, ..Observation::default() };
//! let inferred = infer(&seen, Wanted::RealTime, &Taking::default());
//! let task = &inferred.system.tasks.values().next().unwrap();
//! assert_eq!(task.to_string(), "control=1.204ms/9.999ms");
//! assert_eq!(task.priority, Some(39));
//! ```

mod arrivals;
mod bursts;
mod chains;
mod choose;
mod estimate;
mod held;
mod line;
mod nominal;
mod observation;
mod sureness;
mod task;
#[cfg(test)]
mod tests;
mod words;

pub use arrivals::{Arrivals, Pattern, arrivals, steady};
pub use chains::{Chain, chains};
pub use choose::{Choice, Chosen, LeftOut, Wanted, WhyNot, choose};
pub use estimate::{
    Affinity, EVERY, Estimate, Execution, More, StartUp, Suspensions, Taking, Unfit, estimate,
};
pub use held::infer_held;
pub use nominal::{Nominal, nominal};
pub use observation::{
    Class, Observation, Partial, Reserved, SeenJob, Stretch, Taken, Thread, Waker, of_trace,
};
pub use sureness::Sureness;
pub use words::{TaskWords, Words};

use layland_model::{Duration, InLevel, Observed, System};

/// The result of an inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The task set; its tasks are those that were chosen, in the same order.
    pub system: System,
    /// The threads of the tasks, and the threads that do not become tasks.
    pub chosen: Chosen,
    /// The pairs of tasks in which one wakes the other.
    pub chains: Vec<Chain>,
    /// The origin and the reliability of each value, in words.
    pub words: Words,
    /// The longest response of each task in the trace, including jobs that are not over. Jobs in which a thread is born
    /// or dies count only where the estimates take them.
    pub responses: Vec<Duration>,
    /// The policies by which the kernel schedules such threads; empty if the classes are not known.
    pub policies: Vec<&'static str>,
}

/// Infers a task set from an observation.
pub fn infer(seen: &Observation, wanted: Wanted<'_>, taking: &Taking) -> Inferred {
    let chosen = choose(seen, wanted, taking);
    let threads: Vec<usize> = chosen.tasks.iter().map(|task| task.thread).collect();
    let chains = chains(seen, &threads);
    let mut tasks = task::tasks(seen, &chosen);
    let cpus = if taking.more.used { task::on_used(seen, &chosen, &mut tasks) } else { seen.cpus };
    let mut system = System::new(cpus.max(1), tasks);
    system.observed =
        Some(Observed { length: Some(rounded(seen.length)), unexplained: Vec::new() });
    // Equal threads of SCHED_FIFO queue; ranks are positions in a file, which the kernel does not
    // have. Threads of SCHED_DEADLINE share one priority, and are ordered by their deadlines.
    let is_shared = !system.shared_levels(system.tasks.ids()).is_empty();
    let by_deadline = |task: &&Estimate| task.priority.is_some_and(|priority| priority < 0);
    let in_level = match chosen.tasks.iter().filter(by_deadline).count() {
        0 | 1 => InLevel::Fifo,
        _ => InLevel::Any,
    };
    system.in_level = is_shared.then_some(in_level);
    let words = words::words(seen, &chosen, &chains, &system, taking);
    let responses = held::responses(seen, &chosen, taking.more);
    let policies = held::policies(seen, &chosen, &system);
    Inferred { system, chosen, chains, words, responses, policies }
}

/// Rounds to whole milliseconds, if the length is at least one.
fn rounded(length: Duration) -> Duration {
    let ms = Duration::from_ms(1).ns();
    if length.ns() < 10 * ms { length } else { Duration::from_ns(length.ns() / ms * ms) }
}
