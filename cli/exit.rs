//! Exit codes, and the error type of all commands.

use ops::Refusal;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use skill::{
    Problem,
    archive::ArchiveError,
    failure::{Fails, FailureKind, NextStep},
};
use skill_manage::WaiveError;

use crate::hints;

/// Exit codes of the command line. Their meanings are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Success, including a change held for a decision.
    Done = 0,
    /// A failure that no other code describes.
    Failed = 1,
    /// Invalid usage, or a request that cannot be read.
    Usage = 2,
    /// An invalid skill, path, archive, version or size.
    Invalid = 3,
    /// Blocked by the scanner.
    Blocked = 4,
    /// Refused by policy or permission.
    Refused = 5,
    /// A conflict with the current state.
    Conflict = 6,
    /// Not found, or not a registry.
    NotFound = 7,
    /// Content that differs from its recorded digest.
    Integrity = 8,
    /// An unreachable registry or network.
    Unreachable = 9,
    /// Stopped by a signal.
    Interrupted = 130,
}

impl From<FailureKind> for Exit {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Failed => Self::Failed,
            FailureKind::Usage => Self::Usage,
            FailureKind::Invalid => Self::Invalid,
            FailureKind::Blocked => Self::Blocked,
            FailureKind::Refused => Self::Refused,
            FailureKind::Conflict => Self::Conflict,
            FailureKind::NotFound => Self::NotFound,
            FailureKind::Integrity => Self::Integrity,
            FailureKind::Unreachable => Self::Unreachable,
            FailureKind::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A failed command, ready for display.
#[derive(Debug)]
pub struct CliError {
    /// Stable name of the error, in `snake_case`.
    pub code: &'static str,
    /// Exit code of the process.
    pub exit: Exit,
    /// Cause and location of the failure.
    pub message: String,
    /// Suggested next step.
    pub hint: Option<String>,
    /// True if the hint lists the skills, so that the nearest name helps.
    pub lists_skills: bool,
    /// Structured data for programs.
    pub details: Box<Value>,
}

impl CliError {
    /// Creates an error without hint and details.
    pub fn new(code: &'static str, exit: Exit, message: impl Into<String>) -> Self {
        Self { code, exit, message: message.into(), hint: None, lists_skills: false, details: Box::new(json!({})) }
    }

    /// Creates a usage error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new("usage", Exit::Usage, message)
    }

    /// Sets the hint.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), lists_skills: false, ..self }
    }

    /// Replaces the hint if the scan blocked the command and `accept_hint` is given.
    pub fn with_accept_hint(self, accept_hint: Option<String>) -> Self {
        match accept_hint.filter(|_| self.exit == Exit::Blocked) {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Sets the details.
    pub fn details(self, details: Value) -> Self {
        Self { details: Box::new(details), ..self }
    }

    /// Creates the error for a skill that violates the standard.
    pub fn invalid_skill(name: &str, problems: &[Problem]) -> Self {
        let errors: Vec<&str> = problems.iter().filter(|p| p.is_error()).map(|p| p.message.as_str()).collect();
        Self::new("invalid_skill", Exit::Invalid, format!("{name} is not a valid skill: {}", errors.join("; ")))
            .hint("fix the listed problems")
            .details(json!({ "problems": problems }))
    }

    /// Formats the error for `--json`.
    pub fn to_json(&self) -> Value {
        let hint = self.hint.as_deref().map(hints::for_user);
        ops::error_document(self.code, &self.message, hint.as_deref(), &self.details)
    }
}

macro_rules! fails {
    ($($error:ty),+ $(,)?) => { $(
        impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                failed(error)
            }
        }
    )+ };
}

fails!(
    library::FindError,
    library::LibraryError,
    library::PathAccessError,
    library::StorageError,
    library::folder::FolderError,
    skill_manage::ManageError,
    skill_manage::ReviewerError,
);

impl From<Refusal> for CliError {
    fn from(refusal: Refusal) -> Self {
        let Refusal { message, failure, details, .. } = refusal;
        Self {
            code: failure.code,
            exit: failure.kind.into(),
            message,
            lists_skills: failure.hint.as_ref().is_some_and(|hint| hint.names(&NextStep::ListSkills)),
            hint: failure.hint.map(|hint| hint.to_string()),
            details,
        }
    }
}

impl From<WaiveError> for CliError {
    fn from(error: WaiveError) -> Self {
        let (message, hint) = (error.to_string(), error.hint());
        let (code, exit) = match error {
            WaiveError::Library(error) => return error.into(),
            WaiveError::NoSkill(name) => return library::FindError::NoSkill(name).into(),
            WaiveError::NoRule(_) | WaiveError::NoFinding { .. } | WaiveError::NoSuchWaiver(_) => {
                ("not_found", Exit::NotFound)
            }
            WaiveError::NotWaivable(_) | WaiveError::TooMany(..) => ("policy_denied", Exit::Refused),
            WaiveError::Unreadable(..) => ("external_blocked", Exit::Blocked),
            WaiveError::SeveralFiles { .. } => ("ambiguous_match", Exit::Conflict),
            WaiveError::File(_) => ("invalid_path", Exit::Invalid),
            WaiveError::ContentWithoutPath | WaiveError::Reason(_) | WaiveError::End(_) => ("usage", Exit::Usage),
        };
        Self::new(code, exit, message).hint(hint)
    }
}

impl From<ArchiveError> for CliError {
    fn from(error: ArchiveError) -> Self {
        let hint = match error.is_suspicious() {
            true => "do not use it; report it to its publisher",
            false => "pack the skill again: skillhub pack DIR",
        };
        Self::new("invalid_archive", Exit::Invalid, error.to_string()).hint(hint)
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Refusal::io(error).into()
    }
}

/// Converts any error that classifies itself.
pub fn failed(error: impl Fails) -> CliError {
    Refusal::from(error).into()
}

/// Error of one skill in a document about several.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorOfOne {
    /// Stable code of the error.
    code: &'static str,
    /// Description of the error.
    message: String,
    /// Remedy for the error, as a command where there is one.
    hint: Option<String>,
}

/// Formats the error of one skill in a batch document.
pub fn error_of_one(error: &impl Fails) -> ErrorOfOne {
    let failure = error.failure();
    let hint = failure.hint.map(|hint| hints::for_user(&hint.to_string()));
    ErrorOfOne { code: failure.code, message: error.to_string(), hint }
}

/// Returns the exit code of one skill in a batch.
pub fn exit_of_one(error: Option<&impl Fails>) -> Exit {
    error.map_or(Exit::Done, |error| error.failure().kind.into())
}

/// Returns a function that converts an I/O error at a path.
pub fn io_at(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> CliError {
    let refusal = Refusal::io_at(path);
    |error| refusal(error).into()
}
