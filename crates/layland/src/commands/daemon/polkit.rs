//! Asks polkit whether a process may have threads admitted: the action `org.layland.exec`, where that is installed.
//!
//! Nobody is asked for a password: whoever is not allowed outright is refused. Others are served while polkit thinks.

use super::limits::PATIENCE_NS;
use crate::ui::exit::Failure;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ACTION: &str = "org.layland.exec";
const INSTALLED: &str = "/usr/share/polkit-1/actions/org.layland.exec.policy";
const PROGRAM: &str = "/usr/bin/pkcheck";

/// Where to ask.
pub(super) struct Polkit {
    program: PathBuf,
}

/// It was asked, and thinks.
pub(super) struct Asked {
    child: Child,
    user: u32,
    until_ns: i64,
}

fn refused(user: u32, why: &str) -> Failure {
    Failure::refused(format!("polkit does not allow {ACTION} to user {user}{why}"))
        .help("pkaction --verbose --action-id org.layland.exec says who may")
}

impl Polkit {
    /// If it is there and knows the action.
    pub(super) fn find() -> Option<Polkit> {
        let is_there = Path::new(PROGRAM).exists() && Path::new(INSTALLED).exists();
        is_there.then(|| Polkit { program: PROGRAM.into() })
    }

    /// Another program, which is asked in the same way.
    #[cfg(test)]
    pub(super) fn at(program: &Path) -> Polkit {
        Polkit { program: program.to_owned() }
    }

    /// Asks whether a process, which started then and is this user's, may.
    pub(super) fn ask(
        &self,
        (process, started): (i32, u64),
        user: u32,
        now_ns: i64,
    ) -> Result<Asked, Failure> {
        if started == 0 {
            return Err(refused(user, ": the program that has connected has gone"));
        }
        let asked = Command::new(&self.program)
            .args(["--action-id", ACTION, "--process", &format!("{process},{started},{user}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = asked
            .map_err(|error| refused(user, &format!(": {}: {error}", self.program.display())))?;
        Ok(Asked { child, user, until_ns: now_ns + PATIENCE_NS })
    }
}

impl Asked {
    /// When it has taken too long.
    pub(super) fn until_ns(&self) -> i64 {
        self.until_ns
    }

    /// What it says, once it does, or takes too long.
    pub(super) fn answer(&mut self, now_ns: i64) -> Option<Result<(), Failure>> {
        match self.child.try_wait() {
            Ok(Some(status)) if status.success() => Some(Ok(())),
            Ok(Some(_)) => Some(Err(refused(self.user, ""))),
            Ok(None) if now_ns < self.until_ns => None,
            Ok(None) => Some(Err(refused(self.user, ": it does not answer"))),
            Err(error) => Some(Err(refused(self.user, &format!(": {error}")))),
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // Nothing happens to one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
