//! What clients and the daemon say to each other: a line of JSON each.
//!
//! What a client has admitted is given back when its connection ends, however it ends.

#[cfg(feature = "ext")]
use crate::ui::exit::Message;
use crate::ui::exit::{Exit, Failure};
use layland_linux::Member;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest line.
#[cfg(feature = "ext")]
pub(crate) const LONGEST: usize = 4096;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Ask {
    /// Time for a thread; without one, whether there would be room.
    Admit(Wanted),
    /// That what has this name is given back.
    Leave {
        /// The name.
        name: String,
    },
    /// What is admitted.
    List,
}

/// A reservation that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// What it is to be called; another one is made of it if that is taken.
    pub name: String,
    /// The thread, in the daemon's PID namespace.
    pub thread: Option<i32>,
    /// Processor time in each period, in nanoseconds.
    pub runtime_ns: i64,
    /// Relative deadline.
    pub deadline_ns: i64,
    /// Period.
    pub period_ns: i64,
    /// How late it may be, if it may be late.
    pub tardiness_ns: Option<i64>,
    /// The CPUs of the machine that it may use, as in `1-2`.
    pub cpus: Option<String>,
    /// Under which policy.
    pub policy: String,
}

/// Why a client no longer has something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Why {
    /// Somebody has asked that it be given back.
    Asked,
    /// Its thread has ended, or somebody has given it another class.
    Ended,
    /// Its program has got the rights of another.
    Rights,
    /// The scheduler has ended.
    Unscheduled,
    /// The client has gone, or the daemon ends: there is nobody to be told.
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

/// What the daemon says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(crate) enum Answer {
    /// The thread has its time, or there would be room.
    Admitted {
        /// What it is called.
        name: String,
        /// The CPUs of the machine that it may use.
        cpus: String,
        /// The test that decided.
        decided_by: Option<String>,
    },
    /// It has not.
    Refused {
        /// The exit code that says how.
        exit: u8,
        /// Why not.
        message: String,
        /// What to do about it.
        help: Option<String>,
    },
    /// What had the name was given back; or nothing has it.
    Left {
        /// Whether something had it.
        found: bool,
    },
    /// Unasked: what this client had is gone, although its thread may go on.
    Gone {
        /// Which.
        name: String,
        /// Why.
        why: Why,
    },
    /// What is admitted.
    List {
        /// As the register has it.
        members: Vec<Member>,
    },
}

#[cfg(feature = "ext")]
impl Answer {
    /// A failure, for whoever asked.
    pub(crate) fn refused(failure: Failure) -> Answer {
        let (message, help) = match failure.message {
            Message::Plain(message, help) => (message, help),
            Message::Drawn(message) => (message, None),
        };
        Answer::Refused { exit: failure.exit.code(), message, help }
    }

    /// As a line.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The failure that a refusal is to a client.
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
