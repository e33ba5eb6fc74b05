//! The bandwidth accounts of **GRUB** (greedy reclamation of unused bandwidth): what threads have reserved on each
//! CPU, what of it is in use, and what a nanosecond costs a thread that reclaims the rest.
//!
//! Lipari and Baruah 2000 for one CPU; `grub_reclaim` of the kernel's `deadline.c`, with the equation that it has
//! since 6.5, for several. The domain of a CPU is its cluster, and `m` is the number of CPUs online there.
//!
//! | specification | here | meaning |
//! |---|---|---|
//! | `Umax` | `umax` | the share of a CPU that threads may reclaim |
//! | `u` | [`Accounts::bandwidth`] | `Q / T` |
//! | `this[c]` | [`Account::this`] | the bandwidth of the threads that belong to CPU `c` |
//! | `running[c]` | [`Account::running`] | that of those of them that are active |
//! | `extra[c]` | [`Account::extra`] | `Umax`, less `u / m` of each thread of the domain |
//! | `Uinact` | `this - running` | what is reserved and not in use |
//!
//! A thread that reclaims pays `max(u, Umax - Uinact - extra) / Umax` for each unit of time. On the only CPU of a
//! domain `extra` is `Umax - this`, and the price is `running / Umax`: no server is late if the bandwidths are at most
//! `Umax`, and the threads leave `1 - Umax` to others.
//!
//! **On one of several CPUs of a domain nothing is guaranteed.** `extra` spreads what is reserved over the CPUs of
//! the domain, wherever its threads are: two threads with 4 and 5 in 10 on CPU 0 of 2 pay 9/20 and 1/2, and
//! together take more than the CPU has. This is the kernel's rule, which relies on threads that migrate. The two
//! rules for global EDF of Abeni, Lipari, Parri and Sun 2016 (parallel and sequential reclaiming, M-GRUB) have
//! conditions that are not in the public sources at hand, and are not here.
//!
//! The repair is [`Lend::Cpu`]: a CPU lends what its own threads leave, and the price is `max(u, running) / Umax`.
//! Where each thread is tied to a CPU, every CPU is then as the only one of a domain, and keeps deadlines as such.
//!
//! Two arithmetics. *Exact*: rationals. *Kernel*: whole multiples of 2^-20, rounded where the kernel rounds: the
//! bandwidth of a thread, its share of `extra`, `1 / Umax` (in 2^-8), the price, and each charge. `extra` can fall
//! below zero where admission control is off: a kernel's 64 bits wrap around, what is spare becomes huge, and every
//! thread pays `u` alone.

use super::price::{Arith, BW_SHIFT, Price, to_ratio};
use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, Values};
use layland_model::{CpuId, CpuMap, CpuSet, Duration, Rate, Service};

const RATIO_SHIFT: u32 = 8;
/// One CPU in the kernel's units.
const BW_UNIT: i64 = 1 << BW_SHIFT;

pub(crate) fn lend() -> OptionInfo {
    OptionInfo::new(
        "lend",
        "what a CPU lends with grub=on: domain (default, as Linux: its share of what all threads of its cluster \
           leave) or cpu (what its own threads leave, which keeps deadlines where all threads are tied to CPUs)",
        Values::one_of(["domain", "cpu"]),
    )
}

/// What a CPU lends to the threads that reclaim there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lend {
    /// Its share of what the threads of its domain leave, wherever they are.
    #[default]
    Domain,
    /// What its own threads leave.
    Cpu,
}

impl Lend {
    pub(crate) fn of(options: &PolicyOptions) -> Result<Lend, Refusal> {
        let values = [("domain", Lend::Domain), ("cpu", Lend::Cpu)];
        Ok(options.one_of("lend", &values)?.unwrap_or_default())
    }
}

/// The accounts of a CPU, in CPUs if they are exact, and otherwise in 2^-20 of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// What the threads that belong to it have reserved.
    pub this: Rate,
    /// What those of them have reserved that are active.
    pub running: Rate,
    /// What is lent besides.
    pub extra: Rate,
}

/// See the file header.
#[derive(Clone, Debug)]
pub struct Accounts {
    arith: Arith,
    lend: Lend,
    /// In the unit of the accounts.
    umax: Rate,
    /// `1 / Umax` in 2^-8, which the kernel counts with.
    bw_ratio: i64,
    cpus: CpuMap<Account>,
}

impl Accounts {
    /// The accounts of so many CPUs without threads. `umax` is above 0 and at most 1.
    pub fn new(arith: Arith, umax: &Rate, cpus: usize) -> Accounts {
        let (numerator, denominator) = umax.as_i64_pair().unwrap_or((1, 1));
        let (unit, bw_ratio) = match arith {
            Arith::Exact => (umax.clone(), 1 << RATIO_SHIFT),
            Arith::Kernel => (
                Rate::whole(to_ratio(denominator, numerator)),
                to_ratio(numerator, denominator) >> (BW_SHIFT - RATIO_SHIFT),
            ),
        };
        let account = Account { this: Rate::ZERO, running: Rate::ZERO, extra: unit.clone() };
        let (lend, cpus) = (Lend::Domain, CpuMap::filled(account, cpus));
        Accounts { arith, lend, umax: unit, bw_ratio, cpus }
    }

