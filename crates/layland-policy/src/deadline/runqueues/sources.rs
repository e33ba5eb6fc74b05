//! [`Sources`]: the CPUs from which a thread can be pulled.

use super::RunQueues;
use layland_model::{CpuId, CpuSet, Index, Time};
use layland_offline::Minima;

/// The deadline on each CPU of the first thread that is not running there and may use other CPUs. A
/// pull thus visits only the queues that may contain a suitable thread.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    due: DueTimes,
    /// The CPUs for which that deadline may have changed.
    changed: CpuSet,
}

#[derive(Clone, Debug)]
enum DueTimes {
    /// By CPU. With few CPUs, a scan is as fast.
    Few(Vec<Time>),
    Many(Minima<Time>),
}

impl DueTimes {
    #[inline]
    fn set(&mut self, at: usize, due: Time) {
        match self {
            DueTimes::Few(all) => all[at] = due,
            DueTimes::Many(all) => all.set(at, due),
        }
    }

    /// Returns the first CPU, from `from` on, with a deadline before a bound.
    #[inline]
    fn first_below(&self, from: usize, bound: Time) -> Option<usize> {
        match self {
            DueTimes::Few(all) => {
                let below = all.get(from..)?.iter().position(|&due| due < bound)?;
                Some(from + below)
            }
            DueTimes::Many(all) => all.first_below(from, bound),
        }
    }
}

impl Sources {
    /// The number of CPUs from which a pull should not scan all of them.
    const MANY: usize = 32;

    pub(super) fn new(cpus: usize) -> Sources {
        let due = if cpus < Sources::MANY {
            DueTimes::Few(vec![Time::NEVER; cpus])
        } else {
            DueTimes::Many(Minima::new(cpus, Time::NEVER, Time::NEVER))
        };
        Sources { due, changed: CpuSet::first(cpus) }
    }
}

impl RunQueues {
    /// Records that the queue of a CPU, or its running thread, has changed.
    #[inline]
    pub(super) fn source_changed(&mut self, c: CpuId) {
        self.sources.changed.insert(c);
    }

    /// Returns the first CPU of a cluster, from `from` on, that may have a thread to pull with a
    /// deadline before `bound`. Repeated calls yield every CPU that has one.
    pub(crate) fn next_source(
        &mut self,
        cluster: usize,
        from: CpuId,
        bound: Time,
    ) -> Option<CpuId> {
        while let Some(c) = self.sources.changed.lowest() {
            self.sources.changed.remove(c);
            let due = self.first_movable(c);
            self.sources.due.set(c.index(), due);
        }
        let mut from = from.index();
        loop {
            let at = self.sources.due.first_below(from, bound)?;
            let c = CpuId::from_index(at);
            if self.clusters[cluster].contains(c) {
                return Some(c);
            }
            from = at + 1;
        }
    }

    /// Returns the deadline of the first thread in the queue of a CPU that is not running there and
    /// may use other CPUs.
    fn first_movable(&self, c: CpuId) -> Time {
        let others = self.queues[c].movable.find(|&(_, _, p)| self.curr[c] != Some(p));
        others.map_or(Time::NEVER, |&(d, ..)| d)
    }

    /// Panics if the cached deadlines differ from their definition.
    pub(super) fn assert_sources(&self) {
        let sources = &self.sources;
        for c in self.curr.ids().filter(|&c| !sources.changed.contains(c)) {
            let own = sources.due.first_below(c.index(), Time::NEVER).filter(|&at| at == c.index());
            let due = self.first_movable(c);
            assert_eq!(own.is_some(), due != Time::NEVER, "whether there is one to pull on {c:?}");
            let is_below = |bound| sources.due.first_below(c.index(), bound) == Some(c.index());
            assert!(own.is_none() || !is_below(due), "what can be pulled from {c:?} is due later");
        }
    }
}
