//! Groups with reservations: a budget per period on each CPU of a group, and tasks with deadlines
//! inside. Two levels of scheduling, analysed one after the other.
//!
//! | file | question |
//! |---|---|
//! | [`Supply`], [`Supplies`] | how much processor time does a group get, at least? |
//! | [`fixed_priority`], [`fifo`], [`demand`] | is the group in time on one server? |
//! | [`global`] | is it on several servers, between which its jobs migrate? |
//! | [`lone_response_time`] | is a single task in time, whose jobs use the budget alone? |
//! | [`outer`] | is every server served by its deadline, beside other servers and plain tasks? |
//! | [`InnerTest`] | the tests of a group under its inner policy, as one |
//! | [`whole`] | all of it: is a set with groups in time? |
//! | [`design`] | the least budget, and the least bandwidth over periods |
//!
//! The servers of a group are tested with [`outer`] on each of its CPUs. If they are served, the group
//! is tested against its supply alone, whatever the other groups do. A *yes* of both is a guarantee; a
//! *no* of one group says nothing about another.

#![expect(non_snake_case, reason = "symbols of the papers")]

pub mod demand;
pub mod design;
pub mod fifo;
pub mod fixed_priority;
pub mod global;
mod inner;
pub mod kernel;
pub mod outer;
mod supply;
pub mod whole;

pub use inner::{GroupTask, InnerTest, Shortfall};
pub use supply::{MultiprocessorResource, Supplies, Supply};

use crate::Sporadic;
use layland_model::{Citation, Duration, GroupServer, Rate, RateSum, ServerRule, TIME_LIMIT};

/// Shin and Lee 2003: the periodic resource model.
pub const SHIN_LEE: Citation = Citation {
    key: "shin2003periodic",
    text: "I. Shin and I. Lee. Periodic resource model for compositional real-time guarantees. RTSS \
           2003, pages 2-13.",
    bibtex: "@inproceedings{shin2003periodic,
  author    = {Insik Shin and Insup Lee},
  title     = {Periodic Resource Model for Compositional Real-Time Guarantees},
  booktitle = {24th Real-Time Systems Symposium (RTSS)}, pages = {2--13}, year = {2003},
  doi       = {10.1109/REAL.2003.1253249}
}",
};

/// Easwaran, Anand and Lee 2007: explicit deadlines of the budget.
pub const EASWARAN: Citation = Citation {
    key: "easwaran2007compositional",
    text: "A. Easwaran, M. Anand and I. Lee. Compositional analysis framework using EDP resource models. \
           RTSS 2007, pages 129-138.",
    bibtex: "@inproceedings{easwaran2007compositional,
  author    = {Arvind Easwaran and Madhukar Anand and Insup Lee},
  title     = {Compositional Analysis Framework Using {EDP} Resource Models},
  booktitle = {28th Real-Time Systems Symposium (RTSS)}, pages = {129--138}, year = {2007},
  doi       = {10.1109/RTSS.2007.36}
}",
};

/// Shin, Easwaran and Lee 2008: virtual clusters, their supply and global EDF on them.
pub const SHIN_EASWARAN: Citation = Citation {
    key: "shin2008hierarchical",
    text: "I. Shin, A. Easwaran and I. Lee. Hierarchical scheduling framework for virtual clustering of \
           multiprocessors. ECRTS 2008, pages 181-190.",
    bibtex: "@inproceedings{shin2008hierarchical,
  author    = {Insik Shin and Arvind Easwaran and Insup Lee},
  title     = {Hierarchical Scheduling Framework for Virtual Clustering of Multiprocessors},
  booktitle = {20th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {181--190}, year = {2008}
}",
};

/// The maximum response time of the only task of a group with one constant-bandwidth server, if this
/// rule applies: with `k = ceil(C / Q)` periods per job and `k P <= T`, it is `(k - 1) P + D`. Each job
/// begins a new period of the server, since the last period of the job before ended by then.
///
/// The supply alone would assume that other work of the group may have used the budget just before.
///
/// ```
/// use layland_analysis::{Sporadic, groups::lone_response_time};
/// use layland_model::{Duration, GroupServer, ServerRule, Service};
/// let ns = Duration::from_ns;
/// let (budget, period, deadline) = (Service::from_ns(3), ns(10), ns(10));
/// let server = GroupServer { budget, period, deadline, rule: ServerRule::Cbs };
/// let task = Sporadic::implicit(Service::from_ns(3), ns(10));
/// assert_eq!(lone_response_time(&server, &task), Some(ns(10)));
/// ```
pub fn lone_response_time(server: &GroupServer, task: &Sporadic) -> Option<Duration> {
    let [C, _, T] = task.ns();
    let [Q, P, D] = [server.budget.ns(), server.period.ns(), server.deadline.ns()];
    let k = num_integer::Integer::div_ceil(&C, &Q);
    let is_new_each_time = server.rule == ServerRule::Cbs && k.checked_mul(P)? <= T;
    is_new_each_time.then(|| Duration::from_ns((k - 1) * P + D))
}

/// Returns true if the utilizations sum to more than this bandwidth.
fn overloads<'a>(tasks: impl Iterator<Item = &'a Sporadic> + Clone, bandwidth: &Rate) -> bool {
    let mut sum = RateSum::with_capacity(tasks.size_hint().0);
    for task in tasks {
        sum.add(&Rate::new(task.wcet.ns(), task.period.ns()));
    }
    !sum.fits(&Rate::ZERO, bandwidth)
}

/// The least common multiple of the periods of tasks and supplies, if it is not too long.
fn hyperperiod<'a>(
    tasks: impl IntoIterator<Item = &'a Sporadic>,
    supplies: impl IntoIterator<Item = &'a Supply>,
) -> Option<i64> {
    let of_tasks = tasks.into_iter().map(|task| task.period.ns());
    let of_supplies = supplies.into_iter().map(|supply| supply.repeats().1);
    of_tasks.chain(of_supplies).try_fold(1i64, |lcm, period| {
        let factor = period / num_integer::gcd(lcm, period);
        lcm.checked_mul(factor).filter(|&lcm| lcm <= TIME_LIMIT)
    })
}
