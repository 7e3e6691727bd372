//! [`CliError`]: any failure as an exit code, a message and a hint, in one place.

use library::ReviewersError;
use serde_json::{Value, json};
use skill::{
    Problem,
    archive::ArchiveError,
    failure::{Fails, FailureKind},
};
use skill_manage::{ManageError, ReviewerError, WaiveError};

use crate::hints;

/// The exit codes of the command line; their meanings are part of its contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Done, or a change that waits for a decision.
    Done = 0,
    /// Failed for a reason that is no other of these.
    Failed = 1,
    /// A usage that is none, or a request that cannot be read.
    Usage = 2,
    /// An invalid skill, path, archive, version or size.
    Invalid = 3,
    /// Blocked by the scan.
    Blocked = 4,
    /// Refused by policy or permission.
    Refused = 5,
    /// In conflict with what is there.
    Conflict = 6,
    /// Not found, or not a registry.
    NotFound = 7,
    /// Other content than was recorded.
    Integrity = 8,
    /// A registry or network that cannot be reached.
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

impl Exit {
    /// The class of failure that it stands for.
    pub fn kind(self) -> FailureKind {
        match self {
            Self::Done | Self::Failed => FailureKind::Failed,
            Self::Usage => FailureKind::Usage,
            Self::Invalid => FailureKind::Invalid,
            Self::Blocked => FailureKind::Blocked,
            Self::Refused => FailureKind::Refused,
            Self::Conflict => FailureKind::Conflict,
            Self::NotFound => FailureKind::NotFound,
            Self::Integrity => FailureKind::Integrity,
            Self::Unreachable => FailureKind::Unreachable,
            Self::Interrupted => FailureKind::Interrupted,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed, ready to be shown.
#[derive(Debug)]
pub struct CliError {
    /// A stable name, in `snake_case`.
    pub code: &'static str,
    /// The process's exit code.
    pub exit: Exit,
    /// What happened and where.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// What a program needs to go on.
    pub details: Box<Value>,
}

impl CliError {
    /// An error without hint and details.
    pub fn new(code: &'static str, exit: Exit, message: impl Into<String>) -> Self {
        Self { code, exit, message: message.into(), hint: None, details: Box::new(json!({})) }
    }

    /// A usage error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new("usage", Exit::Usage, message)
    }

    /// The same with the way on.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same with a better way on, where the scan is the reason and there is one.
    pub fn with_way_on(self, way_on: Option<String>) -> Self {
        match way_on.filter(|_| self.exit == Exit::Blocked) {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// The same with details.
    pub fn details(self, details: Value) -> Self {
        Self { details: Box::new(details), ..self }
    }

    /// A skill that breaks the standard.
    pub fn invalid_skill(name: &str, problems: &[Problem]) -> Self {
        let errors: Vec<&str> = problems.iter().filter(|p| p.is_error()).map(|p| p.message.as_str()).collect();
        Self::new("invalid_skill", Exit::Invalid, format!("{name} is not a valid skill: {}", errors.join("; ")))
            .hint("mend what is listed, each problem with its file and line")
            .details(json!({ "problems": problems }))
    }

    /// As the document that `--json` prints.
    pub fn to_json(&self) -> Value {
        let hint = self.hint.as_deref().map(hints::for_user);
        json!({"ok": false, "error": {
            "code": self.code, "message": self.message, "hint": hint, "details": self.details,
        }})
    }
}

impl From<ManageError> for CliError {
    fn from(error: ManageError) -> Self {
        failed(error)
    }
}

impl From<library::LibraryError> for CliError {
    fn from(error: library::LibraryError) -> Self {
        failed(error)
    }
}

impl From<library::StorageError> for CliError {
    fn from(error: library::StorageError) -> Self {
        failed(error)
    }
}

impl From<library::FindError> for CliError {
    fn from(error: library::FindError) -> Self {
        failed(error)
    }
}

impl From<library::PlaceError> for CliError {
    fn from(error: library::PlaceError) -> Self {
        failed(error)
    }
}

impl From<library::folder::FolderError> for CliError {
    fn from(error: library::folder::FolderError) -> Self {
        failed(error)
    }
}

impl From<ReviewerError> for CliError {
    fn from(error: ReviewerError) -> Self {
        let message = error.to_string();
        let refused = |hint: &str| Self::new("policy_denied", Exit::Refused, message.clone()).hint(hint);
        match error {
            ReviewerError::UnknownToken | ReviewerError::Expired { .. } => refused(
                "a person makes a new one at a terminal: `env -u SKILLHUB_REVIEWER_TOKEN skillhub reviewer new`",
            ),
            ReviewerError::NoTerminal | ReviewerError::TokenNeedsTerminal => refused("run the command at a terminal"),
            ReviewerError::Store(ReviewersError::Untrusted(_)) => {
                refused("see who changed the file in the home; remove it, and a person makes new tokens at a terminal")
            }
            ReviewerError::Store(ReviewersError::Damaged(_) | ReviewersError::Format(_)) => {
                Self::new("damaged_state", Exit::Integrity, message)
                    .hint("mend the file in the home, or remove it, and a person makes new tokens at a terminal")
            }
            ReviewerError::Store(ReviewersError::Place(error)) => error.into(),
            ReviewerError::Store(ReviewersError::Lock(error)) => library::LibraryError::from(error).into(),
            ReviewerError::Name(_) => Self::usage(message).hint("give another with --name"),
            ReviewerError::NoSuchToken(_) => {
                Self::new("not_found", Exit::NotFound, message).hint("`skillhub reviewer list` shows the ids")
            }
            ReviewerError::Random(_) | ReviewerError::Store(ReviewersError::Io(_)) => {
                Self::new("io", Exit::Failed, message)
            }
        }
    }
}

impl From<WaiveError> for CliError {
    fn from(error: WaiveError) -> Self {
        let (message, hint) = (error.to_string(), error.hint());
        let (code, exit) = match error {
            WaiveError::Library(error) => return error.into(),
            WaiveError::NoSkill(_) | WaiveError::NoRule(_) | WaiveError::NoFinding { .. } => {
                ("not_found", Exit::NotFound)
            }
            WaiveError::NoSuchWaiver(_) => ("not_found", Exit::NotFound),
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
        Self::new("invalid_archive", Exit::Invalid, error.to_string())
            .hint("`skillhub pack DIR` makes a .skill file that can be read")
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::Interrupted => failed(library::interrupt::Interrupted),
            _ => Self::new("io", Exit::Failed, error.to_string()),
        }
    }
}

/// An error that says itself what it means.
pub fn failed(error: impl Fails) -> CliError {
    let failure = error.failure();
    CliError {
        code: failure.code,
        exit: failure.kind.into(),
        message: error.to_string(),
        hint: failure.hint,
        details: Box::new(error.details()),
    }
}

/// Why one skill of a batch failed, as the document of the batch has it.
pub fn error_of_one(error: &impl Fails) -> Value {
    let failure = error.failure();
    let hint = failure.hint.as_deref().map(hints::for_user);
    json!({"code": failure.code, "message": error.to_string(), "hint": hint})
}

/// The exit code that one skill of a batch asks for.
pub fn exit_of_one(error: Option<&impl Fails>) -> Exit {
    error.map_or(Exit::Done, |error| error.failure().kind.into())
}

/// An error of the system at a path.
pub fn io_at(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> CliError {
    let path = path.to_owned();
    move |error| {
        let message = format!("cannot use {}: {error}", path.display());
        match error.kind() {
            std::io::ErrorKind::NotFound => CliError::new("not_found", Exit::NotFound, message)
                .hint("check the path; it starts at the current folder"),
            _ => CliError::new("io", Exit::Failed, message),
        }
    }
}
