//! Scheduling by an order of jobs: by deadline (**EDF**), by period (**RM**), by relative deadline (**DM**)
//! or by given priorities (**FP**), each global, clustered and partitioned.
//!
//! Liu and Layland 1973 for EDF and rate-monotonic priorities on one CPU; Leung and Whitehead 1982
//! for deadline-monotonic priorities; Dhall and Liu 1978 for the global and the partitioned form;
//! Calandrino, Anderson and Baumberger 2007 for the clustered one. The schedule is that of
//! [`HighestFirst`], which defines ties and placement. If tasks have non-preemptive regions, or the
//! option `nonpreemptive` asks for them, it is that of [`deferred`]. If jobs lock resources or
//! suspend themselves, it is that of [`locking`] on each CPU.

use crate::Policy;
use crate::deferred;
use crate::highest_first::{HighestFirst, Ties};
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal};
use crate::levels;
use crate::locking;
use crate::options::never_preempts;
use crate::shell::groups::{self, ONE_CLUSTER, PACKED, PRIORITIES, WHOLE_CLUSTER};
use crate::shell::{Grouped, Scope};
use layland_model::{Algorithm, Citation, Form, Order, Protocol, System};

/// Dhall and Liu 1978.
pub const DHALL_LIU: Citation = Citation {
    key: "dhall1978real",
    text: "S. K. Dhall and C. L. Liu. On a real-time scheduling problem. Operations Research \
           26(1):127-140, 1978.",
    bibtex: "@article{dhall1978real,
  author  = {Sudarshan K. Dhall and C. L. Liu},
  title   = {On a Real-Time Scheduling Problem},
  journal = {Operations Research}, volume = {26}, number = {1}, pages = {127--140}, year = {1978}
}",
};

/// Calandrino, Anderson and Baumberger 2007.
pub const CALANDRINO: Citation = Citation {
    key: "calandrino2007hybrid",
    text: "J. M. Calandrino, J. H. Anderson and D. P. Baumberger. A hybrid real-time scheduling approach \
           for large-scale multicore platforms. ECRTS 2007, pages 247-258.",
    bibtex: "@inproceedings{calandrino2007hybrid,
  author    = {John M. Calandrino and James H. Anderson and Dan P. Baumberger},
  title     = {A Hybrid Real-Time Scheduling Approach for Large-Scale Multicore Platforms},
  booktitle = {19th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {247--258}, year = {2007}
}",
};

/// Leung and Whitehead 1982.
pub const LEUNG_WHITEHEAD: Citation = Citation {
    key: "leung1982complexity",
    text: "J. Y.-T. Leung and J. Whitehead. On the complexity of fixed-priority scheduling of periodic, \
           real-time tasks. Performance Evaluation 2(4):237-250, 1982.",
    bibtex: "@article{leung1982complexity,
  author  = {Joseph Y.-T. Leung and Jennifer Whitehead},
  title   = {On the Complexity of Fixed-Priority Scheduling of Periodic, Real-Time Tasks},
  journal = {Performance Evaluation}, volume = {2}, number = {4}, pages = {237--250}, year = {1982},
  doi     = {10.1016/0166-5316(82)90024-4}
}",
};

/// Returns the policies of all orders: global, clustered and partitioned.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    Order::ALL.into_iter().flat_map(|order| [g(order), c(order), p(order)]).collect()
}

/// Returns the name of the scheduling algorithm with this order.
fn algorithm(order: Order) -> &'static str {
    match order {
        Order::Deadline => "EDF",
        Order::RateMonotonic => "rate-monotonic",
        Order::DeadlineMonotonic => "deadline-monotonic",
        Order::Given => "given priorities",
    }
}

fn title(form: &str, order: Order) -> String {
    match order {
        Order::Deadline | Order::RateMonotonic | Order::DeadlineMonotonic => {
            format!("{form} {}", algorithm(order))
        }
        Order::Given => format!("{form} fixed priorities, as given"),
    }
}

