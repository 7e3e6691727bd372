//! [`ForkError`]: reasons why a skill cannot be published as a fork.

use library::{LibraryError, SnapshotError, StorageError};
use skill::SkillName;
use skill::failure::{Fails, Failure, FailureKind, Hint, NextStep};
use thiserror::Error;

/// Reasons why a skill cannot be published as a fork.
#[derive(Debug, Error)]
pub enum ForkError {
    /// The library does not have the skill.
    #[error("this library has no skill named {0}")]
    NotHere(SkillName),
    /// The skill was written here and has no upstream release.
    #[error("{0} was not installed: it was written in this library")]
    NotInstalled(SkillName),
    /// The skill is the unchanged release that was installed.
    #[error("{name} is the unchanged release {release}")]
    NotChanged {
        /// Name of the skill.
        name: SkillName,
        /// Release that was installed.
        release: String,
    },
    /// The publisher is the owner of the original release.
    #[error("{0} belongs to the publishing owner, so it is not a fork")]
    OwnSkill(String),
    /// The name in the skill's frontmatter cannot be replaced by that of the release.
    #[error("{name} cannot be published as {wanted}: the name in its frontmatter is not on a line of its own")]
    Rename {
        /// Name of the skill.
        name: SkillName,
        /// Name of the release that was installed.
        wanted: SkillName,
    },
    /// The skill's folder was changed by hand into something unusable.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The library cannot be read or written.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl Fails for ForkError {
    fn failure(&self) -> Failure {
        match self {
            Self::NotHere(_) => {
                let hint = Hint::from("list the installed skills: ").step(NextStep::ListSkills);
                Failure::new(FailureKind::NotFound, "not_found").hint(hint)
            }
            Self::NotInstalled(name) => Failure::new(FailureKind::NotFound, "not_installed")
                .hint(format!("publish its folder without --from-fork; `skillhub list` shows the folder of {name}")),
            Self::NotChanged { .. } => Failure::new(FailureKind::Conflict, "unchanged")
                .hint("change the skill first: an unchanged copy would only have to be kept up to date"),
            Self::OwnSkill(_) => Failure::new(FailureKind::Usage, "own_skill")
                .hint("publish it without --from-fork, or give another owner with --owner"),
            Self::Rename { .. } => Failure::new(FailureKind::Invalid, "cannot_rename")
                .hint("write the name in the frontmatter on a line of its own"),
            Self::Snapshot(error) => error.failure(),
            Self::Library(error) => error.failure(),
        }
    }
}

impl From<StorageError> for ForkError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}
