//! The descriptions of the mechanisms, with their options.

use super::edf_vd::{DEADLINES, deadlines, edf_vd};
use super::offline::{AMC_ORDERS, SMC_ORDERS, amc, cms, ocbp, order, plrs, pt, rms, smc, zss};
use crate::Policy;
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::shell::groups;
use layland_model::{
    AdaptiveOrder, Algorithm, Citation, CutOffOrder, DeadlineChoice, Protection, System,
};

fn order_option<T>(help: &'static str, words: &[(&'static str, T)]) -> OptionInfo {
    OptionInfo::new("order", help, Values::one_of(words.iter().map(|&(word, _)| word)))
}

const MODEL: &str =
    "deadlines longer than periods, and execution times that grow above a task's own level";
const REJECTED: &str = "task sets for which its analysis finds no parameters, or no CPU for a task";

/// Returns the mechanisms, in the order in which lists show them.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    type Build = fn(&System, &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal>;
    let info = |name, title, summary, build: Build, own: Vec<OptionInfo>| {
        let ties = match name {
            "plrs" | "ocbp" => {
                "the priorities of jobs all differ; jobs that the lists leave equal go by the smaller rank"
            }
            "edf-vd" => "of equal deadlines, virtual or real, the smaller rank comes first",
            _ => {
                "the priorities of tasks all differ; equal tasks in their order go by the smaller rank, then by their \
                 order in the set"
            }
        };
        PolicyInfo::new(name, title, summary, build)
            .refusing([MODEL, REJECTED])
            .breaking_ties(ties)
            .with_options(own.into_iter().chain([groups::fit(), sort(name)]))
    };
    let is = |protection| Algorithm::MixedCriticality(protection);
    vec![
        info(
            "smc",
            "static mixed criticality",
            "fixed priorities on each CPU; a job is aborted when it exceeds the bound of its own level",
            smc,
            vec![order_option(
                "audsley (default), the best order for the test of SMC; rm or cm: rate- or \
                 criticality-monotonic",
                &SMC_ORDERS,
            )],
        )
        .implementing_by(move |options| {
            is(Protection::CutOff(order(options, &SMC_ORDERS).unwrap_or(CutOffOrder::Audsley)))
        })
        .citing([Citation::HUANG, Citation::BARUAH_2011]),
        info(
            "rms",
            "rate-monotonic with a cut-off",
            "smc with the shorter period first",
            rms,
            Vec::new(),
        )
        .implementing(is(Protection::CutOff(CutOffOrder::RateMonotonic)))
        .citing([Citation::LIU_LAYLAND, Citation::HUANG]),
        info(
            "cms",
            "criticality-monotonic with a cut-off",
            "smc with the higher criticality first",
            cms,
            Vec::new(),
        )
        .implementing(is(Protection::CutOff(CutOffOrder::CriticalityMonotonic)))
        .citing([Citation::HUANG]),
        info(
            "amc",
            "adaptive mixed criticality",
            "fixed priorities on each CPU; an overrun drops the tasks of lower criticality until it idles",
            amc,
            vec![
                order_option(
                    "the best order for a test: amc-rt (default), amc-max (two levels), amc-ia, \
                     amc-ia-paper (not safe: it can miss deadlines); or rm: rate-monotonic",
                    &AMC_ORDERS,
                ),
                own_overrun_option(),
            ],
        )
        .implementing_by(move |options| {
            is(Protection::Adaptive(order(options, &AMC_ORDERS).unwrap_or(AdaptiveOrder::AmcRt)))
        })
        .citing([Citation::BARUAH_2011, Citation::HUANG]),
        info(
            "zss",
            "zero-slack scheduling",
            "rate-monotonic on each CPU; at its zero-slack instant a job suspends tasks of lower criticality",
            zss,
            vec![instants(), late()],
        )
        .implementing(is(Protection::ZeroSlack))
        .citing([Citation::DE_NIZ, Citation::HUANG]),
        info(
            "pt",
            "period transformation",
            "on each CPU budgets in slices, so that the rate-monotonic order follows criticality",
            pt,
            Vec::new(),
        )
        .implementing(is(Protection::PeriodTransformation))
        .citing([Citation::SHA, Citation::HUANG]),
        info(
            "plrs",
            "priority list reuse scheduling",
            "fixed job priorities on each CPU, from lists; an overrun drops jobs of lower criticality",
            plrs,
            vec![lists(), own_overrun_option()],
        )
        .implementing(is(Protection::PriorityLists))
        .citing([Citation::GUAN_2011, Citation::HUANG]),
        info(
            "ocbp",
            "own criticality-based priorities, recomputed at run time",
            "plrs, but when a job preempts, priorities are computed again and not reused",
            ocbp,
            vec![lists(), releases(), own_overrun_option()],
        )
        .implementing(is(Protection::RecomputedPriorities))
        .citing([Citation::LI_2010, Citation::HUANG]),
        info(
            "edf-vd",
            "EDF with virtual deadlines",
            "EDF on each CPU, with earlier deadlines for high tasks until one overruns, which drops low ones",
            edf_vd,
            vec![deadlines_option()],
        )
        .implementing_by(move |options| {
            is(Protection::VirtualDeadlines(deadlines(options).unwrap_or(DeadlineChoice::Exact)))
        })
        .citing([Citation::BARUAH_2012, Citation::EKBERG_YI]),
    ]
}

fn deadlines_option() -> OptionInfo {
    OptionInfo::new(
        "deadlines",
        "virtual deadlines: exact (default), the periods times a factor, for deadlines equal to periods; whole: the \
         same in whole nanoseconds; or tuned: by Ekberg and Yi's search",
        Values::one_of(DEADLINES.iter().map(|&(word, _)| word)),
    )
}

fn own_overrun_option() -> OptionInfo {
    OptionInfo::new(
        "own_overrun",
        "a job that exceeds its own bound: raise (default) the indicator above it, or cut that job alone",
        Values::one_of(["raise", "cut"]),
    )
}

fn instants() -> OptionInfo {
    OptionInfo::new(
        "instants",
        "zero-slack instants: safe (default), or paper (not safe: they can come too late)",
        Values::one_of(["safe", "paper"]),
    )
}

fn late() -> OptionInfo {
    OptionInfo::new(
        "late",
        "a late job: suspend (default) the tasks up to its criticality, or demote it below all others",
        Values::one_of(["suspend", "demote"]),
    )
}

fn lists() -> OptionInfo {
    OptionInfo::new(
        "lists",
        "the priorities of jobs: safe (default), lb (from the load), or ija, ija-floor (not safe: they can \
           miss deadlines)",
        Values::one_of(["safe", "lb", "ija", "ija-floor"]),
    )
}

fn releases() -> OptionInfo {
    OptionInfo::new(
        "releases",
        "the releases that new priorities assume: of each task as soon as possible (default) after its last job; or \
           of all together, at once",
        Values::one_of(["possible", "together"]),
    )
}

fn sort(name: &str) -> OptionInfo {
    let help = match name {
        "edf-vd" => {
            "the order in which tasks are assigned: criticality (default), the highest first; or size, as fit says"
        }
        _ => {
            "the order in which tasks are assigned: size (default), as fit says; or criticality, the highest first"
        }
    };
    OptionInfo::new("sort", help, Values::one_of(["size", "criticality"]))
}
