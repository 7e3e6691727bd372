//! [`ChangedSkill`]: what changed in a skill since its review checkpoint, and [`keep`], a person's decision to keep it.

use jiff::Timestamp;
use library::{FolderState, Library, Revision, Stamp, StoredReview, Unreviewed};
use scan::{Baseline, CapabilityDelta, Finding};
use skill::{
    Bundle, Digest, SkillName,
    diff::{self, BundleDiff},
};

use crate::{error::ManageError, reviewer::Reviewer};

/// A skill with other files than at its review checkpoint.
#[derive(Debug)]
pub struct ChangedSkill {
    /// Name of the skill.
    pub skill: SkillName,
    /// Last revision that a person kept. `None` for a skill that no person has seen.
    pub checkpoint: Option<Revision>,
    /// Revisions since, newest first. Empty if only the folder was edited.
    pub revisions: Vec<Revision>,
    /// True if the folder has an edit that no revision records. It is part of the change.
    pub edited: bool,
    /// Files at the checkpoint.
    pub before: Bundle,
    /// Current files.
    pub after: Bundle,
    /// All changes as one difference.
    pub difference: BundleDiff,
    /// Capabilities that the skill gained and lost. `None` if it is new or gone.
    pub delta: Option<CapabilityDelta>,
    /// Findings of the scanner in the changed files.
    pub findings: Vec<Finding>,
}

impl ChangedSkill {
    /// Compares a skill with its review checkpoint. `None` if it has the same files, or no history.
    ///
    /// # Errors
    /// The library cannot be read.
    pub fn of(library: &Library, skill: &SkillName) -> Result<Option<Self>, ManageError> {
        let Unreviewed { checkpoint, revisions } = library.unreviewed(skill)?;
        let Some(head) = revisions.first().or(checkpoint.as_ref()) else { return Ok(None) };
        let edit = match library.folder_state(skill)? {
            FolderState::Modified(cleared) => Some(cleared.bundle().clone()),
            _ => None,
        };
        let before = checkpoint.as_ref().map(|kept| library.bundle(&kept.id)).transpose()?.unwrap_or_default();
        let (edited, after) = (edit.is_some(), edit.map_or_else(|| library.bundle(&head.id), Ok)?);
        if before == after {
            return Ok(None);
        }
        let difference = diff::diff(&before, &after);
        let delta = CapabilityDelta::between(&before, &after);
        let findings = findings(library, skill, &before, &after)?;
        let skill = skill.clone();
        Ok(Some(Self { skill, checkpoint, revisions, edited, before, after, difference, delta, findings }))
    }

    /// Returns the newest revision. `None` if only the folder was edited since the checkpoint.
    pub fn head(&self) -> Option<&Revision> {
        self.revisions.first()
    }

    /// Returns the digest of the current files.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.after.digest()
    }
}

/// Returns the findings in files that differ from the checkpoint, without those that a person waived.
fn findings(
    library: &Library,
    skill: &SkillName,
    before: &Bundle,
    after: &Bundle,
) -> Result<Vec<Finding>, ManageError> {
    let reading = library.scanner().reading();
    let judged = library.clear_by(skill, after.clone(), Baseline::Cleared(before), &reading)?;
    let report = judged.map_or_else(|blocked| blocked.into_report(), |cleared| cleared.report().clone());
    Ok(report.findings.into_iter().filter(|finding| finding.new && !finding.waived).collect())
}

/// Moves the review checkpoint of a skill to a revision, by a decision of a person. It never moves back.
///
/// # Errors
/// The skill has no such revision, or the state cannot be written.
pub fn keep(
    library: &Library,
    skill: &SkillName,
    revision: &Revision,
    reviewer: &Reviewer,
    now: Timestamp,
) -> Result<(), ManageError> {
    let stamp = Stamp::new(reviewer.actor().clone(), now);
    let kept = StoredReview {
        revision: revision.id.clone(),
        number: revision.number,
        by: stamp.actor.to_string(),
        at: now.to_string(),
    };
    library.set_state(skill, &stamp, "keep", |state| {
        if state.reviewed.as_ref().is_none_or(|earlier| earlier.number < kept.number) {
            state.reviewed = Some(kept);
        }
    })?;
    Ok(())
}
