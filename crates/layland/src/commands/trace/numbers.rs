//! The numbers of CPUs in a trace and in the set that was inferred from it.

use super::load::Loaded;
use layland_model::{CpuId, CpuSet, Index, System};
use layland_trace::ThreadEventKind;

impl Loaded {
    /// Gives the CPUs on which its jobs ran the numbers that they have in a set that was inferred
    /// from it, which has no other CPUs. Returns those CPUs, if that changes a number.
    pub(super) fn number_cpus_as(&mut self, system: &System) -> Option<CpuSet> {
        let used: CpuSet = self.trace.segments.iter().map(|segment| segment.cpu).collect();
        let all = system.platform.all_cpus();
        let fits = used.len() <= all.len() && !used.is_subset(&all);
        if !fits || system.observed.is_none() || self.dialect.is_none() {
            return None;
        }
        self.number_cpus(&used);
        Some(used)
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
