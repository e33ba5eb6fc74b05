//! The autonomous actions of CPUs: look-ahead answers become entries of the mechanism's tables.

use super::shared::NO_BUDGET;
use super::threads::ExtThreads;
use super::work::Work;
use layland_engine::ahead::AnswerTable;
use layland_model::{Duration, Index};
use std::sync::atomic::Ordering;

/// Converts a budget to the mechanism's format. At least 1, because no CPU runs a thread with
/// budget 0.
fn budget(granted: Option<Duration>) -> u64 {
    granted.map_or(NO_BUDGET, |granted| granted.ns().max(1) as u64)
}

impl<W: Work> ExtThreads<'_, W> {
    /// Writes the entries of `table` and makes them valid at once. Each entry is written at most
    /// once per epoch. So a CPU that finds the same epoch before and after it reads an entry has
    /// read it whole.
    pub(super) fn offer_table(&mut self, table: &AnswerTable) {
        self.epoch = self.epoch.wrapping_add(1).max(1);
        let shared = self.mechanism.shared();
        for (cpu, &host) in self.hosts.iter() {
            let Some(entry) = table.successor(cpu) else { continue };
            let Some(next) = entry.next else { continue };
            let (slot, to) = (&shared.slots[host], &shared.successors[host]);
            let Some(wake) = self.wake_of(next.task) else { continue };
            to.after1.store(entry.after.task.index() as u32 + 1, Ordering::Relaxed);
            to.after_wake.store(slot.wake.load(Ordering::Acquire), Ordering::Relaxed);
            to.thread1.store(next.task.index() as u32 + 1, Ordering::Relaxed);
            to.wake.store(wake, Ordering::Relaxed);
            to.budget.store(budget(entry.budget), Ordering::Relaxed);
            // Last, because this store publishes the entry.
            to.epoch.store(self.epoch, Ordering::Release);
        }
        for id in self.threads.borrow().ids() {
            let Some(entry) = table.wake(id) else { continue };
            let Some((cpu, over)) = entry.takes else { continue };
            let (kernel, to) = (self.kernel(id), &shared.wakes[id.index()]);
            if kernel.is_awake.load(Ordering::Acquire) != 0 {
                continue;
            }
            let next = kernel.wakes.load(Ordering::Acquire).wrapping_add(1);
            let over1 = over.map_or(0, |job| job.task.index() as u32 + 1);
            to.wake.store(next, Ordering::Relaxed);
            to.cpu1.store(self.hosts[cpu] as u32 + 1, Ordering::Relaxed);
            to.over1.store(over1, Ordering::Relaxed);
            to.budget.store(budget(entry.budget), Ordering::Relaxed);
            to.epoch.store(self.epoch, Ordering::Release);
        }
        shared.epoch.store(self.epoch, Ordering::SeqCst);
        self.is_offered.set(true);
    }
}
