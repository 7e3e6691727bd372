//! [`ManageError`]: the reasons why a request is refused, with codes and hints.

use library::{CommitError, FindError, LibraryError, SnapshotError, StorageError};
use scan::Finding;
use serde_json::{Value, json};
use skill::{
    BundleError, NameError, Problem, SkillName,
    edit::EditError,
    failure::{Fails, Failure, FailureKind, Hint, NextStep},
    merge::Conflict,
};
use thiserror::Error;

use crate::{request::RequestError, review::error::ReviewError};

/// Reason why nothing was changed.
#[derive(Debug, Error)]
pub enum ManageError {
    /// The request cannot be parsed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The edit does not apply to the skill.
    #[error("{name}: {fault}")]
    Edit {
        /// Name of the skill.
        name: SkillName,
        /// Reason why it does not apply.
        fault: EditError,
    },
    /// A skill of that name is visible in another scope.
    #[error("a skill named {name} already exists, {place}")]
    ExistsElsewhere {
        /// Name of the skill.
        name: SkillName,
        /// Location as a phrase for the message.
        place: String,
    },
    /// The result violates the standard.
    #[error("{name} would not be a valid skill: {}", messages(problems))]
    InvalidSkill {
        /// Name of the skill.
        name: SkillName,
        /// All problems that the change would introduce, at least one of them an error.
        problems: Vec<Problem>,
    },
    /// The scanner blocks the result.
    #[error("{message}")]
    ScanBlocked {
        /// Rule, file and line, and a remedy for the author.
        message: String,
        /// All findings, worst first.
        findings: Vec<Finding>,
        /// Next step for the user.
        hint: Hint,
    },
    /// The policy does not allow the change to this actor.
    #[error("{message}")]
    PolicyDenied {
        /// Refused change and the reason.
        message: String,
        /// Next step for the user.
        hint: Hint,
    },
    /// The head differs from the revision that the caller expected.
    #[error("{name} is not at revision {expected}, but at {}", head.as_deref().unwrap_or("none"))]
    StaleRevision {
        /// Name of the skill.
        name: SkillName,
        /// Revision that the caller expected.
        expected: String,
        /// Current head, if there is one.
        head: Option<String>,
    },
    /// Two changes conflict with each other.
    #[error("{message}")]
    MergeConflict {
        /// Conflicting changes and the reason.
        message: String,
        /// Next step for the user.
        hint: Hint,
        /// Conflicts of the merge, by path.
        conflicts: Vec<Conflict>,
    },
    /// The combination of two changes exceeds a limit.
    #[error("{0}")]
    TooLarge(String),
    /// The requested decision on a proposal is not possible.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// The folder of the skill cannot be read or accepted.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The commit to the history failed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The skill or revision does not exist.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The library cannot be read or written.
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
    /// Returns the stable error code.
    pub fn code(&self) -> &'static str {
        self.failure().code
    }

    /// Returns the next step for the user.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        self.failure().hint
    }
}

impl Fails for ManageError {
    fn failure(&self) -> Failure {
        match self {
            Self::Request(error) => error.failure(),
            Self::Edit { name, fault } => edit_failure(name, fault),
            Self::ExistsElsewhere { .. } => {
                Failure::new(FailureKind::Conflict, "exists").hint("choose another name, or change the existing skill")
            }
            Self::InvalidSkill { .. } => Failure::new(FailureKind::Invalid, "invalid_skill")
                .hint("fix the problems listed in details and send the request again"),
            Self::ScanBlocked { hint, .. } => Failure::new(FailureKind::Blocked, "scan_blocked").hint(hint.clone()),
            Self::PolicyDenied { hint, .. } => Failure::new(FailureKind::Refused, "policy_denied").hint(hint.clone()),
            Self::MergeConflict { hint, .. } => {
                Failure::new(FailureKind::Conflict, "merge_conflict").hint(hint.clone())
            }
            Self::TooLarge(_) => Failure::new(FailureKind::Invalid, "too_large").hint(SPLIT),
            Self::StaleRevision { name, .. } => Failure::new(FailureKind::Conflict, "stale_revision").hint(
                Hint::from("review the change with ")
                    .step(NextStep::ShowDiff(name.to_string()))
                    .text(", then send the request again for the newest revision"),
            ),
            Self::Review(error) => error.failure(),
            Self::Snapshot(error) => error.failure(),
            Self::Commit(error) => error.failure(),
            Self::Find(error) => error.failure(),
            Self::Library(error) => error.failure(),
        }
    }

