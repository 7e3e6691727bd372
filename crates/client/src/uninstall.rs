//! [`uninstall`]: an installed skill goes, its history stays.

use std::path::{Path, PathBuf};

use library::{
    Action, AgentDir, Before, Checkout, Commit, CommitError, Content, Denied, Event, FolderState, Library,
    LibraryError, NewRevision, Permit, PlaceLinkError, Revision, RevisionId, SnapshotError, Stamp, StorageError,
    TakeOver, WholeChange,
};
use scan::Verdict;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Bundle, SkillName};
use thiserror::Error;

use crate::lock_file::{LockFile, LockFileError};

/// Revisions that are searched for the one that a copy in an agent's folder holds.
const REVISIONS_OF_COPIES: usize = 100;

/// What became of a skill.
#[derive(Debug)]
pub struct Uninstalled {
    /// `owner/name`, or the bare name.
    pub name: String,
    /// The tombstone.
    pub revision: RevisionId,
    /// The head before, which `rollback` brings back.
    pub previous: Option<RevisionId>,
    /// Links and copies that were taken away.
    pub removed: Vec<PathBuf>,
    /// What was placed once and stays, since it was edited or replaced.
    pub kept: Vec<PathBuf>,
    /// What went otherwise than asked for, one sentence each.
    pub warnings: Vec<String>,
    /// Why the folder still stands.
    pub checkout_pending: Option<String>,
}

