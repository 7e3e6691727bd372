//! A person's decisions on the items of the inbox: [`Workspace::show_item`] and [`Workspace::decide`].

use library::{Action, Library, ProposalEntry, Revision, Stamp};
use skill::{SkillName, edit::Edit, failure::FailureKind};
use skill_manage::{
    ChangeRequest, CommitEdit, Context, ManageError, Notes, Reviewer, Rollback,
    documents::{self, ShownProposal},
    review::{self, Accept, ChangedSkill, Decider, Difference, ProposalRef, Reject},
};

use crate::{
    inbox::{Inbox, InboxSkill, PlacedSkill},
    refusal::Refusal,
    workspace::Workspace,
};

/// Reason in the history for changes that a person makes in a review.
const REASON: &str = "decided in a review";

/// Item of the inbox.
pub enum InboxItem {
    /// A pending proposal.
    Proposal(ProposalRef),
    /// A changed skill.
    Skill(PlacedSkill),
}

/// Item as shown to a person. A decision applies to exactly this.
pub enum ShownItem {
    /// A proposal with the change that accepting it would make. The latter is `None` if it is damaged.
    Proposal(Box<ShownProposal>, Option<Box<Difference>>),
    /// A changed skill, with the index of its library.
    Skill(usize, Box<InboxSkill>),
}

/// Decision on an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Accepts the proposal, or keeps the change.
    Keep,
    /// Rejects the proposal, or takes the change back.
    Revert,
    /// Keeps the change, and pins the skill.
    Pin,
}

impl Inbox {
    /// Lists the items, the proposals first. A changed skill comes before its own proposals: once its change is kept, an
    /// accepted proposal is kept as well, and is not shown again as a part of the change.
    pub fn items(&self) -> Vec<InboxItem> {
        let (mut items, mut left) = (Vec::new(), self.skills.clone());
        for entry in &self.proposals {
            items.extend(left.extract_if(.., |skill| entry.skill() == Some(&skill.name)).map(InboxItem::Skill));
            items.push(InboxItem::Proposal(ProposalRef::to(entry.id().clone())));
        }
        items.extend(left.into_iter().map(InboxItem::Skill));
        items
    }
}

impl ShownItem {
    /// Lists the possible decisions, each with its word.
    pub fn decisions(&self) -> Vec<(&'static str, Decision)> {
        match self {
            Self::Proposal(_, None) => vec![("reject", Decision::Revert)],
            Self::Proposal(_, Some(_)) => vec![("accept", Decision::Keep), ("reject", Decision::Revert)],
            Self::Skill(_, skill) => {
                let revert = if skill.change.before.is_empty() { "delete" } else { "roll back" };
                let pin = self.is_editable().then_some(("keep and pin", Decision::Pin));
                [("keep", Decision::Keep), (revert, Decision::Revert)].into_iter().chain(pin).collect()
            }
        }
    }

    /// Returns whether there are files that a person could edit before the decision.
    pub fn is_editable(&self) -> bool {
        match self {
            Self::Proposal(_, difference) => difference.is_some(),
            Self::Skill(_, skill) => !skill.change.after.is_empty(),
        }
    }
}

impl Workspace {
    /// Reads an item with its change. `None` if there is nothing to decide any more.
    ///
    /// # Errors
    /// The proposal does not exist, or a library cannot be read.
    pub fn show_item(&self, inbox: &Inbox, item: &InboxItem) -> Result<Option<ShownItem>, Refusal> {
        let target = match item {
            InboxItem::Proposal(target) => target,
            InboxItem::Skill(found) => {
                let skill = inbox.skill(found, self.now)?;
                return Ok(skill.map(|skill| ShownItem::Skill(found.library, Box::new(skill))));
            }
        };
        let library = self.library_with_proposal(&target.id)?;
        let shown = documents::proposal(&library, target)?;
        let difference = match &shown.entry {
            ProposalEntry::Damaged(_) => None,
            ProposalEntry::Whole(whole) if !whole.state.is_open() => return Ok(None),
            ProposalEntry::Whole(_) => Some(Box::new(review::difference(&library, target, shown.moved)?)),
        };
        Ok(Some(ShownItem::Proposal(Box::new(shown), difference)))
    }

    /// Makes a decision on an item as shown, and describes the result in one line.
    ///
    /// # Errors
    /// The item has changed since, or the decision is refused. In both cases nothing has changed.
    pub fn decide(
        &self,
        inbox: &mut Inbox,
        shown: &ShownItem,
        decision: Decision,
        reviewer: &Reviewer,
    ) -> Result<String, Refusal> {
        match shown {
            ShownItem::Proposal(proposal, difference) => {
                let target = difference.as_ref().map(|difference| difference.reviewed.clone());
                let target = target.unwrap_or_else(|| ProposalRef::to(proposal.entry.id().clone()));
                self.decide_proposal(target, decision, reviewer)
            }
            ShownItem::Skill(place, skill) => match inbox.libraries.get_mut(*place) {
                Some(library) => self.decide_skill(library, &skill.change, decision, reviewer),
                None => Err(changed_meanwhile(&skill.change)),
            },
        }
    }

