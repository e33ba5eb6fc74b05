//! Mixed criticality on each CPU (Huang, Gill, Lu 2014): the analyses of `layland-offline` as tests.
//!
//! | file | tests | policies |
//! |---|---|---|
//! | `fixed.rs` | [`SMC_RM`], [`SMC_CM`], [`FTP_SMC`] | `rms`, `cms`, `smc`: fixed priorities with a cut-off |
//! | `adaptive.rs` | [`AMC_RT`], [`AMC_MAX`], [`AMC_IA`], [`AMC_IA_PAPER`] | `amc` |
//! | `period_transformation.rs` | [`PT`], [`PT_PAPER`] | `pt` |
//! | `zero_slack.rs` | [`ZSS`], [`ZSS_PAPER`] | `zss` |
//! | `fixed_job.rs` | [`FJP`], [`FJP_LB`], [`FJP_IJA_PAPER`], [`FJP_IJA_FLOOR`] | `plrs`, `ocbp` |
//! | `virtual_deadlines.rs` | [`EDF_VD`], [`EDF_VD_WHOLE`], [`EKBERG_YI`] | `edf-vd` |
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart, (3) no
//! release jitter, (4) `D_i <= T_i`, (5) execution times do not grow above a task's own level,
//! (6) no job executes for longer than the execution time of its own level, (7) overheads are part
//! of it, (8) unit speeds, (9) nothing changes while the system runs, (10) few pairs of tasks share
//! a CPU; AMC-MAX: (11) at most two criticality levels; PT-PAPER, EDF-VD, EDF-VD-WHOLE:
//! (11) `D_i = T_i`. Jobs do not block or suspend themselves. Equal priorities go to the smaller
//! rank.
//!
//! **The promise of a *yes*** ([`crate::Subject::Covered`]). A run belongs to level `l` if no job
//! of a task of level `l` or above executes for longer than `C(l)`; tasks below may do anything.
//! Then each job of the tasks of level `l` or above meets its deadline. With one level, every
//! deadline is met.
//!
//! The tests are sufficient; a test that fails or gives up says *unknown*. The tests named `PAPER`
//! and FJP-IJA-FLOOR follow the paper literally ([`crate::Subject::Unsound`]): their *yes* promises
//! nothing, and serves to reproduce the paper's figures.

mod adaptive;
mod fixed;
mod fixed_job;
mod kept;
mod period_transformation;
mod virtual_deadlines;
mod zero_slack;

pub use adaptive::{
    AMC_IA, AMC_IA_PAPER, AMC_IA_RESPONSES, AMC_MAX, AMC_MAX_RESPONSES, AMC_RT, AMC_RT_RESPONSES,
    AMC_RT_RM_RESPONSES,
};
pub use fixed::{FTP_SMC, FTP_SMC_RESPONSES, SMC_CM, SMC_CM_RESPONSES, SMC_RM, SMC_RM_RESPONSES};
pub use fixed_job::{FJP, FJP_IJA_FLOOR, FJP_IJA_PAPER, FJP_LB};
pub use kept::{Orders, orders, under};
pub use period_transformation::{PT, PT_PAPER};
pub use virtual_deadlines::{EDF_VD, EDF_VD_WHOLE, EKBERG_YI};
pub use zero_slack::{ZSS, ZSS_PAPER};

use crate::Assumption::{self, *};
use crate::group::{Group, together};
use crate::{Citation, Evidence, Finding, Part, Reason, ResponseBound, Verdict};
use layland_model::{Duration, System, TaskId, TaskMap};
use layland_offline::criticality::{Answer, Assignment, MixedSet};

/// Vestal 2007.
pub const VESTAL: Citation = Citation {
    key: "vestal2007preemptive",
    text: "S. Vestal. Preemptive scheduling of multi-criticality systems with varying degrees of \
           execution time assurance. RTSS 2007, pages 239-243.",
    bibtex: "@inproceedings{vestal2007preemptive,
  author    = {Steve Vestal},
  title     = {Preemptive Scheduling of Multi-Criticality Systems with Varying Degrees of Execution Time Assurance},
  booktitle = {28th IEEE Real-Time Systems Symposium (RTSS)}, pages = {239--243}, year = {2007},
  doi       = {10.1109/RTSS.2007.47}
}",
};

