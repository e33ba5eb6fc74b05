//! EDF with virtual deadlines (**EDF-VD**; Baruah, Bonifaci, D'Angelo, Li, Marchetti-Spaccamela,
//! van der Ster and Stougie 2012; Ekberg and Yi 2012, 2014, for virtual deadlines that are tuned
//! one by one).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `x T_i`, `D_i(LO)` | `Virtual` | the relative deadline of a high job in the low mode |
//! | `LO`, `HI` | `is_high` | the mode of the CPU |
//! | criticality | `cut` | tasks up to this level are *low*, those above are *high* |
//!
//! | event | action |
//! |---|---|
//! | a high job reaches `C_i(cut)`, not complete, in the low mode | the high mode begins: all low jobs are aborted |
//! | a job reaches `C_i(z_i)`, not complete | it is aborted alone; a high one whose two bounds are equal, too |
//! | release of a low job in the high mode | the job is dropped |
//! | no job is pending | the low mode begins |
//!
//! The earliest deadline runs: in the low mode `r + V_i` of high jobs and `r + D_i` of low ones, in
//! the high mode `r + D_i`. Ties go to the smaller rank. The jobs of one task run in the order of
//! their releases. A job that completes exactly at `C_i(cut)` has not overrun. If all tasks fit
//! with their own bounds, there is no mode, and nothing is ever dropped: plain EDF with a cut-off.
//!
//! Virtual deadlines are fractions, compared exactly and without a division: the key holds the
//! whole nanoseconds of `V_i`, and among equal keys the smaller fractional part comes first.
//!
//! The papers have two levels; one cut turns more levels into two modes. A low job that exceeds its
//! own bound is aborted alone and never raises the mode, because the high mode would drop low jobs
//! that matter more. Each CPU has its own mode.

use super::mechanism::{Choice, Jobs, Mechanism, Pending};
use super::offline::{MechanismPlan, build};
use super::placing::Fits;
use crate::info::{PolicyOptions, SystemRefusal};
use crate::{Policy, Refusal, State};
use layland_model::{DeadlineChoice, Duration, Rate, System, Time};
use layland_offline::criticality::MixedSet;
use layland_offline::criticality::virtual_deadlines::{self, Modes, VirtualDeadlines};

/// The relative deadline of a task in the low mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Virtual {
    /// The whole nanoseconds.
    whole: i64,
    /// The place of the fractional part, in the order of those of all tasks.
    rest: usize,
}

impl Virtual {
    /// # Panics
    /// If a deadline is beyond all representable times.
    fn of(deadlines: &[Rate]) -> Vec<Virtual> {
        let floor = |deadline: &Rate| deadline.floor().expect("a relative deadline is a time");
        let rest = |deadline: &Rate| deadline - &Rate::whole(floor(deadline));
        let mut rests: Vec<Rate> = deadlines.iter().map(rest).collect();
        rests.sort();
        rests.dedup();
        let place = |deadline: &Rate| rests.binary_search(&rest(deadline)).expect("it is in it");
        let each = deadlines.iter();
        each.map(|deadline| Virtual { whole: floor(deadline), rest: place(deadline) }).collect()
    }
}

/// The parameters of the low mode, if there are two modes.
#[derive(Clone, Debug)]
struct LowMode {
    cut: usize,
    deadline: Vec<Virtual>,
}

/// EDF with a cut-off, and with two modes or without.
#[derive(Clone, Debug)]
pub struct EdfVd {
    low: Option<LowMode>,
    is_high: bool,
}

impl EdfVd {
    /// Returns EDF without modes.
    pub fn plain() -> EdfVd {
        EdfVd { low: None, is_high: false }
    }

    /// Returns EDF with these modes; tasks are numbered as in the mechanism.
    pub fn new(modes: &Modes) -> EdfVd {
        let Modes { cut, deadline } = modes;
        let deadline = Virtual::of(deadline.values().as_slice());
        EdfVd { low: Some(LowMode { cut: cut.level(), deadline }), is_high: false }
    }

    /// Returns the low mode if it is active.
    fn in_low_mode(&self) -> Option<&LowMode> {
        self.low.as_ref().filter(|_| !self.is_high)
    }

    /// Returns the low mode if the high mode is active.
    fn in_high_mode(&self) -> Option<&LowMode> {
        self.low.as_ref().filter(|_| self.is_high)
    }

    /// Returns the execution of a job of a task after which the mechanism must decide again.
    fn limit(&self, jobs: &Jobs, member: usize) -> i64 {
        let task = &jobs.members()[member];
        // The `C(cut)` of a low task is its own bound.
        self.in_low_mode().map_or(task.own_bound(), |low| task.bound(low.cut))
    }

