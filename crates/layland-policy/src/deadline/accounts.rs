//! The bandwidth accounts of **GRUB** (greedy reclamation of unused bandwidth): the bandwidth that
//! threads have reserved on each CPU, the part of it that is in use, and the price of a nanosecond
//! for a thread that reclaims the rest.
//!
//! Lipari and Baruah 2000 for one CPU; `grub_reclaim` of the kernel's `deadline.c`, with the equation that it has
//! since 6.5, for several. The domain of a CPU is its cluster, and `m` is the number of CPUs online there.
//!
//! | specification | here | meaning |
//! |---|---|---|
//! | `Umax` | `umax` | the share of a CPU that threads may reclaim |
//! | `u` | [`Accounts::bandwidth`] | `Q / T` |
//! | `this[c]` | [`Account::this`] | the bandwidth of the threads that belong to CPU `c` |
//! | `running[c]` | [`Account::running`] | the bandwidth of the active ones among them |
//! | `extra[c]` | [`Account::extra`] | `Umax`, less `u / m` of each thread of the domain |
//! | `Uinact` | `this - running` | the bandwidth that is reserved and not in use |
//!
//! A thread that reclaims pays `max(u, Umax - Uinact - extra) / Umax` for each unit of time. On the only CPU of a
//! domain `extra` is `Umax - this`, and the price is `running / Umax`: no server is late if the bandwidths are at most
//! `Umax`, and the threads leave `1 - Umax` to others.
//!
//! **On one of several CPUs of a domain nothing is guaranteed.** `extra` spreads the reservations
//! over the CPUs of the domain, wherever its threads are: two threads with 4 and 5 in 10 on CPU 0
//! of 2 pay 9/20 and 1/2, and together take more than the CPU has. This is the kernel's rule, which
//! relies on migrating threads, and even with threads that do migrate it leads to missed deadlines.
//! There are two repairs:
//!
//! - [`Lend::Cpu`], if each thread is tied to a CPU: a CPU lends the bandwidth that its own threads
//!   leave, and the price is `max(u, running) / Umax`. Every CPU then behaves like the only one of
//!   a domain, and keeps deadlines as such.
//! - [`Lend::Parallel`], if threads migrate: **M-GRUB** with parallel reclaiming (Abeni, Lipari,
//!   Parri and Sun 2016). Global EDF needs a share of `(m - 1) umax` for the widest server, `umax =
//!   max u`, and can lend the rest to all running threads, in equal parts: the price is `(running +
//!   (m - 1) umax) / (m Umax)`, with `running` that of the whole domain. No server is late if the
//!   bandwidths are at most `m Umax - (m - 1) umax` together, the condition of Goossens, Funk and
//!   Baruah 2003. `layland-guarantee` has a proof (`views.rs`), since the text of the paper was not
//!   available. Above that limit the price stays at 1, as without reclaiming. On one CPU it is
//!   `running / Umax`, as above.
//!
//! Their other rule, sequential reclaiming, has conditions that the available public sources do not
//! state, and is not implemented.
//!
//! Two arithmetics. *Exact*: rationals. *Kernel*: integer multiples of 2^-20, rounded where the
//! kernel rounds: the bandwidth of a thread, its share of `extra`, `1 / Umax` (in 2^-8), the price,
//! and each charge. `extra` can fall below zero if admission control is off: the kernel's 64 bits
//! wrap around, the spare bandwidth becomes huge, and every thread pays `u` alone.

use super::price::{Arith, BW_SHIFT, Price, to_ratio};
use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, Values};
use layland_model::{CpuId, CpuMap, CpuSet, Duration, Rate, Service};
use std::collections::BTreeMap;

const RATIO_SHIFT: u32 = 8;
/// One CPU in the kernel's units.
const BW_UNIT: i64 = 1 << BW_SHIFT;

pub(crate) fn lend() -> OptionInfo {
    OptionInfo::new(
        "lend",
        "the bandwidth that a CPU lends with grub=on: domain (default, as Linux: its share of the bandwidth that all \
           threads of its cluster leave), cpu (the bandwidth that its own threads leave, which keeps deadlines where \
           all threads are tied to CPUs), or parallel (M-GRUB: the bandwidth that global EDF can spare, which keeps \
           deadlines where all threads may migrate)",
        Values::one_of(["domain", "cpu", "parallel"]),
    )
}

/// The bandwidth that a CPU lends to the threads that reclaim there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lend {
    /// Its share of the bandwidth that the threads of its domain leave, wherever they are.
    #[default]
    Domain,
    /// The bandwidth that its own threads leave.
    Cpu,
    /// Its share of the bandwidth that global EDF on its domain can spare.
    Parallel,
}

