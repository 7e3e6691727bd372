//! [`reject`]: the end of a proposal without a revision, and finding one that may be decided about.

use jiff::Timestamp;
use library::{
    Actor, DamagedProposal, Decided, Event, EventStatus, Library, Proposal, ProposalChange, ProposalEntry, ProposalId,
    ProposalState, Stamp,
};

use super::{ProposalRef, ReviewError, get};
use crate::{error::ManageError, manage::retry_stale, request::note, reviewer::Reviewer};

/// Who rejects.
#[derive(Debug, Clone, Copy)]
pub enum Decider<'a> {
    /// A person, any proposal.
    Person(&'a Reviewer),
    /// An actor, what it proposed itself.
    Actor(&'a Actor),
}

/// What is asked of [`reject`].
#[derive(Debug, Clone)]
pub struct Reject {
    /// The proposal; where its revision is named, it must be at that.
    pub target: ProposalRef,
    /// Why.
    pub reason: Option<String>,
}

/// A proposal that was turned down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Its id.
    pub id: ProposalId,
    /// The skill; a damaged one may not say it.
    pub skill: Option<String>,
    /// Who did it.
    pub by: Actor,
}

/// Turns a proposal down, also one that is stale, expired or damaged. It is kept with its reason.
///
/// # Errors
/// [`ManageError`]; nothing has changed then.
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
                (Some(rejected.skill.to_string()), ProposalChange::noted(rejected, EventStatus::Rejected, &stamp))
            }
            ProposalEntry::Damaged(damaged) => {
                (damaged.skill.as_ref().map(ToString::to_string), cleared_away(*damaged, &stamp))
            }
        };
        library.commit_with(Vec::new(), vec![change])?;
        Ok(Rejected { id: reject.target.id.clone(), skill, by })
    })
}

/// Anybody but a person may only take back what is theirs; whose a damaged one is, nobody knows.
fn check_right(entry: &ProposalEntry, decider: Decider<'_>) -> Result<(), ReviewError> {
    let Decider::Actor(actor) = decider else { return Ok(()) };
    match entry {
        ProposalEntry::Whole(proposal) if is_own(proposal, actor) => Ok(()),
        _ => Err(ReviewError::NotYours { id: entry.id().clone(), actor: actor.to_string() }),
    }
}

/// Refuses one that is decided. One that expired may still be rejected, if nobody did.
fn check_open(entry: &ProposalEntry) -> Result<(), ReviewError> {
    let (state, decided) = match entry {
        ProposalEntry::Whole(proposal) => (proposal.state, proposal.decided.as_ref()),
        ProposalEntry::Damaged(damaged) => (ProposalState::Rejected, damaged.decided.as_ref()),
    };
    if entry.is_open() || state == ProposalState::Expired {
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
    damaged.decided = Some(Decided::by(stamp));
    ProposalChange { entry: ProposalEntry::Damaged(Box::new(damaged)), event }
}

/// A proposal that is found to have waited too long.
pub(super) fn expire(proposal: Proposal, stamp: &Stamp) -> ProposalChange {
    let stamp = Stamp { reason: None, ..stamp.clone() };
    ProposalChange::noted(proposal.closed(ProposalState::Expired, &stamp), EventStatus::Expired, &stamp)
}

/// The proposal that is meant, if it waits, is whole and is at the revision that was looked at. One
/// that waited too long is noted as expired.
pub(super) fn find_open(library: &mut Library, target: &ProposalRef, stamp: &Stamp) -> Result<Proposal, ManageError> {
    let entry = get(library, &target.id)?;
    if let ProposalEntry::Whole(proposal) = &entry
        && proposal.is_expired(stamp.time)
    {
        library.commit_with(Vec::new(), vec![expire(*proposal.clone(), stamp)])?;
    }
    check_waits(entry, target, stamp.time)
}

/// A proposal that waits, is whole and is at the revision that was looked at.
pub(super) fn check_waits(entry: ProposalEntry, target: &ProposalRef, now: Timestamp) -> Result<Proposal, ManageError> {
    check_open(&entry)?;
    let proposal = super::whole(entry)?;
    if proposal.is_expired(now) || proposal.state == ProposalState::Expired {
        return Err(ReviewError::Expired { id: proposal.id, expires: proposal.expires }.into());
    }
    check_revision(&proposal, target)?;
    Ok(proposal)
}

/// Whether an actor is the one who proposed.
fn is_own(proposal: &Proposal, actor: &Actor) -> bool {
    proposal.actor == *actor
}
