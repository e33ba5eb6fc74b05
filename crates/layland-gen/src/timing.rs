//! Random periods, deadlines, offsets and arrivals.

use crate::parameters::{Reader, Writer};
use crate::rounding::{share, uniform_rate};
use crate::{GenError, Random};
use layland_model::{Behaviour, Duration, Rate, Separation, Service, TIME_LIMIT};
use num_integer::Integer;

/// A distribution of periods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Periods {
    /// Uniform on the multiples of the granularity in `[min, max]`.
    Uniform {
        /// The shortest period.
        min: Duration,
        /// The longest period.
        max: Duration,
        /// The granularity of periods.
        granularity: Duration,
    },
    /// Log-uniform (Emberson, Stafford, Davis 2010): with `a` and `b` the first and the
    /// last multiple of the granularity in `[min, max]`, in granules, and `r` uniform on
    /// `[ln a, ln (b + 1))`, the period is `floor(exp r)` granules.
    LogUniform {
        /// The shortest period.
        min: Duration,
        /// The longest period.
        max: Duration,
        /// The granularity of periods.
        granularity: Duration,
    },
    /// A base times a power of a factor, with an exponent from 0 to `powers`; base and exponent are
    /// uniform. With one base the periods of a set divide one another.
    Harmonic {
        /// The bases.
        bases: Vec<Duration>,
        /// The factor, at least 2.
        factor: u32,
        /// The largest exponent.
        powers: u32,
    },
    /// Uniform on a list.
    Choice(Vec<Duration>),
}

/// Checked periods: the values to draw from.
#[derive(Clone, Debug)]
pub(crate) enum PeriodSampler {
    /// Whole numbers of granules, uniform.
    Uniform {
        first: i64,
        last: i64,
        granule: i64,
    },
    LogUniform {
        first: i64,
        last: i64,
        granule: i64,
    },
    /// The values in the order of the list.
    Choice(Vec<Duration>),
}

