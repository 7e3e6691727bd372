//! [`reject`]: the end of a proposal without a revision, and the lookup of proposals that can be decided.

use jiff::Timestamp;
use library::{
    Actor, DamagedProposal, Event, EventStatus, Library, Proposal, ProposalChange, ProposalDecision, ProposalEntry,
    ProposalId, ProposalState, Stamp,
};

use super::{ProposalRef, ReviewError, get, hold::expire};
use crate::{error::ManageError, manage::retry_stale, request::note, reviewer::Reviewer};

/// Actor that rejects a proposal, with its rights.
#[derive(Debug, Clone, Copy)]
pub enum Decider<'a> {
    /// Person, who may reject any proposal.
    Person(&'a Reviewer),
    /// Actor, which may reject only its own proposals.
    Actor(&'a Actor),
}

/// Request to [`reject`] a proposal.
#[derive(Debug, Clone)]
pub struct Reject {
    /// Proposal to reject. If a revision is given, the proposal must be at it.
    pub target: ProposalRef,
    /// Reason for the decision.
    pub reason: Option<String>,
}

/// Proposal that was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Id of the proposal.
    pub id: ProposalId,
    /// Name of the skill, which may be missing in a damaged proposal.
    pub skill: Option<String>,
    /// Actor that rejected it.
    pub by: Actor,
}

/// Rejects a proposal, even if it is stale, expired or damaged. It is kept with the reason.
///
/// # Errors
/// [`ManageError`], in which case nothing has changed.
pub fn reject(
    library: &mut Library,
    reject: &Reject,
    decider: Decider<'_>,
    time: Timestamp,
) -> Result<Rejected, ManageError> {
    let reason = note("reason", reject.reason.clone(), library.limits())?;
    retry_stale(library, |library| {
        let entry = get(library, &reject.target.id)?;
        check_right(&entry, decider)?;
        check_open(&entry)?;
        let by = match decider {
            Decider::Person(reviewer) => reviewer.actor().clone(),
            Decider::Actor(actor) => actor.clone(),
        };
        let stamp = Stamp { reason: reason.clone(), ..Stamp::new(by.clone(), time) };
        let (skill, change) = match entry {
            ProposalEntry::Whole(proposal) => {
                check_revision(&proposal, &reject.target)?;
                let rejected = proposal.closed(ProposalState::Rejected, &stamp);
                (Some(rejected.skill.to_string()), ProposalChange::noted(rejected, &stamp))
            }
            ProposalEntry::Damaged(damaged) => {
                (damaged.skill.as_ref().map(ToString::to_string), cleared_away(*damaged, &stamp))
            }
        };
        library.commit(change)?;
        Ok(Rejected { id: reject.target.id.clone(), skill, by })
    })
}

/// Checks that an actor other than a person rejects only its own proposal. The author of a damaged proposal is unknown,
/// so only a person may reject it.
fn check_right(entry: &ProposalEntry, decider: Decider<'_>) -> Result<(), ReviewError> {
    let Decider::Actor(actor) = decider else { return Ok(()) };
    match entry {
        ProposalEntry::Whole(proposal) if is_own(proposal, actor) => Ok(()),
        _ => Err(ReviewError::NotYours { id: entry.id().clone(), actor: actor.to_string() }),
    }
}

/// Refuses a proposal that is decided. An expired one may still be rejected if nobody did.
fn check_open(entry: &ProposalEntry) -> Result<(), ReviewError> {
    let (state, decided) = match entry {
        ProposalEntry::Whole(proposal) => (proposal.state, proposal.decided.as_ref()),
        ProposalEntry::Damaged(damaged) if damaged.decided.is_none() => return Ok(()),
        ProposalEntry::Damaged(damaged) => (ProposalState::Rejected, damaged.decided.as_ref()),
    };
    if state.may_become(ProposalState::Rejected) {
        return Ok(());
    }
    let by = decided.map(|decided| decided.by.to_string());
    Err(ReviewError::AlreadyDecided { id: entry.id().clone(), state, by })
}

pub(super) fn check_revision(proposal: &Proposal, target: &ProposalRef) -> Result<(), ReviewError> {
    match target.revision {
        Some(asked) if proposal.revision != asked => {
            Err(ReviewError::Amended { id: proposal.id.clone(), asked, is: proposal.revision })
        }
        _ => Ok(()),
    }
}

fn cleared_away(mut damaged: DamagedProposal, stamp: &Stamp) -> ProposalChange {
    let skill = damaged.skill.as_ref().map(ToString::to_string).unwrap_or_default();
    let event = Event::proposal(stamp, &skill, "reject", EventStatus::Rejected, &damaged.id);
    let event = Event { message: Some(format!("it was damaged: {}", damaged.why)), ..event };
    damaged.decided = Some(ProposalDecision::by(stamp));
    ProposalChange { entry: ProposalEntry::Damaged(Box::new(damaged)), event }
}

/// Finds a proposal that is open, undamaged and at the reviewed revision. An overdue proposal is recorded as expired.
pub(super) fn find_open(library: &mut Library, target: &ProposalRef, stamp: &Stamp) -> Result<Proposal, ManageError> {
    let entry = get(library, &target.id)?;
    if let ProposalEntry::Whole(proposal) = &entry
        && proposal.is_expired(stamp.time)
    {
        library.commit(expire(*proposal.clone(), stamp))?;
    }
    check_waits(entry, target, stamp.time)
}

/// Checks that a proposal is open, undamaged and at the reviewed revision.
pub(super) fn check_waits(entry: ProposalEntry, target: &ProposalRef, now: Timestamp) -> Result<Proposal, ManageError> {
    check_open(&entry)?;
    let proposal = super::whole(entry)?;
    if proposal.is_expired(now) || proposal.state == ProposalState::Expired {
        return Err(ReviewError::Expired { id: proposal.id, expires: proposal.expires }.into());
    }
    check_revision(&proposal, target)?;
    Ok(proposal)
}

/// Returns whether an actor made the proposal.
fn is_own(proposal: &Proposal, actor: &Actor) -> bool {
    proposal.actor == *actor
}
