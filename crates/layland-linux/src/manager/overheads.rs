//! The overheads of the machine and the engine: distributions that the manager fills while it runs.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// The longest time that can be represented: ten minutes.
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
    /// Adds the values of another distribution.
    pub fn add(&mut self, other: &Distribution) {
        self.0.add(&other.0).expect("all distributions have the same bounds");
    }
    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.0.len()
    }
    /// Returns the value that this fraction of the values does not exceed, to 1 %.
    pub fn quantile(&self, fraction: f64) -> i64 {
        self.0.value_at_quantile(fraction) as i64
    }
    /// Returns the largest value, to 1 %.
    pub fn max(&self) -> i64 {
        self.0.max() as i64
    }
    /// Returns its figures; `None` if it is empty.
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
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "figures")]
pub struct Figures {
    /// The number of values.
    pub count: u64,
    /// The smallest.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// 99 of 100 values are not above this one.
    pub p99_ns: u64,
    /// 999 of 1000 values are not above this one.
    pub p999_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// The mean.
    pub mean_ns: f64,
}

macro_rules! measured {
    ($($(#[doc = $doc:literal])+ $field:ident: $name:literal,)+) => {
        /// The overheads that a run measured itself.
        #[derive(Clone, Debug, Default)]
        pub struct Measured {
            $($(#[doc = $doc])+ pub $field: Distribution,)+
            /// The number of times that a thread was given a CPU.
            pub dispatches: u64,
            /// The number of times that an unfinished thread had to leave its CPU.
            pub demotions: u64,
            /// The number of times that a demoted thread was parked, because its CPU was to idle.
            pub parks: u64,
            /// The number of times that a thread could not be parked, because the kernel's signal
            /// queue was full.
            pub not_parked: u64,
            /// The number of dispatches on another CPU than that of the thread's last execution.
            pub migrations: u64,
            /// The number of jobs that ended while they were being preempted.
            pub held: u64,
            /// The processor time of demoted threads between a completion and the decision after
            /// it.
            pub leaked_ns: i64,
            /// The total execution times of completed jobs, and their total demands.
            pub got_ns: i64,
            /// See `got_ns`.
            pub asked_ns: i64,
        }

        impl Measured {
            /// Adds what another part of the same run measured.
            pub fn add(&mut self, other: &Measured) {
                $(self.$field.add(&other.$field);)+
                self.dispatches += other.dispatches;
                self.demotions += other.demotions;
                self.parks += other.parks;
                self.not_parked += other.not_parked;
                self.migrations += other.migrations;
                self.held += other.held;
                self.leaked_ns += other.leaked_ns;
                self.got_ns += other.got_ns;
                self.asked_ns += other.asked_ns;
            }

            /// Returns the distributions by name, except those without values.
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
    /// The time from the expiry of the timer of a release to the manager's clock.
    release: "release latency",
    /// The time from the expiry of a policy's timer to the manager's clock.
    timer: "timer latency",
    /// The time from the end of a job to the manager's clock.
    completion: "completion latency",
    /// The time from the exhaustion of a budget to the manager's clock.
    budget: "budget detection",
    /// The time of the policy's `on_event` and `decide` for one decision.
    decision: "decision",
    /// The part of these decisions in which a job is released.
    release_decision: "decision at a release",
    /// The other decisions.
    other_decision: "other decision",
    /// The first half of a decision at which a job is released: the events, and the
    /// [update](layland_policy::Policy::update) of the policy's state.
    release_update: "update at a release",
    /// The first half of the other decisions.
    other_update: "other update",
    /// The second half of all decisions: the selection of jobs.
    selection: "selection",
    /// The time of demoting, migrating and promoting the threads that a decision changed, if there
    /// were any.
    enact: "enactment",
    /// The time of one invocation of the manager: from its wake-up to its next sleep.
    invocation: "manager invocation",
    /// The time that the thread of a task works at its release or at the end of its job, if threads do
    /// that themselves: until it has the lock of the manager, and until it has given it back.
    step: "release or end by the thread",
    /// The time until such a thread, or the dispatcher of a CPU, has the lock.
    lock: "wait for the lock",
    /// The time from the expiry of a release's timer to the first instruction of its job, if the
    /// decision for that release ran the job.
    dispatch: "dispatch latency",
    /// The time from the decision to the first instruction, for a thread that stays on its CPU.
    switch: "switch",
    /// The same time for a thread that comes from another CPU.
    migration: "migration",
    /// The time from the wake-up of a thread to its first instruction, if it takes a CPU at once;
    /// by the kernel's clock.
    wake_to_run: "wake-up to running",
    /// The time from the end of a job to the first instruction of the next job on its CPU, which
    /// waited; by the kernel's clock, if the kernel carries the threads.
    end_to_next: "end to next job",
    /// The time for which a CPU was busy without a break.
    busy: "busy period",
}
