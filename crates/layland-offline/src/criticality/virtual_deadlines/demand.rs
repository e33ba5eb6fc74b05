//! The demand of both modes (Ekberg, Yi, ECRTS 2012 and 2014), for any virtual deadlines `C(low) <= V <= D`.
//!
//! ```text
//! low(l)  = sum over all tasks of max(0, floor((l - V) / T) + 1) C(low)
//! high(l) = sum over high tasks of full - done,     g = D - V,  n = l mod T
//!   full  = max(0, floor((l - g) / T) + 1) C(high)
//!   done  = max(0, C(low) - n + g)                  if full > 0 and D > n >= g, else 0
//! ```
//!
//! A job that is pending when the high mode begins has its real deadline at least `g` after its
//! virtual one. If `n` of this time is left, it has already executed `done` of its work, since
//! otherwise the low mode would be late. The set is correct if `low(l) <= l` and `high(l) <= l` for
//! each `l >= 0`; this is sufficient.
//!
//! So `high` grows by `C(high) - C(low)` at `g`, then by one for each unit of time over `C(low)`
//! units, and then not until `g + T`. Between such points, a division finds the first length that
//! is too short, so no step depends on the unit of time.

use crate::criticality::steps::{Effort, sum, work};
use crate::criticality::{Answer, MixedSet, NoBound};
use layland_model::{Criticality, Rate};

/// The length beyond which no demand is followed.
const LONGEST: i64 = 1 << 61;

/// A task in two modes; times are in any unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Modal {
    pub(super) period: i64,
    pub(super) deadline: i64,
    pub(super) is_high: bool,
    /// `C(low)`, and `C(high)` of a high task.
    pub(super) wcet_in_low: i64,
    pub(super) wcet_in_high: i64,
    /// `V`.
    pub(super) deadline_in_low: i64,
    /// The order of equal tasks: the smaller rank comes first.
    pub(super) rank: u32,
}

impl Modal {
    /// Returns the tasks of a set with a cut, in nanoseconds; virtual deadlines equal the real
    /// ones.
    pub(super) fn of(set: &MixedSet, cut: Criticality) -> impl Iterator<Item = Modal> + '_ {
        (0..set.len()).map(move |i| {
            let is_high = set.z(i) > cut.level();
            Modal {
                period: set.period[i],
                deadline: set.deadline[i],
                is_high,
                wcet_in_low: if is_high { set.c(cut.level())[i] } else { set.own(i) },
                wcet_in_high: set.own(i),
                deadline_in_low: set.deadline[i],
                rank: set.rank[i],
            }
        })
    }

    /// `g`.
    fn gap(&self) -> i64 {
        self.deadline - self.deadline_in_low
    }

    fn low(&self, l: i64) -> i64 {
        match l - self.deadline_in_low {
            since if since < 0 => 0,
            since => work(since / self.period + 1, self.wcet_in_low),
        }
    }

    /// Returns the demand of a high task in the high mode.
    pub(super) fn high(&self, l: i64) -> i64 {
        match l - self.gap() {
            since if since < 0 => 0,
            since => {
                let done = (self.wcet_in_low - since % self.period).max(0);
                work(since / self.period + 1, self.wcet_in_high) - done
            }
        }
    }
}

/// A mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Low,
    High,
}

/// Tasks for which neither mode needs more than the CPU.
#[derive(Clone, Debug)]
pub(super) struct ModeDemand<'a> {
    tasks: &'a [Modal],
    longest: i64,
}

