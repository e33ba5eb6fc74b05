//! Shared helpers of the tests of this crate: valid systems of every shape.
#![allow(dead_code, reason = "not every test uses every helper")]

use layland_config::{Format, Host, Loaded, Report, read, to_line, to_toml};
use layland_model::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub(crate) fn toml(text: &str) -> Result<Loaded, Report> {
    read("set.toml", text.as_bytes(), Format::Toml, &Host::default())
}

pub(crate) fn csv(text: &str) -> Result<Loaded, Report> {
    read("set.csv", text.as_bytes(), Format::Csv, &Host::default())
}

pub(crate) fn rt_app(text: &str) -> Result<Loaded, Report> {
    read(
        "set.json",
        text.as_bytes(),
        Format::RtApp,
        &Host { cpus: Some(4), default_cpus: None, ..Host::default() },
    )
}

/// The system reads back from a file and from a line.
pub(crate) fn is_read_again(system: &System) {
    assert_eq!(toml(&to_toml(system)).unwrap().system, *system);
    let line = to_line(system);
    let again = read("set.jsonl", line.as_bytes(), Format::Lines, &Host::default());
    assert_eq!(again.unwrap().system, *system);
}

/// Returns a name that no other task has.
fn name(index: usize, text: String) -> String {
    format!("{text}{index}")
}

fn length(least: i64) -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => (least.max(1)..1_000).prop_map(|ms| ms * 1_000_000),
        1 => least..=10_000_000_000i64,
        1 => Just(TIME_LIMIT),
    ]
}

fn cpus(of: CpuSet) -> impl Strategy<Value = CpuSet> {
    let all: Vec<CpuId> = of.iter().collect();
    let count = all.len();
    prop::sample::subsequence(all, 1..=count).prop_map(|cpus| cpus.into_iter().collect())
}

fn execution(levels: u8) -> impl Strategy<Value = ExecutionModel> {
    let service = || length(0).prop_map(Service::from_ns);
    prop_oneof![
        4 => Just(ExecutionModel::Wcet),
        1 => (0..levels).prop_map(|level| ExecutionModel::Level(Criticality(level))),
        1 => (1i64..1000, 1i64..1000).prop_map(|(n, d)| ExecutionModel::Fraction(Rate::new(n, d))),
        1 => (service(), service())
            .prop_map(|(a, b)| ExecutionModel::Uniform { min: a.min(b), max: a.max(b) }),
        1 => prop::collection::vec((service(), 1u64..100), 1..4).prop_map(ExecutionModel::Discrete),
        1 => prop::collection::vec(service(), 1..4).prop_map(ExecutionModel::List),
    ]
}

fn behaviour() -> impl Strategy<Value = Behaviour> {
    let duration = |least| length(least).prop_map(Duration::from_ns);
    prop_oneof![
        4 => Just(Behaviour::Periodic),
        1 => Just(Behaviour::Hog),
        1 => Just(Behaviour::Yield),
        1 => duration(0).prop_map(|max| Behaviour::Sporadic(Separation::Uniform { max })),
        1 => (duration(1), duration(0))
            .prop_map(|(mean, max)| Behaviour::Sporadic(Separation::Exponential { mean, max })),
        1 => duration(0).prop_map(|gap| Behaviour::SelfSuspending { gap }),
        1 => prop::collection::vec(length(0).prop_map(Time::from_ns), 0..4).prop_map(|mut times| {
            times.sort();
            Behaviour::Explicit(times)
        }),
    ]
}

/// The actions of a job, as numbers that [`steps`] converts to steps.
pub(crate) fn moves() -> impl Strategy<Value = Option<Vec<(u8, u32, i64)>>> {
    let moves = prop::collection::vec((0u8..4, any::<u32>(), length(0)), 0..8);
    prop_oneof![2 => Just(None), 1 => moves.prop_map(Some)]
}

/// Returns steps that execute for `c`, with sections that are nested and not empty.
pub(crate) fn steps(moves: &[(u8, u32, i64)], c: i64, resources: usize) -> Vec<Step> {
    // For each held resource, the remaining execution time when it was locked.
    let (mut steps, mut held, mut left) = (Vec::new(), Vec::<(ResourceId, i64)>::new(), c);
    for &(kind, number, length) in moves {
        match kind {
            0 if left > 1 => {
                let length = 1 + length % (left - 1);
                left -= length;
                steps.push(Step::Run(Service::from_ns(length)));
            }
            1 if resources > 0 => {
                let resource = ResourceId(number % resources as u32);
                if held.iter().all(|&(other, _)| other != resource) {
                    held.push((resource, left));
                    steps.push(Step::Lock(resource));
                }
            }
            2 => {
                let last = held.pop_if(|(_, before)| left < *before);
                steps.extend(last.map(|(resource, _)| Step::Unlock(resource)));
            }
            3 => steps.push(Step::Suspend(Duration::from_ns(length))),
            _ => {}
        }
    }
    steps.push(Step::Run(Service::from_ns(left)));
    steps.extend(held.into_iter().rev().map(|(resource, _)| Step::Unlock(resource)));
    steps
}

