//! [`Failure`]: what an error means to whoever runs a command.
//!
//! Every error enum says in one `match` of its own, behind [`Fails`], which class it belongs to, its
//! stable code and what to do next. That is the one table of codes: who shows an error asks it.

use serde_json::{Value, json};

use crate::BundleError;

/// The class of a failure. The command line gives each an exit code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// The system refused, or something is broken.
    Failed,
    /// The request cannot be understood.
    Usage,
    /// A skill, path, archive, version or size is not valid.
    Invalid,
    /// The scan blocks.
    Blocked,
    /// Policy or permission refuses.
    Refused,
    /// Something else is there already, or several things are.
    Conflict,
    /// There is no such thing.
    NotFound,
    /// A hash, digest, lock file or history differs, or a release was withdrawn.
    Integrity,
    /// A registry or the network cannot be reached.
    Unreachable,
    /// A signal stopped it.
    Interrupted,
}

/// An error seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its class.
    pub kind: FailureKind,
    /// Its stable name, in `snake_case`.
    pub code: &'static str,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    #[must_use]
    pub fn new(kind: FailureKind, code: &'static str) -> Self {
        Self { kind, code, hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The system refused something.
    #[must_use]
    pub fn io() -> Self {
        Self::new(FailureKind::Failed, "io")
    }
}

/// An error that knows its [`Failure`].
pub trait Fails: std::error::Error {
    /// Class, code and hint.
    fn failure(&self) -> Failure;

    /// What a program needs to go on: findings, problems, matches; an empty object otherwise.
    fn details(&self) -> Value {
        json!({})
    }
}

impl Fails for BundleError {
    fn failure(&self) -> Failure {
        match self {
            Self::Collision { .. } => Failure::new(FailureKind::Invalid, "invalid_path").hint("rename one of the two"),
            Self::TooManyFiles { .. } | Self::TooManyBytes { .. } | Self::TextTooLarge { .. } => {
                Failure::new(FailureKind::Invalid, "too_large").hint("leave out what agents do not need")
            }
        }
    }
}