    fn details(&self) -> Value {
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
            Self::StaleRevision { expected, head, .. } => json!({"expected": expected, "head": head}),
            Self::Review(error) => error.details(),
            Self::Commit(error) => error.details(),
            Self::Snapshot(error) => error.details(),
            _ => json!({}),
        }
    }
}

/// Hint for content that is too large.
const SPLIT: &str = "move parts to other files, or remove what agents do not need";

/// Returns the hint for a malformed request.
fn forms() -> Hint {
    Hint::from("see the form of each action: ").last(NextStep::ShowRequests)
}

fn edit_failure(name: &SkillName, fault: &EditError) -> Failure {
    use FailureKind::{Conflict, Invalid, NotFound, Usage};
    let of = Failure::new;
    let name = name.to_string();
    let count = Hint::from("add surrounding text to find, or give the number of matches with ")
        .step(NextStep::SetField("expected_count"))
        .text("; details.matches lists the lines");
    match fault {
        EditError::Exists => {
            let show = NextStep::ShowFile(name, "SKILL.md".to_owned());
            of(Conflict, "exists").hint(Hint::from("use edit or patch; ").step(show).text(" prints the file"))
        }
        EditError::NotFound => of(NotFound, "not_found").hint(Hint::no_skill_to_change(&name)),
        EditError::FileNotFound { .. } => {
            of(NotFound, "not_found").hint(Hint::from("list its files: ").step(NextStep::ShowSkill(name)))
        }
        EditError::NotText { .. } => of(Usage, "invalid_request").hint("replace the whole file with write_file"),
        EditError::EmptyFind | EditError::ZeroCount => of(Usage, "invalid_request").hint(forms()),
        EditError::RemovesSkillMd => of(Usage, "invalid_request")
            .hint(Hint::from("to remove the whole skill, run: ").step(NextStep::Delete(name))),
        EditError::AmbiguousMatch { .. } => of(Conflict, "ambiguous_match")
            .hint(count.text("; to replace all, set ").step(NextStep::SetField("replace_all"))),
        EditError::CountMismatch { .. } => of(Conflict, "count_mismatch").hint(count),
        EditError::NoMatch { path, .. } => of(Conflict, "no_match")
            .hint(Hint::from("read the current file: ").step(NextStep::ShowFile(name, path.to_string()))),
        EditError::FolderNotAllowed { .. } | EditError::Bundle(BundleError::Collision { .. }) => {
            of(Invalid, "invalid_path").hint("give another path, such as references/notes.md")
        }
        EditError::TooLarge { .. } | EditError::Bundle(_) => of(Invalid, "too_large").hint(SPLIT),
    }
}

impl Fails for RequestError {
    fn failure(&self) -> Failure {
        match self {
            Self::Evidence(_) => Failure::new(FailureKind::Usage, "invalid_request")
                .hint("give evidence as text, a link, eval:ID or outcomes:ID"),
            Self::Malformed(_) => Failure::new(FailureKind::Usage, "invalid_request").hint(forms()),
            Self::Revision { skill, .. } => Failure::new(FailureKind::Usage, "invalid_request")
                .hint(Hint::from("list its revisions: ").step(NextStep::ShowHistory(skill.to_string()))),
            Self::Deletion { skill, .. } => Failure::new(FailureKind::Usage, "invalid_request")
                .hint(Hint::from("delete the skill with ").step(NextStep::Delete(skill.to_string()))),
            Self::Name { fault: NameError::TooLong { limit, .. }, .. } => {
                Failure::new(FailureKind::Invalid, "invalid_skill")
                    .hint(format!("choose a name of at most {limit} characters"))
            }
            Self::Name { .. } => Failure::new(FailureKind::Invalid, "invalid_skill")
                .hint("use lower-case letters, digits and single hyphens"),
            Self::Path(_) => Failure::new(FailureKind::Invalid, "invalid_path")
                .hint("give a path inside the skill, such as scripts/run.py"),
            Self::TooLarge(_) => Failure::new(FailureKind::Invalid, "too_large")
                .hint("split the material into smaller files or requests"),
        }
    }
}
