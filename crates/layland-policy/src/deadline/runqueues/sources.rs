//! [`Sources`]: the CPUs from which a thread can be pulled.

use super::RunQueues;
use layland_model::{CpuId, CpuSet, Index, Time};
use layland_offline::Minima;

/// For each CPU when the first thread is due that it does not run and that may use other CPUs. Kept for machines with
/// so many CPUs that a pull should not look at each.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    due: Minima<Time>,
    /// The CPUs of which that may have changed.
    changed: CpuSet,
}

impl Sources {
    /// With fewer CPUs, looking at each is as quick.
    const MANY: usize = 32;

    pub(super) fn new(cpus: usize) -> Option<Sources> {
        (cpus >= Sources::MANY).then(|| Sources {
            due: Minima::new(cpus, Time::NEVER, Time::NEVER),
            changed: CpuSet::first(cpus),
        })
    }
}

impl RunQueues {
    /// The queue of a CPU, or what it runs, has changed.
    #[inline]
    pub(super) fn source_changed(&mut self, c: CpuId) {
        if let Some(sources) = &mut self.sources {
            sources.changed.insert(c);
        }
    }

    /// The first CPU of a cluster, from one on, that may have a thread to pull with a deadline before `bound`: every
    /// CPU that has one is among these.
    pub(crate) fn next_source(
        &mut self,
        cluster: usize,
        from: CpuId,
        bound: Time,
    ) -> Option<CpuId> {
        let Some(mut sources) = self.sources.take() else {
            let cpus = &self.clusters[cluster];
            let last = cpus.highest()?;
            return (from.0..=last.0).map(CpuId).find(|&c| cpus.contains(c));
        };
        while let Some(c) = sources.changed.lowest() {
            sources.changed.remove(c);
            sources.due.set(c.index(), self.first_movable(c));
        }
        let mut from = from.index();
        let found = loop {
            let Some(at) = sources.due.first_below(from, bound) else { break None };
            let c = CpuId::from_index(at);
            if self.clusters[cluster].contains(c) {
                break Some(c);
            }
            from = at + 1;
        };
        self.sources = Some(sources);
        found
    }

    /// The deadline of the first thread in the queue of a CPU that it does not run and that may use other CPUs.
    fn first_movable(&self, c: CpuId) -> Time {
        let others = self.queues[c].movable.iter().find(|&&(_, _, p)| self.curr[c] != Some(p));
        others.map_or(Time::NEVER, |&(d, ..)| d)
    }

    /// Panics where what is kept differs from its definition.
    pub(super) fn assert_sources(&self) {
        let Some(sources) = &self.sources else { return };
        for c in self.curr.ids().filter(|&c| !sources.changed.contains(c)) {
            let own = sources.due.first_below(c.index(), Time::NEVER).filter(|&at| at == c.index());
            let due = self.first_movable(c);
            assert_eq!(own.is_some(), due != Time::NEVER, "whether there is one to pull on {c:?}");
            let is_below = |bound| sources.due.first_below(c.index(), bound) == Some(c.index());
            assert!(own.is_none() || !is_below(due), "what can be pulled from {c:?} is due later");
        }
    }
}
