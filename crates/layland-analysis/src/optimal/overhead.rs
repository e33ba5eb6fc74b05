//! Overheads of RUN and QPS as part of the WCETs (Compagnin, Mezzetti, Vardanega 2015, Section V-B).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `REL` | [`Costs::release`] | handling a release |
//! | `SCHED` | [`Costs::scheduling`] | the dispatcher |
//! | `CSW` | [`Costs::context_switch`] | a context switch |
//! | `LAT` | [`Costs::interrupt`] | latency of interrupts, also from other CPUs |
//! | `CLK` | [`Costs::tick`] | a tick |
//! | `TUP` (`UPT` in the formula) | [`Costs::tree_update`] | an update of the reduction tree |
//! | `PRE`, `MIG` | [`Costs::preemption`], [`Costs::migration`] | loss of cache contents |
//!
//! ```text
//! SCHED^ = SCHED + CSW + LAT
//! OH_RUN = REL + SCHED^ + CLK + k_RUN (TUP + SCHED^ + max(PRE, MIG))     k_RUN = ceil((3p + 1) / 2)
//! OH_QPS = REL + SCHED^ + CLK + k_QPS (SCHED^ + max(PRE, MIG))           k_QPS = ceil(m / 2)
//! C'     = C + max(OH_RUN, OH_QPS)
//! ```
//!
//! with `p` reductions and `m` CPUs; both policies are charged the larger one, for a fair
//! comparison. Larger WCETs may require another tree with a larger `p`, so [`inflate`] repeats
//! until `p` is stable.
//!
//! # Limits of these numbers
//!
//! **They are not a guarantee**, so no test uses them:
//!
//! - `k_RUN` is proven for the *average* over the jobs of a subsystem; a single job may be preempted more
//!   often. On 2014 random sets at full load the average stayed below it: at most 0.92 of 1 (`p = 0`),
//!   1.65 of 2 (`p = 1`), 2.21 of 4 (`p = 2`) and 2.01 of 5 (`p = 3`).
//! - `k_QPS` is a rule of thumb. The count per level from which it is derived,
//!   [`qps_preemptions_at`], was exceeded, on average over all jobs, by 90 of 600 random sets at
//!   full load with `master=edf` (by up to 44 %), and by 3 with `master=stay` (by up to 29 %). With
//!   16 CPUs some sets have 12.2 preemptions per job with `edf`, and at most 7.5 with `stay`, where
//!   `k_QPS = 8`.
//!
//! Users who need numbers that hold should count preemptions in a simulation.

use crate::{Assumption, Refusal};
use layland_model::{Duration, Overheads, Rate, Service, System, SystemPart, TIME_LIMIT};
pub use layland_offline::Heuristic;
use layland_offline::{RateGrid, ReductionRules, reduce};

/// The maximum measured value of each overhead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// `REL`.
    pub release: Duration,
    /// `SCHED`.
    pub scheduling: Duration,
    /// `CSW`.
    pub context_switch: Duration,
    /// `LAT`.
    pub interrupt: Duration,
    /// `CLK`.
    pub tick: Duration,
    /// `TUP`.
    pub tree_update: Duration,
    /// `PRE`.
    pub preemption: Duration,
    /// `MIG`.
    pub migration: Duration,
}

impl From<&Overheads> for Costs {
    /// Returns the overheads of a platform, in which updates of the tree and preemptions without a
    /// migration cost nothing.
    fn from(overheads: &Overheads) -> Costs {
        Costs {
            release: overheads.release,
            scheduling: overheads.scheduling,
            context_switch: overheads.context_switch,
            interrupt: overheads.interrupt,
            tick: overheads.tick,
            tree_update: Duration::ZERO,
            preemption: Duration::ZERO,
            migration: overheads.migration,
        }
    }
}

impl Costs {
    /// `SCHED^`.
    fn dispatch(&self) -> Duration {
        self.scheduling + self.context_switch + self.interrupt
    }

