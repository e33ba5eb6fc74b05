//! The CPUs of the machine that carry the CPUs of the platform, and the CPU of the manager.
//!
//! | platform | manager | why |
//! |---|---|---|
//! | one CPU | on the same CPU | no message between CPUs, so latencies are shortest |
//! | several CPUs | on a CPU of its own | the others handle no timers; it directs them by priorities |
//! | every CPU that the process may use | on the first of them | there is no other; latencies on it are longer |
//!
//! The last CPUs that the process may use are taken first, because the first one serves most
//! interrupts. The manager gets the CPU before them.

use crate::RunError;
use crate::machine::changes::Changes;
use layland_model::{CpuId, CpuMap, Index};

/// The place of the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagerPlace {
    /// By the table of `fifo/hosts.rs`: dedicated for several CPUs if there is one more, otherwise
    /// shared.
    Auto,
    /// On the CPU that carries the platform's first one.
    Shared,
    /// On a CPU that carries no CPU of the platform.
    Dedicated,
}

/// The assignment of the platform's CPUs and the manager to CPUs of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The CPU of the machine that carries each CPU of the platform.
    pub of: CpuMap<usize>,
    /// The CPU of the machine that the manager runs on.
    pub manager: usize,
}

impl Hosts {
    /// Chooses among the usable CPUs, which are in ascending order.
    ///
    /// # Errors
    /// Returns an error if there are too few usable CPUs.
    ///
    /// ```
    /// use layland_linux::{Hosts, ManagerPlace};
    /// let hosts = Hosts::choose(2, &[0, 1, 2, 3], ManagerPlace::Auto).unwrap();
    /// assert_eq!((hosts.of.as_slice(), hosts.manager), (&[2, 3][..], 1));
    /// let hosts = Hosts::choose(1, &[0, 1], ManagerPlace::Auto).unwrap();
    /// assert_eq!((hosts.of.as_slice(), hosts.manager), (&[1][..], 1));
    /// let hosts = Hosts::choose(2, &[0, 1], ManagerPlace::Auto).unwrap();
    /// assert_eq!((hosts.of.as_slice(), hosts.manager), (&[0, 1][..], 0));
    /// assert!(Hosts::choose(2, &[0, 1], ManagerPlace::Dedicated).is_err());
    /// ```
    pub fn choose(cpus: usize, usable: &[usize], place: ManagerPlace) -> Result<Hosts, RunError> {
        let shared = match place {
            ManagerPlace::Auto => cpus == 1 || usable.len() == cpus,
            ManagerPlace::Shared => true,
            ManagerPlace::Dedicated => false,
        };
        let needed = cpus + usize::from(!shared);
        if usable.len() < needed {
            return Err(RunError::TooFewCpus {
                platform: cpus,
                usable: usable.len(),
                can_share: !shared && usable.len() >= cpus,
            });
        }
        let first = usable.len() - cpus;
        let of: CpuMap<usize> = usable[first..].iter().copied().collect();
        let manager = if shared { of[CpuId::from_index(0)] } else { usable[first - 1] };
        Ok(Hosts { of, manager })
    }

    /// Chooses among the CPUs that no other run uses, and claims the chosen ones for this run. Also
    /// returns a remark if the choice would have been different without the other runs.
    ///
    /// # Errors
    /// Returns an error if there are too few usable CPUs.
    pub fn claim(
        changes: &mut Changes,
        cpus: usize,
        usable: &[usize],
        place: ManagerPlace,
    ) -> Result<(Hosts, Option<String>), RunError> {
        changes.claim(usable, |usable| {
            let hosts = Hosts::choose(cpus, usable, place)?;
            let all = hosts.all();
            Ok((hosts, all))
        })
    }

    /// Returns the CPU of the platform that the manager shares, if any.
    pub fn shared(&self) -> Option<CpuId> {
        self.of.iter().find(|&(_, &host)| host == self.manager).map(|(cpu, _)| cpu)
    }

    /// Returns the CPUs of the machine that the run uses, in ascending order.
    pub(crate) fn all(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.of.values().copied().collect();
        all.push(self.manager);
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Hosts {
    /// Describes the CPUs of the jobs.
    pub fn of_jobs(&self) -> String {
        let places = self.of.iter().map(|(cpu, host)| format!("CPU {cpu} on host CPU {host}"));
        places.collect::<Vec<_>>().join(", ")
    }
}

impl std::fmt::Display for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.of_jobs())?;
        let shared = self.of.values().any(|&host| host == self.manager);
        write!(f, "; manager on host CPU {}{}", self.manager, if shared { " (shared)" } else { "" })
    }
}
