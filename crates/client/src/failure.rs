//! [`Failure`]: what an error of this crate means to whoever runs a command.
//!
//! Every error enum says in one `match` of its own, behind [`Fails`], which class it belongs to, its
//! stable code and what to do next. Errors of the crates below that pass through are classed here.

use library::{
    CommitError, Denied, FindError, LibraryError, LockError, PlaceError, SnapshotError, StateError, StorageError,
};
use registry_index::{InitError, OpenError, ReadError, StoreError};
use scan::Report;
use skill::Problem;

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

    /// What the scanner found, when that is the reason.
    fn report(&self) -> Option<&Report> {
        None
    }

    /// What is wrong with the skill, when that is the reason.
    fn problems(&self) -> &[Problem] {
        &[]
    }
}

impl Fails for PlaceError {
    fn failure(&self) -> Failure {
        match self {
            Self::Foreign { .. } => Failure::new(FailureKind::Refused, "foreign_owner")
                .hint("use a folder of your own, or run as the user who owns it"),
            Self::Io { .. } => Failure::io(),
        }
    }
}

impl Fails for Denied {
    fn failure(&self) -> Failure {
        Failure::new(FailureKind::Refused, "policy_denied").hint(
            "a person does it, at a terminal or with `--actor person` and a token in SKILLHUB_REVIEWER_TOKEN; \
             `skillhub policy` shows the rules",
        )
    }
}

impl Fails for LockError {
    fn failure(&self) -> Failure {
        match self {
            Self::Locked { .. } => {
                Failure::new(FailureKind::Conflict, "locked").hint("try again when the other process is done")
            }
            Self::Io(_) => Failure::io(),
        }
    }
}

impl Fails for StorageError {
    fn failure(&self) -> Failure {
        match self {
            Self::UnknownKind(_) => Failure::new(FailureKind::Usage, "unknown_storage")
                .hint("set `storage = \"git\"` under [library] in config.toml"),
            Self::UnknownRevision(_) => Failure::new(FailureKind::NotFound, "not_found"),
            Self::Damaged(_) => Failure::new(FailureKind::Integrity, "damaged_history").hint("run `skillhub doctor`"),
            Self::Uncleared(_) => Failure::new(FailureKind::Blocked, "scan_blocked"),
            Self::Git(_) | Self::Io(_) => Failure::io().hint("see that the disk has room and may be written"),
        }
    }
}

impl Fails for StateError {
    fn failure(&self) -> Failure {
        match self {
            Self::Gone | Self::Damaged(_) => {
                Failure::new(FailureKind::Integrity, "damaged_state").hint("run `skillhub doctor --fix`")
            }
            Self::Format(_) => Failure::new(FailureKind::Integrity, "damaged_state"),
            Self::Io(_) => Failure::io(),
        }
    }
}

impl Fails for LibraryError {
    fn failure(&self) -> Failure {
        match self {
            Self::Place(error) => error.failure(),
            Self::Storage(error) => error.failure(),
            Self::State(error) => error.failure(),
            Self::Lock(error) => error.failure(),
            Self::Pinned(skill) => Failure::new(FailureKind::Refused, "policy_denied")
                .hint(format!("a person can do it, or run `skillhub unpin {skill}`, at a terminal")),
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::InvalidData => {
                Failure::new(FailureKind::Integrity, "damaged_history").hint("run `skillhub doctor`")
            }
            Self::Io { .. } => Failure::io().hint("see that the disk has room and may be written"),
        }
    }
}

impl Fails for FindError {
    fn failure(&self) -> Failure {
        match self {
            Self::NoSkill(_) | Self::NoRevision { .. } => Failure::new(FailureKind::NotFound, "not_found"),
            Self::Ambiguous { .. } => Failure::new(FailureKind::Conflict, "ambiguous_revision"),
            Self::Storage(error) => error.failure(),
        }
    }
}

impl Fails for CommitError {
    fn failure(&self) -> Failure {
        match self {
            Self::Stale { .. } | Self::ProposalMoved { .. } => {
                Failure::new(FailureKind::Conflict, "stale_revision").hint("run the command again")
            }
            Self::QueueFull { .. } | Self::QueueTooLarge { .. } => Failure::new(FailureKind::Refused, "policy_denied"),
            Self::NotWritable { .. } => Failure::io().hint("make the library's folder writable, or name another one"),
            Self::Lock(error) => error.failure(),
            Self::Library(error) => error.failure(),
        }
    }
}

impl Fails for SnapshotError {
    fn failure(&self) -> Failure {
        match self {
            Self::ExternalBlocked { skill, .. } => Failure::new(FailureKind::Blocked, "external_blocked")
                .hint(format!("mend the folder, or bring back the last revision: skillhub rollback {skill} head")),
            Self::Library(error) => error.failure(),
            Self::Storage(error) => error.failure(),
            Self::Commit(error) => error.failure(),
        }
    }
}

impl Fails for StoreError {
    fn failure(&self) -> Failure {
        match self {
            Self::Git(_) => Failure::new(FailureKind::Unreachable, "registry_unreadable")
                .hint("check the registry: skillhub index verify"),
            Self::ReadOnly(_) => Failure::new(FailureKind::Refused, "read_only_registry")
                .hint("publish to the bare repository that it was cloned from"),
            Self::Busy { .. } => Failure::new(FailureKind::Conflict, "locked"),
        }
    }
}

impl Fails for ReadError {
    fn failure(&self) -> Failure {
        match self {
            Self::Store(error) => error.failure(),
            Self::Line { .. } => {
                Failure::new(FailureKind::Integrity, "damaged_index").hint("see all faults: skillhub index verify")
            }
        }
    }
}

impl Fails for OpenError {
    fn failure(&self) -> Failure {
        let Self::NotARegistry { path, .. } = self;
        Failure::new(FailureKind::NotFound, "not_a_registry")
            .hint(format!("make one: skillhub index init {}", path.display()))
    }
}

impl Fails for InitError {
    fn failure(&self) -> Failure {
        match self {
            Self::NotEmpty(_) => Failure::new(FailureKind::Conflict, "exists").hint("name an empty or new folder"),
            Self::Folder { .. } => Failure::io(),
            Self::Store(error) => error.failure(),
            Self::Open(error) => error.failure(),
        }
    }
}
