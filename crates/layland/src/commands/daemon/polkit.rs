//! Asks polkit whether a process may have threads admitted: the action `org.layland.exec`, where
//! that is installed.
//!
//! There is no password prompt: a user who is not authorized outright is refused. Other clients are
//! served while polkit decides.

use super::limits::PATIENCE_NS;
use crate::ui::exit::Failure;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ACTION: &str = "org.layland.exec";
const INSTALLED: &str = "/usr/share/polkit-1/actions/org.layland.exec.policy";
const PROGRAM: &str = "/usr/bin/pkcheck";

/// The program that asks polkit.
pub(super) struct Polkit {
    program: PathBuf,
}

/// A question that polkit is considering.
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
    /// Finds polkit, if it is installed and knows the action.
    pub(super) fn find() -> Option<Polkit> {
        let is_there = Path::new(PROGRAM).exists() && Path::new(INSTALLED).exists();
        is_there.then(|| Polkit { program: PROGRAM.into() })
    }

    /// Uses another program, which is called in the same way.
    #[cfg(test)]
    pub(super) fn at(program: &Path) -> Polkit {
        Polkit { program: program.to_owned() }
    }

    /// Asks about a process, given its start time and its user.
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
    /// The time at which the question times out.
    pub(super) fn until_ns(&self) -> i64 {
        self.until_ns
    }

    /// Returns the answer once polkit has decided or the question has timed out.
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
        // Killing a process that has ended has no effect.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