/// Resources with distinct names.
fn resources(cpus: usize) -> impl Strategy<Value = Vec<Resource>> {
    let one = ("[a-z;,\"@\\PC]{0,4}", prop::option::of(0..cpus));
    prop::collection::vec(one, 0..4).prop_map(|drawn| {
        let resource = |(index, (text, home)): (usize, (String, Option<usize>))| Resource {
            name: name(index, text.split_whitespace().collect()),
            home: home.map(CpuId::from_index),
        };
        drawn.into_iter().enumerate().map(resource).collect()
    })
}

/// A task for a platform, a number of levels and a number of resources. Its name is not yet unique.
pub(crate) fn task(
    platform: Platform,
    levels: u8,
    resources: usize,
) -> impl Strategy<Value = Task> {
    let clusters = platform.clusters.clone();
    let place = (0..clusters.len()).prop_flat_map(move |cluster| {
        (Just(cluster), prop::option::of(cpus(clusters[cluster].clone())))
    });
    let times =
        (0..levels, length(1), length(1), prop::collection::vec(length(1), levels as usize));
    let rest = (
        prop_oneof![Just(0), length(0)],
        prop_oneof![Just(0), length(0)],
        prop_oneof![Just(None), any::<i64>().prop_map(Some)],
        prop::option::of(any::<i64>()),
        prop::option::of(any::<u64>()),
        prop::option::of(1i64..1000),
    );
    ("[a-zA-Z\\PC\"\\\\ ]{0,6}", times, place, rest, behaviour(), execution(levels), moves())
        .prop_map(
            move |(
                name,
                (own, period, deadline, mut wcet),
                (cluster, affinity),
                rest,
                behaviour,
                execution,
                moves,
            )| {
                let (offset, jitter, rank, priority, jobs, budget) = rest;
                wcet.sort();
                let mut task = Task::implicit(name, Service::ZERO, Duration::from_ns(period));
                task.wcet = wcet.into_iter().map(Service::from_ns).collect();
                task.criticality = Criticality(own);
                if deadline % 2 == 0 {
                    task.deadline = Duration::from_ns(deadline);
                }
                task.budget =
                    budget.map(|part| Service::from_ns((task.deadline.ns() / part).max(1)));
                task.offset = Duration::from_ns(offset);
                task.jitter = Duration::from_ns(jitter);
                task.rank = rank.unwrap_or(i64::MIN);
                (task.priority, task.jobs) = (priority, jobs);
                // Derived from the jitter, because the two are unrelated.
                task.on_miss = OnMiss::ALL[(jitter.unsigned_abs() % 3) as usize];
                let constraints = (0..jitter.unsigned_abs() % 3).map(|at| {
                    let window = 1 + offset.unsigned_abs() as u32 % WeaklyHard::LONGEST;
                    WeaklyHard::new(window / (at as u32 + 2), window).expect("m <= k")
                });
                let constraints: Vec<WeaklyHard> = constraints.collect();
                let part = Rate::new(offset % 1_000 + 1, 1_001 + jitter % 1_000);
                let probability = MissProbability::new(part).filter(|_| jitter % 4 == 3);
                let is_hard = constraints.is_empty() && probability.is_none();
                let tolerance = MissTolerance { constraints, probability };
                task.tolerance = (!is_hard).then(|| tolerance.into());
                task.reclaim = jitter.unsigned_abs() % 4 >= 2;
                let c = task.own_wcet().ns();
                task.preemption = match jitter.unsigned_abs() % 7 {
                    0 => Preemption::Never,
                    1 => Preemption::Delayed(Duration::from_ns(1 + jitter.abs() / 2)),
                    2 if c > 1 => Preemption::Between([1, c - 1].map(Service::from_ns).into()),
                    _ => Preemption::Anywhere,
                };
                let interval = task.period.ns() - offset % task.period.ns();
                task.let_interval = (offset % 3 == 1).then(|| Duration::from_ns(interval));
                task.steps = moves.map(|moves| steps(&moves, c, resources).into());
                // Steps and cache blocks together are not valid.
                if task.steps.is_none() && offset % 4 == 2 {
                    let first = (offset / 4 % 300) as usize;
                    let ecb: CacheSets = (first..first + 70).filter(|set| set % 7 != 3).collect();
                    let ucb = ecb.iter().filter(|set| set % 3 == 1).collect();
                    task.cache = Some(CacheUse { ucb, ecb }.into());
                }
                if jitter % 2 == 1 {
                    task.blocking_time = task.offset;
                }
                task.thread = (jitter.unsigned_abs() % 5 == 1).then(|| "ctrl.*".into());
                (task.cluster, task.affinity) = (cluster, affinity);
                (task.behaviour, task.execution) = (behaviour, execution);
                task
            },
        )
}

