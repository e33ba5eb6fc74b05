//! Every policy by name: what it is, what it needs, whom to cite, how to build it.
//!
//! A policy is named with its options as `name:option=value:option=value`, as in `p-edf:fit=wfd`.

mod build;
mod options;

pub use build::{BuildError, build, find, parse};
pub use options::{OptionInfo, Options, Values};

use crate::affinity;
use crate::mixed::{self, offline};
use crate::{Policy, Refusal, adaptive, deadline, fair, ordered};
pub use layland_model::Citation;
use layland_model::{Order, System};

/// A policy that can be built.
#[derive(Clone, Copy)]
pub struct PolicyInfo {
    /// Its name.
    pub name: &'static str,
    /// Its name in full.
    pub title: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// What it refuses, each with the reason.
    pub refuses: &'static [&'static str],
    /// Its options.
    pub options: &'static [OptionInfo],
    /// Whom to cite.
    pub citations: &'static [&'static Citation],
    build: Constructor,
}

type Constructor = fn(&System, &Options) -> Result<Box<dyn Policy>, Refusal>;

const ONE_CLUSTER: &str =
    "several clusters, and affinities to some CPUs only: it migrates over all CPUs";
const WHOLE_CLUSTER: &str = "affinities to a part of a cluster: it migrates over the whole cluster";
const PACKED: &str =
    "task sets that the heuristic cannot pack, and changes of affinity to more than one CPU";
const PRIORITIES: &str = "tasks without a `priority`";

const FIT: OptionInfo = OptionInfo {
    name: "fit",
    help: "how tasks are assigned to CPUs: ff, ffd (default), bf, bfd, wf, wfd, nf, nfd, ef, efd, or \
           given (by one-CPU affinities; the default if every task has one)",
    values: Values::OneOf(&[
        "ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd", "given",
    ]),
};
const SIZE: OptionInfo = OptionInfo {
    name: "size",
    help: "split the CPUs into clusters of this many, and pack the tasks; by default the platform's clusters",
    values: Values::Number,
};
const CLUSTER_FIT: OptionInfo = OptionInfo {
    name: "fit",
    help: "with size: how tasks are assigned to clusters: ff, ffd, bf, bfd, wf, wfd (default), nf, nfd, ef \
           or efd",
    values: Values::OneOf(&["ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd"]),
};

const SEMI_PARTITIONED: &str =
    "tasks with an affinity to more than one CPU but not the whole cluster";
const UNIT_SPEED: &str = "CPUs of other speeds than 1";
const OVERLAP: &str = "affinities that overlap without one containing the other";
const AC_OFF: OptionInfo = OptionInfo {
    name: "ac",
    help: "on: admission control, which needs affinities to whole clusters; off (default)",
    values: Values::Switch,
};
const AC_ON: OptionInfo = OptionInfo {
    name: "ac",
    help: "on (default): admission control by cluster and by CPU; off",
    values: Values::Switch,
};

