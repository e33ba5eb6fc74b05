//! Places all reservations of a task set at once.
//!
//! One by one, each newcomer gets the emptiest CPU that has room for it, and a set that its policy
//! packs may be refused for the order of its tasks. So a program that asks for all reservations of
//! a set asks first where the policy itself would put them.

use super::{Book, Terms};
use crate::admission::regime::Regime;
use crate::admission::register::Reservation;
use layland_model::{CpuId, CpuSet, Index, System, Task};

impl Book {
    /// Returns the CPU of each of these reservations, if the policy of the regime assigns each to
    /// one: its partition of a set on the lowest free CPUs, of which it gets at most `most`.
    ///
    /// Nothing is admitted, and a partition that is returned may still be refused.
    pub fn partition(
        &self,
        terms: &Terms<'_>,
        asked: &[Reservation],
        most: usize,
    ) -> Option<Vec<CpuSet>> {
        let spec = match terms.regime {
            // Its spec is that of SCHED_DEADLINE on one CPU.
            Regime::PEdf => terms.regime.policy(),
            Regime::PDm | Regime::PRm | Regime::PFp => terms.regime.spec(),
            Regime::KernelDl
            | Regime::KernelDlSp
            | Regime::ExtDl
            | Regime::DlSp
            | Regime::Apedf
            | Regime::A2pedf => return None,
        };
        let mut book = self.clone();
        let region = book.region(terms).ok()?;
        let mut free = book.free(region, terms).difference(&book.regions[region].cpus());
        if let Some(wanted) = terms.cpus {
            free = free.intersection(wanted);
        }
        let cpus: Vec<CpuId> = free.iter().take(most).collect();
        let task = |(rank, reservation): (usize, &Reservation)| {
            let Reservation { name, runtime, deadline, period, priority, .. } = reservation;
            let mut task = Task::implicit(name.as_str(), *runtime, *period);
            (task.deadline, task.priority, task.rank) = (*deadline, *priority, rank as i64);
            task.affinity = reservation.cpus.as_ref().map(|own| {
                let numbers = cpus.iter().enumerate().filter(|&(_, cpu)| own.contains(*cpu));
                numbers.map(|(number, _)| CpuId::from_index(number)).collect()
            });
            task
        };
        let system = System::new(cpus.len(), asked.iter().enumerate().map(task).collect());
        if cpus.is_empty() || !system.validate().is_empty() {
            return None;
        }
        let policy = terms.registry.build(spec, &system).ok()?;
        let assignment = policy.rule().assignment(&system)?;
        let place = |cpu: CpuId| CpuSet::single(cpus[cpu.index()]);
        Some(assignment.iter().map(|(_, assigned)| place(assigned.cpu)).collect())
    }
}