    /// The same, with other lending.
    #[must_use]
    pub fn lending(self, lend: Lend) -> Accounts {
        Accounts { lend, ..self }
    }

    /// How they are counted.
    pub fn arith(&self) -> Arith {
        self.arith
    }

    /// `Umax`, and `1 / Umax` in 2^-8, in the units of the accounts.
    pub fn limits(&self) -> (&Rate, i64) {
        (&self.umax, self.bw_ratio)
    }

    /// The account of a CPU.
    pub fn of(&self, cpu: CpuId) -> &Account {
        &self.cpus[cpu]
    }

    /// The bandwidth of a reservation, in the unit of the accounts.
    pub fn bandwidth(&self, budget: Service, period: Duration) -> Rate {
        match self.arith {
            Arith::Exact => Rate::new(budget.ns(), period.ns()),
            Arith::Kernel => Rate::whole(to_ratio(period.ns(), budget.ns())),
        }
    }

    /// The active bandwidth of a CPU, in CPUs.
    pub fn active(&self, cpu: CpuId) -> Rate {
        match self.arith {
            Arith::Exact => self.cpus[cpu].running.clone(),
            Arith::Kernel => &self.cpus[cpu].running / &Rate::whole(BW_UNIT),
        }
    }

    /// `u / m`.
    fn share(&self, u: &Rate, domain: &CpuSet) -> Rate {
        let share = u / &Rate::whole(domain.len().max(1) as i64);
        match self.arith {
            Arith::Exact => share,
            Arith::Kernel => Rate::whole(share.floor().unwrap_or(0)),
        }
    }

    /// A domain has a thread more.
    pub fn reserve(&mut self, u: &Rate, domain: &CpuSet) {
        let share = self.share(u, domain);
        for c in domain.iter() {
            self.cpus[c].extra = &self.cpus[c].extra - &share;
        }
    }

    /// A domain has a thread less.
    pub fn unreserve(&mut self, u: &Rate, domain: &CpuSet) {
        let share = self.share(u, domain);
        for c in domain.iter() {
            self.cpus[c].extra = &self.cpus[c].extra + &share;
        }
    }

    /// A thread belongs to a CPU. It is not active.
    pub fn enter(&mut self, u: &Rate, cpu: CpuId) {
        self.cpus[cpu].this = &self.cpus[cpu].this + u;
    }

    /// A thread that is not active belongs to no CPU.
    pub fn leave(&mut self, u: &Rate, cpu: CpuId) {
        self.cpus[cpu].this = &self.cpus[cpu].this - u;
    }

    /// Counts what is lent anew, after the CPUs of a domain have changed: all threads of the domain.
    pub fn rebuild<'a>(&mut self, domain: &CpuSet, threads: impl Iterator<Item = &'a Rate>) {
        let all = threads.fold(Rate::ZERO, |sum, u| &sum + &self.share(u, domain));
        for c in domain.iter() {
            self.cpus[c].extra = &self.umax - &all;
        }
    }

    /// A thread becomes active.
    pub fn activate(&mut self, u: &Rate, cpu: CpuId) {
        self.cpus[cpu].running = &self.cpus[cpu].running + u;
    }

    /// A thread is no longer active.
    pub fn deactivate(&mut self, u: &Rate, cpu: CpuId) {
        self.cpus[cpu].running = &self.cpus[cpu].running - u;
    }

    /// A thread belongs to another CPU.
    pub fn transfer(&mut self, u: &Rate, [from, to]: [CpuId; 2], is_active: bool) {
        if is_active {
            self.deactivate(u, from);
            self.activate(u, to);
        }
        self.cpus[from].this = &self.cpus[from].this - u;
        self.cpus[to].this = &self.cpus[to].this + u;
    }

    /// What a nanosecond on a CPU costs a thread of bandwidth `u` that reclaims.
    pub fn price(&self, u: &Rate, cpu: CpuId) -> Price {
        let Account { this, running, extra } = &self.cpus[cpu];
        let spare = match self.lend {
            Lend::Domain => &(this - running) + extra,
            Lend::Cpu => &self.umax - running,
        };
        match self.arith {
            Arith::Exact => {
                let rest = &self.umax - &spare;
                Price::exact(&rest.max(u.clone()) / &self.umax)
            }
            Arith::Kernel => {
                let whole = |rate: &Rate| rate.floor().unwrap_or(0);
                let (umax, u) = (whole(&self.umax) as u64, whole(u) as u64);
                // Unsigned, as in the kernel: below zero it wraps around, and is huge.
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

    /// The two threads of the file header.
    fn two_on_one_of(cpus: u32) -> (Accounts, Rate, Rate) {
        let mut accounts = Accounts::new(Arith::Exact, &Rate::ONE, cpus as usize);
        let (four, five) = (Rate::new(4, 10), Rate::new(5, 10));
        for u in [&four, &five] {
            accounts.reserve(u, &set(cpus));
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
        accounts.unreserve(&five, &set(1));
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
        // A thread that is about to come pays for itself.
        assert_eq!(accounts.price(&five, CpuId(1)), Price::exact(Rate::new(1, 2)));
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
        accounts.rebuild(&set(1), [&four, &five].into_iter());
        assert_eq!(accounts.of(CpuId(0)).extra, Rate::new(1, 10));
    }
}
