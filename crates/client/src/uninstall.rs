//! [`uninstall`]: an installed skill goes, its history stays.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use library::{
    Action, AgentDir, Before, Checkout, Commit, CommitError, Committed, Content, Denied, Event, FolderState, Library,
    LibraryError, NewRevision, Permit, PlaceLinkError, Revision, RevisionId, SnapshotError, Stamp, StorageError,
    TakeOver, WholeChange, interrupt::Section,
};
use scan::Verdict;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Bundle, SkillName};
use thiserror::Error;

use crate::{
    install::bare,
    lock_file::{LockFile, LockFileError},
    requires,
};

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
    /// Others need it.
    #[error("{name} is required by {}", by.join(", "))]
    Required {
        /// The skill.
        name: SkillName,
        /// Who requires it, sorted.
        by: Vec<String>,
    },
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
            Self::Required { name, by } => {
                let all = by.iter().map(|by| by.rsplit('/').next().unwrap_or(by)).collect::<Vec<_>>().join(" ");
                Failure::new(FailureKind::Conflict, "required")
                    .hint(format!("uninstall them together: skillhub uninstall {name} {all}"))
            }
            Self::LockFile(error) => error.failure(),
            Self::Denied(error) => error.failure(),
            Self::Snapshot(error) => error.failure(),
            Self::Library(error) => error.failure(),
            Self::Commit(error) => error.failure(),
        }
    }
}

/// A skill, and what became of it.
pub type Outcome = (SkillName, Result<Uninstalled, UninstallError>);

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

/// Uninstalls skills, and with them those that were here only for their sake: takes good hand edits over, commits
/// tombstones in one step, takes links and copies away, and takes the skills out of the lock file.
///
/// Gives what became of each that was named, in order, and behind them the others. One that others still require stays.
///
/// # Errors
/// [`UninstallError`] when the whole cannot be done. Nothing but hand edits has been committed then.
pub fn uninstall(
    library: &mut Library,
    skills: &[SkillName],
    lock_path: &Path,
    stamp: &Stamp,
    permit: &Permit<'_>,
) -> Result<Vec<Outcome>, UninstallError> {
    let _whole = Section::enter().map_err(CommitError::from)?;
    let lock = LockFile::read(lock_path)?;
    let unique = skills.iter().enumerate().filter(|(at, skill)| !skills[..*at].contains(skill)).map(|(_, skill)| skill);
    let mut prepared: Vec<(SkillName, Result<Leaving, UninstallError>)> =
        unique.map(|skill| (skill.clone(), prepare(library, skill, &lock, stamp, permit))).collect();
    refuse_required(&lock, &mut prepared);
    let mut kept = Vec::new();
    for skill in requires::left_behind(&lock, &full_names(&prepared)) {
        let name = bare(&skill.name).filter(|_| !skill.is_evolved());
        match name.map(|name| (prepare(library, &name, &lock, stamp, permit), name)) {
            Some((Ok(leaving), name)) => prepared.push((name, Ok(leaving))),
            Some((Err(error), _)) => {
                kept.push(format!("{} was here only for what leaves, and stays: {error}", skill.name))
            }
            None => kept.push(format!(
                "{0} was here only for what leaves, and stays since it was changed here: skillhub uninstall {0}",
                skill.bare_name()
            )),
        }
    }
    let (mut outcomes, mut leaving) = (Vec::new(), Vec::new());
    for (skill, done) in prepared {
        outcomes.push((
            skill,
            done.map(|(commit, result)| {
                leaving.push(commit);
                result
            }),
        ));
    }
    let committed = if leaving.is_empty() { Vec::new() } else { library.commit(leaving)? };
    for (skill, outcome) in &mut outcomes {
        let Some(done) = committed.iter().find(|done| done.skill == *skill) else { continue };
        if let Ok(result) = outcome {
            result.follow(done);
            take_away(library, skill, stamp, result);
        }
    }
    let gone: Vec<String> = outcomes.iter().filter_map(|(_, done)| Some(done.as_ref().ok()?.name.clone())).collect();
    let unlocked = LockFile::update(lock_path, library, |file| {
        for name in &gone {
            file.remove(name);
        }
    });
    if let Some((_, Ok(last))) = outcomes.iter_mut().rev().find(|(_, outcome)| outcome.is_ok()) {
        last.warnings.extend(unlocked.err().map(|error| format!("the lock file was not written: {error}")));
        last.warnings.extend(kept);
    }
    Ok(outcomes)
}

/// What is to be committed, and what will be told of it.
type Leaving = (Commit, Uninstalled);

/// The full names of what is to leave.
fn full_names(prepared: &[(SkillName, Result<Leaving, UninstallError>)]) -> BTreeSet<String> {
    prepared.iter().filter_map(|(_, done)| done.as_ref().ok().map(|(_, result)| result.name.clone())).collect()
}

/// Keeps what is required by a skill that stays; what stays goes on requiring what it requires.
fn refuse_required(lock: &LockFile, prepared: &mut [(SkillName, Result<Leaving, UninstallError>)]) {
    loop {
        let leaving = full_names(prepared);
        let refused = prepared.iter_mut().find_map(|(skill, done)| {
            let by = requires::requirers(lock, &done.as_ref().ok()?.1.name, &leaving);
            (!by.is_empty()).then_some((skill, done, by))
        });
        let Some((skill, done, by)) = refused else { return };
        *done = Err(UninstallError::Required { name: skill.clone(), by });
    }
}

/// What is to be committed for one skill.
fn prepare(
    library: &mut Library,
    skill: &SkillName,
    lock: &LockFile,
    stamp: &Stamp,
    permit: &Permit<'_>,
) -> Result<Leaving, UninstallError> {
    library.check_pinned(skill, &stamp.actor)?;
    let head = installed_head(library, skill)?;
    let origin = head.origin.clone().ok_or_else(|| UninstallError::Authored(skill.clone()))?;
    check_permit(library, (skill, &head), stamp, permit)?;
    let snapshot = library.snapshot(skill, stamp, TakeOver::Commit)?;
    let base = snapshot.base.map(|base| base.id);
    let gone = NewRevision::new(Content::Tombstone, Action::Uninstall, stamp.clone()).with_origin(Some(origin.clone()));
    let before = Some(Before { lock: lock.entry_text(skill), in_place: false });
    let revisions = vec![NewRevision { before, ..gone }];
    let result = Uninstalled {
        name: origin.name,
        revision: head.id,
        previous: base.clone(),
        removed: Vec::new(),
        kept: Vec::new(),
        warnings: Vec::new(),
        checkout_pending: None,
    };
    Ok((Commit { skill: skill.clone(), base, revisions }, result))
}

impl Uninstalled {
    /// Takes over what the commit came to.
    fn follow(&mut self, committed: &Committed) {
        self.revision = committed.revision.id.clone();
        match &committed.checkout {
            Checkout::Done => {}
            Checkout::HandEditKept(id) => {
                self.warnings.push(format!("a hand edit of that very moment is kept as revision {}", id.short()));
            }
            Checkout::Pending(why) => self.checkout_pending = Some(why.clone()),
        }
    }
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
