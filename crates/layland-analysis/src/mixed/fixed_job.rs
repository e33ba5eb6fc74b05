//! Fixed job priorities (Li, Baruah 2010; Huang et al. 2014, Section 3.2), with the lists reused at
//! run time as in PLRS (Guan, Ekberg, Stigge, Yi 2011), or computed anew. **Sufficient** for the
//! promise of [`Subject::Covered`]. `layland_offline::criticality::fjp` has the patterns and the
//! tests. The verdict is *unknown* if a busy period has more than 20,000 jobs.

use super::{Cpu, PER_CPU, each_cpu};
use crate::{
    Certify, Citation, Decide, Finding, Reason, SchedulabilityTest, Subject, TestKind, Verdict,
};
use layland_model::{Algorithm, Protection};
use layland_offline::criticality::{Answer, fjp};

/// Li and Baruah 2010: the pattern from the load.
const LI_LOAD: Citation = Citation {
    key: "li2010load",
    text: "H. Li and S. Baruah. Load-based schedulability analysis of certifiable mixed-criticality \
           systems. EMSOFT 2010, pages 99-108.",
    bibtex: "@inproceedings{li2010load,
  author    = {Haohan Li and Sanjoy Baruah},
  title     = {Load-Based Schedulability Analysis of Certifiable Mixed-Criticality Systems},
  booktitle = {10th ACM International Conference on Embedded Software (EMSOFT)}, pages = {99--108},
  year      = {2010}
}",
};

/// The policies that reuse lists or compute them anew; the guarantee is equal.
const JOB_PRIORITIES: &[Algorithm] = &[
    Algorithm::MixedCriticality(Protection::PriorityLists),
    Algorithm::MixedCriticality(Protection::RecomputedPriorities),
];

const CITATIONS: &[&Citation] = &[&Citation::HUANG, &Citation::LI_2010, &Citation::GUAN_2011];

/// A pattern that no run exceeds.
pub const FJP: SchedulabilityTest = SchedulabilityTest {
    name: "FJP",
    title: "fixed job priorities: a job pattern and delays that no run exceeds",
    subject: Subject::Covered(JOB_PRIORITIES),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    certify: Certify::Without("a pattern has as many jobs as a busy period"),
    decide: Decide::by(|system| {
        each_cpu(system, |cpu| {
            let (answer, jobs) = fjp::decide(&cpu.set, fjp::JOBS);
            finding(cpu, answer, jobs)
        })
    }),
};

/// A pattern from the load: the lists of `plrs:lists=lb` and `ocbp:lists=lb`.
pub const FJP_LB: SchedulabilityTest = SchedulabilityTest {
    name: "FJP-LB",
    title: "fixed job priorities: a job pattern from the load",
    subject: Subject::Covered(JOB_PRIORITIES),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: &[&Citation::HUANG, &LI_LOAD, &Citation::LI_2010, &Citation::GUAN_2011],
    certify: Certify::Without("a pattern has as many jobs as a busy period"),
    decide: Decide::by(|system| {
        each_cpu(system, |cpu| {
            let found = fjp::load_based(&cpu.set, fjp::JOBS);
            finding(cpu, found.answer, found.total())
        })
    }),
};

const IJA: Subject = Subject::Unsound(
    JOB_PRIORITIES,
    "With the job executions of the pattern, which the paper's worked example needs, it accepts the tasks \
     (T,D,level,C) = (3,3,0,[2,2]), (7,7,1,[2,6]), a set that no online scheduler can guarantee.",
);

/// FJP-IJA as in the paper's worked example.
pub const FJP_IJA_PAPER: SchedulabilityTest = SchedulabilityTest {
    name: "FJP-IJA-PAPER",
    title: "fixed job priorities: the improved job-arrival pattern of the paper; not safe",
    subject: IJA,
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    certify: Certify::Without("not safe: it decides nothing"),
    decide: Decide::by(|system| {
        each_cpu(system, |cpu| pattern(cpu, &fjp::ija_paper(&cpu.set, fjp::JOBS)))
    }),
};

/// FJP-IJA with high jobs counted by a floor.
pub const FJP_IJA_FLOOR: SchedulabilityTest = SchedulabilityTest {
    name: "FJP-IJA-FLOOR",
    title: "fixed job priorities: the improved job-arrival pattern, read with a floor; not safe",
    subject: Subject::Unsound(
        JOB_PRIORITIES,
        "It accepts the tasks (T,D,level,C) = (7,7,0,[4,4]), (18,18,1,[7,11]), in which the high one misses if it \
         overruns between releases of the low one at 2, 9 and 16.",
    ),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    certify: Certify::Without("not safe: it decides nothing"),
    decide: Decide::by(|system| {
        each_cpu(system, |cpu| pattern(cpu, &fjp::ija_floor(&cpu.set, fjp::JOBS)))
    }),
};

fn pattern(cpu: &Cpu, found: &fjp::Pattern) -> Finding {
    finding(cpu, found.answer, found.total())
}

fn finding(cpu: &Cpu, answer: Answer, jobs: Option<u64>) -> Finding {
    let reason = match (jobs, answer) {
        (Some(jobs), Answer::Schedulable) => Reason::JobPattern { jobs, placed: Some(true) },
        (Some(jobs), Answer::NotSchedulable) => Reason::JobPattern { jobs, placed: Some(false) },
        (Some(jobs), Answer::GaveUp) => {
            let reason = Reason::JobPattern { jobs, placed: None };
            return Finding::new(Verdict::Unknown, reason);
        }
        (None, _) => Reason::Holds("the tasks of some level leave no time at that level"),
    };
    cpu.finding(answer, reason)
}
