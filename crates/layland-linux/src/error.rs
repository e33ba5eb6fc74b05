//! The reasons why a run is not possible.

use crate::machine::changes::ChangeError;

/// The reason why a run did not take place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The kernel refused a system call.
    #[error("{what}: {error}")]
    Refused {
        /// The operation that was refused.
        what: String,
        /// The error that the kernel returned.
        error: String,
        /// The privilege or setting that the operation requires.
        help: String,
    },
    /// The machine has too few CPUs for the platform.
    #[error(
        "the platform has {platform} CPUs and its manager may need one of its own, but {usable} can be used here"
    )]
    TooFewCpus {
        /// CPUs of the platform.
        platform: usize,
        /// CPUs that this process may use.
        usable: usize,
        /// True if the run is possible with the manager on one of the platform's CPUs.
        can_share: bool,
    },
    /// The machine cannot be changed, or other runs hold its CPUs.
    #[error("{what}")]
    Changes {
        /// The message of the underlying error.
        what: String,
        /// Advice for the user.
        help: String,
    },
    /// The system or its policy requires a feature that real threads do not have.
    #[error("{reason}")]
    Unsupported {
        /// The feature, and why it is not supported.
        reason: String,
    },
}

impl From<ChangeError> for RunError {
    fn from(error: ChangeError) -> RunError {
        RunError::Changes { what: error.to_string(), help: error.help() }
    }
}

impl RunError {
    pub(crate) fn refused(what: &str, error: &std::io::Error, help: String) -> RunError {
        RunError::Refused { what: what.to_owned(), error: error.to_string(), help }
    }
    pub(crate) fn unsupported(reason: impl Into<String>) -> RunError {
        RunError::Unsupported { reason: reason.into() }
    }

    /// Returns advice for the user.
    pub fn help(&self) -> String {
        match self {
            RunError::Refused { help, .. } | RunError::Changes { help, .. } => help.clone(),
            RunError::TooFewCpus { can_share: true, .. } => {
                "let the manager share a CPU with the jobs: --manager shared".to_owned()
            }
            RunError::TooFewCpus { .. } => {
                "run it on a machine with more CPUs, or simulate it: layland sim".to_owned()
            }
            RunError::Unsupported { .. } => "simulate it: layland sim".to_owned(),
        }
    }
}