impl Periods {
    pub(crate) fn sampler(&self) -> Result<PeriodSampler, GenError> {
        let granules = |min: Duration, max: Duration, granularity: Duration| {
            if granularity <= Duration::ZERO {
                return Err(GenError::parameter("granularity", granularity, "it must be positive"));
            }
            if max.ns() > TIME_LIMIT {
                return Err(GenError::parameter("max", max, "at most about 36 years fit"));
            }
            let (first, last) = (min.div_ceil(granularity).max(1), max.div_floor(granularity));
            if first > last {
                return Err(GenError::NoPeriod { min, max, granularity });
            }
            Ok((first, last, granularity.ns()))
        };
        Ok(match self {
            Periods::Uniform { min, max, granularity } => {
                let (first, last, granule) = granules(*min, *max, *granularity)?;
                PeriodSampler::Uniform { first, last, granule }
            }
            Periods::LogUniform { min, max, granularity } => {
                let (first, last, granule) = granules(*min, *max, *granularity)?;
                PeriodSampler::LogUniform { first, last, granule }
            }
            Periods::Harmonic { bases, factor, powers } => {
                if *factor < 2 {
                    return Err(GenError::parameter("factor", factor, "it must be 2 at least"));
                }
                let mut values = Vec::new();
                for base in bases {
                    for power in 0..=*powers {
                        let factor = i64::from(*factor).checked_pow(power);
                        let period = factor.and_then(|factor| base.checked_mul(factor));
                        let too_long =
                            || GenError::parameter("powers", powers, "the periods are too long");
                        values.push(period.ok_or_else(too_long)?);
                    }
                }
                choice(values)?
            }
            Periods::Choice(values) => choice(values.clone())?,
        })
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        match self {
            Periods::Uniform { min, max, granularity }
            | Periods::LogUniform { min, max, granularity } => {
                let log = matches!(self, Periods::LogUniform { .. });
                to.put("periods", if log { "log-uniform" } else { "uniform" });
                to.put("periods.min", min);
                to.put("periods.max", max);
                to.put("periods.granularity", granularity);
            }
            Periods::Harmonic { bases, factor, powers } => {
                to.put("periods", "harmonic");
                to.put_list("periods.bases", bases);
                to.put("periods.factor", factor);
                to.put("periods.powers", powers);
            }
            Periods::Choice(values) => {
                to.put("periods", "choice");
                to.put_list("periods.values", values);
            }
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Periods, GenError> {
        let kind: String = from.get("periods")?;
        let mut from = from.part("periods");
        Ok(match kind.as_str() {
            "uniform" => Periods::Uniform {
                min: from.get("min")?,
                max: from.get("max")?,
                granularity: from.get("granularity")?,
            },
            "log-uniform" => Periods::LogUniform {
                min: from.get("min")?,
                max: from.get("max")?,
                granularity: from.get("granularity")?,
            },
            "harmonic" => Periods::Harmonic {
                bases: from.list("bases")?,
                factor: from.get("factor")?,
                powers: from.get("powers")?,
            },
            "choice" => Periods::Choice(from.list("values")?),
            _ => return Err(from.invalid("")),
        })
    }
}

fn choice(values: Vec<Duration>) -> Result<PeriodSampler, GenError> {
    let wrong = |value: &&Duration| !(1..=TIME_LIMIT).contains(&value.ns());
    match values.iter().find(wrong) {
        Some(value) => Err(GenError::parameter("periods", value, "a period is positive")),
        None if values.is_empty() => {
            Err(GenError::parameter("periods", "an empty list", "list at least one period"))
        }
        None => Ok(PeriodSampler::Choice(values)),
    }
}

impl PeriodSampler {
    /// Returns the shortest period.
    pub(crate) fn shortest(&self) -> Duration {
        match self {
            PeriodSampler::Uniform { first, granule, .. }
            | PeriodSampler::LogUniform { first, granule, .. } => {
                Duration::from_ns(first * granule)
            }
            PeriodSampler::Choice(values) => values.iter().copied().min().unwrap_or(Duration::MAX),
        }
    }

    /// Returns the longest period.
    pub(crate) fn longest(&self) -> Duration {
        match self {
            PeriodSampler::Uniform { last, granule, .. }
            | PeriodSampler::LogUniform { last, granule, .. } => Duration::from_ns(last * granule),
            PeriodSampler::Choice(values) => values.iter().copied().max().unwrap_or(Duration::ZERO),
        }
    }

    /// Draws a period of at least `least`, which replaces the lower bound if it is larger. Returns
    /// `None` if there is no such period.
    pub(crate) fn draw(&self, least: Duration, random: &mut Random) -> Option<Duration> {
        let raised =
            |first: i64, granule: i64| first.max(least.div_ceil(Duration::from_ns(granule)));
        match self {
            PeriodSampler::Uniform { first, last, granule } => {
                let first = raised(*first, *granule);
                let granules = (first <= *last).then(|| random.between(first, *last))?;
                Some(Duration::from_ns(granules * granule))
            }
            PeriodSampler::LogUniform { first, last, granule } => {
                let first = raised(*first, *granule);
                if first > *last {
                    return None;
                }
                // Each number of granules stands for the interval up to the next number.
                let (low, high) = (libm::log(first as f64), libm::log(*last as f64 + 1.0));
                // Rounding errors of the logarithm and the exponential
                // may leave the range, hence the limits below.
                let granules = libm::exp(low + (high - low) * random.unit()) as i64;
                Some(Duration::from_ns(granules.clamp(first, *last) * granule))
            }
            PeriodSampler::Choice(values) => {
                let long: Vec<Duration> =
                    values.iter().copied().filter(|&value| value >= least).collect();
                (!long.is_empty()).then(|| long[random.below(long.len() as u64) as usize])
            }
        }
    }
}

/// A distribution of relative deadlines. `C` is the task's own WCET plus its suspensions, or the
/// longest path of its graph; `x` is uniform on `[min, max]`. Deadlines are at least `C`, unless
/// the period is already shorter than that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadlines {
    /// `D = T`.
    Implicit,
    /// `D = C + x (T - C)`, the second term rounded down to a granule; `0 <= x <= 1`.
    Constrained {
        /// The least `x`.
        min: Rate,
        /// The largest `x`.
        max: Rate,
    },
    /// `D = x T`, rounded down to a granule, but at least `C`. Above 1, an arbitrary deadline.
    Factor {
        /// The least `x`.
        min: Rate,
        /// The largest `x`.
        max: Rate,
    },
}

impl Deadlines {
    pub(crate) fn check(&self) -> Result<(), GenError> {
        let (min, max, most) = match self {
            Deadlines::Implicit => return Ok(()),
            Deadlines::Constrained { min, max } => (min, max, Rate::ONE),
            Deadlines::Factor { min, max } => (min, max, Rate::whole(1_000_000)),
        };
        if *min < Rate::ZERO || min > max || *max > most {
            let help = "factors are not negative and in order; at most 1 for constrained deadlines";
            return Err(GenError::parameter("deadlines", format!("{min} to {max}"), help));
        }
        Ok(())
    }

