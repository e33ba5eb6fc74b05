//! Random non-preemptive regions.

use crate::parameters::{Reader, Writer};
use crate::rounding::{share, uniform_rate};
use crate::{GenError, Random};
use layland_model::{Duration, Preemption, Rate, Service, Task};
use std::collections::BTreeSet;

/// A distribution of non-preemptive regions. `C` is the WCET at the task's own criticality level.
///
/// ```
/// use layland_gen::{Recipe, Regions, Utilizations};
/// use layland_model::{Preemption, Rate, Service};
/// let utilizations = Utilizations::UUniFast { tasks: 6, total: Rate::ONE };
/// let regions = Some(Regions::Segments { count: (2, 4) });
/// let system = Recipe { regions, ..Recipe::new(1, utilizations, 7) }.generate(0).unwrap();
/// for task in system.tasks.values() {
///     let Preemption::Between(segments) = &task.preemption else { panic!("there are segments") };
///     assert!((2..=4).contains(&segments.len()));
///     assert_eq!(segments.iter().copied().sum::<Service>(), task.own_wcet());
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Regions {
    /// A job is preempted only between its segments. Their number is uniform.
    /// Their lengths are whole granules, and all lengths that sum to `C` are
    /// equally likely. A WCET of fewer granules has one segment per granule.
    Segments {
        /// The least and the largest number of segments, 1 to 1000.
        count: (u32, u32),
    },
    /// A floating region of `x C`, rounded down to a
    /// granule, but at least one granule; `x` is uniform.
    Floating {
        /// The least and the largest `x`, 0 to 1.
        share: (Rate, Rate),
    },
    /// Each job is one region.
    Whole,
}

impl Regions {
    pub(crate) fn check(&self) -> Result<(), GenError> {
        match self {
            Regions::Segments { count: (least, most) } => {
                if *least < 1 || least > most || *most > 1000 {
                    let help = "a job has 1 to 1000 segments, the smaller number first";
                    let value = format!("segments:{least}..{most}");
                    return Err(GenError::parameter("regions", value, help));
                }
            }
            Regions::Floating { share: (min, max) } => {
                if *min < Rate::ZERO || min > max || *max > Rate::ONE {
                    let help = "shares of the WCET are between 0 and 1, and in order";
                    let value = format!("floating:{min}..{max}");
                    return Err(GenError::parameter("regions", value, help));
                }
            }
            Regions::Whole => {}
        }
        Ok(())
    }

    /// Draws the regions of a task.
    pub(crate) fn draw(&self, task: &mut Task, granule: Duration, random: &mut Random) {
        let wcet = task.own_wcet();
        task.preemption = match self {
            Regions::Segments { count } => {
                let count = random.between(count.0.into(), count.1.into());
                Preemption::Between(segments(wcet, count, granule, random))
            }
            Regions::Floating { share: (min, max) } => {
                let x = uniform_rate(min, max, random);
                let region = share(&x, wcet.at_unit_speed(), granule);
                Preemption::Delayed(region.max(granule))
            }
            Regions::Whole => Preemption::Never,
        };
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        match self {
            Regions::Segments { count } => {
                to.put("regions", "segments");
                to.put_list("regions.count", &[count.0, count.1]);
            }
            Regions::Floating { share } => {
                to.put("regions", "floating");
                to.put_list("regions.share", &[&share.0, &share.1]);
            }
            Regions::Whole => to.put("regions", "whole"),
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Option<Regions>, GenError> {
        let Some(kind) = from.find::<String>("regions")? else { return Ok(None) };
        let mut from = from.part("regions");
        Ok(Some(match kind.as_str() {
            "segments" => Regions::Segments { count: from.pair("count")? },
            "floating" => Regions::Floating { share: from.pair("share")? },
            "whole" => Regions::Whole,
            _ => return Err(from.invalid("")),
        }))
    }
}

/// Divides a WCET into `count` segments, or into one per granule if it has fewer granules.
///
/// The cuts are a uniform subset of all positions between granules (Floyd, in Bentley 1987).
fn segments(wcet: Service, count: i64, granule: Duration, random: &mut Random) -> Box<[Service]> {
    let granules = wcet.at_unit_speed().div_floor(granule);
    let count = count.min(granules);
    let mut cuts = BTreeSet::new();
    for last in granules - count + 1..granules {
        // Floyd's algorithm: a cut that was drawn before is
        // replaced by `last`, which was not possible before.
        let cut = random.between(1, last);
        if !cuts.insert(cut) {
            cuts.insert(last);
        }
    }
    let ends = cuts.into_iter().map(|cut| (granule * cut).at_unit_speed()).chain([wcet]);
    let mut before = Service::ZERO;
    ends.map(|end| end - std::mem::replace(&mut before, end)).collect()
}
