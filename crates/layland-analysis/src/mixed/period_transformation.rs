//! Period transformation (Sha, Lehoczky, Rajkumar 1986; Huang et al. 2014, Eq. 3). **Sufficient**
//! for the promise of [`Subject::Covered`], with slices in whole nanoseconds.
//! `layland_offline::criticality::period_transformation` has the equation.

use super::{Cpu, PER_CPU, each_cpu};
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::{Certify, Citation, Decide, Finding, Reason, SchedulabilityTest, Subject, TestKind};
use layland_model::{Algorithm, Protection};
use layland_offline::criticality::period_transformation::{Transformed, paper, safe};

const IMPLICIT: &[Assumption] = &and::<11>(PER_CPU, ImplicitDeadlines);

/// Each slice ends in its own segment.
pub const PT: SchedulabilityTest = SchedulabilityTest {
    name: "PT",
    title: "period transformation: every slice is finished in its own segment",
    subject: Subject::Covered(&[Algorithm::MixedCriticality(Protection::PeriodTransformation)]),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: &[&Citation::HUANG, &Citation::SHA],
    certify: Certify::Without("the slices of its budgets have no certificate yet"),
    decide: Decide::by(|system| each_cpu(system, |cpu| finding(cpu, &safe(&cpu.set, 1)))),
};

/// Eq. 3 compared with the deadline.
pub const PT_PAPER: SchedulabilityTest = SchedulabilityTest {
    name: "PT-PAPER",
    title: "period transformation as in the paper; not safe",
    subject: Subject::Unsound(
        &[Algorithm::MixedCriticality(Protection::PeriodTransformation)],
        "With the first term of Eq. 3 read as a floor and the result compared with the task's deadline, the test accepts \
         the tasks (T,D,level,C) = (6,6,0,[1,1]), (12,12,1,[3,6]), (4,4,1,[1,2]), in which the budget enforcement \
         postpones a slice and the job misses. Comparing the slice with its own segment, as PT does, repairs it.",
    ),
    kind: TestKind::Sufficient,
    assumptions: IMPLICIT,
    citations: &[&Citation::HUANG, &Citation::SHA],
    certify: Certify::Without("not safe: it decides nothing"),
    decide: Decide::by(|system| each_cpu(system, |cpu| finding(cpu, &paper(&cpu.set, 1)))),
};

fn finding(cpu: &Cpu, found: &Transformed) -> Finding {
    let late = found.response.iter().find_map(|(task, bound)| bound.is_err().then_some(task));
    let reason = match late {
        Some(task) => Reason::MayBeLate(cpu.tasks[task.0 as usize]),
        None => Reason::PriorityOrder(cpu.named(&found.order)),
    };
    cpu.finding(found.answer, reason)
}