/// Every policy, in the order in which lists show them.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        name: "g-edf",
        title: "global EDF",
        summary: "the m earliest deadlines run, on any CPU",
        refuses: &[ONE_CLUSTER],
        options: &[],
        citations: &[&Citation::LIU_LAYLAND, &ordered::DHALL_LIU],
        build: |system, options| Ok(Box::new(ordered::global(Order::Deadline, system, options)?)),
    },
    PolicyInfo {
        name: "c-edf",
        title: "clustered EDF",
        summary: "global EDF within each cluster",
        refuses: &[WHOLE_CLUSTER],
        options: &[SIZE, CLUSTER_FIT],
        citations: &[&ordered::CALANDRINO],
        build: |system, options| {
            Ok(Box::new(ordered::clustered(Order::Deadline, system, options)?))
        },
    },
    PolicyInfo {
        name: "p-edf",
        title: "partitioned EDF",
        summary: "EDF on each CPU; tasks are assigned before the start and never migrate",
        refuses: &[PACKED],
        options: &[FIT],
        citations: &[&Citation::LIU_LAYLAND, &ordered::DHALL_LIU],
        build: |system, options| {
            Ok(Box::new(ordered::partitioned(Order::Deadline, system, options)?))
        },
    },
    PolicyInfo {
        name: "g-rm",
        title: "global rate-monotonic",
        summary: "the m shortest periods run, on any CPU",
        refuses: &[ONE_CLUSTER],
        options: &[],
        citations: &[&Citation::LIU_LAYLAND, &ordered::DHALL_LIU],
        build: |system, options| {
            Ok(Box::new(ordered::global(Order::RateMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "c-rm",
        title: "clustered rate-monotonic",
        summary: "global rate-monotonic within each cluster",
        refuses: &[WHOLE_CLUSTER],
        options: &[SIZE, CLUSTER_FIT],
        citations: &[&Citation::LIU_LAYLAND, &ordered::CALANDRINO],
        build: |system, options| {
            Ok(Box::new(ordered::clustered(Order::RateMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "p-rm",
        title: "partitioned rate-monotonic",
        summary: "rate-monotonic on each CPU; tasks never migrate",
        refuses: &[PACKED],
        options: &[FIT],
        citations: &[&Citation::LIU_LAYLAND, &ordered::DHALL_LIU],
        build: |system, options| {
            Ok(Box::new(ordered::partitioned(Order::RateMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "g-dm",
        title: "global deadline-monotonic",
        summary: "the m shortest relative deadlines run, on any CPU",
        refuses: &[ONE_CLUSTER],
        options: &[],
        citations: &[&ordered::LEUNG_WHITEHEAD],
        build: |system, options| {
            Ok(Box::new(ordered::global(Order::DeadlineMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "c-dm",
        title: "clustered deadline-monotonic",
        summary: "global deadline-monotonic within each cluster",
        refuses: &[WHOLE_CLUSTER],
        options: &[SIZE, CLUSTER_FIT],
        citations: &[&ordered::LEUNG_WHITEHEAD, &ordered::CALANDRINO],
        build: |system, options| {
            Ok(Box::new(ordered::clustered(Order::DeadlineMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "p-dm",
        title: "partitioned deadline-monotonic",
        summary: "deadline-monotonic on each CPU; tasks never migrate",
        refuses: &[PACKED],
        options: &[FIT],
        citations: &[&ordered::LEUNG_WHITEHEAD],
        build: |system, options| {
            Ok(Box::new(ordered::partitioned(Order::DeadlineMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "g-fp",
        title: "global fixed priorities, as given",
        summary: "the m highest given priorities run, on any CPU",
        refuses: &[ONE_CLUSTER, PRIORITIES],
        options: &[],
        citations: &[&Citation::LIU_LAYLAND],
        build: |system, options| Ok(Box::new(ordered::global(Order::Given, system, options)?)),
    },
    PolicyInfo {
        name: "c-fp",
        title: "clustered fixed priorities, as given",
        summary: "global given priorities within each cluster",
        refuses: &[WHOLE_CLUSTER, PRIORITIES],
        options: &[SIZE, CLUSTER_FIT],
        citations: &[&Citation::LIU_LAYLAND, &ordered::CALANDRINO],
        build: |system, options| Ok(Box::new(ordered::clustered(Order::Given, system, options)?)),
    },
    PolicyInfo {
        name: "p-fp",
        title: "partitioned fixed priorities, as given",
        summary: "given priorities on each CPU; tasks never migrate",
        refuses: &[PACKED, PRIORITIES],
        options: &[FIT],
        citations: &[&Citation::LIU_LAYLAND],
        build: |system, options| Ok(Box::new(ordered::partitioned(Order::Given, system, options)?)),
    },
    PolicyInfo {
        name: "weak-edf",
        title: "EDF with affinities, weak",
        summary: "a job waits only while every CPU of its affinity runs earlier deadlines",
        refuses: &[],
        options: &[],
        citations: &[&Citation::GUJARATI, &affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| affinity::weak::weak(Order::Deadline, system, options),
    },
    PolicyInfo {
        name: "weak-rm",
        title: "rate-monotonic with affinities, weak",
        summary: "a job waits only while every CPU of its affinity runs shorter periods",
        refuses: &[],
        options: &[],
        citations: &[&Citation::GUJARATI, &affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| affinity::weak::weak(Order::RateMonotonic, system, options),
    },
    PolicyInfo {
        name: "weak-dm",
        title: "deadline-monotonic with affinities, weak",
        summary: "a job waits only while every CPU of its affinity runs shorter relative deadlines",
        refuses: &[],
        options: &[],
        citations: &[&Citation::GUJARATI, &affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| affinity::weak::weak(Order::DeadlineMonotonic, system, options),
    },
    PolicyInfo {
        name: "weak-fp",
        title: "fixed priorities with affinities, weak",
        summary: "a job waits only while every CPU of its affinity runs higher given priorities",
        refuses: &[PRIORITIES],
        options: &[],
        citations: &[&Citation::GUJARATI, &affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| affinity::weak::weak(Order::Given, system, options),
    },
    PolicyInfo {
        name: "strong-edf",
        title: "EDF with affinities, strong",
        summary: "as weak-edf, also for CPUs that running jobs could free by moving",
        refuses: &[],
        options: &[],
        citations: &[&affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| affinity::strong::strong(Order::Deadline, system, options),
    },
    PolicyInfo {
        name: "strong-rm",
        title: "rate-monotonic with affinities, strong",
        summary: "as weak-rm, also for CPUs that running jobs could free by moving",
        refuses: &[],
        options: &[],
        citations: &[&affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| affinity::strong::strong(Order::RateMonotonic, system, options),
    },
    PolicyInfo {
        name: "strong-dm",
        title: "deadline-monotonic with affinities, strong",
        summary: "as weak-dm, also for CPUs that running jobs could free by moving",
        refuses: &[],
        options: &[],
        citations: &[&affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| {
            affinity::strong::strong(Order::DeadlineMonotonic, system, options)
        },
    },
    PolicyInfo {
        name: "strong-fp",
        title: "fixed priorities with affinities, strong",
        summary: "as weak-fp, also for CPUs that running jobs could free by moving",
        refuses: &[PRIORITIES],
        options: &[],
        citations: &[&affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| affinity::strong::strong(Order::Given, system, options),
    },
    PolicyInfo {
        name: "hpa-edf",
        title: "EDF with hierarchical affinities",
        summary: "as strong-edf, faster, for affinities that are nested or disjoint",
        refuses: &[OVERLAP],
        options: &[affinity::ASSIGN],
        citations: &[&Citation::BONIFACI],
        build: |system, options| {
            affinity::hierarchical::hierarchical(Order::Deadline, system, options)
        },
    },
    PolicyInfo {
        name: "hpa-rm",
        title: "rate-monotonic with hierarchical affinities",
        summary: "as strong-rm, faster, for affinities that are nested or disjoint",
        refuses: &[OVERLAP],
        options: &[affinity::ASSIGN],
        citations: &[&Citation::BONIFACI],
        build: |system, options| {
            affinity::hierarchical::hierarchical(Order::RateMonotonic, system, options)
        },
    },
    PolicyInfo {
        name: "hpa-dm",
        title: "deadline-monotonic with hierarchical affinities",
        summary: "as strong-dm, faster, for affinities that are nested or disjoint",
        refuses: &[OVERLAP],
        options: &[affinity::ASSIGN],
        citations: &[&Citation::BONIFACI],
        build: |system, options| {
            affinity::hierarchical::hierarchical(Order::DeadlineMonotonic, system, options)
        },
    },
    PolicyInfo {
        name: "hpa-fp",
        title: "fixed priorities with hierarchical affinities",
        summary: "as strong-fp, faster, for affinities that are nested or disjoint",
        refuses: &[OVERLAP, PRIORITIES],
        options: &[affinity::ASSIGN],
        citations: &[&Citation::BONIFACI],
        build: |system, options| {
            affinity::hierarchical::hierarchical(Order::Given, system, options)
        },
    },
    PolicyInfo {
        name: "dl",
        title: "SCHED_DEADLINE, as in Linux",
        summary: "threads with budgets in per-CPU run queues, pushed and pulled towards global EDF",
        refuses: &[deadline::CONSTRAINED],
        options: &[
            deadline::TIE,
            deadline::LAG_RESET,
            AC_OFF,
            deadline::LIMIT,
            deadline::KERNEL,
            deadline::SETATTR_TARDY,
            deadline::AFFINITY_TARDY,
            deadline::AFFINITY_EARLY,
            deadline::GRUB_PA,
            deadline::START,
        ],
        citations: &[&deadline::LELLI, &deadline::ABENI_BUTTAZZO, &Citation::TANG],
        build: |system, options| Ok(Box::new(deadline::linux::dl(system, options)?)),
    },
    PolicyInfo {
        name: "dl-sp",
        title: "SCHED_DEADLINE, repaired for semi-partitioned systems",
        summary: "as dl, but a migrating thread leaves a CPU where one that is tied to it waits",
        refuses: &[deadline::CONSTRAINED, SEMI_PARTITIONED],
        options: &[
            deadline::TIE,
            deadline::LAG_RESET,
            AC_ON,
            deadline::LIMIT,
            deadline::GRUB_PA,
            deadline::START,
        ],
        citations: &[&Citation::TANG, &deadline::ABENI_BUTTAZZO],
        build: |system, options| Ok(Box::new(deadline::semi_partitioned::dl_sp(system, options)?)),
    },
    PolicyInfo {
        name: "apedf",
        title: "adaptively partitioned EDF",
        summary: "EDF on each CPU; a thread is placed anew when a job arrives on an overloaded CPU",
        refuses: &[deadline::CONSTRAINED, UNIT_SPEED],
        options: &[adaptive::FALLBACK, deadline::TIE, deadline::LAG_RESET, deadline::START],
        citations: &[&adaptive::STEVANATO, &deadline::ABENI_BUTTAZZO],
        build: |system, options| Ok(Box::new(adaptive::apedf::apedf(system, options)?)),
    },
    PolicyInfo {
        name: "a2pedf",
        title: "adaptively partitioned EDF with pulling",
        summary: "as apedf; a CPU that runs out of work takes a waiting thread of an overloaded one",
        refuses: &[deadline::CONSTRAINED, UNIT_SPEED],
        options: &[adaptive::FALLBACK, deadline::TIE, deadline::LAG_RESET, deadline::START],
        citations: &[&adaptive::STEVANATO, &deadline::ABENI_BUTTAZZO],
        build: |system, options| Ok(Box::new(adaptive::a2pedf::a2pedf(system, options)?)),
    },
    PolicyInfo {
        name: "run",
        title: "RUN, reduction to uniprocessor",
        summary: "optimal: servers whose duals are scheduled by EDF, level by level, up to one CPU",
        refuses: &[ONE_CLUSTER, fair::IMPLICIT, fair::PERIODIC, fair::OVERLOAD, UNIT_SPEED],
        options: &[fair::RUN_FIT, fair::DUAL_FIT, fair::FILL, fair::RUN_PACKING, fair::DUALS],
        citations: &[&Citation::REGNIER, &Citation::COMPAGNIN],
        build: |system, options| Ok(Box::new(fair::run::run(system, options)?)),
    },
    PolicyInfo {
        name: "qps",
        title: "QPS, quasi-partitioned scheduling",
        summary: "optimal: EDF on each CPU, and what is too much for one is executed in parallel by another",
        refuses: &[ONE_CLUSTER, fair::IMPLICIT, fair::SPORADIC, fair::OVERLOAD, UNIT_SPEED],
        options: &[fair::QPS_FIT, fair::MASTER, fair::QPS_PACKING],
        citations: &[&fair::MASSA, &Citation::COMPAGNIN],
        build: |system, options| Ok(Box::new(fair::qps::qps(system, options)?)),
    },
    PolicyInfo {
        name: "smc",
        title: "static mixed criticality",
        summary: "fixed priorities on each CPU; a job is aborted when it exceeds the bound of its own level",
        refuses: &[offline::MODEL, offline::REJECTED, UNIT_SPEED],
        options: &[offline::SMC_ORDER, FIT, offline::SORT],
        citations: &[&mixed::HUANG, &Citation::BARUAH_2011],
        build: offline::smc,
    },
    PolicyInfo {
        name: "rms",
        title: "rate-monotonic with a cut-off",
        summary: "smc with the shorter period first",
        refuses: &[offline::MODEL, offline::REJECTED, UNIT_SPEED],
        options: &[FIT, offline::SORT],
        citations: &[&Citation::LIU_LAYLAND, &mixed::HUANG],
        build: offline::rms,
    },
    PolicyInfo {
        name: "cms",
        title: "criticality-monotonic with a cut-off",
        summary: "smc with the higher criticality first",
        refuses: &[offline::MODEL, offline::REJECTED, UNIT_SPEED],
        options: &[FIT, offline::SORT],
        citations: &[&mixed::HUANG],
        build: offline::cms,
    },
    PolicyInfo {
        name: "amc",
        title: "adaptive mixed criticality",
        summary: "fixed priorities on each CPU; an overrun drops the tasks of lower criticality until it idles",
        refuses: &[offline::MODEL, offline::REJECTED, UNIT_SPEED],
        options: &[offline::AMC_ORDER, offline::OWN_OVERRUN, FIT, offline::SORT],
        citations: &[&Citation::BARUAH_2011, &mixed::HUANG],
        build: offline::amc,
    },
    PolicyInfo {
        name: "zss",
        title: "zero-slack scheduling",
        summary: "rate-monotonic on each CPU; at its zero-slack instant a job suspends tasks of lower criticality",
        refuses: &[offline::MODEL, offline::REJECTED, UNIT_SPEED],
        options: &[offline::INSTANTS, offline::LATE, FIT, offline::SORT],
        citations: &[&Citation::DE_NIZ, &mixed::HUANG],
        build: offline::zss,
    },
    PolicyInfo {
        name: "pt",
        title: "period transformation",
        summary: "on each CPU budgets in slices, so that the rate-monotonic order follows criticality",
        refuses: &[offline::MODEL, offline::REJECTED, UNIT_SPEED],
        options: &[FIT, offline::SORT],
        citations: &[&mixed::HUANG],
        build: offline::pt,
    },
    PolicyInfo {
        name: "plrs",
        title: "priority list reuse scheduling",
        summary: "fixed job priorities on each CPU, from lists; an overrun drops jobs of lower criticality",
        refuses: &[offline::MODEL, offline::REJECTED, UNIT_SPEED],
        options: &[offline::LISTS, offline::OWN_OVERRUN, FIT, offline::SORT],
        citations: &[&Citation::GUAN_2011, &mixed::HUANG],
        build: offline::plrs,
    },
];

#[cfg(test)]
mod tests;
