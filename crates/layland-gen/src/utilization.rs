//! The utilizations of a set, with one file per published algorithm.

pub(crate) mod convolutional;
pub(crate) mod independent;
pub(crate) mod rand_fixed_sum;
pub(crate) mod uunifast;

use crate::parameters::{Reader, Writer};
use crate::rounding::to_rate;
use crate::{
    ConvolutionalFixedSum, GenError, Independent, Infeasible, RandFixedSum, Random, UUniFast,
    UUniFastDiscard, UntilTotal,
};
use layland_model::Rate;
use std::str::FromStr;

/// A distribution of the utilizations of a set.
///
/// Numbers drawn in floating point are rounded down to a multiple of `2^-50`, so a sum of `n`
/// numbers is below the total by less than `n * 2^-49`. The other samplers are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Utilizations {
    /// [`UUniFast`]: a total, no upper bound (one task may exceed 1 if the total does).
    UUniFast {
        /// The number of tasks.
        tasks: usize,
        /// The sum.
        total: Rate,
    },
    /// [`UUniFastDiscard`]: a total, and an upper bound by drawing again.
    UUniFastDiscard {
        /// The number of tasks.
        tasks: usize,
        /// The sum.
        total: Rate,
        /// The upper bound.
        max: Rate,
        /// The maximum number of draws.
        tries: u32,
    },
    /// [`RandFixedSum`]: a total, and the same bounds for all. The recommended default.
    RandFixedSum {
        /// The number of tasks.
        tasks: usize,
        /// The sum.
        total: Rate,
        /// The lower bound.
        min: Rate,
        /// The upper bound.
        max: Rate,
    },
    /// [`ConvolutionalFixedSum`]: a total, and bounds for each task, on a lattice.
    Convolutional {
        /// The sum, a multiple of `1/resolution`.
        total: Rate,
        /// The lower and the upper bound of each task.
        bounds: Vec<(Rate, Rate)>,
        /// The number of steps per unit of utilization.
        resolution: u32,
    },
    /// [`Independent`]: a number of tasks from a range; the total is not controlled.
    Independent {
        /// The number of tasks.
        tasks: usize,
        /// The lower bound.
        min: Rate,
        /// The upper bound.
        max: Rate,
    },
    /// [`UntilTotal`]: tasks from a range until the total is reached exactly.
    UntilTotal {
        /// The sum, a multiple of `1/resolution`.
        total: Rate,
        /// The lower bound.
        min: Rate,
        /// The upper bound.
        max: Rate,
        /// The number of steps per unit of utilization.
        resolution: u32,
        /// The maximum number of draws.
        tries: u32,
    },
}

/// Checks exactly that `tasks` numbers from `[min, max]` can have the total.
pub(crate) fn check_total(
    tasks: usize,
    total: &Rate,
    min: &Rate,
    max: &Rate,
) -> Result<(), GenError> {
    let count = Rate::whole(tasks as i64);
    let (least, most) = (&count * min, &count * max);
    if tasks == 0 || min > max || *total < least || *total > most {
        return Err(Box::new(Infeasible { tasks, least, most, total: total.clone() }).into());
    }
    Ok(())
}

fn check_range(min: &Rate, max: &Rate) -> Result<(), GenError> {
    if *min < Rate::ZERO || min > max || *max > Rate::whole(4096) {
        let help = "bounds are not negative, `min` is at most `max`, and `max` at most 4096";
        return Err(GenError::parameter("min", format!("{min} with `max` {max}"), help));
    }
    Ok(())
}

/// A sampler with its table.
#[derive(Clone, Debug)]
pub(crate) enum Sampler {
    UUniFast(UUniFast),
    UUniFastDiscard(UUniFastDiscard),
    RandFixedSum(RandFixedSum),
    Convolutional(ConvolutionalFixedSum),
    Independent(Independent),
    UntilTotal(UntilTotal),
}

impl Sampler {
    pub(crate) fn draw(&self, random: &mut Random) -> Result<Vec<Rate>, GenError> {
        let rates = |values: Vec<f64>| values.into_iter().map(to_rate).collect();
        Ok(match self {
            Sampler::UUniFast(sampler) => rates(sampler.sample(random)),
            Sampler::UUniFastDiscard(sampler) => rates(sampler.sample(random)?),
            Sampler::RandFixedSum(sampler) => rates(sampler.sample(random)),
            Sampler::Convolutional(sampler) => sampler.sample(random),
            Sampler::Independent(sampler) => rates(sampler.sample(random)),
            Sampler::UntilTotal(sampler) => sampler.sample(random)?,
        })
    }
}

