//! The parameters of a random system as strings: the options of `layland gen`, by name, and the
//! subsequent changes to the system.

use crate::reserve;
use layland_analysis::optimal::overhead::Costs;
use layland_gen::{
    Bursts, Caches, Criticalities, GenError, Graphs, Recipe, Sections, Shape, Suspensions,
    TwoBudgets, Utilizations, text,
};
use layland_model::{CpuSet, Duration, ExecutionModel, Rate, Service, System};
use layland_offline::{Heuristic, semi_partition};
use std::collections::BTreeMap;

/// Utilizations on a lattice are multiples of one over this resolution.
const RESOLUTION: u32 = 1000;

/// Every parameter, with its meaning.
pub const PARAMETERS: &[(&str, &str)] = &[
    ("cpus", "the number of CPUs"),
    ("tasks", "the number of tasks"),
    ("utilization", "the total utilization"),
    ("generator", "randfixedsum (default), convolutional, uunifast or uunifast-discard"),
    ("rates", "the utilization of each task, separated by commas: multiples of 1/1000"),
    ("min", "the least utilization of a task"),
    ("max", "the largest utilization of a task"),
    (
        "range",
        "MIN..MAX, heavy or medium: the range of each utilization, until the total or this many tasks",
    ),
    (
        "periods",
        "log:10ms..1s (default), uniform:MIN..MAX, harmonic:BASES*FACTOR^POWERS, list:T,..",
    ),
    ("period_granularity", "periods are multiples of it (1ms)"),
    ("granularity", "execution times are multiples of it (1us)"),
    ("min_wcet", "the shortest execution time"),
    ("deadlines", "implicit (default), constrained:MIN..MAX or factor:MIN..MAX"),
    ("offsets", "synchronous (default) or uniform"),
    ("arrivals", "periodic (default), sporadic:MAX or exponential:MEAN..MAX"),
    ("bursts", "MIN..MAX: the number of jobs in a burst, one per period in the long run"),
    ("burst_distance", "with bursts: MIN..MAX of the period between the jobs of one (0.1..0.3)"),
    ("criticality", "names of the levels, low to high, separated by commas"),
    ("probability", "the probability of each level, separated by commas"),
    ("factor", "MIN..MAX: the growth of the execution time from one level to the next"),
    ("capped", "true: execution times of higher levels are cut at the period"),
    (
        "levels",
        "the number of criticality levels, which tasks get in turn, each task with two WCETs",
    ),
    ("level_factor", "with levels: the WCET at its own level and above over that below (1.5)"),
    ("lowest_grows", "with levels: true if tasks of the lowest have the larger one, too (true)"),
    ("graphs", "gnp or fork-join: DAG tasks, of which each has the utilization of its graph"),
    ("nodes", "with graphs: MIN..MAX nodes each (5..20)"),
    (
        "edge_probability",
        "with graphs: of an edge between two nodes (gnp: 0.2); of one more in parallel (fork-join: 0)",
    ),
    ("fork_probability", "fork-join: the probability that a branch forks again (0.8)"),
    ("branches", "fork-join: MIN..MAX branches of a fork (2..6)"),
    ("depth", "fork-join: the largest depth of nested forks (2)"),
    ("resources", "the number of shared resources: jobs have critical sections within their WCETs"),
    ("access", "with resources: the probability that a task uses one (0.25)"),
    ("requests", "with resources: MIN..MAX requests of a job for each that its task uses (1..5)"),
    (
        "section",
        "with resources: short (default), medium, long or MIN..MAX: the time for which one is held",
    ),
    ("suspensions", "MIN..MAX: the number of times that a job suspends itself"),
    (
        "suspension",
        "with suspensions: short (default), medium, long or MIN..MAX of the period less the WCET",
    ),
    (
        "regions",
        "segments:MIN..MAX, floating:MIN..MAX of the WCET, or whole: the points at which jobs are preempted",
    ),
    ("cache_sets", "the number of sets of a cache: jobs reload blocks that others evict"),
    ("cache_utilization", "with cache_sets: the number of blocks of all tasks divided by it (10)"),
    ("reuse", "with cache_sets: MIN..MAX of the sets of a task have useful blocks (0..0.3)"),
    ("block_reload", "with cache_sets: the time to reload a block (8us)"),
    (
        "affinity",
        "global (default), clustered:K, partitioned, round-robin, levels:SOCKETS or nested",
    ),
    ("feasible", "true: drawn again until the affinities can carry it"),
    ("tries", "the largest number of times that a set is drawn (1000)"),
    ("execution", "jobs execute for this share of their WCET (1)"),
    (
        "reserve",
        "REL:2us,SCHED:..,CSW,LAT,CLK,TUP,PRE,MIG: jobs execute for their WCET less the overheads of RUN and QPS",
    ),
    ("pack", "ff, ffd, bf, bfd, wf, wfd, ..: tasks that fit are tied to a CPU, the others migrate"),
    ("pack_limit", "with pack: the most that a CPU is loaded (1)"),
];

