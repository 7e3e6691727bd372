//! [`ManageError`]: why a request was refused, with its code and the way on.

use library::{
    CommitError, FindError, HandEditFault, LibraryError, LockError, PlaceError, SnapshotError, StateError, StorageError,
};
use scan::Finding;
use serde_json::{Value, json};
use skill::{BundleError, Problem, SkillName, edit::EditError, merge::Conflict};
use thiserror::Error;

use crate::{request::RequestError, review::ReviewError};

/// Why nothing was changed.
#[derive(Debug, Error)]
pub enum ManageError {
    /// The request cannot be read.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The edit does not fit the skill.
    #[error("{name}: {fault}")]
    Edit {
        /// The skill.
        name: SkillName,
        /// Why not.
        fault: EditError,
    },
    /// A skill of that name is visible from elsewhere.
    #[error("there is a skill {name} already, {place}")]
    ExistsElsewhere {
        /// The skill.
        name: SkillName,
        /// Where.
        place: String,
    },
    /// The result breaks the standard.
    #[error("{name} would not be a valid skill: {}", messages(problems))]
    InvalidSkill {
        /// The skill.
        name: SkillName,
        /// All problems that the change would bring; at least one is an error.
        problems: Vec<Problem>,
    },
    /// The scanner blocks the result.
    #[error("{message}")]
    ScanBlocked {
        /// Which rule, file and line, and what the author can do.
        message: String,
        /// All findings, worst first.
        findings: Vec<Finding>,
        /// The way on.
        hint: String,
    },
    /// Policy keeps this actor from it.
    #[error("{message}")]
    PolicyDenied {
        /// What and why.
        message: String,
        /// The way on.
        hint: String,
    },
    /// The head is not the one that the caller saw.
    #[error("{name} is not at revision {expected} but at {}", head.as_deref().unwrap_or("none"))]
    StaleRevision {
        /// The skill.
        name: SkillName,
        /// What the caller expected.
        expected: String,
        /// What it is.
        head: Option<String>,
    },
    /// Two changes do not go together.
    #[error("{message}")]
    MergeConflict {
        /// Which and why.
        message: String,
        /// The way on.
        hint: String,
        /// The places.
        conflicts: Vec<Conflict>,
    },
    /// Two changes together pass a limit.
    #[error("{0}")]
    TooLarge(String),
    /// The proposal cannot be decided about as asked.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// The skill could not be looked at.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The commit failed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// No such revision.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The library cannot be used.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl From<StorageError> for ManageError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

fn messages(problems: &[Problem]) -> String {
    let texts: Vec<String> = problems
        .iter()
        .filter(|problem| problem.is_error())
        .map(|problem| match problem.line {
            Some(line) => format!("{}:{line}: {}", problem.path, problem.message),
            None => problem.message.clone(),
        })
        .collect();
    texts.join("; ")
}

impl ManageError {
    /// The code of the contract.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Request(error) => request_code(error),
            Self::Edit { fault, .. } => edit_code(fault),
            Self::ExistsElsewhere { .. } => "exists",
            Self::InvalidSkill { .. } => "invalid_skill",
            Self::ScanBlocked { .. } => "scan_blocked",
            Self::PolicyDenied { .. } => "policy_denied",
            Self::MergeConflict { .. } => "merge_conflict",
            Self::TooLarge(_) => "too_large",
            Self::Review(error) => error.code(),
            Self::StaleRevision { .. } | Self::Commit(CommitError::Stale { .. }) => "stale_revision",
            Self::Snapshot(error) => snapshot_code(error),
            Self::Commit(error) => commit_code(error),
            Self::Find(error) => find_code(error),
            Self::Library(error) => library_code(error),
        }
    }

    /// The way on.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::PolicyDenied { hint, .. } | Self::ScanBlocked { hint, .. } | Self::MergeConflict { hint, .. } => {
                Some(hint.clone())
            }
            Self::TooLarge(_) => Some("move parts to further files, or leave out what agents do not need".to_owned()),
            Self::Review(error) => Some(error.hint()),
            Self::Request(error) => Some(request_hint(error).to_owned()),
            Self::Edit { name, fault } => edit_hint(name, fault),
            Self::ExistsElsewhere { .. } => Some("choose another name, or change that skill where it is".to_owned()),
            Self::InvalidSkill { .. } => {
                Some("mend the problems listed in details and send the request again".to_owned())
            }
            Self::StaleRevision { name, .. } => Some(stale_hint(name)),
            Self::Snapshot(SnapshotError::ExternalBlocked { fault: HandEditFault::Unreadable(_), .. }) => {
                Some("remove or rename what is named there; nothing else in the folder is touched".to_owned())
            }
            Self::Snapshot(SnapshotError::ExternalBlocked { skill, fault }) => Some(hand_edit_hint(skill, fault)),
            Self::Snapshot(SnapshotError::Commit(error)) => commit_hint(error),
            Self::Commit(error) => commit_hint(error),
            Self::Find(error) => find_hint(error),
            Self::Snapshot(SnapshotError::Library(error)) | Self::Library(error) => library_hint(error),
            Self::Snapshot(SnapshotError::Storage(error)) => storage_hint(error),
        }
    }

    /// What a program needs to go on: matches, findings or problems.
    #[must_use]
    pub fn details(&self) -> Value {
        match self {
            Self::Edit { fault: EditError::NoMatch { path, nearest }, .. } => {
                json!({"path": path.as_str(), "matches": nearest})
            }
            Self::Edit { fault: EditError::AmbiguousMatch { path, found, matches }, .. } => {
                json!({"path": path.as_str(), "found": found, "matches": matches})
            }
            Self::Edit { fault: EditError::CountMismatch { path, expected, found, matches }, .. } => {
                json!({"path": path.as_str(), "expected": expected, "found": found, "matches": matches})
            }
            Self::InvalidSkill { problems, .. } => json!({"problems": problems}),
            Self::ScanBlocked { findings, .. } => json!({"findings": findings}),
            Self::MergeConflict { conflicts, .. } => json!({"conflicts": conflicts}),
            Self::Review(ReviewError::Amended { is, .. } | ReviewError::Unnamed { is, .. }) => json!({"revision": is}),
            Self::Review(ReviewError::AlreadyDecided { state, .. }) => json!({"state": state.as_str()}),
            Self::StaleRevision { expected, head, .. } => json!({"expected": expected, "head": head}),
            Self::Commit(CommitError::Stale { head, .. }) => json!({"head": head}),
            Self::Snapshot(SnapshotError::ExternalBlocked { fault, .. }) => fault_details(fault),
            _ => json!({}),
        }
    }
}

