//! The requirements of the sched_ext engine, compared with this kernel ([`support`]): what the
//! engine needs, and what prevents it from running.
//!
//! The check loads no program. The kernel's BTF describes the functions that programs may call and
//! the members of a scheduler. It also shows a defect of some builds: an argument that the kernel
//! passes itself, and normally hides from programs, appears in the prototypes of some functions.
//! Programs cannot declare such a function, and a loader refuses all that call it.

use crate::kernel::sys;
use crate::machine::btf::{Btf, OF_THE_KERNEL};
use std::{fmt, fs, io};

/// The oldest kernel on which the engine is tried, as major and minor version.
pub const FLOOR: (u32, u32) = (7, 2);

/// The kernel functions that the engine's programs call, with the number of their parameters.
const FUNCTIONS: [(&str, usize); 12] = [
    ("scx_bpf_create_dsq", 2),
    ("scx_bpf_dsq_insert", 4),
    ("scx_bpf_dsq_move_to_local", 1),
    ("scx_bpf_kick_cpu", 2),
    ("scx_bpf_dsq_reenq", 2),
    ("scx_bpf_nr_cpu_ids", 0),
    ("scx_bpf_task_cpu", 1),
    ("scx_bpf_tid_to_task", 1),
    ("scx_bpf_error_bstr", 3),
    ("bpf_cpumask_test_cpu", 2),
    ("bpf_rcu_read_lock", 0),
    ("bpf_rcu_read_unlock", 0),
];

/// The structure of a scheduler, and the members that the engine sets.
const OPERATIONS: &str = "sched_ext_ops";
const MEMBERS: [&str; 17] = [
    "select_cpu",
    "enqueue",
    "dequeue",
    "dispatch",
    "runnable",
    "running",
    "stopping",
    "quiescent",
    "enable",
    "disable",
    "cpu_online",
    "cpu_offline",
    "init",
    "exit",
    "flags",
    "timeout_ms",
    "name",
];

/// The flags that the engine sets.
const FLAGS: [&str; 4] = [
    "SCX_OPS_ENQ_LAST",
    "SCX_OPS_SWITCH_PARTIAL",
    "SCX_OPS_ALWAYS_ENQ_IMMED",
    "SCX_OPS_TID_TO_TASK",
];

/// The type of the argument that programs should not see.
const HIDDEN: &str = "const struct bpf_prog_aux *";

/// The privileges, each with the capabilities that grant it. `CAP_SYS_ADMIN` grants the first two,
/// which were a part of it before Linux 5.8.
const PRIVILEGES: [(&str, &[u32]); 3] = [
    ("CAP_BPF", &[sys::CAP_BPF, sys::CAP_SYS_ADMIN]),
    ("CAP_PERFMON", &[sys::CAP_PERFMON, sys::CAP_SYS_ADMIN]),
    ("CAP_SYS_NICE", &[sys::CAP_SYS_NICE]),
];

/// A defect of a kernel function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The function does not exist.
    Missing,
    /// It shows the argument that the kernel passes itself, of this name.
    Shows(String),
    /// It has this other prototype.
    Takes(String),
}

