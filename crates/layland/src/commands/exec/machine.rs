//! The properties of the machine that matter for admission.

use layland_guarantee::admission::Kept;
use layland_linux::Throttling;
use layland_linux::exec::Limits;
use layland_model::{CpuSet, Index, Rate};

pub(crate) struct Machine {
    /// The CPUs that are online.
    pub(crate) online: CpuSet,
    pub(crate) limits: Limits,
    /// The share of its CPUs that SCHED_DEADLINE grants.
    pub(crate) share: Rate,
    /// The time that the kernel withholds from real-time threads.
    pub(crate) kept: Vec<Kept>,
}

impl Machine {
    /// Reads the machine, with the limits of the control groups of this process.
    pub(crate) fn read() -> Machine {
        Machine::of(i32::try_from(std::process::id()).unwrap_or(i32::MAX))
    }

    /// Reads the machine, with the limits of the control groups of a process.
    pub(crate) fn of(process: i32) -> Machine {
        let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let online = text.trim().parse().unwrap_or_else(|_| CpuSet::first(1));
        let of_machine = Throttling::of_machine().into_iter();
        let of_machine = of_machine.map(|one| ("sched_rt_runtime_us".to_owned(), one));
        let all = of_machine.chain(Throttling::of_groups(process));
        let kept = all.map(|(of, one)| {
            if one.is_fair_server {
                Kept::FairServer { runtime: one.gap(), period: one.period }
            } else {
                Kept::Throttling { of, runtime: one.runtime, period: one.period }
            }
        });
        let limits = Limits::read();
        let share = Rate::new(limits.limit_thousandths, 1000);
        Machine { online, limits, share, kept: kept.collect() }
    }

    /// Returns the number of CPUs up to the highest one.
    pub(crate) fn cpu_count(&self) -> usize {
        self.online.highest().map_or(1, |cpu| cpu.index() + 1)
    }
}
