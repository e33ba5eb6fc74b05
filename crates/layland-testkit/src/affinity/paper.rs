//! Algorithms 3 and 5 of Bonifaci et al. 2016 as printed: every mask has the set of all tasks that
//! run within it, and a departure offers the first task of every backlog to Algorithm 3.

use super::ReadyKey;
use layland_model::{CpuSet, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// The ready tasks for a set of laminar masks.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    all: CpuSet,
    /// `s[beta]`, for every mask in use and the root.
    scheduled: BTreeMap<CpuSet, BTreeSet<ReadyKey>>,
    /// `b[beta]`.
    backlog: BTreeMap<CpuSet, BTreeSet<ReadyKey>>,
    mask_of: BTreeMap<TaskId, CpuSet>,
}

impl Hierarchy {
    /// Creates a hierarchy without ready tasks.
    pub fn new(masks: &[CpuSet], all: &CpuSet) -> Self {
        let none = || masks.iter().chain([all]).map(|mask| (mask.clone(), BTreeSet::new()));
        Self {
            all: all.clone(),
            scheduled: none().collect(),
            backlog: none().collect(),
            mask_of: BTreeMap::new(),
        }
    }

    /// Returns the running tasks.
    pub fn scheduled(&self) -> BTreeSet<TaskId> {
        self.scheduled[&self.all].iter().map(|key| key.2).collect()
    }

    fn around<'a>(&'a self, mask: &'a CpuSet) -> impl Iterator<Item = CpuSet> + 'a {
        self.scheduled.keys().filter(|gamma| mask.is_subset(gamma)).cloned()
    }

    /// Algorithm 3 for a task with this mask.
    pub fn arrive(&mut self, key: ReadyKey, mask: &CpuSet) {
        self.mask_of.insert(key.2, mask.clone());
        // Lines 2-5.
        let mut beta = mask.clone();
        while self.scheduled[&beta].len() < beta.len() && beta != self.all {
            let larger = self.around(&beta).filter(|gamma| *gamma != beta);
            beta = larger.min_by_key(CpuSet::len).expect("the root is around every mask");
        }
        // Lines 6-7.
        for gamma in self.around(mask).collect::<Vec<_>>() {
            self.scheduled.entry(gamma).or_default().insert(key);
        }
        // Lines 8-12.
        if self.scheduled[&beta].len() == beta.len() + 1 {
            let last = *self.scheduled[&beta].last().expect("it is not empty");
            let of_last = self.mask_of[&last.2].clone();
            for gamma in self.around(&of_last).collect::<Vec<_>>() {
                self.scheduled.entry(gamma).or_default().remove(&last);
            }
            self.backlog.entry(of_last).or_default().insert(last);
        }
    }

    /// Algorithm 5, or a deletion from the backlog if the task waits.
    pub fn depart(&mut self, key: ReadyKey) {
        let mask = self.mask_of[&key.2].clone();
        if self.backlog.entry(mask.clone()).or_default().remove(&key) {
            return;
        }
        for gamma in self.around(&mask).collect::<Vec<_>>() {
            self.scheduled.entry(gamma).or_default().remove(&key);
        }
        for beta in self.backlog.keys().cloned().collect::<Vec<_>>() {
            if let Some(&first) = self.backlog[&beta].first() {
                self.arrive(first, &beta);
            }
        }
        let scheduled = self.scheduled[&self.all].clone();
        let mut entered = 0;
        for backlog in self.backlog.values_mut() {
            let before = backlog.len();
            backlog.retain(|key| !scheduled.contains(key));
            entered += before - backlog.len();
        }
        assert!(entered <= 1, "at most one task takes the place of one");
    }
}
