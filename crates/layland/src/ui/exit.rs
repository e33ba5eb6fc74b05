//! What the command ends with.

use serde::Serialize;

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; every asked verdict is yes.
    Yes,
    /// Done; a verdict is no: a deadline was missed, a policy refused the set.
    No,
    /// Wrong usage.
    Usage,
    /// The input is invalid.
    BadInput,
    /// Done; a verdict is not known.
    Unknown,
    /// The system refused: a file that cannot be written, a priority that is not granted.
    Refused,
    /// What was measured is not to be believed.
    Untrusted,
    /// Interrupted; partial results were kept and marked.
    Interrupted,
    /// What the program that was run ended with.
    OfProgram(u8),
    /// A bug of ours.
    Bug,
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::BadInput => 3,
            Exit::Unknown => 4,
            Exit::Refused => 5,
            Exit::Untrusted => 6,
            Exit::Bug => 70,
            Exit::Interrupted => 130,
            Exit::OfProgram(code) => code,
        }
    }

    /// What to end with after several answers: the worst of them.
    pub(crate) fn worst(answers: impl Iterator<Item = Exit>) -> Exit {
        let rank = |exit: &Exit| match exit {
            Exit::Bug => 4,
            Exit::Interrupted => 3,
            Exit::No => 2,
            Exit::Unknown => 1,
            Exit::Yes
            | Exit::Usage
            | Exit::BadInput
            | Exit::Refused
            | Exit::Untrusted
            | Exit::OfProgram(_) => 0,
        };
        answers.max_by_key(rank).unwrap_or(Exit::Yes)
    }

    /// The name, for JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Exit::Yes => "yes",
            Exit::No => "no",
            Exit::Usage => "usage",
            Exit::BadInput => "bad input",
            Exit::Unknown => "unknown",
            Exit::Refused => "refused by the system",
            Exit::Untrusted => "measurement not trustworthy",
            Exit::Bug => "bug",
            Exit::Interrupted => "interrupted",
            Exit::OfProgram(_) => "as the program",
        }
    }
}

impl Serialize for Exit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut exit = serializer.serialize_struct("Exit", 2)?;
        exit.serialize_field("code", &self.code())?;
        exit.serialize_field("name", self.name())?;
        exit.end()
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What to say on standard error.
    pub message: Message,
}

/// What to say on standard error.
#[derive(Debug)]
pub(crate) enum Message {
    /// What is wrong, and what to do about it.
    Plain(String, Option<String>),
    /// A report that is drawn already.
    Drawn(String),
}

impl Failure {
    fn plain(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: Message::Plain(message.into(), None) }
    }
    /// Wrong usage.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::plain(Exit::Usage, message)
    }
    /// A verdict is no.
    pub(crate) fn no(message: impl Into<String>) -> Failure {
        Failure::plain(Exit::No, message)
    }
    /// Invalid input.
    pub(crate) fn input(message: impl Into<String>) -> Failure {
        Failure::plain(Exit::BadInput, message)
    }
    /// Refused by the system.
    pub(crate) fn refused(message: impl Into<String>) -> Failure {
        Failure::plain(Exit::Refused, message)
    }
    /// Invalid input, with a report that is drawn already.
    pub(crate) fn report(drawn: String) -> Failure {
        Failure { exit: Exit::BadInput, message: Message::Drawn(drawn) }
    }
    /// Says which set of several it is about; a report that is drawn does.
    pub(crate) fn about(mut self, set: &str) -> Failure {
        if let Message::Plain(message, _) = &mut self.message {
            *message = format!("{set}: {message}");
        }
        self
    }
    /// Says what to do, too.
    pub(crate) fn help(mut self, text: impl Into<String>) -> Failure {
        if let Message::Plain(_, help) = &mut self.message {
            *help = Some(text.into());
        }
        self
    }
}

#[cfg(target_os = "linux")]
impl From<layland_linux::ChangeError> for Failure {
    fn from(error: layland_linux::ChangeError) -> Failure {
        Failure::refused(error.to_string()).help(error.help())
    }
}

/// What a command returns.
pub(crate) type Outcome = Result<Exit, Failure>;