    fn decide_proposal(&self, target: ProposalRef, decision: Decision, reviewer: &Reviewer) -> Result<String, Refusal> {
        let mut library = self.library_with_proposal(&target.id)?;
        if decision == Decision::Revert {
            let rejected = format!("Rejected {}", target.id);
            let reject = Reject { target, reason: None };
            review::reject(&mut library, &reject, Decider::Person(reviewer), self.now)?;
            return Ok(rejected);
        }
        let accept = Accept { target, reason: None, trial: None };
        let report = self.as_person(reviewer, |context| review::accept(&mut library, &accept, reviewer, context))?;
        if let Ok(skill) = SkillName::parse(&report.name) {
            self.refresh_lock(&library, &skill);
        }
        let number = report.number.map(|number| format!(" as revision {number}")).unwrap_or_default();
        Ok(format!("Accepted for {}{number}", report.name))
    }

    fn decide_skill(
        &self,
        library: &mut Library,
        change: &ChangedSkill,
        decision: Decision,
        reviewer: &Reviewer,
    ) -> Result<String, Refusal> {
        let skill = &change.skill;
        let line = if decision == Decision::Revert {
            self.revert(library, change, reviewer)?
        } else {
            let kept = self.recorded(library, change, reviewer)?;
            review::keep(library, skill, &kept, reviewer, self.now)?;
            let mut line = format!("Kept revision {} of {skill}", kept.number);
            if decision == Decision::Pin {
                skill_manage::pin(library, skill, &Stamp::new(reviewer.actor().clone(), self.now))?;
                line.push_str("; only people can change it now");
            }
            line
        };
        self.refresh_lock(library, skill);
        Ok(line)
    }

    /// Applies a person's edits of a changed skill, keeps the result, and describes it in one line.
    ///
    /// # Errors
    /// The skill has changed since it was shown, or the edit is refused.
    pub fn keep_edited(
        &self,
        library: &mut Library,
        change: &ChangedSkill,
        edits: Vec<Edit>,
        reviewer: &Reviewer,
    ) -> Result<String, Refusal> {
        let base = self.recorded(library, change, reviewer)?;
        let request = request(change.skill.clone(), Action::Operations, edits, Some(base.id.to_string()));
        let report = self.as_person(reviewer, |context| skill_manage::manage(library, &request, context))?;
        let edited = report.revision.map_or(Ok(base), |id| library.revision(&id)).map_err(ManageError::from)?;
        review::keep(library, &change.skill, &edited, reviewer, self.now)?;
        self.refresh_lock(library, &change.skill);
        Ok(format!("Kept your edit of {} as revision {}", change.skill, edited.number))
    }

    /// Returns the revision with the files that were shown. An edit of the folder becomes one first.
    fn recorded(&self, library: &mut Library, change: &ChangedSkill, reviewer: &Reviewer) -> Result<Revision, Refusal> {
        if let Some(head) = change.head().filter(|_| !change.edited) {
            return Ok(head.clone());
        }
        let edit = CommitEdit { skill: change.skill.clone(), notes: notes(), dry_run: false };
        self.as_person(reviewer, |context| skill_manage::commit(library, &edit, context))?;
        let head = library.head(&change.skill)?.filter(|head| head.digest == change.digest());
        head.ok_or_else(|| changed_meanwhile(change))
    }

    /// Restores the review checkpoint, or deletes a skill that has none.
    fn revert(&self, library: &mut Library, change: &ChangedSkill, reviewer: &Reviewer) -> Result<String, Refusal> {
        let skill = change.skill.clone();
        let expected_revision = change.head().filter(|_| !change.edited).map(|head| head.id.to_string());
        match change.checkpoint.as_ref().filter(|kept| !kept.tombstone) {
            Some(kept) => {
                let to = Some(kept.id.to_string());
                let rollback = Rollback { skill, to, expected_revision, notes: notes(), dry_run: false };
                self.as_person(reviewer, |context| skill_manage::roll_back(library, &rollback, context))?;
                Ok(format!("Rolled {} back to revision {}", change.skill, kept.number))
            }
            None => {
                let request = request(skill, Action::Delete, vec![Edit::Delete], expected_revision);
                self.as_person(reviewer, |context| skill_manage::manage(library, &request, context))?;
                Ok(format!("Deleted {}; restore it: skillhub rollback {}", change.skill, change.skill))
            }
        }
    }

    /// Runs an operation on skills with the person as its actor.
    fn as_person<T>(
        &self,
        reviewer: &Reviewer,
        run: impl FnOnce(&Context<'_>) -> Result<T, ManageError>,
    ) -> Result<T, Refusal> {
        let context = Context { actor: reviewer.actor().clone(), ..self.manage()? };
        Ok(run(&context)?)
    }
}

fn changed_meanwhile(change: &ChangedSkill) -> Refusal {
    let message = format!("{} changed after it was shown", change.skill);
    Refusal::new(FailureKind::Conflict, "stale", message).hint("look at it again: skillhub review")
}

fn notes() -> Notes {
    Notes { reason: Some(REASON.to_owned()), ..Notes::default() }
}

fn request(skill: SkillName, action: Action, edits: Vec<Edit>, expected_revision: Option<String>) -> ChangeRequest {
    let (dry_run, absorbed_into, remarks) = (false, None, Vec::new());
    ChangeRequest { skill, action, edits, expected_revision, notes: notes(), dry_run, absorbed_into, remarks }
}