fn platform() -> impl Strategy<Value = Platform> {
    let overheads = prop::option::of(prop::array::uniform6(0i64..10_000));
    (1usize..9, 1usize..4, prop::collection::vec(1i64..20, 9), overheads, any::<bool>()).prop_map(
        |(count, clusters, speeds, overheads, named)| {
            let mut platform = Platform::identical(count);
            if clusters <= count && clusters > 1 {
                platform.clusters = (0..clusters)
                    .map(|index| {
                        (0..count)
                            .filter(|cpu| cpu % clusters == index)
                            .map(CpuId::from_index)
                            .collect()
                    })
                    .collect();
            }
            for (cpu, &speed) in (0..count).zip(&speeds) {
                // Avoid long common denominators: they are not valid with long execution times.
                if speed > 10 {
                    let speed = Speed::new(&Rate::new(speed, 1));
                    platform.speeds[CpuId::from_index(cpu)] = speed.unwrap();
                }
            }
            if let Some([a, b, c, d, e, f]) = overheads {
                let us = Duration::from_ns;
                platform.overheads = Overheads {
                    release: us(a),
                    scheduling: us(b),
                    context_switch: us(c),
                    migration: us(d),
                    interrupt: us(e),
                    tick: us(f),
                    tick_period: us(f + 1),
                    block_reload_time: us(a / 2),
                };
            }
            if named {
                platform.topology = BTreeMap::from([
                    ("l3".to_owned(), vec![CpuSet::first(1), platform.all_cpus()]),
                    ("big cores".to_owned(), vec![platform.all_cpus()]),
                ]);
            }
            platform
        },
    )
}

fn request(platform: Platform, tasks: usize) -> impl Strategy<Value = Request> {
    let all = platform.all_cpus();
    let clusters = platform.clusters.len();
    let cpu = (0..all.len()).prop_map(CpuId::from_index);
    let task = (0..tasks).prop_map(TaskId::from_index);
    let kind = prop_oneof![
        task.clone().prop_map(RequestKind::Leave),
        cpu.clone().prop_map(RequestKind::CpuOnline),
        cpu.prop_map(RequestKind::CpuOffline),
        (0..clusters, cpus(all.clone()))
            .prop_map(|(cluster, cpus)| RequestKind::SetClusterCpus { cluster, cpus }),
        (task.clone(), cpus(all))
            .prop_map(|(task, cpus)| RequestKind::Reconfigure(task, Change::Affinity(cpus))),
        (task.clone(), 0..clusters)
            .prop_map(|(task, cluster)| RequestKind::Reconfigure(task, Change::Cluster(cluster))),
        (task, length(1), length(1), length(1)).prop_map(|(task, c, t, d)| {
            let change = Change::Parameters {
                wcet: Service::from_ns(c),
                period: Duration::from_ns(t),
                deadline: Duration::from_ns(d),
            };
            RequestKind::Reconfigure(task, change)
        }),
    ];
    (length(0), kind).prop_map(|(at, kind)| Request { at: Time::from_ns(at), kind })
}

/// Some chains of these tasks, derived from their random values.
fn chains(tasks: &Tasks) -> Vec<Chain> {
    let there = tasks.iter().filter(|(_, task)| task.offset.ns() % 2 == 1);
    let chain = |(at, (id, task)): (usize, (TaskId, &Task))| {
        let way = Communication::ALL[(task.jitter.ns() % 2) as usize];
        let later = tasks.ids().filter(|&other| other > id);
        let tasks: Vec<TaskId> = [id].into_iter().chain(later).collect();
        Chain {
            max_reaction: (task.offset.ns() % 3 > 0).then_some(task.period),
            max_age: (task.offset.ns() % 5 > 1).then_some(task.deadline),
            ..Chain::new(format!("{} \"{at}\"", task.name), tasks, way)
        }
    };
    there.enumerate().map(chain).collect()
}

