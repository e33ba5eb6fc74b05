//! Adaptive mixed criticality (AMC) with the best fixed priorities (Huang et al. 2014, Sections 2.3 and 3.1;
//! Baruah, Burns, Davis 2011). **Sufficient** for what [`Subject::Covered`] says: AMC-RT, AMC-MAX, AMC-IA; each accepts
//! what the one before it accepts. `layland_mixed` has the recurrences.

use super::{PER_CPU, each_cpu};
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::{Citation, Kind, SchedulabilityTest, Subject};
use layland_mixed::{amc_ia, amc_max, amc_rt};

const CITATIONS: &[&Citation] = &[&Citation::HUANG, &Citation::BARUAH_2011];

const TWO_LEVELS: &[Assumption] = &and::<10>(PER_CPU, TwoCriticalities);

/// AMC-RT: response times per level.
pub const AMC_RT: SchedulabilityTest = SchedulabilityTest {
    name: "AMC-RT",
    title: "adaptive mixed criticality: response times per level",
    subject: Subject::Covered(&["amc"]),
    kind: Kind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    decide: |system| each_cpu(system, |cpu| cpu.assigned(amc_rt::order(&cpu.set))),
};

/// AMC-MAX: every instant of the change, for two levels.
pub const AMC_MAX: SchedulabilityTest = SchedulabilityTest {
    name: "AMC-MAX",
    title: "adaptive mixed criticality: the worst over all instants of the mode change",
    subject: Subject::Covered(&["amc"]),
    kind: Kind::Sufficient,
    assumptions: TWO_LEVELS,
    citations: CITATIONS,
    decide: |system| {
        each_cpu(system, |cpu| {
            cpu.assigned(amc_max::amc_max(&cpu.set).expect("there are at most two levels"))
        })
    },
};

/// AMC-IA, corrected: sequences of changes over all levels.
pub const AMC_IA: SchedulabilityTest = SchedulabilityTest {
    name: "AMC-IA",
    title: "adaptive mixed criticality: the worst over all sequences of mode changes (corrected)",
    subject: Subject::Covered(&["amc"]),
    kind: Kind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    decide: |system| {
        each_cpu(system, |cpu| cpu.assigned(amc_ia::safe_order(&cpu.set, amc_ia::FIXED_POINTS)))
    },
};

/// AMC-IA as the paper has it.
pub const AMC_IA_PAPER: SchedulabilityTest = SchedulabilityTest {
    name: "AMC-IA-PAPER",
    title: "adaptive mixed criticality: improved analysis, as in the paper; not safe",
    subject: Subject::Unsound(
        &["amc"],
        "Not safe: for the tasks (T,D,level,C) = (16,16,1,[5,8]), (4,4,0,[1,1]), (4,4,1,[1,2]) it gives 16 for \
         the first, equal to the deadline, for every choice of change points; released together and run periodically, \
         the task misses. A low job released between the last deadline and the mode change is not counted. \
         AMC-IA is a corrected version, never better than AMC-MAX in our experiments with two levels.",
    ),
    kind: Kind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    decide: |system| {
        each_cpu(system, |cpu| cpu.assigned(amc_ia::paper_order(&cpu.set, amc_ia::FIXED_POINTS)))
    },
};
