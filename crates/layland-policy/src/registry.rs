//! Every policy by name: what it is, what it needs, whom to cite, how to build it.
//!
//! A policy is named with its options as `name:option=value:option=value`, as in `p-edf:fit=wfd`.

use crate::affinity::{self, By};
use crate::fixed::{self, Priorities};
use crate::mixed::{self, offline};
use crate::{Policy, Refusal, adaptive, deadline, edf, fair};
pub use layland_model::Citation;
use layland_model::{Rate, System};
use std::fmt;

/// An option of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its name.
    pub name: &'static str,
    /// What it does, with its values and the default.
    pub help: &'static str,
    /// What it can be.
    pub values: Values,
}

/// What an option can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// On or off.
    Switch,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number from 0 on.
    Number,
    /// A fraction or a decimal above 0.
    Rate,
    /// Numbers of CPUs.
    Cpus,
    /// Items in bins.
    Bins,
}

impl Values {
    /// Whether a text is such a value.
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Values::Switch => matches!(text, "on" | "off" | "true" | "false"),
            Values::OneOf(words) => words.contains(&text),
            Values::Number => text.parse::<usize>().is_ok(),
            Values::Rate => text.parse().is_ok_and(|rate: Rate| rate > Rate::ZERO),
            Values::Cpus => text.split(',').all(|cpu| cpu.trim().parse::<u32>().is_ok()),
            Values::Bins => fair::parse_rounds(text).is_ok(),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Switch => f.write_str("on or off"),
            Values::OneOf([rest @ .., last]) if !rest.is_empty() => {
                write!(f, "{} or {last}", rest.join(", "))
            }
            Values::OneOf(words) => f.write_str(&words.concat()),
            Values::Number => f.write_str("a whole number"),
            Values::Rate => f.write_str("a number above 0, such as 19/20 or 0.95"),
            Values::Cpus => f.write_str("CPUs, such as 0,2,1"),
            Values::Bins => f.write_str("bins of numbers, such as 0+1/2"),
        }
    }
}

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
        citations: &[&Citation::LIU_LAYLAND, &edf::DHALL_LIU],
        build: |system, options| Ok(Box::new(edf::global(system, options)?)),
    },
    PolicyInfo {
        name: "c-edf",
        title: "clustered EDF",
        summary: "global EDF within each cluster",
        refuses: &[WHOLE_CLUSTER],
        options: &[SIZE, CLUSTER_FIT],
        citations: &[&edf::CALANDRINO],
        build: |system, options| Ok(Box::new(edf::clustered(system, options)?)),
    },
    PolicyInfo {
        name: "p-edf",
        title: "partitioned EDF",
        summary: "EDF on each CPU; tasks are assigned before the start and never migrate",
        refuses: &[PACKED],
        options: &[FIT],
        citations: &[&Citation::LIU_LAYLAND, &edf::DHALL_LIU],
        build: |system, options| Ok(Box::new(edf::partitioned(system, options)?)),
    },
    PolicyInfo {
        name: "g-rm",
        title: "global rate-monotonic",
        summary: "the m shortest periods run, on any CPU",
        refuses: &[ONE_CLUSTER],
        options: &[],
        citations: &[&Citation::LIU_LAYLAND, &edf::DHALL_LIU],
        build: |system, options| {
            Ok(Box::new(fixed::global(Priorities::RateMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "c-rm",
        title: "clustered rate-monotonic",
        summary: "global rate-monotonic within each cluster",
        refuses: &[WHOLE_CLUSTER],
        options: &[SIZE, CLUSTER_FIT],
        citations: &[&Citation::LIU_LAYLAND, &edf::CALANDRINO],
        build: |system, options| {
            Ok(Box::new(fixed::clustered(Priorities::RateMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "p-rm",
        title: "partitioned rate-monotonic",
        summary: "rate-monotonic on each CPU; tasks never migrate",
        refuses: &[PACKED],
        options: &[FIT],
        citations: &[&Citation::LIU_LAYLAND, &edf::DHALL_LIU],
        build: |system, options| {
            Ok(Box::new(fixed::partitioned(Priorities::RateMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "g-dm",
        title: "global deadline-monotonic",
        summary: "the m shortest relative deadlines run, on any CPU",
        refuses: &[ONE_CLUSTER],
        options: &[],
        citations: &[&fixed::LEUNG_WHITEHEAD],
        build: |system, options| {
            Ok(Box::new(fixed::global(Priorities::DeadlineMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "c-dm",
        title: "clustered deadline-monotonic",
        summary: "global deadline-monotonic within each cluster",
        refuses: &[WHOLE_CLUSTER],
        options: &[SIZE, CLUSTER_FIT],
        citations: &[&fixed::LEUNG_WHITEHEAD, &edf::CALANDRINO],
        build: |system, options| {
            Ok(Box::new(fixed::clustered(Priorities::DeadlineMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "p-dm",
        title: "partitioned deadline-monotonic",
        summary: "deadline-monotonic on each CPU; tasks never migrate",
        refuses: &[PACKED],
        options: &[FIT],
        citations: &[&fixed::LEUNG_WHITEHEAD],
        build: |system, options| {
            Ok(Box::new(fixed::partitioned(Priorities::DeadlineMonotonic, system, options)?))
        },
    },
    PolicyInfo {
        name: "g-fp",
        title: "global fixed priorities, as given",
        summary: "the m highest given priorities run, on any CPU",
        refuses: &[ONE_CLUSTER, PRIORITIES],
        options: &[],
        citations: &[&Citation::LIU_LAYLAND],
        build: |system, options| Ok(Box::new(fixed::global(Priorities::Given, system, options)?)),
    },
    PolicyInfo {
        name: "c-fp",
        title: "clustered fixed priorities, as given",
        summary: "global given priorities within each cluster",
        refuses: &[WHOLE_CLUSTER, PRIORITIES],
        options: &[SIZE, CLUSTER_FIT],
        citations: &[&Citation::LIU_LAYLAND, &edf::CALANDRINO],
        build: |system, options| {
            Ok(Box::new(fixed::clustered(Priorities::Given, system, options)?))
        },
    },
    PolicyInfo {
        name: "p-fp",
        title: "partitioned fixed priorities, as given",
        summary: "given priorities on each CPU; tasks never migrate",
        refuses: &[PACKED, PRIORITIES],
        options: &[FIT],
        citations: &[&Citation::LIU_LAYLAND],
        build: |system, options| {
            Ok(Box::new(fixed::partitioned(Priorities::Given, system, options)?))
        },
    },
    PolicyInfo {
        name: "weak-edf",
        title: "EDF with affinities, weak",
        summary: "a job waits only while every CPU of its affinity runs earlier deadlines",
        refuses: &[],
        options: &[],
        citations: &[&Citation::GUJARATI, &affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| affinity::weak::weak(By::Deadline, system, options),
    },
    PolicyInfo {
        name: "weak-rm",
        title: "rate-monotonic with affinities, weak",
        summary: "a job waits only while every CPU of its affinity runs shorter periods",
        refuses: &[],
        options: &[],
        citations: &[&Citation::GUJARATI, &affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| {
            affinity::weak::weak(By::Fixed(Priorities::RateMonotonic), system, options)
        },
    },
    PolicyInfo {
        name: "weak-dm",
        title: "deadline-monotonic with affinities, weak",
        summary: "a job waits only while every CPU of its affinity runs shorter relative deadlines",
        refuses: &[],
        options: &[],
        citations: &[&Citation::GUJARATI, &affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| {
            affinity::weak::weak(By::Fixed(Priorities::DeadlineMonotonic), system, options)
        },
    },
    PolicyInfo {
        name: "weak-fp",
        title: "fixed priorities with affinities, weak",
        summary: "a job waits only while every CPU of its affinity runs higher given priorities",
        refuses: &[PRIORITIES],
        options: &[],
        citations: &[&Citation::GUJARATI, &affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| {
            affinity::weak::weak(By::Fixed(Priorities::Given), system, options)
        },
    },
    PolicyInfo {
        name: "strong-edf",
        title: "EDF with affinities, strong",
        summary: "as weak-edf, also for CPUs that running jobs could free by moving",
        refuses: &[],
        options: &[],
        citations: &[&affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| affinity::strong::strong(By::Deadline, system, options),
    },
    PolicyInfo {
        name: "strong-rm",
        title: "rate-monotonic with affinities, strong",
        summary: "as weak-rm, also for CPUs that running jobs could free by moving",
        refuses: &[],
        options: &[],
        citations: &[&affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| {
            affinity::strong::strong(By::Fixed(Priorities::RateMonotonic), system, options)
        },
    },
    PolicyInfo {
        name: "strong-dm",
        title: "deadline-monotonic with affinities, strong",
        summary: "as weak-dm, also for CPUs that running jobs could free by moving",
        refuses: &[],
        options: &[],
        citations: &[&affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| {
            affinity::strong::strong(By::Fixed(Priorities::DeadlineMonotonic), system, options)
        },
    },
    PolicyInfo {
        name: "strong-fp",
        title: "fixed priorities with affinities, strong",
        summary: "as weak-fp, also for CPUs that running jobs could free by moving",
        refuses: &[PRIORITIES],
        options: &[],
        citations: &[&affinity::CERQUEIRA, &Citation::BONIFACI],
        build: |system, options| {
            affinity::strong::strong(By::Fixed(Priorities::Given), system, options)
        },
    },
    PolicyInfo {
        name: "hpa-edf",
        title: "EDF with hierarchical affinities",
        summary: "as strong-edf, faster, for affinities that are nested or disjoint",
        refuses: &[OVERLAP],
        options: &[affinity::ASSIGN],
        citations: &[&Citation::BONIFACI],
        build: |system, options| {
            affinity::hierarchical::hierarchical(By::Deadline, system, options)
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
            affinity::hierarchical::hierarchical(
                By::Fixed(Priorities::RateMonotonic),
                system,
                options,
            )
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
            affinity::hierarchical::hierarchical(
                By::Fixed(Priorities::DeadlineMonotonic),
                system,
                options,
            )
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
            affinity::hierarchical::hierarchical(By::Fixed(Priorities::Given), system, options)
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

/// The options of a policy, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(Vec<(String, String)>);

impl Options {
    /// The value of an option as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option that is on or off.
    ///
    /// # Errors
    /// If it is neither.
    pub fn switch(&self, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.text(name) {
            None => Ok(default),
            Some("on" | "true") => Ok(true),
            Some("off" | "false") => Ok(false),
            Some(other) => Err(Refusal::invalid(format!("{name}=`{other}` is neither on nor off"))),
        }
    }

    /// The value of an option that is one of these words; none if it is not given.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn one_of<T: Copy>(
        &self,
        option: &OptionInfo,
        values: &[(&str, T)],
    ) -> Result<Option<T>, Refusal> {
        let find = |text: &str| {
            let found = values.iter().find(|(word, _)| *word == text).map(|&(_, value)| value);
            let (name, known) = (option.name, option.values);
            found.ok_or_else(|| Refusal::invalid(format!("{name}=`{text}` is not {known}")))
        };
        self.text(option.name).map(find).transpose()
    }

    /// The value of an option as a number.
    ///
    /// # Errors
    /// If it is not a number.
    pub fn number(&self, name: &str) -> Result<Option<usize>, Refusal> {
        let parse = |text: &str| {
            text.parse().map_err(|_| Refusal::invalid(format!("{name}=`{text}` is not a number")))
        };
        self.text(name).map(parse).transpose()
    }
}

/// Why a policy cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No policy has this name.
    #[error("there is no policy `{name}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownPolicy {
        /// The name as written.
        name: String,
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// The policy has no such option.
    #[error("policy `{policy}` has no option `{option}`{}", known_options(.policy))]
    UnknownOption {
        /// The policy.
        policy: String,
        /// The option as written.
        option: String,
    },
    /// The option cannot have this value.
    #[error("option `{option}` of policy `{policy}` cannot be `{value}`: use {known}")]
    BadValue {
        /// The policy.
        policy: String,
        /// The option.
        option: &'static str,
        /// The value as written.
        value: String,
        /// What it can be.
        known: Values,
    },
    /// The policy cannot schedule this system.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(": did you mean `{name}`?"))
}

fn known_options(policy: &str) -> String {
    let names: Vec<&str> = find(policy)
        .map_or_else(Vec::new, |info| info.options.iter().map(|option| option.name).collect());
    if names.is_empty() {
        ": it has none".to_owned()
    } else {
        format!(": it has {}", names.join(", "))
    }
}

/// The policy of this name.
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    POLICIES.iter().find(|info| info.name == name)
}

/// Splits `name:option=value` into the policy and its options.
///
/// # Errors
/// If the policy or an option does not exist, or an option cannot have its value.
pub fn parse(spec: &str) -> Result<(&'static PolicyInfo, Options), BuildError> {
    let mut parts = spec.split(':');
    let name = parts.next().unwrap_or_default().trim();
    let info = find(name).ok_or_else(|| BuildError::UnknownPolicy {
        name: name.to_owned(),
        nearest: nearest(name),
    })?;
    let mut options = Options::default();
    for part in parts {
        let (option, value) = part.split_once('=').unwrap_or((part, "true"));
        let Some(known) = info.options.iter().find(|known| known.name == option) else {
            return Err(BuildError::UnknownOption {
                policy: name.to_owned(),
                option: option.to_owned(),
            });
        };
        if !known.values.accepts(value) {
            return Err(BuildError::BadValue {
                policy: name.to_owned(),
                option: known.name,
                value: value.to_owned(),
                known: known.values,
            });
        }
        options.0.push((option.to_owned(), value.to_owned()));
    }
    Ok((info, options))
}

impl PolicyInfo {
    /// Builds the policy for a system.
    ///
    /// # Errors
    /// If the policy cannot schedule it.
    pub fn build(&self, system: &System, options: &Options) -> Result<Box<dyn Policy>, Refusal> {
        (self.build)(system, options)
    }
}

/// Builds the policy `name:option=value:..` for a system, which must be valid.
///
/// # Errors
/// As [`parse`], or if the policy cannot schedule this system.
pub fn build(spec: &str, system: &System) -> Result<Box<dyn Policy>, BuildError> {
    let (info, options) = parse(spec)?;
    Ok(info.build(system, &options)?)
}

/// The name at the smallest edit distance, if that is small.
fn nearest(name: &str) -> Option<String> {
    let distance = |other: &str| {
        let mut row: Vec<usize> = (0..=other.chars().count()).collect();
        for (i, a) in name.chars().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i + 1);
            for (j, b) in other.chars().enumerate() {
                let substitute = diagonal + usize::from(a != b);
                diagonal = row[j + 1];
                row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
            }
        }
        *row.last().unwrap_or(&0)
    };
    POLICIES
        .iter()
        .map(|info| (distance(info.name), info.name))
        .min()
        .filter(|&(distance, _)| distance <= 2)
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Duration, Service, Task};

    fn system() -> System {
        System::new(2, vec![Task::implicit("a", Service::from_ms(1), Duration::from_ms(5))])
    }

    #[test]
    fn names_are_unique_and_each_policy_builds() {
        for (at, info) in POLICIES.iter().enumerate() {
            assert!(POLICIES[..at].iter().all(|other| other.name != info.name));
            let mut system = system();
            system.tasks.values_mut().for_each(|task| task.priority = Some(1));
            assert!(build(info.name, &system).is_ok(), "{}", info.name);
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let message = |spec: &str| match build(spec, &system()) {
            Ok(_) => panic!("{spec} was built"),
            Err(error) => error.to_string(),
        };
        assert_eq!(message("gedf"), "there is no policy `gedf`: did you mean `g-edf`?");
        assert_eq!(message("magic"), "there is no policy `magic`");
        assert_eq!(message("p-edf:fir=ff"), "policy `p-edf` has no option `fir`: it has fit");
        assert_eq!(
            message("p-edf:fit=xyz"),
            "option `fit` of policy `p-edf` cannot be `xyz`: use ff, ffd, bf, bfd, wf, wfd, nf, nfd, ef, \
             efd or given"
        );
        assert_eq!(
            message("dl:kernel=6.1"),
            "option `kernel` of policy `dl` cannot be `6.1`: use 5.4, 6.12, 6.18 or 7.2"
        );
        assert!(message("dl:ac=maybe").ends_with("cannot be `maybe`: use on or off"));
        assert!(message("dl:limit=0").ends_with("use a number above 0, such as 19/20 or 0.95"));
        assert!(message("dl:start=0,x").ends_with("use CPUs, such as 0,2,1"));
        assert!(message("c-edf:size=-1").ends_with("use a whole number"));
        assert!(message("c-edf:size=3").contains("cannot split 2 CPUs into clusters of 3"));
        assert!(message("g-fp").starts_with("task `a` has no priority"));
    }

    /// What an option is said to accept, its policy accepts; whether it does for this system is another
    /// question.
    #[test]
    fn every_value_that_is_named_is_known() {
        let mut system = system();
        system.tasks.values_mut().for_each(|task| task.priority = Some(1));
        for info in POLICIES {
            for option in info.options {
                let words: &[&str] = match option.values {
                    Values::Switch => &["on", "off"],
                    Values::OneOf(words) => words,
                    Values::Number => &["1", "2"],
                    Values::Rate => &["19/20", "0.95", "1"],
                    Values::Cpus => &["0", "1"],
                    Values::Bins => &["0"],
                };
                for word in words {
                    let spec = format!("{}:{}={word}", info.name, option.name);
                    match build(&spec, &system) {
                        Ok(_) => {}
                        Err(error) => {
                            assert!(error.to_string().contains("affinity to one CPU"), "{error}");
                        }
                    }
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_policy_or_an_error(
            text in ".{0,40}",
            option in "(dl|p-edf|c-edf|apedf|hpa-rm)(:(fit|size|tie|ac|limit|start|grub_pa|kernel|assign)=[-0-9a-z,/.]{0,8}){0,3}",
        ) {
            let _ = build(&text, &system());
            let _ = build(&option, &system());
        }
    }
}
