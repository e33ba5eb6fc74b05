//! `layland daemon`: owns the scheduler of the engine `ext`, and admits threads of programs.
//!
//! ```text
//!   talk.rs       what clients and the daemon say to each other
//!   rules.rs      who may have what: owner, share; needs no kernel
//!   limits.rs     how much one user may have of what all share
//!   turns.rs      whose question is answered next
//!   polkit.rs     asks polkit, where it is set up
//!   guests.rs     those who have connected, and what each has asked
//!   given.rs      threads that somebody has named
//!   service.rs    listens, and has everything looked at in its turn
//!   session.rs    the scheduler with all that is admitted, from the first thread to the last
//! ```
//!
//! The client of the daemon is `layland exec --engine ext` (`exec/client.rs`).

#[cfg(feature = "ext")]
mod given;
#[cfg(feature = "ext")]
mod guests;
#[cfg(feature = "ext")]
mod limits;
#[cfg(feature = "ext")]
mod polkit;
#[cfg(any(feature = "ext", test))]
mod rules;
#[cfg(feature = "ext")]
mod service;
#[cfg(feature = "ext")]
mod session;
pub(crate) mod talk;
#[cfg(feature = "ext")]
mod turns;

use super::exec::SOCKET;
#[cfg(not(feature = "ext"))]
use crate::ui::exit::Failure;
use crate::ui::exit::Outcome;
use clap::Args;
use layland_guarantee::admission::Regime;
use layland_model::{CpuSet, Rate};
use layland_policy::Registry;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  sudo layland daemon
      serves `layland exec --engine ext` at /run/layland/ext.socket, on all CPUs but the first
  sudo layland daemon --on-cpus 2-3 --share 50%
      on CPUs 2 and 3; a user who is not root may have half of them
  systemctl enable --now laylandd.socket
      the same when the first program asks, with the units that come with layland

The scheduler is loaded when the first thread is admitted, and unloaded when the last one has left. Only one sched_ext \
scheduler can be loaded at a time: if there is another one, the daemon names it and refuses the program (exit code 5).

Threads are admitted by the same tests as under the other policies; only its owner or root may hand a thread over. \
With polkit, the action org.layland.exec says who may ask. When a client, a program or the daemon dies, its threads \
get their former scheduling back, and so does a thread whose program gets the rights of another user.

Users are answered in turn. Each may have 64 connections and 64 threads; a part of both, and a fifth of the CPUs, is \
kept for root. A connection without a thread is closed when it has asked nothing for a minute.

The kernel runs ordinary threads before those of sched_ext. Keep them off these CPUs, as with \
systemctl set-property --runtime user.slice AllowedCPUs=0.

Needs root and Linux 7.2: see layland doctor.";

#[derive(Args)]
pub(crate) struct DaemonArgs {
    /// The path of the daemon's socket. A socket of the service manager comes first
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    pub socket: PathBuf,
    /// The CPUs of this machine to use, as in 2-3 or 1,3. By default all but the first
    #[arg(long, value_name = "LIST")]
    pub on_cpus: Option<CpuSet>,
    /// The policy. Every thread is admitted under it: dl-sp, dl, apedf or a2pedf
    #[arg(short, long, value_name = "P", value_parser = regime_of, default_value = "dl-sp")]
    pub policy: Regime,
    /// The share of these CPUs that the threads of one user may use in total. Root is not limited
    #[arg(long, value_name = "PERCENT", value_parser = share_of, default_value = "20%")]
    pub share: Rate,
    /// Write a log to this file, for `layland run --replay`. It is written when the last thread has left
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

fn share_of(text: &str) -> Result<Rate, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let percent: i64 = number.parse().map_err(|_| "write a percentage, as 20%".to_owned())?;
    match percent {
        0..=100 => Ok(Rate::new(percent, 100)),
        _ => Err("a share is 0% to 100%".to_owned()),
    }
}

fn regime_of(policy: &str) -> Result<Regime, String> {
    Regime::of_ext(policy)
        .ok_or_else(|| "the engine ext carries out dl-sp, dl, apedf and a2pedf".to_owned())
}

#[cfg(feature = "ext")]
pub(crate) fn run(registry: &Registry, args: &DaemonArgs) -> Outcome {
    service::serve(registry, args)
}

#[cfg(not(feature = "ext"))]
pub(crate) fn run(_registry: &Registry, _args: &DaemonArgs) -> Outcome {
    Err(Failure::refused("this layland was built without the engine ext")
        .help("build it with libelf and zlib: cargo install layland --features ext"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage() {
        assert_eq!(share_of("20%"), Ok(Rate::new(1, 5)));
        assert_eq!(share_of("100"), Ok(Rate::new(1, 1)));
        assert!(share_of("101%").is_err() && share_of("-1%").is_err() && share_of("x").is_err());
        assert_eq!(regime_of("apedf"), Ok(Regime::Apedf));
        assert!(regime_of("p-edf").is_err() && regime_of("x").is_err());
    }
}
