//! Why a run cannot be, or cannot be believed.

use crate::machine::changes::ChangeError;

/// Why a run did not take place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The kernel does not let us.
    #[error("{what}: {error}")]
    Refused {
        /// What was asked for.
        what: String,
        /// What the kernel said.
        error: String,
        /// What is needed.
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
        /// Whether it works with the manager on one of them.
        can_share: bool,
    },
    /// Nothing can be changed on the machine, or other runs have its CPUs.
    #[error("{what}")]
    Changes {
        /// Why.
        what: String,
        /// What to do about it.
        help: String,
    },
    /// The system or its policy needs what real threads do not have.
    #[error("{reason}")]
    Unsupported {
        /// What, and why not.
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

    /// What to do about it.
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
