//! Reads and writes the configuration files of SimSo.
//!
//! It reads tasks and their times (in milliseconds), processors with their speeds and overheads (in
//! cycles), and the duration (in cycles). Elements without a counterpart become warnings. A task
//! that another one releases is an error, because its releases would differ.
//!
//! | SimSo | here |
//! |---|---|
//! | `period`, `deadline`, `WCET`, `activationDate` | period, deadline, execution time, offset |
//! | `task_type="Sporadic"`, `list_activation_dates` | jobs at these times |
//! | `speed` of a processor | its speed |
//! | `cl_overhead` + `cs_overhead` of a processor, the largest | context switch |
//! | `overhead`, `overhead_activate` of the scheduler | scheduling, release |
//! | `migration_overhead` | migration |
//! | `duration` | length of the run |
//! | `abort_on_miss` | treatment of late jobs (`on_miss`) |
//! | `class` of the scheduler | the policy ([`Loaded::policy`](crate::Loaded::policy)): [`SIMSO_SCHEDULERS`] |
//! | `priority` of a task, under FP | its priority; in SimSo the larger number comes first, and here the smaller one |
//! | `cpu` of a task, under Fixed_PEDF | its affinity to the processor of this `id` |

use super::tree::{Attributes, Element, escaped, in_units, parse};
use crate::host::MAX_TASKS;
use crate::keys::{Coverage, Of};
use crate::problem::{Problem, Problems, Span};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, Field, Index, Levels, OnMiss, Overheads, Platform, Service,
    Speed, System, Task, Time,
};

mod identifiers;
mod schedulers;

pub use identifiers::{SimsoIdentifiers, simso_identifiers};
pub use schedulers::{Agreement, SIMSO_SCHEDULERS, SimsoScheduler};

const LOST: &str = "layland::simso::lost";
/// Milliseconds are 10^6 nanoseconds.
const MS: i32 = 6;

/// The attributes from which fields of a task are read.
const NAMES: &[(Field, &[&str])] = &[
    (Field::Name, &["name"]),
    (Field::Period, &["period"]),
    (Field::Deadline, &["deadline"]),
    (Field::Wcet, &["WCET"]),
    (Field::Offset, &["activationDate"]),
    (Field::Behaviour, &["list_activation_dates", "task_type"]),
    (Field::Affinity, &["cpu"]),
    (Field::Priority, &["priority"]),
];

/// The content of a configuration: the tasks, the length of the run, the policy that corresponds to
/// its scheduler, and the span of each task.
type Found = (System, Option<Duration>, Option<&'static str>, Vec<Span>);

/// Reads a configuration. Returns `None` after reporting errors.
pub(crate) fn read(text: &str, problems: &mut Problems) -> Option<Found> {
    let root = parse(text, problems)?;
    let mut reader = Reader { attributes: Attributes { problems }, scheduler: None };
    if root.name != "simulation" {
        let message = format!("the document is <{}>, not <simulation>", root.name);
        let help = "this is not a configuration of SimSo: convert it with --from";
        reader.attributes.error("layland::simso::root", root.span.clone(), message, help);
        return None;
    }
    let platform = reader.platform(&root);
    let until = reader.duration(&root);
    reader.scheduler(&root);
    let policy = reader.scheduler.and_then(|scheduler| scheduler.policy);
    let ids: Vec<&str> = root
        .all("processors")
        .flat_map(|group| group.all("processor"))
        .map(|processor| processor.attribute("id").map_or("", |id| id.value.trim()))
        .collect();
    let elements: Vec<&Element> = root.all("tasks").flat_map(|tasks| tasks.all("task")).collect();
    if elements.len() > MAX_TASKS {
        let message = format!("the set has more than {MAX_TASKS} tasks");
        reader.attributes.error("layland::simso::too_many", root.span, message, "split it");
        return None;
    }
    let tasks: Vec<Option<Task>> = elements
        .iter()
        .enumerate()
        .map(|(rank, element)| reader.task(element, rank, &ids))
        .collect();
    if reader.attributes.problems.has_errors() {
        return None;
    }
    let system = System {
        platform: platform?,
        levels: Levels::default(),
        tasks: tasks.into_iter().collect::<Option<Vec<Task>>>()?.into(),
        in_level: None,
        resources: Vec::new(),
        groups: Vec::new(),
        chains: Vec::new(),
        requests: Vec::new(),
        provenance: None,
        observed: None,
    };
    for invalid in system.validate() {
        reader.attributes.invalid(invalid, "layland::simso::invalid", &elements, NAMES);
    }
    let spans = elements.iter().map(|element| element.span.clone()).collect();
    Some((system, until, policy, spans))
}

struct Reader<'p> {
    attributes: Attributes<'p>,
    /// The scheduler in the file, if SimSo has it.
    scheduler: Option<&'static SimsoScheduler>,
}