impl Lend {
    pub(crate) fn of(options: &PolicyOptions) -> Result<Lend, Refusal> {
        let values = [("domain", Lend::Domain), ("cpu", Lend::Cpu), ("parallel", Lend::Parallel)];
        Ok(options.one_of("lend", &values)?.unwrap_or_default())
    }
}

/// The accounts of a CPU, in CPUs if they are exact, and otherwise in 2^-20 of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The reserved bandwidth of the threads that belong to the CPU.
    pub this: Rate,
    /// The reserved bandwidth of the active ones among them.
    pub running: Rate,
    /// The additional bandwidth that is lent.
    pub extra: Rate,
    /// The bandwidth that parallel reclaiming keeps for the threads that have reserved it:
    /// `(running + (m - 1) umax) / m` of its domain, at most `Umax`.
    kept: Rate,
}

/// CPUs that lend to each other.
#[derive(Clone, Debug)]
struct Domain {
    cpus: CpuSet,
    /// The number of threads with each bandwidth.
    reserved: BTreeMap<Rate, usize>,
}

impl Domain {
    fn add(&mut self, u: &Rate) {
        *self.reserved.entry(u.clone()).or_default() += 1;
    }

    fn remove(&mut self, u: &Rate) {
        let count = self.reserved.get_mut(u).expect("it was reserved");
        *count -= 1;
        if *count == 0 {
            self.reserved.remove(u);
        }
    }

    /// Returns the bandwidth of the widest server.
    fn widest(&self) -> Rate {
        self.reserved.last_key_value().map_or(Rate::ZERO, |(u, _)| u.clone())
    }
}

/// See the file header.
#[derive(Clone, Debug)]
pub struct Accounts {
    arith: Arith,
    lend: Lend,
    /// `Umax`, in the unit of the accounts.
    umax: Rate,
    /// `1 / Umax` in 2^-8, as used by the kernel.
    bw_ratio: i64,
    cpus: CpuMap<Account>,
    domains: Vec<Domain>,
}

impl Accounts {
    /// Returns the accounts of this number of CPUs without threads, in these domains. `umax` is
    /// above 0 and at most 1.
    pub fn new(arith: Arith, umax: &Rate, cpus: usize, domains: &[CpuSet]) -> Accounts {
        let (numerator, denominator) = umax.as_i64_pair().unwrap_or((1, 1));
        let (unit, bw_ratio) = match arith {
            Arith::Exact => (umax.clone(), 1 << RATIO_SHIFT),
            Arith::Kernel => (
                Rate::whole(to_ratio(denominator, numerator)),
                to_ratio(numerator, denominator) >> (BW_SHIFT - RATIO_SHIFT),
            ),
        };
        let zero = || Rate::ZERO;
        let account = Account { this: zero(), running: zero(), extra: unit.clone(), kept: zero() };
        let (lend, cpus) = (Lend::Domain, CpuMap::filled(account, cpus));
        let domain = |cpus: &CpuSet| Domain { cpus: cpus.clone(), reserved: BTreeMap::new() };
        let domains = domains.iter().map(domain).collect();
        Accounts { arith, lend, umax: unit, bw_ratio, cpus, domains }
    }

    /// Returns these accounts with another way of lending.
    #[must_use]
    pub fn lending(mut self, lend: Lend) -> Accounts {
        self.lend = lend;
        (0..self.domains.len()).for_each(|domain| self.keep_anew(domain));
        self
    }

    /// Returns the arithmetic of the accounts.
    pub fn arith(&self) -> Arith {
        self.arith
    }

    /// Returns `Umax`, and `1 / Umax` in 2^-8, in the units of the accounts.
    pub fn limits(&self) -> (&Rate, i64) {
        (&self.umax, self.bw_ratio)
    }

    /// Returns the account of a CPU.
    pub fn of(&self, cpu: CpuId) -> &Account {
        &self.cpus[cpu]
    }

    /// Returns the bandwidth of a reservation, in the unit of the accounts.
    pub fn bandwidth(&self, budget: Service, period: Duration) -> Rate {
        match self.arith {
            Arith::Exact => Rate::new(budget.ns(), period.ns()),
            Arith::Kernel => Rate::whole(to_ratio(period.ns(), budget.ns())),
        }
    }

    /// Returns the active bandwidth of a CPU, in CPUs.
    pub fn active(&self, cpu: CpuId) -> Rate {
        match self.arith {
            Arith::Exact => self.cpus[cpu].running.clone(),
            Arith::Kernel => &self.cpus[cpu].running / &Rate::whole(BW_UNIT),
        }
    }

