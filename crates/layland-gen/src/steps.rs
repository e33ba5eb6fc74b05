//! The steps of jobs other than execution: critical sections and self-suspensions.
//!
//! Sections are drawn as in the experiments with SchedCAT (Brandenburg 2011). Each task uses each
//! resource with the same probability. For each resource that its task uses, a job makes a number
//! of requests that is uniform on a range, all of one length, which is uniform on another. A job
//! suspends itself a number of times that is uniform on a range, for a share of `T - C` in total.
//! Sections are not nested, and jobs do not suspend themselves within one.
//!
//! Sections are a part of the WCET. The rest is executed before, between and after sections and
//! suspensions, at least a granule each time. Their order is uniform. The rest and the suspensions
//! are divided by weights like the nodes of a [graph](crate::Graphs).

use crate::parameters::{Reader, Writer};
use crate::rounding::{Chance, share, split, uniform_rate};
use crate::{GenError, Random};
use layland_model::{
    CpuId, Duration, Index, Rate, Resource, ResourceId, Service, Step, TIME_LIMIT, Task,
};

/// A distribution of critical sections.
///
/// The resources are `r1`, `r2` and so on, with their homes on the CPUs in turn.
///
/// ```
/// use layland_gen::{Recipe, Sections, Utilizations};
/// use layland_model::{Rate, Service};
/// let sections = Sections {
///     resources: 4,
///     access: Rate::new(1, 2),
///     requests: (1, 3),
///     length: (Service::from_us(1), Service::from_us(15)),
/// };
/// let utilizations = Utilizations::UUniFast { tasks: 6, total: Rate::ONE };
/// let recipe = Recipe { sections: Some(sections), ..Recipe::new(2, utilizations, 7) };
/// let system = recipe.generate(0).unwrap();
/// assert_eq!((system.resources.len(), system.validate()), (4, vec![]));
/// assert!(system.tasks.values().any(|task| !task.sections().is_empty()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sections {
    /// The number of resources: 1 to 1000.
    pub resources: u32,
    /// The probability that a task uses a resource.
    pub access: Rate,
    /// The least and the largest number of requests of a job for a resource of its task, 1 to 1000.
    pub requests: (u32, u32),
    /// The shortest and the longest section, each rounded up to a granule.
    pub length: (Service, Service),
}

/// A distribution of self-suspensions. If the period is at least
/// the WCET plus the suspensions, so is the relative deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspensions {
    /// The least and the largest number of suspensions of a job, up to 1000.
    pub count: (u32, u32),
    /// The share `x`: a job is suspended for `x (T - C)` in
    /// total, rounded down to a granule; uniform, 0 to 1.
    pub share: (Rate, Rate),
}

impl Sections {
    pub(crate) fn check(&self) -> Result<(), GenError> {
        if !(1..=1000).contains(&self.resources) {
            let help = "1 to 1000 resources are possible";
            return Err(GenError::parameter("resources", self.resources, help));
        }
        if self.access < Rate::ZERO || self.access > Rate::ONE {
            let help = "a probability is between 0 and 1";
            return Err(GenError::parameter("access", &self.access, help));
        }
        let (least, most) = self.requests;
        if least < 1 || least > most || most > 1000 {
            let help = "a job makes 1 to 1000 requests, the smaller number first";
            return Err(GenError::parameter("requests", format!("{least}..{most}"), help));
        }
        let (short, long) = self.length;
        if short <= Service::ZERO || short > long || long.ns() > TIME_LIMIT {
            let help = "sections are longer than 0, the shorter length first";
            return Err(GenError::parameter("section", format!("{short}..{long}"), help));
        }
        Ok(())
    }

    /// Returns the resources.
    pub(crate) fn resources(&self, cpus: usize) -> Vec<Resource> {
        let resource = |at: usize| Resource {
            name: format!("r{}", at + 1),
            home: Some(CpuId::from_index(at % cpus)),
        };
        (0..self.resources as usize).map(resource).collect()
    }