/// Why a skill was not uninstalled.
#[derive(Debug, Error)]
pub enum UninstallError {
    /// No such skill.
    #[error("no skill {0} is installed")]
    NotFound(SkillName),
    /// A folder without a history.
    #[error("{0} is a folder that skillhub does not manage")]
    Unmanaged(SkillName),
    /// A skill that was not installed.
    #[error("{0} was written or adopted here, not installed")]
    Authored(SkillName),
    /// The lock file.
    #[error(transparent)]
    LockFile(#[from] LockFileError),
    /// The policy refuses.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The folder holds what cannot be taken over.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The library.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The commit.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl From<StorageError> for UninstallError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

impl Fails for UninstallError {
    fn failure(&self) -> Failure {
        match self {
            Self::NotFound(_) => {
                Failure::new(FailureKind::NotFound, "not_found").hint("skillhub list shows what is there")
            }
            Self::Unmanaged(name) => Failure::new(FailureKind::NotFound, "not_found")
                .hint(format!("remove the folder yourself, or take it over first: skillhub adopt PATH-OF-{name}")),
            Self::Authored(name) => Failure::new(FailureKind::Refused, "not_installed")
                .hint(format!("delete it: skillhub manage delete {name}")),
            Self::LockFile(error) => error.failure(),
            Self::Denied(error) => error.failure(),
            Self::Snapshot(error) => error.failure(),
            Self::Library(error) => error.failure(),
            Self::Commit(error) => error.failure(),
        }
    }
}

/// Asks the policy; a refusal is an event, and that it cannot be noted hides it not.
fn check_permit(
    library: &Library,
    (skill, head): (&SkillName, &Revision),
    stamp: &Stamp,
    permit: &Permit<'_>,
) -> Result<(), UninstallError> {
    let (before, after) = (library.bundle(&head.id)?, Bundle::default());
    let action = Action::Uninstall;
    let origin = head.origin.as_ref();
    let permitted =
        permit(&WholeChange { skill, action, origin, before: &before, after: &after, verdict: Verdict::Allow });
    Ok(permitted.inspect_err(|denied| {
        let code = denied.failure().code;
        let event = Event::refused(stamp, skill.as_str(), action.as_str(), code, &denied.to_string());
        let _best_effort = library.record(&event);
    })?)
}

/// Uninstalls a skill: takes a good hand edit over, commits a tombstone, takes links and copies away,
/// and takes the skill out of the lock file.
///
/// # Errors
/// [`UninstallError`]; nothing but the hand edit has been committed then.
pub fn uninstall(
    library: &mut Library,
    skill: &SkillName,
    lock_path: &Path,
    stamp: &Stamp,
    permit: &Permit<'_>,
) -> Result<Uninstalled, UninstallError> {
    let lock = LockFile::read(lock_path)?;
    library.check_pinned(skill, &stamp.actor)?;
    let head = installed_head(library, skill)?;
    let origin = head.origin.clone().ok_or_else(|| UninstallError::Authored(skill.clone()))?;
    check_permit(library, (skill, &head), stamp, permit)?;
    let snapshot = library.snapshot(skill, stamp, TakeOver::Commit)?;
    let base = snapshot.base.map(|base| base.id);
    let gone = NewRevision::new(Content::Tombstone, Action::Uninstall, stamp.clone()).with_origin(Some(origin.clone()));
    let before = Some(Before { lock: lock.entry_text(skill), in_place: false });
    let revisions = vec![NewRevision { before, ..gone }];
    let commit = Commit { skill: skill.clone(), base: base.clone(), revisions };
    let committed = library.commit(vec![commit])?;
    let committed = committed.into_iter().next().ok_or_else(|| UninstallError::NotFound(skill.clone()))?;
    let mut result = Uninstalled {
        name: origin.name.clone(),
        revision: committed.revision.id,
        previous: base,
        removed: Vec::new(),
        kept: Vec::new(),
        warnings: Vec::new(),
        checkout_pending: None,
    };
    match committed.checkout {
        Checkout::Done => {}
        Checkout::HandEditKept(id) => {
            result.warnings.push(format!("a hand edit of that very moment is kept as revision {}", id.short()));
        }
        Checkout::Pending(why) => result.checkout_pending = Some(why),
    }
    take_away(library, skill, stamp, &mut result);
    let unlocked = LockFile::update(lock_path, library, |file| {
        file.remove(&origin.name);
    });
    if let Err(error) = unlocked {
        result.warnings.push(format!("the lock file was not written: {error}"));
    }
    Ok(result)
}

fn installed_head(library: &Library, skill: &SkillName) -> Result<Revision, UninstallError> {
    match library.head(skill)?.filter(|head| !head.tombstone) {
        Some(head) => Ok(head),
        None if matches!(library.folder_state(skill)?, FolderState::Absent) => {
            Err(UninstallError::NotFound(skill.clone()))
        }
        None => Err(UninstallError::Unmanaged(skill.clone())),
    }
}

/// Takes away what was placed in agents' folders and forgets it, but for what the system did not let go:
/// `doctor` tries that again.
fn take_away(library: &Library, skill: &SkillName, stamp: &Stamp, result: &mut Uninstalled) {
    let placed = library.state().map(|state| state.of(skill).placed).unwrap_or_default();
    if placed.is_empty() {
        return;
    }
    let mut refused = Vec::new();
    for path in placed {
        match remove(library, skill, &path) {
            Ok(Some(true)) => result.removed.push(path),
            Ok(Some(false)) => result.kept.push(path),
            Ok(None) => {}
            Err(error) => {
                result.warnings.push(error.to_string());
                refused.push(path.clone());
                result.kept.push(path);
            }
        }
    }
    if let Err(error) = library.set_state(skill, stamp, "unlink", |state| state.placed = refused) {
        result.warnings.push(format!("the places of {skill} were not forgotten: {error}"));
    }
}

/// Whether the link or copy was taken away; `None` when nothing stands there any more.
pub(crate) fn remove(library: &Library, skill: &SkillName, path: &Path) -> Result<Option<bool>, PlaceLinkError> {
    let Some(folder) = path.parent() else { return Ok(None) };
    let Some(dir) = AgentDir::open(folder)? else { return Ok(None) };
    if dir.remove_link(skill, library.path())? {
        return Ok(Some(true));
    }
    for bundle in former_contents(library, skill) {
        if dir.remove_copy(skill, &bundle)? {
            return Ok(Some(true));
        }
    }
    let left = cap_std::fs::Dir::open_ambient_dir(folder, cap_std::ambient_authority());
    Ok(left.is_ok_and(|dir| dir.symlink_metadata(skill.as_str()).is_ok()).then_some(false))
}

/// What the skill held, newest first.
pub(crate) fn former_contents(library: &Library, skill: &SkillName) -> impl Iterator<Item = Bundle> {
    let revisions = library.revisions(skill, REVISIONS_OF_COPIES).unwrap_or_default();
    let held = revisions.into_iter().filter(|revision| !revision.tombstone);
    held.filter_map(|revision| library.bundle(&revision.id).ok())
}
