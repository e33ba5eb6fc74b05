//! The messages between clients and the daemon. Each is one line of JSON.
//!
//! The reservations of a client are given back when its connection ends, for whatever reason.

#[cfg(feature = "ext")]
use crate::ui::exit::Message;
use crate::ui::exit::{Exit, Failure};
use layland_linux::Member;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The length of the longest line.
#[cfg(feature = "ext")]
pub(crate) const LONGEST: usize = 4096;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Ask {
    /// Admit a thread; without a thread, check whether it would be admitted.
    Admit(Wanted),
    /// Give back the reservations with this name.
    Leave {
        /// The name.
        name: String,
    },
    /// List the admitted programs.
    List,
}

/// A requested reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// The requested name. If it is taken, the daemon derives another name.
    pub name: String,
    /// The thread, in the daemon's PID namespace.
    pub thread: Option<i32>,
    /// The processor time in each period, in nanoseconds.
    pub runtime_ns: i64,
    /// The relative deadline.
    pub deadline_ns: i64,
    /// The period.
    pub period_ns: i64,
    /// The largest tardiness, if the thread may be late.
    pub tardiness_ns: Option<i64>,
    /// The CPUs of the machine that the thread may use, such as `1-2`.
    pub cpus: Option<String>,
    /// The policy.
    pub policy: String,
}

/// The reason why a client has lost a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Why {
    /// A user has asked to give it back.
    Asked,
    /// The thread has ended, or was given another scheduling class.
    Ended,
    /// The program of the thread has gained other rights.
    Rights,
    /// The scheduler has ended.
    Unscheduled,
    /// The client has disconnected, or the daemon ends: there is no recipient.
    Closed,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Asked => "it was asked to leave",
            Why::Ended => "it has ended or left its class",
            Why::Rights => "its program has got the rights of another",
            Why::Unscheduled => "the scheduler has ended, and its threads are ordinary ones",
            Why::Closed => "the connection has ended",
        })
    }
}

/// A message of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(crate) enum Answer {
    /// The thread was admitted, or would be.
    Admitted {
        /// The name of the reservation.
        name: String,
        /// The CPUs of the machine that the thread may use.
        cpus: String,
        /// The deciding test.
        decided_by: Option<String>,
    },
    /// The thread was not admitted.
    Refused {
        /// The exit code that classifies the failure.
        exit: u8,
        /// The reason.
        message: String,
        /// Advice on how to proceed.
        help: Option<String>,
    },
    /// The reservations with the name were given back, if there were any.
    Left {
        /// True if there was a reservation with the name.
        found: bool,
    },
    /// Sent without a request: the client has lost a reservation, although its thread may go on.
    Gone {
        /// The name of the reservation.
        name: String,
        /// The reason.
        why: Why,
    },
    /// The admitted programs.
    List {
        /// The members as the register lists them.
        members: Vec<Member>,
    },
}

#[cfg(feature = "ext")]
impl Answer {
    /// Converts a failure into an answer for the client that asked.
    pub(crate) fn refused(failure: Failure) -> Answer {
        let (message, help) = match failure.message {
            Message::Plain(message, help) => (message, help),
            Message::Drawn(message) => (message, None),
        };
        Answer::Refused { exit: failure.exit.code(), message, help }
    }

    /// Returns the answer as a line.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns the client's failure for a refusal.
pub(crate) fn failure(exit: u8, message: String, help: Option<String>) -> Failure {
    let failure = match exit {
        code if code == Exit::No.code() => Failure::no(message),
        code if code == Exit::Usage.code() => Failure::usage(message),
        code if code == Exit::BadInput.code() => Failure::input(message),
        _ => Failure::refused(message),
    };
    match help {
        Some(help) => failure.help(help),
        None => failure,
    }
}
