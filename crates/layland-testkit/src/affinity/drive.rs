//! Drives a policy by one arrival or departure at a time, and draws random sequences of them.

use super::{Mapping, Ready, ReadyKey};
use crate::registry;
use layland_gen::{Aspect, Random};
use layland_model::{CpuId, CpuSet, Duration, Index, JobId, Service, System, Task, TaskId, Time};
use layland_policy::{Action, AfterJob, BuildError, Event, Policy, RequestId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A policy with deadlines as keys, its events, and its decisions.
pub struct Driver {
    policy: Box<dyn Policy>,
    system: System,
    now: Time,
    seq: u64,
    actions: Vec<Action>,
    ready: BTreeMap<TaskId, (JobId, i64)>,
    mapping: Mapping,
    online: CpuSet,
}

impl Driver {
    /// Builds the policy for tasks with these affinities, all of rank 0, on CPUs that are online.
    ///
    /// # Errors
    /// The policy's error if it cannot have these affinities.
    pub fn new(policy: &str, cpus: usize, masks: &[CpuSet]) -> Result<Self, BuildError> {
        let tasks = masks.iter().enumerate().map(|(index, mask)| {
            let mut task =
                Task::implicit(format!("t{index}"), Service::from_ns(1), Duration::from_ns(1));
            task.affinity = Some(mask.clone());
            task
        });
        let mut system = System::new(cpus, tasks.collect());
        system.tasks.values_mut().for_each(|task| task.rank = 0);
        let mut driver = Self {
            policy: registry().build(policy, &system)?,
            system,
            now: Time::ZERO,
            seq: 0,
            actions: Vec::new(),
            ready: BTreeMap::new(),
            mapping: Mapping::new(),
            online: CpuSet::first(cpus),
        };
        for cpu in CpuSet::first(cpus).iter() {
            driver.policy.on_event(Time::ZERO, Event::CpuOnline { cpu });
        }
        for task in driver.system.tasks.ids() {
            driver.join(task);
        }
        driver.decide();
        Ok(driver)
    }

    fn join(&mut self, task: TaskId) {
        let parameters = Arc::new(self.system.tasks[task].clone());
        self.policy.on_event(self.now, Event::Join { task, parameters, request: RequestId(0) });
    }

    /// Makes a job of a task ready.
    pub fn arrive(&mut self, task: TaskId, key: i64) {
        self.now += Duration::from_ns(1);
        self.seq += 1;
        let job = JobId { task, seq: self.seq };
        self.ready.insert(task, (job, key));
        let event = Event::Release { job, release: self.now, deadline: Time::from_ns(key) };
        self.policy.on_event(self.now, event);
        self.decide();
    }

    /// Ends the ready job of a task: a running job completes; if it waits, its task leaves and comes back.
    pub fn depart(&mut self, task: TaskId) {
        self.now += Duration::from_ns(1);
        let Some((job, _)) = self.ready.remove(&task) else { return };
        match self.mapping.iter().find(|&(_, &running)| running == task) {
            Some((&cpu, _)) => {
                self.mapping.remove(&cpu);
                let then = AfterJob::Blocks;
                self.policy.on_event(self.now, Event::Completion { job, cpu, then });
            }
            None => {
                self.policy.on_event(self.now, Event::Leave { task });
                self.join(task);
            }
        }
        self.decide();
    }

    /// Switches a CPU offline or online.
    pub fn switch(&mut self, cpu: CpuId) {
        self.now += Duration::from_ns(1);
        if self.online.remove(cpu) {
            self.mapping.remove(&cpu);
            self.policy.on_event(self.now, Event::CpuOffline { cpu });
        } else {
            self.online.insert(cpu);
            self.policy.on_event(self.now, Event::CpuOnline { cpu });
        }
        self.decide();
    }

    fn decide(&mut self) {
        self.actions.clear();
        self.policy.decide(self.now, &mut self.actions);
        for action in &self.actions {
            match action {
                Action::Run { cpu, job, .. } => {
                    self.mapping.insert(*cpu, job.task);
                }
                Action::Idle { cpu } => {
                    self.mapping.remove(cpu);
                }
                other => panic!("a policy with affinities never says {other:?}"),
            }
        }
    }

    /// Returns the task that runs on each CPU.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Returns the ready tasks, with their online CPUs.
    pub fn ready(&self) -> Vec<Ready> {
        let ready = self.ready.iter().map(|(&task, &(_, key))| Ready {
            key: (key, 0, task),
            mask: self.system.allowed_cpus(task).intersection(&self.online),
        });
        ready.collect()
    }

    /// Returns the key of a task that is ready.
    pub fn key(&self, task: TaskId) -> Option<ReadyKey> {
        self.ready.get(&task).map(|&(_, key)| (key, 0, task))
    }
}

/// Draws random affinities: laminar ones by splitting ranges of CPUs in two, or arbitrary ones.
pub fn random_masks(random: &mut Random, cpus: usize, tasks: usize, laminar: bool) -> Vec<CpuSet> {
    let mut below = |limit: usize| random.below(limit as u64) as usize;
    // Cuts are drawn once for each range, so that the ranges of all tasks are laminar.
    let mut cuts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    (0..tasks)
        .map(|_| {
            if !laminar {
                let mut mask = CpuSet::single(CpuId::from_index(below(cpus)));
                for _ in 0..below(cpus.min(8)) {
                    mask.insert(CpuId::from_index(below(cpus)));
                }
                return mask;
            }
            let (mut from, mut to) = (0, cpus);
            while to - from > 1 && below(4) > 0 {
                let cut = match cuts.get(&(from, to)) {
                    Some(&cut) => cut,
                    None => from + 1 + below(to - from - 1),
                };
                cuts.insert((from, to), cut);
                if below(2) == 0 { to = cut } else { from = cut }
            }
            (from..to).map(CpuId::from_index).collect()
        })
        .collect()
}

/// Returns the random number generator of one sequence.
pub fn random(seed: u64, index: u64) -> Random {
    Random::new(seed, index, Aspect::Affinities)
}

/// Draws the next step of a random sequence: a ready task departs, and one that is not ready arrives.
pub fn random_step(random: &mut Random, driver: &Driver, tasks: usize) -> SequenceStep {
    let task = TaskId(random.below(tasks as u64) as u32);
    match driver.key(task) {
        Some(_) => SequenceStep::Depart(task),
        // Few different keys make ties common.
        None => SequenceStep::Arrive(task, random.below(tasks as u64 / 2 + 2) as i64),
    }
}

/// A step of a random sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceStep {
    /// A task becomes ready, with this key.
    Arrive(TaskId, i64),
    /// A task is not ready any more.
    Depart(TaskId),
}

