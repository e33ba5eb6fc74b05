//! The versions of Linux: the effect of `sched_setattr` and `sched_setaffinity` on a server in the
//! middle of its period.
//!
//! Versions differ in the cases in which such a call starts the server of a queued thread anew (`q
//! := Q`, `d := t + D`). An option names each difference, and `kernel=..` sets all of them:
//!
//! | | `5.4` (default) | `6.12` | `6.18` | `7.2` |
//! |---|---|---|---|---|
//! | `setattr_tardy`: other parameters, the deadline has passed | `keep` | `restart` | `restart` | `restart` |
//! | `affinity_tardy`: another affinity, the deadline has passed | `moved` | `any` | `any` | `keep` |
//! | `affinity_early`: the deadline has not passed, and the thread moves | `keep` | `keep` | `wake-up` | `keep` |
//! | `capacity`: CPUs of different speed count as such (Linux since 5.9) | `off` | `on` | `on` | `on` |
//!
//! 5.4 is the kernel that Tang, Anderson and Abeni 2021 describe. The other columns are the results
//! of probes of 6.12.107, 6.18.44 and 7.2.13: a thread with 80 ms every 100 ms, whose deadline is
//! at 102, and the call at 85 or at 120 ms. The `wake-up` of 6.18 was observed for a running thread
//! that moves, and is assumed for a waiting one too; it may be particular to the probed kernel.
//!
//! A call never changes a throttled server and, with that one exception, never changes the budget
//! of a server whose deadline has not passed. The options `tie=fifo` and `lag_reset=on` add
//! behaviour that all versions have in common. The limit of admission control per CPU is a setting
//! of the machine and not of the version (`limit=9/10` with `sched_rt_runtime_us` at 950000 and the
//! fair server, `limit=19/20` with 1000000).

use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, Values};

/// The effect of other parameters on a queued server whose deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetattrTardy {
    /// The parameters count from its next period on.
    Keep,
    /// The server starts anew, with the new parameters.
    Restart,
}

/// The queued servers that another affinity starts anew, among those whose deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AffinityTardy {
    /// None.
    Keep,
    /// The servers of threads that may no longer use their CPUs.
    Moved,
    /// All servers.
    Any,
}

/// The effect of another affinity on a queued server whose deadline has not passed, if the thread
/// may no longer use its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AffinityEarly {
    /// No effect.
    Keep,
    /// The effect of a wake-up.
    WakeUp,
}

/// The differences between kernels: see the file header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    pub setattr_tardy: SetattrTardy,
    pub affinity_tardy: AffinityTardy,
    pub affinity_early: AffinityEarly,
    /// True if CPUs of different speed count as such.
    pub capacity: bool,
}

const VERSIONS: [(&str, Kernel); 4] = [
    (
        "5.4",
        Kernel {
            setattr_tardy: SetattrTardy::Keep,
            affinity_tardy: AffinityTardy::Moved,
            affinity_early: AffinityEarly::Keep,
            capacity: false,
        },
    ),
    (
        "6.12",
        Kernel {
            setattr_tardy: SetattrTardy::Restart,
            affinity_tardy: AffinityTardy::Any,
            affinity_early: AffinityEarly::Keep,
            capacity: true,
        },
    ),
    (
        "6.18",
        Kernel {
            setattr_tardy: SetattrTardy::Restart,
            affinity_tardy: AffinityTardy::Any,
            affinity_early: AffinityEarly::WakeUp,
            capacity: true,
        },
    ),
    (
        "7.2",
        Kernel {
            setattr_tardy: SetattrTardy::Restart,
            affinity_tardy: AffinityTardy::Keep,
            affinity_early: AffinityEarly::Keep,
            capacity: true,
        },
    ),
];

pub(crate) fn kernel() -> OptionInfo {
    OptionInfo::new(
        "kernel",
        "the Linux version whose reactions to changes of a running thread are modelled: 5.4 (default), 6.12, \
           6.18 or 7.2; it sets the next four options, which can also be set alone",
        Values::one_of(["5.4", "6.12", "6.18", "7.2"]),
    )
}

pub(crate) fn setattr_tardy() -> OptionInfo {
    OptionInfo::new(
        "setattr_tardy",
        "the effect of other parameters on a queued server whose deadline has passed: keep (5.4) or restart \
           (6.12, 6.18, 7.2)",
        Values::one_of(["keep", "restart"]),
    )
}

pub(crate) fn affinity_tardy() -> OptionInfo {
    OptionInfo::new(
        "affinity_tardy",
        "the queued servers that another affinity restarts if their deadlines have passed: keep (none; 7.2), \
           moved (those whose threads have to leave their CPUs; 5.4) or any (6.12, 6.18)",
        Values::one_of(["keep", "moved", "any"]),
    )
}

pub(crate) fn affinity_early() -> OptionInfo {
    OptionInfo::new(
        "affinity_early",
        "the effect of leaving its CPU for another affinity on a queued server whose deadline has not passed: \
           keep (5.4, 6.12, 7.2) or wake-up (as if its thread woke up; 6.18)",
        Values::one_of(["keep", "wake-up"]),
    )
}

pub(crate) fn capacity() -> OptionInfo {
    OptionInfo::new(
        "capacity",
        "on: where CPUs have different speeds, admission control adds up the speeds, and a thread looks for a free \
           CPU that is fast enough for it (6.12, 6.18, 7.2); off: the CPUs are counted (5.4)",
        Values::Switch,
    )
}

impl Kernel {
    pub(super) fn of(options: &PolicyOptions) -> Result<Kernel, Refusal> {
        let mut kernel = options.one_of("kernel", &VERSIONS)?.unwrap_or(VERSIONS[0].1);
        let setattr_tardy = [("keep", SetattrTardy::Keep), ("restart", SetattrTardy::Restart)];
        if let Some(value) = options.one_of("setattr_tardy", &setattr_tardy)? {
            kernel.setattr_tardy = value;
        }
        let affinity_tardy = [
            ("keep", AffinityTardy::Keep),
            ("moved", AffinityTardy::Moved),
            ("any", AffinityTardy::Any),
        ];
        if let Some(value) = options.one_of("affinity_tardy", &affinity_tardy)? {
            kernel.affinity_tardy = value;
        }
        let affinity_early = [("keep", AffinityEarly::Keep), ("wake-up", AffinityEarly::WakeUp)];
        if let Some(value) = options.one_of("affinity_early", &affinity_early)? {
            kernel.affinity_early = value;
        }
        kernel.capacity = options.switch("capacity", kernel.capacity)?;
        Ok(kernel)
    }
}
