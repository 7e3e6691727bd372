//! What stands in a skill's folder against what the history says, and taking it over.

use scan::{Baseline, Blocked, Cleared};
use skill::{Bundle, Problem, SkillName, Strictness, validate::validate_bundle};
use thiserror::Error;

use super::{Commit, CommitError, Library, LibraryError};
use crate::{
    folder::{self, FolderError, Leftovers},
    home::open_dir,
    revision::{Action, Content, NewRevision, Revision, Stamp},
    storage::StorageError,
};

/// A skill's folder compared with its head.
#[derive(Debug)]
pub enum FolderState {
    /// Neither a folder nor a revision that exists.
    Absent,
    /// As committed, but perhaps for line ends in text files.
    Clean,
    /// Committed, but there is no folder.
    Missing,
    /// Edited, or there without a history, and good: the next operation takes it over.
    Modified(Box<Cleared>),
    /// Edited into something that cannot be taken over.
    Blocked(HandEditFault),
}

/// Why what stands in a folder cannot become a revision. It is left as it is.
#[derive(Debug, Error)]
pub enum HandEditFault {
    /// It cannot be read as a skill at all.
    #[error(transparent)]
    Unreadable(#[from] FolderError),
    /// It breaks the standard in ways that the head does not.
    #[error("it is not a valid skill: {}", first_message(problems))]
    Invalid {
        /// Its files.
        bundle: Bundle,
        /// The new problems that are errors.
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
    /// The files, where they could be read.
    #[must_use]
    pub fn bundle(&self) -> Option<&Bundle> {
        match self {
            Self::Unreadable(_) => None,
            Self::Invalid { bundle, .. } => Some(bundle),
            Self::Hostile(blocked) => Some(&blocked.bundle),
        }
    }
}

/// Whether an operation makes a revision of a hand edit before it looks at the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeOver {
    /// Yes.
    Commit,
    /// No, but the hand edit is what is looked at: for a dry run.
    Pretend,
}

/// A skill as an operation finds it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The head, which may be a tombstone.
    pub base: Option<Revision>,
    /// The files; empty when the skill does not exist.
    pub bundle: Bundle,
}

impl Snapshot {
    /// Whether the skill exists.
    #[must_use]
    pub fn exists(&self) -> bool {
        !self.bundle.is_empty()
    }

    /// What the scanner may count as known: the files of a base that it once cleared.
    #[must_use]
    pub fn baseline(&self) -> Baseline<'_> {
        match &self.base {
            Some(base) if base.was_cleared() && !base.tombstone => Baseline::Cleared(&self.bundle),
            _ => Baseline::None,
        }
    }
}

/// Why a skill could not be looked at.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// Its folder holds something that cannot be taken over.
    #[error("the folder of {skill} was changed by hand and is left as it is: {fault}")]
    ExternalBlocked {
        /// The skill.
        skill: SkillName,
        /// What is wrong with it.
        fault: HandEditFault,
    },
    /// The library.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The history.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The hand edit could not be committed.
    #[error(transparent)]
    Commit(#[from] Box<CommitError>),
}

impl Library {
    /// Compares a skill's folder with its head. Changes nothing.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn folder_state(&self, skill: &SkillName) -> Result<FolderState, LibraryError> {
        let head = self.head(skill)?;
        Ok(self.compare(skill, head.as_ref())?.1)
    }

    /// The skill as an operation should see it, with a good hand edit taken over.
    ///
    /// # Errors
    /// [`SnapshotError::ExternalBlocked`] when the folder holds what cannot be taken over.
    pub fn snapshot(
        &mut self,
        skill: &SkillName,
        stamp: &Stamp,
        take_over: TakeOver,
    ) -> Result<Snapshot, SnapshotError> {
        let base = self.head(skill)?;
        let (bundle, state) = self.compare(skill, base.as_ref())?;
        match state {
            FolderState::Absent | FolderState::Clean | FolderState::Missing => Ok(Snapshot { base, bundle }),
            FolderState::Blocked(fault) => Err(SnapshotError::ExternalBlocked { skill: skill.clone(), fault }),
            FolderState::Modified(cleared) if take_over == TakeOver::Pretend => {
                Ok(Snapshot { base, bundle: cleared.bundle().clone() })
            }
            FolderState::Modified(cleared) => self.take_over(skill, base, *cleared, stamp),
        }
    }

    fn take_over(
        &mut self,
        skill: &SkillName,
        base: Option<Revision>,
        cleared: Cleared,
        stamp: &Stamp,
    ) -> Result<Snapshot, SnapshotError> {
        let bundle = cleared.bundle().clone();
        let reason = if base.is_some() { "changed by hand" } else { "found in the library" };
        let origin = base.as_ref().and_then(|base| base.origin.clone());
        let revision = NewRevision::new(Content::Cleared(cleared), Action::External, stamp.external(reason));
        let commit = Commit {
            skill: skill.clone(),
            base: base.map(|base| base.id),
            revisions: vec![revision.with_origin(origin)],
        };
        let committed = self.commit(vec![commit]).map_err(Box::new)?;
        Ok(Snapshot { base: committed.into_iter().next().map(|committed| committed.revision), bundle })
    }

    /// The head's files and how the folder differs from them.
    fn compare(&self, skill: &SkillName, head: Option<&Revision>) -> Result<(Bundle, FolderState), LibraryError> {
        let committed = match head {
            Some(head) if !head.tombstone => self.bundle(&head.id)?,
            _ => Bundle::default(),
        };
        let read = match open_dir(self.path())? {
            Some(root) => folder::read(&root, skill.as_str(), Leftovers::Skip, self.limits()),
            None => Err(FolderError::Missing(skill.to_string())),
        };
        let state = match read {
            Err(FolderError::Missing(_)) if committed.is_empty() => FolderState::Absent,
            Err(FolderError::Missing(_)) => FolderState::Missing,
            Err(fault) => FolderState::Blocked(fault.into()),
            Ok(found) if found.is_empty() && committed.is_empty() => FolderState::Absent,
            Ok(found) if found.same_but_line_ends(&committed) => FolderState::Clean,
            Ok(found) => self.judge(skill, head, &committed, found),
        };
        Ok((committed, state))
    }

    fn judge(&self, skill: &SkillName, head: Option<&Revision>, committed: &Bundle, found: Bundle) -> FolderState {
        let check =
            |bundle: &Bundle| validate_bundle(bundle, Some(skill.as_str()), Strictness::Standard, self.limits());
        let known = check(committed);
        let problems: Vec<Problem> =
            check(&found).into_iter().filter(|p| p.is_error() && !p.is_among(&known)).collect();
        if !problems.is_empty() {
            return FolderState::Blocked(HandEditFault::Invalid { bundle: found, problems });
        }
        let baseline = match head {
            Some(head) if head.was_cleared() && !head.tombstone => Baseline::Cleared(committed),
            _ => Baseline::None,
        };
        match scan::clear(found, baseline) {
            Ok(cleared) => FolderState::Modified(Box::new(cleared)),
            Err(blocked) => FolderState::Blocked(blocked.into()),
        }
    }
}