/// An obstacle for the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The kernel is older than those on which the engine is tried: its release.
    Old(String),
    /// The kernel was built without sched_ext.
    NoSchedExt,
    /// The kernel's BTF cannot be read, for this reason.
    NoBtf(String),
    /// A function that programs call is not callable.
    Function {
        /// Its name.
        name: &'static str,
        /// Its defect.
        defect: Defect,
    },
    /// A scheduler cannot have this member of `sched_ext_ops`.
    Member(&'static str),
    /// A scheduler cannot set this flag.
    Flag(&'static str),
    /// Another scheduler is loaded, and there can be only one: its name.
    Loaded(String),
    /// The kernel was booted with this parameter, with which it accepts no scheduler.
    Isolated(String),
    /// The capabilities that are missing.
    Privileges(Vec<&'static str>),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = FLOOR;
        match self {
            Obstacle::Old(release) => {
                write!(f, "Linux {release}: the engine needs {major}.{minor} or later")
            }
            Obstacle::NoSchedExt => write!(f, "not in this kernel (CONFIG_SCHED_CLASS_EXT)"),
            Obstacle::NoBtf(why) => write!(f, "{OF_THE_KERNEL} cannot be used: {why}"),
            Obstacle::Function { name, defect: Defect::Missing } => {
                write!(f, "the kernel has no {name}()")
            }
            Obstacle::Function { name, defect: Defect::Shows(argument) } => write!(
                f,
                "BTF shows the hidden argument `{argument}` of {name}(), so that nothing can call it"
            ),
            Obstacle::Function { name, defect: Defect::Takes(prototype) } => {
                write!(f, "{name}() takes something else: {prototype}")
            }
            Obstacle::Member(name) => write!(f, "{OPERATIONS} has no `{name}`"),
            Obstacle::Flag(name) => write!(f, "the kernel has no {name}"),
            Obstacle::Loaded(name) => {
                write!(f, "`{name}` is loaded, and there can be one scheduler alone")
            }
            Obstacle::Isolated(word) => {
                write!(f, "{word}: with isolated domains the kernel takes no scheduler (EINVAL)")
            }
            Obstacle::Privileges(missing) => write!(f, "EPERM: needs {}", missing.join(", ")),
        }
    }
}

impl Obstacle {
    /// Returns advice for the user.
    pub fn fix(&self) -> &'static str {
        match self {
            Obstacle::Old(_) | Obstacle::NoSchedExt | Obstacle::NoBtf(_) => {
                "boot Linux 7.2 or later with CONFIG_SCHED_CLASS_EXT and CONFIG_DEBUG_INFO_BTF, \
                 e.g. on Debian 13: apt install -t trixie-backports linux-image-amd64"
            }
            Obstacle::Function { .. } | Obstacle::Member(_) | Obstacle::Flag(_) => {
                "boot another build: of Debian's, 7.2.13 and 7.3.4 are whole, and 7.2.9, 7.2.11 and 7.2.12 are not, \
                 e.g. on Debian 13: apt install -t trixie-backports linux-image-amd64"
            }
            Obstacle::Loaded(_) => {
                "stop it, or end any sched_ext scheduler as root: echo S > /proc/sysrq-trigger"
            }
            Obstacle::Isolated(_) => {
                "boot without it: nohz_full=, rcu_nocbs= and irqaffinity= make no domains, and cpuset partitions \
                 isolate CPUs later"
            }
            Obstacle::Privileges(_) => "run as root, e.g. with sudo",
        }
    }

    /// Returns true if the kernel itself lacks a feature, for every user and environment.
    pub fn is_of_the_kernel(&self) -> bool {
        match self {
            Obstacle::Old(_) | Obstacle::NoSchedExt | Obstacle::NoBtf(_) => true,
            Obstacle::Function { .. } | Obstacle::Member(_) | Obstacle::Flag(_) => true,
            Obstacle::Loaded(_) | Obstacle::Isolated(_) | Obstacle::Privileges(_) => false,
        }
    }
}

/// The ability of this machine to run the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtSupport {
    /// The obstacles, the most basic ones first. If there are none, the engine can run.
    pub obstacles: Vec<Obstacle>,
    /// True if programs may set timers of their own. On PREEMPT_RT they may not; there the manager
    /// alone ends budgets.
    pub has_timers: bool,
}

impl ExtSupport {
    /// Returns true if the manager polls, and so needs a CPU of its own. On PREEMPT_RT a kernel
    /// thread would have to wake it, which itself would wait for a CPU.
    pub fn manager_polls(&self) -> bool {
        !self.has_timers
    }
}

/// Examines this machine.
pub fn support() -> ExtSupport {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned());
    let seen = KernelFiles {
        release: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        version: read("/proc/sys/kernel/version").unwrap_or_default(),
        command_line: read("/proc/cmdline").unwrap_or_default(),
        isolated: read("/sys/devices/system/cpu/isolated").ok(),
        state: read("/sys/kernel/sched_ext/state").ok(),
        loaded: read("/sys/kernel/sched_ext/root/ops").ok(),
    };
    seen.judge(Btf::of_the_kernel, sys::has_capability)
}

