//! [`MergeConflict`]: a release that conflicts with the changes made here.

use library::ProposalId;
use skill::SkillName;
use skill::failure::{Fails, Failure, FailureKind, Hint, NextStep};
use thiserror::Error;

/// A release conflicts with the changes made here.
#[derive(Debug, Error)]
#[error(
    "{release} conflicts with the local changes to {name} in {}{}",
    places_of(*places),
    if resolved.is_some() { ", which a person has resolved in the proposal" } else { "" }
)]
pub struct MergeConflict {
    /// Bare name of the skill.
    pub name: SkillName,
    /// Name and version of the release.
    pub release: String,
    /// Proposal that holds both sides.
    pub proposal: Option<ProposalId>,
    /// Revision of the proposal in which a person has resolved all conflicts, if that is done.
    pub resolved: Option<u64>,
    /// Number of conflicts in the files.
    pub places: usize,
}

fn places_of(places: usize) -> String {
    match places {
        1 => "one place".to_owned(),
        places => format!("{places} places"),
    }
}

impl Fails for MergeConflict {
    fn failure(&self) -> Failure {
        let hint = match (&self.proposal, self.resolved) {
            (Some(id), Some(revision)) => {
                format!("a person accepts the resolved proposal: skillhub review accept {id}@{revision}").into()
            }
            (Some(id), None) => format!(
                "resolve the conflicts in a terminal with `skillhub review edit {id}`, which prints the command that \
                 accepts the result; until then the skill stays as it is"
            )
            .into(),
            (None, _) => Hint::from(
                "the update holds both sides in a proposal for a person, and the skill stays as it is; to take your side \
                 of the conflicts instead: ",
            )
            .last(NextStep::Update(format!("{} --ours", self.name))),
        };
        Failure::new(FailureKind::Conflict, "merge_conflict").hint(hint)
    }
}
