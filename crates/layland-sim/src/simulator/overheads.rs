//! Overheads: the time that the kernel takes from the CPUs.

use super::Simulator;
use super::state::NONE;
use layland_engine::programs::Programs;
use layland_model::{CpuId, Duration, JobId, TaskId};
use layland_policy::Policy;
use layland_trace::Recorder;

impl<P: Policy, R: Recorder, G: Programs> Simulator<'_, P, R, G> {
    /// Lets the kernel take a CPU for some time; a job on it continues afterwards.
    pub(super) fn steal(&mut self, cpu: CpuId, cost: Duration) {
        self.charge(cpu);
        let run = &mut self.cpus[cpu];
        run.busy_until = run.busy_until.max(self.ledger.now) + cost;
        if run.task != NONE {
            run.progress_from = run.progress_from.max(self.ledger.now).saturating_add(cost);
            self.schedule_end(cpu);
        }
    }

    #[cold]
    pub(super) fn tick(&mut self) {
        let Some(costs) = self.costs.clone() else { return };
        self.next_tick = self.ledger.now + costs.tick_period;
        for cpu in self.system.platform.cpus() {
            if self.ledger.online[cpu] {
                self.steal(cpu, costs.tick);
            }
        }
    }

    #[cold]
    pub(super) fn pay_release(&mut self, id: TaskId) {
        let cost = self.costs.as_ref().map_or(Duration::ZERO, |costs| costs.release);
        let cluster = &self.system.platform.clusters[self.ledger.streams[id].task().cluster];
        if let (true, Some(cpu)) = (cost > Duration::ZERO, cluster.lowest()) {
            self.steal(cpu, cost);
        }
    }

    #[cold]
    pub(super) fn pay_dispatch(&mut self, cpu: CpuId, job: JobId) {
        let Some(costs) = &self.costs else { return };
        let mut cost = costs.scheduling;
        let last_cpu = self.ledger.tasks[job.task].own.last_cpu;
        let run = &mut self.cpus[cpu];
        if run.loaded != Some(job) {
            cost += costs.context_switch;
        }
        if last_cpu != NONE && last_cpu != cpu.0 {
            cost += costs.migration;
        }
        if run.entered_at != self.ledger.now {
            cost += costs.interrupt;
        }
        run.loaded = Some(job);
        run.busy_until = run.busy_until.max(self.ledger.now) + cost;
    }
}