fn edit_hint(name: &SkillName, fault: &EditError) -> Option<String> {
    match fault {
        EditError::NotFound => Some("`skillhub list` shows the skills of this library".to_owned()),
        EditError::NoMatch { path, .. } => Some(format!("`skillhub show {name} {path}` prints the file as it is")),
        EditError::FileNotFound { .. } => Some(format!("`skillhub show {name}` lists its files")),
        EditError::AmbiguousMatch { .. } | EditError::CountMismatch { .. } => Some(
            "details.matches has the lines; add surrounding text to find, or say how many with expected_count"
                .to_owned(),
        ),
        EditError::Exists => Some(format!("`skillhub show {name} SKILL.md` prints it; use edit or patch")),
        EditError::RemovesSkillMd => Some(format!("`skillhub manage delete {name}` removes the whole skill")),
        EditError::FolderNotAllowed { .. } | EditError::Bundle(BundleError::Collision { .. }) => {
            Some("give another path, such as references/notes.md".to_owned())
        }
        EditError::TooLarge { .. } | EditError::Bundle(_) => {
            Some("move parts to further files, or leave out what agents do not need".to_owned())
        }
        EditError::NotText { .. } => Some("replace the whole file with write_file".to_owned()),
        EditError::EmptyFind | EditError::ZeroCount => {
            Some("`skillhub manage --help` has an example for each action".to_owned())
        }
    }
}