    /// Returns the deadline of a job in the current mode; among equal ones the smaller number comes
    /// first.
    fn deadline(&self, jobs: &Jobs, member: usize, job: &Pending) -> (Time, usize) {
        let Some(low) = self.in_low_mode() else { return (job.deadline, 0) };
        let Virtual { whole, rest } = low.deadline[member];
        let earlier = Duration::from_ns(jobs.members()[member].deadline - whole);
        (job.deadline - earlier, rest)
    }
}

impl Mechanism for EdfVd {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        let Some(job) = jobs.first(member) else { return };
        let has_more = job.executed < jobs.members()[member].own_bound();
        match self.in_low_mode().map(|low| low.cut) {
            Some(cut) if has_more => {
                self.is_high = true;
                jobs.note_level(cut + 1);
                for member in 0..jobs.members().len() {
                    if jobs.members()[member].criticality <= cut {
                        jobs.abort_all(member);
                    }
                }
            }
            Some(_) | None => jobs.abort_first(member),
        }
    }

    fn idle(&mut self, jobs: &mut Jobs) {
        if std::mem::take(&mut self.is_high) {
            jobs.note_level(0);
        }
    }

    fn arrive(&mut self, jobs: &mut Jobs, _now: Time, arrivals: &[(usize, Pending)]) {
        let cut = self.in_high_mode().map(|low| low.cut);
        for &(member, job) in arrivals {
            match cut {
                Some(cut) if jobs.members()[member].criticality <= cut => jobs.drop_job(job),
                Some(_) | None => jobs.admit(member, job),
            }
        }
    }

    fn select(&mut self, jobs: &Jobs, _now: Time) -> Option<Choice> {
        let first = |member: usize| jobs.first(member).map(|job| self.deadline(jobs, member, job));
        // Among equal deadlines the first: members are in the order of their ranks.
        let member = jobs.pending().min_by_key(|&member| first(member))?;
        Some(Choice { member, limit: Some(self.limit(jobs, member)) })
    }

    fn save(&self, _now: Time, state: &mut State) {
        state.number(i64::from(self.is_high));
    }
}

// --- The offline stage -----------------------------------------------------------------------

/// The values of `deadlines` for EDF-VD, the default first.
pub(super) const DEADLINES: [(&str, DeadlineChoice); 3] = [
    ("exact", DeadlineChoice::Exact),
    ("whole", DeadlineChoice::Whole),
    ("tuned", DeadlineChoice::Tuned),
];

/// Returns the virtual deadlines that the options select.
pub(super) fn deadlines(options: &PolicyOptions) -> Result<DeadlineChoice, Refusal> {
    Ok(options.one_of("deadlines", &DEADLINES)?.unwrap_or(DeadlineChoice::Exact))
}

/// Returns EDF with the virtual deadlines that the options select.
///
/// # Errors
/// If there are none, a deadline differs from its period although the choice requires equality, or
/// a task fits on no CPU.
pub fn edf_vd(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let find = match deadlines(options)? {
        DeadlineChoice::Exact => virtual_deadlines::exact,
        DeadlineChoice::Whole => virtual_deadlines::whole,
        DeadlineChoice::Tuned => virtual_deadlines::tuned,
    };
    let shorter = system.tasks.iter().find(|(_, task)| task.deadline < task.period);
    if let Some((id, task)) = shorter
        && deadlines(options)? != DeadlineChoice::Tuned
    {
        return Err(Refusal::invalid(format!(
            "edf-vd needs deadlines equal to periods, and that of task `{}` is {} of {}; deadlines=tuned takes it",
            task.name, task.deadline, task.period
        ))
        .about(id));
    }
    let plan = |set: &MixedSet| match find(set) {
        VirtualDeadlines::Plain => {
            Ok(MechanismPlan { mechanism: EdfVd::plain(), accepted: true, sound: true })
        }
        VirtualDeadlines::Modes(modes) => {
            Ok(MechanismPlan { mechanism: EdfVd::new(&modes), accepted: true, sound: true })
        }
        VirtualDeadlines::Rejected => {
            Err("there are no virtual deadlines that its test accepts".to_owned())
        }
        VirtualDeadlines::GaveUp => {
            Err("the test of virtual deadlines stopped: it takes too long".to_owned())
        }
    };
    let fits = Fits::by_level(|set| find(set).answer().is_yes());
    build("edf-vd", system, options, &EdfVd::plain(), fits.criticality_first(), plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_of_nanoseconds_are_ordered() {
        let deadlines = [Rate::new(7, 2), Rate::whole(3), Rate::new(10, 3), Rate::new(21, 6)];
        let found = Virtual::of(&deadlines);
        let whole_and_rest: Vec<(i64, usize)> =
            found.iter().map(|virtual_| (virtual_.whole, virtual_.rest)).collect();
        assert_eq!(whole_and_rest, [(3, 2), (3, 0), (3, 1), (3, 2)]);
    }
}
