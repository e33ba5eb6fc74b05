//! The criticality indicator of a CPU over time: the lowest criticality whose jobs it runs. The
//! mechanisms for mixed criticality raise it when a job overruns, and lower it when the CPU is
//! idle.

use crate::{MarkKind, Trace};
use layland_model::{CpuId, Criticality, Duration, Note, Time};

/// An interval in which the indicator of a CPU has one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelStretch {
    /// The start.
    pub from: Time,
    /// The end, which is after `from`.
    pub to: Time,
    /// The value.
    pub level: Criticality,
}

/// The number of times that the indicator rises above the lowest level between two times, and the
/// total time for which it stays there.
pub fn raised(stretches: &[LevelStretch], from: Time, to: Time) -> (usize, Duration) {
    let (mut times, mut length, mut was_raised) = (0, Duration::ZERO, false);
    for stretch in stretches.iter().filter(|stretch| stretch.from < to && stretch.to > from) {
        let is_raised = stretch.level.level() > 0;
        if is_raised {
            times += usize::from(!was_raised);
            length += stretch.to.min(to) - stretch.from.max(from);
        }
        was_raised = is_raised;
    }
    (times, length)
}

/// The values of the indicator of a CPU up to the end of the run, in the order of time; empty if no
/// indicator of any CPU ever changed. An indicator begins at the lowest level.
///
/// ```
/// use layland_model::{CpuId, Criticality, Note, Time};
/// use layland_trace::{Mark, MarkKind, Recorder, Trace, level_stretches};
/// let mut trace = Trace::default();
/// assert!(level_stretches(&trace, CpuId(0)).is_empty());
/// for (ms, level) in [(3, 1), (8, 0)] {
///     let kind = MarkKind::Note(Note::Indicator { cpu: CpuId(0), level: Criticality(level) });
///     trace.marked(&Mark { at: Time::from_ms(ms), kind });
/// }
/// trace.over(Time::from_ms(9), false);
/// let found = level_stretches(&trace, CpuId(0));
/// let levels = found.iter().map(|stretch| (stretch.from, stretch.level.level()));
/// assert!(levels.eq([(0, 0), (3, 1), (8, 0)].map(|(ms, level)| (Time::from_ms(ms), level))));
/// assert_eq!(level_stretches(&trace, CpuId(1)).len(), 1);
/// ```
pub fn level_stretches(trace: &Trace, cpu: CpuId) -> Vec<LevelStretch> {
    let mut stretches = Vec::new();
    let mut put = |from: Time, to: Time, level: Criticality| {
        if from < to {
            stretches.push(LevelStretch { from, to, level });
        }
    };
    let (mut since, mut level, mut is_known) = (Time::ZERO, Criticality(0), false);
    for mark in &trace.marks {
        let MarkKind::Note(Note::Indicator { cpu: of, level: next }) = mark.kind else { continue };
        is_known = true;
        if of == cpu && next != level {
            put(since, mark.at, level);
            (since, level) = (mark.at, next);
        }
    }
    if is_known {
        put(since, trace.over, level);
    }
    stretches
}
