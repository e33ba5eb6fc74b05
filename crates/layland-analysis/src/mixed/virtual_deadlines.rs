//! EDF with virtual deadlines (Baruah et al. 2012; Ekberg, Yi 2012, 2014). **Sufficient** for the
//! promise of [`Subject::Covered`]. `layland_offline::criticality::virtual_deadlines` has the
//! tests: none of the three dominates another.
//!
//! With more than two levels, the tests try one cut between levels after another. The virtual
//! deadlines apply to the tasks above the cut.

use super::{Cpu, PER_CPU, each_cpu};
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Subject,
    TestKind,
};
use layland_model::{Algorithm, Criticality, DeadlineChoice, Protection, Rate, System};
use layland_offline::criticality::MixedSet;
use layland_offline::criticality::virtual_deadlines::{
    Factors, VirtualDeadlines, exact, factors, tuned, whole,
};

const fn edf_vd(deadlines: DeadlineChoice) -> Algorithm {
    Algorithm::MixedCriticality(Protection::VirtualDeadlines(deadlines))
}

/// EDF-VD with any virtual deadlines. The policy itself ensures that those with which it runs keep
/// the promise.
const EDF_VD_ALL: &[Algorithm] =
    &[edf_vd(DeadlineChoice::Exact), edf_vd(DeadlineChoice::Whole), edf_vd(DeadlineChoice::Tuned)];

const IMPLICIT: &[Assumption] = &and::<11>(PER_CPU, ImplicitDeadlines);

/// The test by utilizations: there is a factor for the periods.
///
/// ```
/// use layland_analysis::{Verdict, mixed::EDF_VD};
/// use layland_model::{Criticality, Duration, Levels, Service, System, Task};
/// // A low task 4 of 10, and a high one 3, at most 8, of 10: the only factor is 1/2.
/// let ms = |wcets: &[i64]| wcets.iter().map(|&wcet| Service::from_ms(wcet)).collect();
/// let task = |level, wcets: &[i64]| {
///     let mut task = Task::implicit(format!("{level}"), Service::from_ms(1), Duration::from_ms(10));
///     (task.wcet, task.criticality) = (ms(wcets), Criticality(level));
///     task
/// };
/// let mut system = System::new(1, vec![task(0, &[4, 4]), task(1, &[3, 8])]);
/// system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
/// let finding = EDF_VD.run(&system).unwrap();
/// assert_eq!(finding.verdict, Verdict::Yes);
/// let why = finding.reasons[0].describe(&system);
/// assert_eq!(why, "the least factor for virtual deadlines is 0.5, within 0.5");
/// ```
pub const EDF_VD: SchedulabilityTest = SchedulabilityTest {
    name: "EDF-VD",
    title: "EDF with virtual deadlines: utilizations of both modes",
    subject: Subject::Covered(EDF_VD_ALL),
    kind: TestKind::Sufficient,
    assumptions: IMPLICIT,
    citations: &[&Citation::BARUAH_2012],
    certify: Certify::Without("the factor of virtual deadlines has no certificate yet"),
    decide: Decide::by(|system| each_cpu(system, |cpu| by_factor(cpu, system, exact(&cpu.set)))),
};

/// [`EDF_VD`] with virtual deadlines in whole nanoseconds.
pub const EDF_VD_WHOLE: SchedulabilityTest = SchedulabilityTest {
    name: "EDF-VD-WHOLE",
    title: "EDF with virtual deadlines in whole nanoseconds: densities, or the demand of both modes",
    subject: Subject::Covered(EDF_VD_ALL),
    kind: TestKind::Sufficient,
    assumptions: IMPLICIT,
    citations: &[&Citation::BARUAH_2012, &Citation::EKBERG_YI],
    certify: Certify::Without("the factor of virtual deadlines has no certificate yet"),
    decide: Decide::by(|system| each_cpu(system, |cpu| by_search(cpu, whole(&cpu.set)))),
};

/// The demand of both modes, with the virtual deadlines of a search.
pub const EKBERG_YI: SchedulabilityTest = SchedulabilityTest {
    name: "EKBERG-YI",
    title: "EDF with virtual deadlines: the demand of both modes, shaped by a search",
    subject: Subject::Covered(EDF_VD_ALL),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: &[&Citation::EKBERG_YI],
    certify: Certify::Without("the demand of both modes has no certificate yet"),
    decide: Decide::by(|system| each_cpu(system, |cpu| by_search(cpu, tuned(&cpu.set)))),
};

const PLAINLY: &str = "all tasks fit with the bounds of their own levels: no job is dropped";
const OVERFULL: &str = "in each cut of the levels one mode alone needs more than the CPU";

fn by_factor(cpu: &Cpu, system: &System, found: VirtualDeadlines) -> Finding {
    let at = |cut: Criticality| factors(&cpu.set, cut);
    let reason = match &found {
        VirtualDeadlines::Plain => Reason::Holds(PLAINLY),
        VirtualDeadlines::Modes(modes) => compared(cpu, system, at(modes.cut)),
        // Of several cuts, report the first that has any factors.
        VirtualDeadlines::Rejected | VirtualDeadlines::GaveUp => {
            compared(cpu, system, levels(&cpu.set).find_map(at))
        }
    };
    cpu.finding(found.answer(), reason)
}

fn levels(set: &MixedSet) -> impl Iterator<Item = Criticality> + use<> {
    (0..set.levels() as u8).map(Criticality)
}

fn compared(cpu: &Cpu, system: &System, factors: Option<Factors>) -> Reason {
    let Some(Factors { least, most }) = factors else { return Reason::Holds(OVERFULL) };
    let holds = least <= most;
    let number = |rate: Rate| Quantity::Number(rate);
    let scope = Scope::cpus(&system.allowed_cpus(cpu.tasks[0]));
    let what = "the least factor for virtual deadlines";
    Reason::compared(what, scope, number(least), number(most), holds)
}

fn by_search(cpu: &Cpu, found: VirtualDeadlines) -> Finding {
    let reason = match &found {
        VirtualDeadlines::Plain => PLAINLY,
        VirtualDeadlines::Modes(_) => "the demand of both modes is within every length",
        VirtualDeadlines::Rejected => "no virtual deadlines were found for which both modes fit",
        VirtualDeadlines::GaveUp => super::GAVE_UP,
    };
    cpu.finding(found.answer(), Reason::Holds(reason))
}
