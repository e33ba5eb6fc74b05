//! The repair of SCHED_DEADLINE for semi-partitioned systems (Tang, Anderson and Abeni 2021), in kernels
//! that have the patches of `kernel/`: a setting of the kernel, which is a sum of rules.

use std::fs;
use std::path::Path;

/// The settings of the kernel.
pub(crate) const SYSCTLS: &str = "/proc/sys";

/// The rules of SCHED_DEADLINE that are on, in a kernel that has the repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair(u32);

impl Repair {
    /// The rules of the paper: admission of threads that are tied to a CPU, the throttle of late
    /// threads, and pushes for which a thread does not count on its own CPU.
    pub const PAPER: Repair = Repair(7);
    /// The same decisions with less work: only late threads that are in the way are throttled.
    pub const LIGHT: Repair = Repair(15);

    /// The name of the setting among those that runs share.
    pub(crate) const SETTING: &str = "sched_dl_semi_partitioned";

    /// Reads the rules; none if the kernel does not have the repair.
    pub fn read() -> Option<Repair> {
        Repair::read_in(Path::new(SYSCTLS))
    }

    /// [`read`](Self::read) in another tree of settings.
    pub(crate) fn read_in(sysctls: &Path) -> Option<Repair> {
        let text = fs::read_to_string(sysctls.join("kernel").join(Repair::SETTING)).ok()?;
        text.trim().parse().ok().map(Repair)
    }

    /// Returns the rules that a value of the setting switches on.
    pub fn of(value: u32) -> Repair {
        Repair(value)
    }

    /// Returns the value of the setting.
    pub fn value(self) -> u32 {
        self.0
    }

    /// Returns true if all rules of the paper are on.
    pub fn is_whole(self) -> bool {
        self.0 & Repair::PAPER.0 == Repair::PAPER.0
    }
}