impl Reader<'_> {
    /// Reads an overhead in cycles; zero if it is missing.
    fn cycles(&mut self, element: &Element, name: &str, per_ms: i64) -> i64 {
        let Some(attribute) = element.attribute(name) else { return 0 };
        let Some(cycles) = self.attributes.time(attribute, 0, "cycles") else { return 0 };
        let ns = i128::from(cycles) * 1_000_000 / i128::from(per_ms);
        i64::try_from(ns).unwrap_or(i64::MAX)
    }

    fn cycles_per_ms(&mut self, root: &Element) -> i64 {
        let default = 1_000_000;
        let Some(attribute) = root.attribute("cycles_per_ms") else { return default };
        match self.attributes.whole(attribute) {
            Some(cycles) if cycles > 0 => cycles,
            Some(_) => {
                let message = "there are no cycles in a millisecond".to_owned();
                let span = attribute.span.clone();
                self.attributes.error("layland::simso::cycles", span, message, "write 1000000");
                default
            }
            None => default,
        }
    }

    fn duration(&mut self, root: &Element) -> Option<Duration> {
        let per_ms = self.cycles_per_ms(root);
        root.attribute("duration")?;
        let ns = self.cycles(root, "duration", per_ms);
        (ns > 0).then_some(Duration::from_ns(ns))
    }

    fn platform(&mut self, root: &Element) -> Option<Platform> {
        let per_ms = self.cycles_per_ms(root);
        let groups: Vec<&Element> = root.all("processors").collect();
        let processors: Vec<&Element> =
            groups.iter().flat_map(|group| group.all("processor")).collect();
        if processors.is_empty() {
            let message = "the set has no processor".to_owned();
            let help = "add <processor name=\"CPU 1\" id=\"1\"/> under <processors>";
            self.attributes.error("layland::simso::processors", root.span.clone(), message, help);
            return None;
        }
        let mut platform = Platform::identical(processors.len());
        let mut context_switch = 0;
        for (index, processor) in processors.iter().enumerate() {
            if let Some(attribute) = processor.attribute("speed")
                && let Some(speed) = self.attributes.speed(attribute, "layland::simso::speed")
            {
                platform.speeds[CpuId::from_index(index)] = speed;
            }
            let of = |reader: &mut Self, name| reader.cycles(processor, name, per_ms);
            let both = of(self, "cl_overhead").saturating_add(of(self, "cs_overhead"));
            if index > 0 && both != context_switch {
                let message = "processors have different overheads: the largest counts".to_owned();
                self.attributes.warn(LOST, processor.span.clone(), message, "make them equal");
            }
            context_switch = context_switch.max(both);
        }
        let of_first = |reader: &mut Self, elements: &[&Element], name| {
            let first = elements.first();
            Duration::from_ns(first.map_or(0, |element| reader.cycles(element, name, per_ms)))
        };
        let scheduler: Vec<&Element> = root.all("sched").collect();
        platform.overheads = Overheads {
            release: of_first(self, &scheduler, "overhead_activate"),
            scheduling: of_first(self, &scheduler, "overhead"),
            context_switch: Duration::from_ns(context_switch),
            migration: of_first(self, &groups, "migration_overhead"),
            ..Overheads::default()
        };
        if of_first(self, &scheduler, "overhead_terminate") > Duration::ZERO {
            let message = "`overhead_terminate` is lost".to_owned();
            let help = "add it to the execution times";
            self.attributes.warn(LOST, scheduler[0].span.clone(), message, help);
        }
        Some(platform)
    }

    /// Reads the scheduler, and the other attributes of the root.
    fn scheduler(&mut self, root: &Element) {
        for attribute in root.all("sched").filter_map(|sched| sched.attribute("class")) {
            self.scheduler = schedulers::of_class(&attribute.value);
            let class = &attribute.value;
            let (message, help) = match self.scheduler {
                None => (
                    format!("no policy is the scheduler `{class}`"),
                    "choose one with --policy".to_owned(),
                ),
                Some(&SimsoScheduler { policy: None, note, .. }) => (
                    format!("no policy is the scheduler `{class}`: {note}"),
                    "choose one with --policy".to_owned(),
                ),
                Some(&SimsoScheduler {
                    policy: Some(policy),
                    agreement: Agreement::Differs,
                    note,
                    ..
                }) => (
                    format!("`{policy}` makes other schedules than `{class}`: {note}"),
                    "see docs/from/simso.md for each scheduler of SimSo".to_owned(),
                ),
                Some(SimsoScheduler { policy: Some(_), .. }) => continue,
            };
            self.attributes.warn(LOST, attribute.span.clone(), message, &help);
        }
        let etm = root.attribute("etm").filter(|etm| etm.value != "wcet");
        if let Some(etm) = etm {
            let message =
                format!("the execution times `{}` are lost: jobs need the WCET", etm.value);
            let help = "describe them with `exec` in a task-set file";
            self.attributes.warn(LOST, etm.span.clone(), message, help);
        }
    }

    /// Returns the priority of a task in our order
    /// (smaller first), if the scheduler uses priorities.
    fn priority(&mut self, element: &Element) -> Option<i64> {
        self.scheduler.filter(|scheduler| scheduler.class == "FP")?;
        let attribute = element.attribute("priority")?;
        // The smallest `i64` has no negation.
        self.attributes.whole(attribute).map(|number| number.saturating_neg())
    }

    /// Returns the processor whose `id` the task names, if the scheduler assigns processors.
    fn home(&mut self, element: &Element, ids: &[&str]) -> Option<CpuSet> {
        self.scheduler.filter(|scheduler| scheduler.class == "Fixed_PEDF")?;
        let attribute = element.attribute("cpu")?;
        match ids.iter().position(|&id| id == attribute.value.trim()) {
            Some(at) => Some(CpuSet::single(CpuId::from_index(at))),
            None => {
                let message = format!("no processor has the id `{}`", attribute.value);
                let help = format!("use one of {}", ids.join(", "));
                let span = attribute.span.clone();
                self.attributes.error("layland::simso::cpu", span, message, &help);
                None
            }
        }
    }

    fn task(&mut self, element: &Element, rank: usize, ids: &[&str]) -> Option<Task> {
        let name = self.attributes.required(element, "name").map(|name| name.value.clone());
        let mut time = |name: &str| {
            let attribute = self.attributes.required(element, name)?;
            self.attributes.time(attribute, MS, "milliseconds")
        };
        let (period, deadline, wcet) = (time("period"), time("deadline"), time("WCET"));
        let offset = match element.attribute("activationDate") {
            Some(attribute) => self.attributes.time(attribute, MS, "milliseconds"),
            None => Some(0),
        };
        let aborts = element.attribute("abort_on_miss");
        let on_miss = if aborts.is_none_or(|aborts| aborts.value == "yes") {
            OnMiss::Abort
        } else {
            OnMiss::Continue
        };
        if let Some(next) = element.attribute("followed_by") {
            let message = "a task that releases another one is not known".to_owned();
            let help = "give the other task a period and an offset of its own";
            self.attributes.error("layland::simso::follows", next.span.clone(), message, help);
        }
        let kind = element.attribute("task_type").map_or("Periodic", |kind| kind.value.as_str());
        let behaviour = match kind {
            "Periodic" => Some(Behaviour::Periodic),
            "Sporadic" => self.dates(element).map(Behaviour::Explicit),
            _ => {
                let (code, message, help) = if kind.eq_ignore_ascii_case("aperiodic") {
                    let message = "an aperiodic task needs one that releases it".to_owned();
                    (
                        "layland::simso::aperiodic",
                        message,
                        "make it Sporadic, with list_activation_dates",
                    )
                } else {
                    // SimSo stops with a KeyError.
                    let message = format!("`{kind}` is not a type of task in SimSo");
                    (
                        "layland::simso::task_type",
                        message,
                        "write Periodic or Sporadic, in this case",
                    )
                };
                self.attributes.error(code, element.place(&["task_type"]), message, help);
                None
            }
        };
        let (priority, affinity) = (self.priority(element), self.home(element, ids));
        let deadline = Duration::from_ns(deadline?);
        // SimSo ignores the period of a sporadic task.
        let period = match (&behaviour, period?) {
            (Some(Behaviour::Explicit(_)), 0) => deadline,
            (_, period) => Duration::from_ns(period),
        };
        Some(Task {
            deadline,
            offset: Duration::from_ns(offset?),
            behaviour: behaviour?,
            on_miss,
            priority,
            affinity,
            rank: rank as i64,
            ..Task::implicit(name?, Service::from_ns(wcet?), period)
        })
    }

    fn dates(&mut self, element: &Element) -> Option<Vec<Time>> {
        let Some(attribute) = element.attribute("list_activation_dates") else {
            return Some(Vec::new());
        };
        let texts = attribute.value.split(',').map(str::trim).filter(|text| !text.is_empty());
        let mut dates = Vec::new();
        for text in texts {
            let date = super::tree::Attribute {
                name: attribute.name.clone(),
                value: text.to_owned(),
                span: attribute.span.clone(),
            };
            dates.push(Time::from_ns(self.attributes.time(&date, MS, "milliseconds")?));
        }
        dates.sort();
        Some(dates)
    }
}