/// Groups for some sets, one within the other, with the tasks that may be in them.
fn groups(platform: &Platform, tasks: &mut Tasks) -> Vec<TaskGroup> {
    let Some(first) = tasks.values().next().cloned() else { return Vec::new() };
    let (drawn, period) = (first.offset.ns() + first.jitter.ns() % 7, first.period);
    if drawn % 3 == 0 || period.ns() < 8 {
        return Vec::new();
    }
    let inner = match drawn % 6 {
        1 => InnerPolicy::RoundRobin(period),
        2 => InnerPolicy::Edf,
        4 => InnerPolicy::Fifo,
        _ => InnerPolicy::NonpreemptiveEdf,
    };
    let cpus = platform.clusters[first.cluster].clone();
    let quarter = Service::from_ns(period.ns() / 4);
    let outer = TaskGroup {
        budget: (drawn % 5 != 0).then_some(quarter + quarter),
        inner,
        rule: ServerRule::ALL[(drawn % 3) as usize],
        priority: (drawn % 3 > 0).then_some(drawn),
        ..TaskGroup::new(format!("{} \"group\"", first.name), period, cpus.clone())
    };
    let within = TaskGroup {
        budget: Some(quarter),
        deadline: Duration::from_ns(period.ns() / 2),
        parent: Some(GroupId(0)),
        ..TaskGroup::new("within", period, CpuSet::single(cpus.iter().last().unwrap()))
    };
    for task in tasks.values_mut() {
        let is_free = task.cluster == first.cluster
            && task.budget.is_none()
            && task.preemption.is_anywhere()
            && (task.priority.is_some() || !inner.uses_priorities());
        task.group = is_free.then_some(GroupId(0));
    }
    vec![outer, within]
}

/// A valid system.
pub(crate) fn system() -> impl Strategy<Value = System> {
    let provenance =
        ("\\PC{0,8}", any::<u64>(), prop::collection::btree_map("\\PC{0,4}", "\\PC{0,4}", 0..3));
    (platform(), 1u8..4, prop::option::of(provenance))
        .prop_flat_map(|(platform, levels, provenance)| {
            let resources = resources(platform.cpu_count());
            (Just(platform), Just(levels), Just(provenance), resources)
        })
        .prop_flat_map(|(platform, levels, provenance, resources)| {
            let task = task(platform.clone(), levels, resources.len());
            let tasks = prop::collection::vec(task, 1..5);
            (Just(platform), Just(levels), Just(provenance), Just(resources), tasks)
        })
        .prop_flat_map(|(platform, levels, provenance, resources, tasks)| {
            let requests = prop::collection::vec(request(platform.clone(), tasks.len()), 0..4);
            (Just(platform), Just(levels), Just(provenance), Just(resources), Just(tasks), requests)
        })
        .prop_map(|(platform, levels, provenance, resources, tasks, mut requests)| {
            requests.sort_by_key(|request| request.at);
            let names = ["LO", "a mid", "HI"];
            let levels = match levels {
                1 => Levels::default(),
                count => {
                    Levels::new(names[..count as usize].iter().map(|&n| n.to_owned()).collect())
                }
            };
            let tasks = tasks.into_iter().enumerate().map(|(index, task)| Task {
                name: name(index, task.name.to_string()).into(),
                rank: if task.rank == i64::MIN { index as i64 } else { task.rank },
                ..task
            });
            let provenance = provenance.map(|(generator, seed, parameters)| Provenance {
                generator,
                seed,
                parameters: parameters.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
            });
            let mut tasks: Tasks = tasks.collect();
            let groups = groups(&platform, &mut tasks);
            let chains = chains(&tasks);
            let first = tasks.values().next().map_or(0, |task| task.jitter.ns() + task.offset.ns());
            let first = first.min(TIME_LIMIT);
            let names = tasks.values().map(|task| format!("\"{}\" took long", task.name));
            let observed = match first % 4 {
                0 => None,
                1 => Some(Observed::default()),
                2 => {
                    Some(Observed { length: Some(Duration::from_ns(first)), ..Observed::default() })
                }
                _ => Some(Observed { length: None, unexplained: names.collect() }),
            };
            let drawn = [Some(InLevel::Fifo), None, Some(InLevel::Any)][tasks.len() % 3];
            let in_level = None;
            let mut system = System {
                platform,
                levels,
                tasks,
                in_level,
                resources,
                groups,
                chains,
                requests,
                provenance,
                observed,
            };
            let is_shared = !system.shared_levels(system.tasks.ids()).is_empty();
            system.in_level = drawn.filter(|_| is_shared);
            system
        })
}
