//! The leftovers of runs that were killed together with their guardian: finding and reverting them.

use super::changes::Changes;
use super::cpuset;
use super::register::{self, Register};
use super::{ended, undo};
use crate::kernel::tracefs;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A leftover of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A cpuset or an instance of tracefs.
    Folder(PathBuf),
    /// A setting of the machine, and its value before the run.
    Setting {
        /// The file of the kernel.
        path: PathBuf,
        /// Its present value.
        now: String,
        /// Its former value; `None` for a folder that did not exist.
        before: Option<String>,
        /// The file of the register that describes it.
        file: PathBuf,
    },
    /// An entry in the register, without any other leftover.
    Entry {
        /// The file.
        file: PathBuf,
        /// A description of the run, for users.
        run: String,
    },
    /// Reservations of a program, which its threads may still have.
    Member {
        /// Its id in the register.
        id: String,
        /// A description of the program, for users.
        member: String,
        /// The number of its threads that have not been restored.
        threads: usize,
        /// The file.
        file: PathBuf,
    },
    /// A file about reservations without an owner.
    Orphan(PathBuf),
}

impl std::fmt::Display for Leftover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Leftover::Folder(path) => write!(f, "{}", path.display()),
            Leftover::Setting { path, now, before: Some(before), .. } if now == before => {
                write!(f, "{} is {now} again", path.display())
            }
            Leftover::Setting { path, now, before: Some(before), .. } => {
                write!(f, "{} is {now} and was {before}", path.display())
            }
            Leftover::Setting { path, before: None, .. } => write!(f, "{}", path.display()),
            Leftover::Entry { run, .. } => write!(f, "the entry of {run}, which has died"),
            Leftover::Member { member, threads, .. } => {
                let threads = layland_model::counted(*threads, "thread");
                write!(f, "the reservations of {member}, which no process looks after ({threads})")
            }
            Leftover::Orphan(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Leftover {
    /// Returns a message about the leftover after it was reverted.
    pub fn healed(&self) -> String {
        match self {
            Leftover::Folder(path) | Leftover::Setting { path, before: None, .. } => {
                format!("removed {}", path.display())
            }
            Leftover::Setting { path, before: Some(before), now, .. } if now == before => {
                format!("{} was {now} already", path.display())
            }
            Leftover::Setting { path, before: Some(before), now, .. } => {
                format!("restored {} from {now} to {before}", path.display())
            }
            Leftover::Entry { run, .. } => format!("removed the entry of {run}"),
            Leftover::Member { member, .. } => format!("took back the reservations of {member}"),
            Leftover::Orphan(path) => format!("removed {}", path.display()),
        }
    }

    /// Returns the path to examine.
    pub fn path(&self) -> &Path {
        match self {
            Leftover::Folder(path) | Leftover::Setting { path, .. } | Leftover::Orphan(path) => {
                path
            }
            Leftover::Entry { file, .. } | Leftover::Member { file, .. } => file,
        }
    }
}

/// Returns the leftovers in the order in which they can be reverted: domains before their root
/// balances again.
pub fn left_behind(register: &Register) -> Vec<Leftover> {
    // A run that is just entering has files that it has not locked yet. If the lock of the register
    // is not available, such files may be among the results; `heal` checks again.
    let _hold = register.hold();
    // Threads come first, because they are in the cpusets.
    let dead = register.dead_members().into_iter();
    let mut left: Vec<Leftover> = dead
        .map(|(id, member)| Leftover::Member {
            member: member.to_string(),
            threads: register.threads_of(&id),
            file: register.folder().join(format!("admitted-{id}")),
            id,
        })
        .collect();
    left.extend(register.orphans().into_iter().map(Leftover::Orphan));
    let folders = cpuset::left(register).0.into_iter().chain(tracefs::left(register).0);
    left.extend(folders.map(Leftover::Folder));
    for register::OrphanedSetting { file, target, before } in register.left_settings() {
        let now = fs::read_to_string(&target).unwrap_or_default().trim().to_owned();
        // If a run was killed just before it created a folder, or its guardian just after removing
        // it, only the file of the register is left.
        let is_note_alone = before.is_none() && !target.exists();
        let path = if is_note_alone { file.clone() } else { target };
        left.push(Leftover::Setting { path, now, before, file });
    }
    let dead = register.dead().into_iter();
    left.extend(dead.map(|(file, run)| Leftover::Entry { file, run: run.to_string() }));
    left
}

/// Returns folders of runs that may or may not be alive: they have another register, and are in
/// another PID namespace.
pub fn of_unknown_runs(register: &Register) -> Vec<PathBuf> {
    let mut unknown = cpuset::left(register).1;
    unknown.extend(tracefs::left(register).1);
    unknown
}

/// Reverts one leftover, unless a run uses it by now.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub fn heal(register: &Register, leftover: &Leftover) -> io::Result<()> {
    match leftover {
        Leftover::Folder(path) => {
            ended::wait(&register.lock()?);
            undo::remove(path)
        }
        Leftover::Setting { file, .. } => {
            let (path, lock) = (register::c_path(file)?, register.lock()?);
            ended::wait(&lock);
            undo::patiently(|| undo::release(&path, None, &undo::hold(&lock)?)).map(|_| ())
        }
        Leftover::Entry { file, .. } => {
            let _hold = register.hold()?;
            register.forget(file)
        }
        Leftover::Member { id, .. } => register.bury(id),
        Leftover::Orphan(path) => register.bury_orphan(path),
    }
}

/// Enters this process as a short-lived user of the machine.
pub(super) fn as_doctor() -> Result<Changes, super::changes::ChangeError> {
    Changes::begin("layland doctor", layland_model::Duration::from_secs(600))
}