/// The number of compared decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Decisions with laminar affinities.
    pub laminar: u64,
    /// Decisions with arbitrary affinities.
    pub any: u64,
    /// Decisions of both kinds after which weak scheduling ran another set than strong scheduling.
    pub weak_differs: u64,
    /// Decisions that were also compared with all subsets.
    pub by_brute_force: u64,
}

/// Compares random decisions, three of four with laminar affinities, on 1 to 64 CPUs and sometimes more.
///
/// After each decision, the following run the same set: Algorithms 3 and 5, as shipped and as
/// printed, Algorithm 1, the greedy optimum, and strong scheduling for arbitrary masks. If there
/// are few tasks, this set is the best of all subsets. Every mapping is legal and keeps its
/// invariant.
///
/// # Errors
/// The first decision that differs.
pub fn check_decisions(decisions: u64, seed: u64) -> Result<Compared, String> {
    let mut compared = Compared::default();
    let mut index = 0;
    while compared.laminar + compared.any < decisions {
        let mut random = random(seed, index);
        let laminar = index % 4 != 3;
        let cpus = match index % 8 {
            0..4 => 1 + random.below(6) as usize,
            4..7 => 1 + random.below(64) as usize,
            _ => 60 + random.below(40) as usize,
        };
        let tasks = 1 + random.below(3 * cpus.min(24) as u64) as usize;
        let masks = random_masks(&mut random, cpus, tasks, laminar);
        compare(&mut random, cpus, &masks, laminar, &mut compared)
            .map_err(|what| format!("seed {seed}, sequence {index}: {what}"))?;
        index += 1;
    }
    Ok(compared)
}

fn compare(
    random: &mut Random,
    cpus: usize,
    masks: &[CpuSet],
    laminar: bool,
    compared: &mut Compared,
) -> Result<(), String> {
    let names: &[&str] = if laminar {
        &["strong-edf", "weak-edf", "hpa-edf", "hpa-edf:assign=plain"]
    } else {
        &["strong-edf", "weak-edf"]
    };
    let mut drivers = Vec::new();
    for name in names {
        drivers.push(Driver::new(name, cpus, masks).map_err(|error| error.to_string())?);
    }
    let all = CpuSet::first(cpus);
    let mut paper = super::paper::Hierarchy::new(masks, &all);
    for at in 0..4 * masks.len().min(40) {
        match random_step(random, &drivers[0], masks.len()) {
            SequenceStep::Arrive(task, key) => {
                drivers.iter_mut().for_each(|driver| driver.arrive(task, key));
                if laminar {
                    paper.arrive((key, 0, task), &masks[task.index()]);
                }
            }
            SequenceStep::Depart(task) => {
                if let Some(key) = drivers[0].key(task).filter(|_| laminar) {
                    paper.depart(key);
                }
                drivers.iter_mut().for_each(|driver| driver.depart(task));
            }
        }
        let ready = drivers[0].ready();
        let best: BTreeSet<TaskId> = super::greedy(&ready).into_values().collect();
        let mut sets = Vec::new();
        if ready.len() <= 8 && cpus <= 8 {
            sets.push(("the best of all subsets", super::best_subset(&ready)));
            compared.by_brute_force += 1;
        }
        if laminar {
            sets.push(("Algorithm 1", super::algorithm_1(&ready, &all)));
            sets.push(("Algorithms 3 and 5", paper.scheduled()));
        }
        for (name, driver) in names.iter().zip(&drivers) {
            let mapping = driver.mapping();
            let set: BTreeSet<TaskId> = mapping.values().copied().collect();
            if !super::is_legal(&ready, mapping) {
                return Err(format!("step {at}: {name} maps {mapping:?} of {ready:?}"));
            }
            let holds = if *name == "weak-edf" {
                compared.weak_differs += u64::from(set != best);
                super::weak_holds(&ready, mapping)
            } else {
                sets.push((name, set));
                super::strong_holds(&ready, mapping)
            };
            if !holds {
                return Err(format!(
                    "step {at}: {name} breaks its invariant: {mapping:?}, {ready:?}"
                ));
            }
        }
        if let Some((name, set)) = sets.iter().find(|(_, set)| *set != best) {
            return Err(format!("step {at}: {name}: {set:?}, not {best:?} of {ready:?}"));
        }
        *if laminar { &mut compared.laminar } else { &mut compared.any } += 1;
    }
    Ok(())
}
