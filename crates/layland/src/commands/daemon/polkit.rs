//! Asks polkit whether a process may have threads admitted: the action `org.layland.exec`, where that is installed.
//!
//! Nobody is asked for a password: whoever is not allowed outright is refused.

use crate::ui::exit::Failure;
use layland_linux::exec::is_ready;
use std::path::Path;
use std::process::{Command, Stdio};

const ACTION: &str = "org.layland.exec";
const INSTALLED: &str = "/usr/share/polkit-1/actions/org.layland.exec.policy";
const PROGRAM: &str = "/usr/bin/pkcheck";
/// How often it is looked whether there is an answer, and for how long.
const LOOK_MS: u32 = 20;
const LOOKS: u32 = 250;

/// Whether polkit is there and knows the action.
pub(super) fn is_set_up() -> bool {
    Path::new(PROGRAM).exists() && Path::new(INSTALLED).exists()
}

/// Whether a process, which started then and is this user's, may.
pub(super) fn allows(process: i32, started: u64, user: u32) -> Result<(), Failure> {
    let refused = |why: String| {
        Failure::refused(format!("polkit does not allow {ACTION} to user {user}{why}"))
            .help("pkaction --verbose --action-id org.layland.exec says who may")
    };
    let asked = Command::new(PROGRAM)
        .args(["--action-id", ACTION, "--process", &format!("{process},{started},{user}")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut asked = asked.map_err(|error| refused(format!(": {PROGRAM}: {error}")))?;
    for _ in 0..LOOKS {
        match asked.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => return Err(refused(String::new())),
            Ok(None) => drop(is_ready(&[], Some(LOOK_MS))),
            Err(error) => return Err(refused(format!(": {error}"))),
        }
    }
    let _ = asked.kill();
    let _ = asked.wait();
    Err(refused(": it does not answer".to_owned()))
}
