//! **LLF**, least laxity first, with a quantum (Dertouzos and Mok 1989), and **MLLF**, the modified form that thrashes
//! less (Oh and Yang 1998).
//!
//! The *laxity* of a job is the time for which it can still wait: the time to its deadline, less
//! the rest of its WCET. It stays constant while the job runs, and falls while it waits. Both
//! policies run the `m` ready jobs of the least laxity; they differ in the times of their
//! decisions, and in ties.
//!
//! | papers | here | meaning |
//! |---|---|---|
//! | laxity | `zero_laxity_at(job) - now` | the time for which a job can wait |
//! | `L_a` | laxity of the last running job | the last in the order of the running jobs |
//! | `D_min` | deadline of the first waiting job | the first in the order of the waiting jobs |
//!
//! **LLF** is optimal on one CPU. As defined it would switch endlessly between jobs of equal
//! laxity, because the waiting one immediately comes before the other. With a quantum, it decides
//! when a job arrives or ends, and at each multiple of the quantum while a job waits. Ties: among
//! equal laxities a running job comes first (`tie=rank` omits this rule, as SimSo does), then the
//! smaller rank, then the smaller id.
//!
//! **MLLF** lets the running job continue although a waiting one now has less laxity (*laxity
//! inversion*), until that would make the waiting one late: it decides when a job arrives or ends,
//! at `D_min - L_a`, and when a waiting job has no laxity left. Ties: among equal laxities the
//! earlier deadline comes first, then the smaller rank, then the smaller id.
//!
//! A job that arrives while the previous job of its task is pending is not ready, but the policies
//! decide anyway.
//!
//! Deviations, and cases that the papers leave out:
//! - the paper of MLLF is about one CPU, and only its abstract was available. `D_min - L_a` follows
//!   SimSo's interpretation. The decision when a waiting job has no laxity left is our addition: it
//!   reduces the number of late jobs on several CPUs;
//! - neither policy is *predictable*: a job that ends early can make another end later;
//! - a job that exceeds its WCET needs no more time, as far as the policy knows;
//! - the execution of a job is the time that it has held CPUs, overheads included;
//! - CPUs of speeds other than 1 are refused: the laxity of a job would depend on the CPU that will
//!   run it.
//!
//! A decision sorts the ready jobs: O(n log n).

use crate::highest_first::Ties;
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::shell::groups::{ONE_CLUSTER, UNIT_SPEED};
use crate::shell::{Grouped, Priority, Progress, Scheduler, Scope, Turn};
use crate::{Refusal, Schedules, State};
use layland_model::{
    Citation, Duration, Group, JobOrder, LaxityRule, Order, ScheduleRule, System, Time,
};

/// Dertouzos and Mok 1989.
pub const DERTOUZOS_MOK: Citation = Citation {
    key: "dertouzos1989multiprocessor",
    text: "M. L. Dertouzos and A. K. Mok. Multiprocessor on-line scheduling of hard-real-time tasks. IEEE Transactions \
           on Software Engineering 15(12):1497-1506, 1989.",
    bibtex: "@article{dertouzos1989multiprocessor,
  author  = {Michael L. Dertouzos and Aloysius K. Mok},
  title   = {Multiprocessor On-Line Scheduling of Hard-Real-Time Tasks},
  journal = {IEEE Transactions on Software Engineering},
  volume  = {15}, number = {12}, pages = {1497--1506}, year = {1989}
}",
};

/// Oh and Yang 1998.
pub const OH_YANG: Citation = Citation {
    key: "oh1998modified",
    text: "S.-H. Oh and S.-M. Yang. A modified least-laxity-first scheduling algorithm for real-time tasks. RTCSA \
           1998.",
    bibtex: "@inproceedings{oh1998modified,
  author    = {Sung-Heun Oh and Seung-Min Yang},
  title     = {A Modified Least-Laxity-First Scheduling Algorithm for Real-Time Tasks},
  booktitle = {5th International Conference on Real-Time Computing Systems and Applications (RTCSA)}, year = {1998},
  doi       = {10.1109/RTCSA.1998.726348}
}",
};

/// The default quantum.
const QUANTUM: Duration = Duration::from_ms(1);

/// Returns the descriptions of both policies.
pub(crate) fn policies() -> [PolicyInfo; 2] {
    let llf = PolicyInfo::new(
        "llf",
        "least laxity first, with a quantum",
        "the m jobs that can wait for the shortest time run; it looks again at each multiple of a quantum",
        |system, options| Ok(Box::new(llf(system, options)?)),
    )
    .with_options([
        OptionInfo::new(
            "quantum",
            "while a job waits, laxities are compared at each multiple of it (default: 1ms)",
            Values::Duration,
        ),
        OptionInfo::new(
            "tie",
            "equal laxities: running (default; a job that runs comes first) or rank (by rank alone)",
            Values::one_of(["running", "rank"]),
        ),
    ])
    .breaking_ties(
        "equal laxities are decided by the option `tie`: a job that runs comes first, then the smaller rank, then the \
           task that comes first",
    )
    .citing([DERTOUZOS_MOK]);
    let mllf = PolicyInfo::new(
        "mllf",
        "modified least laxity first",
        "as llf, but a job runs on although another has less laxity, until that would make the other late",
        |system, options| Ok(Box::new(mllf(system, options)?)),
    )
    .breaking_ties(
        "equal laxities go to the earlier deadline, then to the smaller rank, then to the task that comes first",
    )
    .citing([OH_YANG]);
    [llf, mllf].map(|info| info.refusing([ONE_CLUSTER, UNIT_SPEED]))
}

