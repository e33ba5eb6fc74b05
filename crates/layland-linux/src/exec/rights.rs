//! The rights of a thread, and the rights that this process keeps for itself.

use super::processes::{Owner, field};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};
use std::{fs, io};

/// The users, groups and capabilities of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Its users.
    pub owner: Owner,
    groups: Vec<u32>,
    permitted: u64,
}

impl Rights {
    /// Reads the rights of a thread; `None` if there is no such thread.
    pub fn of(thread: i32) -> Option<Rights> {
        Rights::read(&fs::read_to_string(format!("/proc/{thread}/status")).ok()?)
    }

    fn read(status: &str) -> Option<Rights> {
        let line = status.lines().find_map(|line| line.strip_prefix("CapPrm:"))?;
        Some(Rights {
            owner: Owner::read(status)?,
            groups: field(status, "Gid:")?,
            permitted: u64::from_str_radix(line.trim(), 16).ok()?,
        })
    }

    /// Returns true if these rights include one that `others` do not. An example is a program that
    /// has executed a file that grants a user, a group or capabilities.
    pub fn exceed(&self, others: &Rights) -> bool {
        self.owner != others.owner
            || self.groups.iter().any(|group| !others.groups.contains(group))
            || self.permitted & !others.permitted != 0
    }
}

/// The capabilities that the owner of a scheduler keeps: classes and CPUs of threads
/// (`CAP_SYS_NICE`), locked memory (`CAP_IPC_LOCK`), the mechanism in BPF (`CAP_BPF`,
/// `CAP_PERFMON`), the PID namespace of another user's process (`CAP_SYS_PTRACE`), and the
/// registers of other users (`CAP_DAC_READ_SEARCH`).
const KEPT: CapabilitySet = CapabilitySet::SYS_NICE
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::DAC_READ_SEARCH);

/// Permanently drops the capabilities that the owner of a scheduler does not need, in this thread
/// and in all that it starts. The process must have no other thread.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub fn keep_what_a_scheduler_needs() -> io::Result<()> {
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if !KEPT.contains(one) {
            // This fails for a capability that is unknown or may not be dropped, which cannot be
            // gained either.
            let _ = remove_capability_from_bounding_set(one);
        }
    }
    let _ = clear_ambient_capability_set();
    let has = capabilities(None)?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: has.effective & KEPT,
            permitted: has.permitted & KEPT,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    // Safety: the call takes only numbers.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(users: &str, groups: &str, permitted: &str) -> Rights {
        let status = format!("Name:\tx\nUid:\t{users}\nGid:\t{groups}\nCapPrm:\t{permitted}\n");
        Rights::read(&status).expect("it is whole")
    }

    #[test]
    fn whoever_may_more_exceeds() {
        let before = rights("1000 1000 1000 1000", "1000 1000 1000 1000", "0000000000000000");
        assert!(!before.exceed(&before));
        let more = [
            rights("1000 0 0 0", "1000 1000 1000 1000", "000001ffffffffff"),
            rights("1000 1000 0 1000", "1000 1000 1000 1000", "0"),
            rights("1000 1000 1000 1000", "1000 42 42 42", "0"),
            rights("1000 1000 1000 1000", "1000 1000 1000 1000", "0000000000800000"),
            rights("1001 1001 1001 1001", "1000 1000 1000 1000", "0"),
        ];
        for after in more {
            assert!(after.exceed(&before), "{after:?}");
        }
        let root = rights("0 0 0 0", "0 0 0 0", "000001ffffffffff");
        assert!(!rights("0 0 0 0", "0 0 0 0", "0000000000800000").exceed(&root));
    }

    #[test]
    fn this_thread_has_rights() {
        let own = Rights::of(std::process::id() as i32).expect("it is there");
        assert_eq!(own.owner.effective, rustix::process::geteuid().as_raw());
    }
}