    /// Returns `u / m`.
    fn share(&self, u: &Rate, domain: &CpuSet) -> Rate {
        let share = u / &Rate::whole(domain.len().max(1) as i64);
        match self.arith {
            Arith::Exact => share,
            Arith::Kernel => Rate::whole(share.floor().unwrap_or(0)),
        }
    }

    /// Adds the reservation of a thread to a domain.
    pub fn reserve(&mut self, u: &Rate, domain: usize) {
        self.domains[domain].add(u);
        let cpus = &self.domains[domain].cpus;
        let share = self.share(u, cpus);
        for c in cpus.iter() {
            self.cpus[c].extra = &self.cpus[c].extra - &share;
        }
        self.keep_anew(domain);
    }

    /// Removes the reservation of a thread from a domain.
    pub fn unreserve(&mut self, u: &Rate, domain: usize) {
        self.domains[domain].remove(u);
        let cpus = &self.domains[domain].cpus;
        let share = self.share(u, cpus);
        for c in cpus.iter() {
            self.cpus[c].extra = &self.cpus[c].extra + &share;
        }
        self.keep_anew(domain);
    }

    /// Adds an inactive thread to a CPU.
    pub fn enter(&mut self, u: &Rate, cpu: CpuId) {
        self.cpus[cpu].this = &self.cpus[cpu].this + u;
    }

    /// Removes an inactive thread from a CPU.
    pub fn leave(&mut self, u: &Rate, cpu: CpuId) {
        self.cpus[cpu].this = &self.cpus[cpu].this - u;
    }

