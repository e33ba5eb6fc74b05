//! [`Recipe`]: every parameter of a family of random systems, and the generation of these systems.

use crate::affinity::hall_condition;
use crate::graphs::expanded;
use crate::parameters::{Reader, Writer};
use crate::rounding::share;
use crate::steps::{self, StepStreams};
use crate::timing::PeriodSampler;
use crate::utilization::Sampler;
use crate::{
    Affinities, Arrivals, Aspect, Bursts, Caches, Criticalities, Deadlines, GenError, Graphs,
    Offsets, Periods, Random, Regions, Sections, Suspensions, TwoBudgets, Utilizations,
};
use layland_model::{
    CpuSet, Duration, Levels, Provenance, Rate, Service, System, TIME_LIMIT, Task,
};
use std::fmt::Write as _;

/// The version of the rules by which a recipe becomes a set.
/// It changes whenever a recipe gives other bytes than before.
const RULES: u32 = 1;

/// Every parameter of a family of random systems.
///
/// A set is generated in this order: utilizations, periods, execution times,
/// criticality levels, graphs, steps, deadlines, offsets, arrivals, affinities,
/// regions, cache blocks. Tasks are named `t1`, `t2`, .. in the order in which
/// their utilizations were drawn, which is also that of their ranks.
///
/// `C = max(1 granule, floor(u T))` in whole granules.
///
/// ```
/// use layland_gen::{Recipe, Utilizations};
/// use layland_model::Rate;
/// let utilizations = Utilizations::RandFixedSum {
///     tasks: 16, total: Rate::new(76, 10), min: Rate::ZERO, max: Rate::ONE,
/// };
/// let recipe = Recipe::new(8, utilizations, 42);
/// let system = recipe.generate(3).unwrap();
/// assert_eq!(system.validate(), []);
/// assert!((system.utilization().to_f64() - 7.6).abs() < 0.01);
///
/// // The set says how to make it again.
/// let (again, index) = Recipe::from_provenance(system.provenance.as_ref().unwrap()).unwrap();
/// assert_eq!((again.generate(index).unwrap(), index), (system, 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The number of CPUs, all of unit speed.
    pub cpus: usize,
    /// The utilizations; with criticality levels, those of the lowest level.
    pub utilizations: Utilizations,
    /// The periods.
    pub periods: Periods,
    /// The granularity of execution times, offsets and separations,
    /// and of deadlines if the period is a multiple of it.
    pub granularity: Duration,
    /// The minimum execution time: a period is drawn from the part of its range with
    /// `u T >= min_wcet`. If that part is empty, the whole set is drawn again.
    pub min_wcet: Service,
    /// The relative deadlines.
    pub deadlines: Deadlines,
    /// The first arrivals.
    pub offsets: Offsets,
    /// The arrivals: periodic or sporadic.
    pub arrivals: Arrivals,
    /// The bursts of arrivals, if any; requires periodic `arrivals`, and excludes graphs.
    pub bursts: Option<Bursts>,
    /// The criticality levels, if there are several.
    pub criticalities: Option<Criticalities>,
    /// Criticality levels that are not drawn; excludes `criticalities`.
    pub two_budgets: Option<TwoBudgets>,
    /// The graphs, if tasks are DAG tasks; excludes criticality levels and `min_wcet`.
    pub graphs: Option<Graphs>,
    /// The critical sections, if tasks share resources; excludes criticality levels and graphs.
    pub sections: Option<Sections>,
    /// The self-suspensions, if any; excludes criticality levels and graphs.
    pub suspensions: Option<Suspensions>,
    /// The non-preemptive regions, if any; excludes sections and suspensions.
    pub regions: Option<Regions>,
    /// The cache blocks, if any; excludes sections and suspensions.
    pub caches: Option<Caches>,
    /// The affinities.
    pub affinities: Affinities,
    /// True if the whole set is drawn again until Hall's condition holds: for every set of CPUs,
    /// the tasks that may run nowhere else have a utilization of at most its size (with criticality
    /// levels, at each task's own). With implicit deadlines, the set is then feasible.
    pub feasible: bool,
    /// The maximum number of times that the whole set is drawn.
    pub tries: u32,
    /// The seed.
    pub seed: u64,
}

