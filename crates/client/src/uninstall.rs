//! [`uninstall`]: removes installed skills from a library; their histories remain.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use library::{
    Action, Checkout, Commit, CommitBatch, CommitError, Committed, Content, Denied, Event, FolderState, HandEditMode,
    Library, LibraryError, LockLine, LockLines, NewRevision, Permit, Plans, Revision, RevisionId, SkillChange,
    SnapshotError, Stamp, StateBefore, StorageError, interrupt::Section,
};
use scan::Verdict;
use skill::failure::{Fails, Failure, FailureKind, Hint, NextStep};
use skill::{Bundle, SkillName, shell_word};
use thiserror::Error;

use crate::{
    lock_file::{LastRead, LockFile, LockFileError, write_pending_lines_into},
    requires,
};

/// Result of uninstalling one skill.
#[derive(Debug)]
pub struct Uninstalled {
    /// Full name `owner/name`, or the bare name.
    pub name: String,
    /// Id of the tombstone revision.
    pub revision: RevisionId,
    /// Previous head, which `rollback` can restore.
    pub previous: Option<RevisionId>,
    /// Paths of links and copies that were removed.
    pub removed: Vec<PathBuf>,
    /// Paths that were linked or copied once and are kept because they were edited or replaced.
    pub kept: Vec<PathBuf>,
    /// Deviations from the request that are not errors, one sentence each.
    pub warnings: Vec<String>,
    /// Reason why the folder still exists.
    pub checkout_pending: Option<String>,
}