/// The assumptions of every test.
const PER_CPU: &[Assumption] = &[
    OneCpuEach,
    SporadicReleases,
    NoJitter,
    ConstrainedDeadlines,
    OwnLevel,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    NoRequests,
    FewPairs,
];

/// The tasks of one CPU.
struct Cpu {
    set: MixedSet,
    /// The ids of the tasks in the system, in the order of the set.
    tasks: Vec<TaskId>,
}

impl Cpu {
    /// Translates tasks of the set to tasks of the system.
    fn named(&self, tasks: &[TaskId]) -> Vec<TaskId> {
        tasks.iter().map(|task| self.tasks[task.0 as usize]).collect()
    }

    /// Returns the finding for an answer, with the reason for a *yes* or for a failure.
    fn finding(&self, answer: Answer, reason: Reason) -> Finding {
        match answer {
            Answer::Schedulable => Finding::new(Verdict::Yes, reason),
            Answer::NotSchedulable => Finding::new(Verdict::Unknown, reason),
            Answer::GaveUp => Finding::new(Verdict::Unknown, Reason::Holds(GAVE_UP)),
        }
    }

    /// Returns the finding of a search for priorities.
    fn assigned<R>(&self, found: Assignment<R>) -> Finding {
        let answer = found.answer();
        let reason = match found {
            Assignment::Found(found) => Reason::PriorityOrder(self.named(&found.order)),
            Assignment::NoneCanBeLowest(left) | Assignment::GaveUp(left) => {
                Reason::NoneCanBeLowest(self.named(&left))
            }
        };
        self.finding(answer, reason)
    }
}

const GAVE_UP: &str = "the analysis takes more steps than it may";

/// The CPUs that have tasks.
fn cpus(system: &System) -> impl Iterator<Item = Cpu> {
    Group::affinities(system).into_iter().map(|group| {
        let tasks: Vec<TaskId> = group.tasks.iter().map(|&(id, _)| id).collect();
        let set = MixedSet::of_tasks(system, &tasks).expect("a valid system keeps the assumptions");
        Cpu { set, tasks }
    })
}

/// Combines the findings of the CPUs.
fn each_cpu(system: &System, decide: impl Fn(&Cpu) -> Finding) -> Finding {
    together(cpus(system).map(|cpu| decide(&cpu)))
}

/// Tasks from the highest priority down, with their response times.
type OrderedResponses = Vec<(TaskId, Vec<Duration>)>;

/// The evidence of each CPU: its tasks, the highest priority first, with their response times.
fn each_part(
    system: &System,
    find: impl Fn(&Cpu) -> Result<OrderedResponses, &'static str>,
) -> Result<Vec<Part>, &'static str> {
    let part = |cpu: Cpu| {
        let found = find(&cpu)?;
        let named = found.into_iter().map(|(task, found)| (cpu.tasks[task.0 as usize], found));
        let evidence = Evidence::Levels(named.collect());
        Ok(Part { cpus: system.allowed_cpus(cpu.tasks[0]), tasks: cpu.tasks.clone(), evidence })
    };
    cpus(system).map(part).collect()
}

/// The bounds of the tasks of each CPU that have bounds: one for every run, or one for each level.
fn responses(
    system: &System,
    of: impl Fn(&Cpu) -> TaskMap<Option<Vec<Duration>>>,
) -> TaskMap<Option<ResponseBound>> {
    let mut all = TaskMap::filled(None, system.tasks.len());
    for cpu in cpus(system) {
        for (at, levels) in of(&cpu).iter() {
            let task = cpu.tasks[at.0 as usize];
            let levels = levels.clone().unwrap_or_default();
            let Some(&response) = levels.iter().max() else { continue };
            let per_level = if levels.len() > 1 { levels } else { Vec::new() };
            all[task] = Some(ResponseBound { task, response, per_level });
        }
    }
    all
}