impl Recipe {
    /// Returns log-uniform periods from 10 ms to 1 s in whole milliseconds,
    /// implicit deadlines, synchronous periodic arrivals, global scheduling,
    /// and a granularity of 1 us. Callers change the fields that differ.
    pub fn new(cpus: usize, utilizations: Utilizations, seed: u64) -> Recipe {
        Recipe {
            cpus,
            utilizations,
            periods: Periods::LogUniform {
                min: Duration::from_ms(10),
                max: Duration::from_secs(1),
                granularity: Duration::from_ms(1),
            },
            granularity: Duration::from_us(1),
            min_wcet: Service::ZERO,
            deadlines: Deadlines::Implicit,
            offsets: Offsets::Synchronous,
            arrivals: Arrivals::Periodic,
            bursts: None,
            criticalities: None,
            two_budgets: None,
            graphs: None,
            sections: None,
            suspensions: None,
            regions: None,
            caches: None,
            affinities: Affinities::Global,
            feasible: false,
            tries: 1000,
            seed,
        }
    }

    /// Checks the parameters and computes the tables, once for many sets.
    pub fn generator(&self) -> Result<Generator, GenError> {
        if !(1..=CpuSet::MAX_CPUS).contains(&self.cpus) {
            return Err(GenError::parameter("cpus", self.cpus, "a system has 1 to 4096 CPUs"));
        }
        let granularity = self.granularity;
        if granularity <= Duration::ZERO || granularity.ns() > TIME_LIMIT {
            return Err(GenError::parameter("granularity", granularity, "it must be positive"));
        }
        if self.min_wcet < Service::ZERO || self.min_wcet.ns() > TIME_LIMIT {
            return Err(GenError::parameter("min_wcet", self.min_wcet, "it cannot be negative"));
        }
        if self.tries == 0 {
            return Err(GenError::parameter("tries", self.tries, "allow at least one"));
        }
        self.deadlines.check()?;
        self.arrivals.check()?;
        self.affinities.check(self.cpus)?;
        if let Some(criticalities) = &self.criticalities {
            criticalities.check()?;
        }
        if let Some(two_budgets) = &self.two_budgets {
            two_budgets.check()?;
            if self.criticalities.is_some() {
                let help = "levels are either drawn or given in turn";
                return Err(GenError::parameter("levels", two_budgets.levels, help));
            }
        }
        self.check_structure()?;
        self.check_preemption()?;
        let utilizations = self.utilizations.sampler()?;
        let periods = self.periods.sampler()?;
        self.check_bursts(periods.longest())?;
        if granularity > periods.shortest() {
            let help = "it must not be longer than the shortest period";
            return Err(GenError::parameter("granularity", granularity, help));
        }
        let provenance = self.provenance(0);
        Ok(Generator { periods, utilizations, recipe: self.clone(), provenance })
    }

    /// Generates the `index`-th set, which does not depend on the others. For many sets of one
    /// recipe, [`Recipe::generator`] is faster.
    pub fn generate(&self, index: u64) -> Result<System, GenError> {
        self.generator()?.generate(index)
    }

    /// Returns the recipe and the index of a set that [`Recipe::generate`] generated.
    pub fn from_provenance(provenance: &Provenance) -> Result<(Recipe, u64), GenError> {
        let generator = &provenance.generator;
        if generator.split_whitespace().next() != Some(env!("CARGO_PKG_NAME")) {
            return Err(GenError::Provenance {
                name: generator.clone(),
                problem: "the generator",
                help: "only sets that were made by layland-gen can be made again",
            });
        }
        let mut from = Reader::new(&provenance.parameters);
        let rules: u32 = from.get("rules")?;
        if rules != RULES {
            return Err(GenError::Provenance {
                name: rules.to_string(),
                problem: "the rules",
                help: "this version has other rules: use the version that is named there",
            });
        }
        let index = from.get(INDEX)?;
        let recipe = Recipe {
            cpus: from.get("cpus")?,
            utilizations: Utilizations::read(&mut from)?,
            periods: Periods::read(&mut from)?,
            granularity: from.get("granularity")?,
            min_wcet: from.get("min_wcet")?,
            deadlines: Deadlines::read(&mut from)?,
            offsets: Offsets::read(&mut from)?,
            arrivals: Arrivals::read(&mut from)?,
            bursts: Bursts::read(&mut from)?,
            criticalities: Criticalities::read(&mut from)?,
            two_budgets: TwoBudgets::read(&mut from)?,
            graphs: Graphs::read(&mut from)?,
            sections: Sections::read(&mut from)?,
            suspensions: Suspensions::read(&mut from)?,
            regions: Regions::read(&mut from)?,
            caches: Caches::read(&mut from)?,
            affinities: Affinities::read(&mut from)?,
            feasible: from.get("feasible")?,
            tries: from.get("tries")?,
            seed: provenance.seed,
        };
        from.finish()?;
        Ok((recipe, index))
    }