/// Reasons why a skill was not uninstalled.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum UninstallError {
    /// The library does not have the skill.
    #[error("{0} is not installed")]
    NotFound(SkillName),
    /// The folder exists but has no history.
    #[error("{0} is a folder that skillhub does not manage")]
    Unmanaged(SkillName, PathBuf),
    /// The skill was written or adopted here. The flag is true if its folder has a blocked edit.
    #[error("{0} was not installed: it was written or adopted here")]
    Authored(SkillName, bool),
    /// Other installed skills require the skill.
    #[error("{name} is required by {}", by.join(", "))]
    Required {
        /// Name of the skill.
        name: SkillName,
        /// Names of the skills that require it, sorted.
        by: Vec<String>,
    },
    /// The lock file cannot be read or written.
    LockFile(#[from] LockFileError),
    /// The policy denies the removal.
    Denied(#[from] Denied),
    /// The folder has a hand edit that cannot be committed.
    Snapshot(#[from] SnapshotError),
    /// The library cannot be read or written.
    Library(#[from] LibraryError),
    /// Committing the batch failed.
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
                let hint = Hint::from("list the installed skills: ").step(NextStep::ListSkills);
                Failure::new(FailureKind::NotFound, "not_found").hint(hint)
            }
            Self::Unmanaged(_, path) => Failure::new(FailureKind::NotFound, "not_found").hint(format!(
                "delete the folder yourself, or manage it first: skillhub adopt {}",
                shell_word(&path.display().to_string())
            )),
            Self::Authored(name, true) => Failure::new(FailureKind::Refused, "not_installed").hint(
                Hint::from("find out with ")
                    .step(NextStep::ShowStatus(name.to_string()))
                    .text(" why its folder is blocked, fix it, then delete the skill"),
            ),
            Self::Authored(name, false) => Failure::new(FailureKind::Refused, "not_installed")
                .hint(Hint::from("delete it: ").last(NextStep::Delete(name.to_string()))),
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

/// A skill with the result of uninstalling it.
pub type Outcome = (SkillName, Result<Uninstalled, UninstallError>);

/// Checks the policy and logs a denial. A failure to log does not replace the denial.
fn check_permit(
    library: &Library,
    skill: &SkillName,
    head: &Revision,
    stamp: &Stamp,
    permit: &Permit<'_>,
) -> Result<(), UninstallError> {
    let (before, after) = (library.bundle(&head.id)?, Bundle::default());
    let action = Action::Uninstall;
    let origin = head.origin.as_ref();
    let permitted =
        permit(&SkillChange { skill, action, origin, before: &before, after: &after, verdict: Verdict::Allow });
    Ok(permitted.inspect_err(|denied| {
        let code = denied.failure().code;
        let event = Event::refused(stamp, skill.as_str(), action.as_str(), code, &denied.to_string());
        let _best_effort = library.record(&event);
    })?)
}

/// Uninstalls skills, and with them the requirements that only they needed. Commits acceptable hand edits first, then
/// commits all tombstones in one step, removes links and copies, and removes the skills from the lock file.
///
/// Returns the results of the named skills in order, followed by those of the requirements. A skill that another skill
/// still requires is kept.
///
/// # Errors
/// [`UninstallError`] if the batch as a whole fails. At most hand edits have been committed then.
pub fn uninstall(
    library: &mut Library,
    skills: &[SkillName],
    lock_path: &Path,
    stamp: &Stamp,
    permit: &Permit<'_>,
) -> Result<Vec<Outcome>, UninstallError> {
    let _whole = Section::enter().map_err(CommitError::from)?;
    let lock = LastRead::of(lock_path)?;
    let unique = skills.iter().enumerate().filter(|(at, skill)| !skills[..*at].contains(skill)).map(|(_, skill)| skill);
    let mut prepared: Vec<(SkillName, Result<Leaving, UninstallError>)> =
        unique.map(|skill| (skill.clone(), prepare(library, skill, &lock, stamp, permit))).collect();
    refuse_required(&lock, &mut prepared);
    let mut kept = Vec::new();
    for skill in requires::left_behind(&lock, &full_names(&prepared)) {
        let name = Some(skill.bare_name().clone()).filter(|_| !skill.is_evolved());
        match name.map(|name| (prepare(library, &name, &lock, stamp, permit), name)) {
            Some((Ok(leaving), name)) => prepared.push((name, Ok(leaving))),
            Some((Err(error), _)) => {
                kept.push(format!("{} is no longer required, but could not be removed: {error}", skill.name()))
            }
            None => kept.push(format!(
                "{0} is no longer required, but was kept because it has local changes; to remove it, run: skillhub \
                 uninstall {0}",
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
    let gone = outcomes.iter().filter_map(|(_, done)| Some(done.as_ref().ok()?.name.clone()));
    let entries = gone.map(|name| LockLine { name, text: None }).collect();
    let plans = Plans { lock_lines: Some(LockLines { path: lock_path.to_owned(), entries }), ..Plans::default() };
    let batch = CommitBatch { commits: leaving, plans, ..CommitBatch::default() };
    let committed = if batch.commits.is_empty() { Vec::new() } else { library.commit(batch)? };
    for (skill, outcome) in &mut outcomes {
        let Some(done) = committed.iter().find(|done| done.skill == *skill) else { continue };
        if let Ok(result) = outcome {
            result.follow(done);
        }
    }
    let unlocked = write_pending_lines_into(Some(lock), library);
    if let Some((_, Ok(last))) = outcomes.iter_mut().rev().find(|(_, outcome)| outcome.is_ok()) {
        last.warnings.extend(unlocked.err().map(|error| format!("the lock file was not written: {error}")));
        last.warnings.extend(kept);
    }
    Ok(outcomes)
}

/// A planned commit, with the result to return.
type Leaving = (Commit, Uninstalled);

/// Returns the full names of the skills to remove.
fn full_names(prepared: &[(SkillName, Result<Leaving, UninstallError>)]) -> BTreeSet<String> {
    prepared.iter().filter_map(|(_, done)| done.as_ref().ok().map(|(_, result)| result.name.clone())).collect()
}

/// Rejects skills that a remaining skill requires, until no more are found: a rejected skill remains too.
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

/// Plans the removal of one skill.
fn prepare(
    library: &mut Library,
    skill: &SkillName,
    lock: &LockFile,
    stamp: &Stamp,
    permit: &Permit<'_>,
) -> Result<Leaving, UninstallError> {
    library.check_pinned(skill, &stamp.actor)?;
    let head = installed_head(library, skill)?;
    let Some(origin) = head.origin.clone() else {
        let is_blocked = matches!(library.folder_state(skill)?, FolderState::Blocked(_));
        return Err(UninstallError::Authored(skill.clone(), is_blocked));
    };
    check_permit(library, skill, &head, stamp, permit)?;
    let snapshot = library.snapshot(skill, stamp, HandEditMode::Commit)?;
    let base = snapshot.base.map(|base| base.id);
    let gone = NewRevision::new(Content::Tombstone, Action::Uninstall, stamp.clone()).with_origin(Some(origin.clone()));
    let before = Some(StateBefore { lock: lock.entry_text(skill), ..StateBefore::default() });
    let revisions = vec![NewRevision { before, ..gone }];
    let result = Uninstalled {
        name: origin.name_in(skill),
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
    /// Copies the outcome of the commit into the result.
    fn follow(&mut self, committed: &Committed) {
        self.revision = committed.revision.id.clone();
        match &committed.checkout {
            Checkout::Done => {}
            Checkout::HandEditKept(id) => {
                self.warnings.push(format!("a hand edit made at the same moment was kept as revision {}", id.short()));
            }
            Checkout::Pending(why) => self.checkout_pending = Some(why.clone()),
        }
        self.removed.clone_from(&committed.links.removed);
        self.kept.clone_from(&committed.links.kept);
        self.warnings.extend(committed.links.warnings.iter().cloned());
    }
}

fn installed_head(library: &Library, skill: &SkillName) -> Result<Revision, UninstallError> {
    match library.head(skill)?.filter(|head| !head.tombstone) {
        Some(head) => Ok(head),
        None if matches!(library.folder_state(skill)?, FolderState::Absent) => {
            Err(UninstallError::NotFound(skill.clone()))
        }
        None => Err(UninstallError::Unmanaged(skill.clone(), library.path().join(skill.as_str()))),
    }
}