    /// Draws the sections of a job: the resource and the length in granules of each.
    fn draw(&self, granule: Duration, random: &mut Random) -> Vec<(ResourceId, i64)> {
        let access = Chance::new(&self.access);
        let granules = |length: Service| length.at_unit_speed().div_ceil(granule);
        let (short, long) = (granules(self.length.0), granules(self.length.1));
        let mut sections = Vec::new();
        for resource in 0..self.resources {
            if !access.happens(random) {
                continue;
            }
            let requests = random.between(self.requests.0.into(), self.requests.1.into());
            let length = random.between(short, long);
            sections.extend((0..requests).map(|_| (ResourceId(resource), length)));
        }
        sections
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.put("sections.resources", self.resources);
        to.put("sections.access", &self.access);
        to.put_list("sections.requests", &[self.requests.0, self.requests.1]);
        to.put_list("sections.length", &[self.length.0, self.length.1]);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Option<Sections>, GenError> {
        if from.find::<String>("sections.resources")?.is_none() {
            return Ok(None);
        }
        let mut from = from.part("sections");
        Ok(Some(Sections {
            resources: from.get("resources")?,
            access: from.get("access")?,
            requests: from.pair("requests")?,
            length: from.pair("length")?,
        }))
    }
}

impl Suspensions {
    pub(crate) fn check(&self) -> Result<(), GenError> {
        let (least, most) = self.count;
        if least > most || most > 1000 {
            let help = "a job suspends itself up to 1000 times, the smaller number first";
            return Err(GenError::parameter("suspensions", format!("{least}..{most}"), help));
        }
        let (min, max) = &self.share;
        if *min < Rate::ZERO || min > max || *max > Rate::ONE {
            let help = "shares of the period less the WCET are between 0 and 1, and in order";
            return Err(GenError::parameter("suspension", format!("{min}..{max}"), help));
        }
        Ok(())
    }

    /// Draws the suspensions of a job, in granules.
    fn draw(&self, rest: Duration, granule: Duration, random: &mut Random) -> Vec<i64> {
        let count = random.between(self.count.0.into(), self.count.1.into());
        let x = uniform_rate(&self.share.0, &self.share.1, random);
        let total = share(&x, rest.max(Duration::ZERO), granule).div_floor(granule);
        match count.min(total) {
            0 => Vec::new(),
            count => split(total, count as usize, random),
        }
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.put_list("suspensions.count", &[self.count.0, self.count.1]);
        to.put_list("suspensions.share", &[&self.share.0, &self.share.1]);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Option<Suspensions>, GenError> {
        if from.find::<String>("suspensions.count")?.is_none() {
            return Ok(None);
        }
        let mut from = from.part("suspensions");
        Ok(Some(Suspensions { count: from.pair("count")?, share: from.pair("share")? }))
    }
}

/// The random streams for the steps of a set.
pub(crate) struct StepStreams {
    pub(crate) sections: Random,
    pub(crate) suspensions: Random,
    pub(crate) order: Random,
}

/// Draws the steps of a task, if it does more than execute;
/// returns the time for which its jobs suspend themselves.
///
/// Sections that leave too little to execute are drawn again.
pub(crate) fn draw(
    task: &mut Task,
    sections: Option<&Sections>,
    suspensions: Option<&Suspensions>,
    granule: Duration,
    tries: u32,
    streams: &mut StepStreams,
) -> Result<Duration, GenError> {
    let wcet = task.own_wcet().at_unit_speed();
    let suspended = suspensions.map_or(Vec::new(), |suspensions| {
        suspensions.draw(task.period - wcet, granule, &mut streams.suspensions)
    });
    for _ in 0..tries {
        let locked =
            sections.map_or(Vec::new(), |sections| sections.draw(granule, &mut streams.sections));
        let parts = locked.len() + suspended.len() + 1;
        let held: i128 = locked.iter().map(|section| i128::from(section.1)).sum();
        let rest = i128::from(wcet.div_floor(granule)) - held;
        if parts == 1 {
            return Ok(Duration::ZERO);
        }
        // At least a granule is executed before, between and after the others.
        if rest < parts as i128 {
            continue;
        }
        let order = &mut streams.order;
        let mut others: Vec<(Option<ResourceId>, i64)> =
            locked.into_iter().map(|(resource, length)| (Some(resource), length)).collect();
        others.extend(suspended.iter().map(|&length| (None, length)));
        order.shuffle(&mut others);
        let run = |granules: i64| Step::Run((granule * granules).at_unit_speed());
        let mut executed = split(rest as i64, parts, order).into_iter();
        let mut steps: Vec<Step> = executed.next().map(run).into_iter().collect();
        for ((resource, length), after) in others.into_iter().zip(executed) {
            match resource {
                Some(resource) => {
                    steps.extend([Step::Lock(resource), run(length), Step::Unlock(resource)]);
                }
                None => steps.push(Step::Suspend(granule * length)),
            }
            steps.push(run(after));
        }
        task.steps = Some(steps.into());
        return Ok(granule * suspended.iter().sum::<i64>());
    }
    Err(GenError::Exhausted {
        tries,
        wanted: "drew sections that fit into a WCET",
        help: "raise `min_wcet`, or draw shorter sections, fewer requests or fewer resources",
    })
}