    /// Returns the provenance of the `index`-th set.
    pub fn provenance(&self, index: u64) -> Provenance {
        let mut to = Writer::default();
        to.put("rules", RULES);
        to.put(INDEX, index);
        to.put("cpus", self.cpus);
        self.utilizations.write(&mut to);
        self.periods.write(&mut to);
        to.put("granularity", self.granularity);
        to.put("min_wcet", self.min_wcet);
        self.deadlines.write(&mut to);
        to.put("offsets", self.offsets.name());
        self.arrivals.write(&mut to);
        if let Some(bursts) = &self.bursts {
            bursts.write(&mut to);
        }
        if let Some(criticalities) = &self.criticalities {
            criticalities.write(&mut to);
        }
        if let Some(two_budgets) = &self.two_budgets {
            two_budgets.write(&mut to);
        }
        if let Some(graphs) = &self.graphs {
            graphs.write(&mut to);
        }
        if let Some(sections) = &self.sections {
            sections.write(&mut to);
        }
        if let Some(suspensions) = &self.suspensions {
            suspensions.write(&mut to);
        }
        if let Some(regions) = &self.regions {
            regions.write(&mut to);
        }
        if let Some(caches) = &self.caches {
            caches.write(&mut to);
        }
        self.affinities.write(&mut to);
        to.put("feasible", self.feasible);
        to.put("tries", self.tries);
        Provenance {
            generator: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned(),
            seed: self.seed,
            parameters: to.0,
        }
    }
}

/// The parameter that distinguishes the sets of a recipe.
const INDEX: &str = "index";

/// A recipe with checked parameters and computed tables.
#[derive(Clone, Debug)]
pub struct Generator {
    recipe: Recipe,
    utilizations: Sampler,
    periods: PeriodSampler,
    /// The provenance of the first set; those of the others differ only in the index.
    provenance: Provenance,
}

impl Generator {
    /// Generates the `index`-th set, equal to that of [`Recipe::generate`].
    ///
    /// ```
    /// use layland_gen::{Recipe, Utilizations};
    /// use layland_model::Rate;
    /// let recipe = Recipe::new(2, Utilizations::UUniFast { tasks: 4, total: Rate::ONE }, 1);
    /// let generator = recipe.generator().unwrap();
    /// assert_eq!(generator.generate(5), recipe.generate(5));
    /// assert_ne!(generator.generate(5), generator.generate(6));
    /// ```
    pub fn generate(&self, index: u64) -> Result<System, GenError> {
        let recipe = &self.recipe;
        let mut streams = Streams::new(recipe.seed, index);
        let mut too_short = false;
        for _ in 0..recipe.tries {
            let Some(mut system) = self.draw(&mut streams)? else {
                too_short = true;
                continue;
            };
            if !recipe.feasible || hall_condition(&system) {
                let mut provenance = self.provenance.clone();
                if let Some(own) = provenance.parameters.get_mut(INDEX) {
                    *own = index.to_string().into();
                }
                system.provenance = Some(provenance);
                return Ok(system);
            }
        }
        let (wanted, help) = if too_short {
            (
                "had periods long enough for `min_wcet`, where it was to be feasible as well",
                "lower `min_wcet`, raise the longest period, or raise the smallest utilization",
            )
        } else {
            (
                "satisfied Hall's condition",
                "lower the total utilization, widen the affinities, or raise `tries`",
            )
        };
        Err(GenError::Exhausted { tries: recipe.tries, wanted, help })
    }