/// Returns a system as a configuration for SimSo with its global EDF, and a problem for every loss.
///
/// It runs for two hyperperiods after the last offset, at most 10 s. A cycle is a nanosecond; SimSo
/// computes times in floating point and truncates them to cycles.
///
/// ```
/// use layland_config::to_simso;
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("control", Service::from_us(1500), Duration::from_ms(5));
/// let (text, lost) = to_simso(&System::new(2, vec![task]));
/// assert!(text.contains("period=\"5\"") && text.contains("WCET=\"1.5\""));
/// assert!(lost.is_empty());
/// ```
pub fn to_simso(system: &System) -> (String, Vec<Problem>) {
    let platform = &system.platform;
    let costs = &platform.overheads;
    let ms = |ns: i64| in_units(ns, 6);
    let mut out = format!(
        "<?xml version=\"1.0\" ?>\n<simulation duration=\"{}\" cycles_per_ms=\"1000000\" \
         etm=\"wcet\">\n  <sched class=\"simso.schedulers.EDF\" overhead=\"{}\" \
         overhead_activate=\"{}\" overhead_terminate=\"0\"/>\n  <caches \
         memory_access_time=\"100\"/>\n  <processors migration_overhead=\"{}\">\n",
        duration(system).ns(),
        costs.scheduling.ns(),
        costs.release.ns(),
        costs.migration.ns(),
    );
    for (cpu, speed) in platform.speeds.iter() {
        let number = cpu.index() + 1;
        out += &format!(
            "    <processor name=\"CPU {number}\" id=\"{number}\" cl_overhead=\"{}\" \
             cs_overhead=\"0\" speed=\"{}\"/>\n",
            costs.context_switch.ns(),
            micro(*speed),
        );
    }
    out += "  </processors>\n  <tasks>\n";
    for (id, task) in system.tasks.iter() {
        let (kind, dates) = match &task.behaviour {
            Behaviour::Explicit(times) => {
                let dates: Vec<String> = times.iter().map(|time| ms(time.ns())).collect();
                ("Sporadic", dates.join(", "))
            }
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Curve(_)
            | Behaviour::Hog
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => ("Periodic", String::new()),
        };
        out += &format!(
            "    <task name=\"{}\" id=\"{}\" task_type=\"{kind}\" abort_on_miss=\"{}\" \
             period=\"{}\" activationDate=\"{}\" list_activation_dates=\"{dates}\" \
             deadline=\"{}\" WCET=\"{}\" ACET=\"0\" et_stddev=\"0\" base_cpi=\"1\" \
             instructions=\"0\" mix=\"0.5\" preemption_cost=\"0\"/>\n",
            escaped(&task.name),
            id.index() + 1,
            if task.on_miss == OnMiss::Abort { "yes" } else { "no" },
            ms(task.period.ns()),
            ms(task.offset.ns()),
            ms(task.deadline.ns()),
            ms(task.own_wcet().ns()),
        );
    }
    out += "  </tasks>\n</simulation>\n";
    (out, lost(system))
}

