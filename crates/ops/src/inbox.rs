//! The inbox of a person ([`Inbox`]): pending proposals, and the skills that changed since their review checkpoints.

use std::collections::HashSet;

use agent::Visibility;
use evolve::Count;
use jiff::Timestamp;
use library::{Library, ProposalEntry, Revision, RevisionId};
use serde_json::{Value, json};
use skill::SkillName;
use skill_manage::{
    documents,
    review::{self, ChangedSkill},
};

use crate::{refusal::Refusal, workspace::Workspace};

/// Number of reasons of one skill in a document and on a page.
pub const REASONS: usize = 20;

/// Changes that wait for a person's review.
pub struct Inbox {
    /// Libraries of the workspace.
    pub libraries: Vec<Library>,
    /// Pending proposals, oldest first.
    pub proposals: Vec<ProposalEntry>,
    /// Skills that may have changed since their review checkpoints, sorted by name, each with the index of its
    /// library.
    pub skills: Vec<(usize, SkillName)>,
}

/// A changed skill with its outcomes.
pub struct InboxSkill {
    /// The change since the review checkpoint.
    pub change: ChangedSkill,
    /// Runs with the revisions since the checkpoint.
    pub since: Count,
    /// Runs with the checkpoint and earlier revisions.
    pub before: Count,
}

impl Workspace {
    /// Returns what waits for a person's review in all libraries of the workspace that can be written. For an agent,
    /// skills that it may read only after a question are left out.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn inbox(&self) -> Result<Inbox, Refusal> {
        let (libraries, is_seen) = (self.libraries()?, self.seen()?);
        let mut proposals = review::list(&libraries, false, None)?;
        proposals.retain(|entry| entry.skill().is_none_or(|skill| is_seen(skill.as_str())));
        let mut skills = self.changed_since_review(&libraries)?;
        let visibility = self.visibility_check()?;
        skills.retain(|(_, skill)| !matches!(visibility(skill), Visibility::Asked));
        Ok(Inbox { libraries, proposals, skills })
    }

    /// Returns the visible skills that changed since their review checkpoints, sorted by name, each with the index of
    /// its library.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn changed_since_review(&self, libraries: &[Library]) -> Result<Vec<(usize, SkillName)>, Refusal> {
        let (is_seen, mut skills) = (self.seen()?, Vec::new());
        for (place, library) in libraries.iter().enumerate() {
            let changed = library.changed_since_review()?.into_iter().filter(|skill| is_seen(skill.as_str()));
            skills.extend(changed.map(|skill| (place, skill)));
        }
        skills.sort_by(|(_, a), (_, b)| a.cmp(b));
        Ok(skills)
    }
}

impl Inbox {
    /// Reads the change of one of the skills. `None` if it has the files of its review checkpoint again.
    ///
    /// # Errors
    /// The library cannot be read.
    pub fn skill(&self, (place, skill): &(usize, SkillName), now: Timestamp) -> Result<Option<InboxSkill>, Refusal> {
        let Some(library) = self.libraries.get(*place) else { return Ok(None) };
        InboxSkill::of(library, skill, now)
    }

    /// Reads the changes of all skills.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn read_skills(&self, now: Timestamp) -> Result<Vec<InboxSkill>, Refusal> {
        self.skills.iter().filter_map(|skill| self.skill(skill, now).transpose()).collect()
    }

    /// Returns the pending proposals and these skills as JSON.
    #[must_use]
    pub fn document(&self, skills: &[InboxSkill], now: Timestamp) -> Value {
        let deltas = documents::deltas(&self.libraries, &self.proposals);
        let mut document = documents::proposals(&self.proposals, &deltas, now);
        document["skills"] = skills.iter().map(InboxSkill::document).collect();
        document
    }
}

impl InboxSkill {
    /// Reads the change of a skill and its outcomes. `None` if it has the files of its review checkpoint.
    ///
    /// # Errors
    /// The library cannot be read.
    pub fn of(library: &Library, skill: &SkillName, now: Timestamp) -> Result<Option<Self>, Refusal> {
        let Some(change) = ChangedSkill::of(library, skill)? else { return Ok(None) };
        let new: HashSet<&RevisionId> = change.revisions.iter().map(|revision| &revision.id).collect();
        let (since, before) = Count::apart(library, skill, |id| new.contains(id), now)?;
        Ok(Some(Self { change, since, before }))
    }

    /// Returns the change as JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        let ChangedSkill { skill, checkpoint, revisions, edited, difference, delta, findings, .. } = &self.change;
        let mut document = json!({
            "name": skill.as_str(), "checkpoint": checkpoint.as_ref().map(revision), "edited": edited,
            "revisions": revisions.len(), "newest": revisions.iter().take(REASONS).map(revision).collect::<Vec<_>>(),
            "files": difference.files, "diff": difference.text, "findings": findings,
            "outcomes": {"before": self.before.document(), "since": self.since.document()},
        });
        if let (Some(document), Value::Object(delta)) = (document.as_object_mut(), json!(delta)) {
            document.extend(delta);
        }
        document
    }
}

fn revision(revision: &Revision) -> Value {
    json!({
        "number": revision.number, "revision": revision.id, "time": documents::time(revision.stamp.time),
        "action": revision.action.as_str(), "actor": revision.stamp.actor.to_string(),
        "reason": revision.stamp.reason,
    })
}
