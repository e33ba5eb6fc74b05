//! The CPUs of a trace, and those of the set that it is held against.

use super::load::Loaded;
use layland_model::{CpuId, CpuSet, Index, ScheduleRule, System, TaskMap};
use layland_trace::{ThreadEventKind, Trace};

impl Loaded {
    /// Gives the CPUs on which its jobs ran the numbers that they have in the set, if the set has as
    /// many and not these. Returns in words what that changes.
    ///
    /// A set numbers its CPUs from 0, whatever CPUs of a machine it was given.
    pub(super) fn number_cpus_as(&mut self, system: &System) -> Option<String> {
        let used: CpuSet = self.trace.segments.iter().map(|segment| segment.cpu).collect();
        let all = system.platform.all_cpus();
        let fits = used.len() <= all.len() && !used.is_subset(&all);
        // A trace of ours has the numbers of its set.
        if !fits || self.dialect.is_none() {
            return None;
        }
        self.number_cpus(&used);
        let taken: CpuSet = (0..used.len()).map(CpuId::from_index).collect();
        Some(format!("the threads used {used:#}: taken as {taken:#} of the set"))
    }

    fn number_cpus(&mut self, used: &CpuSet) {
        let numbered = |cpu: &mut CpuId| {
            let place = used.iter().position(|of| of == *cpu);
            place.map(|place| *cpu = CpuId::from_index(place)).is_some()
        };
        self.trace.segments.iter_mut().for_each(|segment| {
            numbered(&mut segment.cpu);
        });
        // Other threads on other CPUs say nothing about the jobs.
        self.foreign.retain_mut(|foreign| numbered(&mut foreign.cpu));
        self.above.retain_mut(|above| numbered(&mut above.cpu));
        self.thread_events.iter_mut().for_each(|event| {
            if let ThreadEventKind::GotCpu { cpu, .. } = &mut event.kind {
                numbered(cpu);
            }
        });
        self.extremes.iter_mut().for_each(|extreme| extreme.number_cpus(used));
    }
}

/// Ties each task without an affinity to the CPU on which a trace shows it, if it is one alone.
/// Returns true if there is such a task.
pub(super) fn tie_to_cpus(system: &mut System, trace: &Trace) -> bool {
    let seen = cpus_of_tasks(system, trace);
    let all = system.platform.all_cpus();
    let mut is_tied = false;
    for (task, cpus) in system.tasks.values_mut().zip(seen.values()) {
        let is_choice = all.len() > 1 && task.affinity.is_none();
        if is_choice && cpus.len() == 1 && cpus.is_subset(&all) {
            task.affinity = Some(cpus.clone());
            is_tied = true;
        }
    }
    is_tied
}

/// Returns in words on which other CPUs than its own a trace shows each task that says nothing of
/// CPUs, if it is one alone.
pub(super) fn elsewhere(
    policy: &str,
    system: &System,
    trace: &Trace,
    rule: &ScheduleRule,
) -> Vec<String> {
    let Some(assignment) = rule.assignment(system) else { return Vec::new() };
    let seen = cpus_of_tasks(system, trace);
    let differs = system.tasks.iter().filter_map(|(id, task)| {
        let (own, cpus) = (assignment[id].cpu, &seen[id]);
        let at = cpus.lowest().filter(|&at| cpus.len() == 1 && at != own)?;
        let is_free = task.affinity.is_none() && system.platform.all_cpus().contains(at);
        is_free.then(|| {
            let name = &task.name;
            format!(
                "{policy} puts {name} on CPU {own}, the trace shows it on CPU {at}: write affinity = [{at}]"
            )
        })
    });
    differs.collect()
}

/// Returns the CPUs on which a trace shows each task.
fn cpus_of_tasks(system: &System, trace: &Trace) -> TaskMap<CpuSet> {
    let mut seen: TaskMap<CpuSet> = TaskMap::filled(CpuSet::new(), system.tasks.len());
    for segment in &trace.segments {
        seen[segment.job.task].insert(segment.cpu);
    }
    seen
}
