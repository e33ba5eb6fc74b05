//! The connected clients and their questions. This module needs no kernel with sched_ext: an
//! [`Office`] answers.
//!
//! One question is answered at a time, in the order of the [turns](super::turns). The kernel
//! buffers what a flooding client sends.

use super::limits::{CONNECTIONS, IDLE_NS, LONGEST, OF_POLKIT};
use super::polkit::{Asked, Polkit};
use super::rules;
use super::talk::{Answer, Ask, Wanted};
use super::turns::Turns;
use crate::ui::exit::Failure;
use layland_linux::Member;
use layland_linux::exec::{Peer, Said};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};

/// The client that asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// The number of the connection.
    pub(super) connection: u64,
    pub(super) user: u32,
}

/// Unsolicited messages, each with the connection that receives it.
pub(super) type Told = Vec<(u64, Answer)>;

/// Answers the questions of clients.
pub(super) trait Office {
    /// Admits a thread; without a thread, checks whether one would be admitted.
    fn admit(&mut self, client: &Client, wanted: &Wanted) -> Result<Answer, Failure>;
    /// Gives back the reservations with this name at the request of a user. Returns true if there
    /// were any.
    fn leave_called(&mut self, user: u32, name: &str, told: &mut Told) -> bool;
    /// Gives back the reservations of a connection that has ended.
    fn part(&mut self, connection: u64);
    /// Returns the admitted programs.
    fn members(&self) -> Vec<Member>;
    /// Returns true if a connection has a thread.
    fn has_thread(&self, connection: u64) -> bool;
}

/// The state of a connection's question.
enum Asks {
    /// No question is pending; received bytes may contain one.
    Nothing,
    /// The question waits until polkit can be asked.
    Waits(Wanted),
    /// Polkit is deciding.
    Considered(Wanted, Asked),
    /// Polkit has decided.
    Judged(Wanted, Result<(), Failure>),
}

struct Guest {
    user: u32,
    peer: Peer,
    /// The time of the last question, or of the connection.
    at_ns: i64,
    asks: Asks,
}

impl Guest {
    fn is_idle(&self) -> bool {
        matches!(self.asks, Asks::Nothing) && !self.peer.has_spoken(LONGEST)
    }
}

/// The connected clients. See the documentation of this module.
pub(super) struct Guests {
    polkit: Option<Polkit>,
    /// The clients by connection number. The numbers increase.
    guests: BTreeMap<u64, Guest>,
    last: u64,
    turns: Turns,
}

impl Guests {
    pub(super) fn new(polkit: Option<Polkit>) -> Guests {
        Guests { polkit, guests: BTreeMap::new(), last: 0, turns: Turns::default() }
    }

    /// Returns the connections that have sent no question yet, on which to wait for input.
    pub(super) fn quiet(&self) -> Vec<(u64, BorrowedFd<'_>)> {
        let quiet = self.guests.iter().filter(|(_, guest)| !guest.peer.has_spoken(LONGEST));
        quiet.map(|(&connection, guest)| (connection, guest.peer.as_fd())).collect()
    }

    /// Returns the longest time to wait until this module has something to do.
    pub(super) fn patience_ms(&self, now_ns: i64) -> Option<u32> {
        if self.asking().next().is_some() {
            return Some(0);
        }
        let until = |guest: &Guest| match &guest.asks {
            // The exit of polkit's process also wakes the loop, by a signal.
            Asks::Considered(_, asked) => asked.until_ns(),
            Asks::Nothing | Asks::Waits(_) | Asks::Judged(..) => guest.at_ns + IDLE_NS,
        };
        // A connection that is open beyond its idle limit has a thread, and may stay silent for
        // ever.
        let first = self.guests.values().map(until).filter(|&until| until > now_ns).min()?;
        // Round up, so that the limit has passed when the wait ends.
        Some(u32::try_from((first - now_ns) / 1_000_000).unwrap_or(u32::MAX - 1) + 1)
    }