    /// Recomputes the bandwidth that is lent, after the CPUs of a domain have changed. `threads`
    /// are all threads of the domain.
    pub fn rebuild<'a>(
        &mut self,
        domain: usize,
        cpus: &CpuSet,
        threads: impl Iterator<Item = &'a Rate>,
    ) {
        let mut new = Domain { cpus: cpus.clone(), reserved: BTreeMap::new() };
        let mut all = Rate::ZERO;
        for u in threads {
            new.add(u);
            all = &all + &self.share(u, cpus);
        }
        self.domains[domain] = new;
        for c in cpus.iter() {
            self.cpus[c].extra = &self.umax - &all;
        }
        self.keep_anew(domain);
    }

    /// Adds a thread to the active ones.
    pub fn activate(&mut self, u: &Rate, cpu: CpuId) {
        self.cpus[cpu].running = &self.cpus[cpu].running + u;
        self.keep_anew_of(cpu);
    }

    /// Removes a thread from the active ones.
    pub fn deactivate(&mut self, u: &Rate, cpu: CpuId) {
        self.cpus[cpu].running = &self.cpus[cpu].running - u;
        self.keep_anew_of(cpu);
    }

    /// Recomputes the bandwidth that parallel reclaiming keeps in the domain of a CPU.
    fn keep_anew_of(&mut self, cpu: CpuId) {
        if self.lend == Lend::Parallel
            && let Some(domain) = self.domains.iter().position(|domain| domain.cpus.contains(cpu))
        {
            self.keep_anew(domain);
        }
    }

    fn keep_anew(&mut self, domain: usize) {
        if self.lend != Lend::Parallel {
            return;
        }
        let domain = &self.domains[domain];
        let m = domain.cpus.len() as i64;
        let running: Rate = domain.cpus.iter().map(|c| self.cpus[c].running.clone()).sum();
        let others = &Rate::whole(m - 1) * &domain.widest();
        let kept = (&(&running + &others) / &Rate::whole(m.max(1))).min(self.umax.clone());
        for c in domain.cpus.iter() {
            self.cpus[c].kept = kept.clone();
        }
    }

    /// Moves a thread to another CPU.
    pub fn transfer(&mut self, u: &Rate, [from, to]: [CpuId; 2], is_active: bool) {
        if is_active {
            self.deactivate(u, from);
            self.activate(u, to);
        }
        self.cpus[from].this = &self.cpus[from].this - u;
        self.cpus[to].this = &self.cpus[to].this + u;
    }

    /// Returns the price of a nanosecond on a CPU for a reclaiming thread of bandwidth `u`.
    pub fn price(&self, u: &Rate, cpu: CpuId) -> Price {
        let Account { this, running, extra, kept } = &self.cpus[cpu];
        let spare = match self.lend {
            Lend::Domain => &(this - running) + extra,
            Lend::Cpu => &self.umax - running,
            Lend::Parallel => &self.umax - kept,
        };
        match self.arith {
            Arith::Exact => {
                let rest = &self.umax - &spare;
                Price::exact(&rest.max(u.clone()) / &self.umax)
            }
            Arith::Kernel => {
                let whole = |rate: &Rate| rate.floor().unwrap_or(0);
                let (umax, u) = (whole(&self.umax) as u64, whole(u) as u64);
                // Unsigned, as in the kernel: a negative value wraps around to a huge one.
                let spare = whole(&spare) as u64;
                let paid = if spare > umax.saturating_sub(u) { u } else { umax - spare };
                Price::Scaled { by: (paid * self.bw_ratio as u64) >> RATIO_SHIFT, shift: BW_SHIFT }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(cpus: u32) -> CpuSet {
        (0..cpus).map(CpuId).collect()
    }

    /// Returns the accounts of the two threads of the file header.
    fn two_on_one_of(cpus: u32) -> (Accounts, Rate, Rate) {
        let mut accounts = Accounts::new(Arith::Exact, &Rate::ONE, cpus as usize, &[set(cpus)]);
        let (four, five) = (Rate::new(4, 10), Rate::new(5, 10));
        for u in [&four, &five] {
            accounts.reserve(u, 0);
            accounts.enter(u, CpuId(0));
            accounts.activate(u, CpuId(0));
        }
        (accounts, four, five)
    }

    #[test]
    fn alone_in_its_domain_a_cpu_charges_its_active_bandwidth() {
        let (mut accounts, four, five) = two_on_one_of(1);
        assert_eq!(accounts.price(&four, CpuId(0)), Price::exact(Rate::new(9, 10)));
        accounts.deactivate(&five, CpuId(0));
        assert_eq!(accounts.price(&four, CpuId(0)), Price::exact(Rate::new(4, 10)));
        accounts.unreserve(&five, 0);
        accounts.leave(&five, CpuId(0));
        assert_eq!(accounts.of(CpuId(0)).extra, Rate::new(6, 10));
        assert_eq!(accounts.price(&four, CpuId(0)), Price::exact(Rate::new(4, 10)));
    }

    #[test]
    fn on_one_of_two_cpus_more_is_lent_than_there_is() {
        let (accounts, four, five) = two_on_one_of(2);
        assert_eq!(accounts.price(&four, CpuId(0)), Price::exact(Rate::new(9, 20)));
        assert_eq!(accounts.price(&five, CpuId(0)), Price::exact(Rate::new(1, 2)));
    }

    #[test]
    fn a_cpu_that_lends_its_own_is_as_if_alone() {
        let (accounts, four, five) = two_on_one_of(2);
        let accounts = accounts.lending(Lend::Cpu);
        assert_eq!(accounts.price(&four, CpuId(0)), Price::exact(Rate::new(9, 10)));
        assert_eq!(accounts.price(&five, CpuId(0)), Price::exact(Rate::new(9, 10)));
        // A thread that is about to arrive pays for itself.
        assert_eq!(accounts.price(&five, CpuId(1)), Price::exact(Rate::new(1, 2)));
    }

    #[test]
    fn cpus_lend_in_parallel_what_global_edf_can_spare() {
        let (accounts, four, five) = two_on_one_of(2);
        let mut accounts = accounts.lending(Lend::Parallel);
        // (4/10 + 5/10 + 5/10) / 2, on every CPU.
        for cpu in [CpuId(0), CpuId(1)] {
            assert_eq!(accounts.price(&four, cpu), Price::exact(Rate::new(7, 10)));
        }
        // The widest reservation counts even if its thread is not active.
        accounts.deactivate(&five, CpuId(0));
        assert_eq!(accounts.price(&four, CpuId(1)), Price::exact(Rate::new(9, 20)));
        accounts.unreserve(&five, 0);
        assert_eq!(accounts.price(&four, CpuId(1)), Price::exact(Rate::new(4, 10)));
        // No thread pays more than without reclaiming.
        for _ in 0..5 {
            accounts.activate(&five, CpuId(1));
        }
        assert_eq!(accounts.price(&four, CpuId(0)), Price::Unit);
    }

    #[test]
    fn a_thread_takes_its_bandwidth_along() {
        let (mut accounts, four, _) = two_on_one_of(2);
        accounts.transfer(&four, [CpuId(0), CpuId(1)], true);
        let of =
            |cpu| (accounts.of(CpuId(cpu)).this.clone(), accounts.of(CpuId(cpu)).running.clone());
        assert_eq!(of(0), (Rate::new(1, 2), Rate::new(1, 2)));
        assert_eq!(of(1), (Rate::new(2, 5), Rate::new(2, 5)));
    }

    #[test]
    fn the_domain_is_counted_anew() {
        let (mut accounts, four, five) = two_on_one_of(2);
        accounts.rebuild(0, &set(1), [&four, &five].into_iter());
        assert_eq!(accounts.of(CpuId(0)).extra, Rate::new(1, 10));
    }
}
