//! Compares each policy with an independent reference on random systems. The two have to agree.
//!
//! | reference | taken from | policies |
//! |---|---|---|
//! | sorted lists ([`SlowHighestFirst`]) | the definition of highest-first | EDF, RM, DM, given priorities: global, clustered, partitioned; EDF-US, fpEDF, EDF^(k), RM-US; G-FL, C-FL |
//! | one time unit at a time ([`ticks`]) | the same definition, without events | the same policies |
//! | sets of CPUs ([`SlowAffinity`]) | the definitions of weak, strong and hierarchical affinities | policies with affinities, while masks and CPUs change |
//! | recursive trees ([`SlowRun`], [`SlowQps`]) | the papers of RUN and QPS | RUN, QPS at full load |
//! | one nanosecond at a time ([`slow_wrap`](crate::optimal::slow_wrap), [`slow_planes`](crate::optimal::slow_planes)) | shares from deadline to deadline | DP-WRAP, LRE-TL |
//! | one nanosecond at a time ([`slow_lanes`](crate::optimal::slow_lanes)) | the formulas of the paper for allotments | U-EDF |
//! | one nanosecond at a time ([`split::schedule`](crate::split::schedule)) | pieces with windows and budgets | C=D and EDF-WM, in each order |
//! | one time unit at a time ([`mixed::ticks`](crate::mixed::ticks)) | the rules of Huang, Gill and Lu 2014, and of EDF-VD | SMC, AMC, zero slack, period transformation, PLRS, EDF-VD with any parameters |
//! | the checker | the promises of a policy's rule for every schedule | every policy of the registry |

mod mechanisms;
mod plans;

pub use mechanisms::{mechanism, recomputation};
pub use plans::{Nanoseconds, nanoseconds, pieces, shares};

use crate::affinity::drive::{random, random_masks};
use crate::affinity::twin::{Rule, SlowAffinity};
use crate::optimal::draw::{self, Drawn};
use crate::optimal::slow_qps::SlowQps;
use crate::optimal::slow_run::SlowRun;
use crate::strategies::{clustered, periodic_system, rich_system};
use crate::twin::SlowHighestFirst;
use crate::{registry, ticks};
use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_model::{
    Algorithm, Change, CpuId, Form, Order, Request, RequestKind, ScheduleRule, System, TaskId, Time,
};
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate, with_random_ranks};
use layland_trace::Trace;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// The number of schedules that agreed, or a description of the first difference.
pub type Agreement = Result<u64, String>;

const HORIZON: Time = Time::from_ns(120);

