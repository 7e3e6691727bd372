//! The review checkpoint of a skill, the last revision that a person kept, and the changes since ([`Unreviewed`]).
//!
//! `reviewed` in the library's folder of the home is a [`Projection`]: for each head whether it differs from the review
//! checkpoint. A row counts for the same head and the same stored review, because both determine the answer.

use std::collections::{BTreeSet, HashMap, HashSet};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use skill::SkillName;

use super::{ChangeDetection, FolderStatus, Library, LibraryError, SkillSummary, summaries::damage};
use crate::{
    disk::open_dir,
    projection::Projection,
    revision::{Action, ActorKind, Revision, RevisionId},
    state::StoredReview,
};

const FILE: Projection = Projection { kind: "reviewed", format: 2 };
const NAME: &str = "reviewed";

/// The cache is written again when one in this many skills is new.
const NEWS: usize = 50;

/// Cached answer for one head.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ReviewedHead {
    head: RevisionId,
    /// Revision that a person kept in a review.
    kept: Option<RevisionId>,
    changed: bool,
}

/// The changes of a skill since its review checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreviewed {
    /// Review checkpoint. `None` if no person ever kept a revision, and the skill is not a deleted one that was found in
    /// a folder.
    pub checkpoint: Option<Revision>,
    /// Revisions after it, newest first. Empty if a person kept the head.
    pub revisions: Vec<Revision>,
}

impl Unreviewed {
    /// Finds the review checkpoint in a skill's line, which is given newest first and reaches back to the revision
    /// that a person kept explicitly, if any.
    fn of(mut line: Vec<Revision>, stored: Option<&StoredReview>) -> Self {
        let mut kept = None;
        let mut contents = HashSet::new();
        for (place, revision) in line.iter().enumerate().rev() {
            let before = kept.and_then(|kept: usize| line.get(kept));
            let is_kept = match stored.is_some_and(|stored| stored.revision == revision.id) {
                true => true,
                false => is_decided(revision, before) || revision.is_by_gate() && contents.contains(&revision.digest),
            };
            if is_kept {
                kept = Some(place);
                contents.insert(revision.digest);
            }
        }
        let kept = kept.or_else(|| found_before_deletion(&line));
        let checkpoint = kept.map(|kept| line.split_off(kept).swap_remove(0));
        Self { checkpoint, revisions: line }
    }

    /// Returns whether the skill has other files than at its review checkpoint. One that was made and deleted since has
    /// none, as before.
    pub fn is_changed(&self) -> bool {
        match (self.revisions.first(), &self.checkpoint) {
            (None, _) => false,
            (Some(head), None) => !head.tombstone,
            (Some(head), Some(kept)) => head.digest != kept.digest,
        }
    }
}

/// Returns the place of the first revision of a deleted skill whose folder existed before its history. A person may miss
/// that folder.
fn found_before_deletion(line: &[Revision]) -> Option<usize> {
    let (head, first) = (line.first()?, line.last()?);
    let is_found = matches!(first.action, Action::External | Action::Adopt);
    (head.tombstone && is_found).then(|| line.len() - 1)
}

/// Returns whether a person decided on all files of a revision: those of the review checkpoint before it, with changes
/// that a person made or accepted, or files that a person chose as a whole.
fn is_decided(revision: &Revision, checkpoint: Option<&Revision>) -> bool {
    let is_persons = revision.stamp.actor.kind == ActorKind::Person || revision.acceptance.is_some();
    let chosen = matches!(
        revision.action,
        Action::Install | Action::Adopt | Action::Rollback | Action::Delete | Action::Uninstall
    );
    let follows = revision.parent.as_ref() == checkpoint.map(|kept| &kept.id);
    let same = checkpoint.is_some_and(|kept| kept.digest == revision.digest);
    same || is_persons && (chosen || follows)
}

