//! Zero-slack scheduling (de Niz, Lakshmanan, Rajkumar 2009; Huang et al. 2014, Section 2.3).
//! **Sufficient** for the promise of [`Subject::Covered`].
//! `layland_offline::criticality::zero_slack` has the rules.

use super::{Cpu, PER_CPU, each_cpu};
use crate::{Certify, Citation, Decide, Finding, Reason, SchedulabilityTest, Subject, TestKind};
use layland_model::{Algorithm, Protection};
use layland_offline::criticality::zero_slack::{ZeroSlack, paper, safe};

/// Zero-slack instants that hold for every pattern of releases.
pub const ZSS: SchedulabilityTest = SchedulabilityTest {
    name: "ZSS",
    title: "zero-slack scheduling: instants that hold for every pattern of releases",
    subject: Subject::Covered(&[Algorithm::MixedCriticality(Protection::ZeroSlack)]),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: &[&Citation::HUANG, &Citation::DE_NIZ],
    certify: Certify::Without(
        "the instants hold by a fixed point over all patterns, which has no short form",
    ),
    decide: Decide::by(|system| each_cpu(system, |cpu| finding(cpu, &safe(&cpu.set)))),
};

/// The original method, reconstructed.
pub const ZSS_PAPER: SchedulabilityTest = SchedulabilityTest {
    name: "ZSS-PAPER",
    title: "zero-slack scheduling: the original method, reconstructed; not safe",
    subject: Subject::Unsound(
        &[Algorithm::MixedCriticality(Protection::ZeroSlack)],
        "The zero-slack instant 6 of Table I is too late if the low task may be released with an offset of 2; 4 \
         is safe. ZSS-PAPER is a reconstruction of the original method; the improved analysis of 2012 may differ.",
    ),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: &[&Citation::HUANG, &Citation::DE_NIZ],
    certify: Certify::Without("not safe: it decides nothing"),
    decide: Decide::by(|system| each_cpu(system, |cpu| finding(cpu, &paper(&cpu.set)))),
};

fn finding(cpu: &Cpu, found: &ZeroSlack) -> Finding {
    let late =
        found.zero_slack.iter().find_map(|(task, instant)| instant.is_none().then_some(task));
    let reason = match late {
        Some(task) => Reason::MayBeLate(cpu.tasks[task.0 as usize]),
        None => Reason::PriorityOrder(cpu.named(&found.order)),
    };
    cpu.finding(found.answer, reason)
}