/// Formats a speed with six decimals.
fn micro(speed: Speed) -> String {
    let micro = i128::from(speed.numerator()) * 1_000_000 / i128::from(speed.denominator());
    in_units(i64::try_from(micro).unwrap_or(i64::MAX), 6)
}

fn duration(system: &System) -> Duration {
    let limit = Duration::from_secs(10);
    let last = system.tasks.values().map(|task| task.offset).max().unwrap_or_default();
    let twice = system.hyperperiod().and_then(|length| length.checked_mul(2));
    twice.and_then(|length| last.checked_add(length)).map_or(limit, |length| length.min(limit))
}

/// Returns the losses of a SimSo configuration.
fn lost(system: &System) -> Vec<Problem> {
    let mut lost = Vec::new();
    let mut lose = |is: bool, what: String, help: &str| {
        if is {
            lost.push(Problem::warning(LOST, what).help(help));
        }
    };
    let platform = &system.platform;
    let costs = &platform.overheads;
    let more = costs.interrupt > Duration::ZERO || costs.tick > Duration::ZERO;
    lose(more, "interrupts and ticks are lost".to_owned(), NO_PLACE);
    let reloads = costs.block_reload_time > Duration::ZERO;
    lose(reloads, "the block reload time is lost".to_owned(), NO_PLACE);
    let rounded = |speed: &Speed| 1_000_000 % speed.denominator() != 0;
    let any = platform.speeds.values().any(rounded);
    lose(any, "speeds are cut to six decimals".to_owned(), "use such speeds from the start");
    let clustered = platform.clusters != [platform.all_cpus()];
    lose(clustered, "the clusters are lost".to_owned(), "a scheduler of SimSo places the tasks");
    let mixed = system.levels.is_mixed();
    let own = "the execution time at each task's own level is written";
    lose(mixed, "the criticality levels are lost".to_owned(), own);
    let requests = system.requests.len();
    lose(requests > 0, format!("{requests} requests are lost"), NO_PLACE);
    let resources = system.resources.len();
    lose(resources > 0, format!("{resources} resources are lost"), NO_PLACE);
    let groups = system.groups.len();
    lose(groups > 0, format!("{groups} groups with budgets are lost"), NO_PLACE);
    let chains = system.chains.len();
    lose(chains > 0, format!("{chains} cause-effect chains are lost"), NO_PLACE);
    lose(system.provenance.is_some(), "the provenance is lost".to_owned(), NO_PLACE);
    lose(
        system.observed.is_some(),
        "the trace that the set was inferred from is lost".to_owned(),
        NO_PLACE,
    );
    for of in Of::each(system) {
        let (task, name) = (of.task, &of.task.name);
        let is_written = matches!(task.behaviour, Behaviour::Periodic | Behaviour::Explicit(_));
        lose(!is_written, format!("`{name}` becomes periodic"), NO_PLACE);
        let late = "a late job runs on, and the next one waits for it";
        lose(task.on_miss == OnMiss::Skip, format!("`{name}` skips no jobs"), late);
        COVERAGE.lost(of).for_each(|(message, help)| lose(true, message, help));
    }
    lost
}

const NO_PLACE: &str = "SimSo has no place for it";

const COVERAGE: Coverage = Coverage {
    has: |key| matches!(key.name, "deadline" | "offset" | "on_miss" | "release"),
    help: |key| match key.name {
        "exec" => "its jobs need the WCET",
        "rank" => "SimSo breaks ties by position",
        _ => NO_PLACE,
    },
};
