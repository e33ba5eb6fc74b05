//! The distance to the limit: by which factor all WCETs could grow, or would have to shrink.

use crate::{Asked, AssessOptions, verdict};
use layland_analysis::Verdict;
use layland_model::{Preemption, Rate, Service, Step, System, TIME_LIMIT};
use std::borrow::Cow;
use std::sync::Arc;

/// The factors are multiples of a thousandth.
const UNIT: i64 = 1000;

/// By which factor all WCETs can be multiplied so that every deadline is still guaranteed: this one
/// is accepted, and the next larger one is not.
///
/// Sufficient tests need not be monotone, so that a factor beyond may be accepted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Margin {
    /// The factor, in thousandths.
    pub thousandths: i64,
}

impl Margin {
    /// The factor.
    pub fn factor(self) -> Rate {
        Rate::new(self.thousandths, UNIT)
    }
    /// The speed that CPUs need, all WCETs as they are; none if no factor is accepted.
    pub fn speed(self) -> Option<Rate> {
        (self.thousandths > 0).then(|| Rate::new(UNIT, self.thousandths))
    }
}

/// The margin of a policy that takes the system and has this verdict on it. None if what is needed
/// is beyond the range of times.
pub(crate) fn margin(
    policy: &Asked<'_, '_>,
    system: &System,
    options: &AssessOptions,
    now: Verdict,
) -> Option<Margin> {
    let options = options.for_another_system();
    let accepted = |thousandths: i64| {
        let scaled = Cow::Owned(scaled(system, thousandths));
        verdict(policy, scaled, &options).verdict == Verdict::Yes
    };
    // Beyond this factor some task is longer than its deadline, or the CPUs cannot do the load.
    let alone = system.tasks.values().map(|task| {
        i128::from(task.deadline.ns()) * i128::from(UNIT) / i128::from(task.own_wcet().ns())
    });
    let fastest: Rate = system.platform.speeds.values().map(|speed| speed.rate()).max()?;
    let alone = &Rate::whole(i64::try_from(alone.min()?).ok()?) * &fastest;
    let capacity: Rate = system.platform.speeds.values().map(|speed| speed.rate()).sum();
    let together = &(&capacity / &system.utilization().exact()) * &Rate::whole(UNIT);
    let limit = alone.min(together).ceil()?.checked_add(1)?;
    let (mut low, mut high) = match now {
        Verdict::Yes => (UNIT, limit.max(UNIT + 1)),
        Verdict::No | Verdict::Unknown => (0, limit.clamp(1, UNIT)),
    };
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if accepted(middle) { low = middle } else { high = middle }
    }
    Some(Margin { thousandths: low })
}

/// Segments that divide a WCET as others divided another: each ends at the same share of it, rounded up. What would be
/// empty is left out.
fn between(segments: &mut Box<[Service]>, before: Service, after: Service) {
    let (mut end, mut last) = (0i128, 0i128);
    let mut scaled = Vec::with_capacity(segments.len());
    for segment in segments.iter() {
        end += i128::from(segment.ns());
        let (whole, part) = (i128::from(before.ns()).max(1), end * i128::from(after.ns()));
        let ends = (part + whole - 1) / whole;
        if ends > last {
            scaled.push(Service::from_ns(i64::try_from(ends - last).unwrap_or(TIME_LIMIT)));
        }
        last = ends;
    }
    *segments = scaled.into();
}

/// The steps with everything that is executed scaled. Suspensions stay: no CPU has a part in them.
fn scaled_steps(steps: &[Step], scale: impl Fn(&mut Service)) -> Arc<[Step]> {
    let of_step = |step: &Step| match *step {
        Step::Run(mut length) => {
            scale(&mut length);
            Step::Run(length)
        }
        other @ (Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_)) => other,
    };
    steps.iter().map(of_step).collect()
}

fn executes(step: &Step) -> Option<Service> {
    match *step {
        Step::Run(length) => Some(length),
        Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => None,
    }
}

/// The system with all WCETs, budgets and execution times multiplied by this many thousandths,
/// rounded up; segments and steps of jobs grow with them, floating regions and suspensions do not.
pub fn scaled(system: &System, thousandths: i64) -> System {
    use layland_model::ExecutionModel;
    let scale = |c: &mut Service| {
        let ns = i128::from(c.ns()) * i128::from(thousandths);
        let up = (ns + i128::from(UNIT) - 1) / i128::from(UNIT);
        *c = Service::from_ns(i64::try_from(up).unwrap_or(TIME_LIMIT).min(TIME_LIMIT));
    };
    let mut scaled = system.clone();
    for task in scaled.tasks.values_mut() {
        let before = task.own_wcet();
        task.wcet.iter_mut().for_each(scale);
        if let Some(steps) = &task.steps {
            let steps = scaled_steps(steps, scale);
            let level = task.criticality.level().min(task.wcet.len() - 1);
            task.wcet[level] = steps.iter().filter_map(executes).sum();
            task.steps = Some(steps);
        }
        let after = task.own_wcet();
        if let Preemption::Between(segments) = &mut task.preemption {
            between(segments, before, after);
        }
        task.budget.iter_mut().for_each(scale);
        match &mut task.execution {
            ExecutionModel::Wcet | ExecutionModel::Level(_) | ExecutionModel::Fraction(_) => {}
            ExecutionModel::Uniform { min, max } => [min, max].into_iter().for_each(scale),
            ExecutionModel::Discrete(values) => values.iter_mut().for_each(|(c, _)| scale(c)),
            ExecutionModel::List(values) => values.iter_mut().for_each(scale),
        }
    }
    scaled
}