fn stale_hint(name: &SkillName) -> String {
    format!("look at what changed, `skillhub diff {name}`, and send the request again on the newest revision")
}

fn commit_hint(error: &CommitError) -> Option<String> {
    match error {
        CommitError::Stale { skill, .. } => Some(stale_hint(skill)),
        CommitError::ProposalMoved { id } => Some(format!("look at it as it is now: `skillhub review show {id}`")),
        CommitError::QueueFull { .. } | CommitError::QueueTooLarge { .. } => Some(
            "ask a person to decide, `skillhub review list` shows what waits; what an actor proposed it may withdraw with \
             `skillhub review reject ID`"
                .to_owned(),
        ),
        CommitError::NotWritable { .. } => {
            Some("see that its disk has room, who owns the folder and its mode, or name another with --library".to_owned())
        }
        CommitError::Lock(error) => lock_hint(error),
        CommitError::Library(error) => library_hint(error),
    }
}

fn library_hint(error: &LibraryError) -> Option<String> {
    match error {
        LibraryError::Lock(error) => lock_hint(error),
        LibraryError::Storage(error) => storage_hint(error),
        LibraryError::State(StateError::Gone | StateError::Damaged(_)) => Some(
            "restore state.toml in the home from a backup (`skillhub where` names the place), or run \
             `skillhub doctor --fix`, which makes of it what is known and keeps the rest closed"
                .to_owned(),
        ),
        LibraryError::State(_) => Some("`skillhub where` says where the home is; see to state.toml there".to_owned()),
        LibraryError::Pinned(skill) => {
            Some(format!("a person can make the change, or run `skillhub unpin {skill}`, at a terminal"))
        }
        LibraryError::Io { source, .. } if is_damage(source) => Some(
            "`skillhub doctor` says what is damaged; with --fix it is kept aside and what can be saved is".to_owned(),
        ),
        LibraryError::Place(PlaceError::Foreign { .. }) => {
            Some("use folders of your own: --library DIR for the skills, SKILLHUB_HOME for the history".to_owned())
        }
        LibraryError::Io { .. } | LibraryError::Place(PlaceError::Io { .. }) => Some(refused_hint()),
    }
}

/// Where the system refuses a file of ours.
fn refused_hint() -> String {
    "see that the disk has room and may be written (`skillhub where` names the places); nothing was lost, and the same \
     command goes on from here"
        .to_owned()
}

fn storage_hint(error: &StorageError) -> Option<String> {
    match error {
        StorageError::Damaged(_) => {
            Some("`skillhub doctor` names what is damaged, `skillhub doctor --fix` mends what can be; the folders are not touched".to_owned())
        }
        StorageError::Git(_) | StorageError::Io(_) => Some(refused_hint()),
        _ => None,
    }
}

fn lock_hint(error: &LockError) -> Option<String> {
    match error {
        LockError::Locked { .. } => Some("try again when that process is done".to_owned()),
        LockError::Io(_) => Some(refused_hint()),
    }
}

fn find_hint(error: &FindError) -> Option<String> {
    match error {
        FindError::NoSkill(_) => Some("`skillhub list` shows the skills of this library".to_owned()),
        FindError::NoRevision { skill, .. } | FindError::Ambiguous { skill, .. } => {
            Some(format!("`skillhub history {skill}` lists its revisions"))
        }
        FindError::Storage(error) => storage_hint(error),
    }
}

fn hand_edit_hint(skill: &SkillName, fault: &HandEditFault) -> String {
    let mend = format!(
        "mend the folder by hand or move it away; where the skill has a history, `skillhub rollback {skill} head` \
         keeps that edit in it and restores the skill"
    );
    match fault {
        HandEditFault::Hostile(_) => {
            format!("{mend}; a person can accept a finding: `skillhub waive {skill} RULE --reason WHY`")
        }
        _ => mend,
    }
}