    /// Returns the connections with a question that can be processed now.
    fn asking(&self) -> impl Iterator<Item = (u32, u64)> + Clone + '_ {
        let is_asking = |guest: &Guest| match &guest.asks {
            Asks::Nothing => guest.peer.has_spoken(LONGEST),
            Asks::Waits(_) => self.may_ask_polkit(guest.user),
            Asks::Considered(..) => false,
            Asks::Judged(..) => true,
        };
        let asking = self.guests.iter().filter(move |(_, guest)| is_asking(guest));
        asking.map(|(&connection, guest)| (guest.user, connection))
    }

    fn may_ask_polkit(&self, user: u32) -> bool {
        let considered =
            self.guests.values().filter(|guest| matches!(guest.asks, Asks::Considered(..)));
        OF_POLKIT.has_room(user, considered.map(|guest| guest.user))
    }

    /// Accepts a connection. If there is no room, the user with the most connections loses the one
    /// that has been idle for longest, so that unused connections do not keep others out.
    pub(super) fn welcome(&mut self, office: &mut impl Office, mut peer: Peer, now_ns: i64) {
        let user = peer.uid;
        let users = || self.guests.values().map(|guest| guest.user);
        if !CONNECTIONS.has_room(user, users()) {
            let full = || Answer::refused(Failure::refused("too many programs are connected"));
            let count = |of: u32| users().filter(|&user| user == of).count();
            let is_one_too_many = user != rules::ROOT && count(user) >= CONNECTIONS.of_one;
            let most = users().map(count).max().unwrap_or(0);
            let idle = self.guests.iter().filter(|&(&connection, guest)| {
                count(guest.user) == most && guest.is_idle() && !office.has_thread(connection)
            });
            let idlest =
                idle.min_by_key(|(_, guest)| guest.at_ns).map(|(&connection, _)| connection);
            match idlest.filter(|_| !is_one_too_many && most > count(user)) {
                Some(connection) => {
                    self.say(connection, &full());
                    self.part(office, connection);
                }
                None => {
                    peer.say(&full().line());
                    return;
                }
            }
        }
        self.last += 1;
        let guest = Guest { user, peer, at_ns: now_ns, asks: Asks::Nothing };
        self.guests.insert(self.last, guest);
    }

    /// Receives the input of these connections.
    pub(super) fn listen(&mut self, connections: &[u64]) {
        for connection in connections {
            if let Some(guest) = self.guests.get_mut(connection) {
                guest.peer.listen(LONGEST);
            }
        }
    }

    /// Checks for answers of polkit, and for connections that have been idle for too long.
    pub(super) fn look(&mut self, office: &mut impl Office, now_ns: i64) {
        let mut idle = Vec::new();
        for (&connection, guest) in &mut self.guests {
            guest.asks = match std::mem::replace(&mut guest.asks, Asks::Nothing) {
                Asks::Considered(wanted, mut asked) => match asked.answer(now_ns) {
                    Some(answer) => Asks::Judged(wanted, answer),
                    None => Asks::Considered(wanted, asked),
                },
                other => other,
            };
            let is_old = now_ns - guest.at_ns > IDLE_NS;
            if is_old && guest.is_idle() && !office.has_thread(connection) {
                idle.push(connection);
            }
        }
        idle.into_iter().for_each(|connection| self.part(office, connection));
    }

    /// Answers one question, if there is one.
    pub(super) fn answer(&mut self, office: &mut impl Office, now_ns: i64, told: &mut Told) {
        let asking: Vec<(u32, u64)> = self.asking().collect();
        let Some(connection) = self.turns.next(asking.into_iter()) else { return };
        let Some(guest) = self.guests.get_mut(&connection) else { return };
        let client = Client { connection, user: guest.user };
        let answer = match std::mem::replace(&mut guest.asks, Asks::Nothing) {
            Asks::Nothing => match guest.peer.line(LONGEST) {
                Said::Line(line) => {
                    guest.at_ns = now_ns;
                    self.hear(office, &client, &line, now_ns, told)
                }
                Said::Nothing => None,
                Said::Gone => {
                    self.part(office, connection);
                    None
                }
            },
            Asks::Waits(wanted) => self.ask_polkit(&client, wanted, now_ns),
            Asks::Judged(wanted, allowed) => {
                let answer = allowed.and_then(|()| office.admit(&client, &wanted));
                Some(answer.unwrap_or_else(Answer::refused))
            }
            considered @ Asks::Considered(..) => {
                guest.asks = considered;
                None
            }
        };
        if let Some(answer) = answer {
            self.tell(office, vec![(connection, answer)]);
        }
    }

    /// Handles a line. Returns its answer, unless polkit is asked first.
    fn hear(
        &mut self,
        office: &mut impl Office,
        client: &Client,
        line: &str,
        now_ns: i64,
        told: &mut Told,
    ) -> Option<Answer> {
        let is_elsewhere = || {
            let guest = self.guests.get(&client.connection);
            guest.is_none_or(|guest| guest.peer.is_elsewhere())
        };
        Some(match serde_json::from_str(line) {
            Ok(Ask::Admit(wanted)) if wanted.thread.is_some() && is_elsewhere() => {
                let message = "the client is in another PID namespace: the number of its thread means another one here";
                let help = "start it outside of the container, and name the program by --pid";
                Answer::refused(Failure::refused(message).help(help))
            }
            Ok(Ask::Admit(wanted)) if client.user != rules::ROOT && self.polkit.is_some() => {
                return self.ask_polkit(client, wanted, now_ns);
            }
            Ok(Ask::Admit(wanted)) => office.admit(client, &wanted).unwrap_or_else(Answer::refused),
            Ok(Ask::Leave { name }) => {
                Answer::Left { found: office.leave_called(client.user, &name, told) }
            }
            Ok(Ask::List) => Answer::List { members: office.members() },
            Err(error) => Answer::refused(Failure::usage(format!("not understood: {error}"))),
        })
    }

    fn ask_polkit(&mut self, client: &Client, wanted: Wanted, now_ns: i64) -> Option<Answer> {
        let has_room = self.may_ask_polkit(client.user);
        let polkit = self.polkit.as_ref()?;
        let guest = self.guests.get_mut(&client.connection)?;
        if !has_room {
            guest.asks = Asks::Waits(wanted);
            return None;
        }
        match polkit.ask((guest.peer.process.0, guest.peer.started), client.user, now_ns) {
            Ok(asked) => {
                guest.asks = Asks::Considered(wanted, asked);
                None
            }
            Err(failure) => Some(Answer::refused(failure)),
        }
    }

    /// Sends an answer to a connection, if it is open. Returns false if sending failed.
    fn say(&mut self, connection: u64, answer: &Answer) -> bool {
        self.guests.get_mut(&connection).is_none_or(|guest| guest.peer.say(&answer.line()))
    }

    /// Sends messages to connections. A connection that does not accept its message is closed.
    pub(super) fn tell(&mut self, office: &mut impl Office, told: Told) {
        for (connection, answer) in told {
            if !self.say(connection, &answer) {
                self.part(office, connection);
            }
        }
    }

    /// Closes a connection.
    fn part(&mut self, office: &mut impl Office, connection: u64) {
        let Some(Guest { user, .. }) = self.guests.remove(&connection) else { return };
        if self.guests.values().all(|guest| guest.user != user) {
            self.turns.forget(user);
        }
        office.part(connection);
    }
}

#[cfg(test)]
mod tests;