    fn once(&self) -> Duration {
        self.release + self.dispatch() + self.tick
    }

    /// `max(OH_RUN, OH_QPS)` term by term, for `k_RUN` and `k_QPS` preemptions per job; zero terms
    /// are left out.
    pub fn terms(&self, [k_run, k_qps]: [u64; 2]) -> Vec<(&'static str, Duration)> {
        let (run, qps) = (self.of_run(k_run), self.of_qps(k_qps));
        let preemptions = if run >= qps {
            ("k_RUN preemptions", run - self.once())
        } else {
            ("k_QPS preemptions", qps - self.once())
        };
        let terms = [
            ("release", self.release),
            ("scheduling", self.scheduling),
            ("context switch", self.context_switch),
            ("interrupt", self.interrupt),
            ("tick", self.tick),
            preemptions,
        ];
        terms.into_iter().filter(|&(_, length)| length > Duration::ZERO).collect()
    }

    /// `OH_RUN`, for `k` preemptions per job.
    ///
    /// ```
    /// use layland_analysis::optimal::overhead::{Costs, run_preemptions};
    /// use layland_model::Duration;
    /// let us = Duration::from_us;
    /// let costs = Costs { scheduling: us(3), context_switch: us(2), tree_update: us(1), ..Costs::default() };
    /// // One dispatch, and for two reductions four times an update and a dispatch.
    /// assert_eq!(costs.of_run(run_preemptions(2)), us(5 + 4 * (1 + 5)));
    /// ```
    pub fn of_run(&self, k: u64) -> Duration {
        let each = self.tree_update + self.dispatch() + self.preemption.max(self.migration);
        self.once() + each * k as i64
    }

    /// `OH_QPS`, for `k` preemptions per job.
    pub fn of_qps(&self, k: u64) -> Duration {
        self.once() + (self.dispatch() + self.preemption.max(self.migration)) * k as i64
    }
}

/// `k_RUN = ceil((3p + 1) / 2)` for `p` reductions: a bound on the average per job of a subsystem.
pub fn run_preemptions(reductions: usize) -> u64 {
    (3 * reductions as u64 + 1).div_ceil(2)
}

/// `k_QPS = ceil(m / 2)` on `m` CPUs. This is not a bound.
pub fn qps_preemptions(cpus: usize) -> u64 {
    (cpus as u64).div_ceil(2)
}

/// `k - l` for a task of level `l`, counted from 0 at the bottom, of a hierarchy of `k` levels.
/// This is not a bound.
pub fn qps_preemptions_at(levels: usize, level: usize) -> u64 {
    levels.saturating_sub(level) as u64
}

/// A system with larger WCETs, and the origin of the added amounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inflated {
    /// The system, without overheads.
    pub system: System,
    /// The amount added to every WCET.
    pub added: Duration,
    /// Its terms by name; zero terms are left out.
    pub terms: Vec<(&'static str, Duration)>,
    /// `k_RUN` and `k_QPS`.
    pub preemptions: [u64; 2],
    /// The number of trees that were built.
    pub rounds: usize,
}

/// The number of trees after which the largest `k_RUN` so far is taken.
const ROUNDS: usize = 10;

