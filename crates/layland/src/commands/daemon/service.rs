//! The main loop of the daemon: waits for events, and handles each kind in turn.

use super::DaemonArgs;
use super::guests::{Guests, Told};
use super::polkit::Polkit;
use super::session::Desk;
use super::talk::Why;
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::terminal;
use layland_linux::exec::{Door, Signals, is_ready, keep_what_a_scheduler_needs, monotonic_ns};
use layland_policy::Registry;
use std::io::ErrorKind;
use std::os::fd::AsFd;

/// The interval, in milliseconds, of the checks that no program has other rights than when its
/// thread was admitted.
const RIGHTS_MS: u32 = 500;
/// The largest number of connections that are accepted before the next question is answered.
const AT_ONCE: usize = 64;

/// Serves clients until a signal asks the daemon to end. All other work is done between two
/// questions.
pub(super) fn serve(registry: &Registry, args: &DaemonArgs) -> Outcome {
    let signals = Signals::block()
        .and_then(|signals| Ok((signals.bell()?, signals)))
        .map_err(|error| Failure::refused(format!("failed to wait for signals: {error}")))?;
    let mut desk = Desk::new(registry, args)?;
    let door = door(args)?;
    keep_what_a_scheduler_needs()
        .map_err(|error| Failure::refused(format!("failed to give up capabilities: {error}")))?;
    terminal::talk(&format!("layland daemon: {desk}"));
    let (bell, signals) = signals;
    let mut guests = Guests::new(Polkit::find());
    let mut looked_ns = monotonic_ns();
    loop {
        let mut waits = vec![bell.as_fd(), door.as_fd()];
        let quiet = guests.quiet();
        waits.extend(quiet.iter().map(|(_, peer)| *peer));
        let own = waits.len();
        waits.extend(desk.bell());
        let rights_ms = (desk.bell().is_some()).then_some(RIGHTS_MS);
        let patience = [guests.patience_ms(monotonic_ns()), rights_ms].into_iter().flatten().min();
        let is_ready = is_ready(&waits, patience);
        let spoke: Vec<u64> = (quiet.iter().zip(&is_ready[2..]))
            .filter(|(_, is_ready)| **is_ready)
            .map(|((connection, _), _)| *connection)
            .collect();
        while let Some(signal) = signals.wait(0) {
            if signal.asks_to_end() {
                desk.end(Why::Closed, &mut |_, _| {});
                return Ok(Exit::Yes);
            }
        }
        let now = monotonic_ns();
        let mut told = Told::new();
        if is_ready.get(own) == Some(&true) {
            desk.look(&mut |connection, answer| told.push((connection, answer.clone())));
        }
        if now - looked_ns >= i64::from(RIGHTS_MS) * 1_000_000 {
            looked_ns = now;
            desk.look_at_rights(&mut |connection, answer| told.push((connection, answer.clone())));
        }
        for peer in std::iter::from_fn(|| door.next()).take(AT_ONCE) {
            guests.welcome(&mut desk, peer, now);
        }
        guests.listen(&spoke);
        guests.look(&mut desk, now);
        guests.answer(&mut desk, now, &mut told);
        guests.tell(&mut desk, told);
    }
}

/// Returns the socket that the service manager has passed, or opens a new one.
fn door(args: &DaemonArgs) -> Result<Door, Failure> {
    let read =
        |name: &str| std::env::var_os(name).unwrap_or_default().into_string().unwrap_or_default();
    let inherited = Door::inherited(&read("LISTEN_PID"), &read("LISTEN_FDS"));
    if let Some(door) = inherited.map_err(|error| {
        Failure::refused(format!("the service manager has given no socket: {error}"))
    })? {
        return Ok(door);
    }
    let path = &args.socket;
    Door::open(path).map_err(|error| {
        let failure = Failure::refused(format!("failed to listen at {}: {error}", path.display()));
        match error.kind() {
            ErrorKind::AddrInUse => failure.help("another daemon serves there"),
            ErrorKind::AlreadyExists => {
                failure.help("there is something else, which is left alone: name another --socket")
            }
            ErrorKind::PermissionDenied => failure.help("run it as root, or name another --socket"),
            _ => failure.help("name another --socket"),
        }
    })
}
