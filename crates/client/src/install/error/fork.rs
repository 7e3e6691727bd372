//! [`ForkMergeError`]: reasons why a fork cannot be merged into an installed skill.

use skill::SkillName;
use skill::failure::{Fails, Failure, FailureKind, Hint, NextStep};
use thiserror::Error;

/// Reasons why a fork cannot be merged into an installed skill.
#[derive(Debug, Error)]
pub enum ForkMergeError {
    /// The fork conflicts with the skill.
    #[error("{release} conflicts with {name}: {}", conflicts.join("; "))]
    Conflict {
        /// Name of the skill.
        name: SkillName,
        /// Full name of the fork.
        fork: String,
        /// Name and version of its release.
        release: String,
        /// Conflicts, one sentence each.
        conflicts: Vec<String>,
    },
    /// The two skills have no release in common.
    #[error("no release of {other} has the same content as one of {name}, so the two cannot be merged")]
    Unrelated {
        /// Name of the installed skill.
        name: SkillName,
        /// Full name of the other one.
        other: String,
    },
    /// The other skill is the source of the installed one.
    #[error("{name} was installed from {other}")]
    OwnSource {
        /// Name of the installed skill.
        name: SkillName,
        /// Full name of its source.
        other: String,
    },
}

impl Fails for ForkMergeError {
    fn failure(&self) -> Failure {
        match self {
            Self::Conflict { name, fork, .. } => Failure::new(FailureKind::Conflict, "merge_conflict").hint(
                Hint::from("keep your side with --ours, or take the fork's: ")
                    .last(NextStep::Update(format!("{name} --from {fork} --theirs"))),
            ),
            Self::Unrelated { name, other } => Failure::new(FailureKind::Conflict, "unrelated").hint(
                Hint::from(format!("install it beside {name}: "))
                    .last(NextStep::Install(format!("{other} --as {name}-2"))),
            ),
            Self::OwnSource { name, .. } => Failure::new(FailureKind::Usage, "usage")
                .hint(Hint::from("merge its newer releases: ").last(NextStep::Update(name.to_string()))),
        }
    }
}