    pub(crate) fn draw(
        &self,
        wcet: Service,
        period: Duration,
        granule: Duration,
        random: &mut Random,
    ) -> Duration {
        let wcet = wcet.at_unit_speed();
        match self {
            Deadlines::Implicit => period,
            Deadlines::Constrained { min, max } => {
                let x = uniform_rate(min, max, random);
                if wcet >= period { period } else { wcet + share(&x, period - wcet, granule) }
            }
            Deadlines::Factor { min, max } => {
                let x = uniform_rate(min, max, random);
                share(&x, period, granule).max(wcet.min(period.max(granule)))
            }
        }
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        let (kind, range) = match self {
            Deadlines::Implicit => ("implicit", None),
            Deadlines::Constrained { min, max } => ("constrained", Some((min, max))),
            Deadlines::Factor { min, max } => ("factor", Some((min, max))),
        };
        to.put("deadlines", kind);
        if let Some((min, max)) = range {
            to.put("deadlines.min", min);
            to.put("deadlines.max", max);
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Deadlines, GenError> {
        let kind: String = from.get("deadlines")?;
        let mut from = from.part("deadlines");
        Ok(match kind.as_str() {
            "implicit" => Deadlines::Implicit,
            "constrained" => {
                Deadlines::Constrained { min: from.get("min")?, max: from.get("max")? }
            }
            "factor" => Deadlines::Factor { min: from.get("min")?, max: from.get("max")? },
            _ => return Err(from.invalid("")),
        })
    }
}

/// A distribution of first arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// All at time 0.
    Synchronous,
    /// Uniform on the multiples of the granularity in `[0, T)`.
    Uniform,
}

impl Offsets {
    pub(crate) fn draw(self, period: Duration, granule: Duration, random: &mut Random) -> Duration {
        match self {
            Offsets::Synchronous => Duration::ZERO,
            Offsets::Uniform => {
                let choices = Integer::div_ceil(&period.ns(), &granule.ns());
                granule * random.between(0, choices - 1)
            }
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Offsets::Synchronous => "synchronous",
            Offsets::Uniform => "uniform",
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Offsets, GenError> {
        match from.get::<String>("offsets")?.as_str() {
            "synchronous" => Ok(Offsets::Synchronous),
            "uniform" => Ok(Offsets::Uniform),
            _ => Err(from.invalid("offsets")),
        }
    }
}

/// A distribution of arrivals. The additional separation of a sporadic job is a share of the
/// period, rounded down to a granule; its value for each job is drawn when the set is simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// One job per period.
    Periodic,
    /// An additional separation of up to `max` periods, uniform.
    Uniform {
        /// The largest additional separation, in periods.
        max: Rate,
    },
    /// An additional separation that is exponential, with this mean and this limit.
    Exponential {
        /// The mean before the limit, in periods.
        mean: Rate,
        /// The limit, in periods.
        max: Rate,
    },
}

impl Arrivals {
    pub(crate) fn check(&self) -> Result<(), GenError> {
        let in_range = |x: &Rate| *x >= Rate::ZERO && *x <= Rate::whole(1_000_000);
        let (ok, value) = match self {
            Arrivals::Periodic => return Ok(()),
            Arrivals::Uniform { max } => (in_range(max), max.to_string()),
            Arrivals::Exponential { mean, max } => (
                *mean > Rate::ZERO && in_range(mean) && in_range(max),
                format!("{mean}, at most {max}"),
            ),
        };
        let help = "periods that are added: not negative, a mean above 0, at most a million";
        if ok { Ok(()) } else { Err(GenError::parameter("arrivals", value, help)) }
    }

    pub(crate) fn behaviour(&self, period: Duration, granule: Duration) -> Behaviour {
        let added = |x: &Rate| share(x, period, granule);
        match self {
            Arrivals::Periodic => Behaviour::Periodic,
            Arrivals::Uniform { max } => {
                Behaviour::Sporadic(Separation::Uniform { max: added(max) })
            }
            Arrivals::Exponential { mean, max } => {
                let mean = added(mean).max(granule);
                Behaviour::Sporadic(Separation::Exponential { mean, max: added(max) })
            }
        }
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        match self {
            Arrivals::Periodic => to.put("arrivals", "periodic"),
            Arrivals::Uniform { max } => {
                to.put("arrivals", "uniform");
                to.put("arrivals.max", max);
            }
            Arrivals::Exponential { mean, max } => {
                to.put("arrivals", "exponential");
                to.put("arrivals.mean", mean);
                to.put("arrivals.max", max);
            }
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Arrivals, GenError> {
        let kind: String = from.get("arrivals")?;
        let mut from = from.part("arrivals");
        Ok(match kind.as_str() {
            "periodic" => Arrivals::Periodic,
            "uniform" => Arrivals::Uniform { max: from.get("max")? },
            "exponential" => {
                Arrivals::Exponential { mean: from.get("mean")?, max: from.get("max")? }
            }
            _ => return Err(from.invalid("")),
        })
    }
}