/// Returns the systems that a policy of this form refuses.
fn refuses(form: &'static str, order: Order) -> Vec<&'static str> {
    match order {
        Order::Deadline | Order::RateMonotonic | Order::DeadlineMonotonic => vec![form],
        Order::Given => vec![form, PRIORITIES],
    }
}

/// Returns the papers to cite for an order, on one CPU or all of them.
fn citations(order: Order) -> Vec<Citation> {
    match order {
        Order::Deadline | Order::RateMonotonic => {
            vec![Citation::LIU_LAYLAND, DHALL_LIU, Citation::BUTTAZZO]
        }
        Order::DeadlineMonotonic => vec![LEUNG_WHITEHEAD, Citation::BUTTAZZO],
        Order::Given => vec![Citation::LIU_LAYLAND, Citation::BUTTAZZO],
    }
}

fn info(
    form: Form,
    order: Order,
    title: String,
    summary: String,
    build: fn(Order, &System, &PolicyOptions) -> Result<Grouped<HighestFirst>, SystemRefusal>,
) -> PolicyInfo {
    let algorithm = Algorithm::Ordered(form, order);
    let scope = match form {
        Form::Global | Form::Weak | Form::Strong | Form::Hierarchical => Scope::Global,
        Form::Clustered => Scope::Clustered,
        Form::Partitioned => Scope::Partitioned,
    };
    let build =
        move |system: &System, options: &PolicyOptions| -> Result<Box<dyn Policy>, SystemRefusal> {
            let (name, ties) = (algorithm.to_string(), ties(order, options)?);
            if form == Form::Partitioned
                && let Some(locking) = locking::locking(&name, order, system, options)?
            {
                return Ok(Box::new(locking));
            }
            Ok(match deferred::grouped(name, scope, order, system, options, ties)? {
                Some(deferred) => Box::new(deferred),
                None => Box::new(build(order, system, options)?),
            })
        };
    let with_regions = move |options: &PolicyOptions| match never_preempts(options) {
        Ok(true) => Algorithm::Deferred(form, order),
        Ok(false) | Err(_) if form == Form::Partitioned && options.text("locks").is_some() => {
            let protocol = locking::protocol(order, options).unwrap_or(Protocol::Plain);
            Algorithm::Locking(order, protocol)
        }
        Ok(false) | Err(_) => levels::algorithm(form, order, options),
    };
    PolicyInfo::new(algorithm.to_string(), title, summary, build)
        .implementing_by(with_regions)
        .keeping_regions()
        .breaking_ties(tie_rule(order))
}

/// Returns the tie-breaking rule for equal jobs.
pub(crate) fn tie_rule(order: Order) -> String {
    let equal = match order {
        Order::Deadline => "deadlines",
        Order::RateMonotonic => "periods",
        Order::DeadlineMonotonic => "relative deadlines",
        Order::Given => return "equal priorities: see `tie`".to_owned(),
    };
    format!("equal {equal} go to the smaller rank, then to the task that comes first")
}

/// Returns the options of an order.
fn options_of(order: Order) -> impl Iterator<Item = OptionInfo> {
    let tie = (order == Order::Deadline).then(Ties::option).or_else(|| levels::option(order));
    tie.into_iter().chain([deferred::option()])
}

fn ties(order: Order, options: &PolicyOptions) -> Result<Ties, SystemRefusal> {
    match order {
        Order::Deadline => Ok(Ties::of(options)?),
        Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given => Ok(Ties::Rank),
    }
}

/// Returns the policy that runs the jobs of highest priority, in the groups of a scope.
fn grouped(
    form: Form,
    scope: Scope,
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    let name = Algorithm::Ordered(form, order).to_string();
    let in_level = levels::of(order, system, options)?;
    let ties = match in_level {
        Some(_) => Ties::Level,
        None => ties(order, options)?,
    };
    let grouped =
        Grouped::new(name.as_str(), scope, order, system, options, HighestFirst::new(ties))?;
    levels::refuse_unknown(&name, in_level, system, grouped.tasks_of_groups(), options)?;
    let grouped = match scope {
        Scope::Partitioned => grouped,
        Scope::Global | Scope::Clustered | Scope::Federated => {
            grouped.placing(groups::placement(options)?, system)
        }
    };
    Ok(match in_level {
        Some(in_level) => grouped.queueing_in_levels(in_level),
        None => grouped,
    })
}

fn g(order: Order) -> PolicyInfo {
    let first = match order {
        Order::Deadline => "earliest deadlines",
        Order::RateMonotonic => "shortest periods",
        Order::DeadlineMonotonic => "shortest relative deadlines",
        Order::Given => "highest given priorities",
    };
    let summary = format!("the m {first} run, on any CPU");
    info(Form::Global, order, title("global", order), summary, global)
        .refusing(refuses(ONE_CLUSTER, order))
        .with_options(options_of(order).chain([groups::place()]))
        .taking_followers()
        .citing(citations(order))
}

fn c(order: Order) -> PolicyInfo {
    let citations = match order {
        Order::Deadline => vec![CALANDRINO],
        Order::RateMonotonic | Order::Given => vec![Citation::LIU_LAYLAND, CALANDRINO],
        Order::DeadlineMonotonic => vec![LEUNG_WHITEHEAD, CALANDRINO],
    };
    let summary = format!("global {} within each cluster", algorithm(order));
    info(Form::Clustered, order, title("clustered", order), summary, clustered)
        .refusing(refuses(WHOLE_CLUSTER, order))
        .with_options(
            [groups::size(), groups::cluster_fit()]
                .into_iter()
                .chain(options_of(order))
                .chain([groups::place()]),
        )
        .taking_followers()
        .citing(citations)
}

fn p(order: Order) -> PolicyInfo {
    let placed = match order {
        Order::Deadline => "tasks are assigned before the start and never migrate",
        Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given => "tasks never migrate",
    };
    let summary = format!("{} on each CPU; {placed}", algorithm(order));
    info(Form::Partitioned, order, title("partitioned", order), summary, partitioned)
        .refusing(refuses(PACKED, order))
        .with_options(
            [groups::fit()]
                .into_iter()
                .chain((order != Order::Deadline).then(groups::accept))
                .chain(options_of(order))
                .chain([locking::option(order)]),
        )
        .following_steps()
        .taking_followers()
        .citing(citations(order))
}

/// Returns the policy that runs the first `m` ready jobs, on any CPU.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, a priority is missing, or a task has
/// non-preemptive regions.
pub fn global(
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    grouped(Form::Global, Scope::Global, order, system, options)
}

/// Returns the policy that is global within each cluster.
///
/// # Errors
/// If a task may not use every CPU of its cluster, `size` splits the CPUs into clusters that the
/// tasks do not fit, a priority is missing, or a task has non-preemptive regions.
pub fn clustered(
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    grouped(Form::Clustered, Scope::Clustered, order, system, options)
}

/// Returns uniprocessor scheduling on each CPU; tasks are assigned before the start and never
/// migrate.
///
/// # Errors
/// If the tasks cannot be packed, a priority is missing, or a task has non-preemptive regions.
pub fn partitioned(
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    grouped(Form::Partitioned, Scope::Partitioned, order, system, options)
}
