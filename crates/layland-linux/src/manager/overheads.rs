//! What the machine and the engine spend: distributions that the manager fills while it runs.

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest time that is told apart: ten minutes.
const LONGEST_NS: u64 = 600_000_000_000;

/// A distribution of times. Recording never allocates.
#[derive(Clone, Debug)]
pub struct Distribution(Histogram<u64>);

impl Default for Distribution {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 2);
        Self(histogram.expect("the bounds of the histogram are constants that are valid"))
    }
}

impl Distribution {
    /// Adds a time in nanoseconds; a negative one counts as zero.
    #[inline]
    pub fn record(&mut self, ns: i64) {
        self.0.saturating_record(ns.max(0) as u64);
    }
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }
    /// The value that this fraction does not exceed, to 1 %.
    pub fn quantile(&self, fraction: f64) -> i64 {
        self.0.value_at_quantile(fraction) as i64
    }
    /// The largest, to 1 %.
    pub fn max(&self) -> i64 {
        self.0.max() as i64
    }
    /// Its figures; none if it is empty.
    pub fn figures(&self) -> Option<Figures> {
        (self.count() > 0).then(|| Figures {
            count: self.count(),
            min_ns: self.0.min(),
            p50_ns: self.0.value_at_quantile(0.5),
            p99_ns: self.0.value_at_quantile(0.99),
            p999_ns: self.0.value_at_quantile(0.999),
            max_ns: self.0.max(),
            mean_ns: self.0.mean(),
        })
    }
}

/// The figures of a distribution, in nanoseconds, to 1 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// How many values.
    pub count: u64,
    /// The smallest.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// 99 of 100 are not above.
    pub p99_ns: u64,
    /// 999 of 1000 are not above.
    pub p999_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// The mean.
    pub mean_ns: f64,
}

macro_rules! measured {
    ($($(#[doc = $doc:literal])+ $field:ident: $name:literal,)+) => {
        /// What a run measured of itself.
        #[derive(Clone, Debug, Default)]
        pub struct Measured {
            $($(#[doc = $doc])+ pub $field: Distribution,)+
            /// Times that a thread was given a CPU.
            pub dispatches: u64,
            /// Times that a thread that was not finished had to leave its CPU.
            pub demotions: u64,
            /// Times that a demoted thread was parked, because its CPU was to idle.
            pub parks: u64,
            /// Times that one could not be parked, because the kernel had no room for the signal.
            pub not_parked: u64,
            /// Dispatches on another CPU than the thread ran on last.
            pub migrations: u64,
            /// Jobs that ended while they were being preempted.
            pub held: u64,
            /// Processor time that demoted threads got between a completion and the decision after it.
            pub leaked_ns: i64,
            /// What completed jobs got in all, and what they asked for.
            pub got_ns: i64,
            /// See `got_ns`.
            pub asked_ns: i64,
        }

        impl Measured {
            /// The distributions by name, those without a value left out.
            pub fn figures(&self) -> Vec<(&'static str, Figures)> {
                let all = [$(($name, &self.$field),)+];
                all.into_iter()
                    .filter_map(|(name, distribution)| Some((name, distribution.figures()?)))
                    .collect()
            }
        }
    };
}

measured! {
    /// From the expiry of the timer of a release to the manager's clock.
    release: "release latency",
    /// From the time of a policy's timer to the manager's clock.
    timer: "timer latency",
    /// From the end of a job to the manager's clock.
    completion: "completion latency",
    /// From the time at which a budget was used up to the manager's clock.
    budget: "budget detection",
    /// The policy's `on_event` and `decide` of one decision.
    decision: "decision",
    /// Of these, where a job is released.
    release_decision: "decision at a release",
    /// The others.
    other_decision: "other decision",
    /// Demoting, migrating and promoting what one decision changed, if it changed anything.
    enact: "enactment",
    /// One invocation of the manager: from its wake-up to its next sleep.
    invocation: "manager invocation",
    /// From the expiry of a release's timer to the first instruction of its job, where that job was
    /// run by the decision that its release led to.
    dispatch: "dispatch latency",
    /// From the decision to the first instruction, for a thread that stays on its CPU.
    switch: "switch",
    /// The same for a thread that comes from another CPU.
    migration: "migration",
    /// From the wake-up of a thread to its first instruction, where it takes a CPU at once; by the kernel's clock.
    wake_to_run: "wake-up to running",
    /// From the end of a job to the first instruction of the next on its CPU, which waited; by the kernel's clock, if
    /// that carries the threads.
    end_to_next: "end to next job",
    /// How long a CPU was busy without a break.
    busy: "busy period",
}
