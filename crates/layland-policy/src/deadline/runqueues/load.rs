//! [`CpuLoads`]: the bandwidth of the threads of each CPU.

use layland_model::{CpuId, CpuMap, CpuSet, Index, Rate, RateSum};
use layland_offline::Minima;

/// `U_j`, the sum of the bandwidths of the threads of each CPU, with an index to find a CPU by it.
#[derive(Clone, Debug)]
pub(crate) struct CpuLoads {
    sums: CpuMap<RateSum>,
    /// `U^lub`, the bandwidth up to which a CPU is filled.
    limit: Rate,
    /// The CPUs with `U_j > U^lub`.
    overloaded: CpuSet,
    /// The [`RateSum::low`] of each CPU.
    lows: Minima<u128>,
}

impl CpuLoads {
    /// Returns the loads of this number of CPUs without threads, which are filled up to a limit.
    pub(crate) fn new(cpus: usize, limit: Rate) -> CpuLoads {
        CpuLoads {
            sums: CpuMap::filled(RateSum::default(), cpus),
            limit,
            overloaded: CpuSet::new(),
            lows: Minima::new(cpus, 0, u128::MAX),
        }
    }

    pub(crate) fn add(&mut self, j: CpuId, u: &Rate) {
        self.sums[j].add(u);
        self.update(j);
    }

    pub(crate) fn remove(&mut self, j: CpuId, u: &Rate) {
        self.sums[j].take(u);
        self.update(j);
    }

    fn update(&mut self, j: CpuId) {
        self.lows.set(j.index(), self.sums[j].low());
        if self.sums[j].fits(&Rate::ZERO, &self.limit) {
            self.overloaded.remove(j);
        } else {
            self.overloaded.insert(j);
        }
    }

    /// Returns the CPUs with `U_j > U^lub`.
    pub(crate) fn overloaded(&self) -> &CpuSet {
        &self.overloaded
    }

    /// Returns the first CPU with `U_j + u <= U^lub` among some CPUs.
    pub(crate) fn first_fit(&self, u: &Rate, among: &CpuSet) -> Option<CpuId> {
        let most = RateSum::most_before(u, &self.limit)?;
        let mut from = 0;
        loop {
            let j = CpuId::from_index(self.lows.first_below(from, most + 1)?);
            if among.contains(j) && self.sums[j].fits(u, &self.limit) {
                return Some(j);
            }
            from = j.index() + 1;
        }
    }

    /// Returns the CPU with the smallest `U_j` among some CPUs, if `U_j + u <= U^lub` there. The
    /// load of the CPU `own` includes `u`, which does not count; the lowest of equal CPUs is taken.
    pub(crate) fn worst_fit(&self, u: &Rate, among: &CpuSet, own: CpuId) -> Option<CpuId> {
        let without = |j: CpuId| {
            let sum = self.sums[j].exact();
            if j == own { &sum - u } else { sum }
        };
        let (j, least) = among.iter().map(|j| (j, without(j))).min_by(|a, b| a.1.cmp(&b.1))?;
        (&least + u <= self.limit).then_some(j)
    }

    /// Returns true if `U_j + u <= U^lub`.
    pub(crate) fn fits(&self, j: CpuId, u: &Rate) -> bool {
        self.sums[j].fits(u, &self.limit)
    }

    /// Returns `U_j` of each CPU.
    pub(crate) fn sums(&self) -> &CpuMap<RateSum> {
        &self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a scan of every CPU.
        #[test]
        fn finds_what_a_scan_finds(
            steps in prop::collection::vec((0u32..9, 0usize..6, any::<bool>(), 0u32..512), 1..80),
            limit in prop::sample::select(vec![Rate::ONE, Rate::new(19, 20), Rate::new(2, 3)]),
        ) {
            let rates = [(0, 1), (1, 3), (1, 2), (2, 3), (1, 7), (5, 4)].map(|(n, d)| Rate::new(n, d));
            let mut load = CpuLoads::new(9, limit.clone());
            let mut held: Vec<Vec<usize>> = vec![Vec::new(); 9];
            for (j, rate, adds, among) in steps {
                let own = &mut held[j as usize];
                if adds {
                    own.push(rate);
                    load.add(CpuId(j), &rates[rate]);
                } else if let Some(rate) = own.pop() {
                    load.remove(CpuId(j), &rates[rate]);
                }
                let sum = |j: CpuId| held[j.index()].iter().map(|&at| rates[at].clone()).sum::<Rate>();
                let all = (0..9).map(CpuId);
                let overloaded: CpuSet = all.clone().filter(|&j| sum(j) > limit).collect();
                prop_assert_eq!(load.overloaded(), &overloaded);
                let among: CpuSet = all.filter(|j| among >> j.0 & 1 == 1).collect();
                for u in &rates {
                    let fits = |j: &CpuId| sum(*j) + u.clone() <= limit;
                    prop_assert_eq!(load.first_fit(u, &among), among.iter().find(fits));
                    // With a CPU outside the nine as its own, a thread counts nowhere yet.
                    let mut by_load: Vec<CpuId> = among.iter().filter(fits).collect();
                    by_load.sort_by_key(|&j| (sum(j), j));
                    let emptiest = by_load.first().copied();
                    prop_assert_eq!(load.worst_fit(u, &among, CpuId(9)), emptiest);
                    for &j in &by_load {
                        prop_assert!(load.fits(j, u));
                        // Its own CPU is as empty as before it came.
                        let mut held = load.clone();
                        held.add(j, u);
                        prop_assert_eq!(held.worst_fit(u, &among, j), emptiest);
                    }
                }
            }
        }
    }
}
