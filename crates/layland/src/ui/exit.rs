//! Exit codes and failures of the command.

use serde::Serialize;

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; every requested verdict is yes.
    Yes,
    /// Done; a verdict is no: a deadline was missed, or a policy rejected the set.
    No,
    /// Wrong usage.
    Usage,
    /// The input is invalid.
    BadInput,
    /// Done; a verdict is unknown.
    Unknown,
    /// The system refused: a file that cannot be written, a priority that is not granted.
    Refused,
    /// A measurement cannot be trusted.
    Untrusted,
    /// Interrupted; partial results were kept and marked.
    Interrupted,
    /// The exit code of the program that was run.
    OfProgram(u8),
    /// A bug in layland.
    Bug,
}

impl Exit {
    /// Returns the exit code as a number.
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

    /// Returns the worst of several exit codes.
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

    /// The name of the code in JSON.
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

/// The reason why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The message for standard error.
    pub message: Message,
}

/// A message for standard error.
#[derive(Debug)]
pub(crate) enum Message {
    /// The error and advice.
    Plain(String, Option<String>),
    /// A report that is already formatted.
    Drawn(String),
}

impl Failure {
    fn plain(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: Message::Plain(message.into(), None) }
    }
    /// Creates a failure of wrong usage.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::plain(Exit::Usage, message)
    }
    /// Creates a failure with the verdict no.
    pub(crate) fn no(message: impl Into<String>) -> Failure {
        Failure::plain(Exit::No, message)
    }
    /// Creates a failure of invalid input.
    pub(crate) fn input(message: impl Into<String>) -> Failure {
        Failure::plain(Exit::BadInput, message)
    }
    /// Creates a failure of a refusal by the system.
    pub(crate) fn refused(message: impl Into<String>) -> Failure {
        Failure::plain(Exit::Refused, message)
    }
    /// Creates a failure of invalid input from a report that is already formatted.
    pub(crate) fn report(drawn: String) -> Failure {
        Failure { exit: Exit::BadInput, message: Message::Drawn(drawn) }
    }
    /// Adds the name of the set, for a command with several. A formatted report already contains
    /// it.
    pub(crate) fn about(mut self, set: &str) -> Failure {
        if let Message::Plain(message, _) = &mut self.message {
            *message = format!("{set}: {message}");
        }
        self
    }
    /// Adds advice.
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

/// The result of a command.
pub(crate) type Outcome = Result<Exit, Failure>;
