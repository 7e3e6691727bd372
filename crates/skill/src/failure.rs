//! [`Failure`]: the meaning of an error for the user of a command.
//!
//! Every error enum implements [`Fails`] with one `match`, which gives the class, the stable code and the next step of
//! each variant. These implementations are the only table of codes, and every display of errors uses them.

use serde_json::{Value, json};

use crate::BundleError;
pub use crate::next_step::{Hint, NextStep};

/// Class of a failure. Each class has its own exit code on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// The system refused an operation, or something is broken.
    Failed,
    /// The request cannot be parsed.
    Usage,
    /// A skill, path, archive, version or size is not valid.
    Invalid,
    /// The scanner blocks the content.
    Blocked,
    /// A policy or permission refuses the request.
    Refused,
    /// The target already exists, or the name is ambiguous.
    Conflict,
    /// The requested object does not exist.
    NotFound,
    /// A hash, digest, lock file or history differs, or a release was withdrawn.
    Integrity,
    /// A registry or the network cannot be reached.
    Unreachable,
    /// A signal interrupted the command.
    Interrupted,
}

/// Error as presented to a user or a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Class, which determines the exit code.
    pub kind: FailureKind,
    /// Stable code in `snake_case`.
    pub code: &'static str,
    /// Next step for the user.
    pub hint: Option<Hint>,
}

impl Failure {
    /// Returns a failure without a hint.
    pub fn new(kind: FailureKind, code: &'static str) -> Self {
        Self { kind, code, hint: None }
    }

    /// Returns this failure with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<Hint>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the failure for a fault in `config.toml` or a policy file.
    #[must_use]
    pub fn invalid_config() -> Self {
        Self::new(FailureKind::Usage, "invalid_config").hint("to list every fault with its line: skillhub config check")
    }

    /// Returns the failure for an I/O error of the system.
    pub fn io() -> Self {
        Self::new(FailureKind::Failed, "io")
    }
}

/// Error that provides its [`Failure`].
pub trait Fails: std::error::Error {
    /// Returns the class, code and hint.
    fn failure(&self) -> Failure;

    /// Returns details for programs, such as findings, problems or matches. Empty object by default.
    fn details(&self) -> Value {
        json!({})
    }
}

impl Fails for BundleError {
    fn failure(&self) -> Failure {
        match self {
            Self::Collision { .. } => {
                Failure::new(FailureKind::Invalid, "invalid_path").hint("rename one of the two files")
            }
            Self::TooManyFiles { .. } | Self::TooManyBytes { .. } | Self::TextTooLarge { .. } => {
                Failure::new(FailureKind::Invalid, "too_large").hint("remove what agents do not need")
            }
        }
    }
}
