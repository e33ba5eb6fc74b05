//! Failures of the command.

pub(crate) use layland_answers::Exit;

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