/// The kernel's files that the check reads.
struct KernelFiles {
    release: String,
    version: String,
    command_line: String,
    /// The CPUs of the machine whose domains were isolated at boot.
    isolated: Option<String>,
    /// The state of sched_ext, if the kernel has it.
    state: Option<String>,
    /// The name of the scheduler that is loaded.
    loaded: Option<String>,
}

impl KernelFiles {
    /// Judges the machine. The BTF is read only if necessary.
    fn judge(
        &self,
        btf: impl FnOnce() -> io::Result<Btf>,
        has_capability: impl Fn(u32) -> bool,
    ) -> ExtSupport {
        let mut obstacles = Vec::new();
        if version_of(&self.release).is_some_and(|version| version < FLOOR) {
            obstacles.push(Obstacle::Old(self.release.clone()));
        }
        match &self.state {
            None => obstacles.push(Obstacle::NoSchedExt),
            Some(_) => match btf() {
                Ok(btf) => lacks(&btf, &mut obstacles),
                Err(error) => obstacles.push(Obstacle::NoBtf(error.to_string())),
            },
        }
        if self.state.as_deref().is_some_and(|state| state != "disabled") {
            let name = self.loaded.as_deref().filter(|name| !name.is_empty());
            obstacles.push(Obstacle::Loaded(name.unwrap_or("a scheduler").to_owned()));
        }
        // The parameter may name only CPUs that this machine does not have.
        if self.isolated.as_deref() != Some("") {
            obstacles.extend(isolated_domains(&self.command_line).map(Obstacle::Isolated));
        }
        let is_missing = |any_of: &[u32]| !any_of.iter().any(|&number| has_capability(number));
        let missing: Vec<_> = PRIVILEGES
            .iter()
            .filter(|(_, any_of)| is_missing(any_of))
            .map(|(name, _)| *name)
            .collect();
        if !missing.is_empty() {
            obstacles.push(Obstacle::Privileges(missing));
        }
        ExtSupport { obstacles, has_timers: !self.version.contains("PREEMPT_RT") }
    }
}

/// Parses a release: `7.2.12+deb13-amd64` is 7.2.
fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Returns the parameter of the command line that isolates the domains of CPUs. `isolcpus=` does so
/// by default, if no flag precedes the CPUs.
fn isolated_domains(command_line: &str) -> Option<String> {
    // The words after `--` belong to the first process.
    let words = command_line.split_ascii_whitespace().take_while(|&word| word != "--");
    let isolated = words.filter(|word| {
        word.strip_prefix("isolcpus=").is_some_and(|list| {
            let is_flag = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic());
            let mut flags = list.trim_matches('"').split(',').filter(is_flag).peekable();
            flags.peek().is_none() || flags.any(|flag| flag == "domain")
        })
    });
    isolated.map(str::to_owned).next()
}

/// Adds the requirements of the engine that the BTF does not meet.
fn lacks(btf: &Btf, obstacles: &mut Vec<Obstacle>) {
    let Some(members) = btf.members(OPERATIONS) else {
        obstacles.push(Obstacle::NoSchedExt);
        return;
    };
    for (name, count) in FUNCTIONS {
        if let Some(defect) = defect(btf, name, count) {
            obstacles.push(Obstacle::Function { name, defect });
        }
    }
    let is_there = |member: &str| members.iter().any(|found| found == member);
    obstacles
        .extend(MEMBERS.iter().filter(|name| !is_there(name)).map(|name| Obstacle::Member(name)));
    let is_there = |flag: &str| btf.value(flag).is_some();
    obstacles.extend(FLAGS.iter().filter(|name| !is_there(name)).map(|name| Obstacle::Flag(name)));
}

fn defect(btf: &Btf, name: &str, count: usize) -> Option<Defect> {
    let Some(prototype) = btf.function(name) else { return Some(Defect::Missing) };
    let found = prototype.parameters.len();
    match prototype.parameters.last() {
        _ if found == count => None,
        Some(last) if found == count + 1 && last.of == HIDDEN => {
            Some(Defect::Shows(last.name.clone()))
        }
        _ => Some(Defect::Takes(prototype.to_string())),
    }
}

#[cfg(test)]
mod tests;