    /// Makes one try; returns `None` if there is no period that is long enough.
    fn draw(&self, streams: &mut Streams) -> Result<Option<System>, GenError> {
        let recipe = &self.recipe;
        let granule = recipe.granularity;
        let utilizations = self.utilizations.draw(&mut streams.utilizations)?;
        let mut tasks = Vec::with_capacity(utilizations.len());
        let mut graphs = Vec::new();
        let mut name = String::from("t");
        for (i, u) in utilizations.iter().enumerate() {
            // `ceil(min_wcet / u)`, with `min_wcet` rounded up to a granule.
            let min_wcet = granule * recipe.min_wcet.at_unit_speed().div_ceil(granule);
            let least = match (min_wcet, u) {
                (Duration::ZERO, _) => Duration::ZERO,
                (_, u) if *u == Rate::ZERO => return Ok(None),
                (least, u) => match (&Rate::whole(least.ns()) / u).ceil() {
                    Some(ns) if ns <= TIME_LIMIT => Duration::from_ns(ns),
                    _ => return Ok(None),
                },
            };
            let Some(period) = self.periods.draw(least, &mut streams.periods) else {
                return Ok(None);
            };
            let wcet = share(u, period, granule).max(granule).at_unit_speed();
            name.truncate(1);
            // Writing to a string never fails.
            let _ = write!(name, "{}", i + 1);
            let mut task = Task::implicit(name.as_str(), wcet, period);
            if let Some(criticalities) = &recipe.criticalities {
                criticalities.draw(&mut task, granule, &mut streams.criticalities);
            }
            if let Some(two_budgets) = &recipe.two_budgets {
                two_budgets.apply(&mut task, i, granule);
            }
            let mut needed = task.own_wcet();
            if let Some(shape) = &recipe.graphs {
                let random = &mut streams.graphs;
                let graph = shape.draw(wcet, period, granule, recipe.tries, random)?;
                needed = graph.length.at_unit_speed();
                graphs.push(graph);
            }
            let (sections, suspensions) = (recipe.sections.as_ref(), recipe.suspensions.as_ref());
            if sections.is_some() || suspensions.is_some() {
                let (tries, streams) = (recipe.tries, &mut streams.steps);
                let suspended =
                    steps::draw(&mut task, sections, suspensions, granule, tries, streams)?;
                needed += suspended.at_unit_speed();
            }
            task.deadline = recipe.deadlines.draw(needed, period, granule, &mut streams.deadlines);
            task.offset = recipe.offsets.draw(period, granule, &mut streams.offsets);
            task.behaviour = match &recipe.bursts {
                Some(bursts) => bursts.draw(period, granule, &mut streams.bursts),
                None => recipe.arrivals.behaviour(period, granule),
            };
            tasks.push(task);
        }
        let mut system = System::new(recipe.cpus, tasks);
        if let Some(criticalities) = &recipe.criticalities {
            system.levels = Levels::new(criticalities.levels.clone());
        }
        if let Some(two_budgets) = &recipe.two_budgets {
            system.levels = two_budgets.names();
        }
        recipe.affinities.draw(&mut system, &mut streams.affinities);
        if recipe.graphs.is_some() {
            system = expanded(&system, &graphs);
        }
        if let Some(sections) = &recipe.sections {
            system.resources = sections.resources(recipe.cpus);
        }
        if let Some(regions) = &recipe.regions {
            for task in system.tasks.values_mut() {
                regions.draw(task, granule, &mut streams.regions);
            }
        }
        if let Some(caches) = &recipe.caches {
            caches.draw(&mut system, &mut streams.caches);
        }
        Ok(Some(system))
    }
}

/// The random streams of one set.
struct Streams {
    utilizations: Random,
    periods: Random,
    deadlines: Random,
    criticalities: Random,
    offsets: Random,
    affinities: Random,
    graphs: Random,
    steps: StepStreams,
    bursts: Random,
    regions: Random,
    caches: Random,
}

impl Streams {
    fn new(seed: u64, index: u64) -> Streams {
        Streams {
            utilizations: Random::new(seed, index, Aspect::Utilizations),
            periods: Random::new(seed, index, Aspect::Periods),
            deadlines: Random::new(seed, index, Aspect::Deadlines),
            criticalities: Random::new(seed, index, Aspect::Criticalities),
            offsets: Random::new(seed, index, Aspect::Offsets),
            affinities: Random::new(seed, index, Aspect::Affinities),
            graphs: Random::new(seed, index, Aspect::Graphs),
            steps: StepStreams {
                sections: Random::new(seed, index, Aspect::Sections),
                suspensions: Random::new(seed, index, Aspect::Suspensions),
                order: Random::new(seed, index, Aspect::Steps),
            },
            bursts: Random::new(seed, index, Aspect::Bursts),
            regions: Random::new(seed, index, Aspect::Regions),
            caches: Random::new(seed, index, Aspect::Caches),
        }
    }
}
