//! [`CliError`]: any failure as an exit code, a message and a hint, in one place.

use ops::Refusal;
use serde_json::{Value, json};
use skill::{
    Problem,
    archive::ArchiveError,
    failure::{Fails, FailureKind},
};
use skill_manage::WaiveError;

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
    library::PlaceError,
    library::StorageError,
    library::folder::FolderError,
    skill_manage::ManageError,
    skill_manage::ReviewerError,
);

impl From<Refusal> for CliError {
    fn from(refusal: Refusal) -> Self {
        let Refusal { message, failure, details, .. } = refusal;
        Self { code: failure.code, exit: failure.kind.into(), message, hint: failure.hint, details }
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
        Refusal::io(error).into()
    }
}

/// An error that says itself what it means.
pub fn failed(error: impl Fails) -> CliError {
    Refusal::from(error).into()
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
    let refusal = Refusal::io_at(path);
    |error| refusal(error).into()
}
