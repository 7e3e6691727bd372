//! Comparison of a skill's folder with its history, and recording of hand edits.

use scan::{Baseline, Blocked, Cleared, Scanner};
use skill::{Bundle, Digest, Problem, SkillName, Strictness, validate::validate_bundle};
use thiserror::Error;

use super::{
    Commit, CommitError, Library, LibraryError,
    comparison::{Comparison, FolderContent},
    returned::return_reason,
};
use crate::{
    disk::open_dir,
    folder::FolderError,
    revision::{Action, ActorKind, Content, NewRevision, Revision, Stamp},
    storage::StorageError,
};

/// Number of attempts to check a changing folder without the lock. The next one holds the lock.
const ATTEMPTS: usize = 8;

/// Result of comparing a skill's folder with its head.
#[derive(Debug)]
pub enum FolderState {
    /// Neither the folder nor the skill exists.
    Absent,
    /// As committed, except perhaps for line ends in text files.
    Clean,
    /// Committed, but the folder is missing.
    Missing,
    /// Edited, or without a history, and valid. The next operation records it.
    Modified(Box<Cleared>),
    /// Same content as an earlier revision, except perhaps for line ends, for example after switching git branches.
    /// The next operation records that first.
    Earlier {
        /// Revision with the same content.
        revision: Box<Revision>,
        /// Its files, as committed.
        cleared: Box<Cleared>,
        /// Digest of the files exactly as they are in the folder.
        found: Digest,
    },
    /// Edited, with content that cannot be recorded.
    Blocked(HandEditFault),
}

impl From<Result<Cleared, Box<Blocked>>> for FolderState {
    fn from(checked: Result<Cleared, Box<Blocked>>) -> Self {
        match checked {
            Ok(cleared) => Self::Modified(Box::new(cleared)),
            Err(blocked) => Self::Blocked(blocked.into()),
        }
    }
}

/// Reason why the content of a folder cannot become a revision. The folder is not touched.
#[derive(Debug, Error)]
pub enum HandEditFault {
    /// It cannot be read as a skill.
    #[error(transparent)]
    Unreadable(#[from] FolderError),
    /// It violates the standard in ways that the head does not.
    #[error("it is not a valid skill: {}", first_message(problems))]
    Invalid {
        /// Files of the folder.
        bundle: Bundle,
        /// New problems that are errors.
        problems: Vec<Problem>,
    },
    /// The scanner blocks it.
    #[error(transparent)]
    Hostile(#[from] Box<Blocked>),
}

fn first_message(problems: &[Problem]) -> &str {
    problems.first().map_or("", |problem| problem.message.as_str())
}

impl HandEditFault {
    /// Returns the files, if they could be read.
    pub fn bundle(&self) -> Option<&Bundle> {
        match self {
            Self::Unreadable(_) => None,
            Self::Invalid { bundle, .. } => Some(bundle),
            Self::Hostile(blocked) => Some(blocked.bundle()),
        }
    }
}

/// Treatment of a hand edit before an operation reads the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandEditMode {
    /// Commits it, as an edit without a given reason.
    Commit,
    /// Commits it, with the reason and actor of the stamp.
    Record,
    /// Reads it without committing, for a dry run.
    DryRun,
}

/// A skill as read by an operation, after its hand edit was recorded.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The head, which may be a tombstone.
    pub base: Option<Revision>,
    /// Its files; empty if the skill does not exist.
    pub bundle: Bundle,
}

impl Snapshot {
    /// Returns whether the skill exists.
    pub fn exists(&self) -> bool {
        !self.bundle.is_empty()
    }

    /// Returns the baseline for the scanner: the files of a base that was cleared.
    pub fn baseline(&self) -> Baseline<'_> {
        match &self.base {
            Some(base) if base.was_cleared() && !base.tombstone => Baseline::Cleared(&self.bundle),
            _ => Baseline::None,
        }
    }
}