impl<'a> ModeDemand<'a> {
    /// Returns `None` if a mode needs more than the CPU.
    pub(super) fn new(tasks: &'a [Modal]) -> Option<ModeDemand<'a>> {
        let all = tasks.iter().map(|task| (task.period, task.wcet_in_low));
        let high = tasks.iter().filter(|task| task.is_high);
        let low_mode = length(tasks, all)?;
        let high_mode = length(tasks, high.map(|task| (task.period, task.wcet_in_high)))?;
        Some(ModeDemand { tasks, longest: low_mode.max(high_mode) })
    }

    /// Returns the longest length to examine, or `None` if it is out of range.
    pub(super) fn longest(&self) -> Option<i64> {
        (self.longest < LONGEST).then_some(self.longest)
    }

    /// Tests whether the demand is within every length. If this is known only up to [`LONGEST`],
    /// the test gives up.
    pub(super) fn is_within(&self, effort: &mut Effort) -> Answer {
        match (first_beyond(self.tasks, 0, self.longest, effort), self.longest()) {
            (Ok(None), Some(_)) => Answer::Schedulable,
            (Ok(Some(_)), _) => Answer::NotSchedulable,
            (Ok(None), None) | (Err(_), _) => Answer::GaveUp,
        }
    }
}

/// `min(H, floor(sum C / (1 - U)) + 1)` with `H = lcm T + max D`, and `H` if `U = 1`: if no demand
/// up to this length is too much, none beyond it is. `None` if `U > 1`.
fn length(tasks: &[Modal], mode: impl Iterator<Item = (i64, i64)> + Clone) -> Option<i64> {
    let lcm = |lcm: i64, task: &Modal| {
        let by = task.period / num_integer::gcd(lcm, task.period);
        lcm.checked_mul(by).filter(|&lcm| lcm < LONGEST)
    };
    let latest = tasks.iter().map(|task| task.deadline).max().unwrap_or(0);
    let periodic = tasks.iter().try_fold(1, lcm).map_or(LONGEST, |lcm| lcm + latest);
    let utilization: Rate = mode.clone().map(|(period, wcet)| Rate::new(wcet, period)).sum();
    let room = Rate::ONE - utilization;
    if room < Rate::ZERO {
        return None;
    }
    if room == Rate::ZERO {
        return Some(periodic.min(LONGEST));
    }
    let work = Rate::whole(sum(mode.map(|(_, wcet)| wcet)));
    let linear = (&work / &room).floor().map_or(LONGEST, |floor| floor.saturating_add(1));
    Some(periodic.min(linear).min(LONGEST))
}

/// Returns true if the demand of the low mode is within this length.
pub(super) fn low_is_within(tasks: &[Modal], l: i64) -> bool {
    sum(tasks.iter().map(|task| task.low(l))) <= l
}

/// Returns the first length from `from` to `longest`, in whole units, that is less than the demand
/// of a mode. Returns the low mode if both demands are too much.
pub(super) fn first_beyond(
    tasks: &[Modal],
    from: i64,
    longest: i64,
    effort: &mut Effort,
) -> Result<Option<(i64, Mode)>, NoBound> {
    let mut at = from;
    while at <= longest {
        effort.spend_on(2 * tasks.len())?;
        if !low_is_within(tasks, at) {
            return Ok(Some((at, Mode::Low)));
        }
        // Up to `next`, the demand of the low mode is constant, and that of the high mode grows
        // with this slope.
        let (mut next, mut demand, mut slope) = (LONGEST, 0i64, 0);
        for task in tasks {
            let step = match at - task.deadline_in_low {
                since if since < 0 => task.deadline_in_low,
                since => at + task.period - since % task.period,
            };
            next = next.min(step);
            if !task.is_high {
                continue;
            }
            let since = at - task.gap();
            if since < 0 {
                next = next.min(task.gap());
                continue;
            }
            demand = demand.saturating_add(task.high(at));
            let place = since % task.period;
            let grows = place < task.wcet_in_low;
            slope += i64::from(grows);
            next = next.min(at - place + if grows { task.wcet_in_low } else { task.period });
        }
        let room = at - demand;
        let beyond = match slope {
            _ if room < 0 => Some(at),
            0 | 1 => None,
            _ => Some(at + room / (slope - 1) + 1),
        };
        if let Some(beyond) = beyond.filter(|&beyond| beyond < next && beyond <= longest) {
            return Ok(Some((beyond, Mode::High)));
        }
        at = next;
    }
    Ok(None)
}