/// Returns **LLF**: the `m` jobs of the least laxity run, as of the last multiple of the quantum.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, the speed of a CPU is not 1,
/// or the value of an option is invalid.
pub fn llf(
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<LeastLaxity>, SystemRefusal> {
    let ties = options.one_of("tie", &[("running", Ties::Running), ("rank", Ties::Rank)])?;
    let rule = LaxityRule::Quantum {
        quantum: options.duration("quantum")?.unwrap_or(QUANTUM),
        running_first: ties.unwrap_or(Ties::Running) == Ties::Running,
    };
    grouped("llf", rule, system, options)
}

/// Returns **MLLF**: the `m` jobs of the least laxity run, and continue as long as this makes no
/// other job late.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, or the speed of a CPU is not
/// 1.
pub fn mllf(
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<LeastLaxity>, SystemRefusal> {
    grouped("mllf", LaxityRule::Modified, system, options)
}

fn grouped(
    name: &str,
    rule: LaxityRule,
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<LeastLaxity>, SystemRefusal> {
    if !system.platform.is_unit_speed() {
        return Err(Refusal::invalid(format!("{name} needs CPUs of unit speed")).into());
    }
    let jobs = LeastLaxity { rule, waiting: Vec::new(), ready: Vec::new() };
    Grouped::new(name, Scope::Global, Order::Deadline, system, options, jobs)
}

/// LLF or MLLF on one group of CPUs: see the file header.
///
/// The key of a job is its place in the order of the last decision.
#[derive(Clone, Debug)]
pub struct LeastLaxity {
    rule: LaxityRule,
    /// The ready jobs that do not run.
    waiting: Vec<Priority>,
    /// Scratch.
    ready: Vec<Ready>,
}

/// A ready job at an instant.
#[derive(Clone, Copy, Debug)]
struct Ready {
    job: Priority,
    runs: bool,
    /// The time at which it loses its laxity, if it waits from now on.
    zero_laxity_at: Time,
    deadline: Time,
}

impl LeastLaxity {
    /// Returns the key of a job: jobs with the smaller key come first, then those with the smaller
    /// rank and id.
    fn key(&self, ready: &Ready) -> (Time, Time, bool) {
        match self.rule {
            LaxityRule::Quantum { running_first, .. } => {
                (ready.zero_laxity_at, Time::ZERO, running_first && !ready.runs)
            }
            LaxityRule::Modified => (ready.zero_laxity_at, ready.deadline, false),
        }
    }

    /// Returns the time of the next decision if no event comes before. `first` run from `now` on,
    /// `rest` wait.
    fn next_look(&self, now: Time, first: &[Ready], rest: &[Ready]) -> Time {
        let (Some(last), Some(waits)) = (first.last(), rest.first()) else { return Time::NEVER };
        match self.rule {
            LaxityRule::Quantum { quantum, .. } => {
                let into = Duration::from_ns(now.ns().rem_euclid(quantum.ns()));
                now + (quantum - into)
            }
            LaxityRule::Modified => {
                let laxity = last.zero_laxity_at - now;
                let inversion_ends = waits.deadline - laxity;
                let without_laxity = rest.iter().map(|ready| ready.zero_laxity_at);
                let looks = without_laxity.chain([inversion_ends]).filter(|&at| at > now);
                looks.min().unwrap_or(Time::NEVER)
            }
        }
    }
}

impl Scheduler for LeastLaxity {
    const PROGRESS: Progress = Progress::Tracked;
    const SCHEDULES: Schedules = Schedules::ArrivingJobs;

    fn wait(&mut self, job: Priority) {
        self.waiting.push(job);
    }

    fn forget(&mut self, job: Priority) {
        self.waiting.retain(|&other| other != job);
    }

    fn clear(&mut self) {
        self.waiting.clear();
    }

    fn decide(&mut self, turn: &mut Turn<'_>) {
        let mut ready = std::mem::take(&mut self.ready);
        let waiting = self.waiting.iter().map(|&job| (job, false));
        ready.extend(waiting.chain(turn.running().map(|job| (job, true))).map(|(job, runs)| {
            let (zero_laxity_at, deadline) = (turn.zero_laxity_at(job), turn.deadline(job));
            Ready { job, runs, zero_laxity_at, deadline }
        }));
        ready.sort_unstable_by_key(|ready| (self.key(ready), ready.job.seat()));
        for (place, ready) in ready.iter_mut().enumerate() {
            ready.job = turn.give_key(ready.job, place as i64);
        }
        // The first m run. Running jobs that are not among them come after all other running jobs.
        let (first, rest) = ready.split_at(turn.cpu_count().min(ready.len()));
        rest.iter().filter(|ready| ready.runs).for_each(|_| turn.preempt_lowest());
        first.iter().filter(|ready| !ready.runs).for_each(|ready| turn.start(ready.job));
        turn.wake_at(self.next_look(turn.now(), first, rest));
        self.waiting.clear();
        self.waiting.extend(rest.iter().map(|ready| ready.job));
        ready.clear();
        self.ready = ready;
    }

    fn save(&self, now: Time, state: &mut State) {
        match self.rule {
            // Multiples of the quantum count from the start of the run.
            LaxityRule::Quantum { quantum, .. } => state.number(now.ns().rem_euclid(quantum.ns())),
            LaxityRule::Modified => {}
        }
    }

    fn rule(&self, groups: Vec<Group>, _order: JobOrder) -> ScheduleRule {
        ScheduleRule::LeastLaxity { groups, rule: self.rule }
    }
}