/// Returns the system without overheads, with WCETs increased by `max(OH_RUN, OH_QPS)`.
///
/// ```
/// use layland_analysis::optimal::overhead::{Costs, inflate};
/// use layland_model::{Duration, Service, System, Task};
/// use layland_offline::Heuristic;
/// let task = |name| Task::implicit(name, Service::from_ms(6), Duration::from_ms(10));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// let costs = Costs { scheduling: Duration::from_us(10), ..Costs::default() };
/// let inflated = inflate(&system, &costs, Heuristic::Ffd).unwrap();
/// // One reduction: two preemptions of a job, and one with QPS.
/// assert_eq!((inflated.preemptions, inflated.added), ([2, 1], Duration::from_us(30)));
/// ```
///
/// # Errors
/// Returns a refusal if the larger WCETs no longer fit.
pub fn inflate(system: &System, costs: &Costs, fit: Heuristic) -> Result<Inflated, Refusal> {
    let refuse =
        |message: String| refused(message, "lower the overheads or the rates of the tasks");
    let cpus = system.platform.cpu_count();
    let mut plain = system.clone();
    plain.platform.overheads = Overheads::default();
    let mut preemptions = [run_preemptions(0), qps_preemptions(cpus)];
    let mut rounds = 0;
    loop {
        rounds += 1;
        let added = costs.of_run(preemptions[0]).max(costs.of_qps(preemptions[1]));
        let mut larger = plain.clone();
        for task in larger.tasks.values_mut() {
            let level = task.criticality.level().min(task.wcet.len() - 1);
            let wcet = Service::from_ns(task.own_wcet().ns().saturating_add(added.ns()));
            if wcet.ns() > TIME_LIMIT || wcet.ns() > task.period.ns() {
                return Err(refuse(format!("task `{}` needs too long with them", task.name)));
            }
            task.wcet[level..].fill(wcet);
        }
        let k = preemptions_by_tree(&larger, fit).ok_or_else(|| {
            refuse("with them the CPUs cannot do all that there is to do".to_owned())
        })?;
        if k <= preemptions[0] || rounds == ROUNDS {
            let terms = costs.terms(preemptions);
            return Ok(Inflated { system: larger, added, terms, preemptions, rounds });
        }
        preemptions[0] = k;
    }
}

fn refused(message: String, help: &'static str) -> Refusal {
    Refusal { assumption: Assumption::NoOverheads, part: SystemPart::Overheads, message, help }
}

/// Returns `k_RUN` of the tree that RUN builds for a system; none if it cannot schedule the system.
fn preemptions_by_tree(system: &System, fit: Heuristic) -> Option<u64> {
    let grid = RateGrid::of(system)?;
    let rates: Vec<Rate> = system.by_rank().into_iter().map(|task| grid.rate(task)).collect();
    let tree = reduce(&rates, system.platform.cpu_count(), &ReductionRules::fit(fit)).ok()?;
    Some(run_preemptions(tree.reductions()))
}

/// The part of every WCET of a system that is room for overheads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// `max(OH_RUN, OH_QPS)`.
    pub added: Duration,
    /// Its terms by name; zero terms are left out.
    pub terms: Vec<(&'static str, Duration)>,
    /// `k_RUN` and `k_QPS`.
    pub preemptions: [u64; 2],
}

