//! The reason why there is no answer.

use crate::Exit;
use layland_config::Report;

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unanswered {
    /// The fault.
    pub message: String,
    /// Advice for the user.
    pub help: Option<String>,
    /// The exit code of the command.
    pub exit: Exit,
    /// The faults of a task set, with their places in its text.
    pub report: Option<Box<Report>>,
}

impl Unanswered {
    /// The question is wrong.
    pub fn usage(message: impl Into<String>) -> Unanswered {
        Unanswered { message: message.into(), help: None, exit: Exit::Usage, report: None }
    }

    /// The task set is wrong.
    pub fn input(message: impl Into<String>) -> Unanswered {
        Unanswered { exit: Exit::BadInput, ..Unanswered::usage(message) }
    }

    /// A policy refuses the task set.
    pub fn no(message: impl Into<String>) -> Unanswered {
        Unanswered { exit: Exit::No, ..Unanswered::usage(message) }
    }

    /// Adds advice.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Unanswered {
        Unanswered { help: Some(help.into()), ..self }
    }
}

impl From<Report> for Unanswered {
    fn from(report: Report) -> Unanswered {
        let message = report.to_string();
        Unanswered { report: Some(Box::new(report)), ..Unanswered::input(message) }
    }
}
