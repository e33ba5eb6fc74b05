//! What runs left behind that were killed together with their guardian: found, and taken back.

use super::changes::Changes;
use super::register::{self, Register};
use super::undo;
use crate::deadline;
use crate::kernel::tracefs;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Something that a run has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A cpuset or an instance of tracefs.
    Folder(PathBuf),
    /// A setting of the machine, and what it was before.
    Setting {
        /// The file of the kernel.
        path: PathBuf,
        /// What it says.
        now: String,
        /// What it said; `None` for a folder that was not there.
        before: Option<String>,
        /// Where the register says so.
        file: PathBuf,
    },
    /// An entry in the register, and nothing besides.
    Entry {
        /// The file.
        file: PathBuf,
        /// What the run did, for people.
        run: String,
    },
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
        }
    }
}

impl Leftover {
    /// What was done when it was taken back.
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
        }
    }

    /// What to look at.
    pub fn path(&self) -> &Path {
        match self {
            Leftover::Folder(path) | Leftover::Setting { path, .. } => path,
            Leftover::Entry { file, .. } => file,
        }
    }
}

/// What is left, in the order in which it can be taken back: domains before their root balances again.
pub fn left_behind(register: &Register) -> Vec<Leftover> {
    // A run that is just entering has files that it has not locked yet. Without the hold, what is found may be
    // that; `heal` looks again.
    let _hold = register.hold();
    let folders = deadline::left(register).0.into_iter().chain(tracefs::left(register).0);
    let mut left: Vec<Leftover> = folders.map(Leftover::Folder).collect();
    for register::Left { file, target, before } in register.left_settings() {
        let now = fs::read_to_string(&target).unwrap_or_default().trim().to_owned();
        if before.is_none() && !target.exists() {
            continue;
        }
        left.push(Leftover::Setting { path: target, now, before, file });
    }
    let dead = register.dead().into_iter();
    left.extend(dead.map(|(file, run)| Leftover::Entry { file, run: run.to_string() }));
    left
}

/// Folders of runs of which cannot be known whether they are alive: they have another register, and are in
/// another PID namespace.
pub fn of_unknown_runs(register: &Register) -> Vec<PathBuf> {
    let mut unknown = deadline::left(register).1;
    unknown.extend(tracefs::left(register).1);
    unknown
}

/// Takes one thing back, if no run uses it by now.
///
/// # Errors
/// If the kernel refuses.
pub fn heal(register: &Register, leftover: &Leftover) -> io::Result<()> {
    match leftover {
        Leftover::Folder(path) => undo::remove(path),
        Leftover::Setting { file, .. } => {
            let (path, lock) = (register::c_path(file)?, register.lock()?);
            undo::patiently(|| undo::release(&path, None, &undo::hold(&lock)?)).map(|_| ())
        }
        Leftover::Entry { file, .. } => {
            let _hold = register.hold()?;
            register.forget(file)
        }
    }
}

/// Enters this process as one that looks at the machine, and changes nothing for long.
pub(super) fn as_doctor() -> Result<Changes, super::changes::ChangeError> {
    Changes::begin("layland doctor", layland_model::Duration::from_secs(600))
}