/// Returns the room for overheads in the WCETs of a system that was [inflated](inflate) already: its
/// tree is the one that RUN builds, so that nothing has to be repeated.
///
/// ```
/// use layland_analysis::optimal::overhead::{Costs, room};
/// use layland_model::{Duration, Service, System, Task};
/// use layland_offline::Heuristic;
/// let task = |name| Task::implicit(name, Service::from_ms(6), Duration::from_ms(10));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// let costs = Costs { scheduling: Duration::from_us(10), ..Costs::default() };
/// // One reduction: k_RUN = 2 and k_QPS = 1.
/// assert_eq!(room(&system, &costs, Heuristic::Ffd).unwrap().added, Duration::from_us(30));
/// ```
///
/// # Errors
/// Returns a refusal if RUN cannot schedule the system, or a WCET is no longer than the overheads.
pub fn room(system: &System, costs: &Costs, fit: Heuristic) -> Result<Room, Refusal> {
    let refuse =
        |message: String| refused(message, "lower the overheads or raise the WCETs of the tasks");
    let k = preemptions_by_tree(system, fit)
        .ok_or_else(|| refuse("the CPUs cannot do all that there is to do".to_owned()))?;
    let preemptions = [k, qps_preemptions(system.platform.cpu_count())];
    let added = costs.of_run(preemptions[0]).max(costs.of_qps(preemptions[1]));
    if let Some(task) = system.tasks.values().find(|task| task.own_wcet().ns() <= added.ns()) {
        return Err(refuse(format!(
            "task `{}` has no more than the {added} of overheads",
            task.name
        )));
    }
    Ok(Room { added, terms: costs.terms(preemptions), preemptions })
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::Task;

    fn costs() -> Costs {
        let us = Duration::from_us;
        Costs {
            release: us(1),
            scheduling: us(2),
            context_switch: us(3),
            interrupt: us(4),
            tick: us(5),
            tree_update: us(6),
            preemption: us(7),
            migration: us(8),
        }
    }

    #[test]
    fn the_formulas_are_those_of_the_paper() {
        // REL + SCHED^ + CLK = 1 + 9 + 5.
        assert_eq!(costs().of_run(0), Duration::from_us(15));
        assert_eq!(costs().of_run(1), Duration::from_us(15 + 6 + 9 + 8));
        assert_eq!(costs().of_qps(3), Duration::from_us(15 + 3 * (9 + 8)));
        for k in [[1, 1], [1, 3], [4, 2]] {
            let sum =
                costs().terms(k).iter().fold(Duration::ZERO, |sum, (_, length)| sum + *length);
            assert_eq!(sum, costs().of_run(k[0]).max(costs().of_qps(k[1])), "{k:?}");
        }
        assert_eq!(costs().terms([1, 3])[5].0, "k_QPS preemptions");
        assert_eq!([0, 1, 2, 3].map(run_preemptions), [1, 2, 4, 5]);
        assert_eq!([1, 2, 3, 16].map(qps_preemptions), [1, 1, 2, 8]);
        assert_eq!(qps_preemptions_at(3, 1), 2);
    }

    /// The room in an inflated system is what was added, if the tree of the first round was kept.
    #[test]
    fn the_room_in_inflated_wcets_is_what_was_added() {
        let mut same = 0;
        for wcet in (500..9_500_i64).step_by(500) {
            for count in 2..6 {
                let task = |at: i64| {
                    let wcet = Service::from_us(wcet - 100 * at);
                    Task::implicit(format!("t{at}"), wcet, Duration::from_ms(10))
                };
                let system = System::new(3, (0..count).map(task).collect());
                let Ok(inflated) = inflate(&system, &costs(), Heuristic::Ffd) else { continue };
                let found = room(&inflated.system, &costs(), Heuristic::Ffd).unwrap();
                if found.preemptions == inflated.preemptions {
                    assert_eq!(found.added, inflated.added);
                    assert_eq!(found.terms, inflated.terms);
                    same += 1;
                } else {
                    assert!(found.added < inflated.added);
                }
            }
        }
        assert!(same > 30, "{same}");
    }

    #[test]
    fn larger_wcets_may_need_a_deeper_tree() {
        // The set is partitioned without overheads, but not with them.
        let task =
            |name: &str| Task::implicit(name, Service::from_ns(4_995_000), Duration::from_ms(10));
        let five = ["a", "b", "c", "d"].map(task).to_vec();
        let mut system = System::new(3, five);
        let partitioned = inflate(&system, &Costs::default(), Heuristic::Ffd).unwrap();
        assert_eq!((partitioned.preemptions[0], partitioned.rounds), (1, 1));
        assert_eq!(partitioned.system.tasks, system.tasks);
        let deeper = inflate(&system, &costs(), Heuristic::Ffd).unwrap();
        assert_eq!(deeper.preemptions[0], 2, "four tasks above 1/2 on three CPUs");
        assert_eq!(deeper.rounds, 2);
        assert_eq!(deeper.added, costs().of_run(2));
        for name in ["e", "f"] {
            system.tasks.push(task(name));
        }
        let refusal = inflate(&system, &costs(), Heuristic::Ffd).unwrap_err();
        assert!(refusal.message.contains("cannot do all"), "{refusal}");
    }
}