impl Library {
    /// Returns the changes of a skill since its review checkpoint; both parts are empty for a skill without history.
    ///
    /// The review checkpoint is the newest of: the revision that a person kept in a review; a revision that a person
    /// made or accepted directly on the checkpoint before it, or installed, adopted, restored or deleted as a whole;
    /// and a later revision with the same files. The gate may restore files that a person kept before. Without any of
    /// these, it is the first revision of a deleted skill whose folder existed before its history.
    ///
    /// # Errors
    /// State or history cannot be read.
    pub fn unreviewed(&self, skill: &SkillName) -> Result<Unreviewed, LibraryError> {
        let stored = self.state()?.of(skill).reviewed;
        let Some(head) = self.head(skill)? else { return Ok(Unreviewed::of(Vec::new(), None)) };
        // A stored number beyond the head is of a history that was replaced.
        let steps = stored.as_ref().and_then(|stored| head.number.checked_sub(stored.number));
        let limit = steps.and_then(|steps| usize::try_from(steps + 1).ok()).unwrap_or(usize::MAX);
        let mut line = self.revisions(skill, limit)?;
        let is_there = line.last().map(|oldest| &oldest.id) == stored.as_ref().map(|stored| &stored.revision);
        if stored.is_some() && !is_there {
            line = self.revisions(skill, usize::MAX)?;
        }
        Ok(Unreviewed::of(line, stored.as_ref()))
    }

    /// Returns the review checkpoint of a skill. `None` if no person ever kept a revision.
    ///
    /// # Errors
    /// Fails like [`Library::unreviewed`].
    pub fn review_checkpoint(&self, skill: &SkillName) -> Result<Option<Revision>, LibraryError> {
        Ok(self.unreviewed(skill)?.checkpoint)
    }

    /// Returns the skills with other files than at their review checkpoints, sorted by name. A deleted skill is one of
    /// them until a person keeps the deletion, unless no person ever kept a revision of it. Skills with damaged
    /// histories and folders without history are skipped.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn changed_since_review(&self) -> Result<Vec<SkillName>, LibraryError> {
        let summaries = self.summaries(ChangeDetection::Signatures)?.into_iter();
        let is_edited = |summary: &SkillSummary| summary.standing == FolderStatus::Modified && summary.head.is_some();
        self.changed_or_edited(summaries.filter(is_edited).map(|summary| summary.name))
    }

    /// Returns the same as [`Library::changed_since_review`], given the skills whose folders have unrecorded edits.
    ///
    /// # Errors
    /// Fails like [`Library::changed_since_review`].
    pub fn changed_or_edited(
        &self,
        edited: impl IntoIterator<Item = SkillName>,
    ) -> Result<Vec<SkillName>, LibraryError> {
        let mut changed: BTreeSet<SkillName> = edited.into_iter().collect();
        changed.extend(self.changed_heads()?);
        Ok(changed.into_iter().collect())
    }

    /// Returns the skills whose heads have other files than their review checkpoints, and updates the cache.
    fn changed_heads(&self) -> Result<Vec<SkillName>, LibraryError> {
        let (state, own) = (self.state()?, open_dir(&self.own)?);
        let mut known = own.as_ref().map(read_cache).unwrap_or_default();
        let (mut rows, mut changed, mut news) = (HashMap::new(), Vec::new(), 0);
        for (name, head) in self.head_ids()? {
            let kept = state.of(&name).reviewed.map(|reviewed| reviewed.revision);
            let Some(head) = head.filter(|head| Some(head) != kept.as_ref()) else { continue };
            let is_same = |row: &ReviewedHead| row.head == head && row.kept == kept;
            let row = match known.remove(name.as_str()).filter(is_same) {
                Some(row) => row,
                None => {
                    let Some(changed) = self.is_changed(&name)? else { continue };
                    news += 1;
                    ReviewedHead { head, kept, changed }
                }
            };
            let (key, is_changed) = (name.to_string(), row.changed);
            rows.insert(key, row);
            changed.extend(is_changed.then_some(name));
        }
        if let Some(own) = own.filter(|_| news * NEWS > rows.len())
            && let Ok(content) = serde_json::to_vec(&rows)
        {
            let _the_next_reader_walks_again = FILE.write(&own, NAME, &content);
        }
        Ok(changed)
    }

    /// Returns whether a skill changed since its review checkpoint; `None` if its history is damaged.
    fn is_changed(&self, skill: &SkillName) -> Result<Option<bool>, LibraryError> {
        match self.unreviewed(skill) {
            Ok(unreviewed) => Ok(Some(unreviewed.is_changed())),
            Err(LibraryError::Storage(error)) => Ok(damage(error).map(|_| None)?),
            Err(error) => Err(error),
        }
    }
}

fn read_cache(own: &Dir) -> HashMap<String, ReviewedHead> {
    FILE.read(own, NAME).and_then(|content| serde_json::from_slice(content.bytes()).ok()).unwrap_or_default()
}
