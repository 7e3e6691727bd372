//! The inbox of a person ([`Inbox`]): pending proposals, and the skills that changed since their review checkpoints.

use std::collections::BTreeMap;

use agent::{Catalogue, Visibility};
use evolve::{Count, GateDecision};
use jiff::Timestamp;
use library::{Library, LibraryError, ProposalEntry, Revision, Unreviewed};
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
    /// Skills that may have changed since their review checkpoints: those with an alarm first, then sorted by name.
    pub skills: Vec<PlacedSkill>,
    /// Open alarms of the gate. A skill with an alarm may have no change.
    pub alarms: Alarms,
}

/// Open alarms of the gate by skill.
pub type Alarms = BTreeMap<PlacedSkill, GateDecision>;

/// A skill in one of several libraries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacedSkill {
    /// Index of the library.
    pub library: usize,
    /// Name of the skill.
    pub name: SkillName,
}

/// A changed skill with its outcomes.
pub struct InboxSkill {
    /// The change since the review checkpoint.
    pub change: ChangedSkill,
    /// Runs with the revisions since the checkpoint.
    pub since: Count,
    /// Runs of the reference with which the gate compares them.
    pub before: Count,
    /// Open alarm of the gate.
    pub alarm: Option<GateDecision>,
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
        skills.retain(|skill| !matches!(visibility(&skill.name), Visibility::Asked));
        let mut alarms = self.alarms(&libraries)?;
        alarms.retain(|skill, _| !matches!(visibility(&skill.name), Visibility::Asked));
        skills.sort_by_key(|skill| !alarms.contains_key(skill));
        Ok(Inbox { libraries, proposals, skills, alarms })
    }

    /// Returns the open alarms of the gate about visible skills.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn alarms(&self, libraries: &[Library]) -> Result<Alarms, Refusal> {
        let (is_seen, mut alarms) = (self.seen()?, Alarms::new());
        for (index, library) in libraries.iter().enumerate() {
            let of_library = evolve::alarms(library)?.into_iter().filter(|(skill, _)| is_seen(skill.as_str()));
            alarms.extend(of_library.map(|(name, alarm)| (PlacedSkill { library: index, name }, alarm)));
        }
        Ok(alarms)
    }

    /// Returns the visible skills that changed since their review checkpoints, sorted by name.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn changed_since_review(&self, libraries: &[Library]) -> Result<Vec<PlacedSkill>, Refusal> {
        self.changed(libraries.iter().map(Library::changed_since_review))
    }

    /// Returns the same as [`Workspace::changed_since_review`] for the libraries of a catalogue, whose folders were
    /// examined already.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn changed_in(&self, catalogue: &Catalogue) -> Result<Vec<PlacedSkill>, Refusal> {
        let libraries = catalogue.edited_skills();
        self.changed(libraries.map(|(library, edited)| library.changed_or_edited(edited.iter().cloned())))
    }

    fn changed(
        &self,
        libraries: impl Iterator<Item = Result<Vec<SkillName>, LibraryError>>,
    ) -> Result<Vec<PlacedSkill>, Refusal> {
        let (is_seen, mut skills) = (self.seen()?, Vec::new());
        for (library, changed) in libraries.enumerate() {
            let seen = changed?.into_iter().filter(|name| is_seen(name.as_str()));
            skills.extend(seen.map(|name| PlacedSkill { library, name }));
        }
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(skills)
    }
}

impl Inbox {
    /// Reads the change of one of the skills. `None` if it has the files of its review checkpoint again.
    ///
    /// # Errors
    /// The library cannot be read.
    pub fn skill(&self, found: &PlacedSkill, now: Timestamp) -> Result<Option<InboxSkill>, Refusal> {
        let Some(library) = self.libraries.get(found.library) else { return Ok(None) };
        InboxSkill::of(library, &found.name, self.alarms.get(found).cloned(), now)
    }

    /// Reads the changes of all skills.
    ///
    /// # Errors
    /// A library cannot be read.
    pub fn read_skills(&self, now: Timestamp) -> Result<Vec<InboxSkill>, Refusal> {
        self.skills.iter().filter_map(|skill| self.skill(skill, now).transpose()).collect()
    }

    /// Returns the pending proposals and these skills as JSON.
    pub fn document(&self, skills: &[InboxSkill], now: Timestamp) -> Value {
        let deltas = documents::deltas(&self.libraries, &self.proposals);
        let mut document = documents::proposals(&self.proposals, &deltas, now);
        document["skills"] = skills.iter().map(InboxSkill::document).collect();
        document["alarms"] = self.alarms.iter().map(|(skill, alarm)| alarm_document(&skill.name, alarm)).collect();
        document
    }
}

impl InboxSkill {
    /// Reads the change of a skill and its outcomes. `None` if it has the files of its review checkpoint.
    ///
    /// # Errors
    /// The library cannot be read.
    pub fn of(
        library: &Library,
        skill: &SkillName,
        alarm: Option<GateDecision>,
        now: Timestamp,
    ) -> Result<Option<Self>, Refusal> {
        let Some(change) = ChangedSkill::of(library, skill)? else { return Ok(None) };
        let found = Unreviewed { checkpoint: change.checkpoint.clone(), revisions: change.revisions.clone() };
        let (since, before) = Count::around_checkpoint(library, skill, &found, now)?;
        Ok(Some(Self { change, since, before, alarm }))
    }

    /// Returns whether a run was reported as a success. Otherwise no rate is shown.
    pub fn is_rated(&self) -> bool {
        self.since.successes + self.before.successes > 0
    }

    /// Describes the runs before and since the checkpoint. `None` if no result is known.
    pub fn results(&self) -> Option<String> {
        let words = |count: &Count| count.words(self.is_rated());
        let results = match (self.before.known(), self.since.known()) {
            (0, 0) => return None,
            (0, _) => format!("{} since", words(&self.since)),
            (_, 0) => format!("{} before, no known results since", words(&self.before)),
            _ => format!("{} before, {} since", words(&self.before), words(&self.since)),
        };
        Some(if self.is_rated() { results } else { format!("{results}; no success was reported") })
    }

    /// Returns the change as JSON.
    pub fn document(&self) -> Value {
        let ChangedSkill { skill, checkpoint, revisions, edited, difference, delta, findings, .. } = &self.change;
        let is_rated = self.is_rated();
        let mut document = json!({
            "name": skill.as_str(), "checkpoint": checkpoint.as_ref().map(revision), "edited": edited,
            "revisions": revisions.len(), "newest": revisions.iter().take(REASONS).map(revision).collect::<Vec<_>>(),
            "files": difference.files, "diff": difference.text, "findings": findings,
            "outcomes": {"before": self.before.document(is_rated), "since": self.since.document(is_rated)},
            "alarm": self.alarm.as_ref().map(|alarm| &alarm.why),
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

fn alarm_document(skill: &SkillName, alarm: &GateDecision) -> Value {
    let mut document = alarm.document();
    document["name"] = json!(skill.as_str());
    document
}