fn fault_details(fault: &HandEditFault) -> Value {
    match fault {
        HandEditFault::Unreadable(_) => json!({}),
        HandEditFault::Invalid { problems, .. } => json!({"problems": problems}),
        HandEditFault::Hostile(blocked) => json!({"findings": blocked.report().findings}),
    }
}

fn request_hint(error: &RequestError) -> &'static str {
    match error {
        RequestError::Malformed(_) => "`skillhub manage --help` has an example for each action",
        RequestError::Name { .. } => "use lower-case letters, digits and single hyphens",
        RequestError::Path(_) => "give a path inside the skill, such as scripts/run.py",
        RequestError::TooLarge(_) => "split the material into smaller files or requests",
    }
}

fn request_code(error: &RequestError) -> &'static str {
    match error {
        RequestError::Malformed(_) => "invalid_request",
        RequestError::Name { .. } => "invalid_skill",
        RequestError::Path(_) => "invalid_path",
        RequestError::TooLarge(_) => "too_large",
    }
}

fn edit_code(error: &EditError) -> &'static str {
    match error {
        EditError::Exists => "exists",
        EditError::NotFound | EditError::FileNotFound { .. } => "not_found",
        EditError::NotText { .. } | EditError::EmptyFind | EditError::ZeroCount | EditError::RemovesSkillMd => {
            "invalid_request"
        }
        EditError::AmbiguousMatch { .. } => "ambiguous_match",
        EditError::CountMismatch { .. } => "count_mismatch",
        EditError::NoMatch { .. } => "no_match",
        EditError::FolderNotAllowed { .. } | EditError::Bundle(BundleError::Collision { .. }) => "invalid_path",
        EditError::TooLarge { .. } | EditError::Bundle(_) => "too_large",
    }
}

fn snapshot_code(error: &SnapshotError) -> &'static str {
    match error {
        SnapshotError::ExternalBlocked { .. } => "external_blocked",
        SnapshotError::Library(error) => library_code(error),
        SnapshotError::Storage(error) => storage_code(error),
        SnapshotError::Commit(error) => commit_code(error),
    }
}

fn commit_code(error: &CommitError) -> &'static str {
    match error {
        CommitError::Stale { .. } | CommitError::ProposalMoved { .. } => "stale_revision",
        CommitError::QueueFull { .. } | CommitError::QueueTooLarge { .. } => "policy_denied",
        CommitError::Lock(LockError::Locked { .. }) => "locked",
        CommitError::Library(error) => library_code(error),
        CommitError::NotWritable { .. } | CommitError::Lock(LockError::Io(_)) => "io",
    }
}

fn find_code(error: &FindError) -> &'static str {
    match error {
        FindError::NoSkill(_) | FindError::NoRevision { .. } => "not_found",
        FindError::Ambiguous { .. } => "ambiguous_name",
        FindError::Storage(error) => storage_code(error),
    }
}

fn library_code(error: &LibraryError) -> &'static str {
    match error {
        LibraryError::Lock(LockError::Locked { .. }) => "locked",
        LibraryError::Place(PlaceError::Foreign { .. }) | LibraryError::Pinned(_) => "policy_denied",
        LibraryError::Storage(error) => storage_code(error),
        LibraryError::State(StateError::Gone | StateError::Damaged(_) | StateError::Format(_)) => "damaged_state",
        LibraryError::Io { source, .. } if is_damage(source) => "damaged_history",
        _ => "io",
    }
}

/// Whether a file of ours could be read and is not what was written.
fn is_damage(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::InvalidData
}

fn storage_code(error: &StorageError) -> &'static str {
    match error {
        StorageError::Damaged(_) => "damaged_history",
        StorageError::UnknownRevision(_) => "not_found",
        _ => "io",
    }
}
