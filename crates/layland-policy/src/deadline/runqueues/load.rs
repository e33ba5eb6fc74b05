//! [`CpuLoads`]: the bandwidth of the threads of each CPU.

use layland_model::{CpuId, CpuMap, CpuSet, Index, Rate, RateSum};
use layland_offline::Minima;

/// `U_j`, the sum of the bandwidths of the threads of each CPU, with an index to find a CPU by it.
#[derive(Clone, Debug)]
pub(crate) struct CpuLoads {
    sums: CpuMap<RateSum>,
    /// The CPUs with `U_j > 1`.
    overloaded: CpuSet,
    /// The [`RateSum::low`] of each CPU.
    lows: Minima<u128>,
}

impl CpuLoads {
    /// Returns the loads of this number of CPUs without threads.
    pub(crate) fn new(cpus: usize) -> CpuLoads {
        CpuLoads {
            sums: CpuMap::filled(RateSum::default(), cpus),
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
        if self.sums[j].fits(&Rate::ZERO, &Rate::ONE) {
            self.overloaded.remove(j);
        } else {
            self.overloaded.insert(j);
        }
    }

    /// Returns the CPUs with `U_j > 1`.
    pub(crate) fn overloaded(&self) -> &CpuSet {
        &self.overloaded
    }

    /// Returns the first CPU with `U_j + u <= 1` among some CPUs.
    pub(crate) fn first_fit(&self, u: &Rate, among: &CpuSet) -> Option<CpuId> {
        let most = RateSum::most_before(u, &Rate::ONE)?;
        let mut from = 0;
        loop {
            let j = CpuId::from_index(self.lows.first_below(from, most + 1)?);
            if among.contains(j) && self.sums[j].fits(u, &Rate::ONE) {
                return Some(j);
            }
            from = j.index() + 1;
        }
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
        ) {
            let rates = [(0, 1), (1, 3), (1, 2), (2, 3), (1, 7), (5, 4)].map(|(n, d)| Rate::new(n, d));
            let mut load = CpuLoads::new(9);
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
                let overloaded: CpuSet = all.clone().filter(|&j| sum(j) > Rate::ONE).collect();
                prop_assert_eq!(load.overloaded(), &overloaded);
                let among: CpuSet = all.filter(|j| among >> j.0 & 1 == 1).collect();
                for u in &rates {
                    let slow = among.iter().find(|&j| sum(j) + u.clone() <= Rate::ONE);
                    prop_assert_eq!(load.first_fit(u, &among), slow);
                }
            }
        }
    }
}