/// Parameters, as strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Sets a parameter.
    pub fn put(&mut self, name: &str, value: String) {
        self.0.insert(name.to_owned(), value);
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All parameters in one line, from which seeds and shards are derived.
    pub fn line(&self) -> String {
        let each: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        each.join(" ")
    }

    /// Creates the source of the systems.
    ///
    /// # Errors
    /// Returns the name of the invalid parameter, if it is a single one, and advice.
    pub(crate) fn source(&self, seed: u64) -> Result<Source, (Option<&'static str>, String)> {
        let whole = |message: GenError| (None, message.to_string());
        let recipe = self.recipe(seed)?;
        let generator = recipe.generator().map_err(whole)?;
        let pack = self.parsed("pack", None, |text| text.parse::<Heuristic>().map(Some))?;
        let limit = self.parsed("pack_limit", Rate::ONE, str::parse)?;
        let execution = self.parsed("execution", Rate::ONE, str::parse)?;
        if execution <= Rate::ZERO {
            return Err((Some("execution"), "a share of the WCET is above 0".to_owned()));
        }
        let reserve = self.parsed("reserve", None, |text| reserve::costs(text).map(Some))?;
        if reserve.is_some() && self.get("execution").is_some() {
            return Err((Some("reserve"), "it goes without `execution`".to_owned()));
        }
        let pack = pack.map(|heuristic| (heuristic, limit));
        Ok(Source { generator, pack, execution, reserve })
    }

    /// Returns the recipe of the systems, without the subsequent changes.
    ///
    /// ```
    /// use layland_lab::Parameters;
    /// let mut parameters = Parameters::default();
    /// for (name, value) in [("cpus", "2"), ("tasks", "4"), ("utilization", "1.5")] {
    ///     parameters.put(name, value.to_owned());
    /// }
    /// let recipe = parameters.recipe(7).expect("the parameters are complete");
    /// assert_eq!(recipe.generate(0)?.tasks.len(), 4);
    /// # Ok::<(), layland_gen::GenError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the name of the invalid parameter, if it is a single one, and advice.
    pub fn recipe(&self, seed: u64) -> Result<Recipe, (Option<&'static str>, String)> {
        let cpus = self.parsed("cpus", 1, str::parse)?;
        let tries = self.parsed("tries", 1000, str::parse)?;
        let mut recipe = Recipe::new(cpus, self.utilizations(tries)?, seed);
        let ms = Duration::from_ms(1);
        let period_granularity = self.parsed("period_granularity", ms, str::parse)?;
        recipe.periods =
            self.parsed("periods", recipe.periods, |text| text::periods(text, period_granularity))?;
        recipe.granularity = self.parsed("granularity", recipe.granularity, str::parse)?;
        recipe.min_wcet = self.parsed("min_wcet", Service::ZERO, str::parse)?;
        recipe.deadlines = self.parsed("deadlines", recipe.deadlines, text::deadlines)?;
        recipe.offsets = self.parsed("offsets", recipe.offsets, text::offsets)?;
        recipe.arrivals = self.parsed("arrivals", recipe.arrivals, text::arrivals)?;
        recipe.affinities = self.parsed("affinity", recipe.affinities, text::affinities)?;
        recipe.feasible = self.parsed("feasible", false, str::parse)?;
        recipe.tries = tries;
        let about = ["probability", "factor", "capped"];
        if let Some(levels) = self.given("criticality", &about)? {
            let levels: Vec<String> =
                levels.split(',').map(|level| level.trim().to_owned()).collect();
            let equal = vec![Rate::new(1, levels.len() as i64); levels.len()];
            let list =
                |text: &str| text.split(',').map(|rate| rate.trim().parse::<Rate>()).collect();
            let probabilities = self.parsed("probability", equal, list)?;
            let two = (Rate::whole(2), Rate::whole(2));
            let (min_factor, max_factor) = self.parsed("factor", two, text::rates)?;
            let capped = self.parsed("capped", false, str::parse)?;
            recipe.criticalities =
                Some(Criticalities { levels, probabilities, min_factor, max_factor, capped });
        }
        if self.given("levels", &["level_factor", "lowest_grows"])?.is_some() {
            let levels = self.parsed("levels", 1, str::parse)?;
            let factor = self.parsed("level_factor", Rate::new(3, 2), text::factor)?;
            let lowest_grows = self.parsed("lowest_grows", true, str::parse)?;
            recipe.two_budgets = Some(TwoBudgets { levels, factor, lowest_grows });
        }
        recipe.graphs = self.graphs()?;
        self.steps(&mut recipe)?;
        recipe.bursts = self.bursts()?;
        recipe.regions = self.parsed("regions", None, |text| text::regions(text).map(Some))?;
        recipe.caches = self.caches()?;
        Ok(recipe)
    }

    fn graphs(&self) -> Result<Option<Graphs>, (Option<&'static str>, String)> {
        let about = ["nodes", "edge_probability", "fork_probability", "branches", "depth"];
        let Some(shape) = self.given("graphs", &about)? else { return Ok(None) };
        let nodes = self.parsed("nodes", (5, 20), text::counts)?;
        let edge = |default| self.parsed("edge_probability", default, str::parse);
        let shape = match shape {
            "gnp" => {
                let forks = ["fork_probability", "branches", "depth"];
                if let Some(name) = forks.into_iter().find(|name| self.get(name).is_some()) {
                    return Err((Some(name), "it goes with fork-join `graphs`".to_owned()));
                }
                Shape::Gnp { edge: edge(Rate::new(1, 5))? }
            }
            "fork-join" => Shape::ForkJoin {
                fork: self.parsed("fork_probability", Rate::new(4, 5), str::parse)?,
                branches: self.parsed("branches", (2, 6), text::counts)?,
                depth: self.parsed("depth", 2, str::parse)?,
                edge: edge(Rate::ZERO)?,
            },
            other => {
                let message = format!("`{other}` is not known: use gnp or fork-join");
                return Err((Some("graphs"), message));
            }
        };
        Ok(Some(Graphs { shape, nodes }))
    }

    fn steps(&self, recipe: &mut Recipe) -> Result<(), (Option<&'static str>, String)> {
        if self.given("resources", &["access", "requests", "section"])?.is_some() {
            recipe.sections = Some(Sections {
                resources: self.parsed("resources", 1, str::parse)?,
                access: self.parsed("access", Rate::new(1, 4), str::parse)?,
                requests: self.parsed("requests", (1, 5), text::counts)?,
                length: text::sections(self.get("section").unwrap_or("short"))
                    .map_err(|error| (Some("section"), error))?,
            });
        }
        if self.given("suspensions", &["suspension"])?.is_some() {
            recipe.suspensions = Some(Suspensions {
                count: self.parsed("suspensions", (1, 1), text::counts)?,
                share: text::suspension(self.get("suspension").unwrap_or("short"))
                    .map_err(|error| (Some("suspension"), error))?,
            });
        }
        Ok(())
    }

    fn bursts(&self) -> Result<Option<Bursts>, (Option<&'static str>, String)> {
        if self.given("bursts", &["burst_distance"])?.is_none() {
            return Ok(None);
        }
        let tenths = (Rate::new(1, 10), Rate::new(3, 10));
        Ok(Some(Bursts {
            jobs: self.parsed("bursts", (1, 1), text::counts)?,
            distance: self.parsed("burst_distance", tenths, text::rates)?,
        }))
    }

    fn caches(&self) -> Result<Option<Caches>, (Option<&'static str>, String)> {
        let about = ["cache_utilization", "reuse", "block_reload"];
        if self.given("cache_sets", &about)?.is_none() {
            return Ok(None);
        }
        let Caches { sets, utilization, reuse, block_reload_time } = Caches::new(0);
        Ok(Some(Caches {
            sets: self.parsed("cache_sets", sets, str::parse)?,
            utilization: self.parsed("cache_utilization", utilization, str::parse)?,
            reuse: self.parsed("reuse", reuse, text::rates)?,
            block_reload_time: self.parsed("block_reload", block_reload_time, str::parse)?,
        }))
    }

    /// A parameter that the parameters in `about` refine: none of these may be given without it.
    fn given(
        &self,
        name: &str,
        about: &[&'static str],
    ) -> Result<Option<&str>, (Option<&'static str>, String)> {
        let given = self.get(name);
        match about.iter().find(|about| given.is_none() && self.get(about).is_some()) {
            Some(alone) => Err((Some(alone), format!("it goes with `{name}`"))),
            None => Ok(given),
        }
    }

    fn utilizations(&self, tries: u32) -> Result<Utilizations, (Option<&'static str>, String)> {
        let tasks = self.parsed("tasks", None, |text| text.parse::<usize>().map(Some))?;
        let total = self.parsed("utilization", None, |text| text.parse::<Rate>().map(Some))?;
        let list = |text: &str| {
            let rates = text.split(',').map(|rate| rate.trim().parse::<Rate>());
            rates.collect::<Result<Vec<Rate>, _>>().map(Some)
        };
        if let Some(rates) = self.parsed("rates", None, list)? {
            if tasks.is_some() || total.is_some() {
                let message = "it says how many tasks there are, and their utilization";
                return Err((Some("rates"), message.to_owned()));
            }
            let total = rates.iter().cloned().sum();
            let bounds = rates.into_iter().map(|rate| (rate.clone(), rate)).collect();
            return Ok(Utilizations::Convolutional { total, bounds, resolution: RESOLUTION });
        }
        let (min, max) = (
            self.parsed("min", Rate::ZERO, str::parse)?,
            self.parsed("max", Rate::ONE, str::parse)?,
        );
        if let Some((min, max)) = self.parsed("range", None, |text| text::range(text).map(Some))? {
            let others = ["generator", "min", "max"];
            if let Some(name) = others.into_iter().find(|name| self.get(name).is_some()) {
                return Err((Some(name), "it goes without `range`".to_owned()));
            }
            return match (tasks, total) {
                (None, Some(total)) => {
                    Ok(Utilizations::UntilTotal { total, min, max, resolution: RESOLUTION, tries })
                }
                (Some(tasks), None) => Ok(Utilizations::Independent { tasks, min, max }),
                _ => {
                    Err((Some("range"), "it goes with either `utilization` or `tasks`".to_owned()))
                }
            };
        }
        let (Some(tasks), Some(total)) = (tasks, total) else {
            return Err((None, "say how many `tasks`, with which total `utilization`".to_owned()));
        };
        match self.get("generator").unwrap_or("randfixedsum") {
            "randfixedsum" => Ok(Utilizations::RandFixedSum { tasks, total, min, max }),
            "convolutional" => Ok(Utilizations::Convolutional {
                total,
                bounds: vec![(min, max); tasks],
                resolution: RESOLUTION,
            }),
            "uunifast" if min == Rate::ZERO && max == Rate::ONE => {
                Ok(Utilizations::UUniFast { tasks, total })
            }
            "uunifast-discard" if min == Rate::ZERO => {
                Ok(Utilizations::UUniFastDiscard { tasks, total, max, tries })
            }
            "uunifast" | "uunifast-discard" => Err((
                Some("generator"),
                "it does not keep these bounds: use randfixedsum".to_owned(),
            )),
            other => Err((
                Some("generator"),
                format!(
                    "`{other}` is not known: use randfixedsum, convolutional, uunifast or \
                     uunifast-discard"
                ),
            )),
        }
    }

    fn parsed<T, E: ToString>(
        &self,
        name: &'static str,
        default: T,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, (Option<&'static str>, String)> {
        self.get(name).map_or(Ok(default), parse).map_err(|error| (Some(name), error.to_string()))
    }
}

/// The source of the systems of a point.
pub(crate) struct Source {
    generator: layland_gen::Generator,
    pack: Option<(Heuristic, Rate)>,
    execution: Rate,
    reserve: Option<Costs>,
}

impl Source {
    /// Generates system `index`.
    pub(crate) fn system(&self, index: u64) -> Result<System, String> {
        let mut system = self.generator.generate(index).map_err(|error| error.to_string())?;
        if let Some((heuristic, limit)) = &self.pack {
            let cpu_of = semi_partition(&system, *heuristic, limit);
            for (task, cpu) in cpu_of.iter() {
                system.tasks[task].affinity = cpu.map(CpuSet::single);
            }
        }
        if self.execution != Rate::ONE {
            for task in system.tasks.values_mut() {
                task.execution = ExecutionModel::Fraction(self.execution.clone());
            }
        }
        if let Some(costs) = &self.reserve {
            reserve::reserve(&mut system, costs)?;
        }
        Ok(system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_gen::Regions;

    fn parameters(text: &str) -> Parameters {
        let mut parameters = Parameters::default();
        for pair in text.split(' ') {
            let (name, value) = pair.split_once('=').expect("name=value");
            parameters.put(name, value.to_owned());
        }
        parameters
    }

    #[test]
    fn parameters_make_the_systems_that_they_say() {
        let text = "cpus=2 tasks=5 utilization=1.9 periods=list:10ms,20ms pack=wfd execution=0.5";
        let Ok(source) = parameters(text).source(7) else { panic!("the parameters are right") };
        let system = source.system(3).unwrap();
        assert_eq!((system.platform.cpu_count(), system.tasks.len()), (2, 5));
        assert_eq!(system.validate(), []);
        assert!((system.utilization().to_f64() - 1.9).abs() < 0.01);
        assert!(system.tasks.values().filter(|task| task.affinity.is_some()).count() >= 4);
        assert_eq!(system, source.system(3).unwrap());
    }

    #[test]
    fn bursts_regions_and_caches_are_those_of_the_recipe() {
        let plain = "cpus=2 tasks=5 utilization=1.9";
        let more = "bursts=2..3 burst_distance=0.2 regions=floating:0.1 cache_sets=64 \
                    cache_utilization=2 reuse=0..0.5 block_reload=1us";
        let Ok(source) = parameters(&format!("{plain} {more}")).source(7) else {
            panic!("the parameters are right")
        };
        let Ok(mut recipe) = parameters(plain).recipe(7) else { panic!("so are these") };
        let rate = |percent| Rate::new(percent, 100);
        recipe.bursts = Some(Bursts { jobs: (2, 3), distance: (rate(20), rate(20)) });
        recipe.regions = Some(Regions::Floating { share: (rate(10), rate(10)) });
        recipe.caches = Some(Caches {
            sets: 64,
            utilization: Rate::whole(2),
            reuse: (Rate::ZERO, rate(50)),
            block_reload_time: Duration::from_us(1),
        });
        assert_eq!(source.system(3).unwrap(), recipe.generate(3).unwrap());
        let Ok(source) = parameters("tasks=2 utilization=1 bursts=2 cache_sets=64").recipe(7)
        else {
            panic!("the others have defaults")
        };
        assert_eq!(source.caches, Some(Caches::new(64)));
        assert_eq!(source.bursts.unwrap().distance, (rate(10), rate(30)));
    }

    #[test]
    fn rates_are_those_of_the_tasks_in_their_order() {
        let text = "cpus=2 rates=3/5,1/5,2/5 periods=uniform:20ms..200ms";
        let Ok(source) = parameters(text).source(7) else { panic!("the parameters are right") };
        for index in 0..5 {
            let system = source.system(index).unwrap();
            let rates: Vec<String> =
                system.tasks.values().map(|task| task.utilization().to_string()).collect();
            assert_eq!(rates, ["3/5", "1/5", "2/5"]);
        }
    }

    #[test]
    fn mistakes_name_the_parameter() {
        let wrong = |text: &str| match parameters(text).source(0) {
            Ok(_) => panic!("{text} is wrong"),
            Err((name, message)) => (name.unwrap_or("-"), message),
        };
        assert_eq!(wrong("tasks=2 utilization=x").0, "utilization");
        assert_eq!(wrong("tasks=2").0, "-");
        assert_eq!(wrong("tasks=2 utilization=1 periods=long").0, "periods");
        assert_eq!(wrong("tasks=2 utilization=1 generator=magic").0, "generator");
        assert_eq!(wrong("tasks=2 utilization=1 pack=xyz").0, "pack");
        assert_eq!(wrong("tasks=2 utilization=1 graphs=tree").0, "graphs");
        assert_eq!(wrong("tasks=2 utilization=1 graphs=gnp nodes=few").0, "nodes");
        assert_eq!(wrong("tasks=2 utilization=1 branches=2..3").0, "branches");
        assert_eq!(wrong("tasks=2 utilization=1 graphs=gnp branches=2..3").0, "branches");
        assert_eq!(wrong("tasks=2 utilization=1 resources=2 section=tiny").0, "section");
        assert_eq!(wrong("tasks=2 utilization=1 suspension=short").0, "suspension");
        assert_eq!(wrong("tasks=2 utilization=1 regions=some").0, "regions");
        assert_eq!(wrong("tasks=2 utilization=1 factor=2..3").0, "factor");
        assert_eq!(wrong("tasks=2 utilization=1 level_factor=2").0, "level_factor");
        assert_eq!(wrong("tasks=2 range=heavy max=0.8").0, "max");
        assert_eq!(wrong("tasks=2 utilization=1 reserve=TREE:1us").0, "reserve");
        assert_eq!(wrong("tasks=2 utilization=1 reserve=REL:1us execution=0.9").0, "reserve");
        assert_eq!(wrong("tasks=2 utilization=1 bursts=few").0, "bursts");
        assert_eq!(wrong("tasks=2 utilization=1 burst_distance=0.1").0, "burst_distance");
        assert_eq!(wrong("tasks=2 utilization=1 cache_sets=many").0, "cache_sets");
        assert_eq!(wrong("tasks=2 utilization=1 cache_sets=8 reuse=much").0, "reuse");
        assert_eq!(wrong("tasks=2 utilization=1 block_reload=8us").0, "block_reload");
        let both = wrong("tasks=2 utilization=1 bursts=2 arrivals=sporadic:1");
        assert!(both.1.contains("leave them or `arrivals` out"), "{}", both.1);
        assert!(wrong("tasks=2 utilization=3").1.contains("and not to 3"));
    }
}