fn run<P: Policy>(system: &System, policy: P, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

fn same<T: PartialEq>(ours: &T, theirs: &T, what: &str, system: &System) -> Result<(), String> {
    if ours == theirs { Ok(()) } else { Err(format!("{what} differs: {system:#?}")) }
}

fn clean(trace: &Trace, system: &System, rule: &ScheduleRule, what: &str) -> Result<(), String> {
    let report = check(trace, system, rule, 5);
    if report.is_clean() { Ok(()) } else { Err(format!("{what}: {report}\n{system:#?}")) }
}

/// Policies that give some tasks the highest priority, with the order of the other tasks.
const TOP_FIRST: [(&str, Order); 6] = [
    ("edf-us", Order::Deadline),
    ("edf-us:zeta=1/2", Order::Deadline),
    ("fpedf", Order::Deadline),
    ("edf-k:k=2", Order::Deadline),
    ("rm-us", Order::RateMonotonic),
    ("rm-us:zeta=1/5", Order::RateMonotonic),
];

/// Returns every policy that runs the first jobs of each group of CPUs, with its order, and the
/// system adapted to it.
fn ordered(system: &System) -> Vec<(String, Order, System)> {
    let mut cases = Vec::new();
    for order in Order::ALL {
        let options: &[&str] = if order == Order::Deadline { &["", ":tie=running"] } else { &[""] };
        for (form, option) in [Form::Global, Form::Partitioned, Form::Clustered]
            .into_iter()
            .flat_map(|form| options.iter().map(move |option| (form, option)))
        {
            let spec = format!("{}{option}", Algorithm::Ordered(form, order));
            let system = match form {
                Form::Clustered => clustered(system.clone(), 2),
                _ => system.clone(),
            };
            cases.push((spec, order, system));
        }
    }
    for (spec, order) in TOP_FIRST {
        cases.push((spec.to_owned(), order, system.clone()));
    }
    cases.push(("g-fl".to_owned(), Order::Deadline, system.clone()));
    cases.push(("c-fl".to_owned(), Order::Deadline, clustered(system.clone(), 2)));
    cases
}

/// Builds a policy. Partitioned policies reject systems that they cannot pack; the others accept every system.
fn build(spec: &str, system: &System) -> Result<Option<Box<dyn Policy>>, String> {
    match registry().build(spec, system) {
        Ok(policy) => Ok(Some(policy)),
        Err(_) if spec.starts_with("p-") => Ok(None),
        Err(error) => Err(format!("{spec}: {error}")),
    }
}

/// Compares highest-first policies with their slow twin: the schedules must be equal to the
/// nanosecond, and keep the rule.
///
/// # Errors
/// A description of the first difference.
pub fn sorted_lists(system: &System) -> Agreement {
    let mut agreed = 0;
    for (spec, order, system) in ordered(system) {
        let Some(policy) = build(&spec, &system)? else { continue };
        let (rule, options) = (policy.rule(), SimOptions::until(HORIZON));
        let fast = run(&system, policy, &options);
        let slow = run(&system, SlowHighestFirst::of(&system, &rule, order), &options);
        same(&fast, &slow, &spec, &system)?;
        clean(&fast, &system, &rule, &spec)?;
        agreed += 1;
    }
    Ok(agreed)
}

/// Compares the same policies with a simulator that moves one time unit at a time: equal jobs must
/// finish at equal times.
///
/// # Errors
/// A description of the first difference.
pub fn unit_by_unit(system: &System) -> Agreement {
    let mut agreed = 0;
    for (spec, order, system) in ordered(system) {
        let Some(policy) = build(&spec, &system)? else { continue };
        let rule = policy.rule();
        let trace = run(&system, policy, &SimOptions::until(HORIZON));
        let finished = |record: &layland_trace::JobRecord| {
            Some(ticks::Finished {
                finish: record.completion()?.ns(),
                task: record.job.id.task,
                seq: record.job.id.seq,
                deadline: record.job.deadline.ns(),
            })
        };
        let mut events: Vec<_> = trace.jobs.iter().filter_map(finished).collect();
        events.sort_unstable();
        let expected = ticks::simulate(&system, &rule, order, HORIZON);
        same(&events, &expected, &spec, &system)?;
        agreed += 1;
    }
    Ok(agreed)
}

/// Adds requests that switch CPUs off and on, drawn as (time, CPU, whether it goes online).
pub fn with_cpus_that_change(mut system: System, changes: &[(i64, u32, bool)]) -> System {
    let cpus = system.platform.cpu_count() as u32;
    let request = |&(at, cpu, online): &(i64, u32, bool)| {
        let cpu = CpuId(cpu % cpus);
        let kind = if online { RequestKind::CpuOnline(cpu) } else { RequestKind::CpuOffline(cpu) };
        Request { at: Time::from_ns(at), kind }
    };
    system.requests = changes.iter().map(request).collect();
    system.requests.sort_by_key(|request| request.at);
    system
}

/// Gives every task a mask, and adds requests for other masks and CPUs during the run. Requests are
/// drawn as (time, subject, value).
pub fn with_affinities(
    mut system: System,
    seed: u64,
    laminar: bool,
    requests: &[(i64, u32, u8)],
) -> System {
    let cpus = system.platform.cpu_count();
    let tasks = system.tasks.len();
    // There are more masks than tasks, so that later requests draw from the same family.
    let masks = random_masks(&mut random(seed, 0), cpus, 2 * tasks, laminar);
    for (task, mask) in system.tasks.values_mut().zip(&masks) {
        task.affinity = Some(mask.clone());
    }
    let kind = |which: u32, what: u8| match what {
        0 => RequestKind::CpuOffline(CpuId(which % cpus as u32)),
        1 => RequestKind::CpuOnline(CpuId(which % cpus as u32)),
        2 => RequestKind::Leave(TaskId(which % tasks as u32)),
        _ => {
            let mask = masks[(which as usize / 7) % masks.len()].clone();
            RequestKind::Reconfigure(TaskId(which % tasks as u32), Change::Affinity(mask))
        }
    };
    let requests = requests
        .iter()
        .map(|&(at, which, what)| Request { at: Time::from_ns(at), kind: kind(which, what) });
    system.requests = requests.collect();
    system.requests.sort_by_key(|request| request.at);
    system
}

const FAMILIES: [(&str, Rule); 4] = [
    ("weak", Rule::Weak),
    ("strong", Rule::Strong),
    ("hpa", Rule::HierarchicalLocal),
    ("hpa:assign=plain", Rule::HierarchicalPlain),
];

/// The orders of the policies with affinities, with the suffixes of their names.
pub const ORDERS: [(&str, Order); 4] = [
    ("edf", Order::Deadline),
    ("rm", Order::RateMonotonic),
    ("dm", Order::DeadlineMonotonic),
    ("fp", Order::Given),
];

/// Returns the ends of jobs, wherever they ran.
pub fn ends(trace: &Trace) -> Vec<(TaskId, u64, Option<Time>)> {
    let record = |record: &layland_trace::JobRecord| {
        (record.job.id.task, record.job.id.seq, record.end.map(|(at, _)| at))
    };
    let mut ends: Vec<_> = trace.jobs.iter().map(record).collect();
    ends.sort_unstable();
    ends
}

/// Compares the policies with affinities with their definitions. Hierarchical policies need
/// `laminar` masks. Strong scheduling has to run the same jobs, on any CPUs; the others have to
/// produce equal schedules.
///
/// # Errors
/// A description of the first difference.
pub fn sets_of_cpus(system: &System, laminar: bool) -> Agreement {
    let mut agreed = 0;
    let families = FAMILIES.into_iter().filter(|(name, _)| laminar || !name.starts_with("hpa"));
    for (family, rule) in families {
        for (order_name, order) in ORDERS {
            let (name, options) = family.split_once(':').unwrap_or((family, ""));
            let spec = format!("{name}-{order_name}:{options}");
            let policy = registry()
                .build(spec.trim_end_matches(':'), system)
                .map_err(|error| error.to_string())?;
            let promise = policy.rule();
            if matches!(promise, ScheduleRule::Weak { .. }) != (rule == Rule::Weak) {
                return Err(format!("{spec} promises {promise:?}"));
            }
            let options = SimOptions::until(HORIZON);
            let trace = run(system, policy, &options);
            clean(&trace, system, &promise, &spec)?;
            let twin = run(system, SlowAffinity::new(system, rule, order), &options);
            match rule {
                Rule::Strong => same(&ends(&trace), &ends(&twin), &spec, system)?,
                Rule::Weak | Rule::HierarchicalPlain | Rule::HierarchicalLocal => {
                    same(&trace.segments, &twin.segments, &spec, system)?;
                    same(&trace.jobs, &twin.jobs, &spec, system)?;
                }
            }
            agreed += 1;
        }
    }
    Ok(agreed)
}

/// Draws a system that fully uses its CPUs, and a time by which a few jobs of each task have run.
pub fn full(seed: u64, index: u64, sporadic: bool) -> Drawn {
    let mut random = Random::new(seed, index, Aspect::Utilizations);
    let drawn = if sporadic { draw::sporadic(&mut random) } else { draw::periodic(&mut random) };
    let longest = drawn.system.tasks.values().map(|task| task.period.ns()).max().unwrap_or(1);
    let until = drawn.until.min(Time::from_ns(3 * longest));
    Drawn { system: with_random_ranks(&drawn.system, index), until }
}

/// Compares RUN with its twin, with a packing that the index selects.
///
/// # Errors
/// A description of the difference.
pub fn trees_of_run(Drawn { system, until }: &Drawn, index: u64) -> Agreement {
    let fits = ["ffd", "wfd", "efd", "ff", "nf", "bf"];
    let spec = format!("run:fit={}", fits[index as usize % fits.len()]);
    let (info, options) = registry().parse(&spec).map_err(|error| error.to_string())?;
    let policy = info.build(system, &options).map_err(|error| format!("{spec}: {error:?}"))?;
    let fast = run(system, policy, &SimOptions::until(*until));
    let slow = run(system, SlowRun::new(system, &options), &SimOptions::until(*until));
    same(&fast.segments, &slow.segments, &spec, system).map(|()| 1)
}

/// Compares QPS with its twin, with options that the index selects.
///
/// # Errors
/// A description of the difference.
pub fn trees_of_qps(Drawn { system, until }: &Drawn, index: u64) -> Agreement {
    let specs = ["qps", "qps:master=edf", "qps:fit=wfd", "qps:fit=efd:master=edf", "qps:fit=nfd"];
    let spec = specs[index as usize % specs.len()];
    let (info, options) = registry().parse(spec).map_err(|error| error.to_string())?;
    let policy = info.build(system, &options).map_err(|error| format!("{spec}: {error:?}"))?;
    let with = SimOptions { seed: 3, ..SimOptions::until(*until) };
    let fast = run(system, policy, &with);
    let slow = run(system, SlowQps::new(system, &options), &with);
    same(&fast.segments, &slow.segments, spec, system).map(|()| 1)
}

/// Checks every policy of the registry that accepts the system with the checker.
///
/// # Errors
/// The violations that the checker found.
pub fn promises(system: &System, seed: u64) -> Agreement {
    let mut agreed = 0;
    for info in registry().iter() {
        let Ok(policy) = registry().build(&info.name, system) else { continue };
        let rule = policy.rule();
        let options = SimOptions { seed, ..SimOptions::until(HORIZON) };
        clean(&run(system, policy, &options), system, &rule, &info.name)?;
        agreed += 1;
    }
    Ok(agreed)
}

/// The results for one reference.
#[derive(Clone, Debug)]
pub struct ReferenceTally {
    /// The reference.
    pub name: &'static str,
    /// The number of systems that were drawn.
    pub systems: u64,
    /// The number of schedules that agreed.
    pub agreed: u64,
    /// Descriptions of the differences.
    pub differing: Vec<String>,
}

/// Draws this number of systems for each reference. A seed always draws the same systems.
pub fn campaign(systems: u64, seed: u64) -> Vec<ReferenceTally> {
    let changes = prop::collection::vec((0i64..100, 0u32..4, any::<bool>()), 0..8);
    let requests = prop::collection::vec((0i64..100, any::<u32>(), 0u8..8), 0..6);
    let changing = (periodic_system(), changes)
        .prop_map(|(system, changes)| with_cpus_that_change(system, &changes));
    let masked = (periodic_system(), any::<u64>(), any::<bool>(), requests).prop_map(
        |(system, seed, laminar, requests)| {
            (with_affinities(system, seed, laminar, &requests), laminar)
        },
    );
    vec![
        drawn("sorted lists", systems, seed, changing, |system, _| sorted_lists(&system)),
        drawn("unit by unit", systems, seed, periodic_system(), |system, _| unit_by_unit(&system)),
        drawn("sets of CPUs", systems, seed, masked, |(system, laminar), _| {
            sets_of_cpus(&system, laminar)
        }),
        counted("trees of RUN", systems, |index| trees_of_run(&full(seed, index, false), index)),
        counted("trees of QPS", systems, |index| {
            trees_of_qps(&full(seed, index, index % 2 == 1), index / 2)
        }),
        counted("shares, nanosecond by nanosecond", systems, |index| shares(seed, index)),
        counted("pieces, nanosecond by nanosecond", systems, |index| pieces(seed, index)),
        counted("mixed criticality, unit by unit", systems, |index| mechanism(seed, index)),
        drawn("every policy, the checker", systems, seed, rich_system(), |system, index| {
            promises(&system, index)
        }),
    ]
}

/// Compares systems of a strategy.
fn drawn<S: Strategy>(
    name: &'static str,
    systems: u64,
    seed: u64,
    strategy: S,
    agrees: impl Fn(S::Value, u64) -> Agreement,
) -> ReferenceTally {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let runner =
        std::cell::RefCell::new(TestRunner::new_with_rng(ProptestConfig::default(), random));
    counted(name, systems, |index| {
        let tree = strategy.new_tree(&mut runner.borrow_mut()).map_err(|why| why.to_string())?;
        agrees(tree.current(), index)
    })
}

fn counted(name: &'static str, systems: u64, agrees: impl Fn(u64) -> Agreement) -> ReferenceTally {
    let mut tally = ReferenceTally { name, systems, agreed: 0, differing: Vec::new() };
    for index in 0..systems {
        match agrees(index) {
            Ok(agreed) => tally.agreed += agreed,
            Err(how) => tally.differing.push(format!("{name}, system {index}: {how}")),
        }
    }
    tally
}