/// Reason why a skill could not be read for an operation.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum SnapshotError {
    /// Its folder contains an edit that cannot be recorded.
    #[error("the folder of {skill} has a hand edit that cannot be recorded: {fault}")]
    ExternalBlocked {
        /// Skill with the edit.
        skill: SkillName,
        /// Reason why it cannot be recorded.
        fault: HandEditFault,
    },
    /// The library cannot be used.
    Library(#[from] LibraryError),
    /// The history cannot be read.
    Storage(#[from] StorageError),
    /// Its folder contains an edit that an agent could not make, and the actor is not a person.
    #[error("the folder of {skill} has an edit that only a person can record: {why}")]
    EditHeld {
        /// Skill with the edit.
        skill: SkillName,
        /// Rule that holds it.
        why: String,
    },
    /// The hand edit could not be committed.
    Commit(#[from] Box<CommitError>),
}

/// A valid hand edit that becomes a revision of its own.
struct ExternalChange {
    cleared: Cleared,
    /// Earlier revision with the folder's content.
    returned_to: Option<Revision>,
}

impl ExternalChange {
    /// Takes the edit out of a folder's state. Returns the state as the error if there is nothing to record.
    fn of(state: FolderState) -> Result<Self, FolderState> {
        match state {
            FolderState::Modified(cleared) => Ok(Self { cleared: *cleared, returned_to: None }),
            FolderState::Earlier { revision, cleared, .. } => {
                Ok(Self { cleared: *cleared, returned_to: Some(*revision) })
            }
            other => Err(other),
        }
    }

    fn commit(self, skill: &SkillName, base: Option<Revision>, stamp: &Stamp, mode: HandEditMode) -> (Bundle, Commit) {
        let bundle = self.cleared.bundle().clone();
        let from = self.returned_to.as_ref().or(base.as_ref());
        let origin = from.and_then(|revision| revision.origin.clone());
        let given = stamp.reason.as_deref().filter(|_| mode == HandEditMode::Record);
        let reason = match (&self.returned_to, given) {
            (Some(revision), given) => return_reason(revision.number, given),
            (None, Some(given)) => given.to_owned(),
            (None, None) if base.is_some() => "changed by hand".to_owned(),
            (None, None) => "found in the library".to_owned(),
        };
        let mut external = stamp.external(&reason);
        if mode == HandEditMode::Record {
            external.actor.id = stamp.actor.to_string();
        }
        let revision = NewRevision::new(Content::Cleared(self.cleared), Action::External, external);
        let revisions = vec![revision.with_origin(origin)];
        (bundle, Commit { skill: skill.clone(), base: base.map(|base| base.id), revisions })
    }
}

/// Results of validation and scan, before waivers are applied.
pub(super) struct CheckResult {
    /// Errors by the standard.
    pub problems: Vec<Problem>,
    /// Result of the scan.
    pub cleared: Result<Cleared, Box<Blocked>>,
}

impl CheckResult {
    /// Returns the checked files.
    pub fn bundle(&self) -> &Bundle {
        match &self.cleared {
            Ok(cleared) => cleared.bundle(),
            Err(blocked) => blocked.bundle(),
        }
    }
}

/// A skill's head, and its folder after validation and scan.
pub(super) struct CheckedFolder {
    pub base: Option<Revision>,
    pub committed: Bundle,
    pub state: FolderState,
}

impl CheckedFolder {
    /// Returns the skill as it would be after recording the hand edit.
    fn pretend(self, skill: &SkillName) -> Result<Snapshot, SnapshotError> {
        let bundle = match self.state {
            FolderState::Blocked(fault) => {
                return Err(SnapshotError::ExternalBlocked { skill: skill.clone(), fault });
            }
            FolderState::Modified(cleared) | FolderState::Earlier { cleared, .. } => cleared.bundle().clone(),
            FolderState::Absent | FolderState::Clean | FolderState::Missing => self.committed,
        };
        Ok(Snapshot { base: self.base, bundle })
    }

    /// Returns whether the result still applies to a new comparison.
    fn is_of(&self, now: &Comparison) -> bool {
        let same_base = self.base.as_ref().map(|base| &base.id) == now.base.as_ref().map(|base| &base.id);
        same_base
            && match (&self.state, &now.found) {
                (FolderState::Modified(cleared), FolderContent::Different(found)) => cleared.bundle() == found,
                (FolderState::Earlier { found: seen, .. }, FolderContent::Different(found)) => *seen == found.digest(),
                (FolderState::Blocked(fault), FolderContent::Different(found)) => fault.bundle() == Some(found),
                (FolderState::Blocked(HandEditFault::Unreadable(_)), FolderContent::Unreadable(_))
                | (FolderState::Missing, FolderContent::Missing)
                | (FolderState::Clean, FolderContent::Same)
                | (FolderState::Absent, FolderContent::Absent) => true,
                _ => false,
            }
    }
}

impl Library {
    /// Compares a skill's folder with its head. Changes nothing. Takes no lock, but waits briefly for a commit of
    /// another process to reach the folder.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn folder_state(&self, skill: &SkillName) -> Result<FolderState, LibraryError> {
        Ok(self.check_folder(skill, None)?.state)
    }

    /// Compares like [`Library::folder_state`], for an operation that will write the folder's content. This may run
    /// the judge.
    ///
    /// # Errors
    /// Fails like [`Library::folder_state`].
    pub fn folder_state_to_write(&self, skill: &SkillName) -> Result<FolderState, LibraryError> {
        Ok(self.check_folder_to_write(skill)?.state)
    }

    /// Compares like [`Library::folder_state`], using a prescan if it is of the same files.
    pub(super) fn folder_state_prescanned(
        &self,
        skill: &SkillName,
        prescan: Option<CheckResult>,
    ) -> Result<FolderState, LibraryError> {
        Ok(self.check_folder(skill, prescan)?.state)
    }

    /// Reads a skill for an operation, and **commits a revision** of a valid hand edit in its folder first. That
    /// revision stays, whatever becomes of the operation. [`HandEditMode::DryRun`] commits nothing. The scanner runs
    /// without the lock; under the lock the folder is only compared with the scanned content.
    ///
    /// # Errors
    /// Returns [`SnapshotError::ExternalBlocked`] if the folder has content that cannot be recorded, and
    /// [`SnapshotError::EditHeld`] if it has an edit that only a person may record.
    pub fn snapshot(
        &mut self,
        skill: &SkillName,
        stamp: &Stamp,
        mode: HandEditMode,
    ) -> Result<Snapshot, SnapshotError> {
        let mut left = ATTEMPTS;
        loop {
            let checked = self.check_folder_to_write(skill)?;
            left = left.saturating_sub(1);
            let is_settled = match checked.state {
                FolderState::Absent | FolderState::Clean => true,
                FolderState::Modified(_) | FolderState::Earlier { .. } if mode != HandEditMode::DryRun => false,
                _ => open_dir(self.own_path()).map_err(LibraryError::from)?.is_none(),
            };
            if is_settled {
                self.check_not_held(skill, &checked, stamp)?;
                return checked.pretend(skill);
            }
            if let Some(snapshot) = self.snapshot_locked(skill, stamp, mode, (left > 0).then_some(checked))? {
                return Ok(snapshot);
            }
        }
    }

    /// Takes the lock, compares again and commits the hand edit. Returns `None` if the content was changed since it was
    /// checked. Without a previous check it is checked here, under the lock.
    fn snapshot_locked(
        &mut self,
        skill: &SkillName,
        stamp: &Stamp,
        mode: HandEditMode,
        checked: Option<CheckedFolder>,
    ) -> Result<Option<Snapshot>, SnapshotError> {
        let own = self.locked()?;
        let recovered = self.recover(&own)?;
        let now = self.compare(skill)?;
        if recovered.pending.contains(skill) {
            return Ok(Some(Snapshot { base: now.base, bundle: now.committed }));
        }
        let checked = match checked {
            Some(checked) if checked.is_of(&now) => checked,
            Some(_) => return Ok(None),
            None => self.check_found(skill, now, None, self.scanner)?,
        };
        self.check_not_held(skill, &checked, stamp)?;
        if mode == HandEditMode::DryRun {
            return checked.pretend(skill).map(Some);
        }
        let CheckedFolder { base, committed, state } = checked;
        match ExternalChange::of(state) {
            Ok(change) => {
                let (bundle, commit) = change.commit(skill, base, stamp, mode);
                let committed = self.commit_as_it_stands(&own, commit, recovered.is_settled()).map_err(Box::new)?;
                let base = committed.into_iter().next().map(|committed| committed.revision);
                Ok(Some(Snapshot { base, bundle }))
            }
            Err(state) => CheckedFolder { base, committed, state }.pretend(skill).map(Some),
        }
    }

    /// Enforces that only people record an edit that an agent could not make.
    fn check_not_held(&self, skill: &SkillName, checked: &CheckedFolder, stamp: &Stamp) -> Result<(), SnapshotError> {
        if stamp.actor.kind == ActorKind::Person {
            return Ok(());
        }
        self.objection(skill, checked)?.map_or(Ok(()), |why| Err(SnapshotError::EditHeld { skill: skill.clone(), why }))
    }

    /// Checks the content of the folder for a read-only caller.
    pub(super) fn check_folder(
        &self,
        skill: &SkillName,
        prescan: Option<CheckResult>,
    ) -> Result<CheckedFolder, LibraryError> {
        let now = self.compare_settled(skill)?;
        self.check_found(skill, now, prescan, self.scanner.reading())
    }

    fn check_folder_to_write(&self, skill: &SkillName) -> Result<CheckedFolder, LibraryError> {
        let now = self.compare_settled(skill)?;
        self.check_found(skill, now, None, self.scanner)
    }

    fn check_found(
        &self,
        skill: &SkillName,
        comparison: Comparison,
        prescan: Option<CheckResult>,
        scanner: Scanner,
    ) -> Result<CheckedFolder, LibraryError> {
        let Comparison { base, committed, found } = comparison;
        let state = match found {
            FolderContent::Absent => FolderState::Absent,
            FolderContent::Same => FolderState::Clean,
            FolderContent::Missing => FolderState::Missing,
            FolderContent::Unreadable(fault) => FolderState::Blocked(fault.into()),
            FolderContent::Different(found) => match prescan {
                // Without committed content there is no baseline.
                Some(checked) if committed.is_empty() && *checked.bundle() == found => {
                    self.state_of(skill, found, checked)?
                }
                _ => self.check_edit(skill, base.as_ref(), &committed, found, scanner)?,
            },
        };
        Ok(CheckedFolder { base, committed, state })
    }

    /// Turns the results of validation and scan into the state of the folder.
    fn state_of(&self, skill: &SkillName, found: Bundle, checked: CheckResult) -> Result<FolderState, LibraryError> {
        let CheckResult { problems, cleared } = checked;
        if !problems.is_empty() {
            return Ok(FolderState::Blocked(HandEditFault::Invalid { bundle: found, problems }));
        }
        Ok(self.waived(skill, cleared)?.into())
    }

    fn check_edit(
        &self,
        skill: &SkillName,
        head: Option<&Revision>,
        committed: &Bundle,
        found: Bundle,
        scanner: Scanner,
    ) -> Result<FolderState, LibraryError> {
        let check =
            |bundle: &Bundle| validate_bundle(bundle, Some(skill.as_str()), Strictness::Standard, self.limits());
        let known = if committed.is_empty() { Vec::new() } else { check(committed) };
        let problems: Vec<Problem> =
            check(&found).into_iter().filter(|p| prevents_use(p) && !p.is_among(&known)).collect();
        let baseline = match head {
            Some(head) if head.was_cleared() && !head.tombstone => Baseline::Cleared(committed),
            _ => Baseline::None,
        };
        if let Some(revision) = self.earlier_with(skill, head, &found)? {
            let digest = found.digest();
            return Ok(match self.clear_by(skill, self.bundle(&revision.id)?, baseline, &scanner)? {
                Ok(cleared) => {
                    FolderState::Earlier { revision: Box::new(revision), cleared: Box::new(cleared), found: digest }
                }
                Err(blocked) => FolderState::Blocked(blocked.into()),
            });
        }
        if !problems.is_empty() {
            return Ok(FolderState::Blocked(HandEditFault::Invalid { bundle: found, problems }));
        }
        Ok(self.clear_by(skill, found, baseline, &scanner)?.into())
    }
}

/// Returns whether a problem prevents the content of a folder from being used.
pub(super) fn prevents_use(problem: &Problem) -> bool {
    problem.is_error() && !problem.is_loaded_with_warning()
}
