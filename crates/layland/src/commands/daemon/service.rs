//! Those who have connected, and what each has asked.

use super::session::{Client, Desk};
use super::talk::{Answer, Ask, LONGEST, Why};
use super::{DaemonArgs, polkit, rules};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::terminal;
use layland_linux::exec::{Door, Peer, Said, Signals, is_ready};
use layland_policy::Registry;
use std::io::ErrorKind;
use std::os::fd::AsFd;

/// The most who are connected at a time, and of them of one user who is not root.
const MOST: usize = 256;
const MOST_OF_ONE: usize = 64;
/// How many lines of one peer are answered before the others are looked at.
const AT_ONCE: usize = 16;

/// Listens until it is asked to end.
pub(super) fn serve(registry: &Registry, args: &DaemonArgs) -> Outcome {
    let signals = Signals::block()
        .and_then(|signals| Ok((signals.bell()?, signals)))
        .map_err(|error| Failure::refused(format!("failed to wait for signals: {error}")))?;
    let mut desk = Desk::new(registry, args)?;
    let door = door(args)?;
    terminal::talk(&format!("layland daemon: {desk}"));
    let (bell, signals) = signals;
    let mut peers: Vec<(Client, Peer)> = Vec::new();
    let mut connections = 0;
    loop {
        let mut waits = vec![bell.as_fd(), door.as_fd()];
        waits.extend(peers.iter().map(|(_, peer)| peer.as_fd()));
        let own = waits.len();
        waits.extend(desk.bell());
        let is_ready = is_ready(&waits, None);
        while let Some(signal) = signals.wait(0) {
            if signal.asks_to_end() {
                desk.end(Why::Closed, &mut |_, _| {});
                return Ok(Exit::Yes);
            }
        }
        if is_ready.get(own) == Some(&true) {
            let mut tell = |client: u64, answer: &Answer| {
                if let Some((_, peer)) = peers.iter_mut().find(|(of, _)| of.connection == client) {
                    peer.say(&answer.line());
                }
            };
            desk.look(&mut tell);
        }
        let mut news = Vec::new();
        let mut told = Vec::new();
        for (place, (client, peer)) in peers.iter_mut().enumerate() {
            if is_ready.get(2 + place) == Some(&true) && !answer(&mut desk, client, peer, &mut told)
            {
                news.push(client.connection);
            }
        }
        // Whoever goes leaves what it had.
        for connection in news {
            peers.retain(|(client, _)| client.connection != connection);
            desk.leave(|held| held.connection == connection, Why::Closed, &mut |_, _| {});
        }
        for (connection, answer) in told {
            if let Some((_, peer)) = peers.iter_mut().find(|(of, _)| of.connection == connection) {
                peer.say(&answer.line());
            }
        }
        while let Some(mut peer) = door.next() {
            let of_one = peers.iter().filter(|(client, _)| client.user == peer.uid).count();
            let is_one_too_many = peer.uid != rules::ROOT && of_one >= MOST_OF_ONE;
            if peers.len() >= MOST || is_one_too_many {
                let failure = Failure::refused("too many programs are connected");
                peer.say(&Answer::refused(failure).line());
                continue;
            }
            connections += 1;
            peers.push((Client { connection: connections, user: peer.uid }, peer));
        }
    }
}

/// The socket that the service manager has given, or one of our own.
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
            ErrorKind::PermissionDenied => failure.help("run it as root, or name another --socket"),
            _ => failure.help("name another --socket"),
        }
    })
}

/// Answers what a peer has said. Whether it is still there.
fn answer(
    desk: &mut Desk<'_>,
    client: &Client,
    peer: &mut Peer,
    told: &mut Vec<(u64, Answer)>,
) -> bool {
    for _ in 0..AT_ONCE {
        let line = match peer.hear(LONGEST) {
            Said::Line(line) => line,
            Said::Nothing => return true,
            Said::Gone => return false,
        };
        let answer = match serde_json::from_str(&line) {
            Ok(Ask::Admit(wanted)) if wanted.thread.is_some() && peer.is_elsewhere() => {
                let message = "the client is in another PID namespace: the number of its thread means another one here";
                let help = "start it outside of the container, and name the program by --pid";
                Answer::refused(Failure::refused(message).help(help))
            }
            Ok(Ask::Admit(wanted)) => {
                let allowed = match client.user == rules::ROOT || !polkit::is_set_up() {
                    true => Ok(()),
                    false => polkit::allows(peer.process.0, peer.started, client.user),
                };
                let answer = allowed.and_then(|()| desk.admit(client, &wanted));
                answer.unwrap_or_else(Answer::refused)
            }
            Ok(Ask::Leave { name }) => {
                let user = client.user;
                let mut tell =
                    |connection, answer: &Answer| told.push((connection, answer.clone()));
                let is_it = |held: &super::session::Held| {
                    held.is_called(&name) && rules::may_end(user, held.user)
                };
                Answer::Left { found: desk.leave(is_it, Why::Asked, &mut tell) }
            }
            Ok(Ask::List) => Answer::List { members: desk.members() },
            Err(error) => Answer::refused(Failure::usage(format!("not understood: {error}"))),
        };
        if !peer.say(&answer.line()) {
            return false;
        }
    }
    true
}
