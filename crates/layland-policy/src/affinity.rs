//! Scheduling with processor affinities: each task has a set of CPUs (its *mask*) on which it may
//! run, and a priority, from its deadline or fixed.
//!
//! - [`weak`]: if a task waits, every CPU of its mask runs a task of higher priority. Push and pull
//!   between run queues achieve this;
//! - [`strong`]: the same holds for every CPU that could be freed for the task by *shifting* other
//!   tasks within their masks. For any masks;
//! - [`hierarchical`]: strong scheduling of masks that are nested or disjoint (*laminar*), in less
//!   time.
//!
//! All three are one policy (`affine.rs`) around a rule that matches tasks to CPUs (`matcher.rs`).
//! No two jobs are equal in the order of (key, rank, task), so the *set* of tasks that strong
//! scheduling runs is unique: taken in that order, it contains every task that can still be matched
//! to a CPU along with the tasks taken before. The rules of each file decide on which CPUs they
//! run.

mod affine;
mod backlog;
mod bits;
mod ground;
pub mod hierarchical;
mod hierarchy;
mod laminar;
mod matcher;
pub mod strong;
mod touches;
pub mod weak;

use crate::Policy;
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::levels;
use crate::ordered::tie_rule;
use crate::shell::groups::PRIORITIES;
use layland_model::{Algorithm, Citation, Form, Order, System};

/// Cerqueira, Gujarati and Brandenburg 2014.
pub const CERQUEIRA: Citation = Citation {
    key: "cerqueira2014linux",
    text: "F. Cerqueira, A. Gujarati and B. Brandenburg. Linux's processor affinity API, refined: \
           shifting real-time tasks towards higher schedulability. RTSS 2014, pages 249-259.",
    bibtex: "@inproceedings{cerqueira2014linux,
  author    = {Felipe Cerqueira and Arpan Gujarati and Bj{\\\"o}rn B. Brandenburg},
  title     = {Linux's Processor Affinity {API}, Refined: Shifting Real-Time Tasks Towards Higher Schedulability},
  booktitle = {35th IEEE Real-Time Systems Symposium (RTSS)}, pages = {249--259}, year = {2014},
  doi       = {10.1109/RTSS.2014.29}
}",
};

pub(crate) fn assign() -> OptionInfo {
    OptionInfo::new(
        "assign",
        "the CPUs on which the chosen tasks run: local (default), where they ran last if possible; plain, \
           on the lowest CPUs",
        Values::one_of(["local", "plain"]),
    )
}

/// The systems that `hpa-*` refuses.
const OVERLAP: &str = "affinities that overlap without one containing the other";

/// Returns the policies of all orders: weak, strong and hierarchical.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    let of = |form: fn(Order) -> PolicyInfo| Order::ALL.map(form);
    [of(weak_info), of(strong_info), of(hierarchical_info)].concat()
}

/// Returns the name of the scheduling algorithm with this order.
fn algorithm(order: Order) -> &'static str {
    match order {
        Order::Deadline => "EDF",
        Order::RateMonotonic => "rate-monotonic",
        Order::DeadlineMonotonic => "deadline-monotonic",
        Order::Given => "fixed priorities",
    }
}

/// Builds the policy of a form for an order of jobs.
type Constructor = fn(Order, &System, &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal>;

fn info(
    form: Form,
    order: Order,
    title: String,
    summary: String,
    build: Constructor,
) -> PolicyInfo {
    let algorithm = Algorithm::Ordered(form, order);
    let build = move |system: &System, options: &PolicyOptions| build(order, system, options);
    let refuses = match order {
        Order::Deadline | Order::RateMonotonic | Order::DeadlineMonotonic => None,
        Order::Given => Some(PRIORITIES),
    };
    PolicyInfo::new(algorithm.to_string(), title, summary, build)
        .implementing_by(move |options| levels::algorithm(form, order, options))
        .with_options(levels::option(order))
        .refusing(refuses)
        .breaking_ties(tie_rule(order))
}

fn weak_info(order: Order) -> PolicyInfo {
    let before = match order {
        Order::Deadline => "earlier deadlines",
        Order::RateMonotonic => "shorter periods",
        Order::DeadlineMonotonic => "shorter relative deadlines",
        Order::Given => "higher given priorities",
    };
    let title = format!("{} with affinities, weak", algorithm(order));
    let summary = format!("a job waits only while every CPU of its affinity runs {before}");
    info(Form::Weak, order, title, summary, weak::weak).citing([
        Citation::GUJARATI,
        CERQUEIRA,
        Citation::BONIFACI,
    ])
}

fn strong_info(order: Order) -> PolicyInfo {
    let title = format!("{} with affinities, strong", algorithm(order));
    let weak = Algorithm::Ordered(Form::Weak, order);
    let summary = format!("as {weak}, also for CPUs that running jobs could free by moving");
    info(Form::Strong, order, title, summary, strong::strong)
        .citing([CERQUEIRA, Citation::BONIFACI])
}

fn hierarchical_info(order: Order) -> PolicyInfo {
    let title = format!("{} with hierarchical affinities", algorithm(order));
    let strong = Algorithm::Ordered(Form::Strong, order);
    let summary = format!("as {strong}, faster, for affinities that are nested or disjoint");
    let mut info = info(Form::Hierarchical, order, title, summary, hierarchical::hierarchical)
        .with_options([assign()].into_iter().chain(levels::option(order)))
        .citing([Citation::BONIFACI]);
    info.refuses.insert(0, OVERLAP.into());
    info
}
