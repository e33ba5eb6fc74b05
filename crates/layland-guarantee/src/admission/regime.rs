//! The policies under which the programs of a machine are admitted, each with the scheduler that
//! carries it out.

use super::register::Reservation;
use layland_model::CpuSet;

/// A policy, and the scheduler of Linux that carries it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// `dl` by SCHED_DEADLINE: global EDF with a budget for each thread, in a root domain.
    KernelDl,
    /// `dl-sp` by SCHED_DEADLINE, in a kernel that is repaired: each thread has one CPU of the root
    /// domain, or all.
    KernelDlSp,
    /// `p-edf` by SCHED_DEADLINE: each CPU that is used is a root domain.
    PEdf,
    /// `p-dm` by SCHED_FIFO: each thread on one CPU, without a budget.
    PDm,
    /// `p-rm` by SCHED_FIFO, likewise.
    PRm,
    /// `p-fp` by SCHED_FIFO, likewise. Tasks of one priority share a priority of the kernel.
    PFp,
    /// `dl` by sched_ext.
    ExtDl,
    /// `dl-sp` by sched_ext.
    DlSp,
    /// `apedf` by sched_ext.
    Apedf,
    /// `a2pedf` by sched_ext.
    A2pedf,
}

impl Regime {
    /// Every regime.
    pub const ALL: [Regime; 10] = [
        Regime::KernelDl,
        Regime::KernelDlSp,
        Regime::PEdf,
        Regime::PDm,
        Regime::PRm,
        Regime::PFp,
        Regime::ExtDl,
        Regime::DlSp,
        Regime::Apedf,
        Regime::A2pedf,
    ];

    /// Returns the regime of this policy by the classes SCHED_DEADLINE and SCHED_FIFO.
    pub fn of_kernel(policy: &str) -> Option<Regime> {
        Regime::ALL.into_iter().find(|regime| !regime.is_ext() && regime.policy() == policy)
    }

    /// Returns the regime of this policy by sched_ext.
    pub fn of_ext(policy: &str) -> Option<Regime> {
        Regime::ALL.into_iter().find(|regime| regime.is_ext() && regime.policy() == policy)
    }

    /// Returns the regime of this [name](Self::name).
    pub fn find(name: &str) -> Option<Regime> {
        Regime::ALL.into_iter().find(|regime| regime.name() == name)
    }

    /// Returns the name of the policy.
    pub fn policy(self) -> &'static str {
        match self {
            Regime::KernelDl | Regime::ExtDl => "dl",
            Regime::PEdf => "p-edf",
            Regime::PDm => "p-dm",
            Regime::PRm => "p-rm",
            Regime::PFp => "p-fp",
            Regime::KernelDlSp | Regime::DlSp => "dl-sp",
            Regime::Apedf => "apedf",
            Regime::A2pedf => "a2pedf",
        }
    }

    /// Returns the name of the policy, with ` (ext)` for sched_ext: SCHED_DEADLINE and `dl` by
    /// sched_ext are different regimes.
    pub fn name(self) -> String {
        let policy = self.policy();
        if self.is_ext() { format!("{policy} (ext)") } else { policy.to_owned() }
    }

    /// Returns the spec of the policy, as it is built and analysed. If the policy can reject an
    /// excessive request, the spec enables that.
    pub fn spec(self) -> &'static str {
        match self {
            Regime::KernelDl | Regime::PEdf | Regime::ExtDl => "dl:ac=on",
            // Threads of the same priority share a priority of SCHED_FIFO.
            Regime::PFp => "p-fp:tie=fifo",
            Regime::KernelDlSp
            | Regime::PDm
            | Regime::PRm
            | Regime::DlSp
            | Regime::Apedf
            | Regime::A2pedf => self.policy(),
        }
    }

    /// Returns true if sched_ext carries the policy out.
    pub fn is_ext(self) -> bool {
        match self {
            Regime::ExtDl | Regime::DlSp | Regime::Apedf | Regime::A2pedf => true,
            Regime::KernelDl
            | Regime::KernelDlSp
            | Regime::PEdf
            | Regime::PDm
            | Regime::PRm
            | Regime::PFp => false,
        }
    }

    /// Returns true if threads have budgets, so that no other thread suffers from an overrun.
    /// Otherwise they are of SCHED_FIFO.
    pub fn has_budgets(self) -> bool {
        match self {
            Regime::PDm | Regime::PRm | Regime::PFp => false,
            Regime::KernelDl
            | Regime::KernelDlSp
            | Regime::PEdf
            | Regime::ExtDl
            | Regime::DlSp
            | Regime::Apedf
            | Regime::A2pedf => true,
        }
    }

    /// Returns true if a region of this regime has given CPUs; otherwise it has the CPUs that were
    /// granted to its members.
    pub(super) fn has_own_cpus(self) -> bool {
        matches!(self, Regime::KernelDl | Regime::KernelDlSp) || self.is_ext()
    }

    /// Returns true if the kernel has to separate the CPUs of a thread that may use `region` from
    /// the other CPUs of the machine.
    pub fn is_partition(self, region: &CpuSet, online: &CpuSet) -> bool {
        match self {
            Regime::KernelDl => region != online,
            Regime::PEdf => online.len() > 1,
            Regime::KernelDlSp
            | Regime::PDm
            | Regime::PRm
            | Regime::PFp
            | Regime::ExtDl
            | Regime::DlSp
            | Regime::Apedf
            | Regime::A2pedf => false,
        }
    }

    /// Returns true if the CPUs that a program names are those of its threads: one of the root domain of
    /// the machine, or all. Otherwise they are those of a region.
    pub fn has_the_root_domain(self) -> bool {
        self == Regime::KernelDlSp
    }

    /// Returns the key by which SCHED_FIFO orders a task on its CPU: the smaller one goes first.
    /// Ties by deadline or period go to the task that was admitted first, which has the smaller
    /// `id`; tasks of one given priority share a level. `None` if the regime has budgets.
    pub(super) fn key(self, task: &Reservation, id: u64) -> Option<(i64, u64)> {
        match self {
            Regime::PDm => Some((task.deadline.ns(), id)),
            Regime::PRm => Some((task.period.ns(), id)),
            Regime::PFp => Some((task.priority.unwrap_or(0), 0)),
            Regime::KernelDl
            | Regime::KernelDlSp
            | Regime::PEdf
            | Regime::ExtDl
            | Regime::DlSp
            | Regime::Apedf
            | Regime::A2pedf => None,
        }
    }
}