impl Utilizations {
    /// Checks the parameters and computes the table.
    pub(crate) fn sampler(&self) -> Result<Sampler, GenError> {
        Ok(match self {
            Utilizations::UUniFast { tasks, total } => {
                check_range(total, total)?;
                check_total(*tasks, total, &Rate::ZERO, total)?;
                Sampler::UUniFast(UUniFast::new(*tasks, total.to_f64()))
            }
            Utilizations::UUniFastDiscard { tasks, total, max, tries } => {
                check_range(&Rate::ZERO, max)?;
                check_total(*tasks, total, &Rate::ZERO, max)?;
                let (total, max) = (total.to_f64(), max.to_f64());
                Sampler::UUniFastDiscard(UUniFastDiscard::new(*tasks, total, max, *tries))
            }
            Utilizations::RandFixedSum { tasks, total, min, max } => {
                check_range(min, max)?;
                Sampler::RandFixedSum(RandFixedSum::exact(*tasks, total, min, max)?)
            }
            Utilizations::Convolutional { total, bounds, resolution } => {
                bounds.iter().try_for_each(|(min, max)| check_range(min, max))?;
                Sampler::Convolutional(ConvolutionalFixedSum::new(total, bounds, *resolution)?)
            }
            Utilizations::Independent { tasks, min, max } => {
                check_range(min, max)?;
                check_total(*tasks, min, &Rate::ZERO, max)?;
                Sampler::Independent(Independent::new(*tasks, min.to_f64(), max.to_f64()))
            }
            Utilizations::UntilTotal { total, min, max, resolution, tries } => {
                check_range(min, max)?;
                Sampler::UntilTotal(UntilTotal::new(total, min, max, *resolution, *tries)?)
            }
        })
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        let mut put = |name: &str, value: &dyn ToString| {
            to.put(&format!("utilizations.{name}"), value.to_string());
        };
        let algorithm = match self {
            Utilizations::UUniFast { tasks, total } => {
                put("tasks", tasks);
                put("total", total);
                "uunifast"
            }
            Utilizations::UUniFastDiscard { tasks, total, max, tries } => {
                put("tasks", tasks);
                put("total", total);
                put("max", max);
                put("tries", tries);
                "uunifast-discard"
            }
            Utilizations::RandFixedSum { tasks, total, min, max } => {
                put("tasks", tasks);
                put("total", total);
                put("min", min);
                put("max", max);
                "randfixedsum"
            }
            Utilizations::Convolutional { total, bounds, resolution } => {
                put("total", total);
                let bounds: Vec<String> =
                    bounds.iter().map(|(min, max)| format!("{min}..{max}")).collect();
                put("bounds", &bounds.join(" "));
                put("resolution", resolution);
                "convolutional"
            }
            Utilizations::Independent { tasks, min, max } => {
                put("tasks", tasks);
                put("min", min);
                put("max", max);
                "independent"
            }
            Utilizations::UntilTotal { total, min, max, resolution, tries } => {
                put("total", total);
                put("min", min);
                put("max", max);
                put("resolution", resolution);
                put("tries", tries);
                "until-total"
            }
        };
        to.put("utilizations", algorithm);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Utilizations, GenError> {
        let algorithm: String = from.get("utilizations")?;
        let mut from = from.part("utilizations");
        Ok(match algorithm.as_str() {
            "uunifast" => {
                Utilizations::UUniFast { tasks: from.get("tasks")?, total: from.get("total")? }
            }
            "uunifast-discard" => Utilizations::UUniFastDiscard {
                tasks: from.get("tasks")?,
                total: from.get("total")?,
                max: from.get("max")?,
                tries: from.get("tries")?,
            },
            "randfixedsum" => Utilizations::RandFixedSum {
                tasks: from.get("tasks")?,
                total: from.get("total")?,
                min: from.get("min")?,
                max: from.get("max")?,
            },
            "convolutional" => Utilizations::Convolutional {
                total: from.get("total")?,
                bounds: from
                    .list::<RateBounds>("bounds")?
                    .into_iter()
                    .map(|b| (b.0, b.1))
                    .collect(),
                resolution: from.get("resolution")?,
            },
            "independent" => Utilizations::Independent {
                tasks: from.get("tasks")?,
                min: from.get("min")?,
                max: from.get("max")?,
            },
            "until-total" => Utilizations::UntilTotal {
                total: from.get("total")?,
                min: from.get("min")?,
                max: from.get("max")?,
                resolution: from.get("resolution")?,
                tries: from.get("tries")?,
            },
            _ => return Err(from.invalid("")),
        })
    }
}

/// The bounds as `min..max`.
struct RateBounds(Rate, Rate);

impl FromStr for RateBounds {
    type Err = ();
    fn from_str(text: &str) -> Result<RateBounds, ()> {
        let (min, max) = text.split_once("..").ok_or(())?;
        Ok(RateBounds(min.parse().map_err(drop)?, max.parse().map_err(drop)?))
    }
}
