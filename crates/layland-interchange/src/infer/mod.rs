//! A task set from a trace of threads about which nothing else is known.
//!
//! ```text
//!   kernel::observe(text) --+
//!                           +--> Observation --choose--> Estimate of each task --+--> System
//!   of_trace(trace) --------+                 `--chains--> who wakes whom -------+--> Words
//! ```
//!
//! A job is what a thread does between a wake-up and its next sleep; what that is worth is told in
//! [`kernel`](crate::kernel). Of its jobs are inferred:
//!
//! | what | how |
//! |---|---|
//! | period | a line through the arrivals, also if some are missing or late; or else the least gap between two |
//! | jitter | how much the delays of the arrivals since that line differ |
//! | offset | the line, which no arrival is before |
//! | WCET | the time on CPUs between wake-up and sleep, of any quantile of the jobs, and a margin |
//! | steps | suspensions within jobs (state `D`), if every job has as many; otherwise they count as execution |
//! | affinity | the only CPU that a thread was seen on, if it waited for it while another one was free |
//! | priority | the most frequent one |
//! | deadline | what marks or a trace of ours tell; a kernel trace tells none |
//!
//! All of it is what was seen. A longer trace may show longer jobs, and no trace shows the longest. How sure an
//! estimate is [is told](Sureness) by the number of jobs and by the share of gaps that fit.
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
//! assert_eq!(task.to_string(), "control=1.204ms/10ms");
//! assert_eq!(task.priority, Some(39));
//! ```

mod arrivals;
mod chains;
mod choose;
mod estimate;
mod line;
mod nominal;
mod observation;
mod task;
#[cfg(test)]
mod tests;
mod words;

pub use arrivals::{Arrivals, Pattern, arrivals, steady};
pub use chains::{Chain, chains};
pub use choose::{Choice, Chosen, LeftOut, Wanted, WhyNot, choose};
pub use estimate::{
    Affinity, EVERY, Estimate, Execution, StartUp, Sureness, Suspensions, Taking, Unfit, estimate,
};
pub use nominal::{Nominal, nominal};
pub use observation::{Class, Observation, SeenJob, Stretch, Thread, Waker, of_trace};
pub use words::{TaskWords, Words};

use layland_model::{InLevel, System};

/// What was made of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The task set; its tasks are those that were chosen, in their order.
    pub system: System,
    /// Which threads they are, and which others are none.
    pub chosen: Chosen,
    /// Who wakes whom.
    pub chains: Vec<Chain>,
    /// Where what comes from, and how sure it is, in words.
    pub words: Words,
}

/// Makes a task set of an observation.
pub fn infer(seen: &Observation, wanted: Wanted<'_>, taking: &Taking) -> Inferred {
    let chosen = choose(seen, wanted, taking);
    let threads: Vec<usize> = chosen.tasks.iter().map(|task| task.thread).collect();
    let chains = chains(seen, &threads);
    let mut system = System::new(seen.cpus.max(1), task::tasks(seen, &chosen));
    // Equal threads of SCHED_FIFO queue; ranks are positions in a file, and the kernel knows none.
    let is_shared = !system.shared_levels(system.tasks.ids()).is_empty();
    system.in_level = is_shared.then_some(InLevel::Fifo);
    let words = words::words(seen, &chosen, &chains, &system, taking);
    Inferred { system, chosen, chains, words }
}
