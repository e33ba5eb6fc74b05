//! Bursts: random arrival curves.

use crate::parameters::{Reader, Writer};
use crate::rounding::{share, uniform_rate};
use crate::{GenError, Random};
use layland_model::{ArrivalCurve, Behaviour, CurveArrivals, Duration, Rate, TIME_LIMIT};
use std::sync::Arc;

/// A distribution of bursts.
///
/// The jobs of a burst arrive a distance `d` apart. Bursts of `k` jobs repeat
/// every `k` periods, so that in the long run there is one job per period: the
/// least distances are `d, 2d, .., (k - 1) d, k T`. Each job arrives as soon
/// as they permit. If `k` is 1, or `d` is the period, the task is periodic.
///
/// ```
/// use layland_gen::{Bursts, Recipe, Utilizations};
/// use layland_model::Rate;
/// let utilizations = Utilizations::UUniFast { tasks: 6, total: Rate::ONE };
/// let bursts = Bursts { jobs: (3, 3), distance: (Rate::new(1, 10), Rate::new(1, 5)) };
/// let recipe = Recipe { bursts: Some(bursts), ..Recipe::new(1, utilizations, 7) };
/// for task in recipe.generate(0).unwrap().tasks.values() {
///     let curve = task.bursts().unwrap();
///     assert_eq!(curve.cycle(), (3, task.period * 3));
///     assert!(curve.distance(2) * 5 <= task.period * 2);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// The least and the largest number of jobs in a burst of a task, 1 to 512; uniform.
    pub jobs: (u32, u32),
    /// The distance `x`: the jobs of a burst are `x T`
    /// apart, rounded down to a granule; uniform, 0 to 1.
    pub distance: (Rate, Rate),
}

impl Bursts {
    /// Checks the parameters, for periods of at most `longest`.
    pub(crate) fn check(&self, longest: Duration) -> Result<(), GenError> {
        let (least, most) = self.jobs;
        let value = || format!("{least}..{most}");
        if least < 1 || least > most || most as usize > ArrivalCurve::MAX {
            let help = "a burst has 1 to 512 jobs, the smaller number first";
            return Err(GenError::parameter("bursts", value(), help));
        }
        if longest.checked_mul(most.into()).is_none_or(|length| length.ns() > TIME_LIMIT) {
            let help = "this many periods are too long: draw shorter bursts or periods";
            return Err(GenError::parameter("bursts", value(), help));
        }
        let (min, max) = &self.distance;
        if *min < Rate::ZERO || min > max || *max > Rate::ONE {
            let help = "shares of the period are between 0 and 1, and in order";
            return Err(GenError::parameter("burst_distance", format!("{min}..{max}"), help));
        }
        Ok(())
    }

    /// Draws the arrivals of the jobs of a task.
    pub(crate) fn draw(
        &self,
        period: Duration,
        granule: Duration,
        random: &mut Random,
    ) -> Behaviour {
        let jobs = random.between(self.jobs.0.into(), self.jobs.1.into());
        // Draw the distance even for a single job, so that the
        // distances of other tasks do not depend on the number of jobs.
        let x = uniform_rate(&self.distance.0, &self.distance.1, random);
        let distance = share(&x, period, granule);
        let within = (1..jobs).map(|steps| distance * steps);
        let delta_min: Vec<Duration> = within.chain([period * jobs]).collect();
        let curve =
            ArrivalCurve::new(&delta_min).expect("distances grow, and their limit is checked");
        if curve.is_sporadic() {
            return Behaviour::Periodic;
        }
        Behaviour::Curve(Arc::new(CurveArrivals { curve, extra: None }))
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.put_list("bursts.jobs", &[self.jobs.0, self.jobs.1]);
        to.put_list("bursts.distance", &[&self.distance.0, &self.distance.1]);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Option<Bursts>, GenError> {
        if from.find::<String>("bursts.jobs")?.is_none() {
            return Ok(None);
        }
        let mut from = from.part("bursts");
        Ok(Some(Bursts { jobs: from.pair("jobs")?, distance: from.pair("distance")? }))
    }
}
