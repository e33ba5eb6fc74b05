//! Random steps that protocols accept.

use layland_gen::Random;
use layland_model::{
    CpuId, CpuSet, Duration, OnMiss, Protocol, Resource, ResourceId, Service, Step, System,
};

/// Returns the system with steps drawn from a seed that a protocol accepts. Tasks are tied to CPUs,
/// in turn. Resources are shared on one CPU if the protocol is for one CPU, and sections on
/// resources that may be shared between CPUs are not nested. Every section executes something. Jobs
/// may suspend themselves between sections and at their ends, and with plain locks also within
/// sections.
pub fn with_steps(mut system: System, protocol: Protocol, seed: u64) -> System {
    let cpus = system.platform.cpu_count() as i64;
    let mut random = Random::of_task(seed, 0);
    let between = protocol.is_between_cpus();
    let count = if between { 3 } else { 2 * cpus };
    system.resources = (0..count)
        .map(|index| Resource {
            name: format!("r{index}"),
            home: between.then(|| CpuId(random.between(0, cpus - 1) as u32)),
        })
        .collect();
    for (id, task) in system.tasks.clone().iter() {
        let mut random = Random::of_task(seed, 1 + u64::from(id.0));
        let cpu = i64::from(id.0) % cpus;
        let mut steps = Vec::new();
        // The open sections, with true if something has been executed in them.
        let mut open: Vec<(ResourceId, bool)> = Vec::new();
        let mut left = task.own_wcet().ns();
        while left > 0 || !open.is_empty() {
            let one = if between { random.between(0, 2) } else { 2 * cpu + random.between(0, 1) };
            let resource = ResourceId(one as u32);
            match random.between(0, 5) {
                0 | 1
                    if left > 0
                        && open.iter().all(|&(held, _)| held != resource)
                        && (!between || open.is_empty()) =>
                {
                    open.push((resource, false));
                    steps.push(Step::Lock(resource));
                }
                2 if open.is_empty() || protocol == Protocol::Plain => {
                    steps.push(Step::Suspend(Duration::from_ns(random.between(0, 3))));
                }
                3 if open.last().is_some_and(|&(_, executes)| executes) => {
                    steps.extend(open.pop().map(|(resource, _)| Step::Unlock(resource)));
                }
                _ if left > 0 => {
                    let length = random.between(1, left);
                    left -= length;
                    open.iter_mut().for_each(|(_, executes)| *executes = true);
                    steps.push(Step::Run(Service::from_ns(length)));
                }
                _ => {}
            }
        }
        if random.between(0, 2) == 0 {
            let ends = (0..random.between(1, 2)).map(|_| random.between(0, 3));
            let ends: Vec<i64> = ends.collect();
            steps.extend(ends.into_iter().map(|ns| Step::Suspend(Duration::from_ns(ns))));
        }
        let task = &mut system.tasks[id];
        task.affinity = Some(CpuSet::single(CpuId(cpu as u32)));
        if random.between(0, 5) > 0 {
            task.steps = Some(steps.into());
            if task.on_miss == OnMiss::Abort {
                task.on_miss = OnMiss::Continue;
            }
        }
    }
    system
}
