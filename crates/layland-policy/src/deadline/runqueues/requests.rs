//! Requests that several policies grant in the same way.
#![expect(non_snake_case, reason = "Q, T and D are the symbols of the papers")]

use super::RunQueues;
use crate::deadline::server::{ServerState, Woken};
use crate::{Action, Note, Refusal};
use layland_model::{CpuId, CpuSet, Duration, MoveReason, Service, TaskId, Time};

/// The effect on the server of a queued thread that is removed from its queue for a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// No effect.
    Keep,
    /// The server starts anew.
    NewPeriod,
    /// The effect of a wake-up.
    WakeUp,
}

impl RunQueues {
    /// Sets other parameters; `tardy` is the effect on a queued server whose deadline has passed.
    pub(crate) fn set_parameters(&mut self, p: TaskId, [Q, T, D]: [i64; 3], tardy: Renewal) {
        let thread = &mut self.threads[p];
        if let Some(load) = &mut self.load {
            load.remove(thread.cpu, &thread.u);
        }
        thread.server.set_parameters(
            Service::from_ns(Q),
            Duration::from_ns(T),
            Duration::from_ns(D),
        );
        thread.u = thread.server.bandwidth();
        self.reserve_anew(p);
        let thread = &mut self.threads[p];
        if let Some(load) = &mut self.load {
            load.add(thread.cpu, &thread.u);
        }
        if tardy != Renewal::Keep && thread.queued && thread.server.deadline() <= self.now {
            let c = thread.cpu;
            self.requeue(p, c, tardy);
        }
    }

    /// Moves a queued thread to the queue of a CPU, which may be the same. Returns false if the
    /// thread is throttled instead.
    pub(super) fn requeue(&mut self, p: TaskId, to: CpuId, renewal: Renewal) -> bool {
        let from = self.threads[p].cpu;
        self.dequeue(p);
        self.set_cpu(p, to, MoveReason::Expelled);
        if renewal != Renewal::Keep {
            self.give_up(p);
        }
        match renewal {
            Renewal::Keep => {}
            Renewal::NewPeriod => self.new_period(p),
            Renewal::WakeUp => {
                let woken = self.threads[p].server.wake(self.now);
                self.threads[p].set_begin(self.now);
                self.date(p);
                if let Woken::ThrottledUntil(at) = woken {
                    self.throttle_until(p, at);
                    return false;
                }
            }
        }
        self.enqueue(p);
        if from == to {
            // The thread did not stop running.
            self.grant_again(p);
            self.need.remove(to);
        }
        self.preempt_check(to);
        true
    }

    /// Lets a thread that is not queued wait for its replenishment.
    pub(super) fn throttle_until(&mut self, p: TaskId, at: Time) {
        self.threads[p].server.state = ServerState::Throttled;
        self.out.push(Action::Note { note: Note::Throttled { task: p } });
        self.set_timer(p, at);
    }

    /// Changes the mask of a thread; its queue stays the same.
    pub(crate) fn set_mask(&mut self, p: TaskId, mask: CpuSet) {
        let thread = &mut self.threads[p];
        thread.migrates = mask.len() > 1;
        thread.mask = mask;
        if thread.queued {
            let entry = (thread.server.deadline(), thread.seat, p);
            let movable = &mut self.queues[thread.cpu].movable;
            if thread.migrates {
                movable.insert(entry);
            } else {
                movable.remove(&entry);
            }
            let c = thread.cpu;
            self.source_changed(c);
        }
    }

    /// Returns true if a thread may no longer use its CPU.
    pub(crate) fn has_to_move(&self, p: TaskId) -> bool {
        self.refuge(p).is_some()
    }

    /// Moves a thread whose CPU it may no longer use to the lowest CPU that it may use. Returns the
    /// CPU in whose queue it is then.
    pub(crate) fn evict(&mut self, p: TaskId, renewal: Renewal) -> Option<CpuId> {
        let lowest = self.refuge(p)?;
        if !self.threads[p].queued {
            self.set_cpu(p, lowest, MoveReason::Expelled);
            return None;
        }
        self.requeue(p, lowest, renewal).then_some(lowest)
    }

    /// Does the same as [`evict`](Self::evict), but also for a thread that may stay.
    pub(crate) fn refresh(&mut self, p: TaskId, renewal: Renewal) -> Option<CpuId> {
        let own = self.threads[p].cpu;
        if self.has_to_move(p) {
            self.evict(p, renewal)
        } else if self.threads[p].queued && renewal != Renewal::Keep {
            self.requeue(p, own, renewal).then_some(own)
        } else {
            None
        }
    }

    /// Changes the CPUs of a cluster. All of its threads may use all of its CPUs; threads on a CPU
    /// that it lost move to the lowest one. Returns the new CPUs.
    pub(crate) fn change_cluster(
        &mut self,
        cluster: usize,
        cpus: &CpuSet,
    ) -> Result<CpuSet, Refusal> {
        let taken = |(other, set): (usize, &CpuSet)| other != cluster && !set.is_disjoint(cpus);
        if self.clusters.iter().enumerate().any(taken) {
            return Err(Refusal::invalid("a CPU is in another cluster"));
        }
        let added = cpus.difference(&self.clusters[cluster]);
        self.clusters[cluster] = cpus.clone();
        self.update_usable();
        for at in 0..self.seats.len() {
            let p = self.seats[at];
            let thread = &self.threads[p];
            if thread.cluster == cluster && thread.server.state != ServerState::Dead {
                self.set_mask(p, cpus.clone());
                self.evict(p, Renewal::Keep);
            }
        }
        Ok(added)
    }

    pub(super) fn update_usable(&mut self) {
        for cluster in 0..self.clusters.len() {
            let usable = self.clusters[cluster].intersection(&self.online);
            let before = std::mem::replace(&mut self.usable[cluster], usable);
            before.iter().for_each(|c| self.cpudl[cluster].remove(c));
            for c in self.usable[cluster].clone().iter() {
                let earliest = self.earliest(c);
                self.cpudl[cluster].set(c, earliest);
            }
        }
        self.rebuild_accounts();
    }
}
